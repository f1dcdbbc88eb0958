// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A third host that forges packets of a connection of the test bed, or floods it with SYNs: from
//! the lossy side, as another station of the link would, or from the wired side. Raw sockets in
//! the namespaces of the test bed; nothing leaves them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::{LH_ACK, LH_FIN, LH_OPT_TS, LH_RST, LH_SYN};
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Key, Segment, parse};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recv, sendto, socket,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::bed::testbed::TestBed;
use crate::data::host::Host;

/// Longest packet that is looked at.
const SNIFF_BYTES: usize = 2_048;
/// So far behind MH's newest ACK is what is acknowledged once more, and never more than MH has: an ACK of
/// what it lacks ends the connection, whoever is on the path.
const OLD_BYTES: u32 = 400_000;
/// Packets in a row between two looks at the clock.
const BATCH: u64 = 16;
/// Addresses that a flood comes from: a network for benchmarks (RFC 2544).
const FLOOD_NET: u32 = 0xc612_0000;

/// What is forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// SYN with a window scale of 14.
    Syn,
    /// SYN-ACK, the same.
    SynAck,
    /// RST.
    Rst,
    /// FIN.
    Fin,
    /// ACK with a window of its own.
    Ack,
    /// Duplicate ACK with three SACK blocks.
    Sack,
    /// Data.
    Data,
    /// An ACK whose checksum is wrong.
    Checksum,
    /// SYNs of ever new connections, whatever the numbers.
    Flood,
}

/// Everything but floods.
pub const ALL: [Kind; 8] = [
    Kind::Syn,
    Kind::SynAck,
    Kind::Rst,
    Kind::Fin,
    Kind::Ack,
    Kind::Sack,
    Kind::Data,
    Kind::Checksum,
];

/// What the forger knows of sequence and acknowledgement numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// Nothing.
    Random,
    /// All: it sees the packets.
    Exact,
}

/// An attack, to be started.
#[derive(Debug, Clone)]
pub struct Forgery {
    /// One after the other.
    pub kinds: Vec<Kind>,
    /// What it knows.
    pub numbers: Numbers,
    /// Where it stands: MH's place or FH's.
    pub from: Host,
    /// So many at the most.
    pub per_second: u64,
    /// Decides the random ones.
    pub seed: u64,
}

/// An attack under way. Dropped, it ends.
#[derive(Debug)]
pub struct Forger {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Forgery {
    /// Begins to forge packets of whichever connection of the test bed sends data towards MH.
    ///
    /// # Errors
    /// No raw sockets.
    pub fn start(self, bed: &TestBed) -> Result<Forger> {
        if !matches!(self.from, Host::Fh | Host::Mh) {
            bail!("forgers stand at FH's place or MH's");
        }
        let station = bed.run_in(self.from, Station::open)??;
        let (stop, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (ended, counted) = (Arc::clone(&stop), Arc::clone(&sent));
        let work = move || station.forge(&self, &ended, &counted);
        Ok(Forger {
            stop,
            sent,
            thread: Some(std::thread::Builder::new().spawn(work)?),
        })
    }
}

impl Forger {
    /// Packets so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Ends it. Returns how many packets it sent.
    ///
    /// # Errors
    /// It could not send.
    pub fn stop(mut self) -> Result<u64> {
        self.end()?;
        Ok(self.sent())
    }

    fn end(&mut self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => bail!("the forger panicked"),
            Some(Ok(result)) => result,
            None => Ok(()),
        }
    }
}

impl Drop for Forger {
    fn drop(&mut self) {
        let _ = self.end(); // whoever cares has called stop()
    }
}

/// The connection as its newest data segment shows it.
#[derive(Debug, Clone, Copy)]
struct Seen {
    ends: Ends,
    next: u32,
    mh: u32,
    /// MH's own newest acknowledgement.
    acked: u32,
}

/// The ends of a packet, as if it went to MH.
fn ends(key: &Key) -> Ends {
    Ends {
        fh: SocketAddr::new(key.fh_addr(), key.fh_port),
        mh: SocketAddr::new(key.mh_addr(), key.mh_port),
    }
}

impl Seen {
    /// By data; `before`: what was known, of the same connection or another.
    fn new(s: &Segment, key: &Key, before: Option<Self>) -> Self {
        let ends = ends(key);
        let same = before.filter(|before| before.ends == ends);
        Self {
            ends,
            next: s.end,
            mh: s.ack,
            acked: same.map_or(s.seq, |before| before.acked),
        }
    }

    /// Whether MH said so.
    fn is_answered(&self, key: &Key) -> bool {
        let Ends { fh: mh, mh: fh } = ends(key);
        Ends { fh, mh } == self.ends
    }
}

struct Station {
    ears: OwnedFd,
    mouth: OwnedFd,
}

impl Station {
    fn open() -> Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let all = SockProtocol::EthAll; // what leaves, too
        let ears = socket(AddressFamily::Packet, SockType::Datagram, flags, all).context("ears")?;
        let raw = SockProtocol::Raw; // with a header of our own
        let mouth = socket(AddressFamily::Inet, SockType::Raw, flags, raw).context("mouth")?;
        Ok(Self { ears, mouth })
    }

