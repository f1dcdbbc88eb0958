// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Nanoseconds per packet of the BPF programs, with the default scheme and with the one that only watches,
//! and beside each, in the same run, of programs that only parse and look up: the data and the ACK path,
//! full segments with timestamps over Ethernet, a cache in steady state (64 segments outstanding per
//! flow, with 25,000 flows 4), 1, 1,000 and 25,000 flows. Time is what the kernel measures around each run
//! (BPF_PROG_TEST_RUN), less that of a packet that the program leaves at its first instructions.
//!
//! `-- grow` measures what a packet costs against flows, its size, segments of a super-packet, rules and
//! losses instead (grow.rs), for `make bench-report`; `-- grow rules loss` some of these.
//!
//! `-- profile FLOWS SECONDS` runs the packets of scheme `rack` and says nothing, for a profiler
//! (scripts/profile.sh).

mod baseline;
mod dear;
mod grow;
mod losses;
mod talk;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use lasthop::programs::Agent;
use lasthop_core::bindings::LH_POLICY_SHADOW;
use lasthop_core::{Config, scheme_by_name};

use baseline::Baseline;
use talk::{Programs, Talk};

const MSS: u32 = 1448;
const PACKETS: u32 = 40_000;
/// The most that are measured.
pub const FLOWS_MOST: u16 = 25_000;
/// Of so many at the most, the cache holds a window each that is worth the name.
const FLOWS_FEW: u16 = 1_000;
/// The programs' own packets have it.
pub const OWN_MARK: u32 = 0x4000_0000;

/// What the packets of a measurement are like.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub flows: u16,
    /// Packets that each flow has outstanding.
    pub window: u32,
    pub mss: u32,
    /// Of a packet.
    pub segments: u32,
}

impl Shape {
    fn of(flows: u16) -> Self {
        Self {
            flows,
            window: if flows <= FLOWS_FEW { 64 } else { 4 },
            mss: MSS,
            segments: 1,
        }
    }

    /// All that is outstanding.
    fn outstanding(&self) -> u64 {
        u64::from(self.flows) * u64::from(self.window) * u64::from(self.segments)
    }
}

/// Packets that were copied into the cache so far, and that are in it.
fn cached(agent: &Agent) -> Result<(u64, u64)> {
    Ok((agent.counter("cached_segments")?, agent.usage().slots))
}

/// Median: a run that an interrupt hits says nothing of the program.
pub fn median_ns(mut times: Vec<Duration>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as u64
}

/// Medians of the two paths and of the empty run, ns.
struct Times {
    data: u64,
    ack: u64,
    empty: u64,
}

impl Times {
    /// Less the run itself.
    fn net(&self) -> [u64; 2] {
        [self.data, self.ack].map(|ns| ns.saturating_sub(self.empty))
    }
}

/// Connections, each with its window outstanding.
fn talks(of: &dyn Programs, shape: Shape) -> Result<Vec<Talk>> {
    (0..shape.flows)
        .map(|n| {
            let mut talk = Talk::new(of, n, shape.mss, true)?;
            if shape.segments > 1 {
                talk = talk.in_trains(shape.segments);
                // Who has proved nothing may fill less of the cache.
                talk.goes_on(of)?;
                let next = talk.next;
                talk.acks(of, next)?;
            }
            for _ in 0..shape.window {
                talk.goes_on(of)?;
            }
            Ok(talk)
        })
        .collect()
}

/// The next packet of a connection, and the ACK of its oldest.
fn step(of: &dyn Programs, talk: &mut Talk, window: u32) -> Result<[Duration; 2]> {
    let oldest = talk.next + talk.bytes() - window * talk.bytes();
    Ok([talk.goes_on(of)?, talk.acks(of, oldest)?])
}

fn measure(of: &dyn Programs, talks: &mut [Talk], window: u32, packets: u32) -> Result<Times> {
    let (mut empty, mut data, mut ack) = (Vec::new(), Vec::new(), Vec::new());
    let flows = talks.len();
    for i in 0..packets as usize {
        let talk = &mut talks[i % flows];
        let next = talk.next;
        empty.push(talk.sends(of, next, OWN_MARK)?);
        let [segment, answer] = step(of, talk, window)?;
        data.push(segment);
        ack.push(answer);
    }
    Ok(Times {
        data: median_ns(data),
        ack: median_ns(ack),
        empty: median_ns(empty),
    })
}

