// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is simulated: a link, its traffic, and whether an agent stands there.

use lasthop_core::Config;
use lasthop_core::bindings::LH_ROLE_MOBILE;

use crate::lane::{Discipline, Policer};
use crate::unsteady::Unsteady;
use crate::wire::{Carries, FRAME};

pub const MS: u64 = 1_000_000;
pub const SEC: u64 = 1_000 * MS;

/// A link towards one receiver, with a queue of its own.
#[derive(Debug, Clone)]
pub struct Station {
    pub bps: f64,
    pub loss: f64,
    pub queue: usize,
}

/// One connection, or a page's many.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    pub cc: &'static str,
    pub start_ns: u64,
    /// None: as long as it lasts.
    pub bytes: Option<u64>,
    pub end_ns: Option<u64>,
    pub station: usize,
    /// Whether the agent may look after it.
    pub managed: bool,
    /// MH sends.
    pub up: bool,
    pub window: u64,
    pub fixed_window: bool,
    pub wscale: u8,
    /// Its windows are no single connection's: the agent may not edit them.
    pub mptcp: bool,
    pub ack_every: u32,
    /// How long the receiver keeps the ACK of fewer.
    pub delack_ns: u64,
    /// Also of what is shorter than a full segment.
    pub delack_short: bool,
    /// Whether it says what came twice (RFC 2883).
    pub dsack: bool,
    pub ack_carries: Carries,
    /// (bytes, so far apart): written piece by piece, and not all at once.
    pub chunks: Option<(u64, u64)>,
    pub mh_opens: bool,
    pub extra_wired_ns: u64,
    /// Counts in the figures about the flows.
    pub measured: bool,
}

impl Default for FlowSpec {
    fn default() -> Self {
        Self {
            cc: "cubic",
            start_ns: 0,
            bytes: None,
            end_ns: None,
            station: 0,
            managed: true,
            up: false,
            window: 8 << 20,
            fixed_window: false,
            wscale: 8,
            mptcp: false,
            ack_every: 2,
            delack_ns: 40 * MS,
            delack_short: false,
            dsack: true,
            ack_carries: Carries::Nothing,
            chunks: None,
            mh_opens: false,
            extra_wired_ns: 0,
            measured: true,
        }
    }
}

impl FlowSpec {
    /// MH sends all the time; the agent does not see it.
    pub fn upload() -> Self {
        Self {
            up: true,
            managed: false,
            measured: false,
            ..Self::default()
        }
    }
}

/// Datagrams at a steady rate.
#[derive(Debug, Clone)]
pub struct Datagrams {
    pub bps: f64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub station: usize,
}

/// Pages: so many loads one after the other, each with fresh connections.
#[derive(Debug, Clone)]
pub struct Pages {
    pub cc: &'static str,
    pub loads: usize,
    pub objects: usize,
    pub connections: usize,
    pub least_bytes: f64,
    pub most_bytes: f64,
    pub keep_alive: bool,
}

