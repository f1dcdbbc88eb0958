// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Nanoseconds per packet of the BPF programs with the default scheme: the data and the ACK path,
//! full segments with timestamps over Ethernet, a cache in steady state (64 segments outstanding per
//! flow), 1 and 1,000 flows. Time is what the kernel measures around each run (BPF_PROG_TEST_RUN),
//! less that of a packet that the program leaves at its first instructions.

use std::time::Duration;

use anyhow::{Result, ensure};
use lasthop::agent::{Agent, Program, Setup, SkbContext};
use lasthop::daemon::now_ns;
use lasthop_core::bindings::{LH_ACK, LH_SYN};
use lasthop_core::packet::{Ends, Tcp, option};

const MSS: u32 = 1448;
const WINDOW: u32 = 64;
const PACKETS: u32 = 40_000;
const OWN_MARK: u32 = 0x4000_0000;

struct Flow {
    ends: Ends,
    data: Vec<u8>,
    ack: Tcp,
    next: u32,
}

impl Flow {
    fn new(n: u16) -> Self {
        let ends = Ends::v4(n);
        let tcp = |flags| Tcp {
            flags,
            options: option::timestamps(1, 2),
            ethernet: true,
            ..Tcp::default()
        };
        let data = Tcp {
            payload: vec![7; MSS as usize],
            ..tcp(LH_ACK)
        }
        .to_mh(&ends);
        Self {
            ends,
            data,
            ack: tcp(LH_ACK),
            next: 1,
        }
    }

    /// Nobody verifies the checksums of data: only the numbers move.
    fn data_at(&mut self, seq: u32) -> &[u8] {
        self.data[38..42].copy_from_slice(&seq.to_be_bytes());
        &self.data
    }

    /// Those of ACKs that no device has looked at are: that is part of what is measured.
    fn ack_at(&mut self, ack: u32) -> Vec<u8> {
        self.ack.ack = ack;
        self.ack.to_fh(&self.ends)
    }
}

fn run(agent: &Agent, program: Program, packet: &[u8], mark: u32) -> Result<Duration> {
    let context = SkbContext {
        mark,
        ..SkbContext::default()
    };
    Ok(agent.run(program, packet, &context, 1)?.duration)
}

/// Packets that were copied into the cache so far, and that are in it.
fn cached(agent: &Agent) -> Result<(u64, u64)> {
    Ok((agent.counter("cached_segments")?, agent.usage().slots))
}

/// Median: a run that an interrupt hits says nothing of the program.
fn median_ns(mut times: Vec<Duration>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as u64
}

fn bench(flows: u16) -> Result<serde_json::Value> {
    let agent = Agent::load(&Setup {
        ifindex: 1,
        ..Setup::default()
    })?;
    agent.heartbeat(now_ns() + 3_600_000_000_000);
    let mut talks: Vec<Flow> = (0..flows).map(Flow::new).collect();
    for talk in &mut talks {
        let syn = Tcp {
            flags: LH_SYN,
            options: option::wscale(7),
            ethernet: true,
            ..Tcp::default()
        }
        .to_mh(&talk.ends);
        run(&agent, Program::Egress, &syn, 0)?;
        let answer = Tcp {
            ack: 1,
            flags: LH_SYN | LH_ACK,
            options: option::wscale(7),
            ethernet: true,
            ..Tcp::default()
        };
        run(&agent, Program::Ingress, &answer.to_fh(&talk.ends), 0)?;
        run(&agent, Program::Ingress, &talk.ack_at(1), 0)?; // its window is scaled
        for _ in 0..WINDOW {
            let seq = talk.next;
            run(&agent, Program::Egress, talk.data_at(seq), 0)?;
            talk.next += MSS;
        }
    }
    // What the handshake left there is gone; what else it copied (scheme `rack` repairs a lost SYN,
    // too) is not the benchmark's affair.
    let outstanding = u64::from(flows) * u64::from(WINDOW);
    let (before, held) = cached(&agent)?;
    ensure!(
        held == outstanding,
        "the cache holds {held} of {outstanding} segments before the measurement"
    );
    let (mut empty, mut data, mut ack) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..PACKETS {
        let talk = &mut talks[i as usize % flows as usize];
        let seq = talk.next;
        empty.push(run(&agent, Program::Egress, talk.data_at(seq), OWN_MARK)?);
        data.push(run(&agent, Program::Egress, talk.data_at(seq), 0)?);
        talk.next += MSS;
        let una = talk.next - WINDOW * MSS;
        ack.push(run(&agent, Program::Ingress, &talk.ack_at(una), 0)?);
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
    println!("flows   data path   ACK path   (ns per packet, less the empty run)");
    for flows in [1, 1000] {
        let result = bench(flows)?;
        println!(
            "{flows:>5} {:>8} ns {:>7} ns",
            result["data_ns"], result["ack_ns"]
        );
        println!("{result}");
    }
    Ok(())
}
