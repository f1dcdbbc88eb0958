// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the relay needs to know of a frame's bytes: its kind, its VLAN tag, its checksum.

use std::net::IpAddr;

/// Longest frame that is relayed, in bytes with the Ethernet header: a jumbo frame (9,000 bytes)
/// with two VLAN tags, rounded up.
pub const MAX_FRAME_BYTES: usize = 9216;
/// A full one of Ethernet, without its check sequence.
pub(crate) const FULL_FRAME_BYTES: u32 = 1514;

const ETHERNET_BYTES: usize = 14;
const ADDRESSES_BYTES: usize = 12;
const VLAN_TAG_BYTES: usize = 4;
/// More tags than any switch sends; bounds the loop.
const MAX_TAGS: usize = 4;
/// RFC 8504 lets a receiver limit the chain of extension headers; hosts in practice accept 8.
const MAX_EXTENSION_HEADERS: usize = 8;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_ICMPV6: u8 = 58;
/// Offset of the checksum in a UDP header: how an unfinished UDP checksum is recognised.
const UDP_CHECKSUM_OFFSET: usize = 6;

/// Summary of a frame: all that the link model sees of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameMeta {
    /// Length on the wire with the Ethernet header and tags, without the frame check sequence.
    pub bytes: u32,
    /// Subject to loss and tail drop; false for ARP and the like.
    pub lossy: bool,
    /// TCP segment with a payload.
    pub tcp_data: bool,
    /// Number of its TCP connection, in order of appearance; none while nobody asks for it.
    pub flow: Option<u32>,
}

/// Both ends of a TCP connection, the same for either direction: address (IPv4 in the first four
/// bytes) and port, the smaller end first.
pub type FlowKey = [([u8; 16], u16); 2];

/// A VLAN tag that the kernel took out of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanTag {
    /// Tag protocol identifier, in host order.
    pub tpid: u16,
    /// Priority and VLAN number, in host order.
    pub tci: u16,
}

/// Kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// ARP, anything else that is not IP, or IPv6 neighbour discovery.
    pub link_control: bool,
    /// TCP segment with a payload.
    pub tcp_data: bool,
}

/// Source and destination of an IP packet; none for all other frames.
pub fn addresses(frame: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let (ethertype, packet) = network_layer(frame)?;
    fn pair<const N: usize>(packet: &[u8], at: usize) -> Option<(IpAddr, IpAddr)>
    where
        IpAddr: From<[u8; N]>,
    {
        let (source, rest) = packet.get(at..)?.split_first_chunk::<N>()?;
        let destination = rest.first_chunk::<N>()?;
        Some((IpAddr::from(*source), IpAddr::from(*destination)))
    }
    match ethertype {
        ETHERTYPE_IPV4 => pair::<4>(packet, 12),
        _ => pair::<16>(packet, 8),
    }
}

/// What a frame holds, as far as it concerns the emulator.
enum Content<'a> {
    LinkControl,
    OtherIp,
    /// Both addresses, source first, and the segment without padding.
    Tcp {
        addresses: &'a [u8],
        segment: &'a [u8],
    },
}

/// Length of a frame with its tag back in place.
pub fn tagged_bytes(frame: &[u8], tag: Option<VlanTag>) -> usize {
    frame.len() + tag.map_or(0, |_| VLAN_TAG_BYTES)
}

/// Copies `frame` into `out`, which has [`tagged_bytes`], and puts `tag` where it was.
pub fn copy_with_tag(frame: &[u8], tag: Option<VlanTag>, out: &mut [u8]) {
    let Some(tag) = tag else {
        out.copy_from_slice(frame);
        return;
    };
    let (addresses, rest) = frame.split_at(ADDRESSES_BYTES);
    out[..ADDRESSES_BYTES].copy_from_slice(addresses);
    out[ADDRESSES_BYTES..][..2].copy_from_slice(&tag.tpid.to_be_bytes());
    out[ADDRESSES_BYTES + 2..][..2].copy_from_slice(&tag.tci.to_be_bytes());
    out[ADDRESSES_BYTES + VLAN_TAG_BYTES..].copy_from_slice(rest);
}

/// Finishes a checksum that the sender left to its network card: the field already holds the sum
/// of the pseudo-header, and the sum over everything from `start` on completes it. False if the
/// field does not lie in the frame.
pub fn finish_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let field = start.saturating_add(offset);
    if field.saturating_add(2) > frame.len() {
        return false;
    }
    let mut checksum = !ones_complement_sum(&frame[start..]);
    if checksum == 0 && offset == UDP_CHECKSUM_OFFSET {
        checksum = 0xffff; // zero means "no checksum" in UDP
    }
    frame[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// One's complement sum of the bytes as big-endian words, an odd last one padded with zero. Summed
/// in the machine's own order, four bytes at a time, and turned round at the end: the sum does not
/// depend on the order (RFC 1071, section 2).
pub(crate) fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(4);
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    let word = |w: &[u8]| u64::from(u32::from_ne_bytes([w[0], w[1], w[2], w[3]]));
    let mut sum = word(&last) + words.map(word).sum::<u64>();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    u16::from_be(sum as u16)
}

