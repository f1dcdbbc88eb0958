// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How long after the ACK that asked for it a repair goes out, by a capture of the lossy device.
//!
//! An ACK asks where it has SACK blocks above its number (RFC 2018): the segment at that number is
//! missing, and what the blocks cover had departed later. A repair is a segment that went out once more
//! as it was; a sender's retransmission has another timestamp or IP identification. Where no ACK asks
//! the timer does, and when it is due no capture tells: those repairs don't count here.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TcpSlice, TransportSlice};
use lasthop_lab::replay::capture::Capture;

/// Addresses and ports, MH's first.
type Key = (Vec<u8>, Vec<u8>, u16, u16);
/// Sequence number, payload in bytes, IP identification, timestamp.
type Segment = (u32, usize, u16, u32);

/// What is known of a connection.
#[derive(Default)]
struct Line {
    /// What went out.
    sent: HashSet<Segment>,
    /// First sequence numbers of what went out again as it was.
    repaired: HashSet<u32>,
    /// The segment that MH asks for, and since when.
    asked: Option<(u32, u64)>,
}

/// Times from asking to the repair, in ns, in order.
pub struct RepairTimes {
    sorted_ns: Vec<u64>,
    /// Packets that the capture has.
    pub packets: u64,
    /// Repairs, whether asked for or by the timer.
    pub repairs: u64,
}

impl RepairTimes {
    /// Of a capture of the device towards MH, both ways, headers at least.
    pub fn of(path: &Path, is_mh: impl Fn(&[u8]) -> bool) -> anyhow::Result<Self> {
        let mut capture = Capture::open(path)?;
        let mut lines = Lines::default();
        let mut times = Self {
            sorted_ns: Vec::new(),
            packets: 0,
            repairs: 0,
        };
        while let Some(frame) = capture.next_frame()? {
            times.packets += 1;
            let found = lines.see(&frame.bytes, frame.at_ns, &is_mh);
            times.sorted_ns.extend(found);
        }
        times.sorted_ns.sort_unstable();
        let repaired = lines.of.values().map(|line| line.repaired.len() as u64);
        times.repairs = repaired.sum();
        Ok(times)
    }

    /// How many were asked for.
    pub fn asked(&self) -> usize {
        self.sorted_ns.len()
    }

    /// How many of these came no later than that.
    pub fn within(&self, most_ns: u64) -> usize {
        self.sorted_ns.partition_point(|ns| *ns <= most_ns)
    }

    /// The latest of those that came no later than that.
    pub fn latest_ns(&self, most_ns: u64) -> u64 {
        let within = &self.sorted_ns[..self.within(most_ns)];
        within.last().copied().unwrap_or(0)
    }
}

#[derive(Default)]
struct Lines {
    of: HashMap<Key, Line>,
}

impl Lines {
    /// Takes note of a packet; of a repair that was asked for says how long ago.
    fn see(&mut self, bytes: &[u8], at_ns: u64, is_mh: &impl Fn(&[u8]) -> bool) -> Option<u64> {
        // Payloads are cut off: lengths by the headers alone.
        let packet = SlicedPacket::from_ethernet(bytes).ok()?;
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else {
            return None;
        };
        let (from, to, id, ip_bytes) = match packet.net? {
            NetSlice::Ipv4(ip) => {
                let ip = ip.header();
                let bytes = usize::from(ip.total_len()) - usize::from(ip.ihl()) * 4;
                let ends = (ip.source().to_vec(), ip.destination().to_vec());
                (ends.0, ends.1, ip.identification(), bytes)
            }
            NetSlice::Ipv6(ip) => {
                let ip = ip.header();
                let ends = (ip.source().to_vec(), ip.destination().to_vec());
                (ends.0, ends.1, 0, usize::from(ip.payload_length()))
            }
            NetSlice::Arp(_) => return None,
        };
        let payload_bytes = ip_bytes.checked_sub(usize::from(tcp.data_offset()) * 4)?;
        if is_mh(&from) {
            let key = (from, to, tcp.source_port(), tcp.destination_port());
            self.of.entry(key).or_default().hear(&tcp, at_ns);
            return None;
        }
        let key = (to, from, tcp.destination_port(), tcp.source_port());
        let segment = (tcp.sequence_number(), payload_bytes, id, tsval(&tcp));
        let line = self.of.entry(key).or_default();
        (payload_bytes > 0).then(|| line.send(segment, at_ns))?
    }
}

