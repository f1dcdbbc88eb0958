// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A netfilter queue (linux/netfilter/nfnetlink_queue.h), as far as `lasthop split` and the lab's
//! pass-through need one. The libraries that there are don't show the descriptor by which to wait
//! for it.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use anyhow::{Context, Result};
use netlink_packet_core::{
    DefaultNla, Emitable, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable, NlasIterator,
};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_NETFILTER;
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeVal;

use crate::netlink;

/// The subsystem's number, in a message type's upper byte.
const SUBSYSTEM: u16 = 3 << 8;
const PACKET: u16 = SUBSYSTEM;
const VERDICT: u16 = SUBSYSTEM | 1;
const CONFIG: u16 = SUBSYSTEM | 2;

/// Attributes of a configuration.
const CFG_CMD: u16 = 1;
const CFG_PARAMS: u16 = 2;
const CFG_QUEUE_MAXLEN: u16 = 3;
const CFG_MASK: u16 = 4;
const CFG_FLAGS: u16 = 5;
const CMD_BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// A full queue lets packets pass.
const FAIL_OPEN: u32 = 1;

/// Attributes of a packet and of a verdict.
const PACKET_HDR: u16 = 1;
const VERDICT_HDR: u16 = 2;
const MARK: u16 = 3;
const IFINDEX_INDEV: u16 = 5;
const PAYLOAD: u16 = 10;
const DROP: u32 = 0;
const ACCEPT: u32 = 1;

/// struct nfgenmsg: family, version, and the queue's number in network order.
const GENERIC_BYTES: usize = 4;
/// What a datagram of the queue's holds beside a packet's beginning, and some to spare.
const AROUND_BYTES: u32 = 1024;
/// What the kernel reckons for a datagram beside its bytes.
const OVERHEAD_BYTES: u32 = 1024;

/// A message of the subsystem.
#[derive(Debug)]
struct QueueMessage {
    kind: u16,
    queue: u16,
    attributes: Vec<DefaultNla>,
}

impl NetlinkSerializable for QueueMessage {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        GENERIC_BYTES + self.attributes.as_slice().buffer_len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..2].fill(0);
        buffer[2..GENERIC_BYTES].copy_from_slice(&self.queue.to_be_bytes());
        self.attributes
            .as_slice()
            .emit(&mut buffer[GENERIC_BYTES..]);
    }
}

/// Only the kernel's yes or no is read this way; packets are by [`Packet::parse`].
impl NetlinkDeserializable for QueueMessage {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, _: &[u8]) -> Result<Self, Infallible> {
        Ok(Self {
            kind: header.message_type,
            queue: 0,
            attributes: Vec::new(),
        })
    }
}

/// A packet that waits for a verdict.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet {
    id: u32,
    /// Interface index of the device that it came from; 0: none.
    pub from_device: u32,
    /// Its beginning, from the IP header on.
    pub bytes: Vec<u8>,
}

impl Packet {
    /// From a datagram of the kernel's; None: it is something else.
    fn parse(datagram: &[u8]) -> Option<Self> {
        let kind = u16::from_ne_bytes(datagram.get(4..6)?.try_into().ok()?);
        if kind != PACKET {
            return None;
        }
        let mut packet = Self {
            id: 0,
            from_device: 0,
            bytes: Vec::new(),
        };
        let word = |value: &[u8]| value.get(..4)?.try_into().ok().map(u32::from_be_bytes);
        for attribute in NlasIterator::new(datagram.get(16 + GENERIC_BYTES..)?) {
            let attribute = attribute.ok()?;
            match attribute.kind() {
                PACKET_HDR => packet.id = word(attribute.value())?,
                IFINDEX_INDEV => packet.from_device = word(attribute.value())?,
                PAYLOAD => packet.bytes = attribute.value().to_vec(),
                _ => {}
            }
        }
        Some(packet)
    }
}

/// What is to become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// None gets to see it.
    Drop,
    /// On its way as it is.
    Accept,
    /// On its way with this mark.
    Marked(u32),
}

/// What a full queue does with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// It goes on, past those that wait.
    Pass,
    /// It is dropped.
    Drop,
}

/// What a queue is opened with.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Its number, which rules name.
    pub number: u16,
    /// Most bytes that are copied of each packet.
    pub copy_bytes: u32,
    /// Packets that may wait.
    pub most: u32,
    /// What happens to others.
    pub when_full: WhenFull,
}

/// The queue. Packets that wait in it go on when it is dropped (`bypass`, in the rules).
pub struct Queue {
    socket: Socket,
    number: u16,
    buffer: Vec<u8>,
}

