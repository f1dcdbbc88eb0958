// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A transfer over a wired path, an agent and a lossy hop, event by event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{DefaultHasher, Hash, Hasher};

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Agent, Config, Key, Limits, MSEC_NS, Outcome, SEC_NS, Segment, Setup, parse};

use crate::ends::{
    DEADLINE_NS, Piece, Random, Receiver, Sender, data_flags, timestamps, with_blocks,
};
use crate::rig::payload;
use crate::shadow::untouched;
use crate::watch::Watch;

const WSCALE: u8 = 4;
const MSS: usize = 256;

/// One path in one direction. Chances per mille.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub delay_ms: u64,
    pub jitter_ms: u64,
    pub loss: u32,
    pub dup: u32,
}

/// What forbids edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    Nothing,
    /// The SYN-ACK speaks of MPTCP.
    Mptcp,
    /// FH's data carries an option of TCP-MD5's kind.
    Auth,
}

/// A whole experiment; the seed decides what the chances leave open.
#[derive(Debug, Clone)]
pub struct Params {
    pub seed: u64,
    pub base: u32,
    pub segments: usize,
    pub max_segment: usize,
    pub window_segments: usize,
    pub sack: bool,
    pub delay_acks: bool,
    pub handshake: bool,
    pub resegment: bool,
    pub wired: Path,
    pub down: Path,
    pub up: Path,
    /// Serialisation of a data segment on the hop; repairs overtake.
    pub tx_us: u64,
    /// Chances per ACK: payload comes along, ECE toggles, window changes.
    pub upload: u32,
    pub ecn: u32,
    pub window: u32,
    /// Chance per ACK that the window closes, for 300 ms.
    pub close: u32,
    pub timestamps: bool,
    /// FH's data may be marked (ECT(0)).
    pub ect: bool,
    pub foreign: Foreign,
    /// On the hop every second packet of each direction gets lost.
    pub alternate: bool,
    /// Chances per event: state is lost, user space dies or comes back.
    pub forget: u32,
    pub dying: u32,
    /// Packets per event that somebody off the path forges, all numbers at random.
    pub blind: u32,
    /// They have no flags: nobody takes them for anything.
    pub noise: bool,
    pub slots: u32,
    pub config: Config,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    AgentData(Vec<u8>),
    AgentAck(Vec<u8>),
    Mh(Vec<u8>),
    Fh(Vec<u8>),
    SenderTimer,
    ReceiverTimer,
    Reopen,
}

/// How it went.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    pub done_ns: u64,
    pub sender_resent: u64,
    pub repairs: u64,
    pub held: u64,
    pub events: u64,
}

pub struct Sim {
    p: Params,
    random: Random,
    ends: Ends,
    key: Key,
    agent: Agent,
    watch: Watch,
    sender: Sender,
    receiver: Receiver,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    now_ns: u64,
    nr: u64,
    hop_free_ns: u64,
    alive: bool,
    mh_seq: u32,
    /// Up to where FH has MH's bytes, as if none had been lost.
    fh_got: u32,
    forger: Random,
    ece: bool,
    window: u16,
    closed: bool,
    /// Newest timestamps of MH's as FH, and of FH's as MH have them.
    echo: (u32, u32),
    /// Packets on the hop: towards MH, and from it.
    crossed: [u64; 2],
    nr_calls: u64,
    print: DefaultHasher,
}

