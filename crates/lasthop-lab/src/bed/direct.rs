// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Three hosts in a row without an emulator, FH eth0 - eth0 BS wl0 - eth0 MH: what forwarding costs,
//! with nothing between the packets and the processor.

use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::bed::agent::AgentHandle;
use crate::bed::ip;
use crate::bed::namespace::Namespace;
use crate::bed::netns;
use crate::bed::process::{self, Lifetime, Managed};
use crate::bed::proxy::ProxyHandle;
use crate::bed::runs::Run;
use crate::data::baseline::Baseline;
use crate::data::link::LinkOptions;
use crate::data::scheme::NO_AGENT;
use crate::data::topology::LOSSY_DEVICE;

/// Where MH is reached.
const MH: &str = "10.2.0.2";
const PORT: u16 = 5201;
const PATIENCE: Duration = Duration::from_secs(5);
/// As many segments as a super-packet has room for.
const MOST_SEGMENTS: u32 = 65_535;

/// In what form packets come to the base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Single segments, which it leaves single.
    Single,
    /// Single segments, which it merges (GRO).
    Merged,
    /// Super-packets of so many segments at the most, as a card with LRO would bring them.
    Trains(u32),
}

/// The hosts. Dropping it removes them.
#[derive(Debug)]
pub struct Direct {
    run: Run,
    hosts: [Namespace; 3],
}

/// Who is in the packets' way at the base station.
#[derive(Debug)]
pub enum Helper {
    /// Nobody.
    Nobody,
    /// An agent of a scheme.
    Agent(AgentHandle),
    /// What takes its place.
    Proxy(ProxyHandle),
}

impl Helper {
    /// Ends it.
    ///
    /// # Errors
    /// It had ended before, fails, or has to be killed.
    pub fn stop(self) -> Result<()> {
        match self {
            Self::Nobody => Ok(()),
            Self::Agent(agent) => agent.stop(),
            Self::Proxy(proxy) => proxy.stop(),
        }
    }
}

/// What a transfer is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// How long it takes.
    pub seconds: u32,
    /// Connections at a time.
    pub flows: u32,
    /// Payload of a segment at the most.
    pub mss: u32,
}

impl Direct {
    /// Builds it.
    ///
    /// # Errors
    /// Not root, or `ip` or `ethtool` is missing or fails.
    pub fn up() -> Result<Self> {
        process::check_root()?;
        let run = Run::claim(None, &LinkOptions::default())?;
        let hosts = ["fh", "bs", "mh"].map(|host| netns::namespace_name(&run.name, host));
        let made = hosts.iter().try_fold(Vec::new(), |mut made, name| {
            made.push(netns::create(name)?);
            Ok(made)
        });
        let wired = made.and_then(|made: Vec<Namespace>| {
            let hosts: [Namespace; 3] = made.try_into().map_err(|_| anyhow::anyhow!("hosts"))?;
            wire(&hosts)?;
            Ok(hosts)
        });
        match wired {
            Ok(hosts) => Ok(Self { run, hosts }),
            Err(error) => {
                run.remove()?;
                Err(error)
            }
        }
    }

    /// From now on packets come to the base station so.
    ///
    /// # Errors
    /// `ip` or `ethtool` fails.
    pub fn set_form(&self, form: Form) -> Result<()> {
        let (trains, gro, segments) = match form {
            Form::Single => ("off", "off", MOST_SEGMENTS),
            Form::Merged => ("off", "on", MOST_SEGMENTS),
            Form::Trains(most) => ("on", "off", most),
        };
        let [fh, bs, _] = &self.hosts;
        let offloads = ["ethtool", "-K", "eth0", "tso", trains, "gso", trains];
        process::output(Some(fh), &offloads)?;
        process::output(Some(bs), &["ethtool", "-K", "eth0", "gro", gro])?;
        let segments = segments.to_string();
        let words = ["ip", "link", "set", "eth0", "gso_max_segs", &segments];
        process::output(Some(fh), &words).map(drop)
    }

