// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! New connections: a SYN waits in a netfilter queue until the far side has answered, so that nobody
//! is told of a connection that there is not. Where the far side does not answer, or we can't take
//! one more, the SYN goes on unchanged and the hosts have it out between themselves.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::rules::{CONNECTED, NUMBER};
use super::sockets;
use crate::queue::{self, Decision, Packet, Queue, WhenFull};

/// SYNs whose far side has not answered. They are cheap to send: more are not split.
const MAX_CONNECTING: usize = 1024;
/// How long the far side may take; hosts send their SYN again after 1, 3, 7 and 15 s.
const CONNECT_PATIENCE: Duration = Duration::from_secs(20);
/// How long the near side may take, once it has been answered: the kernel's answer goes again after 1, 3, 7 and 15 s.
/// A client that has given up says so to the kernel, which does not tell us.
const ACCEPT_PATIENCE: Duration = Duration::from_secs(20);
/// Of a packet, its headers: what the queue copies to user space, bytes.
const HEADER_BYTES: u32 = 256;

/// The ends of a connection; the client is who opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
}

impl Ends {
    /// Those of an IP packet with a TCP header.
    fn of(packet: &[u8]) -> Option<Self> {
        let packet = SlicedPacket::from_ip(packet).ok()?;
        let (from, to): (IpAddr, IpAddr) = match packet.net? {
            NetSlice::Ipv4(v4) => (
                v4.header().source_addr().into(),
                v4.header().destination_addr().into(),
            ),
            NetSlice::Ipv6(v6) => (
                v6.header().source_addr().into(),
                v6.header().destination_addr().into(),
            ),
            NetSlice::Arp(_) => return None,
        };
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else {
            return None;
        };
        Some(Self {
            client: (from, tcp.source_port()).into(),
            server: (to, tcp.destination_port()).into(),
        })
    }
}

/// The connection to the server.
#[derive(Debug)]
pub(super) struct Far {
    pub(super) stream: TcpStream,
    /// The client is who is beyond the lossy link, not the server.
    pub(super) client_is_beyond: bool,
}

/// What has become of a connection since its SYN.
#[derive(Debug)]
enum Stage {
    Connecting,
    /// The far side has answered, as so many had before; the near one is yet to.
    Answered(Far, u64),
    Relayed,
}

/// All connections, and what was not split.
#[derive(Debug)]
pub(super) struct Connections {
    inner: Mutex<Inner>,
    most: usize,
}

#[derive(Debug, Default)]
struct Inner {
    stages: HashMap<Ends, Stage>,
    nr_connecting: usize,
    nr_answered: u64,
    nr_unsplit: u64,
    closed: bool,
}

/// What is to be done with a SYN.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    /// A new one: connect.
    Connect,
    /// To our listener.
    Divert,
    /// A copy of one that waits.
    Drop,
    /// Past us.
    Pass,
}

