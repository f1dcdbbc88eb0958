// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The same packets through the native core and through the BPF programs: verdicts, repairs and
//! counters must be the same after each.

use std::collections::BTreeMap;

use lasthop::programs::{Agent as Bpf, Program, SkbContext};
use lasthop_core::agent::{Agent as Native, Setup as NativeSetup};
use lasthop_core::bindings::{
    LH_ACK, LH_ECE, LH_FIN, LH_LINK_DOWN, LH_LINK_SAME, LH_LINK_UP, LH_MAC_DELIVERED,
    LH_MAC_GIVEN_UP, LH_POLICY_MAC, LH_PSH, LH_RST, LH_SCHEME_rack, LH_SCHEME_slack,
    LH_SUPPRESS_OFF, LH_SUPPRESS_ON, LH_SYN, LH_URG, lh_config, lh_mac_report,
};
use lasthop_core::packet::{Ends, Tcp, checksum_ok, option, set_ce};
use lasthop_core::{Key, parse};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{DROP, NEXT, REDIRECT, in_namespace, load, run, setup};

const STEPS: usize = 3_000;
const MSS: u32 = 400;
const FRAMES: usize = 16;

/// Counters that only one of the hosts has reason to count.
const HOST_ONLY: [&str; 3] = ["retransmit_errors", "flows_removed", "bypass_lock"];

/// One connection as the generator sees it: enough to make packets that mean something.
#[derive(Clone)]
struct Talk {
    ends: Ends,
    sack: bool,
    una: u32,
    next: u32,
    /// What was sent above una, for SACK blocks and repetitions.
    sent: Vec<(u32, u32)>,
    window: u16,
}

struct Pair {
    bpf: Bpf,
    native: Native,
    rng: StdRng,
    now_ns: u64,
    talks: Vec<Talk>,
    /// Packets that were to be marked CE.
    marks: u32,
    /// The last that went out, of which the MAC may report.
    frames: Vec<Vec<u8>>,
    reports: bool,
}

impl Pair {
    fn new(config: lh_config, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let talks = (0..6)
            .map(|n| {
                // Every other one close to the wrap.
                let isn = if n % 2 == 0 {
                    u32::MAX - 20_000
                } else {
                    rng.random()
                };
                Talk {
                    ends: if n % 3 == 0 { Ends::v6(n) } else { Ends::v4(n) },
                    sack: n % 2 == 0,
                    una: isn,
                    next: isn,
                    sent: Vec::new(),
                    window: 500,
                }
            })
            .collect();
        let native = NativeSetup {
            config,
            l2_bytes: 14,
            max_flows: 64,
            ..NativeSetup::default()
        };
        Self {
            bpf: load(&lasthop::programs::Setup { config, ..setup() }),
            native: Native::new(native),
            rng,
            now_ns: 1_000_000_000,
            talks,
            marks: 0,
            frames: Vec::new(),
            reports: config.policy() & LH_POLICY_MAC != 0,
        }
    }

    /// The handshakes: scale, SACK and both round trips get known.
    fn open(&mut self) {
        for n in 0..self.talks.len() {
            let talk = self.talks[n].clone();
            let mut options = [option::mss(MSS as u16), option::wscale(4)].concat();
            if talk.sack {
                options.extend(option::sack_ok());
            }
            let frame = Tcp {
                ethernet: true,
                options,
                ..Tcp::default()
            };
            let syn = Tcp {
                seq: talk.una.wrapping_sub(1),
                flags: LH_SYN,
                ..frame.clone()
            };
            let answer = Tcp {
                ack: talk.una,
                flags: LH_SYN | LH_ACK,
                ..frame
            };
            self.out(&syn.to_mh(&talk.ends));
            self.now_ns += 10_000_000;
            self.back(&answer.to_fh(&talk.ends));
            self.now_ns += 20_000_000;
        }
    }

