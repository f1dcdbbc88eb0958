// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Maps within maps: areas of the pools, hashes of SYNs, stacks aside.

use std::os::fd::{AsFd, AsRawFd};

use anyhow::{Context, Result};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, OpenObject, libbpf_sys};

use super::image::map_of;
use super::loaded::Loaded;

/// A new one for the map `of`, of so many entries; sizes in bytes.
pub(super) fn create(
    of: &str,
    kind: MapType,
    [key_bytes, value_bytes]: [usize; 2],
    entries: u32,
) -> Result<MapHandle> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let name = format!("lh_{of}");
    MapHandle::create(
        kind,
        Some(name),
        key_bytes as u32,
        value_bytes as u32,
        entries,
        &options,
    )
    .with_context(|| format!("memory for map {of}"))
}

/// Shows the programs that are about to be loaded what those in map `of` are like.
pub(super) fn show(open: &mut OpenObject, of: &str, like: &MapHandle) -> Result<()> {
    map_of(open, of)?
        .set_inner_map_fd(like.as_fd())
        .with_context(|| format!("BPF map {of}"))
}

/// Puts them into map `of`, from index `first` on. In one call: the kernel waits for all CPUs behind each.
pub(super) fn put(loaded: &Loaded, of: &str, first: u32, inner: &[MapHandle]) -> Result<()> {
    let count = inner.len() as u32;
    let indices = (first..first + count).flat_map(u32::to_ne_bytes);
    let fds = inner
        .iter()
        .flat_map(|map| map.as_fd().as_raw_fd().to_ne_bytes());
    let [indices, fds] = [indices.collect::<Vec<u8>>(), fds.collect::<Vec<u8>>()];
    loaded
        .map(of)?
        .update_batch(&indices, &fds, count, MapFlags::ANY, MapFlags::ANY)
        .with_context(|| format!("map {of}"))
}
