// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! When the pools give areas back, and how the kernel is asked for it: a pool of which less than an eighth was
//! in use for a while is halved, as it was doubled when it ran low. A piece of work at a time, since repairs
//! wait meanwhile.

use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::{LH_POOL_SLOTS, lh_setup};
use libbpf_rs::{MapCore, MapHandle, MapType, OpenObject};

use super::giving::{Free, Giving};
use super::inner;
use super::loaded::Loaded;
use super::pools::{Pool, pools, push, runs_low};
use super::program::Program;
use super::{spares, syns};
use crate::shared::Shared;

/// What gives a slot back is run so often on a CPU that is busy.
const TRIES: usize = 64;
const ASIDE: &str = "aside";
/// So long little has to be in use.
const LOW_FOR: Duration = Duration::from_secs(30);
/// Passes are so far apart: what was in use comes back meanwhile.
const PASS: Duration = Duration::from_secs(1);
/// After so many the areas have to do of which everything is there.
const PASSES: u32 = 20;
/// Batches or numbers in a row: a millisecond or so, and then a rest.
const AT_ONCE: usize = 1_024;
const REST: Duration = Duration::from_millis(20);

/// Shows what stacks aside are like to the programs that are about to be loaded: by this one, until they are.
pub(super) fn prepare(open: &mut OpenObject) -> Result<MapHandle> {
    let like = stack(1)?;
    inner::show(open, ASIDE, &like)?;
    Ok(like)
}

fn stack(entries: u32) -> Result<MapHandle> {
    inner::create(ASIDE, MapType::Stack, [0, size_of::<u32>()], entries)
}

/// The stacks of a pool.
struct Stacks<'a> {
    free: &'a MapHandle,
    aside: &'a MapHandle,
    batch: usize,
    give: i32,
}

fn number(bytes: &[u8]) -> Result<u32> {
    Ok(u32::from_ne_bytes(bytes.try_into().context("a number")?))
}

impl Free for Stacks<'_> {
    fn batch(&self) -> usize {
        self.batch
    }

    fn pop(&self) -> Result<Vec<u32>> {
        let popped = self.free.lookup_and_delete(&[])?.unwrap_or_default();
        popped.chunks_exact(size_of::<u32>()).map(number).collect()
    }

    fn push(&self, batch: &[u32]) -> Result<()> {
        push(self.free, batch)
    }

    fn pop_aside(&self) -> Result<Option<u32>> {
        let popped = self.aside.lookup_and_delete(&[])?;
        popped.map(|value| number(&value)).transpose()
    }

    fn push_aside(&self, number: u32) -> Result<()> {
        push(self.aside, &[number])
    }

    fn give(&self, number: u32) -> Result<()> {
        for _ in 0..TRIES {
            if spares::give(self.give, number)? {
                return Ok(());
            }
        }
        bail!("the CPU is busy")
    }
}

/// Areas that are about to go.
struct Work {
    giving: Giving,
    aside: MapHandle,
    /// When to go on.
    at: Instant,
}

/// A pool that may give something back.
#[derive(Default)]
struct One {
    low_since: Option<Instant>,
    /// In use at the most since then.
    peak: u64,
    work: Option<Work>,
}

/// What the pools are about to give back.
#[derive(Default)]
pub(super) struct Shrinking {
    pools: [One; 3],
    syns_low_since: Option<Instant>,
}

/// Whose pools they are.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) shared: &'a Shared,
    pub(super) raw: &'a lh_setup,
}

impl Shrinking {
    /// Does what is to be done by now. Returns when there is more.
    pub(super) fn go_on(&mut self, of: Of<'_>, now: Instant) -> Instant {
        self.forget_syns(of, now);
        let mut next = now + PASS;
        for (one, place) in self.each(of) {
            if let Err(error) = one.go_on(&place, now) {
                tracing::debug!("{} give nothing back: {error:#}", place.pool.map);
            }
            next = one.work.as_ref().map_or(next, |work| next.min(work.at));
        }
        next
    }

    fn each<'a>(&mut self, of: Of<'a>) -> impl Iterator<Item = (&mut One, Place<'a>)> {
        let places = pools(of.raw).into_iter().zip(of.shared.pools());
        let places = (0..).zip(places).map(move |(index, (pool, words))| Place {
            of,
            pool,
            index,
            words,
        });
        self.pools.iter_mut().zip(places)
    }

    fn forget_syns(&mut self, of: Of<'_>, now: Instant) {
        if !syns::may_go(of.shared, of.raw) {
            self.syns_low_since = None;
        } else if now >= *self.syns_low_since.get_or_insert(now) + LOW_FOR {
            self.syns_low_since = None;
            if let Err(error) = syns::forget_many(of.loaded, of.shared, of.raw) {
                tracing::debug!("SYNs: {error:#}");
            }
        }
    }

    /// Gives up where the pool is wanted as it is; `all`: everywhere.
    pub(super) fn give_up(&mut self, of: Of<'_>, all: bool) {
        for (one, place) in self.each(of) {
            let given = |work: &&mut Work| all || place.wanted(work.giving.from);
            if let Some(work) = one.work.as_mut().filter(given) {
                match place.give_up(work) {
                    Ok(()) => *one = One::default(),
                    Err(error) => tracing::warn!("{}: {error:#}", place.pool.map),
                }
            }
        }
    }
}