#[derive(Debug, Clone)]
pub struct Case {
    pub bps: f64,
    pub rtt_ns: u64,
    pub local_rtt_ns: u64,
    pub loss: f64,
    pub loss_up: f64,
    /// So many in a row in the mean, either way.
    pub loss_burst: f64,
    /// Packets; 0: a bandwidth-delay product.
    pub queue: usize,
    pub discipline: Discipline,
    /// 0: as the other way.
    pub bps_up: f64,
    pub queue_up: usize,
    pub wired_bps: f64,
    pub wired_queue: usize,
    /// In place of the one link that all share.
    pub stations: Vec<Station>,
    /// (bit/s, for so long), over and over, in place of `bps`.
    pub wave: Vec<(f64, u64)>,
    /// On the way down, before the link.
    pub policer: Option<Policer>,
    /// (from, by so much each way): the hop becomes longer.
    pub longer_ns: Option<(u64, u64)>,
    /// Nothing is lost on the way down before.
    pub loss_from_ns: u64,
    /// Of the hop.
    pub unsteady: Unsteady,
    pub flows: Vec<FlowSpec>,
    pub datagrams: Vec<Datagrams>,
    pub pages: Option<Pages>,
    pub warmup_ns: u64,
    pub duration_ns: u64,
    pub seed: u64,
    /// How long the agents' machines had been running.
    pub uptime_ns: u64,
    /// Others at the receivers' addresses are up to no good (`Agent::liars`).
    pub liars: bool,
    pub agent: Option<Config>,
    /// Of the agent at MH, the partner of the other.
    pub far: Option<Config>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            bps: 20e6,
            rtt_ns: 110 * MS,
            local_rtt_ns: 10 * MS,
            loss: 0.0,
            loss_up: 0.0,
            loss_burst: 0.0,
            queue: 0,
            discipline: Discipline::Fifo,
            bps_up: 0.0,
            queue_up: 0,
            wired_bps: 1e9,
            wired_queue: 4000,
            stations: Vec::new(),
            wave: Vec::new(),
            policer: None,
            longer_ns: None,
            loss_from_ns: 0,
            unsteady: Unsteady::default(),
            flows: Vec::new(),
            datagrams: Vec::new(),
            pages: None,
            warmup_ns: 5 * SEC,
            duration_ns: 20 * SEC,
            seed: 1,
            uptime_ns: 0,
            liars: false,
            agent: None,
            far: None,
        }
    }
}

impl Case {
    pub fn new(rate_mbit: f64, rtt_ms: u64, local_ms: u64, loss: f64) -> Self {
        Self {
            bps: rate_mbit * 1e6,
            rtt_ns: rtt_ms * MS,
            local_rtt_ns: local_ms * MS,
            loss,
            loss_up: loss,
            ..Self::default()
        }
    }

    pub fn bdp_packets(&self) -> usize {
        ((self.bps * self.rtt_ns as f64 / 8e9 / f64::from(FRAME)) as usize).max(20)
    }

    pub fn queue_packets(&self) -> usize {
        match self.queue {
            0 => self.bdp_packets(),
            n => n,
        }
    }

    /// So many like flows, a moment apart.
    pub fn flows(mut self, n: usize, cc: &'static str) -> Self {
        for i in 0..n {
            self.flows.push(FlowSpec {
                cc,
                start_ns: i as u64 * 10 * MS,
                ..FlowSpec::default()
            });
        }
        self
    }

    /// All of them begin at the same moment.
    pub fn at_once(mut self) -> Self {
        for flow in &mut self.flows {
            flow.start_ns = 0;
        }
        self
    }

    /// Each of the flows changed.
    pub fn each(mut self, change: impl Fn(&mut FlowSpec)) -> Self {
        self.flows.iter_mut().for_each(change);
        self
    }

    /// With one more.
    pub fn flow(mut self, spec: FlowSpec) -> Self {
        self.flows.push(spec);
        self
    }

    pub fn with_agent(&self) -> Self {
        self.with_config(Config::default())
    }

    pub fn with_config(&self, config: Config) -> Self {
        Self {
            agent: Some(config),
            ..self.clone()
        }
    }

    /// An agent at either end of the hop.
    pub fn with_ends(&self, config: Config) -> Self {
        let far = Config {
            role: LH_ROLE_MOBILE,
            ..config
        };
        Self {
            far: Some(far),
            ..self.with_config(config)
        }
    }

    /// The most goodput that the link allows, Mbit/s.
    pub fn bound_mbit(&self) -> f64 {
        let bps = match self.wave.as_slice() {
            [] => self.bps,
            wave => {
                let whole: f64 = wave.iter().map(|w| w.1 as f64).sum();
                wave.iter().map(|w| w.0 * w.1 as f64).sum::<f64>() / whole
            }
        };
        bps.min(self.wired_bps) * (1.0 - self.loss) * 1448.0 / f64::from(FRAME) / 1e6
    }
}
