// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How large the maps are for so many connections and cached packets, and what they take of the
//! kernel's memory.

use std::mem::offset_of;

use lasthop_core::bindings::{
    LH_CHUNK_SEGS, LH_MAX_RULES, LH_PEERS, LH_SLOT_BYTES, LH_SYNS_PER_FLOW, lh_chunk, lh_device,
    lh_event, lh_flow_entry, lh_flow_key, lh_partners_entry, lh_peer, lh_rule, lh_setup, lh_syn,
};

/// `struct bpf_timer`, which precedes the entry in the values of map `flows`.
pub(crate) const TIMER_BYTES: usize = 16;
/// What the kernel adds to an entry of a hash.
const HASH_BYTES: usize = 64;
/// And to a record of a ring buffer.
const RECORD_BYTES: usize = 8;
/// Events of so many flows may wait at most; a timer that finds no room fires again.
const EVENTS_MOST_BYTES: u64 = 256 << 10;
/// Fewer receivers are hardly fewer bytes, and would have to share places.
const PEERS_LEAST: u32 = 64;
/// An element of map `slot_uses`: the kernel rounds four bytes up.
const USES_BYTES: u64 = 8;
/// Counters, scratch space and a message under way.
const PER_CPU_BYTES: u64 = 5 << 10;
/// Beside its records a ring buffer has three pages; .bss, keys and addresses take one or two each.
const PAGES: u64 = 8;

/// Receivers that have a place of their own, of so many flows.
pub(crate) fn peers(flows: u32) -> u32 {
    flows.next_power_of_two().clamp(PEERS_LEAST, LH_PEERS)
}

/// Bytes of `struct lh_device` with so many receivers.
pub(crate) fn device_bytes(peers: u32) -> usize {
    offset_of!(lh_device, peer) + peers as usize * size_of::<lh_peer>()
}

/// Bytes of the ring of events: one may be under way of each flow.
pub(crate) fn events_bytes(flows: u32) -> u64 {
    let records = u64::from(flows) * (size_of::<lh_event>() + RECORD_BYTES) as u64;
    let least = page_bytes();
    records
        .next_power_of_two()
        .clamp(least, EVENTS_MOST_BYTES.max(least))
}

fn page_bytes() -> u64 {
    // SAFETY: it reads a constant.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Bytes of kernel memory that the maps of `setup` take.
pub(crate) fn loaded_bytes(setup: &lh_setup) -> u64 {
    let packets = u64::from(setup.nr_slots) * u64::from(LH_SLOT_BYTES);
    memory_bytes(setup.nr_flows, packets)
}

/// The same of maps for so many flows, and a cache for `packets` bytes.
pub(crate) fn memory_bytes(flows: u32, packets: u64) -> u64 {
    (u64::from(flows) * flow_bytes())
        .saturating_add(cache_bytes(packets))
        .saturating_add(beside_bytes(flows))
}

/// What there is once per device, for so many flows.
pub(crate) fn beside_bytes(flows: u32) -> u64 {
    let cpus = libbpf_rs::num_possible_cpus().unwrap_or(1) as u64;
    let structs = device_bytes(peers(flows))
        + size_of::<lh_partners_entry>()
        + size_of::<lh_rule>() * LH_MAX_RULES as usize;
    events_bytes(flows) + structs as u64 + cpus * PER_CPU_BYTES + PAGES * page_bytes()
}

/// What a place for a flow takes: its entry, the way to it, a chunk that is hardly filled, and the
/// SYNs that are remembered in its stead.
pub(crate) fn flow_bytes() -> u64 {
    let syn = size_of::<lh_flow_key>() + size_of::<lh_syn>() + HASH_BYTES;
    let way = size_of::<lh_flow_key>() + HASH_BYTES;
    let entry = TIMER_BYTES + size_of::<lh_flow_entry>();
    (entry + way + size_of::<lh_chunk>()) as u64 + u64::from(LH_SYNS_PER_FLOW) * syn as u64
}

/// What a cache for `packets` bytes takes, with the chunks of its ring entries.
fn cache_bytes(packets: u64) -> u64 {
    let slots = packets / u64::from(LH_SLOT_BYTES);
    let chunk = size_of::<lh_chunk>() as u64;
    let beside = slots * USES_BYTES + slots / u64::from(LH_CHUNK_SEGS) * chunk;
    packets.saturating_add(beside)
}

/// The largest cache that takes no more than `memory` bytes.
pub(crate) fn cache_fitting(memory: u64) -> u64 {
    let batch = u64::from(LH_SLOT_BYTES) * u64::from(LH_CHUNK_SEGS);
    let beside = USES_BYTES * u64::from(LH_CHUNK_SEGS) + size_of::<lh_chunk>() as u64;
    memory / (batch + beside) * batch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_once_grows_with_the_table() {
        assert_eq!((peers(1), peers(300), peers(16_384)), (64, 512, LH_PEERS));
        assert_eq!(device_bytes(LH_PEERS), size_of::<lh_device>());
        assert_eq!(events_bytes(1), page_bytes());
        assert!(events_bytes(1_000) >= 24_000);
        assert_eq!(events_bytes(1_000_000), EVENTS_MOST_BYTES);
        assert!(beside_bytes(16_384) > beside_bytes(64) * 2);
    }
}
