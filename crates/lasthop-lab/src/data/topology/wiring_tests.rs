// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From topologies to what `ip` is told.

use super::*;
use crate::data::host::Host;
use crate::data::topology::{MOST_HOSTS, address, mobile_address};

fn cable(topology: &Topology, host: &str, device: &str) -> Cable {
    topology.cable_at(host, device).unwrap()
}

#[test]
fn ends_know_each_other() {
    let five = Topology::five_hosts(1);
    five.check().unwrap();
    let fh = cable(&five, "fh", "eth0").configure();
    assert!(
        fh.contains("address replace 10.1.0.2/24 dev eth0\n"),
        "{fh}"
    );
    assert!(
        fh.contains("neighbour replace 10.1.0.1 lladdr 02:00:00:00:01:01"),
        "{fh}"
    );
    let wl0 = cable(&five, "bs", "wl0").configure();
    assert!(
        wl0.contains("address replace fd02::1/64 dev wl0 nodad"),
        "{wl0}"
    );
    assert!(
        wl0.contains("neighbour replace fd02::2 lladdr 02:00:00:00:02:02"),
        "{wl0}"
    );
    let made = cable(&five, "bs", "eth0").make("lasthop-a-bs");
    assert!(made.starts_with(
        "link add bs type veth peer name eth0 netns lasthop-a-bs address 02:00:00:00:01:01\n"
    ));
    let hosts: Vec<&str> = five.hosts().iter().map(|(name, _)| *name).collect();
    assert_eq!(hosts, ["fh", "wan", "bs", "air", "mh"]);
}

#[test]
fn the_base_stations_own_route() {
    let wl0 = cable(&Topology::five_hosts(1), "bs", "wl0");
    let routes = wl0.own_routes(" rto_min 500ms");
    assert!(routes.contains("10.2.0.0/24 dev wl0 proto kernel scope link src 10.2.0.1 rto_min"));
    assert!(routes.contains("fd02::/64 dev wl0 proto kernel metric 256 rto_min 500ms\n"));
    assert_eq!(wl0.own_routes(""), "");
    assert_eq!(address(Host::Bs, Family::V4).to_string(), "10.2.0.1");
}

#[test]
fn further_hosts_are_addresses_at_one_end_and_neighbours_at_the_other() {
    let (one, three) = (Topology::five_hosts(1), Topology::five_hosts(3));
    let more = |host, device| {
        let all = cable(&three, host, device).configure();
        let few = cable(&one, host, device).configure();
        all.strip_prefix(&few).unwrap().to_owned()
    };
    let mh = more("mh", "eth0");
    assert!(
        mh.contains("address replace 10.2.0.3/24 dev eth0\n"),
        "{mh}"
    );
    assert!(mh.contains("address replace fd02::4/64 dev eth0 nodad\n"));
    let wl0 = more("bs", "wl0");
    let neighbour = "neighbour replace fd02::3 lladdr 02:00:00:00:02:02 dev wl0";
    assert!(wl0.contains(neighbour), "{wl0}");
    assert_eq!((mh.lines().count(), wl0.lines().count()), (4, 4));
    for (host, device) in [("fh", "eth0"), ("bs", "eth0")] {
        assert_eq!(more(host, device), "");
    }
    let last = mobile_address(MOST_HOSTS - 1, Family::V4);
    assert_eq!(last.to_string(), "10.2.0.251");
}

#[test]
fn both_default_routes_carry_the_attributes() {
    let five = Topology::five_hosts(1);
    let routes = cable(&five, "mh", "eth0").routes(" initcwnd 2");
    assert!(routes.contains("default via 10.2.0.1 dev eth0 initcwnd 2\n"));
    assert!(routes.contains("default via fd02::1 dev eth0 initcwnd 2\n"));
    assert_eq!(
        cable(&five, "bs", "wl0").routes(""),
        "",
        "nothing is beyond"
    );
}

