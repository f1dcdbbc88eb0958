// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the programs have in reserve: pools and SYNs' hashes that grow and shrink with need. The kernel waits
//! for all of its CPUs behind a change of maps within maps, 10 ms and more, so this is for a thread of its own,
//! which holds up nothing that is due.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::loaded::Loaded;
use super::shrink::{self, Shrinking};
use super::{pools, syns};
use crate::view::View;

/// How soon memory is asked for again that there was none of.
const AGAIN: Duration = Duration::from_secs(60);

/// The reserve of the programs of one device; whoever changes it waits for whoever is about to.
pub struct Reserve(Mutex<Inner>);

struct Inner {
    whose: Whose,
    shrinking: Shrinking,
    /// When it is, if there was none.
    again: Option<Instant>,
}

struct Whose {
    loaded: Arc<Loaded>,
    view: Arc<View>,
}

impl Reserve {
    pub(super) fn of(loaded: &Arc<Loaded>, view: &Arc<View>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Inner {
            whose: Whose::of(loaded, view),
            shrinking: Shrinking::default(),
            again: None,
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same maps, of other programs.
    pub(super) fn follow(&self, loaded: &Arc<Loaded>, view: &Arc<View>) {
        self.inner().whose = Whose::of(loaded, view);
    }

    /// Adds to the pools that run low, up to what was set.
    pub fn grow(&self) {
        let Inner {
            whose, shrinking, ..
        } = &mut *self.inner();
        let of = whose.programs();
        shrinking.give_up(of, false);
        syns::grow(of.loaded, of.shared, of.raw);
        pools::grow(of.loaded, of.shared, of.raw);
    }

    /// Takes away from the pools of which little was in use for long, a piece at a time; those that found no
    /// memory ask for it again after a while. Returns when to go on.
    pub fn give_back(&self, now: Instant) -> Instant {
        let inner = &mut *self.inner();
        inner.ask_again(now);
        inner.shrinking.go_on(inner.whose.programs(), now)
    }

    /// Leaves the pools as they are, with all that they are about to give back.
    pub fn keep_all(&self) {
        let Inner {
            whose, shrinking, ..
        } = &mut *self.inner();
        shrinking.give_up(whose.programs(), true);
    }

    /// Makes the pools as large as they may be.
    ///
    /// # Errors
    /// No memory.
    pub(super) fn fill(&self) -> Result<()> {
        let inner = self.inner();
        let of = inner.whose.programs();
        syns::fill(of.loaded, of.shared)?;
        pools::fill(of.loaded, of.shared, of.raw)
    }
}

impl Inner {
    fn ask_again(&mut self, now: Instant) {
        let of = self.whose.programs();
        if !pools::lacks(of.shared, of.raw) && !syns::lacks(of.shared, of.raw) {
            self.again = None;
            return;
        }
        if now < *self.again.get_or_insert(now + AGAIN) {
            return;
        }
        self.again = None;
        self.shrinking.give_up(of, false);
        syns::ask_again(of.loaded, of.shared, of.raw);
        pools::ask_again(of.loaded, of.shared, of.raw);
    }
}

impl Whose {
    fn of(loaded: &Arc<Loaded>, view: &Arc<View>) -> Self {
        Self {
            loaded: Arc::clone(loaded),
            view: Arc::clone(view),
        }
    }

    fn programs(&self) -> shrink::Of<'_> {
        shrink::Of {
            loaded: &self.loaded,
            shared: &self.view.shared,
            raw: &self.view.setup,
        }
    }
}
