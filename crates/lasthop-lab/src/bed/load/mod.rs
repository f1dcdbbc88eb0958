// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A load of many connections: those that stay, of which some go on asking, and short ones that come
//! and go by the thousand. Every byte of both directions is compared.
//!
//! MH opens towards FH, as most programs of mobile hosts do, from the addresses of all its receivers; FH
//! answers. Both ends of a connection are in one process, a thread and a poller each; there are as many
//! processes as the limit of open files asks for. Where they can't keep up openings are put off and
//! counted, never queued without end.

mod answerer;
mod opener;
mod plan;
mod pool;
mod request;
mod tally;
mod turn;
mod worker;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub use self::plan::{Plan, Sizes};
pub use self::tally::Tally;
use self::tally::{Part, sum};
use self::worker::Orders;
pub use self::worker::work;
use crate::base::interrupt;
use crate::bed::process::{Lifetime, Managed, find_binary};
use crate::bed::testbed::TestBed;
use crate::bed::transfer::sockets::{self, MAX_BACKLOG};
use crate::data::host::Host;
use crate::data::topology::Family;

/// Every so many-th receiver's connections go by IPv6, too.
const V6_EVERY: usize = 4;
/// Processes of a load; more would be a limit of open files that nobody means.
const PROCESSES_MOST: u64 = 16;
/// How long a process may take to cut all its connections off.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// Of a process's files those that it has anyway.
const OWN_FILES: u64 = 50;

/// A load on its way. Dropping it cuts it off, with a reset for each connection.
#[derive(Debug)]
pub struct RunningLoad {
    plan: Plan,
    processes: Vec<Process>,
}

#[derive(Debug)]
struct Process {
    managed: Managed,
    counts: PathBuf,
}

/// Begins a load on a test bed, between FH and all the receivers that the bed was built with.
///
/// # Errors
/// Too few files may be open, no ports left, or a plan that can't be.
pub fn start(bed: &TestBed, plan: Plan) -> Result<RunningLoad> {
    if plan.active > plan.held || plan.held_per_s <= 0.0 || plan.short_per_s < 0.0 {
        bail!("{plan:?}: no more active connections than held ones, and rates that are rates");
    }
    let backlog = MAX_BACKLOG.to_string();
    for key in ["core.somaxconn", "ipv4.tcp_max_syn_backlog"] {
        bed.namespace(Host::Fh).set_sysctl(key, &backlog)?;
    }
    let parts = processes(plan.most())?;
    let mut load = RunningLoad {
        plan,
        processes: Vec::new(),
    };
    for index in 0..parts {
        let process = begin(bed, plan.part(index, parts), index)?;
        load.processes.push(process);
    }
    Ok(load)
}

/// How many processes so many connections take here.
fn processes(connections: u64) -> Result<u32> {
    let all = sockets::descriptors(connections) + OWN_FILES;
    let allowed = sockets::allowed_descriptors(all)?;
    let each = allowed.saturating_sub(sockets::descriptors(0) + OWN_FILES) / 2;
    let processes = match each {
        0 => u64::MAX,
        each => connections.div_ceil(each).max(1),
    };
    if processes > PROCESSES_MOST {
        bail!(
            "{connections} connections are too many for {PROCESSES_MOST} processes of {allowed} open \
             files each: raise the limit (`ulimit -n {all}`)"
        );
    }
    Ok(processes as u32)
}

fn begin(bed: &TestBed, plan: Plan, index: u32) -> Result<Process> {
    let topology = bed.topology();
    let port = bed.reserve_ports(1)?;
    let to = |family| SocketAddr::new(topology.address(Host::Fh, family), port);
    let mut ways = Vec::new();
    for receiver in 0..bed.link().hosts.count() {
        let families: &[Family] = match receiver % V6_EVERY {
            0 => &[Family::V4, Family::V6],
            _ => &[Family::V4],
        };
        ways.extend(families.iter().map(|family| {
            let from = topology.receiver_address(Host::Mh, receiver, *family);
            (from, to(*family))
        }));
    }
    let file = |what: &str| bed.directory().join(format!("load-{port}.{what}"));
    let (orders, counts) = (file("orders"), file("counts"));
    let name = |host| bed.namespace(host).name().to_owned();
    let text = serde_json::to_string_pretty(&Orders {
        plan,
        answers: name(Host::Fh),
        opens: name(Host::Mh),
        listen: vec![to(Family::V4), to(Family::V6)],
        ways,
        counts: counts.clone(),
    })?;
    fs::write(&orders, text).with_context(|| format!("cannot write {}", orders.display()))?;
    let mut command = Command::new(find_binary("lasthop-lab")?);
    command.arg("load").arg(&orders);
    let role = format!("load {index}");
    let lifetime = Lifetime::WithLab(Signal::SIGTERM);
    let managed = Managed::spawn(command, &role, bed.namespace(Host::Mh), lifetime, None)?;
    bed.own_process(managed.id())?;
    Ok(Process { managed, counts })
}

