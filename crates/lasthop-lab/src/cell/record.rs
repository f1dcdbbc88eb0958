// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One cell's result, and the description of its fields.

use serde::{Deserialize, Serialize};

use crate::base::fields::{Field, markdown_table};
use crate::cell::beside::BesideFigures;
use crate::cell::cpu::CpuFigures;
use crate::cell::energy::EnergyFigures;
use crate::cell::engine::Engine;
use crate::cell::observed::ObservedFigures;
use crate::cell::page::PageFigures;
use crate::data::profile::Profile;
use crate::data::sender::Sender;

/// All fields of a record, in their order.
pub const FIELDS: [Field; 82] = [
    Field::new(
        "engine",
        "name",
        "where it ran: `testbed`, or the simulator `ns3` or `ns2` (`--engine`)",
    ),
    Field::new(
        "simulator",
        "name",
        "version of ns-3 or ns-2; null on the test bed",
    ),
    Field::new(
        "scheme",
        "name",
        "scheme of the agent; `none`: no agent is attached; `split`, `passthrough`, `pepsal`: what takes its place. With a proxy all `sender_…` and `rtt_…` are about the sender's own connection, which ends there",
    ),
    Field::new(
        "cc",
        "name",
        "congestion control; with `--flow-cc` those of the flows, joined by `+`",
    ),
    Field::new(
        "profile",
        "name",
        "TCP stack of the end hosts: `modern`, `vintage` or `linux24`",
    ),
    Field::new(
        "seed",
        "number",
        "seed of the emulators' losses and of the content",
    ),
    Field::new("hosts", "hosts", "mobile hosts behind the hop"),
    Field::new(
        "hops",
        "hops",
        "lossy hops in a row (`--hops`), each as the link's options say; what hops and agents count is that of all together",
    ),
    Field::new(
        "flows",
        "connections",
        "parallel connections; with `--page` those of a load",
    ),
    Field::new(
        "transfers",
        "connections",
        "of each flow, one after the other (`--transfers`); with `--page` the loads",
    ),
    Field::new(
        "rate_mbit",
        "Mbit/s",
        "rate of the lossy hop in the data direction (`--rate`, `--rate-up`), the mean of one that varies (`--rate-wave`, `--rate-trace`), no more than `--police` lets pass; with `--host-rate` of all hosts together",
    ),
    Field::new(
        "sender",
        "name",
        "where the wired end is (`--sender`): `fh`, or `bs`, the agent's own machine",
    ),
    Field::new(
        "rtt_ms",
        "ms",
        "unloaded round trip from end to end (`--rtt`; with `--sender bs` its part on the hop)",
    ),
    Field::new(
        "local_rtt_ms",
        "ms",
        "its part on the lossy hop, with `--hops` on each (`--local-rtt`)",
    ),
    Field::new(
        "loss_pct",
        "%",
        "frames that the hop loses at random in the data direction (`--loss`, or `--loss-up` with `--direction up`), with `--host-loss` the mean over the hosts; with `--direction both` this and all else but `up_goodput_mbit` and `content_ok` is about the download",
    ),
    Field::new(
        "queue_pkts",
        "packets",
        "limit of the queue at the lossy hop in the data direction (`--queue`, `--queue-up`); with `--host-rate` of all hosts' queues together",
    ),
    Field::new(
        "duration_s",
        "s",
        "measured time; with `--bytes` from the first connect() to the last byte, with `--page` the sum of the load times",
    ),
    Field::new(
        "goodput_mbit",
        "Mbit/s",
        "bytes read by the receiving applications per measured time",
    ),
    Field::new(
        "flow_goodputs_mbit",
        "list of Mbit/s",
        "the same for each flow; with `--bytes` per the flow's own time; empty with `--page`",
    ),
    Field::new(
        "up_goodput_mbit",
        "Mbit/s",
        "goodput of the upload beside the download; null without `--direction both`",
    ),
    Field::new(
        "up_bound_mbit",
        "Mbit/s",
        "`bound_mbit` of that upload; null without it",
    ),
    Field::new(
        "late_flow_share_s",
        "s",
        "from the last flow's start until its goodput over a sliding second first reaches 0.8 of the fair share of that second, warm-up included; null without `--start-gap` and two flows, or if it never does",
    ),
    Field::new(
        "bound_mbit",
        "Mbit/s",
        "the most that any transport could deliver: min(wired rate, rate × (1 − mean loss in the data direction)) × payload bytes / frame bytes; with `--hops` that of one, which is what repair on each leaves",
    ),
    Field::new(
        "efficiency",
        "ratio",
        "`goodput_mbit` / `bound_mbit`; above 1 over a short time in which bytes that had waited behind a hole were read; 0 if the bound is",
    ),
    Field::new(
        "host_goodput_mbit",
        "list of Mbit/s",
        "of each host (`--hosts`): bytes read by its applications per measured time; with `--bytes` per the host's own time, from its first connect() to its last byte",
    ),
    Field::new(
        "host_bound_mbit",
        "list of Mbit/s",
        "the most that any transport could deliver to each host over a link of its own (`--host-rate`); without those, the part of `bound_mbit` that its share of the flows makes",
    ),
    Field::new(
        "host_efficiency",
        "list of ratios",
        "`host_goodput_mbit` / `host_bound_mbit`",
    ),
    Field::new(
        "host_rtt_p50_ms",
        "list of ms",
        "as `rtt_p50_ms`, of the flows of each host; null for one without a sample",
    ),
    Field::new(
        "host_rtt_p95_ms",
        "list of ms",
        "95th percentile of the same",
    ),
    Field::new(
        "sender_retransmits",
        "segments",
        "sent again by the senders (`tcpi_total_retrans`; with `--page` by the host, `Tcp RetransSegs`)",
    ),
    Field::new(
        "sender_tail_probes",
        "segments",
        "tail loss probes of the sending host (`TcpExt TCPLossProbes`); ns-3 sends none",
    ),
    Field::new(
        "sender_segments",
        "segments",
        "with data, sent by the senders, retransmissions included (`tcpi_data_segs_out`; with `--page` all that the host sent)",
    ),
    Field::new(
        "sender_retransmit_share",
        "ratio",
        "(`sender_retransmits` − `sender_tail_probes`, at least 0) / `sender_segments`; null if nothing was sent",
    ),
    Field::new(
        "sender_timeouts",
        "timeouts",
        "retransmission timeouts of the sending host (`TcpExt TCPTimeouts`), those of handshakes included; with `--engine ns3` without those, and without those that follow one of 60 s",
    ),
    Field::new(
        "local_retransmits",
        "segments",
        "sent again by the agent, or by a proxy's own connections to both sides; null without either",
    ),
    Field::new(
        "link_lost",
        "frames",
        "data frames lost by the lossy hop in the data direction, repairs included; with `--mac` what its last attempt did not deliver, for collisions too; with `--engine ns3` those without data, and UDP, too",
    ),
    Field::new(
        "queue_dropped",
        "frames",
        "data frames that found its queue full; with `--engine ns3` those without data, and UDP, too",
    ),
    Field::new(
        "aqm_dropped",
        "frames",
        "data frames that its queue discipline (`--aqm`) dropped in the data direction while there was room; with `--engine ns3` those without data, and UDP, too",
    ),
    Field::new(
        "aqm_marked",
        "frames",
        "frames that it marked instead (ECN)",
    ),
    Field::new(
        "thinned_acks",
        "segments",
        "ACKs that gave up their places from MH to BS to newer ones (`--ack-thin`); null with `--engine ns3`",
    ),
    Field::new(
        "suppressed_acks",
        "segments",
        "ACKs that the agent held back; null without an agent",
    ),
    Field::new(
        "rtt_p50_ms",
        "ms",
        "median of the senders' smoothed RTT (`tcpi_rtt`), read every 100 ms of those to which something \
         was acknowledged since the last reading (with `--engine ns3` of all); null without a sample",
    ),
    Field::new("rtt_p95_ms", "ms", "95th percentile of the same"),
    Field::new("rtt_p99_ms", "ms", "99th percentile of the same"),
    Field::new(
        "jain",
        "ratio",
        "Jain's fairness index of the flows' goodput; null if nothing arrived",
    ),
    Field::new(
        "completion_ms",
        "ms",
        "from connect() to the last byte read by the receiver, mean over all transfers of all flows; null without `--bytes` or if bytes are missing",
    ),
    Field::new("completion_p95_ms", "ms", "95th percentile of the same"),
    Field::new(
        "outage_cwnd_before",
        "segments",
        "sender's congestion window in the last sample before the first outage that begins within the measured time; this and the next five are null without such an outage, end with the measured time or when the next outage begins, and are as exact as `--sample-interval`; the windows are null with several flows or `--transfers`",
    ),
    Field::new(
        "outage_cwnd_least",
        "segments",
        "the least from the outage's beginning until `outage_recovery_ms` after its end, or if that is null to the end of the samples",
    ),
    Field::new(
        "outage_cwnd_left",
        "segments",
        "what recovery left: the window in the first sample after the outage in which the sender is in state open and all that it had sent by the outage's end is acknowledged; null if there is none",
    ),
    Field::new(
        "outage_cwnd_kept",
        "ratio",
        "`outage_cwnd_left` / `outage_cwnd_before`; null without them",
    ),
    Field::new(
        "outage_pause_ms",
        "ms",
        "from the outage's beginning to the first byte read by the receiving applications after its end; null if none is",
    ),
    Field::new(
        "outage_recovery_ms",
        "ms",
        "from the outage's end until the goodput of all flows over a sliding window of max(500 ms, 2 × `--rtt`), beginning at that moment, first reaches 0.9 of its mean over the 2 s before the outage; null if it never does or nothing came then",
    ),
    Field::new(
        "page_ms",
        "ms",
        "load time of a page, from curl's start to its end: median of the loads; null without `--page` or if a load failed",
    ),
    Field::new("page_p95_ms", "ms", "95th percentile of the same"),
    Field::new(
        "page_loads_ms",
        "list of ms",
        "the same of each load; null without `--page`, and in it for a load that failed",
    ),
    Field::new(
        "arrivals",
        "transfers",
        "short transfers that began within the measured time (`--arrivals`); null without. All other figures but the counters of the host, the hop and the agent are about the flows beside them",
    ),
    Field::new(
        "arrival_p50_ms",
        "ms",
        "from connect() to the last byte read by the receiver, median of these; null without any, or if those that had not arrived 20 s after the measured time are so many",
    ),
    Field::new("arrival_p95_ms", "ms", "95th percentile of the same"),
    Field::new(
        "neighbour_goodput_mbit",
        "Mbit/s",
        "goodput of all neighbours together, each over the part of the measured time in which it was there (`--neighbour`); null without",
    ),
    Field::new(
        "neighbour_goodputs_mbit",
        "list of Mbit/s",
        "of each; null in it for one that was not there",
    ),
    Field::new(
        "neighbour_rtt_p95_ms",
        "ms",
        "95th percentile of the TCP neighbours' smoothed RTT in that time; null without one",
    ),
    Field::new(
        "goodput_beside_mbit",
        "Mbit/s",
        "as `goodput_mbit`, from the first neighbour's beginning to the last one's end; null without",
    ),
    Field::new(
        "rtt_p95_after_ms",
        "ms",
        "as `rtt_p95_ms`, from 2 s after the last neighbour left; null without, or if none left so early",
    ),
    Field::new(
        "base_energy_j",
        "J",
        "spent by the base's radio in the measured time: how long it sent, received and did neither, at the powers of `--mac`; null without",
    ),
    Field::new(
        "mobile_energy_j",
        "J",
        "the same of the mobile end's, one for all hosts",
    ),
    Field::new(
        "goodput_per_energy",
        "kbit/s/J",
        "`goodput_mbit` in kbit/s / `mobile_energy_j`; null without `--mac`, or if nothing was spent",
    ),
    Field::new(
        "observed_link_lost",
        "segments",
        "losses in the measured time that an agent which only watches (scheme `shadow`) calls the link's; this and the next five are null with other schemes",
    ),
    Field::new(
        "observed_queue_lost",
        "segments",
        "those that it calls the queue's",
    ),
    Field::new(
        "observed_upstream_lost",
        "segments",
        "those that it places before itself",
    ),
    Field::new(
        "observed_link_mbit",
        "Mbit/s",
        "payload that the link carries by its estimate, lost or not; null if nothing ever queued",
    ),
    Field::new(
        "observed_expected_mbit",
        "Mbit/s",
        "goodput that it expects of `rack`",
    ),
    Field::new(
        "observed_gain",
        "ratio",
        "that over the goodput which it has seen",
    ),
    Field::new(
        "process_cpu_s",
        "s",
        "user and system time of the agent's daemon, or of the process that takes its place, in the measured time, all threads: also what the kernel does at once on its calls, such as sending, and softirqs that come up while it runs; those elsewhere, such as receiving for its connections, are not in it; null without one, and in simulators",
    ),
    Field::new(
        "bpf_cpu_s",
        "s",
        "run time of the agent's programs on its devices in that time; kicks are in the daemon's system time, timers of flows in neither; null without an agent, and in simulators",
    ),
    Field::new(
        "cpu_s_per_gb",
        "s/GB",
        "`process_cpu_s` and `bpf_cpu_s` per 10⁹ of `bytes`, those of the upload beside the download included; what `--arrivals` and `--neighbour` bring costs, too, and is not counted; null without these times, or if nothing was read",
    ),
    Field::new(
        "machine_cpu_s",
        "s",
        "what all processors of the machine were busy in that time, interrupts included: hosts, emulators and all else that runs; less that of scheme `none` at the same goodput it says what a scheme costs in all, on a machine that has nothing else to do; null in simulators",
    ),
    Field::new(
        "agent_memory_bytes",
        "bytes",
        "the most that the agent held of packets, records about them and connections, looked at every 100 ms; null without an agent, and on the test bed",
    ),
    Field::new(
        "events",
        "events",
        "of the simulator over the whole run; null on the test bed",
    ),
    Field::new(
        "events_per_s",
        "events/s",
        "the same per second of processor time: the simulator's speed on this machine; null on the test bed",
    ),
    Field::new(
        "bytes",
        "bytes",
        "read by the receiving applications in the measured time, all flows",
    ),
    Field::new(
        "content_ok",
        "boolean",
        "every byte received was right and none was missing, warm-up included",
    ),
];

