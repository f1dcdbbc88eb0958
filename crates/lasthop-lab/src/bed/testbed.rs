// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The test bed: the hosts of a topology, wired, with the emulators running.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};

use crate::base::interrupt;
use crate::bed::agent::AgentHandle;
use crate::bed::emulator::Emulator;
use crate::bed::namespace::Namespace;
use crate::bed::process::Managed;
use crate::bed::runs::Run;
use crate::bed::{ip, netns, process};
use crate::data::emulation::configs;
use crate::data::host::Host;
use crate::data::link::LinkOptions;
use crate::data::profile;
use crate::data::stack::StackOptions;
use crate::data::switch::Switch;
use crate::data::topology::{Cable, Kind, LOSSY_DEVICE, Place, Role, Topology};

/// Ports of the transfers: below the kernel's ephemeral ones.
const FIRST_PORT: u16 = 10_000;
const LAST_PORT: u16 = 32_000;
/// How long GRO waits for the next frame: four frames' time on a wire of 1 Gbit/s.
const GRO_TIMEOUT_NS: &str = "50000";

/// A network namespace per host and emulators between them. Dropping it removes everything.
#[derive(Debug)]
pub struct TestBed {
    run: Mutex<Run>,
    topology: Topology,
    /// By the hosts' names.
    namespaces: BTreeMap<String, Namespace>,
    emulators: Vec<Emulator>,
    link: LinkOptions,
    background: bool,
    kept: bool,
    notes: Vec<String>,
    next_port: AtomicU16,
}

impl TestBed {
    /// Builds a test bed under a name of its own.
    ///
    /// # Errors
    /// Not root, a missing tool (`ip`, `ethtool`, `linkemu`), options that contradict each other,
    /// or the user interrupts. Nothing is left standing then.
    pub fn up(link: &LinkOptions) -> Result<Self> {
        Self::build(None, link, false)
    }

    /// Builds a test bed under a given name. `background` lets its processes outlive this one, if
    /// [`TestBed::keep`] is called.
    ///
    /// # Errors
    /// As [`TestBed::up`], and a name that is taken.
    pub fn build(name: Option<&str>, link: &LinkOptions, background: bool) -> Result<Self> {
        let topology = Topology::of(link.hosts.count(), link.hops);
        Self::build_as(topology, name, link, background)
    }

    /// Builds another topology than the five hosts, under a name of its own. The link's options hold
    /// for each wire and each hop.
    ///
    /// # Errors
    /// As [`TestBed::up`], and a topology that cannot be built.
    pub fn up_as(topology: Topology, link: &LinkOptions) -> Result<Self> {
        Self::build_as(topology, None, link, false)
    }

    fn build_as(
        topology: Topology,
        name: Option<&str>,
        link: &LinkOptions,
        background: bool,
    ) -> Result<Self> {
        link.validate()?;
        link.hosts.check_test_bed()?;
        topology.check()?;
        process::check_root()?;
        let mut bed = Self {
            run: Mutex::new(Run::claim(name, link)?),
            topology,
            namespaces: BTreeMap::new(),
            emulators: Vec::new(),
            link: link.clone(),
            background,
            kept: false,
            notes: Vec::new(),
            next_port: AtomicU16::new(FIRST_PORT),
        };
        bed.make_hosts()?;
        bed.wire()?;
        bed.start_emulators()?;
        Ok(bed)
    }

    /// Whether a host has an end of transfers, and so the TCP settings of the ends.
    fn is_end(&self, name: &str, role: Role) -> bool {
        role == Role::End || name == self.link.sender.host().name()
    }

    fn make_hosts(&mut self) -> Result<()> {
        for (name, role) in self.topology.clone().hosts() {
            interrupt::check()?;
            let namespace = netns::create(&netns::namespace_name(&self.name(), name))?;
            let mut sysctls = profile::sysctls(role, self.link.profile);
            if role == Role::Router && self.is_end(name, role) {
                sysctls.extend(profile::stack(self.link.profile));
            }
            for (key, value) in sysctls {
                if !namespace.set_sysctl(key, value)? {
                    self.notes
                        .push(format!("this kernel has no net.{key}: left out"));
                }
            }
            self.namespaces.insert(name.to_owned(), namespace);
        }
        self.notes.sort();
        self.notes.dedup();
        Ok(())
    }

    fn wire(&mut self) -> Result<()> {
        for cable in &self.topology.cables() {
            self.plug(cable)?;
        }
        // Now that the devices are there, which have settings of their own.
        for (name, role) in self.topology.hosts() {
            if self.is_end(name, role) {
                apply_sysctls(&self.link.stack, self.station(name)?)?;
            }
        }
        Ok(())
    }

