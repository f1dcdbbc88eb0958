// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop attach`: loads and attaches, then supplies what the programs can't do themselves.
//!
//! One thread does everything: events of the ring buffers (a flow's timer is due: run lh_kick),
//! the heartbeat, the sweep, devices that go and come back, and what `status` asks. So if it is
//! stuck anywhere, the heartbeat stops, and the programs let everything pass. Only answers are
//! made and sent on threads of their own: tables are long, and who asked may read slowly.

mod hello;
mod live;
mod options;
mod place;

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{Mode, umask};

use self::live::{Live, load};
pub use self::options::Options;
use self::place::Place;
use crate::carrier::Carrier;
use crate::device::{self, Device};
use crate::mac_events::is_socket;
use crate::monotonic::now_ns;
use crate::privilege;
use crate::programs::Agent;
use crate::runtime;

/// Four signs of life within the time after which the programs stop believing.
const HEARTBEAT: Duration = Duration::from_millis(500);
const SWEEP: Duration = Duration::from_secs(1);
/// How soon a device that went or came back is noticed.
const LOOK: Duration = Duration::from_millis(200);
/// Above this process, who carries other people's traffic.
const NICE: i32 = -10;

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
    if runtime::for_a_group(&options.runtime_dir) {
        // What sockets get of rights: the group may connect. Locks and directories say their own.
        umask(Mode::S_IRWXO);
    }
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
    let result = attach_all(&mut places, &devices, options).and_then(|()| {
        let asks_again = options.mac_events.as_deref().is_some_and(is_socket);
        privilege::drop_all_but_needed(asks_again);
        serve(&mut places, &signals, &carrier, options)
    });
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
            place.hear_the_mac();
            if let Some(live) = &mut place.live {
                if links {
                    live.look_at_link(&place.name);
                }
                live.serve();
            }
            for question in place.control.questions() {
                place.answer(question, options);
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
            for place in places.iter_mut() {
                place.live.iter().for_each(sweep);
                place.say_hello();
            }
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
        fds.extend(place.mac_fd().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
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
        if let Some(live) = &mut place.live {
            live.agent.detach(); // before anybody hears of it
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
