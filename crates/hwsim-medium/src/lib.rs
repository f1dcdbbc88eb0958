// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The air between the radios of mac80211_hwsim, for tests of what goes by a real MAC's reports.
//!
//! The kernel's simulated radios hand each frame to whoever registers with their generic netlink
//! family, and believe what that one answers: who hears the frame, how many attempts it took, whether
//! the last of them was acknowledged. Here frames of data to one station are lost by seed, attempt
//! by attempt; everything else arrives, so that stations find, join and keep their access point.
//!
//! [`message`] reads and writes what goes over netlink, [`frame`] looks into 802.11 frames, and
//! [`medium`] decides; none of them does I/O.

pub mod frame;
pub mod medium;
pub mod message;
