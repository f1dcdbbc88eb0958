// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop attach`: loads and attaches, then supplies what the programs can't do themselves.
//!
//! One thread does everything: events of the ring buffers (a flow's timer is due: run lh_kick),
//! the heartbeat, the sweep, devices that go and come back, and questions from `status`. So if it
//! is stuck anywhere, the heartbeat stops, and the programs let everything pass. Only answers are
//! sent from threads of their own, since they wait for who asked.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use lasthop_core::bindings::lh_event;
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::agent::{Agent, KICKS_MAX, Setup};
use crate::bytes;
use crate::carrier::Carrier;
use crate::control::Control;
use crate::device::{self, Device};
use crate::report::{self, Served};

/// Four signs of life within the time after which the programs stop believing.
const HEARTBEAT: Duration = Duration::from_millis(500);
const SWEEP: Duration = Duration::from_secs(1);
/// How soon a device that went or came back is noticed.
const LOOK: Duration = Duration::from_millis(200);
/// How soon it is tried again to attach to a device that came back.
const RETRY: Duration = Duration::from_secs(2);
/// Above this process, who carries other people's traffic.
const NICE: i32 = -10;

/// What `attach` was asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// Devices, at least one.
    pub devices: Vec<String>,
    /// Name of the scheme in `setup`.
    pub scheme: String,
    /// What the programs are loaded with, but for the device.
    pub setup: Setup,
    /// Directory of control sockets and locks.
    pub runtime_dir: PathBuf,
    /// End when a device goes away instead of waiting for it.
    pub once: bool,
    /// Events as JSON Lines.
    pub json: bool,
}

/// CLOCK_MONOTONIC, as the programs' clock.
pub fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| Duration::from(t).as_nanos() as u64)
}

/// Programs on a device, with the queue of their events.
struct Live {
    agent: Agent,
    ring: RingBuffer<'static>,
    queue: Rc<RefCell<VecDeque<lh_event>>>,
    ifindex: u32,
    /// The link was there when it was last asked.
    running: bool,
}

impl Live {
    fn start(mut agent: Agent, device: &Device) -> Result<Self> {
        let queue = Rc::new(RefCell::new(VecDeque::new()));
        let sink = Rc::clone(&queue);
        let events = agent.events()?;
        let mut builder = RingBufferBuilder::new();
        builder.add(&events, move |raw: &[u8]| {
            if let Some(event) = bytes::read::<lh_event>(raw) {
                sink.borrow_mut().push_back(event);
            }
            0
        })?;
        let ring = builder.build().context("ring buffer")?;
        if let Some(id) = Agent::found_on(device.ifindex) {
            bail!("another lasthop serves it, BPF program {id} on it: end that one first");
        }
        // First the sign of life, then the programs: the first ACK may need it.
        agent.heartbeat(now_ns());
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
            queue,
            ifindex: device.ifindex,
            running: device::running(&device.name).unwrap_or(true),
        })
    }

    /// Tells the connections if the link has come or gone.
    fn look_at_link(&mut self, name: &str) {
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

    /// Does the work that the programs asked for.
    fn serve(&self) {
        self.ring.consume_raw();
        while let Some(event) = self.queue.borrow_mut().pop_front() {
            for _ in 0..KICKS_MAX {
                match self.agent.kick(event.flow, event.generation, event.family) {
                    Ok(true) => continue,
                    Ok(false) => break,
                    Err(error) => {
                        tracing::debug!("kick: {error:#}");
                        break;
                    }
                }
            }
        }
    }

    fn ring_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor belongs to self.ring, which outlives the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }
}

/// Loads the programs for a device.
fn load(device: &Device, setup: &Setup) -> Result<Agent> {
    Agent::load(&Setup {
        ifindex: device.ifindex,
        l2_bytes: device.l2_bytes,
        ..setup.clone()
    })
    .with_context(|| device.name.clone())
}

/// One device that we serve, there or away.
struct Place {
    name: String,
    started: Instant,
    /// Above `control`, for the links must go before the lock.
    live: Option<Live>,
    /// The programs for a device that came back. To clear the cache's memory takes half a second,
    /// in which the other devices must be served.
    loading: Option<JoinHandle<Result<Agent>>>,
    retry: Instant,
    complaint: String,
    /// A name of the device's that another agent holds.
    not_ours: String,
    control: Control,
}

impl Place {
    fn claim(device: &Device, options: &Options) -> Result<Self> {
        Ok(Self {
            name: device.name.clone(),
            started: Instant::now(),
            live: None,
            loading: None,
            retry: Instant::now(),
            complaint: String::new(),
            not_ours: String::new(),
            control: Control::claim(&options.runtime_dir, &device.name)?,
        })
    }

    fn event(&self, event: &str, options: &Options) -> Value {
        let agent = self.live.as_ref().map(|live| &live.agent);
        let mut object = json!({
            "event": event,
            "dev": self.name,
            "ifindex": self.live.as_ref().map(|live| live.ifindex),
            "scheme": options.scheme,
        });
        if event != "attached" {
            object["counters"] = report::counters(agent);
        }
        object
    }

