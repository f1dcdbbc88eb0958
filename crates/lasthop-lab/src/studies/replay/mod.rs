// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `replay`: captures of both devices of the base station through the native agent, and what it
//! decides at each packet. The agent's repairs and edits change nothing of what follows: the
//! captures are as they are.

mod call;
pub mod capture;
mod decision;
#[cfg(test)]
mod decision_tests;
mod network;
mod pcapng;
mod player;
mod step;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use lasthop_core::bindings::{LH_C_uncached_size, LH_FLOW_SEGS, LH_SLOT_BYTES};
use lasthop_core::{Limits, Setup, counters};

use self::call::{Call, Side};
use self::capture::{Capture, Frame};
use self::pcapng::Pcapng;
use self::player::Player;
pub use self::step::markdown;
use self::step::{Counters, Step};
use crate::base::units;

/// Options of `replay`.
#[derive(Debug, Clone, clap::Args)]
pub struct ReplayOptions {
    /// Capture of the device towards FH: the data as it comes to the agent
    #[arg(long, value_name = "FILE")]
    pub wired: PathBuf,

    /// Capture of the device towards MH: the ACKs as they come to the agent
    #[arg(long, value_name = "FILE")]
    pub lossy: PathBuf,

    /// Addresses of the mobile hosts; by default those of the test bed
    #[arg(
        long,
        value_name = "ADDR/PREFIX",
        value_delimiter = ',',
        value_parser = lasthop::units::prefix,
        default_value = "10.2.0.0/24,fd02::/64"
    )]
    pub mobile: Vec<IpNet>,

    /// Scheme of the agent [default: that of --config, or rack]
    #[arg(long, value_name = "SCHEME")]
    pub scheme: Option<String>,

    /// The agent's configuration file; of match, exclude, mark and priority nothing is used
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Print from here on, after the first packet; what is before is replayed all the same
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = units::duration_ns)]
    pub from: u64,

    /// Stop there, after the first packet [default: at the end]
    #[arg(long, value_name = "TIME", value_parser = units::duration_ns)]
    pub to: Option<u64>,

    /// JSON Lines; `lasthop-lab fields replay` describes them
    #[arg(short, long)]
    pub json: bool,

    /// Write the packets into a pcapng file, too, for Wireshark: each with comments and a verdict
    /// that say what the agent did with it, and those that the agent sent itself
    #[arg(long, value_name = "FILE")]
    pub pcapng: Option<PathBuf>,
}

/// Replays the captures; a line per packet and timer, and the counters at the end, go to `out`.
/// If a capture is damaged, what is before the damage is replayed first.
///
/// # Errors
/// In one line: a file that is no capture or is damaged, no TCP of the mobile hosts in it, a bad
/// configuration; an `out` or a `--pcapng` that cannot be written.
pub fn run(options: &ReplayOptions, out: &mut dyn Write) -> Result<()> {
    let mut player = Player::new(setup(options)?);
    let mut sources = [
        Source::open(options, Side::Wired)?,
        Source::open(options, Side::Lossy)?,
    ];
    let mut pcapng = create_pcapng(options)?;
    let mut printer = Printer::new(options, out);
    let replayed = replay(
        options,
        &mut sources,
        &mut player,
        &mut printer,
        &mut pcapng,
    );
    // What there is of it can be looked at whatever went wrong.
    let written = pcapng.map_or(Ok(()), Pcapng::finish);
    if player.clock().is_some() && !is_output_error(&replayed) {
        printer.counters(&player)?;
    }
    replayed?;
    written?;
    for source in &sources {
        source.check_used(options)?;
    }
    let large = player.agent().counter(LH_C_uncached_size);
    if large > 0 {
        eprintln!(
            "lasthop-lab: note: {large} packets are larger than what is cached: capture with `ethtool -K DEV gro off`"
        );
    }
    Ok(())
}

/// The file of `--pcapng`. It must not be one of those that are read: it would be emptied before.
fn create_pcapng(options: &ReplayOptions) -> Result<Option<Pcapng>> {
    let Some(path) = &options.pcapng else {
        return Ok(None);
    };
    let same = |other: &PathBuf| match (path.canonicalize(), other.canonicalize()) {
        (Ok(path), Ok(other)) => path == other,
        _ => false,
    };
    if let Some(capture) = [&options.wired, &options.lossy]
        .into_iter()
        .find(|p| same(p))
    {
        bail!(
            "--pcapng {}: is the capture that is replayed: name another file",
            capture.display()
        );
    }
    let about = "lasthop-lab replay: captured packets, what the agent decides about each, and what \
                 it sends itself (interfaces agent-to-fh, agent-to-mh)";
    Pcapng::create(path, about).map(Some)
}

/// The configuration's part that the native agent knows.
fn setup(options: &ReplayOptions) -> Result<Setup> {
    let file = match &options.config {
        Some(path) => lasthop::config::read(path)?,
        None => lasthop::config::File::default(),
    };
    let scheme = options.scheme.as_deref().or(file.scheme.as_deref());
    let daemon = file.setup(scheme.unwrap_or("rack"), &lasthop::memory::Room::UNLIMITED)?;
    let slots = |bytes: u64| u32::try_from(bytes / u64::from(LH_SLOT_BYTES)).unwrap_or(u32::MAX);
    Ok(Setup {
        config: daemon.config,
        l2_bytes: 0,
        limits: Limits {
            slots: slots(daemon.cache_total_bytes),
            ..Limits::default()
        },
        max_flows: daemon.max_flows as usize,
        flow_segments: slots(daemon.cache_flow_bytes).clamp(1, LH_FLOW_SEGS),
    })
}

