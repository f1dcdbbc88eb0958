// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What pages have in common: one file that needs nothing else.

use std::time::{Duration, UNIX_EPOCH};

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

const STYLE: &str = include_str!("style.css");

/// A whole page.
pub fn document(title: &str, header: &Markup, main: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (header) }
                main { (main) }
            }
        }
    };
    markup.into_string()
}

/// In UTC, as 2026-11-21.
pub fn day(seconds: u64) -> String {
    let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds));
    time.to_string().chars().take(10).collect()
}

/// What scrolls by itself where the page is narrow, by keyboard, too.
pub fn scrolling(label: &str, wide: &Markup) -> Markup {
    html! { div.scroll role="region" aria-label=(label) tabindex="0" { (wide) } }
}

/// The first line of a table: what its columns are.
pub fn columns<T: Render>(names: impl IntoIterator<Item = T>) -> Markup {
    html! { thead { tr { @for name in names { th scope="col" { (name) } } } } }
}
