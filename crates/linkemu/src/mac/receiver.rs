// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The receiving end of one direction: what came twice is filtered by its sequence number (IEEE
//! 802.11-2007, clause 9.2.9), and what comes by the block is put in order (clause 9.10.3).

use std::collections::VecDeque;

/// Frames that a receiver keeps room for, as many as a bitmap speaks of.
const WINDOW: u16 = super::config::MAX_BLOCK_FRAMES as u16;
/// Sequence numbers have 12 bits (clause 7.1.3.4.1).
const SEQUENCES: u16 = 1 << 12;

/// The number after another.
pub fn next_sequence(sequence: u16) -> u16 {
    (sequence + 1) % SEQUENCES
}

/// How far `sequence` lies ahead of `of`, going round.
pub fn ahead(sequence: u16, of: u16) -> u16 {
    sequence.wrapping_sub(of) % SEQUENCES
}

/// What a receiver remembers of the direction that it hears.
#[derive(Debug)]
pub struct Receiver<F> {
    /// Number of the last frame that came by itself.
    last: Option<u16>,
    /// The number that the next frame in order has.
    expected: u16,
    /// Frames from there on, as far as they have come.
    early: VecDeque<Option<F>>,
}

impl<F> Receiver<F> {
    pub fn new() -> Self {
        Self {
            last: None,
            expected: 0,
            early: VecDeque::new(),
        }
    }

    /// A frame that is answered by itself or not at all. True if it is not a copy of the last one.
    pub fn is_new(&mut self, sequence: u16, is_retry: bool) -> bool {
        let copy = is_retry && self.last == Some(sequence);
        self.last = Some(sequence);
        !copy
    }

    /// Whether a frame of a block has come before.
    pub fn has(&self, sequence: u16) -> bool {
        let place = ahead(sequence, self.expected);
        place >= SEQUENCES / 2 || self.early.get(place.into()).is_some_and(Option::is_some)
    }

    /// A frame of a block that has not come before; those that are in order now go to `release`.
    pub fn accept(&mut self, sequence: u16, frame: F, mut release: impl FnMut(F)) {
        if ahead(sequence, self.expected) >= WINDOW {
            // What it waited for was given up, and no request that said so has come.
            self.skip_to(sequence.wrapping_sub(WINDOW - 1) % SEQUENCES, &mut release);
        }
        let place = usize::from(ahead(sequence, self.expected));
        while self.early.len() <= place {
            self.early.push_back(None);
        }
        self.early[place] = Some(frame);
        self.release_in_order(release);
    }

    /// The sender asks for nothing before `first`: it has given up what is missing there.
    pub fn skip_to(&mut self, first: u16, mut release: impl FnMut(F)) {
        if ahead(first, self.expected) >= SEQUENCES / 2 {
            return;
        }
        while self.expected != first {
            if let Some(frame) = self.early.pop_front().flatten() {
                release(frame);
            }
            self.expected = next_sequence(self.expected);
        }
        self.release_in_order(release);
    }

    fn release_in_order(&mut self, mut release: impl FnMut(F)) {
        while let Some(Some(_)) = self.early.front() {
            if let Some(frame) = self.early.pop_front().flatten() {
                release(frame);
            }
            self.expected = next_sequence(self.expected);
        }
    }

    /// Frames that wait for earlier ones.
    pub fn frames(&self) -> usize {
        self.early.iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_a_retry_with_the_last_number() {
        let mut receiver = Receiver::<()>::new();
        let seen = [(5, false), (5, true), (6, true), (6, false), (5, true)];
        let new = seen.map(|(sequence, retry)| receiver.is_new(sequence, retry));
        assert_eq!(new, [true, false, true, true, true]);
    }

    #[test]
    fn blocks_are_put_in_order_round_the_end_of_the_numbers() {
        let mut receiver = Receiver::new();
        receiver.expected = 4094;
        let mut out = Vec::new();
        for sequence in [4095, 1, 4094, 2] {
            assert!(!receiver.has(sequence));
            receiver.accept(sequence, sequence, |f| out.push(f));
        }
        assert_eq!(out, [4094, 4095]);
        assert_eq!(
            [4095, 0, 1, 2, 3].map(|s| receiver.has(s)),
            [true, false, true, true, false]
        );
        assert_eq!(receiver.frames(), 2);
        receiver.skip_to(4095, |f| out.push(f)); // an old one changes nothing
        receiver.skip_to(1, |f| out.push(f));
        assert_eq!(out, [4094, 4095, 1, 2]);
        assert_eq!((receiver.frames(), receiver.expected), (0, 3));
    }

    #[test]
    fn no_more_than_a_window_waits() {
        let mut receiver = Receiver::new();
        let mut out = Vec::new();
        for sequence in 1..200 {
            receiver.accept(sequence, sequence, |f| out.push(f));
            assert!(receiver.frames() < 64);
        }
        assert!(out.is_sorted() && out.len() + receiver.frames() == 199);
    }

    #[test]
    fn skipping_releases_what_came_behind_a_gap() {
        let mut receiver = Receiver::new();
        let mut out = Vec::new();
        for sequence in [1, 3, 6] {
            receiver.accept(sequence, sequence, |f| out.push(f));
        }
        receiver.skip_to(5, |f| out.push(f));
        assert_eq!(out, [1, 3]);
        receiver.accept(5, 5, |f| out.push(f));
        assert_eq!(out, [1, 3, 5, 6]);
    }
}