    /// What the packets since the last look show.
    fn listen(&self, seen: &mut Option<Seen>) {
        let mut packet = [0; SNIFF_BYTES];
        while let Ok(length) = recv(self.ears.as_raw_fd(), &mut packet, MsgFlags::empty()) {
            let Ok((s, key)) = parse(&packet[..length], 0, None, true) else {
                continue;
            };
            if u32::from(s.opts) & LH_OPT_TS == 0 {
                continue; // our own: nothing that is forged has timestamps
            }
            match seen {
                Some(seen) if seen.is_answered(&key) => seen.acked = s.ack,
                _ if s.payload_bytes == 0 || s.is_syn() => {}
                _ => *seen = Some(Seen::new(&s, &key, *seen)),
            }
        }
    }

    fn forge(&self, what: &Forgery, stop: &AtomicBool, sent: &AtomicU64) -> Result<()> {
        let mut random = StdRng::seed_from_u64(what.seed);
        let began = Instant::now();
        let mut seen = None;
        while !stop.load(Ordering::Relaxed) {
            self.listen(&mut seen);
            let done = sent.load(Ordering::Relaxed);
            let due = (began.elapsed().as_secs_f64() * what.per_second as f64) as u64;
            let (Some(seen), true) = (seen, due >= done + BATCH) else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            for nr in done..done + BATCH {
                let kind = what.kinds[nr as usize % what.kinds.len()];
                self.send(&packet(what, kind, &seen, &mut random))?;
            }
            sent.store(done + BATCH, Ordering::Relaxed);
        }
        Ok(())
    }

    fn send(&self, packet: &[u8]) -> Result<()> {
        let to = Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]);
        let to = SockaddrIn::from(SocketAddrV4::new(to, 0));
        match sendto(self.mouth.as_raw_fd(), packet, &to, MsgFlags::empty()) {
            // Its queue is full.
            Ok(_) | Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EPERM) => Ok(()),
            Err(error) => Err(io::Error::from(error)).context("a forged packet"),
        }
    }
}

/// The numbers that a forger uses: of the side whose place it takes, and of the other.
fn numbers(what: &Forgery, seen: &Seen, random: &mut StdRng) -> (u32, u32) {
    match (what.numbers, what.from) {
        (Numbers::Random, _) => (random.random(), random.random()),
        (Numbers::Exact, Host::Mh) => (seen.mh, seen.next),
        (Numbers::Exact, _) => (seen.next, seen.mh),
    }
}

fn packet(what: &Forgery, kind: Kind, seen: &Seen, random: &mut StdRng) -> Vec<u8> {
    let (seq, ack) = numbers(what, seen, random);
    // Of MH's; FH's are about what MH sends, of which nothing is missing.
    let newest = match (what.numbers, what.from) {
        (Numbers::Exact, Host::Mh) => seen.acked,
        _ => ack,
    };
    let old = newest.wrapping_sub(OLD_BYTES);
    let scale = || [option::mss(1_460), option::wscale(14), option::sack_ok()].concat();
    let mut tcp = Tcp {
        seq,
        ack,
        flags: LH_ACK,
        window: random.random(),
        ..Tcp::default()
    };
    match kind {
        Kind::Syn | Kind::Flood => (tcp.flags, tcp.options) = (LH_SYN, scale()),
        Kind::SynAck => (tcp.flags, tcp.options) = (LH_SYN | LH_ACK, scale()),
        Kind::Rst => tcp.flags = LH_RST | LH_ACK,
        Kind::Fin => tcp.flags = LH_FIN | LH_ACK,
        // What it acknowledges has long been acknowledged: anything newer is harm enough itself.
        Kind::Ack => tcp.ack = old,
        Kind::Checksum => {}
        Kind::Sack => {
            let block = |n: u32| {
                (
                    ack.wrapping_sub(n * 9_000),
                    ack.wrapping_sub(n * 9_000 - 3_000),
                )
            };
            tcp.options = option::sack(&[block(1), block(2), block(3)]);
            tcp.ack = old;
        }
        Kind::Data => tcp.payload = vec![0xee; 1_000],
    }
    let mut ends = seen.ends;
    if kind == Kind::Flood {
        let stranger = Ipv4Addr::from(FLOOD_NET | random.random_range(0..0x2_0000));
        let stranger = SocketAddr::from((stranger, random.random()));
        match what.from {
            Host::Mh => ends.mh = stranger,
            _ => ends.fh = stranger,
        }
    }
    let mut bytes = match what.from {
        Host::Mh => tcp.to_fh(&ends),
        _ => tcp.to_mh(&ends),
    };
    if kind == Kind::Checksum {
        bytes[36] ^= 0x55; // TCP's, behind 20 bytes of IPv4 and 16
    }
    bytes
}
