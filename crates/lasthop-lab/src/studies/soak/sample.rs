// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One look at the daemon and at the load: a line of soak.jsonl.

use std::fs;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use crate::bed::agent::AgentHandle;
use crate::bed::load::Tally;

/// Counters that are looked at.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counters {
    /// Segments with data to the hop, and with an ACK from it.
    pub packets: u64,
    pub bypass_lock: u64,
    pub bypass_stale: u64,
    pub bypass_table_full: u64,
    pub bypass_unacceptable: u64,
    pub flows_created: u64,
    pub flows_removed: u64,
    pub local_retransmits: u64,
    pub retransmit_errors: u64,
    pub resynchronised: u64,
}

/// How things stand.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Sample {
    /// Since the load began, in s.
    pub at_s: f64,
    pub pid: i32,
    /// Programs are being loaded, which takes memory and descriptors for so long.
    pub reloading: bool,
    pub scheme: String,
    pub flows: u64,
    pub active_flows: u64,
    /// Packets in the cache.
    pub slots: u64,
    pub chunks: u64,
    /// Kernel memory of the maps, in bytes.
    pub maps_bytes: u64,
    /// Resident memory of the process, in bytes.
    pub rss_bytes: u64,
    /// Of it what is in no file: heap and stacks.
    pub anonymous_bytes: u64,
    /// Open descriptors.
    pub fds: u64,
    pub heartbeat_age_ms: u64,
    pub counters: Counters,
    pub load: Tally,
}

impl Sample {
    /// Now.
    ///
    /// # Errors
    /// The daemon is gone, or says nothing.
    pub(super) fn take(agent: &mut AgentHandle, at_s: f64, load: Tally) -> Result<Self> {
        let pid = agent.pid();
        // Before it is asked, which takes a descriptor and a thread.
        let (rss_bytes, anonymous_bytes) = memory(pid)?;
        let fds = fs::read_dir(format!("/proc/{pid}/fd"))
            .with_context(|| format!("descriptors of process {pid}"))?;
        let fds = fds.count() as u64;
        let status = agent.status()?;
        let number = |name: &str| status[name].as_u64().unwrap_or(0);
        Ok(Self {
            at_s,
            pid,
            reloading: false,
            scheme: status["scheme"].as_str().unwrap_or("-").to_owned(),
            flows: number("flows"),
            active_flows: number("active_flows"),
            slots: number("cache_bytes") / u64::from(lasthop_core::bindings::LH_SLOT_BYTES),
            chunks: number("chunks"),
            maps_bytes: number("memory_bytes"),
            rss_bytes,
            anonymous_bytes,
            fds,
            heartbeat_age_ms: number("heartbeat_age_ms"),
            counters: Counters::of(&status["counters"]),
            load,
        })
    }

    /// Whether the agent knows of nothing any more.
    pub(super) fn is_empty(&self) -> bool {
        [self.flows, self.active_flows, self.slots, self.chunks] == [0; 4]
    }
}

impl Counters {
    fn of(counters: &Value) -> Self {
        let of = |name: &str| counters[name].as_u64().unwrap_or(0);
        Self {
            packets: of("data_segments") + of("ack_segments"),
            bypass_lock: of("bypass_lock"),
            bypass_stale: of("bypass_stale"),
            bypass_table_full: of("bypass_table_full"),
            bypass_unacceptable: of("bypass_unacceptable"),
            flows_created: of("flows_created"),
            flows_removed: of("flows_removed"),
            local_retransmits: of("local_retransmits"),
            retransmit_errors: of("retransmit_errors"),
            resynchronised: of("resynchronised"),
        }
    }
}

/// Resident memory of a process, and what of it is in no file.
fn memory(pid: i32) -> Result<(u64, u64)> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let kib = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        number.with_context(|| format!("{path}: no {key}"))
    };
    Ok((kib("VmRSS:")? * 1024, kib("RssAnon:")? * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_process() {
        let (rss, anonymous) = memory(std::process::id() as i32).unwrap();
        assert!(0 < anonymous && anonymous < rss, "{anonymous} of {rss}");
        assert!(memory(-1).is_err());
    }
}
