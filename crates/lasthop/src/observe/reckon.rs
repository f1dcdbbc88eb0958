// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What follows from the counts: whose the losses are, and what `rack` would make of it. Pure.
//!
//! Losses of the link come whatever the queue, those of a queue that overflows while it is near its
//! longest, an AQM's while one stands (RFC 8289). So the link's rate of loss is that of what met no such
//! queue, and what is lost beyond it where one stood is the queue's.
//!
//! What `rack` would carry is what the link carries (the rate at which segments arrived while they
//! queued without a pause) less the link's losses, shared by as many connections as were busy at a time; not
//! more than the senders' side carries, where what comes in a row comes at the same rate each time; and nothing
//! more for a receiver that grants no more, or where the link loses nothing.

use lasthop_core::bindings::lh_shadow_sums;

use super::measured::{Measured, RATE_LEAST, Seen, Sender};

/// Of the link's rate less its losses `rack` carries so much (docs/results.md: 0.96 to 1.00).
const RACK_CARRIES: f64 = 0.97;
/// So many departures tell a rate of loss.
const TELLING: u64 = 300;
/// By so many standard deviations two rates of loss differ. Few are enough: where it is chance after all the
/// link's rate is that of a part of what departed, which is as right and a little less exact.
const SIGNIFICANT: f64 = 2.0;
/// A queue that such a part of all met is no exception.
const OFTEN: f64 = 0.02;
/// Queues shorter than 4 ms: below those at which an AQM drops.
const SHORT_QUEUES: usize = 3;
/// Of trains this part is left out at either end.
const TRIMMED: f64 = 0.2;
/// Fewer losses of the link's are nothing to repair.
const LINK_LOSSES: u64 = 2;
/// So much of what comes in a row comes at nearly the same rate where that is the way's.
const ALIKE: f64 = 0.6;
/// What the way to us carries may have been measured a little too low.
const SOME_LESS: f64 = 0.8;
/// Where so little of all that arrived came in a row it tells nothing.
const IN_A_ROW: f64 = 0.1;

/// Whose losses a hop's are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Losses {
    /// Departures towards receivers.
    pub departed: u64,
    /// Of these the link has lost so many.
    pub link: u64,
    /// And the queue before it.
    pub queue: u64,
    /// The link's rate of loss.
    pub link_rate: f64,
    /// The queue drops long before it is at its longest.
    pub managed: bool,
    /// Some queue stood whenever anything departed: whose a loss is could not be told.
    pub unclear: bool,
}

/// What can be expected of a kind of sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// Which.
    pub sender: Sender,
    /// Connections.
    pub flows: u64,
    /// Payload per second and connection, while busy.
    pub goodput: f64,
    /// The same with `rack`; none: the link's rate has not shown.
    pub expected: Option<f64>,
    /// Part of ACKs at which the receiver granted no more.
    pub limited: f64,
}

impl Kind {
    /// How many times as much.
    pub fn gain(&self) -> Option<f64> {
        gain(self.goodput, self.expected?)
    }
}

/// What follows from the counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Reckoned {
    /// Counts of all senders together.
    pub all: lh_shadow_sums,
    /// Whose the losses are.
    pub losses: Losses,
    /// Payload per second that the link carries, lost or not; none: nothing ever queued.
    pub link_rate: Option<f64>,
    /// Payload per second that arrived, while anything was under way.
    pub goodput: f64,
    /// The same with `rack`.
    pub expected: Option<f64>,
    /// Part of ACKs at which receivers granted no more.
    pub limited: f64,
    /// Kinds of senders that were seen.
    pub kinds: Vec<Kind>,
    /// Queue before the hop that half of what departed met, and 95 of 100, ns: upper bounds.
    pub queue_ns: [u64; 2],
}

impl Reckoned {
    /// How many times as much all senders together would get through.
    pub fn gain(&self) -> Option<f64> {
        gain(self.goodput, self.expected?)
    }
}

fn gain(goodput: f64, expected: f64) -> Option<f64> {
    (goodput > 0.0).then(|| expected / goodput)
}

