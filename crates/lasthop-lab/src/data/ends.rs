// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which ends of the lossy hops have an agent.

use serde::{Deserialize, Serialize};

use crate::data::topology::{Link, Place, Topology};

/// An end of a hop as `lasthop attach --role` names it, and where the agent stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// `base` or `mobile`.
    pub role: &'static str,
    /// Host and device.
    pub place: Place,
}

/// The ends with an agent, of each hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Agents {
    /// The base station, or whatever stands towards FH.
    #[default]
    Base,
    /// The mobile host, or whatever stands towards it.
    Mobile,
    /// Either: they share a key, and the counters of all are added up.
    Both,
}

impl Agents {
    /// Where they stand, hop by hop, the base's first.
    pub fn ends(self, topology: &Topology) -> Vec<End> {
        let of_hop = |hop: &Link| {
            let base = End {
                role: "base",
                place: hop.up.clone(),
            };
            let mobile = End {
                role: "mobile",
                place: hop.down.clone(),
            };
            match self {
                Self::Base => vec![base],
                Self::Mobile => vec![mobile],
                Self::Both => vec![base, mobile],
            }
        };
        topology.hops().into_iter().flat_map(of_hop).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(agents: Agents, topology: &Topology) -> Vec<String> {
        let ends = agents.ends(topology).into_iter();
        ends.map(|end| format!("{} {}:{}", end.role, end.place.host, end.place.device))
            .collect()
    }

    #[test]
    fn each_hop_has_its_ends() {
        let one = Topology::five_hosts(1);
        assert_eq!(ends(Agents::Both, &one), ["base bs:wl0", "mobile mh:eth0"]);
        let three = Topology::chain(3);
        assert_eq!(
            ends(Agents::Both, &three),
            [
                "base bs:wl0",
                "mobile bs2:eth0",
                "base bs2:wl0",
                "mobile bs3:eth0",
                "base bs3:wl0",
                "mobile mh:eth0"
            ]
        );
        let below = ["mobile bs2:eth0", "mobile bs3:eth0", "mobile mh:eth0"];
        assert_eq!(ends(Agents::Mobile, &three), below);
        assert_eq!(ends(Agents::Base, &three)[2], "base bs3:wl0");
        // A neighbour's hop is none of theirs.
        let beside = Topology::five_hosts(1).with_neighbour();
        assert_eq!(ends(Agents::Base, &beside), ["base bs:wl0"]);
    }
}
