// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The compiled programs on their way into the kernel: with maps of their own, or with those of others
//! that they are to follow.

use std::os::fd::AsFd;

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::{LH_BATCH_SLOTS, LH_MAX_RULES, lh_rule, lh_setup};
use libbpf_rs::{MapCore, MapFlags, MapHandle, ObjectBuilder, OpenObject};

use super::image::{image, map_of};
use super::loaded::{Loaded, Maps};
use super::program::Program;
use super::{pools, shrink, syns};
use crate::bytes;
use crate::maps;
use crate::shared::Shared;
use crate::view::{Shows, View};

/// What is in maps of maps from the beginning.
struct First {
    pools: pools::First,
    syns: syns::First,
    _aside: MapHandle,
}

/// Loads the programs with maps of their own, and fills the pools.
pub(super) fn fresh(raw: &lh_setup, rules: &[lh_rule]) -> Result<Loaded> {
    let (loaded, first) = load(raw, rules, None)?;
    if let Some(first) = first {
        let shared = Shared::map(loaded.map(".bss")?)?;
        first.pools.put(&loaded, &shared, raw)?;
        first.syns.put(&loaded, &shared, raw)?;
    }
    Ok(loaded)
}

/// Loads them with the maps of others, whose sizes they have: what those know they know.
pub(super) fn following(raw: &lh_setup, rules: &[lh_rule], maps: &Maps) -> Result<Loaded> {
    Ok(load(raw, rules, Some(maps))?.0)
}

fn load(
    raw: &lh_setup,
    rules: &[lh_rule],
    given: Option<&Maps>,
) -> Result<(Loaded, Option<First>)> {
    if rules.len() > LH_MAX_RULES as usize {
        bail!(
            "{} match and exclude rules, at most {LH_MAX_RULES}",
            rules.len()
        );
    }
    let image = image()?;
    let mut open = ObjectBuilder::default()
        // Names of maps begin with it, and are the same in another process so.
        .name("lasthop")
        .and_then(|builder| builder.open_memory(&image))
        .context("BPF object")?;
    drop(image);
    prepare(&mut open, raw)?;
    let first = match given {
        Some(given) => {
            reuse(&mut open, given)?;
            None
        }
        None => Some(First {
            pools: pools::First::prepare(&mut open, raw)?,
            syns: syns::First::prepare(&mut open, raw)?,
            _aside: shrink::prepare(&mut open)?,
        }),
    };
    let loaded = Loaded::of(open.load().map_err(|error| refusal(error, raw))?)?;
    let table = loaded.map("rules")?;
    for (i, rule) in rules.iter().enumerate() {
        table.update(&(i as u32).to_ne_bytes(), bytes::of(rule), MapFlags::ANY)?;
    }
    Ok((loaded, first))
}

fn reuse(open: &mut OpenObject, maps: &Maps) -> Result<()> {
    for (name, fd) in &maps.0 {
        map_of(open, name)?
            .reuse_fd(fd.as_fd())
            .with_context(|| format!("BPF map {name}"))?;
    }
    Ok(())
}

/// What can be read of loaded programs.
pub(super) fn view(loaded: &Loaded, raw: lh_setup) -> Result<View> {
    Ok(View {
        shared: Shared::map(loaded.map(".bss")?)?,
        shows: Shows::new(loaded.own_program(Program::Show)?, loaded.handle("shown")?),
        counters: loaded.handle("counters")?,
        partners: loaded.handle("partners")?,
        device: loaded.handle(".bss.device")?,
        setup: raw,
    })
}

/// Why the kernel did not take the programs, and what to do.
fn refusal(error: libbpf_rs::Error, raw: &lh_setup) -> anyhow::Error {
    let why = match error.kind() {
        libbpf_rs::ErrorKind::OutOfMemory => format!(
            "no memory for the {} MiB of the maps: lower cache_total or max_flows",
            maps::loaded_bytes(raw) >> 20
        ),
        libbpf_rs::ErrorKind::PermissionDenied => {
            "the kernel does not let us load BPF programs: run as root".into()
        }
        _ => {
            "the kernel refuses the BPF programs (RUST_LOG=lasthop=debug shows its reasons)".into()
        }
    };
    anyhow::Error::new(error).context(why)
}

/// Sizes of the maps and the constants of the programs.
fn prepare(open: &mut OpenObject, raw: &lh_setup) -> Result<()> {
    let [slots, chunks, flows] = maps::pools(raw);
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let entries = match name.as_str() {
            "flows" => flows.areas(raw.nr_flows),
            "flow_ids" | "flow_hints" | "free_flows" | "timers" => raw.nr_flows,
            "chunks" => chunks.areas(raw.nr_chunks),
            "slots" => slots.areas(raw.nr_slots),
            "free_chunks" => raw.nr_chunks,
            "slot_uses" => raw.nr_slots,
            "free_slots" => raw.nr_slots / LH_BATCH_SLOTS,
            "events" => maps::events_bytes(raw.nr_flows) as u32,
            name if name.ends_with(".bss.device") => {
                let bytes = maps::device_bytes(raw.nr_peers) as u32;
                if bytes != map.value_size() {
                    map.set_value_size(bytes).context("places of receivers")?;
                }
                continue;
            }
            name if name.ends_with(".rodata") => {
                map.set_initial_value(bytes::of(raw))
                    .context("constants of the programs")?;
                continue;
            }
            _ => continue,
        };
        map.set_max_entries(entries)
            .with_context(|| format!("size of map {name}"))?;
    }
    Ok(())
}
