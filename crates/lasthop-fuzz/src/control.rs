// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The control socket: whatever a client sends, and whatever a server answers.

use std::cell::RefCell;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use lasthop::control::{Control, directory};
use lasthop::report;
use serde_json::Value;
use tempfile::TempDir;

use crate::input::Input;

struct Server {
    _dir: TempDir,
    socket: PathBuf,
    control: Control,
}

impl Server {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("directory");
        let control = Control::claim(dir.path(), "fuzz0").expect("claim");
        let socket = directory(dir.path()).expect("directory").join("fuzz0.sock");
        Self {
            _dir: dir,
            socket,
            control,
        }
    }
}

thread_local! {
    static SERVER: RefCell<Server> = RefCell::new(Server::start());
}

/// An even first byte: a client that sends the rest in two parts, and leaves. Else an answer, a
/// JSON object a line, as `status` and `flows` show it to people.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    if input.byte() % 2 == 0 {
        ask(&mut input);
    } else {
        show(input.bytes(usize::MAX));
    }
}

fn ask(input: &mut Input<'_>) {
    SERVER.with_borrow_mut(|server| {
        let mut stream = UnixStream::connect(&server.socket).expect("connect");
        let first = usize::from(input.byte());
        for part in [input.bytes(first), input.bytes(4_096)] {
            let _ = stream.write_all(part); // it may have had enough of us
            for question in server.control.questions() {
                assert!(question.request.len() <= 3 * 512, "longer than is read");
            }
        }
        drop(stream);
        server.control.questions();
    });
}

fn show(answer: &[u8]) {
    let text = String::from_utf8_lossy(answer);
    let lines = text.lines().map(serde_json::from_str);
    let values: Vec<Value> = lines.filter_map(Result::ok).collect();
    for value in &values {
        report::status_for_people(value);
    }
    report::flows_for_people(&values);
}
