// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The core's entry points (core/core.h) over a [`Pool`]: one call, one flow.

use crate::bindings::{
    LH_CHUNK_SHIFT, LH_DROP, LH_FLOW_HELD, LH_FLOW_SACK_FH, LH_FLOW_SACK_MH, LH_FLOW_SACK_SEEN,
    LH_HDR_BYTES, LH_NO_SLOT, LH_TELL_OPTION, LH_WAIT, lh_actions, lh_call, lh_flow, lh_mac_report,
    lh_missing, lh_peer, lh_retransmit, lh_sack_block, lh_seg, lh_shadow_device, lhc_edit_ack,
    lhc_edit_tell, lhc_flow_free, lhc_flow_init, lhc_flow_over, lhc_hold_ns, lhc_lrto_ns,
    lhc_on_absent, lhc_on_ack, lhc_on_data, lhc_on_link, lhc_on_mac, lhc_on_partner,
    lhc_on_release, lhc_on_sweep, lhc_on_through, lhc_on_timer, lhc_on_train, lhc_on_turn,
    lhc_on_wait, lhc_peer_join, lhc_seg_at, lhc_store_failed,
};
use crate::config::Config;
use crate::pool::{Limits, Pool};
use crate::segment::{Key, Segment};

/// What the core asks of its host after a call (core/actions.h).
pub type Actions = lh_actions;

/// One cached segment (core/ring.h).
pub type Entry = lh_seg;

/// The values that hold for one call (core/core.h).
pub type Call = lh_call;

impl lh_call {
    /// A call at `now_ns` with nothing in short supply.
    pub fn at(now_ns: u64) -> Self {
        Self {
            now_ns,
            cap_segments: u32::MAX,
            alive: 1,
            accepted: 1,
            handshakes: 1,
            part_segments: 0,
            pool_segments: 0,
            partner: 0,
            partner_rtt_ns: 0,
        }
    }
}

impl lh_actions {
    /// Whether the packet of the call goes no further.
    pub fn is_drop(&self) -> bool {
        self.verdict == LH_DROP
    }

    /// Whether the packet of the call has to wait for its turn: [`Host::on_wait`] takes it.
    pub fn waits(&self) -> bool {
        self.verdict == LH_WAIT
    }

    /// Slots of what waited and goes on to its receiver now, in this order.
    pub fn releases(&self) -> &[u32] {
        &self.release[..(self.nr_release as usize).min(self.release.len())]
    }

    /// Cached segments to send again, in this order.
    pub fn retransmits(&self) -> &[lh_retransmit] {
        &self.retransmit[..(self.nr_retransmit as usize).min(self.retransmit.len())]
    }

    /// The slot that wants a copy of the packet of the call.
    pub fn store(&self) -> Option<u32> {
        (self.store_slot != LH_NO_SLOT).then_some(self.store_slot)
    }

    /// Carries the edits of a passing ACK out: its window, and SACK blocks
    /// that FH shall not see. `packet` is what `segment` was parsed from.
    pub fn edit(&self, packet: &mut [u8], segment: &Segment) {
        let bytes = packet.len() as u32;
        // SAFETY: the length is that of the slice, the rest is read only.
        unsafe { lhc_edit_ack(packet.as_mut_ptr(), bytes, segment, self) };
    }

    /// What is missing, for the agent at the hop's other end.
    pub fn tell(&self) -> &[lh_sack_block] {
        &self.tell[..(self.nr_tell as usize).min(self.tell.len())]
    }

    /// What the agent at the hop's other end has asked for and will not get.
    pub fn absent(&self) -> &[lh_sack_block] {
        &self.absent[..(self.nr_absent as usize).min(self.absent.len())]
    }

    /// Appends what is missing to an ACK that leaves over the hop, if the core wants that.
    /// `packet` is what `segment` was parsed from. @return whether it has grown.
    pub fn annotate(&self, packet: &mut Vec<u8>, segment: &Segment) -> bool {
        if self.tell_by != LH_TELL_OPTION || packet.len() != usize::from(segment.hdr_bytes) {
            return false;
        }
        let bytes = packet.len();
        packet.resize(bytes.max(LH_HDR_BYTES as usize), 0);
        // SAFETY: the packet has the places that the function asks for, the rest is read only.
        let more = unsafe { lhc_edit_tell(packet.as_mut_ptr(), bytes as u32, segment, self) };
        packet.truncate(bytes + more as usize);
        more != 0
    }

