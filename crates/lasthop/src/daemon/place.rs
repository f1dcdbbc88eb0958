// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One device that the daemon serves: it goes, comes back, is renamed, and is asked about.

use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lasthop_core::bindings::{LH_POLICY_SHADOW, lh_keys};
use serde_json::{Value, json};

use super::live::Live;
use super::options::Common;
use super::settings::Settings;
use crate::check::is_radio;
use crate::connection::Connection;
use crate::control::{self, Control, FAILED, Question};
use crate::device::{self, Device};
use crate::keyfile;
use crate::mac_events::{Lag, Opening, Source, is_socket};
use crate::maps;
use crate::monotonic::now_ns;
use crate::observe::{self, Measured};
use crate::outlet;
use crate::peers;
use crate::programs::{Agent, Successor};
use crate::report::{self, Served};
use crate::units::mib;
use crate::view::View;
use crate::why::{self, Conditions};

/// How soon it is tried again to attach to a device that came back.
pub(super) const RETRY: Duration = Duration::from_secs(2);

/// What a reload has found: all of it counts, or where programs can't follow nothing.
pub(super) struct Next {
    pub(super) settings: Settings,
    pub(super) keys: Option<lh_keys>,
}

/// What a device is to be served with, once its programs are loaded and its source is open.
pub(super) struct Following {
    pub(super) next: Next,
    /// None: the programs that there are will do.
    pub(super) loading: Option<JoinHandle<Result<Successor>>>,
    /// Where the settings have another source than before.
    pub(super) opening: Option<Opening>,
}

impl Following {
    pub(super) fn is_over(&self) -> bool {
        let loaded = self.loading.as_ref().is_none_or(JoinHandle::is_finished);
        loaded && self.opening.as_ref().is_none_or(Opening::is_over)
    }
}

/// What is known of a device but for its [`Control`]: by another process, which has given it away, or at
/// the start.
pub(super) struct Taken {
    pub(super) dev: String,
    pub(super) ordered: String,
    pub(super) uptime_s: f64,
    pub(super) settings: Settings,
    pub(super) keys: Option<lh_keys>,
    pub(super) mac_events: Option<Source>,
    /// None: the device is away.
    pub(super) live: Option<Live>,
}

/// One device that we serve, there or away.
pub(super) struct Place {
    pub(super) name: String,
    /// By which name it was ordered.
    pub(super) ordered: String,
    started: Instant,
    /// Above `control`, for the links must go before the lock.
    pub(super) live: Option<Live>,
    /// The programs for a device that came back. To clear the cache's memory takes half a second,
    /// in which the other devices must be served.
    pub(super) loading: Option<JoinHandle<Result<Agent>>>,
    /// What it is to be served with next.
    pub(super) following: Option<Following>,
    pub(super) retry: Instant,
    /// Why it could not be attached when that was tried last; empty: it could.
    pub(super) complaint: String,
    /// It was not tried since it was ordered.
    pub(super) is_untried: bool,
    /// Its programs could not be loaded or attached, whatever memory there was for them.
    pub(super) fails: bool,
    /// Its keys and its source of MAC events have still to be opened.
    pub(super) lacks: bool,
    /// That source, once it is being asked.
    pub(super) opening: Option<Opening>,
    /// A name of the device's that another agent holds, of which that was said.
    not_ours: String,
    pub(super) settings: Settings,
    /// Times that a reload has changed those or the keys.
    pub(super) reloads: u64,
    pub(super) keys: Option<lh_keys>,
    pub(super) mac_events: Option<Source>,
    mac_lag: Lag,
    pub(super) control: Control,
}

/// The source of MAC events that is set, which follows the device of that index.
pub(super) fn source_of(settings: &Settings, ifindex: Option<u32>) -> Result<Option<Source>> {
    let path = settings.mac_events.as_deref();
    let source = path.map(Source::open).transpose()?;
    if let (Some(source), Some(ifindex)) = (&source, ifindex) {
        source.follow(ifindex)?;
    }
    Ok(source)
}

/// How a device is called, or those of its connections that a policy is for: no device's name has a colon.
pub(super) fn label(name: &str, policy: &str) -> String {
    match policy {
        "" => name.to_owned(),
        policy => format!("{name}:{policy}"),
    }
}

impl Place {
    /// As it is called where it is told of.
    pub(super) fn label(&self) -> String {
        label(&self.name, &self.settings.policy)
    }

    /// Takes the name of the device that is ordered by another, or the same, whether there is such a device by
    /// now or not. Keys and sources of MAC events are still to be opened.
    pub(super) fn claim(
        name: &str,
        ordered: &str,
        settings: Settings,
        common: &Common,
    ) -> Result<Self> {
        let control = Control::claim(&common.runtime_dir, &label(name, &settings.policy))?;
        let taken = Taken {
            dev: name.to_owned(),
            ordered: ordered.to_owned(),
            uptime_s: 0.0,
            keys: None,
            mac_events: None,
            live: None,
            settings,
        };
        Ok(Self::taken(taken, control))
    }

