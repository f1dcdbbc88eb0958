// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The kernel's word on a change of some device's link: a netlink socket that becomes readable.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// Messages taken per look; more than this are taken by the next.
const TAKE_MAX: usize = 256;

/// Tells of changes of the network namespace in which it was opened. What has changed is not read
/// from the messages, of which some get lost when many come, but asked of the devices.
pub struct Carrier(Option<OwnedFd>);

impl Carrier {
    /// Subscribes.
    ///
    /// # Errors
    /// Out of descriptors, or a kernel without rtnetlink.
    pub fn open() -> Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let kind = SockType::Raw;
        let protocol = SockProtocol::NetlinkRoute;
        let fd = socket(AddressFamily::Netlink, kind, flags, protocol).context("netlink")?;
        let groups = NetlinkAddr::new(0, libc::RTMGRP_LINK as u32);
        bind(fd.as_raw_fd(), &groups).context("netlink: changes of links")?;
        Ok(Self(Some(fd)))
    }

    /// One that hears nothing, where a sandbox refuses netlink: only `lasthop link` tells then.
    pub fn deaf() -> Self {
        Self(None)
    }

    /// Readable when a link has changed.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }

    /// Whether any link has changed since the last call; never waits.
    pub fn changed(&self) -> bool {
        let Some(fd) = &self.0 else {
            return false;
        };
        let mut changed = false;
        let mut message = [0; 1]; // the rest of it is discarded
        for _ in 0..TAKE_MAX {
            match recv(fd.as_raw_fd(), &mut message, MsgFlags::empty()) {
                Ok(_) | Err(Errno::ENOBUFS) => changed = true,
                Err(_) => break,
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_while_nothing_changes() {
        let carrier = Carrier::open().unwrap();
        while carrier.changed() {} // other tests of this machine
        assert!(!carrier.changed());
    }
}
