// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A device: of what kind it is, and what it does with packets.

use super::features::{self, Features};
use super::{Finding, State, bypass, queue, radio};
use crate::device::Device;
use crate::links::Links;

fn kind(found: &Device) -> Finding {
    let kind = if found.l2_bytes == 14 {
        "with an Ethernet header"
    } else {
        "without link-layer header"
    };
    Finding::of(&found.name, "device", State::Ok, kind)
}

fn mtu(found: &Device) -> Finding {
    let bytes = found.mtu_bytes;
    if found.too_large() {
        let detail = format!("{bytes} bytes: packets that large pass uncached");
        Finding::of(&found.name, "mtu", State::Warning, detail)
    } else {
        Finding::of(&found.name, "mtu", State::Ok, format!("{bytes} bytes"))
    }
}

/// Its packets have a route that repairs lack.
fn external(found: &Device, links: &Links) -> Option<Finding> {
    let link = links.0.get(&found.ifindex)?;
    let detail = format!(
        "{} that is told by each packet's route where to (external): data that are told so pass uncached, without help",
        link.kind
    );
    link.external
        .then(|| Finding::of(&found.name, "tunnel", State::Warning, detail))
}

fn receive_offload(device: &str, features: &Features) -> Finding {
    let check = "receive offload";
    match features.get("generic-receive-offload") {
        Some(true) => Finding::of(
            device,
            check,
            State::Ok,
            "on: super-packets are cached by their segments",
        ),
        Some(false) => Finding::of(device, check, State::Ok, "off"),
        None => features::unknown(device, check),
    }
}

/// The checks of a device.
pub fn device(name: &str) -> Vec<Finding> {
    let found = match Device::find(name) {
        Ok(found) => found,
        Err(error) => {
            let detail = format!("{error:#}");
            return vec![Finding::of(name, "device", State::Failed, detail)];
        }
    };
    let features = Features::of(&found.name);
    let mut findings = vec![kind(&found), mtu(&found)];
    match Links::list() {
        Ok(links) => {
            findings.extend(external(&found, &links));
            findings.extend(bypass::all(&found, &links, &features));
            findings.push(queue::of(&found, &links));
        }
        Err(error) => {
            let detail = format!("{error:#}");
            findings.push(Finding::of(name, "links", State::Unknown, detail));
        }
    }
    findings.extend(radio::of(&found));
    findings.push(receive_offload(name, &features));
    findings
}