/// What follows from `measured`.
pub fn reckon(measured: &Measured) -> Reckoned {
    let all = measured.all();
    let losses = losses(measured, &all);
    let per_second = |bytes: u64, ns: u64| (ns > 0).then(|| bytes as f64 * 1e9 / ns as f64);
    let link_rate = rate_of(&measured.rates);
    let goodput = per_second(all.bytes, measured.busy_ns).unwrap_or(0.0);
    let limited = part(all.acks_limited, all.acks);
    // It carries what came, whatever the pace of each of several senders (BBR's) may look like.
    let upstream_rate = upstream_rate(&measured.bursts, all.bytes)
        .filter(|upstream| *upstream > SOME_LESS * goodput);
    // Where the link loses nothing `rack` does nothing.
    let room = match losses.link >= LINK_LOSSES {
        true => room(link_rate, &losses, upstream_rate),
        false => Some(goodput),
    };
    // At a time so many connections were busy.
    let at_once = (all.busy_ns as f64 / measured.busy_ns.max(1) as f64).max(1.0);
    let kinds = Sender::ALL.iter().filter_map(|sender| {
        let sums = measured.sender(*sender);
        let goodput = per_second(sums.bytes, sums.busy_ns).filter(|_| sums.flows > 0)?;
        let limited = part(sums.acks_limited, sums.acks);
        Some(Kind {
            sender: *sender,
            flows: sums.flows,
            goodput,
            expected: room.map(|room| granted(goodput, room / at_once, limited)),
            limited,
        })
    });
    Reckoned {
        all,
        losses,
        link_rate,
        goodput,
        expected: room.map(|room| granted(goodput, room, limited)),
        limited,
        kinds: kinds.collect(),
        queue_ns: [0.5, 0.95].map(|part| queue_of(measured, part)),
    }
}

/// What would get through with `rack`, all together; none: no rate has shown.
fn room(link_rate: Option<f64>, losses: &Losses, upstream_rate: Option<f64>) -> Option<f64> {
    let carried = link_rate.map(|rate| rate * (1.0 - losses.link_rate));
    let bound = match (carried, upstream_rate) {
        (Some(carried), Some(upstream)) => carried.min(upstream),
        (carried, upstream) => carried.or(upstream)?,
    };
    Some(bound * RACK_CARRIES)
}

/// What the way to us carries, if what comes in a row is as fast each time; none: it is now fast, now slow,
/// as senders are.
fn upstream_rate(bursts: &[u64], arrived: u64) -> Option<f64> {
    let all: u64 = bursts.iter().sum();
    if (all as f64) < IN_A_ROW * arrived as f64 {
        return None;
    }
    let most = (0..bursts.len()).max_by_key(|i| bursts[*i])?;
    let near = &bursts[most.saturating_sub(1)..(most + 2).min(bursts.len())];
    let alike = near.iter().sum::<u64>() as f64 >= ALIKE * all as f64;
    rate_of(bursts).filter(|_| alike)
}

/// What is to be expected where the receiver grants no more for a part of the time: no gain for that.
fn granted(goodput: f64, expected: f64, limited: f64) -> f64 {
    match expected > goodput && goodput > 0.0 {
        true => goodput / (limited + (1.0 - limited) * goodput / expected),
        false => expected,
    }
}

/// The rate at which the middle trains came, by bytes: the slowest and the fastest fifth are chance, as
/// of a machine that was busy, or of segments that were handed on together.
fn rate_of(rates: &[u64]) -> Option<f64> {
    let all: f64 = rates.iter().map(|bytes| *bytes as f64).sum();
    let (from, to) = (TRIMMED * all, (1.0 - TRIMMED) * all);
    let (mut so_far, mut bytes, mut seconds) = (0.0, 0.0, 0.0);
    for (i, here) in rates.iter().enumerate() {
        let next = so_far + *here as f64;
        let counts = (next.min(to) - so_far.max(from)).max(0.0);
        let (octave, quarter) = ((i / 4) as f64, (i % 4) as f64);
        bytes += counts;
        // The middle of the place.
        seconds += counts / (RATE_LEAST * octave.exp2() * (1.0 + (quarter + 0.5) / 4.0));
        so_far = next;
    }
    (seconds > 0.0).then(|| bytes / seconds)
}

fn part(of: u64, all: u64) -> f64 {
    of as f64 / all.max(1) as f64
}

/// By how many standard deviations `more` loses more often than `less` does; none: by chance, or it does not.
fn more_often(more: Seen, less: Seen) -> Option<f64> {
    let both = more + less;
    let (n, m) = (more.departed() as f64, less.departed() as f64);
    if less.departed() < TELLING || n == 0.0 || more.loss() <= 1.5 * less.loss() {
        return None;
    }
    let deviation = (both.loss() * (1.0 - both.loss()) * (1.0 / n + 1.0 / m)).sqrt();
    Some((more.loss() - less.loss()) / deviation).filter(|deviations| *deviations > SIGNIFICANT)
}

/// What met no queue that overflows, if one does: it is told by the longest of late, and by the longest that
/// are met time and again where that one was none, but a machine that was busy.
fn below_overflow(measured: &Measured, full: Seen, below: Seen) -> Option<Seen> {
    let all = sum(&measured.by_queue).departed() as f64;
    let often = |seen: &Seen| seen.departed() as f64 >= OFTEN * all;
    let longest = measured.by_queue.iter().rposition(often);
    let (shorter, longer) = measured.by_queue.split_at(longest.unwrap_or(0));
    let (longer, shorter) = (sum(longer), sum(shorter));
    [(full, below), (longer, shorter)]
        .into_iter()
        .filter_map(|(more, less)| Some((more_often(more, less)?, less)))
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, less)| less)
}

