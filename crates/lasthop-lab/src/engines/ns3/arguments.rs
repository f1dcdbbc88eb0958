// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of `lasthop-simulate` for one cell.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use lasthop::config;
use lasthop::programs::Setup;
use lasthop_core::{Param, params};
use linkemu::Aqm;
use linkemu::mac::MacConfig;
use tempfile::NamedTempFile;

use super::files::lines;
use super::{beside, congestion};
use crate::cell::options::{Cell, CompareOptions, Direction, NO_AGENT};
use crate::data::ends::Agents;
use crate::data::link::LinkOptions;
use crate::data::profile::Profile;
use crate::data::segment::FULL_FRAME_BYTES;
use crate::data::way::Way;
use crate::engines::simulator::{UNSCALED_WINDOW_BYTES, rto_min_ns};

/// A place of the cache holds one packet.
const CACHE_SLOT_BYTES: u64 = 2048;
/// Drawn in a few seconds, listed in some 100 MB at 5 % loss.
const MOST_FRAMES: u64 = 200_000_000;
/// The smallest frame of the simulated hop: headers of IP, TCP and PPP.
const LEAST_FRAME_BYTES: u64 = 20 + 20 + 2;
/// The most that a receiver of profile modern grants. The kernel's buffers grow up to 16 MB of
/// memory, of which about half is window.
const MOST_WINDOW_BYTES: u64 = 4 << 20;
/// The kernel's initial window in segments (`TCP_INIT_CWND`).
const KERNEL_INITIAL_CWND: u32 = 10;
/// The kernel's delayed ACK waits so long at first (`TCP_DELACK_MIN`).
const DELAYED_ACK_NS: u64 = 40_000_000;

/// Arguments, and the files that they name: those go with it.
#[derive(Debug)]
pub(super) struct Arguments {
    pub words: Vec<String>,
    _files: Vec<NamedTempFile>,
}

impl Arguments {
    /// An argument that names a file, if there is one.
    fn name_file(&mut self, name: &str, file: Option<NamedTempFile>) {
        self.words.extend(
            file.iter()
                .map(|file| format!("--{name}={}", file.path().display())),
        );
        self._files.extend(file);
    }
}

/// All arguments of a cell.
///
/// # Errors
/// The agent's configuration cannot be read or has a key without counterpart in ns-3; no room for
/// temporary files.
pub(super) fn arguments(options: &CompareOptions, cell: &Cell) -> Result<Arguments> {
    let (link, traffic, engine) = (&options.link, &options.traffic, &options.engine);
    let mut words = vec![
        format!("--RngRun={}", cell.seed),
        format!("--scheme={}", cell.scheme),
        format!("--cc={}", controls(options, cell)?),
    ];
    words.extend(hop(link));
    words.extend(link.mac.as_ref().map(medium).unwrap_or_default());
    words.push(format!("--agents={}", ends(options.agents)));
    words.extend([
        format!("--flows={}", traffic.flows),
        format!("--direction={}", direction(traffic.direction)),
        format!("--startGap={}ns", traffic.start_gap_ns),
    ]);
    words.extend(match traffic.bytes {
        Some(bytes) => vec![
            format!("--bytes={bytes}"),
            format!("--duration={}ns", traffic.deadline_ns),
        ],
        None => vec![
            format!("--warmup={}ns", traffic.warmup_ns),
            format!("--duration={}ns", traffic.duration_ns),
        ],
    });
    words.extend(engine.two_state.map(|model| format!("--twoState={model}")));
    words.extend(link.burst.map(|model| format!("--burst={model}")));
    words.extend(link.burst_up.map(|model| format!("--burstUp={model}")));
    words.extend(beside::neighbours(options)?);
    let mut arguments = Arguments {
        words,
        _files: Vec::new(),
    };
    if link.hosts.have_links() {
        arguments.name_file("hostLinks", Some(host_links(options)?));
    } else {
        let lost = |way| lost_frames(options, cell.seed, way);
        arguments.name_file("lost", lost(Way::Down)?);
        arguments.name_file("lostUp", lost(Way::Up)?);
    }
    arguments.name_file("arrivals", beside::arrivals(options, cell.seed)?);
    let mut attributes = stack(options);
    if let Some(param) = lasthop_core::param_by_key("rto_min") {
        let (least, most) = param.range().into_inner();
        let ns = rto_min_ns(link).clamp(least, most);
        attributes.push(format!("ns3::LasthopAgent::RtoMin={ns}ns"));
    }
    if cell.scheme != NO_AGENT {
        let path = options.agent_config.as_deref();
        attributes.extend(agent(path, &cell.scheme)?);
    }
    attributes.extend(engine.attributes.iter().map(|given| given.0.clone()));
    // ns-3 takes the last one of a name.
    let words = &mut arguments.words;
    words.extend(attributes.iter().map(|attribute| format!("--{attribute}")));
    Ok(arguments)
}

