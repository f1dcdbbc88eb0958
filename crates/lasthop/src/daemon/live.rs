// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The programs on a device, and what they ask for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::{lh_event, lh_keys};
use libbpf_rs::{RingBuffer, RingBufferBuilder};

use super::hello::Hello;
use super::timers::Timers;
use crate::bytes;
use crate::device::{self, Device};
use crate::monotonic::now_ns;
use crate::programs::{Agent, KICKS_MAX, Setup};

/// Programs on a device, with the queue of their events.
pub(super) struct Live {
    pub(super) agent: Agent,
    ring: RingBuffer<'static>,
    asked: Rc<RefCell<Asked>>,
    pub(super) ifindex: u32,
    hello: Hello,
    /// The link was there when it was last asked.
    running: bool,
}

impl Live {
    /// `keys`: by which other agents are known; none: no messages.
    pub(super) fn start(mut agent: Agent, device: &Device, keys: Option<&lh_keys>) -> Result<Self> {
        let (ring, asked) = ring_of(&agent)?;
        // Others of ours, for other connections, may be there.
        let found = Agent::found_on(device.ifindex).filter(|_| agent.setup().shared == 0);
        if let Some(id) = found {
            bail!("another lasthop serves it, BPF program {id} on it: end that one first");
        }
        // First the sign of life, then the programs: the first ACK may need it.
        agent.heartbeat(now_ns());
        let hello = Hello::begin(&agent)?;
        if let Some(keys) = keys {
            agent.set_keys(keys)?;
        }
        agent.attach()?;
        if device.too_large() {
            tracing::warn!(
                "{}: its MTU of {} bytes is larger than a cache slot: such packets pass uncached",
                device.name,
                device.mtu_bytes
            );
        }
        Ok(Self {
            agent,
            ring,
            asked,
            ifindex: device.ifindex,
            hello,
            running: device::running(&device.name).unwrap_or(true),
        })
    }

    /// Goes on with programs that are attached already, in the place of another process's.
    pub(super) fn take_over(agent: Agent, name: &str) -> Result<Self> {
        agent.heartbeat(now_ns());
        let (ring, asked) = ring_of(&agent)?;
        if agent.setup().realtime != 0 {
            take_timers(&agent, &mut asked.borrow_mut().timers)?;
        }
        Ok(Self {
            ifindex: agent.setup().ifindex,
            agent,
            ring,
            asked,
            hello: Hello::go_on(),
            running: device::running(name).unwrap_or(true),
        })
    }

    /// Tells the connections if the link has come or gone.
    pub(super) fn look_at_link(&mut self, name: &str) {
        let running = device::running(name).unwrap_or(self.running);
        if running == self.running {
            return;
        }
        match self.agent.link(running) {
            Ok(told) => {
                self.running = running;
                tracing::info!(
                    "{name}: carrier {running}, {} connections told",
                    told.unwrap_or(0)
                );
            }
            Err(error) => tracing::debug!("{name}: carrier: {error:#}"),
        }
    }

    /// Says hello to other agents, if we have a key.
    pub(super) fn say_hello(&mut self, name: &str) {
        if self.agent.setup().port == 0 {
            return;
        }
        if let Err(error) = self.hello.say(&self.agent, name) {
            tracing::debug!("{name}: hello: {error:#}");
        }
    }

    /// Does the work that the programs asked for. A flow that is busy on another CPU is asked again by
    /// the next call, soon: where that CPU stands still, as one of a virtual machine may, others have to
    /// be served meanwhile.
    pub(super) fn serve(&self) {
        self.ring.consume_raw();
        let due = self.asked.borrow_mut().due();
        for (event, tries) in due {
            match self.agent.kick(event.flow, event.generation, event.family) {
                Ok(true) if tries < KICKS_MAX => {
                    self.asked.borrow_mut().now.push_back((event, tries + 1));
                }
                Ok(_) => {}
                Err(error) => tracing::debug!("kick: {error:#}"),
            }
        }
    }

    /// Whether some flow is to be asked again.
    pub(super) fn waits(&self) -> bool {
        !self.asked.borrow().now.is_empty()
    }

    /// When the first timer is due that is kept here (CLOCK_MONOTONIC).
    pub(super) fn timer_ns(&self) -> Option<u64> {
        self.asked.borrow().timers.first_ns()
    }

    pub(super) fn ring_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor belongs to self.ring, which outlives the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }
}

/// Which flows the programs want kicked.
#[derive(Default)]
struct Asked {
    /// At once, and how often each was tried in vain.
    now: VecDeque<(lh_event, usize)>,
    timers: Timers,
}

impl Asked {
    fn hear(&mut self, event: lh_event) {
        match event.in_us {
            0 => self.now.push_back((event, 0)),
            us => self.timers.arm(event, now_ns() + u64::from(us) * 1000),
        }
    }

    /// Takes those whose time has come.
    fn due(&mut self) -> VecDeque<(lh_event, usize)> {
        let mut due = std::mem::take(&mut self.now);
        if self.timers.first_ns().is_some() {
            let now_ns = now_ns();
            due.extend(std::iter::from_fn(|| self.timers.take_due(now_ns)).map(|e| (e, 0)));
        }
        due
    }
}

fn ring_of(agent: &Agent) -> Result<(RingBuffer<'static>, Rc<RefCell<Asked>>)> {
    let asked = Rc::<RefCell<Asked>>::default();
    let sink = Rc::clone(&asked);
    let events = agent.events()?;
    let mut builder = RingBufferBuilder::new();
    builder.add(&events, move |raw: &[u8]| {
        if let Some(event) = bytes::read::<lh_event>(raw) {
            sink.borrow_mut().hear(event);
        }
        0
    })?;
    Ok((builder.build().context("ring buffer")?, asked))
}

/// The timers that another process kept for these flows.
fn take_timers(agent: &Agent, timers: &mut Timers) -> Result<()> {
    let armed = agent.each_flow(|flow, entry| {
        let event = lh_event {
            flow,
            generation: entry.generation,
            family: entry.key.family.into(),
            in_us: 0,
        };
        if entry.armed_ns != 0 {
            timers.arm(event, entry.armed_ns);
        }
        Ok(())
    });
    armed.context("timers of connections")
}

/// Loads the programs for a device.
pub(super) fn load(device: &Device, setup: &Setup) -> Result<Agent> {
    Agent::load(&setup.on(device.ifindex, device.l2_bytes)).with_context(|| device.name.clone())
}
