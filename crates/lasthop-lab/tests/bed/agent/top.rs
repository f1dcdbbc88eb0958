// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop top`: what it shows of real connections, and how it leaves the terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};

use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{PATIENCE, able, check, fast_link, wait_until};

/// One screen, as text.
fn once(bed: &TestBed, more: &[&str]) -> String {
    let binary = find_binary("lasthop").expect("lasthop");
    let mut words = vec![binary.to_str().expect("path"), "top", "--once"];
    words.extend(more);
    bed.command(Host::Bs, &words).expect("top --once")
}

#[test]
fn one_screen_shows_connections_that_are_repaired() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let agent = bed.start_agent("rack", &[]).expect("agent");
    let transfer = Transfer::new().flows(4).bytes(8_000_000).deadline(PATIENCE);
    let running = transfer.start(&bed).expect("transfer");
    running.wait_for_all_flows().expect("flows");
    wait_until("a connection that is helped", || {
        let more = ["--interval", "200ms", "--sort", "repairs"];
        let screen = once(&bed, &more);
        assert_eq!(screen.lines().count(), 24, "{screen}");
        let rows = screen.lines().skip(2).take(4);
        let helped = rows.filter(|row| row.contains(" helped ")).count();
        (helped > 0, screen)
    });
    // One of them may have nothing under way at a time.
    wait_until("a receiver with four connections and a rate", || {
        let receivers = once(&bed, &["--interval", "200ms", "--show", "receivers"]);
        let row = receivers.lines().nth(2).expect("a row");
        let row: Vec<&str> = row.split_whitespace().collect();
        let rate: f64 = row[1].parse().expect("a rate");
        (row[2] == "4" && rate > 0.0, receivers)
    });
    let nobody = once(&bed, &["--interval", "200ms", "--filter", "203.0.113.0/24"]);
    assert_eq!(nobody.lines().nth(2), Some(""), "{nobody}");
    check(&running.wait().expect("transfer"));
    agent.stop().expect("stop");
}

/// `lasthop top` on a terminal of its own.
struct Shown {
    child: Child,
    master: File,
    terminal: OwnedFd,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Shown {
    fn start() -> Self {
        let (mut master, mut terminal) = (0, 0);
        let size = libc::winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: two numbers to be filled in, no name, no settings, and a size that is read only.
        let result = unsafe {
            libc::openpty(
                &mut master,
                &mut terminal,
                std::ptr::null_mut(),
                std::ptr::null(),
                &size,
            )
        };
        assert_eq!(result, 0, "openpty");
        // SAFETY: descriptors that were just made, nobody else's.
        let (master, terminal) =
            unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(terminal)) };
        let end = || terminal.try_clone().expect("a descriptor");
        let mut command = Command::new(find_binary("lasthop").expect("lasthop"));
        command
            .args(["top", "--interval", "200ms"])
            .env("TERM", "xterm");
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().expect("lasthop top");
        let written = Arc::<Mutex<Vec<u8>>>::default();
        let (mut reader, sink) = (
            master.try_clone().expect("a descriptor"),
            Arc::clone(&written),
        );
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                sink.lock().expect("lock").extend_from_slice(&bytes[..n]);
            }
        });
        Self {
            child,
            master,
            terminal,
            written,
        }
    }

    /// Flags of the terminal: how input is taken and shown, and how output is.
    fn flags(&self) -> [libc::tcflag_t; 3] {
        // SAFETY: all zeros is a valid value of this struct of integers.
        let mut settings: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: an open terminal, and a struct to be filled in.
        let result = unsafe { libc::tcgetattr(self.terminal.as_raw_fd(), &mut settings) };
        assert_eq!(result, 0, "tcgetattr");
        [settings.c_iflag, settings.c_lflag, settings.c_oflag]
    }

    fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().expect("lock")).into_owned()
    }

    fn wait_for(&self, text: &str) {
        wait_until(text, || {
            let written = self.written();
            (written.contains(text), written)
        });
    }

    fn end(&mut self, by: &str) -> ExitStatus {
        let pid = Pid::from_raw(self.child.id() as i32);
        match by {
            "SIGTERM" => kill(pid, Signal::SIGTERM).expect("SIGTERM"),
            "SIGHUP" => kill(pid, Signal::SIGHUP).expect("SIGHUP"),
            keys => self.master.write_all(keys.as_bytes()).expect("keys"),
        }
        let mut status = None;
        wait_until("the end", || {
            status = self.child.try_wait().expect("wait");
            (status.is_some(), self.written())
        });
        status.expect("an end")
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_terminal_is_left_as_it_was() {
    if !able() {
        return;
    }
    for by in ["q", "\u{3}", "hq", "SIGTERM", "SIGHUP"] {
        let mut shown = Shown::start();
        shown.wait_for("filter"); // of the last line
        let during = shown.flags();
        assert_eq!(during[1] & (libc::ICANON | libc::ECHO), 0, "{by:?}");
        let status = shown.end(by);
        assert!(status.success(), "{by:?}: {status}");
        shown.wait_for("\u{1b}[?1049l"); // back to the screen from before
        let flags = shown.flags();
        let usual = libc::ICANON | libc::ECHO | libc::ISIG;
        assert_eq!(flags[1] & usual, usual, "{by:?}");
        assert_ne!(flags[2] & libc::OPOST, 0, "{by:?}");
    }
}
