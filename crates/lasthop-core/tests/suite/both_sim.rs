// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A transfer over a hop with an agent at either end, event by event, on whatever links and with whatever
//! becomes of the agents and of what they tell each other. On its way are checked: that it ends, the
//! content, that a repair is what its sender sent, that no segment has more of them than it may, that no
//! timer spins, and that nothing leaks.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use lasthop_core::bindings::*;
use lasthop_core::message::can;
use lasthop_core::packet::{Ends, Tcp, checksum_ok, option};
use lasthop_core::{Agent, Config, Key, Limits, MSEC_NS, Outcome, SEC_NS, Setup, parse};

use crate::ends::{
    DEADLINE_NS, Piece, Random, Receiver, Sender, data_flags, timestamps, with_blocks,
};
use crate::rig::payload;
use crate::sim::Path;

const MSS: usize = 256;
const WSCALE: u8 = 4;
const OTHER: u32 = 77;

/// Chances are per mille.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub base: u32,
    pub segments: usize,
    pub max_segment: usize,
    pub window_segments: usize,
    pub down: bool,
    pub sack: bool,
    pub delay_acks: bool,
    pub timestamps: bool,
    pub resegment: bool,
    pub wire: Path,
    /// The hop, as data take it, and as their ACKs do.
    pub data: Path,
    pub acks: Path,
    pub tx_us: u64,
    /// Of what the agents tell each other, beside what the hop does to it.
    pub untold: u32,
    /// Per event: an agent forgets the connection, stops or goes on serving timers, hears no more or
    /// again of the other; something is told that nobody said; the link is said to be down or up.
    pub forget: u32,
    pub dying: u32,
    pub parting: u32,
    pub lies: u32,
    pub link: u32,
    /// Nothing crosses the hop from then on, for so long, ms.
    pub outage: (u64, u64),
    pub slots: u32,
    pub mac: bool,
    /// Configurations of base and mobile end.
    pub configs: [Config; 2],
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
enum Event {
    /// Comes to the agent there from its host's side, over the hop, or to the host.
    Leaves(usize, Vec<u8>),
    Arrives(usize, Vec<u8>),
    Host(usize, Vec<u8>),
    Told(usize, Vec<(u32, u32)>),
    Absent(usize, Vec<(u32, u32)>),
    Mac(usize, Vec<u8>, u32, u64),
    SenderTimer,
    ReceiverTimer,
}

pub struct Both {
    p: Plan,
    random: Random,
    ends: Ends,
    agents: [Agent; 2],
    alive: [bool; 2],
    apart: [bool; 2],
    sender: Sender,
    receiver: Receiver,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    now_ns: u64,
    nr: u64,
    free_ns: u64,
    /// Every packet that a host sent, and how often it was repaired since.
    sent: HashMap<Vec<u8>, (Piece, u32)>,
    echo: (u32, u32),
    /// Timers served at this time.
    again: (u32, u64),
}

/// Timers at one and the same time.
const SPINS: u32 = 20;

impl Both {
    pub fn new(p: Plan) -> Self {
        let mut random = Random(p.seed);
        let sizes: Vec<usize> = (0..p.segments)
            .map(|_| 1 + random.below(p.max_segment as u64) as usize)
            .collect();
        let sender = Sender::new(
            &sizes,
            p.window_segments * p.max_segment,
            p.sack,
            p.resegment,
        );
        let total = sender.total();
        let hop_ns = (p.data.delay_ms + p.acks.delay_ms) * MSEC_NS;
        let agent = |i: usize| {
            let mut agent = Agent::new(Setup {
                config: p.configs[i],
                limits: Limits {
                    slots: p.slots,
                    chunks: 128,
                    ..Limits::default()
                },
                ..Setup::default()
            });
            agent.set_partner(Some(hop_ns));
            agent.set_partner_can(can(p.configs[1 - i].policy()));
            agent
        };
        let mut both = Self {
            random,
            ends: Ends::v4(1),
            agents: [agent(0), agent(1)],
            alive: [true; 2],
            apart: [false; 2],
            receiver: Receiver::new(total, p.sack, p.delay_acks),
            sender,
            queue: BinaryHeap::new(),
            now_ns: SEC_NS,
            nr: 0,
            free_ns: 0,
            sent: HashMap::new(),
            echo: (0, 0),
            again: (0, 0),
            p,
        };
        both.shake_hands();
        both
    }

