// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A receiver as Linux has it: delayed ACKs after a quick start, SACK with the
//! newest block first, DSACK, a window that is tuned to what is read.

use crate::case::FlowSpec;
use crate::wire::{Ack, Block, Data, MSS, NR_SACK};

const MS: u64 = 1_000_000;
const QUICK_ACKS: u32 = 16;
const WINDOW_START: u64 = 64 << 10;

#[derive(Debug)]
pub struct Receiver {
    pub next: u64,
    /// Beyond `next`, disjoint and ascending.
    pub above: Vec<Block>,
    /// Latest blocks first.
    recent: Vec<Block>,
    dsack: Option<Block>,
    edge: u64,
    window: u64,
    window_most: u64,
    wscale: u8,
    /// Acknowledges this many segments at once.
    every: u32,
    /// Keeps the ACK of fewer for so long.
    keeps_ns: u64,
    /// Nor of a shorter segment.
    at_once_below: u32,
    /// RFC 2883.
    says_twice: bool,
    unacked: u32,
    quick: u32,
    pub delack_ns: Option<u64>,
    ts_recent: u32,
    last_ack: u64,
    /// Tuning of the window: bytes read since then.
    tune_ns: u64,
    tune_next: u64,
    rtt_ns: u64,
    pub nr_twice: u64,
}

impl Receiver {
    pub fn new(spec: &FlowSpec, rtt_ns: u64) -> Self {
        let window_most = spec.window;
        let window = if spec.fixed_window {
            window_most
        } else {
            WINDOW_START.min(window_most)
        };
        Self {
            next: 0,
            above: Vec::new(),
            recent: Vec::new(),
            dsack: None,
            edge: window,
            window,
            window_most,
            wscale: spec.wscale,
            every: spec.ack_every,
            keeps_ns: spec.delack_ns,
            at_once_below: if spec.delack_short { 0 } else { MSS },
            says_twice: spec.dsack,
            unacked: 0,
            quick: QUICK_ACKS,
            delack_ns: None,
            ts_recent: 0,
            last_ack: 0,
            tune_ns: 0,
            tune_next: 0,
            rtt_ns,
            nr_twice: 0,
        }
    }

    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// @return whether an ACK goes out now.
    pub fn on_data(&mut self, d: &Data, now_ns: u64) -> bool {
        let end = d.seq + u64::from(d.len);
        if d.seq <= self.last_ack && d.tsval.wrapping_sub(self.ts_recent) < 1 << 31 {
            self.ts_recent = d.tsval;
        } else if self.ts_recent.wrapping_sub(d.tsval).wrapping_sub(1) < 1 << 31 && end <= self.next
        {
            // PAWS: dropped, and answered.
        }
        if end <= self.next || self.above.iter().any(|b| b.0 <= d.seq && end <= b.1) {
            self.nr_twice += 1;
            self.dsack = self.says_twice.then_some((d.seq, end));
            return true;
        }
        let hole = !self.above.is_empty();
        if d.seq > self.next {
            self.insert((d.seq, end));
            return true;
        }
        self.next = end;
        self.merge();
        self.tune(now_ns);
        self.unacked += 1;
        if hole || self.quick > 0 || self.unacked >= self.every || d.len < self.at_once_below {
            self.quick = self.quick.saturating_sub(1);
            return true;
        }
        self.delack_ns.get_or_insert(now_ns + self.keeps_ns);
        false
    }

    fn insert(&mut self, b: Block) {
        let mut new = b;
        self.above.retain(|o| {
            let apart = o.1 < new.0 || new.1 < o.0;
            if !apart {
                new = (new.0.min(o.0), new.1.max(o.1));
            }
            apart
        });
        let at = self.above.partition_point(|o| o.0 < new.0);
        self.above.insert(at, new);
        self.recent.retain(|o| o.1 < new.0 || new.1 < o.0);
        self.recent.insert(0, new);
        self.recent.truncate(8);
    }

    fn merge(&mut self) {
        while let Some(&(left, right)) = self.above.first() {
            if left > self.next {
                break;
            }
            self.next = self.next.max(right);
            self.above.remove(0);
        }
        let next = self.next;
        self.recent.retain(|b| b.0 > next);
    }

    /// Dynamic right-sizing: twice what was read within a round trip.
    fn tune(&mut self, now_ns: u64) {
        if now_ns - self.tune_ns >= self.rtt_ns {
            let want = 2 * (self.next - self.tune_next) + 16 * u64::from(MSS);
            self.window = self.window.max(want).min(self.window_most);
            self.tune_ns = now_ns;
            self.tune_next = self.next;
        }
    }

    pub fn make_ack(&mut self, now_ns: u64) -> Ack {
        self.unacked = 0;
        self.delack_ns = None;
        self.last_ack = self.next;
        let unit = 1u64 << self.wscale;
        let units = (self.window / unit).min(0xffff);
        // Never shrinks: the rest of the old edge, rounded up.
        let kept = self
            .edge
            .saturating_sub(self.next)
            .div_ceil(unit)
            .min(0xffff);
        let header = units.max(kept);
        self.edge = self.next + header * unit;
        let mut ack = Ack {
            ack: self.next,
            window: header as u16,
            tsval: (now_ns / MS) as u32,
            tsecr: self.ts_recent,
            ..Ack::default()
        };
        if let Some(twice) = self.dsack.take() {
            ack.blocks[0] = twice;
            ack.nr_blocks = 1;
            ack.dsack = true;
        }
        for b in &self.recent {
            if ack.nr_blocks < NR_SACK {
                ack.blocks[ack.nr_blocks] = *b;
                ack.nr_blocks += 1;
            }
        }
        ack
    }
}
