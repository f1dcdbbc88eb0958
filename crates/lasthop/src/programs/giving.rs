// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How a pool gives areas back, its last ones. Every number of theirs has to be here first: what is free is
//! looked through, pass by pass, number by number over to a stack aside and back again, and what belongs to
//! those areas is kept. The programs take from both stacks, so that at no time more than a few numbers are
//! missing to them; what is in use comes by in a later pass. Numbers are in exactly one place: a stack, a
//! CPU's hand, in use, or here.

use std::collections::BTreeSet;

use anyhow::Result;

/// Where the free numbers of a pool are.
pub(super) trait Free {
    /// Numbers that are pushed and popped at once.
    fn batch(&self) -> usize;
    /// The last batch; empty: there is none.
    fn pop(&self) -> Result<Vec<u32>>;
    fn push(&self, batch: &[u32]) -> Result<()>;
    fn pop_aside(&self) -> Result<Option<u32>>;
    fn push_aside(&self, number: u32) -> Result<()>;
    /// Gives back one that is no batch.
    fn give(&self, number: u32) -> Result<()>;
}

/// What a pool is about to give back.
#[derive(Debug)]
pub(super) struct Giving {
    /// Numbers from here on, and up to there, go.
    pub(super) from: u32,
    pub(super) upto: u32,
    /// Those of them that are here.
    here: BTreeSet<u32>,
    /// On their way from one stack to the other.
    moved: Vec<u32>,
    /// Batches that are still to be looked at before those aside; those that come meanwhile wait.
    left: usize,
    pub(super) passes: u32,
}

impl Giving {
    pub(super) fn new(from: u32, upto: u32) -> Self {
        Self {
            from,
            upto,
            here: BTreeSet::new(),
            moved: Vec::new(),
            left: usize::MAX,
            passes: 0,
        }
    }

    /// Whether all of them are here.
    pub(super) fn complete(&self) -> bool {
        self.here.len() == (self.upto - self.from) as usize
    }