    fn data(&mut self, n: usize) -> Vec<u8> {
        let talk = &mut self.talks[n];
        let chance = self.rng.random_range(0..100);
        let len = if chance < 80 {
            MSS
        } else {
            self.rng.random_range(0..=MSS + 200)
        };
        let seq = match chance {
            0..=84 => talk.next,
            85..=94 => talk.sent.choose(&mut self.rng).map_or(talk.una, |s| s.0),
            95..=97 => talk.next.wrapping_add(MSS * self.rng.random_range(1..4)),
            _ => talk.una.wrapping_sub(self.rng.random_range(0..2 * MSS)),
        };
        let mut flags = LH_ACK;
        if self.rng.random_bool(0.3) {
            flags |= LH_PSH;
        }
        if self.rng.random_bool(0.003) {
            flags |= *[LH_FIN, LH_RST, LH_SYN, LH_URG]
                .choose(&mut self.rng)
                .expect("flags");
        }
        let end = seq.wrapping_add(len);
        if len > 0 {
            talk.sent.push((seq, end));
        }
        if (end.wrapping_sub(talk.next) as i32) > 0 {
            talk.next = end;
        }
        let payload = (0..len).map(|i| (i ^ seq) as u8).collect();
        Tcp {
            seq,
            flags,
            payload,
            ethernet: true,
            ..Tcp::default()
        }
        .to_mh(&talk.ends)
    }

    fn ack(&mut self, n: usize) -> Vec<u8> {
        let talk = &mut self.talks[n];
        let outstanding = talk.next.wrapping_sub(talk.una);
        let chance = self.rng.random_range(0..100);
        let ack = match chance {
            0..=59 => talk.una,
            60..=95 => {
                let ends: Vec<u32> = talk.sent.iter().map(|s| s.1).collect();
                let to = ends.choose(&mut self.rng).copied().unwrap_or(talk.una);
                if to.wrapping_sub(talk.una) <= outstanding {
                    to
                } else {
                    talk.una
                }
            }
            96..=97 => talk.una.wrapping_sub(MSS),
            98 => talk.next.wrapping_add(self.rng.random_range(1..MSS)),
            _ => talk.una.wrapping_add(self.rng.random_range(0..MSS)),
        };
        let mut flags = LH_ACK;
        if self.rng.random_bool(0.01) {
            flags |= *[LH_ECE, LH_FIN, LH_URG, LH_RST]
                .choose(&mut self.rng)
                .expect("flags");
        }
        if self.rng.random_bool(0.05) {
            talk.window = self.rng.random_range(0..600);
        }
        let mut blocks = Vec::new();
        if talk.sack && self.rng.random_bool(0.7) {
            for _ in 0..self.rng.random_range(1..4) {
                if let Some(&block) = talk.sent.choose(&mut self.rng) {
                    blocks.push(block);
                }
            }
        }
        let payload = if self.rng.random_bool(0.03) {
            vec![7; 10]
        } else {
            Vec::new()
        };
        let mut list = Vec::new();
        if !blocks.is_empty() {
            list.extend(option::sack(&blocks));
        }
        if self.rng.random_bool(0.01) {
            list.extend(option::other(30, 4));
        }
        if (ack.wrapping_sub(talk.una) as i32) > 0 {
            talk.una = ack;
            talk.sent.retain(|s| (s.1.wrapping_sub(ack) as i32) > 0);
        }
        let window = talk.window;
        Tcp {
            ack,
            flags,
            window,
            options: list,
            payload,
            ethernet: true,
            ..Tcp::default()
        }
        .to_fh(&talk.ends)
    }

    fn egress(&mut self, n: usize) {
        let packet = self.data(n);
        self.out(&packet);
    }

    fn out(&mut self, packet: &[u8]) {
        let out = run(&self.bpf, Program::Egress, packet, self.now_ns);
        let native = self.native.on_egress(packet, self.now_ns);
        assert!(!native.dropped && native.to_mh.is_empty());
        let mut want = packet.to_vec();
        if native.actions.is_some_and(|a| a.mark_ce != 0) {
            set_ce(&mut want);
            self.marks += 1;
        }
        assert_eq!((out.retval, out.data), (NEXT, want));
        self.frames.push(packet.to_vec());
        if self.frames.len() > FRAMES {
            self.frames.remove(0);
        }
    }

    /// The MAC reports of one of the last frames: now or late, of this copy or an older one.
    fn report(&mut self) {
        let Some(frame) = self.frames.choose(&mut self.rng).cloned() else {
            return;
        };
        let late_ns = self.rng.random_range(0..20_000_000);
        let report = lh_mac_report {
            event: self.rng.random_range(LH_MAC_DELIVERED..=LH_MAC_GIVEN_UP),
            queued_ns: [0, self.now_ns - late_ns][usize::from(self.rng.random_bool(0.5))],
            at_ns: self.now_ns - late_ns / 4,
            pad: 0,
        };
        let mut context = SkbContext {
            tstamp: self.now_ns,
            ..SkbContext::default()
        };
        context.cb = [
            report.event | (frame.len() as u32) << 8,
            report.at_ns as u32,
            (report.at_ns >> 32) as u32,
            report.queued_ns as u32,
            (report.queued_ns >> 32) as u32,
        ];
        let part = &frame[..frame.len().min(14 + 128)];
        let run = self.bpf.run(Program::Report, part, &context, 1);
        run.expect("report");
        self.native.on_mac(part, frame.len(), &report, self.now_ns);
    }

