// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The agent of the hop: the unmodified core over segments as values.

use lasthop_core::bindings::{
    LH_ACK, LH_KEEP_WINDOW, LH_OPT_MPTCP, LH_OPT_MSS, LH_OPT_SACK_OK, LH_OPT_TS, LH_OPT_WSCALE,
    LH_ROLE_MOBILE, LH_SYN, LH_TELL_MESSAGE, LH_TELL_OPTION, lh_missing, lh_peer,
};
use lasthop_core::{Actions, Call, Config, Flow, Host, Key, Limits, Segment};

use crate::case::{FlowSpec, MS, SEC};
use crate::wire::{Ack, Data, MSS, Missing, Numbers};

#[derive(Debug)]
struct Tracked {
    flow: Flow,
    key: Key,
    numbers: Numbers,
    held: Option<Ack>,
    deadline_ns: Option<u64>,
}

impl Tracked {
    /// A flow without a receiver's place may have deserved one.
    fn join(&mut self, host: &mut Host, now_ns: u64) {
        if self.flow.raw().peer == 0 {
            host.set_peer(&mut self.flow, &self.key, now_ns);
        }
    }
}

/// What came of one call.
#[derive(Debug, Default)]
pub struct Outcome {
    pub passed: Option<Ack>,
    pub repairs: Vec<Data>,
    pub released: Vec<Ack>,
    /// For the agent at the other end.
    pub told: Option<Missing>,
}

#[derive(Debug)]
pub struct Agent {
    pub host: Host,
    config: Config,
    /// At MH: what comes over the hop is FH's.
    far: bool,
    /// Round trip to the agent at the other end, which answers.
    partner_rtt_ns: Option<u64>,
    /// Somebody at each receiver's address has others believe that it loses, and is next door, from 3 s on.
    pub liars: bool,
    flows: Vec<Option<Tracked>>,
    /// What the machine's clock showed when the simulation began.
    uptime_ns: u64,
}

impl Agent {
    pub fn new(config: Config, partner_rtt_ns: Option<u64>, uptime_ns: u64) -> Self {
        Self {
            host: Host::new(Limits::default()),
            far: config.role == LH_ROLE_MOBILE,
            partner_rtt_ns,
            liars: false,
            config,
            flows: Vec::new(),
            uptime_ns,
        }
    }