/// Whether it is `out` that failed.
fn is_output_error(result: &Result<()>) -> bool {
    result
        .as_ref()
        .is_err_and(|error| error.downcast_ref::<std::io::Error>().is_some())
}

/// Both captures in the order of time.
fn replay(
    options: &ReplayOptions,
    sources: &mut [Source; 2],
    player: &mut Player,
    printer: &mut Printer,
    pcapng: &mut Option<Pcapng>,
) -> Result<()> {
    for source in &mut *sources {
        source.advance()?;
    }
    loop {
        let ready = sources.iter_mut().filter(|source| source.head.is_some());
        let next = ready.min_by_key(|source| source.head.as_ref().map(|frame| frame.at_ns));
        let Some(source) = next else {
            return Ok(());
        };
        let Some(frame) = source.head.take() else {
            return Ok(());
        };
        let start_ns = player.clock().map_or(frame.at_ns, |clock| clock.start_ns);
        let after_ns = frame.at_ns.saturating_sub(start_ns);
        if options.to.is_some_and(|to_ns| after_ns > to_ns) {
            return Ok(());
        }
        let packet = network::ip_packet(&frame.bytes).map_or(&[][..], |packet| packet.bytes);
        player.packet(source.side, packet, frame.at_ns, &mut |call| {
            let shown = printer.shows(call);
            if let Some(pcapng) = pcapng {
                pcapng.call(call, &frame, shown)?;
            }
            match &call.step {
                Some(step) if shown => printer.step(step),
                _ => Ok(()),
            }
        })?;
        source.advance()?;
    }
}

/// A capture, and its next packet of the direction that counts.
struct Source {
    capture: Capture,
    side: Side,
    mobile: Vec<IpNet>,
    head: Option<Frame>,
    used: bool,
}

impl Source {
    fn open(options: &ReplayOptions, side: Side) -> Result<Self> {
        let path = match side {
            Side::Wired => &options.wired,
            Side::Lossy => &options.lossy,
        };
        Ok(Self {
            capture: Capture::open(path)?,
            side,
            mobile: options.mobile.clone(),
            head: None,
            used: false,
        })
    }

    /// Reads on to the next packet that counts.
    fn advance(&mut self) -> Result<()> {
        self.head = loop {
            match self.capture.next_frame()? {
                Some(frame) if !self.counts(&frame) => {}
                other => break other,
            }
        };
        self.used |= self.head.is_some();
        Ok(())
    }

    /// Towards a mobile host on the wired side, from one on the lossy side.
    fn counts(&self, frame: &Frame) -> bool {
        let Some(packet) = network::ip_packet(&frame.bytes) else {
            return false;
        };
        let is_mobile = |address| self.mobile.iter().any(|prefix| prefix.contains(address));
        let (from_mobile, to_mobile) = (is_mobile(&packet.from), is_mobile(&packet.to));
        match self.side {
            Side::Wired => to_mobile && !from_mobile,
            Side::Lossy => from_mobile && !to_mobile,
        }
    }

    fn check_used(&self, options: &ReplayOptions) -> Result<()> {
        if self.used || options.to.is_some() {
            return Ok(());
        }
        let mobile: Vec<String> = options.mobile.iter().map(IpNet::to_string).collect();
        let direction = match self.side {
            Side::Wired => "to",
            Side::Lossy => "from",
        };
        bail!(
            "{}: no packet {direction} {}: is --mobile right, and the file of the right device?",
            self.capture.path().display(),
            mobile.join(" or ")
        )
    }
}

/// Writes lines.
struct Printer<'a> {
    out: &'a mut dyn Write,
    json: bool,
    from_ns: u64,
    /// Flows that people have been told the names of.
    named: BTreeSet<usize>,
}

impl<'a> Printer<'a> {
    fn new(options: &ReplayOptions, out: &'a mut dyn Write) -> Self {
        Self {
            out,
            json: options.json,
            from_ns: options.from,
            named: BTreeSet::new(),
        }
    }

    /// Whether it is not before `--from`.
    fn shows(&self, call: &Call) -> bool {
        call.clock.now_ns.saturating_sub(call.clock.start_ns) >= self.from_ns
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        if self.json {
            let line = serde_json::to_string(step)?;
            return writeln!(self.out, "{line}").context("standard output");
        }
        if self.named.insert(step.number) {
            writeln!(self.out, "flow {}: {}", step.number, step.flow).context("standard output")?;
        }
        let line = step.to_string();
        writeln!(self.out, "{}", line.trim_end()).context("standard output")
    }

    /// All in JSON, those that are not 0 for people.
    fn counters(&mut self, player: &Player) -> Result<()> {
        let time_s = player
            .clock()
            .map_or(0.0, |clock| clock.seconds(clock.now_ns));
        let values = counters().map(|counter| (counter, player.agent().counter(counter.id)));
        let text = if self.json {
            let counters = Counters {
                kind: "counters",
                time_s,
                counters: values.map(|(c, n)| (c.name.to_owned(), n.into())).collect(),
            };
            serde_json::to_string(&counters)? + "\n"
        } else {
            let values = values.filter(|(_, n)| *n > 0);
            let lines = values.map(|(c, n)| format!("{n:>11} {}: {}\n", c.name, c.doc));
            format!("\ncounters at {time_s:.6} s\n{}", lines.collect::<String>())
        };
        self.out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush())
            .context("standard output")
    }
}
