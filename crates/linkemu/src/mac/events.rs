// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the MAC knows of each data frame that it answers for: what an agent at the sending end
//! would be told (Kim and Chung 2007, DELIVERED and UNDELIVERED), as values and as records of a
//! stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Mutex, PoisonError};

use crate::config::Direction;

/// Bytes of a packet, from its network header on, that an event carries: IPv6, TCP and all their
/// options fit.
pub const HEADER_BYTES: usize = 128;
/// Length of a record on the stream.
pub const RECORD_BYTES: usize = 64 + HEADER_BYTES;
/// Records that may wait for a subscriber: some seconds' worth at 11 Mbit/s.
const MAX_WAITING: usize = 4096;
const RECORD_VERSION: u8 = 1;

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The answer came.
    Delivered,
    /// No answer came; there will be another attempt.
    Undelivered,
    /// No answer came, and the frame was given up.
    UndeliveredFinal,
}

/// The beginning of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headers {
    /// EtherType of the packet.
    pub ethertype: u16,
    /// Its first bytes, 128 at the most.
    pub bytes: Arc<[u8]>,
}

impl Headers {
    /// Of an Ethernet frame; none of what is not IP.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let (ethertype, packet) = crate::frame::network_layer(frame)?;
        Some(Self {
            ethertype,
            bytes: packet[..packet.len().min(HEADER_BYTES)].into(),
        })
    }
}

/// News of one data frame. Times are in nanoseconds since the relay began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// Which way the frame goes.
    pub direction: Direction,
    /// Number of the attempt, from 1 on.
    pub attempt: u32,
    /// Length of the frame with its Ethernet header.
    pub frame_bytes: u32,
    /// When it came to the queue.
    pub queued_ns: u64,
    /// When it came to the head of it: the MAC took it up.
    pub head_ns: u64,
    /// When the answer had come, or would have.
    pub at_ns: u64,
    /// The beginning of the packet, if anybody listened when it came to the head.
    pub headers: Option<Headers>,
}

impl Event {
    /// The record of it, all numbers in little-endian order; `clock_begin_ns` is what the
    /// monotonic clock showed when the relay began.
    ///
    /// | offset | bytes | |
    /// | --- | --- | --- |
    /// | 0 | 1 | version, 1 |
    /// | 1 | 1 | 0 DELIVERED, 1 UNDELIVERED, 2 UNDELIVERED and given up |
    /// | 2 | 1 | 0 from a to b, 1 from b to a |
    /// | 3 | 1 | bytes of the packet that follow at 64 |
    /// | 4 | 2 | EtherType |
    /// | 6 | 2 | number of the attempt |
    /// | 8 | 4 | length of the frame with its Ethernet header |
    /// | 12 | 4 | 0 |
    /// | 16 | 8 | number of the record for this subscriber, those dropped counted, from 0 on |
    /// | 24 | 8 | records that this subscriber was too slow for so far |
    /// | 32 | 8 | CLOCK_MONOTONIC in ns: the frame came to the queue |
    /// | 40 | 8 | the same: to the head of it |
    /// | 48 | 8 | the same: the answer had come, or would have |
    /// | 56 | 8 | 0 |
    /// | 64 | 128 | the packet from its network header on |
    pub fn record(&self, number: u64, dropped: u64, clock_begin_ns: u64) -> [u8; RECORD_BYTES] {
        let mut record = [0; RECORD_BYTES];
        let mut put = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
        let packet = self.headers.as_ref().map_or(&[][..], |h| &h.bytes);
        let ethertype = self.headers.as_ref().map_or(0, |h| h.ethertype);
        put(
            0,
            &[
                RECORD_VERSION,
                self.kind as u8,
                self.direction as u8,
                packet.len() as u8,
            ],
        );
        put(4, &ethertype.to_le_bytes());
        put(6, &(self.attempt as u16).to_le_bytes());
        put(8, &self.frame_bytes.to_le_bytes());
        put(16, &number.to_le_bytes());
        put(24, &dropped.to_le_bytes());
        for (at, ns) in [(32, self.queued_ns), (40, self.head_ns), (48, self.at_ns)] {
            put(at, &(clock_begin_ns + ns).to_le_bytes());
        }
        put(64, packet);
        record
    }
}

