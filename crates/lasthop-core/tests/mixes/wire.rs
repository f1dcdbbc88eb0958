// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What travels: data segments, ACKs, datagrams, as values. Offsets count bytes
//! from the start of a connection; the core sees them modulo 2^32 from a start
//! that lets the numbers come round.

use lasthop_core::Segment;
use lasthop_core::bindings::{LH_ACK, LH_OPT_SACK, LH_OPT_TS, LH_OPT_UNKNOWN, lh_sack_block};

pub const MSS: u32 = 1448;
/// Ethernet, IPv4 and TCP headers with timestamps.
const HEADERS: u32 = 66;
pub const FRAME: u32 = MSS + HEADERS;
pub const NR_SACK: usize = 3;

pub type Block = (u64, u64);

/// A data segment.
#[derive(Debug, Clone, Copy)]
pub struct Data {
    pub seq: u64,
    pub len: u32,
    /// Microseconds are finer than Linux' milliseconds, and tell as much.
    pub tsval: u32,
    pub tsecr: u32,
    /// What FH has of MH's own bytes.
    pub mh_ack: u64,
}

/// What MH's ACKs carry besides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Carries {
    #[default]
    Nothing,
    /// So many bytes of MH's own: a game, a call, a shell.
    Payload(u32),
    /// An option that the agent doesn't know.
    Option,
}

/// A list of what is missing beyond the hop, as the agents have it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Missing {
    pub blocks: [lh_sack_block; 4],
    pub nr: u8,
}

/// A pure ACK.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ack {
    pub ack: u64,
    /// As in the header.
    pub window: u16,
    pub blocks: [Block; NR_SACK],
    pub nr_blocks: usize,
    pub dsack: bool,
    pub tsval: u32,
    pub tsecr: u32,
    pub carries: Carries,
    /// The first of MH's own bytes.
    pub mh_seq: u64,
    /// What the agent at MH adds: what the hop has lost.
    pub missing: Missing,
}

impl Ack {
    pub fn payload_bytes(&self) -> u32 {
        match self.carries {
            Carries::Payload(bytes) => bytes,
            _ => 0,
        }
    }

    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..self.nr_blocks]
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Body {
    Data(Data),
    Ack(Ack),
    /// From the agent at MH to the one at the router.
    Told(Missing),
    Datagram,
}

/// What queues and travels.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    pub flow: usize,
    pub body: Body,
    pub bytes: u32,
}

impl Packet {
    pub fn data(flow: usize, data: Data) -> Self {
        Self {
            flow,
            body: Body::Data(data),
            bytes: data.len + HEADERS,
        }
    }

    pub fn ack(flow: usize, ack: Ack) -> Self {
        let sack = match ack.nr_blocks {
            0 => 0,
            n => 4 + 8 * n as u32,
        };
        Self {
            flow,
            body: Body::Ack(ack),
            bytes: HEADERS + sack + ack.payload_bytes() + option_bytes(ack.missing.nr),
        }
    }

    /// Ethernet, IPv4, UDP, and what a message has.
    pub fn told(flow: usize, missing: Missing) -> Self {
        Self {
            flow,
            body: Body::Told(missing),
            bytes: 200,
        }
    }

    pub fn datagram(flow: usize) -> Self {
        Self {
            flow,
            body: Body::Datagram,
            bytes: FRAME,
        }
    }
}

fn option_bytes(nr_missing: u8) -> u32 {
    match nr_missing {
        0 => 0,
        n => 4 + 8 * u32::from(n),
    }
}

/// How a connection's offsets look on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    pub start: u32,
}

impl Numbers {
    pub fn wire(self, offset: u64) -> u32 {
        self.start.wrapping_add(offset as u32)
    }

    /// An acknowledgement with timestamps over IPv4.
    fn segment(tsval: u32, tsecr: u32) -> Segment {
        Segment {
            tsval,
            tsecr,
            flags: LH_ACK as u16,
            l4_offset: 20,
            hdr_bytes: 52,
            opts: LH_OPT_TS as u8,
            wscale: 255,
            ..Segment::default()
        }
    }

    pub fn data(self, d: &Data) -> Segment {
        Segment {
            seq: self.wire(d.seq),
            end: self.wire(d.seq + u64::from(d.len)),
            ack: 1u32.wrapping_add(d.mh_ack as u32),
            payload_bytes: d.len,
            window: 512,
            ..Self::segment(d.tsval, d.tsecr)
        }
    }

    pub fn ack(self, a: &Ack) -> Segment {
        let mh_seq = 1u32.wrapping_add(a.mh_seq as u32);
        let mut s = Segment {
            seq: mh_seq,
            end: mh_seq.wrapping_add(a.payload_bytes()),
            payload_bytes: a.payload_bytes(),
            ack: self.wire(a.ack),
            window: a.window,
            ..Self::segment(a.tsval, a.tsecr)
        };
        for (to, from) in s.sack.iter_mut().zip(a.blocks()) {
            *to = lh_sack_block {
                left: self.wire(from.0),
                right: self.wire(from.1),
            };
        }
        s.nr_sack = a.nr_blocks as u8;
        s.dsack = u8::from(a.dsack);
        s.missing = a.missing.blocks;
        s.nr_missing = a.missing.nr;
        if a.nr_blocks > 0 {
            s.opts |= LH_OPT_SACK as u8;
        }
        if a.carries == Carries::Option {
            s.opts |= LH_OPT_UNKNOWN as u8;
        }
        s
    }
}

/// A small generator (splitmix64): the same seed, the same run.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.unit() < p
    }
}