    fn ingress(&mut self, n: usize) {
        let packet = self.ack(n);
        self.back(&packet);
    }

    fn back(&mut self, packet: &[u8]) {
        let out = run(&self.bpf, Program::Ingress, packet, self.now_ns);
        let native = self.native.on_ingress(packet, self.now_ns);
        let wanted = match (native.dropped, native.to_mh.len()) {
            (false, _) => NEXT,
            (true, 0) => DROP,
            (true, _) => REDIRECT,
        };
        assert_eq!(
            out.retval, wanted,
            "verdict of {packet:02x?}: native {native:?}"
        );
        match wanted {
            REDIRECT => assert_eq!(out.data, native.to_mh[0], "repair"),
            NEXT => {
                let passed = native.passed.unwrap_or_else(|| packet.to_vec());
                assert_eq!(out.data, passed, "edits of {packet:02x?}");
                assert!(
                    checksum_ok(&out.data[14..]),
                    "checksum of {:02x?}",
                    out.data
                );
            }
            _ => {}
        }
        if native.to_mh.len() > 1 {
            // The native host has sent them all; the programs' next kick does, and runs the
            // timer if that is due.
            let (_, key) = parse(packet, 14, None, false).expect("TCP");
            if !self.timers().contains(&key) {
                self.kick(&key);
            }
        }
    }

    /// Runs the timers that are due, in both hosts; says whose.
    fn timers(&mut self) -> Vec<Key> {
        let due = self.native.on_timer(self.now_ns);
        let keys: Vec<Key> = due.into_iter().map(|(key, _)| key).collect();
        for key in &keys {
            self.kick(key);
        }
        keys
    }

    /// Tells both hosts of the link.
    fn link(&mut self) {
        let up = self.rng.random_bool(0.6);
        let told = self.native.on_link(up, self.now_ns);
        for (key, _) in told {
            self.kick_with(&key, if up { LH_LINK_UP } else { LH_LINK_DOWN });
        }
    }

    /// Runs the programs' timer of a flow; it also sends what an ACK could not carry.
    fn kick(&mut self, key: &Key) {
        self.kick_with(key, LH_LINK_SAME);
    }

    fn kick_with(&mut self, key: &Key, link: u32) {
        let (index, entry) = (0..64)
            .filter_map(|i| Some((i, self.bpf.flow(i).ok()??)))
            .find(|(_, e)| e.used != 0 && e.key == *key)
            .expect("the flow is in both tables");
        let mut context = SkbContext {
            tstamp: self.now_ns,
            ..SkbContext::default()
        };
        context.cb[0] = index;
        context.cb[1] = entry.generation;
        context.cb[2] = link;
        let mut template = [0u8; 64];
        let kind: u16 = if entry.key.family == 6 {
            0x86dd
        } else {
            0x0800
        };
        template[12..14].copy_from_slice(&kind.to_be_bytes());
        self.bpf
            .run(Program::Kick, &template, &context, 1)
            .expect("kick");
    }

    fn counters(&self) -> (BTreeMap<&'static str, u64>, BTreeMap<&'static str, u64>) {
        let values = self.bpf.counters().expect("counters");
        let named = || lasthop_core::counters().filter(|c| !HOST_ONLY.contains(&c.name));
        (
            named().map(|c| (c.name, values.n[c.id as usize])).collect(),
            named()
                .map(|c| (c.name, self.native.counter(c.id)))
                .collect(),
        )
    }

    fn go(&mut self) {
        for step in 0..STEPS {
            self.now_ns += self.rng.random_range(1_000..3_000_000);
            if self.rng.random_bool(0.002) {
                self.now_ns += 300_000_000; // long enough for timers
            }
            self.timers();
            if self.rng.random_bool(0.01) {
                self.link();
            }
            let n = self.rng.random_range(0..self.talks.len());
            if self.rng.random_bool(0.5) {
                self.egress(n);
            } else {
                self.ingress(n);
            }
            if self.reports && self.rng.random_bool(0.5) {
                self.report();
            }
            let (bpf, native) = self.counters();
            assert_eq!(bpf, native, "counters after step {step}");
        }
    }
}

