// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop split`: a proxy that ends each connection over the lossy link and opens another in its
//! place (I-TCP: Bakre and Badrinath 1995; RFC 3135 section 3.1; docs/design/schemes.md, 5.12). It is
//! here to be compared with: it **breaks TCP's end-to-end acknowledgement**, for it acknowledges
//! what the receiver does not have yet.

mod others;
mod relay;
mod rules;
mod sockets;
mod syns;

use std::future::poll_fn;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use caps::Capability;
use lasthop_core::bindings::lh_rule;
use nix::sys::signal::Signal::SIGHUP;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::report::Field;
use crate::signals::is_ignored;
use crate::{descriptors, device, privilege};
use relay::End;
use sockets::Tuning;
use syns::{Connections, Ends, Syns};

/// For other hosts' addresses, the queue and the rules; for clients' ports below 1024.
const KEPT: [Capability; 2] = [Capability::CAP_NET_ADMIN, Capability::CAP_NET_BIND_SERVICE];
/// Descriptors per connection: two sockets, and two pipes with two ends each.
const DESCRIPTORS: u64 = 6;
/// Descriptors of the process itself.
const SPARE_DESCRIPTORS: u64 = 64;

/// At the end, how long who was answered may take to be heard of.
const LATE: Duration = Duration::from_secs(3);

/// Fields of `lasthop split -j`.
pub const SPLIT_FIELDS: &[Field] = &[
    (
        "event",
        "name",
        "`splitting`: it has begun; `connection`: one is over; `ended`",
    ),
    (
        "devices",
        "list of names",
        "of `splitting`: that face the lossy link",
    ),
    ("client", "ADDRESS:PORT", "of `connection`: who opened it"),
    (
        "server",
        "ADDRESS:PORT",
        "of `connection`: whom it was opened to",
    ),
    (
        "from_client_bytes",
        "bytes",
        "of `connection`: payload from the client that was passed on",
    ),
    (
        "from_server_bytes",
        "bytes",
        "of `connection`: payload from the server that was passed on",
    ),
    (
        "duration_s",
        "s",
        "of `connection`: since both sides were connected",
    ),
    (
        "end",
        "name",
        "of `connection`: `closed` by both sides, who have acknowledged all, `reset` by one or by its silence, `ended` with the proxy",
    ),
    ("split", "connections", "of `ended`: that were split"),
    (
        "unsplit",
        "SYNs",
        "of `ended`: that went on, for want of an answer or of room",
    ),
    (
        "moved_bytes",
        "bytes",
        "of `ended`: payload of all connections that are over",
    ),
];

/// What `lasthop split` was asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// Devices that face the lossy link.
    pub devices: Vec<String>,
    /// Which connections, from [`crate::units::rule`]; empty: all.
    pub rules: Vec<lh_rule>,
    /// Most bytes of a connection that wait here in a pipe, and as many in a socket without having
    /// been sent, in each direction.
    pub buffer_bytes: u32,
    /// Most connections at a time; others are not split.
    pub connections: usize,
    /// Congestion control towards the lossy link; None: the machine's.
    pub cc: Option<String>,
    /// Events as JSON Lines.
    pub json: bool,
}

/// What all tasks share.
struct Proxy {
    options: Options,
    connections: Arc<Connections>,
    tuning: Tuning,
    ended: watch::Receiver<bool>,
    nr_split: AtomicU64,
    moved_bytes: AtomicU64,
}

/// Splits connections until SIGINT, SIGTERM or SIGHUP: then no more new ones, and it ends with the
/// last of those that there are, or resets them at a second signal.
///
/// # Errors
/// No right to, no such device, NAT, nftables or the kernel's TPROXY missing, or another one is running.
pub fn run(options: Options) -> Result<()> {
    let mut lossy = Vec::new();
    for device in &options.devices {
        match device::ifindex(device) {
            Some(index) if rules::is_quotable(device) => lossy.push(index),
            _ => bail!("there is no device {device} that rules can name"),
        }
    }
    if let Some(cc) = &options.cc {
        sockets::check_cc(cc).with_context(|| {
            format!("congestion control {cc}: see net.ipv4.tcp_available_congestion_control")
        })?;
    }
    let most = room_for(options.connections)?;
    others::check(!options.rules.is_empty())?;
    if let Err(error) = privilege::keep_capabilities(&KEPT) {
        tracing::warn!("capabilities: can't give up what is not needed: {error:#}");
    }
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("threads")?
        .block_on(serve(options, lossy, most))
}

/// Raises the limit of open files as far as that is needed. @return the connections that it allows.
fn room_for(connections: usize) -> Result<usize> {
    let got = descriptors::raise(connections as u64 * DESCRIPTORS + SPARE_DESCRIPTORS)?;
    let most = (got.saturating_sub(SPARE_DESCRIPTORS) / DESCRIPTORS) as usize;
    if most < connections {
        tracing::info!(
            "open files are limited to {got}: no more than {most} connections are split"
        );
    }
    Ok(most.min(connections))
}

