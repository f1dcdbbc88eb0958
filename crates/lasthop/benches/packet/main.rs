// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Nanoseconds per packet of the BPF programs, with the default scheme and with the one that only watches: the data and the ACK path,
//! full segments with timestamps over Ethernet, a cache in steady state (64 segments outstanding per
//! flow), 1 and 1,000 flows. Time is what the kernel measures around each run (BPF_PROG_TEST_RUN),
//! less that of a packet that the program leaves at its first instructions.

mod dear;
mod talk;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lasthop::programs::Agent;
use lasthop_core::bindings::LH_POLICY_SHADOW;
use lasthop_core::{Config, scheme_by_name};

use talk::Talk;

const MSS: u32 = 1448;
const WINDOW: u32 = 64;
const PACKETS: u32 = 40_000;
const OWN_MARK: u32 = 0x4000_0000;

/// Packets that were copied into the cache so far, and that are in it.
fn cached(agent: &Agent) -> Result<(u64, u64)> {
    Ok((agent.counter("cached_segments")?, agent.usage().slots))
}

/// Median: a run that an interrupt hits says nothing of the program.
fn median_ns(mut times: Vec<Duration>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as u64
}

fn bench(scheme: &str, flows: u16) -> Result<serde_json::Value> {
    let config = Config {
        scheme: scheme_by_name(scheme).context("no such scheme")?,
        ..Config::default()
    };
    let agent = talk::agent(config)?;
    let copies = config.policy() & LH_POLICY_SHADOW == 0;
    let mut talks = Vec::new();
    for n in 0..flows {
        let mut talk = Talk::new(&agent, n, MSS, false)?;
        for _ in 0..WINDOW {
            talk.goes_on(&agent)?;
        }
        talks.push(talk);
    }
    // What the handshake left there is gone; what else it copied (scheme `rack` repairs a lost SYN,
    // too) is not the benchmark's affair.
    let outstanding = match copies {
        true => u64::from(flows) * u64::from(WINDOW),
        false => 0,
    };
    let (before, held) = cached(&agent)?;
    ensure!(
        held == outstanding,
        "the cache holds {held} of {outstanding} segments before the measurement"
    );
    let (mut empty, mut data, mut ack) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..PACKETS {
        let talk = &mut talks[i as usize % flows as usize];
        let next = talk.next;
        empty.push(talk.sends(&agent, next, OWN_MARK)?);
        data.push(talk.goes_on(&agent)?);
        ack.push(talk.acks(&agent, next + MSS - WINDOW * MSS)?);
    }
    let (after, held) = cached(&agent)?;
    let copied = after - before;
    ensure!(
        copied == u64::from(PACKETS) && held == outstanding,
        "the cache was not in its steady state: {copied} of {PACKETS} segments copied, \
         {held} of {outstanding} held"
    );
    let base = median_ns(empty);
    Ok(serde_json::json!({
        "bench": "packet",
        "scheme": scheme,
        "flows": flows,
        "data_ns": median_ns(data).saturating_sub(base),
        "ack_ns": median_ns(ack).saturating_sub(base),
        "empty_run_ns": base,
        "packets": PACKETS,
    }))
}

fn main() -> Result<()> {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: benchmark of the BPF programs: needs root");
        return Ok(());
    }
    println!("scheme  flows   data path   ACK path   (ns per packet, less the empty run)");
    for (scheme, flows) in [("rack", 1), ("rack", 1000), ("shadow", 1), ("shadow", 1000)] {
        let result = bench(scheme, flows)?;
        println!(
            "{scheme:<6} {flows:>6} {:>8} ns {:>7} ns",
            result["data_ns"], result["ack_ns"]
        );
        println!("{result}");
    }
    dear::bench()
}
