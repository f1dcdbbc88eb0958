// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How much memory the maps may take: one limit for all devices together, those too that come later.
//! Unless the file says otherwise it is an eighth of what machine and cgroup have left, and on a small
//! machine what the agent's other parts leave of 16 MiB.
//!
//! The maps' memory is charged to the cgroup of who creates them (Linux 5.11). The cache takes its part by and
//! by; limits are of what all may come to take.

mod machine;
mod profile;

use anyhow::{Result, bail};

pub use self::profile::{Chosen, Profile, SMALL_BYTES};
use crate::maps;
use crate::units::mib;

/// So much of what is left is taken by default.
const PART: u64 = 8;
/// Flows take so much of it at the most, and the cache the rest: a flow without a cache is not
/// helped.
const FLOWS_PART: u64 = 5;
/// Fewer are no use, nor is a smaller cache, however small the machine.
const FLOWS_LEAST: u32 = 64;
pub const CACHE_LEAST_BYTES: u64 = 256 << 10;
/// More is not taken unasked, however large the machine.
pub const FLOWS_MOST: u32 = 16_384;
/// The same of the cache.
pub const CACHE_MOST_BYTES: u64 = 256 << 20;

/// What there is.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Left on the machine and in the cgroup.
    pub available_bytes: u64,
    /// What the machine has, or the cgroup may have.
    pub total_bytes: u64,
}

impl Room {
    /// Where nothing is taken: simulations, replays.
    pub const UNLIMITED: Self = Self {
        available_bytes: u64::MAX,
        total_bytes: u64::MAX,
    };
}

/// What the file asks for; none: as fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// By which rule it fits; none: by the memory that there is.
    pub profile: Option<Profile>,
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
        maps::memory_bytes(self.max_flows, self.cache_total_bytes)
    }

    /// The packets that they have room for: whole areas.
    pub fn cached_bytes(&self) -> u64 {
        maps::cached_bytes(self.cache_total_bytes)
    }
}

impl Asked {
    /// The same with as little room for packets as there may be, for schemes that keep none.
    pub fn without_cache(self) -> Self {
        Self {
            cache_total_bytes: Some(CACHE_LEAST_BYTES),
            ..self
        }
    }

    /// What is asked for, and else what fits into `share`, but never less than is of use.
    fn within(&self, share: u64) -> Part {
        let fits = share.saturating_sub(maps::beside_bytes(FLOWS_LEAST)) / FLOWS_PART;
        let fits = (fits / maps::flow_bytes()).min(u64::from(FLOWS_MOST)) as u32;
        let fits = maps::flows_of_whole_areas(fits.max(FLOWS_LEAST));
        let max_flows = self.max_flows.unwrap_or(fits);
        let flows = maps::flows_bytes(max_flows);
        let fits = maps::cache_fitting(share.saturating_sub(flows)).min(CACHE_MOST_BYTES);
        Part {
            max_flows,
            cache_total_bytes: self
                .cache_total_bytes
                .unwrap_or(fits.max(CACHE_LEAST_BYTES)),
        }
    }

    /// Whether sizes of its own are asked for.
    pub fn sets_sizes(&self) -> bool {
        self.max_flows.is_some() || self.cache_total_bytes.is_some()
    }
}

/// The limit of all devices together.
#[derive(Debug, Clone)]
pub struct Budget {
    room: Room,
    memory_bytes: Option<u64>,
    /// The profile, and why it is that one.
    pub chosen: Chosen,
}

impl Budget {
    /// `asked`: what the file says of all devices.
    pub fn new(asked: &Asked, room: Room) -> Self {
        Self {
            room,
            memory_bytes: asked.memory_bytes,
            chosen: Chosen::of(asked.profile, &room),
        }
    }

    /// What the maps of so many devices may have.
    pub fn bytes(&self, devices: usize) -> u64 {
        let by_profile = self.chosen.profile.maps_bytes(devices as u64);
        let fits = (self.room.available_bytes / PART).min(by_profile);
        self.memory_bytes.unwrap_or(fits)
    }

    /// Divides it among devices of which each asks for this. What is asked for is given, or refused; the
    /// rest is divided equally.
    ///
    /// # Errors
    /// More is asked for than there is.
    pub fn divide(&self, asked: &[Asked]) -> Result<Vec<Part>> {
        let all = self.bytes(asked.len());
        let share = all / asked.len().max(1) as u64;
        let set = asked.iter().filter(|asked| asked.sets_sizes());
        let set: Vec<u64> = set.map(|a| a.within(share).memory_bytes()).collect();
        let left = all.saturating_sub(sum(&set));
        let rest = share.min(left / (asked.len() - set.len()).max(1) as u64);
        let share_of = |asked: &Asked| if asked.sets_sizes() { share } else { rest };
        let parts: Vec<Part> = asked.iter().map(|a| a.within(share_of(a))).collect();
        let needs: Vec<u64> = parts.iter().map(Part::memory_bytes).collect();
        self.check(parts.len(), sum(&needs))?;
        Ok(parts)
    }

