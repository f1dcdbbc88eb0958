// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--samples`: what both ends of each flow look like over time, as JSON Lines.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::base::fields::{Field, markdown_table};
use crate::base::stats::rounded;
use crate::bed::transfer::Moment;
use crate::bed::transfer::sockets::CaState;
use crate::cell::watch::create_samples;

/// Fields of a line, in their order.
pub const SAMPLE_FIELDS: [Field; 11] = [
    Field::new("at_ms", "ms", "since the transfer began, warm-up included"),
    Field::new(
        "flow",
        "number",
        "from 0; with `--transfers` the senders' figures are those of the flow's newest connection",
    ),
    Field::new(
        "cwnd",
        "segments",
        "congestion window of the sender; null before it is connected, as are all that follow but `received_bytes`",
    ),
    Field::new(
        "ssthresh",
        "segments",
        "its slow-start threshold; null while it has none",
    ),
    Field::new("unacked", "segments", "on their way (`tcpi_unacked`)"),
    Field::new(
        "rtt_ms",
        "ms",
        "smoothed round trip (`tcpi_rtt`); null before the first measurement",
    ),
    Field::new("rto_ms", "ms", "retransmission timeout, with its doublings"),
    Field::new(
        "ca_state",
        "name",
        "state of loss recovery: `open`, `disorder`, `cwr`, `recovery` or `loss`",
    ),
    Field::new(
        "backoff",
        "doublings",
        "of the retransmission timeout since the last progress",
    ),
    Field::new(
        "retransmits",
        "segments",
        "sent again since the connection began (`tcpi_total_retrans`)",
    ),
    Field::new(
        "received_bytes",
        "bytes",
        "read by the receiving application since the transfer began",
    ),
];

/// One flow at one moment. The fields are described in [`SAMPLE_FIELDS`].
#[derive(Debug, Serialize)]
struct Line {
    at_ms: f64,
    flow: usize,
    cwnd: Option<u32>,
    ssthresh: Option<u32>,
    unacked: Option<u32>,
    rtt_ms: Option<f64>,
    rto_ms: Option<f64>,
    ca_state: Option<CaState>,
    backoff: Option<u8>,
    retransmits: Option<u64>,
    received_bytes: u64,
}

/// Writes the samples of one cell.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, moments: &[Moment]) -> Result<()> {
    let mut out = BufWriter::new(create_samples(path)?);
    for moment in moments {
        for line in lines(moment) {
            let text = serde_json::to_string(&line)?;
            writeln!(out, "{text}").with_context(|| format!("--samples {}", path.display()))?;
        }
    }
    out.flush()
        .with_context(|| format!("--samples {}", path.display()))
}

fn lines(moment: &Moment) -> impl Iterator<Item = Line> {
    let ms = |us: u32| f64::from(us) / 1000.0;
    let flows = moment.received_bytes.iter().zip(&moment.senders);
    flows
        .enumerate()
        .map(move |(flow, (received_bytes, sender))| Line {
            at_ms: rounded(moment.at_ns as f64 / 1e6, 3),
            flow,
            cwnd: sender.map(|s| s.cwnd_segments),
            ssthresh: sender.and_then(|s| s.ssthresh_segments),
            unacked: sender.map(|s| s.unacked_segments),
            rtt_ms: sender.filter(|s| s.rtt_us > 0).map(|s| ms(s.rtt_us)),
            rto_ms: sender.map(|s| ms(s.rto_us)),
            ca_state: sender.map(|s| s.ca_state),
            backoff: sender.map(|s| s.backoff),
            retransmits: sender.map(|s| s.retransmits),
            received_bytes: *received_bytes,
        })
}

/// The fields as a table in Markdown, the end of `docs/samples.md`.
pub fn samples_markdown() -> String {
    markdown_table(&SAMPLE_FIELDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::fields::assert_described;
    use crate::bed::transfer::sockets::TcpInfo;

    /// One flow that sends, and one that is not connected yet.
    fn moment() -> Moment {
        let sender = TcpInfo {
            cwnd_segments: 10,
            rto_us: 201_000,
            ca_state: CaState::Recovery,
            ..TcpInfo::default()
        };
        Moment {
            at_ns: 1_234_567,
            received_bytes: vec![4344, 0],
            senders: vec![Some(sender), None],
        }
    }

    #[test]
    fn one_line_per_flow() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), &[moment(), moment()]).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[0],
            r#"{"at_ms":1.235,"flow":0,"cwnd":10,"ssthresh":null,"unacked":0,"rtt_ms":null,"rto_ms":201.0,"ca_state":"recovery","backoff":0,"retransmits":0,"received_bytes":4344}"#
        );
        let idle: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
        assert_eq!(
            (&idle["flow"], &idle["received_bytes"]),
            (&1.into(), &0.into())
        );
        assert!(idle["cwnd"].is_null() && idle["ca_state"].is_null());
    }

    #[test]
    fn lines_and_description_have_the_same_fields_in_the_same_order() {
        assert_described(&lines(&moment()).next().unwrap(), &SAMPLE_FIELDS);
    }

    #[test]
    fn the_page_is_up_to_date() {
        let page = include_str!("../../../docs/samples.md");
        assert!(
            page.ends_with(&samples_markdown()),
            "docs/samples.md must end with the output of `lasthop-lab fields samples`:\n{}",
            samples_markdown()
        );
    }
}
