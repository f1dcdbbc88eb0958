// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a scheme needs around it.

use lasthop_core::Config;

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

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_core::bindings::{LH_POLICY_MAC, LH_POLICY_PARTNER};

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
