// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A whole agent over byte buffers: what the BPF host does in the kernel
//! (bpf/lasthop.bpf.c), with a flow table, packets and time as values. For
//! tests, fuzzers, replay of captures, and comparison with the BPF programs.

use std::collections::{BTreeMap, BTreeSet};

use crate::bindings::{
    LH_C_bypass_fragment, LH_C_bypass_malformed, LH_C_bypass_not_tcp, LH_C_bypass_stale,
    LH_C_bypass_table_full, LH_C_flows_created, LH_C_flows_removed, LH_C_mac_strangers,
    LH_C_uncached_size, LH_CACHE_PKT_MAX, LH_FLOW_SEGS, LH_HDR_BYTES, LH_POLICY_CHANNEL,
    LH_POLICY_SEQUENCE, LH_TELL_EACH, LH_TELL_MESSAGE, LH_TELL_OPTION, lh_mac_report, lh_missing,
    lh_sack_block,
};
use crate::config::Config;
use crate::host::{Actions, Call, Flow, Host};
use crate::message::can;
use crate::pool::Limits;
use crate::segment::{Bypass, Key, Segment, parse, parse_part, strip};

/// Longest payload that is cached, as in the BPF host.
const PAYLOAD_MAX: u32 = LH_CACHE_PKT_MAX - LH_HDR_BYTES;

/// How an [`Agent`] is set up: what `lh_setup` is to the BPF host.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What the core is told.
    pub config: Config,
    /// 14 with an Ethernet header, 0 without.
    pub l2_bytes: u32,
    /// Memory of all flows together.
    pub limits: Limits,
    /// Flows in the table; further ones pass unassisted.
    pub max_flows: usize,
    /// Cached segments per flow while memory is plenty.
    pub flow_segments: u32,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: Config::default(),
            l2_bytes: 0,
            limits: Limits::default(),
            max_flows: 65_536,
            flow_segments: LH_FLOW_SEGS,
        }
    }
}

/// What came of one packet, or of one flow's timer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The packet is kept from its receiver. Data never is.
    pub dropped: bool,
    /// Why the packet did not reach the core, if it is not even TCP.
    pub bypass: Option<Bypass>,
    /// What the core said; none if there was no flow to ask for.
    pub actions: Option<Actions>,
    /// Goes out to the lossy link: repairs, byte for byte as they were cached, and repeated ACKs.
    pub to_mh: Vec<Vec<u8>>,
    /// Goes on to FH beside (before) the packet itself: released ACKs, and what had to wait for its turn,
    /// in its order.
    pub to_fh: Vec<Vec<u8>>,
    /// The packet from MH as it passes, with the core's edits; none if dropped.
    pub passed: Option<Vec<u8>>,
    /// The packet towards MH in the form in which it leaves, if that is another one: it tells the agent
    /// at the hop's other end what is missing, or no longer pretends to.
    pub annotated: Option<Vec<u8>>,
    /// Messages to the agent at the hop's other end: what is missing of MH's data.
    pub told: Vec<Vec<(u32, u32)>>,
    /// A message to it, unless it is empty: what it has asked for and will not get.
    pub absent: Vec<(u32, u32)>,
}

#[derive(Debug)]
struct Tracked {
    flow: Flow,
    /// The newest ACK that was kept back; at the mobile end the last that left.
    held: Vec<u8>,
    deadline_ns: Option<u64>,
}

/// The agent of one device.
#[derive(Debug)]
pub struct Agent {
    setup: Setup,
    host: Host,
    flows: BTreeMap<Key, Tracked>,
    /// The flows' deadlines, earliest first.
    timers: BTreeSet<(u64, Key)>,
    alive: bool,
    /// Round trip to the agent at the hop's other end, ns (0: unknown), while it answers.
    partner: Option<u64>,
    /// What that one can do (`enum lh_can`).
    partner_can: u64,
}

impl Agent {
    /// An agent that has seen nothing.
    pub fn new(setup: Setup) -> Self {
        Self {
            host: Host::new(setup.limits),
            partner_can: can(setup.config.policy() | LH_POLICY_CHANNEL),
            setup,
            flows: BTreeMap::new(),
            timers: BTreeSet::new(),
            alive: true,
            partner: None,
        }
    }

    /// Whether the agent at the hop's other end answers, and its round trip in ns; 0:
    /// unknown.
    pub fn set_partner(&mut self, rtt_ns: Option<u64>) {
        self.partner = rtt_ns;
    }