    /// Goes on with what is known of a device.
    pub(super) fn taken(given: Taken, control: Control) -> Self {
        let before = Duration::try_from_secs_f64(given.uptime_s).unwrap_or_default();
        let now = Instant::now();
        Self {
            name: given.dev,
            ordered: given.ordered,
            started: now.checked_sub(before).unwrap_or(now),
            lacks: given.live.is_none(),
            opening: None,
            live: given.live,
            loading: None,
            following: None,
            retry: now,
            complaint: String::new(),
            is_untried: true,
            fails: false,
            not_ours: String::new(),
            reloads: 0,
            keys: given.keys,
            mac_events: given.mac_events,
            mac_lag: Lag::default(),
            control,
            settings: given.settings,
        }
    }

    /// What its maps take; 0: it has none.
    pub(super) fn taken_bytes(&self) -> u64 {
        match (&self.live, &self.loading) {
            (Some(live), _) => live.agent.memory_bytes(),
            (None, Some(_)) => maps::memory_bytes(
                self.settings.setup.max_flows,
                self.settings.setup.cache_total_bytes,
            ),
            (None, None) => 0,
        }
    }

    /// Whether it is served because its name is like that, and so only while it is there.
    pub(super) fn is_guest(&self) -> bool {
        self.settings.guest
    }

    /// Whether there is a device of that name.
    pub(super) fn is_there(&self) -> bool {
        device::ifindex(&self.name).is_some()
    }

    /// How long it has been served.
    pub(super) fn uptime_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Lets it go without a word to the device: another process serves it by now.
    pub(super) fn give(&mut self) {
        self.control.give();
        if let Some(live) = &mut self.live {
            live.agent.detach(); // our links alone: the device has its own by the other process
        }
    }

    fn event(&self, event: &str) -> Value {
        let view = self.live.as_ref().map(|live| live.agent.view());
        let mut object = json!({
            "event": event,
            "dev": self.label(),
            "ifindex": self.live.as_ref().map(|live| live.ifindex),
            "scheme": self.settings.scheme,
        });
        if event != "attached" {
            object["counters"] = report::counters(view.as_deref());
        }
        object
    }

    /// Says something on standard output at once: others wait for the line.
    pub(super) fn say(&self, event: &str, text: &str, common: &Common) {
        let line = if common.json {
            format!("{}\n", self.event(event))
        } else {
            format!("lasthop: {text}\n")
        };
        // Nobody listens any more: no reason to stop serving.
        let _ = outlet::OUT.say(line.as_bytes());
    }

    pub(super) fn attach(&mut self, agent: Agent, device: &Device, common: &Common) -> Result<()> {
        if let Some(source) = &self.mac_events {
            source.follow(device.ifindex)?;
            let path = self.settings.mac_events.as_deref();
            if path.is_some_and(|path| !is_socket(path)) && !is_radio(device) {
                tracing::warn!(
                    "{}: no radio, as far as /sys tells: mac80211 reports frames of radios only, not of a bridge or VLAN above one",
                    device.name
                );
            }
        }
        let live = Live::start(agent, device, self.keys.as_ref()).with_context(|| self.label())?;
        let [taken, most] = [live.agent.taken_bytes(), live.agent.memory_bytes()].map(mib);
        self.live = Some(live);
        let text = format!(
            "attached to {} (scheme {}, {taken}, at most {most})",
            self.label(),
            self.settings.scheme,
        );
        self.say("attached", &text, common);
        Ok(())
    }

    /// Whether it is the one for what is ordered by that name.
    pub(super) fn is_ordered(&self, ordered: &str, policy: &str) -> bool {
        self.ordered == ordered && self.settings.policy == policy
    }

    /// Whether it serves the device of that index, however that is called by now.
    pub(super) fn is_on(&self, ifindex: u32) -> bool {
        self.live
            .as_ref()
            .is_some_and(|live| live.ifindex == ifindex)
    }

