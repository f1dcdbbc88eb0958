// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--take-over`: serves what another process has served until now, with its connections.

use std::os::unix::net::UnixStream;

use anyhow::{Context, Result};

use super::handover::{Given, GivenLive, Taking};
use super::live::Live;
use super::notify::Manager;
use super::options::Common;
use super::place::{Place, Taken, source_of};
use super::settings::Settings;
use crate::control::Control;
use crate::keyfile;
use crate::memory;
use crate::programs::{Agent, Successor};

/// What another process has served.
pub(super) struct TakenOver {
    pub(super) process: Control,
    pub(super) places: Vec<Place>,
    /// Whether it had a configuration file.
    pub(super) had_file: bool,
    /// That process, until it ends.
    pub(super) before: UnixStream,
}

/// Takes over all that the process of that name serves in this network namespace: its lock, and the
/// devices. None: there is no such process.
///
/// # Errors
/// It can't be followed, or the programs can't be loaded: then it goes on.
pub(super) fn take_over(
    common: &Common,
    name: &str,
    manager: &mut Manager,
) -> Result<Option<TakenOver>> {
    let Some(mut taking) = Taking::ask(&common.runtime_dir, name)? else {
        return Ok(None);
    };
    let loaded: Result<Vec<_>> = taking.given.iter().map(load).collect();
    memory::give_back();
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            taking.refuse();
            return Err(error);
        }
    };
    let given = std::mem::take(&mut taking.given);
    let mut places = Vec::new();
    let mut failed = None;
    for (given, by) in given.into_iter().zip(loaded) {
        match place(given, by) {
            Ok(place) => places.push(place),
            Err(error) => failed = Some(error),
        }
    }
    // Before the one from before ends: with its main process the service would end.
    if failed.is_none() {
        manager.is_main();
    }
    // Programs that were put in place already serve the one from before as well: the maps are the same.
    if let Some(error) = failed.or_else(|| taking.done().err()) {
        places.iter_mut().for_each(Place::give);
        taking.refuse();
        return Err(error);
    }
    let controls = places.iter_mut().map(|place| &mut place.control);
    for control in controls.chain([&mut taking.process]) {
        if let Err(error) = control.sign() {
            tracing::warn!("others will be told of the process from before: {error}");
        }
    }
    Ok(Some(TakenOver {
        process: taking.process,
        places,
        had_file: taking.had_file,
        before: taking.stream,
    }))
}

/// The programs for one of its devices, with the maps that there are; none: it is away.
fn load(given: &Given) -> Result<Option<Successor>> {
    let Some(live) = &given.live else {
        return Ok(None);
    };
    let setup = &given.settings.setup;
    let setup = setup.on(live.raw.ifindex, live.raw.l2_bytes);
    Successor::load(&live.maps, &live.raw, &setup)
        .map(Some)
        .with_context(|| given.dev.clone())
}

fn place(given: Given, by: Option<Successor>) -> Result<Place> {
    let mut control = given.control;
    let taken = taken(
        given.live,
        by,
        given.settings,
        (given.dev, given.ordered, given.uptime_s),
    );
    match taken {
        Ok(taken) => Ok(Place::taken(taken, control)),
        Err(error) => {
            control.give();
            Err(error)
        }
    }
}

fn taken(
    live: Option<GivenLive>,
    by: Option<Successor>,
    settings: Settings,
    (dev, ordered, uptime_s): (String, String, f64),
) -> Result<Taken> {
    // One that waits may do so for just these.
    let (mut keys, mut mac_events) = (None, None);
    if let Some(live) = &live {
        keys = settings.keys.as_deref().map(keyfile::read).transpose()?;
        mac_events = source_of(&settings, Some(live.raw.ifindex))?;
    }
    let live = match (live, by) {
        (Some(live), Some(by)) => {
            let agent = Agent::take_over(by, live.links).with_context(|| dev.clone())?;
            Some(Live::take_over(agent, &dev)?)
        }
        _ => None,
    };
    Ok(Taken {
        dev,
        ordered,
        uptime_s,
        settings,
        keys,
        mac_events,
        live,
    })
}
