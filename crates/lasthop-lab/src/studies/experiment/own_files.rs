// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The experiments that come with the program, which must work away from its source: those of
//! `experiments/grid` and `experiments/mixes`.

/// An experiment's file.
#[derive(Debug, Clone, Copy)]
pub struct OwnFile {
    /// Its name: that of the experiment.
    pub name: &'static str,
    /// Where the repository has it.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! own_files {
    ($directory:literal: $($name:literal),+ $(,)?) => {
        [$(OwnFile {
            name: $name,
            path: concat!("experiments/", $directory, "/", $name, ".toml"),
            text: include_str!(concat!("../../../../../experiments/", $directory, "/", $name, ".toml")),
        }),+]
    };
}

/// The evaluation grid's most telling places.
pub const QUICK_GRID: [OwnFile; 1] = own_files!["grid": "quick"];

/// The evaluation grid.
pub const GRID: [OwnFile; 2] = own_files!["grid": "loss", "variants"];

/// Links as they are, in the order in which they are run: short ones first.
pub const MIXES: [OwnFile; 17] = own_files![
    "mixes":
    "upload",
    "upload-slow",
    "arrivals",
    "flows-hundreds",
    "flows-lossless",
    "flows-lossy",
    "aqm",
    "receivers",
    "neighbours",
    "outages-cubic",
    "outages-bbr",
    "outages-reno",
    "pages",
    "pages-rtt",
    "pages-rate",
    "long-hops-5",
    "long-hops-20",
];

/// Where the repository has the experiment of that name, if it is one of these.
pub fn path_of(name: &str) -> Option<&'static str> {
    let mut known = QUICK_GRID.iter().chain(&GRID).chain(&MIXES);
    known.find(|file| file.name == name).map(|file| file.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_place() {
        for (name, path) in [
            ("quick", "experiments/grid/quick.toml"),
            ("loss", "experiments/grid/loss.toml"),
            ("pages", "experiments/mixes/pages.toml"),
        ] {
            assert_eq!(path_of(name), Some(path));
        }
        assert_eq!(path_of("other"), None);
    }
}
