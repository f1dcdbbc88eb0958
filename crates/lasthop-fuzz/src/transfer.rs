// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A live transfer between two honest hosts, whose losses, times and choices the bytes decide, and
//! a hostile third that sends what they say: any flags, numbers at and around those in use.
//!
//! Nobody can keep hosts from harm by who knows their numbers. The agent must not add to it
//! (SECURITY.md), and that is checked at each step by [`watch`].

mod crowd;
mod far;
mod gateway;
mod hears;
mod hostile;
mod hosts;
mod order;
mod stretch;
mod watch;

use std::collections::VecDeque;

use lasthop_core::bindings::{
    LH_ACK, LH_C_outages, LH_POLICY_SEQUENCE, LH_ROLE_BASE, LH_ROLE_MOBILE, LH_SYN,
};
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Config, Limits, MSEC_NS, Outcome, parse};

pub use self::gateway::{Gateway, forget_all};

use self::gateway::{Native, traced, worked};
use self::hosts::{Fh, Mh};
use self::order::Order;
use self::watch::Watch;
use crate::input::Input;

/// Steps per input at the most.
const STEPS: usize = 600;
/// Waits, in milliseconds: an interval, delayed ACKs, timeouts, a flow that is forgotten.
const WAITS_MS: [u64; 16] = [
    0, 1, 2, 5, 10, 20, 40, 80, 120, 200, 300, 500, 1_000, 3_000, 11_000, 70_000,
];
/// A timer that is served so often within one wait spins.
const SERVED: usize = 20_000;
/// So often it is due at once, where data wait for their turn.
const AGAIN: usize = 64;

/// One input.
pub fn run(data: &[u8]) {
    drive(data, Native::new);
}

/// One input through the gateway that `make` makes of configuration and memory. Returns it.
pub fn drive<G: Gateway>(data: &[u8], make: impl FnOnce(Config, Limits) -> G) -> G {
    let mut world = World::new(Input::new(data), make);
    world.open();
    for _ in 0..STEPS {
        if world.input.is_empty() {
            break;
        }
        world.step();
    }
    world.forget();
    world.gateway
}

struct World<'a, G> {
    input: Input<'a>,
    gateway: G,
    /// The agent at the hop's other end.
    far: Option<Native>,
    /// What of the data that came over the hop the two agents let go on.
    order: Order,
    far_order: Order,
    /// Packets that went up the hop, and of which of them, by the bits of this number, it loses some.
    ups: u8,
    ups_lost: u8,
    /// Who opens, and what the handshake offers.
    how: u8,
    watch: Watch,
    ends: Ends,
    now_ns: u64,
    fh: Fh,
    mh: Mh,
    /// On the hop, towards MH, and since when.
    hop: VecDeque<(u64, Vec<u8>)>,
    /// How many more stretches may be talked.
    stretches: usize,
    /// Towards FH, behind the agent.
    wire: VecDeque<Vec<u8>>,
}

/// D-Proxy, with more to choose from.
fn dproxy(input: &mut Input<'_>) -> Config {
    let how = input.byte();
    Config {
        reorder_buffer: [150, 256, 4, 0][usize::from(how & 3)],
        order_rule: u32::from(how >> 2 & 1),
        tail_probe: u32::from(how >> 3 & 1),
        catch_up: 1 + u32::from(how >> 4 & 7),
        give_up: 4 + u32::from(how >> 7) * 4,
        ..Config::dproxy()
    }
}

/// Within the ranges of the configuration file.
fn config<G: Gateway>(input: &mut Input<'_>) -> Config {
    let scheme = input.below(6);
    let bits = input.byte();
    let other = bits & 0x40 != 0;
    let base = match scheme {
        0 => Config::observe(),
        1 if other => Config::sack(),
        1 => Config::snoop(),
        2 if other && G::HEARS => Config::snack(),
        2 => Config::slack(),
        3 if other && G::HEARS => Config::csnoop(),
        3 => Config::ns2(),
        5 if other && G::HEARS => dproxy(input),
        _ => Config::default(),
    };
    Config {
        clock: input.below(3) as u32,
        suppress: input.below(3) as u32,
        queue_guard: u32::from(bits & 1),
        strict_window: u32::from(bits >> 1 & 1),
        freeze: u32::from(bits >> 2 & 1),
        handoff: u32::from(bits >> 3 & 3),
        slack_bursts: 1 + u32::from(bits >> 5 & 1),
        sack_mask: u32::from(bits >> 7),
        dup_thresh: 1 + input.below(4) as u32,
        max_local: 1 + input.below(10) as u32,
        ..base
    }
}

