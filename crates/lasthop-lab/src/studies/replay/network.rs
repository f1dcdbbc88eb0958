// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The IP packets in Ethernet frames.

use std::net::IpAddr;

use etherparse::{LaxNetSlice, LaxSlicedPacket};

/// An IP packet, and between whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpPacket<'a> {
    /// From the IP header on.
    pub bytes: &'a [u8],
    pub from: IpAddr,
    pub to: IpAddr,
}

/// The IP packet in a frame, behind any VLAN tags: those of the two devices may differ. None if
/// it is neither IPv4 nor IPv6.
pub fn ip_packet(frame: &[u8]) -> Option<IpPacket<'_>> {
    let frame = LaxSlicedPacket::from_ethernet(frame).ok()?;
    let (from, to): (IpAddr, IpAddr) = match frame.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            (
                header.source_addr().into(),
                header.destination_addr().into(),
            )
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            (
                header.source_addr().into(),
                header.destination_addr().into(),
            )
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let bytes = frame.ether_payload()?.payload;
    Some(IpPacket { bytes, from, to })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_skipped() {
        let mut frame = vec![0; 12];
        frame.extend([0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 0x08, 0]);
        let header = [
            0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 10, 2, 0, 2,
        ];
        frame.extend(header);
        let packet = ip_packet(&frame).unwrap();
        assert_eq!(packet.bytes, header);
        assert_eq!(packet.from, IpAddr::from([192, 0, 2, 1]));
        assert_eq!(packet.to, IpAddr::from([10, 2, 0, 2]));
        assert_eq!(ip_packet(&[0; 14]), None);
        assert_eq!(ip_packet(&frame[..21]), None);
    }
}