    fn call(&self, now_ns: u64) -> Call {
        Call {
            partner: u8::from(self.partner_rtt_ns.is_some()),
            partner_rtt_ns: self.partner_rtt_ns.unwrap_or(0),
            ..Call::at(now_ns + self.uptime_ns)
        }
    }

    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let all = lasthop_core::counters().enumerate();
        all.map(|(id, named)| (named.name, self.host.counter(id as u32)))
            .filter(|(_, n)| *n > 0)
            .collect()
    }

    pub fn flow(&self, i: usize) -> Option<&Flow> {
        self.flows.get(i)?.as_ref().map(|t| &t.flow)
    }

    /// A connection to the receiver at `station` appears.
    pub fn open(&mut self, i: usize, station: usize, numbers: Numbers, now_ns: u64) {
        while self.flows.len() <= i {
            self.flows.push(None);
        }
        let mut key = Key {
            family: 4,
            mh_port: i as u16,
            ..Key::default()
        };
        key.mh[..4].copy_from_slice(&[10, 2, (station >> 8) as u8, station as u8 + 2]);
        let mut flow = Flow::new();
        let now_ns = self.call(now_ns).now_ns;
        self.host.set_peer(&mut flow, &key, now_ns);
        self.flows[i] = Some(Tracked {
            flow,
            key,
            numbers,
            held: None,
            deadline_ns: None,
        });
    }

    /// SYN or SYN-ACK: `from_mh`, `answer`.
    pub fn handshake(
        &mut self,
        i: usize,
        from_mh: bool,
        answer: bool,
        spec: &FlowSpec,
        now_ns: u64,
    ) {
        let call = self.call(now_ns);
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return;
        };
        let ack = if answer { LH_SYN | LH_ACK } else { LH_SYN };
        let start = t.numbers.start;
        let mptcp = if spec.mptcp { LH_OPT_MPTCP } else { 0 };
        let mut s = Segment {
            seq: if from_mh { 0 } else { start.wrapping_sub(1) },
            end: if from_mh { 1 } else { start },
            ack: match (answer, from_mh) {
                (false, _) => 0,
                (true, true) => start,
                (true, false) => 1,
            },
            flags: ack as u16,
            window: 65_535,
            mss: MSS as u16,
            wscale: spec.wscale,
            opts: (LH_OPT_TS | LH_OPT_SACK_OK | LH_OPT_WSCALE | LH_OPT_MSS | mptcp) as u8,
            l4_offset: 20,
            hdr_bytes: 60,
            ..Segment::default()
        };
        s.tsval = 1;
        let actions = if from_mh != self.far {
            t.join(&mut self.host, call.now_ns);
            self.host.on_ack(&mut t.flow, &self.config, &s, &call)
        } else {
            let a = self.host.on_data(&mut t.flow, &self.config, &s, &call);
            if let Some(slot) = a.store() {
                self.host.store(slot, &[]);
            }
            a
        };
        t.deadline_ns = actions.deadline_ns();
    }

    /// The bare ACK that ends a handshake opened by FH.
    pub fn confirm(&mut self, i: usize, now_ns: u64) {
        let call = self.call(now_ns);
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return;
        };
        let d = Data {
            seq: 0,
            len: 0,
            tsval: 1,
            tsecr: 1,
            mh_ack: 0,
        };
        let s = t.numbers.data(&d);
        let actions = self.host.on_data(&mut t.flow, &self.config, &s, &call);
        t.deadline_ns = actions.deadline_ns();
    }

    pub fn on_data(&mut self, i: usize, d: &Data, now_ns: u64) {
        let call = self.call(now_ns);
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return;
        };
        let s = t.numbers.data(d);
        let actions = self.host.on_data(&mut t.flow, &self.config, &s, &call);
        if let Some(slot) = actions.store() {
            self.host.store(slot, &pack(d));
        }
        t.deadline_ns = actions.deadline_ns();
    }

    pub fn on_ack(&mut self, i: usize, a: &Ack, now_ns: u64) -> Outcome {
        let call = self.call(now_ns);
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return Outcome {
                passed: Some(*a),
                ..Outcome::default()
            };
        };
        let s = t.numbers.ack(a);
        t.join(&mut self.host, call.now_ns);
        if self.liars && t.flow.raw().peer != 0 && now_ns > 3 * SEC {
            lie(self.host.peer_mut(t.flow.raw().peer), call.now_ns);
        }
        let actions = self.host.on_ack(&mut t.flow, &self.config, &s, &call);
        if actions.hold != 0 {
            t.held = Some(*a);
        }
        let mut outcome = self.finish(i, &actions, Some(a));
        if !actions.is_drop() {
            let mut ack = *a;
            ack.missing = Missing::default();
            if actions.window != LH_KEEP_WINDOW {
                ack.window = actions.window as u16;
            }
            if actions.blank_sack != 0 {
                ack.nr_blocks = 0;
                ack.dsack = false;
            }
            outcome.passed = Some(ack);
        }
        outcome
    }

    pub fn deadline(&self, i: usize) -> Option<u64> {
        let at = self.flows.get(i)?.as_ref()?.deadline_ns?;
        Some(at.saturating_sub(self.uptime_ns))
    }

    pub fn on_timer(&mut self, i: usize, now_ns: u64) -> Outcome {
        let call = self.call(now_ns);
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return Outcome::default();
        };
        let actions = self.host.on_timer(&mut t.flow, &self.config, &call);
        self.finish(i, &actions, None)
    }

    /// The other end tells of what is missing.
    pub fn on_partner(&mut self, i: usize, told: &Missing, now_ns: u64) -> Outcome {
        let call = self.call(now_ns);
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return Outcome::default();
        };
        let mut list = lh_missing {
            nr: u32::from(told.nr),
            ..lh_missing::default()
        };
        list.block[..told.blocks.len()].copy_from_slice(&told.blocks);
        let actions = self
            .host
            .on_partner(&mut t.flow, &self.config, &list, &call);
        self.finish(i, &actions, None)
    }

    /// At MH: data have come over the hop.
    pub fn on_arrival(&mut self, i: usize, d: &Data, now_ns: u64) {
        let call = self.call(now_ns);
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return;
        };
        t.join(&mut self.host, call.now_ns);
        let s = t.numbers.data(d);
        let actions = self.host.on_ack(&mut t.flow, &self.config, &s, &call);
        t.deadline_ns = actions.deadline_ns();
    }

    /// At MH: its ACK leaves over the hop, and may take along what is missing.
    pub fn on_answer(&mut self, i: usize, a: &mut Ack, now_ns: u64) -> Outcome {
        let call = self.call(now_ns);
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return Outcome::default();
        };
        let mut s = t.numbers.ack(a);
        if s.nr_sack > 0 {
            s.hdr_bytes += 4 + 8 * u16::from(s.nr_sack);
        }
        let actions = self.host.on_data(&mut t.flow, &self.config, &s, &call);
        if actions.tell_by == LH_TELL_OPTION {
            a.missing = missing(&actions);
        }
        self.finish(i, &actions, None)
    }

    fn finish(&mut self, i: usize, actions: &Actions, ack: Option<&Ack>) -> Outcome {
        let mut outcome = Outcome::default();
        for r in actions.retransmits() {
            let packet = self.host.pool().packet(r.slot);
            let packet = packet.expect("the core resends from slots that it has");
            if !packet.is_empty() {
                outcome.repairs.push(unpack(packet));
            }
        }
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return outcome;
        };
        t.deadline_ns = actions.deadline_ns();
        if actions.tell_by == LH_TELL_MESSAGE {
            outcome.told = Some(missing(actions));
        }
        for _ in 0..actions.emit_held {
            let Some(mut copy) = ack.copied().or(t.held) else {
                break;
            };
            if ack.is_none() && actions.held_window != LH_KEEP_WINDOW {
                copy.window = actions.held_window as u16;
            }
            outcome.released.push(copy);
        }
        outcome
    }
}

