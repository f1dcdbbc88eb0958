// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a soak must show, from its samples alone.
//!
//! Memory goes up and down with every reload, for programs are loaded, so what was seen meanwhile is left
//! out, and of the rest the floor is looked at: the second half of the load is cut into blocks, each has its least sample, and the median of the slopes
//! between these (Theil 1950, Sen 1968) times the half's length is what the floor has grown by.

use serde::Serialize;

use super::sample::Sample;
use crate::bed::load::Tally;

/// Blocks of the second half.
const BLOCKS: usize = 8;
/// A floor may grow by so many bytes, whatever it is: glibc keeps a heap for each thread that ran beside
/// others (load, answers), of half a MiB here, up to eight per processor.
const GROWTH_BYTES: f64 = 1_048_576.0;
/// Or by this share of itself.
const GROWTH_SHARE: f64 = 0.03;
/// Packets of which one may find its flow busy.
const LOCK_PACKETS: u64 = 1_000_000;
/// The age of the heartbeat from which on the programs believe in it no more.
const STALE_MS: u64 = 2_000;

/// A condition and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// What is looked at, with its unit.
    pub what: &'static str,
    /// What it came to.
    pub value: f64,
    /// What it may come to; none: it is told, not judged.
    pub bound: Option<Bound>,
    /// Whether it did.
    pub met: bool,
}

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// So much at the most.
    Most(f64),
    /// So much at the least.
    Least(f64),
}

/// How a soak went, in numbers.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// While there was load, in their order.
    pub samples: Vec<Sample>,
    /// After it, when nothing changed any more.
    pub rest: Sample,
    /// What became of the load.
    pub tally: Tally,
    /// How long there was load, in s.
    pub load_s: f64,
    pub reloads: u64,
    pub failed_reloads: u64,
    pub take_overs: u64,
    pub outages: u64,
}

/// All conditions, those that only tell something among them.
pub(super) fn judge(course: &Course) -> Vec<Condition> {
    let second = course.samples.iter();
    let second = second.filter(|s| s.at_s >= course.load_s / 2.0 && !s.reloading);
    let second: Vec<&Sample> = second.collect();
    let grown = |of: fn(&Sample) -> u64| growth(&series(&second, of)).unwrap_or(f64::NAN);
    let mut all = told(course);
    all.extend(of_load(course));
    all.extend(of_daemon(course));
    all.extend([
        memory("RSS, growth in KiB", &second, |s| s.rss_bytes),
        memory("anonymous, growth in KiB", &second, |s| s.anonymous_bytes),
        at_most("descriptors, growth", grown(|s| s.fds), 0.5),
        at_most("maps, growth in bytes", grown(|s| s.maps_bytes), 0.0),
    ]);
    all
}

/// What it was like.
fn told(course: &Course) -> Vec<Condition> {
    let Course { tally, rest, .. } = course;
    let most = |of: fn(&Sample) -> u64| course.samples.iter().map(of).max().unwrap_or(0) as f64;
    let figures = [
        ("hours of load", course.load_s / 3600.0),
        ("connections", tally.opened as f64),
        ("new connections/s", tally.opened as f64 / course.load_s),
        ("openings put off", tally.put_off as f64),
        ("exchanges", tally.exchanges as f64),
        ("exchange p50, ms", tally.p50_us as f64 / 1e3),
        ("exchange p99, ms", tally.p99_us as f64 / 1e3),
        ("most flows", most(|s| s.flows)),
        ("most slots", most(|s| s.slots)),
        ("packets", rest.counters.packets as f64),
        ("outages", course.outages as f64),
    ];
    let told = |(what, value)| Condition {
        what,
        value,
        bound: None,
        met: true,
    };
    figures.into_iter().map(told).collect()
}

fn of_load(course: &Course) -> [Condition; 9] {
    let tally = &course.tally;
    let unfinished = tally.opened.abs_diff(tally.finished);
    [
        least("repairs", course.rest.counters.local_retransmits, 1),
        least("reloads", course.reloads, 1),
        least("take-overs", course.take_overs, 1),
        zero("failed reloads", course.failed_reloads),
        zero("content errors", tally.content_errors),
        zero("resets", tally.resets),
        zero("connections stuck", tally.stuck),
        zero("other failures", tally.other_failures),
        zero("unfinished connections", unfinished),
    ]
}

fn of_daemon(course: &Course) -> [Condition; 10] {
    let (rest, counters) = (&course.rest, course.rest.counters);
    let lock = 1.0 + (counters.packets / LOCK_PACKETS) as f64;
    let ages_ms = course.samples.iter().map(|s| s.heartbeat_age_ms);
    let oldest_ms = ages_ms.max().unwrap_or(0) as f64;
    let missing = counters.flows_created.abs_diff(counters.flows_removed);
    [
        zero("repairs not sent", counters.retransmit_errors),
        zero("bypass_stale", counters.bypass_stale),
        zero("bypass_table_full", counters.bypass_table_full),
        at_most("bypass_lock", counters.bypass_lock as f64, lock),
        at_most("oldest heartbeat, ms", oldest_ms, STALE_MS as f64),
        zero("flows at rest", rest.flows),
        zero("active flows at rest", rest.active_flows),
        zero("slots at rest", rest.slots),
        zero("chunks at rest", rest.chunks),
        zero("flows not given back", missing),
    ]
}

fn memory(what: &'static str, second: &[&Sample], of: fn(&Sample) -> u64) -> Condition {
    let series = series(second, of);
    let floor = series.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
    let bound = GROWTH_BYTES.max(GROWTH_SHARE * floor);
    let grown = growth(&series).unwrap_or(f64::NAN); // which is below no bound
    at_most(what, (grown / 1024.0).round(), bound / 1024.0)
}

fn series(samples: &[&Sample], of: fn(&Sample) -> u64) -> Vec<(f64, f64)> {
    samples.iter().map(|s| (s.at_s, of(s) as f64)).collect()
}

/// By how much the floor of a series has grown over its length; none with too few samples.
pub(super) fn growth(series: &[(f64, f64)]) -> Option<f64> {
    let (first, last) = (series.first()?.0, series.last()?.0);
    let span = last - first;
    if series.len() < BLOCKS || span <= 0.0 {
        return None;
    }
    let block = |x: f64| (((x - first) / span * BLOCKS as f64) as usize).min(BLOCKS - 1);
    let mut least = [None::<(f64, f64)>; BLOCKS];
    for &(x, y) in series {
        let lowest = &mut least[block(x)];
        if lowest.is_none_or(|(_, low)| y < low) {
            *lowest = Some((x, y));
        }
    }
    let least: Vec<(f64, f64)> = least.into_iter().flatten().collect();
    let mut slopes = Vec::new();
    for (index, (x0, y0)) in least.iter().enumerate() {
        slopes.extend(
            least[index + 1..]
                .iter()
                .map(|(x1, y1)| (y1 - y0) / (x1 - x0)),
        );
    }
    crate::base::stats::median(&slopes).map(|slope| slope * span)
}

fn at_most(what: &'static str, value: f64, most: f64) -> Condition {
    Condition {
        what,
        value,
        bound: Some(Bound::Most(most)),
        met: value <= most,
    }
}

fn zero(what: &'static str, value: u64) -> Condition {
    at_most(what, value as f64, 0.0)
}

fn least(what: &'static str, value: u64, least: u64) -> Condition {
    Condition {
        what,
        value: value as f64,
        bound: Some(Bound::Least(least as f64)),
        met: value >= least,
    }
}

#[cfg(test)]
mod tests;
