// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The worlds of [`transfer`], with the BPF programs beside the native core: after each packet
//! verdict, edits, repair, counters and the flow's whole state are the same. Needs root.

use std::cell::RefCell;
use std::process::Command;

use lasthop::programs::{Agent as Bpf, Program, Setup as BpfSetup, SkbContext};
use lasthop_core::bindings::{
    LH_C_bypass_lock, LH_C_flows_removed, LH_C_retransmit_errors, LH_CB_FLOW, LH_CB_GENERATION,
    LH_CB_LINK, LH_CB_SWEEP, LH_FLOW_CHUNKS, LH_LINK_DOWN, LH_LINK_SAME, LH_LINK_UP,
    LH_NR_COUNTERS, LH_RTT_NS2, LH_SCHEME_none, LH_SCHEME_sack, LH_SCHEME_slack, LH_SCHEME_snoop,
    lh_flow,
};
use lasthop_core::packet::set_ce;
use lasthop_core::{Agent, Config, Key, Limits, Outcome, Setup, parse};
use nix::sched::{CloneFlags, unshare};

use crate::transfer::{self, Gateway, forget_all};

/// The programs' verdicts (TCX).
const NEXT: i32 = -1;
const DROP: i32 = 2;
const REDIRECT: i32 = 7;
const FLOWS: u32 = 16;
const ETHERNET: usize = 14;
/// Counters that only one of the hosts has reason to count.
const HOST_ONLY: [u32; 3] = [LH_C_retransmit_errors, LH_C_flows_removed, LH_C_bypass_lock];

thread_local! {
    /// The configuration is part of the loaded programs, so that there are few; each is loaded
    /// when first wanted.
    static TWINS: RefCell<[Option<Twin>; 9]> = const { RefCell::new([const { None }; 9]) };
}

/// One input.
///
/// # Panics
/// The hosts differ, or the programs can't be loaded.
pub fn run(data: &[u8]) {
    TWINS.with_borrow_mut(|twins| {
        let twin = transfer::drive(data, |config, _| {
            let kind = kind(&config);
            let mut twin = twins[kind].take().unwrap_or_else(|| Twin::new(kind));
            twin.reset();
            twin
        });
        let kind = twin.kind;
        twins[kind] = Some(twin);
    });
}

/// Which of the twins comes next to that configuration.
fn kind(config: &Config) -> usize {
    let ns2 = config.rtt_profile == LH_RTT_NS2;
    match config.scheme {
        s if s == LH_SCHEME_none => 0,
        s if s == LH_SCHEME_snoop => 1 + usize::from(ns2),
        s if s == LH_SCHEME_slack => 3 + config.freeze.min(1) as usize,
        s if s == LH_SCHEME_sack => 8,
        _ => 5 + config.suppress.min(2) as usize,
    }
}

fn config(kind: usize) -> Config {
    match kind {
        0 => Config::observe(),
        1 => Config::snoop(),
        2 => Config::ns2(),
        3 => Config::slack(),
        4 => Config {
            freeze: 1,
            slack_bursts: 2,
            handoff: 2,
            ..Config::slack()
        },
        8 => Config {
            sack_mask: 1,
            ..Config::sack()
        },
        n => Config {
            suppress: n as u32 - 5,
            max_local: [10, 3, 10][n - 5],
            ..Config::default()
        },
    }
}

/// A network namespace of this thread's own, where what the programs clone goes nowhere.
fn namespace() {
    thread_local!(static DONE: RefCell<bool> = const { RefCell::new(false) });
    if !DONE.replace(true) {
        unshare(CloneFlags::CLONE_NEWNET).expect("unshare: needs root");
        let up = Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status();
        assert!(up.expect("ip").success());
    }
}

/// Both hosts of the core.
pub struct Twin {
    kind: usize,
    config: Config,
    native: Agent,
    bpf: Bpf,
    /// The programs' counters when the input began.
    before: [u64; LH_NR_COUNTERS as usize],
    alive: bool,
    /// Where the table had the last flow.
    place: u32,
}

impl Twin {
    fn new(kind: usize) -> Self {
        namespace();
        let config = config(kind);
        let setup = BpfSetup {
            config,
            ifindex: 1,
            max_flows: FLOWS,
            cache_total_bytes: 8 << 20,
            cache_flow_bytes: 2 << 20,
            test_clock: true,
            ..BpfSetup::default()
        };
        Self {
            kind,
            config,
            native: Agent::new(Setup::default()),
            bpf: filled(&setup),
            before: [0; LH_NR_COUNTERS as usize],
            alive: true,
            place: 0,
        }
    }

