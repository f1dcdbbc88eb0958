// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The topologies that are in use.

use super::{Kind, LOSSY_DEVICE, Link, Place, Role, Station, Topology, WIRED_DEVICE};

/// The base station's device towards a second hop.
const SECOND_LOSSY_DEVICE: &str = "wl1";

fn station(name: &str, role: Role) -> Station {
    Station {
        name: name.to_owned(),
        role,
        receivers: 1,
    }
}

fn wire(emulator: &str, up: Place, down: Place, net: u8) -> Link {
    Link {
        emulator: emulator.to_owned(),
        up,
        down,
        net,
        kind: Kind::Wire,
    }
}

fn hop(emulator: &str, up: Place, down: Place, net: u8) -> Link {
    Link {
        kind: Kind::Hop { loss: None },
        ..wire(emulator, up, down, net)
    }
}

impl Topology {
    /// FH, a wire, the base station, the lossy hop, MH, which may stand for several receivers. The
    /// agent is at the base station, towards the hop.
    pub fn five_hosts(receivers: usize) -> Self {
        let mh = Station {
            receivers,
            ..station("mh", Role::End)
        };
        Self {
            stations: vec![station("fh", Role::End), station("bs", Role::Router), mh],
            links: vec![
                wire(
                    "wan",
                    Place::new("fh", WIRED_DEVICE),
                    Place::new("bs", WIRED_DEVICE),
                    1,
                ),
                hop(
                    "air",
                    Place::new("bs", LOSSY_DEVICE),
                    Place::new("mh", WIRED_DEVICE),
                    2,
                ),
            ],
            agents: vec![Place::new("bs", LOSSY_DEVICE)],
        }
    }

    /// The five, with so many lossy hops in a row, one at least: further base stations, `bs2`, `bs3`
    /// and so on, stand between the first and MH, and hops `air2`, `air3` behind them. Each has an
    /// agent towards its hop.
    pub fn chain(hops: u8) -> Self {
        let mut topology = Self::five_hosts(1);
        for number in 2..=hops {
            let base = format!("bs{number}");
            if let Some(last) = topology.links.last_mut() {
                last.down = Place::new(&base, WIRED_DEVICE);
            }
            topology.links.push(hop(
                &format!("air{number}"),
                Place::new(&base, LOSSY_DEVICE),
                Place::new("mh", WIRED_DEVICE),
                number + 1,
            ));
            topology.agents.push(Place::new(&base, LOSSY_DEVICE));
            topology.stations.push(station(&base, Role::Router));
        }
        topology
    }

    /// That of a link's options, with all of its receivers.
    pub fn of(receivers: usize, hops: u8) -> Self {
        match hops {
            1 => Self::five_hosts(receivers),
            _ => Self::chain(hops),
        }
    }

    /// With a host of its own at the base station, on a hop of its own: a neighbour, or one that
    /// forges. No agent stands on its hop.
    #[must_use]
    pub fn with_neighbour(mut self) -> Self {
        self.stations.push(station("mh2", Role::End));
        let net = self.links.iter().map(|link| link.net).max().unwrap_or(0) + 1;
        self.links.push(hop(
            &format!("air{net}"),
            Place::new("bs", SECOND_LOSSY_DEVICE),
            Place::new("mh2", WIRED_DEVICE),
            net,
        ));
        self
    }

    /// With its agents at the other ends of their hops: those repair what goes up.
    #[must_use]
    pub fn with_agents_below(mut self) -> Self {
        for agent in &mut self.agents {
            let of = |link: &&Link| link.up == *agent;
            if let Some(link) = self.links.iter().find(of) {
                *agent = link.down.clone();
            }
        }
        self
    }

    /// With another loss on the hop of that emulator, in both directions.
    #[must_use]
    pub fn with_loss(mut self, emulator: &str, loss: f64) -> Self {
        let hops = self
            .links
            .iter_mut()
            .filter(|link| link.emulator == emulator);
        for link in hops {
            link.kind = Kind::Hop { loss: Some(loss) };
        }
        self
    }
}