/// Result of one cell. The fields are described in [`FIELDS`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Record {
    /// Records of earlier versions lack it.
    #[serde(default)]
    pub engine: Engine,
    #[serde(default)]
    pub simulator: Option<String>,
    pub scheme: String,
    pub cc: String,
    pub profile: Profile,
    pub seed: u64,
    #[serde(default = "one_host")]
    pub hosts: usize,
    #[serde(default = "one_hop")]
    pub hops: u8,
    pub flows: usize,
    pub transfers: u32,
    pub rate_mbit: f64,
    #[serde(default)]
    pub sender: Sender,
    pub rtt_ms: f64,
    pub local_rtt_ms: f64,
    pub loss_pct: f64,
    pub queue_pkts: u64,
    pub duration_s: f64,
    pub goodput_mbit: f64,
    pub flow_goodputs_mbit: Vec<f64>,
    pub up_goodput_mbit: Option<f64>,
    #[serde(default)]
    pub up_bound_mbit: Option<f64>,
    pub late_flow_share_s: Option<f64>,
    pub bound_mbit: f64,
    pub efficiency: f64,
    #[serde(default)]
    pub host_goodput_mbit: Vec<f64>,
    #[serde(default)]
    pub host_bound_mbit: Vec<f64>,
    #[serde(default)]
    pub host_efficiency: Vec<f64>,
    #[serde(default)]
    pub host_rtt_p50_ms: Vec<Option<f64>>,
    #[serde(default)]
    pub host_rtt_p95_ms: Vec<Option<f64>>,
    pub sender_retransmits: u64,
    pub sender_tail_probes: u64,
    pub sender_segments: u64,
    pub sender_retransmit_share: Option<f64>,
    /// Records of earlier versions lack it.
    #[serde(default)]
    pub sender_timeouts: u64,
    pub local_retransmits: Option<u64>,
    pub link_lost: u64,
    pub queue_dropped: u64,
    #[serde(default)]
    pub aqm_dropped: Option<u64>,
    #[serde(default)]
    pub aqm_marked: Option<u64>,
    #[serde(default)]
    pub thinned_acks: Option<u64>,
    pub suppressed_acks: Option<u64>,
    pub rtt_p50_ms: Option<f64>,
    pub rtt_p95_ms: Option<f64>,
    pub rtt_p99_ms: Option<f64>,
    pub jain: Option<f64>,
    pub completion_ms: Option<f64>,
    pub completion_p95_ms: Option<f64>,
    pub outage_cwnd_before: Option<u32>,
    pub outage_cwnd_least: Option<u32>,
    pub outage_cwnd_left: Option<u32>,
    #[serde(default)]
    pub outage_cwnd_kept: Option<f64>,
    pub outage_pause_ms: Option<f64>,
    pub outage_recovery_ms: Option<f64>,
    #[serde(flatten)]
    pub page: PageFigures,
    #[serde(flatten)]
    pub beside: BesideFigures,
    #[serde(flatten)]
    pub energy: EnergyFigures,
    #[serde(flatten)]
    pub observed: ObservedFigures,
    #[serde(flatten)]
    pub cpu: CpuFigures,
    #[serde(default)]
    pub agent_memory_bytes: Option<u64>,
    #[serde(default)]
    pub events: Option<u64>,
    #[serde(default)]
    pub events_per_s: Option<u64>,
    pub bytes: u64,
    pub content_ok: bool,
}

