// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The names that `--scheme` takes, and what a scheme needs around it.

use anyhow::{Result, bail};
use lasthop_core::Config;
use lasthop_core::bindings::LH_POLICY_MAC;
use linkemu::mac::MacConfig;

use super::baseline::Baseline;

/// Scheme that stands for the plain router, without any agent.
pub const NO_AGENT: &str = "none";

/// Whether a name asks for an agent: neither for the plain router nor for what takes its place.
pub fn has_agent(name: &str) -> bool {
    name != NO_AGENT && Baseline::named(name).is_none()
}

/// Finds a name that is neither a scheme of the agent nor of what takes its place.
///
/// # Errors
/// It lists those that there are.
pub fn check_name(name: &str) -> Result<()> {
    let is_known = lasthop_core::scheme_by_name(name).is_some();
    if is_known || Baseline::named(name).is_some() || name == NO_AGENT {
        return Ok(());
    }
    let schemes = lasthop_core::schemes().map(|scheme| scheme.name);
    let names: Vec<&str> = schemes.chain(Baseline::ALL.map(Baseline::name)).collect();
    bail!("no scheme `{name}`; have: {}", names.join(", "))
}

/// Whether the scheme of this name has that policy (core/scheme.h); not if there is no such scheme.
pub fn has_policy(name: &str, policy: u32) -> bool {
    lasthop_core::scheme_by_name(name).is_some_and(|scheme| {
        let config = Config {
            scheme,
            ..Default::default()
        };
        config.policy() & policy != 0
    })
}

/// Finds a scheme that goes by the reports of a MAC where the link has none.
///
/// # Errors
/// It says so, and what to add.
pub fn check_mac(name: &str, mac: Option<&MacConfig>) -> Result<()> {
    if mac.is_none() && has_policy(name, LH_POLICY_MAC) {
        bail!(
            "--scheme {name} goes by the MAC's reports, and this link has none: add --mac 802.11b"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_core::bindings::LH_POLICY_PARTNER;

    #[test]
    fn who_needs_a_mac_and_who_a_partner() {
        let needs = |policy| {
            let names = [
                "none", "snoop", "sack", "snack", "csnoop", "dproxy", "rack", "?",
            ];
            names
                .into_iter()
                .filter(move |name| has_policy(name, policy))
        };
        assert!(needs(LH_POLICY_MAC).eq(["csnoop"]));
        assert!(needs(LH_POLICY_PARTNER).eq(["snack", "dproxy"]));
    }

    #[test]
    fn names_and_who_is_behind_them() {
        for (name, is_agent) in [
            ("rack", true),
            ("none", false),
            ("split", false),
            ("passthrough", false),
        ] {
            check_name(name).unwrap();
            assert_eq!(has_agent(name), is_agent, "{name}");
        }
        let error = check_name("splits").unwrap_err().to_string();
        assert!(
            error.contains("rack") && error.contains("split, passthrough"),
            "{error}"
        );
        assert!(!error.contains('\n'));
    }

    #[test]
    fn no_scheme_of_the_agent_has_the_name_of_a_baseline() {
        for one in Baseline::ALL {
            assert_eq!(lasthop_core::scheme_by_name(one.name()), None);
            assert_eq!(Baseline::named(one.name()), Some(one));
        }
    }
}
