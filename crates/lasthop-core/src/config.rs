// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The configurations that belong to schemes. Fields, units and defaults are those of
//! core/params.h, whence the type is generated.

use crate::bindings::{
    LH_RTT_NS2, LH_SCHEME_csnoop, LH_SCHEME_dproxy, LH_SCHEME_none, LH_SCHEME_sack,
    LH_SCHEME_shadow, LH_SCHEME_slack, LH_SCHEME_snack, LH_SCHEME_snoop, lh_config,
    lhc_config_init, lhc_policy, lhc_rests,
};

/// What an operator or an experiment may set (core/params.h; [`params`](crate::params)).
pub type Config = lh_config;

/// One millisecond in nanoseconds.
pub const MSEC_NS: u64 = 1_000_000;
/// One second in nanoseconds.
pub const SEC_NS: u64 = 1_000_000_000;

impl lh_config {
    /// Scheme `snoop` as ns-2.35 ran it: its estimator and start values, and
    /// the repair on the second duplicate (docs/design.md, section 5.2), and
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

    /// Scheme `sack`: `snoop` with a SACK scoreboard.
    pub fn sack() -> Self {
        Self {
            scheme: LH_SCHEME_sack,
            ..Self::default()
        }
    }

    /// Scheme `snack`: agents at both ends of the hop tell each other what they miss.
    pub fn snack() -> Self {
        Self {
            scheme: LH_SCHEME_snack,
            ..Self::default()
        }
    }

    /// Scheme `dproxy`: requests for what is missing, and the receiver sees it in order.
    pub fn dproxy() -> Self {
        Self {
            scheme: LH_SCHEME_dproxy,
            ..Self::default()
        }
    }

    /// Scheme `csnoop`: what the link's MAC reports as lost is repaired.
    pub fn csnoop() -> Self {
        Self {
            scheme: LH_SCHEME_csnoop,
            ..Self::default()
        }
    }

    /// What the core's mechanisms ask of the scheme and its parameters (`enum lh_policy` of
    /// core/scheme.h).
    pub fn policy(&self) -> u32 {
        // SAFETY: read only, for the length of the call.
        unsafe { lhc_policy(self) }
    }

    /// Whether the scheme does nothing in the role that is set (core/scheme.c), though it would
    /// elsewhere.
    pub fn rests(&self) -> bool {
        // SAFETY: read only, for the length of the call.
        unsafe { lhc_rests(self) != 0 }
    }

    /// Scheme `shadow`: what `rack` would do, and nothing done.
    pub fn shadow() -> Self {
        Self {
            scheme: LH_SCHEME_shadow,
            ..Self::default()
        }
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
        let mut config = std::mem::MaybeUninit::zeroed();
        // SAFETY: the function fills what it is given, and any numbers are a valid config.
        unsafe {
            lhc_config_init(config.as_mut_ptr());
            config.assume_init()
        }
    }
}
