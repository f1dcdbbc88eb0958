// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A device that came, or came back, is attached: programs are loaded for it on a thread of their own, while
//! the others are served. What can't be had is said, and tried again.

use std::time::Instant;

use anyhow::{Context, Error, Result, anyhow};

use super::live::load;
use super::options::Common;
use super::place::{Place, RETRY, source_of};
use crate::device::Device;
use crate::keyfile;
use crate::memory::{self, Budget};
use crate::priority;

impl Place {
    /// Has it tried at once, as if it never had been.
    pub(super) fn try_anew(&mut self) {
        self.retry = Instant::now();
        self.is_untried = true;
        self.fails = false;
        self.open_or_complain();
    }

    /// Opens what it needs beside the device, unless that was done.
    pub(super) fn open(&mut self) -> Result<()> {
        if self.lacks {
            let keys = self.settings.keys.as_deref().map(keyfile::read).transpose();
            self.keys = keys.with_context(|| self.label())?;
            self.mac_events = source_of(&self.settings, None).with_context(|| self.label())?;
            self.lacks = false;
        }
        Ok(())
    }

    /// The same where one that is at fault is to wait.
    pub(super) fn open_or_complain(&mut self) {
        if let Err(error) = self.open() {
            self.complain(&error);
        }
    }

    /// What has come of that: whether it is attached, or why not. None: it is still being tried.
    pub(super) fn outcome(&self) -> Option<Result<bool>> {
        if self.live.is_some() || !(self.is_there() || self.lacks) {
            return Some(Ok(self.live.is_some()));
        }
        let why = || {
            let before = format!("{}: ", self.label());
            let why = self.complaint.strip_prefix(&before);
            anyhow!("{}", why.unwrap_or(&self.complaint))
        };
        (!self.is_untried).then(|| Err(why()))
    }

    /// Whether its connections are its own: it has programs, or will have them as far as is known. What fails
    /// again and again gets none to lose.
    pub(super) fn is_served(&self) -> bool {
        match (&self.live, &self.loading) {
            (Some(_), _) => true,
            (None, Some(_)) => !self.fails,
            (None, None) => self.complaint.is_empty(),
        }
    }

    /// Takes up a device that came back: first loads, on another thread, then attaches. Failing is
    /// no reason to end: the others are still served, and it may work soon.
    /// `others`: what the maps of each of them take of `budget`.
    pub(super) fn come_back(&mut self, common: &Common, budget: &Budget, others: &[u64]) {
        if let Err(error) = self.try_come_back(common, budget, others) {
            self.complain(&error);
        }
    }

    /// Says why it can't be attached, once for each reason.
    pub(super) fn complain(&mut self, error: &Error) {
        self.retry = Instant::now() + RETRY;
        self.is_untried = false;
        let complaint = format!("{error:#}");
        if complaint != self.complaint {
            tracing::warn!("{complaint}; trying again every {} s", RETRY.as_secs());
            self.complaint = complaint;
        }
    }

    /// It could not be attached, and not for want of memory.
    pub(super) fn fails_with(&mut self, error: &Error) {
        self.fails = true;
        self.complain(error);
    }

    fn try_come_back(&mut self, common: &Common, budget: &Budget, others: &[u64]) -> Result<()> {
        if Instant::now() < self.retry {
            return Ok(());
        }
        self.open()?;
        let device = Device::find(&self.name)?;
        let Some(loading) = self.loading.take_if(|loading| loading.is_finished()) else {
            if self.loading.is_none() {
                let (asked, part) = (&self.settings.asked, self.settings.part);
                let part = budget.late(asked, part, others);
                self.settings.resize(part.with_context(|| self.label())?);
                let (called, setup) = (self.label(), self.settings.setup.clone());
                let load = move || {
                    priority::of_thread();
                    load(&device, &called, &setup)
                };
                self.loading = Some(std::thread::Builder::new().spawn(load)?);
            }
            return Ok(());
        };
        let loaded = loading.join();
        memory::give_back();
        self.fails = true;
        let agent = loaded.map_err(|_| anyhow!("{}: loading failed", self.label()))??;
        let loaded = (agent.setup().ifindex, agent.setup().l2_bytes);
        if loaded != (device.ifindex, device.l2_bytes) {
            self.fails = false;
            return Ok(()); // it went and came back once more meanwhile: load anew
        }
        self.attach(agent, &device, common)?;
        self.fails = false;
        self.complaint.clear();
        Ok(())
    }

    /// The device of that name is one that another place serves by the name it had when it was attached: two
    /// agents on it would each take the other's repairs for the sender's.
    pub(super) fn waits_for(&mut self, other: &str) {
        self.loading = None;
        self.is_untried = false;
        self.complaint = format!(
            "{}: served on as {other}, as it was called before: reload without a section for {other} to have it served by its own",
            self.label()
        );
    }
}
