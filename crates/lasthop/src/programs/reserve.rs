// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the programs have in reserve: pools and SYNs' hashes that grow and shrink with need. The kernel waits
//! for all of its CPUs behind a change of maps within maps, 10 ms and more, so this is for a thread of its own,
//! which holds up nothing that is due.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::Result;

use super::loaded::Loaded;
use super::shrink::{self, Shrinking};
use super::{pools, syns};
use crate::view::View;

/// The reserve of the programs of one device; whoever changes it waits for whoever is about to.
pub struct Reserve(Mutex<Inner>);

struct Inner {
    loaded: Arc<Loaded>,
    view: Arc<View>,
    shrinking: Shrinking,
}

impl Reserve {
    pub(super) fn of(loaded: &Arc<Loaded>, view: &Arc<View>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Inner {
            loaded: Arc::clone(loaded),
            view: Arc::clone(view),
            shrinking: Shrinking::default(),
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same maps, of other programs.
    pub(super) fn follow(&self, loaded: &Arc<Loaded>, view: &Arc<View>) {
        let mut inner = self.inner();
        inner.loaded = Arc::clone(loaded);
        inner.view = Arc::clone(view);
    }

    /// Adds to the pools that run low, up to what was set.
    pub fn grow(&self) {
        let mut inner = self.inner();
        inner.stop_giving(false);
        syns::grow(&inner.loaded, &inner.view.shared, &inner.view.setup);
        pools::grow(&inner.loaded, &inner.view.shared, &inner.view.setup);
    }

    /// Takes away from the pools of which little was in use for long, a piece at a time. Returns when to go
    /// on.
    pub fn give_back(&self, now: Instant) -> Instant {
        let inner = &mut *self.inner();
        let of = shrink::Of {
            loaded: &inner.loaded,
            shared: &inner.view.shared,
            raw: &inner.view.setup,
        };
        inner.shrinking.go_on(of, now)
    }

    /// Leaves the pools as they are, with all that they are about to give back.
    pub fn keep_all(&self) {
        self.inner().stop_giving(true);
    }

    /// Makes the pools as large as they may be.
    ///
    /// # Errors
    /// No memory.
    pub(super) fn fill(&self) -> Result<()> {
        let inner = self.inner();
        syns::fill(&inner.loaded, &inner.view.shared)?;
        pools::fill(&inner.loaded, &inner.view.shared, &inner.view.setup)
    }
}

impl Inner {
    fn stop_giving(&mut self, all: bool) {
        let of = shrink::Of {
            loaded: &self.loaded,
            shared: &self.view.shared,
            raw: &self.view.setup,
        };
        self.shrinking.give_up(of, all);
    }
}
