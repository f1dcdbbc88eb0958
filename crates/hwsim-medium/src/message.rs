// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The messages of the generic netlink family MAC80211_HWSIM: commands and attributes by the numbers
//! of the kernel's mac80211_hwsim.h, in the form that the netlink crates want.

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, Nla, NlasIterator, ParseableParametrized,
};
use netlink_packet_generic::{GenlFamily, GenlHeader};

use crate::frame::Address;

const REGISTER: u8 = 1;
const FRAME: u8 = 2;
const TX_INFO_FRAME: u8 = 3;

const ATTR_ADDR_RECEIVER: u16 = 1;
const ATTR_ADDR_TRANSMITTER: u16 = 2;
const ATTR_FRAME: u16 = 3;
const ATTR_FLAGS: u16 = 4;
const ATTR_RX_RATE: u16 = 5;
const ATTR_SIGNAL: u16 = 6;
const ATTR_TX_INFO: u16 = 7;
const ATTR_COOKIE: u16 = 8;
const ATTR_FREQ: u16 = 19;

const FLAG_NO_ACK: u32 = 1 << 1;
const FLAG_ACKED: u32 = 1 << 2;

/// Rates in a frame's list, of an index and a number of attempts each.
const RATES: usize = 4;
/// The index of a rate that is none.
const NO_RATE: u8 = 0xff;
/// Strong enough for every rate.
const SIGNAL_DBM: i32 = -40;

/// A message of the family, its attributes as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hwsim {
    command: u8,
    attributes: Vec<DefaultNla>,
}

/// A frame that a radio sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The radio.
    pub radio: Address,
    /// The frame from its 802.11 header on.
    pub bytes: Vec<u8>,
    /// It waits for no answer.
    pub no_ack: bool,
    /// By which the kernel knows it.
    pub cookie: [u8; 8],
    /// The index of the rate that it would begin with.
    rate: u8,
    /// MHz.
    frequency: Option<[u8; 4]>,
    flags: u32,
}

/// A fixed number of bytes, if there are just so many.
fn exactly<const N: usize>(value: &[u8]) -> Option<[u8; N]> {
    value.try_into().ok()
}

impl Sent {
    /// Reads the message. None: another one, or without what such a message must have.
    pub fn of(message: &Hwsim) -> Option<Self> {
        if message.command != FRAME {
            return None;
        }
        let value = |kind| {
            let mut found = message.attributes.iter();
            let found = found.find(|attribute| attribute.kind() == kind)?;
            let mut bytes = vec![0; found.value_len()];
            found.emit_value(&mut bytes);
            Some(bytes)
        };
        let flags = u32::from_ne_bytes(exactly(&value(ATTR_FLAGS)?)?);
        Some(Self {
            radio: exactly(&value(ATTR_ADDR_TRANSMITTER)?)?,
            bytes: value(ATTR_FRAME)?,
            no_ack: flags & FLAG_NO_ACK != 0,
            cookie: exactly(&value(ATTR_COOKIE)?)?,
            rate: value(ATTR_TX_INFO)?.first().copied()?,
            frequency: value(ATTR_FREQ).and_then(|bytes| exactly(&bytes)),
            flags,
        })
    }

    /// What tells the kernel what became of the frame.
    pub fn outcome(&self, attempts: u8, acked: bool) -> Hwsim {
        let mut rates = [NO_RATE, 0].repeat(RATES);
        rates[..2].copy_from_slice(&[self.rate, attempts]);
        let flags = if acked { FLAG_ACKED } else { 0 } | self.flags;
        Hwsim::new(
            TX_INFO_FRAME,
            [
                (ATTR_ADDR_TRANSMITTER, self.radio.to_vec()),
                (ATTR_FLAGS, flags.to_ne_bytes().to_vec()),
                (ATTR_COOKIE, self.cookie.to_vec()),
                (ATTR_SIGNAL, SIGNAL_DBM.to_ne_bytes().to_vec()),
                (ATTR_TX_INFO, rates),
            ],
        )
    }

    /// What has `radio` hear the frame, of which `bytes` arrive. The rate is the band's lowest, for
    /// the index may be one of another table.
    pub fn heard_by(&self, radio: Address, bytes: Vec<u8>) -> Hwsim {
        let frequency = self.frequency.map(|mhz| (ATTR_FREQ, mhz.to_vec()));
        let all = [
            (ATTR_ADDR_RECEIVER, radio.to_vec()),
            (ATTR_FRAME, bytes),
            (ATTR_RX_RATE, 0u32.to_ne_bytes().to_vec()),
            (ATTR_SIGNAL, SIGNAL_DBM.to_ne_bytes().to_vec()),
        ];
        Hwsim::new(FRAME, all.into_iter().chain(frequency))
    }
}

