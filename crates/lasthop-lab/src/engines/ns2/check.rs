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
use crate::engines::{engine, simulator};

/// The one scheme that ns-2 has.
const SNOOP: &str = "snoop";

/// Finds what ns-2 has no model of.
///
/// # Errors
/// It names the option.
pub fn check(options: &CompareOptions) -> Result<()> {
    let (link, traffic) = (&options.link, &options.traffic);
    let other = simulator::of_test_bed(options).or_else(|| of_other_scenarios(options));
    if let Some(option) = other {
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

/// Finds schemes that ns-2 lacks: the last thing asked, when all else fits.
///
/// # Errors
/// It names the scheme.
pub fn check_schemes(options: &CompareOptions) -> Result<()> {
    let others = |name: &&String| ![NO_AGENT, SNOOP].contains(&name.as_str());
    if let Some(scheme) = options.schemes.iter().find(others) {
        bail!("--scheme {scheme}: --engine ns2 has {NO_AGENT} and {SNOOP}, its own");
    }
    Ok(())
}

/// An option that the scenario has no part for.
fn of_other_scenarios(options: &CompareOptions) -> Option<&'static str> {
    let (link, traffic) = (&options.link, &options.traffic);
    first_given(&[
        (link.hosts.count() > 1, "hosts"),
        (link.hosts.have_links(), "host-rate"),
        (link.aqm != Aqm::Fifo, "aqm"),
        (link.burst.is_some(), "burst-loss"),
        (link.burst_up.is_some(), "burst-loss-up"),
        (link.mac.is_some(), "mac"),
        (options.agents != Agents::Base, "agents"),
        (!traffic.flow_cc.is_empty(), "flow-cc"),
        (traffic.direction != Direction::Down, "direction"),
        (traffic.bytes.is_some(), "bytes"),
        (traffic.start_gap_ns > 0, "start-gap"),
        (
            options.beside != BesideOptions::default(),
            "arrivals or --neighbour",
        ),
    ])
}