/// The agent's times and the yardstick's, in a steady state without loss.
fn measure_both(scheme: &str, shape: Shape, packets: u32) -> Result<[Times; 2]> {
    let (agent, copies) = agent_of(scheme)?;
    let mut talks_of_agent = talks(&agent, shape)?;
    // What the handshake left there is gone; what else it copied (scheme `rack` repairs a lost SYN,
    // too) is not the benchmark's affair.
    let (outstanding, copied) = match copies {
        true => (
            shape.outstanding(),
            u64::from(packets) * u64::from(shape.segments),
        ),
        false => (0, u64::from(packets)),
    };
    let (before, held) = cached(&agent)?;
    ensure!(
        held == outstanding,
        "the cache holds {held} of {outstanding} segments before the measurement"
    );
    let times = measure(&agent, &mut talks_of_agent, shape.window, packets)?;
    let (after, held) = cached(&agent)?;
    // Of what a super-packet's ACK frees a rest may go with the next one.
    let rest = u64::from(shape.segments - 1);
    ensure!(
        after - before == copied && (outstanding..=outstanding + rest).contains(&held),
        "the cache was not in its steady state: {} of {copied} segments copied, \
         {held} of {outstanding} held",
        after - before
    );
    drop(agent);
    let base = Baseline::load()?;
    let base = measure(&base, &mut talks(&base, shape)?, shape.window, packets)?;
    Ok([times, base])
}

/// As JSON has it.
pub fn times_of(ns: u64, base: u64) -> f64 {
    (ns as f64 / base.max(1) as f64 * 100.0).round() / 100.0
}

fn agent_of(scheme: &str) -> Result<(Agent, bool)> {
    let config = Config {
        scheme: scheme_by_name(scheme).context("no such scheme")?,
        ..Config::default()
    };
    let copies = config.policy() & LH_POLICY_SHADOW == 0;
    Ok((talk::agent(config)?, copies))
}

fn bench(scheme: &str, flows: u16) -> Result<serde_json::Value> {
    let [times, base] = measure_both(scheme, Shape::of(flows), PACKETS)?;
    let ([data, ack], [base_data, base_ack]) = (times.net(), base.net());
    Ok(serde_json::json!({
        "bench": "packet",
        "scheme": scheme,
        "flows": flows,
        "data_ns": data,
        "ack_ns": ack,
        "base_data_ns": base_data,
        "base_ack_ns": base_ack,
        "data_ratio": times_of(data, base_data),
        "ack_ratio": times_of(ack, base_ack),
        "empty_run_ns": times.empty,
        "packets": PACKETS,
    }))
}

/// Work for a profiler.
fn profile(flows: u16, lasts: Duration) -> Result<()> {
    // At this level the programs keep which instruction is of which line of their sources.
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(std::io::sink)
        .init();
    let (agent, _) = agent_of("rack")?;
    let shape = Shape::of(flows);
    let mut talks = talks(&agent, shape)?;
    let began = Instant::now();
    while began.elapsed() < lasts {
        for talk in &mut talks {
            step(&agent, talk, shape.window)?;
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: benchmark of the BPF programs: needs root");
        return Ok(());
    }
    // What the library has to say about each of so many loads hides the figures.
    libbpf_rs::set_print(None);
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    if let [word, flows, seconds] = &args[..] {
        if word == "profile" {
            return profile(flows.parse()?, Duration::from_secs(seconds.parse()?));
        }
    }
    if let [word, axes @ ..] = &args[..] {
        if word == "grow" {
            return grow::bench(axes);
        }
    }
    println!(
        "scheme  flows   data path   ACK path   (ns per packet, less the empty run; times what it takes to parse and look up)"
    );
    for (scheme, flows) in [
        ("rack", 1),
        ("rack", FLOWS_FEW),
        ("rack", FLOWS_MOST),
        ("shadow", 1),
        ("shadow", FLOWS_FEW),
    ] {
        let result = bench(scheme, flows)?;
        println!(
            "{scheme:<6} {flows:>6} {:>5} ns {:>4}x {:>5} ns {:>4}x",
            result["data_ns"], result["data_ratio"], result["ack_ns"], result["ack_ratio"]
        );
        println!("{result}");
    }
    dear::bench()
}
