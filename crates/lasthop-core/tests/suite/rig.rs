// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A bench for scripted exchanges: an agent and one connection through it.
//! Sequence numbers in scripts count from FH's first data byte, and times are
//! milliseconds. The numbers on the wire start shortly before the wrap, so that
//! every script crosses it.

use std::collections::HashMap;

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, checksum_ok, option};
use lasthop_core::{Agent, Config, Flow, Key, MSEC_NS, Outcome, SEC_NS, Setup, parse};

/// Wire number of FH's first data byte.
pub const BASE: u32 = u32::MAX - 1_500;
/// Wire number of MH's first data byte.
pub const MH_BASE: u32 = 7_000;
/// Scale that both ends offer.
pub const WSCALE: u8 = 7;
/// Local and wired round trip as the handshake shows them.
pub const LOCAL_MS: u64 = 10;
pub const WIRED_MS: u64 = 90;

/// What an ACK or a timer brought about.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    pub held: bool,
    /// Sequence numbers of the repairs, as in the script.
    pub resent: Vec<u32>,
    /// Copies of a kept ACK that went on to FH.
    pub released: usize,
}

pub struct Rig {
    pub agent: Agent,
    pub ends: Ends,
    pub key: Key,
    pub window: u16,
    /// Whether ACKs carry the blocks that scripts give.
    sack: bool,
    /// The newest packet per sequence number, as FH sent it.
    sent: HashMap<u32, Vec<u8>>,
}

#[derive(Clone)]
pub struct Options {
    pub config: Config,
    pub sack: bool,
    /// MH's SYN came first.
    pub mh_opens: bool,
    /// More options of MH's SYN or SYN-ACK.
    pub mh_options: Vec<u8>,
    pub setup: Setup,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            config: classic(),
            sack: false,
            mh_opens: false,
            mh_options: Vec::new(),
            setup: Setup::default(),
        }
    }
}

/// The papers' rules and nothing else: scripts count on every repair.
pub fn classic() -> Config {
    Config {
        queue_guard: 0,
        ..Config::snoop()
    }
}

/// An established connection whose ACK of nothing, at 150 ms, has the window that all have: FH
/// compares with it.
pub fn rig_with(config: Config, sack: bool) -> Rig {
    let mut rig = Rig::new(&Options {
        sack,
        config,
        ..Options::default()
    });
    rig.ack(150, 0, &[]);
    rig
}

/// A moment of a script.
pub fn ns(ms: u64) -> u64 {
    SEC_NS + ms * MSEC_NS
}

/// A sequence number of a script, on the wire.
pub fn wire(seq: i64) -> u32 {
    BASE.wrapping_add(seq as u32)
}

