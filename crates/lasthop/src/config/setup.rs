// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From the file's keys to what the programs are loaded with.

use anyhow::Result;

use super::{Clock, ClockWord, File, Profile, Size, Suppress, Time, TimerArm, scheme_id};
use crate::memory::{Asked, Room};
use crate::programs::Setup;
use crate::units;
use lasthop_core::bindings::{
    LH_CLOCK_ALWAYS, LH_CLOCK_AUTO, LH_CLOCK_OFF, LH_SUPPRESS_AUTO, LH_SUPPRESS_OFF,
    LH_SUPPRESS_ON, LH_TIMER_AFTER_DUP, LH_TIMER_ALWAYS, lh_config,
};

impl File {
    /// What the programs of each device are loaded with, but for the device. `room`: what there is
    /// for the maps of all.
    ///
    /// # Errors
    /// A scheme that isn't there, a bad rule, or more memory than there is.
    pub fn setup(&self, scheme: &str, room: &Room) -> Result<Setup> {
        let mut config = match self.profile {
            Some(Profile::Ns2) => lh_config::ns2(),
            _ => lh_config::default(),
        };
        config.scheme = scheme_id(scheme)?;
        let time = |to: &mut u64, value: Option<Time>| {
            if let Some(Time(ns)) = value {
                *to = ns;
            }
        };
        time(&mut config.lrto_floor_ns, self.lrto_floor);
        time(&mut config.lrto_max_ns, self.lrto_max);
        time(&mut config.ns2_tick_ns, self.ns2_tick);
        time(&mut config.hold_min_ns, self.hold_min);
        time(&mut config.hold_max_ns, self.hold_max);
        time(&mut config.idle_ns, self.idle);
        config.dup_thresh = self.dup_thresh.unwrap_or(config.dup_thresh);
        config.max_local = self.max_local.unwrap_or(config.max_local);
        config.strict_window = self.strict_window.map_or(config.strict_window, u32::from);
        config.queue_guard = self.queue_guard.map_or(config.queue_guard, u32::from);
        config.clock = match self.clock {
            Some(Clock::May(false)) => LH_CLOCK_OFF,
            Some(Clock::May(true)) => LH_CLOCK_AUTO,
            Some(Clock::Word(ClockWord::Always)) => LH_CLOCK_ALWAYS,
            None => config.clock,
        };
        time(&mut config.target_ns, self.target);
        time(&mut config.slack_quiet_ns, self.slack_quiet);
        time(&mut config.rto_min_ns, self.rto_min);
        config.slack_bursts = self.slack_bursts.unwrap_or(config.slack_bursts);
        config.freeze = self.freeze.map_or(config.freeze, u32::from);
        config.handoff = self.handoff.unwrap_or(config.handoff);
        config.suppress = match self.suppress {
            Some(Suppress::Auto) => LH_SUPPRESS_AUTO,
            Some(Suppress::On) => LH_SUPPRESS_ON,
            Some(Suppress::Off) => LH_SUPPRESS_OFF,
            None => config.suppress,
        };
        config.timer_arm = match self.timer_arm {
            Some(TimerArm::AfterDup) => LH_TIMER_AFTER_DUP,
            Some(TimerArm::Always) => LH_TIMER_ALWAYS,
            None => config.timer_arm,
        };
        let base = Setup::default();
        // ns-2's maxbufs: 100 packets.
        let flow_default = match self.profile {
            Some(Profile::Ns2) => 100 * 2048,
            _ => base.cache_flow_bytes,
        };
        let part = self.memory().part(room)?;
        let rules = self.matches.iter().map(|text| units::rule(text, false));
        let rules = rules.chain(self.exclude.iter().map(|text| units::rule(text, true)));
        Ok(Setup {
            config,
            mark: self.mark.unwrap_or(base.mark),
            priority: self.priority.unwrap_or(base.priority),
            max_flows: part.max_flows,
            cache_total_bytes: part.cache_total_bytes,
            cache_flow_bytes: self.cache_flow.map_or(flow_default, |Size(bytes)| bytes),
            rules: rules
                .collect::<Result<_, _>>()
                .map_err(anyhow::Error::msg)?,
            ..base
        })
    }

    fn memory(&self) -> Asked {
        let bytes = |size: Option<Size>| size.map(|Size(bytes)| bytes);
        Asked {
            memory_bytes: bytes(self.memory),
            max_flows: self.max_flows,
            cache_total_bytes: bytes(self.cache_total),
        }
    }
}