    /// The edits for copies of the held ACK.
    pub fn for_held(&self) -> Self {
        Self {
            window: self.held_window,
            blank_sack: 0,
            ..*self
        }
    }

    /// When the core wants to be called again.
    pub fn deadline_ns(&self) -> Option<u64> {
        (self.next_deadline_ns != 0).then_some(self.next_deadline_ns)
    }
}

/// The state of one half-flow. Holds memory of its [`Host`] while segments are
/// cached: give it back with [`Host::free`].
#[derive(Debug, Clone)]
pub struct Flow(Box<lh_flow>);

impl Flow {
    /// A flow that has seen nothing.
    pub fn new() -> Self {
        let mut flow = Box::new(lh_flow::default());
        // SAFETY: writes to the flow only.
        unsafe { lhc_flow_init(&mut *flow) };
        Self(flow)
    }

    /// The core's own record (core/flow.h says what its fields mean).
    pub fn raw(&self) -> &lh_flow {
        &self.0
    }

    /// For tests that set a flow up by hand. Safe as long as the ring (`head`, `spent`,
    /// `tail`, `dir`) is left alone or empty; the pool finds out otherwise.
    pub fn raw_mut(&mut self) -> &mut lh_flow {
        &mut self.0
    }

    /// Number of cached segments.
    pub fn cached(&self) -> u32 {
        self.0.ring.tail.wrapping_sub(self.0.ring.head)
    }

    /// Whether `flag`, one of `LH_FLOW_*`, is set.
    pub fn has(&self, flag: u32) -> bool {
        self.0.flags & flag != 0
    }

    /// Whether the flow is told of the link: with something cached, gaps in what came, or an ACK to
    /// repeat.
    pub fn heeds_the_link(&self) -> bool {
        heeds_the_link(&self.0)
    }

    /// Packets that wait for their turn.
    pub fn waiting(&self) -> u32 {
        let queue = &self.0.resequence;
        queue.tail.wrapping_sub(queue.head)
    }

    /// Whether an ACK is kept back from the sender.
    pub fn is_held(&self) -> bool {
        self.has(LH_FLOW_HELD)
    }

    /// Whether the sender reads SACK blocks, as far as was seen.
    pub fn uses_sack(&self) -> bool {
        let both = LH_FLOW_SACK_FH | LH_FLOW_SACK_MH;
        self.0.flags & both == both || self.has(LH_FLOW_SACK_SEEN)
    }

    /// Whether the host may forget the flow now.
    pub fn is_over(&self, config: &Config, now_ns: u64) -> bool {
        // SAFETY: both are read only, for the length of the call.
        unsafe { lhc_flow_over(&*self.0, config, now_ns) != 0 }
    }

    /// Local retransmission timeout, before backoff.
    pub fn lrto_ns(&self, config: &Config) -> u64 {
        // SAFETY: both are read only, for the length of the call.
        unsafe { lhc_lrto_ns(&*self.0, config) }
    }

    /// How long an ACK may be kept back.
    pub fn hold_ns(&self, config: &Config) -> u64 {
        // SAFETY: both are read only, for the length of the call.
        unsafe { lhc_hold_ns(&*self.0, config) }
    }
}

/// Whether the flow of that record is told of the link, as [`Flow::heeds_the_link`].
pub fn heeds_the_link(flow: &lh_flow) -> bool {
    let arrival = &flow.arrival;
    let misses = arrival.nr_holes != 0 || arrival.mute != 0;
    flow.ring.head != flow.ring.tail || misses || flow.handoff.ack_ns != 0
}

impl Default for Flow {
    fn default() -> Self {
        Self::new()
    }
}

/// The memory of many flows, and the calls of the core over it.
#[derive(Debug)]
pub struct Host {
    pool: Pool,
}