impl Connections {
    /// `most`: that are split at a time.
    pub(super) fn new(most: usize) -> Self {
        Self {
            inner: Mutex::default(),
            most,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn meet(&self, ends: Ends) -> Fate {
        let mut inner = self.lock();
        match inner.stages.get(&ends) {
            Some(Stage::Connecting) => return Fate::Drop,
            Some(Stage::Answered(..) | Stage::Relayed) => return Fate::Divert,
            None => {}
        }
        if inner.closed || inner.nr_connecting >= MAX_CONNECTING || inner.stages.len() >= self.most
        {
            inner.nr_unsplit += 1;
            return Fate::Pass;
        }
        inner.nr_connecting += 1;
        inner.stages.insert(ends, Stage::Connecting);
        Fate::Connect
    }

    /// The far side has answered, or not (None). @return which answer that was; None: its SYN goes on.
    fn connected(&self, ends: Ends, far: Option<Far>) -> Option<u64> {
        let mut inner = self.lock();
        inner.nr_connecting -= 1;
        match far {
            Some(far) if !inner.closed => {
                inner.nr_answered += 1;
                let which = inner.nr_answered;
                inner.stages.insert(ends, Stage::Answered(far, which));
                Some(which)
            }
            far => {
                // The server must have forgotten ours when the client's own SYN comes.
                far.inspect(|far| sockets::reset_on_close(&far.stream));
                inner.stages.remove(&ends);
                inner.nr_unsplit += 1;
                None
            }
        }
    }

    /// The near side has answered, too: its far side, None if nobody waits for it.
    pub(super) fn take(&self, ends: Ends) -> Option<Far> {
        match self.lock().stages.get_mut(&ends) {
            Some(stage @ Stage::Answered(..)) => match std::mem::replace(stage, Stage::Relayed) {
                Stage::Answered(far, _) => Some(far),
                _ => None,
            },
            _ => None,
        }
    }

    /// It is over.
    pub(super) fn forget(&self, ends: Ends) {
        self.lock().stages.remove(&ends);
    }

    /// The near side did not come: the server is told that nobody is there. Not if that was another answer, of an
    /// earlier connection with the same ports.
    fn give_up(&self, ends: Ends, which: u64) {
        let mut inner = self.lock();
        match inner.stages.get(&ends) {
            Some(Stage::Answered(far, of)) if *of == which => {
                sockets::reset_on_close(&far.stream);
                inner.stages.remove(&ends);
            }
            _ => {}
        }
    }

    /// From now on every SYN goes on.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    /// As if the patience of all that wait for their near side were at its end.
    pub(super) fn give_up_all(&self) {
        self.lock().stages.retain(|_, stage| match stage {
            Stage::Answered(far, _) => {
                sockets::reset_on_close(&far.stream);
                false
            }
            Stage::Connecting | Stage::Relayed => true,
        });
    }

    /// That there are now, and SYNs that were not split.
    pub(super) fn count(&self) -> (usize, u64) {
        let inner = self.lock();
        (inner.stages.len(), inner.nr_unsplit)
    }
}

/// The queue of SYNs.
pub(super) struct Syns {
    queue: AsyncFd<Queue>,
    /// Interface indices of the devices that face the lossy link.
    lossy: Vec<u32>,
    connections: Arc<Connections>,
}

impl Syns {
    /// Opens the queue, which only one process of a network namespace can have.
    pub(super) fn open(lossy: Vec<u32>, connections: Arc<Connections>) -> Result<Self> {
        let queue = Queue::open(&queue::Setup {
            number: NUMBER,
            copy_bytes: HEADER_BYTES,
            most: 2 * MAX_CONNECTING as u32,
            when_full: WhenFull::Pass,
        })?;
        // SAFETY: the queue owns its descriptor, which nobody replaces or closes while it is there.
        let queue = unsafe { AsyncFd::register(queue) }.map_err(std::io::Error::from)?;
        Ok(Self {
            queue,
            lossy,
            connections,
        })
    }

    /// Serves it for ever.
    pub(super) async fn serve(mut self) -> Result<()> {
        let (answers, mut answered) = mpsc::channel::<(Packet, bool)>(MAX_CONNECTING);
        loop {
            tokio::select! {
                Some((packet, ok)) = answered.recv() => {
                    self.decide(&packet, if ok { Decision::Marked(CONNECTED) } else { Decision::Accept });
                }
                ready = self.queue.readable_mut() => {
                    let mut ready = ready.context("netfilter queue")?;
                    match ready.try_io(|queue| queue.get_mut().receive()) {
                        Ok(Ok(Some(packet))) => self.meet(packet, &answers),
                        Ok(Ok(None)) => {}
                        // More came than the socket holds: those went on.
                        Ok(Err(error)) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                        Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                        Ok(Err(error)) => return Err(error).context("netfilter queue"),
                        Err(_would_block) => {}
                    }
                }
            }
        }
    }

    fn meet(&mut self, packet: Packet, answers: &mpsc::Sender<(Packet, bool)>) {
        let ends = match Ends::of(&packet.bytes) {
            Some(ends) => ends,
            None => return self.decide(&packet, Decision::Accept),
        };
        match self.connections.meet(ends) {
            Fate::Connect => self.connect(ends, packet, answers),
            Fate::Divert => self.decide(&packet, Decision::Marked(CONNECTED)),
            Fate::Drop => self.decide(&packet, Decision::Drop),
            Fate::Pass => self.decide(&packet, Decision::Accept),
        }
    }

    /// Asks the far side; its answer comes by `answers`.
    fn connect(&self, ends: Ends, packet: Packet, answers: &mpsc::Sender<(Packet, bool)>) {
        let client_is_beyond = self.lossy.contains(&packet.from_device);
        let (answers, connections) = (answers.clone(), self.connections.clone());
        tokio::spawn(async move {
            let far = timeout(CONNECT_PATIENCE, sockets::connect(ends.client, ends.server)).await;
            let far = far.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            if let Err(error) = &far {
                tracing::debug!("{} to {}: not split: {error}", ends.client, ends.server);
            }
            let far = far.ok().map(|stream| Far {
                stream,
                client_is_beyond,
            });
            let answer = connections.connected(ends, far);
            let sent = answers.send((packet, answer.is_some())).await;
            if let (Ok(()), Some(which)) = (sent, answer) {
                sleep(ACCEPT_PATIENCE).await;
                connections.give_up(ends, which);
            }
        });
    }

    fn decide(&mut self, packet: &Packet, decision: Decision) {
        // The packet is gone if its device is: nothing is lost with it.
        if let Err(error) = self.queue.get_mut().decide(packet, decision) {
            tracing::debug!("netfilter queue: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(port: u16) -> Ends {
        Ends {
            client: ([10, 2, 0, 2], port).into(),
            server: ([10, 1, 0, 2], 80).into(),
        }
    }

    #[test]
    fn both_families_are_read_and_nothing_else() {
        let v4 = etherparse::PacketBuilder::ipv4([10, 2, 0, 2], [10, 1, 0, 2], 64)
            .tcp(1000, 80, 1, 1000)
            .syn();
        let mut bytes = Vec::new();
        v4.write(&mut bytes, &[]).unwrap();
        assert_eq!(Ends::of(&bytes), Some(ends(1000)));
        assert_eq!(Ends::of(&bytes[..39]), None);
        let v6 = etherparse::PacketBuilder::ipv6([2; 16], [1; 16], 64)
            .tcp(7, 80, 1, 1000)
            .syn();
        let mut bytes = Vec::new();
        v6.write(&mut bytes, &[]).unwrap();
        assert_eq!(Ends::of(&bytes).unwrap().client, ([2; 16], 7).into());
        let udp = etherparse::PacketBuilder::ipv4([10, 2, 0, 2], [10, 1, 0, 2], 64).udp(1, 2);
        let mut bytes = Vec::new();
        udp.write(&mut bytes, &[0; 20]).unwrap();
        assert_eq!(Ends::of(&bytes), None);
        assert_eq!(Ends::of(&[]), None);
    }

    #[test]
    fn a_repeated_syn_is_no_second_connection() {
        let connections = Connections::new(10);
        assert_eq!(connections.meet(ends(1)), Fate::Connect);
        assert_eq!(connections.meet(ends(1)), Fate::Drop);
        connections.connected(ends(1), None);
        assert_eq!(connections.count(), (0, 1));
        assert_eq!(connections.meet(ends(1)), Fate::Connect);
    }

    async fn far() -> Far {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        Far {
            stream: TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap(),
            client_is_beyond: true,
        }
    }

    #[tokio::test]
    async fn the_far_side_is_handed_over_once() {
        let connections = Connections::new(10);
        assert!(connections.take(ends(1)).is_none());
        assert_eq!(connections.count().0, 0);
        connections.meet(ends(1));
        let which = connections.connected(ends(1), Some(far().await)).unwrap();
        assert_eq!(connections.meet(ends(1)), Fate::Divert);
        assert!(connections.take(ends(1)).is_some());
        assert!(connections.take(ends(1)).is_none());
        // A late copy of its SYN is the kernel's to answer.
        assert_eq!(connections.meet(ends(1)), Fate::Divert);
        connections.give_up(ends(1), which);
        assert_eq!(connections.count().0, 1);
        connections.forget(ends(1));
        assert_eq!(connections.count().0, 0);
    }

    #[tokio::test]
    async fn an_old_patience_does_not_end_a_new_connection() {
        let connections = Connections::new(10);
        let answer = async || {
            assert_eq!(connections.meet(ends(1)), Fate::Connect);
            connections.connected(ends(1), Some(far().await)).unwrap()
        };
        let old = answer().await;
        assert!(connections.take(ends(1)).is_some());
        connections.forget(ends(1));
        let new = answer().await;
        connections.give_up(ends(1), old);
        assert_eq!(connections.count().0, 1);
        connections.give_up(ends(1), new);
        assert_eq!(connections.count().0, 0);
    }

    /// At the end: what waits is given up, what connects goes on whole.
    #[tokio::test]
    async fn nothing_begins_after_the_end() {
        let connections = Connections::new(10);
        connections.meet(ends(1));
        connections.connected(ends(1), Some(far().await)).unwrap();
        connections.meet(ends(2));
        connections.close();
        assert_eq!(connections.connected(ends(2), Some(far().await)), None);
        assert_eq!(connections.meet(ends(3)), Fate::Pass);
        assert_eq!(connections.count().0, 1);
        connections.give_up_all();
        assert_eq!(connections.count().0, 0);
    }

    #[test]
    fn what_is_too_much_is_not_split() {
        let connections = Connections::new(MAX_CONNECTING + 10);
        for port in 0..MAX_CONNECTING as u16 {
            assert_eq!(connections.meet(ends(port)), Fate::Connect);
        }
        assert_eq!(connections.meet(ends(60_000)), Fate::Pass);
        assert_eq!(connections.count(), (MAX_CONNECTING, 1));
        let few = Connections::new(1);
        few.meet(ends(1));
        assert_eq!(few.meet(ends(2)), Fate::Pass);
    }
}
