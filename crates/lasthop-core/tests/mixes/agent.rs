// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The agent of the hop: the unmodified core over segments as values.

use lasthop_core::bindings::{
    LH_ACK, LH_KEEP_WINDOW, LH_OPT_MPTCP, LH_OPT_MSS, LH_OPT_SACK_OK, LH_OPT_TS, LH_OPT_WSCALE,
    LH_SYN,
};
use lasthop_core::{Actions, Call, Config, Flow, Host, Key, Limits, Segment};

use crate::case::FlowSpec;
use crate::wire::{Ack, Data, MSS, Numbers};

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
}

#[derive(Debug)]
pub struct Agent {
    pub host: Host,
    config: Config,
    flows: Vec<Option<Tracked>>,
}

impl Agent {
    pub fn new(config: Config) -> Self {
        Self {
            host: Host::new(Limits::default()),
            config,
            flows: Vec::new(),
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
        let call = Call::at(now_ns);
        let actions = if from_mh {
            t.join(&mut self.host, now_ns);
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
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return;
        };
        let d = Data {
            seq: 0,
            len: 0,
            tsval: 1,
            tsecr: 1,
        };
        let s = t.numbers.data(&d);
        let actions = self
            .host
            .on_data(&mut t.flow, &self.config, &s, &Call::at(now_ns));
        t.deadline_ns = actions.deadline_ns();
    }

    pub fn on_data(&mut self, i: usize, d: &Data, now_ns: u64) {
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return;
        };
        let s = t.numbers.data(d);
        let actions = self
            .host
            .on_data(&mut t.flow, &self.config, &s, &Call::at(now_ns));
        if let Some(slot) = actions.store() {
            self.host.store(slot, &pack(d));
        }
        t.deadline_ns = actions.deadline_ns();
    }

    pub fn on_ack(&mut self, i: usize, a: &Ack, now_ns: u64) -> Outcome {
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return Outcome {
                passed: Some(*a),
                ..Outcome::default()
            };
        };
        let s = t.numbers.ack(a);
        t.join(&mut self.host, now_ns);
        let actions = self
            .host
            .on_ack(&mut t.flow, &self.config, &s, &Call::at(now_ns));
        if actions.hold != 0 {
            t.held = Some(*a);
        }
        let mut outcome = self.finish(i, &actions, Some(a));
        if !actions.is_drop() {
            let mut ack = *a;
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
        self.flows.get(i)?.as_ref()?.deadline_ns
    }

    pub fn on_timer(&mut self, i: usize, now_ns: u64) -> Outcome {
        let Some(Some(t)) = self.flows.get_mut(i) else {
            return Outcome::default();
        };
        let actions = self
            .host
            .on_timer(&mut t.flow, &self.config, &Call::at(now_ns));
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
    }
}
