// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A super-packet that goes through as one (core/train.h) leaves behind what its segments would have
//! left, each by itself; and an ACK of many segments (core/pop.h) what ACKs of them teach.

use lasthop_core::bindings::*;
use lasthop_core::{
    Actions, Call, Config, Entry, Flow, Host, Limits, MSEC_NS, Segment, scheme_by_name,
};
use proptest::prelude::*;

const PART: u32 = 1_000;
const WSCALE: u8 = 7;

/// A connection through an agent of its own.
struct Side {
    host: Host,
    flow: Flow,
    config: Config,
    now_ns: u64,
    cap: u32,
}

fn segment(seq: u32, payload_bytes: u32, flags: u32) -> Segment {
    let numbers = payload_bytes + u32::from(flags & (LH_SYN | LH_FIN) != 0);
    Segment {
        seq,
        end: seq.wrapping_add(numbers),
        ack: 1,
        payload_bytes,
        flags: flags as u16,
        window: 60_000,
        wscale: LH_WSCALE_NONE as u8,
        opts: LH_OPT_TS as u8,
        tsval: 5,
        tsecr: 7,
        ..Segment::default()
    }
}

impl Side {
    /// After its handshake; FH's first byte is number 1.
    fn new(scheme: &str, limits: Limits) -> Self {
        let mut side = Self {
            host: Host::new(limits),
            flow: Flow::new(),
            config: Config {
                scheme: scheme_by_name(scheme).expect("a scheme"),
                ..Config::default()
            },
            now_ns: 1_000_000_000,
            cap: u32::MAX,
        };
        let opens = |flags| Segment {
            wscale: WSCALE,
            mss: PART as u16,
            opts: (LH_OPT_TS | LH_OPT_WSCALE | LH_OPT_SACK_OK | LH_OPT_MSS) as u8,
            ..segment(0, 0, flags)
        };
        side.each(&Segment {
            ack: 0,
            ..opens(LH_SYN)
        });
        side.passes(10);
        side.mh_sends(&opens(LH_SYN | LH_ACK));
        side.passes(90);
        side.each(&segment(1, 0, LH_ACK));
        side.passes(1);
        side
    }

    /// One that MH has acknowledged data of, so that it may have much cached.
    fn proved(scheme: &str) -> Self {
        let mut side = Self::new(scheme, Limits::default());
        side.each(&segment(1, PART, LH_ACK));
        side.passes(10);
        side.acks(1 + PART);
        side
    }

    fn passes(&mut self, ms: u64) {
        self.now_ns += ms * MSEC_NS;
    }

    fn call(&self) -> Call {
        Call {
            cap_segments: self.cap,
            ..Call::at(self.now_ns)
        }
    }

    fn each(&mut self, s: &Segment) -> Actions {
        let call = self.call();
        self.host.on_data(&mut self.flow, &self.config, s, &call)
    }

    fn whole(&mut self, s: &Segment, part_bytes: u32) -> Option<Actions> {
        let call = self.call();
        let train = Segment { part_bytes, ..*s };
        self.host
            .on_train(&mut self.flow, &self.config, &train, &call)
    }

    /// Cut as segmentation would do it.
    fn slices(&mut self, s: &Segment, part_bytes: u32) -> Actions {
        let mut at = 0;
        loop {
            let n = part_bytes.min(s.payload_bytes - at);
            let last = at + n == s.payload_bytes;
            let flags = match last {
                true => u32::from(s.flags),
                false => u32::from(s.flags) & !(LH_FIN | LH_PSH),
            };
            let cut = segment(s.seq.wrapping_add(at), n, flags);
            let actions = self.each(&Segment { ecn: s.ecn, ..cut });
            if last {
                return actions;
            }
            at += n;
        }
    }

    fn mh_sends(&mut self, s: &Segment) -> Actions {
        let call = self.call();
        self.host.on_ack(&mut self.flow, &self.config, s, &call)
    }

    fn acks(&mut self, ack: u32) {
        self.mh_sends(&Segment {
            ack,
            seq: 1,
            end: 1,
            // MH's clock ticks, so that the wired round trip is measured.
            tsval: (self.now_ns / MSEC_NS) as u32,
            tsecr: 5,
            ..segment(1, 0, LH_ACK)
        });
    }

    /// Whether memory of what was acknowledged is still to be given back.
    fn owes(&self) -> bool {
        let ring = &self.flow.raw().ring;
        ring.spent != ring.head
    }

    fn settle(&mut self) {
        for _ in 0..20 {
            self.passes(10);
            let call = self.call();
            self.host.on_timer(&mut self.flow, &self.config, &call);
        }
    }