    /// Keys by which `other` has what comes later attached otherwise.
    pub fn keys_of_change(&self, other: &Self) -> Vec<&'static str> {
        let memory = (self.memory_bytes != other.memory_bytes).then_some("memory");
        let profile = self.chosen.profile != other.chosen.profile;
        memory
            .into_iter()
            .chain(profile.then_some("memory_profile"))
            .collect()
    }

    /// Says so if devices that were attached before have more than this by now allows: they keep it.
    pub fn warn_of_more(&self, devices: usize, taken: u64) {
        if let Some(limit) = self.memory_bytes.filter(|limit| *limit < taken) {
            tracing::warn!(
                "memory: {devices} device(s) that are attached keep their {}, more than {}: no other one is attached until they go",
                mib(taken),
                mib(limit)
            );
        }
    }

    fn check(&self, devices: usize, needs: u64) -> Result<()> {
        if needs > self.room.available_bytes {
            bail!(
                "the maps of {devices} device(s) take {}, but only {} are left on this machine or in its cgroup: lower memory, cache_total or max_flows",
                mib(needs),
                mib(self.room.available_bytes)
            );
        }
        match self.memory_bytes {
            Some(limit) if needs > limit => bail!(
                "memory: {} are too few for the maps of {devices} device(s), which take {}: raise it, or lower cache_total or max_flows",
                mib(limit),
                mib(needs)
            ),
            _ => Ok(()),
        }
    }

    /// The part of a device that comes while `others` have so much: `part` as it was divided, or if less
    /// is left what fits, but where sizes are asked for no less than those.
    ///
    /// # Errors
    /// Too little is left; in one line how much, and what to do.
    pub fn late(&self, asked: &Asked, part: Part, others: &[u64]) -> Result<Part> {
        let all = self.bytes(others.len() + 1);
        let left = all.saturating_sub(sum(others));
        let parts = [part, asked.within(left)];
        if let Some(part) = parts.into_iter().find(|part| part.memory_bytes() <= left) {
            return Ok(part);
        }
        if others.is_empty() && self.memory_bytes.is_none() {
            return Ok(part); // the least that is of use
        }
        let whose = match self.memory_bytes {
            Some(_) => "memory",
            None => "what may be taken without the key memory",
        };
        bail!(
            "no memory: its maps take {}, but of the {} of {whose} {} other device(s) or policies have {}: raise memory, or lower cache_total or max_flows",
            mib(parts[1].memory_bytes()),
            mib(all),
            others.len(),
            mib(sum(others))
        );
    }
}

fn sum(bytes: &[u64]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, &bytes| u64::saturating_add(sum, bytes))
}

