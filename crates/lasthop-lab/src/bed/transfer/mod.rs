// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Transfers over the test bed with the kernel's real TCP, every byte of them verified.
//!
//! Both ends run in this process: sockets made inside a namespace stay there, whoever uses them.
//! One thread sends all flows, one receives them, and one samples the senders' round-trip times;
//! on request another watches both ends more closely.

pub mod content;
mod flow;
mod moments;
mod report;
mod side;
pub mod sockets;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::content::Content;
use self::flow::{Connection, Shared};
pub use self::moments::Moment;
use self::report::Samples;
pub use self::report::{
    FlowReport, ReceivedSample, RttSample, SAMPLE_INTERVAL, Snapshot, TransferReport,
};
use self::side::{Entry, FlowCc, Role, Side};
use self::sockets::SocketLimits;
use crate::base::interrupt;
use crate::bed::testbed::TestBed;
use crate::data::host::Host;
use crate::data::topology::{Family, Topology};
use crate::data::way::{Opener, Way};

const DEFAULT_DEADLINE: Duration = Duration::from_secs(120);

/// What to transfer. Without [`Transfer::bytes`] it goes on until stopped.
#[derive(Debug, Clone)]
pub struct Transfer {
    flows: usize,
    hosts: usize,
    wired_end: Host,
    transfers: usize,
    bytes_each: Option<u64>,
    sizes_bytes: Vec<u64>,
    duration: Duration,
    end: Option<Duration>,
    start_gap: Duration,
    starts: Vec<Duration>,
    first_port: Option<u16>,
    way: Way,
    opener: Opener,
    family: Family,
    cc: Vec<String>,
    seed: u64,
    deadline: Duration,
    watch: Option<Duration>,
    limits: SocketLimits,
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            flows: 1,
            hosts: 1,
            wired_end: Host::Fh,
            transfers: 1,
            bytes_each: None,
            sizes_bytes: Vec::new(),
            duration: Duration::from_secs(10),
            end: None,
            start_gap: Duration::ZERO,
            starts: Vec::new(),
            first_port: None,
            way: Way::default(),
            opener: Opener::default(),
            family: Family::default(),
            cc: vec!["cubic".into()],
            seed: 1,
            deadline: DEFAULT_DEADLINE,
            watch: None,
            limits: SocketLimits::default(),
        }
    }
}

impl Transfer {
    /// One IPv4 flow from FH to MH, opened by FH, with CUBIC, for 10 s.
    pub fn new() -> Self {
        Self::default()
    }

    /// Flows side by side (1).
    #[must_use]
    pub fn flows(mut self, flows: usize) -> Self {
        self.flows = flows.max(1);
        self
    }

    /// Mobile hosts over which the flows go in turn (1); the bed must have been built with as many.
    #[must_use]
    pub fn hosts(mut self, hosts: usize) -> Self {
        self.hosts = hosts.max(1);
        self
    }

    /// Where the end towards the wire is, FH or BS (FH); [`Opener::Fh`] means that end, too.
    #[must_use]
    pub fn wired_end(mut self, host: Host) -> Self {
        self.wired_end = host;
        self
    }

    /// Each connection carries so many bytes and ends.
    #[must_use]
    pub fn bytes(mut self, bytes_each: u64) -> Self {
        self.bytes_each = Some(bytes_each);
        self
    }

    /// One flow per element, which carries so many bytes and ends.
    #[must_use]
    pub fn sizes(mut self, sizes_bytes: Vec<u64>) -> Self {
        self.flows = sizes_bytes.len().max(1);
        self.bytes_each = sizes_bytes.iter().copied().max();
        self.sizes_bytes = sizes_bytes;
        self
    }

    /// Connections of each flow, one after the other (1); more need [`Transfer::bytes`], since
    /// each begins when the one before has arrived.
    #[must_use]
    pub fn transfers(mut self, transfers: usize) -> Self {
        self.transfers = transfers.max(1);
        self
    }

    /// The transfer is cut off after this time.
    #[must_use]
    pub fn duration(mut self, duration: Duration) -> Self {
        self.bytes_each = None;
        self.duration = duration;
        self
    }

