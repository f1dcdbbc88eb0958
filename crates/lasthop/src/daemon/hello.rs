// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! HELLO to the agents at the other end of a device's link, once a second. The programs send it, and
//! hear what comes; here is what they can't know: when it is time, and who we are on the device.

use std::net::Ipv6Addr;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use lasthop_core::bindings::{LH_CAN_REPAIR_MISSING, LH_CAN_TELL_MISSING, LH_PARTNER_FORGET_NS};
use lasthop_core::{Partner, Sender, Us};
use nix::ifaddrs::getifaddrs;

use crate::monotonic::now_ns;
use crate::programs::Agent;

/// As many seconds without an address are worth a word.
const NAMELESS: u32 = 10;

/// What the programs know of us.
#[derive(Debug, Default)]
pub(super) struct Hello {
    us: Us,
    /// How often in a row we had no address of our own.
    nameless: u32,
    /// It was said that nobody repairs here.
    idle_said: bool,
}

impl Hello {
    /// A new life of the agent. Nothing is heard or sent before keys are set.
    pub(super) fn begin(agent: &Agent) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        agent.begin_life(now.map_or(1, |t| t.as_nanos() as u64))?;
        Ok(Self::default())
    }

    /// Goes on with the life that another process of the agent has begun.
    pub(super) fn go_on() -> Self {
        Self::default()
    }

    /// Says hello to all of the link, and to each of those who were heard.
    pub(super) fn say(&mut self, agent: &Agent, device: &str) -> Result<()> {
        let us = who_we_are(device, agent.setup().l2_bytes);
        if us != self.us {
            agent.set_us(&us)?;
            self.us = us;
        }
        self.complain(device);
        for (family, addr) in [(4, us.addr4), (6, us.addr6)] {
            if addr != [0; 16] {
                agent.say_hello(None, family)?;
            }
        }
        let now = now_ns();
        for (i, partner) in agent.partners()?.partner.iter().enumerate() {
            let silent_ns = now.saturating_sub(partner.heard_ns);
            if partner.epoch != 0 && silent_ns < LH_PARTNER_FORGET_NS {
                agent.say_hello(Some(i), partner.at.family.into())?;
            }
            if partner.up(now) {
                self.complain_of_two_bases(device, partner, agent.setup().can);
            }
        }
        Ok(())
    }

    /// Both ends take themselves for the base: each tells, and neither heeds it. Said once.
    fn complain_of_two_bases(&mut self, device: &str, partner: &Partner, our_can: u64) {
        if !self.idle_said && are_two_bases(our_can, partner.can) {
            self.idle_said = true;
            tracing::warn!(
                "{device}: this agent and the one at {} both take themselves for the base, and hide what is lost far beyond the link: say role = \"mobile\" at the end from which the way to the Internet leads over it",
                partner.at.ip()
            );
        }
    }

    /// A port of a bridge often has no address, and messages come from one. Said once, and not of a
    /// device that is about to get one.
    fn complain(&mut self, device: &str) {
        if self.us.addr4 != [0; 16] || self.us.addr6 != [0; 16] {
            self.nameless = 0;
            return;
        }
        self.nameless = self.nameless.saturating_add(1);
        if self.nameless == NAMELESS {
            tracing::warn!(
                "{device} has no address of its own, by which the agent at the link's other end could know this one: give it one of IPv4, such as 169.254.30.1/32"
            );
        }
    }
}

/// Whether agents that can do this tell each other what they miss, and neither repairs it.
fn are_two_bases(ours: u64, theirs: u64) -> bool {
    let tells = u64::from(LH_CAN_TELL_MISSING);
    let repairs = u64::from(LH_CAN_REPAIR_MISSING);
    ours & theirs & tells != 0 && (ours | theirs) & repairs == 0
}

/// Our addresses on the device: the first of IPv4, and of IPv6 the link's own if there is one.
fn who_we_are(device: &str, l2_bytes: u32) -> Us {
    let mut us = Us::default();
    let Ok(addresses) = getifaddrs() else {
        return us;
    };
    let mut global = [0; 16];
    for address in addresses.filter(|a| a.interface_name == device) {
        let Some(address) = address.address else {
            continue;
        };
        if let Some(v4) = address.as_sockaddr_in() {
            if us.addr4 == [0; 16] {
                us.addr4 = Sender::at(v4.ip().into()).addr;
            }
        } else if let Some(v6) = address.as_sockaddr_in6() {
            let ip: Ipv6Addr = v6.ip();
            let kept = match ip.is_unicast_link_local() {
                true => &mut us.addr6,
                false => &mut global,
            };
            if *kept == [0; 16] {
                *kept = ip.octets();
            }
        } else if let Some(link) = address.as_link_addr().filter(|_| l2_bytes != 0) {
            us.hw = link.addr().unwrap_or_default();
        }
    }
    if us.addr6 == [0; 16] {
        us.addr6 = global;
    }
    us
}

#[cfg(test)]
mod tests {
    use lasthop_core::bindings::{LH_PARTNER_ON, LH_ROLE_BASE, LH_ROLE_MOBILE};

    use super::*;

    #[test]
    fn two_bases_are_told_from_a_pair() {
        let can = |role, scheme| {
            let config = lasthop_core::Config {
                role,
                partner: LH_PARTNER_ON,
                ..scheme
            };
            lasthop_core::message::can(config.policy())
        };
        let (rack, snack) = (lasthop_core::Config::default, lasthop_core::Config::snack);
        let base = can(LH_ROLE_BASE, rack());
        assert!(are_two_bases(base, base));
        assert!(!are_two_bases(base, can(LH_ROLE_MOBILE, rack())));
        assert!(!are_two_bases(base, can(LH_ROLE_MOBILE, snack())));
        assert!(!are_two_bases(base, 0), "who does not talk of losses");
    }

    #[test]
    fn loopback_has_its_addresses() {
        let us = who_we_are("lo", 14);
        if us.addr4 != [0; 16] {
            assert_eq!(us.addr4[..4], [127, 0, 0, 1]);
        }
        assert_eq!(us.hw, [0; 6]);
        assert_eq!(who_we_are("nosuch0", 14), Us::default());
    }
}
