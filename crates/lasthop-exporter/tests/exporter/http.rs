// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! HTTP/1.1 as far as it takes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// A header's value.
    pub fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map_or("", |(_, value)| value)
    }
}

/// Sends a request line with a header or two, and reads the answer.
pub fn ask(at: SocketAddr, request: &str, headers: &str) -> Answer {
    let mut stream = TcpStream::connect(at).expect("connect");
    let patience = Some(Duration::from_secs(15));
    stream.set_read_timeout(patience).expect("timeout");
    let text = format!("{request} HTTP/1.1\r\nHost: {at}\r\n{headers}\r\n");
    stream.write_all(text.as_bytes()).expect("request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("head");
    let status = head.split(' ').nth(1).expect("status");
    Answer {
        status: status.parse().expect("number"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

pub fn get(at: SocketAddr, path: &str) -> Answer {
    ask(at, &format!("GET {path}"), "")
}