fn compare(config: lh_config, seed: u64) -> BTreeMap<&'static str, u64> {
    let mut pair = Pair::new(config, seed);
    if [LH_SCHEME_rack, LH_SCHEME_slack].contains(&config.scheme) || config.brake != 0 {
        pair.open();
    }
    pair.go();
    pair.counters().0
}

/// Sums of the counters over these configurations, each with a seed of its own.
fn compared(
    configs: impl IntoIterator<Item = lh_config>,
    first_seed: u64,
) -> BTreeMap<&'static str, u64> {
    let mut total = BTreeMap::new();
    for (seed, config) in (first_seed..).zip(configs) {
        for (name, n) in compare(config, seed) {
            *total.entry(name).or_default() += n;
        }
    }
    total
}

#[test]
fn native_and_bpf_decide_the_same() {
    in_namespace(|| {
        let ns2 = lh_config::ns2();
        let unguarded = lh_config {
            queue_guard: 0,
            ..lh_config::snoop()
        };
        let configs = [lh_config::snoop(), ns2, unguarded, lh_config::observe()];
        let total = compared(configs, 0);
        // The generator must reach what it is there to compare.
        for name in [
            "local_retransmits",
            "retransmits_partial",
            "retransmits_timer",
            "suppressed_acks",
            "released_acks",
            "refreshed_segments",
            "upstream_lost",
        ] {
            assert!(total[name] > 10, "{name} only {}", total[name]);
        }
    });
}

#[test]
fn native_and_bpf_decide_the_same_with_slack() {
    in_namespace(|| {
        let with = |freeze, slack_bursts, handoff| lh_config {
            freeze,
            slack_bursts,
            handoff,
            ..lh_config::slack()
        };
        let total = compared(
            [with(0, 1, 0), with(0, 3, 2), with(1, 1, 1), with(0, 2, 0)],
            20,
        );
        for name in [
            "outages",
            "slack_bursts",
            "slack_inapplicable",
            "freezes",
            "handoff_acks",
        ] {
            assert!(total[name] > 2, "{name} only {}", total[name]);
        }
    });
}

#[test]
fn native_and_bpf_decide_the_same_with_sack() {
    in_namespace(|| {
        let with = |sack_mask, queue_guard, brake| lh_config {
            sack_mask,
            queue_guard,
            brake,
            ..lh_config::sack()
        };
        // Without an answer from the other end.
        let snack = lh_config {
            scheme: lh_config::snack().scheme,
            ..with(0, 0, 1)
        };
        let configs = [
            with(0, 1, 0),
            with(1, 0, 0),
            with(1, 0, 1),
            with(1, 1, 1),
            snack,
        ];
        let total = compared(configs, 30);
        for name in [
            "retransmits_order",
            "retransmits_dupack",
            "retransmits_timer",
            "suppressed_acks",
            "released_acks",
        ] {
            assert!(total[name] > 10, "{name} only {}", total[name]);
        }
        for name in ["clock_engaged", "windows_edited", "window_updates"] {
            assert!(total[name] > 0, "{name} never");
        }
    });
}

#[test]
fn native_and_bpf_decide_the_same_with_csnoop() {
    in_namespace(|| {
        let with = |undelivered, sack_mask, brake| lh_config {
            undelivered,
            sack_mask,
            brake,
            ..lh_config::csnoop()
        };
        let total = compared([with(0, 1, 0), with(1, 0, 0), with(0, 1, 1)], 40);
        for name in [
            "mac_delivered",
            "mac_undelivered",
            "mac_given_up",
            "retransmits_mac",
            "timer_kicks",
            "suppressed_acks",
            "released_acks",
        ] {
            assert!(total[name] > 10, "{name} only {}", total[name]);
        }
    });
}

#[test]
fn native_and_bpf_decide_the_same_with_rack() {
    in_namespace(|| {
        let with = |suppress, clock| lh_config {
            suppress,
            clock,
            ..lh_config::default()
        };
        let configs = [
            lh_config::default(),
            with(LH_SUPPRESS_ON, 0),
            with(LH_SUPPRESS_OFF, 1),
            lh_config {
                max_local: 2,
                ..lh_config::default()
            },
        ];
        let total = compared(configs, 10);
        for name in [
            "retransmits_order",
            "retransmits_timer",
            "suppressed_acks",
            "window_updates",
            "windows_edited",
            "clock_engaged",
        ] {
            assert!(total[name] > 0, "{name} never");
        }
    });
}
