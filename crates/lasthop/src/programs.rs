// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The BPF programs of one device: loaded, their pools filled, attached, run, read.

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use lasthop_core::bindings::{
    self, LH_BATCH_SLOTS, LH_CB_AT, LH_CB_AT_HIGH, LH_CB_FLOW, LH_CB_FORCE, LH_CB_FRAME,
    LH_CB_GENERATION, LH_CB_LINK, LH_CB_QUEUED, LH_CB_QUEUED_HIGH, LH_CB_TO, LH_FLOW_SEGS,
    LH_LINK_DOWN, LH_LINK_SAME, LH_LINK_UP, LH_MAX_RULES, LH_SCHEME_dproxy, LH_SCHEME_rack,
    LH_SCHEME_slack, LH_SLOT_BYTES, LH_SWEEP_MAX, LH_SYNS_PER_FLOW, lh_batch, lh_config, lh_keys,
    lh_partners_entry, lh_rule, lh_setup, lh_us,
};
use lasthop_core::host::heeds_the_link;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapMut, Object, ObjectBuilder, OpenObject};

use crate::bytes;
use crate::mac_events::Record;
use crate::memory::{CACHE_MOST_BYTES, FLOWS_MOST};
use crate::monotonic::now_ns;
use crate::shared::Shared;
use crate::skb::offset;
pub use crate::skb::{Outcome, SkbContext};
use crate::tcx::{self, Hook};
use crate::view::loaded_bytes;
pub use crate::view::{Usage, View};

/// The compiled programs.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lasthop.bpf.o"));

/// A flow that is busy on another CPU is asked again so often.
pub const KICKS_MAX: usize = 64;
/// The same of a report of the MAC: each try waits for a millisecond or so.
const REPORTS_MAX: usize = 8;
/// Priority of local retransmissions: cfg80211 takes 256 to 263 for a user priority of 0 to 7 and
/// looks at VLAN and DSCP otherwise; qdiscs with bands take the last four bits, 7: the first band.
pub const PRIORITY: u32 = 256 + 7;
/// User space has to show a sign of life this often.
pub const STALE: Duration = Duration::from_secs(2);
/// The kernel's least and a bit: an Ethernet header and room for an address pair.
const TEMPLATE_BYTES: usize = 64;

/// What a device's programs are loaded with.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Parameters of the core.
    pub config: lh_config,
    /// The device; 0 in tests that attach nowhere.
    pub ifindex: u32,
    /// 14 with an Ethernet header, 0 without.
    pub l2_bytes: u32,
    /// fwmark bits of our own packets, and which bits those are.
    pub mark: (u32, u32),
    /// `skb->priority` of local retransmissions.
    pub priority: u32,
    /// Connections that can be assisted at a time.
    pub max_flows: u32,
    /// Bytes of cached packets, all flows together (2 KiB each).
    pub cache_total_bytes: u64,
    /// Bytes of cached packets per flow.
    pub cache_flow_bytes: u64,
    /// --match and --exclude.
    pub rules: Vec<lh_rule>,
    /// UDP port of messages between agents; 0: none are heard or sent.
    pub port: u16,
    /// The programs' time is `__sk_buff.tstamp`, for tests.
    pub test_clock: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: lh_config::default(),
            ifindex: 0,
            l2_bytes: 14,
            mark: (0x4000_0000, 0x4000_0000),
            priority: PRIORITY,
            max_flows: FLOWS_MOST,
            cache_total_bytes: CACHE_MOST_BYTES,
            cache_flow_bytes: 8 << 20,
            rules: Vec::new(),
            port: 0,
            test_clock: false,
        }
    }
}

impl Setup {
    fn raw(&self) -> lh_setup {
        let batches = (self.cache_total_bytes / u64::from(LH_SLOT_BYTES * LH_BATCH_SLOTS)).max(4);
        let nr_slots = batches.min(u64::from(u32::MAX / LH_SLOT_BYTES)) as u32 * LH_BATCH_SLOTS;
        let flow_segments = self.cache_flow_bytes / u64::from(LH_SLOT_BYTES);
        lh_setup {
            config: self.config,
            policy: self.config.policy(),
            ifindex: self.ifindex,
            l2_bytes: self.l2_bytes,
            mark_value: self.mark.0,
            mark_mask: self.mark.1,
            priority: self.priority,
            nr_slots,
            // Every flow may hold one chunk that is hardly filled.
            nr_chunks: nr_slots / bindings::LH_CHUNK_SEGS + self.max_flows,
            nr_flows: self.max_flows,
            flow_segments: flow_segments.clamp(1, u64::from(LH_FLOW_SEGS)) as u32,
            nr_rules: self.rules.len() as u32,
            has_match: u32::from(
                self.rules
                    .iter()
                    .any(|rule| rule.action == bindings::LH_RULE_MATCH),
            ),
            test_clock: u32::from(self.test_clock),
            port: u32::from(self.port),
            can: lasthop_core::message::can(self.config.scheme),
            stale_ns: STALE.as_nanos() as u64,
        }
    }
}

