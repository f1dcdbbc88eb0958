// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The sockets of a transfer, and what the kernel says about them.

use std::fmt;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};

/// The kernel's slow-start threshold of a connection that has not lost anything yet
/// (`TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Descriptors beyond those that are open and the two of each connection.
const SPARE_DESCRIPTORS: u64 = 200;

/// The longest queue of a listening socket, and the sysctl's greatest value.
pub const MAX_BACKLOG: usize = 65_535;
/// Receive buffer of a socket whose window is held down.
const LEAST_BUFFER_BYTES: u32 = 256 * 1024;

/// What both ends of a connection are held to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketLimits {
    /// Bytes of a segment, TCP options included; none: what a frame holds.
    pub mss_bytes: Option<u16>,
    /// The most that the receiver advertises; none: what the kernel chooses.
    pub window_bytes: Option<u32>,
}

impl SocketLimits {
    /// To be called before connect() or listen(): the handshake carries both.
    fn apply(&self, socket: &Socket) -> Result<()> {
        if let Some(mss_bytes) = self.mss_bytes {
            let set = socket.set_tcp_mss(mss_bytes.into());
            set.with_context(|| format!("segments of {mss_bytes} bytes"))?;
        }
        if let Some(window_bytes) = self.window_bytes {
            // A buffer of a given size stops the kernel from moving the clamp along with its own
            // idea of the buffer. The size counts the kernel's overhead, too, of which short
            // segments have several times their payload.
            let buffer_bytes = window_bytes.saturating_mul(8).max(LEAST_BUFFER_BYTES);
            let options = [
                (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, buffer_bytes),
                (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window_bytes),
            ];
            for (level, name, value) in options {
                set_option(socket, level, name, value)
                    .with_context(|| format!("a window of {window_bytes} bytes"))?;
            }
        }
        Ok(())
    }
}

fn set_option(
    socket: &Socket,
    level: libc::c_int,
    name: libc::c_int,
    value: u32,
) -> std::io::Result<()> {
    // SAFETY: the kernel reads as many bytes as an u32 has.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            mem::size_of::<u32>() as libc::socklen_t,
        )
    };
    match failed {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// A listening socket for `flows` connections that arrive at once. Where half of its queue is in use,
/// the kernel forgets handshakes after three seconds, and resets the connections that the other
/// end has open by then.
///
/// # Errors
/// The address is in use, or the congestion control unknown.
pub fn listen(address: SocketAddr, flows: usize, cc: &str, limits: SocketLimits) -> Result<Socket> {
    let socket = tcp_socket(address, cc)?;
    limits.apply(&socket)?;
    socket.set_reuse_address(true)?;
    socket
        .bind(&address.into())
        .with_context(|| format!("cannot listen on {address}"))?;
    let backlog = flows.saturating_mul(4).clamp(16, MAX_BACKLOG);
    socket.listen(i32::try_from(backlog)?)?;
    Ok(socket)
}

/// A socket that is ready to connect from `address`, whose port tells the other side which flow
/// it is.
///
/// # Errors
/// The address is in use, or the congestion control unknown.
pub fn prepare(address: SocketAddr, cc: &str, limits: SocketLimits) -> Result<Socket> {
    let socket = tcp_socket(address, cc)?;
    limits.apply(&socket)?;
    socket.set_reuse_address(true)?;
    socket
        .bind(&address.into())
        .with_context(|| format!("cannot bind {address}"))?;
    Ok(socket)
}

/// A socket that is ready to connect from `address`, whose port the kernel chooses by where it goes: so
/// there may be as many to each other end as there are ports.
///
/// # Errors
/// No such address, or no descriptors left.
pub fn from_any_port(address: IpAddr) -> Result<Socket> {
    let socket = Socket::new(Domain::for_address((address, 0).into()), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    set_option(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
    socket
        .bind(&SocketAddr::new(address, 0).into())
        .with_context(|| format!("cannot bind {address}"))?;
    Ok(socket)
}

fn tcp_socket(address: SocketAddr, cc: &str) -> Result<Socket> {
    let domain = match address {
        SocketAddr::V4(_) => Domain::IPV4,
        SocketAddr::V6(_) => Domain::IPV6,
    };
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    set_congestion_control(&socket, cc)?;
    Ok(socket)
}

/// Chooses the congestion control of one socket.
///
/// # Errors
/// This kernel has none of that name.
pub fn set_congestion_control(socket: &Socket, cc: &str) -> Result<()> {
    socket.set_tcp_congestion(cc.as_bytes()).with_context(|| {
        format!(
            "congestion control {cc}: this kernel has none of that name \
             (`sysctl net.ipv4.tcp_available_congestion_control`; try `modprobe tcp_{cc}`)"
        )
    })
}

/// Checks that this kernel has a congestion control, before a long run fails on it.
///
/// # Errors
/// It has not.
pub fn check_congestion_control(cc: &str) -> Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    set_congestion_control(&socket, cc)
}

/// Closes with a reset: an endless transfer is cut off, and nothing of it lingers.
pub fn reset(socket: &Socket) {
    let _ = socket.set_linger(Some(Duration::ZERO));
}

/// State of a sender's loss recovery (`tcpi_ca_state`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaState {
    /// Nothing is wrong.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs have come, too few to act.
    Disorder,
    /// The window shrinks because of an ECN mark or a full local queue.
    Cwr,
    /// Fast retransmit.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl CaState {
    fn from_kernel(state: u8) -> Self {
        match state {
            0 => Self::Open,
            1 => Self::Disorder,
            2 => Self::Cwr,
            3 => Self::Recovery,
            _ => Self::Loss, // 4; there are no more
        }
    }
}

/// What is read of a sender's `TCP_INFO`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round-trip time in microseconds; 0 before the first sample.
    pub rtt_us: u32,
    /// Segments sent again since the connection began.
    pub retransmits: u64,
    /// Segments with data sent since the connection began, those sent again included.
    pub data_segments: u64,
    /// Congestion window in segments.
    pub cwnd_segments: u32,
    /// Slow-start threshold in segments; none while there is none.
    pub ssthresh_segments: Option<u32>,
    /// State of loss recovery.
    pub ca_state: CaState,
    /// Segments on their way.
    pub unacked_segments: u32,
    /// Bytes that the receiver has acknowledged.
    pub acked_bytes: u64,
    /// Bytes that were sent at least once.
    pub sent_bytes: u64,
    /// Times that the retransmission timeout has been doubled since the last progress.
    pub backoff: u8,
    /// Retransmission timeout in microseconds.
    pub rto_us: u32,
    /// Bytes that the application wrote and that were never sent.
    pub unsent_bytes: u32,
    /// Window that the receiver advertised last, in bytes.
    pub window_bytes: u32,
    /// State of the connection (`TCP_ESTABLISHED` is 1).
    pub state: u8,
}

