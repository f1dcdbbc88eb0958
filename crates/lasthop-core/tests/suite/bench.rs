// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One flow over a host, without packets: for tests that look inside.

use lasthop_core::bindings::*;
use lasthop_core::{Actions, Call, Config, Entry, Flow, Host, Limits, MSEC_NS, Segment};

/// What MH has got before: a flow that has not proved itself may have few segments cached.
pub const DELIVERED: u32 = 1_000;

pub struct Bench {
    pub host: Host,
    pub flow: Flow,
    pub config: Config,
    pub now_ns: u64,
    /// The flow's share of the cache.
    pub cap: u32,
}

/// Both ends of the connection were heard: it may have a receiver's place.
pub fn answered(flow: &mut Flow) {
    let f = flow.raw_mut();
    f.fh.most = 1;
    f.mh.most = 1;
}

/// An ACK of MH's; the window never changes. Blocks: their ends.
pub fn ack_of(ack: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut s = Segment {
        ack,
        flags: LH_ACK as u16,
        window: 1_000,
        wscale: LH_WSCALE_NONE as u8,
        nr_sack: blocks.len().min(LH_MAX_SACK as usize) as u8,
        ..Segment::default()
    };
    for (to, &(left, right)) in s.sack.iter_mut().zip(blocks) {
        (to.left, to.right) = (left, right);
    }
    if !blocks.is_empty() {
        s.opts = LH_OPT_SACK as u8;
    }
    s
}

impl Bench {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        let mut flow = Flow::new();
        flow.raw_mut().delivery.bytes = DELIVERED;
        Self {
            host: Host::new(limits),
            flow,
            config: Config::snoop(),
            now_ns: 1_000_000_000,
            cap: u32::MAX,
        }
    }

    fn call(&self) -> Call {
        Call {
            cap_segments: self.cap,
            ..Call::at(self.now_ns)
        }
    }

    /// Its segments need not be the flow's by their numbers (core/accept.h), and may be small
    /// (core/share.h): the bench vouches.
    fn vouch(&mut self) {
        let f = self.flow.raw_mut();
        f.fh.known = 0;
        f.mh.known = 0;
        f.fh.most = f.fh.most.max(1);
        f.mh.most = f.mh.most.max(1);
        f.ring.nr_small = 0;
    }

    /// FH sends `len` bytes.
    pub fn data(&mut self, seq: u32, len: u32) -> Actions {
        self.segment_from_fh(&Segment {
            seq,
            end: seq.wrapping_add(len),
            payload_bytes: len,
            flags: LH_ACK as u16,
            wscale: LH_WSCALE_NONE as u8,
            ..Segment::default()
        })
    }

    /// FH sends this.
    pub fn segment_from_fh(&mut self, segment: &Segment) -> Actions {
        let call = self.call();
        self.vouch();
        self.host
            .on_data(&mut self.flow, &self.config, segment, &call)
    }

    /// MH acknowledges.
    pub fn ack(&mut self, ack: u32) -> Actions {
        self.segment_from_mh(&ack_of(ack, &[]))
    }

    /// Whatever MH sends.
    pub fn segment_from_mh(&mut self, segment: &Segment) -> Actions {
        let call = self.call();
        self.vouch();
        self.host
            .on_ack(&mut self.flow, &self.config, segment, &call)
    }

    /// The agent at the other end, which answers, misses this.
    pub fn partner(&mut self, list: &[(u32, u32)]) -> Actions {
        let mut missing = lh_missing {
            nr: list.len() as u32,
            ..lh_missing::default()
        };
        for (to, &(left, right)) in missing.block.iter_mut().zip(list) {
            (to.left, to.right) = (left, right);
        }
        let call = Call {
            partner: lasthop_core::message::can(self.config.policy() | LH_POLICY_CHANNEL) as u8,
            ..self.call()
        };
        self.host
            .on_partner(&mut self.flow, &self.config, &missing, &call)
    }

    /// MH acknowledges, and that agent answers.
    pub fn partner_ack(&mut self, segment: &Segment) -> Actions {
        let call = Call {
            partner: 1,
            ..self.call()
        };
        self.vouch();
        self.host
            .on_ack(&mut self.flow, &self.config, segment, &call)
    }

    pub fn timer(&mut self) -> Actions {
        let call = self.call();
        self.host.on_timer(&mut self.flow, &self.config, &call)
    }

    pub fn entries(&mut self) -> Vec<Entry> {
        self.host.entries(&self.flow)
    }

    /// The ring as `(seq, end)`.
    pub fn ring(&mut self) -> Vec<(u32, u32)> {
        self.entries().iter().map(|e| (e.seq, e.end)).collect()
    }

    /// Slots and chunks taken, once what is acknowledged has been given back (core/ring.h).
    pub fn settled(&mut self) -> (u32, u32) {
        for _ in 0..40 {
            self.now_ns += 10 * MSEC_NS;
            self.timer();
        }
        self.memory()
    }

    /// Slots and chunks taken.
    pub fn memory(&self) -> (u32, u32) {
        let pool = self.host.pool();
        (pool.slots_used(), pool.chunks_used())
    }
}
