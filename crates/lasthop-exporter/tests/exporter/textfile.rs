// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The file for node_exporter.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{Mode, umask};
use nix::unistd::Pid;

use super::exposition::read;
use super::fake::{Fake, status};
use super::metrics::value;
use super::process::Place;

#[test]
fn is_written_once() {
    let place = Place::new();
    let _agent = Fake::start(&place.run(), "wl0", status("wl0", 40));
    let file = place.file("lasthop.prom");
    let path = file.to_str().expect("path");
    let output = place.command(&["--textfile", path]).output().expect("run");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let series = read(&fs::read_to_string(&file).expect("file"), true).expect("text");
    let labels = [("device", "wl0")];
    assert_eq!(
        value(&series, "lasthop_data_segments_total", &labels),
        Some(40.0)
    );
    assert_eq!(value(&series, "lasthop_up", &labels), Some(1.0));
}

/// What was there must not stay, for it would be taken for now.
#[test]
fn nobody_there_is_an_error_and_no_old_figures() {
    let place = Place::new();
    let file = place.file("lasthop.prom");
    let path = file.to_str().expect("path");
    fs::write(&file, "lasthop_data_segments_total{device=\"wl0\"} 40\n").expect("old");
    let args = ["--textfile", path, "--expect", "wl0"];
    let output = place.command(&args).output().expect("run");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "lasthop-exporter: wl0: no agent has it attached\n");
    let series = read(&fs::read_to_string(&file).expect("file"), true).expect("text");
    assert_eq!(
        value(&series, "lasthop_up", &[("device", "wl0")]),
        Some(0.0)
    );
    assert!(
        !series
            .keys()
            .any(|(name, _)| name == "lasthop_data_segments_total")
    );
    let output = place.command(&["--textfile", "/nowhere/x.prom"]).output();
    let said = String::from_utf8_lossy(&output.expect("run").stderr).into_owned();
    assert!(said.starts_with("lasthop-exporter: cannot write /nowhere/x.prom: "));
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// The collector is another user, whatever umask a service has.
#[test]
fn is_for_everybody_to_read() {
    let place = Place::new();
    let _agent = Fake::start(&place.run(), "wl0", status("wl0", 40));
    let file = place.file("lasthop.prom");
    let mut command = place.command(&["--textfile", file.to_str().expect("path")]);
    // SAFETY: umask() is async-signal-safe, and touches nothing of ours.
    unsafe {
        command.pre_exec(|| {
            umask(Mode::S_IRWXG | Mode::S_IRWXO);
            Ok(())
        });
    }
    assert!(command.status().expect("run").success());
    let mode = fs::metadata(&file).expect("file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o644);
}

#[test]
fn is_written_again_and_removed_at_the_end() {
    removed_after(Signal::SIGTERM);
}

#[test]
fn is_removed_when_the_terminal_is_gone() {
    removed_after(Signal::SIGHUP);
}

fn removed_after(signal: Signal) {
    let place = Place::new();
    let agent = Fake::start(&place.run(), "wl0", status("wl0", 40));
    let file = place.file("lasthop.prom");
    let path = file.to_str().expect("path");
    let args = ["--textfile", path, "--every", "1s"];
    let mut child = place
        .command(&args)
        .stderr(Stdio::null())
        .spawn()
        .expect("run");
    let up = || {
        let text = fs::read_to_string(&file).ok()?;
        let series = read(&text, true).expect("whole at any time");
        value(&series, "lasthop_up", &[("device", "wl0")])
    };
    let wait = |expected| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while up() != Some(expected) {
            assert!(Instant::now() < deadline, "up is {:?}", up());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait(1.0);
    drop(agent);
    wait(0.0);
    let pid = Pid::from_raw(child.id() as i32);
    kill(pid, signal).expect("signal");
    assert!(child.wait().expect("end").success());
    assert!(!file.exists(), "nobody renews it any more");
}
