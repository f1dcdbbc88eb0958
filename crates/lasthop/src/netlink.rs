// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Lists that the kernel gives by netlink, whole, and requests that it answers with yes or no.

use std::fmt::Debug;

use anyhow::{Context, Result, anyhow};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

/// What the kernel's own tools read at a time; messages of a dump are no longer.
const DUMP_BYTES: usize = 64 << 10;

/// Asks for a list, and shows each entry to `take`. `protocol`: NETLINK_ROUTE and the like.
///
/// # Errors
/// A kernel without that protocol, no right to ask, or an answer that can't be read.
pub fn dump<T>(protocol: isize, ask: T, mut take: impl FnMut(T)) -> Result<()>
where
    T: NetlinkSerializable + NetlinkDeserializable + Debug,
{
    let socket = connect(protocol)?;
    send(&socket, NLM_F_DUMP, ask)?;
    let mut bytes = vec![0; DUMP_BYTES];
    loop {
        let length = socket.recv(&mut &mut bytes[..], 0)?;
        if entries(&bytes[..length], &mut take)? {
            return Ok(());
        }
    }
}

/// A socket that speaks with the kernel.
///
/// # Errors
/// A kernel without that protocol.
pub fn connect(protocol: isize) -> std::io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// Sends a message and waits for nothing. `flags`: NLM_F_CREATE and the like.
///
/// # Errors
/// The socket's.
pub fn send<T: NetlinkSerializable>(socket: &Socket, flags: u16, ask: T) -> std::io::Result<()> {
    let mut message =
        NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::InnerMessage(ask));
    message.header.flags = NLM_F_REQUEST | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0).map(drop)
}

/// Asks the kernel to change something, and waits for its word.
///
/// # Errors
/// The kernel's reason to refuse.
pub fn request<T>(protocol: isize, flags: u16, ask: T) -> std::io::Result<()>
where
    T: NetlinkSerializable + NetlinkDeserializable + Debug,
{
    request_on(&mut connect(protocol)?, flags, ask)
}

/// As [`request`], on a socket that is there, and on which nothing else is under way.
///
/// # Errors
/// As there.
pub fn request_on<T>(socket: &mut Socket, flags: u16, ask: T) -> std::io::Result<()>
where
    T: NetlinkSerializable + NetlinkDeserializable + Debug,
{
    send(socket, NLM_F_ACK | flags, ask)?;
    let mut bytes = vec![0; DUMP_BYTES];
    let length = socket.recv(&mut &mut bytes[..], 0)?;
    let answer = NetlinkMessage::<T>::deserialize(&bytes[..length])
        .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string()))?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}

/// Shows the entries of one datagram to `take`. True: that was the last one.
pub fn entries<T>(mut bytes: &[u8], take: &mut impl FnMut(T)) -> Result<bool>
where
    T: NetlinkDeserializable + Debug,
{
    while !bytes.is_empty() {
        let message = NetlinkMessage::<T>::deserialize(bytes).context("an unreadable entry")?;
        let length = (message.header.length as usize).next_multiple_of(4);
        match message.payload {
            NetlinkPayload::Done(done) if done.code < 0 => {
                return Err(std::io::Error::from_raw_os_error(-done.code).into());
            }
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => return Err(anyhow!(error.to_io())),
            NetlinkPayload::InnerMessage(entry) => take(entry),
            _ => {}
        }
        bytes = bytes.get(length.max(16)..).unwrap_or_default();
    }
    Ok(false)
}