    /// Makes a cable and configures both of its ends.
    fn plug(&self, cable: &Cable) -> Result<()> {
        let end = self.station(&cable.end.host)?;
        let emulator = self.station(&cable.emulator.host)?;
        ip::batch(emulator, &cable.make(end.name()))?;
        self.set_offloads(cable)?;
        self.configure(cable)
    }

    /// Addresses, neighbours and routes of a cable's end.
    fn configure(&self, cable: &Cable) -> Result<()> {
        let mut lines = cable.configure();
        let attributes = self.link.stack.route_attributes(self.link.profile);
        match cable.role {
            Role::End => lines.push_str(&cable.routes(&attributes)),
            _ => lines.push_str(&cable.routes("")),
        }
        let is_hop = cable.kind != Kind::Wire;
        if cable.role == Role::Router && is_hop && self.is_end(&cable.end.host, cable.role) {
            lines.push_str(&cable.own_routes(&attributes));
        }
        ip::batch(self.station(&cable.end.host)?, &lines)
    }

    /// Single segments with their checksums come from each host, as the papers' did, and on request
    /// super-packets, which the emulator cuts. Merging happens in one place only, where the base
    /// station receives from the wire, and only on request, too.
    fn set_offloads(&self, cable: &Cable) -> Result<()> {
        const OFF: [&str; 8] = ["tso", "off", "gso", "off", "gro", "off", "tx", "off"];
        for port in [&cable.end, &cable.emulator] {
            let mut words = vec!["ethtool", "-K", &port.device];
            words.extend(OFF);
            process::output(Some(self.station(&port.host)?), &words)?;
        }
        let end = self.station(&cable.end.host)?;
        let device = &cable.end.device;
        let on: &[&str] = match (self.link.segmentation_offload, self.link.checksum_offload) {
            (Switch::On, _) => &["tx", "on", "tso", "on", "gso", "on"],
            (_, Switch::On) => &["tx", "on"],
            _ => &[],
        };
        if !on.is_empty() {
            let words = [&["ethtool", "-K", device], on].concat();
            process::output(Some(end), &words)?;
        }
        let is_from_wire = cable.role == Role::Router && cable.kind == Kind::Wire;
        if self.link.gro == Switch::On && is_from_wire {
            merge_received_segments(end, device)?;
        }
        Ok(())
    }

    fn start_emulators(&mut self) -> Result<()> {
        for (host, config) in configs(&self.topology, &self.link)? {
            let directory = self.run().directory();
            let mut emulator = Emulator::start(
                &host,
                &config,
                self.station(&host)?,
                &directory,
                self.background,
            )?;
            self.run().add_process(emulator.process().id(), false)?;
            if self.background {
                emulator.process_mut().leave();
            }
            self.emulators.push(emulator);
        }
        Ok(())
    }

    /// What it consists of.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Namespace of the host of that name.
    ///
    /// # Errors
    /// This topology has none.
    pub fn station(&self, name: &str) -> Result<&Namespace> {
        let found = self.namespaces.get(name);
        found.with_context(|| format!("this test bed has no host {name}"))
    }

    /// The emulator of that host.
    ///
    /// # Errors
    /// This topology has none there.
    pub fn emulator(&self, host: &str) -> Result<&Emulator> {
        let found = self.emulators.iter().find(|e| e.host() == host);
        found.with_context(|| format!("this test bed has no emulator {host}"))
    }

    /// Name of the run.
    pub fn name(&self) -> String {
        self.run().name.clone()
    }

    /// The link it was built for.
    pub fn link(&self) -> &LinkOptions {
        &self.link
    }

    /// Things to know that are no errors, such as settings that this kernel lacks.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Namespace of one of the five hosts.
    ///
    /// # Panics
    /// This topology lacks it.
    pub fn namespace(&self, host: Host) -> &Namespace {
        &self.namespaces[host.name()]
    }

    /// Runs `work` on a thread of its own inside a host's network namespace.
    ///
    /// # Errors
    /// The namespace cannot be entered, or `work` panicked.
    pub fn run_in<T: Send>(&self, host: Host, work: impl FnOnce() -> T + Send) -> Result<T> {
        self.namespace(host).run(work)
    }

    /// Runs a command inside a host's network namespace and returns what it printed.
    ///
    /// # Errors
    /// It cannot be started, or fails; the message holds its error output.
    pub fn command(&self, host: Host, words: &[&str]) -> Result<String> {
        process::output(Some(self.namespace(host)), words)
    }

