// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The programs on a device, and what they ask for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::{LH_EVENT_GROW, lh_event, lh_keys};
use libbpf_rs::{RingBuffer, RingBufferBuilder};

use super::hello::Hello;
use super::keeper::Keeper;
use super::timers::Timers;
use crate::bytes;
use crate::device::{self, Device};
use crate::monotonic::now_ns;
use crate::programs::{Agent, KICKS_MAX, Setup, Successor};

/// How often the whole table is swept.
const SWEEP: Duration = Duration::from_secs(1);
/// Flows that are kicked in a row: some milliseconds at the most, in which others wait.
const KICKS_AT_ONCE: usize = 512;

/// So long events are looked at every so often once one has set a timer.
const POLLS_FOR_NS: u64 = 100_000_000;
/// So many timers are each in time; more of them by some milliseconds late, together.
const FEW_TIMERS: usize = 32;
const LATE_NS: u64 = 3_000_000;

/// Programs on a device, with the queue of their events.
pub(super) struct Live {
    pub(super) agent: Agent,
    ring: RingBuffer<'static>,
    asked: Rc<RefCell<Asked>>,
    pub(super) ifindex: u32,
    hello: Hello,
    sweeps: Sweeps,
    /// Of the pools.
    keeper: Keeper,
    /// Nobody else may be about to add to the pools, or to take away.
    pools_ours: bool,
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
            keeper: keeper_of(&agent),
            agent,
            ring,
            asked,
            ifindex: device.ifindex,
            hello,
            sweeps: Sweeps::begin(),
            pools_ours: true,
            running: device::running(&device.name).unwrap_or(true),
        })
    }

    /// Goes on with programs that are attached already, in the place of another process's.
    pub(super) fn take_over(agent: Agent, name: &str) -> Result<Self> {
        agent.heartbeat(now_ns());
        let (ring, asked) = ring_of(&agent)?;
        take_timers(&agent, &mut asked.borrow_mut().timers)?;
        // More of them: [`Live::take_timers`].
        Ok(Self {
            ifindex: agent.setup().ifindex,
            keeper: keeper_of(&agent),
            agent,
            ring,
            asked,
            hello: Hello::go_on(),
            sweeps: Sweeps::begin(),
            pools_ours: false,
            running: device::running(name).unwrap_or(true),
        })
    }

    /// Takes the timers that another process keeps, or kept until it ended; those that are here stay as the
    /// programs have them. Those of the kernel call its programs, until the table has been gone through.
    pub(super) fn take_timers(&self) {
        let taken = take_timers(&self.agent, &mut self.asked.borrow_mut().timers);
        let all = taken.and_then(|()| self.agent.release_unwanted(|| self.serve()));
        if let Err(error) = all {
            tracing::debug!("{error:#}");
        }
    }

    /// Leaves the pools as they are: another process may change them.
    pub(super) fn leave_pools(&mut self) {
        self.pools_ours = false;
        self.keeper.end();
        self.agent.reserve().keep_all();
    }

    /// Goes on with them, with what was asked for meanwhile.
    pub(super) fn take_pools(&mut self) {
        self.pools_ours = true;
        self.keeper.ask();
    }

    /// Tells the connections if the link has come or gone.
    pub(super) fn look_at_link(&mut self, name: &str) {
        let running = device::running(name).unwrap_or(self.running);
        if running == self.running {
            return;
        }
        match self.link(running) {
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

    /// Tells the connections what is said of the link, and serves meanwhile: there may be many. Returns as
    /// [`Agent::link`].
    pub(super) fn link(&self, up: bool) -> Result<Option<u64>> {
        self.agent.link(up, || self.serve())
    }

    /// Has other programs follow, and lets go what is not theirs.
    pub(super) fn succeed(&mut self, by: Successor) -> Result<()> {
        self.agent.succeed(by)?;
        self.agent.release_unwanted(|| self.serve())
    }

    /// When the next part of the table is to be swept.
    pub(super) fn sweeps_at(&self) -> Instant {
        self.sweeps.at
    }

    /// Has the pools kept as large as they have to be.
    pub(super) fn keep_pools(&mut self) {
        if self.pools_ours {
            self.keeper.begin();
        }
    }

    /// Forgets flows that are over, in that part of the table whose time has come: all at once would keep
    /// repairs waiting for as long as a large table takes.
    pub(super) fn sweep(&mut self, now: Instant) {
        if now < self.sweeps.at {
            return;
        }
        if self.agent.usage().flows == 0 {
            self.sweeps = Sweeps {
                at: now + SWEEP,
                next: 0,
            };
            return;
        }
        self.sweeps.at = now + SWEEP / self.agent.sweeps();
        self.sweeps.next = match self.agent.sweep_some(self.sweeps.next) {
            Ok(next) => next,
            Err(error) => {
                tracing::debug!("sweep: {error:#}");
                0
            }
        };
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

    /// Does the work that the programs asked for, of so many flows at the most; the rest by the next
    /// call. A flow that is busy on another CPU is asked again by that, soon: where that CPU stands still,
    /// as one of a virtual machine may, others have to be served meanwhile.
    pub(super) fn serve(&self) {
        self.ring.consume_raw();
        self.poll_or_sleep();
        let fire = self.asked.borrow_mut().timers.take_due(now_ns());
        if !fire.is_empty() {
            if let Err(error) = self.agent.fire(&fire) {
                tracing::debug!("timers: {error:#}");
            }
            self.ring.consume_raw(); // who is due
        }
        let due = self.asked.borrow_mut().take_some();
        for (event, tries) in due {
            if event.flow == LH_EVENT_GROW {
                self.keeper.ask();
                continue;
            }
            match self.agent.kick(event.flow, event.generation, event.family) {
                Ok(true) if tries < KICKS_MAX => {
                    self.asked.borrow_mut().now.push_back((event, tries + 1));
                }
                Ok(_) => {}
                Err(error) => tracing::debug!("kick: {error:#}"),
            }
        }
    }

    /// Where timers are kept here, most of the events set one, for a time that is far: they are looked at from
    /// time to time, rather than be woken by each.
    fn poll_or_sleep(&self) {
        let mut asked = self.asked.borrow_mut();
        let now_ns = now_ns();
        if std::mem::take(&mut asked.armed) {
            asked.polls_until_ns = now_ns + POLLS_FOR_NS;
        } else if asked.polls_until_ns > now_ns {
            return;
        } else {
            asked.polls_until_ns = 0;
        }
        self.agent.polls_until(asked.polls_until_ns);
    }

    /// Whether events are to be looked at every so often, without being woken.
    pub(super) fn polls(&self) -> bool {
        self.asked.borrow().polls_until_ns != 0
    }

    /// Whether some flow is to be asked again.
    pub(super) fn waits(&self) -> bool {
        !self.asked.borrow().now.is_empty()
    }

    /// When the first timer is due that is kept here (CLOCK_MONOTONIC); of many, some at once.
    pub(super) fn timer_ns(&self) -> Option<u64> {
        let asked = self.asked.borrow();
        let late_ns = match asked.timers.len() > FEW_TIMERS {
            true => LATE_NS,
            false => 0,
        };
        asked.timers.first_ns().map(|at_ns| at_ns + late_ns)
    }

    /// Whether some flow has not been asked yet.
    pub(super) fn is_behind(&self) -> bool {
        self.asked.borrow().now.iter().any(|(_, tries)| *tries == 0)
    }

    pub(super) fn ring_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor belongs to self.ring, which outlives the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }
}

/// Where in the table the sweep is.
struct Sweeps {
    at: Instant,
    next: u32,
}

impl Sweeps {
    fn begin() -> Self {
        Self {
            at: Instant::now() + SWEEP,
            next: 0,
        }
    }
}

/// Which flows the programs want kicked.
#[derive(Default)]
struct Asked {
    /// At once, and how often each was tried in vain.
    now: VecDeque<(lh_event, usize)>,
    timers: Timers,
    /// One was set since this was last looked at.
    armed: bool,
    /// As in the programs' memory.
    polls_until_ns: u64,
}

impl Asked {
    fn hear(&mut self, event: lh_event) {
        match event.in_us {
            0 => self.now.push_back((event, 0)),
            us => {
                self.armed = true;
                self.timers.arm(event.flow, now_ns() + u64::from(us) * 1000);
            }
        }
    }

    /// At most [`KICKS_AT_ONCE`].
    fn take_some(&mut self) -> Vec<(lh_event, usize)> {
        let first = self.now.len().min(KICKS_AT_ONCE);
        self.now.drain(..first).collect()
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

/// What keeps the pools of these programs, and of those that follow them.
fn keeper_of(agent: &Agent) -> Keeper {
    let reserve = Arc::clone(agent.reserve());
    Keeper::of(move |asked| {
        if asked {
            reserve.grow();
        }
        reserve.give_back(Instant::now())
    })
}

/// The timers that another process kept for these flows.
fn take_timers(agent: &Agent, timers: &mut Timers) -> Result<()> {
    let armed = agent.each_flow(|flow, entry| {
        if entry.armed_ns != 0 && entry.armed_outside != 0 {
            timers.arm(flow, entry.armed_ns);
        }
        Ok(())
    });
    armed.context("timers of connections")
}

/// Loads the programs for a device, or as it is called for some connections of it.
pub(super) fn load(device: &Device, called: &str, setup: &Setup) -> Result<Agent> {
    let setup = setup.on(device.ifindex, device.l2_bytes);
    Agent::load(&setup).with_context(|| called.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::programs::{Program, SkbContext};
    use lasthop_core::bindings::{LH_ACK, LH_SYN};
    use lasthop_core::packet::{Ends, Tcp};

    /// The process from before hears of a flow's timer after the next one has looked for such.
    #[test]
    fn a_timer_that_was_set_while_another_took_over_is_kept() {
        if !nix::unistd::geteuid().is_root() {
            // Past the test harness, which swallows what passing tests print.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: test of the BPF programs: needs root"
            );
            return;
        }
        let setup = Setup {
            max_flows: 64,
            cache_total_bytes: 8 << 20,
            realtime: true,
            ..Setup::default()
        };
        let live = Live::take_over(Agent::load(&setup.on(1, 14)).unwrap(), "lo").unwrap();
        let (before, _heard) = ring_of(&live.agent).unwrap();
        let tcp = |seq, flags, bytes| Tcp {
            ethernet: true,
            seq,
            ack: 1,
            flags,
            payload: vec![7; bytes],
            ..Tcp::default()
        };
        let ends = Ends::v4(1);
        for (program, packet) in [
            (Program::Egress, tcp(0, LH_SYN, 0).to_mh(&ends)),
            (Program::Ingress, tcp(0, LH_SYN | LH_ACK, 0).to_fh(&ends)),
            (Program::Egress, tcp(1, LH_ACK, 400).to_mh(&ends)),
        ] {
            let run = live.agent.run(program, &packet, &SkbContext::default(), 1);
            run.unwrap();
        }
        before.consume_raw();
        live.ring.consume_raw();
        assert_eq!(live.timer_ns(), None);
        live.take_timers();
        let flows = live.agent.flows().unwrap();
        assert_eq!(live.timer_ns(), Some(flows[0].armed_ns));
    }
}
