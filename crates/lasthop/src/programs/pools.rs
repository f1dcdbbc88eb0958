// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The pools of slots, chunks and flows, which grow with need: each is a map of areas of so many entries. A few
//! are there at first; the programs ask for more when those run low ([`LH_EVENT_GROW`]), and there are
//! never more than what was set.
//!
//! [`LH_EVENT_GROW`]: lasthop_core::bindings::LH_EVENT_GROW

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use lasthop_core::bindings::{LH_BATCH_SLOTS, LH_POLICY_SHADOW, LH_SPARE_MAX, lh_setup};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, OpenObject};
use nix::unistd::{SysconfVar, sysconf};

use super::inner;
use super::loaded::Loaded;
use crate::maps;
use crate::shared::Shared;
use crate::units::mib;

/// Of a pool so much is there at first, and at least such a part of what there may be: with the default limit
/// 8 MiB. It takes the kernel some 10 ms to show the programs more, in which a slow start over a fast wire fills
/// what is left.
const FIRST_BYTES: u64 = 1 << 20;
const FIRST_PART: u64 = 32;
/// CPUs keep free slots at hand, which count neither as used nor as wanted: half of the pool, from which on it
/// grows, must be in reach all the same.
const FIRST_AT_HAND: u64 = 2;
/// And three quarters, from which on the programs share it out (`lh_share`).
const LEAST_AT_HAND: u64 = 4;

/// One of the pools.
pub(super) struct Pool {
    pub(super) map: &'static str,
    pub(super) free: &'static str,
    pub(super) size: maps::Pool,
    /// Free numbers that are pushed and popped at once.
    pub(super) batch: usize,
}

/// In the order of `enum lh_pool`.
pub(super) fn pools(raw: &lh_setup) -> [Pool; 3] {
    let pool = |size, map, free, batch| Pool {
        map,
        free,
        size,
        batch,
    };
    let [slots, chunks, flows] = maps::pools(raw);
    [
        pool(slots, "slots", "free_slots", LH_BATCH_SLOTS as usize),
        pool(chunks, "chunks", "free_chunks", 1),
        pool(flows, "flows", "free_flows", 1),
    ]
}

impl Pool {
    /// Entries that are to be there at least.
    pub(super) fn first(&self) -> u64 {
        self.first_of(cpus())
    }

    fn first_of(&self, cpus: u64) -> u64 {
        let entries = u64::from(self.size.entries);
        let first = (FIRST_BYTES / self.size.entry_bytes as u64).max(entries / FIRST_PART);
        let first = first.max(FIRST_AT_HAND * self.at_hand(cpus) + self.batch as u64);
        first.min(entries)
    }

    /// The most of it that so many CPUs have at hand.
    fn at_hand(&self, cpus: u64) -> u64 {
        match self.batch {
            1 => 0,
            _ => cpus * u64::from(LH_SPARE_MAX),
        }
    }

    /// What to say where so many CPUs may have a good part of it at hand; none: they may not.
    fn too_small(&self, cpus: u64) -> Option<String> {
        let least = LEAST_AT_HAND * self.at_hand(cpus);
        let bytes = |entries: u64| entries * self.size.entry_bytes as u64;
        (u64::from(self.size.entries) < least).then(|| {
            format!(
                "cache_total: of {} the {cpus} CPUs may have up to {} at hand, unused: raise it to {} at least",
                mib(bytes(self.size.entries.into())),
                mib(bytes(self.at_hand(cpus))),
                mib(bytes(least))
            )
        })
    }

    fn area(&self) -> Result<MapHandle> {
        let bytes = [size_of::<u32>(), self.size.entry_bytes];
        inner::create(self.map, MapType::Array, bytes, self.size.area())
    }

    /// Adds `areas` to what is `there`, whose entries are free from then on: low ones on top.
    fn add(&self, loaded: &Loaded, areas: &[MapHandle], there: &AtomicU64) -> Result<()> {
        let from = there.load(Ordering::Relaxed) as u32;
        inner::put(loaded, self.map, from >> self.size.shift, areas)?;
        let upto = from + ((areas.len() as u32) << self.size.shift);
        let upto = self.size.entries.min(upto);
        self.push_all(loaded.map(self.free)?, from, upto)
            .with_context(|| format!("map {}", self.free))?;
        there.store(upto.into(), Ordering::Relaxed);
        Ok(())
    }

    fn push_all(&self, free: &MapHandle, from: u32, upto: u32) -> Result<()> {
        for first in (from..upto).step_by(self.batch).rev() {
            let batch: Vec<u32> = (first..first + self.batch as u32).rev().collect();
            push(free, &batch)?;
        }
        Ok(())
    }
}

/// CPUs that run now.
fn cpus() -> u64 {
    let online = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
    online.map_or(1, |n| u64::try_from(n).unwrap_or(1).max(1))
}

/// Pushes a batch of free numbers; the last one is handed out first.
pub(super) fn push(free: &MapHandle, batch: &[u32]) -> Result<()> {
    let value = batch.iter().flat_map(|number| number.to_ne_bytes());
    let value: Vec<u8> = value.collect();
    Ok(free.update(&[], &value, MapFlags::ANY)?)
}

/// The first area of each pool: the kernel wants to see what areas are like before it takes the programs.
pub(super) struct First([MapHandle; 3]);

impl First {
    /// Creates them, and shows them to the programs that are about to be loaded.
    pub(super) fn prepare(open: &mut OpenObject, raw: &lh_setup) -> Result<Self> {
        let pools = pools(raw);
        let first = Self([pools[0].area()?, pools[1].area()?, pools[2].area()?]);
        for (pool, area) in pools.iter().zip(&first.0) {
            inner::show(open, pool.map, area)?;
        }
        Ok(first)
    }