/// Tells what kind of frame this is; one that makes no sense counts as plain IP or link control,
/// whatever its EtherType says.
pub fn classify(frame: &[u8]) -> Kind {
    let content = content(frame);
    let tcp_data = match content {
        Content::Tcp { segment, .. } => has_tcp_payload(segment).unwrap_or(false),
        _ => false,
    };
    Kind {
        link_control: matches!(content, Content::LinkControl),
        tcp_data,
    }
}

/// The TCP connection that a frame belongs to; none for later fragments and all else.
pub fn flow_key(frame: &[u8]) -> Option<FlowKey> {
    let Content::Tcp { addresses, segment } = content(frame) else {
        return None;
    };
    let (source, destination) = addresses.split_at(addresses.len() / 2);
    let end = |address: &[u8], port| {
        let mut bytes = [0; 16];
        bytes[..address.len()].copy_from_slice(address);
        (bytes, port)
    };
    let mut ends = [
        end(source, be16(segment, 0)?),
        end(destination, be16(segment, 2)?),
    ];
    ends.sort_unstable();
    Some(ends)
}

/// The TCP segment in a frame, without padding; none for later fragments and all else.
pub(crate) fn tcp_segment(frame: &[u8]) -> Option<&[u8]> {
    match content(frame) {
        Content::Tcp { segment, .. } => Some(segment),
        _ => None,
    }
}

fn content(frame: &[u8]) -> Content<'_> {
    let content = match network_layer(frame) {
        Some((ETHERTYPE_IPV4, packet)) => ipv4_content(packet),
        Some((_, packet)) => ipv6_content(packet),
        None => return Content::LinkControl,
    };
    content.unwrap_or(Content::OtherIp)
}

/// EtherType and packet of a frame with IPv4 or IPv6 in it.
pub(crate) fn network_layer(frame: &[u8]) -> Option<(u16, &[u8])> {
    let mut ethertype_at = ADDRESSES_BYTES;
    for _ in 0..=MAX_TAGS {
        match be16(frame, ethertype_at)? {
            tag if ETHERTYPES_VLAN.contains(&tag) => ethertype_at += VLAN_TAG_BYTES,
            ip @ (ETHERTYPE_IPV4 | ETHERTYPE_IPV6) => {
                return Some((ip, frame.get(ethertype_at + 2..)?));
            }
            _ => break,
        }
    }
    None
}

fn ipv4_content(packet: &[u8]) -> Option<Content<'_>> {
    let header_bytes = usize::from(packet.first()? & 0x0f) * 4;
    let total_bytes = usize::from(be16(packet, 2)?);
    let fragment_offset = be16(packet, 6)? & 0x1fff;
    if packet.get(9) != Some(&PROTOCOL_TCP) || fragment_offset != 0 {
        return Some(Content::OtherIp);
    }
    Some(Content::Tcp {
        addresses: packet.get(12..20)?,
        // The total length, not the frame's: short frames are padded to 60 bytes.
        segment: packet.get(header_bytes..total_bytes.min(packet.len()))?,
    })
}

fn ipv6_content(packet: &[u8]) -> Option<Content<'_>> {
    const HEADER_BYTES: usize = 40;
    let payload_bytes = usize::from(be16(packet, 4)?);
    let mut next_header = *packet.get(6)?;
    let end = (HEADER_BYTES + payload_bytes).min(packet.len());
    let mut rest = packet.get(HEADER_BYTES..end)?;
    for _ in 0..=MAX_EXTENSION_HEADERS {
        let header_bytes = match next_header {
            PROTOCOL_TCP => {
                return Some(Content::Tcp {
                    addresses: &packet[8..HEADER_BYTES],
                    segment: rest,
                });
            }
            // RFC 4861: router and neighbour solicitations, advertisements and redirects.
            PROTOCOL_ICMPV6 if (133..=137).contains(rest.first()?) => {
                return Some(Content::LinkControl);
            }
            0 | 43 | 60 => (usize::from(*rest.get(1)?) + 1) * 8, // hop by hop, routing, destination
            44 if be16(rest, 2)? & 0xfff8 == 0 => 8,             // first fragment
            _ => break,
        };
        next_header = *rest.first()?;
        rest = rest.get(header_bytes..)?;
    }
    Some(Content::OtherIp)
}

fn has_tcp_payload(segment: &[u8]) -> Option<bool> {
    let header_bytes = usize::from(segment.get(12)? >> 4) * 4;
    Some(segment.len() > header_bytes)
}

pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..at + 2)
        .map(|b| u16::from_be_bytes([b[0], b[1]]))
}

/// Whether the bytes can be a frame at all.
pub fn is_frame(bytes: &[u8]) -> bool {
    bytes.len() >= ETHERNET_BYTES
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
