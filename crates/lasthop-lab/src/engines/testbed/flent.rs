// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--flent`: the samples of a cell as a data file of Flent, version 4 of its format, as its own test
//! `tcp_ndown` (uploads: `tcp_nup`) would have left it with socket statistics: goodput of each flow,
//! their sum and mean; the sender's round trip and window beside each flow's raw values.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use crate::base::stats::rounded;
use crate::bed::transfer::Moment;
use crate::cell::options::{Cell, CompareOptions};
use crate::data::way::Way;

/// Version of the format.
const VERSION: u32 = 4;
const UNITS: &str = "Mbits/s";

/// Writes the file of one cell, whole or not at all. `began`: when its transfer did.
///
/// # Errors
/// The file cannot be written.
pub fn write(
    path: &Path,
    (options, cell): (&CompareOptions, &Cell),
    began: SystemTime,
    moments: &[Moment],
) -> Result<()> {
    let fresh = path.with_extension("new");
    let written = File::create(&fresh).and_then(|file| {
        let mut out = GzEncoder::new(file, Compression::default());
        let text = data(path, (options, cell), began, moments).to_string();
        out.write_all(text.as_bytes())?;
        out.finish()?;
        fs::rename(&fresh, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written.with_context(|| format!("--flent {}", path.display()))
}

/// The whole file.
fn data(
    path: &Path,
    (options, cell): (&CompareOptions, &Cell),
    began: SystemTime,
    moments: &[Moment],
) -> Value {
    let series = Series::of(options.traffic.direction.way(), moments);
    let seconds = moments.iter().map(|moment| seconds(moment.at_ns));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let metadata = metadata(&name, (options, cell), began, &series, moments);
    json!({
        "version": VERSION,
        "metadata": metadata,
        "x_values": seconds.collect::<Vec<_>>(),
        "results": series.results(),
        "raw_values": series.raw_values(began, moments),
    })
}

fn metadata(
    name: &str,
    (options, cell): (&CompareOptions, &Cell),
    began: SystemTime,
    series: &Series,
    moments: &[Moment],
) -> Value {
    let began = humantime::format_rfc3339_micros(began).to_string();
    let length = moments.last().map_or(0.0, |moment| seconds(moment.at_ns));
    let interval_ns = options.watch.interval_ns(options.link.outage.is_some());
    let means = series.results().into_iter().map(|(name, goodput)| {
        let goodput: Vec<f64> = goodput
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(Value::as_f64)
            .collect();
        let mean = mean(&goodput);
        (name, json!({"UNITS": UNITS, "MEAN_VALUE": mean}))
    });
    let means: Map<String, Value> = means.collect();
    json!({
        "NAME": series.test(),
        "TITLE": cell.to_string(),
        "NOTE": format!(
            "lasthop-lab compare: {}, {}",
            options.link.summary(),
            options.traffic_summary()
        ),
        "TIME": began,
        "T0": began,
        // As if it had run at MH. Names only: nothing looks them up.
        "LOCAL_HOST": "mh",
        "HOST": "fh",
        "HOSTS": ["fh"],
        "LENGTH": length,
        "TOTAL_LENGTH": length,
        "STEP_SIZE": interval_ns.map(seconds),
        "IP_VERSION": options.traffic.family.to_string().parse::<u8>().ok(),
        "TEST_PARAMETERS": {
            series.streams_parameter(): series.flows.len().to_string(),
            "tcp_cong_control": cell.cc,
        },
        "DATA_FILENAME": name,
        "SERIES_META": means,
    })
}

fn seconds(ns: u64) -> f64 {
    rounded(ns as f64 / 1e9, 6)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Goodput of each flow, at each moment that of the time since the one before; none at the first.
struct Series {
    way: Way,
    flows: Vec<Vec<Option<f64>>>,
}

impl Series {
    fn of(way: Way, moments: &[Moment]) -> Self {
        let nr_flows = moments
            .first()
            .map_or(0, |moment| moment.received_bytes.len());
        let goodput = |flow: usize, at: usize| {
            let (before, now) = (moments.get(at.checked_sub(1)?)?, &moments[at]);
            let bytes = now.received_bytes[flow] - before.received_bytes[flow];
            let ns = now.at_ns.checked_sub(before.at_ns).filter(|ns| *ns > 0)?;
            Some(rounded(bytes as f64 * 8e3 / ns as f64, 6))
        };
        let flows =
            (0..nr_flows).map(|flow| (0..moments.len()).map(|at| goodput(flow, at)).collect());
        Self {
            way,
            flows: flows.collect(),
        }
    }

    /// Name of the test of Flent's whose series and plots these are.
    fn test(&self) -> &'static str {
        match self.way {
            Way::Down => "tcp_ndown",
            Way::Up => "tcp_nup",
        }
    }

    fn streams_parameter(&self) -> &'static str {
        match self.way {
            Way::Down => "download_streams",
            Way::Up => "upload_streams",
        }
    }

    /// Name of a series of that test: `sum`, `avg`, or of a flow.
    fn name(&self, which: &str) -> String {
        match self.way {
            Way::Down => format!("TCP download{which}"),
            Way::Up => format!("TCP upload{which}"),
        }
    }

    fn flow_name(&self, flow: usize) -> String {
        self.name(&format!("::{}", flow + 1))
    }

    fn results(&self) -> Map<String, Value> {
        let nr_moments = self.flows.first().map_or(0, Vec::len);
        let over_flows = |of: fn(&[f64]) -> Option<f64>| {
            let at = |at: usize| {
                let flows: Vec<f64> = self.flows.iter().filter_map(|flow| flow[at]).collect();
                of(&flows).map(|value| rounded(value, 6))
            };
            (0..nr_moments).map(at).collect::<Vec<_>>()
        };
        let sum = |flows: &[f64]| (!flows.is_empty()).then(|| flows.iter().sum());
        let mut results = Map::new();
        for (flow, goodput) in self.flows.iter().enumerate() {
            results.insert(self.flow_name(flow), json!(goodput));
        }
        results.insert(self.name(" sum"), json!(over_flows(sum)));
        results.insert(self.name(" avg"), json!(over_flows(mean)));
        results
    }

    /// What was read of each flow, with times since 1970.
    fn raw_values(&self, began: SystemTime, moments: &[Moment]) -> Map<String, Value> {
        let began = began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let began_ns = began.as_nanos() as u64;
        let flows = self.flows.iter().enumerate().map(|(flow, goodput)| {
            let values = moments.iter().zip(goodput).map(|(moment, goodput)| {
                let mut value = Map::new();
                value.insert("t".into(), json!(seconds(began_ns + moment.at_ns)));
                if let Some(goodput) = goodput {
                    value.insert("val".into(), json!(goodput));
                }
                if let Some(sender) = &moment.senders[flow] {
                    value.insert("tcp_cwnd".into(), json!(sender.cwnd_segments));
                    if sender.rtt_us > 0 {
                        value.insert("tcp_rtt".into(), json!(f64::from(sender.rtt_us) / 1e3));
                    }
                }
                Value::Object(value)
            });
            (self.flow_name(flow), Value::Array(values.collect()))
        });
        flows.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::bed::transfer::sockets::TcpInfo;
    use crate::cell::words::compare as parse;

    /// Two flows over 200 ms, of which one connects late; the second moment is a bit late.
    fn moments() -> Vec<Moment> {
        let sender = |rtt_us| TcpInfo {
            cwnd_segments: 10,
            rtt_us,
            ..TcpInfo::default()
        };
        let moment = |at_ms: u64, bytes: [u64; 2], senders| Moment {
            at_ns: at_ms * 1_000_000,
            received_bytes: bytes.to_vec(),
            senders,
        };
        vec![
            moment(0, [0, 0], vec![None, None]),
            moment(
                125,
                [125_000, 0],
                vec![Some(sender(40_500)), Some(sender(0))],
            ),
            moment(
                225,
                [125_000, 25_000],
                vec![Some(sender(50_000)), Some(sender(60_000))],
            ),
        ]
    }

    fn written(words: &str) -> Value {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.flent.gz");
        let options = parse(&format!("--flent {} {words}", path.display())).unwrap();
        let began = UNIX_EPOCH + Duration::from_micros(1_700_000_000_250_000);
        write(&path, (&options, &options.cells()[0]), began, &moments()).unwrap();
        let mut text = String::new();
        let file = File::open(&path).unwrap();
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_download() {
        let file = written("--cc cubic --scheme rack --flows 2");
        assert_eq!(file["version"], 4);
        assert_eq!(file["x_values"], json!([0.0, 0.125, 0.225]));
        let expected = json!({
            "TCP download::1": [null, 8.0, 0.0],
            "TCP download::2": [null, 0.0, 2.0],
            "TCP download sum": [null, 8.0, 2.0],
            "TCP download avg": [null, 4.0, 1.0],
        });
        assert_eq!(file["results"], expected);
        let raw = &file["raw_values"];
        assert_eq!(raw.as_object().unwrap().len(), 2);
        let expected = json!([
            {"t": 1_700_000_000.25},
            {"t": 1_700_000_000.375, "val": 8.0, "tcp_rtt": 40.5, "tcp_cwnd": 10},
            {"t": 1_700_000_000.475, "val": 0.0, "tcp_rtt": 50.0, "tcp_cwnd": 10},
        ]);
        assert_eq!(raw["TCP download::1"], expected);
        // No round trip before it was measured.
        assert_eq!(raw["TCP download::2"][1]["tcp_rtt"], Value::Null);
        let metadata = &file["metadata"];
        assert_eq!(metadata["NAME"], "tcp_ndown");
        assert_eq!(metadata["TITLE"], "cubic rack seed 1");
        assert_eq!(metadata["T0"], "2023-11-14T22:13:20.250000Z");
        assert_eq!(metadata["TEST_PARAMETERS"]["download_streams"], "2");
        assert_eq!(metadata["STEP_SIZE"], 0.1);
        assert_eq!(
            metadata["SERIES_META"]["TCP download sum"]["MEAN_VALUE"],
            5.0
        );
        assert_eq!(metadata["DATA_FILENAME"], "out.flent.gz");
    }

    #[test]
    fn an_upload() {
        let file = written("--cc bbr --scheme none --direction up --family 6");
        assert_eq!(file["metadata"]["NAME"], "tcp_nup");
        assert_eq!(file["metadata"]["TEST_PARAMETERS"]["upload_streams"], "2");
        assert_eq!(file["metadata"]["IP_VERSION"], 6);
        assert_eq!(file["results"]["TCP upload::1"], json!([null, 8.0, 0.0]));
    }

    #[test]
    fn a_file_that_cannot_be_written() {
        let options = parse("--cc cubic --scheme rack").unwrap();
        let cell = &options.cells()[0];
        let path = Path::new("/nonexistent/out.flent.gz");
        let error = write(path, (&options, cell), UNIX_EPOCH, &[]).unwrap_err();
        let error = format!("{error:#}");
        assert!(
            error.starts_with("--flent /nonexistent/out.flent.gz: "),
            "{error}"
        );
    }
}
