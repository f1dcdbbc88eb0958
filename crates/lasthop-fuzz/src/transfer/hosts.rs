// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Two honest hosts, as simple as RFC 9293 lets them be.

use lasthop_core::bindings::LH_ACK;
use lasthop_core::packet::{Tcp, option};
use lasthop_core::{Segment, seq_before};

const MSS: u32 = 1_000;
/// Blocks above what MH acknowledges that it remembers.
const ABOVE: usize = 8;

/// The sender.
pub struct Fh {
    pub una: u32,
    pub next: u32,
    edge: u32,
    dups: u32,
    /// The ECN field of its data.
    pub ecn: u8,
    timestamps: bool,
    clock: u32,
}

/// The receiver.
pub struct Mh {
    pub seq: u32,
    pub next: u32,
    pub wscale: u8,
    pub window: u16,
    pub sack: bool,
    /// Nanoseconds per tick of its timestamps; 0: it sends none.
    pub tick_ns: u64,
    above: Vec<(u32, u32)>,
    echo: u32,
    started: bool,
}

impl Fh {
    pub fn new(first: u32, timestamps: bool) -> Self {
        Self {
            una: first,
            next: first,
            edge: first.wrapping_add(10 * MSS),
            dups: 0,
            ecn: 0,
            timestamps,
            clock: first,
        }
    }

    fn segment(&mut self, seq: u32, mh: &Mh) -> Tcp {
        self.clock = self.clock.wrapping_add(1);
        Tcp {
            seq,
            ack: mh.seq,
            flags: LH_ACK,
            options: match self.timestamps {
                true => option::timestamps(self.clock, 7),
                false => Vec::new(),
            },
            payload: vec![seq as u8; MSS as usize],
            ecn: self.ecn,
            ..Tcp::default()
        }
    }

    /// If the window has room for one.
    pub fn new_segment(&mut self, mh: &Mh) -> Option<Tcp> {
        let end = self.next.wrapping_add(MSS);
        if seq_before(self.edge, end) {
            return None;
        }
        let tcp = self.segment(self.next, mh);
        self.next = end;
        Some(tcp)
    }

    /// The oldest once more.
    pub fn timeout(&mut self, mh: &Mh) -> Option<Tcp> {
        (self.una != self.next).then(|| self.segment(self.una, mh))
    }

    /// What is there of it from 300 bytes on, in a segment half as long again.
    pub fn elsewhere(&mut self, mh: &Mh) -> Option<Tcp> {
        let from = self.una.wrapping_add(300);
        let fits = !seq_before(self.next, from.wrapping_add(3 * MSS / 2));
        fits.then(|| {
            let mut tcp = self.segment(from, mh);
            tcp.payload.resize((3 * MSS / 2) as usize, 7);
            tcp
        })
    }

    /// An ACK; the third duplicate has the oldest sent again.
    pub fn takes(&mut self, s: &Segment, wscale: u8) -> Option<Tcp> {
        if u32::from(s.flags) & LH_ACK == 0
            || seq_before(s.ack, self.una)
            || seq_before(self.next, s.ack)
        {
            return None;
        }
        let edge = s.ack.wrapping_add(u32::from(s.window) << wscale);
        if seq_before(self.edge, edge) {
            self.edge = edge;
        }
        self.dups = if s.ack == self.una { self.dups + 1 } else { 0 };
        self.una = s.ack;
        if self.dups != 3 || self.una == self.next {
            return None;
        }
        self.clock = self.clock.wrapping_add(1);
        Some(Tcp {
            seq: self.una,
            ack: s.seq,
            payload: vec![self.una as u8; MSS as usize],
            ..Tcp::default()
        })
    }
}

impl Mh {
    pub fn new(seq: u32, wscale: u8, sack: bool) -> Self {
        Self {
            seq,
            next: 0,
            wscale,
            window: 500,
            sack,
            tick_ns: 0,
            above: Vec::new(),
            echo: 0,
            started: false,
        }
    }

    /// A segment from the hop, and the ACK for it.
    pub fn takes(&mut self, s: &Segment, fh: &Fh, now_ns: u64) -> Option<Tcp> {
        self.echo = s.tsval;
        if !self.started {
            self.next = fh.una;
            self.started = true;
        }
        if s.payload_bytes == 0 {
            return None;
        }
        let (left, right) = (s.seq, s.seq.wrapping_add(s.payload_bytes));
        if !seq_before(self.next, left) {
            if seq_before(self.next, right) {
                self.next = right;
            }
            self.merge();
        } else if right.wrapping_sub(self.next) < 1 << 20 && !self.above.contains(&(left, right)) {
            self.above.insert(0, (left, right));
            self.above.truncate(ABOVE);
        }
        Some(self.ack(now_ns))
    }

    fn merge(&mut self) {
        while let Some(i) = self.above.iter().position(|b| !seq_before(self.next, b.0)) {
            let (_, right) = self.above.remove(i);
            if seq_before(self.next, right) {
                self.next = right;
            }
        }
    }

    fn ack(&self, now_ns: u64) -> Tcp {
        let blocks = &self.above[..self.above.len().min(3)];
        let mut options = match now_ns.checked_div(self.tick_ns) {
            Some(ticks) => option::timestamps(self.seq.wrapping_add(ticks as u32), self.echo),
            None => Vec::new(),
        };
        if self.sack && !blocks.is_empty() {
            options.extend(option::sack(blocks));
        }
        Tcp {
            seq: self.seq,
            ack: self.next,
            window: self.window,
            options,
            ..Tcp::default()
        }
    }
}
