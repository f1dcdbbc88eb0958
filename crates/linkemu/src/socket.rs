// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! AF_PACKET sockets: whole frames in batches, with what the kernel knows about each (time of
//! arrival, VLAN tag, unfinished checksum, super-packet).

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{Error, Result};
use crate::frame::VlanTag;
use crate::gso::{Protocol, Segmentation};

/// Frames per system call.
pub const BATCH: usize = 64;

/// Some 15,000 full frames: the relay may be kept off the processor for 90 ms at 2 Gbit/s.
const RECEIVE_BUFFER_BYTES: libc::c_int = 64 << 20;
const SEND_BUFFER_BYTES: libc::c_int = 8 << 20;
/// Room for a timestamp and the auxiliary data with their headers (72 bytes), in words for
/// alignment.
const CONTROL_WORDS: usize = 16;
/// In the kernel since 4.20; not in every version of `libc`.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Longest super-packet: 64 KiB of IP (`GSO_LEGACY_MAX_SIZE`, the kernel's default) and the
/// Ethernet header with tags. A multiple of a cache line, and no power of two: the beginnings of
/// all buffers would compete for the same lines.
const MAX_RECEIVED_BYTES: usize = 65536 + 192;

/// Flags and types of `struct virtio_net_hdr` (virtio 1.2, section 5.1.6).
const VNET_NEEDS_CHECKSUM: u8 = 1;
const VNET_GSO_NONE: u8 = 0;
const VNET_GSO_TCPV4: u8 = 1;
const VNET_GSO_TCPV6: u8 = 4;
const VNET_GSO_UDP_L4: u8 = 5;
/// Beside the types of TCP: the first segment alone says "congestion window reduced".
const VNET_GSO_ECN: u8 = 0x80;

/// `struct virtio_net_hdr`, which precedes each frame on a `PACKET_VNET_HDR` socket; numbers in
/// host byte order.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct VnetHeader {
    flags: u8,
    gso_type: u8,
    header_bytes: u16,
    gso_bytes: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

/// What came with one received frame.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Length without the tag that the kernel took out.
    pub bytes: usize,
    /// Longer than the buffer, or several segments of a kind that nobody here can cut.
    pub oversize: bool,
    /// Several segments, and how they are to be cut.
    pub segmentation: Option<Segmentation>,
    /// Start and offset of a checksum that is still to be finished.
    pub checksum: Option<(usize, usize)>,
    /// The outer VLAN tag, if there was one.
    pub tag: Option<VlanTag>,
    /// Kernel's time of arrival on `CLOCK_REALTIME`, if it gave one.
    pub wall_ns: Option<u64>,
}

/// Buffers for one batch of received frames.
pub struct ReceiveRing {
    data: Box<[[u8; MAX_RECEIVED_BYTES]]>,
    headers: Box<[VnetHeader; BATCH]>,
    control: Box<[[u64; CONTROL_WORDS]; BATCH]>,
    received: Vec<Received>,
}

impl ReceiveRing {
    /// Room for [`BATCH`] frames.
    pub fn new() -> Self {
        Self {
            data: vec![[0; MAX_RECEIVED_BYTES]; BATCH].into_boxed_slice(),
            headers: Box::new([VnetHeader::default(); BATCH]),
            control: Box::new([[0; CONTROL_WORDS]; BATCH]),
            received: Vec::with_capacity(BATCH),
        }
    }

    /// The `index`-th frame of the last batch: its description, and as many of its bytes as fit.
    pub fn frame_mut(&mut self, index: usize) -> (Received, &mut [u8]) {
        let received = self.received[index];
        (
            received,
            &mut self.data[index][..received.bytes.min(MAX_RECEIVED_BYTES)],
        )
    }
}

/// A socket bound to one interface, promiscuous, for all protocols and incoming frames only.
pub struct PacketSocket {
    fd: OwnedFd,
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Index of an interface in the caller's network namespace.
pub fn interface_index(name: &str) -> io::Result<libc::c_int> {
    let name = CString::new(name)?;
    // SAFETY: `name` is a zero-terminated string that outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index as libc::c_int),
    }
}

/// Whether an interface in the caller's network namespace is administratively up.
pub fn interface_is_up(name: &str) -> io::Result<bool> {
    // SAFETY: plain system call; its result is checked before use.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and belongs to nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: all bit patterns are valid for this plain C struct.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // One byte stays zero: it ends the name.
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1]
        .iter_mut()
        .zip(name.bytes())
    {
        *to = from as libc::c_char;
    }
    // SAFETY: the request is a complete `ifreq`, of which the kernel fills in the flags, the
    // member that is then read.
    unsafe {
        if libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(libc::c_int::from(request.ifr_ifru.ifru_flags) & libc::IFF_UP != 0)
    }
}