    /// Pause between one flow's connect() and the next.
    #[must_use]
    pub fn start_gap(mut self, gap: Duration) -> Self {
        self.start_gap = gap;
        self
    }

    /// When each flow begins, in place of [`Transfer::start_gap`]; those beyond begin at once.
    #[must_use]
    pub fn starts(mut self, starts: Vec<Duration>) -> Self {
        self.starts = starts;
        self
    }

    /// All flows are cut off at this time, without anybody's asking (never).
    #[must_use]
    pub fn end(mut self, end: Duration) -> Self {
        self.end = Some(end);
        self
    }

    /// Ports that have been reserved already: one more than there are connections, the accepting
    /// end's first.
    #[must_use]
    pub fn ports(mut self, first: u16) -> Self {
        self.first_port = Some(first);
        self
    }

    /// Which way the data goes.
    #[must_use]
    pub fn direction(mut self, way: Way) -> Self {
        self.way = way;
        self
    }

    /// Who connects.
    #[must_use]
    pub fn opener(mut self, opener: Opener) -> Self {
        self.opener = opener;
        self
    }

    /// IPv4 or IPv6.
    #[must_use]
    pub fn family(mut self, family: Family) -> Self {
        self.family = family;
        self
    }

    /// Congestion control of all flows.
    #[must_use]
    pub fn cc(self, cc: &str) -> Self {
        self.flow_cc(vec![cc.to_owned()])
    }

    /// Congestion controls of the flows, in turn.
    #[must_use]
    pub fn flow_cc(mut self, cc: Vec<String>) -> Self {
        self.cc = cc;
        self
    }

    /// Seed of the content.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The longest that [`RunningTransfer::wait`] and [`RunningTransfer::wait_for_bytes`] wait,
    /// from the start (120 s).
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Looks at both ends that often, for [`TransferReport::moments`] (never).
    #[must_use]
    pub fn watch(mut self, interval: Duration) -> Self {
        self.watch = Some(interval);
        self
    }

