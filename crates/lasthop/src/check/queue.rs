// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Where the queue before the hop stands: what the window controller holds short is there.

use std::fs;
use std::path::Path;

use super::{Finding, State};
use crate::device::Device;
use crate::links::Links;

const CHECK: &str = "queue";

/// The queue of the device.
pub(super) fn of(device: &Device, links: &Links) -> Finding {
    let qdisc = links
        .0
        .get(&device.ifindex)
        .map_or("", |link| link.qdisc.as_str());
    match Wifi::find(Path::new("/sys"), device) {
        Some(wifi) => wifi.queue(device, qdisc),
        None => {
            let detail = match qdisc {
                "" => "no queueing discipline is told".into(),
                "noqueue" => "noqueue: it stands in the device that this one sends through".into(),
                other => format!("{other}, and behind it what the driver holds"),
            };
            Finding::of(&device.name, CHECK, State::Ok, detail)
        }
    }
}

/// A Wi-Fi device, as far as /sys tells.
pub(super) struct Wifi {
    /// Airtime queue limits: mac80211 bounds what firmware holds (Linux 5.5).
    aql: Option<bool>,
}

impl Wifi {
    /// None: it is none, or this /sys is another network namespace's.
    pub(super) fn find(sys: &Path, device: &Device) -> Option<Self> {
        let class = sys.join("class/net").join(&device.name);
        let index: u32 = fs::read_to_string(class.join("ifindex"))
            .ok()?
            .trim()
            .parse()
            .ok()?;
        if index != device.ifindex {
            return None;
        }
        let phy = fs::read_to_string(class.join("phy80211/name")).ok()?;
        let debug = sys.join("kernel/debug/ieee80211").join(phy.trim());
        let aql = fs::read_to_string(debug.join("aql_enable")).ok();
        Some(Self {
            aql: aql.map(|text| text.trim() != "0"),
        })
    }

    fn queue(&self, device: &Device, qdisc: &str) -> Finding {
        // Drivers that have mac80211 queue (TXQ) need no discipline; others get one.
        if qdisc != "noqueue" {
            let detail = format!(
                "{qdisc}: the driver does not use mac80211's queues (TXQ): what it and its firmware hold stands behind this one, unseen"
            );
            return Finding::of(&device.name, CHECK, State::Warning, detail);
        }
        let (state, aql) = match self.aql {
            Some(true) => (State::Ok, "what the firmware holds is limited (AQL)"),
            Some(false) => (
                State::Warning,
                "AQL is off: the firmware may hold much: echo 1 > /sys/kernel/debug/ieee80211/phy*/aql_enable",
            ),
            None => (
                State::Ok,
                "whether the firmware is limited (AQL) can't be told without debugfs",
            ),
        };
        let detail = format!(
            "mac80211's, one per station and access category (TXQ, FQ-CoDel, RFC 8290); {aql}"
        );
        Finding::of(&device.name, CHECK, state, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sys(aql: Option<&str>) -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        let class = sys.path().join("class/net/wlan0");
        fs::create_dir_all(class.join("phy80211")).unwrap();
        fs::write(class.join("ifindex"), "4\n").unwrap();
        fs::write(class.join("phy80211/name"), "phy0\n").unwrap();
        let debug = sys.path().join("kernel/debug/ieee80211/phy0");
        fs::create_dir_all(&debug).unwrap();
        if let Some(text) = aql {
            fs::write(debug.join("aql_enable"), text).unwrap();
        }
        sys
    }

    fn wlan0(ifindex: u32) -> Device {
        Device {
            name: "wlan0".into(),
            ifindex,
            l2_bytes: 14,
            mtu_bytes: 1_500,
        }
    }

    #[test]
    fn wifi_is_told_by_its_queues() {
        for (aql, qdisc, state, word) in [
            (Some("1"), "noqueue", State::Ok, "is limited"),
            (Some("0"), "noqueue", State::Warning, "AQL is off"),
            (None, "noqueue", State::Ok, "debugfs"),
            (Some("1"), "mq", State::Warning, "mq: the driver"),
        ] {
            let sys = sys(aql);
            let wifi = Wifi::find(sys.path(), &wlan0(4)).unwrap();
            let finding = wifi.queue(&wlan0(4), qdisc);
            assert_eq!(finding.state, state);
            assert!(finding.detail.contains(word), "{}", finding.detail);
        }
    }

    #[test]
    fn what_is_of_another_namespace_says_nothing() {
        let sys = sys(None);
        assert!(Wifi::find(sys.path(), &wlan0(5)).is_none());
    }

    #[test]
    fn the_loopback_has_a_queue() {
        let lo = Device::find("lo").unwrap();
        let finding = of(&lo, &Links::list().unwrap());
        assert!(finding.detail.starts_with("noqueue"), "{}", finding.detail);
    }
}
