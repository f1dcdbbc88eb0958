// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How much memory the maps may take: of what the machine and the cgroup have left, an eighth for
//! all devices together, unless the file says otherwise.
//!
//! The maps' memory is taken at attach and charged to the cgroup of who creates them
//! (Linux 5.11); what can't be had is an error then and not later.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};

use crate::units::mib;
use crate::view;

/// So much of what is left is taken by default.
const PART: u64 = 8;
/// Flows take so much of it at the most, and the cache the rest: a flow without a cache is not
/// helped.
const FLOWS_PART: u64 = 5;
/// Fewer are no use, nor is a smaller cache, however small the machine.
const FLOWS_LEAST: u32 = 64;
const CACHE_LEAST_BYTES: u64 = 256 << 10;
/// More is not taken unasked, however large the machine.
pub const FLOWS_MOST: u32 = 16_384;
/// The same of the cache.
pub const CACHE_MOST_BYTES: u64 = 256 << 20;

/// What there is to share, and among how many.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Left on the machine and in the cgroup.
    pub available_bytes: u64,
    /// Devices that are attached.
    pub devices: u64,
}

impl Room {
    /// Where nothing is taken: simulations, replays.
    pub const UNLIMITED: Self = Self {
        available_bytes: u64::MAX,
        devices: 1,
    };

    /// This process's, for so many devices.
    pub fn of_this_machine(devices: usize) -> Self {
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let left = cgroup_left_bytes(Path::new("/sys/fs/cgroup"), &cgroups);
        Self {
            available_bytes: available_bytes(&meminfo)
                .unwrap_or(u64::MAX)
                .min(left.unwrap_or(u64::MAX)),
            devices: devices.max(1) as u64,
        }
    }
}

/// What the file asks for; none: as fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Of all devices together.
    pub memory_bytes: Option<u64>,
    /// Connections per device.
    pub max_flows: Option<u32>,
    /// Bytes of cached packets per device.
    pub cache_total_bytes: Option<u64>,
}

/// A device's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Connections.
    pub max_flows: u32,
    /// Bytes of cached packets.
    pub cache_total_bytes: u64,
}

impl Part {
    /// Kernel memory of its maps.
    pub fn memory_bytes(&self) -> u64 {
        view::memory_bytes(self.max_flows, self.cache_total_bytes)
    }
}

impl Asked {
    /// Divides the room. What is asked for is given, or refused; the rest fits into what is left.
    ///
    /// # Errors
    /// More is asked for than there is.
    pub fn part(&self, room: &Room) -> Result<Part> {
        let all = self.memory_bytes.unwrap_or(room.available_bytes / PART);
        let share = all / room.devices;
        let fits = (share / FLOWS_PART / view::flow_bytes()).min(u64::from(FLOWS_MOST)) as u32;
        let max_flows = self.max_flows.unwrap_or(fits.max(FLOWS_LEAST));
        let left = share.saturating_sub(u64::from(max_flows) * view::flow_bytes());
        let fits = view::cache_fitting(left).min(CACHE_MOST_BYTES);
        let part = Part {
            max_flows,
            cache_total_bytes: self
                .cache_total_bytes
                .unwrap_or(fits.max(CACHE_LEAST_BYTES)),
        };
        let needs = part.memory_bytes().saturating_mul(room.devices);
        if needs > room.available_bytes {
            bail!(
                "the maps of {} device(s) take {}, but only {} are left on this machine or in its cgroup: lower memory, cache_total or max_flows",
                room.devices,
                mib(needs),
                mib(room.available_bytes)
            );
        }
        match self.memory_bytes {
            Some(limit) if needs > limit => bail!(
                "memory: {} are too few for the maps of {} device(s), which take {}: raise it, or lower cache_total or max_flows",
                mib(limit),
                room.devices,
                mib(needs)
            ),
            _ => Ok(part),
        }
    }
}

/// Gives the heap that is free by now back to the machine. What loading took is several times what
/// serving takes, and glibc would keep most of it.
pub(crate) fn give_back() {
    // SAFETY: it changes nothing that anybody holds.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// What could be had without swapping; none if the text doesn't tell.
fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1024)
}

/// Names of the files that tell of a cgroup's memory.
struct Files {
    limit: &'static str,
    used: &'static str,
    /// In memory.stat: page cache that would give way.
    cache: &'static str,
}

const V1: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: "total_inactive_file ",
};
const V2: Files = Files {
    limit: "memory.max",
    used: "memory.current",
    cache: "inactive_file ",
};

/// What the cgroups that `cgroups` (/proc/self/cgroup) names leave, of those mounted at `mounted`:
/// the least of the process's own and all above it; none without a limit.
fn cgroup_left_bytes(mounted: &Path, cgroups: &str) -> Option<u64> {
    let own = |line: &str| -> Option<(PathBuf, &'static Files, String)> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        match controllers {
            "" => Some((mounted.to_owned(), &V2, path.to_owned())),
            names if names.split(',').any(|name| name == "memory") => {
                Some((mounted.join("memory"), &V1, path.to_owned()))
            }
            _ => None,
        }
    };
    cgroups
        .lines()
        .filter_map(own)
        .filter_map(|(root, files, path)| least_left(&root, files, Path::new(&path)))
        .min()
}

