// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How connections through `lasthop split` come to their ends, and what is whole then.

use std::io::{Read, Write};

use lasthop_lab::data::host::Host;
use lasthop_lab::data::topology::Family;
use socket2::SockRef;

use super::{bed, content, ended, link, pair, split};

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