    /// Has the question answered: on a thread of its own, for reading a full table takes seconds,
    /// and who asks may read slowly. Only what needs the programs themselves is done here.
    pub(super) fn answer(&mut self, question: Question) {
        let view = self.live.as_ref().map(|live| live.agent.view());
        let (name, scheme) = (self.label(), self.settings.scheme.clone());
        match question.request.as_str() {
            "status" => {
                let (uptime_s, reloads) = (self.uptime_s(), self.reloads);
                let memory = self.settings.memory.clone();
                let complaint = self.complaint.clone();
                let section = self.settings.section.clone();
                question.answer(move |out| {
                    let served = Served {
                        device: &name,
                        scheme: &scheme,
                        memory: &memory,
                        section: &section,
                        complaint: &complaint,
                        reloads,
                        uptime_s,
                        view: view.as_deref(),
                        now_ns: now_ns(),
                    };
                    writeln!(out, "{}", report::status(&served))
                });
            }
            "flows" => question.answer(move |out| {
                view.map_or(Ok(()), |view| {
                    view.each_flow(|_, entry| line(out, &Connection::of(&name, entry, now_ns())))
                })
            }),
            "flows why" => question.answer(move |out| {
                view.map_or(Ok(()), |view| {
                    let conditions = Conditions::of(&view, now_ns());
                    view.each_flow(|_, entry| {
                        let mut flow = Connection::of(&name, entry, now_ns());
                        why::explain(&mut flow, entry, &conditions);
                        line(out, &flow)
                    })
                })
            }),
            observe::REQUEST => {
                let uptime_s = self.uptime_s();
                question.answer(move |out| {
                    let watches = |view: &Arc<View>| view.setup().policy & LH_POLICY_SHADOW != 0;
                    let line = match view.filter(watches) {
                        None => json!({"dev": name, "scheme": scheme}),
                        Some(view) => {
                            let measured = Measured::of(&view, now_ns());
                            let measured = measured.map_err(std::io::Error::other)?;
                            observe::line(&name, uptime_s, &measured)
                        }
                    };
                    writeln!(out, "{line}")
                });
            }
            "peers" => question.answer(move |out| {
                let partners = view.map(|view| view.partners()).transpose();
                let partners = partners.map_err(std::io::Error::other)?;
                partners.map_or(Ok(()), |partners| {
                    partners.known().try_for_each(|partner| {
                        writeln!(out, "{}", peers::peer(&name, partner, now_ns()))
                    })
                })
            }),
            "key reload" => question.say(self.reload_keys()),
            "link up" => question.say(self.link(true, &scheme)),
            "link down" => question.say(self.link(false, &scheme)),
            other => {
                tracing::debug!("{name}: asked for {other:?}, which nobody knows");
            }
        }
    }

