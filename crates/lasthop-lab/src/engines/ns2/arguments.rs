// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The scenario's arguments for one cell.

use anyhow::{Result, bail};

use crate::cell::engine::{NS2_PREFIX, TwoState};
use crate::cell::options::{Cell, CompareOptions, NO_AGENT};
use crate::data::profile::Profile;
use crate::data::segment::FullSegment;
use crate::data::way::Way;
use crate::engines::simulator;

/// Timestamps with their padding (RFC 7323).
const TIMESTAMP_BYTES: u64 = 12;
/// Of the profiles that ns-2 has.
const INITIAL_CWND: u32 = 2;

/// Congestion controls, and ns-2's class of the sender without SACK. `reno` here is the one of 1990,
/// which the first new ACK takes out of fast recovery (RFC 2581).
const CONTROLS: [(&str, &str); 3] = [("tahoe", "Tahoe"), ("reno", "Reno"), ("newreno", "Newreno")];

/// ns-2's sender.
///
/// # Errors
/// It has none of that name, or not with SACK.
pub(super) fn sender(cc: &str, profile: Profile) -> Result<&'static str> {
    let known = CONTROLS.iter().find(|(name, _)| *name == cc);
    match (known, profile) {
        (Some((_, class)), Profile::Vintage) => Ok(class),
        (Some(("reno", _)), _) => Ok("Sack1"),
        (Some(_), _) => bail!("--cc {cc}: --engine ns2 has it without SACK: add --profile vintage"),
        (None, _) => {
            let names = CONTROLS.map(|(name, _)| name).join(", ");
            bail!("--cc {cc}: --engine ns2 has {names}")
        }
    }
}

/// A full segment of the transfer.
pub(super) fn full_segment(options: &CompareOptions) -> FullSegment {
    let traffic = &options.traffic;
    options.link.full_segment(traffic.family, traffic.mss_bytes)
}

/// What stands behind the script's name.
///
/// # Errors
/// ns-2 has no such sender.
pub(super) fn arguments(options: &CompareOptions, cell: &Cell) -> Result<Vec<String>> {
    let (link, traffic) = (&options.link, &options.traffic);
    let s = |ns: u64| ns as f64 / 1e9;
    let mut words = vec![
        format!("seed={}", cell.seed),
        format!("snoop={}", u8::from(cell.scheme != NO_AGENT)),
        format!("warmup={}", s(traffic.warmup_ns)),
        format!("duration={}", s(traffic.duration_ns)),
        format!("rate={}", link.constant_rate_bps(Way::Down)),
        format!("rate_up={}", link.constant_rate_bps(Way::Up)),
        format!("delay={}", s(link.local_rtt_ns / 2)),
        format!("queue={}", link.queue_packets_of(Way::Down)),
        format!("queue_up={}", link.queue_packets_of(Way::Up)),
        format!("wired_rate={}", link.wired_rate_bps),
        format!("wired_delay={}", s((link.rtt_ns - link.local_rtt_ns) / 2)),
        format!("wired_queue={}", link.wired_queue_packets),
        format!("loss={}", link.random_loss(Way::Down)),
        format!("loss_up={}", link.random_loss(Way::Up)),
        format!("ber={}", link.ber),
    ];
    let two_state = options.engine.two_state;
    words.extend(two_state.map(|model| format!("two_state={}", two_states(model))));
    words.extend(stack(options, cell)?);
    // The script takes the last one of a name.
    let attributes = options.engine.attributes.iter();
    let named = attributes.filter_map(|given| given.0.strip_prefix(NS2_PREFIX));
    words.extend(named.map(str::to_owned));
    Ok(words)
}

fn two_states(model: TwoState) -> String {
    let s = |ns: u64| ns as f64 / 1e9;
    let (good_s, bad_s) = (s(model.good_ns), s(model.bad_ns));
    format!(
        "{},{},{good_s},{bad_s}",
        model.good_interval, model.bad_interval
    )
}

/// The hosts' TCP.
fn stack(options: &CompareOptions, cell: &Cell) -> Result<[String; 6]> {
    let (link, full) = (&options.link, full_segment(options));
    let window_bytes = options
        .traffic
        .rcv_window_bytes
        .unwrap_or(simulator::UNSCALED_WINDOW_BYTES);
    let option_bytes = match link.has_timestamps() {
        true => TIMESTAMP_BYTES,
        false => 0,
    };
    let cwnd = link.stack.initial_cwnd(link.profile);
    Ok([
        format!("sender={}", sender(&cell.cc, link.profile)?),
        format!("payload={}", full.payload_bytes),
        format!("options={option_bytes}"),
        format!("window={}", window_bytes / full.payload_bytes),
        format!("min_rto={}", simulator::rto_min_ns(link) as f64 / 1e9),
        format!("initial_window={}", cwnd.unwrap_or(INITIAL_CWND)),
    ])
}