impl Hwsim {
    fn new(command: u8, attributes: impl IntoIterator<Item = (u16, Vec<u8>)>) -> Self {
        let attributes = attributes.into_iter();
        Self {
            command,
            attributes: attributes
                .map(|(kind, value)| DefaultNla::new(kind, value))
                .collect(),
        }
    }

    /// What asks for all frames.
    pub fn register() -> Self {
        Self::new(REGISTER, [])
    }
}

impl GenlFamily for Hwsim {
    fn family_name() -> &'static str {
        "MAC80211_HWSIM"
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Hwsim {
    fn buffer_len(&self) -> usize {
        self.attributes.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.attributes.as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Hwsim {
    fn parse_with_param(bytes: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        // The iterator looks whether what an attribute says of its length is there.
        let attributes = NlasIterator::new(bytes)
            .map(|found| found.map(|found| DefaultNla::new(found.kind(), found.value().to_vec())));
        Ok(Self {
            command: header.cmd,
            attributes: attributes.collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    /// As the kernel shows a frame.
    pub fn sent(radio: Address, frame: Vec<u8>, flags: u32) -> Hwsim {
        Hwsim::new(
            FRAME,
            [
                (ATTR_ADDR_TRANSMITTER, radio.to_vec()),
                (ATTR_FRAME, frame),
                (ATTR_FLAGS, flags.to_ne_bytes().to_vec()),
                (ATTR_FREQ, 2412u32.to_ne_bytes().to_vec()),
                (ATTR_TX_INFO, vec![3, 1, 2, 1, 0xff, 0, 0xff, 0]),
                (ATTR_COOKIE, 9u64.to_ne_bytes().to_vec()),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RADIO: Address = [0x42, 0, 0, 0, 0, 0];

    fn bytes_of(message: &Hwsim) -> Vec<u8> {
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    fn parsed(bytes: &[u8], command: u8) -> Result<Hwsim, DecodeError> {
        let header = GenlHeader {
            cmd: command,
            version: 1,
        };
        Hwsim::parse_with_param(bytes, header)
    }

    #[test]
    fn frames_are_read_and_answered() {
        let raw = bytes_of(&samples::sent(RADIO, vec![7; 33], 1));
        let sent = Sent::of(&parsed(&raw, FRAME).unwrap()).unwrap();
        assert_eq!(
            (sent.radio, sent.bytes.len(), sent.no_ack),
            (RADIO, 33, false)
        );
        let told = parsed(&bytes_of(&sent.outcome(2, true)), TX_INFO_FRAME).unwrap();
        let flags = DefaultNla::new(ATTR_FLAGS, 5u32.to_ne_bytes().to_vec());
        assert!(
            told.attributes.contains(&flags),
            "asked for, and acknowledged"
        );
        let rates = DefaultNla::new(ATTR_TX_INFO, vec![3, 2, 255, 0, 255, 0, 255, 0]);
        assert!(told.attributes.contains(&rates));
        let heard = sent.heard_by([1; 6], vec![8; 5]);
        assert_eq!(heard.attributes.len(), 5, "with its frequency");
    }

    #[test]
    fn what_lacks_something_or_is_of_another_length_is_left_out() {
        let whole = samples::sent(RADIO, vec![7; 33], 1);
        for without in [
            ATTR_ADDR_TRANSMITTER,
            ATTR_FRAME,
            ATTR_FLAGS,
            ATTR_TX_INFO,
            ATTR_COOKIE,
        ] {
            let mut less = whole.clone();
            less.attributes
                .retain(|attribute| attribute.kind() != without);
            assert_eq!(Sent::of(&less), None, "attribute {without}");
        }
        let mut short = whole.clone();
        short.attributes[0] = DefaultNla::new(ATTR_ADDR_TRANSMITTER, vec![1; 5]);
        assert_eq!(Sent::of(&short), None);
        assert_eq!(Sent::of(&Hwsim::register()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(message) = parsed(&bytes, FRAME) {
                let _ = Sent::of(&message);
            }
        }

        #[test]
        fn a_frame_cut_anywhere_does_no_harm(cut in 0usize..140, at in 0usize..140, to: u8) {
            let mut raw = bytes_of(&samples::sent(RADIO, vec![7; 33], 1));
            if let Some(byte) = raw.get_mut(at) {
                *byte = to;
            }
            raw.truncate(cut);
            if let Ok(message) = parsed(&raw, FRAME) {
                let _ = Sent::of(&message);
            }
        }
    }
}
