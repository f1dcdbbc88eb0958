// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A hop with an agent at either end, between two hosts that know nothing of it: FH 20 ms of wire
//! from the base, MH beside the mobile end, 5 ms of hop between the two, or as long as a test says. One connection, data in one
//! direction, losses as a test says.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use lasthop_core::bindings::*;
use lasthop_core::message::can;
use lasthop_core::packet::{Ends, Tcp, checksum_ok, option};
use lasthop_core::segment::Segment;
use lasthop_core::{Agent, Config, Key, MSEC_NS, SEC_NS, Setup, parse};

use crate::rig::payload;

pub const HOP_NS: u64 = 5 * MSEC_NS;
pub const WIRE_NS: u64 = 20 * MSEC_NS;
pub const MSS: u32 = 1_000;
/// Number of the sender's first data byte; the script's numbers count from here.
pub const FIRST: u32 = u32::MAX - 2_500;
/// The receiver's only number.
const OTHER: u32 = 7_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Base,
    Mobile,
}

impl End {
    fn other(self) -> Self {
        match self {
            Self::Base => Self::Mobile,
            Self::Mobile => Self::Base,
        }
    }
}

/// What goes over the hop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cargo {
    Packet(Vec<u8>),
    /// A message between the agents: what is missing.
    Told(Vec<(u32, u32)>),
    /// And of that, what will not come.
    Absent(Vec<(u32, u32)>),
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Comes to the agent from its own host's side.
    Leaves(End, Vec<u8>),
    /// Comes to the agent over the hop.
    Arrives(End, Cargo),
    /// Comes to the host behind the agent.
    Host(End, Vec<u8>),
    Timer(End),
    /// The MAC of this end reports of a frame of its own.
    Mac(End, Vec<u8>, Report),
    Send,
    Timeout(u32),
}

/// What became of a frame: `lh_mac_event`, and when it came to the MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Report {
    pub event: u32,
    pub queued_ns: u64,
}

/// How a hop is set up.
pub struct Plan {
    pub down: bool,
    pub v6: bool,
    pub segments: u32,
    /// Segments that may be under way.
    pub window: u32,
    pub timestamps: bool,
    pub sack: bool,
    /// Configurations of base and mobile end, none: no agent there.
    pub base: Option<Config>,
    pub mobile: Option<Config>,
    /// Whether the agents hear each other.
    pub partner: bool,
    /// Whether each end's MAC reports to its agent, as late as the other end has the frame.
    pub mac: bool,
    /// The sender's timeout, ns; 0: it never sends anything again.
    pub timeout_ns: u64,
    /// The hop's delay each way.
    pub hop_ns: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self::of(Config {
            queue_guard: 0,
            ..Config::snack()
        })
    }
}

impl Plan {
    /// With this at both ends, each in its role.
    pub fn of(config: Config) -> Self {
        let of = |role| Some(Config { role, ..config });
        Self {
            down: true,
            v6: false,
            segments: 10,
            window: 20,
            timestamps: false,
            sack: true,
            base: of(LH_ROLE_BASE),
            mobile: of(LH_ROLE_MOBILE),
            partner: true,
            mac: false,
            timeout_ns: 0,
            hop_ns: HOP_NS,
        }
    }

    /// With the configurations of both ends changed.
    pub fn with(mut self, change: impl Fn(&mut Config)) -> Self {
        let ends = [&mut self.base, &mut self.mobile];
        ends.into_iter().flatten().for_each(change);
        self
    }
}

pub type Loses = Box<dyn FnMut(End, &Cargo, &Option<Segment>) -> bool>;

pub struct Hop {
    plan: Plan,
    agents: BTreeMap<End, Agent>,
    key: Key,
    ends: Ends,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    nr_events: u64,
    /// Whether what is sent from this end is lost on the hop.
    pub loses: Loses,
    /// Whether the MAC's report of a frame gets lost.
    pub unreported: Box<dyn FnMut(&Segment) -> bool>,
    /// Whether the wire between base and FH loses a segment.
    pub wire_loses: Box<dyn FnMut(&Segment) -> bool>,
    /// The sender resets the connection once it has sent the segment of this number.
    pub resets_at: Option<u32>,
    /// The sender.
    next: u32,
    una: u32,
    /// The receiver: what came in order, and what came beyond.
    rcv: u32,
    beyond: Vec<(u32, u32)>,
    /// When each segment came to the receiver at first, ms.
    pub came_ms: BTreeMap<u32, u64>,
    /// Every segment that came to it, in the order in which they did.
    pub came: Vec<u32>,
    /// Pure ACKs that the sender saw: number, blocks.
    pub seen: Vec<(u32, Vec<(u32, u32)>)>,
    /// Every segment and list that went over the hop, lost or not: "12 base data 3000",
    /// "17 mobile ack 1000 missing 1000-4000".
    pub trace: Vec<String>,
    pub now: u64,
}

