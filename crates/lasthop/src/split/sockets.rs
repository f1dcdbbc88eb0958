// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Sockets with other hosts' addresses (IP_TRANSPARENT).

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::rules;

/// Connections that wait to be accepted; the kernel's own limit is net.core.somaxconn.
const BACKLOG: i32 = 4096;
/// A host that is gone is missed after this and six more tries: its keepalives end here, like ours.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_AGAIN: Duration = Duration::from_secs(10);
const KEEPALIVE_TRIES: u32 = 6;

/// Of linux/tcp_states.h: FIN-WAIT-1, LAST-ACK, CLOSING.
const CLOSING: [u8; 3] = [4, 9, 11];

/// What is set of each socket.
#[derive(Debug, Clone)]
pub(super) struct Tuning {
    /// Most that waits in a socket without having been sent, bytes.
    pub(super) unsent_bytes: u32,
    /// Congestion control towards the lossy link; None: the machine's.
    pub(super) cc: Option<String>,
}

/// A socket that may have any address.
fn transparent(domain: Domain) -> io::Result<Socket> {
    let socket = Socket::new(
        domain,
        Type::STREAM.nonblocking().cloexec(),
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    // Here, for it must be known before the first byte comes.
    socket.set_out_of_band_inline(true)?;
    match domain {
        Domain::IPV6 => socket.set_ip_transparent_v6(true)?,
        _ => socket.set_ip_transparent_v4(true)?,
    }
    Ok(socket)
}

/// Takes the connections of all addresses of a family that TPROXY sends to its port.
pub(super) fn listen(is_v4: bool) -> io::Result<TcpListener> {
    let domain = if is_v4 { Domain::IPV4 } else { Domain::IPV6 };
    let socket = transparent(domain)?;
    if !is_v4 {
        socket.set_only_v6(true)?;
    }
    socket.bind(&SocketAddr::new(rules::any(is_v4), 0).into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Connects to `server` as if it were `client`.
pub(super) async fn connect(client: SocketAddr, server: SocketAddr) -> io::Result<TcpStream> {
    let socket = transparent(Domain::for_address(client))?;
    socket.bind(&client.into())?;
    TcpSocket::from_std_stream(socket.into())
        .connect(server)
        .await
}

/// Sets what holds for every connection. `lossy`: it goes over the lossy link.
pub(super) fn tune(stream: &TcpStream, tuning: &Tuning, lossy: bool) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE_AGAIN)
        .with_retries(KEEPALIVE_TRIES);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_notsent_lowat(tuning.unsent_bytes)?;
    if let (Some(cc), true) = (&tuning.cc, lossy) {
        socket.set_tcp_congestion(cc.as_bytes())?;
    }
    Ok(())
}

mod ioctl {
    nix::ioctl_read_bad!(unread, libc::FIONREAD, libc::c_int);
    nix::ioctl_read_bad!(unacknowledged, libc::TIOCOUTQ, libc::c_int);
}

/// Bytes that wait to be read.
pub(super) fn unread(stream: &TcpStream) -> io::Result<usize> {
    let mut bytes = 0;
    // SAFETY: an open socket, and an int for the answer.
    unsafe { ioctl::unread(stream.as_raw_fd(), &raw mut bytes) }?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// Bytes, and FIN, that the other end has not acknowledged.
pub(super) fn unacknowledged(stream: &TcpStream) -> io::Result<i32> {
    let mut bytes = 0;
    // SAFETY: an open socket, and an int for the answer.
    unsafe { ioctl::unacknowledged(stream.as_raw_fd(), &raw mut bytes) }?;
    Ok(bytes)
}

/// Whether FIN was sent and is not acknowledged.
pub(super) fn is_closing(stream: &TcpStream) -> io::Result<bool> {
    let mut state = 0_u8;
    let mut length = size_of_val(&state) as libc::socklen_t;
    // SAFETY: an open socket, and room for as much of the answer as `length` says: its first byte.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut state).cast(),
            &raw mut length,
        )
    };
    match failed {
        0 => Ok(CLOSING.contains(&state)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the other end hear a reset, not an end of data, when `stream` is closed.
pub(super) fn reset_on_close(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Whether this machine has a congestion control of that name.
pub(super) fn check_cc(name: &str) -> io::Result<()> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?
        .set_tcp_congestion(name.as_bytes())
}
