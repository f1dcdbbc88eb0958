// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How much of the machine the agent may be at the most: all of it, not only the maps, where there is
//! little.

use serde::{Deserialize, Serialize};

use super::Room;
use crate::units::mib;

/// Maps, programs and daemon of a small machine are no more than this.
pub const SMALL_BYTES: u64 = 16 << 20;
/// Of it the daemon: its own pages, and those of the file that it runs.
const DAEMON_BYTES: u64 = 6 << 20;
/// And the programs of each device: as they were loaded, as the processor runs them, their types.
const PROGRAMS_BYTES: u64 = 2 << 20;
/// A machine (or cgroup) with no more than this is small: of it that is an eighth.
const SMALL_MACHINE_BYTES: u64 = 128 << 20;

/// What the configuration calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// All of the agent in 16 MiB.
    Small,
    /// The maps in an eighth of what there is.
    Standard,
}

impl Profile {
    /// By its name; none: `auto`.
    ///
    /// # Errors
    /// A sentence that says which there are.
    pub(crate) fn parse(name: &str) -> Result<Option<Self>, &'static str> {
        match name {
            "auto" => Ok(None),
            "small" => Ok(Some(Self::Small)),
            "standard" => Ok(Some(Self::Standard)),
            _ => Err("write \"auto\", \"small\" or \"standard\""),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Standard => "standard",
        }
    }

    /// What the maps of so many devices may have, if nothing else limits them.
    pub(super) fn maps_bytes(self, devices: u64) -> u64 {
        match self {
            Self::Small => {
                (SMALL_BYTES - DAEMON_BYTES).saturating_sub(devices.saturating_mul(PROGRAMS_BYTES))
            }
            Self::Standard => u64::MAX,
        }
    }
}

/// Which profile it is, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// Which.
    pub profile: Profile,
    /// Why, in a few words.
    pub why: String,
}

impl Chosen {
    /// The one that is asked for, else by the memory that there is.
    pub fn of(asked: Option<Profile>, room: &Room) -> Self {
        if let Some(profile) = asked {
            return Self {
                profile,
                why: "memory_profile says so".into(),
            };
        }
        let (profile, than) = match room.total_bytes <= SMALL_MACHINE_BYTES {
            true => (Profile::Small, "no more than"),
            false => (Profile::Standard, "more than"),
        };
        let why = match room.total_bytes {
            u64::MAX => "nobody tells how much memory there is".into(),
            total => format!(
                "machine or cgroup have {}, {than} {}",
                mib(total),
                mib(SMALL_MACHINE_BYTES)
            ),
        };
        Self { profile, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_that_there_is_decides_unless_it_is_said() {
        let of = |mib: u64, asked| {
            let room = Room {
                available_bytes: mib << 19,
                total_bytes: mib << 20,
            };
            Chosen::of(asked, &room)
        };
        let small = of(57, None);
        assert_eq!(small.profile, Profile::Small);
        assert_eq!(
            small.why,
            "machine or cgroup have 57 MiB, no more than 128 MiB"
        );
        assert_eq!(of(128, None).profile, Profile::Small);
        let large = of(129, None);
        assert_eq!(large.profile, Profile::Standard);
        assert_eq!(
            large.why,
            "machine or cgroup have 129 MiB, more than 128 MiB"
        );
        let said = of(57, Some(Profile::Standard));
        assert_eq!(
            (said.profile, said.why.as_str()),
            (Profile::Standard, "memory_profile says so")
        );
        assert_eq!(
            Chosen::of(None, &Room::UNLIMITED).profile,
            Profile::Standard
        );
    }

    #[test]
    fn names() {
        for profile in [Profile::Small, Profile::Standard] {
            assert_eq!(Profile::parse(profile.name()), Ok(Some(profile)));
        }
        assert_eq!(Profile::parse("auto"), Ok(None));
        assert!(Profile::parse("tiny").is_err());
    }

    #[test]
    fn programs_are_counted_for_each_device() {
        let maps = |devices| Profile::Small.maps_bytes(devices);
        assert_eq!((maps(1), maps(2), maps(9)), (8 << 20, 6 << 20, 0));
        assert_eq!(Profile::Standard.maps_bytes(9), u64::MAX);
    }
}
