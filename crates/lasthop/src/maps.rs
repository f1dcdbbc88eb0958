// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How large the maps are for so many connections and cached packets, and what they take of the
//! kernel's memory.

use std::mem::offset_of;

use lasthop_core::bindings::{
    LH_CHUNK_SEGS, LH_MAX_RULES, LH_PEERS, LH_SHOWN, LH_SLOT_BYTES, LH_SYNS_PER_FLOW, lh_chunk,
    lh_device, lh_event, lh_flow_entry, lh_flow_key, lh_partners_entry, lh_peer, lh_rule, lh_setup,
    lh_slot, lh_syn,
};

/// `struct bpf_timer`.
const TIMER_BYTES: usize = 16;
/// What the kernel adds to an entry of a hash.
const HASH_BYTES: usize = 64;
/// And what a place takes in which none is: heads of the lists, which are a power of two.
const HASH_HEAD_BYTES: usize = 16;
/// And to a record of a ring buffer.
const RECORD_BYTES: usize = 8;
/// So many SYNs can be remembered at any time.
const SYNS_FIRST: u32 = 2_048;
/// Events of so many flows may wait at most; a timer that finds no room fires again.
const EVENTS_MOST_BYTES: u64 = 256 << 10;
/// Fewer receivers are hardly fewer bytes, and would have to share places.
const PEERS_LEAST: u32 = 64;
/// An element of map `slot_uses`: the kernel rounds four bytes up.
const USES_BYTES: u64 = 8;
/// An element of map `flow_hints`.
const HINT_BYTES: usize = 8;
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

/// Entries of the smallest areas of the pools: 256, 64 and some 50 KiB.
const AREA_SLOTS_LEAST: u32 = 128;
const AREA_CHUNKS_LEAST: u32 = 32;
const AREA_FLOWS_LEAST: u32 = 16;

/// A pool that grows by areas: its entries at the most, and log2 of how many an area has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pool {
    pub(crate) entries: u32,
    pub(crate) shift: u32,
    pub(crate) entry_bytes: usize,
}

impl Pool {
    /// Entries of an area.
    pub(crate) fn area(&self) -> u32 {
        1 << self.shift
    }

    /// Areas for so many entries.
    pub(crate) fn areas(&self, entries: u32) -> u32 {
        entries.div_ceil(self.area())
    }

    /// Bytes of the areas for so many entries.
    pub(crate) fn bytes(&self, entries: u32) -> u64 {
        u64::from(self.areas(entries)) * u64::from(self.area()) * self.entry_bytes as u64
    }
}

/// The pools that programs of these constants have, in the order of [`crate::shared::Shared::pools`].
pub(crate) fn pools(raw: &lh_setup) -> [Pool; 3] {
    let pool = |entries, shift, entry_bytes| Pool {
        entries,
        shift,
        entry_bytes,
    };
    [
        pool(raw.nr_slots, raw.slot_shift, size_of::<lh_slot>()),
        pool(raw.nr_chunks, raw.chunk_shift, size_of::<lh_chunk>()),
        pool(raw.nr_flows, raw.flow_shift, size_of::<lh_flow_entry>()),
    ]
}

/// Slots for so many packets, and no more: 64 to 127 areas, or fewer of the least size.
pub(crate) fn slots(packets: u64) -> Pool {
    let wanted =
        (packets / u64::from(LH_SLOT_BYTES)).min(u64::from(u32::MAX / LH_SLOT_BYTES)) as u32;
    let wanted = wanted.max(AREA_SLOTS_LEAST);
    let shift = (wanted / 64).max(AREA_SLOTS_LEAST).ilog2();
    Pool {
        entries: wanted >> shift << shift,
        shift,
        entry_bytes: size_of::<lh_slot>(),
    }
}

/// Bytes of packets that these hold.
pub(crate) fn cached_bytes(packets: u64) -> u64 {
    u64::from(slots(packets).entries) * u64::from(LH_SLOT_BYTES)
}

/// Chunks for that many slots: every flow may hold one that is hardly filled.
pub(crate) fn chunks(flows: u32, slots: u32) -> Pool {
    let wanted = slots / LH_CHUNK_SEGS + flows;
    let shift = (wanted / 64).max(AREA_CHUNKS_LEAST).ilog2();
    let entries = match 1 << shift {
        AREA_CHUNKS_LEAST => wanted.next_multiple_of(AREA_CHUNKS_LEAST),
        _ => wanted >> shift << shift, // one of 64 fewer
    };
    Pool {
        entries,
        shift,
        entry_bytes: size_of::<lh_chunk>(),
    }
}

/// Entries for exactly so many connections; the last area may be larger than what is left.
pub(crate) fn flows(entries: u32) -> Pool {
    Pool {
        entries,
        shift: (entries / 64).max(AREA_FLOWS_LEAST).ilog2(),
        entry_bytes: size_of::<lh_flow_entry>(),
    }
}

/// The most connections, up to so many, of which each area is full.
pub(crate) fn flows_of_whole_areas(most: u32) -> u32 {
    let shift = flows(most).shift;
    most >> shift << shift
}

/// Bytes of kernel memory that the maps of `setup` take when the pools are as large as they may be.
pub(crate) fn loaded_bytes(setup: &lh_setup) -> u64 {
    let packets = u64::from(setup.nr_slots) * u64::from(LH_SLOT_BYTES);
    memory_bytes(setup.nr_flows, packets)
}

