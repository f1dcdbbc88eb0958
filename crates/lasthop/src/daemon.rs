// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop attach` and `lasthop daemon`: load and attach, then supply what the programs can't do
//! themselves.
//!
//! One thread does everything: events of the ring buffers (a flow's timer is due: run lh_kick),
//! the heartbeat, the sweep, devices that go and come back, and what `status` asks. So if it is
//! stuck anywhere, the heartbeat stops, and the programs let everything pass; and so does what the
//! service manager's watchdog is fed. Only answers are made and sent, lines written, programs loaded, sources of MAC
//! events asked, and pools made larger and smaller, on threads of their own: tables are long, who reads may be slow,
//! the verifier takes its time, who is asked as well, and the kernel waits for all of its CPUs.

mod arrive;
mod change;
mod guests;
mod handover;
mod hello;
mod keeper;
mod live;
mod look;
mod names;
mod notify;
mod options;
mod place;
mod places;
mod reload;
pub mod settings;
mod takeover;
mod timers;

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lasthop_core::LAYOUT;
use lasthop_core::bindings::LH_POLL_NS;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::sys::stat::{Mode, umask};

use self::guests::Guests;
use self::live::{Live, load};
use self::notify::Manager;
use self::options::Common;
pub use self::options::Options;
use self::place::Place;
use self::reload::Reload;
use self::settings::{Devices, Wanted};
use crate::carrier::Carrier;
use crate::control::{self, Control, Question};
use crate::device::{self, Device};
use crate::mac_events::is_socket;
use crate::memory::{self, Budget};
use crate::monotonic::now_ns;
use crate::outlet::Queued;
use crate::role::Role;
use crate::signals::{all_blocked, blocked};
use crate::{descriptors, priority, privilege, runtime};

/// Four signs of life within the time after which the programs stop believing.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// How often it is time for what takes no hurry: hellos, devices that a pattern waits for.
const SLOW: Duration = Duration::from_secs(1);
/// How soon a device that went or came back is noticed, where the kernel does not tell.
const LOOK: Duration = Duration::from_millis(200);
/// How soon a flow is asked again that was busy.
const AGAIN: Duration = Duration::from_millis(1);
/// How often events are looked at whose senders do not wake us: a millisecond less than they rely on.
const POLL: Duration = Duration::from_nanos(LH_POLL_NS as u64 - 1_000_000);
/// How soon programs that are loaded take the place of others.
const FOLLOW: Duration = Duration::from_millis(10);

