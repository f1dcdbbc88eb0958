// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! SYNs that are remembered beside the table: by one hash that is always there, and while many connections
//! are unanswered by a larger one. What the kernel forgets first if either is full is what is oldest.

use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use lasthop_core::bindings::{
    LH_SYNS_FEW, LH_SYNS_MANY, LH_UNANSWERED_PART, lh_flow_key, lh_setup, lh_syn,
};
use libbpf_rs::{MapCore, MapHandle, MapType, OpenObject};

use super::inner;
use super::loaded::Loaded;
use crate::maps;
use crate::shared::Shared;

const MAP: &str = "syns";

fn hash(entries: u32) -> Result<MapHandle> {
    let bytes = [size_of::<lh_flow_key>(), size_of::<lh_syn>()];
    inner::create(MAP, MapType::LruHash, bytes, entries)
}

/// The hash that is always there.
pub(super) struct First(MapHandle);

impl First {
    /// Creates it, and shows it to the programs that are about to be loaded.
    pub(super) fn prepare(open: &mut OpenObject, raw: &lh_setup) -> Result<Self> {
        let first = hash(maps::syns(raw.nr_flows).0)?;
        inner::show(open, MAP, &first)?;
        Ok(Self(first))
    }

    /// Puts it where it is looked for.
    pub(super) fn put(self, loaded: &Loaded, shared: &Shared, raw: &lh_setup) -> Result<()> {
        inner::put(loaded, MAP, LH_SYNS_FEW, &[self.0])?;
        let [there, most] = shared.syns();
        there.store(maps::syns(raw.nr_flows).0.into(), Ordering::Relaxed);
        most.store(most_of(raw), Ordering::Relaxed);
        Ok(())
    }
}

/// Whether so many are unanswered, or would be if it were `times` as many, that the larger one is wanted:
/// before the small one alone is asked.
fn many(shared: &Shared, times: u64, raw: &lh_setup) -> bool {
    // SAFETY: a field of a valid struct; no reference is made.
    let unanswered = shared.word(|s| unsafe { &raw mut (*s).unanswered });
    let unanswered = times * unanswered.load(Ordering::Relaxed);
    unanswered * u64::from(LH_UNANSWERED_PART) > u64::from(raw.nr_flows / 2)
}

/// Adds the larger one if it is wanted. Where memory can't be had for it the other has to do, until
/// [`ask_again`].
pub(super) fn grow(loaded: &Loaded, shared: &Shared, raw: &lh_setup) {
    if !many(shared, 1, raw) {
        return;
    }
    if let Err(error) = fill(loaded, shared) {
        let [there, most] = shared.syns();
        most.store(there.load(Ordering::Relaxed), Ordering::Relaxed);
        tracing::warn!("no memory to remember more SYNs: {error:#}");
    }
}

/// As many as may be remembered.
fn most_of(raw: &lh_setup) -> u64 {
    let (few, many) = maps::syns(raw.nr_flows);
    many.unwrap_or(few).into()
}

/// Whether there was no memory for it.
pub(super) fn lacks(shared: &Shared, raw: &lh_setup) -> bool {
    shared.syns()[1].load(Ordering::Relaxed) < most_of(raw)
}

/// Has it added again when it is wanted, or at once.
pub(super) fn ask_again(loaded: &Loaded, shared: &Shared, raw: &lh_setup) {
    let most = shared.syns()[1];
    let before = most.swap(most_of(raw), Ordering::Relaxed);
    if !many(shared, 1, raw) {
        return;
    }
    if let Err(error) = fill(loaded, shared) {
        most.store(before, Ordering::Relaxed);
        tracing::debug!("still no memory to remember more SYNs: {error:#}");
    }
}

/// Whether the larger one is there, and many less would have to be unanswered.
pub(super) fn may_go(shared: &Shared, raw: &lh_setup) -> bool {
    let there = shared.syns()[0].load(Ordering::Relaxed);
    there > maps::syns(raw.nr_flows).0.into() && !many(shared, 4, raw)
}

/// Takes it away, with what it remembers.
pub(super) fn forget_many(loaded: &Loaded, shared: &Shared, raw: &lh_setup) -> Result<()> {
    let few = maps::syns(raw.nr_flows).0;
    shared.syns()[0].store(few.into(), Ordering::Relaxed);
    let map = loaded.map(MAP)?;
    map.delete(&LH_SYNS_MANY.to_ne_bytes())
        .with_context(|| format!("map {MAP}"))
}

/// Adds it, if there is one.
pub(super) fn fill(loaded: &Loaded, shared: &Shared) -> Result<()> {
    let [there, most] = shared.syns();
    let wanted = most.load(Ordering::Relaxed);
    if there.load(Ordering::Relaxed) < wanted {
        inner::put(loaded, MAP, LH_SYNS_MANY, &[hash(wanted as u32)?])?;
        there.store(wanted, Ordering::Relaxed);
    }
    Ok(())
}
