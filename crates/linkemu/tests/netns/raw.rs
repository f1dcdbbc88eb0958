// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A packet socket of the tests' own, so that the crate's is not its own judge; and offload
//! switches by the old ethtool ioctl, which every system has.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// All frames of one interface.
pub struct RawSocket(OwnedFd);

/// A frame as the kernel hands it out: the outer VLAN tag apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFrame {
    pub bytes: Vec<u8>,
    /// Tag protocol and tag.
    pub tag: Option<(u16, u16)>,
    pub checksum_ready: bool,
}

impl RawSocket {
    /// Opens `device` in the calling thread's namespace.
    pub fn open(device: &str) -> Self {
        Self::open_for(device, libc::ETH_P_ALL)
    }

    /// The same, but receives nothing: its own buffer would fill up.
    #[allow(dead_code)] // for the benchmark, which shares this file
    pub fn open_for_sending(device: &str) -> Self {
        Self::open_for(device, 0)
    }

    fn open_for(device: &str, protocol: libc::c_int) -> Self {
        let name = CString::new(device).expect("name");
        // SAFETY: plain system calls; the address is a complete `sockaddr_ll`.
        unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            assert!(fd >= 0, "{}", io::Error::last_os_error());
            let socket = Self(OwnedFd::from_raw_fd(fd));
            let one: libc::c_int = 1;
            let timeout = libc::timeval {
                tv_sec: 0,
                tv_usec: 20_000,
            };
            socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &one);
            socket.set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, &timeout);
            let mut address: libc::sockaddr_ll = zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = (protocol as u16).to_be();
            address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let bytes = size_of::<libc::sockaddr_ll>() as u32;
            let result = libc::bind(fd, (&raw const address).cast(), bytes);
            assert_eq!(result, 0, "{}", io::Error::last_os_error());
            socket
        }
    }

    fn set<T>(&self, level: libc::c_int, option: libc::c_int, value: &T) {
        // SAFETY: pointer and length describe `value`.
        let result = unsafe {
            let value = std::ptr::from_ref(value).cast();
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                option,
                value,
                size_of::<T>() as u32,
            )
        };
        assert_eq!(result, 0, "{}", io::Error::last_os_error());
    }

    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length describe `frame`.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// The next frame that satisfies `wanted`; panics when none comes.
    pub fn receive_where(&self, wanted: impl Fn(&RawFrame) -> bool) -> RawFrame {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(30) {
            if let Some(frame) = self.receive().filter(&wanted) {
                return frame;
            }
        }
        panic!("the frame that was waited for did not come");
    }

    fn receive(&self) -> Option<RawFrame> {
        let mut bytes = vec![0u8; 65536];
        let mut control = [0u64; 16];
        // SAFETY: the message points to `bytes` and `control` with their lengths; the control
        // message is read only where the kernel says that there is one.
        unsafe {
            let mut vector = libc::iovec {
                iov_base: bytes.as_mut_ptr().cast(),
                iov_len: bytes.len(),
            };
            let mut message: libc::msghdr = zeroed();
            message.msg_iov = &raw mut vector;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            let length = libc::recvmsg(self.0.as_raw_fd(), &raw mut message, 0);
            bytes.truncate(usize::try_from(length).ok()?);
            let header = libc::CMSG_FIRSTHDR(&raw const message).as_ref()?;
            assert_eq!(header.cmsg_type, libc::PACKET_AUXDATA);
            let aux = libc::CMSG_DATA(header)
                .cast::<libc::tpacket_auxdata>()
                .read_unaligned();
            let tagged = aux.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
            let tag = tagged.then_some((aux.tp_vlan_tpid, aux.tp_vlan_tci));
            let checksum_ready = aux.tp_status & libc::TP_STATUS_CSUMNOTREADY == 0;
            Some(RawFrame {
                bytes,
                tag,
                checksum_ready,
            })
        }
    }
}

/// Switches segmentation, coalescing and checksum offload of `device` off, as the lab does.
pub fn offloads_off(device: &str) {
    #[repr(C)]
    struct EthtoolValue {
        command: u32,
        data: u32,
    }
    for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM] {
        let mut value = EthtoolValue { command, data: 0 };
        // SAFETY: the request is a complete `ifreq` whose data points to a live ethtool_value.
        unsafe {
            let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            assert!(fd >= 0, "{}", io::Error::last_os_error());
            let fd = OwnedFd::from_raw_fd(fd);
            let mut request: libc::ifreq = zeroed();
            for (to, from) in request.ifr_name[..15].iter_mut().zip(device.bytes()) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_data = (&raw mut value).cast();
            let result = libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL as _, &raw mut request);
            assert_eq!(
                result,
                0,
                "{device} {command:#x}: {}",
                io::Error::last_os_error()
            );
        }
    }
}