    /// The end behind which the sender is.
    fn from(&self) -> usize {
        usize::from(!self.p.down)
    }

    fn packet(&self, end: usize, tcp: &Tcp) -> Vec<u8> {
        match end {
            0 => tcp.to_mh(&self.ends),
            _ => tcp.to_fh(&self.ends),
        }
    }

    fn key(&self, end: usize) -> Key {
        let (_, key) = parse(&Tcp::default().to_mh(&self.ends), 0, None, true).expect("TCP");
        match end {
            0 => key,
            _ => key.from_the_other_end(),
        }
    }

    fn shake_hands(&mut self) {
        let mut options = [option::mss(MSS as u16), option::wscale(WSCALE)].concat();
        if self.p.sack {
            options.extend(option::sack_ok());
        }
        let (from, to) = (self.from(), 1 - self.from());
        let syn = |seq, ack, flags, options: &[u8]| Tcp {
            seq,
            ack,
            flags,
            window: 30_000,
            options: options.to_vec(),
            ..Tcp::default()
        };
        let first = self.p.base.wrapping_sub(1);
        let steps = [
            (from, syn(first, 0, LH_SYN, &options)),
            (to, syn(OTHER - 1, self.p.base, LH_SYN | LH_ACK, &options)),
            (from, syn(self.p.base, OTHER, LH_ACK, &[])),
        ];
        for (end, tcp) in steps {
            let packet = self.packet(end, &tcp);
            self.agents[end].on_egress(&packet, self.now_ns);
            self.now_ns += self.p.data.delay_ms * MSEC_NS;
            self.agents[1 - end].on_ingress(&packet, self.now_ns);
            self.now_ns += self.p.wire.delay_ms * MSEC_NS;
        }
    }

    fn push(&mut self, at: u64, event: Event) {
        self.nr += 1;
        self.queue.push(Reverse((at, self.nr, event)));
    }

    pub fn run(mut self) {
        let first = self.sender.pump(self.now_ns, &mut self.random);
        self.send(first);
        while !self.sender.done() {
            let event = self.queue.peek().map(|Reverse((at, ..))| *at);
            let timer = (0..2).filter(|&i| self.alive[i]).filter_map(|i| {
                let at = self.agents[i].next_deadline()?;
                Some(at.max(self.now_ns))
            });
            let at = timer.chain(event).min().expect("something is under way");
            assert!(at < DEADLINE_NS, "the transfer hangs");
            self.now_ns = at;
            self.mishaps();
            self.step();
        }
        assert!(self.receiver.got.iter().all(|&got| got));
        self.close();
    }

    fn mishaps(&mut self) {
        let now = self.now_ns;
        for end in 0..2 {
            let key = self.key(end);
            if self.random.chance(self.p.forget) {
                self.sent.values_mut().for_each(|(_, times)| *times = 0);
                for packet in self.agents[end].forget(&key, now) {
                    self.passes(end, packet);
                }
            }
            if self.random.chance(self.p.dying) {
                self.alive[end] ^= true;
                self.agents[end].set_alive(self.alive[end]);
            }
            if self.random.chance(self.p.parting) {
                self.apart[end] ^= true;
                let hop = (self.p.data.delay_ms + self.p.acks.delay_ms) * MSEC_NS;
                self.agents[end].set_partner((!self.apart[end]).then_some(hop));
            }
            if self.random.chance(self.p.link) {
                let up = self.random.chance(700);
                for (_, outcome) in self.agents[end].on_link(up, now) {
                    self.carry_out(end, outcome);
                }
            }
            if self.random.chance(self.p.lies) {
                self.lie(end);
            }
        }
    }