#[test]
fn routers_in_a_row_know_what_lies_beyond() {
    let two = Topology::chain(2);
    two.check().unwrap();
    let down = cable(&two, "bs", "wl0");
    assert_eq!(
        down.routes(""),
        "route replace 10.3.0.0/24 via 10.2.0.2 dev wl0\n\
         route replace fd03::/64 via fd02::2 dev wl0\n"
    );
    let up = cable(&two, "bs2", "eth0").routes("");
    assert!(up.contains("10.1.0.0/24 via 10.2.0.1 dev eth0\n"), "{up}");
    assert_eq!(cable(&two, "bs", "eth0").routes(""), "");
    let mh = cable(&two, "mh", "eth0").routes("");
    assert!(mh.contains("default via 10.3.0.1 dev eth0\n"), "{mh}");
    assert_eq!(two.address(Host::Mh, Family::V4).to_string(), "10.3.0.2");
    assert_eq!(two.address(Host::Fh, Family::V6).to_string(), "fd01::2");
    assert_eq!(two.hops().len(), 2);
    assert_eq!(Topology::five_hosts(1).hops().len(), 1);
}

#[test]
fn a_chain_is_as_long_as_asked() {
    assert_eq!(Topology::chain(1), Topology::five_hosts(1));
    assert_eq!(Topology::of(3, 1), Topology::five_hosts(3));
    let nine = Topology::of(1, 9);
    nine.check().unwrap();
    let hops = nine.hops();
    let names: Vec<&str> = hops.iter().map(|link| link.emulator.as_str()).collect();
    let expected = [
        "air", "air2", "air3", "air4", "air5", "air6", "air7", "air8", "air9",
    ];
    assert_eq!(names, expected);
    for pair in hops.windows(2) {
        assert_eq!(pair[0].down.host, pair[1].up.host);
    }
    assert_eq!(hops[8].up, Place::new("bs9", "wl0"));
    assert_eq!(hops[8].down, Place::new("mh", "eth0"));
    let bases: Vec<&Place> = hops.iter().map(|link| &link.up).collect();
    assert!(nine.agents.iter().eq(bases));
    // Nine wires and hops lead back from the last base station, whose own two need no route.
    let up = cable(&nine, "bs9", "eth0").routes("");
    assert_eq!(up.lines().count(), 2 * 8, "{up}");
    assert_eq!(nine.address(Host::Mh, Family::V4).to_string(), "10.10.0.2");
    assert_eq!(nine.address(Host::Bs, Family::V4).to_string(), "10.2.0.1");
}

#[test]
fn a_neighbour_has_a_host_and_a_hop_of_its_own() {
    let three = Topology::five_hosts(1).with_neighbour();
    three.check().unwrap();
    assert!(three.hosts().contains(&("mh2", Role::End)));
    let mh2 = cable(&three, "mh2", "eth0");
    assert!(mh2.routes("").contains("default via 10.3.0.1"));
    assert!(mh2.configure().contains("address replace 10.3.0.2/24"));
    assert_eq!(three.address(Host::Bs, Family::V4).to_string(), "10.2.0.1");
    assert_eq!(three.hops_between("mh2", "mh").len(), 2);
}

#[test]
fn agents_stand_at_either_end_of_their_hops() {
    let below = Topology::chain(2).with_agents_below();
    below.check().unwrap();
    assert_eq!(
        below.agents,
        [Place::new("bs2", "eth0"), Place::new("mh", "eth0")]
    );
}

#[test]
fn what_cannot_be_built_is_refused() {
    type Change = fn(&mut Topology);
    let changes: [(Change, &str); 6] = [
        (|t| t.stations[0].name = "router".into(), "no name"),
        (
            |t| t.links[0].emulator = "air".into(),
            "two hosts called air",
        ),
        (
            |t| t.links[1].up = Place::new("bs", "eth0"),
            "two links end",
        ),
        (|t| t.stations[1].role = Role::End, "does not forward"),
        (|t| t.agents[0].device = "wl7".into(), "no wl7 at bs"),
        (|t| t.links[1].net = 1, "one network"),
    ];
    for (change, hint) in changes {
        let mut topology = Topology::five_hosts(1);
        change(&mut topology);
        let error = topology.check().unwrap_err().to_string();
        assert!(error.contains(hint), "{error}");
    }
}