    /// Attaches the agent to `wl0` with `--once` and waits until it is ready.
    ///
    /// # Errors
    /// No `lasthop`, or it ends or stays silent.
    pub fn start_agent(&self, scheme: &str, extra_args: &[&str]) -> Result<AgentHandle> {
        self.attach(
            self.first_place()?,
            scheme,
            &[&["--once"], extra_args].concat(),
        )
    }

    /// Attaches an agent at each place that the topology has for one, in their order.
    ///
    /// # Errors
    /// As [`TestBed::start_agent`].
    pub fn start_agents(&self, scheme: &str, extra_args: &[&str]) -> Result<Vec<AgentHandle>> {
        let args = [&["--once"], extra_args].concat();
        let places = self.topology.agents.iter();
        let agents = places.map(|place| self.attach(place, scheme, &args));
        agents.collect()
    }

    /// Attaches an agent at that one of the topology's places for agents, counted from 0.
    ///
    /// # Errors
    /// As [`TestBed::start_agent`], and where there is no such place.
    pub fn start_agent_at(
        &self,
        nr: usize,
        scheme: &str,
        extra_args: &[&str],
    ) -> Result<AgentHandle> {
        let place = self.topology.agents.get(nr);
        let place =
            place.with_context(|| format!("this test bed has no place {nr} for an agent"))?;
        self.attach(place, scheme, &[&["--once"], extra_args].concat())
    }

    /// As [`TestBed::start_agent`], but the agent waits for a device that goes away to come back.
    ///
    /// # Errors
    /// As [`TestBed::start_agent`].
    pub fn start_waiting_agent(&self, scheme: &str, extra_args: &[&str]) -> Result<AgentHandle> {
        self.attach(self.first_place()?, scheme, extra_args)
    }

    /// Starts a daemon with that configuration, in which the agent's device has a section, and waits
    /// until that is attached.
    ///
    /// # Errors
    /// As [`TestBed::start_agent`].
    pub fn start_daemon(&self, config: &Path) -> Result<AgentHandle> {
        self.daemon(config, false)
    }

    /// The same, in the place of the daemon that there is.
    ///
    /// # Errors
    /// As [`TestBed::start_agent`].
    pub fn take_over(&self, config: &Path) -> Result<AgentHandle> {
        self.daemon(config, true)
    }

    fn daemon(&self, config: &Path, take_over: bool) -> Result<AgentHandle> {
        let place = self.first_place()?;
        let at = (self.station(&place.host)?, place.device.as_str());
        let mut agent = AgentHandle::daemon(at, config, take_over)?;
        self.note_helper("daemon", agent.process_mut())?;
        Ok(agent)
    }

    pub(super) fn first_place(&self) -> Result<&Place> {
        let place = self.topology.agents.first();
        place.context("this test bed has no place for an agent")
    }

    /// Where an agent there, or what takes its place, says what it has to say, in a bed that stays.
    pub(super) fn helper_log(&self, at: &Place) -> Option<PathBuf> {
        let name = match *at == Place::new(Host::Bs.name(), LOSSY_DEVICE) {
            true => "agent.log".to_owned(),
            false => format!("agent-{}-{}.log", at.host, at.device),
        };
        self.background.then(|| self.run().directory().join(name))
    }

    /// Records an agent, or what takes its place, which is ended first when the bed is removed.
    pub(super) fn note_helper(&self, scheme: &str, process: &mut Managed) -> Result<()> {
        let mut run = self.run();
        run.scheme = Some(scheme.to_owned());
        run.add_process(process.id(), true)?;
        if self.background {
            process.leave();
        }
        Ok(())
    }

    /// Gives all connections of an end host that choose no congestion control themselves this one,
    /// by an attribute of its routes: those that it accepts, too. A namespace's default may only be
    /// one that the machine allows its users.
    ///
    /// # Errors
    /// This kernel has none of that name.
    pub fn set_congestion_control(&self, host: Host, cc: &str) -> Result<()> {
        let attributes = self.link.stack.route_attributes(self.link.profile);
        let attributes = format!("{attributes} congctl {cc}");
        let cables = self.topology.cables();
        let own = cables.iter().filter(|cable| cable.end.host == host.name());
        let lines: String = own.map(|cable| cable.routes(&attributes)).collect();
        ip::batch(self.namespace(host), &lines)
    }

    /// Has a process removed with the bed, should the lab die before it can do so itself.
    ///
    /// # Errors
    /// The record cannot be written.
    pub(crate) fn own_process(&self, id: &process::ProcessId) -> Result<()> {
        self.run().add_process(id, true)
    }