impl PacketSocket {
    /// Opens a socket on `interface`, which must exist and be up.
    ///
    /// # Errors
    /// The interface is missing or down, or the process lacks CAP_NET_RAW.
    pub fn open(interface: &str) -> Result<Self> {
        let fail = |what: &str| Error::last_os(format!("interface {interface}: {what}"));
        let index = interface_index(interface)
            .map_err(|e| Error::io(format!("interface {interface}: look-up"), e))?;
        // Protocol 0: nothing arrives before the options are set and the socket is bound.
        // SAFETY: plain system call; its result is checked before use.
        let fd = unsafe {
            libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                0,
            )
        };
        if fd < 0 {
            return Err(fail("opening a packet socket (needs CAP_NET_RAW)"));
        }
        // SAFETY: `fd` was just opened and belongs to nobody else.
        let socket = Self {
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
        };
        socket
            .set_options(index)
            .map_err(|e| Error::io(format!("interface {interface}: setting socket options"), e))?;
        socket
            .bind(index)
            .map_err(|e| Error::io(format!("interface {interface}: binding"), e))?;
        Ok(socket)
    }

    fn set_options(&self, index: libc::c_int) -> io::Result<()> {
        for (option, value) in [
            (PACKET_IGNORE_OUTGOING, 1),
            (libc::PACKET_AUXDATA, 1),
            (libc::PACKET_VNET_HDR, 1),
            // The emulated queue is the only one that is meant to be there.
            (libc::PACKET_QDISC_BYPASS, 1),
        ] {
            self.set(libc::SOL_PACKET, option, &value)?;
        }
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        // The forced sizes need CAP_NET_ADMIN; without it, the system's limit has to do.
        for (forced, plain, bytes) in [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_BUFFER_BYTES),
        ] {
            self.set(libc::SOL_SOCKET, forced, &bytes)
                .or_else(|_| self.set(libc::SOL_SOCKET, plain, &bytes))?;
        }
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
    }

    fn set<T>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
        // SAFETY: the pointer and the length describe `value`, which the kernel only reads.
        let result = unsafe {
            let value = std::ptr::from_ref(value).cast();
            let bytes = size_of::<T>() as libc::socklen_t;
            libc::setsockopt(self.fd.as_raw_fd(), level, option, value, bytes)
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    fn bind(&self, index: libc::c_int) -> io::Result<()> {
        // SAFETY: all bit patterns are valid for this plain C struct.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        // SAFETY: the pointer and the length describe `address`.
        let result = unsafe {
            let address = std::ptr::from_ref(&address).cast();
            let bytes = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            libc::bind(self.fd.as_raw_fd(), address, bytes)
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Reads up to [`BATCH`] frames that wait into `ring` and returns how many; 0 when none waits.
    ///
    /// # Errors
    /// ENETDOWN and the like when the interface is gone; EINVAL for a super-packet of a kind that
    /// the kernel cannot describe, which is then consumed.
    pub fn receive(&self, ring: &mut ReceiveRing) -> io::Result<usize> {
        ring.received.clear();
        // SAFETY: all bit patterns are valid for these plain C structs.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut vectors: [[libc::iovec; 2]; BATCH] = unsafe { zeroed() };
        for (index, (message, vector)) in messages.iter_mut().zip(&mut vectors).enumerate() {
            vector[0].iov_base = (&raw mut ring.headers[index]).cast();
            vector[0].iov_len = size_of::<VnetHeader>();
            vector[1].iov_base = ring.data[index].as_mut_ptr().cast();
            vector[1].iov_len = MAX_RECEIVED_BYTES;
            message.msg_hdr.msg_iov = vector.as_mut_ptr();
            message.msg_hdr.msg_iovlen = vector.len() as _;
            message.msg_hdr.msg_control = ring.control[index].as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = (CONTROL_WORDS * 8) as _;
        }
        // MSG_TRUNC: report the true length of what does not fit.
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: each message points to buffers of the given lengths in `ring` and `vectors`,
        // which stay borrowed and in place during the call.
        let count = unsafe {
            let no_timeout = std::ptr::null_mut();
            libc::recvmmsg(
                self.fd.as_raw_fd(),
                messages.as_mut_ptr(),
                BATCH as _,
                flags as _,
                no_timeout,
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock {
                Ok(0)
            } else {
                Err(error)
            };
        }
        let count = count as usize;
        for (message, header) in messages[..count].iter().zip(ring.headers.iter()) {
            ring.received.push(describe(message, header));
        }
        Ok(count)
    }

    /// Writes as many of `frames` as fit into one call and the kernel takes; returns how many.
    ///
    /// # Errors
    /// The reason why not even the first was taken.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        // All zero: no offload is asked for.
        let mut header = VnetHeader::default();
        // SAFETY: all bit patterns are valid for these plain C structs.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut vectors: [[libc::iovec; 2]; BATCH] = unsafe { zeroed() };
        let mut count = 0;
        for ((message, vector), frame) in messages.iter_mut().zip(&mut vectors).zip(frames) {
            vector[0].iov_base = (&raw mut header).cast();
            vector[0].iov_len = size_of::<VnetHeader>();
            vector[1].iov_base = frame.as_ptr().cast_mut().cast();
            vector[1].iov_len = frame.len();
            message.msg_hdr.msg_iov = vector.as_mut_ptr();
            message.msg_hdr.msg_iovlen = vector.len() as _;
            count += 1;
        }
        // SAFETY: the first `count` messages point to `header` and to frames that are borrowed
        // for longer than this call; sending only reads them.
        let sent = unsafe {
            libc::sendmmsg(
                self.fd.as_raw_fd(),
                messages.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT as _,
            )
        };
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(sent as usize)
        }
    }

    /// Frames that the kernel dropped since the last call because the socket's buffer was full.
    pub fn take_kernel_drops(&self) -> u64 {
        // SAFETY: all bit patterns are valid for this plain C struct.
        let mut stats: libc::tpacket_stats = unsafe { zeroed() };
        let mut bytes = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the pointers describe `stats` and its length, which the kernel fills in.
        let result = unsafe {
            let stats = (&raw mut stats).cast();
            let fd = self.fd.as_raw_fd();
            libc::getsockopt(
                fd,
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                stats,
                &raw mut bytes,
            )
        };
        if result == 0 {
            u64::from(stats.tp_drops)
        } else {
            0
        }
    }
}

fn describe(message: &libc::mmsghdr, header: &VnetHeader) -> Received {
    let bytes = (message.msg_len as usize).saturating_sub(size_of::<VnetHeader>());
    let unfinished = header.flags & VNET_NEEDS_CHECKSUM != 0;
    let checksum = (
        usize::from(header.checksum_start),
        usize::from(header.checksum_offset),
    );
    let segmentation = segmentation(header);
    let is_whole = bytes <= MAX_RECEIVED_BYTES;
    let mut received = Received {
        bytes,
        oversize: !is_whole || header.gso_type != VNET_GSO_NONE && segmentation.is_none(),
        segmentation,
        checksum: unfinished.then_some(checksum),
        tag: None,
        wall_ns: None,
    };
    // SAFETY: the kernel filled in `msg_control` and `msg_controllen` of this message, and the
    // buffer behind them is still alive; the macros walk it within that length.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(&message.msg_hdr);
        while let Some(control) = next.as_ref() {
            read_control(control, &mut received);
            next = libc::CMSG_NXTHDR(&message.msg_hdr, control);
        }
    }
    received
}