/// Serves what is ordered until SIGINT or SIGTERM; devices that were named (`attach`) also until
/// SIGHUP, by which others are read anew, and with `once` until a device goes away.
///
/// # Errors
/// Something is missing, or a device is served already: nothing stays attached.
pub fn run(options: &Options) -> Result<()> {
    device::check_machine()?;
    let wanted = options.orders.read(0)?;
    warn_of_rest(&wanted);
    let named = matches!(options.orders.devices, Devices::Named(_));
    if runtime::for_a_group(&wanted.runtime_dir) {
        // What sockets get of rights: the group may connect. Locks and directories say their own.
        umask(Mode::S_IRWXO);
    }
    let signals = heeded(named)?;
    let carrier = Carrier::open().unwrap_or_else(|error| {
        tracing::warn!(
            "{error:#}: changes of the carrier go unnoticed, `lasthop link` tells of them"
        );
        Carrier::deaf()
    });
    memory::give_back_at_once();
    priority::raise();
    descriptors::raise_to_most();
    let common = Common {
        runtime_dir: wanted.runtime_dir.clone(),
        json: options.json,
    };
    let mut manager = Manager::from_environment();
    let taken = match &options.take_over {
        Some(name) => takeover::take_over(&common, name, &mut manager)?,
        None => None,
    };
    let (budget, mut guests) = (wanted.budget.clone(), Guests::of(&wanted));
    let mut before = None;
    let (process, places, new) = match taken {
        Some(taken) => {
            guests.had_file |= taken.had_file;
            before = Some(taken.before);
            (taken.process, taken.places, None)
        }
        None => {
            let devices = present(&wanted, &options.orders.devices)?;
            let name = match named {
                true => control::of_attach(),
                false => control::DAEMON.to_owned(),
            };
            let process = Control::claim(&common.runtime_dir, &name)?;
            let (places, devices) = match named {
                true => claim_named(wanted, devices, &common)?,
                false => claim_sections(wanted, devices, &common, &mut guests),
            };
            (process, places, Some(devices))
        }
    };
    let mut daemon = Daemon {
        options,
        process,
        places,
        budget,
        guests,
        common,
        signals,
        carrier,
        reload: None,
        asked: Vec::new(),
        next: None,
        before,
        manager,
    };
    let begun = match new {
        None => {
            daemon.go_on();
            Ok(())
        }
        Some(devices) => daemon.attach_all(&devices),
    };
    let _lines = Queued::begin();
    let result = begun.and_then(|()| {
        let sources = daemon
            .places
            .iter()
            .map(|p| p.settings.mac_events.as_deref());
        // A reload asks the routes again.
        let by_routes = options.orders.overrides.role == Some(Role::Auto);
        let hears = daemon.manager.listens() || sources.flatten().any(is_socket);
        let asks_again = !named || by_routes || hears;
        privilege::drop_all_but_needed(asks_again);
        daemon.serve()
    });
    if matches!(result, Ok(End::HandedOver)) || daemon.is_taken_at_last() {
        return Ok(());
    }
    daemon.manager.stopping();
    for place in &mut daemon.places {
        place.leave(&daemon.common);
    }
    result.map(drop)
}

/// SIGHUP of a terminal that is gone, too: what is kept back must go out all the same. To a service it says
/// something else, whoever started that.
fn heeded(named: bool) -> Result<SignalFd> {
    let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    match named {
        true => blocked(&signals),
        false => all_blocked(signals),
    }
}

/// Why it ends.
enum End {
    Ordered,
    /// Another process serves it all by now.
    HandedOver,
}

/// At the mobile end most schemes only watch: who orders that should know.
fn warn_of_rest(wanted: &Wanted) {
    let mut resting: Vec<&str> = wanted
        .devices
        .iter()
        .filter(|(_, settings)| settings.setup.config.rests())
        .map(|(_, settings)| settings.scheme.as_str())
        .collect();
    resting.dedup();
    for scheme in resting {
        let _ = writeln!(
            io::stderr(),
            "lasthop: at the mobile end of a hop scheme {scheme} can't tell the hop's losses from others and only watches: use --scheme snack with an agent at the other end"
        );
    }
}

/// The devices that are wanted and there. Those that were named have to be.
fn present(wanted: &Wanted, by: &Devices) -> Result<Vec<Option<Device>>> {
    let find = |(name, _): &(String, settings::Settings)| match by {
        Devices::Named(_) => Device::find(name).map(Some),
        Devices::Sections => Ok(Device::find(name)
            .inspect_err(|error| tracing::warn!("{error:#}; waiting for it"))
            .ok()),
    };
    let devices: Vec<Option<Device>> = wanted.devices.iter().map(find).collect::<Result<_>>()?;
    let alone = wanted.devices.iter().zip(&devices);
    let alone = alone.filter(|((_, settings), _)| settings.policy.is_empty());
    check_distinct(alone.filter_map(|(_, device)| device.as_ref()))?;
    Ok(devices)
}

/// Places, and the device of each if that is there.
type Claimed = (Vec<Place>, Vec<Option<Device>>);

