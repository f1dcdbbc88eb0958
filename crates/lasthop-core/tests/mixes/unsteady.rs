// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a hop does to the times of its frames besides its rate and its delay.

use crate::wire::Random;

/// All in nanoseconds; 0: not at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unsteady {
    /// A frame takes up to so much longer, and never overtakes another.
    pub jitter_ns: u64,
    /// One frame in ten takes so much longer, for the hop repeats it, and what follows waits for it.
    pub late_ns: u64,
    /// So many of the frames ...
    pub detour_share: f64,
    /// ... take so much longer, and others overtake them.
    pub detour_ns: u64,
    /// Frames are delivered at multiples of this only: TDMA, aggregation.
    pub batch_ns: u64,
    /// Nothing is sent for up to so long, in both directions (a scan, a handover, neighbours) ...
    pub pause_ns: u64,
    /// ... at random moments, so far apart in the mean.
    pub pause_every_ns: u64,
}

/// One direction's.
#[derive(Debug)]
pub struct Timing {
    unsteady: Unsteady,
    jitter: Random,
    /// The same moments for both directions, whatever they carry.
    pauses: Random,
    pause_from_ns: u64,
    pause_until_ns: u64,
    arrived_ns: u64,
}

impl Timing {
    /// `pauses`: the seed that both directions have.
    pub fn new(unsteady: Unsteady, jitter: u64, pauses: u64) -> Self {
        let mut timing = Self {
            unsteady,
            jitter: Random(jitter),
            pauses: Random(pauses),
            pause_from_ns: u64::MAX,
            pause_until_ns: 0,
            arrived_ns: 0,
        };
        if unsteady.pause_ns > 0 {
            timing.next_pause();
        }
        timing
    }

    fn next_pause(&mut self) {
        let apart = -(1.0 - self.pauses.unit()).ln() * self.unsteady.pause_every_ns as f64;
        self.pause_from_ns = self.pause_until_ns + apart as u64;
        let lasts = self.pauses.unit() * self.unsteady.pause_ns as f64;
        self.pause_until_ns = self.pause_from_ns + lasts as u64;
    }

    /// From when on the transmitter may send what it has now.
    pub fn may_send(&mut self, now_ns: u64) -> u64 {
        if self.unsteady.pause_ns == 0 {
            return now_ns;
        }
        while self.pause_until_ns <= now_ns {
            self.next_pause();
        }
        if self.pause_from_ns <= now_ns {
            self.pause_until_ns
        } else {
            now_ns
        }
    }

    /// When a frame arrives that would at `at_ns`.
    pub fn arrives(&mut self, at_ns: u64) -> u64 {
        let mut at = at_ns;
        if self.unsteady.jitter_ns > 0 {
            at += (self.jitter.unit() * self.unsteady.jitter_ns as f64) as u64;
        }
        if self.unsteady.late_ns > 0 && self.jitter.chance(0.1) {
            at += self.unsteady.late_ns;
        }
        at = at.max(self.arrived_ns);
        if self.unsteady.batch_ns > 0 {
            at = at.next_multiple_of(self.unsteady.batch_ns);
        }
        self.arrived_ns = at;
        if self.jitter.chance(self.unsteady.detour_share) {
            return at + self.unsteady.detour_ns;
        }
        at
    }
}

#[test]
fn frames_keep_their_order_and_pauses_are_of_both_directions() {
    let unsteady = Unsteady {
        jitter_ns: 300,
        late_ns: 200,
        batch_ns: 100,
        pause_ns: 2_000,
        pause_every_ns: 5_000,
        ..Unsteady::default()
    };
    let (mut down, mut up) = (Timing::new(unsteady, 1, 9), Timing::new(unsteady, 2, 9));
    let (mut last, mut paused) = (0, 0u32);
    for now in (0..1_000_000).step_by(50) {
        let at = down.arrives(now);
        assert!(at >= last.max(now) && at % 100 == 0 && at <= now.max(last) + 600);
        last = at;
        let begins = down.may_send(now);
        paused += u32::from(begins > now);
        if now % 250 == 0 {
            assert_eq!(up.may_send(now), begins);
        }
    }
    // A pause lasts 1,000 in the mean, 5,000 apart.
    assert!((2_500..4_500).contains(&paused), "{paused} of 20,000");
}