impl Host {
    /// A host that lends at most `limits`; memory is allocated when first lent.
    pub fn new(limits: Limits) -> Self {
        Self {
            pool: Pool::new(limits),
        }
    }

    /// Memory and counters.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The value of counter `id`, one of `LH_C_*`.
    pub fn counter(&self, id: u32) -> u64 {
        self.pool.counters().get(id as usize).copied().unwrap_or(0)
    }

    /// Counts what only a host can see (core/counters.h, `bypass_*`).
    pub fn count(&mut self, id: u32, n: u64) {
        self.pool.add(id, n);
    }

    /// Carries out `Actions::store_slot`.
    pub fn store(&mut self, slot: u32, packet: &[u8]) {
        self.pool.store(slot, packet);
    }

    /// A segment of the flow leaves towards MH.
    pub fn on_data(
        &mut self,
        flow: &mut Flow,
        config: &Config,
        segment: &Segment,
        call: &Call,
    ) -> Actions {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: `ops` leads to our pool, which nothing else uses during the
        // call; the core keeps none of the pointers.
        unsafe { lhc_on_data(&ops, &mut *flow.0, config, segment, call, &mut actions) };
        self.pool.check();
        actions
    }

    /// The super-packet `segment`, whose `part_bytes` are set, leaves towards MH. None: its segments have
    /// to go through [`Host::on_data`] one by one (core/train.h). Their bytes are stored by nobody.
    pub fn on_train(
        &mut self,
        flow: &mut Flow,
        config: &Config,
        segment: &Segment,
        call: &Call,
    ) -> Option<Actions> {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        let done = unsafe { lhc_on_train(&ops, &mut *flow.0, config, segment, call, &mut actions) };
        self.pool.check();
        (done != 0).then_some(actions)
    }