    /// Looks at so many batches or numbers at the most. True: a pass is over.
    ///
    /// # Errors
    /// The kernel's; nothing gets lost, another call goes on.
    pub(super) fn step(&mut self, free: &impl Free, most: usize) -> Result<bool> {
        if self.left == usize::MAX {
            self.left = (self.upto as usize).div_ceil(free.batch());
        }
        for _ in 0..most {
            if self.left > 0 {
                self.look(free)?;
            } else if !self.bring_back(free)? {
                while let Some(&number) = self.moved.last() {
                    free.give(number)?;
                    self.moved.pop();
                }
                self.left = usize::MAX;
                self.passes += 1;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn look(&mut self, free: &impl Free) -> Result<()> {
        let batch = free.pop()?;
        self.left = if batch.is_empty() { 0 } else { self.left - 1 };
        self.sort(batch);
        while let Some(&number) = self.moved.last() {
            free.push_aside(number)?;
            self.moved.pop();
        }
        Ok(())
    }

    /// False: nothing is aside.
    fn bring_back(&mut self, free: &impl Free) -> Result<bool> {
        if self.moved.len() < free.batch() {
            let Some(number) = free.pop_aside()? else {
                return Ok(false);
            };
            self.sort([number]);
        }
        if self.moved.len() >= free.batch() {
            let first = self.moved.len() - free.batch();
            free.push(&self.moved[first..])?;
            self.moved.truncate(first);
        }
        Ok(true)
    }

    fn sort(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            if number >= self.from {
                self.here.insert(number);
            } else {
                self.moved.push(number);
            }
        }
    }

    /// Is content with the areas (of 1 << `shift`) behind the last number that is not here: what else is
    /// here goes back with the next pass.
    pub(super) fn settle(&mut self, shift: u32) {
        let missing = (self.from..self.upto).rev();
        let last = missing.into_iter().find(|n| !self.here.contains(n));
        if let Some(last) = last {
            self.keep((((last >> shift) + 1) << shift).min(self.upto));
        }
    }

    /// Keeps all: what is here goes back with the next pass.
    pub(super) fn give_up(&mut self) {
        self.keep(self.upto);
    }

    /// Empties the stack aside.
    ///
    /// # Errors
    /// As [`Giving::step`].
    pub(super) fn drain(&mut self, free: &impl Free) -> Result<()> {
        self.left = 0;
        while !self.step(free, usize::MAX)? {}
        Ok(())
    }

    fn keep(&mut self, upto: u32) {
        self.from = upto;
        let go = self.here.split_off(&upto);
        self.moved.extend(std::mem::replace(&mut self.here, go));
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;

    use super::*;

    /// A pool, as programs and user space see it.
    #[derive(Default)]
    struct Model {
        free: RefCell<Vec<Vec<u32>>>,
        aside: RefCell<Vec<u32>>,
        spare: RefCell<Vec<u32>>,
        used: Vec<u32>,
        batch: usize,
    }

    impl Free for Model {
        fn batch(&self) -> usize {
            self.batch
        }
        fn pop(&self) -> Result<Vec<u32>> {
            Ok(self.free.borrow_mut().pop().unwrap_or_default())
        }
        fn push(&self, batch: &[u32]) -> Result<()> {
            assert_eq!(batch.len(), self.batch);
            self.free.borrow_mut().push(batch.to_vec());
            Ok(())
        }
        fn pop_aside(&self) -> Result<Option<u32>> {
            Ok(self.aside.borrow_mut().pop())
        }
        fn push_aside(&self, number: u32) -> Result<()> {
            self.aside.borrow_mut().push(number);
            Ok(())
        }
        fn give(&self, number: u32) -> Result<()> {
            self.put(number);
            Ok(())
        }
    }

    impl Model {
        fn new(batch: usize, numbers: u32) -> Self {
            let model = Self {
                batch,
                ..Self::default()
            };
            model.add(0, numbers);
            model
        }

        fn add(&self, from: u32, upto: u32) {
            let all: Vec<u32> = (from..upto).collect();
            let batches = all.chunks(self.batch).map(<[u32]>::to_vec);
            self.free.borrow_mut().extend(batches);
        }

        /// As lh_host_get_slot().
        fn get(&mut self) -> bool {
            let mut spare = self.spare.borrow_mut();
            if spare.is_empty() {
                let popped = self.free.borrow_mut().pop();
                match popped {
                    Some(batch) => spare.extend(batch),
                    None => spare.extend(self.aside.borrow_mut().pop()),
                }
            }
            let got = spare.pop();
            self.used.extend(got);
            got.is_some()
        }

        fn put(&self, number: u32) {
            let mut spare = self.spare.borrow_mut();
            if spare.len() >= 2 * self.batch {
                let batch = spare.split_off(self.batch);
                self.free.borrow_mut().push(batch);
            }
            spare.push(number);
        }

        fn flush(&self) {
            self.aside.borrow_mut().append(&mut self.spare.borrow_mut());
        }

        /// Each number is in one place, and there are all.
        fn check(&self, giving: Option<&Giving>, numbers: u32) {
            let mut all: Vec<u32> = self.free.borrow().concat();
            all.extend(self.aside.borrow().iter());
            all.extend(self.spare.borrow().iter());
            all.extend(&self.used);
            if let Some(giving) = giving {
                all.extend(giving.here.iter().chain(&giving.moved));
                assert!(giving.moved.len() < self.batch || giving.left == 0);
            }
            all.sort_unstable();
            assert_eq!(all, (0..numbers).collect::<Vec<_>>());
        }
    }

    #[derive(Debug, Clone)]
    enum Event {
        Get(usize),
        Put(prop::sample::Index),
        Flush,
        Step(usize),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (1usize..40).prop_map(Event::Get),
            4 => any::<prop::sample::Index>().prop_map(Event::Put),
            1 => Just(Event::Flush),
            4 => (1usize..20).prop_map(Event::Step),
        ]
    }

    fn happens(model: &mut Model, giving: &mut Giving, event: &Event) {
        match event {
            Event::Get(n) => {
                for _ in 0..*n {
                    model.get();
                }
            }
            Event::Put(which) if !model.used.is_empty() => {
                for _ in 0..8.min(model.used.len()) {
                    let at = which.index(model.used.len());
                    let number = model.used.swap_remove(at);
                    model.put(number);
                }
            }
            Event::Put(_) => {}
            Event::Flush => model.flush(),
            Event::Step(n) => {
                giving.step(&*model, *n).unwrap();
            }
        }
    }

    const AREA: u32 = 32;
    const THERE: u32 = 8 * AREA;

    proptest! {
        /// Whatever programs do meanwhile no number gets lost or doubled; once they are at rest all is given
        /// back that was to be; and the pool grows again.
        #[test]
        fn no_number_is_lost(
            batch in prop_oneof![Just(1usize), Just(8), Just(32)],
            before in prop::collection::vec(event(), 0..40),
            events in prop::collection::vec(event(), 0..120),
            settles in any::<bool>(),
        ) {
            let mut model = Model::new(batch, THERE);
            let mut giving = Giving::new(2 * AREA, THERE);
            for event in &before {
                if !matches!(event, Event::Step(_)) {
                    happens(&mut model, &mut giving, event);
                }
            }
            for event in &events {
                happens(&mut model, &mut giving, event);
                model.check(Some(&giving), THERE);
            }
            if settles {
                giving.settle(5);
                model.check(Some(&giving), THERE);
            } else {
                while let Some(number) = model.used.pop() {
                    model.put(number);
                }
            }
            for _ in 0..2 {
                model.flush();
                while !giving.step(&model, 7).unwrap() {}
                model.check(Some(&giving), THERE);
            }
            prop_assert!(giving.complete());
            prop_assert!(settles || giving.from == 2 * AREA);
            prop_assert_eq!(giving.from % AREA, 0);
            model.check(None, giving.from);
            model.add(giving.from, THERE);
            model.check(None, THERE);
        }

        /// What is given up is there again.
        #[test]
        fn all_goes_back(
            batch in prop_oneof![Just(1usize), Just(8)],
            events in prop::collection::vec(event(), 0..80),
        ) {
            let mut model = Model::new(batch, THERE);
            let mut giving = Giving::new(AREA, THERE);
            for event in &events {
                happens(&mut model, &mut giving, event);
            }
            giving.give_up();
            giving.drain(&model).unwrap();
            prop_assert!(giving.complete() && giving.from == THERE);
            model.check(None, THERE);
        }
    }
}
