// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the simulator cannot do.

use anyhow::{Result, bail};
use lasthop::config::File;
use lasthop_core::bindings::{LH_POLICY_MAC, LH_POLICY_PARTNER};
use linkemu::mac::{LossPer, MacConfig, Policy, Preamble};

use super::congestion;
use crate::cell::engine::first_given;
use crate::cell::options::{CompareOptions, NO_AGENT};
use crate::data::ends::Agents;
use crate::data::neighbour::Kind;
use crate::data::return_path::ReturnPath;
use crate::data::scheme;
use crate::data::sender::Sender;
use crate::data::switch::Switch;
use crate::data::topology::Family;
use crate::data::variation::Variation;
use crate::data::way::Way;
use crate::engines::engine;

/// The device holds one packet, and the queue before it at least another.
const LEAST_QUEUE: u64 = 2;
/// A Wi-Fi device holds the frame on the air and the next one.
const LEAST_WIFI_QUEUE: u64 = 3;

/// Finds what the simulator has no model of, or no room for.
///
/// # Errors
/// It names the option.
pub fn check(options: &CompareOptions) -> Result<()> {
    if let Some(option) = of_test_bed(options) {
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
    let given = first_given(&[
        (mac.policy != Policy::Ack, "policy"),
        (mac.basic_rate_mbps.is_some(), "basic_rate"),
        (mac.preamble == Some(Preamble::Short), "preamble"),
        (only_attempts, "loss_per"),
        (mac.control_loss > 0.0, "control_loss"),
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
    let mut schemes = options.schemes.iter();
    if schemes.any(|name| scheme::has_policy(name, LH_POLICY_MAC)) && options.link.mac.is_none() {
        bail!(
            "--scheme csnoop goes by the MAC's reports, and this link has none: add --mac 802.11b"
        );
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

/// An option that only the test bed has.
fn of_test_bed(options: &CompareOptions) -> Option<&'static str> {
    let (link, traffic, watch) = (&options.link, &options.traffic, &options.watch);
    let Variation {
        jitter_ns,
        reorder,
        batch_ns,
        rate_wave,
        rate_trace,
        rate_trace_up,
        flow_rtt_ns,
    } = &link.variation;
    let ReturnPath {
        rate_up_bps: _,
        queue_up: _,
        batch_up_ns,
        ack_thin,
    } = &link.return_path;
    first_given(&[
        (batch_up_ns.is_some(), "batch-up"),
        (ack_thin.is_some(), "ack-thin"),
        (link.sender == Sender::Bs, "sender"),
        (link.outage.is_some(), "outage"),
        (link.gro == Switch::On, "gro"),
        (link.checksum_offload == Switch::On, "checksum-offload"),
        (!link.stack.sysctls.is_empty(), "sysctl"),
        (*jitter_ns > 0, "jitter"),
        (reorder.is_some(), "reorder"),
        (*batch_ns > 0, "batch"),
        (rate_wave.is_some(), "rate-wave"),
        (rate_trace.is_some(), "rate-trace"),
        (rate_trace_up.is_some(), "rate-trace-up"),
        (!flow_rtt_ns.is_empty(), "flow-rtt"),
        (traffic.family == Family::V6, "family 6"),
        (traffic.opener != Default::default(), "opener"),
        (traffic.transfers > 1, "transfers"),
        (watch.samples.is_some(), "samples"),
        (options.page.page, "page"),
    ])
}
