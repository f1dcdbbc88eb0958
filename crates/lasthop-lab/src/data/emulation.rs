// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the two link emulators are told of a link.

use anyhow::Result;
use linkemu::{Config, DirectionConfig, RateTrace};

use super::link::LinkOptions;
use super::way::Way;

/// The wired part loses nothing, but it has generators too: they must differ from the hop's.
const WIRED_SEED_MASK: u64 = 0x5749_5245;

/// Configuration of the wired part.
pub fn wan_config(link: &LinkOptions) -> Config {
    let direction = DirectionConfig {
        rate_bps: link.wired_rate_bps,
        delay_ns: (link.rtt_ns - link.local_rtt_ns) / 2,
        queue_frames: link.wired_queue_packets as usize,
        ..DirectionConfig::default()
    };
    // One direction is enough, and this is where the first SYN of FH comes by.
    let flow_rtt_ns = link.variation.flow_rtt_ns.iter();
    let flow_delays_ns = flow_rtt_ns
        .map(|rtt_ns| rtt_ns.saturating_sub(link.rtt_ns))
        .collect();
    Config {
        a: "fh".into(),
        b: "bs".into(),
        seed: link.seed ^ WIRED_SEED_MASK,
        a_to_b: DirectionConfig {
            flow_delays_ns,
            ..direction.clone()
        },
        b_to_a: direction,
    }
}

/// Configuration of the lossy hop, without outages: their times count from the transfer's start.
///
/// # Errors
/// A trace cannot be read any more.
pub fn air_config(link: &LinkOptions) -> Result<Config> {
    Ok(Config {
        a: "bs".into(),
        b: "mh".into(),
        seed: link.seed,
        a_to_b: air_direction(link, Way::Down)?,
        b_to_a: air_direction(link, Way::Up)?,
    })
}

fn air_direction(link: &LinkOptions, way: Way) -> Result<DirectionConfig> {
    let variation = &link.variation;
    let rate_trace = match variation.trace(way) {
        Some(trace) => RateTrace::read(&trace.path)?,
        None => RateTrace::default(),
    };
    let rate_wave = variation.rate_wave.as_ref().map_or(Vec::new(), |wave| {
        let steps = wave.rates_bps.iter();
        steps.map(|rate_bps| (*rate_bps, wave.step_ns)).collect()
    });
    Ok(DirectionConfig {
        rate_bps: link.constant_rate_bps(way),
        rate_wave,
        rate_trace,
        delay_ns: link.local_rtt_ns / 2,
        jitter_ns: variation.jitter_ns,
        batch_ns: link.batch_ns(way),
        reorder: variation.reorder.map_or(0.0, |reorder| reorder.share),
        reorder_delay_ns: variation.reorder.map_or(0, |reorder| reorder.delay_ns),
        queue_frames: link.queue_packets_of(way) as usize,
        loss: link.random_loss(way),
        ber: link.ber,
        aqm: link.aqm,
        ack_thin: link.ack_thin(way),
        stations: link.stations(way),
        ..DirectionConfig::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_add_up_to_the_round_trip() {
        let link = LinkOptions::default();
        let (wan, air) = (wan_config(&link), air_config(&link).unwrap());
        let round_trip =
            wan.a_to_b.delay_ns + wan.b_to_a.delay_ns + air.a_to_b.delay_ns + air.b_to_a.delay_ns;
        assert_eq!(round_trip, link.rtt_ns);
        assert_eq!(air.a_to_b.delay_ns * 2, link.local_rtt_ns);
        wan.validate().unwrap();
        air.validate().unwrap();
    }

    #[test]
    fn loss_per_direction() {
        let link = LinkOptions {
            loss: 0.02,
            loss_up: Some(0.0),
            ..LinkOptions::default()
        };
        let air = air_config(&link).unwrap();
        assert_eq!((air.a_to_b.loss, air.b_to_a.loss), (0.02, 0.0));
        assert_eq!(wan_config(&link).a_to_b.loss, 0.0);
    }
}