    /// From now on MH loses this share of the data, before it looks at them.
    ///
    /// # Errors
    /// No `nft`, or a kernel without random numbers for it.
    pub fn set_loss(&self, share: f64) -> Result<()> {
        let [.., mh] = &self.hosts;
        process::output(Some(mh), &["nft", "flush", "ruleset"])?;
        if share == 0.0 {
            return Ok(());
        }
        let least = (share * 10_000.0).round() as u32;
        let chain = "add table ip loss; add chain ip loss in { type filter hook prerouting priority -300; }";
        let rule = format!(
            "add rule ip loss in tcp dport {PORT} meta length > 100 numgen random mod 10000 < {least} drop"
        );
        process::output(Some(mh), &["nft", &format!("{chain}; {rule}")]).map(drop)
    }

    /// Starts what `name` says at the base station: `none`, a scheme, `split` or `passthrough`.
    ///
    /// # Errors
    /// It is missing, ends or stays silent.
    pub fn start(&self, name: &str) -> Result<Helper> {
        let [_, bs, _] = &self.hosts;
        let place = (bs, LOSSY_DEVICE);
        if name == NO_AGENT {
            return Ok(Helper::Nobody);
        }
        match Baseline::named(name) {
            Some(baseline) => ProxyHandle::start(baseline, place, &[], None).map(Helper::Proxy),
            None => AgentHandle::start(place, name, &[], None).map(Helper::Agent),
        }
    }

    /// A download by iperf3 from FH to MH. Returns its report.
    ///
    /// # Errors
    /// It fails, or carries nothing.
    pub fn transfer(&self, transfer: Transfer) -> Result<Value> {
        let [fh, _, mh] = &self.hosts;
        let mut server = std::process::Command::new("iperf3");
        server.args(["-s", "-1", "--forceflush"]);
        let lifetime = Lifetime::WithLab(Signal::SIGKILL);
        let mut server = Managed::spawn(server, "iperf3 -s", mh, lifetime, None)?;
        server.wait_for_line("Server listening", PATIENCE)?;
        let Transfer {
            seconds,
            flows,
            mss,
        } = transfer;
        let words =
            format!("iperf3 -c {MH} -p {PORT} -C cubic -t {seconds} -P {flows} -M {mss} -J");
        let words: Vec<&str> = words.split(' ').collect();
        let text = process::output(Some(fh), &words)?;
        serde_json::from_str(&text).context("iperf3 -J prints no object")
    }
}

fn wire([fh, bs, mh]: &[Namespace; 3]) -> Result<()> {
    let veth = |(one, device): (&Namespace, &str), other: &Namespace| {
        let line = format!(
            "ip link add {device} netns {} type veth peer name eth0 netns {}",
            one.name(),
            other.name()
        );
        let words: Vec<&str> = line.split(' ').collect();
        process::output(None, &words)
    };
    veth((fh, "eth0"), bs)?;
    veth((bs, LOSSY_DEVICE), mh)?;
    let address = |device: &str, address: &str| {
        format!("addr add {address}/24 dev {device}\nlink set {device} up\n")
    };
    let default = |via: &str| format!("route add default via {via}\n");
    ip::batch(fh, &(address("eth0", "10.1.0.2") + &default("10.1.0.1")))?;
    let base = address("eth0", "10.1.0.1") + &address(LOSSY_DEVICE, "10.2.0.1");
    ip::batch(bs, &base)?;
    ip::batch(mh, &(address("eth0", MH) + &default("10.2.0.1")))?;
    // As a sender's card has one. Without it veth drops what its ring of 256 packets has no room for, which
    // happens sooner the busier BS is: 20,000 of 100 flows' segments in 3 s with an agent, and none so.
    let queue = [
        "tc", "qdisc", "add", "dev", "eth0", "root", "pfifo", "limit", "20000",
    ];
    process::output(Some(fh), &queue)?;
    bs.set_sysctl("ipv4.ip_forward", "1")?;
    for host in [fh, mh] {
        host.set_sysctl("ipv4.tcp_no_metrics_save", "1")?;
    }
    Ok(())
}

impl Drop for Direct {
    fn drop(&mut self) {
        if let Err(error) = self.run.remove() {
            eprintln!("lasthop-lab: {error:#}");
        }
    }
}