fn sum(queues: &[Seen]) -> Seen {
    queues.iter().fold(Seen::default(), |sum, seen| sum + *seen)
}

/// Whose the hop's losses are.
fn losses(measured: &Measured, all: &lh_shadow_sums) -> Losses {
    let every = Seen {
        arrived: all.segs,
        lost: all.lost,
    };
    let full = Seen {
        arrived: all.segs_full,
        lost: all.lost_full,
    };
    let below = Seen {
        arrived: every.arrived.saturating_sub(full.arrived),
        lost: every.lost.saturating_sub(full.lost),
    };
    let short = sum(&measured.by_queue[..SHORT_QUEUES]);
    let standing = sum(&measured.by_queue[SHORT_QUEUES..]);
    let below_overflow = below_overflow(measured, full, below);
    // Short of what overflows, too, a queue that stands drops.
    let managed = more_often(standing, short).is_some()
        && more_often(below_overflow.unwrap_or(below), short).is_some();
    // Where the queue has a part in it, the link's rate is that of what met none.
    let link_rate = match managed {
        true => short.loss(),
        false => below_overflow.unwrap_or(every).loss(),
    };
    let link = match link_rate < every.loss() {
        true => (link_rate * every.departed() as f64).round() as u64,
        false => every.lost,
    };
    Losses {
        departed: every.departed(),
        link: link.min(every.lost),
        queue: every.lost - link.min(every.lost),
        link_rate,
        managed,
        unclear: every.departed() >= TELLING
            && below.departed() < TELLING
            && short.departed() < TELLING
            && below_overflow.is_none(),
    }
}

