// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The files of `experiments/mixes`.

/// Name and text; inside the program, which must work away from its source.
macro_rules! mixes {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../../experiments/mixes/", $name, ".toml")))),+]
    };
}

/// The files of `experiments/mixes`, in the order in which they are run: short ones first.
pub const MIXES: [(&str, &str); 17] = mixes![
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

/// Where the repository has the mix of that name, if it has.
pub fn file_of(name: &str) -> Option<String> {
    let known = MIXES.iter().any(|(other, _)| *other == name);
    known.then(|| format!("experiments/mixes/{name}.toml"))
}
