// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Bounds on rates and counts, [`bound!`]. They hold on a machine that gives the tests its cores: one that
//! stands still for as long as the hop's queue is long loses segments that nobody repairs, half as long ends a
//! sender's start, and one without a core to spare is slower than the link. So a bound that was missed says what the machine did meanwhile,
//! and where it was busy, the test's name goes into the file that [`MISSED`] names: scripts/test.sh runs
//! those once more, alone, and there they have to hold. Whatever else fails has failed.

use std::collections::VecDeque;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::cpu::Ticks;

/// Environment: where the names of tests go that missed a bound on a busy machine.
const MISSED: &str = "LASTHOP_MISSED";
/// As often as this is looked whether the machine stands still.
const LOOK: Duration = Duration::from_millis(2);
/// Half of the shortest queue of a hop here, which a longer pause overflows with what comes anyway; and what
/// CUBIC takes for a queue at 80 ms and more (HyStart), so that its start is over.
const PAUSE: Duration = Duration::from_millis(10);
/// With less of its time to spare, what wants a core waits for it. Tests beside each other leave a third.
const LEAST_IDLE: f64 = 0.15;
/// Fewer ticks of all cores say nothing: one is a hundredth of a core's second.
const LEAST_TICKS: u64 = 100;
/// Pauses that are remembered: of an hour in which the machine stands still every second.
const MOST_PAUSES: usize = 4096;

static PAUSES: Mutex<VecDeque<(Instant, Duration)>> = Mutex::new(VecDeque::new());

/// As `assert!`, for what only a machine that gives the test its cores lets hold.
macro_rules! bound {
    ($holds:expr $(,)?) => {
        bound!($holds, "{}", stringify!($holds))
    };
    ($holds:expr, $($message:tt)+) => {{
        let holds: bool = $holds;
        if !holds {
            $crate::quiet::missed(&format!($($message)+));
        }
    }};
}

/// A moment, to be asked what the machine did since.
#[derive(Clone, Copy)]
pub struct Since {
    at: Instant,
    cpu: Option<Ticks>,
}

impl Since {
    pub fn now() -> Self {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| drop(thread::spawn(watch)));
        Self {
            at: Instant::now(),
            cpu: Ticks::now().ok(),
        }
    }

    /// What kept the machine from the tests, if anything did.
    fn busy(&self) -> Option<String> {
        let pauses = PAUSES.lock().unwrap_or_else(PoisonError::into_inner);
        let since = pauses.iter().filter(|(at, _)| *at >= self.at);
        let longest = since.map(|(_, pause)| *pause).max();
        let idle = self
            .cpu
            .zip(Ticks::now().ok())
            .and_then(|(then, now)| idle_between(then, now));
        says_busy(longest, idle)
    }
}

fn says_busy(longest: Option<Duration>, idle: Option<f64>) -> Option<String> {
    let paused = longest.map(|pause| format!("stood still for {} ms", pause.as_millis()));
    let full = idle.filter(|idle| *idle < LEAST_IDLE);
    let full = full.map(|idle| format!("was idle for {:.0} % of the time", 100.0 * idle));
    let both: Vec<String> = paused.into_iter().chain(full).collect();
    (!both.is_empty()).then(|| both.join(" and "))
}

/// Fails this thread's test, for a bound that does not hold.
pub fn missed(what: &str) -> ! {
    let Some(busy) = super::turn::since().and_then(|since| since.busy()) else {
        panic!("{what} (and the machine was not busy)");
    };
    // The harness names threads after tests, but for the one where it runs them one after the other.
    let test = thread::current()
        .name()
        .filter(|name| *name != "main")
        .map(str::to_owned);
    if let Some((file, test)) = env::var_os(MISSED).zip(test) {
        let file = OpenOptions::new().append(true).create(true).open(file);
        let _ = file.and_then(|mut file| writeln!(file, "{test}"));
    }
    panic!("{what} (the machine {busy}: run it again, alone)");
}

fn watch() {
    loop {
        let before = Instant::now();
        thread::sleep(LOOK);
        let now = Instant::now();
        let late = (now - before).saturating_sub(LOOK);
        if late < PAUSE {
            continue;
        }
        let mut pauses = PAUSES.lock().unwrap_or_else(PoisonError::into_inner);
        if pauses.len() == MOST_PAUSES {
            pauses.pop_front();
        }
        pauses.push_back((now, late));
    }
}

/// The share of the time in which a core had nothing to do; none for too few ticks.
fn idle_between(then: Ticks, now: Ticks) -> Option<f64> {
    let all = |ticks: Ticks| ticks.busy + ticks.idle + ticks.stolen;
    let all = all(now).checked_sub(all(then))?;
    let idle = now.idle.saturating_sub(then.idle);
    (all >= LEAST_TICKS).then(|| idle as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_what_no_core_was_needed_for() {
        let ticks = |busy, idle, stolen| Ticks { busy, idle, stolen };
        let (then, now) = (ticks(150, 850, 0), ticks(900, 1_050, 50));
        assert_eq!(idle_between(then, now), Some(0.2));
        assert_eq!(idle_between(then, then), None);
    }

    #[test]
    fn a_pause_or_no_core_to_spare_is_busy() {
        assert_eq!(says_busy(None, Some(0.5)), None);
        assert_eq!(says_busy(None, None), None);
        let both = says_busy(Some(Duration::from_millis(83)), Some(0.04)).expect("busy");
        assert_eq!(
            both,
            "stood still for 83 ms and was idle for 4 % of the time"
        );
    }

    #[test]
    #[should_panic(expected = "3 of 4 (and the machine was not busy)")]
    fn a_bound_that_is_missed_without_a_reason_fails() {
        bound!(3 > 4, "{} of {}", 3, 4);
    }
}