/// The wire and the hop; what the hosts' own links have in its place is in a file.
fn hop(link: &LinkOptions) -> Vec<String> {
    let aqm = match link.aqm {
        Aqm::Fifo => "fifo",
        Aqm::Codel => "codel",
        Aqm::FqCodel => "fq-codel",
    };
    let mut words = vec![
        format!("--wiredRate={}bps", link.wired_rate_bps),
        format!("--delay={}ns", link.local_rtt_ns / 2),
        format!("--wiredDelay={}ns", (link.rtt_ns - link.local_rtt_ns) / 2),
        format!("--wiredQueue={}", link.wired_queue_packets),
        format!("--ber={}", link.ber),
        format!("--aqm={aqm}"),
        format!("--hosts={}", link.hosts.count()),
    ];
    if !link.hosts.have_links() {
        words.extend([
            format!("--rate={}bps", link.constant_rate_bps(Way::Down)),
            format!("--rateUp={}bps", link.constant_rate_bps(Way::Up)),
            format!("--queue={}", link.queue_packets_of(Way::Down)),
            format!("--queueUp={}", link.queue_packets_of(Way::Up)),
        ]);
    }
    words
}

/// The medium in place of the hop's rates.
fn medium(mac: &MacConfig) -> Vec<String> {
    let mut words = vec![
        format!("--mac={}", mac.standard.name()),
        format!("--macTries={}", mac.tries()),
        format!("--sendWatts={}", mac.tx_watts),
        format!("--receiveWatts={}", mac.rx_watts),
        format!("--idleWatts={}", mac.idle_watts),
    ];
    words.extend(mac.rate_mbps.map(|mbps| format!("--macRate={mbps}")));
    words
}

fn ends(agents: Agents) -> &'static str {
    match agents {
        Agents::Base => "base",
        Agents::Mobile => "mobile",
        Agents::Both => "both",
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "down",
        Direction::Up => "up",
        Direction::Both => "both",
    }
}

/// A file with the link of each host. Their losses are drawn by ns-3: a list of frames would need
/// to know over which of them each goes.
fn host_links(options: &CompareOptions) -> Result<NamedTempFile> {
    let link = &options.link;
    let own_window = link.profile == Profile::Modern && options.traffic.rcv_window_bytes.is_none();
    let both = |host| [Way::Down, Way::Up].map(|way| (host, way));
    let line = |host| {
        let [down, up] = both(host).map(|(host, way)| link.host_rate_bps(host, way));
        let [queue_down, queue_up] =
            both(host).map(|(host, way)| link.host_queue_packets(host, way));
        let [loss_down, loss_up] = both(host).map(|(host, way)| link.host_loss(host, way));
        let window_bytes = match own_window {
            true => modern_window_bytes(link, host, Way::Down),
            false => 0, // that of all
        };
        format!("{down}bps {up}bps {queue_down} {queue_up} {loss_down} {loss_up} {window_bytes}")
    };
    lines((0..link.hosts.count()).map(line))
}

fn controls(options: &CompareOptions, cell: &Cell) -> Result<String> {
    let names = options.traffic.controls(std::slice::from_ref(&cell.cc));
    let types: Result<Vec<String>> = names.iter().map(|name| congestion::type_id(name)).collect();
    Ok(types?.join(","))
}

/// A file with the numbers of the frames that `--loss` loses in one direction: those that the test
/// bed's emulator would with this seed. None if it loses nothing.
fn lost_frames(options: &CompareOptions, seed: u64, way: Way) -> Result<Option<NamedTempFile>> {
    let link = &options.link;
    let loss = link.random_loss(way);
    if loss == 0.0 {
        return Ok(None);
    }
    let time_ns = options.longest_cell().as_nanos();
    let most = u128::from(link.constant_rate_bps(way)) * time_ns / 1_000_000_000 / 8;
    let frames = most as u64 / LEAST_FRAME_BYTES + link.queue_packets_of(way);
    if frames > MOST_FRAMES {
        bail!(
            "--loss: {frames} frames could pass in the time given, and the list of losses ends at \
             {MOST_FRAMES}: shorten --duration or --deadline, or use --ber or --burst-loss"
        );
    }
    let numbers = linkemu::lost_frames(seed, way.emulator_direction(), loss, frames);
    lines(numbers).map(Some)
}

/// The window of profile modern for one way of a host's. The kernel's grows to twice what a round
/// trip brings, at most what path and queue hold; ns-3's is fixed. A larger one than that would be
/// spent before a sender that is braked by its window feels the brake: a window that was granted
/// cannot be taken back.
fn modern_window_bytes(link: &LinkOptions, host: usize, way: Way) -> u64 {
    let rate_bps = u128::from(link.host_rate_bps(host, way));
    let path_bytes = (rate_bps * u128::from(link.rtt_ns) / 8_000_000_000) as u64;
    let queue_bytes = link.host_queue_packets(host, way) * FULL_FRAME_BYTES;
    (2 * (path_bytes + queue_bytes)).clamp(UNSCALED_WINDOW_BYTES, MOST_WINDOW_BYTES)
}

