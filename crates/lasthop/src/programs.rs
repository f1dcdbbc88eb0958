// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The BPF programs of one device: loaded, their pools filled, attached, run, read.

mod giving;
mod image;
mod inner;
mod load;
mod loaded;
mod pools;
mod program;
mod reserve;
mod setup;
mod shrink;
mod spares;
mod syns;

use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use lasthop_core::bindings::{
    LH_CB_AT, LH_CB_AT_HIGH, LH_CB_FLOW, LH_CB_FRAME, LH_CB_GENERATION, LH_CB_LINK, LH_CB_QUEUED,
    LH_CB_QUEUED_HIGH, LH_CB_SWEEP, LH_CB_TO, LH_DUE_AT, LH_DUE_MAX, LH_LINK_DOWN, LH_LINK_SAME,
    LH_LINK_UP, LH_POLICY_LINK, LH_POLICY_SEQUENCE, LH_SWEEP_ALL, LH_SWEEP_MAX, LH_SWEEP_OVER,
    LH_SWEEP_UNWANTED, lh_flow_entry, lh_keys, lh_partners_entry, lh_setup, lh_us,
};
use lasthop_core::host::heeds_the_link;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use self::loaded::Loaded;
pub use self::loaded::Maps;
pub use self::program::Program;
pub use self::reserve::Reserve;
pub use self::setup::{PRIORITY, STALE, Setup, WORDS};
use crate::bytes;
use crate::mac_events::Record;
use crate::monotonic::now_ns;
pub use crate::skb::{Outcome, SkbContext, test_run};
use crate::tcx::{self, Hook};
pub use crate::view::{Usage, View};

/// A flow that is busy on another CPU is asked again so often.
pub const KICKS_MAX: usize = 64;
/// Places of the table that are swept in a row. Each takes some 80 ns, and what a timer asks for waits.
const SWEPT_AT_ONCE: u32 = 4 * LH_SWEEP_MAX;
/// The same of a report of the MAC: each try waits for a millisecond or so.
const REPORTS_MAX: usize = 8;
/// For so many milliseconds what waits for its turn may go on before other programs follow.
const LET_GO_TRIES: usize = 100;
/// The kernel's least and a bit: an Ethernet header and room for an address pair.
const TEMPLATE_BYTES: usize = 64;

/// Programs that are to follow others: loaded, on no device.
pub struct Successor {
    loaded: Loaded,
    view: View,
}

impl Successor {
    /// The device that they are for.
    pub fn ifindex(&self) -> u32 {
        self.view.setup.ifindex
    }

    /// Loads programs that go on with `maps`, those of programs that were loaded with `before`. Takes
    /// seconds, and is for a thread of its own.
    ///
    /// # Errors
    /// As [`Agent::load`]; or what can't change without new maps does.
    pub fn load(maps: &Maps, before: &lh_setup, setup: &Setup) -> Result<Self> {
        let raw = setup.raw();
        setup::same_maps(before, &raw)?;
        let loaded = load::following(&raw, &setup.rules, maps)?;
        Ok(Self {
            view: load::view(&loaded, raw)?,
            loaded,
        })
    }
}

/// Loaded programs of one device.
pub struct Agent {
    loaded: Arc<Loaded>,
    view: Arc<View>,
    links: Vec<OwnedFd>,
    reserve: Arc<Reserve>,
}

impl Deref for Agent {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl Agent {
    /// Loads the programs and fills their pools; attaches nothing.
    ///
    /// # Errors
    /// Missing capabilities, a kernel without something that the programs need, no memory.
    pub fn load(setup: &Setup) -> Result<Self> {
        let raw = setup.raw();
        let loaded = load::fresh(&raw, &setup.rules)?;
        let view = load::view(&loaded, raw)?;
        Ok(Self::of(loaded, view, Vec::new()))
    }

    fn of(loaded: Loaded, view: View, links: Vec<OwnedFd>) -> Self {
        let (loaded, view) = (Arc::new(loaded), Arc::new(view));
        Self {
            reserve: Reserve::of(&loaded, &view),
            loaded,
            view,
            links,
        }
    }

