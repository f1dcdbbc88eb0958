// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How long things take on the air: the constants of three physical layers. Clauses are those of
//! IEEE Std 802.11-2007, which holds 802.11a, b, e and g in one volume.

use serde::{Deserialize, Serialize};

const US: u64 = 1_000;

/// MAC header with three addresses, 24 bytes, LLC and SNAP, 8, and frame check sequence, 4, in
/// place of the Ethernet header (clause 7.2.2, RFC 1042).
const DATA_OVERHEAD_BYTES: u64 = 24 + 8 + 4;
/// QoS control, which frames under BlockAck and those of EDCA stations carry (clause 7.1.3.5).
const QOS_BYTES: u64 = 2;
const ETHERNET_BYTES: u64 = 14;
/// A DIFS is a SIFS and so many slots (clause 9.2.10).
pub(super) const DIFS_SLOTS: u32 = 2;
/// ACK (clause 7.2.1.3).
const ACK_BYTES: u64 = 14;
/// BlockAckReq (clause 7.2.1.7).
const BLOCK_ACK_REQUEST_BYTES: u64 = 24;
/// BlockAck with the bitmap of 802.11e, 64 frames of 16 fragments each (clause 7.2.1.8).
const BLOCK_ACK_BYTES: u64 = 152;

/// A physical layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standard {
    /// OFDM at 5 GHz (clause 17).
    #[serde(rename = "802.11a")]
    A,
    /// DSSS and CCK at 2.4 GHz (clauses 15 and 18).
    #[serde(rename = "802.11b")]
    B,
    /// OFDM at 2.4 GHz with nobody near who knows 802.11b only: short slots, no protection
    /// (clause 19).
    #[serde(rename = "802.11g")]
    G,
}

/// What 802.11b sends before a frame, its header included (clauses 18.2.2.1 and 18.2.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preamble {
    /// 144 and 48 µs.
    Long,
    /// 72 and 24 µs; not with 1 Mbit/s.
    Short,
}

impl Preamble {
    fn ns(self) -> u64 {
        match self {
            Self::Long => 192 * US,
            Self::Short => 96 * US,
        }
    }
}

impl Standard {
    /// Its name, as in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "802.11a",
            Self::B => "802.11b",
            Self::G => "802.11g",
        }
    }

    /// Its rates in kbit/s, the slowest first.
    pub fn rates_kbps(self) -> &'static [u32] {
        match self {
            Self::A | Self::G => &[6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000],
            Self::B => &[1_000, 2_000, 5_500, 11_000],
        }
    }

    /// Rates at which answers go unless told otherwise: the highest that is not above that of the
    /// data (clause 9.6). OFDM's are the mandatory ones; for 802.11b those of 1997, which is how
    /// access points were delivered.
    pub fn basic_rates_kbps(self) -> &'static [u32] {
        match self {
            Self::A | Self::G => &[6_000, 12_000, 24_000],
            Self::B => &[1_000, 2_000],
        }
    }
}

/// How frames of one rate become time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carrier {
    standard: Standard,
    preamble: Preamble,
    rate_kbps: u32,
}

impl Carrier {
    pub(super) fn new(standard: Standard, preamble: Preamble, rate_kbps: u32) -> Self {
        Self {
            standard,
            preamble,
            rate_kbps,
        }
    }

    /// Time on the air in nanoseconds of a frame of `bytes`, MAC header and frame check sequence
    /// included.
    pub fn airtime_ns(&self, bytes: u64) -> u64 {
        let bits = bytes * 8;
        match self.standard {
            // Clause 18.3.4: whole microseconds.
            Standard::B => self.preamble.ns() + (bits * 1_000).div_ceil(self.rate_kbps.into()) * US,
            // Clause 17.4.3: 16 µs of preamble, 4 of SIGNAL, then symbols of 4 µs for 16 bits of
            // SERVICE, the frame, and 6 of tail.
            Standard::A => 20 * US + self.symbols(bits) * 4 * US,
            // Clause 19.8.3.1: the same, and 6 µs of silence in which receivers finish.
            Standard::G => 20 * US + self.symbols(bits) * 4 * US + 6 * US,
        }
    }

    fn symbols(&self, bits: u64) -> u64 {
        let bits_per_symbol = u64::from(self.rate_kbps) * 4 / 1_000;
        (16 + bits + 6).div_ceil(bits_per_symbol)
    }
}

/// All times of a medium, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Unit of backoff.
    pub slot_ns: u64,
    /// Between a frame and its answer.
    pub sifs_ns: u64,
    /// From the start of an answer to its notice.
    pub rx_start_ns: u64,
    /// Slots of silence after a SIFS before anybody counts: 2 make a DIFS.
    pub aifsn: u32,
    /// Smallest contention window: backoff is drawn from 0 to this.
    pub cw_min: u32,
    /// Largest.
    pub cw_max: u32,
    /// Data frames carry QoS control.
    pub qos: bool,
    /// Of data frames.
    pub data: Carrier,
    /// Of answers and requests for them.
    pub control: Carrier,
}

