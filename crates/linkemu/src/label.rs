// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What queue disciplines look at in a frame.

use crate::frame::{self, be16};
use crate::random::fnv1a;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// "More fragments" and the offset: both are 0 in a packet that is whole (RFC 791).
const FRAGMENT_MASK: u16 = 0x3fff;
/// The header of IPv6's fragments, whole packets have none (RFC 8200, section 4.5).
const HEADER_FRAGMENT: u8 = 44;
/// The two low bits of the IPv4 type of service and of the IPv6 traffic class (RFC 3168).
const ECN_MASK: u8 = 3;
/// Flags of a TCP header: reserved bits and AE, then CWR to FIN (RFC 9293, RFC 9768).
const FLAG_MASK: u16 = 0x0fff;
const FLAG_ACK: u16 = 0x0010;
/// What may change from ACK to ACK without meaning: nothing but ECE and CWR, which must be the
/// same on both, and the ACE counter that they are part of.
const FLAGS_OF_PURE_ACKS: u16 = FLAG_ACK | 0x01c0;
const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_TIMESTAMPS: u8 = 8;

/// Summary of a frame for queue disciplines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Label {
    /// Hash of addresses, protocol and ports: the same for all frames of a connection in one
    /// direction. Fragments and protocols without ports count by the rest.
    pub flow: u64,
    /// Its ends understand congestion marks (RFC 3168).
    pub ecn_capable: bool,
    /// It acknowledges, and does nothing else.
    pub ack: Option<PureAck>,
}

/// An acknowledgement without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PureAck {
    /// Acknowledgement number.
    pub number: u32,
    /// TCP flags.
    pub flags: u16,
    /// It has no option but timestamps, and so no SACK block.
    pub plain: bool,
}

impl PureAck {
    /// Whether all that `older` says is in this one as well. A repeated number does not count:
    /// duplicates are what a sender counts (RFC 5681).
    pub fn supersedes(&self, older: &Self) -> bool {
        let ahead = self.number.wrapping_sub(older.number);
        older.plain && self.flags == older.flags && (1..1 << 31).contains(&ahead)
    }
}

/// Summary of `frame`.
pub fn label(frame: &[u8]) -> Label {
    let Some(packet) = frame::network_layer(frame).map(|(_, packet)| packet) else {
        return Label::default();
    };
    read(frame, packet).unwrap_or_default()
}

fn read(frame: &[u8], packet: &[u8]) -> Option<Label> {
    let is_v4 = packet.first()? >> 4 == 4;
    let (addresses, protocol, class) = match is_v4 {
        true => (packet.get(12..20)?, *packet.get(9)?, *packet.get(1)?),
        false => (packet.get(8..40)?, *packet.get(6)?, packet.get(1)? >> 4),
    };
    let is_whole = !is_fragment(packet, is_v4, protocol)?;
    let segment = frame::tcp_segment(frame).filter(|_| is_whole);
    let transport = match segment {
        Some(segment) => segment.get(..4),
        None if is_whole => udp_ports(packet, is_v4, protocol),
        None => None,
    };
    let protocol = if segment.is_some() {
        PROTOCOL_TCP
    } else {
        protocol
    };
    let key = [addresses, &[protocol], transport.unwrap_or_default()].concat();
    Some(Label {
        flow: fnv1a(&key),
        ecn_capable: class & ECN_MASK != 0,
        ack: segment.and_then(pure_ack),
    })
}

/// Whether a packet is a piece of a larger one. The first piece has ports as well, but must not part
/// from the others, which have none.
fn is_fragment(packet: &[u8], is_v4: bool, protocol: u8) -> Option<bool> {
    match is_v4 {
        true => Some(be16(packet, 6)? & FRAGMENT_MASK != 0),
        false => Some(protocol == HEADER_FRAGMENT),
    }
}

/// Both ports of a UDP packet that has no extension header.
fn udp_ports(packet: &[u8], is_v4: bool, protocol: u8) -> Option<&[u8]> {
    let at = match is_v4 {
        true => usize::from(packet.first()? & 0x0f) * 4,
        false => 40,
    };
    (protocol == PROTOCOL_UDP).then(|| packet.get(at..at + 4))?
}

fn pure_ack(segment: &[u8]) -> Option<PureAck> {
    let header_bytes = usize::from(segment.get(12)? >> 4) * 4;
    let flags = be16(segment, 12)? & FLAG_MASK;
    let is_pure = flags & FLAG_ACK != 0 && flags & !FLAGS_OF_PURE_ACKS == 0;
    if !is_pure || segment.len() != header_bytes {
        return None;
    }
    let number = segment.get(8..12)?.try_into().ok()?;
    Some(PureAck {
        number: u32::from_be_bytes(number),
        flags,
        plain: has_timestamps_only(segment.get(20..)?),
    })
}

fn has_timestamps_only(mut options: &[u8]) -> bool {
    while let Some(kind) = options.first() {
        let bytes = match *kind {
            OPTION_END => return true,
            OPTION_NOP => 1,
            OPTION_TIMESTAMPS => usize::from(options.get(1).copied().unwrap_or(0)),
            _ => return false,
        };
        match options.get(bytes.max(1)..) {
            Some(rest) => options = rest,
            None => return false,
        }
    }
    true
}

/// Writes "congestion experienced" into a packet whose ends understand it.
pub fn mark(frame: &mut [u8]) {
    let Some((_, packet)) = frame::network_layer(frame) else {
        return;
    };
    let at = frame.len() - packet.len();
    match frame.get_mut(at..) {
        Some(packet) if packet.len() >= 20 && packet[0] >> 4 == 4 => mark_v4(packet),
        Some(packet) if packet.len() >= 2 => packet[1] |= ECN_MASK << 4,
        _ => {}
    }
}

/// The header's checksum is brought up to date by RFC 1624, equation 3.
fn mark_v4(packet: &mut [u8]) {
    let word = |packet: &[u8]| u32::from(u16::from_be_bytes([packet[0], packet[1]]));
    let old = word(packet);
    packet[1] |= ECN_MASK;
    let new = word(packet);
    let checksum = word(&packet[10..]);
    let mut sum = (!checksum & 0xffff) + (!old & 0xffff) + new;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
}

#[cfg(test)]
#[path = "label_tests.rs"]
mod tests;
