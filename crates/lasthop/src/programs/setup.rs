// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a device's programs are loaded with, and the form in which they have it.

use std::time::Duration;

use anyhow::{Result, bail};
use lasthop_core::bindings::{self, LH_FLOW_SEGS, LH_SLOT_BYTES, lh_config, lh_rule, lh_setup};

use crate::device;
use crate::maps;
use crate::memory::{CACHE_MOST_BYTES, FLOWS_MOST};

/// Priority of local retransmissions: cfg80211 takes 256 to 263 for a user priority of 0 to 7 and
/// looks at VLAN and DSCP otherwise; qdiscs with bands take the last four bits, 7: the first band.
pub const PRIORITY: u32 = 256 + 7;
/// User space has to show a sign of life this often.
pub const STALE: Duration = Duration::from_secs(2);
/// What a device's programs are loaded with.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Parameters of the core.
    pub config: lh_config,
    /// The device; 0 in tests that attach nowhere.
    pub ifindex: u32,
    /// 14 with an Ethernet header, 0 without.
    pub l2_bytes: u32,
    /// fwmark bits of our own packets, and which bits those are.
    pub mark: (u32, u32),
    /// `skb->priority` of local retransmissions.
    pub priority: u32,
    /// Connections that can be assisted at a time.
    pub max_flows: u32,
    /// Bytes of cached packets, all flows together (2 KiB each).
    pub cache_total_bytes: u64,
    /// Bytes of cached packets per flow.
    pub cache_flow_bytes: u64,
    /// --match and --exclude.
    pub rules: Vec<lh_rule>,
    /// UDP port of messages between agents; 0: none are heard or sent.
    pub port: u16,
    /// Agents with other rules serve the device as well.
    pub shared: bool,
    /// The programs' time is `__sk_buff.tstamp`, for tests.
    pub test_clock: bool,
    /// As if the kernel had no memory for any flow's timer, for tests.
    pub test_no_timers: bool,
    /// Flows have their timers in user space, since the kernel lets programs have none.
    pub realtime: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: lh_config::default(),
            ifindex: 0,
            l2_bytes: 14,
            mark: (0x4000_0000, 0x4000_0000),
            priority: PRIORITY,
            max_flows: FLOWS_MOST,
            cache_total_bytes: CACHE_MOST_BYTES,
            cache_flow_bytes: 32 << 20,
            rules: Vec::new(),
            port: 0,
            shared: false,
            test_clock: false,
            test_no_timers: false,
            realtime: device::is_realtime(),
        }
    }
}

/// Whether kernels of this processor let programs read words from any place; of others, loongarch64 and riscv64
/// among them, some do not.
pub const WORDS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

impl Setup {
    /// The same for the programs.
    pub(crate) fn raw(&self) -> lh_setup {
        let slots = maps::slots(self.cache_total_bytes);
        let chunks = maps::chunks(self.max_flows, slots.entries);
        let flows = maps::flows(self.max_flows);
        let flow_segments = self.cache_flow_bytes / u64::from(LH_SLOT_BYTES);
        lh_setup {
            config: self.config,
            policy: self.config.policy(),
            ifindex: self.ifindex,
            l2_bytes: self.l2_bytes,
            mark_value: self.mark.0,
            mark_mask: self.mark.1,
            priority: self.priority,
            nr_slots: slots.entries,
            nr_chunks: chunks.entries,
            slot_shift: slots.shift,
            chunk_shift: chunks.shift,
            flow_shift: flows.shift,
            nr_flows: flows.entries,
            nr_peers: maps::peers(self.max_flows),
            flow_segments: flow_segments.clamp(1, u64::from(LH_FLOW_SEGS)) as u32,
            nr_rules: self.rules.len() as u32,
            has_match: u32::from(
                self.rules
                    .iter()
                    .any(|rule| rule.action == bindings::LH_RULE_MATCH),
            ),
            test_clock: u32::from(self.test_clock),
            words: u32::from(WORDS),
            test_no_timers: u32::from(self.test_no_timers),
            realtime: u32::from(self.realtime),
            port: u32::from(self.port),
            shared: u32::from(self.shared),
            can: lasthop_core::message::can(self.config.policy()),
            stale_ns: STALE.as_nanos() as u64,
        }
    }
}

impl Setup {
    /// The same for the device of that index, with so long a header of layer 2.
    pub fn on(&self, ifindex: u32, l2_bytes: u32) -> Self {
        Self {
            ifindex,
            l2_bytes,
            ..self.clone()
        }
    }

    /// What programs with these constants and rules were loaded with.
    pub fn of_raw(raw: &lh_setup, rules: Vec<lh_rule>) -> Self {
        Self {
            config: raw.config,
            ifindex: raw.ifindex,
            l2_bytes: raw.l2_bytes,
            mark: (raw.mark_value, raw.mark_mask),
            priority: raw.priority,
            max_flows: raw.nr_flows,
            cache_total_bytes: u64::from(raw.nr_slots) * u64::from(LH_SLOT_BYTES),
            cache_flow_bytes: u64::from(raw.flow_segments) * u64::from(LH_SLOT_BYTES),
            rules,
            port: raw.port as u16,
            shared: raw.shared != 0,
            test_clock: raw.test_clock != 0,
            test_no_timers: raw.test_no_timers != 0,
            realtime: raw.realtime != 0,
        }
    }
}

/// Whether programs with these constants can go on with each other's maps.
pub(super) fn same_maps(before: &lh_setup, after: &lh_setup) -> Result<()> {
    for (what, before, after) in [
        ("max_flows", before.nr_flows, after.nr_flows),
        ("cache_total", before.nr_slots, after.nr_slots),
        ("the device", before.ifindex, after.ifindex),
        ("its kind", before.l2_bytes, after.l2_bytes),
        ("mark", before.mark_value, after.mark_value),
        ("mark", before.mark_mask, after.mark_mask),
    ] {
        if before != after {
            bail!("{what} can't change while connections go on: attach anew");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken over from another process has the same maps.
    #[test]
    fn constants_tell_what_was_set() {
        for setup in [
            Setup::default(),
            Setup {
                ifindex: 7,
                l2_bytes: 0,
                max_flows: 77,
                cache_total_bytes: 3 << 20,
                cache_flow_bytes: 100 * 2048,
                port: 30_467,
                shared: true,
                realtime: true,
                config: lh_config::dproxy(),
                rules: vec![lh_rule::default()],
                ..Setup::default()
            },
        ] {
            let raw = setup.raw();
            let again = Setup::of_raw(&raw, setup.rules.clone());
            assert_eq!(again.raw(), raw);
            assert!(same_maps(&raw, &again.raw()).is_ok());
        }
    }
}