    /// Puts them, and what else is to be there from the beginning, into the pools.
    pub(super) fn put(self, loaded: &Loaded, shared: &Shared, raw: &lh_setup) -> Result<()> {
        let all = pools(raw).into_iter().zip(shared.pools()).zip(self.0);
        for ((pool, [_, there, most]), area) in all {
            // Where no bytes are kept it is as small as it may be.
            if let Some(text) = pool
                .too_small(cpus())
                .filter(|_| raw.policy & LH_POLICY_SHADOW == 0)
            {
                tracing::warn!("{text}");
            }
            let areas = pool.first().div_ceil(pool.size.area().into());
            let others = (1..areas).map(|_| pool.area());
            let areas = others.chain([Ok(area)]).collect::<Result<Vec<_>>>()?;
            pool.add(loaded, &areas, there)?;
            most.store(pool.size.entries.into(), Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Adds areas until there are `upto` entries.
fn extend(loaded: &Loaded, pool: &Pool, there: &AtomicU64, upto: u64) -> Result<()> {
    let now = there.load(Ordering::Relaxed);
    let missing = upto.saturating_sub(now).div_ceil(pool.size.area().into());
    if missing == 0 {
        return Ok(());
    }
    let mut areas = vec![pool.area()?];
    // And what else there is memory for.
    areas.extend((1..missing).map_while(|_| pool.area().ok()));
    pool.add(loaded, &areas, there)
}

/// Whether a pool is to be larger: half of it is in use, for a sender doubles its window in a round trip (as
/// bpf/host.bpf.h, `lh_runs_low`).
pub(super) fn runs_low(used: u64, there: u64) -> bool {
    used > there / 2
}

/// As many entries as there should be of a pool of which `used` of `there` are in use.
fn wanted(used: u64, there: u64, most: u64) -> u64 {
    match runs_low(used, there) {
        true => (2 * there.max(used)).min(most),
        false => there,
    }
}

/// Adds to the pools that run low. Where memory can't be had for it they stay as they are, until [`ask_again`].
pub(super) fn grow(loaded: &Loaded, shared: &Shared, raw: &lh_setup) {
    for (pool, [used, there, most]) in pools(raw).into_iter().zip(shared.pools()) {
        let now = there.load(Ordering::Relaxed);
        let upto = wanted(
            used.load(Ordering::Relaxed),
            now,
            most.load(Ordering::Relaxed),
        );
        if let Err(error) = extend(loaded, &pool, there, upto) {
            let now = there.load(Ordering::Relaxed);
            most.store(now, Ordering::Relaxed);
            tracing::warn!(
                "no memory for more: {} of {} {} have to do: {error:#}",
                now,
                pool.size.entries,
                pool.map
            );
        }
    }
    // SAFETY: a field of a valid struct; no reference is made.
    let asked = shared.word(|s| unsafe { &raw mut (*s).grow_asked });
    asked.store(0, Ordering::Release);
}

/// Whether some pool found no memory, and has to do with less than was set.
pub(super) fn lacks(shared: &Shared, raw: &lh_setup) -> bool {
    let mut all = pools(raw).into_iter().zip(shared.pools());
    all.any(|(pool, [.., most])| most.load(Ordering::Relaxed) < pool.size.entries.into())
}

/// Has such pools grow again, those that run low at once. Until they do they are shared out as they are.
pub(super) fn ask_again(loaded: &Loaded, shared: &Shared, raw: &lh_setup) {
    for (pool, [used, there, most]) in pools(raw).into_iter().zip(shared.pools()) {
        let entries = pool.size.entries.into();
        if most.load(Ordering::Relaxed) == entries {
            continue;
        }
        let now = there.load(Ordering::Relaxed);
        let upto = wanted(used.load(Ordering::Relaxed), now, entries);
        match extend(loaded, &pool, there, upto) {
            Ok(()) => most.store(entries, Ordering::Relaxed),
            Err(error) => tracing::debug!("still no memory for more {}: {error:#}", pool.map),
        }
    }
}

/// Makes the pools as large as they may be.
pub(super) fn fill(loaded: &Loaded, shared: &Shared, raw: &lh_setup) -> Result<()> {
    let mut all = pools(raw).into_iter().zip(shared.pools());
    all.try_for_each(|(pool, [_, there, _])| extend(loaded, &pool, there, pool.size.entries.into()))
}

#[cfg(test)]
mod tests {
    use super::super::Setup;
    use super::*;

    #[test]
    fn what_cpus_have_at_hand_leaves_half_of_what_is_there_at_first() {
        let setup = Setup {
            cache_total_bytes: 32 << 20,
            max_flows: 1_024,
            ..Setup::default()
        };
        let raw = setup.raw();
        for cpus in [1, 2, 8, 64] {
            let [slots, chunks, _] = pools(&raw);
            let (first, at_hand) = (slots.first_of(cpus), slots.at_hand(cpus));
            assert!(runs_low(first - at_hand, first), "{cpus}");
            assert_eq!(chunks.first_of(cpus), chunks.first_of(1));
            assert_eq!(slots.too_small(cpus), None);
        }
        let [slots, ..] = pools(&raw);
        assert!(
            slots
                .too_small(65)
                .is_some_and(|text| text.contains("raise it to"))
        );
    }

    #[test]
    fn what_runs_low_doubles() {
        assert_eq!(wanted(0, 1_024, 65_536), 1_024);
        assert_eq!(wanted(512, 1_024, 65_536), 1_024);
        assert_eq!(wanted(513, 1_024, 65_536), 2_048);
        assert_eq!(wanted(40_000, 40_960, 65_536), 65_536);
        assert_eq!(wanted(65_000, 65_536, 65_536), 65_536);
    }
}
