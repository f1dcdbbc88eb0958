// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What stands between the hosts: the native agent, or that and the BPF programs beside it
//! ([`crate::twin`]).

use std::sync::OnceLock;

use lasthop_core::bindings::{LH_ROLE_MOBILE, lh_mac_report};
use lasthop_core::{Agent, Config, Key, Limits, Outcome, Setup};

/// Cached segments per flow.
const FLOW_SEGMENTS: u32 = 1_024;
/// Of a frame, in a report (docs/mac-events.md).
const FRAME_BYTES: usize = 128;
/// The most that a packet may have the core look at, segments and chunks.
const LOOKS: u64 = 1_600;

/// Packets are without a layer 2; times never decrease.
pub trait Gateway {
    /// Stretches that an input may have talked ([`super::stretch`]).
    const STRETCHES: usize = 12;
    /// Whether it hears an agent at the hop's other end, and the MAC.
    const HEARS: bool = false;

    /// The native agent.
    fn core(&self) -> &Agent;
    /// What it is configured with.
    fn config(&self) -> &Config;
    /// When the world begins.
    fn start_ns(&self) -> u64 {
        1
    }
    /// Towards MH.
    fn on_egress(&mut self, packet: &[u8], now_ns: u64) -> Outcome;
    /// From MH.
    fn on_ingress(&mut self, packet: &[u8], now_ns: u64) -> Outcome;
    /// Runs the timers that are due.
    fn on_timer(&mut self, now_ns: u64) -> Vec<Outcome>;
    /// The link is said to be up, or down.
    fn on_link(&mut self, up: bool, now_ns: u64) -> Vec<Outcome>;
    /// An agent at the hop's other end is there, so far away, or is not.
    fn set_partner(&mut self, _rtt_ns: Option<u64>) {}
    /// It misses so much.
    fn on_partner(&mut self, _missing: &[(u32, u32)], _now_ns: u64) -> Vec<Outcome> {
        Vec::new()
    }
    /// It has been asked for so much, and will not send it.
    fn on_absent(&mut self, _absent: &[(u32, u32)], _now_ns: u64) -> Vec<Outcome> {
        Vec::new()
    }
    /// The MAC reports what became of a packet towards MH.
    fn on_mac(&mut self, _packet: &[u8], _report: &lh_mac_report, _now_ns: u64) -> Outcome {
        Outcome::default()
    }
    /// Forgets what is over.
    fn sweep(&mut self, now_ns: u64);
    /// Forgets all flows, and returns what FH still gets.
    fn forget(&mut self, now_ns: u64) -> Vec<Vec<u8>>;
    /// Whether timers are served.
    fn set_alive(&mut self, alive: bool);
}

/// The native agent alone.
pub struct Native {
    agent: Agent,
    config: Config,
}

impl Native {
    /// One that has seen nothing.
    pub fn new(config: Config, limits: Limits) -> Self {
        let setup = Setup {
            config,
            limits,
            max_flows: 8,
            flow_segments: FLOW_SEGMENTS,
            ..Setup::default()
        };
        Self {
            agent: Agent::new(setup),
            config,
        }
    }

    /// The agent at the hop's other end, configured as the one at this.
    pub fn far(config: Config, limits: Limits) -> Self {
        let role = LH_ROLE_MOBILE;
        Self::new(Config { role, ..config }, limits)
    }
}

/// With LASTHOP_FUZZ_TRACE set each packet is printed, to understand a finding.
pub fn traced() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("LASTHOP_FUZZ_TRACE").is_some())
}

/// Since `before` `agent` has looked at no more than it may for a packet.
pub fn worked(agent: &Agent, before: u64) {
    let looks = agent.host().pool().looks() - before;
    if traced() {
        eprintln!("{looks:>24} looks");
    }
    assert!(looks <= LOOKS, "{looks} looks for a packet");
}

/// Forgets all flows of `agent`.
pub fn forget_all(agent: &mut Agent, now_ns: u64) -> Vec<Vec<u8>> {
    let keys: Vec<Key> = agent.keys().copied().collect();
    keys.iter()
        .flat_map(|key| agent.forget(key, now_ns))
        .collect()
}

impl Gateway for Native {
    const HEARS: bool = true;

    fn core(&self) -> &Agent {
        &self.agent
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn on_egress(&mut self, packet: &[u8], now_ns: u64) -> Outcome {
        self.agent.on_egress(packet, now_ns)
    }

    fn on_ingress(&mut self, packet: &[u8], now_ns: u64) -> Outcome {
        self.agent.on_ingress(packet, now_ns)
    }

    fn on_timer(&mut self, now_ns: u64) -> Vec<Outcome> {
        let done = self.agent.on_timer(now_ns);
        done.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn on_link(&mut self, up: bool, now_ns: u64) -> Vec<Outcome> {
        let told = self.agent.on_link(up, now_ns);
        told.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn set_partner(&mut self, rtt_ns: Option<u64>) {
        self.agent.set_partner(rtt_ns);
    }

    fn on_partner(&mut self, missing: &[(u32, u32)], now_ns: u64) -> Vec<Outcome> {
        let keys: Vec<Key> = self.agent.keys().copied().collect();
        let told = |key: &Key| self.agent.on_partner(key, missing, now_ns);
        keys.iter().map(told).collect()
    }

    fn on_absent(&mut self, absent: &[(u32, u32)], now_ns: u64) -> Vec<Outcome> {
        let keys: Vec<Key> = self.agent.keys().copied().collect();
        let told = |key: &Key| self.agent.on_absent(key, absent, now_ns);
        keys.iter().map(told).collect()
    }

    fn on_mac(&mut self, packet: &[u8], report: &lh_mac_report, now_ns: u64) -> Outcome {
        let part = &packet[..packet.len().min(FRAME_BYTES)];
        self.agent.on_mac(part, packet.len(), report, now_ns)
    }

    fn sweep(&mut self, now_ns: u64) {
        self.agent.sweep(now_ns);
    }

    fn forget(&mut self, now_ns: u64) -> Vec<Vec<u8>> {
        forget_all(&mut self.agent, now_ns)
    }

    fn set_alive(&mut self, alive: bool) {
        self.agent.set_alive(alive);
    }
}