/// Gives the heap that is free by now back to the machine. What loading took is several times what
/// serving takes, and glibc would keep most of it. For the thread that serves, for it takes every heap's
/// lock: one that loads would hold it while others go first on the processor.
pub(crate) fn give_back() {
    // SAFETY: it changes nothing that anybody holds.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// glibc gives the end of a heap back once it is so long, which is what it begins with.
#[cfg(target_env = "gnu")]
const TRIM_BYTES: libc::c_int = 128 << 10;

/// Has the ends of heaps given back when they are freed. Those of other threads [`give_back`] leaves alone, and
/// after the first large block that was freed glibc would keep twice as much of each as that had.
pub(crate) fn give_back_at_once() {
    // SAFETY: it sets a number.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// As programs are loaded: by a thread, which frees something large on the way. In a process of its own, for
    /// other tests have threads and memory, too.
    #[cfg(target_env = "gnu")]
    #[test]
    fn what_a_thread_has_freed_is_given_back() {
        const ALONE: &str = "LASTHOP_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
            alone.args([
                "--exact",
                "memory::tests::what_a_thread_has_freed_is_given_back",
            ]);
            let done = alone.env(ALONE, "1").output().unwrap();
            let said = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let anonymous_bytes = || {
            let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
            let line = text.lines().find(|line| line.starts_with("Anonymous:"));
            let kib = line.and_then(|line| line.split_whitespace().nth(1));
            kib.unwrap().parse::<u64>().unwrap() << 10
        };
        give_back_at_once();
        let before = anonymous_bytes();
        let loads = std::thread::spawn(|| {
            drop(std::hint::black_box(vec![1_u8; 5 << 20]));
            let small: Vec<_> = (0..1_000).map(|_| vec![1_u8; 8 << 10]).collect();
            drop(std::hint::black_box(small));
        });
        loads.join().unwrap();
        give_back();
        let more = anonymous_bytes().saturating_sub(before);
        assert!(more < MIB, "{more} bytes are kept");
    }

    fn budget(available_mib: u64, asked: &Asked) -> Budget {
        let room = Room {
            available_bytes: available_mib * MIB,
            total_bytes: 1 << 40,
        };
        Budget::new(asked, room)
    }

    fn divide(available_mib: u64, asked: Asked, devices: usize) -> Result<Vec<Part>> {
        budget(available_mib, &asked).divide(&vec![asked; devices])
    }

    fn total(parts: &[Part]) -> u64 {
        parts.iter().map(Part::memory_bytes).sum()
    }

    #[test]
    fn all_devices_share_an_eighth() {
        for (available_mib, devices) in [(23_000, 1), (23_000, 32), (512, 8), (128, 1), (128, 2)] {
            let parts = divide(available_mib, Asked::default(), devices).unwrap();
            assert!(
                total(&parts) <= available_mib * MIB / 8,
                "{available_mib} {devices}"
            );
            assert!(parts[0].cache_total_bytes >= 2 * MIB || available_mib == 128);
        }
        let large = Budget::new(&Asked::default(), Room::UNLIMITED);
        let large = large.divide(&[Asked::default()]).unwrap();
        assert_eq!(large[0].max_flows, FLOWS_MOST);
        assert_eq!(large[0].cache_total_bytes, CACHE_MOST_BYTES);
    }

    /// Of 16 MiB flows had 62.
    #[test]
    fn the_table_of_a_small_machine_is_small() {
        let part = divide(128, Asked::default(), 1).unwrap()[0];
        assert!((256..2_048).contains(&part.max_flows), "{part:?}");
        assert!(part.cache_total_bytes > 10 * MIB, "{part:?}");
    }

    #[test]
    fn a_small_agent_leaves_room_for_its_other_parts() {
        let asked = Asked {
            profile: Some(Profile::Small),
            ..Asked::default()
        };
        for (devices, maps_mib) in [(1, 8), (2, 6), (3, 4)] {
            let parts = divide(10_000, asked, devices).unwrap();
            assert!(total(&parts) <= maps_mib * MIB, "{parts:?}");
            assert!(total(&parts) > (maps_mib - 1) * MIB, "{parts:?}");
        }
        let tight = divide(24, asked, 1).unwrap();
        assert!(total(&tight) <= 3 * MIB, "still an eighth: {tight:?}");
        let set = Asked {
            memory_bytes: Some(32 * MIB),
            ..asked
        };
        assert!(
            total(&divide(10_000, set, 1).unwrap()) > 30 * MIB,
            "what is set wins"
        );
    }

    #[test]
    fn what_is_asked_for_is_given_or_refused() {
        let asked = Asked {
            cache_total_bytes: Some(64 * MIB),
            ..Asked::default()
        };
        let part = divide(128, asked, 1).unwrap()[0];
        assert_eq!(part.cache_total_bytes, 64 * MIB);
        let refused = divide(128, asked, 2).unwrap_err().to_string();
        assert!(refused.contains("only 128 MiB are left"), "{refused}");
        let limited = Asked {
            memory_bytes: Some(32 * MIB),
            ..asked
        };
        let refused = divide(1_000, limited, 1).unwrap_err().to_string();
        assert!(
            refused.starts_with("memory: 32 MiB are too few"),
            "{refused}"
        );
        let memory = Asked {
            memory_bytes: Some(32 * MIB),
            ..Asked::default()
        };
        for part in divide(1_000, memory, 2).unwrap() {
            let bytes = part.memory_bytes();
            assert!((12 * MIB..=16 * MIB).contains(&bytes), "{part:?}");
        }
    }

    /// Each was taken to be as large as the one at hand.
    #[test]
    fn who_asks_for_much_leaves_the_rest_to_the_others() {
        let all = Asked {
            memory_bytes: Some(64 * MIB),
            ..Asked::default()
        };
        let much = Asked {
            cache_total_bytes: Some(40 * MIB),
            ..all
        };
        let parts = budget(1_000, &all).divide(&[all, much, all]).unwrap();
        assert_eq!(parts[1].cache_total_bytes, 40 * MIB);
        assert_eq!(parts[0], parts[2]);
        assert!((50 * MIB..=64 * MIB).contains(&total(&parts)), "{parts:?}");
    }

    #[test]
    fn who_comes_late_gets_what_is_left() {
        let asked = Asked {
            memory_bytes: Some(32 * MIB),
            ..Asked::default()
        };
        let budget = budget(1_000, &asked);
        let part = budget.divide(&[asked, asked]).unwrap()[0];
        let late = |asked: &Asked, others: &[u64]| budget.late(asked, part, others);
        assert_eq!(late(&asked, &[16 * MIB]).unwrap(), part);
        let less = late(&asked, &[16 * MIB, 8 * MIB]).unwrap();
        let bytes = less.memory_bytes();
        assert!((7 * MIB..=8 * MIB).contains(&bytes), "{less:?}");
        let refused = late(&asked, &[16 * MIB, 16 * MIB]).unwrap_err().to_string();
        assert!(
            refused.starts_with("no memory: its maps take 0."),
            "{refused}"
        );
        assert!(
            refused.ends_with(
                "but of the 32 MiB of memory 2 other device(s) or policies have 32 MiB: raise memory, or lower cache_total or max_flows"
            ),
            "{refused}"
        );
        let fixed = Asked {
            cache_total_bytes: Some(part.cache_total_bytes),
            max_flows: Some(part.max_flows),
            ..asked
        };
        assert!(late(&fixed, &[16 * MIB, 8 * MIB]).is_err());
        assert!(late(&fixed, &[8 * MIB]).is_ok(), "one has gone");
    }
}