    /// The maps, for programs that are to follow these ([`Successor::load`]).
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn maps(&self) -> Result<Maps> {
        self.loaded.shared()
    }

    /// Lets others follow these programs, on the same device and with the same maps: connections go on
    /// as they were, with what is new. Where a scheme put in order what comes over the hop and the next
    /// one does not, what waits goes on first. What rules leave alone by now is to be released
    /// ([`Agent::release_unwanted`]).
    ///
    /// # Errors
    /// The kernel does not put them in their place: then all is as before.
    pub fn succeed(&mut self, by: Successor) -> Result<()> {
        let next = |program: Program| by.loaded.program(program);
        let programs = [next(Program::Ingress)?, next(Program::Egress)?];
        let before = [
            self.program_fd(Program::Ingress)?,
            self.program_fd(Program::Egress)?,
        ];
        let policy = |setup: &lh_setup| setup.policy & LH_POLICY_SEQUENCE;
        if policy(self.setup()) & !policy(&by.view.setup) != 0 {
            self.let_go()?;
        }
        for (i, link) in self.links.iter().enumerate() {
            if let Err(error) = tcx::replace(link, programs[i]) {
                for (link, program) in self.links.iter().zip(before).take(i) {
                    let _ = tcx::replace(link, program); // they were there a moment ago
                }
                return Err(error).context("replacing the programs");
            }
        }
        self.loaded = Arc::new(by.loaded);
        self.view = Arc::new(by.view);
        self.reserve.follow(&self.loaded, &self.view);
        Ok(())
    }

    /// Releases what the rules leave alone, and has the timers of all else call these programs: those that were
    /// followed are kept by the kernel until then. `meanwhile` is called every few hundred connections, for
    /// whatever else has to be done.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn release_unwanted(&self, mut meanwhile: impl FnMut()) -> Result<()> {
        for first in self.parts() {
            self.sweep_part(LH_SWEEP_UNWANTED, first)?;
            meanwhile();
        }
        Ok(())
    }

    /// Lets everything go on that waits for its turn. Without a sign of life nothing more will wait.
    fn let_go(&self) -> Result<()> {
        let alive_ns = self.last_heartbeat_ns();
        self.heartbeat(0);
        let mut waiting = Vec::new();
        self.each_flow(|index, entry| {
            if waits(entry) {
                waiting.push((index, entry.generation, entry.key.family.into()));
            }
            Ok(())
        })?;
        for _ in 0..LET_GO_TRIES {
            for &(index, generation, family) in &waiting {
                self.kick_until_done(index, generation, family, LH_LINK_SAME)?;
            }
            waiting.retain(|(index, ..)| {
                self.flow(*index)
                    .is_ok_and(|e| e.is_some_and(|e| waits(&e)))
            });
            if waiting.is_empty() {
                break;
            }
            // A few at a time are on their way through this machine.
            std::thread::sleep(Duration::from_millis(1));
        }
        for (index, ..) in waiting {
            self.sweep_range(LH_SWEEP_ALL, index, 1)?;
        }
        self.heartbeat(alive_ns);
        Ok(())
    }

    /// Puts programs in the place of those that another process has attached by these links, to go on
    /// with its maps.
    ///
    /// # Errors
    /// The kernel does not put them there. Then one hook may have the new ones and the other those of
    /// before, which do with the same maps.
    pub fn take_over(by: Successor, links: Vec<OwnedFd>) -> Result<Self> {
        for (link, program) in links.iter().zip([Program::Ingress, Program::Egress]) {
            tcx::replace(link, by.loaded.program(program)?).context("replacing the programs")?;
        }
        Ok(Self::of(by.loaded, by.view, links))
    }

    /// The links by which the programs are on the device, of ingress and of egress; none: on none.
    pub fn links(&self) -> &[OwnedFd] {
        &self.links
    }

