// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Options of `compare` that say where it runs, and those that only simulators have.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::units;

/// Where a cell runs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Five namespaces of this machine, and its kernel's TCP.
    #[default]
    Testbed,
    /// The simulator ns-3, and its TCP: simulated time, any machine, no root.
    Ns3,
    /// The simulator ns-2, its TCP, and its own Snoop in place of this agent.
    Ns2,
}

impl Engine {
    /// As `--engine` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Testbed => "testbed",
            Self::Ns3 => "ns3",
            Self::Ns2 => "ns2",
        }
    }
}

/// Errors of the hop in two states that alternate (docs/design.md, section 9, row 13).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoState {
    /// Mean number of packets from one error to the next in the good state.
    pub good_interval: f64,
    /// The same in the bad state.
    pub bad_interval: f64,
    /// Mean length of the good state.
    pub good_ns: u64,
    /// Mean length of the bad state.
    pub bad_ns: u64,
}

impl FromStr for TwoState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write PACKETS,PACKETS,TIME,TIME, such as 166,2.6,660ms,10ms";
        let parts: Vec<&str> = text.split(',').collect();
        let [good, bad, good_time, bad_time] = parts[..] else {
            return Err(format!("`{text}` is no two-state model: {help}"));
        };
        let interval = |text: &str| match text.parse::<f64>() {
            Ok(packets) if packets >= 1.0 && packets.is_finite() => Ok(packets),
            _ => Err(format!(
                "`{text}` is no number of packets from 1 on: {help}"
            )),
        };
        let time_ns = |text: &str| match units::duration_ns(text)? {
            0 => Err(format!("`{text}`: the time must be above 0")),
            time_ns => Ok(time_ns),
        };
        Ok(Self {
            good_interval: interval(good)?,
            bad_interval: interval(bad)?,
            good_ns: time_ns(good_time)?,
            bad_ns: time_ns(bad_time)?,
        })
    }
}

impl fmt::Display for TwoState {
    /// As ns-3's scenario reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{},{},{}ns,{}ns",
            self.good_interval, self.bad_interval, self.good_ns, self.bad_ns
        )
    }
}

impl TwoState {
    /// Share of the packets that it loses in the long run, if they come at equal distances.
    pub fn mean_loss(self) -> f64 {
        let (good_ns, bad_ns) = (self.good_ns as f64, self.bad_ns as f64);
        (good_ns / self.good_interval + bad_ns / self.bad_interval) / (good_ns + bad_ns)
    }
}

/// What begins the name of a default of ns-3's.
pub const NS3_PREFIX: &str = "ns3::";
/// The same of ns-2's.
pub const NS2_PREFIX: &str = "ns2::";

/// A default of a simulator's that is set otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute(pub String);

impl FromStr for Attribute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').is_some_and(|(name, _)| {
            let known = |c: char| c.is_ascii_alphanumeric() || ":_-<>/".contains(c);
            let of_simulator = [NS3_PREFIX, NS2_PREFIX].map(|prefix| name.starts_with(prefix));
            of_simulator.contains(&true) && name.chars().all(known)
        });
        match named {
            true => Ok(Self(text.to_owned())),
            false => Err(format!(
                "`{text}` sets nothing: write ns3::CLASS::ATTRIBUTE=VALUE, such as \
                 ns3::TcpSocket::DelAckCount=1 or ns2::Agent/TCP::tcpTick_=0.5"
            )),
        }
    }
}

/// The engine, and what only simulators have.
#[derive(Debug, Clone, PartialEq, Default, clap::Args)]
#[command(next_help_heading = "Simulation")]
pub struct EngineOptions {
    /// testbed: namespaces and this kernel's TCP, as root; ns3: simulated, once `make sim` has
    /// built lasthop-simulate; ns2: simulated, with that one's own Snoop in place of this agent
    #[arg(long, value_enum, default_value_t)]
    pub engine: Engine,

    /// With ns3 and ns2: the hop loses from BS to MH in two states that alternate, given by packets between
    /// errors in the good and the bad one, and by their mean lengths: 166,2.6,660ms,10ms
    #[arg(long = "two-state", value_name = "N,N,TIME,TIME")]
    pub two_state: Option<TwoState>,

    /// With ns3 and ns2: a default of theirs that is set otherwise; repeated, or a list
    #[arg(
        long = "attribute",
        value_name = "ENGINE::CLASS::NAME=VALUE",
        value_delimiter = ','
    )]
    pub attributes: Vec<Attribute>,
}

impl EngineOptions {
    /// What it is besides the link, for people; empty on the test bed.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        match self.engine {
            Engine::Testbed => {}
            Engine::Ns3 => parts.push("in ns-3".to_owned()),
            Engine::Ns2 => parts.push("in ns-2".to_owned()),
        }
        parts.extend(self.two_state.map(|model| {
            format!(
                "two states of {} and {}, {} and {} packets between losses",
                units::show_duration(model.good_ns),
                units::show_duration(model.bad_ns),
                model.good_interval,
                model.bad_interval
            )
        }));
        parts.extend(self.attributes.iter().map(|given| given.0.clone()));
        parts.iter().map(|part| format!(", {part}")).collect()
    }

    /// Share of the packets that a simulator's own models lose in the long run.
    pub fn mean_loss(&self) -> f64 {
        self.two_state.map_or(0.0, TwoState::mean_loss)
    }

    /// An option that only simulators have.
    pub fn of_simulator(&self) -> Option<&'static str> {
        first_given(&[
            (self.two_state.is_some(), "two-state"),
            (!self.attributes.is_empty(), "attribute"),
        ])
    }
}

/// The first option that is given, of those that an engine lacks.
pub fn first_given(given: &[(bool, &'static str)]) -> Option<&'static str> {
    let given = given.iter().find(|(is_given, _)| *is_given);
    given.map(|(_, option)| *option)
}
