// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which of the two formats whoever scrapes wants (RFC 9110, section 12.5.1).

use crate::format::Format;

/// OpenMetrics for who names it and likes it no less than plain text; else the text that everyone
/// reads, for browsers as well.
pub fn choose(accept: &str) -> Format {
    let best = |wanted: &str| {
        let weights = accept.split(',').filter_map(|range| weight(range, wanted));
        weights.fold(0.0, f64::max)
    };
    let openmetrics = best("application/openmetrics-text");
    if openmetrics > 0.0 && openmetrics >= best("text/plain") {
        Format::OpenMetrics
    } else {
        Format::Text
    }
}

/// How much the media type is wanted by this part of the header; none: another type.
fn weight(range: &str, wanted: &str) -> Option<f64> {
    let mut parts = range.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case(wanted) {
        return None;
    }
    let q = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    Some(q.map_or(1.0, |q| q.parse().unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_openmetrics_gets_it() {
        for accept in [
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "text/plain;q=0.5, Application/OpenMetrics-Text",
        ] {
            assert_eq!(choose(accept), Format::OpenMetrics, "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "text/plain;version=0.0.4;q=1,*/*;q=0.1",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=x",
            "application/openmetrics-text;q=0.1,text/plain;q=0.2",
            "application/openmetrics-textual",
            ";;;,,,q=",
        ] {
            assert_eq!(choose(accept), Format::Text, "{accept}");
        }
    }
}