/// The window of all receivers that have none of their own: FH's of the fastest upload, and MH's.
fn window_bytes(link: &LinkOptions) -> u64 {
    if link.profile != Profile::Modern {
        return UNSCALED_WINDOW_BYTES;
    }
    let ways = (0..link.hosts.count()).flat_map(|host| [(host, Way::Down), (host, Way::Up)]);
    let windows = ways.map(|(host, way)| modern_window_bytes(link, host, way));
    windows.max().unwrap_or(UNSCALED_WINDOW_BYTES)
}

/// What the profile and the options say of the hosts' TCP.
fn stack(options: &CompareOptions) -> Vec<String> {
    let (link, traffic) = (&options.link, &options.traffic);
    let modern = link.profile == Profile::Modern;
    let initial_cwnd = link.stack.initial_cwnd(link.profile);
    let window_bytes = traffic.rcv_window_bytes;
    let window_bytes = window_bytes.unwrap_or_else(|| self::window_bytes(link));
    let full = link.full_segment(traffic.family, traffic.mss_bytes);
    let recovery = match modern {
        true => "TcpPrrRecovery",
        false => "TcpClassicRecovery",
    };
    let tcp = |name: &str, value: &str| format!("ns3::{name}={value}");
    let socket = |name: &str, value: u64| format!("ns3::TcpSocket::{name}={value}");
    let time = |name: &str, time_ns: u64| format!("ns3::{name}={time_ns}ns");
    let has_scaling = modern || window_bytes > UNSCALED_WINDOW_BYTES;
    vec![
        tcp(
            "TcpSocketBase::Sack",
            &(link.profile != Profile::Vintage).to_string(),
        ),
        tcp(
            "TcpSocketBase::Timestamp",
            &link.has_timestamps().to_string(),
        ),
        tcp("TcpSocketBase::WindowScaling", &has_scaling.to_string()),
        // The papers' senders are older than RFC 3042, and ns-3's resends whole windows with it if
        // there is no SACK.
        tcp("TcpSocketBase::LimitedTransmit", &modern.to_string()),
        tcp("TcpL4Protocol::RecoveryType", &format!("ns3::{recovery}")),
        socket("SegmentSize", full.payload_bytes),
        socket("RcvBufSize", window_bytes),
        // Never what limits the sender.
        socket("SndBufSize", 2 * window_bytes),
        socket(
            "InitialCwnd",
            initial_cwnd.unwrap_or(KERNEL_INITIAL_CWND).into(),
        ),
        time("TcpSocketBase::MinRto", rto_min_ns(link)),
        time("TcpSocket::DelAckTimeout", DELAYED_ACK_NS),
        // As the kernel's tcp_retries2 and tcp_syn_retries.
        socket("DataRetries", 15),
        socket("ConnCount", 6),
    ]
}

/// The agent's configuration as attributes: what the file says, and what else its profile changes. The
/// other defaults are the module's own, which are made for ns-3's senders.
fn agent(path: Option<&Path>, scheme: &str) -> Result<Vec<String>> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.display().to_string();
    let file = config::parse(&text, &name)?;
    let given = file.setup(scheme, &lasthop::memory::Room::UNLIMITED)?;
    let default = config::File::default().setup(scheme, &lasthop::memory::Room::UNLIMITED)?;
    if given.mark != default.mark
        || given.priority != default.priority
        || !given.rules.is_empty()
        || given.cache_total_bytes != default.cache_total_bytes
    {
        bail!("{name}: mark, priority, match, exclude and cache_total are no attributes of ns-3");
    }
    let table: toml::Table = toml::from_str(&text)?;
    let (given, default) = (attributes(&given), attributes(&default));
    let pairs = given.iter().zip(&default);
    let named = |given: &Attribute| given.keys.iter().any(|key| table.contains_key(*key));
    let pairs = pairs.filter(|(given, default)| given != default || named(given));
    let words =
        pairs.map(|(given, _)| format!("ns3::LasthopAgent::{}={}", given.name, given.value));
    Ok(words.collect())
}

/// What the module calls a key of the configuration: `DupThresh` for `dup_thresh`.
fn attribute_name(key: &str) -> String {
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    key.split('_').map(capital).collect()
}

/// One attribute of the agent, with the keys of the configuration that set it.
#[derive(PartialEq)]
struct Attribute {
    name: String,
    value: String,
    keys: Vec<&'static str>,
}

/// Every parameter with the name that the module gives it.
fn attributes(setup: &Setup) -> Vec<Attribute> {
    let parameter = |param: Param| Attribute {
        name: attribute_name(param.key),
        value: param.plain(param.get(&setup.config)),
        keys: match param.key {
            "rtt_profile" => vec![param.key, "profile"],
            key => vec![key],
        },
    };
    let host = |key, name: &str, value: u64| Attribute {
        name: name.to_owned(),
        value: value.to_string(),
        keys: vec![key],
    };
    let segments = setup.cache_flow_bytes / CACHE_SLOT_BYTES;
    params()
        .map(parameter)
        .chain([
            host("max_flows", "MaxFlows", setup.max_flows.into()),
            host("cache_flow", "FlowSegments", segments),
        ])
        .collect()
}
