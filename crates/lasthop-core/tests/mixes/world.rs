// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The event loop: FH's wire, the agent, the hop, MH, and back.

mod chunks;
mod far;
mod figures;
mod lanes;
mod near;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::agent::Agent;
use crate::case::{Case, FlowSpec, MS, SEC};
use crate::lane::Lane;
use crate::pages::Browser;
use crate::receiver::Receiver;
use crate::report::Report;
use crate::sender::Sender;
use crate::wire::{Body, Data, Numbers, Packet, Random};
use chunks::Chunks;

const SAMPLE_NS: u64 = 100 * MS;

/// Where a packet gets to next.
#[derive(Debug, Clone, Copy)]
enum At {
    /// The agent's router, from the wire, and from the hop.
    Router,
    Hop,
    Fh,
    Mh,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Start(usize),
    /// Step of a handshake: 1 SYN at the router, 2 answer there, 3 done.
    Shake(usize, u8),
    Arrive(At, Packet),
    /// The lane has sent the packet's last bit.
    Sent(usize, Packet),
    SenderTimer(usize),
    Pace(usize),
    ReceiverTimer(usize),
    AgentTimer(usize),
    FarTimer(usize),
    Datagram(usize),
    Request(usize),
    /// The application has the next piece.
    Chunk(usize),
    Stop(usize),
    Sample,
}

pub struct Conn {
    pub spec: FlowSpec,
    numbers: Numbers,
    pub sender: Sender,
    pub receiver: Receiver,
    pub started_ns: u64,
    pub done_ns: Option<u64>,
    stopped: bool,
    pub at_warmup: u64,
    pub rtts: Vec<f64>,
    pub chunks: Chunks,
    /// Of MH's own bytes: sent, and seen by FH.
    mh_bytes: (u64, u64),
    sender_at: Option<u64>,
    pace_at: Option<u64>,
    agent_at: Option<u64>,
    far_at: Option<u64>,
    wired_ns: u64,
}

pub struct World {
    pub case: Case,
    pub now_ns: u64,
    nr: u64,
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    events: Vec<Event>,
    free: Vec<usize>,
    pub conns: Vec<Conn>,
    pub agent: Option<Agent>,
    /// The one at MH.
    far: Option<Agent>,
    /// Wire down, wire up, hop up, then the hop's links down.
    lanes: Vec<Lane>,
    pub browser: Option<Browser>,
    random: Random,
    hop_queue_ms: Vec<f64>,
    warm: (u64, u64, u64, u64),
    repairs: u64,
    /// That MH got once it was warm.
    datagrams: u64,
    pub trace: bool,
}

const WIRE_DOWN: usize = 0;
const WIRE_UP: usize = 1;
const HOP_UP: usize = 2;
const HOP_DOWN: usize = 3;

impl World {
    pub fn new(case: Case) -> Self {
        let seed = case.seed.wrapping_mul(0x1234_5678_9abc_def1);
        let lanes = lanes::of(&case, seed);
        let partner = case.far.map(|_| case.local_rtt_ns);
        let mut world = Self {
            random: Random(seed),
            agent: case
                .agent
                .map(|config| Agent::new(config, partner, case.uptime_ns)),
            far: case
                .far
                .map(|config| Agent::new(config, partner, case.uptime_ns)),
            now_ns: SEC,
            nr: 0,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            conns: Vec::new(),
            lanes,
            browser: case.pages.clone().map(|p| Browser::new(p, case.seed)),
            hop_queue_ms: Vec::new(),
            warm: (0, 0, 0, 0),
            repairs: 0,
            datagrams: 0,
            trace: false,
            case,
        };
        if let Some(agent) = &mut world.agent {
            agent.liars = world.case.liars;
        }
        for spec in world.case.flows.clone() {
            world.add(spec);
        }
        for i in 0..world.case.datagrams.len() {
            let at = SEC + world.case.datagrams[i].start_ns;
            world.push(at, Event::Datagram(i));
        }
        world.push(SEC, Event::Sample);
        world
    }

