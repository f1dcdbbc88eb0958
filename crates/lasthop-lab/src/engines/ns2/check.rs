// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What ns-2, or the scenario for it, cannot do.

use anyhow::{Result, bail};
use linkemu::Aqm;

use super::arguments;
use crate::cell::beside::BesideOptions;
use crate::cell::engine::first_given;
use crate::cell::options::{CompareOptions, Direction, NO_AGENT};
use crate::data::ends::Agents;
use crate::data::profile::Profile;
use crate::data::return_path::ReturnPath;
use crate::data::sender::Sender;
use crate::data::stack::StackOptions;
use crate::data::switch::{Gro, Switch};
use crate::data::topology::Family;
use crate::data::variation::Variation;
use crate::engines::engine;

/// The one scheme that ns-2 has.
const SNOOP: &str = "snoop";

/// Finds what ns-2 has no model of.
///
/// # Errors
/// It names the option.
pub fn check(options: &CompareOptions) -> Result<()> {
    let (link, traffic) = (&options.link, &options.traffic);
    if let Some(option) = of_others(options) {
        return Err(engine::refusal(option, "ns2", "testbed"));
    }
    if options.agent_config.is_some() {
        bail!(
            "--agent-config: --engine ns2 has a Snoop of its own, whose parameters are \
             --attribute ns2::Snoop::NAME=VALUE"
        );
    }
    if link.profile == Profile::Modern {
        bail!("--profile modern: --engine ns2 has vintage and linux24");
    }
    for cc in &options.cc {
        arguments::sender(cc, link.profile)?;
    }
    if traffic.flows > 1 {
        bail!("--flows {}: --engine ns2 has one", traffic.flows);
    }
    Ok(())
}

/// Finds schemes that ns-2 lacks: the last thing asked, for experiments ask about options alone.
///
/// # Errors
/// It names the scheme.
pub fn check_schemes(options: &CompareOptions) -> Result<()> {
    let others = |name: &&String| !["none", SNOOP].contains(&name.as_str());
    if let Some(scheme) = options.schemes.iter().find(others) {
        bail!("--scheme {scheme}: --engine ns2 has {NO_AGENT} and {SNOOP}, its own");
    }
    Ok(())
}

/// An option that is not the scenario's.
fn of_others(options: &CompareOptions) -> Option<&'static str> {
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
    let StackOptions {
        rto_min_ns: _,
        initial_cwnd: _,
        sysctls,
    } = &link.stack;
    first_given(&[
        (batch_up_ns.is_some(), "batch-up"),
        (ack_thin.is_some(), "ack-thin"),
        (link.sender == Sender::Bs, "sender"),
        (link.hosts.count() > 1, "hosts"),
        (link.hosts.have_links(), "host-rate"),
        (link.aqm != Aqm::Fifo, "aqm"),
        (link.burst.is_some(), "burst-loss"),
        (link.burst_up.is_some(), "burst-loss-up"),
        (link.mac.is_some(), "mac"),
        (options.agents != Agents::Base, "agents"),
        (link.outage.is_some(), "outage"),
        (link.gro == Gro::On, "gro"),
        (link.checksum_offload == Switch::On, "checksum-offload"),
        (!sysctls.is_empty(), "sysctl"),
        (*jitter_ns > 0, "jitter"),
        (reorder.is_some(), "reorder"),
        (*batch_ns > 0, "batch"),
        (rate_wave.is_some(), "rate-wave"),
        (rate_trace.is_some(), "rate-trace"),
        (rate_trace_up.is_some(), "rate-trace-up"),
        (!flow_rtt_ns.is_empty(), "flow-rtt"),
        (!traffic.flow_cc.is_empty(), "flow-cc"),
        (traffic.family == Family::V6, "family 6"),
        (traffic.opener != Default::default(), "opener"),
        (traffic.direction != Direction::Down, "direction"),
        (traffic.bytes.is_some(), "bytes"),
        (traffic.start_gap_ns > 0, "start-gap"),
        (
            options.beside != BesideOptions::default(),
            "arrivals or --neighbour",
        ),
        (watch.samples.is_some(), "samples"),
        (options.page.page, "page"),
    ])
}
