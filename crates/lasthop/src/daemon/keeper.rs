// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A thread that does what waits for the kernel, so that nobody who is to be served does.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

/// What it is to do: true, what was asked for; false, what it does from time to time. Returns when the
/// next time is.
type Work = dyn Fn(bool) -> Instant + Send + Sync;

/// A thread that begins when it is first wanted, with the rights that its process has by then, and
/// ends with this value.
pub(super) struct Keeper {
    told: Arc<Told>,
    work: Arc<Work>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Told {
    what: Mutex<What>,
    changed: Condvar,
}

#[derive(Default)]
struct What {
    asked: bool,
    over: bool,
}

impl Keeper {
    /// Will do this.
    pub(super) fn of(work: impl Fn(bool) -> Instant + Send + Sync + 'static) -> Self {
        Self {
            told: Arc::default(),
            work: Arc::new(work),
            thread: None,
        }
    }

    /// Begins, if it has not. Without a thread, which the next call may get, nothing is done.
    pub(super) fn begin(&mut self) {
        if self.thread.is_some() {
            return;
        }
        let (told, work) = (Arc::clone(&self.told), Arc::clone(&self.work));
        let thread = Builder::new().name("keeper".into());
        match thread.spawn(move || told.go_on(&*work)) {
            Ok(thread) => self.thread = Some(thread),
            Err(error) => tracing::debug!("no thread for pools: {error}"),
        }
    }

    /// Asks for it; waits for nothing but the thread's own look at what it is told.
    pub(super) fn ask(&self) {
        self.told.what().asked = true;
        self.told.changed.notify_one();
    }

    /// Ends it, once it is through with what it does; what it was asked for since is left.
    pub(super) fn end(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.told.what().over = true;
        self.told.changed.notify_one();
        let _ = thread.join();
        *self.told.what() = What::default();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

impl Told {
    fn what(&self) -> MutexGuard<'_, What> {
        self.what.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn go_on(&self, work: &Work) {
        let mut at = Instant::now();
        while let Some(asked) = self.wait(at) {
            at = work(asked);
        }
    }

    /// Whether it was asked for; none: it is over.
    fn wait(&self, until: Instant) -> Option<bool> {
        let left = until.saturating_duration_since(Instant::now());
        let idle = |what: &mut What| !what.asked && !what.over;
        let waited = self.changed.wait_timeout_while(self.what(), left, idle);
        let (mut what, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (!what.over).then(|| std::mem::take(&mut what.asked))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    /// A keeper, what it says of each piece of its work, and by what that goes on.
    fn held() -> (Keeper, Receiver<bool>, mpsc::Sender<()>) {
        let (say, said) = mpsc::channel();
        let (let_go, gate) = mpsc::channel();
        let gate = Mutex::new(gate);
        let keeper = Keeper::of(move |asked| {
            say.send(asked).unwrap();
            gate.lock().unwrap().recv().unwrap();
            Instant::now() + LONG
        });
        (keeper, said, let_go)
    }

    /// Who asks goes on while it works, and what was asked for meanwhile is done once.
    #[test]
    fn who_asks_does_not_wait() {
        let (mut keeper, said, let_go) = held();
        keeper.ask(); // nobody hears it yet
        keeper.begin();
        assert_eq!(said.recv(), Ok(true));
        (0..100).for_each(|_| keeper.ask());
        let_go.send(()).unwrap();
        assert_eq!(said.recv(), Ok(true));
        let_go.send(()).unwrap();
        let more = said.recv_timeout(Duration::from_millis(50));
        assert_eq!(more, Err(RecvTimeoutError::Timeout));
    }

    #[test]
    fn from_time_to_time_unasked() {
        let (say, said) = mpsc::channel();
        let mut keeper = Keeper::of(move |asked| {
            let _ = say.send(asked);
            Instant::now() + Duration::from_millis(1)
        });
        keeper.begin();
        let unasked: Vec<bool> = said.iter().take(5).collect();
        assert_eq!(unasked, [false; 5]);
    }

    /// Its end waits for what it does, and not for what it was asked for.
    #[test]
    fn ends_with_what_it_does_and_begins_again() {
        let (mut keeper, said, let_go) = held();
        for _ in 0..2 {
            keeper.begin();
            assert_eq!(said.recv(), Ok(false));
            keeper.ask();
            let told = Arc::clone(&keeper.told);
            std::thread::scope(|scope| {
                // Not before its end has been said: it would take up what it was asked for.
                scope.spawn(|| {
                    while !told.what().over {
                        std::thread::yield_now();
                    }
                    let_go.send(()).unwrap();
                });
                keeper.end();
            });
            assert_eq!(said.try_recv(), Err(TryRecvError::Empty));
        }
    }
}
