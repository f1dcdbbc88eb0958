// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Captures of both devices, as `lasthop-lab replay` reads them.

use std::cell::RefCell;
use std::io::Write;

use lasthop_lab::replay::{self, ReplayOptions};
use tempfile::TempDir;

use crate::input::Input;

thread_local! {
    static DIR: RefCell<TempDir> = RefCell::new(tempfile::tempdir().expect("directory"));
}

/// Two bytes: how long the first capture is; the rest is the other.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let first = usize::from(input.short());
    DIR.with_borrow(|dir| {
        let (wired, lossy) = (dir.path().join("wired"), dir.path().join("lossy"));
        let pcapng = Some(dir.path().join("pcapng"));
        std::fs::write(&wired, input.bytes(first)).expect("write");
        std::fs::write(&lossy, input.bytes(usize::MAX)).expect("write");
        let options = ReplayOptions {
            wired,
            lossy,
            mobile: vec!["10.2.0.0/24".parse().expect("prefix")],
            scheme: None,
            config: None,
            from: 0,
            to: None,
            json: true,
            pcapng,
        };
        let mut out = std::io::sink();
        if let Err(error) = replay::run(&options, &mut out) {
            let text = format!("{error:#}");
            assert!(!text.contains('\n'), "an error of several lines: {text}");
        }
        let _ = out.flush();
    });
}