/// Records of earlier versions do not say how many there were.
fn one_host() -> usize {
    1
}

fn one_hop() -> u8 {
    1
}

/// The fields as a table in Markdown, the body of `docs/compare-fields.md`.
pub fn fields_markdown() -> String {
    markdown_table(&FIELDS)
}

/// One record for tests, of 20 Mbit/s, 110 ms and 2 %.
#[cfg(test)]
pub(crate) fn sample(scheme: &str, cc: &str, seed: u64, goodput_mbit: f64) -> Record {
    Record {
        scheme: scheme.into(),
        cc: cc.into(),
        seed,
        hosts: 1,
        hops: 1,
        flows: 1,
        transfers: 1,
        rate_mbit: 20.0,
        rtt_ms: 110.0,
        local_rtt_ms: 10.0,
        loss_pct: 2.0,
        queue_pkts: 181,
        duration_s: 20.0,
        goodput_mbit,
        flow_goodputs_mbit: vec![goodput_mbit],
        bound_mbit: 18.7,
        efficiency: goodput_mbit / 18.7,
        host_goodput_mbit: vec![goodput_mbit],
        host_bound_mbit: vec![18.7],
        host_efficiency: vec![goodput_mbit / 18.7],
        host_rtt_p50_ms: vec![Some(115.0)],
        host_rtt_p95_ms: vec![Some(120.0)],
        sender_retransmits: 10,
        sender_tail_probes: 1,
        sender_segments: 30_000,
        sender_retransmit_share: Some(0.0003),
        local_retransmits: (scheme != "none").then_some(100),
        link_lost: 100,
        aqm_dropped: Some(0),
        aqm_marked: Some(0),
        thinned_acks: Some(0),
        rtt_p50_ms: Some(115.0),
        rtt_p95_ms: Some(120.0),
        jain: Some(1.0),
        bytes: 1000,
        content_ok: true,
        ..Record::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::fields::assert_described;

    #[test]
    fn record_and_description_have_the_same_fields_in_the_same_order() {
        assert_described(&sample("none", "reno", 1, 1.0), &FIELDS);
    }

    #[test]
    fn the_page_is_up_to_date() {
        let page = include_str!("../../docs/compare-fields.md");
        assert!(
            page.ends_with(&fields_markdown()),
            "docs/compare-fields.md must end with the output of `lasthop-lab fields`:\n{}",
            fields_markdown()
        );
    }
}
