// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whose turn it is. Most tests move some megabits a second and count, and take a seventh of a core: two run
//! beside each other for each core of the machine. Those that load it run alone, and those that go by what
//! only a quiet one shows: where one loads its programs, another one's process may wait for a core for a
//! tenth of a second.
//!
//! Who is to run alone waits until nobody else wants to run, and all who wait for that then run one after
//! the other: so the machine stands half empty a few times only. scripts/test.sh gives the harness many more
//! threads than tests run at once, which is where they gather: with as many as there are tests that run
//! alone, that is once, at the end.

use std::cell::RefCell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use super::quiet::Since;

/// Tests beside each other for each core.
const PER_CORE: usize = 2;
/// More than so many have not been tried.
const MOST: usize = 6;

static TURNS: Turns = Turns::new();

thread_local! {
    static TURN: RefCell<Option<(Turn<'static>, Since)>> = const { RefCell::new(None) };
}

/// Waits until this thread's test may run, alone or not, and holds the others back until the thread ends.
pub fn take(alone: bool) {
    TURN.with_borrow_mut(|turn| {
        if turn.as_ref().is_some_and(|(turn, _)| turn.alone || !alone) {
            return;
        }
        *turn = None; // also of the test before, where all run on one thread
        *turn = Some((TURNS.take(alone, most()), Since::now()));
    });
}

/// When the turn of this thread's test began.
pub fn since() -> Option<Since> {
    TURN.with_borrow(|turn| turn.as_ref().map(|(_, since)| *since))
}

fn most() -> usize {
    available_parallelism().map_or(1, |cores| MOST.min(PER_CORE * cores.get()))
}

struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

/// Numbers of tests: those beside each other, then those alone.
struct State {
    running: [usize; 2],
    waiting: [usize; 2],
    /// The last one to begin runs, or ran, alone.
    alone: bool,
}

/// Given back when it is dropped.
struct Turn<'a> {
    turns: &'a Turns,
    alone: bool,
}

impl Turns {
    const fn new() -> Self {
        let state = State {
            running: [0; 2],
            waiting: [0; 2],
            alone: false,
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

    fn take(&self, alone: bool, most: usize) -> Turn<'_> {
        let kind = usize::from(alone);
        let mut state = self.state();
        state.waiting[kind] += 1;
        let may_not = |state: &mut State| !state.may(alone, most);
        let mut state = self
            .changed
            .wait_while(state, may_not)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting[kind] -= 1;
        state.running[kind] += 1;
        state.alone = alone;
        Turn { turns: self, alone }
    }
}

impl State {
    fn may(&self, alone: bool, most: usize) -> bool {
        if alone {
            return self.running == [0; 2] && (self.alone || self.waiting[0] == 0);
        }
        let alone_first = self.alone && self.waiting[1] > 0;
        self.running[1] == 0 && self.running[0] < most && !alone_first
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.state().running[usize::from(self.alone)] -= 1;
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn state(running: [usize; 2], waiting: [usize; 2], alone: bool) -> State {
        State {
            running,
            waiting,
            alone,
        }
    }

    #[test]
    fn so_many_beside_each_other_and_nobody_beside_one_alone() {
        assert!(state([0, 0], [1, 0], false).may(false, 3));
        assert!(state([2, 0], [1, 5], false).may(false, 3));
        assert!(!state([3, 0], [1, 0], false).may(false, 3));
        assert!(!state([0, 1], [1, 0], true).may(false, 3));
        assert!(!state([1, 0], [0, 1], false).may(true, 3));
        assert!(!state([0, 1], [0, 1], true).may(true, 3));
    }

    #[test]
    fn those_alone_gather_and_follow_each_other() {
        assert!(!state([0, 0], [1, 1], false).may(true, 3));
        assert!(state([0, 0], [0, 1], false).may(true, 3));
        assert!(state([0, 0], [1, 1], true).may(true, 3));
        assert!(!state([0, 0], [1, 1], true).may(false, 3));
        assert!(state([0, 0], [1, 0], true).may(false, 3));
    }

    /// All get their turn, from more threads than may run.
    #[test]
    fn all_get_their_turn() {
        let turns = Turns::new();
        let (beside, alone) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let one = |i: usize| {
            let turn = turns.take(i % 3 == 0, 3);
            let mine = if turn.alone { &alone } else { &beside };
            mine.fetch_add(1, SeqCst);
            thread::sleep(Duration::from_micros(200)); // who may not run would be seen
            let now = (beside.load(SeqCst), alone.load(SeqCst));
            assert!(matches!(now, (1..=3, 0) | (0, 1)), "{now:?}");
            mine.fetch_sub(1, SeqCst);
        };
        thread::scope(|scope| {
            for first in 0..8 {
                scope.spawn(move || (first..80).step_by(8).for_each(one));
            }
        });
    }
}