/// Payload that tells its place.
pub fn payload(seq: u32, len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|i| (seq.wrapping_add(i).wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

impl Rig {
    /// A connection before its handshake.
    pub fn silent(options: &Options) -> Self {
        let ends = Ends::v4(1);
        let (_, key) = parse(&Tcp::default().to_mh(&ends), 0, None, true).expect("a TCP packet");
        let setup = Setup {
            config: options.config,
            ..options.setup.clone()
        };
        Self {
            agent: Agent::new(setup),
            ends,
            key,
            window: 1_000,
            sack: options.sack,
            sent: HashMap::new(),
        }
    }

    /// An established connection; the handshake took place at 0 to 100 ms, and
    /// gave samples of LOCAL_MS and WIRED_MS.
    pub fn new(options: &Options) -> Self {
        let mut rig = Self::silent(options);
        let mut syn = option::mss(1_000);
        syn.extend(option::wscale(WSCALE));
        if options.sack {
            syn.extend(option::sack_ok());
        }
        let of_mh = [&syn[..], &options.mh_options].concat();
        if options.mh_opens {
            rig.mh_sends(0, rig.mh_syn(LH_SYN, &of_mh));
            rig.fh_sends(WIRED_MS, rig.fh_syn(LH_SYN | LH_ACK, &syn));
            rig.ack(WIRED_MS + LOCAL_MS, 0, &[]);
        } else {
            rig.fh_sends(0, rig.fh_syn(LH_SYN, &syn));
            rig.mh_sends(LOCAL_MS, rig.mh_syn(LH_SYN | LH_ACK, &of_mh));
            rig.fh_sends(LOCAL_MS + WIRED_MS, rig.bare());
        }
        rig
    }

    /// With the defaults, hence without SACK.
    pub fn plain() -> Self {
        Self::new(&Options::default())
    }

    pub fn fh_syn(&self, flags: u32, options: &[u8]) -> Tcp {
        Tcp {
            seq: wire(-1),
            ack: if flags & LH_ACK != 0 { MH_BASE } else { 0 },
            flags,
            options: options.to_vec(),
            ..Tcp::default()
        }
    }

    pub fn mh_syn(&self, flags: u32, options: &[u8]) -> Tcp {
        Tcp {
            seq: MH_BASE - 1,
            ack: if flags & LH_ACK != 0 { wire(0) } else { 0 },
            flags,
            window: self.window.saturating_mul(60),
            options: options.to_vec(),
            ..Tcp::default()
        }
    }

    /// A segment from FH without payload.
    pub fn bare(&self) -> Tcp {
        Tcp {
            seq: wire(0),
            ack: MH_BASE,
            ..Tcp::default()
        }
    }

    /// A data segment from FH.
    pub fn segment(&self, seq: i64, len: usize) -> Tcp {
        Tcp {
            seq: wire(seq),
            payload: payload(wire(seq), len),
            ..self.bare()
        }
    }

    /// A pure ACK from MH, with blocks if the connection uses SACK.
    pub fn pure(&self, ack: i64, sack: &[(i64, i64)]) -> Tcp {
        let blocks: Vec<_> = sack.iter().map(|&(l, r)| (wire(l), wire(r))).collect();
        Tcp {
            seq: MH_BASE,
            ack: wire(ack),
            window: self.window,
            options: if self.sack && !blocks.is_empty() {
                option::sack(&blocks)
            } else {
                Vec::new()
            },
            ..Tcp::default()
        }
    }

    pub fn fh_sends(&mut self, ms: u64, tcp: Tcp) -> Outcome {
        let packet = tcp.to_mh(&self.ends);
        let outcome = self.agent.on_egress(&packet, ns(ms));
        if !tcp.payload.is_empty() || tcp.flags & LH_FIN != 0 {
            self.sent.insert(tcp.seq, packet);
        }
        assert!(!outcome.dropped, "data always goes on");
        outcome
    }

    pub fn mh_sends(&mut self, ms: u64, tcp: Tcp) -> Seen {
        let packet = tcp.to_fh(&self.ends);
        let outcome = self.agent.on_ingress(&packet, ns(ms));
        self.seen(&outcome)
    }

    /// Data from FH. @return whether it was cached.
    pub fn data(&mut self, ms: u64, seq: i64, len: usize) -> bool {
        let outcome = self.fh_sends(ms, self.segment(seq, len));
        let actions = outcome.actions.expect("the flow is there");
        actions.store().is_some()
    }

    /// Equal segments of `len` bytes from `seq` on, a millisecond apart.
    pub fn burst(&mut self, ms: u64, seq: i64, len: usize, n: usize) {
        for i in 0..n {
            assert!(self.data(ms + i as u64, seq + (i * len) as i64, len));
        }
    }

    pub fn ack(&mut self, ms: u64, ack: i64, sack: &[(i64, i64)]) -> Seen {
        self.mh_sends(ms, self.pure(ack, sack))
    }

    /// Whatever is due at `ms`.
    pub fn timer(&mut self, ms: u64) -> Seen {
        let outcomes = self.agent.on_timer(ns(ms));
        let mut all = Seen {
            held: false,
            resent: Vec::new(),
            released: 0,
        };
        for (_, outcome) in &outcomes {
            let seen = self.seen(outcome);
            all.resent.extend(seen.resent);
            all.released += seen.released;
        }
        all
    }

    pub fn flow(&self) -> &Flow {
        self.agent.flow(&self.key).expect("the flow is there")
    }

    pub fn count(&self, id: u32) -> u64 {
        self.agent.counter(id)
    }

    /// When the timer is wanted, in milliseconds of the script.
    pub fn deadline(&self) -> Option<u64> {
        let at = self.agent.next_deadline()?;
        Some((at - SEC_NS) / MSEC_NS)
    }

    /// The ring as `(seq, end)` of the script.
    pub fn ring(&mut self) -> Vec<(u32, u32)> {
        let rel = |seq: u32| seq.wrapping_sub(BASE);
        let entries = self.agent.entries(&self.key);
        entries.iter().map(|e| (rel(e.seq), rel(e.end))).collect()
    }

    fn seen(&self, outcome: &Outcome) -> Seen {
        for packet in &outcome.to_mh {
            assert!(checksum_ok(packet));
            let (s, _) = parse(packet, 0, None, true).expect("what was cached is TCP");
            assert_eq!(Some(packet), self.sent.get(&s.seq), "a repair is verbatim");
        }
        let actions = outcome.actions.unwrap_or_default();
        let repairs = actions.retransmits().iter();
        Seen {
            held: outcome.dropped,
            resent: repairs.map(|r| r.seq.wrapping_sub(BASE)).collect(),
            released: outcome.to_fh.len(),
        }
    }
}

/// Compares what was seen with `pass` or `hold`, `resend [seq, ...]`,
/// `release copies`.
macro_rules! expect {
    ($seen:expr, $verdict:ident $(, resend [$($seq:expr),*])? $(, release $n:expr)?) => {{
        let mut want = $crate::rig::Seen {
            held: expect!(@held $verdict),
            resent: Vec::new(),
            released: 0,
        };
        $(want.resent = vec![$($seq),*];)?
        $(want.released = $n;)?
        want.released += 0;
        want.resent.shrink_to_fit();
        assert_eq!($seen, want);
    }};
    (@held pass) => { false };
    (@held hold) => { true };
}

/// `data!(rig, ms, seq, len)`: FH sends; it must be cached.
macro_rules! data {
    ($rig:expr, $ms:expr, $seq:expr, $len:expr) => {
        assert!($rig.data($ms, $seq, $len), "cached");
    };
}

/// `ack!(rig, ms, ack, sack [blocks] => expectation)`.
macro_rules! ack {
    ($rig:expr, $ms:expr, $ack:expr, sack $sack:tt => $($want:tt)*) => {
        expect!($rig.ack($ms, $ack, &$sack), $($want)*)
    };
    ($rig:expr, $ms:expr, $ack:expr => $($want:tt)*) => {
        expect!($rig.ack($ms, $ack, &[]), $($want)*)
    };
}

/// `timer!(rig, ms => expectation)`.
macro_rules! timer {
    ($rig:expr, $ms:expr => $($want:tt)*) => {
        expect!($rig.timer($ms), $($want)*)
    };
}
