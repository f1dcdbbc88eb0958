// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The two ends of a simulated transfer: a plain sender (fast retransmit,
//! scoreboard with SACK, go-back-N after a timeout) and a receiver that really
//! reassembles. Places in the stream are byte offsets; the FIN is one byte past
//! the data.

use lasthop_core::bindings::*;
use lasthop_core::packet::option;
use lasthop_core::{MSEC_NS, SEC_NS};

/// Small, seeded, and the same on every machine (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.next() % n }
    }

    /// True in `per_mille` of 1,000 cases.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1_000) < u64::from(per_mille)
    }
}

/// The option with the time of now, or nothing.
pub fn timestamps(on: bool, now_ns: u64, echo: u32) -> Vec<u8> {
    match on {
        true => option::timestamps((now_ns / MSEC_NS) as u32, echo),
        false => Vec::new(),
    }
}

/// These options, and SACK blocks where there are any.
pub fn with_blocks(mut options: Vec<u8>, blocks: &[Piece], seq: impl Fn(usize) -> u32) -> Vec<u8> {
    let wire: Vec<_> = blocks.iter().map(|b| (seq(b.from), seq(b.to))).collect();
    if !wire.is_empty() {
        options.extend(option::sack(&wire));
    }
    options
}

/// A piece of the stream, [from, to).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub from: usize,
    pub to: usize,
}

pub struct Sender {
    /// Ends of the segments as first sent; the last one includes the FIN.
    bounds: Vec<usize>,
    window: usize,
    /// Right edge of the window that MH advertises.
    edge: usize,
    sack: bool,
    /// Retransmissions may have other borders than the originals.
    resegment: bool,
    pub una: usize,
    next: usize,
    max: usize,
    dups: u32,
    recover: Option<usize>,
    sacked: Vec<bool>,
    resent: Vec<bool>,
    backoff: u32,
    pub timer_ns: Option<u64>,
    pub nr_resent: u64,
}

impl Sender {
    pub fn new(sizes: &[usize], window: usize, sack: bool, resegment: bool) -> Self {
        let mut bounds: Vec<usize> = sizes
            .iter()
            .scan(0, |sum, size| {
                *sum += size;
                Some(*sum)
            })
            .collect();
        if let Some(last) = bounds.last_mut() {
            *last += 1;
        }
        let total = bounds.last().copied().unwrap_or(0);
        Self {
            bounds,
            window,
            edge: usize::MAX,
            sack,
            resegment,
            una: 0,
            next: 0,
            max: 0,
            dups: 0,
            recover: None,
            sacked: vec![false; total],
            resent: vec![false; total],
            backoff: 0,
            timer_ns: None,
            nr_resent: 0,
        }
    }

    pub fn total(&self) -> usize {
        self.sacked.len()
    }

    pub fn done(&self) -> bool {
        self.una == self.total()
    }

    /// The piece to send at `from`.
    fn piece_at(&self, from: usize, random: &mut Random) -> Piece {
        let i = self.bounds.partition_point(|&end| end <= from);
        let mut to = self.bounds[i];
        if from < self.max && self.resegment && random.chance(300) {
            to = self.bounds[(i + 1).min(self.bounds.len() - 1)];
        } else if from < self.max && self.resegment && random.chance(300) {
            to = to.min(from + 1 + random.below(100) as usize);
        }
        Piece { from, to }
    }

    /// Books a piece that goes out.
    fn sent(&mut self, piece: Piece) -> Piece {
        self.nr_resent += u64::from(piece.from < self.max);
        self.max = self.max.max(piece.to);
        piece
    }

    /// Whatever the window permits.
    pub fn pump(&mut self, now_ns: u64, random: &mut Random) -> Vec<Piece> {
        let mut out = Vec::new();
        while self.next < self.total() {
            let piece = self.piece_at(self.next, random);
            if piece.to - self.una > self.window && piece.from > self.una {
                break;
            }
            if piece.to > self.edge {
                break;
            }
            self.next = piece.to;
            out.push(self.sent(piece));
        }
        if self.timer_ns.is_none() {
            self.arm(now_ns);
        }
        out
    }

    fn arm(&mut self, now_ns: u64) {
        let rto = (600 * MSEC_NS) << self.backoff.min(3);
        // With nothing under way it is the persist timer.
        self.timer_ns = (!self.done()).then_some(now_ns + rto);
    }

    /// An advertised window; what is older than una, or smaller for the same
    /// number, may have been overtaken on its way (Linux' tcp_may_update_window).
    pub fn on_window(&mut self, ack: usize, edge: usize) {
        let news = ack == self.una && (edge > self.edge || edge == ack);
        if ack > self.una || news || self.edge == usize::MAX {
            self.edge = edge;
        }
    }

    pub fn on_timer(&mut self, now_ns: u64, random: &mut Random) -> Vec<Piece> {
        self.backoff += 1;
        self.next = self.una;
        self.recover = None;
        self.dups = 0;
        self.resent.fill(false);
        self.timer_ns = None;
        let mut piece = self.piece_at(self.una, random);
        if self.una == self.max {
            piece.to = piece.from + 1; // a window probe
        }
        self.next = piece.to;
        let piece = self.sent(piece);
        self.arm(now_ns);
        vec![piece]
    }

