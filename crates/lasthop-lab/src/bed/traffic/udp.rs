// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! UDP at a steady rate from FH to MH: one thread sends, one counts.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::bed::testbed::TestBed;
use crate::bed::transfer::SAMPLE_INTERVAL;
use crate::bed::transfer::content::Content;
use crate::data::host::Host;
use crate::data::segment::FULL_FRAME_BYTES;
use crate::data::topology::{Family, MTU_BYTES};

use super::series::Series;

/// How long a thread may take to notice that it is over.
const TICK: Duration = Duration::from_millis(20);
/// What a sender that came too late may make up for: more would be a burst that no sender makes.
const MOST_BEHIND: Duration = Duration::from_millis(10);
const UDP_HEADER_BYTES: u32 = 8;
/// Number of the packet, before its content.
const NUMBER_BYTES: usize = 8;

/// A flood that is to come.
#[derive(Debug, Clone, Copy)]
pub struct Flood {
    /// Rate on the hop, headers included.
    pub rate_bps: u64,
    /// IP version.
    pub family: Family,
    /// Of the content.
    pub seed: u64,
    /// Moment that times count from.
    pub epoch: Instant,
    /// First and last moment after that.
    pub span: (Duration, Duration),
}

/// What both threads share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    received_bytes: AtomicU64,
    wrong: AtomicU64,
    received: Mutex<Series>,
}

/// A flood on its way. Dropping it ends it.
#[derive(Debug)]
pub struct RunningFlood {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Flood {
    /// Starts both threads.
    ///
    /// # Errors
    /// No ports left, or the system refuses.
    pub fn start(self, bed: &TestBed) -> Result<RunningFlood> {
        let port = bed.reserve_ports(2)?;
        let bind = |host, port| -> Result<UdpSocket> {
            let address = SocketAddr::new(bed.topology().address(host, self.family), port);
            let bound = bed.run_in(host, || UdpSocket::bind(address))?;
            bound.with_context(|| format!("cannot bind {address}"))
        };
        let (sender, receiver) = (bind(Host::Fh, port + 1)?, bind(Host::Mh, port)?);
        sender.connect(receiver.local_addr()?)?;
        receiver.set_read_timeout(Some(TICK))?;
        let shared = Arc::new(Shared::default());
        let (of_sender, of_receiver) = (Arc::clone(&shared), Arc::clone(&shared));
        let thread = |name: &str| thread::Builder::new().name(name.into());
        let sending = thread("udp-send").spawn(move || self.send(&sender, &of_sender))?;
        let receiving = thread("udp-recv").spawn(move || self.receive(&receiver, &of_receiver));
        let mut running = RunningFlood {
            shared,
            threads: vec![sending],
        };
        running.threads.push(receiving?);
        Ok(running)
    }

    fn payload_bytes(&self) -> usize {
        let ip_header_bytes = match self.family {
            Family::V4 => 20,
            Family::V6 => 40,
        };
        (MTU_BYTES - ip_header_bytes - UDP_HEADER_BYTES) as usize
    }

    /// A full packet whenever one is due. What cannot be sent is lost, as in any device.
    fn send(self, socket: &UdpSocket, shared: &Shared) {
        let gap = Duration::from_secs_f64(8.0 * FULL_FRAME_BYTES as f64 / self.rate_bps as f64);
        let (begin, end) = (self.epoch + self.span.0, self.epoch + self.span.1);
        let mut packet = vec![0; self.payload_bytes()];
        let (mut due, mut number) = (begin, 0u64);
        while !shared.stop.load(Ordering::Relaxed) {
            let now = Instant::now();
            if now >= end {
                break;
            }
            if due > now {
                thread::sleep((due - now).min(TICK));
                continue;
            }
            due = due.max(now.checked_sub(MOST_BEHIND).unwrap_or(now)) + gap;
            self.fill(number, &mut packet);
            let _ = socket.send(&packet);
            number += 1;
        }
    }

    fn receive(self, socket: &UdpSocket, shared: &Shared) {
        let mut packet = vec![0; MTU_BYTES as usize];
        let mut expected = vec![0; self.payload_bytes()];
        while !shared.stop.load(Ordering::Relaxed) {
            self.sample(shared);
            let got = match socket.recv(&mut packet) {
                Ok(bytes) => &packet[..bytes],
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    continue;
                }
                Err(_) => break,
            };
            let number = got.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
            self.fill(number.unwrap_or(0), &mut expected);
            if got == expected {
                let bytes = got.len() as u64;
                shared.received_bytes.fetch_add(bytes, Ordering::Relaxed);
            } else {
                shared.wrong.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Notes what has arrived so far, if that is due.
    fn sample(self, shared: &Shared) {
        let at_ns = self.epoch.elapsed().as_nanos() as u64;
        let mut series = shared
            .received
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let due_ns = |last: u64| last + SAMPLE_INTERVAL.as_nanos() as u64;
        if series.last_ns().is_none_or(|last| at_ns >= due_ns(last)) {
            series.push(at_ns, shared.received_bytes.load(Ordering::Relaxed));
        }
    }

    /// Packet number `number`.
    fn fill(self, number: u64, packet: &mut [u8]) {
        let (head, body) = packet.split_at_mut(NUMBER_BYTES);
        head.copy_from_slice(&number.to_le_bytes());
        Content::new(self.seed, 0).fill(number.wrapping_mul(body.len() as u64), body);
    }
}

impl RunningFlood {
    /// Bytes of payload that had arrived, and were right, over time.
    pub fn received(&self) -> Series {
        let series = self.shared.received.lock();
        series.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Packets that arrived and were not what was sent.
    pub fn wrong(&self) -> u64 {
        self.shared.wrong.load(Ordering::Relaxed)
    }
}

impl Drop for RunningFlood {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_tells_its_number_and_is_checked() {
        let flood = Flood {
            rate_bps: 1_000_000,
            family: Family::V4,
            seed: 1,
            epoch: Instant::now(),
            span: (Duration::ZERO, Duration::ZERO),
        };
        assert_eq!(flood.payload_bytes(), 1472);
        let (mut one, mut two) = (vec![0; 1472], vec![0; 1472]);
        flood.fill(1, &mut one);
        flood.fill(2, &mut two);
        assert_eq!(one[..8], 1u64.to_le_bytes());
        assert_ne!(one[8..], two[8..]);
    }
}
