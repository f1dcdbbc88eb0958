// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the core borrows from its host (core/env.h, `lh_host_*`): chunks of
//! ring entries, slots with packet bytes, counters. And the callbacks by which
//! it does so.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use crate::bindings::{
    LH_NR_COUNTERS, LH_PEERS, lh_chunk, lh_device, lh_host_ops, lh_peer, lh_shadow_device,
};

/// How much a host lends at the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Payload slots, one per cached segment.
    pub slots: u32,
    /// Chunks of 64 ring entries.
    pub chunks: u32,
    /// Receivers that are known at a time, a power of two, at most `LH_PEERS`.
    pub peers: u32,
}

impl Default for Limits {
    /// 256 MiB of slots of 2 KiB (docs/design.md, section 8), and a chunk for each 64.
    fn default() -> Self {
        Self {
            slots: 131_072,
            chunks: 4_096,
            peers: LH_PEERS,
        }
    }
}

/// A chunk at an address of its own: the core holds pointers into it while
/// others are handed out, so it must not move, and Rust must hold no reference
/// to it meanwhile.
#[derive(Debug)]
struct Chunk {
    memory: NonNull<lh_chunk>,
    lent: bool,
}

impl Chunk {
    fn new() -> Self {
        let memory = Box::into_raw(Box::new(lh_chunk::default()));
        Self {
            // SAFETY: Box::into_raw never returns null.
            memory: unsafe { NonNull::new_unchecked(memory) },
            lent: false,
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: it came from Box::into_raw in new() and is dropped once.
        drop(unsafe { Box::from_raw(self.memory.as_ptr()) });
    }
}

// SAFETY: a chunk owns its memory, and the core keeps no pointer to it between
// calls.
unsafe impl Send for Chunk {}

#[derive(Debug, Default)]
struct Slot {
    packet: Vec<u8>,
    lent: bool,
}

/// The memory and the counters of a host.
#[derive(Debug)]
pub struct Pool {
    limits: Limits,
    chunks: Vec<Chunk>,
    slots: Vec<Slot>,
    free_chunks: Vec<u32>,
    free_slots: Vec<u32>,
    counters: [u64; LH_NR_COUNTERS as usize],
    /// What the flows of the device share.
    device: Box<lh_device>,
    /// First breach of the contract by the core. Kept until the call returns,
    /// because a panic can't cross the C frames in between.
    fault: Option<&'static str>,
    /// How often the core has asked for a chunk: a measure of its work.
    looks: u64,
}

impl Pool {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            chunks: Vec::new(),
            slots: Vec::new(),
            free_chunks: Vec::new(),
            free_slots: Vec::new(),
            counters: [0; LH_NR_COUNTERS as usize],
            device: Box::default(),
            fault: None,
            looks: 0,
        }
    }

    /// Callbacks over this pool, for one call of the core.
    pub(crate) fn ops(&mut self) -> lh_host_ops {
        lh_host_ops {
            device: ptr::from_mut(&mut *self.device),
            nr_peers: self.limits.peers,
            ctx: ptr::from_mut(self).cast(),
            chunk: Some(chunk),
            get_chunk: Some(get_chunk),
            put_chunk: Some(put_chunk),
            get_slot: Some(get_slot),
            put_slot: Some(put_slot),
            count: Some(count),
        }
    }

    /// Panics if the core has broken its contract in the call just made.
    #[track_caller]
    pub(crate) fn check(&mut self) {
        if let Some(fault) = self.fault.take() {
            panic!("the core broke its contract: {fault}");
        }
    }

    /// `oldest_tx_ns` of chunk `id`, which must be lent.
    pub(crate) fn oldest_tx_ns(&self, id: u32) -> u64 {
        let chunk = &self.chunks[id as usize];
        // SAFETY: the chunk's memory is ours, and no call of the core is under way.
        unsafe { (*chunk.memory.as_ptr()).oldest_tx_ns }
    }

    /// What scheme `shadow` has added up for the device.
    pub(crate) fn watched(&self) -> &lh_shadow_device {
        &self.device.shadow
    }

    /// The device's record of the receiver at `place`.
    pub(crate) fn peer(&self, place: u32) -> &lh_peer {
        &self.device.peer[place as usize % self.device.peer.len()]
    }

    pub(crate) fn peer_mut(&mut self, place: u32) -> &mut lh_peer {
        let places = self.device.peer.len();
        &mut self.device.peer[place as usize % places]
    }

    /// How often the core has asked for a chunk so far. It asks for each segment that it looks
    /// at, so that this tells its work without a clock.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// Slots lent to the core now.
    pub fn slots_used(&self) -> u32 {
        (self.slots.len() - self.free_slots.len()) as u32
    }

    /// Chunks lent to the core now.
    pub fn chunks_used(&self) -> u32 {
        (self.chunks.len() - self.free_chunks.len()) as u32
    }

    /// All counters, indexed by `LH_C_*`.
    pub fn counters(&self) -> &[u64] {
        &self.counters
    }

    pub(crate) fn add(&mut self, counter: u32, n: u64) {
        match self.counters.get_mut(counter as usize) {
            Some(c) => *c += n,
            None => self.blame("unknown counter"),
        }
    }

    /// The packet in a lent slot.
    pub fn packet(&self, slot: u32) -> Option<&[u8]> {
        let slot = self.slots.get(slot as usize)?;
        slot.lent.then_some(slot.packet.as_slice())
    }

    /// Copies a packet into a lent slot.
    pub(crate) fn store(&mut self, slot: u32, packet: &[u8]) {
        match self.slots.get_mut(slot as usize) {
            Some(s) if s.lent => {
                s.packet.clear();
                s.packet.extend_from_slice(packet);
            }
            _ => panic!("the core asked to fill slot {slot}, which it does not have"),
        }
    }

    fn blame(&mut self, fault: &'static str) {
        self.fault.get_or_insert(fault);
    }

    fn take_chunk(&mut self) -> Option<u32> {
        let id = match self.free_chunks.pop() {
            Some(id) => id,
            None if self.chunks.len() < self.limits.chunks as usize => {
                self.chunks.push(Chunk::new());
                (self.chunks.len() - 1) as u32
            }
            None => return None,
        };
        self.chunks[id as usize].lent = true;
        Some(id)
    }

    fn give_chunk(&mut self, id: u32) {
        match self.chunks.get_mut(id as usize) {
            Some(chunk) if chunk.lent => {
                chunk.lent = false;
                self.free_chunks.push(id);
            }
            _ => self.blame("a chunk was given back that was not lent"),
        }
    }

    fn take_slot(&mut self) -> Option<u32> {
        let id = match self.free_slots.pop() {
            Some(id) => id,
            None if self.slots.len() < self.limits.slots as usize => {
                self.slots.push(Slot::default());
                (self.slots.len() - 1) as u32
            }
            None => return None,
        };
        self.slots[id as usize].lent = true;
        Some(id)
    }

    fn give_slot(&mut self, id: u32) {
        match self.slots.get_mut(id as usize) {
            Some(slot) if slot.lent => {
                slot.lent = false;
                slot.packet.clear();
                self.free_slots.push(id);
            }
            _ => self.blame("a slot was given back that was not lent"),
        }
    }
}

