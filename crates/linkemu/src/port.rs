// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One interface of the relay: its socket, its return after it went down or away, and the times
//! at which its frames arrived.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::frame::{self, MAX_FRAME_BYTES, VlanTag};
use crate::gso::Segments;
use crate::reading::Found;
use crate::socket::{self, PacketSocket, ReceiveRing};
use crate::stats::DirectionStats;

/// Batches per turn: one direction must not starve the other.
const MAX_BATCHES_PER_TURN: usize = 4;
/// The kernel takes at most one tag out of a frame; it must fit when it goes back.
const MAX_UNTAGGED_BYTES: usize = MAX_FRAME_BYTES - 4;

/// A frame that has arrived.
pub struct Arrival<'a> {
    /// Its bytes without the outer VLAN tag, the checksum finished; of a super-packet one segment.
    pub frame: &'a [u8],
    /// That tag.
    pub tag: Option<VlanTag>,
    /// Time of arrival on the relay's clock.
    pub arrival_ns: u64,
}

/// An interface, known by name.
pub struct Port {
    name: String,
    /// `None` while the interface is down or away.
    socket: Option<PacketSocket>,
    ring: ReceiveRing,
    /// No frame read from now on arrived before this: its predecessor's arrival, or the last time
    /// that the socket was found empty.
    floor_ns: u64,
    downs: u64,
    warned_oversize: bool,
    /// The frame that is cut out of a super-packet.
    segment: Box<[u8; MAX_FRAME_BYTES]>,
}

impl Port {
    /// Opens the interface in the caller's network namespace. It may be down, and is then awaited.
    ///
    /// # Errors
    /// There is no such interface, or no permission.
    pub fn open(name: &str) -> Result<Self> {
        socket::interface_index(name).map_err(|e| {
            Error::io(
                format!("interface {name}: not in this network namespace, create it first"),
                e,
            )
        })?;
        let socket = if is_up(name) {
            Some(PacketSocket::open(name)?)
        } else {
            None
        };
        let ring = ReceiveRing::new();
        Ok(Self {
            name: name.into(),
            socket,
            ring,
            floor_ns: 0,
            downs: 0,
            warned_oversize: false,
            segment: Box::new([0; MAX_FRAME_BYTES]),
        })
    }

    /// The socket, for waiting and sending; `None` while the interface is down.
    pub fn socket(&self) -> Option<&PacketSocket> {
        self.socket.as_ref()
    }

    /// File descriptor to wait on.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// How often the interface went down or away.
    pub fn downs(&self) -> u64 {
        self.downs
    }

    /// Gives up the socket after an error that means that the interface is gone.
    pub fn mark_down(&mut self) {
        if self.socket.take().is_some() {
            self.downs += 1;
        }
    }

    /// Tries to find the interface again by its name.
    pub fn reopen_if_down(&mut self, clock: &Clock) {
        if self.socket.is_none() && is_up(&self.name) {
            // May vanish again in between: then the next attempt will tell.
            self.socket = PacketSocket::open(&self.name).ok();
            self.floor_ns = self.floor_ns.max(clock.now_ns());
        }
    }

    /// Adds the kernel's drops since the last call.
    pub fn count_kernel_drops(&self, stats: &mut DirectionStats) {
        stats.rx_kernel_drops += self
            .socket
            .as_ref()
            .map_or(0, PacketSocket::take_kernel_drops);
    }

    /// All frames that arrived by then have been handed over.
    pub fn known_ns(&self) -> u64 {
        self.floor_ns
    }

    /// Hands the waiting frames to `on_arrival`, oldest first; what is beyond the bound for one
    /// turn stays for the next.
    pub fn drain(
        &mut self,
        clock: &Clock,
        stats: &mut DirectionStats,
        mut on_arrival: impl FnMut(&mut DirectionStats, Arrival),
    ) -> Found {
        let mut found = Found::Nothing;
        for _ in 0..MAX_BATCHES_PER_TURN {
            let before_ns = clock.now_ns();
            let Some(socket) = &self.socket else {
                self.floor_ns = self.floor_ns.max(before_ns);
                return found;
            };
            match socket.receive(&mut self.ring) {
                Ok(count) => {
                    if count > 0 {
                        found = Found::All;
                    }
                    let times = clock.wall_and_now_ns();
                    for index in 0..count {
                        self.arrive(index, times, stats, &mut on_arrival);
                    }
                    if count < socket::BATCH {
                        self.floor_ns = self.floor_ns.max(before_ns);
                        return found;
                    }
                }
                Err(error) => self.on_receive_error(&error, stats),
            }
        }
        Found::Part
    }

