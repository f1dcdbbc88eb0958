// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What stands in the packets' way in a test bed: agents, something that takes their place, or nobody.

use std::path::Path;

use anyhow::Result;

use crate::bed::agent::{self, AgentHandle};
use crate::bed::cpu::ProgramsAreTimed;
use crate::bed::proxy::ProxyHandle;
use crate::bed::testbed::TestBed;
use crate::data::baseline::Baseline;
use crate::data::ends::Agents;
use crate::data::scheme::NO_AGENT;
use crate::data::topology::Place;

/// Who stands there. Dropping it kills it.
#[derive(Debug)]
pub enum Helper {
    /// The plain router's packets meet nobody.
    Nobody,
    /// Agents, the base's first, and their programs are timed.
    Agents(Vec<AgentHandle>, ProgramsAreTimed),
    /// What takes the agent's place at each base station.
    Proxies(Vec<ProxyHandle>),
}

impl Helper {
    /// The agents; none if there are no such.
    pub fn agents(&mut self) -> &mut [AgentHandle] {
        match self {
            Self::Agents(agents, _) => agents,
            Self::Nobody | Self::Proxies(_) => &mut [],
        }
    }

    /// Whether a proxy has connections of its own there.
    pub fn splits(&self) -> bool {
        match self {
            Self::Proxies(proxies) => proxies.iter().any(|proxy| proxy.baseline().splits()),
            Self::Nobody | Self::Agents(..) => false,
        }
    }

    /// Process numbers; none where nobody is.
    pub fn pids(&self) -> Vec<i32> {
        match self {
            Self::Nobody => Vec::new(),
            Self::Agents(agents, _) => agents.iter().map(AgentHandle::pid).collect(),
            Self::Proxies(proxies) => proxies.iter().map(|p| p.process().id().pid).collect(),
        }
    }

    /// Ends them, in order.
    ///
    /// # Errors
    /// One had ended before, fails, or has to be killed.
    pub fn stop(self) -> Result<()> {
        match self {
            Self::Nobody => Ok(()),
            Self::Agents(agents, _) => agents.into_iter().try_for_each(AgentHandle::stop),
            Self::Proxies(proxies) => proxies.into_iter().try_for_each(ProxyHandle::stop),
        }
    }
}

impl TestBed {
    /// Starts what `--scheme NAME` asks for, and waits until it is ready: agents at these ends of
    /// each hop, or what takes their place at each base station. `config` is the agents'; `excluded`:
    /// `--exclude :PORT` and the like, for agents and `split`.
    ///
    /// # Errors
    /// A program that is missing, ends or stays silent; agents that do not find each other.
    pub fn start_helper(
        &self,
        name: &str,
        agents: Agents,
        config: Option<&Path>,
        excluded: &[String],
    ) -> Result<Helper> {
        let excluded = excluded.iter().map(String::as_str);
        if name == NO_AGENT {
            return Ok(Helper::Nobody);
        }
        if let Some(baseline) = Baseline::named(name) {
            let excluded: Vec<&str> = excluded.collect();
            let places = self.topology().agents.iter();
            let proxies = places.map(|place| self.start_proxy_at(place, baseline, &excluded));
            return proxies.collect::<Result<_>>().map(Helper::Proxies);
        }
        let config = agent::config_args(config);
        let args = config.iter().map(String::as_str).chain(excluded);
        let args: Vec<&str> = args.collect();
        let agents = self.start_ends(agents, name, &args)?;
        Ok(Helper::Agents(agents, ProgramsAreTimed::begin()?))
    }

    /// Starts a baseline on the first base station's device to the lossy hop, the agent's place.
    ///
    /// # Errors
    /// As [`TestBed::start_helper`].
    pub fn start_proxy(&self, baseline: Baseline, excluded: &[&str]) -> Result<ProxyHandle> {
        self.start_proxy_at(self.first_place()?, baseline, excluded)
    }

    fn start_proxy_at(
        &self,
        place: &Place,
        baseline: Baseline,
        excluded: &[&str],
    ) -> Result<ProxyHandle> {
        let at = (self.station(&place.host)?, place.device.as_str());
        let mut proxy = ProxyHandle::start(baseline, at, excluded, self.helper_log(place))?;
        self.note_helper(baseline.name(), proxy.process_mut())?;
        Ok(proxy)
    }
}
