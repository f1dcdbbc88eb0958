// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Kernel settings of the hosts, all of them inside their own namespaces.

use serde::{Deserialize, Serialize};

use super::topology::Role;

/// The TCP stack that the end hosts are made to resemble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Today's defaults: SACK, timestamps, autotuned buffers of up to 16 MB.
    #[default]
    Modern,
    /// The papers' sender: no SACK, no timestamps, 64 KiB window, RTO at least 500 ms.
    Vintage,
    /// A sender of about 2003, Linux 2.4: SACK, timestamps, 64 KiB window, RTO at least 200 ms; none
    /// of what came later (RACK, TLP, F-RTO).
    Linux24,
}

/// Keys below `/proc/sys/net` and their values, in the order in which they must be written.
pub type Sysctls = &'static [(&'static str, &'static str)];

/// Hosts that talk IP: quiet about themselves (see [`crate::data::topology`]).
const QUIET: Sysctls = &[
    ("ipv6.conf.all.accept_ra", "0"),
    ("ipv6.conf.default.accept_ra", "0"),
    ("ipv6.conf.all.accept_dad", "0"),
    ("ipv6.conf.default.accept_dad", "0"),
    ("ipv6.conf.default.router_solicitations", "0"),
    // Multicast reports: at once, before the emulators are started.
    ("ipv6.conf.default.mldv2_unsolicited_report_interval", "1"),
    // Routes through a device that goes down and up again come back with it.
    ("ipv6.conf.all.keep_addr_on_down", "1"),
    ("ipv6.conf.default.keep_addr_on_down", "1"),
];

/// The emulators' hosts only relay frames.
const MUTE: Sysctls = &[
    ("ipv6.conf.all.disable_ipv6", "1"),
    ("ipv6.conf.default.disable_ipv6", "1"),
];

/// The base station. Forwarding comes first: switching it on resets other settings.
const ROUTER: Sysctls = &[
    ("ipv4.ip_forward", "1"),
    ("ipv6.conf.all.forwarding", "1"),
    ("ipv4.conf.all.rp_filter", "0"),
    ("ipv4.conf.default.rp_filter", "0"),
    ("ipv4.conf.all.send_redirects", "0"),
    ("ipv4.conf.default.send_redirects", "0"),
];

/// Today's kernel. What a namespace would inherit from the machine's own settings is set, so that
/// results do not depend on how somebody tuned the machine.
const MODERN: Sysctls = &[
    ("ipv4.tcp_sack", "1"),
    ("ipv4.tcp_dsack", "1"),
    ("ipv4.tcp_timestamps", "1"),
    ("ipv4.tcp_window_scaling", "1"),
    ("ipv4.tcp_moderate_rcvbuf", "1"),
    ("ipv4.tcp_no_metrics_save", "1"),
    ("ipv4.tcp_rmem", "4096 131072 16777216"),
    ("ipv4.tcp_wmem", "4096 16384 16777216"),
];

/// Senders of the papers' time (docs/design.md, section 11.3). Without window scaling no window exceeds
/// 64 KiB; the buffers are four times that, because the kernel counts their overhead too, and they
/// are fixed.
const OLD: Sysctls = &[
    ("ipv4.tcp_window_scaling", "0"),
    ("ipv4.tcp_frto", "0"),
    ("ipv4.tcp_early_retrans", "0"),
    ("ipv4.tcp_recovery", "0"),
    ("ipv4.tcp_ecn", "0"),
    ("ipv4.tcp_no_metrics_save", "1"),
    ("ipv4.tcp_no_ssthresh_metrics_save", "1"),
    ("ipv4.tcp_moderate_rcvbuf", "0"),
    ("ipv4.tcp_rmem", "262144 262144 262144"),
    ("ipv4.tcp_wmem", "262144 262144 262144"),
];

/// The papers' kernel.
const VINTAGE: Sysctls = &[
    ("ipv4.tcp_sack", "0"),
    ("ipv4.tcp_dsack", "0"),
    ("ipv4.tcp_timestamps", "0"),
    // Three duplicates, always: without SACK today's Linux takes a duplicate too many for
    // reordering, and waits for a window of them from then on.
    ("ipv4.tcp_max_reordering", "3"),
];

/// Linux 2.4. Losses are found by three duplicates or what SACK says of them, and reordering is
/// learned, as it was there.
const LINUX24: Sysctls = &[
    ("ipv4.tcp_sack", "1"),
    ("ipv4.tcp_dsack", "1"),
    ("ipv4.tcp_timestamps", "1"),
];

/// Settings of TCP where connections end.
pub fn stack(profile: Profile) -> Vec<(&'static str, &'static str)> {
    match profile {
        Profile::Modern => MODERN.to_vec(),
        Profile::Vintage => [OLD, VINTAGE].concat(),
        Profile::Linux24 => [OLD, LINUX24].concat(),
    }
}

/// Settings of a host with this role.
pub fn sysctls(role: Role, profile: Profile) -> Vec<(&'static str, &'static str)> {
    match role {
        Role::Emulator => MUTE.to_vec(),
        Role::Router => [ROUTER, QUIET].concat(),
        Role::End => [QUIET, &stack(profile)].concat(),
    }
}

/// Whether segments carry timestamps, which take 12 bytes of each.
pub fn has_timestamps(profile: Profile) -> bool {
    profile != Profile::Vintage
}