    /// A segment of the flow came from MH.
    pub fn on_ack(
        &mut self,
        flow: &mut Flow,
        config: &Config,
        segment: &Segment,
        call: &Call,
    ) -> Actions {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_ack(&ops, &mut *flow.0, config, segment, call, &mut actions) };
        self.pool.check();
        actions
    }

    /// After [`Host::on_ack`] has said that `packet`, from which `segment` was parsed, waits: it is put
    /// in its place, and `actions` tell what goes on instead.
    pub fn on_wait(
        &mut self,
        flow: &mut Flow,
        config: &Config,
        (packet, segment): (&[u8], &Segment),
        call: &Call,
        actions: &mut Actions,
    ) {
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_wait(&ops, &mut *flow.0, config, segment, call, actions) };
        self.pool.check();
        if let Some(slot) = actions.store() {
            self.pool.store(slot, packet);
        }
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_turn(&ops, &mut *flow.0, config, call, actions) };
        self.pool.check();
    }

    /// `segment`, one of [`Actions::releases`], goes on to its receiver.
    pub fn on_through(
        &mut self,
        flow: &mut Flow,
        config: &Config,
        segment: &Segment,
        call: &Call,
    ) -> Actions {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_through(&ops, &mut *flow.0, config, segment, call, &mut actions) };
        self.pool.check();
        actions
    }

    /// `Actions::next_deadline_ns` has passed.
    pub fn on_timer(&mut self, flow: &mut Flow, config: &Config, call: &Call) -> Actions {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_timer(&ops, &mut *flow.0, config, call, &mut actions) };
        self.pool.check();
        actions
    }

    /// The link went down or came up.
    pub fn on_link(&mut self, flow: &mut Flow, config: &Config, up: bool, call: &Call) -> Actions {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_link(&ops, &mut *flow.0, config, up.into(), call, &mut actions) };
        self.pool.check();
        actions
    }

    /// The agent at the hop's other end misses what `missing` says of what left here.
    pub fn on_partner(
        &mut self,
        flow: &mut Flow,
        config: &Config,
        missing: &lh_missing,
        call: &Call,
    ) -> Actions {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_partner(&ops, &mut *flow.0, config, missing, call, &mut actions) };
        self.pool.check();
        actions
    }

    /// The agent at the hop's other end has been asked for `absent`, and will not send it: what has
    /// waited for that goes on.
    pub fn on_absent(
        &mut self,
        flow: &mut Flow,
        config: &Config,
        absent: &lh_missing,
        call: &Call,
    ) -> Actions {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_absent(&ops, &mut *flow.0, config, absent, call, &mut actions) };
        self.pool.check();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_turn(&ops, &mut *flow.0, config, call, &mut actions) };
        self.pool.check();
        actions
    }

    /// The MAC reports what became of the frame of `segment`, which had left here.
    pub fn on_mac(
        &mut self,
        flow: &mut Flow,
        config: &Config,
        segment: &Segment,
        report: &lh_mac_report,
        call: &Call,
    ) -> Actions {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe {
            lhc_on_mac(
                &ops,
                &mut *flow.0,
                config,
                segment,
                report,
                call,
                &mut actions,
            )
        };
        self.pool.check();
        actions
    }

    /// Once a second while the pool gets scarce: what the flow has beyond its share goes.
    pub fn on_sweep(&mut self, flow: &mut Flow, config: &Config, call: &Call) {
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_sweep(&ops, &mut *flow.0, config, call) };
        self.pool.check();
    }

    /// The flow is about to be forgotten: what FH still has to get.
    pub fn on_release(&mut self, flow: &mut Flow, config: &Config, call: &Call) -> Actions {
        let mut actions = Actions::default();
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_on_release(&ops, &mut *flow.0, config, call, &mut actions) };
        self.pool.check();
        actions
    }

    /// Tells a flow who its receiver is: a new one before its first packet, and one that has none
    /// before each packet from MH. Only who was heard after FH gets a place of its own.
    pub fn set_peer(&mut self, flow: &mut Flow, key: &Key, now_ns: u64) {
        let ops = self.pool.ops();
        // SAFETY: reads the key, writes the flow and our device's state only.
        unsafe { lhc_peer_join(&ops, &mut *flow.0, key, now_ns) };
    }

    /// The packet of the last on_data() could not be copied.
    pub fn store_failed(&mut self, flow: &mut Flow, actions: &Actions) {
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_store_failed(&ops, &mut *flow.0, actions) };
        self.pool.check();
    }

    /// Takes all memory of the flow back.
    pub fn free(&mut self, flow: &mut Flow) {
        let ops = self.pool.ops();
        // SAFETY: as in on_data().
        unsafe { lhc_flow_free(&ops, &mut *flow.0) };
        self.pool.check();
    }

    /// What scheme `shadow` has added up of connections that are over, and of all (core/shadow.h).
    pub fn watched(&self) -> &lh_shadow_device {
        self.pool.watched()
    }

    /// What is known of the receiver at `place`, the `peer` of a flow's record
    /// (core/device.h, `lh_peer`).
    pub fn peer(&self, place: u32) -> &lh_peer {
        self.pool.peer(place)
    }

    /// The same, to be set as a test wants it.
    #[doc(hidden)]
    pub fn peer_mut(&mut self, place: u32) -> &mut lh_peer {
        self.pool.peer_mut(place)
    }

    /// The bound of the chunk that holds position `pos` of the ring
    /// (`lh_chunk.oldest_tx_ns`).
    pub fn oldest_tx_ns(&self, flow: &Flow, pos: u32) -> u64 {
        let id = flow.0.ring.dir[(pos >> LH_CHUNK_SHIFT) as usize % flow.0.ring.dir.len()];
        self.pool.oldest_tx_ns(id)
    }

    /// What the flow has cached, in the order of the ring.
    pub fn entries(&mut self, flow: &Flow) -> Vec<Entry> {
        let ops = self.pool.ops();
        let entries = (0..flow.cached())
            .filter_map(|i| {
                let pos = flow.0.ring.head.wrapping_add(i);
                // SAFETY: as in on_data(); the result points into a chunk of
                // our pool and is copied before anything else happens.
                unsafe { lhc_seg_at(&ops, &*flow.0, pos).as_ref().copied() }
            })
            .collect();
        self.pool.check();
        entries
    }
}