/// The queue that this part of all that departed met at most, ns.
fn queue_of(measured: &Measured, part: f64) -> u64 {
    let all: u64 = measured.by_queue.iter().map(|seen| seen.departed()).sum();
    let mut so_far = 0;
    for (i, seen) in measured.by_queue.iter().enumerate() {
        so_far += seen.departed();
        if all > 0 && so_far as f64 >= part * all as f64 {
            return 1_000_000 << i;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_core::bindings::lh_shadow_device;

    /// Of a link of 20 Mbit/s; departures by queue as `by_queue` says, in places of
    /// [`Measured::by_queue`]; those of the last place met a full one.
    fn measured(by_queue: &[(usize, u64, u64)], full: Seen) -> Measured {
        let mut measured = Measured::default();
        let mut sums = lh_shadow_sums {
            flows: 1,
            busy_ns: 10_000_000_000,
            bytes: 1_000_000,
            segs_full: full.arrived,
            lost_full: full.lost,
            ..lh_shadow_sums::default()
        };
        for (place, arrived, lost) in by_queue {
            measured.by_queue[*place] = Seen {
                arrived: *arrived,
                lost: *lost,
            };
            sums.segs += arrived;
            sums.lost += lost;
        }
        measured.senders[0] = sums;
        measured.busy_ns = 10_000_000_000;
        // 2.5 MB/s lie in the second quarter of the octave from 2^21 on.
        measured.rates[(21 - 13) * 4] = 1_000_000;
        measured
    }

    #[test]
    fn losses_that_come_whatever_the_queue_are_the_links() {
        let full = Seen {
            arrived: 980,
            lost: 20,
        };
        let losses = reckon(&measured(&[(0, 9_800, 200), (5, 980, 20)], full)).losses;
        assert_eq!((losses.link, losses.queue), (220, 0));
        assert!((losses.link_rate - 0.02).abs() < 0.001);
        assert!(!losses.managed && !losses.unclear);
    }

    #[test]
    fn losses_before_a_full_queue_are_the_queues() {
        let full = Seen {
            arrived: 1_700,
            lost: 300,
        };
        let by_queue = [(0, 9_900, 100), (6, 1_700, 300)];
        let losses = reckon(&measured(&by_queue, full)).losses;
        assert!((losses.link_rate - 0.01).abs() < 0.001, "{losses:?}");
        assert!((100..=125).contains(&losses.link), "{losses:?}");
        assert_eq!(losses.link + losses.queue, 400);
    }

    /// No loss of the link's: what CoDel drops comes while a queue stands, long or not.
    #[test]
    fn an_aqm_is_told_by_its_queue() {
        let by_queue = [(0, 20_000, 0), (4, 5_000, 60), (5, 1_000, 30)];
        let losses = reckon(&measured(&by_queue, Seen::default())).losses;
        assert!(losses.managed);
        assert_eq!((losses.link, losses.queue), (0, 90));
    }

    /// One sample that a busy machine made late is the longest of late: then nothing was ever near it.
    #[test]
    fn one_late_sample_does_not_hide_where_a_queue_overflows() {
        let by_queue = [(0, 400, 0), (4, 2_500, 0), (5, 1_200, 28), (6, 1, 0)];
        let near = Seen {
            arrived: 1,
            lost: 0,
        };
        let losses = reckon(&measured(&by_queue, near)).losses;
        assert_eq!((losses.link, losses.queue), (0, 28));
        assert!(!losses.managed && !losses.unclear);
    }

    #[test]
    fn where_a_queue_always_stands_nothing_is_clear() {
        let full = Seen {
            arrived: 9_000,
            lost: 90,
        };
        assert!(reckon(&measured(&[(7, 9_000, 90)], full)).losses.unclear);
    }

    /// A tenth of a megabyte per second of 2.36: what `rack` would carry is known by the trains.
    #[test]
    fn the_gain_is_what_the_link_carries() {
        let reckoned = reckon(&measured(&[(0, 980, 20)], Seen::default()));
        let gain = reckoned.gain().unwrap();
        assert!((20.0..24.0).contains(&gain), "{gain}");
        assert_eq!(reckoned.kinds.len(), 1);
        assert_eq!(reckoned.kinds[0].gain(), Some(gain));
        let mut unknown = measured(&[(0, 980, 20)], Seen::default());
        unknown.rates = lh_shadow_device::default().rates;
        assert_eq!(reckon(&unknown).gain(), None);
    }

    /// Where the link loses nothing, `rack` does nothing, however fast the link may be.
    #[test]
    fn no_loss_no_gain() {
        let reckoned = reckon(&measured(&[(0, 10_000, 0)], Seen::default()));
        assert_eq!(reckoned.gain(), Some(1.0));
    }

    /// Two connections share the link, and a sender's way that carries less bounds both.
    #[test]
    fn shares_and_bounds() {
        let mut two = measured(&[(0, 980, 20)], Seen::default());
        two.senders[1] = two.senders[0];
        let alone = reckon(&measured(&[(0, 980, 20)], Seen::default()));
        let reckoned = reckon(&two);
        assert_eq!(
            reckoned.kinds[0].expected.unwrap() * 2.0,
            alone.expected.unwrap()
        );
        two.bursts[(19 - 13) * 4] = 10_000; // half a megabyte per second and a little more
        assert_eq!(reckon(&two), reckoned, "too few to tell");
        two.bursts[(19 - 13) * 4] = 400_000;
        let bounded = reckon(&two).expected.unwrap();
        assert!((500_000.0..600_000.0).contains(&bounded), "{bounded}");
        // Where nothing ever queued before the link, the way to us is all that is known; if that.
        two.rates.fill(0);
        assert_eq!(reckon(&two).expected.unwrap(), bounded);
        for place in 0..12 {
            two.bursts[place] = 400_000;
        }
        assert_eq!(reckon(&two).expected, None);
    }

    /// Four senders that each keep a pace (BBR) come in rows of a quarter of all: that is not the way's rate.
    #[test]
    fn a_pace_is_no_bound_where_more_comes() {
        let mut measured = measured(&[(0, 980, 20)], Seen::default());
        measured.senders[0].bytes = 20_000_000; // 2 MB/s
        let free = reckon(&measured).expected;
        measured.bursts[(19 - 13) * 4] = 15_000_000; // half a megabyte per second and a little more
        assert_eq!(reckon(&measured).expected, free);
    }

    /// A receiver that grants no more all the time gets no more; one that does half of the time, some.
    #[test]
    fn receivers_limit() {
        let gain = |limited: u64| {
            let mut measured = measured(&[(0, 980, 20)], Seen::default());
            measured.senders[0].acks = 100;
            measured.senders[0].acks_limited = limited;
            reckon(&measured).gain().unwrap()
        };
        assert!((gain(100) - 1.0).abs() < 1e-9);
        assert!((1.8..2.0).contains(&gain(50)), "{}", gain(50));
    }

    #[test]
    fn queues_are_told_by_their_bounds() {
        let reckoned = reckon(&measured(
            &[(0, 60, 0), (3, 36, 0), (6, 4, 0)],
            Seen::default(),
        ));
        assert_eq!(reckoned.queue_ns, [1_000_000, 8_000_000]);
        assert_eq!(reckon(&Measured::default()).queue_ns, [0, 0]);
    }

    /// The slowest and the fastest fifth do not count.
    #[test]
    fn odd_trains_are_left_out() {
        let mut rates = lh_shadow_device::default().rates;
        rates[(21 - 13) * 4] = 600;
        rates[3] = 190;
        rates[60] = 190;
        let rate = rate_of(&rates).unwrap();
        assert!((2_000_000.0..2_500_000.0).contains(&rate), "{rate}");
        assert_eq!(rate_of(&lh_shadow_device::default().rates), None);
    }
}