    fn entries(&mut self) -> Vec<(u32, u32, u64, u32, u32, u8)> {
        let of = |e: &Entry| (e.seq, e.end, e.last_tx_ns, e.delivered, e.tsval, e.flags);
        self.host.entries(&self.flow).iter().map(of).collect()
    }

    /// What the agent knows, but for where things lie and what was given back so far.
    fn knows(&self) -> String {
        let mut flow = *self.flow.raw();
        flow.ring.dir = [0; LH_FLOW_CHUNKS as usize];
        flow.ring.tail -= flow.ring.head;
        flow.ring.head = 0;
        flow.ring.spent = 0;
        flow.ring.nr_small = 0;
        flow.ring.reclaimed_ns = 0;
        // How many segments MH acknowledges at once is what they differ in.
        flow.delivery.stride_now = 0;
        format!("{flow:?}")
    }

    fn counters(&self) -> Vec<u64> {
        (0..LH_NR_COUNTERS).map(|c| self.host.counter(c)).collect()
    }
}

/// Two sides that are told the same, one of super-packets as one.
struct Twins(Side, Side);

impl Twins {
    fn of(make: impl Fn() -> Side) -> Self {
        Self(make(), make())
    }

    fn sends(&mut self, s: &Segment, part: u32) {
        let one = self.0.whole(s, part).expect("an ordinary one");
        let other = self.1.slices(s, part);
        // The timer also gives back memory, of which one may have more left than the other.
        if !self.0.owes() && !self.1.owes() {
            assert_eq!(one.next_deadline_ns, other.next_deadline_ns);
        }
        assert_eq!(one.mark_ce, other.mark_ce);
        self.agree();
    }

    fn both(&mut self, act: impl Fn(&mut Side)) {
        act(&mut self.0);
        act(&mut self.1);
        self.agree();
    }

    fn agree(&mut self) {
        assert_eq!(self.0.entries(), self.1.entries());
        let (one, other) = (self.0.knows(), self.1.knows());
        let apart = one.bytes().zip(other.bytes()).position(|(a, b)| a != b);
        if let Some(at) = apart {
            let near = at.saturating_sub(30)..at + 30;
            panic!("{:?} beside {:?}", one.get(near.clone()), other.get(near));
        }
        assert_eq!(self.0.counters(), self.1.counters());
    }
}

#[test]
fn one_call_does_what_many_do() {
    for scheme in ["rack", "snoop", "sack", "slack", "snack", "dproxy", "none"] {
        let mut twins = Twins::of(|| Side::proved(scheme));
        let mut seq = 1 + PART;
        for bytes in [3 * PART, 40 * PART, 17 * PART + 500, 2 * PART + 50] {
            let flags = LH_ACK | LH_PSH;
            twins.sends(&segment(seq, bytes, flags), PART);
            seq += bytes;
            twins.both(|side| side.passes(7));
        }
        twins.sends(&segment(seq, 5 * PART, LH_ACK | LH_FIN | LH_PSH), PART);
        twins.both(|side| side.settle());
        twins.both(|side| side.acks(seq + 5 * PART + 1));
        twins.both(|side| side.settle());
        let pool = twins.0.host.pool();
        assert_eq!((pool.slots_used(), pool.chunks_used()), (0, 0), "{scheme}");
    }
}

/// At once or one by one, what an ACK covers teaches the same.
#[test]
fn an_ack_of_many_teaches_what_each_does() {
    for n in [3, 4, 5, 44, 63, 64, 65, 200, 1_000] {
        let mut twins = Twins::of(|| Side::proved("rack"));
        let mut next = 1 + PART;
        for _ in 0..n / 40 + 2 {
            twins.sends(&segment(next, 39 * PART + 800, LH_ACK), PART);
            next += 39 * PART + 800;
            twins.both(|side| side.passes(1));
        }
        // What may not be repaired is looked at one by one.
        let f = twins.1.flow.raw_mut();
        f.flags |= LH_FLOW_BLOCKED;
        (f.cache.blocked_start, f.cache.blocked_end) = (f.una, f.una + 1);
        twins.0.acks(1 + PART + n * PART);
        twins.1.acks(1 + PART + n * PART);
        for side in [&mut twins.0, &mut twins.1] {
            let cache = &mut side.flow.raw_mut().cache;
            (cache.blocked_start, cache.blocked_end) = (0, 0);
        }
        twins.agree();
    }
}