/// Of these, what is not taken while there are so many entries in the pools, and so many SYNs can be
/// remembered.
pub(crate) fn not_taken_bytes(setup: &lh_setup, there: [u32; 3], syns_there: u64) -> u64 {
    let many = syns(setup.nr_flows).1;
    let many = many.filter(|many| syns_there < u64::from(*many));
    let pools = pools(setup).into_iter().zip(there);
    let areas = pools.map(|(pool, there)| pool.bytes(pool.entries) - pool.bytes(there));
    let ways = setup.nr_flows.saturating_sub(there[2]);
    areas.sum::<u64>() + syns_bytes(many.unwrap_or(0)) + u64::from(ways) * WAY_BYTES as u64
}

/// The same of maps for so many flows, and a cache for `packets` bytes.
pub(crate) fn memory_bytes(flows: u32, packets: u64) -> u64 {
    let slots = slots(packets);
    let chunks = chunks(flows, slots.entries);
    let uses = u64::from(slots.entries) * USES_BYTES;
    slots.bytes(slots.entries) + chunks.bytes(chunks.entries) + uses + table_bytes(flows)
}

/// What there is for so many flows, but for what they have cached.
fn table_bytes(flows: u32) -> u64 {
    let heads = u64::from(flows.next_power_of_two()) * HASH_HEAD_BYTES as u64;
    let entries = self::flows(flows).bytes(flows);
    let (few, many) = syns(flows);
    let syns = syns_bytes(few) + syns_bytes(many.unwrap_or(0));
    entries + heads + syns + u64::from(flows) * place_bytes() + beside_bytes(flows)
}

/// What there is once per device, for so many flows.
pub(crate) fn beside_bytes(flows: u32) -> u64 {
    let cpus = libbpf_rs::num_possible_cpus().unwrap_or(1) as u64;
    let structs = device_bytes(peers(flows))
        + size_of::<lh_partners_entry>()
        + size_of::<lh_rule>() * LH_MAX_RULES as usize
        + size_of::<lh_flow_entry>() * LH_SHOWN as usize;
    events_bytes(flows) + structs as u64 + cpus * PER_CPU_BYTES + PAGES * page_bytes()
}

/// The way from a connection to its entry: of the hash that has no places in advance.
const WAY_BYTES: usize = (size_of::<lh_flow_key>() + size_of::<u32>()).next_multiple_of(8) + 56;

/// What a place for a flow takes beside its entry and the SYNs that are remembered in its stead: its timer, and
/// the ways to it.
fn place_bytes() -> u64 {
    let free = size_of::<u32>();
    (TIMER_BYTES + free + WAY_BYTES + HINT_BYTES) as u64
}

/// SYNs that are remembered of so many flows: in the hash that is always there, and in the one that is while
/// many are unanswered.
pub(crate) fn syns(flows: u32) -> (u32, Option<u32>) {
    let most = flows.saturating_mul(LH_SYNS_PER_FLOW);
    let first = most.min(SYNS_FIRST);
    (first, (first < most).then_some(most))
}

fn syns_bytes(syns: u32) -> u64 {
    let syn = size_of::<lh_flow_key>() + size_of::<lh_syn>() + HASH_BYTES;
    u64::from(syns) * syn as u64
}

/// What one more flow takes, with a chunk that is hardly filled.
pub(crate) fn flow_bytes() -> u64 {
    let pools = size_of::<lh_flow_entry>() + size_of::<lh_chunk>();
    place_bytes() + syns_bytes(LH_SYNS_PER_FLOW) + (pools + 2 * HASH_HEAD_BYTES) as u64
}

/// The same of so many, with what there is once.
pub(crate) fn flows_bytes(flows: u32) -> u64 {
    table_bytes(flows) + u64::from(flows) * size_of::<lh_chunk>() as u64
}

/// The largest cache that takes no more than `memory` bytes.
pub(crate) fn cache_fitting(memory: u64) -> u64 {
    let batch = u64::from(LH_SLOT_BYTES) * u64::from(LH_CHUNK_SEGS);
    let beside = USES_BYTES * u64::from(LH_CHUNK_SEGS) + size_of::<lh_chunk>() as u64;
    // The last area of chunks is a whole one.
    let memory = memory.saturating_sub(u64::from(AREA_CHUNKS_LEAST) * size_of::<lh_chunk>() as u64);
    memory / (batch + beside) * batch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_of_whole_areas() {
        for (mib, flows) in [
            (1, 64),
            (2, 300),
            (7, 1_000),
            (256, 16_384),
            (1_000, 65_536),
        ] {
            let packets = slots(mib << 20);
            let bytes = u64::from(packets.entries) * u64::from(LH_SLOT_BYTES);
            assert!(
                bytes <= mib << 20 && bytes > (mib << 20) / 10 * 9,
                "{packets:?}"
            );
            assert_eq!(slots(bytes), packets, "what there is can be asked for");
            let chunks = chunks(flows, packets.entries);
            let wanted = packets.entries / LH_CHUNK_SEGS + flows;
            assert!(chunks.entries > wanted / 64 * 63, "{chunks:?} of {wanted}");
            for pool in [packets, chunks] {
                assert_eq!(pool.entries % pool.area(), 0);
                assert!(pool.areas(pool.entries) < 128);
            }
            let table = self::flows(flows);
            assert_eq!(table.entries, flows, "as many as were asked for");
            assert!(table.areas(flows) <= 128 && table.areas(flows) * table.area() >= flows);
        }
        assert_eq!(flows_of_whole_areas(300), 288);
        assert_eq!(slots(1).entries, AREA_SLOTS_LEAST);
        assert!(slots(u64::MAX).entries > 1 << 20);
    }

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
