// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a hop's trace says, and losses for it.

use std::cell::Cell;
use std::rc::Rc;

use lasthop_core::segment::Segment;

use crate::hop::{Cargo, End, Hop, Loses, rel};

impl Hop {
    pub fn note(&mut self, end: End, cargo: &Cargo, segment: &Option<Segment>, lost: bool) {
        let blocks = |of: &mut dyn Iterator<Item = (u32, u32)>| -> String {
            of.map(|(l, r)| format!(" {}-{}", rel(l), rel(r))).collect()
        };
        let what = match (cargo, segment) {
            (Cargo::Told(list), _) => format!("tells{}", blocks(&mut list.iter().copied())),
            (Cargo::Absent(list), _) => format!("has not{}", blocks(&mut list.iter().copied())),
            (_, Some(s)) if s.payload_bytes != 0 => format!("data {}", rel(s.seq)),
            (_, Some(s)) => {
                let missing = s.missing[..usize::from(s.nr_missing)].iter();
                let list = blocks(&mut missing.map(|b| (b.left, b.right)));
                let list = if list.is_empty() {
                    list
                } else {
                    format!(" missing{list}")
                };
                format!("ack {}{list}", rel(s.ack))
            }
            _ => unreachable!(),
        };
        let end = if end == End::Base { "base" } else { "mobile" };
        let lost = if lost { " lost" } else { "" };
        let ms = self.ms();
        self.trace.push(format!("{ms} {end} {what}{lost}"));
    }

    /// Lines of the trace that contain this.
    pub fn lines(&self, of: &str) -> Vec<&str> {
        let all = self.trace.iter().map(String::as_str);
        all.filter(|line| line.contains(of)).collect()
    }

    /// ACKs of this number that came to the sender, and how many of them with blocks.
    pub fn shown(&self, at: u32) -> (usize, usize) {
        let acks = self.seen.iter().filter(|(ack, _)| *ack == at);
        let blocks = acks.clone().filter(|(_, b)| !b.is_empty());
        (acks.count(), blocks.count())
    }

    /// Duplicates that came to the sender, or blocks that it got to see.
    pub fn signs_of_loss(&self) -> usize {
        let twice = self.seen.windows(2).filter(|w| w[0].0 == w[1].0).count();
        let blocks = self.seen.iter().filter(|(_, b)| !b.is_empty()).count();
        twice + blocks
    }
}

/// Loses of all that goes over the hop what `hits` says. @return how many segments with data of it, so far.
pub fn lose_what(
    hop: &mut Hop,
    mut hits: impl FnMut(&Cargo, &Option<Segment>) -> bool + 'static,
) -> Rc<Cell<u64>> {
    let lost = Rc::new(Cell::new(0));
    let count = lost.clone();
    hop.loses = Box::new(move |_, cargo, s| {
        let hit = hits(cargo, s);
        let data = s.as_ref().is_some_and(|s| s.payload_bytes != 0);
        count.set(count.get() + u64::from(hit && data));
        hit
    });
    lost
}

/// Loses the first transmission over the hop, from this end, of these segments.
pub fn lose_first(from: End, seqs: &'static [u32]) -> Loses {
    let mut gone = Vec::new();
    Box::new(move |end, _, segment| {
        let Some(s) = segment else { return false };
        let seq = rel(s.seq);
        let lost = end == from && s.payload_bytes != 0 && seqs.contains(&seq);
        if !lost || gone.contains(&seq) {
            return false;
        }
        gone.push(seq);
        true
    })
}

/// Loses the first so many copies of what begins at this number, sent from `from`.
pub fn lose_times(from: End, seq: u32, times: u32) -> Loses {
    let mut copies = 0;
    Box::new(move |end, _, s| {
        let hit = s
            .as_ref()
            .is_some_and(|s| end == from && s.payload_bytes != 0 && rel(s.seq) == seq);
        copies += u32::from(hit);
        hit && copies <= times
    })
}

/// Loses the first of this number on the wire between base and FH.
pub fn lose_on_wire(seq: u32) -> Box<dyn FnMut(&Segment) -> bool> {
    let mut gone = false;
    Box::new(move |s| {
        let lost = s.payload_bytes != 0 && rel(s.seq) == seq && !gone;
        gone |= lost;
        lost
    })
}