async fn serve(options: Options, lossy: Vec<u32>, most: usize) -> Result<()> {
    let mut signals = Signals::heeded();
    let (v4, v6) = (sockets::listen(true), sockets::listen(false));
    let v4 = v4.context("listening for other hosts' addresses (CAP_NET_ADMIN)")?;
    let v6 = v6.inspect_err(|e| tracing::debug!("IPv6: {e}")).ok();
    let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
    let ports = [port(&v4)?, v6.as_ref().map_or(Ok(1), port)?];
    let connections = Arc::new(Connections::new(most));
    let syns = Syns::open(lossy, connections.clone())?;
    let standing = rules::Standing::up(&rules::Plan {
        devices: &options.devices,
        rules: &options.rules,
        ports,
    })?;
    let (end, ended) = watch::channel(false);
    let proxy = Arc::new(Proxy {
        tuning: Tuning {
            unsent_bytes: options.buffer_bytes,
            cc: options.cc.clone(),
        },
        options,
        connections,
        ended,
        nr_split: AtomicU64::new(0),
        moved_bytes: AtomicU64::new(0),
    });
    for listener in [Some(v4), v6].into_iter().flatten() {
        tokio::spawn(accept(listener, proxy.clone()));
    }
    let queue = tokio::spawn(syns.serve());
    proxy.say_ready();
    tokio::select! {
        failed = queue => failed.context("netfilter queue")??,
        () = signals.any() => {}
    }
    // In this order: a SYN that is let to our listener must find the way there.
    proxy.connections.close();
    standing.close()?;
    proxy.say_closing();
    tokio::spawn(give_up_late(proxy.connections.clone()));
    tokio::select! {
        () = proxy.idle() => {}
        () = signals.any() => {
            let _ = end.send(true);
            // What is reset needs the rules no more.
            let _ = tokio::time::timeout(Duration::from_secs(1), proxy.idle()).await;
        }
    }
    proxy.say_ended();
    Ok(())
}

/// At the end nobody waits long for clients that have given up.
async fn give_up_late(connections: Arc<Connections>) {
    tokio::time::sleep(LATE).await;
    connections.give_up_all();
}

/// By which it is told to end.
struct Signals(Vec<Signal>);

impl Signals {
    /// SIGHUP not where whoever started us (nohup) has it ignored: a handler would undo that.
    fn heeded() -> Self {
        let hangup = (!is_ignored(SIGHUP)).then(SignalKind::hangup);
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        let kinds = kinds.into_iter().chain(hangup);
        Self(kinds.filter_map(|kind| signal(kind).ok()).collect())
    }

    /// Waits for one of them.
    async fn any(&mut self) {
        poll_fn(|cx| {
            let told = |signal: &mut Signal| signal.poll_recv(cx).is_ready();
            match self.0.iter_mut().any(told) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

async fn accept(listener: TcpListener, proxy: Arc<Proxy>) {
    loop {
        match listener.accept().await {
            Ok((near, client)) => {
                tokio::spawn(proxy.clone().split(near, client));
            }
            Err(error) => {
                // No descriptor or memory left: those that end give theirs back.
                tracing::warn!("accepting: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// At once: others wait for the line. Nobody there to read it is no reason to end what is relayed, as a panic
/// would.
fn print(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

impl Proxy {
    /// A connection that the near side believes in.
    async fn split(self: Arc<Self>, near: TcpStream, client: SocketAddr) {
        let Ok(server) = near.local_addr() else {
            return;
        };
        let ends = Ends { client, server };
        let Some(far) = self.connections.take(ends) else {
            tracing::debug!("{client} to {server}: nobody waits for it any more");
            sockets::reset_on_close(&near);
            return;
        };
        let began = Instant::now();
        let (far, near_lossy) = (far.stream, far.client_is_beyond);
        for (stream, lossy) in [(&near, near_lossy), (&far, !near_lossy)] {
            if let Err(error) = sockets::tune(stream, &self.tuning, lossy) {
                tracing::debug!("{client} to {server}: {error}");
            }
        }
        self.nr_split.fetch_add(1, Ordering::Relaxed);
        let relayed = relay::relay(
            near,
            far,
            self.options.buffer_bytes as usize,
            self.ended.clone(),
        )
        .await;
        self.moved_bytes.fetch_add(
            relayed.from_client_bytes + relayed.from_server_bytes,
            Ordering::Relaxed,
        );
        self.say(json!({
            "event": "connection",
            "client": client.to_string(),
            "server": server.to_string(),
            "from_client_bytes": relayed.from_client_bytes,
            "from_server_bytes": relayed.from_server_bytes,
            "duration_s": began.elapsed().as_secs_f64(),
            "end": match relayed.end {
                End::Closed => "closed",
                End::Reset => "reset",
                End::Ended => "ended",
            },
        }));
        // Once none is left the proxy sums up and ends: by then this one is counted and told.
        self.connections.forget(ends);
    }

    /// Until there are no connections.
    async fn idle(&self) {
        while self.connections.count().0 > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn say(&self, event: serde_json::Value) {
        if self.options.json {
            print(&event.to_string());
        }
    }

    fn say_ready(&self) {
        let devices = self.options.devices.join(", ");
        if self.options.json {
            self.say(json!({ "event": "splitting", "devices": self.options.devices }));
        } else {
            print(&format!(
                "lasthop: splitting connections over {devices}: what is acknowledged need not have arrived"
            ));
        }
    }

    fn say_closing(&self) {
        let (left, _) = self.connections.count();
        if left > 0 && !self.options.json {
            print(&format!(
                "lasthop: ends with the last of {left} connections; once more resets them"
            ));
        }
    }

    fn say_ended(&self) {
        let (_, unsplit) = self.connections.count();
        let split = self.nr_split.load(Ordering::Relaxed);
        let bytes = self.moved_bytes.load(Ordering::Relaxed);
        if self.options.json {
            self.say(json!({ "event": "ended", "split": split, "unsplit": unsplit, "moved_bytes": bytes }));
        } else {
            print(&format!(
                "lasthop: {split} connections were split, {unsplit} were not; {} MB",
                bytes / 1_000_000
            ));
        }
    }
}
