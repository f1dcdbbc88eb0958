// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What stays of the programs once the kernel has them: descriptors. libbpf's object, with
//! instructions, types and places of lines of all of them, would be half of the daemon's own memory.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use anyhow::{Context, Result};
use libbpf_rs::{MapCore, MapHandle, Object};

use super::program::Program;

/// The maps that programs have in common with those that follow them: all but what each has its own
/// of, constants, rules, and what they show.
pub struct Maps(pub(crate) Vec<(String, OwnedFd)>);

/// Programs and maps in the kernel, by their names.
pub(super) struct Loaded {
    programs: Vec<(String, OwnedFd)>,
    maps: Vec<(String, MapHandle)>,
}

impl Loaded {
    /// Keeps the descriptors, and lets all else go.
    pub(super) fn of(mut object: Object) -> Result<Self> {
        Ok(Self {
            programs: object
                .progs()
                .map(|program| {
                    let name = program.name().to_string_lossy().into_owned();
                    let fd = program.as_fd().try_clone_to_owned();
                    fd.map(|fd| (name, fd)).context("BPF programs")
                })
                .collect::<Result<_>>()?,
            maps: object
                .maps_mut()
                .map(|map| {
                    let name = map.name().to_string_lossy().into_owned();
                    let handle = MapHandle::try_from(&map);
                    let handle = handle.with_context(|| format!("BPF map {name}"))?;
                    Ok((name, handle))
                })
                .collect::<Result<_>>()?,
        })
    }

    fn owned(&self, program: Program) -> Result<&OwnedFd> {
        let mut programs = self.programs.iter();
        let found = programs.find(|(name, _)| name == program.name());
        found
            .map(|(_, fd)| fd)
            .with_context(|| format!("no BPF program {}", program.name()))
    }

    pub(super) fn program(&self, program: Program) -> Result<i32> {
        self.owned(program).map(AsRawFd::as_raw_fd)
    }

    /// One more descriptor of a program.
    pub(super) fn own_program(&self, program: Program) -> Result<OwnedFd> {
        let fd = self.owned(program)?.try_clone();
        fd.with_context(|| format!("BPF program {}", program.name()))
    }

    /// Names of maps of libbpf's own (`.bss`) begin with the object's.
    pub(super) fn map(&self, name: &str) -> Result<&MapHandle> {
        let mut maps = self.maps.iter();
        let is = |full: &str| full == name || (name.starts_with('.') && full.ends_with(name));
        let found = maps.find(|(full, _)| is(full));
        found
            .map(|(_, map)| map)
            .with_context(|| format!("no BPF map {name}"))
    }

    /// One more descriptor of a map.
    pub(super) fn handle(&self, name: &str) -> Result<MapHandle> {
        MapHandle::try_from(self.map(name)?).with_context(|| format!("BPF map {name}"))
    }

    /// What programs that follow these go on with.
    pub(super) fn shared(&self) -> Result<Maps> {
        let own = |name: &str| ["rules", "shown"].contains(&name) || name.ends_with(".rodata");
        let of = |(name, map): &(String, MapHandle)| -> Result<(String, OwnedFd)> {
            let fd = map.as_fd().try_clone_to_owned();
            Ok((name.clone(), fd.with_context(|| format!("BPF map {name}"))?))
        };
        let maps = self.maps.iter().filter(|(name, _)| !own(name));
        maps.map(of).collect::<Result<_>>().map(Maps)
    }
}
