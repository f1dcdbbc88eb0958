// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The dearest ACKs that a hostile receiver can send, beside honest ones. Those that cost most
//! were found by hand and by the fuzzer, whose world counts what each packet makes the core look
//! at (crates/lasthop-fuzz).
//!
//! A kind sends the same ACKs in each of several rounds, to a new agent each, and the least time of
//! each ACK counts: what interrupts a machine does not hit the same ACK every time, and what an ACK
//! costs by itself does. So the tail is the program's; that of a single round is given beside it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lasthop::programs::Agent;
use lasthop_core::Config;

use crate::talk::{self, Talk};

const MSS: u32 = 100; // the least that is cached without limit: more of them in a window
const WINDOW: u32 = 14_400; // segments; a flow may have 16,384, new ones less a tenth
const ACKS: usize = 20_000;
/// Unless LASTHOP_BENCH_ROUNDS says otherwise.
const ROUNDS: usize = 5;

type Times = Result<Vec<Duration>>;
type Kind = (&'static str, fn(&Agent) -> Times);

/// A window of [`WINDOW`] segments, none acknowledged.
fn window(agent: &Agent, n: u16, sack: bool) -> Result<Talk> {
    let mut talk = Talk::echoing(agent, n, MSS, sack, 1)?;
    // What is proved by an ACK may fill it.
    talk.goes_on(agent)?;
    let una = talk.next;
    talk.acks(agent, una)?;
    for _ in 0..WINDOW {
        talk.goes_on(agent)?;
    }
    Ok(talk)
}

/// Where segment `n` of a fresh window begins.
fn at(n: u32) -> u32 {
    1 + MSS + n * MSS
}

/// Two segments each.
fn honest(agent: &Agent) -> Times {
    let mut talk = window(agent, 0, true)?;
    (1..=ACKS as u32)
        .map(|i| {
            talk.goes_on(agent)?;
            talk.goes_on(agent)?;
            talk.acks(agent, at(2 * i))
        })
        .collect()
}

/// So many segments at once, of a full window.
fn stretch(agent: &Agent, segments: u32, acks: usize) -> Times {
    let mut talk = window(agent, 0, true)?;
    let mut una = 0;
    (0..acks)
        .map(|_| {
            una += segments;
            let time = talk.acks(agent, at(una));
            for _ in 0..segments {
                talk.goes_on(agent)?;
            }
            time
        })
        .collect()
}

/// Two lists of blocks in turn: each is news beside the other.
fn lists(agent: &Agent) -> Times {
    let mut talk = window(agent, 0, true)?;
    (0..ACKS)
        .map(|i| {
            let upto = if i % 2 == 0 { WINDOW / 3 } else { WINDOW };
            let blocks: Vec<_> = (1..5).map(|k| (at(k), at(upto - k))).collect();
            talk.sacks(agent, at(0), &blocks)
        })
        .collect()
}

/// Every other segment of a window is lost: each ACK tells of a few, and all are due at once.
fn holes(agent: &Agent) -> Times {
    let mut times = Vec::new();
    for n in 0..(ACKS / 400) as u16 {
        let mut talk = window(agent, n, true)?;
        for i in 0..400 {
            let blocks: Vec<_> = (0..4)
                .map(|k| 8 * i + 2 * k + 1)
                .map(|left| (at(left), at(left + 1)))
                .collect();
            times.push(talk.sacks(agent, at(0), &blocks)?);
        }
        talk.acks(agent, at(WINDOW))?;
    }
    Ok(times)
}

/// FH has sent a segment again, MH has that and the rest of the window, but not the first.
fn repeated(agent: &Agent) -> Times {
    let mut talk = window(agent, 0, true)?;
    talk.sends(agent, at(WINDOW - 10), 0)?;
    for _ in 0..40 {
        talk.sacks(agent, at(0), &[(at(1), at(WINDOW))])?;
    }
    (0..ACKS as u32)
        .map(|i| talk.sacks(agent, at(0), &[(at(1), at(WINDOW - i % 2))]))
        .collect()
}

/// Half a window at once, and lists of blocks and of holes above it.
fn all(agent: &Agent) -> Times {
    let mut times = Vec::new();
    for n in 0..100 {
        let mut talk = window(agent, n, true)?;
        let half = WINDOW / 2;
        talk.sends(agent, at(WINDOW - 10), 0)?;
        for i in 0..30 {
            let block = (at(half + 8 * i), at(half + 8 * i + 1));
            talk.sacks(agent, at(i), &[block])?;
        }
        let blocks: Vec<_> = (1..5)
            .map(|k| (at(half + 250 * k), at(half + 250 * k + 200)))
            .collect();
        times.push(talk.sacks(agent, at(half), &blocks)?);
        talk.acks(agent, at(WINDOW))?;
    }
    Ok(times)
}

fn at_percentile(times: &[Duration], share: f64) -> u64 {
    let rank = (times.len() as f64 * share).ceil() as usize;
    times[rank.clamp(1, times.len()) - 1].as_nanos() as u64
}

/// The least time of each ACK, and p99.99 of the first round.
fn rounds(kind: fn(&Agent) -> Times, rounds: usize) -> Result<(Vec<Duration>, u64)> {
    let mut least = kind(&talk::agent(Config::default())?)?;
    let mut once = least.clone();
    once.sort_unstable();
    for _ in 1..rounds {
        let times = kind(&talk::agent(Config::default())?)?;
        ensure!(
            times.len() == least.len(),
            "a round of {} ACKs after one of {}",
            times.len(),
            least.len()
        );
        for (least, time) in least.iter_mut().zip(times) {
            *least = time.min(*least);
        }
    }
    least.sort_unstable();
    Ok((least, at_percentile(&once, 0.9999)))
}

/// How many rounds are asked for.
pub fn rounds_asked() -> Result<usize> {
    match std::env::var("LASTHOP_BENCH_ROUNDS") {
        Ok(nr) => nr
            .parse()
            .with_context(|| format!("LASTHOP_BENCH_ROUNDS={nr}: not a number")),
        Err(_) => Ok(ROUNDS),
    }
}

/// Prints a line per kind.
pub fn bench() -> Result<()> {
    println!(
        "ACKs         count   median     p99   p99.99   p99.99 of one round   (ns, the run itself included)"
    );
    let kinds: [Kind; 8] = [
        ("honest", honest),
        ("stretch-64", |a| stretch(a, 64, ACKS)),
        ("stretch-256", |a| stretch(a, 256, 10_000)),
        ("stretch-14400", |a| stretch(a, WINDOW, 200)),
        ("lists", lists),
        ("holes", holes),
        ("repeated", repeated),
        ("all", all),
    ];
    let nr = rounds_asked()?;
    // As `cargo bench` has it: what is named is run.
    let named: Vec<_> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    for (name, kind) in kinds {
        if !named.is_empty() && !named.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let (times, once) = rounds(kind, nr)?;
        let [median, p99, p9999] = [0.5, 0.99, 0.9999].map(|p| at_percentile(&times, p));
        println!(
            "{name:<12} {:>5} {median:>8} {p99:>7} {p9999:>8} {once:>21}",
            times.len()
        );
        let line = serde_json::json!({
            "bench": "dear", "acks": name, "count": times.len(), "rounds": nr,
            "median_ns": median, "p99_ns": p99, "p9999_ns": p9999, "p9999_one_round_ns": once,
        });
        println!("{line}");
    }
    Ok(())
}