    /// What both ends are held to (nothing).
    #[must_use]
    pub fn limits(mut self, limits: SocketLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Starts it; the threads end with the returned handle.
    ///
    /// # Errors
    /// Unknown congestion control, no ports or descriptors left.
    pub fn start(self, bed: &TestBed) -> Result<RunningTransfer> {
        if self.transfers > 1 && self.bytes_each.is_none() {
            bail!("transfers one after the other need a number of bytes each");
        }
        sockets::allow_descriptors(self.connections())?;
        let cc = self.cc.clone();
        if cc.is_empty() {
            bail!("no congestion control given");
        }
        let parallel = self.flows;
        let flow_cc: FlowCc = Arc::new(move |index| cc[index % parallel % cc.len()].clone());
        let (open, accept) = self.entries(bed, &flow_cc)?;
        let connection =
            |index| Connection::new(Content::new(self.seed, index), self.bytes_of(index));
        let connections = (0..self.connections()).map(connection).collect();
        let end_ns = self.end.map(|end| end.as_nanos() as u64);
        let shared = Shared::new(connections, self.flows, end_ns);
        let shared = Arc::new(shared);
        let opener_role = if self.opener.host() == self.way.sender() {
            Role::Send
        } else {
            Role::Receive
        };
        let accepter_role = match opener_role {
            Role::Send => Role::Receive,
            Role::Receive => Role::Send,
        };
        let mut threads = Vec::new();
        // The accepting side first: its listener takes connections already, but a reset answer
        // to an early SYN must not depend on that.
        for (role, entry) in [(accepter_role, accept), (opener_role, open)] {
            let (shared, flow_cc) = (Arc::clone(&shared), Arc::clone(&flow_cc));
            let name = format!("{role:?}").to_lowercase();
            let work = move || Side::run(role, entry, shared, flow_cc);
            threads.push(thread::Builder::new().name(name).spawn(work)?);
        }
        let sampled = Arc::clone(&shared);
        let sampler = thread::Builder::new()
            .name("sampler".into())
            .spawn(move || report::sample(&sampled))?;
        let watcher = match self.watch {
            Some(interval) => {
                let watched = Arc::clone(&shared);
                let name = thread::Builder::new().name("watcher".into());
                Some(name.spawn(move || moments::watch(&watched, interval))?)
            }
            None => None,
        };
        Ok(RunningTransfer {
            spec: self,
            shared,
            threads,
            sampler: Some(sampler),
            watcher,
        })
    }

    fn connections(&self) -> usize {
        self.flows * self.transfers
    }

    /// Address of a flow's end at `host`.
    fn address(&self, topology: &Topology, host: Host, flow: usize) -> IpAddr {
        match host {
            Host::Mh => topology.receiver_address(host, flow % self.hosts, self.family),
            other => topology.address(other, self.family),
        }
    }

    /// One listener hears for all mobile hosts.
    fn listen_address(&self, topology: &Topology, host: Host) -> IpAddr {
        match (host, self.hosts, self.family) {
            (Host::Mh, 2.., Family::V4) => Ipv4Addr::UNSPECIFIED.into(),
            (Host::Mh, 2.., Family::V6) => Ipv6Addr::UNSPECIFIED.into(),
            _ => self.address(topology, host, 0),
        }
    }

    /// The host of the wired end, or MH.
    fn end_of(&self, host: Host) -> Host {
        match host {
            Host::Fh => self.wired_end,
            other => other,
        }
    }

    /// What a connection carries.
    fn bytes_of(&self, connection: usize) -> Option<u64> {
        let flow = connection % self.flows;
        self.sizes_bytes.get(flow).copied().or(self.bytes_each)
    }

    /// When a flow's first connect() is due, since the transfer began.
    fn start_ns(&self, flow: usize) -> u64 {
        let start = self.starts.get(flow);
        let start = start.copied().unwrap_or(self.start_gap * flow as u32);
        start.as_nanos() as u64
    }

    /// Sockets of both sides, each made in its host's namespace.
    fn entries(&self, bed: &TestBed, flow_cc: &FlowCc) -> Result<(Entry, Entry)> {
        let topology = bed.topology();
        let opener = self.end_of(self.opener.host());
        let accepter = match opener {
            Host::Mh => self.wired_end,
            _ => Host::Mh,
        };
        let connections = self.connections();
        let ports = u16::try_from(connections + 1)
            .with_context(|| format!("{connections} connections are more than there are ports"))?;
        let listen_port = match self.first_port {
            Some(reserved) => reserved,
            None => bed.reserve_ports(ports)?,
        };
        let first_port = listen_port + 1;
        let accept_at = self.listen_address(topology, accepter);
        let accept_at = SocketAddr::new(accept_at, listen_port);
        let to = (0..self.hosts).map(|host| self.address(topology, accepter, host));
        let to = to.map(|address| SocketAddr::new(address, listen_port));
        let backlog = sockets::MAX_BACKLOG.to_string();
        bed.namespace(accepter)
            .set_sysctl("core.somaxconn", &backlog)?;
        let listener = bed.run_in(accepter, || {
            sockets::listen(accept_at, self.flows, &flow_cc(0), self.limits)
        })??;
        let prepared = bed.run_in(opener, || {
            (0..connections)
                .map(|index| {
                    let from = self.address(topology, opener, index % self.flows);
                    let address = SocketAddr::new(from, first_port + index as u16);
                    sockets::prepare(address, &flow_cc(index), self.limits).map(Some)
                })
                .collect::<Result<Vec<_>>>()
        })??;
        let open = Entry::Open {
            sockets: prepared,
            to: to.collect(),
            starts_ns: (0..self.flows).map(|flow| self.start_ns(flow)).collect(),
        };
        Ok((
            open,
            Entry::Accept {
                listener,
                first_port,
            },
        ))
    }
}

/// A transfer on its way. Dropping it cuts it off.
#[derive(Debug)]
pub struct RunningTransfer {
    spec: Transfer,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    sampler: Option<JoinHandle<Samples>>,
    watcher: Option<JoinHandle<Vec<Moment>>>,
}

impl RunningTransfer {
    /// Whether all its time is over, or no connection will get another byte.
    pub fn is_over(&self) -> bool {
        self.shared.is_over() || self.is_finished()
    }