/// Of the cgroup at `path` below `root`, and of each above it. In a container `path` may be of
/// another namespace: its own is `root` then.
fn least_left(root: &Path, files: &Files, path: &Path) -> Option<u64> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let mut at = root.to_owned();
    let mut least = left_in(&at, files);
    for name in names {
        at.push(name);
        least = least.into_iter().chain(left_in(&at, files)).min();
    }
    least
}

fn left_in(cgroup: &Path, files: &Files) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(cgroup.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok(); // "max" is none
    let limit = number(files.limit)?;
    let cache = text("memory.stat").and_then(|stat| {
        let line = stat.lines().find_map(|l| l.strip_prefix(files.cache))?;
        line.trim().parse::<u64>().ok()
    });
    Some((limit.saturating_sub(number(files.used)?)).saturating_add(cache.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn room(available_mib: u64, devices: u64) -> Room {
        Room {
            available_bytes: available_mib * MIB,
            devices,
        }
    }

    #[test]
    fn all_devices_share_an_eighth() {
        for (available_mib, devices) in [(23_000, 1), (23_000, 32), (512, 8), (128, 1), (128, 2)] {
            let part = Asked::default()
                .part(&room(available_mib, devices))
                .unwrap();
            let all = part.memory_bytes() * devices;
            assert!(all <= available_mib * MIB / 8, "{available_mib} {devices}");
            assert!(part.cache_total_bytes >= 2 * MIB || available_mib == 128);
        }
        let large = Asked::default().part(&Room::UNLIMITED).unwrap();
        assert_eq!(large.max_flows, FLOWS_MOST);
        assert_eq!(large.cache_total_bytes, CACHE_MOST_BYTES);
    }

    /// Of 16 MiB flows had 62.
    #[test]
    fn the_table_of_a_small_machine_is_small() {
        let part = Asked::default().part(&room(128, 1)).unwrap();
        assert!((256..2_048).contains(&part.max_flows), "{part:?}");
        assert!(part.cache_total_bytes > 10 * MIB, "{part:?}");
    }

    #[test]
    fn what_is_asked_for_is_given_or_refused() {
        let asked = Asked {
            cache_total_bytes: Some(64 * MIB),
            ..Asked::default()
        };
        assert_eq!(
            asked.part(&room(128, 1)).unwrap().cache_total_bytes,
            64 * MIB
        );
        let refused = asked.part(&room(128, 2)).unwrap_err().to_string();
        assert!(refused.contains("only 128 MiB are left"), "{refused}");
        let limited = Asked {
            memory_bytes: Some(32 * MIB),
            ..asked
        };
        let refused = limited.part(&room(1_000, 1)).unwrap_err().to_string();
        assert!(
            refused.starts_with("memory: 32 MiB are too few"),
            "{refused}"
        );
        let memory = Asked {
            memory_bytes: Some(32 * MIB),
            ..Asked::default()
        };
        let part = memory.part(&room(1_000, 2)).unwrap();
        assert!(
            (12 * MIB..=16 * MIB).contains(&part.memory_bytes()),
            "{part:?}"
        );
    }

    fn write(directory: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(directory).unwrap();
        for (name, text) in files {
            fs::write(directory.join(name), text).unwrap();
        }
    }

    #[test]
    fn cgroups_are_heeded() {
        let dir = tempfile::tempdir().unwrap();
        let slice = dir.path().join("system.slice");
        let free = [("memory.max", "max\n"), ("memory.current", "5\n")];
        write(&slice.join("lasthop.service"), &free);
        let line = "0::/system.slice/lasthop.service\n";
        assert_eq!(cgroup_left_bytes(dir.path(), line), None);
        let stat = "anon 1\ninactive_file 300\nactive_file 7\n";
        let tight = [
            ("memory.max", "10000\n"),
            ("memory.current", "4000\n"),
            ("memory.stat", stat),
        ];
        write(&slice, &tight);
        assert_eq!(
            cgroup_left_bytes(dir.path(), line),
            Some(6_300),
            "the slice's"
        );
        let own = [("memory.max", "2000\n"), ("memory.current", "3000\n")];
        write(&slice.join("lasthop.service"), &own);
        assert_eq!(
            cgroup_left_bytes(dir.path(), line),
            Some(0),
            "above its limit"
        );
        // A container sees its own at the root, whatever the path says.
        write(
            dir.path(),
            &[("memory.max", "900"), ("memory.current", "100")],
        );
        assert_eq!(cgroup_left_bytes(dir.path(), "0::/../x\n"), Some(800));
    }

    #[test]
    fn cgroups_of_the_first_version_are_heeded() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            ("memory.limit_in_bytes", "1000"),
            ("memory.usage_in_bytes", "400"),
            ("memory.stat", "inactive_file 1\ntotal_inactive_file 50\n"),
        ];
        write(&dir.path().join("memory/lxc"), &files);
        let lines = "12:pids:/lxc\n3:cpu,memory:/lxc/\n1:name=systemd:/\n";
        assert_eq!(cgroup_left_bytes(dir.path(), lines), Some(650));
    }

    #[test]
    fn this_machine_has_some() {
        assert!(Room::of_this_machine(1).available_bytes > 16 * MIB);
        assert_eq!(
            available_bytes("MemFree: 1 kB\nMemAvailable:   20 kB\n"),
            Some(20_480)
        );
        assert_eq!(available_bytes(""), None);
    }
}
