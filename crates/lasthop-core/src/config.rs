// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Defaults of SPEC section 2.15. The fields and their units are documented in
//! core/config.h, whence the type is generated.

use crate::bindings::{
    LH_CLOCK_AUTO, LH_RTT_NS2, LH_RTT_STD, LH_SCHEME_none, LH_SCHEME_rack, LH_SCHEME_slack,
    LH_SCHEME_snoop, LH_SUPPRESS_AUTO, LH_TIMER_ALWAYS, lh_config, lhc_policy,
};

/// What an operator or an experiment may set (core/config.h).
pub type Config = lh_config;

/// One millisecond in nanoseconds.
pub const MSEC_NS: u64 = 1_000_000;
/// One second in nanoseconds.
pub const SEC_NS: u64 = 1_000_000_000;

impl lh_config {
    /// Scheme `snoop` as ns-2.35 ran it: its estimator and start values, and
    /// the repair on the second duplicate (SPEC section 2.2, [R]), and
    /// nothing that is not in it.
    pub fn ns2() -> Self {
        Self {
            rtt_profile: LH_RTT_NS2,
            dup_thresh: 2,
            queue_guard: 0,
            ..Self::snoop()
        }
    }

    /// Scheme `snoop` with the estimator of RFC 6298.
    pub fn snoop() -> Self {
        Self {
            scheme: LH_SCHEME_snoop,
            ..Self::default()
        }
    }

    /// Scheme `slack`: `snoop`, and what it does in outages.
    pub fn slack() -> Self {
        Self {
            scheme: LH_SCHEME_slack,
            ..Self::default()
        }
    }

    /// What the core's mechanisms ask of the scheme (`enum lh_policy` of core/scheme.h).
    pub fn policy(&self) -> u32 {
        // SAFETY: a pure function of a number, any number.
        unsafe { lhc_policy(self.scheme) }
    }

    /// Scheme `none`: observe and count only.
    pub fn observe() -> Self {
        Self {
            scheme: LH_SCHEME_none,
            ..Self::default()
        }
    }
}

impl Default for lh_config {
    fn default() -> Self {
        Self {
            scheme: LH_SCHEME_rack,
            rtt_profile: LH_RTT_STD,
            timer_arm: LH_TIMER_ALWAYS,
            dup_thresh: 1,
            max_local: 10,
            strict_window: 0,
            lrto_floor_ns: 80 * MSEC_NS,
            lrto_max_ns: SEC_NS,
            hold_min_ns: 20 * MSEC_NS,
            hold_max_ns: SEC_NS,
            idle_ns: 60 * SEC_NS,
            ns2_tick_ns: 100 * MSEC_NS,
            ns2_srtt_ns: 100 * MSEC_NS,
            ns2_rttvar_ns: 250 * MSEC_NS,
            ns2_gain_1024: 128, // 0.125
            queue_guard: 1,
            suppress: LH_SUPPRESS_AUTO,
            clock: LH_CLOCK_AUTO,
            target_ns: 4 * MSEC_NS, // below the 5 ms at which CoDel drops (RFC 8289)
            slack_quiet_ns: 50 * MSEC_NS,
            rto_min_ns: 200 * MSEC_NS, // Linux' TCP_RTO_MIN
            slack_bursts: 1,
            freeze: 0,
            handoff: 0,
            pad: 0,
        }
    }
}