    /// A new connection, which begins when its start has come.
    pub fn add(&mut self, spec: FlowSpec) -> usize {
        let i = self.conns.len();
        let wired_ns = (self.case.rtt_ns - self.case.local_rtt_ns + spec.extra_wired_ns) / 2;
        let rtt = 2 * wired_ns + self.case.local_rtt_ns;
        let receiver = Receiver::new(&spec, rtt);
        let sender = Sender::new(spec.cc, receiver.edge(), rtt);
        let start = (SEC + spec.start_ns).max(self.now_ns);
        let numbers = Numbers {
            start: self.random.next() as u32,
        };
        self.conns.push(Conn {
            numbers,
            sender,
            receiver,
            started_ns: start,
            done_ns: None,
            stopped: false,
            at_warmup: 0,
            rtts: Vec::new(),
            chunks: Chunks::new(SEC + self.case.warmup_ns),
            mh_bytes: (0, 0),
            sender_at: None,
            pace_at: None,
            agent_at: None,
            far_at: None,
            wired_ns,
            spec,
        });
        self.push(start, Event::Start(i));
        i
    }

    fn push(&mut self, at: u64, event: Event) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.events[slot] = event;
                slot
            }
            None => {
                self.events.push(event);
                self.events.len() - 1
            }
        };
        self.nr += 1;
        self.queue.push(Reverse((at, self.nr, slot)));
    }

    pub fn run(mut self) -> Report {
        let end = SEC + self.case.warmup_ns + self.case.duration_ns;
        while let Some(Reverse((at, _, slot))) = self.queue.pop() {
            if at > end || self.browser.as_ref().is_some_and(Browser::is_done) {
                break;
            }
            self.now_ns = at;
            let event = self.events[slot];
            self.free.push(slot);
            self.handle(event);
        }
        self.now_ns = self.now_ns.min(end);
        self.report()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Start(i) => self.start(i),
            Event::Shake(i, step) => self.shake(i, step),
            Event::Arrive(at, packet) => self.arrive(at, packet),
            Event::Sent(lane, packet) => self.sent(lane, packet),
            Event::SenderTimer(i) => self.sender_timer(i),
            Event::Pace(i) => {
                self.conns[i].pace_at = None;
                self.with_sender(i, |s, now, out| s.pump(now, out));
            }
            Event::ReceiverTimer(i) => self.receiver_timer(i),
            Event::AgentTimer(i) => self.agent_timer(i),
            Event::FarTimer(i) => self.far_timer(i),
            Event::Datagram(i) => self.datagram(i),
            Event::Request(i) => self.request(i),
            Event::Chunk(i) => self.chunk(i),
            Event::Stop(i) => self.conns[i].stopped = true,
            Event::Sample => self.sample(),
        }
    }

    // ---- connections

    fn start(&mut self, i: usize) {
        let c = &self.conns[i];
        let (wired, local) = (c.wired_ns, self.case.local_rtt_ns / 2);
        let mh = c.spec.mh_opens != c.spec.up;
        let to_router = if mh { local } else { wired };
        let beyond = if mh { wired } else { local };
        let now = self.now_ns;
        if let Some(end) = c.spec.end_ns {
            self.push(SEC + end, Event::Stop(i));
        }
        self.push(now + to_router, Event::Shake(i, 1));
        self.push(now + to_router + 2 * beyond, Event::Shake(i, 2));
        let rtt = 2 * (wired + local);
        self.push(now + rtt, Event::Shake(i, 3));
        if !self.conns[i].spec.mh_opens {
            // FH's bare ACK on its way to MH.
            self.push(now + rtt + wired, Event::Shake(i, 4));
        }
    }

    fn shake(&mut self, i: usize, step: u8) {
        let c = &self.conns[i];
        let (mh_opens, station) = (c.spec.mh_opens, c.spec.station);
        let (managed, numbers, up) = (c.spec.managed && !c.spec.up, c.numbers, c.spec.up);
        let now = self.now_ns;
        if step == 3 {
            // Data follow a handshake opened by MH after its request.
            let way = if mh_opens && !up {
                self.case.rtt_ns / 2
            } else {
                0
            };
            self.push(now + way, Event::Request(i));
            return;
        }
        for agent in [self.agent.as_mut(), self.far.as_mut()] {
            let Some(agent) = agent.filter(|_| managed) else {
                continue;
            };
            match step {
                1 => {
                    agent.open(i, station, numbers, now);
                    agent.handshake(i, mh_opens, false, &c.spec, now);
                }
                2 => agent.handshake(i, !mh_opens, true, &c.spec, now),
                _ => agent.confirm(i, now),
            }
        }
        self.arm_agent(i);
    }

    /// The application at the sender has something to send.
    fn request(&mut self, i: usize) {
        if self.conns[i].spec.chunks.is_some() {
            self.chunk(i);
            return;
        }
        let more = match &mut self.browser {
            Some(b) if b.owns(i) => b.next_object(i).unwrap_or(0),
            _ => self.conns[i].spec.bytes.unwrap_or(u64::MAX / 2),
        };
        self.with_sender(i, |s, now, out| {
            s.written += more;
            s.pump(now, out);
        });
    }

    fn with_sender(&mut self, i: usize, f: impl FnOnce(&mut Sender, u64, &mut Vec<Data>)) {
        if self.conns[i].stopped {
            return;
        }
        let mut out = Vec::new();
        let now = self.now_ns;
        f(&mut self.conns[i].sender, now, &mut out);
        let up = self.conns[i].spec.up;
        let mh_ack = self.conns[i].mh_bytes.1;
        for d in out {
            let d = Data { mh_ack, ..d };
            let lane = if up { HOP_UP } else { WIRE_DOWN };
            self.transmit(lane, Packet::data(i, d));
        }
        self.arm_sender(i);
    }

    fn arm_sender(&mut self, i: usize) {
        let sender = &self.conns[i].sender;
        let pace = Some(sender.pace_ns).filter(|_| sender.wants_pace(self.now_ns));
        let timer = sender.next_timer();
        self.arm(i, pace, |c| &mut c.pace_at, Event::Pace(i));
        self.arm(i, timer, |c| &mut c.sender_at, Event::SenderTimer(i));
    }

    /// Has the event at that time, unless `armed` says that it comes sooner.
    fn arm(
        &mut self,
        i: usize,
        at: Option<u64>,
        armed: fn(&mut Conn) -> &mut Option<u64>,
        event: Event,
    ) {
        let Some(at) = at else { return };
        let armed = armed(&mut self.conns[i]);
        if armed.is_none_or(|o| at < o) {
            *armed = Some(at);
            self.push(at.max(self.now_ns), event);
        }
    }

    fn sender_timer(&mut self, i: usize) {
        self.conns[i].sender_at = None;
        match self.conns[i].sender.next_timer() {
            Some(at) if at <= self.now_ns => {
                self.with_sender(i, |s, now, out| s.on_timer(now, out));
            }
            Some(_) => self.arm_sender(i),
            None => {}
        }
    }

    fn receiver_timer(&mut self, i: usize) {
        let now = self.now_ns;
        match self.conns[i].receiver.delack_ns {
            Some(at) if at <= now => self.acknowledge(i),
            _ => {}
        }
    }

    fn acknowledge(&mut self, i: usize) {
        let now = self.now_ns;
        let c = &mut self.conns[i];
        let mut ack = c.receiver.make_ack(now);
        ack.mh_seq = c.mh_bytes.0;
        ack.carries = c.spec.ack_carries;
        c.mh_bytes.0 += u64::from(ack.payload_bytes());
        let lane = if c.spec.up { WIRE_DOWN } else { HOP_UP };
        self.far_answers(i, &mut ack);
        self.transmit(lane, Packet::ack(i, ack));
    }

    // ---- the way of a packet

    fn hop_lane(&self, flow: usize) -> usize {
        let station = match self.conns.get(flow) {
            Some(c) => c.spec.station,
            None => self.case.datagrams[flow - DATAGRAM].station,
        };
        HOP_DOWN + station.min(self.lanes.len() - HOP_DOWN - 1)
    }

    fn transmit(&mut self, lane: usize, packet: Packet) {
        let now = self.now_ns;
        self.lanes[lane].push(packet, now);
        self.start_lane(lane);
    }

    fn start_lane(&mut self, lane: usize) {
        let now = self.now_ns;
        if let Some((packet, at)) = self.lanes[lane].start(now) {
            self.push(at, Event::Sent(lane, packet));
        }
    }

    fn sent(&mut self, lane: usize, packet: Packet) {
        let now = self.now_ns;
        let arrives = self.lanes[lane].done(&packet, self.now_ns);
        if arrives {
            let wired = self.conns.get(packet.flow).map_or(0, |c| c.wired_ns);
            let (at, when) = match lane {
                WIRE_DOWN => (At::Router, now + wired),
                WIRE_UP => (At::Fh, now + wired),
                HOP_UP => (At::Hop, self.over_the_hop(lane)),
                _ => (At::Mh, self.over_the_hop(lane)),
            };
            self.push(when, Event::Arrive(at, packet));
        }
        self.start_lane(lane);
    }

    /// When what has left by that lane now arrives.
    fn over_the_hop(&mut self, lane: usize) -> u64 {
        let more = self.case.longer_ns.filter(|l| self.now_ns >= SEC + l.0);
        let lane = &mut self.lanes[lane];
        lane.timing
            .arrives(self.now_ns + lane.delay_ns + more.map_or(0, |l| l.1))
    }

    fn arrive(&mut self, at: At, packet: Packet) {
        let now = self.now_ns;
        match (at, packet.body) {
            (At::Router, body) => {
                let managed = self.managed(packet.flow);
                if let (true, Body::Data(d), Some(agent)) = (managed, body, self.agent.as_mut()) {
                    agent.on_data(packet.flow, &d, now);
                    self.arm_agent(packet.flow);
                }
                let lane = self.hop_lane(packet.flow);
                self.transmit(lane, packet);
            }
            (At::Hop, Body::Ack(a)) if self.managed(packet.flow) && self.agent.is_some() => {
                let agent = self.agent.as_mut().expect("checked");
                let outcome = agent.on_ack(packet.flow, &a, now);
                self.carry_out(packet.flow, outcome);
            }
            (At::Hop, Body::Told(missing)) => {
                if let Some(agent) = self.agent.as_mut() {
                    let outcome = agent.on_partner(packet.flow, &missing, now);
                    self.carry_out(packet.flow, outcome);
                }
            }
            (At::Hop, _) => self.transmit(WIRE_UP, packet),
            (At::Fh | At::Mh, Body::Data(d)) => {
                self.far_hears(packet.flow, &d);
                self.deliver(packet.flow, &d);
            }
            (At::Fh | At::Mh, Body::Ack(a)) => {
                let c = &mut self.conns[packet.flow];
                c.mh_bytes.1 = c.mh_bytes.1.max(a.mh_seq + u64::from(a.payload_bytes()));
                let wscale = c.spec.wscale;
                self.with_sender(packet.flow, |s, now, out| s.on_ack(&a, wscale, now, out));
            }
            (_, Body::Datagram) => {
                self.datagrams += u64::from(now >= SEC + self.case.warmup_ns);
            }
            (_, Body::Told(_)) => {}
        }
    }

    fn managed(&self, flow: usize) -> bool {
        self.conns
            .get(flow)
            .is_some_and(|c| c.spec.managed && !c.spec.up)
    }

    fn deliver(&mut self, i: usize, d: &Data) {
        let now = self.now_ns;
        let c = &mut self.conns[i];
        if c.receiver.on_data(d, now) {
            self.acknowledge(i);
        } else if let Some(at) = c.receiver.delack_ns {
            self.push(at, Event::ReceiverTimer(i));
        }
        let next = self.conns[i].receiver.next;
        if self.browser.as_ref().is_some_and(|b| b.owns(i)) {
            self.browse(i, next);
        } else if self.conns[i].spec.bytes.is_some_and(|n| next >= n) {
            self.conns[i].done_ns.get_or_insert(now);
        }
        self.conns[i].chunks.received(next, now);
    }

    /// An object may be complete: the next request, connection or page.
    fn browse(&mut self, i: usize, next: u64) {
        let now = self.now_ns;
        let Some(browser) = &mut self.browser else {
            return;
        };
        let step = browser.received(i, next, now);
        let start = browser.starts_ns().max(now) - SEC;
        if step.request {
            self.push(now + self.case.rtt_ns / 2, Event::Request(i));
        }
        self.connect(step.connect, start);
    }

    fn connect(&mut self, n: usize, start_ns: u64) {
        for _ in 0..n {
            let Some(browser) = &self.browser else { return };
            let id = self.add(browser.connection(start_ns));
            if let Some(browser) = &mut self.browser {
                browser.connected(id);
            }
        }
    }

    /// Opens the first page. Called once, before the run.
    pub fn browse_first(&mut self) {
        let Some(browser) = &mut self.browser else {
            return;
        };
        let n = browser.begin(SEC);
        self.connect(n, 0);
    }

    fn datagram(&mut self, i: usize) {
        let d = self.case.datagrams[i].clone();
        let now = self.now_ns;
        if now - SEC >= d.end_ns {
            return;
        }
        let packet = Packet::datagram(DATAGRAM + i);
        let lane = self.hop_lane(packet.flow);
        self.transmit(lane, packet);
        let gap = f64::from(packet.bytes) * 8e9 / d.bps;
        self.push(now + gap as u64, Event::Datagram(i));
    }
}

/// Numbers of datagrams' "flows" lie above those of all connections, and share a queue of
/// FQ-CoDel's with none of the first thousand.
const DATAGRAM: usize = (1 << 40) + 1_000;
