// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What measures a cell, behind one trait: the test bed with real kernels, and the
//! simulators ns-3 and ns-2.

mod child;
pub mod engine;
pub mod ns2;
pub mod ns3;
mod simulator;
pub mod testbed;

use anyhow::{Context, Result, bail};

pub use self::engine::CellEngine;
use self::ns2::Ns2Engine;
use self::ns3::Ns3Engine;
use self::testbed::TestBedEngine;
use crate::cell::engine::{Engine, NS2_PREFIX, NS3_PREFIX};
use crate::cell::options::CompareOptions;
use crate::data::baseline::Baseline;
use crate::data::ends::Agents;
use crate::data::scheme;
use crate::data::sender::Sender;
use crate::data::topology::Family;

/// The engine of that name.
pub fn of(name: Engine) -> &'static dyn CellEngine {
    match name {
        Engine::Testbed => &TestBedEngine,
        Engine::Ns3 => &Ns3Engine,
        Engine::Ns2 => &Ns2Engine,
    }
}

/// Finds out what would make every cell fail, before the first one runs.
///
/// # Errors
/// Contradicting options, congestion controls that this kernel lacks, a missing binary or file.
pub fn check(options: &CompareOptions) -> Result<()> {
    check_options(options)?;
    let outage = options.link.outage.is_some();
    options.watch.check(options.cells().len(), outage)?;
    of(options.engine.engine).check_machine(options)?;
    if let Some(path) = &options.agent_config {
        std::fs::metadata(path).with_context(|| format!("--agent-config {}", path.display()))?;
    }
    Ok(())
}

/// Finds contradictions between the options, and what their engine cannot follow.
///
/// # Errors
/// The first one, by the option's name.
pub fn check_options(options: &CompareOptions) -> Result<()> {
    options.link.validate()?;
    check_attributes(options)?;
    check_schemes(options)?;
    of(options.engine.engine).check_options(options)?;
    options.check_options()
}

/// Finds names that nothing has, and what takes the agent's place where that cannot be.
fn check_schemes(options: &CompareOptions) -> Result<()> {
    for name in &options.schemes {
        scheme::check_name(name)?;
        let Some(baseline) = Baseline::named(name) else {
            continue;
        };
        let engine = options.engine.engine;
        if engine != Engine::Testbed {
            let what = format!("scheme {name}");
            return Err(engine::refusal(&what, engine.name(), "testbed"));
        }
        if options.agents != Agents::Base {
            bail!("--agents: {name} is for what is forwarded, at base stations alone: use base");
        }
        if baseline.splits() && options.link.sender == Sender::Bs {
            bail!("--sender bs: {name} splits what the base station forwards: use fh");
        }
        if baseline == Baseline::Pepsal {
            check_pepsal(options)?;
        }
    }
    Ok(())
}

/// PEPsal knows IPv4 alone, and its connections have its own address and ports, by which flows that
/// go on at the same time can't be told apart.
fn check_pepsal(options: &CompareOptions) -> Result<()> {
    let flows = options.traffic.flows;
    if options.traffic.family == Family::V6 {
        bail!("--family 6: PEPsal knows IPv4 alone: use 4");
    }
    if options.link.hops > 1 {
        bail!("--hops: PEPsal was never tried at several base stations: use split");
    }
    if !options.page.page && (flows > 1 || options.beside.arrivals.is_some()) {
        bail!("--flows, --arrivals: PEPsal hides the ports by which flows are told apart: use one");
    }
    Ok(())
}

/// Each simulator has defaults of its own.
fn check_attributes(options: &CompareOptions) -> Result<()> {
    let prefix = match options.engine.engine {
        Engine::Testbed => return Ok(()),
        Engine::Ns3 => NS3_PREFIX,
        Engine::Ns2 => NS2_PREFIX,
    };
    let mut attributes = options.engine.attributes.iter();
    match attributes.find(|given| !given.0.starts_with(prefix)) {
        Some(given) => bail!(
            "--attribute {}: --engine {} has those that begin with {prefix}",
            given.0,
            prefix.trim_end_matches(':')
        ),
        None => Ok(()),
    }
}