impl Timing {
    /// Times of a standard with data and answers at these rates.
    pub fn new(standard: Standard, preamble: Preamble, data_kbps: u32, control_kbps: u32) -> Self {
        // Tables 17-15, 18-5 and 19-8 (aSlotTime, aSIFSTime, aPHY-RX-START-Delay, aCWmin).
        let (slot, sifs, rx_start_ns, cw_min) = match standard {
            Standard::A => (9, 16, 25 * US, 15),
            Standard::B => (20, 10, preamble.ns(), 31),
            Standard::G => (9, 10, 24 * US, 15),
        };
        Self {
            slot_ns: slot * US,
            sifs_ns: sifs * US,
            rx_start_ns,
            aifsn: DIFS_SLOTS,
            cw_min,
            cw_max: 1023,
            qos: false,
            data: Carrier::new(standard, preamble, data_kbps),
            control: Carrier::new(standard, preamble, control_kbps),
        }
    }

    /// Silence in nanoseconds after which stations begin to count slots: a DIFS (clause 9.2.10), or
    /// what EDCA has in its place (AIFS, clause 9.9.1.3).
    pub fn aifs_ns(&self) -> u64 {
        self.sifs_ns + u64::from(self.aifsn) * self.slot_ns
    }

    /// From the end of a frame to the conclusion that no answer comes (clause 9.2.8).
    pub fn ack_timeout_ns(&self) -> u64 {
        self.sifs_ns + self.slot_ns + self.rx_start_ns
    }

    /// Time on the air of an Ethernet frame, whose length is without frame check sequence.
    pub fn data_ns(&self, ethernet_bytes: u32) -> u64 {
        let payload_bytes = u64::from(ethernet_bytes).saturating_sub(ETHERNET_BYTES);
        let qos_bytes = if self.qos { QOS_BYTES } else { 0 };
        let bytes = payload_bytes + DATA_OVERHEAD_BYTES + qos_bytes;
        self.data.airtime_ns(bytes)
    }

    /// Time on the air of an ACK.
    pub fn ack_ns(&self) -> u64 {
        self.control.airtime_ns(ACK_BYTES)
    }

    /// Time on the air of a BlockAckReq.
    pub fn block_ack_request_ns(&self) -> u64 {
        self.control.airtime_ns(BLOCK_ACK_REQUEST_BYTES)
    }

    /// Time on the air of a BlockAck.
    pub fn block_ack_ns(&self) -> u64 {
        self.control.airtime_ns(BLOCK_ACK_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL_BYTES: u32 = 1514;

    fn us(timing: &Timing) -> [u64; 5] {
        let ns = [
            timing.aifs_ns(),
            timing.data_ns(FULL_BYTES),
            timing.sifs_ns,
            timing.ack_ns(),
            timing.ack_timeout_ns(),
        ];
        ns.map(|ns| ns / US)
    }

    /// By hand: a packet of 1500 bytes is a frame of 1536, 12,288 bits.
    #[test]
    fn single_exchanges_by_hand() {
        use Preamble::{Long, Short};
        use Standard::{A, B, G};
        for (standard, preamble, data_kbps, control_kbps, expected) in [
            // 12288 / 11 = 1117.1; 112 / 2 = 56.
            (B, Long, 11_000, 2_000, [50, 192 + 1118, 10, 192 + 56, 222]),
            (B, Short, 11_000, 2_000, [50, 96 + 1118, 10, 96 + 56, 126]),
            // 12288 / 5.5 = 2234.2
            (B, Short, 5_500, 2_000, [50, 96 + 2235, 10, 96 + 56, 126]),
            (B, Long, 2_000, 2_000, [50, 192 + 6144, 10, 192 + 56, 222]),
            (B, Long, 1_000, 1_000, [50, 192 + 12288, 10, 192 + 112, 222]),
            // 12310 / 216 = 56.99, 134 / 96 = 1.4 symbols.
            (
                A,
                Long,
                54_000,
                24_000,
                [34, 20 + 57 * 4, 16, 20 + 2 * 4, 50],
            ),
            // 12310 / 24 = 512.9, 134 / 24 = 5.6 symbols.
            (
                A,
                Long,
                6_000,
                6_000,
                [34, 20 + 513 * 4, 16, 20 + 6 * 4, 50],
            ),
            (
                G,
                Long,
                54_000,
                24_000,
                [28, 26 + 57 * 4, 10, 26 + 2 * 4, 43],
            ),
        ] {
            let timing = Timing::new(standard, preamble, data_kbps, control_kbps);
            assert_eq!(
                us(&timing),
                expected,
                "{standard:?} {preamble:?} {data_kbps}"
            );
        }
    }

    #[test]
    fn block_acks_by_hand() {
        let timing = Timing::new(Standard::A, Preamble::Long, 54_000, 24_000);
        // 192 + 22 = 214 bits in 3 symbols, 1216 + 22 = 1238 in 13.
        assert_eq!(timing.block_ack_request_ns(), 32 * US);
        assert_eq!(timing.block_ack_ns(), 72 * US);
        // Two bytes of QoS control are one symbol more: 12326 / 216 = 57.1.
        let qos = Timing {
            qos: true,
            ..timing
        };
        assert_eq!(qos.data_ns(FULL_BYTES), timing.data_ns(FULL_BYTES) + 4 * US);
    }
}
