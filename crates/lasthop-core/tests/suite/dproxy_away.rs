// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme dproxy (docs/design.md, section 5.11) over a host whose queue takes its time, and loses what is
//! in it: what was released comes by late or never.

use std::collections::VecDeque;

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp};
use lasthop_core::{Actions, Flow, Host, Limits, MSEC_NS, SEC_NS, Segment, parse};

use crate::dproxy::dproxy;
use crate::ends::Random;

const SIZE: u32 = 1_000;
const FIRST: u32 = u32::MAX - 50_000;

struct Queue {
    host: Host,
    flow: Flow,
    call: lh_call,
    config: lh_config,
    /// Released, when, and on its way through the host.
    away: VecDeque<(u64, Vec<u8>)>,
    /// Whether something was longer on it than is waited for.
    late: bool,
    /// What the receiver got: first and last numbers.
    on: Vec<(u32, u32)>,
    /// What came, was a copy, and got lost in the host.
    came: u64,
    lost: u64,
    deadline: u64,
}

fn rel(s: &Segment) -> (u32, u32) {
    (s.seq.wrapping_sub(FIRST), s.end.wrapping_sub(FIRST))
}

fn segment(packet: &[u8]) -> Segment {
    parse(packet, 0, None, false).expect("TCP").0
}

impl Queue {
    fn new() -> Self {
        let mut queue = Self {
            host: Host::new(Limits::default()),
            flow: Flow::new(),
            call: lh_call {
                partner: 1,
                ..lh_call::at(SEC_NS)
            },
            config: dproxy(),
            away: VecDeque::new(),
            late: false,
            on: Vec::new(),
            came: 0,
            lost: 0,
            deadline: 0,
        };
        // Both ends are there.
        queue.answers();
        queue.comes(0, SIZE);
        queue
    }

    /// The receiver acknowledges what it has.
    fn answers(&mut self) -> u32 {
        let mut all = self.on.clone();
        all.sort_unstable();
        let joins = |front: u32, &(seq, end): &(u32, u32)| match seq <= front {
            true => front.max(end),
            false => front,
        };
        let front = all.iter().fold(0, joins);
        let ack = FIRST.wrapping_add(front);
        let answer = Tcp {
            seq: 1,
            ack,
            ..Tcp::default()
        }
        .to_mh(&Ends::v4(1));
        let (s, _) = parse(&answer, 0, None, true).expect("TCP");
        let actions = self
            .host
            .on_data(&mut self.flow, &self.config, &s, &self.call);
        self.act(&actions);
        front
    }

    fn act(&mut self, actions: &Actions) {
        self.deadline = actions.next_deadline_ns;
        for &slot in actions.releases() {
            let packet = self.host.pool().packet(slot).expect("its slot");
            self.away.push_back((self.call.now_ns, packet.to_vec()));
        }
    }

    /// A segment comes over the hop.
    fn comes(&mut self, seq: u32, bytes: u32) {
        let tcp = Tcp {
            seq: FIRST.wrapping_add(seq),
            ack: 1,
            payload: vec![seq as u8; bytes as usize],
            ..Tcp::default()
        };
        let packet = tcp.to_fh(&Ends::v4(1));
        let s = segment(&packet);
        let mut actions = self
            .host
            .on_ack(&mut self.flow, &self.config, &s, &self.call);
        self.came += 1;
        if actions.waits() {
            let waits = (packet.as_slice(), &s);
            self.host.on_wait(
                &mut self.flow,
                &self.config,
                waits,
                &self.call,
                &mut actions,
            );
        } else if !actions.is_drop() {
            self.on.push(rel(&s));
        }
        self.act(&actions);
    }

    /// The next of those that are away comes by, or gets `lost`.
    fn comes_by(&mut self, lost: bool) {
        let Some((since, packet)) = self.away.pop_front() else {
            return;
        };
        self.late |= self.call.now_ns - since >= 50 * MSEC_NS;
        if lost {
            self.lost += 1;
            return;
        }
        let s = segment(&packet);
        let actions = self
            .host
            .on_through(&mut self.flow, &self.config, &s, &self.call);
        self.on.push(rel(&s));
        self.act(&actions);
    }

    /// So much later the timer has been served.
    fn pass(&mut self, ns: u64) {
        let until = self.call.now_ns + ns;
        let mut served = 0;
        while self.deadline != 0 && self.deadline <= until {
            self.call.now_ns = self.call.now_ns.max(self.deadline);
            let actions = self.host.on_timer(&mut self.flow, &self.config, &self.call);
            self.act(&actions);
            served += 1;
            assert!(served < 1_000, "a timer that spins");
        }
        self.call.now_ns = until;
    }

    fn count(&self, counter: u32) -> u64 {
        self.host.counter(counter)
    }
}

/// `losses` of the host's queue in a hundred. @return whether nothing excused another order.
fn random(seed: u64, losses: u64) -> bool {
    let mut random = Random(seed);
    let mut queue = Queue::new();
    let (mut next, mut missing, mut front) = (1, Vec::new(), 0);
    let mut below = |n: u64| random.next() % n;
    for _ in 0..1_000 {
        match below(16) {
            // As far as the window goes.
            0..=6 if next * SIZE < front + 50_000 => {
                let (n, lost) = (1 + below(3) as u32, below(8) == 0);
                if lost {
                    missing.extend(next..next + n);
                } else {
                    (next..next + n).for_each(|n| queue.comes(n * SIZE, SIZE));
                }
                next += n;
            }
            0..=8 if !missing.is_empty() => {
                for _ in 0..missing.len().min(3) {
                    let n: u32 = missing.remove(below(missing.len() as u64) as usize);
                    queue.comes(n * SIZE, SIZE);
                }
            }
            // Its sender sends again, with other borders.
            9 => {
                let back = (below(40) as u32).min(next - 1);
                let off = below(u64::from(SIZE)) as u32;
                queue.comes((next - 1 - back) * SIZE + off, 1 + below(1_400) as u32);
            }
            10..=13 => (0..8).for_each(|_| queue.comes_by(below(100) < losses)),
            _ => queue.pass(below(4) * MSEC_NS),
        }
        front = queue.answers();
    }
    for _ in 0..2_000 {
        queue.comes_by(false);
        queue.pass(MSEC_NS);
    }
    let case = format!("seed {seed}, {losses} %");
    let dropped = queue.count(LH_C_copies_dropped);
    assert_eq!(
        queue.on.len() as u64 + dropped + queue.lost,
        queue.came,
        "{case}"
    );
    assert_eq!(queue.flow.waiting(), 0, "{case}");
    let pool = queue.host.pool();
    assert_eq!((pool.slots_used(), pool.chunks_used()), (0, 0), "{case}");
    assert_eq!(queue.count(LH_C_unsequenced), 0, "{case}");
    assert_eq!(queue.count(LH_C_bypass_unacceptable), 0, "{case}");
    let mut front = 0;
    let kept = !queue.late && queue.lost == 0 && queue.count(LH_C_holes_given_up) == 0;
    if kept {
        for &(seq, end) in &queue.on {
            assert!(seq <= front, "{case}: {seq} where {front} is missing");
            front = front.max(end);
        }
    }
    kept
}

#[test]
fn what_was_released_may_come_late_or_never() {
    let kept = (1..90).filter(|&seed| random(seed, [0, 1, 20][seed as usize % 3]));
    let kept = kept.count();
    assert!(kept >= 10, "{kept}");
}