impl Sim {
    pub fn new(p: Params) -> Self {
        let mut random = Random(p.seed);
        let sizes: Vec<usize> = (0..p.segments)
            .map(|_| 1 + random.below(p.max_segment as u64) as usize)
            .collect();
        let window = p.window_segments * p.max_segment;
        let sender = Sender::new(&sizes, window, p.sack, p.resegment);
        let total = sender.total();
        let ends = Ends::v4(1);
        let (_, key) = parse(&Tcp::default().to_mh(&ends), 0, None, true).expect("TCP");
        let setup = Setup {
            config: p.config,
            limits: Limits {
                slots: p.slots,
                chunks: 128,
                ..Limits::default()
            },
            ..Setup::default()
        };
        let mut sim = Self {
            random,
            ends,
            key,
            agent: Agent::new(setup),
            watch: Watch::new(&p, total, WSCALE, MSS),
            receiver: Receiver::new(total, p.sack, p.delay_acks),
            sender,
            queue: BinaryHeap::new(),
            now_ns: SEC_NS,
            nr: 0,
            hop_free_ns: 0,
            alive: true,
            mh_seq: 77,
            fh_got: 77,
            forger: Random(p.seed ^ 0x5eed),
            ece: false,
            window: 2_000,
            closed: false,
            echo: (0, 0),
            crossed: [0; 2],
            nr_calls: 0,
            print: DefaultHasher::new(),
            p,
        };
        if sim.p.handshake {
            sim.shake_hands();
        } else {
            sim.watch_scale_unknown();
        }
        sim
    }

    /// The scale is unknown to the agent then: any change of the window counts.
    fn watch_scale_unknown(&mut self) {
        self.p.window = 0;
    }

    fn shake_hands(&mut self) {
        let mut options = [option::mss(MSS as u16), option::wscale(WSCALE)].concat();
        if self.p.sack {
            options.extend(option::sack_ok());
        }
        let syn = Tcp {
            seq: self.p.base.wrapping_sub(1),
            flags: LH_SYN,
            options: options.clone(),
            ..Tcp::default()
        };
        self.agent.on_egress(&syn.to_mh(&self.ends), self.now_ns);
        self.now_ns += (self.p.down.delay_ms + self.p.up.delay_ms) * MSEC_NS;
        if self.p.foreign == Foreign::Mptcp {
            options.extend(option::other(30, 12));
        }
        let answer = Tcp {
            seq: self.mh_seq - 1,
            ack: self.p.base,
            flags: LH_SYN | LH_ACK,
            window: self.window << WSCALE,
            options,
            ..Tcp::default()
        };
        self.agent
            .on_ingress(&answer.to_fh(&self.ends), self.now_ns);
        self.watch.started(0);
        self.watch_forwarded(&answer);
    }

    /// FH knows the ACK of the SYN-ACK; its window is never scaled.
    fn watch_forwarded(&mut self, answer: &Tcp) {
        self.watch.handshake(0, usize::from(answer.window));
    }

    pub fn run(mut self) -> Report {
        self.finish();
        Report {
            done_ns: self.now_ns,
            sender_resent: self.sender.nr_resent,
            repairs: self.watch.nr_repairs,
            held: self.watch.nr_held,
            events: self.nr,
        }
    }

    /// Calls of the core, and a hash of all that came of them.
    pub fn fingerprint(mut self) -> (u64, u64) {
        self.finish();
        (self.nr_calls, self.print.finish())
    }

    fn note(&mut self, outcome: &Outcome) {
        self.nr_calls += 1;
        format!("{outcome:?}").hash(&mut self.print);
    }

    fn finish(&mut self) {
        let first = self.sender.pump(self.now_ns, &mut self.random);
        self.send(first);
        while !self.sender.done() {
            let at = self.next_ns().expect("something is always under way");
            assert!(at < DEADLINE_NS, "the transfer hangs");
            self.nr += 1;
            self.step(at);
        }
        assert!(self.receiver.got.iter().all(|&got| got));
        self.close();
    }

    fn next_ns(&self) -> Option<u64> {
        let event = self.queue.peek().map(|Reverse((at, ..))| *at);
        let deadline = self.agent.next_deadline();
        // A dead user space serves no timer.
        let deadline = deadline.filter(|_| self.alive).map(|d| d.max(self.now_ns));
        event.into_iter().chain(deadline).min()
    }

