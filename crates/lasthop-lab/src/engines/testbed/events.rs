// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--outage-events`: tells the agent when the hop goes and comes back, as an access point's
//! daemon does from an action script.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::bed::agent::{self, LinkState};
use crate::bed::namespace::Namespace;
use crate::data::outage::Outage;

/// The thread that tells. Dropping it ends it.
#[derive(Debug)]
pub struct Teller {
    /// Never sent on: the thread ends when it goes.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl Teller {
    /// Calls `tell` at each beginning and end of an outage, its times counted from `zero`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        outage: Outage,
        zero: Instant,
        horizon: Duration,
        tell: impl Fn(LinkState) -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        let work = move || {
            let mut failures = Vec::new();
            for (at, state) in events(outage, horizon) {
                let wait = (zero + at).saturating_duration_since(Instant::now());
                if stopped.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected) {
                    break;
                }
                if let Err(error) = tell(state) {
                    failures.push(format!("--outage-events: {error:#}"));
                }
            }
            failures.dedup();
            failures
        };
        let thread = thread::Builder::new().name("events".into()).spawn(work)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Ends it; returns what went wrong.
    pub fn stop(mut self) -> Vec<String> {
        self.halt()
    }

    fn halt(&mut self) -> Vec<String> {
        drop(self.stop.take());
        let failures = self.thread.take().map(JoinHandle::join);
        failures.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.halt();
    }
}

/// Beginnings and ends in their order.
fn events(outage: Outage, horizon: Duration) -> impl Iterator<Item = (Duration, LinkState)> {
    let intervals_ns = outage.intervals_ns(horizon.as_nanos() as u64);
    intervals_ns.flat_map(|(start_ns, end_ns)| {
        [
            (Duration::from_nanos(start_ns), LinkState::Down),
            (Duration::from_nanos(end_ns), LinkState::Up),
        ]
    })
}

/// What tells the agents on these devices, each in its namespace.
pub fn tell_agents(
    agents: Vec<(Namespace, String)>,
) -> impl Fn(LinkState) -> Result<()> + Send + 'static {
    move |state| {
        let mut all = agents.iter();
        all.try_for_each(|(namespace, device)| agent::tell_link(namespace, device, state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    const HORIZON: Duration = Duration::from_secs(60);

    /// A log and what writes to it; telling of the device's return fails.
    fn log() -> (
        Arc<Mutex<Vec<LinkState>>>,
        impl Fn(LinkState) -> Result<()> + Send + 'static,
    ) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let tell = move |state| {
            log.lock().unwrap().push(state);
            anyhow::ensure!(state == LinkState::Down, "nobody listens");
            Ok(())
        };
        (told, tell)
    }

    #[test]
    fn every_outage_has_two_events() {
        let ms = Duration::from_millis;
        let outage: Outage = "6s,300ms,5s".parse().unwrap();
        let all: Vec<_> = events(outage, ms(12_000)).collect();
        assert_eq!(
            all,
            [
                (ms(6000), LinkState::Down),
                (ms(6300), LinkState::Up),
                (ms(11_000), LinkState::Down),
                (ms(11_300), LinkState::Up),
            ]
        );
    }

    #[test]
    fn what_has_come_is_told_and_the_rest_is_not() {
        let (told, tell) = log();
        // All of them are over.
        let zero = Instant::now() - Duration::from_secs(59);
        let outage: Outage = "1s,1s,2s".parse().unwrap();
        let teller = Teller::start(outage, zero, Duration::from_secs(4), tell).unwrap();
        while told.lock().unwrap().len() < 4 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(teller.stop(), ["--outage-events: nobody listens"]);
        use LinkState::{Down, Up};
        assert_eq!(*told.lock().unwrap(), [Down, Up, Down, Up]);
    }

    #[test]
    fn it_ends_when_told_to_and_not_with_the_outage() {
        let (told, tell) = log();
        let outage: Outage = "50s,1s".parse().unwrap();
        let teller = Teller::start(outage, Instant::now(), HORIZON, tell).unwrap();
        assert!(teller.stop().is_empty());
        assert!(told.lock().unwrap().is_empty());
    }
}
