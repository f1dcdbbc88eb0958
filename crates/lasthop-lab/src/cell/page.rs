// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The figures of pages.

use serde::{Deserialize, Serialize};

/// The fields of a record about pages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct PageFigures {
    pub page_ms: Option<f64>,
    pub page_p95_ms: Option<f64>,
    pub page_loads_ms: Option<Vec<Option<f64>>>,
}

#[cfg(test)]
mod tests {
    use crate::cell::words;
    use crate::data::page::{PageOptions, SizeRange};

    fn parse(words: &str) -> Result<PageOptions, String> {
        Ok(words::compare(words)?.page)
    }

    #[test]
    fn library_and_command_line_have_the_same_defaults() {
        assert_eq!(parse("").unwrap(), PageOptions::default());
        let page = parse("--page").unwrap();
        assert_eq!((page.connections(), page.connections_per_load()), (6, 6));
        let few = parse("--page --page-objects 4").unwrap();
        assert_eq!(few.connections_per_load(), 4);
        let new = parse("--page --page-keepalive off").unwrap();
        assert_eq!(new.connections_per_load(), 40);
    }

    #[test]
    fn sizes_at_equal_ratios() {
        let range: SizeRange = "1kB,16kB".parse().unwrap();
        assert_eq!(range.spaced(5), [1000, 2000, 4000, 8000, 16_000]);
        assert_eq!(range.spaced(1), [4000]);
        assert_eq!(range.to_string().parse(), Ok(range));
        for text in ["1kB", "2kB,1kB", "1kB,1GB", "0,1kB", "a,b"] {
            assert!(text.parse::<SizeRange>().is_err(), "{text}");
        }
    }

    #[test]
    fn usage_errors_name_the_option() {
        for (words, hint) in [
            ("--page-objects 10", "--page"),
            ("--page --page-objects 0", "--page-objects"),
            ("--page --page-connections 65", "--page-connections"),
            ("--page --bytes 1MB", "--bytes"),
            ("--page --duration 3s", "--duration"),
            ("--page --flows 2", "--flows"),
            ("--page --direction both", "--direction"),
            ("--page --samples FILE", "--samples"),
            ("--page --flent x.flent.gz", "--flent"),
            ("--page --page-protocol http3", "--page-protocol"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(hint), "{words}: {error}");
        }
    }

    #[test]
    fn http2_has_one_connection() {
        let http2 = parse("--page --page-protocol http2").unwrap();
        assert_eq!(http2.connections(), 1);
        http2.check().unwrap();
        for (words, hint) in [
            ("--page-connections 6", "--page-connections"),
            ("--page-keepalive off", "--page-keepalive"),
        ] {
            let page = parse(&format!("--page --page-protocol http2 {words}")).unwrap();
            let error = page.check().unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}