    fn step(&mut self, at: u64) {
        self.now_ns = at;
        for _ in 0..if self.heard() { self.p.blind } else { 0 } {
            self.forge();
        }
        if self.alive {
            self.watch.tick(at);
        }
        if self.random.chance(self.p.forget) {
            self.agent.forget(&self.key, self.now_ns); // what was kept is lost, too
            self.watch.forgotten();
        }
        if self.random.chance(self.p.dying) {
            self.alive = !self.alive;
            self.agent.set_alive(self.alive);
            self.watch.pardon();
        }
        if self.alive && self.agent.next_deadline().is_some_and(|d| d <= at) {
            for (key, outcome) in self.agent.on_timer(at) {
                self.watch.on_timer(&outcome, &self.agent, &key, at);
                self.note(&outcome);
                self.emit(outcome);
            }
            let next = self.agent.next_deadline();
            assert!(next.is_none_or(|next| next > at), "a timer that spins");
            return;
        }
        // Not ahead of its time: it may be user space that has just died.
        if self.queue.peek().is_some_and(|Reverse((t, ..))| *t <= at) {
            if let Some(Reverse((_, _, event))) = self.queue.pop() {
                self.handle(event);
            }
        }
    }

    /// Whether the agent has heard both ends: before that any numbers may be theirs.
    fn heard(&self) -> bool {
        let flow = self.agent.flow(&self.key).map(|flow| *flow.raw());
        self.p.handshake || flow.is_some_and(|f| f.fh.most != 0 && f.mh.most != 0)
    }

