// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the simulator cannot do.

use anyhow::{Result, bail};
use lasthop::config::File;
use lasthop_core::bindings::{LH_POLICY_PARTNER, LH_POLICY_SEQUENCE};
use linkemu::mac::{LossPer, MacConfig, Policy, Preamble};

use super::congestion;
use crate::cell::engine::first_given;
use crate::cell::options::{CompareOptions, NO_AGENT};
use crate::data::ends::Agents;
use crate::data::neighbour::Kind;
use crate::data::scheme;
use crate::data::way::Way;
use crate::engines::{engine, simulator};

/// The device holds one packet, and the queue before it at least another.
const LEAST_QUEUE: u64 = 2;
/// A Wi-Fi device holds the frame on the air and the next one.
const LEAST_WIFI_QUEUE: u64 = 3;

/// Finds what the simulator has no model of, or no room for.
///
/// # Errors
/// It names the option.
pub fn check(options: &CompareOptions) -> Result<()> {
    if let Some(option) = simulator::of_test_bed(options) {
        return Err(engine::refusal(option, "ns3", "testbed"));
    }
    let neighbours = options.beside.neighbours.iter();
    let of_neighbours = neighbours.filter_map(|neighbour| match &neighbour.kind {
        Kind::Tcp(cc) => Some(cc),
        Kind::Udp(_) => None,
    });
    for cc in options.cc.iter().chain(&options.traffic.flow_cc) {
        congestion::type_id(cc)?;
    }
    for cc in of_neighbours {
        congestion::type_id(cc)?;
    }
    for scheme in options.schemes.iter().filter(|name| *name != NO_AGENT) {
        File::default().setup(scheme, &lasthop::memory::Room::UNLIMITED)?;
    }
    let link = &options.link;
    let hosts = 0..link.hosts.count();
    let least = hosts.flat_map(|host| [Way::Down, Way::Up].map(|way| (host, way)));
    let least = least.map(|(host, way)| link.host_queue_packets(host, way));
    let needed = match link.mac {
        Some(_) => LEAST_WIFI_QUEUE,
        None => LEAST_QUEUE,
    };
    if least.min().unwrap_or(0) < needed || link.wired_queue_packets < LEAST_QUEUE {
        bail!(
            "--queue, --queue-up, --host-queue and --wired-queue: --engine ns3 has room for \
             {needed} packets at least"
        );
    }
    if let Some(mac) = &link.mac {
        check_medium(mac)?;
    }
    check_ends(options)
}

/// Finds what ns-3's Wi-Fi does another way than the emulator's medium.
fn check_medium(mac: &MacConfig) -> Result<()> {
    let only_attempts = mac.loss_per == LossPer::Packet && mac.tries() > 1;
    let edca = [mac.aifsn, mac.cw_min, mac.cw_max];
    let given = first_given(&[
        (mac.policy != Policy::Ack, "policy"),
        (mac.basic_rate_mbps.is_some(), "basic_rate"),
        (mac.preamble == Some(Preamble::Short), "preamble"),
        (only_attempts, "loss_per"),
        (mac.control_loss > 0.0, "control_loss"),
        (mac.txop_ns() > 0, "txop"),
        (edca.iter().any(Option::is_some), "aifsn, cw_min or cw_max"),
    ]);
    match given {
        Some(key) => bail!(
            "--mac: --engine ns3 has no such {key}: it knows rate, tries and the powers; every frame \
             is answered, and losses are by attempt"
        ),
        None => Ok(()),
    }
}

/// Finds agents that would have nothing to go by at the ends where they stand.
fn check_ends(options: &CompareOptions) -> Result<()> {
    for name in &options.schemes {
        scheme::check_mac(name, options.link.mac.as_ref())?;
        if scheme::has_policy(name, LH_POLICY_SEQUENCE) {
            bail!(
                "--scheme {name}: --engine ns3 has no messages between agents, without which it repairs nothing; \
                 leave --engine away"
            );
        }
    }
    if options.agents == Agents::Base {
        return Ok(());
    }
    if options.link.hosts.have_links() {
        bail!(
            "--agents: --engine ns3 has agents of hosts with links of their own at the base only"
        );
    }
    let mut schemes = options.schemes.iter();
    if schemes.any(|name| scheme::has_policy(name, LH_POLICY_PARTNER)) {
        bail!("--agents: --engine ns3 has no messages between agents, by which snack goes there");
    }
    Ok(())
}
