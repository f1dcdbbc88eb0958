// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One direction of a link: a queue with a discipline, a transmitter, loss.

use std::collections::VecDeque;

use crate::unsteady::{Timing, Unsteady};
use crate::wire::{FRAME, Packet, Random};

const MS: u64 = 1_000_000;
const CODEL_TARGET_NS: u64 = 5 * MS;
/// RFC 8290 section 5.2.2.
const FQ_QUEUES: usize = 1024;
const CODEL_INTERVAL_NS: u64 = 100 * MS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    Fifo,
    /// RFC 8289.
    Codel,
    /// RFC 8290, with a queue per connection, of 1,024 at most.
    FqCodel,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    at_ns: u64,
    packet: Packet,
}

#[derive(Debug, Default)]
struct Codel {
    queue: VecDeque<Waiting>,
    first_above_ns: u64,
    drop_next_ns: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// FQ-CoDel's round robin.
    deficit: i64,
    listed: bool,
}

impl Codel {
    fn bytes(&self) -> u32 {
        self.queue.iter().take(3).map(|w| w.packet.bytes).sum()
    }

    fn should_drop(&mut self, w: &Waiting, now_ns: u64) -> bool {
        if now_ns - w.at_ns < CODEL_TARGET_NS || self.bytes() <= FRAME {
            self.first_above_ns = 0;
            return false;
        }
        if self.first_above_ns == 0 {
            self.first_above_ns = now_ns + CODEL_INTERVAL_NS;
            return false;
        }
        now_ns >= self.first_above_ns
    }

    fn law(&self, from_ns: u64) -> u64 {
        from_ns + (CODEL_INTERVAL_NS as f64 / f64::from(self.count).sqrt()) as u64
    }

    fn dequeue(&mut self, now_ns: u64, dropped: &mut Vec<usize>) -> Option<Packet> {
        let mut w = self.queue.pop_front()?;
        let mut bad = self.should_drop(&w, now_ns);
        if self.dropping {
            if !bad {
                self.dropping = false;
            }
            while self.dropping && now_ns >= self.drop_next_ns {
                dropped.push(w.packet.flow);
                self.count += 1;
                w = self.queue.pop_front()?;
                bad = self.should_drop(&w, now_ns);
                if bad {
                    self.drop_next_ns = self.law(self.drop_next_ns);
                } else {
                    self.dropping = false;
                }
            }
        } else if bad {
            dropped.push(w.packet.flow);
            let next = self.queue.pop_front();
            self.dropping = true;
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now_ns.saturating_sub(self.drop_next_ns) < 16 * CODEL_INTERVAL_NS;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next_ns = self.law(now_ns);
            w = next?;
            self.should_drop(&w, now_ns);
        }
        Some(w.packet)
    }
}

/// What waits before a transmitter.
#[derive(Debug)]
struct Queue {
    discipline: Discipline,
    limit: usize,
    len: usize,
    flows: Vec<Codel>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Queue {
    fn push(&mut self, packet: Packet, now_ns: u64) -> bool {
        if self.len >= self.limit {
            return false;
        }
        self.len += 1;
        let at = match self.discipline {
            Discipline::FqCodel => packet.flow % FQ_QUEUES,
            _ => 0,
        };
        while self.flows.len() <= at {
            self.flows.push(Codel::default());
        }
        let flow = &mut self.flows[at];
        flow.queue.push_back(Waiting {
            at_ns: now_ns,
            packet,
        });
        if self.discipline == Discipline::FqCodel && !flow.listed {
            flow.listed = true;
            flow.deficit = i64::from(FRAME);
            self.new.push_back(at);
        }
        true
    }

    fn pop(&mut self, now_ns: u64, dropped: &mut Vec<usize>) -> Option<Packet> {
        let before = dropped.len();
        let got = match self.discipline {
            Discipline::Fifo => self
                .flows
                .first_mut()
                .and_then(|f| f.queue.pop_front())
                .map(|w| w.packet),
            Discipline::Codel => self
                .flows
                .first_mut()
                .and_then(|f| f.dequeue(now_ns, dropped)),
            Discipline::FqCodel => self.round(now_ns, dropped),
        };
        self.len -= dropped.len() - before + usize::from(got.is_some());
        got
    }

    fn round(&mut self, now_ns: u64, dropped: &mut Vec<usize>) -> Option<Packet> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let at = *list.front()?;
            let flow = &mut self.flows[at];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(FRAME);
                list.pop_front();
                self.old.push_back(at);
                continue;
            }
            match flow.dequeue(now_ns, dropped) {
                Some(packet) => {
                    flow.deficit -= i64::from(packet.bytes);
                    return Some(packet);
                }
                None => {
                    list.pop_front();
                    if is_new && !self.old.is_empty() {
                        self.old.push_back(at);
                    } else {
                        flow.listed = false;
                    }
                }
            }
        }
    }
}

/// What became of the link's frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct LaneCounts {
    pub queue_dropped: u64,
    pub aqm_dropped: u64,
    pub lost: u64,
    pub bytes: u64,
}

