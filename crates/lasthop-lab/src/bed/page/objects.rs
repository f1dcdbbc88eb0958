// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The objects of a page.

use linkemu::{Direction, Random};

use crate::bed::transfer::content::Content;
use crate::data::page::PageOptions;

/// The objects of a page: how long each is, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    sizes_bytes: Vec<u64>,
    seed: u64,
}

impl Page {
    /// The page that `options` ask for. Its weight is the same with every seed, which only
    /// shuffles: a median over seeds then says something about the link, not about the page.
    pub fn new(options: &PageOptions, seed: u64) -> Self {
        let mut sizes_bytes = options.sizes.spaced(options.objects.into());
        shuffle(&mut sizes_bytes, seed);
        Self { sizes_bytes, seed }
    }

    /// Bytes of each object, in the order in which they are asked for.
    pub fn sizes_bytes(&self) -> &[u64] {
        &self.sizes_bytes
    }

    /// Bytes of all objects.
    pub fn total_bytes(&self) -> u64 {
        self.sizes_bytes.iter().sum()
    }

    /// What is in an object.
    pub fn content(&self, object: usize) -> Content {
        Content::new(self.seed, object)
    }
}

/// Fisher and Yates.
fn shuffle(values: &mut [u64], seed: u64) {
    let mut random = Random::new(seed, Direction::AToB, "objects of a page");
    for last in (1..values.len()).rev() {
        let other = (random.unit() * (last + 1) as f64) as usize;
        values.swap(last, other.min(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_shuffle_a_page_and_change_no_weight() {
        let options = PageOptions::default();
        let (one, two) = (Page::new(&options, 1), Page::new(&options, 2));
        assert_ne!(one.sizes_bytes(), two.sizes_bytes());
        assert_eq!(one.total_bytes(), two.total_bytes());
        assert_eq!(one, Page::new(&options, 1));
        let mut sorted = one.sizes_bytes().to_vec();
        sorted.sort_unstable();
        assert_eq!((sorted[0], sorted[39]), (23_000, 140_000));
        assert_eq!(sorted.len(), 40);
    }
}