    /// What can be read of it, for other threads.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view)
    }

    /// Attaches both programs to the device by TCX. They go with this value or the process.
    ///
    /// # Errors
    /// No such device, or a kernel before 6.6.
    pub fn attach(&mut self) -> Result<()> {
        for (program, hook) in [
            (Program::Ingress, Hook::Ingress),
            (Program::Egress, Hook::Egress),
        ] {
            let link = tcx::attach(self.program_fd(program)?, self.setup.ifindex, hook);
            match link {
                Ok(link) => self.links.push(link),
                Err(error) => {
                    self.links.clear();
                    return Err(error).context("attaching by TCX");
                }
            }
        }
        Ok(())
    }

    /// Whether the programs are still on the device. Not once that was removed, even if another
    /// has taken its name and its index.
    pub fn attached(&self) -> bool {
        let on_device = |link| tcx::ifindex_of(link) == self.setup.ifindex;
        !self.links.is_empty() && self.links.iter().all(on_device)
    }

    /// The process-independent sign that somebody serves a device already: our program on its
    /// hook. None where there is none, or where it can't be told (CAP_SYS_ADMIN).
    pub fn found_on(ifindex: u32) -> Option<u32> {
        let ids = tcx::programs_on(ifindex, Hook::Egress).ok()?;
        ids.into_iter()
            .find(|&id| tcx::program_name(id).is_ok_and(|name| name == Program::Egress.name()))
    }

    /// Takes the programs off the device.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    fn program_fd(&self, program: Program) -> Result<i32> {
        self.loaded.program(program)
    }

    /// Runs a program over a packet (BPF_PROG_TEST_RUN), `repeat` times.
    ///
    /// # Errors
    /// The kernel refuses: packet too short or too long.
    pub fn run(
        &self,
        program: Program,
        packet: &[u8],
        context: &SkbContext,
        repeat: u32,
    ) -> Result<Outcome> {
        test_run(self.program_fd(program)?, packet, context, repeat)
            .with_context(|| format!("running {}", program.name()))
    }

    /// Does the work of a flow's timer. True: the flow was busy, call again.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn kick(&self, flow: u32, generation: u32, family: u32) -> Result<bool> {
        self.kick_with(flow, generation, family, LH_LINK_SAME)
    }

    fn kick_with(&self, flow: u32, generation: u32, family: u32, link: u32) -> Result<bool> {
        let context = context_with(&[
            (LH_CB_FLOW, flow),
            (LH_CB_GENERATION, generation),
            (LH_CB_LINK, link),
        ]);
        Ok(self
            .run(Program::Kick, &template(family), &context, 1)?
            .retval
            > 0)
    }

    /// Until then events are looked at every [`LH_POLL_NS`] without being woken; 0: not.
    ///
    /// [`LH_POLL_NS`]: lasthop_core::bindings::LH_POLL_NS
    pub fn polls_until(&self, until_ns: u64) {
        // SAFETY: a field of a valid struct; no reference is made.
        let word = self
            .shared
            .word(|s| unsafe { &raw mut (*s).polls_until_ns });
        word.store(until_ns, Ordering::Relaxed);
    }

    /// Lets the timers of these flows fire that are kept here, for they are due: who is to be kicked comes by an
    /// event.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn fire(&self, flows: &[u32]) -> Result<()> {
        for some in flows.chunks(LH_DUE_MAX as usize) {
            let indices = some.iter().flat_map(|flow| flow.to_ne_bytes());
            let packet: Vec<u8> = [0; LH_DUE_AT as usize].into_iter().chain(indices).collect();
            let context = context_with(&[(LH_CB_GENERATION, some.len() as u32)]);
            self.run(Program::Due, &packet, &context, 1)?;
        }
        Ok(())
    }

    /// As often as the flow is busy on another CPU, and no more than [`KICKS_MAX`] times. True: done.
    fn kick_until_done(&self, flow: u32, generation: u32, family: u32, link: u32) -> Result<bool> {
        for _ in 0..KICKS_MAX {
            if !self.kick_with(flow, generation, family, link)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells every flow that heeds it (something cached, gaps, an ACK to repeat) that the link went down or
    /// came up; one that stays busy on another CPU is left out. Returns how many were told, none if
    /// the scheme takes no notice. `meanwhile` is called every few hundred, for whatever else has to be
    /// done.
    ///
    /// # Errors
    /// The kernel refuses to run the program, or the map can't be read.
    pub fn link(&self, up: bool, mut meanwhile: impl FnMut()) -> Result<Option<u64>> {
        let link = if up { LH_LINK_UP } else { LH_LINK_DOWN };
        let mut told = 0;
        if self.setup.policy & LH_POLICY_LINK == 0 {
            return Ok(None);
        }
        let mut nr = 0;
        self.each_flow(|index, entry| {
            if nr % 256 == 0 {
                self.heartbeat(now_ns()); // many busy flows take their time
                meanwhile();
            }
            nr += 1;
            if !heeds_the_link(&entry.flow) {
                return Ok(());
            }
            let (generation, family) = (entry.generation, entry.key.family.into());
            let done = self.kick_until_done(index, generation, family, link);
            told += u64::from(done.map_err(io::Error::other)?);
            Ok(())
        })?;
        Ok(Some(told))
    }

    /// Forgets flows that are over; with `force` all, after releasing what they hold. Returns how
    /// many.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn sweep(&self, force: bool) -> Result<u64> {
        self.sweep_of(if force { LH_SWEEP_ALL } else { LH_SWEEP_OVER })
    }

    fn sweep_of(&self, of: u32) -> Result<u64> {
        self.parts().map(|first| self.sweep_part(of, first)).sum()
    }

    /// First places of the parts in which the table is swept.
    fn parts(&self) -> impl Iterator<Item = u32> + use<> {
        (0..self.places()).step_by(LH_SWEEP_MAX as usize)
    }

    /// As [`Agent::sweep`] without force, of a few thousand places from `first` on. Returns where to go on;
    /// 0: that was the table's end.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn sweep_some(&self, first: u32) -> Result<u32> {
        let places = self.places();
        let end = places.min(first.saturating_add(SWEPT_AT_ONCE));
        for first in (first..end).step_by(LH_SWEEP_MAX as usize) {
            self.sweep_part(LH_SWEEP_OVER, first)?;
        }
        Ok(if end == places { 0 } else { end })
    }

    /// How often [`Agent::sweep_some`] is to be called for the whole table.
    pub fn sweeps(&self) -> u32 {
        self.places().div_ceil(SWEPT_AT_ONCE).max(1)
    }

    fn sweep_part(&self, of: u32, first: u32) -> Result<u64> {
        let left = self.setup.nr_flows.saturating_sub(first);
        self.sweep_range(of, first, LH_SWEEP_MAX.min(left))
    }

    /// `of`: `enum lh_sweep_of`.
    fn sweep_range(&self, of: u32, first: u32, count: u32) -> Result<u64> {
        // What is released has the family of the test run's packet.
        let families: &[u32] = if of == LH_SWEEP_OVER { &[4] } else { &[4, 6] };
        let words = [
            (LH_CB_FLOW, first),
            (LH_CB_GENERATION, count),
            (LH_CB_SWEEP, of),
        ];
        let mut removed = 0;
        for &family in families {
            let context = context_with(&words);
            let outcome = self.run(Program::Sweep, &template(family), &context, 1)?;
            removed += outcome.retval.max(0) as u64;
        }
        Ok(removed)
    }

    /// Forgets one flow, after releasing what it holds. Returns how many that were.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn forget(&self, flow: u32) -> Result<u64> {
        self.sweep_range(LH_SWEEP_ALL, flow, 1)
    }

    /// Forgets what the flows of the device have taught, as if just loaded; for tests that replay.
    ///
    /// # Errors
    /// The map can't be written.
    pub fn reset_device(&self) -> Result<()> {
        let device = self.loaded.map(".bss.device")?;
        let zeros = vec![0u8; device.value_size() as usize];
        Ok(device.update(&0u32.to_ne_bytes(), &zeros, MapFlags::ANY)?)
    }

    /// Begins a life of the agent, in which it knows no other one: a time since 1970, since a
    /// restart must be newer than what was before.
    ///
    /// # Errors
    /// The map can't be written.
    pub fn begin_life(&self, epoch: u64) -> Result<()> {
        let mut entry = lh_partners_entry::default();
        entry.partners.epoch = epoch;
        self.put("partners", bytes::of(&entry))
    }

    /// The keys of messages: the first seals, both open.
    ///
    /// # Errors
    /// The map can't be written.
    pub fn set_keys(&self, keys: &lh_keys) -> Result<()> {
        self.put("keys", bytes::of(keys))
    }

    /// Who we are on the device.
    ///
    /// # Errors
    /// The map can't be written.
    pub fn set_us(&self, us: &lh_us) -> Result<()> {
        self.put("us", bytes::of(us))
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<()> {
        let map = self.loaded.map(name)?;
        Ok(map.update(&0u32.to_ne_bytes(), value, MapFlags::ANY)?)
    }

    /// Says hello to the partner at an index of the table, or to whoever is on the link. False: it
    /// could not be sent.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn say_hello(&self, to: Option<usize>, family: u32) -> Result<bool> {
        Ok(self.said(to, family)?.is_some())
    }

    /// The same; returns the packet that was sent.
    ///
    /// # Errors
    /// As [`Agent::say_hello`].
    pub fn said(&self, to: Option<usize>, family: u32) -> Result<Option<Vec<u8>>> {
        let to = to.map_or(0, |index| index as u32 + 1);
        let context = context_with(&[(LH_CB_TO, to)]);
        let outcome = self.run(Program::Say, &template(family), &context, 1)?;
        Ok((outcome.retval == 0).then_some(outcome.data))
    }

    /// Tells the core what the MAC reports of a frame, and sends what that asks for.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn report(&self, record: &Record) -> Result<()> {
        let report = &record.report;
        let halves = |ns: u64| (ns as u32, (ns >> 32) as u32);
        let (at, queued) = (halves(report.at_ns), halves(report.queued_ns));
        let context = context_with(&[
            (LH_CB_FRAME, report.event | record.frame_bytes << 8),
            (LH_CB_AT, at.0),
            (LH_CB_AT_HIGH, at.1),
            (LH_CB_QUEUED, queued.0),
            (LH_CB_QUEUED_HIGH, queued.1),
        ]);
        for _ in 0..REPORTS_MAX {
            if self
                .run(Program::Report, &record.frame, &context, 1)?
                .retval
                <= 0
            {
                break;
            }
        }
        Ok(())
    }

    /// What the pools have in reserve, for a thread that keeps it ([`Reserve::grow`], [`Reserve::give_back`]).
    pub fn reserve(&self) -> &Arc<Reserve> {
        &self.reserve
    }

    /// Free slots that CPUs have at hand, and are not in the pool.
    ///
    /// # Errors
    /// The kernel's.
    pub fn slots_at_hand(&self) -> Result<Vec<u32>> {
        spares::at_hand(&self.loaded)
    }

    /// Makes the pools as large as they may be, for whoever serves no events.
    ///
    /// # Errors
    /// No memory.
    pub fn fill(&self) -> Result<()> {
        self.reserve.fill()
    }

    /// The ring buffer of events.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn events(&self) -> Result<MapHandle> {
        self.loaded.handle("events")
    }
}

/// Whether something of the flow waits for its turn.
fn waits(entry: &lh_flow_entry) -> bool {
    let q = &entry.flow.resequence;
    entry.used != 0 && q.tail != q.head
}

fn context_with(words: &[(u32, u32)]) -> SkbContext {
    let mut context = SkbContext::default();
    for &(word, value) in words {
        context.cb[word as usize] = value;
    }
    context
}

/// The packet that carries what a kick sends: the kernel wants an Ethernet header, whose type
/// tells the family.
fn template(family: u32) -> [u8; TEMPLATE_BYTES] {
    let mut packet = [0; TEMPLATE_BYTES];
    let ether_type: u16 = if family == 6 { 0x86dd } else { 0x0800 };
    packet[12..14].copy_from_slice(&ether_type.to_be_bytes());
    packet[14] = if family == 6 { 0x60 } else { 0x45 };
    packet
}
