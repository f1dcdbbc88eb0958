// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What losses cost: one flow at some 100 Mbit/s over a hop of a millisecond, every segment acknowledged
//! when it arrives, some lost, which arrive [`BACK`] segments after they were sent. So MH's ACKs carry
//! SACK blocks meanwhile, and the agent repairs. Its clock is the packets' ([`Clocked`]): what is judged by
//! time is judged as on such a link, however fast the runs follow each other.
//!
//! Means, since losses are rare and their cost is in the tail; of each packet the least time of several
//! rounds of the same packets, as in dear.rs.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lasthop::monotonic::now_ns;
use lasthop::programs::{Outcome, Program, Setup, SkbContext};
use lasthop_core::{Config, scheme_by_name};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;

use crate::baseline::Baseline;
use crate::talk::{self, Programs, Talk};
use crate::{MSS, OWN_MARK, dear, median_ns, times_of};

/// Per cent.
const LOSSES: [f64; 5] = [0.0, 0.1, 1.0, 5.0, 20.0];
/// From one segment to the next.
const GAP_NS: u64 = 120_000;
/// So many segments after it was sent one has arrived, and its ACK is here.
const HOP: u32 = 8;
/// A lost one, after it was found missing and sent again.
const BACK: u32 = 2 * HOP + 2;
/// Blocks that find room beside timestamps.
const BLOCKS: usize = 3;

/// What the receiver has, by number of the segment.
#[derive(Default)]
struct Receiver {
    /// All below.
    una: u32,
    above: BTreeSet<u32>,
}

impl Receiver {
    fn takes(&mut self, n: u32) {
        self.above.insert(n);
        while self.above.remove(&self.una) {
            self.una += 1;
        }
    }

    /// From the newest down.
    fn blocks(&self) -> Vec<(u32, u32)> {
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for n in self.above.iter().rev() {
            let has_room = blocks.len() < BLOCKS;
            match blocks.last_mut() {
                Some((left, _)) if *left == n + 1 => *left = *n,
                _ if has_room => blocks.push((*n, n + 1)),
                _ => break,
            }
        }
        blocks
    }
}

/// Programs whose time goes by the packets.
struct Clocked<'a> {
    programs: &'a dyn Programs,
    now_ns: Cell<u64>,
}

impl Programs for Clocked<'_> {
    fn outcome(&self, program: Program, packet: &[u8], context: &SkbContext) -> Result<Outcome> {
        let context = SkbContext {
            tstamp: self.now_ns.get(),
            ..*context
        };
        self.programs.outcome(program, packet, &context)
    }
}

/// Times of a round: data, ACKs, and of runs that leave at once.
#[derive(Default)]
struct Round {
    data: Vec<Duration>,
    acks: Vec<Duration>,
    empty: Vec<Duration>,
    lost: u32,
}

fn round(programs: &dyn Programs, loss: f64, segments: u32) -> Result<Round> {
    let of = Clocked {
        programs,
        now_ns: Cell::new(now_ns()),
    };
    let mut talk = Talk::echoing(&of, 0, MSS, true, 1)?;
    let first = talk.next;
    let at = |n: u32| first + n * MSS;
    let mut rng = StdRng::seed_from_u64(1);
    let mut receiver = Receiver::default();
    let mut arrivals: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut round = Round::default();
    for n in 0..segments {
        of.now_ns.set(of.now_ns.get() + GAP_NS);
        let next = talk.next;
        round.empty.push(talk.sends(&of, next, OWN_MARK)?);
        round.data.push(talk.goes_on(&of)?);
        let is_lost = rng.random_bool(loss / 100.0);
        round.lost += u32::from(is_lost);
        let later = if is_lost { BACK } else { HOP };
        arrivals.entry(n + later).or_default().push(n);
        for segment in arrivals.remove(&n).unwrap_or_default() {
            receiver.takes(segment);
            let blocks = receiver.blocks();
            let blocks: Vec<_> = blocks.into_iter().map(|(l, r)| (at(l), at(r))).collect();
            round.acks.push(talk.tells(&of, at(receiver.una), &blocks)?);
        }
    }
    Ok(round)
}

/// Of each packet the least time.
fn least(of: &mut [Duration], other: &[Duration]) -> Result<()> {
    ensure!(of.len() == other.len(), "rounds of other packets");
    for (least, time) in of.iter_mut().zip(other) {
        *least = (*least).min(*time);
    }
    Ok(())
}

fn mean_ns(times: &[Duration], empty: u64) -> u64 {
    let sum: u64 = times.iter().map(|time| time.as_nanos() as u64).sum();
    (sum / times.len().max(1) as u64).saturating_sub(empty)
}

/// Data, ACK, empty run; repairs per loss.
fn means(agents: bool, loss: f64, (rounds, segments): (usize, u32)) -> Result<([u64; 3], f64)> {
    let (mut all, mut repairs): (Option<Round>, u64) = (None, 0);
    for _ in 0..rounds {
        let now = match agents {
            true => {
                let config = Config {
                    scheme: scheme_by_name("rack").context("no such scheme")?,
                    ..Config::default()
                };
                let agent = talk::agent_as(Setup {
                    config,
                    test_clock: true,
                    ..Setup::default()
                })?;
                let now = round(&agent, loss, segments)?;
                repairs += agent.counter("local_retransmits")?;
                now
            }
            false => round(&Baseline::load()?, loss, segments)?,
        };
        match &mut all {
            None => all = Some(now),
            Some(all) => {
                least(&mut all.data, &now.data)?;
                least(&mut all.acks, &now.acks)?;
            }
        }
    }
    let all = all.context("no rounds")?;
    let empty = median_ns(all.empty);
    let per_loss = repairs as f64 / (rounds as f64 * f64::from(all.lost)).max(1.0);
    let times = [mean_ns(&all.data, empty), mean_ns(&all.acks, empty), empty];
    Ok((times, per_loss))
}

/// A line per share of losses and path.
pub fn bench(packets: u32) -> Result<()> {
    let work = (dear::rounds_asked()?.min(3), packets / 2);
    for loss in LOSSES {
        let ([data, ack, empty], repairs) = means(true, loss, work)?;
        ensure!(
            loss < 1.0 || repairs > 0.5,
            "at {loss} % only {repairs:.2} repairs per loss"
        );
        let ([base_data, base_ack, _], _) = means(false, loss, work)?;
        for (path, ns, base) in [("data", data, base_data), ("ack", ack, base_ack)] {
            let ratio = times_of(ns, base);
            println!(
                "loss      {loss:>6} {path:<7} {ns:>6} ns {ratio:>6.2}x, {repairs:.2} repairs per loss"
            );
            let line = json!({
                "bench": "cost", "axis": "loss", "x": loss, "path": path, "scheme": "rack",
                "flows": 1, "window": BACK - HOP, "mss": MSS, "segments": 1, "ns": ns, "base_ns": base,
                "ratio": ratio, "empty_run_ns": empty, "packets": work.1,
                "repairs_per_loss": (repairs * 100.0).round() / 100.0,
            });
            println!("{line}");
        }
    }
    Ok(())
}
