// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Counters outside a transfer, at one moment: the kernel's, the emulators' and the agent's.

use std::fs;

use anyhow::{Context, Result};
use linkemu::{Direction, DirectionStats};
use serde_json::Value;

use super::cpu::CpuTimes;
use super::emulator::EmulatorStats;
use super::helper::Helper;
use super::namespace::Namespace;
use super::proxy::ProxyHandle;
use super::testbed::TestBed;
use crate::data::host::Host;

/// Everything that counts outside the transfer itself, at one moment.
#[derive(Debug, Clone)]
pub struct Counters {
    /// The emulators.
    pub emulators: EmulatorStats,
    /// `counters` of `lasthop status -j`, those of several agents added up; none without an agent.
    pub agent: Option<Value>,
    /// What the only agent observes, if it only does that (`lasthop observe -j`); else null.
    pub observed: Value,
    /// `Tcp RetransSegs` of all base stations, where proxies have connections of their own; none
    /// where there is none such.
    pub proxy_retransmits: Option<u64>,
    /// What agents, or what takes their place, have spent.
    pub cpu: CpuTimes,
    /// `TcpExt TCPLossProbes` in the sender's namespace.
    pub tail_probes: u64,
    /// `TcpExt TCPTimeouts` there.
    pub timeouts: u64,
}

impl Counters {
    /// Reads them all. The agent comes first: asking it takes longest, and the emulators'
    /// counters should be as close to the transfer's own snapshot as can be.
    ///
    /// # Errors
    /// The agent or an emulator does not answer.
    pub fn read(bed: &TestBed, helper: &mut Helper, sender: Host) -> Result<Self> {
        let mut agent = None;
        for one in helper.agents() {
            add(&mut agent, one.status()?["counters"].take());
        }
        let observed = match helper.agents() {
            [one] => one.observed()?,
            _ => Value::Null,
        };
        if let Helper::Proxies(proxies) = helper {
            proxies
                .iter_mut()
                .try_for_each(ProxyHandle::check_running)?;
        }
        let of_bases = || {
            let bases = bed.topology().hops().into_iter().map(|hop| &hop.up.host);
            let of =
                |host: &String| kernel_counter(bed.station(host)?, "snmp", "Tcp", "RetransSegs");
            bases.map(of).sum::<Result<u64>>()
        };
        let of_sender = |name| kernel_counter(bed.namespace(sender), "netstat", "TcpExt", name);
        Ok(Self {
            agent,
            observed,
            cpu: CpuTimes::read(&helper.pids(), !helper.agents().is_empty())?,
            proxy_retransmits: helper.splits().then(of_bases).transpose()?,
            tail_probes: of_sender("TCPLossProbes")?,
            timeouts: of_sender("TCPTimeouts")?,
            emulators: bed.emulator_stats()?,
        })
    }

    /// Segments that were sent again at the base stations since `before`, by the agent or by a proxy's
    /// own connections; none where nothing of the kind can be.
    ///
    /// # Errors
    /// The agent has no such counter.
    pub fn local_retransmits(&self, before: &Self) -> Result<Option<u64>> {
        match (self.proxy_retransmits, before.proxy_retransmits) {
            (Some(now), Some(then)) => Ok(Some(now.saturating_sub(then))),
            _ => self.agent_growth(before, "local_retransmits"),
        }
    }

    /// How much a counter of all hops together grew since `before`, of what goes that way.
    pub fn hop_growth(
        &self,
        before: &Self,
        direction: Direction,
        counter: fn(&DirectionStats) -> u64,
    ) -> u64 {
        let of = |moment: &Self| moment.emulators.of_hops(direction, counter);
        of(self) - of(before)
    }

    /// How much one of the agent's counters grew since `before`; none without an agent.
    ///
    /// # Errors
    /// The agent has no counter of that name.
    pub fn agent_growth(&self, before: &Self, name: &str) -> Result<Option<u64>> {
        let (Some(now), Some(then)) = (&self.agent, &before.agent) else {
            return Ok(None);
        };
        let read = |counters: &Value| {
            counters[name]
                .as_u64()
                .with_context(|| format!("`lasthop status -j` has no counter {name}"))
        };
        Ok(Some(read(now)?.saturating_sub(read(then)?)))
    }
}

/// Adds the numbers of another agent.
fn add(sum: &mut Option<Value>, counters: Value) {
    let Some(Value::Object(sum)) = sum else {
        *sum = Some(counters);
        return;
    };
    for (name, value) in sum {
        if let (Some(a), Some(b)) = (value.as_u64(), counters[name.as_str()].as_u64()) {
            *value = (a + b).into();
        }
    }
}

/// One counter of `/proc/net/netstat` or `/proc/net/snmp` in a namespace; 0 if this kernel has
/// none of that name.
///
/// # Errors
/// The file cannot be read.
pub fn kernel_counter(namespace: &Namespace, file: &str, group: &str, name: &str) -> Result<u64> {
    // /proc/net is that of the process's first thread, which is elsewhere.
    let path = format!("/proc/thread-self/net/{file}");
    let text = namespace
        .run(|| fs::read_to_string(&path))?
        .with_context(|| format!("cannot read {path}"))?;
    Ok(parse_counters(&text, group, name).unwrap_or(0))
}

/// Lines come in pairs: names, then values, both after the group's name and a colon.
fn parse_counters(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(": "));
    while let (Some((first, names)), Some((_, values))) = (lines.next(), lines.next()) {
        if first == group {
            let position = names.split(' ').position(|n| n == name)?;
            return values.split(' ').nth(position)?.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn counters(agent: Option<Value>) -> Counters {
        Counters {
            emulators: EmulatorStats::default(),
            agent,
            observed: Value::Null,
            cpu: CpuTimes::default(),
            proxy_retransmits: None,
            tail_probes: 0,
            timeouts: 0,
        }
    }

    #[test]
    fn growth_of_the_agents_counters() {
        let before = counters(Some(json!({"local_retransmits": 5})));
        let after = counters(Some(json!({"local_retransmits": 12})));
        assert_eq!(
            after.agent_growth(&before, "local_retransmits").unwrap(),
            Some(7)
        );
        let error = after.agent_growth(&before, "nosuch").unwrap_err();
        assert!(error.to_string().contains("nosuch"));
        assert_eq!(counters(None).agent_growth(&before, "x").unwrap(), None);
    }

    #[test]
    fn counters_in_pairs_of_lines() {
        let text = "TcpExt: A TCPLossProbes B\nTcpExt: 1 23 4\nIpExt: InOctets\nIpExt: 9\n";
        assert_eq!(parse_counters(text, "TcpExt", "TCPLossProbes"), Some(23));
        assert_eq!(parse_counters(text, "IpExt", "InOctets"), Some(9));
        assert_eq!(parse_counters(text, "TcpExt", "C"), None);
    }
}
