// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Super-packets, cut into the frames that a wire would carry.
//!
//! A sender with segmentation offload hands many segments to its device as one packet, and says
//! how a card would have to cut it. On a link each segment is a frame of its own, with its own
//! place in the queue and its own luck: so they are cut here, before anything is decided, with
//! what differs between them (lengths, identification, sequence number, flags) and the checksum
//! finished. All of them arrive at the same time, as from a wired network that is much faster than
//! the link.

use crate::frame::{self, be16};

/// Headers of Ethernet, IP and TCP with tags, options and extension headers; more is no packet of
/// ours.
const MAX_HEADER_BYTES: usize = 512;

const IPV4_VERSION: u8 = 4;
const IPV4_LENGTH: usize = 2;
const IPV4_ID: usize = 4;
const IPV4_CHECKSUM: usize = 10;
const IPV6_LENGTH: usize = 4;
const IPV6_HEADER_BYTES: usize = 40;
const TCP_SEQUENCE: usize = 4;
const TCP_DATA_OFFSET: usize = 12;
const TCP_FLAGS: usize = 13;
const TCP_CHECKSUM: usize = 16;
const TCP_LEAST_BYTES: usize = 20;
const UDP_LENGTH: usize = 4;
const UDP_CHECKSUM: usize = 6;
const UDP_HEADER_BYTES: usize = 8;

const FLAG_FIN: u8 = 0x01;
const FLAG_PSH: u8 = 0x08;
const FLAG_CWR: u8 = 0x80;

/// Protocol of a super-packet's segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TCP. `cwr_once`: congestion window reduced (RFC 3168) is said by the first segment alone;
    /// with Accurate ECN (RFC 9768) the bit is part of a counter, and each segment has it.
    Tcp {
        /// See above.
        cwr_once: bool,
    },
    /// UDP datagrams of one size (the last may be shorter).
    Udp,
}

/// How a super-packet is to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// What it is made of.
    pub protocol: Protocol,
    /// Payload of each segment but the last.
    pub segment_bytes: usize,
    /// Where the transport header begins, in bytes from the frame's beginning.
    pub transport_at: usize,
}

/// The frames of one super-packet.
#[derive(Debug)]
pub struct Segments<'a> {
    headers: &'a [u8],
    payload: &'a [u8],
    how: Segmentation,
    network_at: usize,
    /// One's complement sum of the pseudo-header but for the length.
    pseudo_sum: u16,
}

impl<'a> Segments<'a> {
    /// The segments of `frame`; `None` if its headers are not what `how` says.
    pub fn new(frame: &'a [u8], how: Segmentation) -> Option<Self> {
        let network_at = frame.len() - frame::network_layer(frame)?.1.len();
        let transport = frame.get(how.transport_at..)?;
        let (header_bytes, checksum_at) = match how.protocol {
            Protocol::Tcp { .. } => {
                let bytes = usize::from(transport.get(TCP_DATA_OFFSET)? >> 4) * 4;
                (bytes.max(TCP_LEAST_BYTES), TCP_CHECKSUM)
            }
            Protocol::Udp => (UDP_HEADER_BYTES, UDP_CHECKSUM),
        };
        let payload_at = how.transport_at + header_bytes;
        let (headers, payload) = frame.split_at_checked(payload_at)?;
        let version = headers.get(network_at)? >> 4;
        let least_network_bytes = match version {
            IPV4_VERSION => usize::from(headers[network_at] & 0x0f) * 4,
            _ => IPV6_HEADER_BYTES,
        };
        let fits = network_at + least_network_bytes.max(20) <= how.transport_at;
        if !fits || payload_at > MAX_HEADER_BYTES || how.segment_bytes == 0 || payload.is_empty() {
            return None;
        }
        // The field holds the sum of the pseudo-header, with the length of the whole (RFC 1624,
        // equation 3, takes it out).
        let whole_sum = fold(transport.len() as u64);
        let field = be16(transport, checksum_at)?;
        Some(Self {
            headers,
            payload,
            how,
            network_at,
            pseudo_sum: fold(u64::from(field) + u64::from(!whole_sum)),
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.payload.len().div_ceil(self.how.segment_bytes)
    }

    /// Length of the longest, in bytes with the Ethernet header.
    pub fn longest_bytes(&self) -> usize {
        self.headers.len() + self.payload.len().min(self.how.segment_bytes)
    }

    /// Writes the `index`-th frame to the beginning of `out`, which has room for the longest, and
    /// returns its length.
    pub fn write(&self, index: usize, out: &mut [u8]) -> usize {
        let at = index * self.how.segment_bytes;
        let payload = &self.payload[at..];
        let payload = &payload[..payload.len().min(self.how.segment_bytes)];
        let bytes = self.headers.len() + payload.len();
        let frame = &mut out[..bytes];
        frame[..self.headers.len()].copy_from_slice(self.headers);
        frame[self.headers.len()..].copy_from_slice(payload);
        self.finish_network(
            index,
            &mut frame[self.network_at..self.how.transport_at],
            bytes,
        );
        self.finish_transport(index, at, &mut frame[self.how.transport_at..]);
        bytes
    }

    fn finish_network(&self, index: usize, header: &mut [u8], frame_bytes: usize) {
        let packet_bytes = frame_bytes - self.network_at;
        if header[0] >> 4 != IPV4_VERSION {
            put16(header, IPV6_LENGTH, packet_bytes - IPV6_HEADER_BYTES);
            return;
        }
        put16(header, IPV4_LENGTH, packet_bytes);
        let id = u16::from_be_bytes([header[IPV4_ID], header[IPV4_ID + 1]]);
        put16(header, IPV4_ID, usize::from(id.wrapping_add(index as u16)));
        put16(header, IPV4_CHECKSUM, 0);
        let checksum = !frame::ones_complement_sum(header);
        put16(header, IPV4_CHECKSUM, usize::from(checksum));
    }

    fn finish_transport(&self, index: usize, payload_at: usize, segment: &mut [u8]) {
        let checksum_at = match self.how.protocol {
            Protocol::Tcp { cwr_once } => {
                let number = &mut segment[TCP_SEQUENCE..TCP_SEQUENCE + 4];
                let first = u32::from_be_bytes([number[0], number[1], number[2], number[3]]);
                number.copy_from_slice(&first.wrapping_add(payload_at as u32).to_be_bytes());
                if index + 1 < self.count() {
                    segment[TCP_FLAGS] &= !(FLAG_FIN | FLAG_PSH);
                }
                if index > 0 && cwr_once {
                    segment[TCP_FLAGS] &= !FLAG_CWR;
                }
                TCP_CHECKSUM
            }
            Protocol::Udp => {
                put16(segment, UDP_LENGTH, segment.len());
                UDP_CHECKSUM
            }
        };
        put16(segment, checksum_at, 0);
        let sum = u64::from(self.pseudo_sum)
            + segment.len() as u64
            + u64::from(frame::ones_complement_sum(segment));
        let checksum = match (!fold(sum), self.how.protocol) {
            (0, Protocol::Udp) => 0xffff, // zero means "no checksum" there
            (checksum, _) => checksum,
        };
        put16(segment, checksum_at, usize::from(checksum));
    }
}

fn put16(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
}

/// The end-around carry of one's complement sums.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

#[cfg(test)]
#[path = "gso_tests.rs"]
mod tests;
