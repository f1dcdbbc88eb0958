// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Flows whose timers user space keeps, as where the kernel lets programs have none (PREEMPT_RT), or has no
//! memory for one: what the programs ask for, and what a kick makes of it. With the machine's clock.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use lasthop::bytes;
use lasthop::monotonic::now_ns;
use lasthop::programs::{Agent, Program, Setup};
use lasthop_core::bindings::{LH_ACK, LH_PSH, lh_event, lh_flow_entry};
use lasthop_core::packet::Ends;
use libbpf_rs::{RingBuffer, RingBufferBuilder};

use super::{begin, in_namespace, load, run, setup, tcp};

struct Talk {
    agent: Agent,
    ring: RingBuffer<'static>,
    heard: Rc<RefCell<Vec<lh_event>>>,
}

impl Talk {
    /// A connection with one segment on its way. `realtime`: the kernel lets programs have no timers; else
    /// it has no memory for them.
    fn new(realtime: bool) -> Self {
        let agent = load(&Setup {
            test_clock: false,
            realtime,
            test_no_timers: !realtime,
            ..setup()
        });
        let heard = Rc::<RefCell<Vec<lh_event>>>::default();
        let sink = Rc::clone(&heard);
        let mut builder = RingBufferBuilder::new();
        let events = agent.events().expect("events");
        builder
            .add(&events, move |raw: &[u8]| {
                sink.borrow_mut().push(bytes::read(raw).expect("an event"));
                0
            })
            .expect("ring buffer");
        let talk = Self {
            ring: builder.build().expect("ring buffer"),
            agent,
            heard,
        };
        begin(&talk.agent);
        talk.heard();
        talk.send(0);
        talk
    }

    fn send(&self, i: u32) {
        let segment = tcp(1 + i * 400, LH_ACK | LH_PSH, 400);
        run(
            &self.agent,
            Program::Egress,
            &segment.to_mh(&Ends::v4(1)),
            0,
        );
    }

    fn heard(&self) -> Vec<lh_event> {
        self.ring.consume_raw();
        self.heard.take()
    }

    fn flow(&self) -> (u32, lh_flow_entry) {
        let mut found = None;
        let look = |index, entry: &lh_flow_entry| {
            found = Some((index, *entry));
            Ok(())
        };
        self.agent.each_flow(look).expect("flows");
        found.expect("a flow")
    }

    fn kick(&self) {
        let (index, flow) = self.flow();
        assert!(!self.agent.kick(index, flow.generation, 4).expect("kick"));
    }

    fn repairs(&self) -> u64 {
        self.agent.counter("retransmits_timer").expect("counter")
    }
}

#[test]
fn user_space_is_asked_once_for_each_time() {
    in_namespace(|| asked_once(true));
}

#[test]
fn user_space_is_asked_where_memory_is_short() {
    in_namespace(|| asked_once(false));
}

fn asked_once(realtime: bool) {
    let before_ns = now_ns();
    let talk = Talk::new(realtime);
    let asked = talk.heard();
    let (index, flow) = talk.flow();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(
        (asked[0].flow, asked[0].generation, asked[0].family),
        (index, flow.generation, 4)
    );
    assert_eq!(flow.armed_ns, flow.deadline_ns);
    assert_eq!(flow.armed_outside, 1);
    // From its own time on, which lies between ours before and after.
    let in_ns = u64::from(asked[0].in_us) * 1000;
    assert!(before_ns + in_ns <= flow.armed_ns + 1000 + (now_ns() - before_ns));
    assert!(now_ns() + in_ns > flow.armed_ns);

    talk.send(1);
    talk.kick(); // too early
    assert_eq!(talk.heard().len(), 0, "it is armed");
    assert_eq!((talk.flow().1.armed_ns, talk.repairs()), (flow.armed_ns, 0));

    while now_ns() < flow.armed_ns {
        std::thread::sleep(Duration::from_nanos(flow.armed_ns - now_ns()));
    }
    talk.kick();
    let (_, later) = talk.flow();
    assert!(talk.repairs() == 1, "the head goes out again");
    assert_eq!(talk.heard().len(), 1, "for the next time");
    assert!(later.armed_ns > flow.armed_ns && later.armed_ns == later.deadline_ns);
}

/// An entry that goes to another connection does not wait for a time of the one before.
#[test]
fn the_next_flow_in_the_place_asks_anew() {
    in_namespace(|| {
        let talk = Talk::new(true);
        let (index, flow) = talk.flow();
        assert_eq!(talk.heard().len(), 1);
        assert_eq!(talk.agent.sweep(true).expect("sweep"), 1);
        begin(&talk.agent); // nothing is timed where no ACK comes by
        talk.heard();
        talk.send(0);
        let (next, again) = talk.flow();
        assert!(next == index && again.generation > flow.generation);
        let asked = talk.heard();
        assert_eq!((asked.len(), asked[0].generation), (1, again.generation));
    });
}
