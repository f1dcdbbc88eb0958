// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What memory the machine and this process's cgroups (v1, v2) have, and have left.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::Room;

impl Room {
    /// This machine's. `taken_bytes`: what our maps have by now, which would be there without them.
    pub fn of_this_machine(taken_bytes: u64) -> Self {
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let cgroup = Bounds::of_cgroups(Path::new("/sys/fs/cgroup"), &cgroups);
        let of_both = |name, cgroup: Option<u64>| {
            let machine = field(&meminfo, name).unwrap_or(u64::MAX);
            machine.min(cgroup.unwrap_or(u64::MAX))
        };
        let left = of_both("MemAvailable:", cgroup.left);
        Self {
            available_bytes: left.saturating_add(taken_bytes),
            total_bytes: of_both("MemTotal:", cgroup.limit),
        }
    }
}

/// A number of /proc/meminfo, in bytes; none if the text doesn't tell.
fn field(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
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

/// What cgroups allow in bytes, and leave of that; none without a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bounds {
    limit: Option<u64>,
    left: Option<u64>,
}

impl Bounds {
    /// Of the cgroups that `cgroups` (/proc/self/cgroup) names, of those mounted at `mounted`: the
    /// least of the process's own and all above it.
    fn of_cgroups(mounted: &Path, cgroups: &str) -> Self {
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
            .map(|(root, files, path)| Self::along(&root, files, Path::new(&path)))
            .fold(Self::default(), Self::least)
    }

    /// Of the cgroup at `path` below `root`, and of each above it. In a container `path` may be of
    /// another namespace: its own is `root` then.
    fn along(root: &Path, files: &Files, path: &Path) -> Self {
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        let mut at = root.to_owned();
        let mut bounds = Self::of(&at, files);
        for name in names {
            at.push(name);
            bounds = bounds.least(Self::of(&at, files));
        }
        bounds
    }

    fn of(cgroup: &Path, files: &Files) -> Self {
        let text = |name: &str| fs::read_to_string(cgroup.join(name)).ok();
        let number = |name: &str| text(name)?.trim().parse::<u64>().ok(); // "max" is none
        let limit = number(files.limit);
        let cache = text("memory.stat").and_then(|stat| {
            let line = stat.lines().find_map(|l| l.strip_prefix(files.cache))?;
            line.trim().parse::<u64>().ok()
        });
        let left = limit.zip(number(files.used)).map(|(limit, used)| {
            let left = limit.saturating_sub(used);
            left.saturating_add(cache.unwrap_or(0))
        });
        Self { limit, left }
    }

    fn least(self, other: Self) -> Self {
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        Self {
            limit: least(self.limit, other.limit),
            left: least(self.left, other.left),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(mounted: &Path, cgroups: &str) -> Option<u64> {
        Bounds::of_cgroups(mounted, cgroups).left
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
        assert_eq!(Bounds::of_cgroups(dir.path(), line), Bounds::default());
        let stat = "anon 1\ninactive_file 300\nactive_file 7\n";
        let tight = [
            ("memory.max", "10000\n"),
            ("memory.current", "4000\n"),
            ("memory.stat", stat),
        ];
        write(&slice, &tight);
        assert_eq!(left(dir.path(), line), Some(6_300), "the slice's");
        let own = [("memory.max", "2000\n"), ("memory.current", "3000\n")];
        write(&slice.join("lasthop.service"), &own);
        assert_eq!(left(dir.path(), line), Some(0), "above its limit");
        let limit = Bounds::of_cgroups(dir.path(), line).limit;
        assert_eq!(limit, Some(2_000), "the least of all");
        // A container sees its own at the root, whatever the path says.
        write(
            dir.path(),
            &[("memory.max", "900"), ("memory.current", "100")],
        );
        assert_eq!(left(dir.path(), "0::/../x\n"), Some(800));
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
        assert_eq!(left(dir.path(), lines), Some(650));
    }

    #[test]
    fn this_machine_has_some() {
        let room = Room::of_this_machine(0);
        assert!(room.available_bytes > 16 << 20 && room.total_bytes > room.available_bytes / 2);
        assert!(Room::of_this_machine(1 << 50).available_bytes > 1 << 50);
        let text = "MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable:   20 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(20_480));
        assert_eq!(field("", "MemAvailable:"), None);
    }
}
