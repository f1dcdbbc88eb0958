// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Builds TCP packets with valid checksums, for tests and fuzzers of every
//! host of the core.

use std::net::{IpAddr, SocketAddr};

use crate::bindings::LH_ACK;

/// CE (RFC 3168) in the IP header of a frame with an Ethernet header, and what goes with it.
///
/// # Panics
/// The frame is too short.
pub fn set_ce(frame: &mut [u8]) {
    if frame[14] >> 4 == 6 {
        frame[15] |= 0x30;
        return;
    }
    frame[15] |= 3;
    frame[24..26].fill(0);
    let sum = !checksum(&frame[14..34], 0);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
}

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The fixed host.
    pub fh: SocketAddr,
    /// The mobile host, on the lossy side. Of the same family.
    pub mh: SocketAddr,
}

impl Ends {
    /// Two IPv4 ends; `n` makes the connection unlike others.
    pub fn v4(n: u16) -> Self {
        Self {
            fh: SocketAddr::from(([192, 0, 2, 1], 80)),
            mh: SocketAddr::from(([198, 51, 100, 2], 40_000 + n)),
        }
    }

    /// Two IPv6 ends; `n` makes the connection unlike others.
    pub fn v6(n: u16) -> Self {
        Self {
            fh: SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 80)),
            mh: SocketAddr::from(([0x2001, 0xdb8, 1, 0, 0, 0, 0, 2], 40_000 + n)),
        }
    }
}

/// What goes into a packet. The defaults are a bare ACK over IP without a
/// layer 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// `LH_SYN` and its kin.
    pub flags: u32,
    /// As in the header, not scaled.
    pub window: u16,
    /// TCP options; padded with zeros to a multiple of four.
    pub options: Vec<u8>,
    /// What the segment carries.
    pub payload: Vec<u8>,
    /// The ECN field of the IP header (RFC 3168 section 5): 2 for ECT(0), 3 for CE.
    pub ecn: u8,
    /// IPv4 options, a multiple of four bytes.
    pub ip_options: Vec<u8>,
    /// IPv6 extension headers: kind, and contents from the third byte on, which
    /// with the first two are a multiple of eight bytes.
    pub extensions: Vec<(u8, Vec<u8>)>,
    /// Whether there is an Ethernet header.
    pub ethernet: bool,
    /// VLAN tags of the Ethernet header, outer first: TPID, TCI.
    pub vlans: Vec<(u16, u16)>,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            seq: 0,
            ack: 0,
            flags: LH_ACK,
            window: 65_535,
            options: Vec::new(),
            payload: Vec::new(),
            ecn: 0,
            ip_options: Vec::new(),
            extensions: Vec::new(),
            ethernet: false,
            vlans: Vec::new(),
        }
    }
}

impl Tcp {
    /// The packet from FH to MH.
    pub fn to_mh(&self, ends: &Ends) -> Vec<u8> {
        self.build(ends.fh, ends.mh)
    }

    /// The packet from MH to FH.
    pub fn to_fh(&self, ends: &Ends) -> Vec<u8> {
        self.build(ends.mh, ends.fh)
    }

