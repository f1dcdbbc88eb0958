// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command lines of `run` and `report`.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

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

impl RunOptions {
    /// What makes the runs of one of its files again, in whatever directory and however many at a
    /// time.
    pub(crate) fn command(&self, file: &Path) -> Vec<String> {
        let mut words = vec!["run".to_owned(), file.display().to_string()];
        if !self.seeds.is_empty() {
            words.extend(["--seed".to_owned(), units::show_seeds(&self.seeds)]);
        }
        if !self.points.is_empty() {
            let points: Vec<String> = self.points.iter().map(f64::to_string).collect();
            words.extend(["--point".to_owned(), points.join(",")]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        run: RunOptions,
    }

    #[test]
    fn the_command_makes_the_same_runs_again() {
        for part in ["", " --seed 5,7..9", " --seed 5 --point -1,2.5"] {
            let words = format!("run dir/a.toml{part}");
            let given = format!("{words} --jobs 2 --out D -j");
            let run = Line::parse_from(given.split(' ')).run;
            assert_eq!(run.command(&run.files[0]).join(" "), words);
        }
    }
}