    /// `pure`: no payload came along.
    pub fn on_ack(
        &mut self,
        ack: usize,
        blocks: &[Piece],
        pure: bool,
        now_ns: u64,
        random: &mut Random,
    ) -> Vec<Piece> {
        assert!(ack <= self.max, "acknowledged before it was sent");
        let mut out = Vec::new();
        for block in blocks {
            assert!(block.to <= self.max, "SACKed before it was sent");
            self.sacked[block.from..block.to].fill(true);
        }
        if ack > self.una {
            self.una = ack;
            self.next = self.next.max(ack);
            self.dups = 0;
            self.backoff = 0;
            self.arm(now_ns);
            if self.recover.is_some_and(|r| ack >= r) {
                self.recover = None;
                self.resent.fill(false);
            }
            if self.recover.is_some() && !self.sack {
                let piece = self.piece_at(ack, random); // NewReno's partial ACK
                out.push(self.sent(piece));
            }
        } else if ack == self.una && pure && self.una < self.max {
            self.dups += 1;
            if !self.sack && self.dups == 3 && self.recover.is_none() {
                self.recover = Some(self.max);
                let piece = self.piece_at(ack, random);
                out.push(self.sent(piece));
            }
        }
        if self.sack {
            out.extend(self.fill_holes(random));
        }
        out.extend(self.pump(now_ns, random));
        if self.timer_ns.is_none() {
            self.arm(now_ns);
        }
        out
    }

    /// Segments below the highest SACKed byte, once per recovery, when three
    /// segments' worth lies above.
    fn fill_holes(&mut self, random: &mut Random) -> Vec<Piece> {
        let Some(high) = self.sacked.iter().rposition(|&s| s) else {
            return Vec::new();
        };
        let above = |b: &&usize| **b > self.una && self.sacked[**b - 1];
        if high < self.una || self.bounds.iter().filter(above).count() < 3 {
            return Vec::new();
        }
        self.recover.get_or_insert(self.max);
        let mut out = Vec::new();
        let mut at = self.una;
        while at < high && out.len() < 8 {
            if self.sacked[at] || self.resent[at] {
                at += 1;
                continue;
            }
            let piece = self.piece_at(at, random);
            self.resent[piece.from..piece.to].fill(true);
            at = piece.to;
            out.push(self.sent(piece));
        }
        out
    }
}

/// What the receiver wants to send.
pub struct Reply {
    pub ack: usize,
    pub blocks: Vec<Piece>,
}

pub struct Receiver {
    pub got: Vec<bool>,
    pub next: usize,
    high: usize,
    sack: bool,
    delay_acks: bool,
    waiting: u32,
    latest: usize,
    pub timer_ns: Option<u64>,
}

impl Receiver {
    pub fn new(total: usize, sack: bool, delay_acks: bool) -> Self {
        Self {
            got: vec![false; total],
            next: 0,
            high: 0,
            sack,
            delay_acks,
            waiting: 0,
            latest: 0,
            timer_ns: None,
        }
    }

    /// A segment arrives; perhaps an ACK is due at once.
    pub fn on_piece(&mut self, piece: Piece, now_ns: u64) -> Option<Reply> {
        let twice = self.got[piece.from..piece.to].iter().all(|&g| g);
        let in_order = piece.from <= self.next && !twice && self.high <= piece.to;
        self.got[piece.from..piece.to].fill(true);
        self.high = self.high.max(piece.to);
        self.latest = piece.from;
        while self.next < self.got.len() && self.got[self.next] {
            self.next += 1;
        }
        self.waiting += 1;
        if self.delay_acks && in_order && self.waiting < 2 && self.next < self.got.len() {
            self.timer_ns = Some(now_ns + 40 * MSEC_NS);
            return None;
        }
        let mut reply = self.reply();
        if twice && self.sack {
            reply.blocks.insert(0, piece); // RFC 2883
            reply.blocks.truncate(3);
        }
        Some(reply)
    }

    pub fn on_timer(&mut self) -> Reply {
        self.reply()
    }

    fn reply(&mut self) -> Reply {
        self.waiting = 0;
        self.timer_ns = None;
        Reply {
            ack: self.next,
            blocks: if self.sack { self.blocks() } else { Vec::new() },
        }
    }

    /// Up to three blocks, the one that changed last first (RFC 2018).
    fn blocks(&self) -> Vec<Piece> {
        let mut all = Vec::new();
        let mut at = self.next;
        while at < self.high {
            let len = self.got[at..self.high].iter().take_while(|&&g| g).count();
            if len > 0 {
                all.push(Piece {
                    from: at,
                    to: at + len,
                });
            }
            at += len.max(1);
        }
        if let Some(i) = all
            .iter()
            .position(|b| (b.from..b.to).contains(&self.latest))
        {
            all[..=i].rotate_right(1);
        }
        all.truncate(3);
        all
    }
}

/// The longest that a simulated transfer may take.
pub const DEADLINE_NS: u64 = 3_000 * SEC_NS;

/// Flags of a data segment.
pub fn data_flags(fin: bool) -> u32 {
    if fin { LH_ACK | LH_FIN } else { LH_ACK }
}
