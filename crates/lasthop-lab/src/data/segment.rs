// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Frames and segments: how long they are, and how much of them is payload.

use super::topology::{Family, MTU_BYTES};

/// Bytes of a full Ethernet frame as the emulator counts them (no frame check sequence).
pub const FULL_FRAME_BYTES: u64 = 1514;

const ETHERNET_HEADER_BYTES: u64 = 14;

/// A full segment, as the lossy hop sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullSegment {
    /// Bytes of the stream in it.
    pub payload_bytes: u64,
    /// Bytes of its frame as the emulator counts them.
    pub frame_bytes: u64,
}

impl FullSegment {
    /// That of a connection whose ends have agreed on `mss_bytes`, or on what a frame holds. As
    /// on the wire, that counts the bytes of TCP options, but not those of the headers.
    pub fn new(family: Family, timestamps: bool, mss_bytes: Option<u16>) -> Self {
        let headers = match family {
            Family::V4 => 20 + 20,
            Family::V6 => 40 + 20,
        };
        let options = if timestamps { 12 } else { 0 };
        let fits_bytes = u64::from(MTU_BYTES) - headers;
        let mss_bytes = mss_bytes.map_or(fits_bytes, |mss| fits_bytes.min(mss.into()));
        Self {
            payload_bytes: mss_bytes - options,
            frame_bytes: mss_bytes + headers + ETHERNET_HEADER_BYTES,
        }
    }

    /// Bytes of the stream per byte on the hop.
    pub fn payload_share(self) -> f64 {
        self.payload_bytes as f64 / self.frame_bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_segments() {
        for (family, timestamps, mss_bytes, expected) in [
            (Family::V4, true, None, (1448, 1514)),
            (Family::V4, false, None, (1460, 1514)),
            (Family::V6, true, None, (1428, 1514)),
            (Family::V6, false, None, (1440, 1514)),
            (Family::V4, false, Some(446), (446, 500)),
            (Family::V4, true, Some(446), (434, 500)),
            (Family::V6, false, Some(446), (446, 520)),
            (Family::V6, true, Some(1460), (1428, 1514)),
        ] {
            let full = FullSegment::new(family, timestamps, mss_bytes);
            assert_eq!((full.payload_bytes, full.frame_bytes), expected);
        }
    }
}
