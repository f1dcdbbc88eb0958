// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Clients that say nothing, too much, or come in crowds.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::fake::{Fake, status};
use super::http::get;
use super::process::{Place, resident_kib};

#[test]
fn idle_connections_are_cut_off_and_others_served() {
    let place = Place::new();
    let _agent = Fake::start(&place.run(), "wl0", status("wl0", 0));
    let exporter = place.serve(&[]);
    let before = Instant::now();
    let mut idle: Vec<TcpStream> = (0..70)
        .map(|_| TcpStream::connect(exporter.at).expect("connect"))
        .collect();
    // All places are taken until their time is over: 32 at once, for three seconds each.
    assert_eq!(get(exporter.at, "/metrics").status, 200);
    assert!(before.elapsed() < Duration::from_secs(14));
    let first = &mut idle[0];
    first
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("timeout");
    let cut = first.read(&mut [0; 1_000]);
    let reset = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
    assert!(cut.is_ok() || cut.as_ref().is_err_and(reset), "{cut:?}");
}

/// A head without end is refused before it takes room.
#[test]
fn endless_heads_are_refused() {
    let place = Place::new();
    let exporter = place.serve(&[]);
    let before = resident_kib(exporter.child.id());
    let mut stream = TcpStream::connect(exporter.at).expect("connect");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nX: ")
        .expect("start");
    let mut written = 0;
    while written < 20_000_000 && stream.write_all(&[b'x'; 100_000]).is_ok() {
        written += 100_000;
    }
    assert!(written < 20_000_000, "it took all of it");
    let grown = resident_kib(exporter.child.id()).saturating_sub(before);
    assert!(grown < 4_000, "{grown} KiB more");
    assert_eq!(get(exporter.at, "/metrics").status, 200);
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let place = Place::new();
    let _agent = Fake::start(&place.run(), "wl0", status("wl0", 0));
    let exporter = place.serve(&[]);
    let page = get(exporter.at, "/");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.body.contains(outside), "{outside}");
    }
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"));
    let nonce = |page: &super::http::Answer| {
        let policy = page.header("content-security-policy").to_owned();
        let (_, rest) = policy.split_once("'nonce-").expect("nonce");
        rest.split('\'').next().expect("end").to_owned()
    };
    assert!(
        page.body
            .contains(&format!("<script nonce=\"{}\">", nonce(&page)))
    );
    assert_ne!(nonce(&page), nonce(&get(exporter.at, "/")));
}