    /// Both as if new.
    fn reset(&mut self) {
        // What an input left that failed.
        self.bpf_sweep(true, 1);
        self.bpf.reset_device().expect("the device's map");
        self.before = self.bpf.counters().expect("counters").n;
        let setup = self.bpf.setup();
        self.native = Agent::new(Setup {
            config: self.config,
            l2_bytes: ETHERNET as u32,
            limits: Limits {
                slots: setup.nr_slots,
                chunks: setup.nr_chunks,
                peers: setup.nr_peers,
            },
            max_flows: FLOWS as usize,
            flow_segments: setup.flow_segments,
        });
        self.alive = true;
    }

    fn run(
        &self,
        program: Program,
        frame: &[u8],
        now_ns: u64,
        words: &[(u32, u32)],
    ) -> (i32, Vec<u8>) {
        let mut context = SkbContext {
            tstamp: now_ns,
            ..SkbContext::default()
        };
        for &(word, value) in words {
            context.cb[word as usize] = value;
        }
        self.bpf
            .heartbeat(if self.alive { u64::MAX / 2 } else { 0 });
        let out = self.bpf.run(program, frame, &context, 1).expect("test run");
        (out.retval, out.data)
    }

    fn bpf_sweep(&mut self, force: bool, now_ns: u64) {
        for family in [4, 6] {
            let words = [
                (LH_CB_FLOW, 0),
                (LH_CB_GENERATION, FLOWS),
                (LH_CB_SWEEP, u32::from(force)),
            ];
            self.run(Program::Sweep, &template(family), now_ns, &words);
        }
    }

    /// Runs the programs' timer of a flow, which also sends what an ACK could not carry.
    fn kick(&mut self, key: &Key, link: u32, now_ns: u64) {
        let (index, entry) = self.entry(key).expect("the flow is in both tables");
        let words = [
            (LH_CB_FLOW, index),
            (LH_CB_GENERATION, entry.generation),
            (LH_CB_LINK, link),
        ];
        let template = template(entry.key.family.into());
        assert_eq!(self.run(Program::Kick, &template, now_ns, &words).0, 0);
    }

    fn entry(&mut self, key: &Key) -> Option<(u32, lasthop_core::bindings::lh_flow_entry)> {
        let guess = self.place;
        let places = std::iter::once(guess).chain(0..FLOWS);
        for index in places {
            let Some(entry) = self.bpf.flow(index).expect("the programs") else {
                continue;
            };
            if entry.key == *key {
                self.place = index;
                return Some((index, entry));
            }
        }
        None
    }

    /// What both have come to.
    fn same(&mut self, frame: &[u8], to_mh: bool) {
        let bpf = self.bpf.counters().expect("counters").n;
        for counter in lasthop_core::counters().filter(|c| !HOST_ONLY.contains(&c.id)) {
            let got = bpf[counter.id as usize] - self.before[counter.id as usize];
            let want = self.native.counter(counter.id);
            assert_eq!(got, want, "BPF's and the native {}", counter.name);
        }
        let Ok((_, key)) = parse(frame, ETHERNET as u32, None, to_mh) else {
            return;
        };
        let bpf = self.entry(&key).map(|(_, entry)| entry.flow);
        let native = self.native.flow(&key).map(|flow| *flow.raw());
        match (bpf, native) {
            (Some(bpf), Some(native)) => {
                let [bpf, native] = [bpf, native].map(comparable);
                assert_eq!(bpf, native, "BPF's and the native flow");
            }
            (None, None) => {}
            (bpf, native) => panic!("a flow: {} and {}", bpf.is_some(), native.is_some()),
        }
    }
}

/// A flow's state but for where its memory is.
fn comparable(mut flow: lh_flow) -> lh_flow {
    flow.ring.dir = [0; LH_FLOW_CHUNKS as usize];
    flow
}

/// The packet of kicks and sweeps: its type tells the family.
fn template(family: u32) -> [u8; 64] {
    let mut template = [0u8; 64];
    let kind: u16 = if family == 6 { 0x86dd } else { 0x0800 };
    template[12..14].copy_from_slice(&kind.to_be_bytes());
    template
}