impl One {
    fn go_on(&mut self, place: &Place<'_>, now: Instant) -> Result<()> {
        if let Some(work) = self.work.as_mut() {
            if now < work.at {
                return Ok(());
            }
            work.at = now + PASS; // unless all goes well
            if place.go_on(work, now)? {
                *self = Self::default();
            }
            return Ok(());
        }
        let [used, there] = place.now();
        let target = place.target(used.max(self.peak), there);
        if used >= there / 8 || target >= there {
            *self = Self::default();
            return Ok(());
        }
        self.peak = self.peak.max(used);
        if now >= *self.low_since.get_or_insert(now) + LOW_FOR {
            *self = Self::default();
            self.work = Some(place.begin(target as u32, there as u32, now)?);
        }
        Ok(())
    }
}

/// A pool, and where the kernel has it.
struct Place<'a> {
    of: Of<'a>,
    pool: Pool,
    index: u32,
    words: [&'a AtomicU64; 3],
}

impl Place<'_> {
    /// How many are in use, and there.
    fn now(&self) -> [u64; 2] {
        [0, 1].map(|word| self.words[word].load(Ordering::Relaxed))
    }

    /// How many are to be there if so many were in use at the most: half, but with room to grow.
    fn target(&self, peak: u64, there: u64) -> u64 {
        let area = u64::from(self.pool.size.area());
        let wanted = (there / 2).max(2 * peak).max(self.pool.first());
        wanted.next_multiple_of(area)
    }

    /// Whether more is wanted than would stay.
    fn wanted(&self, stays: u32) -> bool {
        runs_low(self.now()[0], stays.into())
    }

    fn begin(&self, from: u32, upto: u32, now: Instant) -> Result<Work> {
        let aside = stack(upto)?;
        inner::put(self.of.loaded, ASIDE, self.index, slice::from_ref(&aside))?;
        self.ask_for_spares();
        Ok(Work {
            giving: Giving::new(from, upto),
            aside,
            at: now + REST,
        })
    }

    /// Has each CPU put aside what it has at hand, with its next packet: slots. Returns by which number it was
    /// asked the time before.
    fn ask_for_spares(&self) -> Option<u64> {
        let shared = self.of.shared;
        // SAFETY: a field of a valid struct; no reference is made.
        let asked = shared.word(|s| unsafe { &raw mut (*s).spares_asked });
        (self.index == LH_POOL_SLOTS).then(|| asked.fetch_add(1, Ordering::Relaxed))
    }

    fn stacks<'b>(&'b self, aside: &'b MapHandle) -> Result<Stacks<'b>> {
        Ok(Stacks {
            free: self.of.loaded.map(self.pool.free)?,
            aside,
            batch: self.pool.batch,
            give: self.of.loaded.program(Program::Give)?,
        })
    }

    /// True: all is done.
    fn go_on(&self, work: &mut Work, now: Instant) -> Result<bool> {
        if work.giving.complete() && work.giving.passes > 0 {
            return self.remove(work, now);
        }
        if self.wanted(work.giving.from) {
            return self.give_up(work).map(|()| true);
        }
        let stacks = self.stacks(&work.aside)?;
        let passed = work.giving.step(&stacks, AT_ONCE)?;
        if !passed || work.giving.complete() {
            work.at = now + REST;
        } else if work.giving.passes >= PASSES {
            work.giving.settle(self.pool.size.shift);
        } else if let Some(asked) = self.ask_for_spares() {
            spares::visit(self.of.loaded, asked)?;
        }
        Ok(false)
    }

    /// Removes one of the areas that nobody uses any more, the last one. True: that is over.
    fn remove(&self, work: &mut Work, now: Instant) -> Result<bool> {
        let there = self.words[1].load(Ordering::Relaxed) as u32;
        if there <= work.giving.from {
            return self.finish(work).map(|()| true);
        }
        let last = self.pool.size.areas(there) - 1;
        let less = last << self.pool.size.shift;
        self.words[1].store(less.into(), Ordering::Relaxed);
        let areas = self.of.loaded.map(self.pool.map)?;
        areas.delete(&last.to_ne_bytes())?;
        work.at = now + REST;
        Ok(false)
    }

    /// Puts everything back that is not to go any more; areas of which some are gone go first.
    fn give_up(&self, work: &mut Work) -> Result<()> {
        let there = self.words[1].load(Ordering::Relaxed) as u32;
        if there < work.giving.upto {
            while !self.remove(work, work.at)? {}
            return Ok(());
        }
        work.giving.give_up();
        self.finish(work)
    }

    /// The kernel returns from taking the stack away when no program looks at it any more.
    fn finish(&self, work: &mut Work) -> Result<()> {
        let stacks = self.stacks(&work.aside)?;
        work.giving.drain(&stacks)?;
        let all = self.of.loaded.map(ASIDE)?;
        all.delete(&self.index.to_ne_bytes())?;
        work.giving.drain(&stacks)
    }
}
