// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the link emulators are told: a link and its place in the topology, as their configuration.

use anyhow::{Result, ensure};
use linkemu::{Config, DirectionConfig, RateTrace};

use super::host::Host;
use super::link::LinkOptions;
use super::topology::{Family, Kind, Link, Topology};
use super::way::Way;

/// The wired part loses nothing, but it has generators too: they must differ from the hop's.
const WIRED_SEED_MASK: u64 = 0x5749_5245;

/// Hops after the first lose other frames than it does.
const HOP_SEED_STEP: u64 = 0x484f_5000_0000;

/// What the emulator of each link is told, by the emulators' names.
///
/// # Errors
/// A trace cannot be read any more, or the hops between FH and MH take longer than the whole way.
pub fn configs(topology: &Topology, link: &LinkOptions) -> Result<Vec<(String, Config)>> {
    let hops_ns = topology.hops().len() as u64 * link.local_rtt_ns;
    ensure!(
        hops_ns <= link.rtt_ns,
        "--local-rtt of each hop: together they are longer than --rtt"
    );
    let mut hop_seeds = (0..).map(|hop| link.seed ^ (hop * HOP_SEED_STEP));
    let mut configs = Vec::new();
    for place in &topology.links {
        let config = match place.kind {
            Kind::Wire => wire_config(link, hops_ns),
            Kind::Hop { loss } => Config {
                seed: hop_seeds.next().unwrap_or(link.seed),
                ..hop_config(topology, link, (place, loss))?
            },
        };
        let config = Config {
            a: place.up.host.clone(),
            b: place.down.host.clone(),
            ..config
        };
        configs.push((place.emulator.clone(), config));
    }
    Ok(configs)
}

/// A hop of the link's options, at its place.
fn hop_config(
    topology: &Topology,
    link: &LinkOptions,
    (place, loss): (&Link, Option<f64>),
) -> Result<Config> {
    let mut config = air_config(link)?;
    for direction in [&mut config.a_to_b, &mut config.b_to_a] {
        if let Some(loss) = loss {
            (direction.loss, direction.burst_loss) = (loss, 0.0);
        }
        // Links of single receivers are those of the last hop.
        if place.down.host != Host::Mh.name() {
            direction.stations.clear();
        }
        for (receiver, station) in direction.stations.iter_mut().enumerate() {
            let address = |family| topology.receiver_address(Host::Mh, receiver, family);
            station.addresses = [Family::V4, Family::V6].map(address).to_vec();
        }
    }
    Ok(config)
}

/// Configuration of the wired part.
pub fn wan_config(link: &LinkOptions) -> Config {
    wire_config(link, link.local_rtt_ns)
}

/// A wire that takes what the hops leave of the round trip.
fn wire_config(link: &LinkOptions, hops_ns: u64) -> Config {
    let direction = DirectionConfig {
        rate_bps: link.wired_rate_bps,
        delay_ns: (link.rtt_ns - hops_ns) / 2,
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
        mac: None,
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
        mac: link.mac.clone(),
    })
}