/// The pool behind a callback's context.
///
/// # Safety
/// `ctx` must be what [`Pool::ops`] put there, and no other reference to the
/// pool may live: the core makes its callbacks one after the other, inside a
/// call that borrows the pool mutably.
unsafe fn pool<'a>(ctx: *mut c_void) -> &'a mut Pool {
    // SAFETY: see above.
    unsafe { &mut *ctx.cast::<Pool>() }
}

unsafe extern "C" fn chunk(ctx: *mut c_void, id: u32) -> *mut lh_chunk {
    // SAFETY: the core passes the context on as it got it.
    let pool = unsafe { pool(ctx) };
    pool.looks += 1;
    match pool.chunks.get(id as usize) {
        Some(chunk) if chunk.lent => chunk.memory.as_ptr(),
        _ => {
            pool.blame("a chunk was used that was not lent");
            ptr::null_mut()
        }
    }
}

/// Hands out what `taken` is: 1 and the number, or 0.
fn hand_out(taken: Option<u32>, id: *mut u32) -> c_int {
    let Some(n) = taken else { return 0 };
    // SAFETY: the core gives the address of a variable of its own.
    unsafe { id.write(n) };
    1
}

unsafe extern "C" fn get_chunk(ctx: *mut c_void, id: *mut u32) -> c_int {
    // SAFETY: the core passes the context on as it got it.
    hand_out(unsafe { pool(ctx) }.take_chunk(), id)
}

unsafe extern "C" fn put_chunk(ctx: *mut c_void, id: u32) {
    // SAFETY: the core passes the context on as it got it.
    unsafe { pool(ctx) }.give_chunk(id);
}

unsafe extern "C" fn get_slot(ctx: *mut c_void, slot: *mut u32) -> c_int {
    // SAFETY: the core passes the context on as it got it.
    hand_out(unsafe { pool(ctx) }.take_slot(), slot)
}

unsafe extern "C" fn put_slot(ctx: *mut c_void, slot: u32) {
    // SAFETY: the core passes the context on as it got it.
    unsafe { pool(ctx) }.give_slot(slot);
}

unsafe extern "C" fn count(ctx: *mut c_void, counter: u32, n: u64) {
    // SAFETY: the core passes the context on as it got it.
    unsafe { pool(ctx) }.add(counter, n);
}