/// A number of the script.
pub fn rel(seq: u32) -> u32 {
    seq.wrapping_sub(FIRST)
}

impl Hop {
    pub fn new(plan: Plan) -> Self {
        let ends = if plan.v6 { Ends::v6(1) } else { Ends::v4(1) };
        let (_, key) = parse(&Tcp::default().to_mh(&ends), 0, None, true).expect("TCP");
        let agent = |config: &Option<Config>, other: &Option<Config>| {
            config.map(|config| {
                let mut agent = Agent::new(Setup {
                    config,
                    ..Setup::default()
                });
                agent.set_partner(plan.partner.then_some(2 * plan.hop_ns));
                agent.set_partner_can(can(other.unwrap_or(config).policy()));
                agent
            })
        };
        let both = [
            (End::Base, agent(&plan.base, &plan.mobile)),
            (End::Mobile, agent(&plan.mobile, &plan.base)),
        ];
        let agents = both
            .into_iter()
            .filter_map(|(end, a)| Some((end, a?)))
            .collect();
        let mut hop = Self {
            plan,
            agents,
            key,
            ends,
            events: BinaryHeap::new(),
            nr_events: 0,
            loses: Box::new(|_, _, _| false),
            unreported: Box::new(|_| false),
            wire_loses: Box::new(|_| false),
            resets_at: None,
            next: FIRST,
            una: FIRST,
            rcv: FIRST,
            beyond: Vec::new(),
            came_ms: BTreeMap::new(),
            came: Vec::new(),
            seen: Vec::new(),
            trace: Vec::new(),
            now: SEC_NS,
        };
        hop.handshake();
        hop
    }

    pub fn agent(&self, end: End) -> &Agent {
        &self.agents[&end]
    }

    pub fn agent_mut(&mut self, end: End) -> &mut Agent {
        self.agents.get_mut(&end).expect("an agent")
    }

    /// The connection as the agent at `end` names it.
    pub fn key(&self, end: End) -> Key {
        match end {
            End::Base => self.key,
            End::Mobile => self.key.from_the_other_end(),
        }
    }

    pub fn count(&self, end: End, id: u32) -> u64 {
        self.agents[&end].counter(id)
    }

    /// The host that has the data is behind this end.
    fn sender(&self) -> End {
        if self.plan.down {
            End::Base
        } else {
            End::Mobile
        }
    }

    pub fn ms(&self) -> u64 {
        (self.now - SEC_NS) / MSEC_NS
    }

    fn at(&mut self, at: u64, event: Event) {
        self.nr_events += 1;
        self.events.push(Reverse((at, self.nr_events, event)));
    }

    fn packet(&self, from: End, tcp: &Tcp) -> Vec<u8> {
        match from {
            End::Base => tcp.to_mh(&self.ends),
            End::Mobile => tcp.to_fh(&self.ends),
        }
    }

    fn options(&self, mut rest: Vec<u8>) -> Vec<u8> {
        let mut all = Vec::new();
        if self.plan.timestamps {
            all.extend([1, 1]);
            all.extend(option::timestamps(5, 5));
        }
        if !rest.is_empty() {
            all.extend([1, 1]);
            all.append(&mut rest);
        }
        all
    }

    /// Three packets through both agents, without the hop's and the wire's time.
    fn handshake(&mut self) {
        let (sender, receiver) = (self.sender(), self.sender().other());
        let mut offers = option::mss(MSS as u16);
        offers.extend(option::wscale(7));
        if self.plan.sack {
            offers.extend(option::sack_ok());
        }
        let syn = |seq, ack, flags, options| Tcp {
            seq,
            ack,
            flags,
            options,
            ..Tcp::default()
        };
        let before = FIRST.wrapping_sub(1);
        let steps = [
            (sender, syn(before, 0, LH_SYN, offers.clone())),
            (receiver, syn(OTHER - 1, FIRST, LH_SYN | LH_ACK, offers)),
            (sender, syn(FIRST, OTHER, LH_ACK, Vec::new())),
            // FH's word on the window, which all ACKs have.
            (receiver, syn(OTHER, FIRST, LH_ACK, Vec::new())),
        ];
        for (from, tcp) in steps {
            let packet = self.packet(from, &tcp);
            if let Some(agent) = self.agents.get_mut(&from) {
                agent.on_egress(&packet, self.now);
            }
            self.now += self.plan.hop_ns;
            if let Some(agent) = self.agents.get_mut(&from.other()) {
                agent.on_ingress(&packet, self.now);
            }
            self.now += self.plan.hop_ns;
        }
    }

