// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A device that came, or came back, is attached: programs are loaded for it on a thread of their own, while
//! the others are served. What can't be had is said, and tried again.

use std::time::Instant;

use anyhow::{Context, Error, Result, anyhow};

use super::live::load;
use super::options::Common;
use super::place::{Place, RETRY};
use crate::device::Device;
use crate::keyfile;
use crate::mac_events::Opening;
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

    /// Opens what it needs beside the device, unless that was done. False: its source of MAC events is still
    /// being asked.
    fn open(&mut self) -> Result<bool> {
        self.open_if(Opening::is_over).with_context(|| self.label())
    }

    /// The same, and waits for that: when it begins, and serves nobody yet.
    pub(super) fn open_now(&mut self) -> Result<()> {
        let opened = self.open_if(|_| true).with_context(|| self.label());
        opened.map(drop)
    }

    fn open_if(&mut self, may_end: impl Fn(&Opening) -> bool) -> Result<bool> {
        let opening = self.opening.take();
        if !self.lacks {
            return Ok(true);
        }
        self.keys = self
            .settings
            .keys
            .as_deref()
            .map(keyfile::read)
            .transpose()?;
        if let Some(path) = &self.settings.mac_events {
            let opening = opening.map_or_else(|| Opening::begin(path), Ok)?;
            if !may_end(&opening) {
                self.opening = Some(opening);
                return Ok(false);
            }
            self.mac_events = Some(opening.end()?);
        }
        self.lacks = false;
        Ok(true)
    }

    /// The same where one that is at fault is to wait.
    pub(super) fn open_or_complain(&mut self) {
        if let Err(error) = self.open() {
            self.complain(&error);
        }
    }

    /// Waits for what comes of asking its source of MAC events: when nobody is served yet.
    pub(super) fn wait_for_source(&mut self) {
        if self.opening.is_some() {
            if let Err(error) = self.open_now() {
                self.complain(&error);
            }
        }
    }

    /// Hears what has come of that.
    pub(super) fn go_on_opening(&mut self) {
        if self.opening.is_some() {
            self.open_or_complain();
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
        if !self.open()? {
            return Ok(());
        }
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    use super::super::place::tests::waiting;

    /// Who serves hears of a source that says nothing only what has come of it, and of one that answers as well.
    #[test]
    fn a_source_that_is_mute_is_waited_for_by_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mac");
        let listener = UnixListener::bind(&path).unwrap();
        let mut place = waiting(dir.path(), None, Some(&path));
        assert!(!place.open().unwrap(), "it is asked");
        let (mute, _) = listener.accept().unwrap();
        assert!(!place.open().unwrap(), "it has not answered");
        let error = place.open_now().unwrap_err();
        assert!(format!("{error:#}").contains("no answer"), "{error:#}");
        drop(mute);
        assert!(!place.open().unwrap(), "it is asked again");
        let (mut source, _) = listener.accept().unwrap();
        source.read_exact(&mut [0; 7]).unwrap();
        source
            .write_all(b"{\"ok\":true,\"record_bytes\":192}\n")
            .unwrap();
        place.open_now().unwrap();
        assert!(place.mac_fd().is_some() && !place.lacks);
        assert!(place.open().unwrap());
    }
}