    /// What that one can do: [`can`] of its policies. Unless it is said, one that repairs and tells, and else
    /// is like this.
    pub fn set_partner_can(&mut self, can: u64) {
        self.partner_can = can;
    }

    /// Whether the timers are served in time. If not, nothing is kept back:
    /// the BPF host's heartbeat.
    pub fn set_alive(&mut self, alive: bool) {
        self.alive = alive;
    }

    /// Memory and counters.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The value of counter `id`, one of `LH_C_*`.
    pub fn counter(&self, id: u32) -> u64 {
        self.host.counter(id)
    }

    /// The state of a flow.
    pub fn flow(&self, key: &Key) -> Option<&Flow> {
        self.flows.get(key).map(|t| &t.flow)
    }

    /// What a flow has cached.
    pub fn entries(&mut self, key: &Key) -> Vec<crate::host::Entry> {
        match self.flows.get(key) {
            Some(tracked) => self.host.entries(&tracked.flow),
            None => Vec::new(),
        }
    }

    /// The keys of all flows.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.flows.keys()
    }

    /// When [`Agent::on_timer`] is wanted next.
    pub fn next_deadline(&self) -> Option<u64> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// A packet leaves towards the lossy link. It always goes on.
    pub fn on_egress(&mut self, packet: &[u8], now_ns: u64) -> Outcome {
        self.on_egress_vlan(packet, None, now_ns)
    }

    /// As [`Agent::on_egress`], with a VLAN tag beside the packet.
    pub fn on_egress_vlan(&mut self, packet: &[u8], vlan: Option<u16>, now_ns: u64) -> Outcome {
        let (segment, key) = match parse(packet, self.setup.l2_bytes, vlan, true) {
            Ok(parsed) => parsed,
            Err(bypass) => return self.bypassed(bypass),
        };
        let mut stripped = None;
        if self.setup.config.policy() & LH_POLICY_CHANNEL != 0 && segment.nr_missing != 0 {
            let mut bytes = packet.to_vec();
            stripped = strip(&mut bytes, &segment).then_some(bytes);
        }
        let packet = stripped.as_deref().unwrap_or(packet);
        // Only what opens a connection or carries data starts a flow.
        let opens = !segment.is_rst() && segment.seq != segment.end;
        if !self.find_or_create(&key, opens, now_ns) {
            return Outcome {
                annotated: stripped,
                ..Outcome::default()
            };
        }
        let mut call = self.call(now_ns);
        if segment.payload_bytes > PAYLOAD_MAX {
            call.accepted = 0;
            self.host.count(LH_C_uncached_size, 1);
        }
        let Some(tracked) = self.flows.get_mut(&key) else {
            return Outcome {
                annotated: stripped,
                ..Outcome::default()
            };
        };
        let config = &self.setup.config;
        let actions = self
            .host
            .on_data(&mut tracked.flow, config, &segment, &call);
        if let Some(slot) = actions.store() {
            if call.accepted != 0 {
                self.host.store(slot, whole(packet, &segment));
            } else {
                self.host.store_failed(&mut tracked.flow, &actions);
            }
        }
        if actions.hold != 0 {
            tracked.held = whole(packet, &segment).to_vec();
        }
        let annotated = (actions.tell_by == LH_TELL_OPTION).then(|| {
            let mut ack = whole(packet, &segment).to_vec();
            actions.annotate(&mut ack, &segment);
            ack
        });
        Outcome {
            annotated: annotated.or(stripped),
            ..self.finish(&key, actions, None, now_ns)
        }
    }

    /// A packet came from the lossy link.
    pub fn on_ingress(&mut self, packet: &[u8], now_ns: u64) -> Outcome {
        self.on_ingress_vlan(packet, None, now_ns)
    }

    /// As [`Agent::on_ingress`], with a VLAN tag beside the packet.
    pub fn on_ingress_vlan(&mut self, packet: &[u8], vlan: Option<u16>, now_ns: u64) -> Outcome {
        let (segment, key) = match parse(packet, self.setup.l2_bytes, vlan, false) {
            Ok(parsed) => parsed,
            Err(bypass) => return self.bypassed(bypass),
        };
        let mut ack = whole(packet, &segment).to_vec();
        let stripped =
            self.setup.config.policy() & LH_POLICY_CHANNEL != 0 && strip(&mut ack, &segment);
        // What comes is looked after only where another agent sends it over the hop.
        let comes = self.setup.config.policy() & LH_POLICY_SEQUENCE != 0
            && segment.seq != segment.end
            && !segment.is_rst();
        let opens = comes || (segment.is_syn() && !segment.is_rst());
        if !self.find_or_create(&key, opens, now_ns) {
            return Outcome {
                passed: stripped.then_some(ack),
                ..Outcome::default()
            };
        }
        if !self.alive {
            self.host.count(LH_C_bypass_stale, 1);
        }
        let call = self.call(now_ns);
        let Some(tracked) = self.flows.get_mut(&key) else {
            return Outcome::default();
        };
        let config = &self.setup.config;
        if tracked.flow.raw().peer == 0 {
            self.host.set_peer(&mut tracked.flow, &key, now_ns);
        }
        let mut actions = self.host.on_ack(&mut tracked.flow, config, &segment, &call);
        if actions.hold != 0 {
            tracked.held = ack.clone();
        }
        if actions.waits() {
            let waits = (ack.as_slice(), &segment);
            self.host
                .on_wait(&mut tracked.flow, config, waits, &call, &mut actions);
            return self.finish(&key, actions, None, now_ns);
        }
        actions.edit(&mut ack, &segment);
        self.finish(&key, actions, Some(ack), now_ns)
    }

    /// Runs every flow whose deadline has come, the earliest first.
    pub fn on_timer(&mut self, now_ns: u64) -> Vec<(Key, Outcome)> {
        let mut done = Vec::new();
        for key in self.due(now_ns) {
            if let Some(outcome) = self.kick(&key, now_ns) {
                done.push((key, outcome));
            }
        }
        done
    }

    /// The flows whose deadline has come, the earliest first: for who wants to look at the agent
    /// between their timers.
    pub fn due(&self, now_ns: u64) -> Vec<Key> {
        let due = self.timers.iter().take_while(|&&(at, _)| at <= now_ns);
        due.map(|&(_, key)| key).collect()
    }

    /// Runs one flow's timer, due or not.
    pub fn kick(&mut self, key: &Key, now_ns: u64) -> Option<Outcome> {
        let call = self.call(now_ns);
        let tracked = self.flows.get_mut(key)?;
        let config = &self.setup.config;
        let actions = self.host.on_timer(&mut tracked.flow, config, &call);
        Some(self.finish(key, actions, None, now_ns))
    }

    /// A message of the agent at the hop's other end: it misses `missing` of the connection `key`.
    pub fn on_partner(&mut self, key: &Key, missing: &[(u32, u32)], now_ns: u64) -> Outcome {
        let call = self.call(now_ns);
        let Some(tracked) = self.flows.get_mut(key) else {
            return Outcome::default();
        };
        let config = &self.setup.config;
        let list = list(key, missing);
        let actions = self
            .host
            .on_partner(&mut tracked.flow, config, &list, &call);
        self.finish(key, actions, None, now_ns)
    }

    /// A message of the agent at the hop's other end: it will not send `absent` of the connection `key`.
    pub fn on_absent(&mut self, key: &Key, absent: &[(u32, u32)], now_ns: u64) -> Outcome {
        let call = self.call(now_ns);
        let Some(tracked) = self.flows.get_mut(key) else {
            return Outcome::default();
        };
        let config = &self.setup.config;
        let list = list(key, absent);
        let actions = self.host.on_absent(&mut tracked.flow, config, &list, &call);
        self.finish(key, actions, None, now_ns)
    }

    /// The MAC reports what became of the frame of `packet`, whose first bytes do, `bytes` long in
    /// all; `lh_mac_report` of core/mac.h.
    pub fn on_mac(
        &mut self,
        packet: &[u8],
        bytes: usize,
        report: &lh_mac_report,
        now_ns: u64,
    ) -> Outcome {
        let parsed = parse_part(packet, bytes, self.setup.l2_bytes, None, true);
        let Ok((segment, key)) = parsed else {
            return Outcome::default();
        };
        let call = self.call(now_ns);
        let Some(tracked) = self.flows.get_mut(&key) else {
            self.host.count(LH_C_mac_strangers, 1);
            return Outcome::default();
        };
        let config = &self.setup.config;
        let actions = self
            .host
            .on_mac(&mut tracked.flow, config, &segment, report, &call);
        self.finish(&key, actions, None, now_ns)
    }

    /// The link went down or came up: every flow with something cached, with gaps in what came, or with
    /// an ACK to repeat, is told, as by `lasthop link`.
    pub fn on_link(&mut self, up: bool, now_ns: u64) -> Vec<(Key, Outcome)> {
        let call = self.call(now_ns);
        let config = self.setup.config;
        let mut told = Vec::new();
        for (key, tracked) in &mut self.flows {
            if tracked.flow.heeds_the_link() {
                let actions = self.host.on_link(&mut tracked.flow, &config, up, &call);
                told.push((*key, actions));
            }
        }
        told.into_iter()
            .map(|(key, actions)| (key, self.finish(&key, actions, None, now_ns)))
            .collect()
    }

    /// Forgets the flows that are closed or idle, and evicts what is cached beyond its share where
    /// the pool gets scarce. @return how many flows were forgotten.
    pub fn sweep(&mut self, now_ns: u64) -> usize {
        let config = &self.setup.config;
        let over: Vec<Key> = self
            .flows
            .iter()
            .filter(|(_, tracked)| tracked.flow.is_over(config, now_ns))
            .map(|(key, _)| *key)
            .collect();
        for key in &over {
            self.forget(key, now_ns);
        }
        let call = self.call(now_ns);
        if call.pool_segments != 0 {
            for tracked in self.flows.values_mut() {
                self.host
                    .on_sweep(&mut tracked.flow, &self.setup.config, &call);
            }
        }
        over.len()
    }

    /// Forgets a flow at once, whatever its state. What was kept back from FH
    /// is returned, to be sent.
    pub fn forget(&mut self, key: &Key, now_ns: u64) -> Vec<Vec<u8>> {
        let Some(mut tracked) = self.flows.remove(key) else {
            return Vec::new();
        };
        if let Some(at) = tracked.deadline_ns {
            self.timers.remove(&(at, *key));
        }
        let call = self.call(now_ns);
        let config = &self.setup.config;
        let mut actions = self.host.on_release(&mut tracked.flow, config, &call);
        let copies = actions.emit_held as usize;
        let mut released = vec![self.edit_held(&tracked.held, &actions); copies];
        while !actions.releases().is_empty() {
            for &slot in actions.releases() {
                let packet = self.host.pool().packet(slot);
                released.push(
                    packet
                        .expect("the core releases slots that it has")
                        .to_vec(),
                );
            }
            let config = &self.setup.config;
            actions = self.host.on_release(&mut tracked.flow, config, &call);
        }
        self.host.free(&mut tracked.flow);
        self.host.count(LH_C_flows_removed, 1);
        released
    }

    /// What had to wait and goes on now. Here nothing lies between the agent and the receiver, so that
    /// each is through at once, and the last one takes more along. `actions` get the deadline that
    /// holds afterwards.
    fn release(&mut self, key: &Key, actions: &mut Actions, now_ns: u64) -> Vec<Vec<u8>> {
        let call = self.call(now_ns);
        let mut gone = Vec::new();
        let Some(tracked) = self.flows.get_mut(key) else {
            return gone;
        };
        let mut slots = actions.releases().to_vec();
        while !slots.is_empty() {
            let packets: Vec<_> = slots
                .iter()
                .map(|&slot| self.host.pool().packet(slot).map(<[u8]>::to_vec))
                .map(|packet| packet.expect("the core releases slots that it has"))
                .collect();
            slots.clear();
            for packet in packets {
                let parsed = parse(&packet, self.setup.l2_bytes, None, false);
                let (segment, _) = parsed.expect("what was parsed before it waited");
                let config = &self.setup.config;
                let through = self
                    .host
                    .on_through(&mut tracked.flow, config, &segment, &call);
                slots.extend_from_slice(through.releases());
                actions.next_deadline_ns = through.next_deadline_ns;
                gone.push(packet);
            }
        }
        gone
    }

    /// A copy of a held ACK with the window that FH shall get now.
    fn edit_held(&self, held: &[u8], actions: &Actions) -> Vec<u8> {
        let mut copy = held.to_vec();
        if let Ok((segment, _)) = parse(held, self.setup.l2_bytes, None, false) {
            actions.for_held().edit(&mut copy, &segment);
        }
        copy
    }

    fn bypassed(&mut self, bypass: Bypass) -> Outcome {
        let counter = match bypass {
            Bypass::NotTcp => LH_C_bypass_not_tcp,
            Bypass::Fragment => LH_C_bypass_fragment,
            Bypass::Malformed => LH_C_bypass_malformed,
        };
        self.host.count(counter, 1);
        Outcome {
            bypass: Some(bypass),
            ..Outcome::default()
        }
    }

    fn find_or_create(&mut self, key: &Key, opens: bool, now_ns: u64) -> bool {
        if self.flows.contains_key(key) {
            return true;
        }
        if !opens {
            return false;
        }
        if self.flows.len() >= self.setup.max_flows {
            self.host.count(LH_C_bypass_table_full, 1);
            return false;
        }
        let mut flow = Flow::new();
        self.host.set_peer(&mut flow, key, now_ns);
        let tracked = Tracked {
            flow,
            held: Vec::new(),
            deadline_ns: None,
        };
        self.flows.insert(*key, tracked);
        self.host.count(LH_C_flows_created, 1);
        true
    }

    fn call(&self, now_ns: u64) -> Call {
        let (part_segments, pool_segments) = self.share();
        Call {
            cap_segments: self.setup.flow_segments,
            part_segments,
            pool_segments,
            alive: u8::from(self.alive),
            partner: self.partner.map_or(0, |_| self.partner_can as u8),
            partner_rtt_ns: self.partner.unwrap_or(0),
            ..Call::at(now_ns)
        }
    }

    /// The pool divided by the flows, and the whole pool; 0 while three quarters of it suffice.
    fn share(&self) -> (u32, u32) {
        let slots = self.setup.limits.slots;
        if self.host.pool().slots_used() < slots - slots / 4 {
            return (0, 0);
        }
        let active = self.flows.values().filter(|t| t.flow.cached() > 0).count();
        let part = slots / (active as u32).max(1);
        (part.max(4).min(self.setup.flow_segments), slots)
    }

    /// Carries out what concerns both directions. `ack`: the packet of this
    /// call, if it came from MH. The copies that stand for a held ACK are then
    /// of this one: the same number, and newer blocks.
    fn finish(
        &mut self,
        key: &Key,
        mut actions: Actions,
        ack: Option<Vec<u8>>,
        now_ns: u64,
    ) -> Outcome {
        let mut outcome = Outcome {
            dropped: actions.is_drop() || actions.waits(),
            ..Outcome::default()
        };
        let told = actions.tell().iter().map(|b| (b.left, b.right));
        match actions.tell_by {
            LH_TELL_MESSAGE => outcome.told = vec![told.collect()],
            LH_TELL_EACH => outcome.told = told.map(|block| vec![block]).collect(),
            _ => {}
        }
        let absent = actions.absent().iter().map(|b| (b.left, b.right));
        outcome.absent = absent.collect();
        for retransmit in actions.retransmits() {
            let packet = self.host.pool().packet(retransmit.slot);
            let packet = packet.expect("the core resends from slots that it has");
            outcome.to_mh.push(packet.to_vec());
        }
        if let Some(tracked) = self.flows.get(key) {
            let copy = match &ack {
                Some(ack) => ack.clone(),
                None => self.edit_held(&tracked.held, &actions),
            };
            let copies = vec![copy; actions.emit_held as usize];
            match actions.held_leaves {
                0 => outcome.to_fh = copies,
                _ => outcome.to_mh.extend(copies),
            }
        }
        if !outcome.dropped {
            outcome.passed = ack;
        }
        outcome
            .to_fh
            .append(&mut self.release(key, &mut actions, now_ns));
        if let Some(tracked) = self.flows.get_mut(key) {
            if let Some(at) = tracked.deadline_ns {
                self.timers.remove(&(at, *key));
            }
            tracked.deadline_ns = actions.deadline_ns();
            if let Some(at) = tracked.deadline_ns {
                self.timers.insert((at, *key));
            }
        }
        outcome.actions = Some(actions);
        outcome
    }
}

/// The packet without the padding that short Ethernet frames carry.
fn whole<'a>(packet: &'a [u8], segment: &Segment) -> &'a [u8] {
    let bytes = usize::from(segment.hdr_bytes) + segment.payload_bytes as usize;
    &packet[..bytes.min(packet.len())]
}

/// A list of the connection `key`, as a message has it.
fn list(key: &Key, blocks: &[(u32, u32)]) -> lh_missing {
    let mut list = lh_missing {
        key: *key,
        ..Default::default()
    };
    for (block, &(left, right)) in list.block.iter_mut().zip(blocks) {
        *block = lh_sack_block { left, right };
        list.nr += 1;
    }
    list
}
