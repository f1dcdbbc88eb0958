// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A device that is to be served otherwise from now on: programs with what is new are loaded on a thread
//! of their own, while those that there are go on, and then take their place.

use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use lasthop_core::bindings::lh_rule;
use serde_json::{Value, json};

use super::place::{Following, Next, Place, RETRY};
use super::settings::Settings;
use crate::keyfile;
use crate::mac_events::{Opening, Source};
use crate::memory;
use crate::priority;
use crate::programs::{Setup, Successor};

/// What came of it for one device, as `lasthop reload -j` shows it: all fields, null where nothing is known.
pub(super) fn told(dev: Option<&str>, what: &str, error: Option<&anyhow::Error>) -> Value {
    json!({
        "dev": dev,
        "reload": what,
        "error": error.map(|error| format!("{error:#}")),
        "scheme": null,
        "flows": null,
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
        match self.follow_if_loaded()? {
            Ok(()) => Some(self.told("changed")),
            Err(error) => Some(told(Some(&self.label()), "failed", Some(&error))),
        }
    }

    /// The same where nobody waits for what comes of it.
    pub(super) fn follow_up_unasked(&mut self) {
        if let Some(Err(error)) = self.follow_if_loaded() {
            tracing::warn!("{}: still as before: {error:#}", self.label());
        }
    }

    fn follow_if_loaded(&mut self) -> Option<Result<()>> {
        let following = self.following.take_if(|f| f.is_over())?;
        let followed = self.try_follow(following);
        if followed.is_err() {
            self.retry = Instant::now() + RETRY;
        }
        Some(followed)
    }

    /// Whether it can be told to go by other rules.
    pub(super) fn is_at_rest(&self) -> bool {
        self.following.is_none() && self.loading.is_none() && Instant::now() >= self.retry
    }

    /// Has it go by these rules, for some policy is served since, or no longer.
    pub(super) fn go_by(&mut self, rules: Vec<lh_rule>) {
        if self.live.is_none() {
            self.settings.setup.rules = rules;
            return;
        }
        let mut settings = self.settings.clone();
        settings.setup = Setup {
            rules,
            ..settings.setup
        };
        let next = Next {
            settings,
            keys: self.keys,
        };
        if let Err(error) = self.load_following(next) {
            tracing::warn!("{}: still as before: {error:#}", self.label());
            self.retry = Instant::now() + RETRY;
        }
    }

    pub(super) fn told(&mut self, what: &str) -> Value {
        self.reloads += u64::from(what == "changed");
        let mut value = told(Some(&self.label()), what, None);
        value["scheme"] = self.settings.scheme.clone().into();
        let flows = self.live.as_ref().map(|live| live.agent.usage().flows);
        value["flows"] = flows.into();
        value
    }

    /// Nothing: programs are being loaded for it.
    pub(super) fn try_change(&mut self, mut wanted: Settings) -> Result<Option<&'static str>> {
        let mut kept = wanted.clone();
        kept.keep_sizes(&self.settings);
        let is_as_before = kept.serves_as(&self.settings);
        if self.live.is_some() {
            wanted = kept;
        }
        let keys = wanted.keys.as_deref().map(keyfile::read).transpose()?;
        if is_as_before && keys == self.keys {
            // What is not attached is to have what memory is left by now.
            if wanted.setup != self.settings.setup {
                self.loading = None;
            }
            self.settings = wanted;
            return Ok(Some("unchanged"));
        }
        let same_source = wanted.mac_events == self.settings.mac_events;
        let same_programs = wanted.setup == self.settings.setup;
        let next = Next {
            settings: wanted,
            keys,
        };
        if self.live.is_some() && !(same_programs && same_source) {
            self.load_following(next)?;
            return Ok(None);
        }
        self.loading = None; // it is loading what nobody wants any more: anew
        if !same_source {
            self.opening = None;
            self.lacks = true;
        }
        self.take_up(next, None)?;
        Ok(Some("changed"))
    }

    /// Has all of it count from now on. `source`: where there is another than before.
    fn take_up(&mut self, next: Next, source: Option<Source>) -> Result<()> {
        if next.settings.mac_events != self.settings.mac_events {
            self.mac_events = source;
        }
        self.settings = next.settings;
        if let Some(live) = &self.live {
            if let Some(source) = &self.mac_events {
                source.follow(live.ifindex)?; // it may have come back meanwhile
            }
            if let Some(keys) = &next.keys {
                live.agent.set_keys(keys)?;
            }
        }
        self.keys = next.keys;
        Ok(())
    }

    fn load_following(&mut self, next: Next) -> Result<()> {
        let path = next.settings.mac_events.as_deref();
        let path = path.filter(|path| self.settings.mac_events.as_deref() != Some(path));
        let opening = path.map(Opening::begin).transpose()?;
        let loading = match next.settings.setup == self.settings.setup {
            true => None,
            false => Some(self.load_successor(&next.settings.setup)?),
        };
        self.following = Some(Following {
            next,
            loading,
            opening,
        });
        Ok(())
    }

    fn load_successor(&self, setup: &Setup) -> Result<JoinHandle<Result<Successor>>> {
        let live = self.live.as_ref().context("the device is away")?;
        let (maps, before) = (live.agent.maps()?, *live.agent.setup());
        let setup = setup.on(before.ifindex, before.l2_bytes);
        let load = move || {
            priority::of_thread();
            Successor::load(&maps, &before, &setup)
        };
        Ok(std::thread::Builder::new().spawn(load)?)
    }

    fn try_follow(&mut self, following: Following) -> Result<()> {
        let loaded = following.loading.map(JoinHandle::join);
        memory::give_back();
        let source = following.opening.map(Opening::end).transpose()?;
        let by = loaded.transpose().map_err(|_| anyhow!("loading failed"))?;
        let by = by.transpose()?;
        match (&mut self.live, by) {
            (Some(live), Some(by)) if live.ifindex == by.ifindex() => live.succeed(by)?,
            (Some(_), None) => {}
            _ => self.loading = None, // it went meanwhile: what comes back is loaded anew
        }
        self.take_up(following.next, source)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::super::place::tests::waiting;
    use super::*;
    use crate::report::RELOAD_FIELDS;

    /// As while programs are being loaded: for what is new in the file, or since some policy is served.
    #[test]
    fn keys_that_were_reloaded_meanwhile_stay() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key");
        let write = |digit: &str| {
            fs::write(&key, digit.repeat(32)).unwrap();
            fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
            keyfile::read(&key).unwrap()
        };
        let old = write("1");
        let mut place = waiting(dir.path(), Some(&key), None);
        place.following = Some(Following {
            next: Next {
                settings: place.settings.clone(),
                keys: Some(old),
            },
            loading: None,
            opening: None,
        });
        let new = write("2");
        let said = place.reload_keys();
        assert!(said.contains("keys reloaded"), "{said}");
        let what = place.follow_up().unwrap();
        assert_eq!(what["reload"], "changed");
        assert!(place.keys == Some(new) && new != old);
    }

    /// What is left of the machine's memory is never twice the same: each reload told of a change.
    #[test]
    fn other_memory_for_what_is_away_is_no_change() {
        let dir = tempfile::tempdir().unwrap();
        let mut place = waiting(dir.path(), None, None);
        let mut wanted = place.settings.clone();
        wanted.part.max_flows /= 2;
        wanted.part.cache_total_bytes /= 2;
        wanted.resize(wanted.part);
        let what = place.change(wanted.clone()).unwrap();
        assert_eq!(what["reload"], "unchanged");
        assert_eq!(place.reloads, 0);
        assert!(place.settings == wanted, "it would be attached with less");
    }

    #[test]
    fn a_line_has_all_its_fields() {
        let line = told(None, "removed", None);
        let has = |(name, ..): &(&str, &str, &str)| line.get(*name).is_some();
        assert!(RELOAD_FIELDS.iter().all(has), "{line}");
    }
}
