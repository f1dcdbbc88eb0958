// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Flows that another processor is busy with.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lasthop::programs::{Agent, Program, Setup, SkbContext};
use lasthop_core::bindings::{LH_ACK, LH_PSH};
use lasthop_core::packet::{Ends, Tcp};
use libbpf_rs::btf::{Btf, types};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::{NEXT, areas, begin, held, in_namespace_alone, load, map, run, setup, tcp};

/// An agent with one connection.
struct Busy {
    agent: Agent,
    flow: Flow,
    /// The next segment's number.
    seq: u32,
}

/// The connection's entry; found by the name of its map, so that one test has it at a time.
#[derive(Clone)]
struct Flow {
    area: Arc<MapHandle>,
    index: u32,
}

impl Flow {
    /// Has another processor take the flow's lock, with which its entry begins, or give it back.
    fn lock(&self, taken: bool) {
        let key = self.index.to_ne_bytes();
        let value = self.area.lookup(&key, MapFlags::ANY).expect("an area");
        let mut value = value.expect("a flow");
        value[..4].copy_from_slice(&u32::from(taken).to_ne_bytes());
        let written = self.area.update(&key, &value, MapFlags::ANY);
        written.expect("a flow");
    }
}

impl Busy {
    fn new() -> Self {
        Self::with(&setup())
    }

    fn with(setup: &Setup) -> Self {
        let agent = load(setup);
        begin(&agent);
        let flow = Flow {
            index: agent.flows().expect("flows")[0].index,
            area: Arc::new(areas(&map("flows")).swap_remove(0)),
        };
        Self {
            agent,
            flow,
            seq: 1,
        }
    }

    /// Has another run be at it on each processor (`struct lh_scratch`), or be through.
    fn claim(&self, taken: bool) {
        let program = held("prog_id:", "verified_insns:").into_keys().next();
        let types = Btf::from_prog_id(program.expect("a program") as u32).expect("types");
        let scratch: types::Struct<'_> = types.type_by_name("lh_scratch").expect("a struct");
        let at = scratch.iter().find_map(|member| match member.attr {
            types::MemberAttr::Normal { offset } if member.name? == "claimed" => Some(offset / 8),
            _ => None,
        });
        let at = at.expect("claimed") as usize;
        let (map, key) = (map("scratches"), 0u32.to_ne_bytes());
        let values = map.lookup_percpu(&key, MapFlags::ANY).expect("scratches");
        let mut values = values.expect("a value per processor");
        for value in &mut values {
            value[at..at + 4].copy_from_slice(&u32::from(taken).to_ne_bytes());
        }
        let written = map.update_percpu(&key, &values, MapFlags::ANY);
        written.expect("scratches");
    }

    /// The next segment passes, which takes so long.
    fn send(&mut self) -> Duration {
        let segment = tcp(self.seq, LH_ACK | LH_PSH, 400).to_mh(&Ends::v4(1));
        self.seq += 400;
        let since = Instant::now();
        run(&self.agent, Program::Egress, &segment, 0);
        since.elapsed()
    }

    /// FH's segment at `seq` passes, which acknowledges `ack`.
    fn data(&self, seq: u32, ack: u32) {
        let segment = Tcp {
            ack,
            ..tcp(seq, LH_ACK, 400)
        };
        run(
            &self.agent,
            Program::Egress,
            &segment.to_mh(&Ends::v4(1)),
            0,
        );
    }

    /// MH's segment passes, of so many bytes.
    fn hear(&self, seq: u32, ack: u32, bytes: usize) {
        let segment = Tcp {
            ack,
            ..tcp(seq, LH_ACK, bytes)
        };
        let heard = segment.to_fh(&Ends::v4(1));
        let passed = run(&self.agent, Program::Ingress, &heard, 1_000);
        assert_eq!(passed.retval, NEXT);
    }

    /// FH's super-packet passes, of segments of 20 bytes: test runs take no more than a page.
    fn send_super(&self, seq: u32, segments: u32) {
        let bytes = segments as usize * 20;
        let packet = tcp(seq, LH_ACK, bytes).to_mh(&Ends::v4(1));
        let context = SkbContext {
            gso_size: 20,
            gso_segs: segments,
            ..SkbContext::default()
        };
        let sent = self.agent.run(Program::Egress, &packet, &context, 1);
        assert_eq!(sent.expect("test run").retval, NEXT);
    }

    fn count(&self, name: &str) -> u64 {
        self.agent.counter(name).expect("counter")
    }
}