    /// Readable when the MAC reports something.
    pub(super) fn mac_fd(&self) -> Option<BorrowedFd<'_>> {
        self.mac_events.as_ref().and_then(Source::fd)
    }

    /// Hands on what the MAC has reported. While the device is away that is of no use, but read all
    /// the same.
    pub(super) fn hear_the_mac(&mut self) {
        let (Some(source), live) = (&mut self.mac_events, &self.live) else {
            return;
        };
        let lag = &mut self.mac_lag;
        source.take(|record| {
            let told = live.as_ref().map(|live| live.agent.report(record));
            if let Some(Err(error)) = told {
                tracing::debug!("report of the MAC: {error:#}");
            }
            lag.note(record.report.at_ns, now_ns());
        });
    }

    /// Says hello to other agents.
    pub(super) fn say_hello(&mut self) {
        if let Some(live) = &mut self.live {
            live.say_hello(&self.name);
        }
    }

    /// Has the programs go by the keys that it has: those of a process from before had what it had read.
    pub(super) fn seal_with_keys(&self) {
        let (Some(live), Some(keys)) = (&self.live, &self.keys) else {
            return;
        };
        if let Err(error) = live.agent.set_keys(keys) {
            tracing::warn!("{}: still the keys from before: {error:#}", self.label());
        }
    }

    /// Takes the keys that are in the file by now. What is wrong there leaves those that we have.
    pub(super) fn reload_keys(&mut self) -> String {
        let name = self.label();
        let Some(path) = &self.settings.keys else {
            return format!("{name}: attached without a key file\n");
        };
        let done = keyfile::read(path).and_then(|keys| {
            if let Some(live) = &self.live {
                live.agent.set_keys(&keys)?;
            }
            self.keys = Some(keys);
            // What follows has read the file before.
            let same = |f: &&mut Following| f.next.settings.keys == self.settings.keys;
            if let Some(following) = self.following.as_mut().filter(same) {
                following.next.keys = Some(keys);
            }
            Ok(())
        });
        match done {
            Ok(()) => format!("{name}: keys reloaded\n"),
            Err(error) => format!("{FAILED}{name}: still the keys from before: {error:#}\n"),
        }
    }

    /// What somebody else says of the link.
    fn link(&self, up: bool, scheme: &str) -> String {
        let name = self.label();
        let state = if up { "up" } else { "down" };
        match self.live.as_ref().map(|live| live.link(up)) {
            None => match self.outcome() {
                Some(Err(why)) => format!("{FAILED}{name} {state}: not attached: {why:#}\n"),
                Some(Ok(_)) => format!("{FAILED}{name} {state}: the device is away\n"),
                None => format!("{FAILED}{name} {state}: it is just being attached\n"),
            },
            Some(Ok(None)) => format!("{name} {state}: scheme {scheme} takes no notice\n"),
            Some(Ok(Some(1))) => format!("{name} {state}: 1 connection told\n"),
            Some(Ok(Some(told))) => format!("{name} {state}: {told} connections told\n"),
            Some(Err(error)) => format!("{FAILED}{name} {state}: {error:#}\n"),
        }
    }

    /// How the device that is served is called by now, or was where nobody can be asked; none: it is away.
    pub(super) fn name_now(&self) -> Option<String> {
        let live = self.live.as_ref().filter(|live| live.agent.attached())?;
        device::name_of(live.ifindex).unwrap_or_else(|error| {
            tracing::debug!("{}: how it is called by now: {error}", self.label());
            Some(self.name.clone())
        })
    }

    /// Each has the other's name from now on, and is asked where that was.
    pub(super) fn exchange_names(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.name, &mut other.name);
        std::mem::swap(&mut self.control, &mut other.control);
    }

    /// Says that it was called otherwise.
    pub(super) fn say_renamed(&mut self, before: &str, common: &Common) {
        self.not_ours.clear();
        self.say(
            "renamed",
            &format!("{before} is {} now", self.label()),
            common,
        );
    }

    /// Whether the device that is served is still there. Renamed, it is followed, and so is what
    /// `status` and the others call it; where that name is another agent's the old one stays, until that
    /// one gives it up.
    pub(super) fn follows(&mut self, common: &Common) -> bool {
        let Some(name) = self.name_now() else {
            return false;
        };
        if name == self.name {
            self.not_ours.clear();
            return true;
        }
        let after = label(&name, &self.settings.policy);
        match Control::claim(&common.runtime_dir, &after) {
            Ok(control) => {
                let before = self.label();
                self.control = control;
                self.name = name;
                self.say_renamed(&before, common);
            }
            Err(_) if name == self.not_ours => {}
            Err(error) => {
                let owner = control::owner_of(&common.runtime_dir, &after);
                let is_ours = owner.is_ok_and(|pid| pid == Some(std::process::id()));
                let why = match is_ours {
                    true => format!("{after} has a section of its own, which waits"),
                    false => format!("{error:#}"),
                };
                let before = self.label();
                tracing::warn!("{before} is {after} now, but stays what it was here: {why}");
                self.not_ours = name;
            }
        }
        true
    }

    /// Takes note of it that the device is gone. True: it was there until now.
    pub(super) fn is_gone(&mut self, ending: bool, common: &Common) -> bool {
        let Some(live) = &mut self.live else {
            return false;
        };
        live.agent.detach(); // before anybody hears of it
        let text = match (ending, self.is_guest()) {
            (true, _) => format!("{} is gone: ending, because of --once", self.label()),
            (false, true) => format!("{} is gone", self.label()),
            (false, false) => format!("{} is gone: waiting for it", self.label()),
        };
        self.say("gone", &text, common);
        self.live = None;
        true
    }

    /// Takes the programs off, then lets go what they kept back.
    pub(super) fn leave(&mut self, common: &Common) {
        let Some(live) = &mut self.live else { return };
        live.agent.detach();
        if let Err(error) = live.agent.sweep(true) {
            tracing::warn!("{}: releasing kept ACKs: {error:#}", self.name);
        }
        if self.mac_lag.reports() > 0 {
            tracing::info!("{}: {}", self.name, self.mac_lag);
        }
        let text = format!("detached from {}", self.label());
        self.say("detached", &text, common);
        self.live = None;
    }
}

/// One of an answer's lines.
fn line(out: &mut dyn Write, connection: &Connection<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, connection)?;
    writeln!(out)
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use super::*;
    use crate::memory::{Asked, Chosen, Part, Profile};
    use crate::programs::Setup;

    /// A device that waits, with these files.
    pub(in super::super) fn waiting(
        runtime_dir: &Path,
        keys: Option<&Path>,
        mac_events: Option<&Path>,
    ) -> Place {
        let settings = Settings {
            section: "none0".into(),
            policy: String::new(),
            guest: false,
            scheme: "csnoop".into(),
            setup: Setup::default(),
            own_rules: Vec::new(),
            left: Vec::new(),
            keys: keys.map(Into::into),
            mac_events: mac_events.map(Into::into),
            asked: Asked::default(),
            memory: Chosen {
                profile: Profile::Small,
                why: String::new(),
            },
            part: Part {
                max_flows: 64,
                cache_total_bytes: 1 << 20,
            },
        };
        let common = Common {
            runtime_dir: runtime_dir.into(),
            json: false,
        };
        Place::claim("none0", "none0", settings, &common).unwrap()
    }
}