    fn build(&self, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
        let tcp = self.tcp(from, to);
        let mut packet = self.layer2(from.is_ipv6());
        match (from.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                packet.extend(self.ipv4(from.octets(), to.octets(), tcp.len()));
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                packet.extend(self.ipv6(from.octets(), to.octets(), tcp.len()));
            }
            _ => panic!("both ends must be of one family"),
        }
        packet.extend(tcp);
        packet
    }

    fn layer2(&self, v6: bool) -> Vec<u8> {
        let mut l2 = Vec::new();
        if !self.ethernet {
            return l2;
        }
        l2.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        for (tpid, tci) in &self.vlans {
            l2.extend(tpid.to_be_bytes());
            l2.extend(tci.to_be_bytes());
        }
        l2.extend(if v6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        l2
    }

    fn ipv4(&self, from: [u8; 4], to: [u8; 4], l4_bytes: usize) -> Vec<u8> {
        let ihl = 20 + self.ip_options.len();
        let mut ip = vec![0x40 | (ihl / 4) as u8, self.ecn];
        ip.extend(((ihl + l4_bytes) as u16).to_be_bytes());
        ip.extend([0x12, 0x34, 0x40, 0, 64, 6, 0, 0]);
        ip.extend(from);
        ip.extend(to);
        ip.extend(&self.ip_options);
        let sum = !checksum(&ip, 0);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        ip
    }

    fn ipv6(&self, from: [u8; 16], to: [u8; 16], l4_bytes: usize) -> Vec<u8> {
        let mut kinds: Vec<u8> = self.extensions.iter().map(|(kind, _)| *kind).collect();
        kinds.push(6);
        let mut headers = Vec::new();
        for (i, (_, contents)) in self.extensions.iter().enumerate() {
            headers.push(kinds[i + 1]);
            headers.push(((contents.len() + 2) / 8 - 1) as u8);
            headers.extend(contents);
        }
        let mut ip = vec![0x60, self.ecn << 4, 0, 0];
        ip.extend(((headers.len() + l4_bytes) as u16).to_be_bytes());
        ip.extend([kinds[0], 64]);
        ip.extend(from);
        ip.extend(to);
        ip.extend(headers);
        ip
    }

    fn tcp(&self, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        let doff = (20 + options.len()) / 4;
        let mut tcp = Vec::new();
        tcp.extend(from.port().to_be_bytes());
        tcp.extend(to.port().to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend(((doff << 12) as u16 | self.flags as u16).to_be_bytes());
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.extend(&self.payload);
        let sum = !checksum(&tcp, pseudo_sum(from.ip(), to.ip(), tcp.len()));
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        tcp
    }
}

/// The sum of the pseudo-header (RFC 9293 section 3.1, RFC 8200 section 8.1).
fn pseudo_sum(from: IpAddr, to: IpAddr, l4_bytes: usize) -> u32 {
    let mut pseudo = Vec::new();
    for addr in [from, to] {
        match addr {
            IpAddr::V4(addr) => pseudo.extend(addr.octets()),
            IpAddr::V6(addr) => pseudo.extend(addr.octets()),
        }
    }
    pseudo.extend((l4_bytes as u32).to_be_bytes());
    pseudo.extend([0, 0, 0, 6]);
    u32::from(checksum(&pseudo, 0))
}

/// One's complement sum of 16-bit words (RFC 1071), added to `sum`.
pub fn checksum(bytes: &[u8], sum: u32) -> u16 {
    let mut sum = sum;
    for word in bytes.chunks(2) {
        let low = word.get(1).copied().unwrap_or(0);
        sum += u32::from(u16::from_be_bytes([word[0], low]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Whether the TCP checksum of a packet without layer 2 is right.
pub fn checksum_ok(packet: &[u8]) -> bool {
    let (from, to, l4): (IpAddr, IpAddr, usize) = match packet.first().map(|b| b >> 4) {
        Some(4) => {
            let addr = |at: usize| -> [u8; 4] { packet[at..at + 4].try_into().expect("4 bytes") };
            let l4 = usize::from(packet[0] & 15) * 4;
            (addr(12).into(), addr(16).into(), l4)
        }
        Some(6) => {
            let addr =
                |at: usize| -> [u8; 16] { packet[at..at + 16].try_into().expect("16 bytes") };
            (addr(8).into(), addr(24).into(), 40)
        }
        _ => return false,
    };
    let tcp = &packet[l4..];
    checksum(tcp, pseudo_sum(from, to, tcp.len())) == 0xffff
}

/// The TCP options that the tests need.
pub mod option {
    use crate::bindings::{LH_MISSING_EXID, LH_MISSING_KIND};

    /// Maximum segment size.
    pub fn mss(bytes: u16) -> Vec<u8> {
        let b = bytes.to_be_bytes();
        vec![2, 4, b[0], b[1]]
    }

    /// Window scale.
    pub fn wscale(shift: u8) -> Vec<u8> {
        vec![3, 3, shift]
    }

    /// SACK permitted.
    pub fn sack_ok() -> Vec<u8> {
        vec![4, 2]
    }

    /// SACK blocks.
    pub fn sack(blocks: &[(u32, u32)]) -> Vec<u8> {
        let mut o = vec![5, (2 + 8 * blocks.len()) as u8];
        o.extend(numbers(blocks));
        o
    }

    fn numbers(blocks: &[(u32, u32)]) -> impl Iterator<Item = u8> {
        let ends = blocks.iter().flat_map(|&(left, right)| [left, right]);
        ends.flat_map(u32::to_be_bytes)
    }

    /// Timestamps.
    pub fn timestamps(tsval: u32, tsecr: u32) -> Vec<u8> {
        let mut o = vec![8, 10];
        o.extend(tsval.to_be_bytes());
        o.extend(tsecr.to_be_bytes());
        o
    }

    /// What agents ask each other for on the hop: `[left, right)` of each.
    pub fn missing(blocks: &[(u32, u32)]) -> Vec<u8> {
        let exid = (LH_MISSING_EXID as u16).to_be_bytes();
        let bytes = (4 + 8 * blocks.len()) as u8;
        let mut o = vec![LH_MISSING_KIND as u8, bytes, exid[0], exid[1]];
        o.extend(numbers(blocks));
        o
    }

    /// An option with `len` bytes in all.
    pub fn other(kind: u8, len: u8) -> Vec<u8> {
        let mut o = vec![kind, len];
        o.resize(usize::from(len.max(2)), 0xaa);
        o
    }
}
