// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How much goes into one access: frames and their answers, a SIFS apart, within the limit of a
//! transmission opportunity (IEEE 802.11-2007, clauses 9.9.1.2 and 9.9.1.4).

use super::policy::Policy;
use super::timing::Timing;

/// The rest of an access.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub timing: Timing,
    pub policy: Policy,
    /// How long it may last yet, in nanoseconds; `None` where one exchange is an access, however
    /// long it is (a limit of 0).
    pub left_ns: Option<u64>,
}

impl Room {
    /// How long frames of these lengths take with all answers that they ask for, a SIFS between
    /// one and the next: a holder keeps the medium for that long (clause 9.9.1.4). A block counts
    /// with its request, a part of one (`block_ack_each`) without.
    pub fn span_ns(&self, frames_bytes: impl Iterator<Item = u32>) -> u64 {
        let Timing { sifs_ns, .. } = self.timing;
        let answer_ns = match self.policy {
            Policy::Ack => sifs_ns + self.timing.ack_ns(),
            _ => 0,
        };
        let request_ns = (self.policy == Policy::BlockAckBurst)
            .then(|| self.timing.block_ack_request_ns() + sifs_ns + self.timing.block_ack_ns());
        let exchanges = frames_bytes.map(|bytes| self.timing.data_ns(bytes) + answer_ns);
        let with_gaps_ns: u64 = exchanges.chain(request_ns).map(|ns| ns + sifs_ns).sum();
        with_gaps_ns.saturating_sub(sifs_ns)
    }

    /// Whether they fit in.
    pub fn holds(&self, frames_bytes: impl Iterator<Item = u32>) -> bool {
        self.left_ns
            .is_none_or(|left_ns| self.span_ns(frames_bytes) <= left_ns)
    }

    /// Frames that go out before anybody is heard again, whatever room there is. `block_ack_each`
    /// has an access for each.
    pub fn most_frames(&self, block_frames: usize) -> usize {
        match self.policy {
            Policy::NoAck if self.left_ns.is_some() => usize::MAX,
            Policy::BlockAckBurst => block_frames,
            Policy::Ack | Policy::NoAck | Policy::BlockAckEach => 1,
        }
    }

    /// How many frames of one length do so. The first one goes whether it fits or not: there are no
    /// fragments here.
    pub fn frames(&self, block_frames: usize, bytes: u32) -> usize {
        let more = 2..=self.most_frames(block_frames);
        let fit = more.take_while(|count| self.holds(std::iter::repeat_n(bytes, *count)));
        fit.last().unwrap_or(1)
    }

    /// How many frames of one length an access has in all, exchange after exchange, and how long
    /// it lasts in nanoseconds.
    pub fn fill(mut self, block_frames: usize, bytes: u32) -> (u64, u64) {
        let (mut count, mut total_ns) = (0, 0);
        loop {
            let frames = self.frames(block_frames, bytes);
            let span_ns = self.span_ns(std::iter::repeat_n(bytes, frames));
            count += frames as u64;
            total_ns += span_ns;
            let gone_ns = span_ns + self.timing.sifs_ns;
            self.left_ns = self
                .left_ns
                .and_then(|left_ns| left_ns.checked_sub(gone_ns));
            let goes_on = self.left_ns.is_some() && self.holds([bytes].into_iter());
            if !goes_on {
                return (count, total_ns);
            }
            total_ns += self.timing.sifs_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::timing::{Preamble, Standard};

    const FULL_BYTES: u32 = 1514;
    const US: u64 = 1_000;

    /// 54 Mbit/s with QoS control: 252 for a full frame, 28 for an ACK, 32 and 72 for a block's
    /// request and answer, a SIFS of 16.
    fn room(policy: Policy, left_us: Option<u64>) -> Room {
        let timing = Timing {
            qos: true,
            ..Timing::new(Standard::A, Preamble::Long, 54_000, 24_000)
        };
        Room {
            timing,
            policy,
            left_ns: left_us.map(|us| us * US),
        }
    }

    #[test]
    fn spans_by_hand() {
        for (policy, count, expected_us) in [
            (Policy::Ack, 1, 252 + 16 + 28),
            (Policy::Ack, 3, 3 * (252 + 16 + 28) + 2 * 16),
            (Policy::NoAck, 1, 252),
            (Policy::NoAck, 3, 3 * 252 + 2 * 16),
            (Policy::BlockAckBurst, 3, 3 * (252 + 16) + 32 + 16 + 72),
            (Policy::BlockAckBurst, 0, 32 + 16 + 72),
            (Policy::BlockAckEach, 1, 252),
        ] {
            let frames = std::iter::repeat_n(FULL_BYTES, count);
            let span_ns = room(policy, None).span_ns(frames);
            assert_eq!(span_ns, expected_us * US, "{policy:?} {count}");
        }
    }

    #[test]
    fn what_fits_goes_up_to_the_last_microsecond() {
        for (policy, block_frames, left_us, expected, total_us) in [
            (Policy::Ack, 1, None, 1, 296),
            (Policy::Ack, 1, Some(1), 1, 296),
            (Policy::Ack, 1, Some(607), 1, 296),
            (Policy::Ack, 1, Some(608), 2, 2 * 296 + 16),
            // 6 · 312 - 16, and 2168 for a seventh.
            (Policy::Ack, 1, Some(2048), 6, 1856),
            (Policy::NoAck, 1, None, 1, 252),
            (Policy::NoAck, 1, Some(1), 1, 252),
            // 7 · 268 - 16, and 2128 for an eighth.
            (Policy::NoAck, 1, Some(2048), 7, 1860),
            // 7 · 268 + 120, and 2264 for an eighth.
            (Policy::BlockAckBurst, 16, Some(2048), 7, 1996),
            (Policy::BlockAckBurst, 16, None, 16, 16 * 268 + 120),
            // 4 · 268 + 120 = 1192, a SIFS, and 840 are left: 2 · 268 + 120 = 656, 924 for three.
            (Policy::BlockAckBurst, 4, Some(2048), 6, 1192 + 16 + 656),
        ] {
            let (frames, ns) = room(policy, left_us).fill(block_frames, FULL_BYTES);
            assert_eq!(
                (frames, ns),
                (expected, total_us * US),
                "{policy:?} {left_us:?}"
            );
        }
    }
}
