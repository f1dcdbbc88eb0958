// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How closely a transfer is watched.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::base::units;

/// Without `--sample-interval`.
const DEFAULT_INTERVAL_NS: u64 = 100_000_000;

/// The same with `--outage`, whose figures are taken from the samples.
const OUTAGE_INTERVAL_NS: u64 = 10_000_000;

const LEAST_INTERVAL_NS: u64 = 5_000_000;

const LONGEST_INTERVAL_NS: u64 = 10_000_000_000;

/// What is looked at beside the figures of the whole.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Samples and outages")]
pub struct WatchOptions {
    /// Write how each flow's two ends look over time, one JSON object per line, flow and moment;
    /// `lasthop-lab fields samples` describes it. Of the download with --direction both
    #[arg(long, value_name = "FILE")]
    pub samples: Option<PathBuf>,

    /// Between two moments of --samples, and resolution of the outage's figures: 5ms to 10s
    /// [default: 10ms with --outage, otherwise 100ms]
    #[arg(long = "sample-interval", value_name = "TIME", value_parser = interval_ns)]
    pub sample_interval_ns: Option<u64>,

    /// Tell each agent of each outage's beginning and end, as an access point's or a station's
    /// daemon would: `lasthop link DEV down` and `up`. No effect without an agent
    #[arg(long = "outage-events", requires = "outage")]
    pub outage_events: bool,
}

impl WatchOptions {
    /// How often to look; none: nobody wants to know.
    pub fn interval_ns(&self, outage: bool) -> Option<u64> {
        let default_ns = if outage {
            OUTAGE_INTERVAL_NS
        } else {
            DEFAULT_INTERVAL_NS
        };
        let wanted = outage || self.samples.is_some();
        wanted.then(|| self.sample_interval_ns.unwrap_or(default_ns))
    }

    /// Checks what the options do not know of each other, and that the file can be written.
    ///
    /// # Errors
    /// Several cells for one file, an interval of nothing, no such directory.
    pub fn check(&self, cells: usize, outage: bool) -> Result<()> {
        if self.sample_interval_ns.is_some() && self.interval_ns(outage).is_none() {
            bail!("--sample-interval: nothing is sampled without --samples or --outage");
        }
        let Some(path) = &self.samples else {
            return Ok(());
        };
        if cells != 1 {
            bail!(
                "--samples {}: {cells} cells would write to it: name one --cc, one --scheme and \
                 one --seed",
                path.display()
            );
        }
        create_samples(path).map(drop)
    }
}

fn interval_ns(text: &str) -> Result<u64, String> {
    match units::duration_ns(text)? {
        interval_ns @ LEAST_INTERVAL_NS..=LONGEST_INTERVAL_NS => Ok(interval_ns),
        _ => Err(format!("`{text}` must be at least 5ms and at most 10s")),
    }
}

/// Makes the file of `--samples`.
///
/// # Errors
/// It cannot be made.
pub fn create_samples(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("--samples {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_are_looked_at_closely() {
        let mut watch = WatchOptions::default();
        assert_eq!(watch.interval_ns(false), None);
        assert_eq!(watch.interval_ns(true), Some(10_000_000));
        watch.samples = Some("/nonexistent/samples".into());
        assert_eq!(watch.interval_ns(false), Some(100_000_000));
        watch.sample_interval_ns = Some(50_000_000);
        assert_eq!(watch.interval_ns(true), Some(50_000_000));
    }

    #[test]
    fn one_file_holds_one_cell() {
        let mut watch = WatchOptions {
            samples: Some("/nonexistent/samples".into()),
            ..WatchOptions::default()
        };
        let error =
            |watch: &WatchOptions, cells| format!("{:#}", watch.check(cells, false).unwrap_err());
        assert!(error(&watch, 2).contains("2 cells"));
        assert!(error(&watch, 1).contains("/nonexistent/samples"));
        watch.samples = None;
        watch.check(2, false).unwrap();
        watch.sample_interval_ns = Some(50_000_000);
        assert!(error(&watch, 1).contains("--sample-interval"));
        watch.check(2, true).unwrap();
    }
}
