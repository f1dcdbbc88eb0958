// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! End to end, on test beds in network namespaces: the agent, the exporter beside it, and the lab itself.
//! One program, so that it is known who runs beside whom ([`turn`]).

#[macro_use]
mod quiet;

mod agent;
mod exporter;
mod lab;
mod turn;

use std::env;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use lasthop_lab::bed::process::find_binary;

use turn::Company;

/// Environment: set, each test runs alone.
const ALONE: &str = "LASTHOP_ALONE";

/// Whether a test may run, which then has its turn, in company; says why not if there is a reason.
fn may_run(test: &str, why_not: Option<&str>, company: Company) -> bool {
    match why_not {
        Some(why) => skip(test, why),
        None => turn::take(if env::var_os(ALONE).is_some() {
            Company::Nobody
        } else {
            company
        }),
    }
    why_not.is_none()
}

/// Says why a test is skipped, past the test harness, which swallows what passing tests print.
fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

/// Puts a program where everybody may run it. By another process: what another thread forks meanwhile would
/// have a copy of ours open for writing, and nobody may run it until then.
fn for_everybody(name: &str, directory: &Path) -> PathBuf {
    let to = directory.join(name);
    let from = find_binary(name).expect(name);
    let copied = Command::new("cp").args([&from, &to]).status();
    assert!(copied.expect("cp").success());
    fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).expect("mode");
    to
}

/// A process that ends with its test, failed or not.
struct EndsWithTest(Child);

impl Drop for EndsWithTest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
