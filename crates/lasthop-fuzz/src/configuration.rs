// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The configuration file, and what a scheme is loaded with.

use lasthop::config;
use lasthop::memory::Room;

/// A file's text. Errors are one line.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match config::parse(&text, "fuzz.toml") {
        Err(error) => one_line(&error),
        Ok(file) => {
            let scheme = file.scheme.clone().unwrap_or_else(|| "rack".into());
            let room = Room {
                available_bytes: 1 << 30,
                total_bytes: 1 << 30,
            };
            match file.setup(&scheme, &room) {
                Err(error) => one_line(&error),
                Ok(setup) => assert!(setup.cache_total_bytes <= 1 << 30),
            }
        }
    }
}

fn one_line(error: &impl ToString) {
    let text = error.to_string();
    assert!(!text.contains('\n'), "an error of several lines: {text}");
}
