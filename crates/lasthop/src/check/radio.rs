// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whether what a radio's MAC knows of each frame can be had, for scheme csnoop.

use std::path::Path;

use super::queue::Wifi;
use super::{Finding, State};
use crate::device::Device;
use crate::mac_events::Radio;

const CHECK: &str = "mac80211";

/// Whether the device is a radio, as far as this /sys tells, which may be another network
/// namespace's.
pub fn is_radio(device: &Device) -> bool {
    Wifi::find(Path::new("/sys"), device).is_some()
}

/// None: the device is no radio.
pub(super) fn of(device: &Device) -> Option<Finding> {
    is_radio(device).then(|| match Radio::try_out() {
        Ok(()) => Finding::of(
            &device.name,
            CHECK,
            State::Ok,
            "the kernel takes the program by which scheme csnoop hears what became of each frame; whether the driver tells shows in mac_delivered",
        ),
        Err(error) => Finding::of(
            &device.name,
            CHECK,
            State::Warning,
            format!("no --mac-events mac80211, for scheme csnoop: {error:#}"),
        ),
    })
}
