// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of `grid`.

use std::fs;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::builder::ArgPredicate;

use crate::base::units;
use crate::studies::experiment::only::Only;
use crate::studies::experiment::shorter::Shorter;

/// What decides what is run; `--summary-only` judges what was.
const OF_RUNS: [&str; 13] = [
    "quick",
    "full",
    "seeds",
    "scheme",
    "agent_config",
    "duration_ns",
    "warmup_ns",
    "jobs",
    "losses",
    "rtts",
    "rates",
    "ccs",
    "variants",
];

/// All options of `grid`.
#[derive(Debug, Clone, clap::Args)]
pub struct GridOptions {
    /// 16 runs of 20 s, seed 1, under five minutes (the default without a filter); with --mixes seed
    /// 1 and the ends of each axis
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,

    /// In place of the grid the cases of experiments/mixes, all or a list of them: --mixes=pages,upload
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true
    )]
    pub mixes: Option<Vec<String>>,

    /// The whole grid, 30 s each, seeds 1..3: 1368 runs in about five hours
    #[arg(long)]
    pub full: bool,

    /// Seeds in place of the files': a list, or N..M with both ends
    #[arg(long = "seed", value_name = "LIST", value_delimiter = ',', value_parser = units::seed_range)]
    pub seeds: Vec<RangeInclusive<u64>>,

    /// Runs at a time, each in its own test bed [default: as many as this machine carries
    /// undisturbed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,

    /// Directory of the results and of the page [default with --mixes: lasthop-mixes]; what is there
    /// already is not run again
    #[arg(
        long,
        value_name = "DIR",
        default_value = "lasthop-grid",
        default_value_if("mixes", ArgPredicate::IsPresent, "lasthop-mixes")
    )]
    pub out: PathBuf,

    /// Print each condition as a JSON object per line; `lasthop-lab fields run` describes them
    #[arg(short = 'j', long)]
    pub json: bool,

    /// Run nothing: judge what --out holds, as it was run, and write its page
    #[arg(long = "summary-only", conflicts_with_all = OF_RUNS)]
    pub summary_only: bool,

    /// Scheme of the agent in place of rack
    #[arg(long, value_name = "SCHEME")]
    pub scheme: Option<String>,

    /// Configuration file of the agent
    #[arg(long = "agent-config", value_name = "FILE")]
    pub agent_config: Option<PathBuf>,

    /// Measured time of each run in place of the files'
    #[arg(long = "duration", value_name = "TIME", value_parser = units::duration_ns)]
    pub duration_ns: Option<u64>,

    /// Before --duration, counted in no figure
    #[arg(long = "warmup", value_name = "TIME", value_parser = units::duration_ns)]
    pub warmup_ns: Option<u64>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub filter: Filter,
}

/// Parts of the grid: of the whole one, unless `--quick` is given too.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Only cells with")]
pub struct Filter {
    /// These losses
    #[arg(long = "loss", value_name = "LIST", value_delimiter = ',')]
    pub losses: Vec<String>,

    /// These round trips
    #[arg(long = "rtt", value_name = "LIST", value_delimiter = ',')]
    pub rtts: Vec<String>,

    /// These rates
    #[arg(long = "rate", value_name = "LIST", value_delimiter = ',')]
    pub rates: Vec<String>,

    /// These congestion controls
    #[arg(long = "cc", value_name = "LIST", value_delimiter = ',')]
    pub ccs: Vec<String>,

    /// These variants; base is the grid without any
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<String>,
}

impl Filter {
    fn parts(&self) -> [(&'static str, &[String]); 5] {
        [
            ("loss", &self.losses),
            ("rtt", &self.rtts),
            ("rate", &self.rates),
            ("cc", &self.ccs),
            ("variant", &self.variants),
        ]
    }

    fn is_empty(&self) -> bool {
        self.parts().iter().all(|(_, wanted)| wanted.is_empty())
    }
}

impl GridOptions {
    /// Whether the most telling places stand for the whole.
    pub fn is_quick(&self) -> bool {
        self.quick || (!self.full && self.filter.is_empty())
    }

    /// What becomes of the files.
    ///
    /// # Errors
    /// A value that `compare` does not take; a configuration that cannot be read.
    pub fn shorter(&self) -> Result<Shorter> {
        let times = [("duration", self.duration_ns), ("warmup", self.warmup_ns)];
        // The grid has a file of its own for that.
        let ends_only = self.quick && self.mixes.is_some();
        let mut only = Vec::new();
        for (option, wanted) in self.filter.parts() {
            only.extend(Only::new(option, wanted).map_err(anyhow::Error::msg)?);
        }
        Ok(Shorter {
            seeds: match (self.seeds.is_empty(), ends_only) {
                (false, _) => Some(units::show_seeds(&self.seeds)),
                (true, true) => Some("1".to_owned()),
                (true, false) => None,
            },
            ends_only,
            times: times
                .into_iter()
                .filter_map(|(key, ns)| Some((key, units::show_duration(ns?))))
                .collect(),
            only,
            scheme: self.scheme.clone(),
            agent: self.agent()?,
        })
    }

    fn agent(&self) -> Result<Option<toml::Table>> {
        let Some(path) = &self.agent_config else {
            return Ok(None);
        };
        let named = || format!("--agent-config {}", path.display());
        let text = fs::read_to_string(path).with_context(named)?;
        toml::from_str(&text).map(Some).with_context(named)
    }
}
