// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop-lab passthrough`: every TCP segment of a device goes up to this process through a
//! netfilter queue, whole, and on as it is. The authors of D-Proxy had theirs behind such a queue
//! (ip_queue, its predecessor): this is what that way costs before anything is done there.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use lasthop::queue::{Decision, Queue, Setup, WhenFull};

use crate::base::interrupt;
use crate::bed::process;

/// What it prints once packets go through it.
pub const READY: &str = "lasthop-lab: TCP passes through a queue";
/// Number of the queue, beside that of `lasthop split`.
const NUMBER: u16 = 0x6c69;
/// Packets that may wait; others are dropped, as any full queue does.
const MOST: u32 = 4096;
/// The longest packet, so that none is cut: the kernel cuts super-packets before they get here.
const COPY_BYTES: u32 = 0xffff;
/// How long a signal may wait for the next packet.
const PATIENCE: Duration = Duration::from_millis(100);

/// The rules while they stand: they bring what comes from the devices and leaves by them. Dropping
/// them takes them away.
struct Rules {
    /// Those that have been added, and by which program.
    standing: Vec<(&'static str, String)>,
}

impl Rules {
    fn up(devices: &[String]) -> Result<Self> {
        let mut rules = Self {
            standing: Vec::new(),
        };
        for program in programs() {
            for rule in devices.iter().flat_map(|device| rules_of(device)) {
                apply(program, "-A", &rule)?;
                rules.standing.push((program, rule));
            }
        }
        Ok(rules)
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        for (program, rule) in &self.standing {
            if let Err(error) = apply(program, "-D", rule) {
                eprintln!("lasthop-lab: {error:#}");
            }
        }
    }
}

fn apply(program: &str, verb: &str, rule: &str) -> Result<()> {
    let line = format!("{program} -w -t mangle {verb} {rule}");
    let words: Vec<&str> = line.split(' ').collect();
    process::output(None, &words).map(drop)
}

/// By iptables, which also kernels have whose nftables has no queue.
fn programs() -> &'static [&'static str] {
    match Path::new("/proc/sys/net/ipv6").exists() {
        true => &["iptables", "ip6tables"],
        false => &["iptables"],
    }
}

/// Before and behind routing, so that this host's own connections are among them.
fn rules_of(device: &str) -> [String; 2] {
    ["PREROUTING -i", "POSTROUTING -o"].map(|place| {
        format!("{place} {device} -p tcp -j NFQUEUE --queue-num {NUMBER} --queue-bypass")
    })
}

/// Passes packets on until it is interrupted.
///
/// # Errors
/// No right to, no `iptables`, no netfilter queue in the kernel, or another process has it.
pub fn run(devices: &[String]) -> Result<()> {
    let mut queue = Queue::open(&Setup {
        number: NUMBER,
        copy_bytes: COPY_BYTES,
        most: MOST,
        when_full: WhenFull::Drop,
    })?;
    queue
        .wait_for_packets(PATIENCE)
        .context("netfilter queue")?;
    let rules = Rules::up(devices)?;
    say(&format!("{READY} at {}", devices.join(", ")))?;
    let (mut nr_packets, mut nr_overruns) = (0u64, 0u64);
    while !interrupt::requested() {
        match queue.receive() {
            Ok(Some(packet)) => {
                nr_packets += 1;
                queue
                    .decide(&packet, Decision::Accept)
                    .context("netfilter queue")?;
            }
            Ok(None) => {}
            Err(error) if is_idle(&error) => {}
            // Packets that found no room were dropped.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => nr_overruns += 1,
            Err(error) => return Err(error).context("netfilter queue"),
        }
    }
    drop(rules);
    say(&format!(
        "lasthop-lab: {nr_packets} packets passed, the queue ran over {nr_overruns} times"
    ))
}

fn is_idle(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn say(line: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .context("standard output")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_what_leaves_is_queued_once_each() {
        let [comes, leaves] = rules_of("wl0");
        assert!(comes.starts_with("PREROUTING -i wl0 -p tcp "));
        assert!(leaves.starts_with("POSTROUTING -o wl0 -p tcp "));
        // Who kills the process stops no traffic.
        assert!(
            [comes, leaves]
                .iter()
                .all(|rule| rule.ends_with("27753 --queue-bypass"))
        );
    }

    #[test]
    fn a_queue_without_packets_is_no_failure() {
        assert!(is_idle(&io::ErrorKind::WouldBlock.into()));
        assert!(!is_idle(&io::Error::from_raw_os_error(libc::ENOBUFS)));
    }
}