    /// Takes `wl0` down; its routes and neighbours go with it.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn lossy_down(&self) -> Result<()> {
        self.command(Host::Bs, &["ip", "link", "set", LOSSY_DEVICE, "down"])
            .map(drop)
    }

    /// Brings `wl0` up again, with its addresses and neighbours.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn lossy_up(&self) -> Result<()> {
        self.configure(&self.lossy_cable()?)
    }

    /// Removes `wl0` altogether, as when a wireless card is pulled out.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn lossy_unplug(&self) -> Result<()> {
        self.command(Host::Bs, &["ip", "link", "delete", LOSSY_DEVICE])
            .map(drop)
    }

    /// Brings a new `wl0` after [`TestBed::lossy_unplug`]; the emulator finds its end by name.
    ///
    /// # Errors
    /// `ip` or `ethtool` fails.
    pub fn lossy_plug(&self) -> Result<()> {
        self.plug(&self.lossy_cable()?)
    }

    /// Moves `wl0` into the namespace of `host`, away from BS.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn lossy_move_to(&self, host: Host) -> Result<()> {
        self.move_lossy(Host::Bs, host)
    }

    /// Brings `wl0` back after [`TestBed::lossy_move_to`], with its addresses and routes.
    ///
    /// # Errors
    /// `ip` or `ethtool` fails.
    pub fn lossy_move_back(&self, host: Host) -> Result<()> {
        self.move_lossy(host, Host::Bs)?;
        self.set_offloads(&self.lossy_cable()?)?;
        self.configure(&self.lossy_cable()?)
    }

    fn lossy_cable(&self) -> Result<Cable> {
        let cable = self.topology.cable_at(Host::Bs.name(), LOSSY_DEVICE);
        cable.context("this test bed has no wl0 at its base station")
    }

    fn move_lossy(&self, from: Host, to: Host) -> Result<()> {
        let to = self.namespace(to).name();
        let words = ["ip", "link", "set", LOSSY_DEVICE, "netns", to];
        self.command(from, &words).map(drop)
    }

    /// Reserves `count` ports that no other transfer of this bed uses, and returns the first.
    ///
    /// # Errors
    /// More than there are.
    pub(crate) fn reserve_ports(&self, count: u16) -> Result<u16> {
        if count > LAST_PORT - FIRST_PORT {
            bail!(
                "{count} flows are more than the {} ports",
                LAST_PORT - FIRST_PORT
            );
        }
        // When all were used, the oldest have long been forgotten by the kernel.
        let take = |next: u16| {
            if next > LAST_PORT - count {
                FIRST_PORT
            } else {
                next
            }
        };
        let previous = self
            .next_port
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |next| {
                Some(take(next) + count)
            });
        previous
            .map(take)
            .map_err(|_| anyhow::anyhow!("no ports left"))
    }

    /// Leaves a background bed standing when this process ends.
    ///
    /// # Errors
    /// The record cannot be written, or the bed was not built for the background.
    pub fn keep(mut self) -> Result<String> {
        if !self.background {
            bail!("only a bed built for the background can be kept");
        }
        let mut run = self.run();
        run.owner = None;
        run.save()?;
        drop(run);
        self.kept = true;
        Ok(self.name())
    }

    /// Removes everything, as dropping does, but says what went wrong.
    ///
    /// # Errors
    /// A process does not end or a namespace cannot be removed.
    pub fn down(mut self) -> Result<()> {
        self.kept = true; // nothing is left for drop
        self.run().remove()
    }

    /// Directory with the emulators' configurations and control sockets.
    pub fn directory(&self) -> PathBuf {
        self.run().directory()
    }

    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TestBed {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if let Err(error) = self.run().remove() {
            eprintln!("lasthop-lab: {error:#}");
        }
    }
}

/// Writes the settings in the namespace of a host with an end of transfers.
fn apply_sysctls(stack: &StackOptions, namespace: &Namespace) -> Result<()> {
    for sysctl in &stack.sysctls {
        let known = namespace
            .set_sysctl(&sysctl.key, &sysctl.value)
            .with_context(|| format!("--sysctl {sysctl}"))?;
        if !known {
            bail!(
                "--sysctl {sysctl}: this kernel has no net.{} in a network namespace",
                sysctl.key
            );
        }
    }
    Ok(())
}

/// GRO where the base station receives from the wire. Switching it on gives veth a NAPI instance,
/// but one that is polled after every single frame of the emulator; only the timeout makes it wait
/// for more, as the interrupt moderation of a real card does.
fn merge_received_segments(host: &Namespace, device: &str) -> Result<()> {
    process::output(Some(host), &["ethtool", "-K", device, "gro", "on"])?;
    host.set_device_attribute(device, "gro_flush_timeout", GRO_TIMEOUT_NS)
}