fn claim_named(wanted: Wanted, devices: Vec<Option<Device>>, common: &Common) -> Result<Claimed> {
    let mut places = Vec::new();
    for ((name, settings), device) in wanted.devices.into_iter().zip(&devices) {
        let real = device.as_ref().map_or(&name, |device| &device.name);
        let mut place = Place::claim(real, &name, settings, common)?;
        place.open_now()?;
        places.push(place);
    }
    Ok((places, devices))
}

/// Whoever is at fault waits until that is mended, and the others are served.
fn claim_sections(
    wanted: Wanted,
    devices: Vec<Option<Device>>,
    common: &Common,
    guests: &mut Guests,
) -> Claimed {
    let mut claimed = Claimed::default();
    for ((name, settings), device) in wanted.devices.into_iter().zip(devices) {
        let real = device.as_ref().map_or(&name, |device| &device.name);
        let policy = settings.policy.clone();
        match Place::claim(real, &name, settings, common) {
            Ok(mut place) => {
                place.open_or_complain();
                claimed.0.push(place);
                claimed.1.push(device);
            }
            Err(error) => guests.complain(real, &policy, &error),
        }
    }
    // Sources of MAC events, who are asked side by side.
    for place in &mut claimed.0 {
        place.wait_for_source();
    }
    claimed
}

/// The serving process.
struct Daemon<'a> {
    options: &'a Options,
    common: Common,
    /// Above `process`, for the daemon is one as long as it serves any.
    places: Vec<Place>,
    /// What the maps of all may take.
    budget: Budget,
    /// Who may come.
    guests: Guests,
    process: Control,
    signals: SignalFd,
    carrier: Carrier,
    /// A reload that is under way, and who has asked for another one since.
    reload: Option<Reload>,
    asked: Vec<Question>,
    /// The process that is about to take over.
    next: Option<UnixStream>,
    /// The one that this one has followed, while that has still to notice.
    before: Option<UnixStream>,
    manager: Manager,
}

/// When what is done from time to time is due.
struct Due {
    beat: Instant,
    slow: Instant,
    look: Instant,
}

impl Due {
    fn now() -> Self {
        let now = Instant::now();
        Self {
            beat: now,
            slow: now + SLOW,
            look: now + LOOK,
        }
    }

    fn next(&self) -> Instant {
        self.beat.min(self.slow).min(self.look)
    }
}

