// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Test beds with an agent at either end of the hop, which share a key.

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::topology::{Place, Topology};
use lasthop_lab::data::way::Way;

use super::channel::{keyed, wait_for_each_other};
use super::counter;

/// A lossy hop with an agent at either end: at BS, and in MH.
pub struct Ends {
    pub bed: TestBed,
    /// BS's, then MH's.
    pub agents: Vec<AgentHandle>,
    scheme: String,
    args: [String; 6],
    _key: tempfile::TempDir,
}

impl Ends {
    pub fn start(scheme: &str, link: &LinkOptions) -> Self {
        Self::start_with(scheme, link, "")
    }

    /// With this in both ends' configurations.
    pub fn start_with(scheme: &str, link: &LinkOptions, more: &str) -> Self {
        let mut topology = Topology::five_hosts(1);
        topology.agents.push(Place::new("mh", "eth0"));
        let bed = TestBed::up_as(topology, link).expect("test bed");
        let (directory, key) = keyed();
        let config = directory.path().join("lasthop.toml");
        std::fs::write(&config, more).expect("configuration");
        // Everything but the hop's own network lies beyond it for MH alone.
        let paths = [&key, &config].map(|path| path.to_str().expect("path").to_owned());
        let [key, config] = paths;
        let args = ["--role", "auto", "--key", &key, "--config", &config].map(str::to_owned);
        let words = args.each_ref().map(String::as_str);
        let agents = bed.start_agents(scheme, &words).expect("agents");
        let mut ends = Self {
            bed,
            agents,
            scheme: scheme.to_owned(),
            args,
            _key: directory,
        };
        wait_for_each_other(&ends.bed);
        for end in 0..2 {
            assert_eq!(ends.count(end, "local_retransmits"), 0);
        }
        ends
    }

    /// Another agent in the place of that end's, which is gone.
    pub fn start_again(&mut self, end: usize) {
        let args = self.args.each_ref().map(String::as_str);
        let agent = self.bed.start_agent_at(end, &self.scheme, &args);
        self.agents.insert(end, agent.expect("agent"));
        wait_for_each_other(&self.bed);
    }

    pub fn count(&mut self, end: usize, name: &str) -> u64 {
        counter(&mut self.agents[end], name)
    }

    /// Frames with data that the hop lost on this way.
    pub fn lost(&self, way: Way) -> u64 {
        let air = self.bed.emulator_stats().expect("emulator").air;
        match way {
            Way::Down => air.a_to_b.data_lost + air.a_to_b.data_queue_dropped,
            Way::Up => air.b_to_a.data_lost + air.b_to_a.data_queue_dropped,
        }
    }
}
