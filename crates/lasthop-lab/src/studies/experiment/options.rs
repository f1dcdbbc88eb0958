// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command lines of `run` and `report`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::base::units;

/// Directory of results unless `--out` says otherwise.
pub const DEFAULT_OUT: &str = "lasthop-results";

/// All options of `run`.
#[derive(Debug, Clone, clap::Args)]
pub struct RunOptions {
    /// Experiments: experiments/NAME.toml
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Directory of the results, one below it per experiment; what is there already is not run
    /// again
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUT)]
    pub out: PathBuf,

    /// Seeds in place of the file's: a list, or N..M with both ends
    #[arg(long = "seed", value_name = "LIST", value_delimiter = ',', value_parser = units::seed_range)]
    pub seeds: Vec<RangeInclusive<u64>>,

    /// Only these points of the axis: a list of x
    #[arg(
        long = "point",
        value_name = "LIST",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub points: Vec<f64>,

    /// Runs at a time [default: as many as this machine carries undisturbed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,

    /// Print each condition as a JSON object per line; `lasthop-lab fields run` describes them
    #[arg(short = 'j', long)]
    pub json: bool,

    /// Run nothing: judge what --out holds
    #[arg(long = "summary-only")]
    pub summary_only: bool,

    /// Say no more than which conditions are not met, and go on where an experiment has no results.
    #[arg(skip)]
    pub brief: bool,
}
