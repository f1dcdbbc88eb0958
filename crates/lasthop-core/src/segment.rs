// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A packet's headers as plain values, parsed by the core (core/segment.h).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bindings::{
    LH_ACK, LH_FIN, LH_PARSED_FRAGMENT, LH_PARSED_NOT_TCP, LH_PARSED_TCP, LH_RST, LH_SYN,
    lh_flow_key, lh_sack_block, lh_segment, lhc_before, lhc_edit_strip, lhc_parse,
};

/// One TCP segment; all numbers in host byte order (core/segment.h).
pub type Segment = lh_segment;

/// Names a connection from the agent's place (core/segment.h).
pub type Key = lh_flow_key;

/// Why a packet is none of the agent's business. It is forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// Not IP, not TCP, or an unknown layer in between.
    NotTcp,
    /// An IPv4 or IPv6 fragment.
    Fragment,
    /// Headers that contradict themselves or the packet's length.
    Malformed,
}

/// Parses a whole packet. `l2_bytes`: 14 with an Ethernet header, 0 without.
/// `vlan`: a tag that the device keeps beside the packet. `to_mh`:
/// the packet leaves towards the lossy link.
pub fn parse(
    packet: &[u8],
    l2_bytes: u32,
    vlan: Option<u16>,
    to_mh: bool,
) -> Result<(Segment, Key), Bypass> {
    parse_part(packet, packet.len(), l2_bytes, vlan, to_mh)
}

/// The same of the beginning of a packet that is `bytes` long, all headers in it.
pub fn parse_part(
    packet: &[u8],
    bytes: usize,
    l2_bytes: u32,
    vlan: Option<u16>,
    to_mh: bool,
) -> Result<(Segment, Key), Bypass> {
    let mut segment = Segment::default();
    let mut key = Key::default();
    let len = u32::try_from(packet.len()).map_err(|_| Bypass::Malformed)?;
    let bytes = u32::try_from(bytes).map_err(|_| Bypass::Malformed)?;
    // SAFETY: `packet` is readable for `len` bytes and the core reads no more
    // than that; `segment` and `key` are ours alone.
    let parsed = unsafe {
        lhc_parse(
            packet.as_ptr(),
            len,
            bytes,
            l2_bytes,
            vlan.map_or(0, u32::from),
            u32::from(to_mh),
            &mut segment,
            &mut key,
        )
    };
    match parsed as u32 {
        LH_PARSED_TCP => Ok((segment, key)),
        LH_PARSED_NOT_TCP => Err(Bypass::NotTcp),
        LH_PARSED_FRAGMENT => Err(Bypass::Fragment),
        _ => Err(Bypass::Malformed),
    }
}

/// Overwrites the option by which the other agent of a hop tells what it misses, which must not get
/// past the hop. `packet` is what `segment` was parsed from. @return whether it was there.
pub fn strip(packet: &mut [u8], segment: &Segment) -> bool {
    let bytes = packet.len() as u32;
    // SAFETY: the length is that of the slice, the rest is read only.
    unsafe { lhc_edit_strip(packet.as_mut_ptr(), bytes, segment) != 0 }
}

/// The core's own `a < b` on sequence numbers (RFC 9293 section 3.4).
pub fn seq_before(a: u32, b: u32) -> bool {
    // SAFETY: a pure function of two numbers.
    unsafe { lhc_before(a, b) != 0 }
}

impl lh_segment {
    fn has(&self, flag: u32) -> bool {
        u32::from(self.flags) & flag != 0
    }

    /// SYN is set.
    pub fn is_syn(&self) -> bool {
        self.has(LH_SYN)
    }

    /// FIN is set.
    pub fn is_fin(&self) -> bool {
        self.has(LH_FIN)
    }

    /// RST is set.
    pub fn is_rst(&self) -> bool {
        self.has(LH_RST)
    }

    /// ACK is set.
    pub fn is_ack(&self) -> bool {
        self.has(LH_ACK)
    }

    /// The SACK blocks, a DSACK among them if `dsack` is 1.
    pub fn sack_blocks(&self) -> &[lh_sack_block] {
        &self.sack[..usize::from(self.nr_sack).min(self.sack.len())]
    }
}

impl lh_flow_key {
    fn addr(&self, bytes: &[u8; 16]) -> IpAddr {
        match self.family {
            4 => IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])),
            _ => IpAddr::V6(Ipv6Addr::from(*bytes)),
        }
    }

    /// The same connection as the agent at the hop's other end names it.
    pub fn from_the_other_end(&self) -> Self {
        Self {
            mh: self.fh,
            fh: self.mh,
            mh_port: self.fh_port,
            fh_port: self.mh_port,
            ..*self
        }
    }

    /// Address of the mobile host, on the lossy side.
    pub fn mh_addr(&self) -> IpAddr {
        self.addr(&self.mh)
    }

    /// Address of the fixed host.
    pub fn fh_addr(&self) -> IpAddr {
        self.addr(&self.fh)
    }
}

impl fmt::Display for lh_flow_key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fh = std::net::SocketAddr::new(self.fh_addr(), self.fh_port);
        let mh = std::net::SocketAddr::new(self.mh_addr(), self.mh_port);
        write!(f, "{fh} > {mh}")?;
        for tag in self.vlan.iter().filter(|&&tag| tag != 0) {
            write!(f, " vlan {}", tag & 0xfff)?;
        }
        Ok(())
    }
}