fn air_direction(link: &LinkOptions, way: Way) -> Result<DirectionConfig> {
    let variation = &link.variation;
    let rate_trace = match variation.trace(way) {
        Some(trace) => trace.read()?,
        None => RateTrace::default(),
    };
    let rate_wave = variation.rate_wave.as_ref().map_or(Vec::new(), |wave| {
        let steps = wave.rates_bps.iter();
        steps.map(|rate_bps| (*rate_bps, wave.step_ns)).collect()
    });
    let police = variation.police.filter(|_| way == Way::Down);
    Ok(DirectionConfig {
        rate_bps: match link.mac {
            Some(_) => 0,
            None => link.constant_rate_bps(way),
        },
        rate_wave,
        rate_trace,
        delay_ns: link.local_rtt_ns / 2,
        jitter_ns: variation.jitter_ns,
        batch_ns: link.batch_ns(way),
        reorder: variation.reorder.map_or(0.0, |reorder| reorder.share),
        reorder_delay_ns: variation.reorder.map_or(0, |reorder| reorder.delay_ns),
        queue_frames: link.queue_packets_of(way) as usize,
        police_bps: police.map_or(0, |police| police.rate_bps),
        police_burst_bytes: police.map_or(0, |police| police.burst_bytes()),
        loss: link.random_loss(way),
        burst_loss: link.burst(way).map_or(0.0, |burst| burst.loss),
        burst_frames: link.burst(way).map_or(1.0, |burst| burst.mean_packets),
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

    #[test]
    fn bursts_per_direction() {
        let link = crate::data::words::link("--loss 0% --burst-loss 5%,4 --burst-loss-up 1%,2");
        let air = air_config(&link.unwrap()).unwrap();
        air.validate().unwrap();
        let [down, up] = [&air.a_to_b, &air.b_to_a].map(|way| (way.burst_loss, way.burst_frames));
        assert_eq!((down, up), ((0.05, 4.0), (0.01, 2.0)));
    }

    #[test]
    fn a_policer_stands_on_the_way_down() {
        let link = crate::data::words::link("--rate 100mbit --police 10mbit,50ms").unwrap();
        let air = air_config(&link).unwrap();
        air.validate().unwrap();
        let [down, up] = [&air.a_to_b, &air.b_to_a].map(|c| (c.police_bps, c.police_burst_bytes));
        assert_eq!((down, up), ((10_000_000, 62_500), (0, 0)));
        let means = [Way::Down, Way::Up].map(|way| link.mean_rate_bps(way));
        assert_eq!(means, [10_000_000, 100_000_000]);
    }

    #[test]
    fn a_medium_takes_the_place_of_the_rates() {
        let link = crate::data::words::link("--loss 1% --mac 802.11a,policy=no_ack").unwrap();
        let air = air_config(&link).unwrap();
        air.validate().unwrap();
        assert_eq!((air.a_to_b.rate_bps, air.b_to_a.rate_bps), (0, 0));
        assert_eq!((air.a_to_b.loss, air.mac), (0.01, link.mac.clone()));
        assert_eq!(wan_config(&link).mac, None);
        // 1514 bytes in 34 + 67.5 + 248 µs.
        assert_eq!(link.nominal_rate_bps() / 1_000_000, 34);
        assert!(link.summary().contains("802.11a medium"));
        for other in [
            "--rate-wave 5mbit,6mbit,1s",
            "--rate-up 1mbit",
            "--host-rate 5mbit,6mbit",
        ] {
            let refused = crate::data::words::link(&format!("--mac 802.11b {other}"));
            assert!(refused.unwrap_err().contains("--mac"), "{other}");
        }
    }

    #[test]
    fn each_hop_of_several_is_one_of_the_links() {
        let link = crate::data::words::link("--rtt 60ms --host-rate 5mbit,6mbit --burst-loss 5%,4")
            .unwrap();
        let topology = Topology::chain(2).with_loss("air2", 0.25);
        let all = configs(&topology, &link).unwrap();
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["wan", "air", "air2"]);
        let [wan, first, second] = [0, 1, 2].map(|index: usize| &all[index].1);
        assert_eq!((&*first.a, &*first.b, &*second.b), ("bs", "bs2", "mh"));
        let delays_ns = [wan, first, second].map(|config| 2 * config.a_to_b.delay_ns);
        assert_eq!(delays_ns.iter().sum::<u64>(), link.rtt_ns);
        assert_eq!((first.a_to_b.loss, second.b_to_a.loss), (0.02, 0.25));
        let bursts = [first, second].map(|config| config.a_to_b.burst_loss);
        assert_eq!(bursts, [0.05, 0.0], "a loss of its own is all that it has");
        assert_ne!(first.seed, second.seed);
        assert!(first.a_to_b.stations.is_empty());
        let stations = &second.a_to_b.stations;
        assert_eq!(
            format!("{:?}", stations[1].addresses),
            "[10.3.0.3, fd03::3]"
        );
        let five = configs(&Topology::five_hosts(2), &link).unwrap();
        assert_eq!(five[0].1, wan_config(&link));
        assert_eq!(five[1].1, air_config(&link).unwrap());
        let short = crate::data::words::link("--rtt 15ms").unwrap();
        assert!(configs(&topology, &short).is_err());
    }
}