impl Line {
    fn hear(&mut self, tcp: &TcpSlice<'_>, at_ns: u64) {
        let ack = tcp.acknowledgment_number();
        if !asks(tcp) || self.repaired.contains(&ack) {
            self.asked = None; // or was repaired when it was not the lowest hole yet
        } else if self.asked.is_none_or(|(seq, _)| seq != ack) {
            self.asked = Some((ack, at_ns));
        }
    }

    fn send(&mut self, segment: Segment, at_ns: u64) -> Option<u64> {
        if self.sent.insert(segment) {
            return None;
        }
        let seq = segment.0;
        self.repaired.insert(seq);
        let (_, since_ns) = self.asked.take_if(|(asked, _)| *asked == seq)?;
        Some(at_ns.saturating_sub(since_ns))
    }
}

/// Whether the ACK tells of something above its number.
fn asks(tcp: &TcpSlice<'_>) -> bool {
    let ack = tcp.acknowledgment_number();
    let above = |left: u32| left.wrapping_sub(ack) as i32 > 0;
    tcp.options_iterator().flatten().any(|option| match option {
        TcpOptionElement::SelectiveAcknowledgement(first, more) => {
            above(first.0) || more.iter().flatten().any(|block| above(block.0))
        }
        _ => false,
    })
}

fn tsval(tcp: &TcpSlice<'_>) -> u32 {
    let found = tcp
        .options_iterator()
        .flatten()
        .find_map(|option| match option {
            TcpOptionElement::Timestamp(value, _) => Some(value),
            _ => None,
        });
    found.unwrap_or(0)
}

#[test]
fn repairs_are_told_from_retransmissions() {
    use etherparse::{IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, PacketBuilder};
    const FH: [u8; 4] = [10, 1, 0, 2];
    const MH: [u8; 4] = [10, 2, 0, 2];
    let frame = |from: [u8; 4], to: [u8; 4], id: u16, fill: &dyn Fn(&mut etherparse::TcpHeader)| {
        let mut ip = Ipv4Header::new(0, 64, IpNumber::TCP, from, to).expect("no payload");
        ip.identification = id;
        let mut tcp = etherparse::TcpHeader::new(80, 80, 0, 1000);
        fill(&mut tcp);
        let ip = IpHeaders::Ipv4(ip, Ipv4Extensions::default());
        let payload = vec![0; if from == FH { 100 } else { 0 }];
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ethernet2([0; 6], [1; 6]).ip(ip);
        builder
            .tcp_header(tcp)
            .write(&mut bytes, &payload)
            .expect("a vector");
        bytes
    };
    let data = |seq: u32, id: u16| frame(FH, MH, id, &|tcp| tcp.sequence_number = seq);
    let ack = |number: u32, sacked: Option<(u32, u32)>| {
        frame(MH, FH, 0, &|tcp| {
            (tcp.ack, tcp.acknowledgment_number) = (true, number);
            let block =
                sacked.map(|block| TcpOptionElement::SelectiveAcknowledgement(block, [None; 3]));
            tcp.set_options(block.as_slice()).expect("room");
        })
    };
    let mut lines = Lines::default();
    let mut see = |at_ns: u64, bytes: Vec<u8>| lines.see(&bytes, at_ns, &|from: &[u8]| from == MH);
    assert_eq!(see(1_000, data(1, 7)), None);
    assert_eq!(see(2_000, data(101, 8)), None);
    assert_eq!(see(3_000, data(201, 9)), None);
    assert_eq!(see(50_000, ack(1, Some((101, 201)))), None);
    assert_eq!(see(51_000, ack(1, Some((101, 301)))), None, "the same");
    assert_eq!(see(52_000, data(1, 10)), None, "the sender's own");
    assert_eq!(see(50_400, data(1, 7)), Some(400));
    assert_eq!(see(60_000, data(1, 7)), None, "was repaired");
    assert_eq!(see(70_000, ack(301, Some((1, 101)))), None, "a DSACK block");
    assert_eq!(see(71_000, data(301, 11)), None);
    assert_eq!(see(72_000, data(301, 11)), None, "nobody asked");
}