impl<'a, G: Gateway> World<'a, G> {
    fn new(mut input: Input<'a>, make: impl FnOnce(Config, Limits) -> G) -> Self {
        let config = config::<G>(&mut input);
        let shape = input.byte();
        let config = match G::HEARS {
            true => Config {
                role: [LH_ROLE_BASE, LH_ROLE_MOBILE][usize::from(shape >> 5 & 1)],
                brake: u32::from(shape >> 7),
                partner: u32::from(shape >> 6 & 1),
                ..config
            },
            false => config,
        };
        // Sometimes so little that it runs out.
        let limits = match shape & 3 {
            0 => Limits {
                slots: 1 + u32::from(input.byte()),
                chunks: input.below(8) as u32,
                ..Limits::default()
            },
            _ => Limits {
                slots: 2_048,
                chunks: 64,
                ..Limits::default()
            },
        };
        let (first, mh_first, scale) = (input.word(), input.word(), input.byte());
        let wscale = scale % 15;
        let how = input.byte();
        let mut far = (how & 32 != 0 && G::HEARS).then(|| Native::far(config, limits));
        let mut gateway = make(config, limits);
        if shape & 64 != 0 {
            gateway.set_partner(Some(10 * MSEC_NS));
            if let Some(far) = &mut far {
                far.set_partner(Some(10 * MSEC_NS));
            }
        }
        if traced() {
            eprintln!("{:?}", gateway.config());
        }
        let ends = if shape & 4 == 0 {
            Ends::v4(1)
        } else {
            Ends::v6(1)
        };
        let mut world = Self {
            watch: Watch::new(gateway.config().max_local),
            ends,
            now_ns: gateway.start_ns(),
            gateway,
            far,
            order: Order::default(),
            far_order: Order::default(),
            ups: 0,
            ups_lost: how >> 6,
            how,
            fh: Fh::new(first, shape & 8 != 0),
            mh: Mh::new(mh_first, wscale, shape & 16 != 0),
            hop: VecDeque::new(),
            stretches: G::STRETCHES,
            wire: VecDeque::new(),
            input,
        };
        if world.gateway.config().policy() & LH_POLICY_SEQUENCE == 0 {
            world.far_order.any();
        }
        if scale >= 15 * 15 {
            world.crowd();
        }
        world
    }

    /// The handshake; whether the agent sees it and who opens is in the shape.
    fn open(&mut self) {
        let how = self.how;
        // 1,000, 250 or 100 ticks a second, or none.
        self.fh.ecn = if how & 16 == 0 { 0 } else { 2 };
        self.mh.tick_ns = [0, MSEC_NS, 4 * MSEC_NS, 10 * MSEC_NS][usize::from(how >> 2 & 3)];
        if how & 1 != 0 {
            return; // picked up in mid-stream
        }
        let mut options = [option::mss(1_000), option::wscale(self.mh.wscale)].concat();
        if self.mh.sack {
            options.extend(option::sack_ok());
        }
        let fh = Tcp {
            seq: self.fh.next.wrapping_sub(1),
            ack: self.mh.seq,
            flags: LH_SYN,
            options: options.clone(),
            ..Tcp::default()
        };
        let mh = Tcp {
            seq: self.mh.seq.wrapping_sub(1),
            ack: self.fh.next,
            flags: LH_SYN,
            options,
            ..Tcp::default()
        };
        let answers = |tcp: Tcp| Tcp {
            flags: LH_SYN | LH_ACK,
            ..tcp
        };
        let first = self.fh.next;
        let (fh_opens, ends) = (how & 2 == 0, self.ends);
        let (fh, mh) = match fh_opens {
            true => (fh.to_mh(&ends), answers(mh).to_fh(&ends)),
            false => (answers(fh).to_mh(&ends), mh.to_fh(&ends)),
        };
        for fh_speaks in [fh_opens, !fh_opens] {
            if fh_speaks {
                self.enters(&fh);
                self.egress(fh.clone());
            } else {
                self.leaves(mh.clone());
            }
        }
        self.far_order.opens(first);
        self.hop.clear();
        self.wire.clear();
    }

    fn step(&mut self) {
        let what = self.input.byte();
        match what % 16 {
            0..=3 => self.fh_sends(),
            4..=7 => self.hop_delivers(),
            8 | 9 => self.wire_delivers(),
            10 | 11 => self.wait(),
            12..=14 => self.hostile(),
            _ if what >= 0xb0 => self.talks(),
            _ => self.rarely(),
        }
    }

    fn fh_sends(&mut self) {
        let segments = 1 + self.input.below(16);
        self.sends(segments);
    }