impl RunningLoad {
    /// Counts so far.
    ///
    /// # Errors
    /// A process is gone, or could not go on.
    pub fn tally(&mut self) -> Result<Tally> {
        Ok(sum(&self.parts()?))
    }

    fn parts(&mut self) -> Result<Vec<Part>> {
        let parts = self.processes.iter_mut().map(Process::part);
        parts.collect()
    }

    /// Waits until all connections that are to stay have had their first exchange.
    ///
    /// # Errors
    /// As [`RunningLoad::tally`], it takes longer than `most`, or the user interrupts.
    pub fn wait_for_held(&mut self, most: Duration) -> Result<Tally> {
        let held = u64::from(self.plan.held);
        let deadline = Instant::now() + most;
        loop {
            let tally = self.tally()?;
            if tally.held == held && tally.established >= held && tally.exchanges >= held {
                return Ok(tally);
            }
            self.go_on(deadline, "all connections that stay", &tally)?;
        }
    }

    /// Opens no more, and waits until all connections have come to their end, as they should.
    /// `meanwhile` is called from time to time. Beside the counts there is what the answering end sent
    /// again on each connection that had stayed, by the opener's address.
    ///
    /// # Errors
    /// As [`RunningLoad::wait_for_held`].
    pub fn finish(
        mut self,
        most: Duration,
        mut meanwhile: impl FnMut() -> Result<()>,
    ) -> Result<(Tally, BTreeMap<SocketAddr, u64>)> {
        self.ask_to_end()?;
        let deadline = Instant::now() + most;
        while self.runs() {
            meanwhile()?;
            let tally = self.tally()?;
            self.go_on(deadline, "the end of all connections", &tally)?;
        }
        let mut parts = self.parts()?;
        let resent = parts
            .iter_mut()
            .flat_map(|part| std::mem::take(&mut part.resent));
        let resent = resent.collect();
        Ok((sum(&parts), resent))
    }

    /// As [`RunningLoad::finish`], but where they don't come to their end within `most` what there is counts.
    ///
    /// # Errors
    /// A process is gone, or could not go on; the user interrupts.
    pub fn end(mut self, most: Duration) -> Result<Tally> {
        self.ask_to_end()?;
        let deadline = Instant::now() + most;
        while self.runs() && Instant::now() < deadline {
            interrupt::check()?;
            thread::sleep(interrupt::POLL);
        }
        self.tally()
    }

    fn ask_to_end(&mut self) -> Result<()> {
        for process in &mut self.processes {
            process.managed.check_running()?;
            kill(Pid::from_raw(process.managed.id().pid), Signal::SIGINT)?;
        }
        Ok(())
    }

    fn runs(&mut self) -> bool {
        self.processes.iter_mut().any(|p| p.managed.is_running())
    }

    fn go_on(&self, deadline: Instant, what: &str, tally: &Tally) -> Result<()> {
        interrupt::check()?;
        if Instant::now() >= deadline {
            bail!("{what}: never, but {}", serde_json::to_string(tally)?);
        }
        thread::sleep(interrupt::POLL);
        Ok(())
    }
}

impl Process {
    /// What it has written last; nothing before it has written anything.
    fn part(&mut self) -> Result<Part> {
        let runs = self.managed.is_running();
        let part: Part = match fs::read_to_string(&self.counts) {
            Ok(text) => serde_json::from_str(&text)
                .with_context(|| format!("{}: no counts", self.counts.display()))?,
            Err(_) if runs => Part::default(),
            Err(_) => {
                self.managed.check_running()?;
                bail!("{}: ended without counts", self.managed.id().role);
            }
        };
        if let Some(why) = &part.broken {
            bail!("{}: can't go on: {why}", self.managed.id().role);
        }
        Ok(part)
    }
}

impl Drop for RunningLoad {
    /// All at once, for each has thousands to cut off.
    fn drop(&mut self) {
        for process in &mut self.processes {
            if process.managed.is_running() {
                let _ = kill(Pid::from_raw(process.managed.id().pid), Signal::SIGTERM);
            }
        }
        for process in &mut self.processes {
            let _ = process.managed.wait_or_none(STOP_PATIENCE);
        }
    }
}