    /// Says something on standard output at once: others wait for the line.
    fn say(&self, event: &str, text: &str, options: &Options) {
        let mut out = std::io::stdout().lock();
        let line = if options.json {
            self.event(event, options).to_string()
        } else {
            format!("lasthop: {text}")
        };
        // Nobody listens any more: no reason to stop serving.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    fn attach(&mut self, agent: Agent, device: &Device, options: &Options) -> Result<()> {
        let live = Live::start(agent, device).with_context(|| self.name.clone())?;
        let mib = live.agent.memory_bytes() >> 20;
        self.live = Some(live);
        let text = format!(
            "attached to {} (scheme {}, {mib} MiB)",
            self.name, options.scheme
        );
        self.say("attached", &text, options);
        Ok(())
    }

    /// Takes up a device that came back: first loads, on another thread, then attaches. Failing is
    /// no reason to end: the others are still served, and it may work soon.
    fn come_back(&mut self, options: &Options) {
        let Err(error) = self.try_come_back(options) else {
            return;
        };
        self.retry = Instant::now() + RETRY;
        let complaint = format!("{error:#}");
        if complaint != self.complaint {
            tracing::warn!("{complaint}; trying again every {} s", RETRY.as_secs());
            self.complaint = complaint;
        }
    }

    fn try_come_back(&mut self, options: &Options) -> Result<()> {
        if Instant::now() < self.retry {
            return Ok(());
        }
        let device = Device::find(&self.name)?;
        let Some(loading) = self.loading.take_if(|loading| loading.is_finished()) else {
            if self.loading.is_none() {
                let setup = options.setup.clone();
                let load = move || load(&device, &setup);
                self.loading = Some(std::thread::Builder::new().spawn(load)?);
            }
            return Ok(());
        };
        let agent = loading
            .join()
            .map_err(|_| anyhow!("{}: loading failed", self.name))??;
        let loaded = (agent.setup().ifindex, agent.setup().l2_bytes);
        if loaded != (device.ifindex, device.l2_bytes) {
            return Ok(()); // it went and came back once more meanwhile: load anew
        }
        self.attach(agent, &device, options)?;
        self.complaint.clear();
        Ok(())
    }

    /// Answers a question from `status` or `flows`.
    fn answer(&self, request: &str, scheme: &str) -> String {
        let agent = self.live.as_ref().map(|live| &live.agent);
        let now_ns = now_ns();
        match request {
            "status" => {
                let served = Served {
                    device: &self.name,
                    scheme,
                    uptime_s: self.started.elapsed().as_secs_f64(),
                    agent,
                    now_ns,
                };
                format!("{}\n", report::status(&served))
            }
            "flows" => {
                let flows = agent
                    .and_then(|agent| agent.flows().ok())
                    .unwrap_or_default();
                let line = |entry| format!("{}\n", report::flow(&self.name, entry, now_ns));
                flows.iter().map(line).collect()
            }
            "link up" => self.link(true, scheme),
            "link down" => self.link(false, scheme),
            _ => String::new(),
        }
    }

    /// What somebody else says of the link.
    fn link(&self, up: bool, scheme: &str) -> String {
        let name = &self.name;
        let state = if up { "up" } else { "down" };
        match self.live.as_ref().map(|live| live.agent.link(up)) {
            None => format!("{name} {state}: the device is away\n"),
            Some(Ok(None)) => format!("{name} {state}: scheme {scheme} takes no notice\n"),
            Some(Ok(Some(1))) => format!("{name} {state}: 1 connection told\n"),
            Some(Ok(Some(told))) => format!("{name} {state}: {told} connections told\n"),
            Some(Err(error)) => format!("{name} {state}: {error:#}\n"),
        }
    }

    /// Whether the device that is served is still there. Renamed, it is followed, and so is what
    /// `status` and the others call it; where that name is another agent's the old one stays.
    fn follows(&mut self, options: &Options) -> bool {
        let Some(live) = self.live.as_ref().filter(|live| live.agent.attached()) else {
            return false;
        };
        let Some(name) = device::name_of(live.ifindex) else {
            return false;
        };
        if name == self.name || name == self.not_ours {
            return true;
        }
        match Control::claim(&options.runtime_dir, &name) {
            Ok(control) => {
                let text = format!("{} is {name} now", self.name);
                self.control = control;
                self.name = name;
                self.say("renamed", &text, options);
            }
            Err(error) => {
                tracing::warn!(
                    "{} is {name} now, but stays what it was here: {error:#}",
                    self.name
                );
                self.not_ours = name;
            }
        }
        true
    }

    /// Takes the programs off, then lets go what they kept back.
    fn leave(&mut self, options: &Options) {
        let Some(live) = &mut self.live else { return };
        live.agent.detach();
        if let Err(error) = live.agent.sweep(true) {
            tracing::warn!("{}: releasing kept ACKs: {error:#}", self.name);
        }
        let text = format!("detached from {}", self.name);
        self.say("detached", &text, options);
        self.live = None;
    }
}