/// The programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Packets from MH.
    Ingress,
    /// Packets towards MH.
    Egress,
    /// A flow's timer.
    Kick,
    /// Forgets flows that are over.
    Sweep,
    /// Says hello to other agents.
    Say,
    /// Hears what the MAC reports.
    Report,
}

impl Program {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ingress => "lh_ingress",
            Self::Egress => "lh_egress",
            Self::Kick => "lh_kick",
            Self::Sweep => "lh_sweep",
            Self::Say => "lh_say",
            Self::Report => "lh_report",
        }
    }
}

/// Loaded programs of one device.
pub struct Agent {
    object: Object,
    view: Arc<View>,
    links: Vec<OwnedFd>,
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
        if setup.rules.len() > LH_MAX_RULES as usize {
            bail!(
                "{} match and exclude rules, at most {LH_MAX_RULES}",
                setup.rules.len()
            );
        }
        let raw = setup.raw();
        let mut open = ObjectBuilder::default()
            .open_memory(OBJECT)
            .context("BPF object")?;
        prepare(&mut open, &raw)?;
        let mut object = open.load().map_err(|error| refusal(error, &raw))?;
        fill_indices(&find(&mut object, "free_flows")?, raw.nr_flows)?;
        fill_indices(&find(&mut object, "free_chunks")?, raw.nr_chunks)?;
        fill_slots(&find(&mut object, "free_slots")?, raw.nr_slots)?;
        let rules = find(&mut object, "rules")?;
        for (i, rule) in setup.rules.iter().enumerate() {
            rules.update(&(i as u32).to_ne_bytes(), bytes::of(rule), MapFlags::ANY)?;
        }
        let bss = handle(&mut object, ".bss")?;
        let view = View {
            shared: Shared::map(&bss)?,
            flows: handle(&mut object, "flows")?,
            counters: handle(&mut object, "counters")?,
            slots: handle(&mut object, "slots")?,
            partners: handle(&mut object, "partners")?,
            device: handle(&mut object, ".bss.device")?,
            setup: raw,
        };
        Ok(Self {
            object,
            view: Arc::new(view),
            links: Vec::new(),
        })
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
        self.object
            .progs()
            .find(|p| p.name() == program.name())
            .map(|p| p.as_fd().as_raw_fd())
            .with_context(|| format!("no BPF program {}", program.name()))
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
        let context_in = context.encode();
        let mut context_out = [0u8; offset::BYTES];
        let mut data = vec![0u8; 4096];
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as u64,
            data_in: packet.as_ptr().cast(),
            data_size_in: packet.len() as u32,
            data_out: data.as_mut_ptr().cast(),
            data_size_out: data.len() as u32,
            ctx_in: context_in.as_ptr().cast(),
            ctx_size_in: context_in.len() as u32,
            ctx_out: context_out.as_mut_ptr().cast(),
            ctx_size_out: context_out.len() as u32,
            repeat: repeat as i32,
            ..Default::default()
        };
        let fd = self.program_fd(program)?;
        // SAFETY: all buffers live through the call and their sizes are given.
        let error = unsafe { libbpf_sys::bpf_prog_test_run_opts(fd, &mut options) };
        if error < 0 {
            return Err(anyhow!(std::io::Error::from_raw_os_error(-error)))
                .with_context(|| format!("running {}", program.name()));
        }
        data.truncate(options.data_size_out as usize);
        Ok(Outcome {
            retval: options.retval as i32,
            data,
            context: SkbContext::decode(&context_out),
            duration: Duration::from_nanos(u64::from(options.duration)),
        })
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

    /// Tells every flow that heeds it (something cached, gaps, an ACK to repeat) that the link went down or
    /// came up; one that stays busy on another CPU is left out. Returns how many were told, none if
    /// the scheme takes no notice.
    ///
    /// # Errors
    /// The kernel refuses to run the program, or the map can't be read.
    pub fn link(&self, up: bool) -> Result<Option<u64>> {
        let link = if up { LH_LINK_UP } else { LH_LINK_DOWN };
        let mut told = 0;
        if ![LH_SCHEME_rack, LH_SCHEME_slack, LH_SCHEME_dproxy].contains(&self.setup.config.scheme)
        {
            return Ok(None);
        }
        let mut nr = 0;
        self.each_flow(|index, entry| {
            if nr % 256 == 0 {
                self.heartbeat(now_ns()); // many busy flows take their time
            }
            nr += 1;
            if !heeds_the_link(&entry.flow) {
                return Ok(());
            }
            let (generation, family) = (entry.generation, entry.key.family.into());
            for _ in 0..KICKS_MAX {
                let busy = self.kick_with(index, generation, family, link);
                if !busy.map_err(io::Error::other)? {
                    told += 1;
                    break;
                }
            }
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
        let mut removed = 0;
        // What is released has the family of the test run's packet.
        let families: &[u32] = if force { &[4, 6] } else { &[4] };
        for &family in families {
            for first in (0..self.setup.nr_flows).step_by(LH_SWEEP_MAX as usize) {
                let count = LH_SWEEP_MAX.min(self.setup.nr_flows - first);
                let context = context_with(&[
                    (LH_CB_FLOW, first),
                    (LH_CB_GENERATION, count),
                    (LH_CB_FORCE, u32::from(force)),
                ]);
                let outcome = self.run(Program::Sweep, &template(family), &context, 1)?;
                removed += outcome.retval.max(0) as u64;
            }
        }
        Ok(removed)
    }

    /// Forgets what the flows of the device have taught, as if just loaded; for tests that replay.
    ///
    /// # Errors
    /// The map can't be written.
    pub fn reset_device(&mut self) -> Result<()> {
        let device = find(&mut self.object, ".bss.device")?;
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
        let map = self.object.maps().find(|map| map.name() == name);
        let map = map.with_context(|| format!("no BPF map {name}"))?;
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

    /// The ring buffer of events.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn events(&mut self) -> Result<MapHandle> {
        handle(&mut self.object, "events")
    }
}

/// Why the kernel did not take the programs, and what to do.
fn refusal(error: libbpf_rs::Error, raw: &lh_setup) -> anyhow::Error {
    let why = match error.kind() {
        libbpf_rs::ErrorKind::OutOfMemory => format!(
            "no memory for the {} MiB of the maps: lower cache_total or max_flows",
            loaded_bytes(raw) >> 20
        ),
        libbpf_rs::ErrorKind::PermissionDenied => {
            "the kernel does not let us load BPF programs: run as root".into()
        }
        _ => {
            "the kernel refuses the BPF programs (RUST_LOG=lasthop=debug shows its reasons)".into()
        }
    };
    anyhow::Error::new(error).context(why)
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

/// Sizes of the maps and the constants of the programs.
fn prepare(open: &mut OpenObject, raw: &lh_setup) -> Result<()> {
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let entries = match name.as_str() {
            "flows" | "flow_ids" | "free_flows" => raw.nr_flows,
            "syns" => raw.nr_flows.saturating_mul(LH_SYNS_PER_FLOW),
            "chunks" | "free_chunks" => raw.nr_chunks,
            "slots" => raw.nr_slots,
            "free_slots" => raw.nr_slots / LH_BATCH_SLOTS,
            name if name.ends_with(".rodata") => {
                map.set_initial_value(bytes::of(raw))
                    .context("constants of the programs")?;
                continue;
            }
            _ => continue,
        };
        map.set_max_entries(entries)
            .with_context(|| format!("size of map {name}"))?;
    }
    Ok(())
}

fn find<'a>(object: &'a mut Object, name: &str) -> Result<MapMut<'a>> {
    object
        .maps_mut()
        .find(|map| map.name().to_string_lossy().ends_with(name))
        .with_context(|| format!("no BPF map {name}"))
}

fn handle(object: &mut Object, name: &str) -> Result<MapHandle> {
    MapHandle::try_from(&find(object, name)?).with_context(|| format!("BPF map {name}"))
}

/// Pushes the indices so that low ones are handed out first.
fn fill_indices(map: &MapMut<'_>, count: u32) -> Result<()> {
    for index in (0..count).rev() {
        map.update(&[], &index.to_ne_bytes(), MapFlags::ANY)
            .context("filling a pool")?;
    }
    Ok(())
}

fn fill_slots(map: &MapMut<'_>, count: u32) -> Result<()> {
    for first in (0..count).step_by(LH_BATCH_SLOTS as usize).rev() {
        let slot = std::array::from_fn(|i| first + LH_BATCH_SLOTS - 1 - i as u32);
        map.update(&[], bytes::of(&lh_batch { slot }), MapFlags::ANY)
            .context("filling the pool of slots")?;
    }
    Ok(())
}
