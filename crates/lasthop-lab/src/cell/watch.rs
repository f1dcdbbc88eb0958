// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How closely a transfer is watched.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::base::units;

/// Without `--sample-interval`.
const DEFAULT_INTERVAL_NS: u64 = 100_000_000;

/// The same with `--outage`, whose figures are taken from the samples.
const OUTAGE_INTERVAL_NS: u64 = 10_000_000;

/// By which Flent knows its files.
pub const FLENT_SUFFIX: &str = ".flent.gz";

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

    /// Write goodput, round trip and window of each flow over time as a data file of Flent: then
    /// `flent -i out.flent.gz -p totals`, -p tcp_rtt or -p tcp_cwnd draws it, and `flent-gui` opens
    /// it. FILE ends in .flent.gz; several cells write FILE-CC-SCHEME-SEED.flent.gz each, such as
    /// out-cubic-rack-1.flent.gz. Of the download with --direction both
    #[arg(long, value_name = "FILE", value_parser = flent_path)]
    pub flent: Option<PathBuf>,

    /// Between two moments of --samples and --flent, and resolution of the outage's figures: 5ms to 10s
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
        let wanted = outage || self.samples.is_some() || self.flent.is_some();
        wanted.then(|| self.sample_interval_ns.unwrap_or(default_ns))
    }

    /// Checks what the options do not know of each other, and that the file can be written.
    ///
    /// # Errors
    /// Several cells for one file, an interval of nothing, no such directory.
    pub fn check(&self, cells: usize, outage: bool) -> Result<()> {
        if self.sample_interval_ns.is_some() && self.interval_ns(outage).is_none() {
            bail!("--sample-interval: nothing is sampled without --samples, --flent or --outage");
        }
        if let Some(path) = &self.flent {
            check_directory(path).with_context(|| format!("--flent {}", path.display()))?;
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

fn flent_path(text: &str) -> Result<PathBuf, String> {
    let name = Path::new(text).file_name();
    let name = name.map(|name| name.to_string_lossy().into_owned());
    match name
        .as_ref()
        .and_then(|name| name.strip_suffix(FLENT_SUFFIX))
    {
        Some(stem) if !stem.is_empty() => Ok(text.into()),
        _ => Err(format!(
            "`{text}` must end in {FLENT_SUFFIX}, by which Flent knows its files: out{FLENT_SUFFIX}"
        )),
    }
}

/// Whether the directory of a file that is written at the end is there.
fn check_directory(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new("."));
    if !fs::metadata(parent)?.is_dir() {
        bail!("{} is no directory", parent.display());
    }
    Ok(())
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

    #[test]
    fn the_directory_of_flents_file_must_be_there() {
        let mut watch = WatchOptions {
            flent: Some("/nonexistent/out.flent.gz".into()),
            ..WatchOptions::default()
        };
        let error = format!("{:#}", watch.check(2, false).unwrap_err());
        assert!(
            error.starts_with("--flent /nonexistent/out.flent.gz: "),
            "{error}"
        );
        assert_eq!(watch.interval_ns(false), Some(100_000_000));
        watch.flent = Some("out.flent.gz".into());
        watch.check(2, false).unwrap();
        assert!(flent_path("/tmp/.flent.gz").is_err());
    }
}
