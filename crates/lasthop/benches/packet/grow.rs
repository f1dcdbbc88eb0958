// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a packet costs as things grow: flows, bytes, segments of a super-packet, rules, losses. One of
//! them at a time, the others as in a plain download; scheme `rack`; beside each figure the yardstick's
//! of the same run. `lasthop-lab bench-report` draws it and fits a model to it.
//!
//! Each flow has four packets outstanding, however many flows there are, so that with them grows only
//! what is touched of each.

use std::io::Write;

use anyhow::{Context, Result};
use lasthop::programs::{Program, Setup};
use lasthop_core::bindings::{LH_MAX_RULES, LH_RULE_EXCLUDE, lh_rule};
use lasthop_core::{Config, scheme_by_name};
use serde_json::json;

use crate::baseline::Baseline;
use crate::talk::{self, Programs};
use crate::{FLOWS_MOST, MSS, OWN_MARK, Shape, dear, losses, measure_both, median_ns, times_of};

const FLOWS: [u16; 6] = [1, 10, 100, 1_000, 10_000, FLOWS_MOST];
const BYTES: [u32; 4] = [100, 250, 536, MSS];
/// Of small segments, since a kernel may run no packet that is larger than a page; the last is one that
/// GRO makes.
const TRAINS: [(u32, u32); 9] = [
    (100, 1),
    (100, 2),
    (100, 4),
    (100, 8),
    (100, 16),
    (100, 32),
    (536, 6),
    (MSS, 2),
    (MSS, 44),
];
const WINDOW: u32 = 4;
const RULES: [u32; 4] = [0, 1, 10, LH_MAX_RULES];
/// Connections that are opened for each number of rules.
const OPENED: u16 = 4_000;

/// How many packets each point gets.
fn packets() -> Result<u32> {
    Ok(match dear::rounds_asked()? {
        1 => 5_000,
        _ => 40_000,
    })
}

/// A point's line, for people and for programs.
fn say(path: &str, (axis, x): (&str, f64), shape: Shape, [ns, base, empty]: [u64; 3], nr: u32) {
    let ratio = times_of(ns, base);
    println!("{axis:<9} {x:>6} {path:<7} {ns:>6} ns {ratio:>6.2}x");
    let line = json!({
        "bench": "cost", "axis": axis, "x": x, "path": path, "scheme": "rack",
        "flows": shape.flows, "window": shape.window, "mss": shape.mss,
        "segments": shape.segments, "ns": ns, "base_ns": base, "ratio": ratio,
        "empty_run_ns": empty, "packets": nr,
    });
    println!("{line}");
    let _ = std::io::stdout().flush();
}

/// Data and ACKs of one shape.
fn point(axis: &str, x: f64, shape: Shape, packets: u32) -> Result<()> {
    let [times, base] = measure_both("rack", shape, packets)?;
    let ([data, ack], [base_data, base_ack]) = (times.net(), base.net());
    let at = (axis, x);
    say("data", at, shape, [data, base_data, times.empty], packets);
    say("ack", at, shape, [ack, base_ack, times.empty], packets);
    Ok(())
}

fn skipped(axis: &str, x: f64, mss: u32, why: &anyhow::Error) {
    let why = format!("this kernel runs no packet so large ({why:#})");
    println!("skipped: {axis} {x} of {mss} bytes: {why}");
    let line = json!({ "bench": "cost", "axis": axis, "x": x, "mss": mss, "skipped": why });
    println!("{line}");
}

fn trains(packets: u32) -> Result<()> {
    for (mss, segments) in TRAINS {
        let shape = Shape {
            segments,
            ..Shape::single(mss)
        };
        let x = f64::from(segments);
        match point("segments", x, shape, packets) {
            Err(error) if error.downcast_ref::<std::io::Error>().is_some() => {
                skipped("segments", x, mss, &error);
            }
            other => other?,
        }
    }
    Ok(())
}

/// Rules that are asked, every one, and cover nobody here.
fn rules(nr: u32) -> Vec<lh_rule> {
    let rule = |i: u32| {
        let mut addr = [0; 16];
        addr[..4].copy_from_slice(&[203, 0, 113, i as u8]);
        lh_rule {
            addr,
            family: 4,
            prefix_bits: 32,
            port: 0,
            action: LH_RULE_EXCLUDE,
        }
    };
    (0..nr).map(rule).collect()
}

/// Medians of new connections' SYNs and of their answers.
fn opened(of: &dyn Programs) -> Result<[u64; 2]> {
    let (mut syns, mut answers) = (Vec::new(), Vec::new());
    for n in 0..OPENED {
        let [syn, answer] = talk::opens(of, n, true)?;
        syns.push(syn);
        answers.push(answer);
    }
    Ok([median_ns(syns), median_ns(answers)])
}

/// New connections, which are all that rules are asked about.
fn connections(_packets: u32) -> Result<()> {
    for nr in RULES {
        let config = Config {
            scheme: scheme_by_name("rack").context("no such scheme")?,
            ..Config::default()
        };
        let agent = talk::agent_as(Setup {
            config,
            rules: rules(nr),
            ..Setup::default()
        })?;
        let shape = Shape {
            flows: OPENED,
            window: 0,
            mss: 0,
            segments: 0,
        };
        let empty = median_ns(
            (0..OPENED)
                .map(|_| agent.time(Program::Egress, &[0; 64], OWN_MARK))
                .collect::<Result<_>>()?,
        );
        let agents = opened(&agent)?;
        drop(agent);
        let base = opened(&Baseline::load()?)?;
        for (path, (ns, base)) in ["syn", "syn-ack"].iter().zip(agents.into_iter().zip(base)) {
            let [ns, base] = [ns, base].map(|ns| ns.saturating_sub(empty));
            let at = ("rules", f64::from(nr));
            say(path, at, shape, [ns, base, empty], u32::from(OPENED));
        }
    }
    Ok(())
}

fn flows(packets: u32) -> Result<()> {
    FLOWS.into_iter().try_for_each(|flows| {
        let shape = Shape {
            flows,
            ..Shape::single(MSS)
        };
        point("flows", f64::from(flows), shape, packets)
    })
}

fn bytes(packets: u32) -> Result<()> {
    BYTES
        .into_iter()
        .try_for_each(|mss| point("bytes", f64::from(mss), Shape::single(mss), packets))
}

impl Shape {
    /// Of one flow, segment by segment.
    fn single(mss: u32) -> Self {
        Self {
            flows: 1,
            window: WINDOW,
            mss,
            segments: 1,
        }
    }
}

/// A line per point and path, of these axes or all.
pub fn bench(axes: &[String]) -> Result<()> {
    let packets = packets()?;
    println!("ns per packet, less the empty run; times what it takes to parse and look up");
    type Axis = (&'static str, fn(u32) -> Result<()>);
    let all: [Axis; 5] = [
        ("flows", flows),
        ("bytes", bytes),
        ("segments", trains),
        ("rules", connections),
        ("loss", losses::bench),
    ];
    let is_asked = |(name, _): &&Axis| axes.is_empty() || axes.iter().any(|axis| axis == name);
    all.iter()
        .filter(is_asked)
        .try_for_each(|(_, axis)| axis(packets))
}