/// A policer: what finds too few tokens is dropped, and nothing waits.
#[derive(Debug, Clone, Copy)]
pub struct Policer {
    pub bps: f64,
    pub burst_bytes: f64,
}

#[derive(Debug)]
struct Bucket {
    policer: Policer,
    bytes: f64,
    at_ns: u64,
}

impl Bucket {
    fn takes(&mut self, bytes: u32, now_ns: u64) -> bool {
        let more = (now_ns - self.at_ns) as f64 * self.policer.bps / 8e9;
        self.at_ns = now_ns;
        self.bytes = (self.bytes + more).min(self.policer.burst_bytes);
        let takes = self.bytes >= f64::from(bytes);
        if takes {
            self.bytes -= f64::from(bytes);
        }
        takes
    }
}

#[derive(Debug)]
pub struct Lane {
    /// (bit/s, from): the rate over time, over and over with `period_ns`.
    pub rates: Vec<(u64, f64)>,
    pub period_ns: u64,
    pub delay_ns: u64,
    pub loss: f64,
    /// So many in a row in the mean (Gilbert's chain); up to 1: each by itself.
    pub loss_burst: f64,
    /// Before that nothing is lost.
    pub loss_from_ns: u64,
    pub timing: Timing,
    bucket: Option<Bucket>,
    queue: Queue,
    busy: bool,
    /// The last frame was lost.
    bad: bool,
    random: Random,
    dropped: Vec<usize>,
    pub counts: LaneCounts,
}

impl Lane {
    pub fn new(bps: f64, delay_ns: u64, limit: usize, discipline: Discipline, seed: u64) -> Self {
        Self {
            rates: vec![(0, bps)],
            period_ns: u64::MAX,
            delay_ns,
            loss: 0.0,
            loss_burst: 0.0,
            loss_from_ns: 0,
            timing: Timing::new(Unsteady::default(), 0, 0),
            bucket: None,
            queue: Queue {
                discipline,
                limit,
                len: 0,
                flows: Vec::new(),
                new: VecDeque::new(),
                old: VecDeque::new(),
            },
            busy: false,
            bad: false,
            random: Random(seed),
            dropped: Vec::new(),
            counts: LaneCounts::default(),
        }
    }

    fn bps(&self, now_ns: u64) -> f64 {
        let at = now_ns % self.period_ns;
        let i = self.rates.partition_point(|r| r.0 <= at);
        self.rates[i.max(1) - 1].1
    }

    pub fn waiting(&self) -> usize {
        self.queue.len
    }

    pub fn police(&mut self, policer: Policer) {
        self.bucket = Some(Bucket {
            policer,
            bytes: policer.burst_bytes,
            at_ns: 0,
        });
    }

    pub fn push(&mut self, packet: Packet, now_ns: u64) {
        let bucket = self.bucket.as_mut();
        let passes = bucket.is_none_or(|bucket| bucket.takes(packet.bytes, now_ns));
        if !passes || !self.queue.push(packet, now_ns) {
            self.counts.queue_dropped += 1;
        }
    }

    /// Begins the next transmission if none is under way: the packet, and when
    /// its last bit has left.
    pub fn start(&mut self, now_ns: u64) -> Option<(Packet, u64)> {
        if self.busy {
            return None;
        }
        let packet = self.queue.pop(now_ns, &mut self.dropped);
        self.counts.aqm_dropped += self.dropped.len() as u64;
        self.dropped.clear();
        let packet = packet?;
        self.busy = true;
        let ns = f64::from(packet.bytes) * 8e9 / self.bps(now_ns);
        Some((packet, self.timing.may_send(now_ns) + ns as u64))
    }

    /// The last bit has left. @return whether it arrives.
    pub fn done(&mut self, packet: &Packet, now_ns: u64) -> bool {
        self.busy = false;
        self.counts.bytes += u64::from(packet.bytes);
        let lost = self.random.chance(self.chance()) && now_ns >= self.loss_from_ns;
        self.bad = lost;
        self.counts.lost += u64::from(lost);
        !lost
    }

    /// That the next is lost, so that `loss` of all are.
    fn chance(&self) -> f64 {
        if self.loss_burst <= 1.0 {
            return self.loss;
        }
        let ends = 1.0 / self.loss_burst;
        match self.bad {
            true => 1.0 - ends,
            false => (ends * self.loss / (1.0 - self.loss)).min(1.0),
        }
    }
}

/// In bursts or not, as many are lost.
#[test]
fn bursts_lose_as_much() {
    for burst in [0.0, 5.0] {
        let mut lane = Lane::new(1e6, 0, 10, Discipline::Fifo, 1);
        (lane.loss, lane.loss_burst) = (0.02, burst);
        let packet = Packet::datagram(0);
        let lost: Vec<bool> = (0..200_000).map(|_| !lane.done(&packet, 1)).collect();
        let all = lost.iter().filter(|lost| **lost).count() as f64;
        let first = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        assert!((3_600.0..4_400.0).contains(&all), "{all}");
        let mean = all / first;
        assert!((mean - burst.max(1.02)).abs() < 0.4, "{mean} in a row");
    }
}
