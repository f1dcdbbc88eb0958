// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme `rack` at either end of the hop, with a key: downloads are the base's, by what MH's ACKs say; uploads
//! the mobile end's, by what the base tells it.

use lasthop_lab::data::way::Way;

use super::able;
use super::snack::braked;

#[test]
fn an_upload_is_repaired_from_the_mobile_end() {
    if !able() {
        return;
    }
    let mut ends = braked("rack", "", Way::Up);
    assert!(ends.count(1, "retransmits_asked") > 0);
    let told = ends.count(0, "told_options") + ends.count(0, "told_messages");
    assert!(told > 0);
}

/// The mobile end asks for nothing that the base finds by itself.
#[test]
fn a_download_is_the_bases_alone() {
    if !able() {
        return;
    }
    let mut ends = braked("rack", "", Way::Down);
    assert_eq!(ends.count(0, "retransmits_asked"), 0);
    let told = ends.count(1, "told_options") + ends.count(1, "told_messages");
    assert_eq!(told, 0);
    assert_eq!(ends.count(1, "local_retransmits"), 0);
}
