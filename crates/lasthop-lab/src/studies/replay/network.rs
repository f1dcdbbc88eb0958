// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which packets are the mobile hosts'.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

const VLAN_TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];

/// Addresses that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// Whether the address is one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                (ours.to_bits() ^ other.to_bits()) & mask == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                let host_bits = 128 - u32::from(self.bits);
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                (ours.to_bits() ^ other.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!("`{text}` is no address or prefix: write for example 10.2.0.0/24 or fd02::2")
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| bad())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most {
            return Err(bad());
        }
        Ok(Self { address, bits })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// The IP packet in an Ethernet frame, behind any VLAN tags: those of the two devices may differ.
/// None if it is neither IPv4 nor IPv6.
pub fn ip_packet(frame: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    while VLAN_TAGS
        .iter()
        .any(|tag| frame.get(at..at + 2) == Some(tag))
    {
        at += 4;
    }
    match frame.get(at..at + 2)? {
        [0x08, 0x00] | [0x86, 0xdd] => frame.get(at + 2..),
        _ => None,
    }
}

/// Source and destination of an IP packet.
pub fn addresses(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let address = |at| Some(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?.into());
            let (from, to): (Ipv4Addr, Ipv4Addr) = (address(12)?, address(16)?);
            Some((from.into(), to.into()))
        }
        6 => {
            let address = |at| Some(<[u8; 16]>::try_from(packet.get(at..at + 16)?).ok()?.into());
            let (from, to): (Ipv6Addr, Ipv6Addr) = (address(8)?, address(24)?);
            Some((from.into(), to.into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        let contains = |prefix: &str, address: &str| {
            let prefix: Prefix = prefix.parse().unwrap();
            prefix.contains(address.parse().unwrap())
        };
        assert!(contains("10.2.0.0/24", "10.2.0.255"));
        assert!(!contains("10.2.0.0/24", "10.2.1.0"));
        assert!(contains("10.2.0.2", "10.2.0.2") && !contains("10.2.0.2", "10.2.0.3"));
        assert!(contains("0.0.0.0/0", "1.2.3.4") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("fd02::/64", "fd02::2") && !contains("fd02::/64", "fd01::2"));
        assert!(contains("::/0", "fd02::2"));
        for text in ["", "10.2.0.0/33", "10.2.0/24", "fd02::/x", "fd02::/129"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn tags_are_skipped() {
        let mut frame = vec![0; 12];
        frame.extend([0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 0x08, 0, 0x45]);
        assert_eq!(ip_packet(&frame), Some(&[0x45][..]));
        assert_eq!(ip_packet(&[0; 14]), None);
        assert_eq!(ip_packet(&frame[..13]), None);
    }
}