#[test]
fn numbers_wrap_within_a_train() {
    let mut twins = Twins::of(|| Side::proved("rack"));
    // As close to the wrap as windows get.
    let mut seq = 1 + PART;
    while seq < u32::MAX - 40 * PART {
        let step = 50_000 * PART;
        let next = seq.saturating_add(step).min(u32::MAX - 20 * PART);
        for side in [&mut twins.0, &mut twins.1] {
            let f = side.flow.raw_mut();
            for at in [&mut f.una, &mut f.max, &mut f.sacked_max] {
                *at = next;
            }
            f.fh.end = next;
            f.fh.edge = next.wrapping_add(7_680_000);
        }
        seq = next;
    }
    twins.sends(&segment(seq, 44 * PART, LH_ACK), PART);
    let end = seq.wrapping_add(44 * PART);
    assert!(end < seq);
    twins.both(|side| side.acks(end));
    assert_eq!(twins.0.flow.raw().una, end);
}

#[test]
fn what_finds_no_memory_is_not_repaired_here() {
    let limits = Limits {
        slots: 10,
        ..Limits::default()
    };
    let mut side = Side::new("rack", limits);
    side.acks(1);
    let before = side.host.counter(LH_C_uncached_full);
    side.whole(&segment(1, 30 * PART, LH_ACK), PART)
        .expect("an ordinary one");
    assert_eq!(side.entries().len(), 10);
    assert_eq!(side.host.counter(LH_C_uncached_full) - before, 20);
    let f = side.flow.raw();
    assert_eq!(f.max, 1 + 30 * PART);
    assert_ne!(f.flags & LH_FLOW_BLOCKED, 0);
    let blocked = (f.cache.blocked_start, f.cache.blocked_end);
    assert_eq!(blocked, (1 + 10 * PART, 1 + 30 * PART));
}

/// Whatever is not ordinary changes nothing by the question, and goes one by one.
#[test]
fn what_is_not_ordinary_goes_one_by_one() {
    let next = 1 + PART;
    let plain = segment(next, 10 * PART, LH_ACK);
    let refused = |what: &str, side: &mut Side, s: &Segment, part: u32| {
        let before = (side.knows(), side.counters());
        assert!(side.whole(s, part).is_none(), "{what}");
        assert!(before == (side.knows(), side.counters()), "{what}");
    };
    let mut side = Side::proved("rack");
    refused("no parts", &mut side, &plain, 0);
    refused("small parts", &mut side, &plain, 90);
    refused("too many", &mut side, &segment(next, 65_000, LH_ACK), 500);
    refused(
        "a gap",
        &mut side,
        &segment(next + 5, 2 * PART, LH_ACK),
        PART,
    );
    refused("again", &mut side, &segment(1, 10 * PART, LH_ACK), PART);
    refused(
        "far ahead",
        &mut side,
        &segment(next + (1 << 30), 2 * PART, LH_ACK),
        PART,
    );
    for flags in [LH_ACK | LH_SYN, LH_ACK | LH_RST, LH_ACK | LH_URG, LH_PSH] {
        let s = segment(next, 10 * PART, flags);
        refused("flags", &mut side, &s, PART);
    }
    let wrong = Segment {
        ack: 1 << 30,
        ..plain
    };
    refused("a forged ACK", &mut side, &wrong, PART);
    side.cap = 10; // nine tenths of which are for new data
    refused("a full share", &mut side, &plain, PART);
    side.cap = 12;
    assert!(side.whole(&plain, PART).is_some());
    let mut watcher = Side::proved("shadow");
    refused("watched", &mut watcher, &plain, PART);
    let mut fresh = Side {
        flow: Flow::new(),
        ..Side::new("rack", Limits::default())
    };
    refused("of nobody", &mut fresh, &plain, PART);
}

/// What happens on a connection without a loss.
#[derive(Debug, Clone)]
enum Event {
    /// Bytes of payload.
    Train(u32),
    /// How much of what is outstanding MH acknowledges, in 64ths.
    Acks(u32),
    Passes(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (PART + 1..=60 * PART).prop_map(Event::Train),
        (0u32..=64).prop_map(Event::Acks),
        (1u64..30).prop_map(Event::Passes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_course_without_loss(events in prop::collection::vec(event(), 1..120)) {
        let mut twins = Twins::of(|| Side::proved("rack"));
        let (mut una, mut next) = (1 + PART, 1 + PART);
        for event in events {
            match event {
                Event::Train(bytes) if next - una < 2_000 * PART => {
                    twins.sends(&segment(next, bytes, LH_ACK), PART);
                    next += bytes;
                }
                Event::Train(_) => {}
                Event::Acks(part) => {
                    una += (u64::from(next - una) * u64::from(part) / 64) as u32;
                    twins.both(|side| side.acks(una));
                }
                Event::Passes(ms) => twins.both(|side| side.passes(ms)),
            }
        }
        twins.both(|side| side.acks(next));
        twins.both(|side| side.settle());
        prop_assert_eq!(twins.0.host.pool().slots_used(), 0);
    }
}