    /// As many new segments as the window has room for.
    fn sends(&mut self, segments: usize) {
        for _ in 0..segments {
            let Some(tcp) = self.fh.new_segment(&self.mh) else {
                return;
            };
            self.egress(tcp.to_mh(&self.ends));
        }
    }

    /// Up to eight packets; a bit each of what is lost, and of what is overtaken by the next.
    fn hop_delivers(&mut self) {
        let (n, lost, late) = (self.input.below(8), self.input.byte(), self.input.byte());
        for i in 0..=n {
            if late >> i & 1 != 0 && self.hop.len() > 1 {
                self.hop.swap(0, 1);
            }
            let Some((_, packet)) = self.hop.pop_front() else {
                return;
            };
            if lost >> i & 1 != 0 {
                continue;
            }
            self.now_ns += MSEC_NS / 2;
            self.arrives(&packet);
        }
    }

    fn arrives(&mut self, packet: &[u8]) {
        for packet in self.enters(packet) {
            self.gets(&packet);
        }
    }

    /// MH does, and answers.
    fn gets(&mut self, packet: &[u8]) {
        let Ok((segment, _)) = parse(packet, 0, None, true) else {
            return;
        };
        if let Some(ack) = self.mh.takes(&segment, &self.fh, self.now_ns) {
            self.leaves(ack.to_fh(&self.ends));
        }
    }

    fn wire_delivers(&mut self) {
        let (n, lost) = (self.input.below(8), self.input.byte());
        for i in 0..=n {
            let Some(packet) = self.wire.pop_front() else {
                return;
            };
            if lost >> i & 1 == 0 {
                self.answered(&packet);
            }
        }
    }

    fn answered(&mut self, packet: &[u8]) {
        if let Ok((segment, _)) = parse(packet, 0, None, false) {
            if let Some(again) = self.fh.takes(&segment, self.mh.wscale) {
                self.egress(again.to_mh(&self.ends));
            }
        }
    }

    fn wait(&mut self) {
        let wait_ms = WAITS_MS[self.input.below(16)];
        self.pass(self.now_ns + wait_ms * MSEC_NS);
        self.gateway.sweep(self.now_ns);
        if let Some(far) = &mut self.far {
            far.sweep(self.now_ns);
            if far.core().keys().next().is_none() {
                self.far_order.forgotten();
            }
        }
    }

    /// When the next timer is due.
    fn next_deadline(&self) -> Option<u64> {
        let far = self.far.as_ref();
        let far = far.and_then(|far| far.core().next_deadline());
        let next = self.gateway.core().next_deadline();
        next.into_iter().chain(far).min()
    }

    /// Time passes, and the agents' timers are served.
    fn pass(&mut self, until_ns: u64) {
        // What goes on has the receiver answer, and that may be the timer's matter again.
        let sequence = self.gateway.config().policy() & LH_POLICY_SEQUENCE != 0;
        let (mut again, most) = (0, if sequence { AGAIN } else { 0 });
        for served in 0.. {
            let next = self.next_deadline();
            let Some(at) = next.filter(|at| *at <= until_ns) else {
                break;
            };
            assert!(served < SERVED, "a timer that spins");
            self.now_ns = self.now_ns.max(at);
            let of_far = self.far.as_mut().map(|far| far.on_timer(self.now_ns));
            self.far_acts(of_far.unwrap_or_default());
            for outcome in self.gateway.on_timer(self.now_ns) {
                self.order.goes(self.gateway.core(), &outcome, false);
                self.emit(outcome);
            }
            let due = self.next_deadline().is_some_and(|at| at <= self.now_ns);
            again = if due { again + 1 } else { 0 };
            assert!(again <= most, "a timer that spins");
        }
        self.order.timers(self.now_ns);
        self.far_order.timers(self.now_ns);
        self.now_ns = until_ns;
    }

    fn hostile(&mut self) {
        let (as_fh, tcp) = hostile::packet(&mut self.input, &self.fh, &self.mh);
        if as_fh {
            self.far_order.any();
            self.egress(tcp.to_mh(&self.ends));
        } else {
            self.ingress(tcp.to_fh(&self.ends));
        }
    }

