// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How connections through `lasthop split` come to their ends, and what is whole then.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

use lasthop_lab::data::host::Host;
use lasthop_lab::data::topology::Family;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use socket2::{Domain, SockRef, Socket, Type};

use super::{PATIENCE, bed, connect, content, ended, link, listen, pair, split, unacknowledged};

/// splice(2) stops before an urgent byte, and takes it for the end of data if FIN has come.
#[test]
fn urgent_data_pass_as_plain_data() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let proxy = split(&bed, &["-j"]);
    let after = content(5000, 9);
    for (port, waits) in [(7900, true), (7901, false)] {
        let (mut client, mut server) = pair(&bed, Host::Fh, Host::Mh, Family::V4, port);
        client.write_all(b"before").unwrap();
        if waits {
            server.read_exact(&mut [0; 6]).unwrap();
        }
        SockRef::from(&client).send_out_of_band(b"U").unwrap();
        client.write_all(&after).unwrap();
        drop(client);
        let mut got = Vec::new();
        server.read_to_end(&mut got).unwrap();
        let head: &[u8] = if waits { b"U" } else { b"beforeU" };
        assert!(got == [head, &after].concat(), "{} bytes", got.len());
    }
    assert_eq!(ended(proxy), (2, 0));
    bed.down().expect("nothing is left");
}

/// Both have closed, and what the one was told that the other has waits in the proxy's socket.
#[test]
fn it_ends_when_the_last_byte_is_acknowledged() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let mut proxy = split(&bed, &["-j"]);
    let listener = listen(&bed, Host::Mh, Family::V4, 7910);
    SockRef::from(&listener).set_recv_buffer_size(1).unwrap();
    let mut client = connect(&bed, Host::Fh, listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let bytes = content(30_000, 10);
    client.write_all(&bytes).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    server.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
    while unacknowledged(&client) > 0 {
        thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(proxy.id().pid), Signal::SIGTERM).unwrap();
    // It would have ended at once, as there is nothing left that it moves.
    let early = proxy.wait_or_none(Duration::from_secs(1)).unwrap();
    assert!(early.is_none(), "{early:?}");
    let mut got = Vec::new();
    server.read_to_end(&mut got).unwrap();
    assert!(got == bytes, "{} bytes", got.len());
    assert!(proxy.wait(PATIENCE).unwrap().success());
    let lines = proxy.rest_of_lines();
    let closed = lines.iter().any(|line| line.contains("\"closed\""));
    assert!(closed, "{lines:?}");
    bed.down().expect("nothing is left");
}

/// It closes while we connect; the server has been told of it by then, and hears that it was nothing.
#[test]
fn a_client_that_gives_up_is_a_reset_to_the_server() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let proxy = split(&bed, &["-j"]);
    let listener = listen(&bed, Host::Fh, Family::V4, 7920);
    let to = listener.local_addr().unwrap();
    let begin = || {
        let client = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
        client.connect(&to.into()).expect_err("it takes a while");
    };
    bed.run_in(Host::Mh, begin).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    // Told to end, the proxy does not wait for who won't come.
    assert_eq!(ended(proxy), (0, 0));
    let error = server.read(&mut [0; 1]).expect_err("a reset, no end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    bed.down().expect("nothing is left");
}