impl fmt::Display for TcpInfo {
    /// What one wants to know of a sender that stands still.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "state {}, {} segments on their way, {} bytes unsent, window {} bytes, cwnd {}, RTO {} ms \
             after {} doublings, {} retransmissions",
            self.state,
            self.unacked_segments,
            self.unsent_bytes,
            self.window_bytes,
            self.cwnd_segments,
            self.rto_us / 1000,
            self.backoff,
            self.retransmits
        )
    }
}

/// Reads `TCP_INFO`; works from any thread and namespace.
///
/// # Errors
/// The socket is no TCP socket.
pub fn tcp_info(socket: &Socket) -> Result<TcpInfo> {
    // SAFETY: tcp_info is plain integers, of which zero is valid; the kernel writes at most
    // `length` bytes, and older ones less.
    let info = unsafe {
        let mut info: libc::tcp_info = mem::zeroed();
        let mut length = mem::size_of::<libc::tcp_info>() as libc::socklen_t;
        let failed = libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        );
        if failed != 0 {
            return Err(std::io::Error::last_os_error()).context("TCP_INFO");
        }
        info
    };
    Ok(TcpInfo {
        rtt_us: info.tcpi_rtt,
        retransmits: u64::from(info.tcpi_total_retrans),
        data_segments: u64::from(info.tcpi_data_segs_out),
        cwnd_segments: info.tcpi_snd_cwnd,
        ssthresh_segments: Some(info.tcpi_snd_ssthresh).filter(|s| *s < INFINITE_SSTHRESH),
        ca_state: CaState::from_kernel(info.tcpi_ca_state),
        unacked_segments: info.tcpi_unacked,
        acked_bytes: info.tcpi_bytes_acked,
        sent_bytes: info.tcpi_bytes_sent.saturating_sub(info.tcpi_bytes_retrans),
        backoff: info.tcpi_backoff,
        rto_us: info.tcpi_rto,
        unsent_bytes: info.tcpi_notsent_bytes,
        window_bytes: info.tcpi_snd_wnd,
        state: info.tcpi_state,
    })
}

/// Raises the limit of open descriptors for so many more connections with both ends in this
/// process.
///
/// # Errors
/// The hard limit is too low and may not be raised.
pub fn allow_descriptors(connections: usize) -> Result<()> {
    // Several transfers may run side by side.
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let need = descriptors(connections as u64) + open as u64;
    if allowed_descriptors(need)? >= need {
        return Ok(());
    }
    bail!("{connections} connections need {need} open files: raise the limit (`ulimit -n {need}`)")
}

/// Descriptors that connections take with both ends in one process, beside those that it has.
pub fn descriptors(connections: u64) -> u64 {
    2 * connections + SPARE_DESCRIPTORS
}

/// Raises the limit of open descriptors to `need`, or as far as this process may; returns what it is.
///
/// # Errors
/// The system does not tell.
pub fn allowed_descriptors(need: u64) -> Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= need {
        return Ok(soft);
    }
    if setrlimit(Resource::RLIMIT_NOFILE, need, hard.max(need)).is_err() {
        setrlimit(Resource::RLIMIT_NOFILE, hard.min(need), hard)?;
    }
    Ok(getrlimit(Resource::RLIMIT_NOFILE)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_socket() {
        let limits = SocketLimits {
            mss_bytes: Some(446),
            window_bytes: Some(10_000),
        };
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        limits.apply(&socket).unwrap();
        assert_eq!(socket.tcp_mss().unwrap(), 446);
        let odd = SocketLimits {
            mss_bytes: Some(1),
            ..limits
        };
        let error = format!("{:#}", odd.apply(&socket).unwrap_err());
        assert!(error.contains("1 bytes"), "{error}");
    }

    #[test]
    fn unknown_congestion_control_is_named() {
        check_congestion_control("reno").unwrap();
        let error = format!("{:#}", check_congestion_control("nosuch").unwrap_err());
        assert!(
            error.contains("nosuch") && error.contains("modprobe"),
            "{error}"
        );
    }
}