    fn rarely(&mut self) {
        let what = self.input.byte();
        if what >= 0xd8 && G::HEARS {
            return self.hears(what & 7);
        }
        match what % 9 {
            0 => self.set_alive(false),
            1 | 2 => self.set_alive(true),
            kind @ (3 | 4) => {
                self.watch.link();
                for outcome in self.gateway.on_link(kind == 3, self.now_ns) {
                    self.order.goes(self.gateway.core(), &outcome, false);
                    self.emit(outcome);
                }
                let now_ns = self.now_ns;
                let of_far = self.far.as_mut().map(|far| far.on_link(kind == 3, now_ns));
                self.far_acts(of_far.unwrap_or_default());
            }
            5 => self.forget(),
            6 => {
                // The oldest as it was, or with other borders.
                let again = match what >= 0x80 {
                    true => self.fh.elsewhere(&self.mh),
                    false => self.fh.timeout(&self.mh),
                };
                if let Some(again) = again {
                    self.egress(again.to_mh(&self.ends));
                }
            }
            7 => self.mh.window = self.input.short(),
            // Enough for a window that takes its time to look through.
            _ => self.sends(400),
        }
    }

    fn set_alive(&mut self, alive: bool) {
        self.gateway.set_alive(alive);
        if let Some(far) = &mut self.far {
            far.set_alive(alive);
        }
    }

    fn trace(&self, what: &str, packet: &[u8], to_mh: bool) {
        if traced() {
            let ms = self.now_ns as f64 / 1e6;
            match parse(packet, 0, None, to_mh) {
                Ok((s, _)) => eprintln!(
                    "{ms:10.3} ms {what:8} flags {:#x} seq {}+{} ack {} window {} options {:#x} blocks {:?}",
                    s.flags,
                    s.seq,
                    s.payload_bytes,
                    s.ack,
                    s.window,
                    s.opts,
                    s.sack_blocks()
                        .iter()
                        .map(|b| (b.left, b.right))
                        .collect::<Vec<_>>()
                ),
                Err(why) => eprintln!("{ms:10.3} ms {what:8} {why:?}"),
            }
        }
    }

    fn egress(&mut self, packet: Vec<u8>) {
        self.trace("to MH", &packet, true);
        self.watch.sends(&packet, self.now_ns);
        let before = self.gateway.core().host().pool().looks();
        let mut outcome = self.gateway.on_egress(&packet, self.now_ns);
        worked(self.gateway.core(), before);
        assert!(!outcome.dropped, "data is never kept back");
        let syn =
            parse(&packet, 0, None, true).is_ok_and(|(s, _)| u32::from(s.flags) & LH_SYN != 0);
        self.order.goes(self.gateway.core(), &outcome, syn);
        let packet = self.set_out(packet, outcome.annotated.take());
        self.hop.push_back((self.now_ns, packet));
        self.emit(outcome);
    }

    fn ingress(&mut self, packet: Vec<u8>) {
        self.trace("from MH", &packet, false);
        let before = self.gateway.core().host().pool().looks();
        let outcome = self.gateway.on_ingress(&packet, self.now_ns);
        worked(self.gateway.core(), before);
        self.watch.answers(&packet, &outcome);
        self.order.any(); // MH has no data of its own
        self.order
            .comes(self.gateway.core(), &packet, &outcome, self.now_ns);
        let passed = outcome.passed.clone();
        let dropped = outcome.dropped;
        self.emit(outcome);
        if !dropped {
            self.wire.push_back(passed.unwrap_or(packet));
        }
    }

    fn emit(&mut self, outcome: Outcome) {
        for packet in outcome.to_mh {
            self.trace("repair", &packet, true);
            let outages = self.gateway.core().counter(LH_C_outages);
            self.watch.repairs(&packet, self.now_ns, outages);
            self.hop.push_front((self.now_ns, packet));
        }
        for packet in outcome.to_fh {
            self.trace("release", &packet, false);
            if !is_data(&packet) {
                self.watch.releases(&packet);
            }
            self.wire.push_back(packet);
        }
        if !outcome.absent.is_empty() {
            self.far_hears_absent(&outcome.absent);
        }
    }

    fn forget(&mut self) {
        if let Some(far) = &mut self.far {
            for packet in far.forget(self.now_ns) {
                self.far_order.released(&packet);
            }
            self.far_order.forgotten();
            let pool = far.core().host().pool();
            assert_eq!((pool.slots_used(), pool.chunks_used()), (0, 0));
        }
        for packet in self.gateway.forget(self.now_ns) {
            if !self.order.released(&packet) {
                self.watch.releases(&packet);
            }
        }
        self.order.forgotten();
        let pool = self.gateway.core().host().pool();
        assert_eq!((pool.slots_used(), pool.chunks_used()), (0, 0));
    }
}

/// Whether it is more than an ACK.
fn is_data(packet: &[u8]) -> bool {
    parse(packet, 0, None, false).is_ok_and(|(s, _)| s.seq != s.end)
}