/// A virtual machine's processor may be taken away for some milliseconds while it has the lock: what comes
/// meanwhile waits by the clock, however fast this processor turns, and passes if that lasts.
#[test]
fn waits_for_milliseconds_and_passes() {
    in_namespace_alone(|| {
        let mut busy = Busy::new();
        busy.flow.lock(true);
        let spent = busy.send();
        let asked = if setup().realtime { 500 } else { 4_000 };
        assert!(spent >= Duration::from_micros(asked), "{spent:?}");
        assert_eq!(busy.count("bypass_lock"), 1);
        assert_eq!(busy.count("cached_segments"), 0);
        busy.flow.lock(false);
        busy.send();
        assert_eq!(busy.count("bypass_lock"), 1);
    });
}

/// Who gets the lock while it waits goes on as ever. It may not get it in time on a busy machine.
#[test]
fn goes_on_where_the_other_is_through() {
    in_namespace_alone(|| {
        let mut busy = Busy::new();
        busy.flow.lock(true);
        // A run that lost its processor takes longer than the waiting.
        let most = (0..5).map(|_| busy.send()).min().expect("five");
        let goes_on = |_| {
            let (passed, cached) = (busy.count("bypass_lock"), busy.count("cached_segments"));
            busy.flow.lock(true);
            let flow = busy.flow.clone();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(most / 8);
                    flow.lock(false);
                });
                busy.send();
            });
            busy.count("bypass_lock") == passed && busy.count("cached_segments") == cached + 1
        };
        assert!((0..400).any(goes_on));
    });
}

/// The last segment of a burst passes unseen; MH's answer tells of it, and nothing is asked for after that.
#[test]
fn what_passed_may_be_acknowledged() {
    in_namespace_alone(|| {
        let mut busy = Busy::new();
        busy.send();
        busy.flow.lock(true);
        busy.send();
        busy.flow.lock(false);
        busy.hear(1, busy.seq, 0);
        assert_eq!(busy.count("bypass_unacceptable"), 0);
        let flows = busy.agent.flows().expect("flows");
        assert_eq!(flows[0].flow.una, busy.seq);
    });
}

/// The last segment of an upload passes unseen: FH's data acknowledge it, and are cached.
#[test]
fn what_passed_of_an_upload_may_be_acknowledged() {
    in_namespace_alone(|| {
        let busy = Busy::new();
        busy.hear(1, 1, 400);
        busy.data(1, 401);
        busy.flow.lock(true);
        busy.hear(401, 1, 400);
        busy.flow.lock(false);
        busy.data(401, 801);
        assert_eq!(busy.count("cached_segments"), 2);
    });
}

/// With PREEMPT_RT a run may come while another is at it, and its packet passes before anybody knows whose it is.
#[test]
fn what_passed_without_a_look_may_be_acknowledged() {
    in_namespace_alone(|| {
        let mut busy = Busy::with(&Setup {
            realtime: true,
            ..setup()
        });
        busy.send();
        busy.claim(true);
        busy.send();
        busy.claim(false);
        assert_eq!(busy.count("bypass_lock"), 1);
        busy.hear(1, busy.seq, 0);
        assert_eq!(busy.count("bypass_unacceptable"), 0);
        let flows = busy.agent.flows().expect("flows");
        assert_eq!(flows[0].flow.una, busy.seq);
    });
}

/// What passed before a connection came is not its own.
#[test]
fn what_passed_before_is_not_acknowledged() {
    in_namespace_alone(|| {
        let mut busy = Busy::with(&Setup {
            realtime: true,
            ..setup()
        });
        busy.claim(true);
        busy.send();
        busy.claim(false);
        busy.agent.sweep(true).expect("sweep");
        begin(&busy.agent);
        busy.seq = 1;
        busy.send();
        busy.hear(1, busy.seq + 400, 0);
        assert_eq!(busy.count("bypass_unacceptable"), 1);
    });
}

/// Who has seen everything believes nobody who acknowledges more.
#[test]
fn what_nobody_sent_is_not_acknowledged() {
    in_namespace_alone(|| {
        let mut busy = Busy::new();
        busy.send();
        busy.hear(1, busy.seq + 400, 0);
        assert_eq!(busy.count("bypass_unacceptable"), 1);
    });
}

/// A super-packet finds its flow busy once, and waits no second time, nor asks for a place of its own.
#[test]
fn a_super_packet_waits_once() {
    in_namespace_alone(|| {
        let busy = Busy::new();
        busy.flow.lock(true);
        busy.send_super(1, 3);
        busy.flow.lock(false);
        assert_eq!(busy.count("bypass_lock"), 1);
    });
}

/// A super-packet of more segments than there are turns for: the core knows of all.
#[test]
fn of_a_super_packet_with_many_segments_all_may_be_acknowledged() {
    in_namespace_alone(|| {
        let busy = Busy::new();
        busy.send_super(1, 150);
        assert_eq!(busy.count("data_segments"), 128);
        busy.hear(1, 3_001, 0);
        assert_eq!(busy.count("bypass_unacceptable"), 0);
    });
}
