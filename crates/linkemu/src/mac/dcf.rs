// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One station's part in the distributed coordination function (IEEE 802.11-2007, clause 9.2):
//! when it may send, and for how many slots of silence it waits. EDCA's stations count as these do,
//! with another silence before (clause 9.9.1.3); that they count the slot in which another begins
//! to send is not modelled.
//!
//! Stations count the same slots. Whoever reaches zero first sends, the others keep what is left
//! and go on with it after the next DIFS; who reach zero together collide. A station draws a new
//! number after each access, whether or not it has more to send (clause 9.2.5.2). Only with that
//! one counted down, and after a DIFS of silence, may a frame go at once.

use crate::random::Random;

/// The silence that goes on.
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    /// Since when slots are counted: the medium's last use and a DIFS.
    pub count_from_ns: u64,
    /// Length of a slot.
    pub slot_ns: u64,
}

impl Silence {
    fn slots_until(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.count_from_ns) / self.slot_ns
    }

    fn end_of_slots_ns(&self, slots: u64) -> u64 {
        self.count_from_ns + slots * self.slot_ns
    }

    /// The next edge of a slot, or this one.
    fn edge_ns(&self, now_ns: u64) -> u64 {
        let since_ns = now_ns.saturating_sub(self.count_from_ns);
        self.end_of_slots_ns(since_ns.div_ceil(self.slot_ns))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Nothing to count any more.
    Free,
    /// So many slots are left to count.
    Backoff(u64),
    /// At this very time.
    At(u64),
}

/// A station that contends.
#[derive(Debug)]
pub struct Contention {
    cw_min: u32,
    cw_max: u32,
    /// Backoff is drawn from 0 to this.
    cw: u32,
    access: Access,
    random: Random,
}

impl Contention {
    pub fn new(cw_min: u32, cw_max: u32, random: Random) -> Self {
        Self {
            cw_min,
            cw_max,
            cw: cw_min,
            access: Access::Free,
            random,
        }
    }

    /// A frame has come to the head at `now_ns`. If another station counts slots, a frame that
    /// might go at once goes at the edge of one: within a slot nobody hears the other begin.
    pub fn request(&mut self, now_ns: u64, silence: &Silence, another_counts: bool) {
        if let Access::Backoff(slots) = self.access {
            if silence.end_of_slots_ns(slots) > now_ns {
                return; // counts on
            }
            self.access = Access::Free;
        }
        self.access = if now_ns < silence.count_from_ns {
            self.draw()
        } else if another_counts {
            Access::At(silence.edge_ns(now_ns))
        } else {
            Access::At(now_ns)
        };
    }

    /// When it sends if nobody else does before.
    pub fn start_ns(&self, silence: &Silence) -> u64 {
        match self.access {
            Access::Free => silence.count_from_ns,
            Access::Backoff(slots) => silence.end_of_slots_ns(slots),
            Access::At(at_ns) => at_ns,
        }
    }

    /// Goes on at `at_ns` with what is its own already: no slots are counted within a burst (clause
    /// 9.9.1.4).
    pub fn go_on_at(&mut self, at_ns: u64) {
        self.access = Access::At(at_ns);
    }

    /// Another station has begun to send. One that has a frame can't be through with counting;
    /// one that has none may be.
    pub fn defer(&mut self, start_ns: u64, silence: &Silence, has_frame: bool) {
        if start_ns < silence.count_from_ns {
            return; // within a burst: there was no silence to count in
        }
        let counted = silence.slots_until(start_ns);
        self.access = match self.access {
            Access::Backoff(slots) if slots > counted || has_frame => {
                Access::Backoff(slots.saturating_sub(counted))
            }
            _ if has_frame => self.draw(),
            _ => Access::Free,
        };
    }

    /// An access is over and nothing is known to have failed in it, or the frame was given up.
    pub fn succeed(&mut self) {
        self.cw = self.cw_min;
        self.access = self.draw();
    }

    /// An access is over, and nothing is known of it yet.
    pub fn go_on(&mut self) {
        self.access = self.draw();
    }

    /// An access failed, and what was sent will be sent again (clause 9.2.4).
    pub fn fail(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.cw_max);
        self.access = self.draw();
    }

    fn draw(&mut self) -> Access {
        let choices = u64::from(self.cw) + 1;
        Access::Backoff((self.random.unit() * choices as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Direction;

    const SILENCE: Silence = Silence {
        count_from_ns: 1_000,
        slot_ns: 10,
    };

    fn contention(seed: u64) -> Contention {
        Contention::new(15, 1023, Random::new(seed, Direction::AToB, "mac_backoff"))
    }

    #[test]
    fn a_silent_medium_is_taken_at_once_and_a_busy_one_is_not() {
        let mut station = contention(1);
        station.request(1_234, &SILENCE, false);
        assert_eq!(station.start_ns(&SILENCE), 1_234);
        let mut beside_another = contention(1);
        beside_another.request(1_234, &SILENCE, true);
        assert_eq!(beside_another.start_ns(&SILENCE), 1_240);
        let starts = (0..200).map(|seed| {
            let mut late = contention(seed);
            late.request(999, &SILENCE, false);
            late.start_ns(&SILENCE)
        });
        let starts: std::collections::BTreeSet<u64> = starts.collect();
        assert!(
            starts
                .iter()
                .eq(&(0..16).map(|i| 1_000 + 10 * i).collect::<Vec<_>>())
        );
    }

    #[test]
    fn what_is_left_is_counted_on() {
        let mut station = contention(1);
        station.access = Access::Backoff(9);
        station.defer(1_040, &SILENCE, true);
        assert_eq!(station.access, Access::Backoff(5));
        station.defer(1_000, &SILENCE, true);
        assert_eq!(station.access, Access::Backoff(5));
        // Without a frame to send it counts as well, and is through at zero.
        station.defer(1_049, &SILENCE, false);
        assert_eq!(station.access, Access::Backoff(1));
        station.defer(1_010, &SILENCE, false);
        assert_eq!(station.access, Access::Free);
    }

    #[test]
    fn a_frame_that_comes_while_the_last_number_is_counted_takes_it_over() {
        let mut station = contention(1);
        station.access = Access::Backoff(9);
        station.request(1_089, &SILENCE, false);
        assert_eq!(station.start_ns(&SILENCE), 1_090);
        station.request(1_090, &SILENCE, false);
        assert_eq!(station.access, Access::At(1_090));
    }

    #[test]
    fn the_window_doubles_to_its_limit_and_is_reset() {
        let mut station = contention(1);
        let mut windows = Vec::new();
        for _ in 0..8 {
            station.fail();
            windows.push(station.cw);
        }
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        station.succeed();
        assert_eq!(station.cw, 15);
    }

    #[test]
    fn backoff_is_uniform() {
        let mut station = contention(3);
        let mut counts = [0; 16];
        for _ in 0..16_000 {
            station.succeed();
            counts[station.start_ns(&SILENCE) as usize / 10 - 100] += 1;
        }
        // 1000 each, deviation 30.6.
        assert!(
            counts.iter().all(|count| (860..1140).contains(count)),
            "{counts:?}"
        );
    }
}
