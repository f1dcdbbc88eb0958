// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Pages, as they are loaded on other ways than the one that most cases share.

use super::both;
use crate::mixes::{beside_upload, browse};

/// The end of a slow start gets lost in a full queue, and nothing behind it tells. A probe in time repaired one segment,
/// and kept FH's own from repairing all: by one a probe a page of 0.62 s took 0.81 s (one of eight 1.56 s), and beside
/// an upload, without any loss of the link's, 1.33 s and not 0.80.
#[test]
fn pages_wait_for_no_lost_end() {
    let way = (50.0, 30, 4);
    for (case, most) in [
        (browse(way, "cubic", 0.002), 1.1),
        (beside_upload(browse(way, "cubic", 0.0)), 1.42),
    ] {
        both(&case, |none, rack| {
            let (none, rack) = (none.page_median_ms(), rack.page_median_ms());
            assert!(rack <= most * none, "{rack} ms for {none}");
        });
    }
}