/// Attaches and serves until SIGINT, SIGTERM or SIGHUP, or with `once` until a device goes away.
///
/// # Errors
/// Something is missing, or a device is served already: nothing stays attached.
pub fn run(options: &Options) -> Result<()> {
    device::check_machine()?;
    let devices: Vec<Device> = options
        .devices
        .iter()
        .map(|name| Device::find(name))
        .collect::<Result<_>>()?;
    check_distinct(&devices)?;
    let signals = block_signals()?;
    let carrier = Carrier::open().unwrap_or_else(|error| {
        tracing::warn!(
            "{error:#}: changes of the carrier go unnoticed, `lasthop link` tells of them"
        );
        Carrier::deaf()
    });
    raise_priority();
    let mut places: Vec<Place> = devices
        .iter()
        .map(|device| Place::claim(device, options))
        .collect::<Result<_>>()?;
    let result = attach_all(&mut places, &devices, options)
        .and_then(|()| serve(&mut places, &signals, &carrier, options));
    for place in &mut places {
        place.leave(options);
    }
    result
}

/// Loads all before it attaches the first: from then on somebody has to be served.
fn attach_all(places: &mut [Place], devices: &[Device], options: &Options) -> Result<()> {
    let agents: Vec<Agent> = devices
        .iter()
        .map(|device| load(device, &options.setup))
        .collect::<Result<_>>()?;
    for ((place, device), agent) in places.iter_mut().zip(devices).zip(agents) {
        place.attach(agent, device, options)?;
    }
    Ok(())
}

fn block_signals() -> Result<SignalFd> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGINT);
    set.add(Signal::SIGTERM);
    set.add(Signal::SIGHUP); // the terminal is gone: what is kept back must go out all the same
    set.thread_block().context("blocking signals")?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).context("signalfd")
}

fn raise_priority() {
    // SAFETY: no pointers; 0 means this process.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) } != 0 {
        tracing::info!("no right to a higher priority: repairs by timer may come late");
    }
}

fn serve(
    places: &mut [Place],
    signals: &SignalFd,
    carrier: &Carrier,
    options: &Options,
) -> Result<()> {
    let (mut next_beat, mut next_sweep, mut next_look) = (
        Instant::now(),
        Instant::now() + SWEEP,
        Instant::now() + LOOK,
    );
    loop {
        wait(
            places,
            signals,
            carrier,
            next_beat.min(next_sweep).min(next_look),
        )?;
        if signals.read_signal().context("signalfd")?.is_some() {
            return Ok(());
        }
        let links = carrier.changed();
        for place in places.iter_mut() {
            if let Some(live) = &mut place.live {
                if links {
                    live.look_at_link(&place.name);
                }
                live.serve();
            }
            for question in place.control.questions() {
                let answer = place.answer(&question.request, &options.scheme);
                question.reply(answer);
            }
        }
        let now = Instant::now();
        if now >= next_beat {
            next_beat = now + HEARTBEAT;
            places
                .iter()
                .filter_map(|p| p.live.as_ref())
                .for_each(|l| l.agent.heartbeat(now_ns()));
        }
        if now >= next_sweep {
            next_sweep = now + SWEEP;
            places
                .iter()
                .filter_map(|place| place.live.as_ref())
                .for_each(sweep);
        }
        if now >= next_look {
            next_look = now + LOOK;
            if look(places, options)? {
                return Ok(());
            }
        }
    }
}

fn sweep(live: &Live) {
    if live.agent.usage().flows == 0 {
        return;
    }
    if let Err(error) = live.agent.sweep(false) {
        tracing::debug!("sweep: {error:#}");
    }
}

/// Sleeps until an event, a question, a signal, a change of a link or `until`.
fn wait(places: &[Place], signals: &SignalFd, carrier: &Carrier, until: Instant) -> Result<()> {
    let mut fds = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    fds.extend(carrier.fd().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
    for place in places {
        for fd in place.control.fds() {
            fds.push(PollFd::new(fd, PollFlags::POLLIN));
        }
        if let Some(live) = &place.live {
            fds.push(PollFd::new(live.ring_fd(), PollFlags::POLLIN));
        }
    }
    let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
    match poll(
        &mut fds,
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX),
    ) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error).context("poll"),
    }
}

/// Looks for devices that went or came back. True: it is time to end.
fn look(places: &mut [Place], options: &Options) -> Result<bool> {
    for place in places {
        if place.follows(options) {
            continue;
        }
        if place.live.is_some() {
            let text = if options.once {
                format!("{} is gone: ending, because of --once", place.name)
            } else {
                format!("{} is gone: waiting for it", place.name)
            };
            place.say("gone", &text, options);
            place.live = None;
            if options.once {
                return Ok(true);
            }
        }
        if device::ifindex(&place.name).is_some() {
            place.come_back(options);
        }
    }
    Ok(false)
}

/// Checks that no device is meant twice, by whichever of its names.
fn check_distinct(devices: &[Device]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match devices.iter().find(|device| !seen.insert(device.ifindex)) {
        Some(twice) => bail!("device {} is named twice", twice.name),
        None => Ok(()),
    }
}