    /// What the other agent never said, about what is under way.
    fn lie(&mut self, end: usize) {
        let start = self.p.base.wrapping_add(self.sender.una as u32);
        let mut list = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let left = start
                .wrapping_add(self.random.below(4_000) as u32)
                .wrapping_sub(200);
            list.push((left, left.wrapping_add(self.random.below(3_000) as u32)));
        }
        let (key, now) = (self.key(end), self.now_ns);
        let outcome = match self.random.below(2) {
            0 => self.agents[end].on_partner(&key, &list, now),
            _ => self.agents[end].on_absent(&key, &list, now),
        };
        self.carry_out(end, outcome);
    }

    fn step(&mut self) {
        let now = self.now_ns;
        for end in 0..2 {
            if !self.alive[end] || self.agents[end].next_deadline().is_none_or(|at| at > now) {
                continue;
            }
            for (_, outcome) in self.agents[end].on_timer(now) {
                self.carry_out(end, outcome);
            }
            // What is due with this call's work done may be so at once, but not for ever.
            self.again = if now == self.again.1 {
                (self.again.0 + 1, now)
            } else {
                (0, now)
            };
            assert!(self.again.0 < SPINS, "a timer that spins");
            return;
        }
        if self
            .queue
            .peek()
            .is_some_and(|Reverse((at, ..))| *at <= now)
        {
            if let Some(Reverse((_, _, event))) = self.queue.pop() {
                self.handle(event);
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let now = self.now_ns;
        match event {
            Event::Leaves(end, packet) => {
                self.departs(end, &packet);
                let outcome = self.agents[end].on_egress(&packet, now);
                assert!(!outcome.dropped, "what leaves goes on");
                let packet = outcome.annotated.clone().unwrap_or(packet);
                self.over(end, packet, end == self.from());
                self.carry_out(end, outcome);
            }
            Event::Arrives(end, packet) => {
                let outcome = self.agents[end].on_ingress(&packet, now);
                let passed =
                    outcome.passed.is_none() && !outcome.dropped && outcome.actions.is_none();
                self.carry_out(end, outcome);
                if passed {
                    self.passes(end, packet);
                }
            }
            Event::Told(end, list) => {
                let outcome = self.agents[end].on_partner(&self.key(end), &list, now);
                self.carry_out(end, outcome);
            }
            Event::Absent(end, list) => {
                let outcome = self.agents[end].on_absent(&self.key(end), &list, now);
                self.carry_out(end, outcome);
            }
            Event::Mac(end, packet, event, queued_ns) => {
                let report = lh_mac_report {
                    event,
                    queued_ns,
                    at_ns: now,
                    pad: 0,
                };
                let part = &packet[..packet.len().min(128)];
                let outcome = self.agents[end].on_mac(part, packet.len(), &report, now);
                self.carry_out(end, outcome);
            }
            Event::Host(end, packet) => self.host(end, &packet),
            Event::SenderTimer => {
                if self.sender.timer_ns.is_some_and(|t| t <= now) {
                    let out = self.sender.on_timer(now, &mut self.random);
                    self.send(out);
                }
            }
            Event::ReceiverTimer => {
                if self.receiver.timer_ns.is_some_and(|t| t <= now) {
                    let reply = self.receiver.on_timer();
                    self.reply(reply.ack, &reply.blocks);
                }
            }
        }
    }

    /// What the sender sends again has as many tries once more, and so does what it touches.
    fn departs(&mut self, end: usize, packet: &[u8]) {
        if end != self.from() {
            return;
        }
        let (s, _) = parse(packet, 0, None, end == 0).expect("TCP");
        let (from, to) = (self.place(s.seq), self.place(s.end));
        let piece = Piece { from, to };
        self.sent.insert(packet.to_vec(), (piece, 0));
        for (piece, times) in self.sent.values_mut() {
            if piece.from < to && from < piece.to {
                *times = 0;
            }
        }
    }

    fn carry_out(&mut self, end: usize, outcome: Outcome) {
        for packet in outcome.to_fh {
            self.passes(end, packet);
        }
        if let Some(packet) = outcome.passed {
            self.passes(end, packet);
        }
        for packet in outcome.to_mh {
            self.repair(end, packet);
        }
        for list in outcome.told {
            self.tells(end, Event::Told(1 - end, list));
        }
        if !outcome.absent.is_empty() {
            self.tells(end, Event::Absent(1 - end, outcome.absent));
        }
    }

    fn repair(&mut self, end: usize, packet: Vec<u8>) {
        assert_eq!(end, self.from(), "only data are repaired");
        let max = self.p.configs[end].max_local;
        let (_, times) = self.sent.get_mut(&packet).expect("a repair is verbatim");
        *times += 1;
        let probes = self.p.configs[end].scheme == LH_SCHEME_rack && end == 0;
        assert!(probes || *times <= max, "max_local");
        self.over(end, packet, true);
    }

    fn tells(&mut self, end: usize, event: Event) {
        let path = if end == self.from() {
            self.p.data
        } else {
            self.p.acks
        };
        if !self.random.chance(self.p.untold) {
            self.travel(self.now_ns, path, true, event);
        }
    }

    /// Onto the hop.
    fn over(&mut self, end: usize, packet: Vec<u8>, data: bool) {
        assert!(checksum_ok(&packet));
        let (mut at, path) = (self.now_ns, if data { self.p.data } else { self.p.acks });
        if data {
            self.free_ns = self.free_ns.max(at) + self.p.tx_us * 1_000;
            at = self.free_ns;
        }
        let came = self.travel(at, path, true, Event::Arrives(1 - end, packet.clone()));
        if self.p.mac && !self.random.chance(self.p.untold) {
            let event = match came {
                true => LH_MAC_DELIVERED,
                false => LH_MAC_GIVEN_UP,
            };
            let queued = self.now_ns;
            self.push(
                at + path.delay_ms * MSEC_NS,
                Event::Mac(end, packet, event, queued),
            );
        }
    }

    fn travel(&mut self, from_ns: u64, path: Path, hop: bool, event: Event) -> bool {
        let (start, len) = self.p.outage;
        let since = self.now_ns.saturating_sub(SEC_NS) / MSEC_NS;
        if self.random.chance(path.loss) || hop && (start..start + len).contains(&since) {
            return false;
        }
        let copies = 1 + u64::from(self.random.chance(path.dup));
        for i in 0..copies {
            let jitter = self.random.below(path.jitter_ms * 1_000 + 1) * 1_000;
            self.push(
                from_ns + path.delay_ms * MSEC_NS + jitter + i,
                event.clone(),
            );
        }
        true
    }

    /// On to the host behind `end`.
    fn passes(&mut self, end: usize, packet: Vec<u8>) {
        assert!(checksum_ok(&packet));
        let (s, _) = parse(&packet, 0, None, end == 1).expect("TCP");
        assert_eq!(s.nr_missing, 0, "the agents' option got past the hop");
        let event = Event::Host(end, packet);
        if end == 0 {
            self.travel(self.now_ns, self.p.wire, false, event);
        } else {
            self.push(self.now_ns, event);
        }
    }

    fn host_sends(&mut self, end: usize, packet: Vec<u8>) {
        let event = Event::Leaves(end, packet);
        if end == 0 {
            self.travel(self.now_ns, self.p.wire, false, event);
        } else {
            self.push(self.now_ns, event);
        }
    }

    fn place(&self, seq: u32) -> usize {
        seq.wrapping_sub(self.p.base) as usize
    }

    fn seq(&self, place: usize) -> u32 {
        self.p.base.wrapping_add(place as u32)
    }

    fn host(&mut self, end: usize, packet: &[u8]) {
        let (s, _) = parse(packet, 0, None, end == 1).expect("TCP");
        if end != self.from() {
            let bytes = &packet[usize::from(s.hdr_bytes)..];
            assert_eq!(bytes, payload(s.seq, bytes.len()), "content");
            self.echo.1 = self.echo.1.max(s.tsval);
            let piece = Piece {
                from: self.place(s.seq),
                to: self.place(s.end),
            };
            if let Some(reply) = self.receiver.on_piece(piece, self.now_ns) {
                self.reply(reply.ack, &reply.blocks);
            } else if let Some(at) = self.receiver.timer_ns {
                self.push(at, Event::ReceiverTimer);
            }
            return;
        }
        self.echo.0 = self.echo.0.max(s.tsval);
        let ack = self.place(s.ack);
        assert!(
            ack <= self.receiver.next,
            "not acknowledged by its receiver"
        );
        let blocks: Vec<_> = s
            .sack_blocks()
            .iter()
            .map(|b| Piece {
                from: self.place(b.left),
                to: self.place(b.right),
            })
            .collect();
        self.sender
            .on_window(ack, ack + (usize::from(s.window) << WSCALE));
        let out = self
            .sender
            .on_ack(ack, &blocks, true, self.now_ns, &mut self.random);
        self.send(out);
    }

    fn timestamps(&self, echo: u32) -> Vec<u8> {
        timestamps(self.p.timestamps, self.now_ns, echo)
    }

    fn reply(&mut self, ack: usize, blocks: &[Piece]) {
        let options = with_blocks(self.timestamps(self.echo.1), blocks, |at| self.seq(at));
        let tcp = Tcp {
            seq: OTHER,
            ack: self.seq(ack),
            window: 2_000,
            options,
            ..Tcp::default()
        };
        let end = 1 - self.from();
        let packet = self.packet(end, &tcp);
        self.host_sends(end, packet);
    }

    fn send(&mut self, pieces: Vec<Piece>) {
        let end = self.from();
        for piece in pieces {
            let fin = piece.to == self.sender.total();
            let seq = self.seq(piece.from);
            let tcp = Tcp {
                seq,
                ack: OTHER,
                flags: data_flags(fin),
                options: self.timestamps(self.echo.0),
                payload: payload(seq, piece.to - piece.from - usize::from(fin)),
                ..Tcp::default()
            };
            let packet = self.packet(end, &tcp);
            self.host_sends(end, packet);
        }
        if let Some(at) = self.sender.timer_ns {
            self.push(at, Event::SenderTimer);
        }
    }

    fn close(&mut self) {
        let rst = Tcp {
            seq: self.seq(self.sender.total()),
            flags: LH_RST,
            ..Tcp::default()
        };
        let (from, to) = (self.from(), 1 - self.from());
        let packet = self.packet(from, &rst);
        for end in [from, to] {
            self.agents[end].set_alive(true);
            for i in 1..100 {
                self.agents[end].on_timer(self.now_ns + i * SEC_NS);
            }
            match end == from {
                true => self.agents[end].on_egress(&packet, self.now_ns + 100 * SEC_NS),
                false => self.agents[end].on_ingress(&packet, self.now_ns + 100 * SEC_NS),
            };
            self.agents[end].sweep(self.now_ns + 220 * SEC_NS);
            self.agents[end].sweep(self.now_ns + 7_300 * SEC_NS);
            let pool = self.agents[end].host().pool();
            assert_eq!((pool.slots_used(), pool.chunks_used()), (0, 0), "a leak");
            assert_eq!(self.agents[end].keys().count(), 0);
        }
    }
}
