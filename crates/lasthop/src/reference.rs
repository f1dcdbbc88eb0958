// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The reference of all JSON fields: docs/json.md.

use crate::check;
use crate::connection::FLOW_FIELDS;
use crate::events::{EVENT_WORDS, EVENTS_FIELDS};
use crate::observe::{FINDINGS, OBSERVE_FIELDS, SENDER_FIELDS};
use crate::peers::PEER_FIELDS;
use crate::receivers::RECEIVER_FIELDS;
use crate::report::{EVENT_FIELDS, Field, RELOAD_FIELDS, STATUS_FIELDS};
use crate::split::SPLIT_FIELDS;
use crate::why::{WHY_FIELDS, Why};

/// The reference of all fields, as docs/json.md holds it.
pub fn page() -> String {
    let table = |fields: &[Field]| -> String {
        let rows = fields
            .iter()
            .map(|(name, unit, doc)| format!("| `{name}` | {unit} | {doc} |\n"));
        format!(
            "| field | unit | meaning |\n| --- | --- | --- |\n{}",
            rows.collect::<String>()
        )
    };
    let reasons: String = Why::ALL
        .iter()
        .map(|why| format!("| `{}` | {} |\n", why.word(), why.text()))
        .collect();
    let events: String = EVENT_WORDS
        .iter()
        .map(|(word, meaning)| format!("| `{word}` | {meaning} |\n"))
        .collect();
    let findings: String = FINDINGS
        .iter()
        .map(|(word, meaning)| format!("| `{word}` | {meaning} |\n"))
        .collect();
    let counters: String = lasthop_core::counters()
        .map(|c| format!("| `{}` | {} |\n", c.name, c.doc))
        .collect();
    format!(
        "# JSON output of lasthop\n\nWith `-j`, one object a line (JSON Lines). Names and units are stable; new fields\nmay be added. A test compares this page with the program (`lasthop fields`).\n\n\
         ## `lasthop status -j`, a line per device\n\n{}\n### Receivers\n\nAs `receivers` shows each: who got data over the link, and how fast.\n\n{}\n### Counters\n\nSince the device was attached; they start anew when it goes and comes back.\n\n| counter | counts |\n| --- | --- |\n{counters}\n\
         ## `lasthop flows -j`, a line per connection\n\n{}\n\
         ### With `--why`\n\nThese as well:\n\n{}\nThe first of these words that holds:\n\n| word | meaning |\n| --- | --- |\n{reasons}\n\
         ## `lasthop peers -j`, a line per agent at the other end of a link\n\n{}\n\
         ## `lasthop observe -j`, a line per look, the last one with `final`\n\n{}\n### Senders\n\nAs `senders` shows each kind.\n\n{}\n### Findings\n\n| finding | meaning |\n| --- | --- |\n{findings}\n\
         ## `lasthop events -j`, a line per event\n\n{}\n| event | meaning |\n| --- | --- |\n{events}\n\
         ## `lasthop check -j`, a line per check\n\n{}\n\
         ## `lasthop attach -j`, `lasthop daemon -j`, a line per event\n\n{}\n\
         ## `lasthop reload -j`, a line per device\n\n{}\n\
         ## `lasthop split -j`, a line per event\n\n{}",
        table(STATUS_FIELDS),
        table(RECEIVER_FIELDS),
        table(FLOW_FIELDS),
        table(WHY_FIELDS),
        table(PEER_FIELDS),
        table(OBSERVE_FIELDS),
        table(SENDER_FIELDS),
        table(EVENTS_FIELDS),
        table(check::FIELDS),
        table(EVENT_FIELDS),
        table(RELOAD_FIELDS),
        table(SPLIT_FIELDS),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_the_reference() {
        let there = include_str!("../docs/json.md");
        assert!(
            there == page(),
            "docs/json.md is not what `lasthop fields` prints: run it and save its output there"
        );
    }
    /// docs/operators/counters.md says of each counter what it says and what to do, once.
    #[test]
    fn the_operators_page_has_every_counter() {
        let page = include_str!("../../../docs/operators/counters.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
        let mut told: Vec<&str> = rows
            .map(|row| {
                let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
                assert!(
                    cells.len() == 3 && cells.iter().all(|cell| !cell.is_empty()),
                    "not three cells: {row}"
                );
                cells[0].trim_end_matches('`')
            })
            .collect();
        told.sort_unstable();
        let mut there: Vec<_> = lasthop_core::counters().map(|c| c.name).collect();
        there.sort_unstable();
        assert_eq!(told, there, "docs/operators/counters.md, core/counters.h");
    }
}