    /// Carries everything over, or as much as comes through by `until_ms`.
    pub fn run(&mut self, until_ms: u64) {
        self.at(self.now, Event::Send);
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > SEC_NS + until_ms * MSEC_NS {
                break;
            }
            self.now = self.now.max(at);
            self.step(event);
        }
    }

    pub fn all_came(&self) -> bool {
        rel(self.rcv) == self.plan.segments * MSS
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Send => self.send(),
            Event::Timeout(una) => self.timeout(una),
            Event::Leaves(end, packet) => self.leaves(end, packet),
            Event::Arrives(end, cargo) => self.arrives(end, cargo),
            Event::Host(end, packet) => self.host(end, &packet),
            Event::Timer(end) => self.timer(end),
            Event::Mac(end, packet, report) => self.report(end, &packet, report),
        }
    }

    /// A segment a millisecond, as long as the window has room.
    fn send(&mut self) {
        let end = FIRST.wrapping_add(self.plan.segments * MSS);
        if self.next == end {
            return;
        }
        if self.next.wrapping_sub(self.una) < self.plan.window * MSS {
            self.send_segment(self.next);
            self.next = self.next.wrapping_add(MSS);
            if self.resets_at == Some(rel(self.next) - MSS) {
                return self.reset();
            }
        }
        self.at(self.now + MSEC_NS, Event::Send);
    }

    fn send_segment(&mut self, seq: u32) {
        let tcp = Tcp {
            seq,
            ack: OTHER,
            options: self.options(Vec::new()),
            payload: payload(seq, MSS as usize),
            ..Tcp::default()
        };
        let packet = self.packet(self.sender(), &tcp);
        self.host_sends(self.sender(), packet);
        if self.plan.timeout_ns != 0 {
            self.at(self.now + self.plan.timeout_ns, Event::Timeout(seq));
        }
    }

    fn reset(&mut self) {
        let tcp = Tcp {
            seq: self.next,
            ack: OTHER,
            flags: LH_RST | LH_ACK,
            ..Tcp::default()
        };
        let packet = self.packet(self.sender(), &tcp);
        self.host_sends(self.sender(), packet);
    }

    fn timeout(&mut self, seq: u32) {
        if self.una == seq {
            self.send_segment(seq);
        }
    }

    /// From the host behind `end` to the agent there, over the wire if it is FH.
    fn host_sends(&mut self, end: End, packet: Vec<u8>) {
        let wire = if end == End::Base { WIRE_NS } else { 0 };
        if wire != 0 && self.wire_takes(&packet, end) {
            return;
        }
        self.at(self.now + wire, Event::Leaves(end, packet));
    }

    fn wire_takes(&mut self, packet: &[u8], from: End) -> bool {
        let parsed = parse(packet, 0, None, from == End::Base);
        (self.wire_loses)(&parsed.expect("TCP").0)
    }

    fn leaves(&mut self, end: End, packet: Vec<u8>) {
        let Some(agent) = self.agents.get_mut(&end) else {
            return self.over(end, Cargo::Packet(packet));
        };
        let outcome = agent.on_egress(&packet, self.now);
        let packet = outcome.annotated.clone().unwrap_or(packet);
        self.over(end, Cargo::Packet(packet));
        self.carry_out(end, outcome);
    }

    /// Onto the hop at `end`.
    fn over(&mut self, end: End, cargo: Cargo) {
        let segment = match &cargo {
            Cargo::Packet(packet) => {
                assert!(checksum_ok(packet));
                Some(parse(packet, 0, None, true).expect("TCP").0)
            }
            Cargo::Told(_) | Cargo::Absent(_) => None,
        };
        let lost = (self.loses)(end, &cargo, &segment);
        self.note(end, &cargo, &segment, lost);
        let told = |s: &&Segment| self.plan.mac && !(self.unreported)(s);
        if let (Cargo::Packet(packet), Some(_)) = (&cargo, segment.as_ref().filter(told)) {
            let event = if lost {
                LH_MAC_GIVEN_UP
            } else {
                LH_MAC_DELIVERED
            };
            let queued_ns = self.now;
            let report = Report { event, queued_ns };
            self.at(
                self.now + self.plan.hop_ns,
                Event::Mac(end, packet.clone(), report),
            );
        }
        if !lost {
            self.at(
                self.now + self.plan.hop_ns,
                Event::Arrives(end.other(), cargo),
            );
        }
    }

    fn arrives(&mut self, end: End, cargo: Cargo) {
        let key = self.key(end);
        let now = self.now;
        let Some(agent) = self.agents.get_mut(&end) else {
            if let Cargo::Packet(packet) = cargo {
                self.passes(end, packet);
            }
            return;
        };
        let outcome = match cargo {
            Cargo::Packet(packet) => agent.on_ingress(&packet, now),
            Cargo::Told(list) => agent.on_partner(&key, &list, now),
            Cargo::Absent(list) => agent.on_absent(&key, &list, now),
        };
        self.carry_out(end, outcome);
    }

    fn report(&mut self, end: End, packet: &[u8], report: Report) {
        let now = self.now;
        let Some(agent) = self.agents.get_mut(&end) else {
            return;
        };
        let report = lh_mac_report {
            event: report.event,
            queued_ns: report.queued_ns,
            at_ns: now,
            pad: 0,
        };
        // The headers alone, as a MAC's source hands them over.
        let part = &packet[..packet.len().min(128)];
        let outcome = agent.on_mac(part, packet.len(), &report, now);
        self.carry_out(end, outcome);
    }

    fn timer(&mut self, end: End) {
        let now = self.now;
        for (_, outcome) in self.agent_mut(end).on_timer(now) {
            self.carry_out(end, outcome);
        }
    }

    fn carry_out(&mut self, end: End, outcome: lasthop_core::Outcome) {
        for packet in outcome.to_fh {
            self.passes(end, packet);
        }
        if let Some(packet) = outcome.passed {
            self.passes(end, packet);
        }
        for packet in outcome.to_mh {
            self.over(end, Cargo::Packet(packet));
        }
        for told in outcome.told {
            self.over(end, Cargo::Told(told));
        }
        if !outcome.absent.is_empty() {
            self.over(end, Cargo::Absent(outcome.absent));
        }
        if let Some(at) = self.agents[&end].next_deadline() {
            self.at(at.max(self.now), Event::Timer(end));
        }
    }

    fn passes(&mut self, end: End, packet: Vec<u8>) {
        assert!(checksum_ok(&packet));
        let (s, _) = parse(&packet, 0, None, end == End::Mobile).expect("TCP");
        assert_eq!(s.nr_missing, 0, "the agents' option got past the hop");
        let wire = if end == End::Base { WIRE_NS } else { 0 };
        if wire != 0 && self.wire_takes(&packet, End::Mobile) {
            return;
        }
        self.at(self.now + wire, Event::Host(end, packet));
    }

    fn host(&mut self, end: End, packet: &[u8]) {
        let (s, _) = parse(packet, 0, None, end == End::Mobile).expect("TCP");
        if end == self.sender() {
            self.sender_takes(&s);
        } else {
            let bytes = &packet[usize::from(s.hdr_bytes)..];
            assert_eq!(bytes, payload(s.seq, bytes.len()), "content");
            self.receiver_takes(&s);
        }
    }

    fn sender_takes(&mut self, s: &Segment) {
        let blocks = s.sack_blocks().iter().map(|b| (rel(b.left), rel(b.right)));
        self.seen.push((rel(s.ack), blocks.collect()));
        if s.ack.wrapping_sub(self.una) as i32 > 0 {
            self.una = s.ack;
            if self.plan.timeout_ns != 0 && self.una != self.next {
                self.at(self.now + self.plan.timeout_ns, Event::Timeout(self.una));
            }
        }
    }

    fn receiver_takes(&mut self, s: &Segment) {
        let ms = self.ms();
        self.came_ms.entry(rel(s.seq)).or_insert(ms);
        self.came.push(rel(s.seq));
        let mut latest = None;
        if s.seq == self.rcv {
            self.rcv = s.end;
            while let Some(i) = self.beyond.iter().position(|b| b.0 == self.rcv) {
                self.rcv = self.beyond.remove(i).1;
            }
        } else if rel(s.seq) > rel(self.rcv) {
            latest = Some(self.beyond_takes(s));
        }
        // The newest block first (RFC 2018), three at the most.
        let mut blocks: Vec<_> = latest.into_iter().collect();
        let rest = self.beyond.iter().rev().filter(|b| Some(**b) != latest);
        blocks.extend(rest.take(3 - blocks.len()));
        let sack = if blocks.is_empty() || !self.plan.sack {
            Vec::new()
        } else {
            option::sack(&blocks)
        };
        let ack = Tcp {
            seq: OTHER,
            ack: self.rcv,
            options: self.options(sack),
            ..Tcp::default()
        };
        let end = self.sender().other();
        let packet = self.packet(end, &ack);
        self.host_sends(end, packet);
    }

    /// @return the block that the segment is in.
    fn beyond_takes(&mut self, s: &Segment) -> (u32, u32) {
        let mut block = (s.seq, s.end);
        while let Some(i) = self.beyond.iter().position(|b| b.1 == block.0) {
            block.0 = self.beyond.remove(i).0;
        }
        while let Some(i) = self.beyond.iter().position(|b| b.0 == block.1) {
            block.1 = self.beyond.remove(i).1;
        }
        self.beyond.retain(|b| b.0 != block.0);
        self.beyond.push(block);
        self.beyond.sort_by_key(|b| rel(b.0));
        block
    }
}
