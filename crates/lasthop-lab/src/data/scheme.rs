// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a scheme needs around it.

use anyhow::{Result, bail};
use lasthop_core::Config;
use lasthop_core::bindings::LH_POLICY_MAC;
use linkemu::mac::MacConfig;

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
            let names = ["none", "snoop", "sack", "snack", "csnoop", "rack", "?"];
            names
                .into_iter()
                .filter(move |name| has_policy(name, policy))
        };
        assert!(needs(LH_POLICY_MAC).eq(["csnoop"]));
        assert!(needs(LH_POLICY_PARTNER).eq(["snack"]));
    }
}
