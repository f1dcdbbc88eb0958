// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the simulators have in common, whichever it is.

use crate::cell::engine::first_given;
use crate::cell::options::CompareOptions;
use crate::data::link::LinkOptions;
use crate::data::return_path::ReturnPath;
use crate::data::sender::Sender;
use crate::data::stack::StackOptions;
use crate::data::switch::Switch;
use crate::data::topology::Family;
use crate::data::variation::Variation;

/// The most that a receiver grants without window scaling.
pub(super) const UNSCALED_WINDOW_BYTES: u64 = 65_535;
/// The kernel's least retransmission timeout (`TCP_RTO_MIN`).
const KERNEL_RTO_MIN_NS: u64 = 200_000_000;

/// The senders' least retransmission timeout, ns: the kernel's, unless profile or options say another.
pub(super) fn rto_min_ns(link: &LinkOptions) -> u64 {
    let given_ns = link.stack.rto_min_ns(link.profile);
    given_ns.unwrap_or(KERNEL_RTO_MIN_NS)
}

/// An option that only the test bed has.
pub(super) fn of_test_bed(options: &CompareOptions) -> Option<&'static str> {
    let (link, traffic, watch) = (&options.link, &options.traffic, &options.watch);
    let Variation {
        jitter_ns,
        reorder,
        batch_ns,
        rate_wave,
        rate_trace,
        rate_trace_up,
        police,
        flow_rtt_ns,
    } = &link.variation;
    let ReturnPath {
        rate_up_bps: _,
        queue_up: _,
        batch_up_ns,
        ack_thin,
    } = &link.return_path;
    let StackOptions {
        rto_min_ns: _,
        initial_cwnd: _,
        sysctls,
    } = &link.stack;
    first_given(&[
        (batch_up_ns.is_some(), "batch-up"),
        (ack_thin.is_some(), "ack-thin"),
        (link.sender == Sender::Bs, "sender"),
        (link.hops > 1, "hops"),
        (link.outage.is_some(), "outage"),
        (link.gro == Switch::On, "gro"),
        (link.checksum_offload == Switch::On, "checksum-offload"),
        (
            link.segmentation_offload == Switch::On,
            "segmentation-offload",
        ),
        (!sysctls.is_empty(), "sysctl"),
        (*jitter_ns > 0, "jitter"),
        (reorder.is_some(), "reorder"),
        (*batch_ns > 0, "batch"),
        (rate_wave.is_some(), "rate-wave"),
        (rate_trace.is_some(), "rate-trace"),
        (rate_trace_up.is_some(), "rate-trace-up"),
        (police.is_some(), "police"),
        (!flow_rtt_ns.is_empty(), "flow-rtt"),
        (traffic.family == Family::V6, "family 6"),
        (traffic.opener != Default::default(), "opener"),
        (traffic.transfers > 1, "transfers"),
        (watch.samples.is_some(), "samples"),
        (watch.flent.is_some(), "flent"),
        (options.page.page, "page"),
    ])
}
