// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How much memory the maps may take here, and why so much.

use std::path::Path;

use super::{Finding, State};
use crate::config::Configuration;
use crate::memory::{Asked, Budget, Room};
use crate::units::mib;

const CHECK: &str = "memory";

/// As the configuration says that is named, or else the default one, for one device.
pub fn memory(config: Option<&Path>) -> Finding {
    match Configuration::read_or_default(config) {
        Ok(all) => finding(&all.common.memory(), Room::of_this_machine(0)),
        Err(error) => Finding::new(CHECK, State::Failed, format!("{error:#}")),
    }
}

fn finding(asked: &Asked, room: Room) -> Finding {
    let budget = Budget::new(asked, room);
    match budget.divide(&[*asked]) {
        Err(error) => Finding::new(CHECK, State::Failed, format!("{error:#}")),
        Ok(parts) => {
            let detail = format!(
                "profile {} ({}): the maps of a device take {}, with {} connections and {} of packets",
                budget.chosen.profile.name(),
                budget.chosen.why,
                mib(parts[0].memory_bytes()),
                parts[0].max_flows,
                mib(parts[0].cached_bytes())
            );
            Finding::new(CHECK, State::Ok, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_profile_and_why() {
        let room = Room {
            available_bytes: 100 << 20,
            total_bytes: 120 << 20,
        };
        let found = finding(&Asked::default(), room);
        let begins = "profile small (machine or cgroup have 120 MiB, no more than 128 MiB): the maps of a device take ";
        assert!(found.detail.starts_with(begins), "{}", found.detail);
        assert_eq!(found.state, State::Ok);
        let much = Asked {
            cache_total_bytes: Some(1 << 30),
            ..Asked::default()
        };
        assert_eq!(finding(&much, room).state, State::Failed);
    }
}
