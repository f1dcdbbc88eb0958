// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the medium needs to know of an 802.11 frame (IEEE 802.11-2020, section 9.2 and 9.3).

/// The address of a radio or a station.
pub type Address = [u8; 6];

/// Bytes of a packet by which its copies are known: headers of network and transport with the
/// usual options, which an agent's repair has in common with what it repairs. A sender's own
/// repetition differs in its identification or its timestamp.
pub const PACKET_BYTES: usize = 72;

const HEADER_BYTES: usize = 24;
const QOS_BYTES: usize = 2;
const LLC_SNAP_BYTES: usize = 8;
/// First byte: protocol version 0, type data, and the bit of subtypes without data.
const VERSION_AND_TYPE: u8 = 0x0f;
const DATA: u8 = 0x08;
const WITHOUT_DATA: u8 = 0x40;
const QOS: u8 = 0x80;
/// Second byte: this is another attempt.
const RETRY: u8 = 0x08;
/// To and from the distribution system: four addresses.
const FOUR_ADDRESSES: u8 = 0x03;
/// First byte of an address: for many.
const GROUP: u8 = 0x01;

/// A frame of which the header is there.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a>(&'a [u8]);

impl<'a> Frame<'a> {
    /// None: too short for what its header has to have.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        (bytes.len() >= HEADER_BYTES).then_some(Self(bytes))
    }

    fn address(&self, at: usize) -> Address {
        std::array::from_fn(|i| self.0[at + i]) // within HEADER_BYTES
    }

    /// Who is to receive it.
    pub fn receiver(&self) -> Address {
        self.address(4)
    }

    /// Who sends it.
    pub fn transmitter(&self) -> Address {
        self.address(10)
    }

    /// Whether it is for many, so that nobody acknowledges it.
    pub fn for_many(&self) -> bool {
        self.0[4] & GROUP != 0
    }

    /// Whether it carries data; those of management, and those that only tell of sleep, don't.
    pub fn has_data(&self) -> bool {
        self.0[0] & VERSION_AND_TYPE == DATA && self.0[0] & WITHOUT_DATA == 0
    }

    /// The beginning of the packet in it, by which its copies are known. None: no data, or another
    /// form than LLC and SNAP.
    pub fn packet(&self) -> Option<[u8; PACKET_BYTES]> {
        if !self.has_data() {
            return None;
        }
        let four = self.0[1] & FOUR_ADDRESSES == FOUR_ADDRESSES;
        let qos = if self.0[0] & QOS != 0 { QOS_BYTES } else { 0 };
        let at = HEADER_BYTES + if four { size_of::<Address>() } else { 0 } + qos + LLC_SNAP_BYTES;
        let body = self.0.get(at..)?;
        let mut packet = [0; PACKET_BYTES];
        let bytes = body.len().min(PACKET_BYTES);
        packet[..bytes].copy_from_slice(&body[..bytes]);
        (bytes > 0).then_some(packet)
    }
}

/// Marks a frame as another attempt.
pub fn mark_retry(bytes: &mut [u8]) {
    if let Some(control) = bytes.get_mut(1) {
        *control |= RETRY;
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    pub const AP: Address = [2, 0, 0, 0, 0, 0];
    pub const STATION: Address = [2, 0, 0, 0, 1, 0];

    /// Data with QoS, from the access point to the station.
    pub fn data(from: Address, to: Address, body: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x88, 0x02, 0, 0];
        frame.extend([to, from, AP].concat());
        frame.extend([0; 4]); // sequence and QoS control
        frame.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
        frame.extend(body);
        frame
    }

    pub fn beacon() -> Vec<u8> {
        let mut frame = vec![0x80, 0, 0, 0];
        frame.extend([[0xff; 6], AP, AP].concat());
        frame.extend([0; 40]);
        frame
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::samples::{AP, STATION, beacon, data};
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        let bytes = data(AP, STATION, &[0x45, 7]);
        let frame = Frame::of(&bytes).unwrap();
        assert!(frame.has_data() && !frame.for_many());
        assert_eq!((frame.transmitter(), frame.receiver()), (AP, STATION));
        let packet = frame.packet().unwrap();
        assert_eq!((packet[0], packet[1], packet[2]), (0x45, 7, 0));
        let bytes = beacon();
        let frame = Frame::of(&bytes).unwrap();
        assert!(frame.for_many() && !frame.has_data());
        assert_eq!(frame.packet(), None);
    }

    #[test]
    fn what_only_tells_of_sleep_has_no_data() {
        let mut bytes = data(STATION, AP, &[]);
        bytes[0] = 0xc8;
        assert!(!Frame::of(&bytes).unwrap().has_data());
    }

    #[test]
    fn four_addresses_and_no_qos() {
        let mut bytes = data(AP, STATION, &[]);
        bytes[0] = 0x08;
        bytes[1] = 0x03;
        bytes.extend([0; 4]); // the fourth address is two longer than QoS control and these
        bytes.extend([0x60, 1]);
        assert_eq!(Frame::of(&bytes).unwrap().packet().unwrap()[..2], [0x60, 1]);
    }

    #[test]
    fn another_attempt_is_marked() {
        let mut bytes = data(AP, STATION, &[]);
        mark_retry(&mut bytes);
        assert_eq!(bytes[1], 0x0a);
        mark_retry(&mut []);
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            if let Some(frame) = Frame::of(&bytes) {
                let _ = (frame.packet(), frame.receiver(), frame.for_many());
            }
        }
    }
}