/// How the kernel says that a super-packet is to be cut. It leaves the checksums of all of them to
/// the card.
fn segmentation(header: &VnetHeader) -> Option<Segmentation> {
    let protocol = match header.gso_type & !VNET_GSO_ECN {
        VNET_GSO_TCPV4 | VNET_GSO_TCPV6 => Protocol::Tcp {
            cwr_once: header.gso_type & VNET_GSO_ECN != 0,
        },
        VNET_GSO_UDP_L4 => Protocol::Udp,
        _ => return None,
    };
    (header.flags & VNET_NEEDS_CHECKSUM != 0).then_some(Segmentation {
        protocol,
        segment_bytes: usize::from(header.gso_bytes),
        transport_at: usize::from(header.checksum_start),
    })
}

/// # Safety
/// `control` must be followed by its data, as `CMSG_FIRSTHDR` and `CMSG_NXTHDR` return it.
unsafe fn read_control(control: &libc::cmsghdr, received: &mut Received) {
    // SAFETY: by contract; the kernel does not promise alignment, hence the unaligned reads.
    unsafe {
        let data = libc::CMSG_DATA(control);
        match (control.cmsg_level, control.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                let time = data.cast::<libc::timespec>().read_unaligned();
                received.wall_ns = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                let aux = data.cast::<libc::tpacket_auxdata>().read_unaligned();
                received.tag = vlan_tag(&aux);
            }
            _ => {}
        }
    }
}

fn vlan_tag(aux: &libc::tpacket_auxdata) -> Option<VlanTag> {
    const DEFAULT_TPID: u16 = 0x8100;
    let has = |flag: libc::__u32| aux.tp_status & flag != 0;
    let tpid = if has(libc::TP_STATUS_VLAN_TPID_VALID) {
        aux.tp_vlan_tpid
    } else {
        DEFAULT_TPID
    };
    has(libc::TP_STATUS_VLAN_VALID).then_some(VlanTag {
        tpid,
        tci: aux.tp_vlan_tci,
    })
}
