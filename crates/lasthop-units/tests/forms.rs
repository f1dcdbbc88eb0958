// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Every time and size that stands in an experiment, a page, an example or a help text means what it
//! meant to the two parsers that there were before: one of the lab, one of the agent.

use std::fs;
use std::path::{Path, PathBuf};

use lasthop_units::{duration_ns, size_bytes};

/// The lab's units of time in ns, whatever their capitals.
const LAB_TIMES: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
];
const LAB_SIZES: &[(&str, f64)] = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1e3),
    ("kb", 1e3),
    ("m", 1e6),
    ("mb", 1e6),
    ("g", 1e9),
    ("gb", 1e9),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
];
/// The agent's, with capitals as they stand here.
const AGENT_TIMES: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("min", 6e10),
    ("s", 1e9),
];
const AGENT_SIZES: &[(&str, f64)] = &[
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("", 1.0),
];

/// What a table made of a text.
fn before(text: &str, units: &[(&str, f64)], any_case: bool) -> Option<u64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = match any_case {
        true => unit.trim().to_lowercase(),
        false => unit.trim().to_owned(),
    };
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    Some((number.parse::<f64>().ok()? * scale).round() as u64)
}

/// All files whose names end like that, below a directory of the repository.
fn files(directory: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                files(&path, endings, found);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// What may be a number with a unit.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_'));
    parts
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn what_stands_anywhere_means_what_it_meant() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md")];
    for directory in ["experiments", "docs", "scripts"] {
        files(&root.join(directory), &[".toml", ".md", ".sh"], &mut paths);
    }
    // Help texts are doc comments, and so are the examples of the command line.
    files(&root.join("crates"), &[".rs", ".toml", ".md"], &mut paths);
    let (mut times, mut sizes) = (0, 0);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        for word in words(&text) {
            let said = |what: &str| format!("{}: {what} {word}", path.display());
            for (units, any_case) in [(LAB_TIMES, true), (AGENT_TIMES, false)] {
                if let Some(ns) = before(word, units, any_case) {
                    assert_eq!(duration_ns(word), Ok(ns), "{}", said("time"));
                    times += 1;
                }
            }
            for (units, any_case) in [(LAB_SIZES, true), (AGENT_SIZES, false)] {
                if let Some(bytes) = before(word, units, any_case).filter(|b| *b < 1 << 60) {
                    assert_eq!(size_bytes(word), Ok(bytes), "{}", said("size"));
                    sizes += 1;
                }
            }
        }
    }
    assert!(times > 500 && sizes > 500, "{times} times, {sizes} sizes");
}

#[test]
fn what_one_of_them_refused_works() {
    // The agent's: hours, powers of ten, capitals, blanks. The lab's: a sign.
    assert_eq!(duration_ns("1h"), Ok(3_600_000_000_000));
    assert_eq!(duration_ns("0"), Ok(0));
    assert_eq!(size_bytes("8MB"), Ok(8_000_000));
    assert_eq!(size_bytes("8mib"), Ok(8 << 20));
    assert_eq!(duration_ns("+80 ms"), Ok(80_000_000));
}