impl Daemon<'_> {
    /// Loads all before it attaches the first: from then on somebody has to be served. Devices that were named
    /// are attached all or none; of sections each by itself, but where no programs can be loaded it is the
    /// machine that lacks something.
    fn attach_all(&mut self, devices: &[Option<Device>]) -> Result<()> {
        let named = matches!(self.options.orders.devices, Devices::Named(_));
        let load = |(place, device): (&Place, &Option<Device>)| {
            let device = device.as_ref().filter(|_| !place.lacks)?;
            Some(load(device, &place.label(), &place.settings.setup))
        };
        let mut loaded: Vec<_> = self.places.iter().zip(devices).map(load).collect();
        let all = named || !loaded.iter().flatten().any(Result::is_ok);
        let failed = loaded.iter().position(|one| matches!(one, Some(Err(_))));
        if let Some(at) = failed.filter(|_| all) {
            return loaded.swap_remove(at).transpose().map(drop);
        }
        for ((place, device), agent) in self.places.iter_mut().zip(devices).zip(loaded) {
            let (Some(device), Some(agent)) = (device, agent) else {
                continue;
            };
            let attached = agent.and_then(|agent| place.attach(agent, device, &self.common));
            match attached {
                Err(error) if named => return Err(error),
                Err(error) => place.fails_with(&error),
                Ok(()) => {}
            }
        }
        memory::give_back();
        if self.places.is_empty() {
            self.say_idle();
        }
        Ok(())
    }

    /// A service that was just installed touches nothing.
    fn say_idle(&self) {
        if !self.guests.are_none() {
            tracing::warn!("no device is there that is to be served: waiting");
            return;
        }
        tracing::warn!(
            "no device is to be served: write a section for each, as [device.wlan0], and call lasthop reload"
        );
    }

    /// In the place of a process from before: what the files say by now applies at once.
    fn go_on(&mut self) {
        self.lives_mut().for_each(Live::take_pools);
        for place in &self.places {
            place.seal_with_keys();
            let text = format!("{} taken over", place.label());
            place.say("taken_over", &text, &self.common);
        }
        self.begin_reload(None);
    }

    fn serve(&mut self) -> Result<End> {
        let mut due = Due::now();
        self.manager.ready(self.places.len());
        loop {
            let sweeps = self.lives().map(Live::sweeps_at);
            self.wait(sweeps.fold(due.next(), Instant::min))?;
            match self.signals.read_signal().context("signalfd")? {
                Some(signal) if self.reads_again(signal.ssi_signo) => self.begin_reload(None),
                Some(_) => return Ok(End::Ordered),
                None => {}
            }
            if self.is_taken() {
                return Ok(End::HandedOver);
            }
            self.look_before();
            let links = self.carrier.changed();
            self.serve_all(links);
            self.answer_process();
            let now = Instant::now();
            if now >= due.beat {
                due.beat = now + HEARTBEAT;
                self.beat();
            }
            if links || now >= due.slow {
                self.guests.take_up(&mut self.places, &self.common);
            }
            if now >= due.slow {
                due.slow = now + SLOW;
                self.places.iter_mut().for_each(Place::say_hello);
            }
            self.lives_mut().for_each(|live| {
                live.sweep(now);
                live.keep_pools();
            });
            if now >= due.look || links {
                due.look = now + LOOK;
                if self.look()? {
                    return Ok(End::Ordered);
                }
            }
        }
    }

    /// SIGHUP has a service read its files; to `attach` it says that the terminal is gone.
    fn reads_again(&self, signal: u32) -> bool {
        signal == Signal::SIGHUP as u32 && matches!(self.options.orders.devices, Devices::Sections)
    }

    /// Events, the MAC's reports and questions of all devices. `links`: some link has changed.
    fn serve_all(&mut self, links: bool) {
        for place in &mut self.places {
            place.hear_the_mac();
            if let Some(live) = &mut place.live {
                if links {
                    live.look_at_link(&place.name);
                }
                live.serve();
            }
            for question in place.control.questions() {
                place.answer(question);
            }
        }
    }

    /// What the process itself is asked, and how far it is with that.
    fn answer_process(&mut self) {
        for question in self.process.questions() {
            match question.request.as_str() {
                "reload" => self.begin_reload(Some(question)),
                "layout" => question.say(format!("{LAYOUT}\n")),
                handover::REQUEST => self.hand_over(question),
                other => tracing::debug!("asked for {other:?}, which nobody knows"),
            }
        }
        if self
            .reload
            .as_mut()
            .is_some_and(|r| r.goes_on(&mut self.places))
        {
            self.reload = None;
            self.manager.ready(self.places.len());
            if self.places.is_empty() {
                self.say_idle();
            }
            if !self.asked.is_empty() {
                self.begin_reload(None);
            }
        }
    }

    /// Whoever asks while one is under way gets the next: the files may have changed since.
    fn begin_reload(&mut self, question: Option<Question>) {
        self.asked.extend(question);
        if self.reload.is_some() || self.next.is_some() {
            return;
        }
        self.manager.reloading();
        names::exchange(&mut self.places, &self.common); // a section is for who has its name by now
        let orders = &self.options.orders;
        let of_all = (&mut self.budget, &mut self.guests);
        let mut reload = Reload::begin(orders, &self.common, of_all, &mut self.places);
        self.asked.drain(..).for_each(|q| reload.asked_by(q));
        self.reload = Some(reload);
    }

    /// Gives all to another process, and serves it until that does.
    fn hand_over(&mut self, question: Question) {
        if self.reload.is_some() || self.next.is_some() {
            tracing::warn!("busy: not handed over, ask again");
            return;
        }
        let stream = question.into_stream();
        let had_file = self.guests.had_file;
        match handover::give(&stream, &self.process, had_file, &mut self.places) {
            Ok(()) => {
                self.next = Some(stream);
                self.lives_mut().for_each(Live::leave_pools);
            }
            Err(error) => tracing::warn!("not handed over: {error:#}"),
        }
    }

    /// Whether another process has taken over. If it has failed all goes on here.
    fn is_taken(&mut self) -> bool {
        match self.next.as_ref().and_then(handover::taken) {
            Some(true) => {
                self.give();
                true
            }
            Some(false) => {
                tracing::warn!("the process that was to take over is gone: going on");
                self.next = None;
                self.lives_mut().for_each(Live::take_pools);
                if !self.asked.is_empty() {
                    self.begin_reload(None);
                }
                false
            }
            None => false,
        }
    }

    /// Whether another process has taken over while this one came to its end for some other reason: then nothing
    /// is to be let go, neither connections nor locks and sockets, which are the next one's by now.
    fn is_taken_at_last(&mut self) -> bool {
        let taken = self.next.as_ref().is_some_and(handover::taken_at_last);
        if taken {
            self.give();
        }
        taken
    }

    fn give(&mut self) {
        self.process.give();
        for place in &mut self.places {
            let text = format!("{} handed over", place.label());
            place.say("handed_over", &text, &self.common);
            place.give();
        }
        self.next = None; // it looks for what we have heard last
    }

    /// Until the process from before has noticed that it was followed it has heard events as well: timers that
    /// were set meanwhile are its own, and their flows rely on them.
    fn look_before(&mut self) {
        if self.before.as_ref().is_some_and(handover::over) {
            self.before = None;
            self.lives().for_each(Live::take_timers);
        }
    }

    fn beat(&mut self) {
        self.lives().for_each(|live| live.agent.heartbeat(now_ns()));
        self.manager.alive();
    }

    fn lives(&self) -> impl Iterator<Item = &Live> {
        self.places.iter().filter_map(|place| place.live.as_ref())
    }

    fn lives_mut(&mut self) -> impl Iterator<Item = &mut Live> {
        self.places
            .iter_mut()
            .filter_map(|place| place.live.as_mut())
    }

    /// Sleeps until an event, a question, a signal, a change of a link or `until`.
    fn wait(&self, until: Instant) -> Result<()> {
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
        fds.extend(self.carrier.fd().map(readable));
        fds.extend(self.process.fds().map(readable));
        let others = self.next.iter().chain(&self.before);
        fds.extend(others.map(|other| readable(other.as_fd())));
        for place in &self.places {
            fds.extend(place.control.fds().map(readable));
            fds.extend(place.mac_fd().map(readable));
            if let Some(live) = &place.live {
                fds.push(readable(live.ring_fd()));
            }
        }
        let mut left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        if self.reload.is_some() {
            left = left.min(FOLLOW); // a thread that loads tells nobody when it is done
        }
        if self.lives().any(Live::is_behind) {
            left = Duration::ZERO;
        } else if self.lives().any(Live::waits) {
            left = left.min(AGAIN);
        }
        if self.lives().any(Live::polls) {
            left = left.min(POLL);
        }
        if let Some(first_ns) = self.lives().filter_map(Live::timer_ns).min() {
            left = left.min(Duration::from_nanos(first_ns.saturating_sub(now_ns())) + AGAIN);
        }
        match poll(
            &mut fds,
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX),
        ) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(error).context("poll"),
        }
    }
}

/// Checks that no device is meant twice, by whichever of its names.
fn check_distinct<'a>(mut devices: impl Iterator<Item = &'a Device>) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match devices.find(|device| !seen.insert(device.ifindex)) {
        Some(twice) => bail!("device {} is named twice", twice.name),
        None => Ok(()),
    }
}