struct Subscriber {
    records: SyncSender<[u8; RECORD_BYTES]>,
    number: u64,
    dropped: u64,
}

/// Where events go to whoever listens. The relay never waits for anybody.
#[derive(Default)]
pub struct EventHub {
    wanted: AtomicBool,
    subscribers: Mutex<Vec<Subscriber>>,
}

impl EventHub {
    /// Whether anybody listens.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Listens from now on, until the receiver is dropped.
    pub fn subscribe(&self) -> Receiver<[u8; RECORD_BYTES]> {
        let (records, receiver) = mpsc::sync_channel(MAX_WAITING);
        let mut subscribers = self.lock();
        subscribers.push(Subscriber {
            records,
            number: 0,
            dropped: 0,
        });
        self.wanted.store(true, Ordering::Relaxed);
        receiver
    }

    /// Tells everybody who listens and has room.
    pub fn publish(&self, event: &Event, clock_begin_ns: u64) {
        if !self.is_wanted() {
            return;
        }
        let mut subscribers = self.lock();
        subscribers.retain_mut(|subscriber| {
            let (number, dropped) = (subscriber.number, subscriber.dropped);
            subscriber.number += 1;
            let record = event.record(number, dropped, clock_begin_ns);
            match subscriber.records.try_send(record) {
                Ok(()) => true,
                Err(TrySendError::Full(_)) => {
                    subscriber.dropped += 1;
                    true
                }
                Err(TrySendError::Disconnected(_)) => false,
            }
        });
        self.wanted
            .store(!subscribers.is_empty(), Ordering::Relaxed);
    }

    /// Nothing more will come.
    pub fn close(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Subscriber>> {
        self.subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(attempt: u32) -> Event {
        Event {
            kind: EventKind::UndeliveredFinal,
            direction: Direction::BToA,
            attempt,
            frame_bytes: 1514,
            queued_ns: 1,
            head_ns: 2,
            at_ns: 3,
            headers: Some(Headers {
                ethertype: 0x86dd,
                bytes: [0x60, 7, 8][..].into(),
            }),
        }
    }

    fn u64_at(record: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(record[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn a_record_is_laid_out_as_written() {
        let record = event(3).record(10, 4, 1_000);
        assert_eq!(record[..4], [1, 2, 1, 3]);
        assert_eq!(record[4..8], [0xdd, 0x86, 3, 0]);
        assert_eq!(record[8..12], 1514u32.to_le_bytes());
        let numbers = [16, 24, 32, 40, 48].map(|at| u64_at(&record, at));
        assert_eq!(numbers, [10, 4, 1_001, 1_002, 1_003]);
        assert_eq!(record[64..68], [0x60, 7, 8, 0]);
    }

    #[test]
    fn a_slow_listener_loses_records_and_is_told_how_many() {
        let hub = EventHub::default();
        assert!(!hub.is_wanted());
        let slow = hub.subscribe();
        for _ in 0..MAX_WAITING + 5 {
            hub.publish(&event(1), 0);
        }
        let got: Vec<_> = slow.try_iter().collect();
        assert_eq!(got.len(), MAX_WAITING);
        hub.publish(&event(1), 0);
        let next = slow.recv().unwrap();
        assert_eq!(
            (u64_at(&next, 16), u64_at(&next, 24)),
            (MAX_WAITING as u64 + 5, 5)
        );
        drop(slow);
        hub.publish(&event(1), 0);
        assert!(!hub.is_wanted());
    }

    #[test]
    fn headers_begin_at_the_network_layer() {
        let mut frame = vec![0; 14 + 300];
        frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        let headers = Headers::of(&frame).unwrap();
        assert_eq!(
            (headers.ethertype, headers.bytes.len(), headers.bytes[0]),
            (0x0800, 128, 0x45)
        );
        frame[12] = 0x99;
        assert_eq!(Headers::of(&frame), None);
    }
}