fn framed(packet: &[u8]) -> Vec<u8> {
    let family = packet.first().map_or(0, |byte| byte >> 4);
    let mut frame = template(family.into())[..ETHERNET].to_vec();
    frame.extend(packet);
    frame
}

fn unframed(mut outcome: Outcome) -> Outcome {
    for packet in outcome
        .to_mh
        .iter_mut()
        .chain(&mut outcome.to_fh)
        .chain(&mut outcome.passed)
    {
        packet.drain(..ETHERNET);
    }
    outcome
}

impl Gateway for Twin {
    /// A packet costs a system call.
    const STRETCHES: usize = 2;

    fn core(&self) -> &Agent {
        &self.native
    }

    fn config(&self) -> &Config {
        &self.config
    }

    /// So late that a heartbeat at 0 is one missed.
    fn start_ns(&self) -> u64 {
        10_000_000_000
    }

    fn on_egress(&mut self, packet: &[u8], now_ns: u64) -> Outcome {
        let frame = framed(packet);
        let native = self.native.on_egress(&frame, now_ns);
        let mut want = frame.clone();
        if native.actions.is_some_and(|actions| actions.mark_ce != 0) {
            set_ce(&mut want);
        }
        let got = self.run(Program::Egress, &frame, now_ns, &[]);
        assert_eq!(got, (NEXT, want));
        self.same(&frame, true);
        unframed(native)
    }

    fn on_ingress(&mut self, packet: &[u8], now_ns: u64) -> Outcome {
        let frame = framed(packet);
        let mut native = self.native.on_ingress(&frame, now_ns);
        let (verdict, data) = self.run(Program::Ingress, &frame, now_ns, &[]);
        match (native.dropped, native.to_mh.first()) {
            (false, _) => {
                let passed = native.passed.clone().unwrap_or_else(|| frame.clone());
                assert_eq!((verdict, data), (NEXT, passed));
            }
            (true, None) => assert_eq!(verdict, DROP),
            // A test run's packet claims too little memory for a large repair, which leaves as a
            // clone then.
            (true, Some(repair)) if verdict == REDIRECT => assert_eq!(data, *repair),
            (true, Some(_)) => assert_eq!(verdict, DROP),
        }
        self.same(&frame, false);
        if native.to_mh.len() > 1 {
            // The native host has sent them all; the programs' next kick does, and runs the timer
            // if that is due.
            let (_, key) = parse(&frame, ETHERNET as u32, None, false).expect("TCP");
            self.kick(&key, LH_LINK_SAME, now_ns);
            let timer = self.native.kick(&key, now_ns).expect("a flow");
            native.to_mh.extend(timer.to_mh);
            native.to_fh.extend(timer.to_fh);
        }
        unframed(native)
    }

    fn on_timer(&mut self, now_ns: u64) -> Vec<Outcome> {
        let done = self.native.on_timer(now_ns);
        for (key, _) in &done {
            self.kick(key, LH_LINK_SAME, now_ns);
        }
        done.into_iter()
            .map(|(_, outcome)| unframed(outcome))
            .collect()
    }

    fn on_link(&mut self, up: bool, now_ns: u64) -> Vec<Outcome> {
        let told = self.native.on_link(up, now_ns);
        for (key, _) in &told {
            self.kick(key, if up { LH_LINK_UP } else { LH_LINK_DOWN }, now_ns);
        }
        told.into_iter()
            .map(|(_, outcome)| unframed(outcome))
            .collect()
    }

    fn sweep(&mut self, now_ns: u64) {
        self.native.sweep(now_ns);
        self.bpf_sweep(false, now_ns);
        assert_eq!(self.bpf.usage().flows, self.native.keys().count() as u64);
    }

    fn forget(&mut self, now_ns: u64) -> Vec<Vec<u8>> {
        self.bpf_sweep(true, now_ns);
        let usage = self.bpf.usage();
        assert_eq!((usage.flows, usage.slots, usage.chunks), (0, 0, 0));
        let mut released = forget_all(&mut self.native, now_ns);
        for packet in &mut released {
            packet.drain(..ETHERNET);
        }
        released
    }

    fn set_alive(&mut self, alive: bool) {
        self.alive = alive;
        self.native.set_alive(alive);
    }
}

/// Loaded programs whose pools are as large as they may be: nobody here serves what they ask for.
fn filled(setup: &BpfSetup) -> Bpf {
    let bpf = Bpf::load(setup).expect("load");
    bpf.fill().expect("memory");
    bpf
}
