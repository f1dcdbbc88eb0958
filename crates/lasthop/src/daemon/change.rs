// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A device that is to be served otherwise from now on: programs with what is new are loaded on a thread
//! of their own, while those that there are go on, and then take their place.

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::place::{Following, Place, source_of};
use super::settings::Settings;
use crate::keyfile;
use crate::memory;
use crate::priority;
use crate::programs::Successor;

/// What came of it for one device, as `lasthop reload -j` shows it.
pub(super) fn told(dev: Option<&str>, what: &str, error: Option<&anyhow::Error>) -> Value {
    json!({
        "dev": dev,
        "reload": what,
        "error": error.map(|error| format!("{error:#}")),
    })
}

impl Place {
    /// Serves the device as `wanted` says. Nothing: programs are being loaded for it, and
    /// [`Place::follow_up`] tells what comes of that.
    pub(super) fn change(&mut self, wanted: Settings) -> Option<Value> {
        match self.try_change(wanted) {
            Ok(Some(what)) => Some(self.told(what)),
            Ok(None) => None,
            Err(error) => Some(told(Some(&self.label()), "failed", Some(&error))),
        }
    }

    /// What came of loading, if that is over.
    pub(super) fn follow_up(&mut self) -> Option<Value> {
        let following = self.following.take_if(|f| f.loading.is_finished())?;
        match self.try_follow(following) {
            Ok(()) => Some(self.told("changed")),
            Err(error) => Some(told(Some(&self.label()), "failed", Some(&error))),
        }
    }

    fn told(&mut self, what: &str) -> Value {
        self.reloads += u64::from(what == "changed");
        let mut value = told(Some(&self.label()), what, None);
        value["scheme"] = self.settings.scheme.clone().into();
        let flows = self.live.as_ref().map(|live| live.agent.usage().flows);
        value["flows"] = flows.into();
        value
    }

    fn try_change(&mut self, mut wanted: Settings) -> Result<Option<&'static str>> {
        if self.live.is_some() {
            wanted.keep_sizes(&self.settings);
        }
        let keys = wanted.keys.as_deref().map(keyfile::read).transpose()?;
        if wanted == self.settings && keys == self.keys {
            return Ok(Some("unchanged"));
        }
        if wanted.mac_events != self.settings.mac_events {
            let ifindex = self.live.as_ref().map(|live| live.ifindex);
            self.mac_events = source_of(&wanted, ifindex)?;
        }
        self.keys = keys;
        if let (Some(live), Some(keys)) = (&self.live, &self.keys) {
            live.agent.set_keys(keys)?;
        }
        if self.live.is_some() && wanted.setup != self.settings.setup {
            self.load_following(wanted)?;
            return Ok(None);
        }
        self.settings = wanted;
        self.loading = None; // it is loading what nobody wants any more: anew
        Ok(Some("changed"))
    }

    fn load_following(&mut self, settings: Settings) -> Result<()> {
        let live = self.live.as_ref().context("the device is away")?;
        let (maps, before) = (live.agent.maps()?, *live.agent.setup());
        let setup = settings.setup.on(before.ifindex, before.l2_bytes);
        let load = move || {
            priority::of_thread();
            Successor::load(&maps, &before, &setup)
        };
        self.following = Some(Following {
            settings,
            loading: std::thread::Builder::new().spawn(load)?,
        });
        Ok(())
    }

    fn try_follow(&mut self, following: Following) -> Result<()> {
        let loaded = following.loading.join();
        memory::give_back();
        let by = loaded.map_err(|_| anyhow!("loading failed"))??;
        match &mut self.live {
            Some(live) if live.ifindex == by.ifindex() => live.succeed(by)?,
            _ => self.loading = None, // it went meanwhile: what comes back is loaded anew
        }
        self.settings = following.settings;
        Ok(())
    }
}
