// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Bounds on rates and counts, [`bound!`]. They hold on a machine that gives the tests its cores: one that
//! stands still for as long as the hop's queue is long loses segments that nobody repairs, half as long ends a
//! sender's start, and one without a core to spare is slower than the link. Whoever has company cannot tell
//! its own doing from theirs. So where a bound was missed in company, or by a machine that was seen to be
//! busy, the test's name goes into the file that [`MISSED`] names: scripts/test.sh runs those once more,
//! alone, and there they have to hold. Whatever else fails has failed.

use std::collections::VecDeque;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::cpu::Ticks;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::turn::{self, Company};

/// Environment: where the names of tests go that missed a bound, and may run again.
const MISSED: &str = "LASTHOP_MISSED";
/// As often as this is looked whether a core stands still.
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
        WATCH.call_once(watch_all);
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
    let turn = turn::mine();
    let busy = turn.and_then(|(_, since)| since.busy());
    let company = turn.is_some_and(|(company, _)| company != Company::Nobody);
    let Some(why) = may_run_again(busy, company) else {
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
    panic!("{what} ({why}: run it again, alone)");
}

/// Why a test that missed a bound is not judged by that; none if it is.
fn may_run_again(busy: Option<String>, company: bool) -> Option<String> {
    match busy {
        Some(busy) => Some(format!("the machine {busy}")),
        None => company.then(|| "others ran beside it".to_owned()),
    }
}

/// Watches each core by itself: a virtual machine's stand still one by one, and whoever may run on the other
/// does not see it.
fn watch_all() {
    let mine = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    let cores = (0..CpuSet::count()).filter(|core| mine.is_set(*core).unwrap_or(false));
    for core in cores {
        thread::spawn(move || {
            let mut only = CpuSet::new();
            // Where it may not be alone it watches whichever core it is on.
            let _ = only
                .set(core)
                .and_then(|()| sched_setaffinity(Pid::from_raw(0), &only));
            watch();
        });
    }
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
    fn who_has_company_or_a_busy_machine_runs_again() {
        let busy = || Some("stood still for 12 ms".to_owned());
        assert_eq!(may_run_again(None, false), None);
        let why = may_run_again(None, true).expect("company");
        assert_eq!(why, "others ran beside it");
        for company in [false, true] {
            let why = may_run_again(busy(), company).expect("busy");
            assert_eq!(why, "the machine stood still for 12 ms");
        }
    }

    #[test]
    #[should_panic(expected = "3 of 4 (and the machine was not busy)")]
    fn a_bound_that_is_missed_without_a_reason_fails() {
        bound!(3 > 4, "{} of {}", 3, 4);
    }
}
