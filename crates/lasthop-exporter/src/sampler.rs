// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! When agents are asked: every few seconds for the hour that is shown, and for whoever wants to
//! know now, but however many those are, no more than once a second and one round at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::asker::Asker;
use crate::history::History;
use crate::sample::Sample;

/// What was said that long ago is told again.
const FRESH: Duration = Duration::from_secs(1);

/// Asks when it is time.
#[derive(Debug)]
pub struct Sampler {
    asker: Arc<Asker>,
    latest: tokio::sync::Mutex<Option<(Instant, Arc<Sample>)>>,
    history: Mutex<History>,
    interval: Duration,
}

impl Sampler {
    /// Will ask each `interval` once [`Sampler::run`] runs.
    pub fn new(asker: Asker, interval: Duration) -> Self {
        Self {
            asker: Arc::new(asker),
            latest: tokio::sync::Mutex::default(),
            history: Mutex::new(History::new(interval)),
            interval,
        }
    }

    /// What the agents say, asked within the last second.
    pub async fn now(self: &Arc<Self>) -> Arc<Sample> {
        let this = Arc::clone(self);
        // A task of its own: who asked may hang up, the round goes on and keeps others waiting.
        let round = tokio::spawn(async move {
            let mut latest = this.latest.lock().await;
            if let Some((at, sample)) = latest.as_ref() {
                if at.elapsed() < FRESH {
                    return Arc::clone(sample);
                }
            }
            let asker = Arc::clone(&this.asker);
            let asked = tokio::task::spawn_blocking(move || asker.ask()).await;
            let sample = Arc::new(asked.expect("asking does not panic"));
            *latest = Some((Instant::now(), Arc::clone(&sample)));
            sample
        });
        round.await.expect("a round is not cancelled")
    }

    /// Asks for the history, without end.
    pub async fn run(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let sample = self.now().await;
            self.history().add(&sample);
        }
    }

    /// The last hour.
    pub fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
