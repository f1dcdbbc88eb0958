// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Fast retransmission on handoff at the mobile host (docs/design.md, section 5.5). The agent is
//! MH's own: what leaves over the hop here are MH's ACKs, and FH's data come in.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Agent, Config, MSEC_NS, Outcome, SEC_NS, Setup};

const MH: u32 = 5_000;
const FH: u32 = u32::MAX - 3_000; // the numbers wrap

struct Mobile {
    agent: Agent,
    ends: Ends,
}

fn config() -> Config {
    Config {
        role: LH_ROLE_MOBILE,
        handoff: 3,
        ..Config::slack()
    }
}

impl Mobile {
    /// MH has opened the connection.
    fn new(config: Config) -> Self {
        Self::with(config, &[])
    }

    /// The same with more options on both SYNs.
    fn with(config: Config, more: &[u8]) -> Self {
        let mut mobile = Self {
            agent: Agent::new(Setup {
                config,
                ..Setup::default()
            }),
            ends: Ends::v4(1),
        };
        let options = [&option::mss(1_000)[..], &option::wscale(7), more].concat();
        let syn = |seq, ack, flags| Tcp {
            seq,
            ack,
            flags,
            window: 1_000,
            options: options.clone(),
            ..Tcp::default()
        };
        mobile.mh_sends(0, syn(MH, 0, LH_SYN));
        mobile.fh_sends(40, syn(FH, MH + 1, LH_SYN | LH_ACK));
        mobile.acks(41, 0);
        mobile
    }

    fn mh_sends(&mut self, ms: u64, tcp: Tcp) -> Outcome {
        let now_ns = SEC_NS + ms * MSEC_NS;
        self.agent.on_egress(&tcp.to_mh(&self.ends), now_ns)
    }

    fn fh_sends(&mut self, ms: u64, tcp: Tcp) {
        let now_ns = SEC_NS + ms * MSEC_NS;
        let outcome = self.agent.on_ingress(&tcp.to_fh(&self.ends), now_ns);
        assert!(!outcome.dropped);
    }

    fn data(&mut self, ms: u64, seq: u32) {
        self.fh_sends(ms, self.segment(FH + 1, MH + 1, seq, 1_000));
    }

    fn segment(&self, base: u32, ack: u32, seq: u32, bytes: usize) -> Tcp {
        Tcp {
            seq: base.wrapping_add(seq),
            ack,
            flags: LH_ACK,
            window: 1_000,
            payload: vec![7; bytes],
            ..Tcp::default()
        }
    }

    fn ack(&self, ack: u32, bytes: usize) -> Tcp {
        self.segment(MH + 1, (FH + 1).wrapping_add(ack), 0, bytes)
    }

    /// A pure ACK leaves. Its bytes.
    fn acks(&mut self, ms: u64, ack: u32) -> Vec<u8> {
        let tcp = self.ack(ack, 0);
        let bytes = tcp.to_mh(&self.ends);
        assert!(!self.mh_sends(ms, tcp).dropped);
        bytes
    }

    /// What leaves when the link is there again.
    fn up(&mut self, ms: u64) -> Vec<Vec<u8>> {
        let told = self.agent.on_link(true, SEC_NS + ms * MSEC_NS);
        assert!(told.iter().all(|(_, outcome)| outcome.to_fh.is_empty()));
        told.into_iter()
            .flat_map(|(_, outcome)| outcome.to_mh)
            .collect()
    }
}

#[test]
fn the_last_ack_is_repeated_once_the_link_is_there() {
    let mut mobile = Mobile::new(config());
    mobile.data(80, 0);
    mobile.acks(81, 1_000);
    mobile.data(82, 1_000);
    let last = mobile.acks(83, 2_000);
    assert_eq!(
        mobile.agent.on_link(false, SEC_NS + 90 * MSEC_NS)[0]
            .1
            .to_mh
            .len(),
        0
    );
    assert_eq!(mobile.up(400), vec![last; 3]);
    assert_eq!(mobile.agent.counter(LH_C_handoff_acks), 3);
}

#[test]
fn an_older_ack_that_is_late_is_not_repeated() {
    let mut mobile = Mobile::new(config());
    mobile.data(80, 0);
    mobile.data(81, 1_000);
    let last = mobile.acks(82, 2_000);
    mobile.acks(83, 1_000);
    assert_eq!(mobile.up(400), vec![last; 3]);
}

/// The window counts: other duplicates are none (RFC 5681 section 2).
#[test]
fn the_newest_window_is_repeated() {
    let mut mobile = Mobile::new(config());
    mobile.data(80, 0);
    mobile.acks(81, 1_000);
    let mut update = mobile.ack(1_000, 0);
    update.window = 500;
    let last = update.to_mh(&mobile.ends);
    mobile.mh_sends(82, update);
    assert_eq!(mobile.up(400), vec![last; 3]);
}

/// What FH knows from an ACK beside data is newer than the copy: that one tells nothing.
#[test]
fn behind_an_ack_with_data_nothing_is_repeated() {
    let mut mobile = Mobile::new(config());
    mobile.data(80, 0);
    mobile.acks(81, 1_000);
    mobile.data(82, 1_000);
    mobile.mh_sends(83, mobile.ack(2_000, 100));
    assert_eq!(mobile.up(400), Vec::<Vec<u8>>::new());
}

#[test]
fn who_receives_nothing_has_nothing_to_repeat() {
    let mut mobile = Mobile::new(config());
    mobile.data(80, 0);
    mobile.acks(81, 1_000);
    mobile.acks(11_000, 1_000); // a keepalive's answer
    assert_eq!(mobile.up(11_100), Vec::<Vec<u8>>::new());
}

/// TCP-MD5, TCP-AO (of which each segment has the option) and MPTCP: nothing is made up (I16).
#[test]
fn an_authenticated_ack_is_not_repeated() {
    for (kind, len, always) in [(19, 18, true), (29, 16, true), (30, 12, false)] {
        let more = option::other(kind, len);
        let mut mobile = Mobile::with(config(), &more);
        mobile.data(80, 0);
        let mut ack = mobile.ack(1_000, 0);
        if always {
            ack.options = more;
        }
        mobile.mh_sends(81, ack);
        assert_eq!(mobile.up(400), Vec::<Vec<u8>>::new(), "option {kind}");
    }
}

/// Only where it was asked for, and at MH's end: at the base it is FH that leaves copies (5.5).
#[test]
fn without_the_parameter_or_elsewhere_nothing_is_kept() {
    let base = Config {
        role: LH_ROLE_BASE,
        ..config()
    };
    let off = Config {
        handoff: 0,
        ..config()
    };
    let rack = Config {
        role: LH_ROLE_MOBILE,
        handoff: 3,
        ..Config::default()
    };
    for config in [base, off, rack] {
        let mut mobile = Mobile::new(config);
        mobile.data(80, 0);
        mobile.acks(81, 1_000);
        assert_eq!(mobile.up(400), Vec::<Vec<u8>>::new());
    }
    assert!(rack.rests() && off.rests() && !config().rests());
}
