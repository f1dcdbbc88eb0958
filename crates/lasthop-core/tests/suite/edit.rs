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

/// One agent's word to another is taken out, but not from what TCP-MD5 covers: that is not one's.
#[test]
fn what_is_signed_is_not_stripped() {
    let missing = [253, 12, 0x4c, 0x48, 0, 0, 0, 1, 0, 0, 0, 9];
    for signed in [false, true] {
        let mut options = missing.to_vec();
        if signed {
            options.extend(option::other(19, 18));
            options.extend([1, 1]);
        }
        let came = Tcp {
            options,
            ..Tcp::default()
        }
        .to_fh(&Ends::v4(1));
        let (s, _) = parse(&came, 0, None, false).expect("TCP");
        assert_eq!(s.nr_missing, 1);
        let mut passed = came.clone();
        // SAFETY: the length is that of the vector.
        let n = unsafe { lhc_edit_strip(passed.as_mut_ptr(), passed.len() as u32, &s) };
        assert_eq!(n != 0, !signed);
        assert_eq!(passed == came, signed);
    }
}

/// Behind a header that fills what is looked at there is no room for another option.
#[test]
fn where_there_is_no_room_nothing_is_told() {
    for (room, told) in [(8, false), (11, false), (12, true)] {
        let bytes = LH_HDR_BYTES as usize - room;
        let mut packet = Tcp::default().to_mh(&Ends::v4(1));
        let (mut s, _) = parse(&packet, 0, None, true).expect("TCP");
        packet.resize(bytes, 0);
        s.hdr_bytes = bytes as u16;
        let actions = Actions {
            tell_by: LH_TELL_OPTION,
            nr_tell: 1,
            ..Actions::default()
        };
        assert_eq!(actions.annotate(&mut packet, &s), told, "{room}");
    }
}
