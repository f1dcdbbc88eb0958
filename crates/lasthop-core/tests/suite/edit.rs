// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Edits of a passing ACK (core/edit.h): whatever the header looks like, the
//! checksum stays right and nothing else is touched.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, checksum_ok, option};
use lasthop_core::{Actions, parse};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_header(
        v6 in any::<bool>(),
        // NOPs before the option: it may begin at an odd place.
        pad in 0usize..4,
        blocks in proptest::collection::vec(any::<(u32, u32)>(), 0..4),
        payload in proptest::collection::vec(any::<u8>(), 0..300),
        (ack, window, to) in any::<(u32, u16, u16)>(),
        (edit, blank) in any::<(bool, bool)>(),
        ip_options in 0usize..5,
    ) {
        let mut options = vec![1; pad];
        if !blocks.is_empty() {
            options.extend(option::sack(&blocks));
        }
        let tcp = Tcp { ack, window, options, payload, ip_options: vec![1; ip_options * 4], ..Tcp::default() };
        let ends = if v6 { Ends::v6(1) } else { Ends::v4(1) };
        let came = tcp.to_fh(&ends);
        let (s, _) = parse(&came, 0, None, false).expect("TCP");
        let actions = Actions {
            window: if edit { u32::from(to) } else { LH_KEEP_WINDOW },
            blank_sack: u32::from(blank),
            ..Actions::default()
        };
        let mut passed = came.clone();
        actions.edit(&mut passed, &s);
        // checksum_ok() knows no IP options.
        prop_assert!(checksum_ok(&passed) || (ip_options > 0 && !v6) || !checksum_ok(&came));
        // The same packet built with these values from the start.
        let mut options = vec![1; pad];
        if blank {
            options.resize(pad + usize::from(s.sack_bytes), 1);
        } else {
            options = tcp.options.clone();
        }
        let window = if edit { to } else { window };
        prop_assert_eq!(passed, Tcp { window, options, ..tcp }.to_fh(&ends));
    }
}
