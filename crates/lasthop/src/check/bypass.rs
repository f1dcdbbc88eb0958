// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What takes packets past the device's tc hooks, so that the agent does not see them.

use super::features::{self, Features};
use super::{Finding, State};
use crate::device::Device;
use crate::flow_tables::FlowTable;
use crate::links::{Link, Links};
use crate::programs::Program;
use crate::tcx::{self, Hook};

/// All of them.
pub(super) fn all(device: &Device, links: &Links, features: &Features) -> Vec<Finding> {
    let mut findings = vec![
        hardware_offload(&device.name, features),
        flow_table(device, links),
        xdp(device, links),
        earlier_programs(device),
    ];
    findings.extend(open_vswitch(device, links));
    findings.extend(bridge(device, links));
    findings
}

fn hardware_offload(device: &str, features: &Features) -> Finding {
    let check = "hardware offload";
    match features.get("hw-tc-offload") {
        Some(true) => Finding::of(
            device,
            check,
            State::Warning,
            format!(
                "hw-tc-offload is on: flows that the hardware forwards are not seen: ethtool -K {device} hw-tc-offload off"
            ),
        ),
        Some(false) => Finding::of(device, check, State::Ok, "off"),
        None => features::unknown(device, check),
    }
}

fn flow_table(device: &Device, links: &Links) -> Finding {
    let (check, name) = ("flow table", device.name.as_str());
    let tables = match FlowTable::list() {
        Ok(tables) => tables,
        Err(error) => {
            let detail = format!("can't be asked: {error:#}");
            return Finding::of(name, check, State::Unknown, detail);
        }
    };
    match past(name, &links.lower(device.ifindex), &tables) {
        Some(detail) => Finding::of(name, check, State::Warning, detail),
        None => Finding::of(
            name,
            check,
            State::Ok,
            "no nftables flow table takes its packets past tc",
        ),
    }
}

/// How flows get past the device. The software path leaves through the egress hook of the device
/// that the flow's route ends at, and enters after its ingress hook; but below a bridge or VLAN
/// that is the port, which the kernel finds by itself (dev_fill_forward_path).
fn past(device: &str, lower: &[&Link], tables: &[FlowTable]) -> Option<String> {
    for table in tables {
        if table.offload && table.takes(device) {
            return Some(format!(
                "nftables flow table {} with `flags offload` names it: flows in hardware are not seen",
                table.name
            ));
        }
        if let Some(port) = lower.iter().find(|link| table.takes(&link.name)) {
            return Some(format!(
                "nftables flow table {} names {}, through which {device} sends: its flows go past {device}: attach to {}, or take that out of the table",
                table.name, port.name, port.name
            ));
        }
    }
    None
}

/// XDP comes before tc on the way in, and what it redirects leaves by no tc hook at all.
fn xdp(device: &Device, links: &Links) -> Finding {
    let (check, name) = ("xdp", device.name.as_str());
    let mut with: Vec<(&Link, u32)> = links
        .0
        .values()
        .filter_map(|link| Some((link, link.xdp?)))
        .collect();
    with.sort_by_key(|(link, _)| (link.ifindex != device.ifindex, link.ifindex));
    let detail = match with.first() {
        None => return Finding::of(name, check, State::Ok, "no XDP program on any device"),
        Some((link, id)) if link.ifindex == device.ifindex => {
            format!("program {id} on it comes before tc: what it redirects or answers is not seen")
        }
        Some((link, id)) => format!(
            "program {id} on {}: what it redirects to {name} goes past tc and is not seen",
            link.name
        ),
    };
    Finding::of(name, check, State::Warning, detail)
}

/// Ours is added at the end of those that are there.
fn earlier_programs(device: &Device) -> Finding {
    let (check, name) = ("tcx programs", device.name.as_str());
    let mut earlier = Vec::new();
    for (hook, way) in [(Hook::Ingress, "ingress"), (Hook::Egress, "egress")] {
        let ids = match tcx::programs_on(device.ifindex, hook) {
            Ok(ids) => ids,
            Err(error) => {
                let detail = format!("can't be asked: {error}");
                return Finding::of(name, check, State::Unknown, detail);
            }
        };
        let programs = ids.into_iter().map(|id| {
            let name = tcx::program_name(id).unwrap_or_default();
            (id, name)
        });
        // Once attached, those after ours don't matter.
        let ours = [Program::Ingress.name(), Program::Egress.name()];
        let before = programs.take_while(|(_, name)| !ours.contains(&name.as_str()));
        earlier.extend(before.map(|(id, name)| format!("{id} {name} ({way})")));
    }
    if earlier.is_empty() {
        return Finding::of(name, check, State::Ok, "none before ours");
    }
    let detail = format!(
        "before ours: {}: what they drop or redirect is not seen",
        earlier.join(", ")
    );
    Finding::of(name, check, State::Warning, detail)
}

