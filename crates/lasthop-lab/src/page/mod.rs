// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Web pages over the test bed: nginx at FH, curl at MH, every object of every load compared.

mod client;
mod options;
mod server;

use std::path::PathBuf;

use anyhow::{Result, anyhow};

pub use self::client::{Client, Load, odd_connections};
pub use self::options::{PageOptions, Protocol, SizeRange};
pub use self::server::{CERTIFICATE_TOOL, SERVER_TOOL, Server};
use crate::transfer::content::Content;
use linkemu::{Direction, Random};

/// What fetches a page.
pub const CLIENT_TOOL: &str = "curl";
/// Where a user's `PATH` may not lead, but root's does.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/usr/sbin", "/sbin"];

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

/// Finds a program of the distribution that pages need.
///
/// # Errors
/// It is not installed; the message says what to install.
pub fn find_tool(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| {
            anyhow!(
                "--page needs {name}: `scripts/setup.sh run` installs it, or the package {name}"
            )
        })
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

    #[test]
    fn a_missing_tool_is_named_with_its_remedy() {
        let error = find_tool("no-such-server").unwrap_err().to_string();
        assert!(error.contains("no-such-server") && error.contains("setup.sh"));
        assert_eq!(error.lines().count(), 1);
    }
}
