// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The summary for people, and the generated part of docs/grid.md.

use super::cells::{BASE, VARIANTS};
use super::criteria::CRITERIA;
use super::judge::{self, Judgement, Outcome, show_ratio};
use super::summary::{self, Row};
use crate::base::columns::aligned;
use crate::base::fields::{Field, markdown_table};

const HEADERS: [&str; 9] = [
    "cell",
    "scheme",
    "runs",
    "of bound",
    "Mbit/s",
    "x none",
    "RTT p50 over base",
    "p95",
    "content",
];
/// Failed cells named per criterion; the JSON has all.
const NAMED_FAILURES: usize = 5;

/// Fields that a line of grid.jsonl has beside those of `compare -j`.
pub const LINE_FIELDS: [Field; 4] = [
    Field::new(
        "cell",
        "name",
        "`VARIANT/RATE/RTT/LOSS/CC/SCHEME/SEED`, such as `base/20mbit/110ms/2%/reno/rack/1`",
    ),
    Field::new(
        "variant",
        "name",
        "what differs from the grid proper, `base`",
    ),
    Field::new(
        "setup",
        "text",
        "options of `compare` but congestion control, scheme and seed; if they change, the cell is run again",
    ),
    Field::new(
        "notes",
        "list of text",
        "what `compare` said about the figures",
    ),
];

/// The table of cells.
pub fn cells(rows: &[Row]) -> String {
    let ms = |value: Option<f64>| value.map_or("-".to_owned(), |ms| format!("{ms:+.1} ms"));
    let mut table = vec![HEADERS.map(str::to_owned)];
    table.extend(rows.iter().map(|row| {
        [
            row.place.clone(),
            row.scheme.clone(),
            row.runs.to_string(),
            format!("{:.1}%", 100.0 * row.efficiency),
            format!("{:.2}", row.goodput_mbit),
            show_ratio(row),
            ms(row.rtt_p50_over_base_ms),
            ms(row.rtt_p95_over_base_ms),
            if row.content_ok { "ok" } else { "WRONG" }.to_owned(),
        ]
    }));
    let mut text = aligned(&table, 2);
    text.push_str("\nmedians over the seeds; x none: mean of the ratios per seed");
    text.push_str(match rows.iter().any(|row| row.ratio_low.is_some()) {
        true => ", with their 95 % interval where there are several\n",
        false => "; one seed each, so without an interval\n",
    });
    text
}

/// One line per criterion, and the cells in which one fails.
pub fn judgements(judgements: &[Judgement]) -> String {
    let mut table = Vec::new();
    for judgement in judgements {
        let outcome = match judgement.outcome {
            Outcome::Holds => "holds",
            Outcome::Fails => "FAILS",
            Outcome::NotJudged => "-",
        };
        let failed = judgement.failures.len();
        let count = match judgement.outcome {
            Outcome::NotJudged => "no cells".to_owned(),
            Outcome::Holds => format!("{} cells", judgement.judged),
            Outcome::Fails => format!("{failed} of {} cells", judgement.judged),
        };
        table.push([
            outcome.to_owned(),
            judgement.criterion.to_owned(),
            count,
            judgement.source.to_owned(),
        ]);
        for failure in judgement.failures.iter().take(NAMED_FAILURES) {
            let text = format!("  {}: {}", failure.place, failure.figure);
            table.push([String::new(), String::new(), String::new(), text]);
        }
        if failed > NAMED_FAILURES {
            let text = format!("  and {} more (-j names them)", failed - NAMED_FAILURES);
            table.push([String::new(), String::new(), String::new(), text]);
        }
    }
    aligned(&table, 4)
}

/// Tables for docs/grid.md: everything that code knows about the grid.
pub fn markdown() -> String {
    let mut text =
        String::from("### Variants\n\n| variant | options | asks |\n| --- | --- | --- |\n");
    text.push_str(&format!("| `{BASE}` | | the grid proper |\n"));
    for variant in &VARIANTS {
        let options = variant.options();
        text.push_str(&format!(
            "| `{}` | `{options}` | {} |\n",
            variant.name, variant.about
        ));
    }
    text.push_str("\n### Criteria\n\n| criterion | demand |\n| --- | --- |\n");
    for criterion in &CRITERIA {
        text.push_str(&format!(
            "| `{}` | {} |\n",
            criterion.name, criterion.source
        ));
    }
    for (title, fields) in [
        (
            "A line of grid.jsonl, beside the fields of `compare -j`",
            &LINE_FIELDS[..],
        ),
        (
            "`grid -j`: one line per place and scheme",
            &summary::FIELDS[..],
        ),
        ("`grid -j`: one line per criterion", &judge::FIELDS[..]),
    ] {
        text.push_str(&format!("\n### {title}\n\n{}", markdown_table(fields)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::grid::line::tests::line;

    #[test]
    fn the_page_is_up_to_date() {
        let page = include_str!("../../../docs/grid.md");
        assert!(
            page.ends_with(&markdown()),
            "docs/grid.md must end with the output of `lasthop-lab fields grid`:\n{}",
            markdown()
        );
    }

    #[test]
    fn what_people_see() {
        let place = "base/20mbit/110ms/2%/reno";
        let lines = [line(place, "none", 1, 5.0), line(place, "rack", 1, 15.0)];
        let (rows, _) = summary::rows(&lines.iter().collect::<Vec<_>>());
        let text = cells(&rows);
        assert!(text.contains("3.000") && text.contains("+4.4 ms"), "{text}");
        assert!(text.contains("without an interval"), "{text}");
        let text = judgements(&judge::judge(&rows, "rack"));
        assert!(text.contains("FAILS  efficiency "), "{text}");
        assert!(
            text.contains(&format!("{place}: efficiency 0.802 < 0.97")),
            "{text}"
        );
        assert!(text.contains("-      varying-rate "), "{text}");
    }
}
