// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme dproxy (docs/design.md, section 5.11) where somebody or something is against it: what waits is
//! not lost, nor stuck, nor anybody else's harm.

use crate::dproxy::{Down, SIZE, dproxy};

/// The link went down while something was missing, and all of that has been given up when it comes back:
/// what gets lost from then on is asked for.
#[test]
fn a_link_that_is_back_is_asked() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    down.agent.on_link(false, down.now);
    let (_, on) = down.run_ms(200);
    assert_eq!(on.iter().map(|on| on.1).collect::<Vec<_>>(), [2 * SIZE]);
    down.agent.on_link(true, down.now);
    assert_eq!(down.comes(4 * SIZE).asked, [3 * SIZE]);
}

/// Nobody says that the link is up, but what comes over it.
#[test]
fn data_show_that_the_link_is_up() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    down.agent.on_link(false, down.now);
    down.run_ms(200);
    assert_eq!(down.comes(4 * SIZE).asked, [3 * SIZE]);
}