    fn arrive(
        &mut self,
        index: usize,
        wall_and_now_ns: (u64, u64),
        stats: &mut DirectionStats,
        on_arrival: &mut impl FnMut(&mut DirectionStats, Arrival),
    ) {
        let (received, bytes) = self.ring.frame_mut(index);
        let segments = received.segmentation.map(|how| Segments::new(bytes, how));
        let longest_bytes = match &segments {
            None => received.bytes,
            Some(Some(segments)) => segments.longest_bytes(),
            Some(None) => usize::MAX,
        };
        if received.oversize || longest_bytes > MAX_UNTAGGED_BYTES {
            stats.oversize_frames += 1;
            self.warn_oversize(received.bytes);
            return;
        }
        if !frame::is_frame(bytes) {
            return;
        }
        self.floor_ns = arrival_ns(received.wall_ns, wall_and_now_ns, self.floor_ns);
        let mut hand_over = |frame: &[u8]| {
            let arrival = Arrival {
                frame,
                tag: received.tag,
                arrival_ns: self.floor_ns,
            };
            on_arrival(stats, arrival);
        };
        if let Some(segments) = segments.flatten() {
            for index in 0..segments.count() {
                let bytes = segments.write(index, &mut self.segment[..]);
                hand_over(&self.segment[..bytes]);
            }
            return;
        }
        if let Some((start, offset)) = received.checksum {
            frame::finish_checksum(bytes, start, offset);
        }
        hand_over(bytes);
    }

    fn on_receive_error(&mut self, error: &io::Error, stats: &mut DirectionStats) {
        match error.raw_os_error() {
            Some(libc::EINVAL) => {
                stats.oversize_frames += 1;
                self.warn_oversize(0);
            }
            Some(libc::EINTR) => {}
            _ => self.mark_down(),
        }
    }

    fn warn_oversize(&mut self, bytes: usize) {
        if !std::mem::replace(&mut self.warned_oversize, true) {
            let name = &self.name;
            eprintln!(
                "linkemu: {name}: dropped a packet of {bytes} bytes that is no frame and can't be \
                 cut into some (and will count the others): switch gso, gro and the like off on \
                 {name} and its peer with ethtool -K"
            );
        }
    }
}

/// The kernel's stamp on the relay's clock. Where it makes no sense (there is none, the wall clock
/// was set, the sender left a stamp of another clock), the bounds are what remains: the time of
/// reading, and `floor_ns`, before which the frame cannot have arrived.
fn arrival_ns(stamp_wall_ns: Option<u64>, wall_and_now_ns: (u64, u64), floor_ns: u64) -> u64 {
    let (wall_ns, now_ns) = wall_and_now_ns;
    let age_ns = stamp_wall_ns.map_or(0, |stamp_ns| wall_ns.saturating_sub(stamp_ns));
    now_ns.saturating_sub(age_ns).max(floor_ns)
}

fn is_up(interface: &str) -> bool {
    socket::interface_is_up(interface).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrival_is_the_kernels_stamp_within_reason() {
        let (wall_ns, now_ns, floor_ns) = (1_700_000_000_000_000_000, 5_000, 4_000);
        for (what, stamp_wall_ns, expected_ns) in [
            ("plain", Some(wall_ns - 300), 4_700),
            ("none", None, 5_000),
            ("from the future", Some(wall_ns + 9), 5_000),
            ("from before the last one", Some(wall_ns - 1_001), 4_000),
            ("of another clock", Some(123), 4_000),
        ] {
            let arrival_ns = arrival_ns(stamp_wall_ns, (wall_ns, now_ns), floor_ns);
            assert_eq!(arrival_ns, expected_ns, "{what}");
        }
    }

    #[test]
    fn missing_interface_is_named() {
        let error = Port::open("no-such-dev0").err().unwrap().to_string();
        assert!(
            error.contains("no-such-dev0") && error.contains("create it"),
            "{error}"
        );
    }
}