    /// When it began.
    pub fn started(&self) -> Instant {
        self.shared.epoch
    }

    /// Bytes read by the receiving applications so far, all flows together.
    pub fn received_bytes(&self) -> u64 {
        self.shared.received_bytes()
    }

    /// Whether no connection will get another byte: all have everything, or failed.
    pub fn is_finished(&self) -> bool {
        self.shared.all_finished()
    }

    /// Waits until so many bytes have been read, all flows together: a way to act in
    /// mid-transfer without guessing times.
    ///
    /// # Errors
    /// The deadline passes, the transfer ends with less, or the user interrupts.
    pub fn wait_for_bytes(&self, bytes: u64) -> Result<()> {
        self.wait_until(&format!("{bytes} bytes"), || self.received_bytes() >= bytes)
    }

    /// Waits until every flow has had its connect() answered and its first byte read.
    ///
    /// # Errors
    /// As [`RunningTransfer::wait_for_bytes`].
    pub fn wait_for_all_flows(&self) -> Result<()> {
        let connections = &self.shared.connections;
        self.wait_until("bytes of every flow", || {
            connections
                .iter()
                .all(|c| c.received_bytes.load(Ordering::Relaxed) > 0)
        })
    }

    fn wait_until(&self, what: &str, done: impl Fn() -> bool) -> Result<()> {
        let deadline = self.shared.epoch + self.spec.deadline;
        while !done() {
            interrupt::check()?;
            if self.is_finished() && !done() {
                let failure = report::first_failure(&self.shared).unwrap_or_default();
                bail!("the transfer ended before {what} had arrived {failure}");
            }
            if Instant::now() >= deadline {
                bail!(
                    "no {what} after {} s, but {} bytes",
                    self.spec.deadline.as_secs(),
                    self.received_bytes()
                );
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Counters at this moment.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.shared)
    }

    /// Waits for the end: all bytes, or the duration; at most until the deadline, after which
    /// flows that miss bytes are reported as failed.
    ///
    /// # Errors
    /// The user interrupts, or a side of the transfer breaks down. Flows that fail are no error
    /// here but part of the report.
    pub fn wait(self) -> Result<TransferReport> {
        let limit = match self.spec.bytes_each {
            Some(_) => self.spec.deadline,
            None => self.spec.duration,
        };
        self.wait_within(limit)
    }

    /// The same, for so long after it began.
    fn wait_within(self, limit: Duration) -> Result<TransferReport> {
        let end = self.shared.epoch + limit;
        while !self.is_finished() && Instant::now() < end {
            interrupt::check()?;
            thread::sleep(Duration::from_millis(1));
        }
        self.stop()
    }

    /// As [`RunningTransfer::wait`] of one that goes on until stopped: the senders write no more, and what
    /// they have written arrives.
    ///
    /// # Errors
    /// As there.
    pub fn end(self) -> Result<TransferReport> {
        self.shared.ended.store(true, Ordering::SeqCst);
        let limit = self.spec.deadline;
        self.wait_within(limit)
    }

    /// Ends it now and reports.
    ///
    /// # Errors
    /// A side of the transfer broke down.
    pub fn stop(mut self) -> Result<TransferReport> {
        let end = self.snapshot();
        self.halt();
        let (samples, moments) = self.join_watchers();
        if let Some(failure) = self.shared.side_failure() {
            bail!("the transfer broke down: {failure}");
        }
        Ok(TransferReport::new(&self.shared, &end, samples, moments))
    }

    /// What the threads that only look on have seen.
    fn join_watchers(&mut self) -> (Samples, Vec<Moment>) {
        let samples = self.sampler.take().map(JoinHandle::join);
        let moments = self.watcher.take().map(JoinHandle::join);
        (
            samples.and_then(Result::ok).unwrap_or_default(),
            moments.and_then(Result::ok).unwrap_or_default(),
        )
    }

    fn halt(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            // A panic has been printed; the flows that it leaves unfinished tell the rest.
            let _ = thread.join();
        }
    }
}

impl Drop for RunningTransfer {
    fn drop(&mut self) {
        self.halt();
        self.join_watchers();
    }
}