/// What its flows' samples leave there: of segments that they acknowledge as they depart, ten a second, and of
/// what they do not.
fn lie(peer: &mut lh_peer, now_ns: u64) {
    (peer.lossy_ns, peer.lossy_for_ns) = (now_ns, 30 * SEC);
    if now_ns / (100 * MS) != peer.since_ns / (100 * MS) {
        (peer.lmin_now_ns, peer.since_ns) = (MS / 10, now_ns);
    }
}

fn missing(actions: &Actions) -> Missing {
    let mut missing = Missing::default();
    for (to, from) in missing.blocks.iter_mut().zip(actions.tell()) {
        *to = *from;
        missing.nr += 1;
    }
    missing
}

fn pack(d: &Data) -> [u8; 20] {
    let mut b = [0; 20];
    b[..8].copy_from_slice(&d.seq.to_le_bytes());
    b[8..12].copy_from_slice(&d.len.to_le_bytes());
    b[12..16].copy_from_slice(&d.tsval.to_le_bytes());
    b[16..].copy_from_slice(&d.tsecr.to_le_bytes());
    b
}

fn unpack(b: &[u8]) -> Data {
    let word = |at: usize| u32::from_le_bytes(b[at..at + 4].try_into().expect("four bytes"));
    Data {
        seq: u64::from_le_bytes(b[..8].try_into().expect("eight bytes")),
        len: word(8),
        tsval: word(12),
        tsecr: word(16),
        mh_ack: 0,
    }
}