    /// To or from MH, of any kind, with the connection's addresses; the agent alone may be
    /// deceived, for the hosts refuse these.
    fn forge(&mut self) {
        let mut random = || self.forger.next();
        let options = match random() % 4 {
            0 => [option::wscale(14), option::sack_ok(), option::mss(9)].concat(),
            1 => option::sack(&[(random() as u32, random() as u32)]),
            2 => option::other(19, 18),
            _ => option::timestamps(random() as u32, random() as u32),
        };
        let kinds = [
            LH_ACK,
            LH_ACK,
            LH_SYN,
            LH_SYN | LH_ACK,
            LH_FIN | LH_ACK,
            LH_RST | LH_ACK,
        ];
        // Not by chance what it should be: one in 300 million is.
        let far = (1 << 22) + random() as u32 % (u32::MAX - (1 << 23));
        // In mid-stream who stands on both sides needs some million pairs.
        let side = if self.p.handshake {
            random()
        } else {
            self.p.seed
        };
        let to_mh = side % 2 == 0;
        // Nor one end's word what answers the other's, which counts after a second of silence: one in
        // half a million is (core/accept.c).
        let claim = self.agent.flow(&self.key).map(|flow| flow.raw().claim);
        let mut ack = random() as u32;
        if claim.is_some_and(|claim| claim.end.wrapping_sub(ack) < 1 << 24) {
            ack ^= 1 << 31;
        }
        let tcp = Tcp {
            seq: far.wrapping_add(if to_mh { self.p.base } else { 77 }),
            ack,
            flags: kinds[random() as usize % kinds.len()] * u32::from(!self.p.noise),
            window: random() as u16,
            options,
            payload: vec![7; (random() % 300) as usize],
            ..Tcp::default()
        };
        let outcome = match to_mh {
            true => self.agent.on_egress(&tcp.to_mh(&self.ends), self.now_ns),
            false => self.agent.on_ingress(&tcp.to_fh(&self.ends), self.now_ns),
        };
        assert!(!outcome.dropped && outcome.to_mh.is_empty() && outcome.to_fh.is_empty());
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::AgentData(packet) => self.agent_data(&packet),
            Event::AgentAck(packet) => self.agent_ack(&packet),
            Event::Mh(packet) => self.at_mh(&packet),
            Event::Fh(packet) => self.at_fh(&packet),
            Event::SenderTimer => {
                if self.sender.timer_ns.is_some_and(|t| t <= self.now_ns) {
                    let out = self.sender.on_timer(self.now_ns, &mut self.random);
                    self.send(out);
                }
            }
            Event::Reopen => {
                self.closed = false;
                let reply = self.receiver.on_timer();
                self.reply(reply.ack, &reply.blocks);
            }
            Event::ReceiverTimer => {
                if self.receiver.timer_ns.is_some_and(|t| t <= self.now_ns) {
                    let reply = self.receiver.on_timer();
                    self.reply(reply.ack, &reply.blocks);
                }
            }
        }
    }

    fn agent_data(&mut self, packet: &[u8]) {
        let outcome = self.agent.on_egress(packet, self.now_ns);
        let (s, _) = parse(packet, 0, None, true).expect("TCP");
        self.watch
            .on_egress(packet, &s, &outcome, &self.agent, self.now_ns);
        untouched(&self.p.config, packet, &outcome);
        self.note(&outcome);
        let start = self.hop_free_ns.max(self.now_ns);
        self.hop_free_ns = start + self.p.tx_us * 1_000;
        self.travel(self.hop_free_ns, self.p.down, Event::Mh(packet.to_vec()));
    }

    fn agent_ack(&mut self, packet: &[u8]) {
        let outcome = self.agent.on_ingress(packet, self.now_ns);
        let (s, key) = parse(packet, 0, None, false).expect("TCP");
        self.watch
            .on_ingress(packet, &s, &outcome, &self.agent, &key, self.now_ns);
        untouched(&self.p.config, packet, &outcome);
        self.note(&outcome);
        let passed = outcome.passed.clone().or_else(|| {
            // No flow, no edit: the packet as it is.
            (!outcome.dropped && outcome.actions.is_none()).then(|| packet.to_vec())
        });
        self.emit(outcome);
        if let Some(packet) = passed {
            self.travel(self.now_ns, self.p.wired, Event::Fh(packet));
        }
    }

    /// Repairs overtake what queues; released ACKs go on.
    fn emit(&mut self, outcome: Outcome) {
        for packet in outcome.to_mh {
            self.travel(self.now_ns, self.p.down, Event::Mh(packet));
        }
        for packet in outcome.to_fh {
            self.travel(self.now_ns, self.p.wired, Event::Fh(packet));
        }
    }

    fn travel(&mut self, from_ns: u64, path: Path, event: Event) {
        if self.random.chance(path.loss) || self.alternates(&event) {
            return;
        }
        let copies = 1 + usize::from(self.random.chance(path.dup));
        for i in 0..copies {
            let jitter = self.random.below(path.jitter_ms * 1_000 + 1) * 1_000;
            let at = from_ns + path.delay_ms * MSEC_NS + jitter;
            let copy = match &event {
                Event::AgentData(p) => Event::AgentData(p.clone()),
                Event::AgentAck(p) => Event::AgentAck(p.clone()),
                Event::Mh(p) => Event::Mh(p.clone()),
                Event::Fh(p) => Event::Fh(p.clone()),
                _ => panic!("only packets travel"),
            };
            self.push(at + i as u64, copy);
        }
    }

    fn alternates(&mut self, event: &Event) -> bool {
        let way = match event {
            Event::Mh(_) => 0,
            Event::AgentAck(_) => 1,
            _ => return false,
        };
        self.crossed[way] += 1;
        self.p.alternate && self.crossed[way] % 2 == 0
    }

    fn push(&mut self, at: u64, event: Event) {
        self.nr += 1;
        self.queue.push(Reverse((at, self.nr, event)));
    }

    fn place(&self, seq: u32) -> usize {
        seq.wrapping_sub(self.p.base) as usize
    }

    fn seq(&self, place: usize) -> u32 {
        self.p.base.wrapping_add(place as u32)
    }

    fn at_mh(&mut self, packet: &[u8]) {
        let (s, _) = parse(packet, 0, None, true).expect("TCP");
        self.echo.1 = self.echo.1.max(s.tsval);
        let bytes = &packet[usize::from(s.hdr_bytes)..];
        assert_eq!(bytes, payload(s.seq, bytes.len()), "content");
        let piece = Piece {
            from: self.place(s.seq),
            to: self.place(s.end),
        };
        if let Some(reply) = self.receiver.on_piece(piece, self.now_ns) {
            self.reply(reply.ack, &reply.blocks);
        } else if let Some(at) = self.receiver.timer_ns {
            self.push(at, Event::ReceiverTimer);
        }
    }

    fn reply(&mut self, ack: usize, blocks: &[Piece]) {
        self.ece ^= self.random.chance(self.p.ecn);
        if self.random.chance(self.p.window) {
            // From a handful of segments to plenty, and back.
            self.window = 20 + self.random.below(2_000) as u16;
        }
        if !self.closed && self.random.chance(self.p.close) {
            self.closed = true;
            self.push(self.now_ns + 300 * MSEC_NS, Event::Reopen);
        }
        let upload = match self.random.chance(self.p.upload) {
            true => 1 + self.random.below(20) as usize,
            false => 0,
        };
        let options = with_blocks(self.timestamps(self.echo.1), blocks, |at| self.seq(at));
        let tcp = Tcp {
            seq: self.mh_seq,
            ack: self.seq(ack),
            flags: LH_ACK | if self.ece { LH_ECE } else { 0 },
            window: if self.closed { 0 } else { self.window },
            options,
            payload: vec![3; upload],
            ..Tcp::default()
        };
        self.mh_seq = self.mh_seq.wrapping_add(upload as u32);
        let packet = tcp.to_fh(&self.ends);
        self.travel(self.now_ns, self.p.up, Event::AgentAck(packet));
    }

    /// The option with the time of now, or nothing.
    fn timestamps(&self, echo: u32) -> Vec<u8> {
        timestamps(self.p.timestamps, self.now_ns, echo)
    }

    fn at_fh(&mut self, packet: &[u8]) {
        let (s, _) = parse(packet, 0, None, false).expect("TCP");
        self.echo.0 = self.echo.0.max(s.tsval);
        self.fh_got = self.fh_got.max(s.end);
        let ack = self.place(s.ack);
        assert!(ack <= self.receiver.next, "MH has not acknowledged this");
        let blocks = self.blocks(&s);
        let pure = s.payload_bytes == 0;
        let edge = ack + (usize::from(s.window) << WSCALE);
        self.sender.on_window(ack, edge);
        let out = self
            .sender
            .on_ack(ack, &blocks, pure, self.now_ns, &mut self.random);
        self.send(out);
    }

    fn blocks(&self, s: &Segment) -> Vec<Piece> {
        let blocks = s.sack_blocks().iter();
        blocks
            .map(|b| Piece {
                from: self.place(b.left),
                to: self.place(b.right),
            })
            .collect()
    }

    fn send(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            let fin = piece.to == self.sender.total();
            let seq = self.seq(piece.from);
            let mut options = self.timestamps(self.echo.0);
            if self.p.foreign == Foreign::Auth {
                options.extend(option::other(19, 18));
            }
            let tcp = Tcp {
                seq,
                ack: self.fh_got,
                flags: data_flags(fin),
                options,
                payload: payload(seq, piece.to - piece.from - usize::from(fin)),
                ecn: if self.p.ect { 2 } else { 0 },
                ..Tcp::default()
            };
            let packet = tcp.to_mh(&self.ends);
            self.travel(self.now_ns, self.p.wired, Event::AgentData(packet));
        }
        if let Some(at) = self.sender.timer_ns {
            self.push(at, Event::SenderTimer);
        }
    }

    /// Everything is acknowledged: what is kept, and the flow itself, must go.
    fn close(&mut self) {
        self.agent.set_alive(true);
        self.agent.on_timer(self.now_ns + 10 * SEC_NS);
        let rst = Tcp {
            seq: self.seq(self.sender.total()),
            flags: LH_RST,
            ..Tcp::default()
        };
        self.agent.on_egress(&rst.to_mh(&self.ends), self.now_ns);
        self.agent.sweep(self.now_ns + 120 * SEC_NS);
        let pool = self.agent.host().pool();
        assert_eq!((pool.slots_used(), pool.chunks_used()), (0, 0), "a leak");
        assert_eq!(self.agent.keys().count(), 0);
        let created = self.agent.counter(LH_C_flows_created);
        assert_eq!(created, self.agent.counter(LH_C_flows_removed));
    }
}