/// What there is to say where a device belongs to a switch of `kind`: the switch's own, or a port of it.
fn of_switch(
    device: &Device,
    links: &Links,
    (kind, check): (&str, &'static str),
    own: &str,
    seen: &str,
) -> Option<Finding> {
    let name = device.name.as_str();
    let link = links.0.get(&device.ifindex)?;
    if link.kind == kind {
        return Some(Finding::of(name, check, State::Warning, own));
    }
    let above = links.0.get(&link.controller?)?;
    (above.kind == kind).then(|| {
        let detail = format!("a port of {}: {seen}", above.name);
        Finding::of(name, check, State::Ok, detail)
    })
}

fn open_vswitch(device: &Device, links: &Links) -> Option<Finding> {
    of_switch(
        device,
        links,
        ("openvswitch", "open vswitch"),
        "a port of the switch towards this machine: what it forwards between other ports is not seen: attach to the port that faces the link",
        "what the kernel's data path forwards is seen",
    )
}

/// A bridge's own device has what this machine sends, receives and routes; not what it bridges.
fn bridge(device: &Device, links: &Links) -> Option<Finding> {
    of_switch(
        device,
        links,
        ("bridge", "bridge"),
        "what it forwards between its ports is not seen, and the ports' links are taken for one: attach to the port that faces the link",
        "what is bridged is seen",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(ifindex: u32, name: &str, kind: &str, controller: Option<u32>) -> Link {
        Link {
            ifindex,
            name: name.into(),
            kind: kind.into(),
            controller,
            ..Link::default()
        }
    }

    #[test]
    fn flow_tables_pass_hardware_and_what_is_above() {
        let table = |name: &str, devices: &[&str], offload| FlowTable {
            name: name.into(),
            devices: devices.iter().map(|name| (*name).into()).collect(),
            offload,
            ..FlowTable::default()
        };
        let tables = [
            table("a", &["eth10", "wl0"], true),
            table("b", &["eth1"], false),
        ];
        let (wl0, eth1) = (link(3, "wl0", "", Some(2)), link(4, "eth1", "", Some(2)));
        let hardware = past("wl0", &[], &tables).unwrap();
        assert!(
            hardware.contains("table a") && hardware.contains("hardware"),
            "{hardware}"
        );
        // A software table's own devices: the egress hook is passed.
        assert_eq!(past("eth1", &[], &tables), None);
        let bridge = past("br0", &[&eth1], &tables).unwrap();
        assert!(bridge.contains("table b names eth1"), "{bridge}");
        assert!(past("br0", &[&wl0], &tables).is_some());
        assert_eq!(past("br0", &[&link(5, "eth2", "", None)], &tables), None);
    }

    fn device(ifindex: u32, name: &str) -> Device {
        Device {
            name: name.into(),
            ifindex,
            l2_bytes: 14,
            mtu_bytes: 1_500,
        }
    }

    fn links(all: &[Link]) -> Links {
        Links(
            all.iter()
                .map(|link| (link.ifindex, link.clone()))
                .collect(),
        )
    }

    #[test]
    fn xdp_on_either_device_is_told() {
        let mut all = [link(2, "wl0", "", None), link(3, "eth0", "", None)];
        let wl0 = device(2, "wl0");
        assert_eq!(xdp(&wl0, &links(&all)).state, State::Ok);
        all[1].xdp = Some(7);
        let other = xdp(&wl0, &links(&all));
        assert_eq!(other.state, State::Warning);
        assert!(
            other.detail.contains("program 7 on eth0"),
            "{}",
            other.detail
        );
        all[0].xdp = Some(8);
        assert!(xdp(&wl0, &links(&all)).detail.contains("program 8 on it"));
    }

    #[test]
    fn a_switch_is_not_its_ports() {
        let all = links(&[
            link(2, "ovs-system", "openvswitch", None),
            link(3, "br-int", "openvswitch", Some(2)),
            link(4, "eth0", "", Some(2)),
            link(5, "eth1", "", None),
        ]);
        let state = |ifindex, name| open_vswitch(&device(ifindex, name), &all).map(|f| f.state);
        assert_eq!(state(3, "br-int"), Some(State::Warning));
        assert_eq!(state(4, "eth0"), Some(State::Ok));
        assert_eq!(state(5, "eth1"), None);
    }
    #[test]
    fn a_bridge_is_not_its_ports() {
        let all = links(&[
            link(2, "br0", "bridge", None),
            link(3, "wl0", "", Some(2)),
            link(4, "eth1", "", None),
        ]);
        let found = |ifindex, name| bridge(&device(ifindex, name), &all);
        let of_bridge = found(2, "br0").expect("a finding");
        assert_eq!(of_bridge.state, State::Warning);
        assert!(of_bridge.detail.contains("attach to the port"));
        let of_port = found(3, "wl0").expect("a finding");
        assert_eq!(of_port.state, State::Ok);
        assert!(of_port.detail.contains("a port of br0"));
        assert!(found(4, "eth1").is_none());
    }
}