impl AsRawFd for Queue {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Queue {
    /// Opens it, of the calling thread's network namespace, where only one process can have it.
    ///
    /// # Errors
    /// No right to, a kernel without such queues, or one that somebody else has.
    pub fn open(setup: &Setup) -> Result<Self> {
        let mut socket = netlink::connect(NETLINK_NETFILTER)?;
        let mut params = setup.copy_bytes.to_be_bytes().to_vec();
        params.push(COPY_PACKET);
        let configure = |attributes| QueueMessage {
            kind: CONFIG,
            queue: setup.number,
            attributes,
        };
        let bind = configure(vec![DefaultNla::new(CFG_CMD, vec![CMD_BIND, 0, 0, 0])]);
        netlink::request_on(&mut socket, 0, bind).context(
            "netfilter queue: the kernel has none (nfnetlink_queue), or another process of this network namespace has it",
        )?;
        let flags = match setup.when_full {
            WhenFull::Pass => FAIL_OPEN,
            WhenFull::Drop => 0,
        };
        let settings = configure(vec![
            DefaultNla::new(CFG_PARAMS, params),
            DefaultNla::new(CFG_QUEUE_MAXLEN, setup.most.to_be_bytes().to_vec()),
            DefaultNla::new(CFG_FLAGS, flags.to_be_bytes().to_vec()),
            DefaultNla::new(CFG_MASK, FAIL_OPEN.to_be_bytes().to_vec()),
        ]);
        netlink::request_on(&mut socket, 0, settings).context("netfilter queue: settings")?;
        // Room for as many as may wait; with less the queue is full before it says so.
        let datagram_bytes = (setup.copy_bytes + AROUND_BYTES) as usize;
        let room_bytes = setup.most as usize * (datagram_bytes + OVERHEAD_BYTES as usize);
        if let Err(error) = setsockopt(&socket, sockopt::RcvBufForce, &room_bytes) {
            tracing::debug!("netfilter queue: room for {room_bytes} bytes: {error}");
        }
        socket.set_non_blocking(true)?;
        Ok(Self {
            socket,
            number: setup.number,
            buffer: vec![0; datagram_bytes],
        })
    }

    /// From now on [`Queue::receive`] waits so long for a packet before it says that there is none.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait_for_packets(&mut self, patience: Duration) -> io::Result<()> {
        self.socket.set_non_blocking(false)?;
        let patience = TimeVal::new(patience.as_secs() as i64, patience.subsec_micros().into());
        Ok(setsockopt(
            &self.socket,
            sockopt::ReceiveTimeout,
            &patience,
        )?)
    }

    /// The next packet, None: a message that is none.
    ///
    /// # Errors
    /// `WouldBlock`: there is none; ENOBUFS: some went on, or were dropped, by themselves.
    pub fn receive(&mut self) -> io::Result<Option<Packet>> {
        let length = self.socket.recv(&mut &mut self.buffer[..], 0)?;
        Ok(Packet::parse(&self.buffer[..length]))
    }

    /// Sends a packet on its way, or drops it.
    ///
    /// # Errors
    /// The socket's.
    pub fn decide(&mut self, packet: &Packet, decision: Decision) -> io::Result<()> {
        let (verdict, mark) = match decision {
            Decision::Drop => (DROP, None),
            Decision::Accept => (ACCEPT, None),
            Decision::Marked(mark) => (ACCEPT, Some(mark)),
        };
        let mut header = verdict.to_be_bytes().to_vec();
        header.extend(packet.id.to_be_bytes());
        let mut attributes = vec![DefaultNla::new(VERDICT_HDR, header)];
        attributes.extend(mark.map(|mark| DefaultNla::new(MARK, mark.to_be_bytes().to_vec())));
        let message = QueueMessage {
            kind: VERDICT,
            queue: self.number,
            attributes,
        };
        netlink::send(&self.socket, 0, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(kind: u16, attributes: &[DefaultNla]) -> Vec<u8> {
        let mut bytes = vec![0; 16 + GENERIC_BYTES + attributes.buffer_len()];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        attributes.emit(&mut bytes[16 + GENERIC_BYTES..]);
        bytes
    }

    #[test]
    fn a_packet_is_read() {
        let attributes = [
            DefaultNla::new(PACKET_HDR, vec![0, 0, 1, 2, 8, 0, 0]),
            DefaultNla::new(IFINDEX_INDEV, vec![0, 0, 0, 7]),
            DefaultNla::new(PAYLOAD, vec![0x45, 0, 0]),
        ];
        let packet = Packet::parse(&datagram(PACKET, &attributes)).unwrap();
        assert_eq!((packet.id, packet.from_device), (0x102, 7));
        assert_eq!(packet.bytes, [0x45, 0, 0]);
    }

    #[test]
    fn other_messages_and_broken_ones_are_not() {
        assert_eq!(Packet::parse(&datagram(VERDICT, &[])), None);
        let whole = datagram(PACKET, &[DefaultNla::new(PACKET_HDR, vec![0; 7])]);
        for length in 0..whole.len() {
            let _ = Packet::parse(&whole[..length]);
        }
        assert_eq!(Packet::parse(&whole[..whole.len() - 4]), None);
    }
}
