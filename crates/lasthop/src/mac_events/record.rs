// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A record of docs/mac-events.md, and those that got lost.

use std::fmt::Display;
use std::time::{Duration, Instant};

use lasthop_core::bindings::{
    LH_MAC_DELIVERED, LH_MAC_GIVEN_UP, LH_MAC_UNDELIVERED, lh_mac_report,
};

/// Length of a record.
pub const RECORD_BYTES: usize = 192;
/// Most bytes of a packet in a record.
const PACKET_BYTES: usize = 128;
const VERSION: u8 = 1;
/// Records taken at a time: flows' timers wait meanwhile.
pub const TAKE_MOST: usize = 256;
/// How often it is told that records got lost.
const COMPLAIN: Duration = Duration::from_secs(10);
/// Records that a source had no room for.
#[derive(Debug, Default)]
pub struct Missed {
    /// Of these it was told.
    pub told: u64,
    /// When that may be told of again.
    complain: Option<Instant>,
}

impl Missed {
    /// `total`: since the source began.
    pub fn tell(&mut self, total: u64, source: &dyn Display) {
        if total <= self.told || self.complain.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.complain = Some(Instant::now() + COMPLAIN);
        tracing::warn!(
            "{source}: too busy for {} reports of the MAC, {total} in all: what they were of is left to the senders",
            total - self.told
        );
        self.told = total;
    }
}

/// What a record says.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What became of the frame.
    pub report: lh_mac_report,
    /// The beginning of the packet with an Ethernet header before it, zero but for the type.
    pub frame: Vec<u8>,
    /// Length of the whole frame with an Ethernet header.
    pub frame_bytes: u32,
    /// Records that we were too slow for so far.
    pub missed: u64,
}

impl Record {
    /// Reads one. None: of another version, of no use, or senseless.
    pub fn read(raw: &[u8]) -> Option<Self> {
        let raw: &[u8; RECORD_BYTES] = raw.try_into().ok()?;
        let u64_at = |at: usize| u64::from_le_bytes(raw[at..at + 8].try_into().expect("8 bytes"));
        let event = match raw[1] {
            0 => LH_MAC_DELIVERED,
            1 => LH_MAC_UNDELIVERED,
            2 => LH_MAC_GIVEN_UP,
            _ => return None,
        };
        let packet_bytes = usize::from(raw[3]);
        if raw[0] != VERSION || packet_bytes == 0 || packet_bytes > PACKET_BYTES {
            return None;
        }
        let mut frame = vec![0; 12];
        frame.extend([raw[5], raw[4]]); // in network byte order there
        frame.extend(&raw[64..64 + packet_bytes]);
        Some(Self {
            report: lh_mac_report {
                queued_ns: u64_at(32),
                at_ns: u64_at(48),
                event,
                pad: 0,
            },
            frame,
            frame_bytes: u32::from_le_bytes(raw[8..12].try_into().expect("4 bytes")),
            missed: u64_at(24),
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn raw(event: u8, missed: u64) -> [u8; RECORD_BYTES] {
        let mut raw = [0; RECORD_BYTES];
        raw[..6].copy_from_slice(&[1, event, 0, 40, 0xdd, 0x86]);
        raw[8..12].copy_from_slice(&1514u32.to_le_bytes());
        raw[24..32].copy_from_slice(&missed.to_le_bytes());
        raw[32..40].copy_from_slice(&7u64.to_le_bytes());
        raw[48..56].copy_from_slice(&9u64.to_le_bytes());
        raw[64] = 0x60;
        raw
    }

    #[test]
    fn records_are_read_as_written() {
        let record = Record::read(&raw(2, 4)).unwrap();
        assert_eq!(record.report.event, LH_MAC_GIVEN_UP);
        assert_eq!((record.report.queued_ns, record.report.at_ns), (7, 9));
        assert_eq!((record.frame_bytes, record.missed), (1514, 4));
        assert_eq!(record.frame[12..15], [0x86, 0xdd, 0x60]);
        assert_eq!(record.frame.len(), 14 + 40);
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        for (at, value) in [(0, 2), (1, 3), (3, 0), (3, 129)] {
            let mut bad = raw(0, 0);
            bad[at] = value;
            assert_eq!(Record::read(&bad), None, "byte {at}");
        }
    }
}
