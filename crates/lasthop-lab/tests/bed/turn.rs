// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whose turn it is. Most tests move some megabits a second and count, and take a seventh of a core: two run
//! beside each other for each core of the machine. Those that go by what only a machine with a core to spare
//! shows run one for each core: where others load their programs, a process may wait for a core for a tenth of
//! a second. Those that load the machine themselves run alone.
//!
//! Who wants less company waits until nobody wants to run in more, and all who wait for that then follow each
//! other: so the machine stands half empty a few times only. scripts/test.sh gives the harness many more
//! threads than tests run at once, which is where they gather: with as many as there are of these, that is
//! once, at the end.

use std::cell::RefCell;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use super::quiet::Since;

/// Tests beside each other for each core.
const PER_CORE: usize = 2;
/// More than so many have not been tried.
const MOST: usize = 6;

/// Whom a test may have beside it: others that may have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Company {
    Many,
    /// One for each other core.
    Few,
    Nobody,
}

/// Each [`Company`], the largest first.
const COMPANIES: [Company; 3] = [Company::Many, Company::Few, Company::Nobody];

static TURNS: Turns = Turns::new();

thread_local! {
    static TURN: RefCell<Option<(Turn<'static>, Since)>> = const { RefCell::new(None) };
}

/// Waits until this thread's test may run, in company, and holds the others back until the thread ends.
pub fn take(company: Company) {
    TURN.with_borrow_mut(|turn| {
        if turn
            .as_ref()
            .is_some_and(|(turn, _)| turn.company >= company)
        {
            return;
        }
        *turn = None; // also of the test before, where all run on one thread
        *turn = Some((TURNS.take(company, cores()), Since::now()));
    });
}

/// In which company this thread's test has its turn, and since when.
pub fn mine() -> Option<(Company, Since)> {
    TURN.with_borrow(|turn| turn.as_ref().map(|(turn, since)| (turn.company, *since)))
}

fn cores() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

impl Company {
    /// Tests that run at once.
    fn most(self, cores: usize) -> usize {
        match self {
            Self::Many => MOST.min(PER_CORE * cores),
            Self::Few => MOST.min(cores),
            Self::Nobody => 1,
        }
    }
}

struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

/// Numbers of tests, of each [`Company`].
struct State {
    running: [usize; COMPANIES.len()],
    waiting: [usize; COMPANIES.len()],
    /// Of the last one to begin.
    last: Company,
}

/// Given back when it is dropped.
struct Turn<'a> {
    turns: &'a Turns,
    company: Company,
}

impl Turns {
    const fn new() -> Self {
        let state = State {
            running: [0; COMPANIES.len()],
            waiting: [0; COMPANIES.len()],
            last: Company::Many,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// A failed test must not fail the others.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, company: Company, cores: usize) -> Turn<'_> {
        let mut state = self.state();
        state.waiting[company as usize] += 1;
        let may_not = |state: &mut State| !state.may(company, cores);
        let mut state = self
            .changed
            .wait_while(state, may_not)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting[company as usize] -= 1;
        state.running[company as usize] += 1;
        state.last = company;
        Turn {
            turns: self,
            company,
        }
    }
}

impl State {
    fn may(&self, company: Company, cores: usize) -> bool {
        let others = COMPANIES.iter().filter(|other| **other != company);
        let among_its_own = others
            .clone()
            .all(|other| self.running[*other as usize] == 0);
        // Those who are at it go on; then come those who may have the most company.
        let its_turn = company == self.last
            || others
                .filter(|other| **other == self.last || **other < company)
                .all(|other| self.waiting[*other as usize] == 0);
        among_its_own && its_turn && self.running[company as usize] < company.most(cores)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.state().running[self.company as usize] -= 1;
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;
    use std::time::Duration;

    use super::Company::{Few, Many, Nobody};
    use super::*;

    fn state(running: [usize; 3], waiting: [usize; 3], last: Company) -> State {
        State {
            running,
            waiting,
            last,
        }
    }

    #[test]
    fn so_many_beside_each_other_and_nobody_beside_one_alone() {
        assert!(state([0, 0, 0], [1, 0, 0], Many).may(Many, 2));
        assert!(state([3, 0, 0], [1, 0, 5], Many).may(Many, 2));
        assert!(!state([4, 0, 0], [1, 0, 0], Many).may(Many, 2));
        assert!(state([0, 1, 0], [0, 1, 0], Few).may(Few, 2));
        assert!(!state([0, 2, 0], [0, 1, 0], Few).may(Few, 2));
        assert!(!state([0, 0, 1], [1, 0, 0], Nobody).may(Many, 2));
        assert!(!state([1, 0, 0], [0, 1, 0], Many).may(Few, 2));
        assert!(!state([0, 1, 0], [0, 0, 1], Few).may(Nobody, 2));
        assert!(!state([0, 0, 1], [0, 0, 1], Nobody).may(Nobody, 2));
    }

    #[test]
    fn those_with_less_company_gather_and_follow_each_other() {
        assert!(!state([0; 3], [1, 1, 1], Many).may(Nobody, 2));
        assert!(!state([0; 3], [0, 1, 1], Many).may(Nobody, 2));
        assert!(state([0; 3], [0, 1, 1], Many).may(Few, 2));
        assert!(state([0; 3], [0, 0, 1], Few).may(Nobody, 2));
        assert!(state([0; 3], [1, 1, 1], Nobody).may(Nobody, 2));
        assert!(!state([0; 3], [1, 0, 1], Nobody).may(Many, 2));
        assert!(!state([0; 3], [1, 1, 0], Few).may(Many, 2));
        assert!(state([0; 3], [1, 1, 0], Nobody).may(Many, 2));
        assert!(!state([0; 3], [1, 1, 0], Nobody).may(Few, 2));
    }

    /// All get their turn, from more threads than may run.
    #[test]
    fn all_get_their_turn() {
        let turns = Turns::new();
        let running: [AtomicUsize; 3] = Default::default();
        let one = |i: usize| {
            let company = COMPANIES[i % 3];
            let _turn = turns.take(company, 2);
            running[company as usize].fetch_add(1, SeqCst);
            thread::sleep(Duration::from_micros(200)); // who may not run would be seen
            let now = running.each_ref().map(|number| number.load(SeqCst));
            let fine = matches!(now, [1..=4, 0, 0] | [0, 1..=2, 0] | [0, 0, 1]);
            assert!(fine, "{now:?}");
            running[company as usize].fetch_sub(1, SeqCst);
        };
        thread::scope(|scope| {
            for first in 0..8 {
                scope.spawn(move || (first..80).step_by(8).for_each(one));
            }
        });
    }
}
