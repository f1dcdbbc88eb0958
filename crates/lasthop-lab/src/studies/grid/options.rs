// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of `grid`.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::builder::ArgPredicate;

use super::cells::{self, BASE, GridCell, Place};
use crate::base::units;
use crate::bed::process;
use crate::cell::options::NO_AGENT;
use crate::engines;
use crate::studies::campaign::CompareLine;
use crate::studies::mixes::MixOptions;

const DEFAULT_JOBS: u16 = 2;
const WARMUP_NS: u64 = 5_000_000_000;
const QUICK_DURATION_NS: u64 = 20_000_000_000;
const FULL_DURATION_NS: u64 = 30_000_000_000;
/// What prints the trace of the variant lte: inside the program, which must work away from its
/// source.
const OWN_TRACE_MAKER: &str = include_str!("../../../../../experiments/traces/lte.py");
const OWN_TRACE_NAME: &str = "lte-synthetic.trace";
/// Losses are given as text and compared as numbers.
const SAME_LOSS: f64 = 1e-9;

/// What only the grid itself has.
const OF_THE_GRID: [&str; 10] = [
    "full",
    "schemes",
    "judge",
    "agent_config",
    "trace",
    "losses",
    "rtts_ns",
    "rates_bps",
    "ccs",
    "variants",
];

/// All options of `grid`.
#[derive(Debug, Clone, clap::Args)]
pub struct GridOptions {
    /// 16 runs of 20 s, seed 1, under ten minutes (the default without a filter); with --mixes seed
    /// 1 and the ends of each axis
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,

    /// In place of the grid the cases of experiments/mixes, all or a list of them, and a page with
    /// what they came to with and without the agent: --mixes=pages,upload
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        conflicts_with_all = OF_THE_GRID
    )]
    pub mixes: Option<Vec<String>>,

    /// The whole grid, 30 s each, seeds 1..3: 1368 runs in about seven hours
    #[arg(long)]
    pub full: bool,

    /// Schemes; ratios are taken against `none`
    #[arg(
        long = "scheme",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "none,rack"
    )]
    pub schemes: Vec<String>,

    /// Seeds: a list, or N..M with both ends [default: 1, with --full 1..3, with --mixes the files']
    #[arg(long = "seed", value_name = "LIST", value_delimiter = ',', value_parser = units::seed_range)]
    pub seeds: Vec<RangeInclusive<u64>>,

    /// Runs at a time, each in its own test bed [default: 2, with --mixes as many as this machine
    /// carries undisturbed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,

    /// Directory of grid.jsonl and of the pictures, with --mixes of the page (lasthop-mixes); what
    /// is there already is not run again
    #[arg(
        long,
        value_name = "DIR",
        default_value = "lasthop-grid",
        default_value_if("mixes", ArgPredicate::IsPresent, "lasthop-mixes")
    )]
    pub out: PathBuf,

    /// Print the summary as JSON Lines; `lasthop-lab fields grid` describes them, with --mixes
    /// `fields run`
    #[arg(short = 'j', long)]
    pub json: bool,

    /// Run nothing: judge what --out holds
    #[arg(long = "summary-only")]
    pub summary_only: bool,

    /// Scheme that the criteria are about
    #[arg(long, value_name = "SCHEME", default_value = "rack")]
    pub judge: String,

    /// Measured time of each run [default: 20s, with --full 30s, with --mixes the files']
    #[arg(long = "duration", value_name = "TIME", value_parser = units::duration_ns)]
    pub duration_ns: Option<u64>,

    /// Before --duration, counted in no figure [default: 5s, with --mixes the files']
    #[arg(long = "warmup", value_name = "TIME", value_parser = units::duration_ns)]
    pub warmup_ns: Option<u64>,

    /// Configuration file handed to the agent
    #[arg(long = "agent-config", value_name = "FILE")]
    pub agent_config: Option<PathBuf>,

    /// Trace of the variant lte [default: a synthetic one, which is put into --out]
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub filter: Filter,
}

/// Parts of the grid: of the whole one, unless `--quick` is given too.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Only cells with")]
pub struct Filter {
    /// These losses
    #[arg(long = "loss", value_name = "LIST", value_delimiter = ',', value_parser = units::fraction)]
    pub losses: Vec<f64>,

    /// These round trips
    #[arg(long = "rtt", value_name = "LIST", value_delimiter = ',', value_parser = units::duration_ns)]
    pub rtts_ns: Vec<u64>,

    /// These rates
    #[arg(long = "rate", value_name = "LIST", value_delimiter = ',', value_parser = units::rate_bps)]
    pub rates_bps: Vec<u64>,

    /// These congestion controls
    #[arg(long = "cc", value_name = "LIST", value_delimiter = ',')]
    pub ccs: Vec<String>,

    /// These variants; base is the grid without any
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<String>,
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.losses.is_empty()
            && self.rtts_ns.is_empty()
            && self.rates_bps.is_empty()
            && self.ccs.is_empty()
            && self.variants.is_empty()
    }

    /// Whether a cell of these properties is wanted.
    pub fn takes(
        &self,
        variant: &str,
        rate_mbit: f64,
        rtt_ms: f64,
        loss_pct: f64,
        cc: &str,
    ) -> bool {
        fn any<T>(wanted: &[T], is: impl Fn(&T) -> bool) -> bool {
            wanted.is_empty() || wanted.iter().any(is)
        }
        any(&self.losses, |loss| {
            (loss * 100.0 - loss_pct).abs() < SAME_LOSS
        }) && any(&self.rtts_ns, |rtt| *rtt as f64 == rtt_ms * 1e6)
            && any(&self.rates_bps, |rate| *rate as f64 == rate_mbit * 1e6)
            && any(&self.ccs, |wanted| wanted == cc)
            && any(&self.variants, |wanted| wanted == variant)
    }
}

impl GridOptions {
    fn is_full(&self) -> bool {
        self.full || (!self.quick && !self.filter.is_empty())
    }

    /// What is to be done in place of the grid, if anything is.
    pub fn mixes(&self) -> Option<MixOptions> {
        Some(MixOptions {
            names: self.mixes.clone()?,
            out: self.out.clone(),
            seeds: self.seeds.clone(),
            quick: self.quick,
            duration_ns: self.duration_ns,
            warmup_ns: self.warmup_ns,
            jobs: self.jobs,
            json: self.json,
            summary_only: self.summary_only,
        })
    }

    /// Runs at a time.
    pub fn jobs(&self) -> u16 {
        self.jobs.unwrap_or(DEFAULT_JOBS)
    }

    /// The chosen places.
    ///
    /// # Errors
    /// There are none: the message names what there is.
    pub fn places(&self) -> Result<Vec<Place>> {
        let places = if self.is_full() {
            cells::full()
        } else {
            cells::quick()
        };
        let chosen: Vec<Place> = places
            .into_iter()
            .filter(|p| {
                let (rate_mbit, rtt_ms) = (f64::from(p.rate_mbit), f64::from(p.rtt_ms));
                self.filter
                    .takes(p.variant, rate_mbit, rtt_ms, p.loss_pct, p.cc)
            })
            .collect();
        if chosen.is_empty() {
            let variants: BTreeSet<&str> = cells::VARIANTS.iter().map(|v| v.name).collect();
            let variants: Vec<&str> = variants.into_iter().collect();
            bail!(
                "no cell of the grid matches: there are the losses {:?} %, the round trips {:?} ms at \
                 20 Mbit/s, 5 and 100 Mbit/s at 110 ms, {:?}, and the variants {BASE}, {}, with 0 and 2 % \
                 at 110 ms",
                cells::LOSSES_PCT,
                cells::RTTS_MS,
                cells::CCS,
                variants.join(", ")
            );
        }
        Ok(chosen)
    }

    /// The chosen cells, in the order in which they are run.
    ///
    /// # Errors
    /// As [`GridOptions::places`].
    pub fn cells(&self) -> Result<Vec<GridCell>> {
        let seeds: Vec<u64> = match (self.seeds.is_empty(), self.is_full()) {
            (false, _) => self.seeds.iter().cloned().flatten().collect(),
            (true, true) => vec![1, 2, 3],
            (true, false) => vec![1],
        };
        Ok(cells::cells(&self.places()?, &seeds, &self.schemes))
    }

    /// Measured time of each run.
    pub fn duration_ns(&self) -> u64 {
        let default_ns = if self.is_full() {
            FULL_DURATION_NS
        } else {
            QUICK_DURATION_NS
        };
        self.duration_ns.unwrap_or(default_ns)
    }

    /// What comes before it.
    pub fn warmup_ns(&self) -> u64 {
        self.warmup_ns.unwrap_or(WARMUP_NS)
    }

    /// What decides whether an earlier result counts: all options of `compare` but congestion
    /// control, scheme and seed, which the cell's name has.
    pub fn setup(&self, cell: &GridCell) -> Vec<String> {
        // The own trace is the same wherever its file is.
        let own = Path::new(OWN_TRACE_NAME);
        self.options_of(cell, self.trace.as_deref().unwrap_or(own))
    }

    fn options_of(&self, cell: &GridCell, trace: &Path) -> Vec<String> {
        let mut args = cell.place.link_args(trace);
        args.extend([
            "--duration".to_owned(),
            units::show_duration(self.duration_ns()),
            "--warmup".to_owned(),
            units::show_duration(self.warmup_ns()),
        ]);
        if let Some(path) = self
            .agent_config
            .as_ref()
            .filter(|_| cell.scheme != NO_AGENT)
        {
            args.extend(["--agent-config".to_owned(), path.display().to_string()]);
        }
        args
    }

    /// All options of `compare` for one cell.
    pub fn compare_args(&self, cell: &GridCell) -> Vec<String> {
        let own = self.out.join(OWN_TRACE_NAME);
        let mut args = self.options_of(cell, self.trace.as_deref().unwrap_or(&own));
        let (cc, seed) = (cell.place.cc.to_owned(), cell.seed.to_string());
        for (option, value) in [("--cc", &cc), ("--scheme", &cell.scheme), ("--seed", &seed)] {
            args.extend([option.to_owned(), value.clone()]);
        }
        args.push("-j".to_owned());
        args
    }

    /// Finds out what would make cells fail, before the first one runs.
    ///
    /// # Errors
    /// Not root, a missing file or binary, an option that `compare` refuses.
    pub fn check(&self, cells: &[GridCell]) -> Result<()> {
        process::check_root()?;
        if cells.iter().any(|cell| cell.place.needs_trace()) {
            self.provide_trace()?;
        }
        for cell in cells {
            let line = CompareLine::parse(&self.compare_args(cell))
                .map_err(|error| anyhow::anyhow!("{}: {error}", cell.name()))?;
            engines::check(&line)?;
        }
        Ok(())
    }

    /// Sees to it that the variant lte has its file.
    fn provide_trace(&self) -> Result<()> {
        let Some(trace) = &self.trace else {
            let mut python = Command::new("python3");
            python.args(["-c", OWN_TRACE_MAKER]);
            let trace = process::run_to_end(None, python, "python3 -c LTE.PY")
                .context("the trace of the variant lte; --trace takes another")?;
            let own = self.out.join(OWN_TRACE_NAME);
            return fs::create_dir_all(&self.out)
                .and_then(|()| fs::write(&own, trace))
                .with_context(|| format!("cannot write {}", own.display()));
        };
        if !trace.is_file() {
            bail!(
                "--trace {}: no such file; the variant lte needs one, or leave the option out",
                trace.display()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::words;

    fn parse(words: &str) -> GridOptions {
        words::options(words).unwrap()
    }

    #[test]
    fn sizes_of_the_choices() {
        for (words, cells) in [
            ("", 16),
            ("--quick", 16),
            ("--full", 1368),
            ("--full --seed 1 --scheme rack", 228),
            (
                "--loss 2% --rtt 110ms --cc reno --variant base --rate 20mbit",
                6,
            ),
            ("--quick --cc bbr", 4),
            ("--variant wired,wave --loss 0", 36),
        ] {
            assert_eq!(parse(words).cells().unwrap().len(), cells, "{words}");
        }
    }

    #[test]
    fn mixes_in_place_of_the_grid() {
        assert_eq!(parse("--quick").mixes().map(|mixes| mixes.names), None);
        let all = parse("--mixes --quick --seed 1..2 --duration 5s")
            .mixes()
            .unwrap();
        assert!(all.names.is_empty() && all.quick && all.jobs.is_none());
        assert_eq!(all.out, Path::new("lasthop-mixes"));
        assert_eq!(parse("--mixes --out D").out, Path::new("D"));
        assert_eq!(
            parse("--mixes=pages,upload").mixes().unwrap().names,
            ["pages", "upload"]
        );
        for other in ["--full", "--loss 2%", "--scheme none", "--variant wave"] {
            let error = words::options::<GridOptions>(&format!("--mixes {other}")).unwrap_err();
            assert!(error.contains("--mixes"), "{error}");
        }
    }

    #[test]
    fn what_is_not_in_the_grid_is_answered_with_what_is() {
        let error = parse("--loss 3%").cells().unwrap_err().to_string();
        assert!(
            error.contains("0.5") && error.contains("queue-1000"),
            "{error}"
        );
    }

    #[test]
    fn the_set_up_follows_duration_and_agent_but_not_seed() {
        let setup = |words: &str, index: usize| {
            let options = parse(words);
            options.setup(&options.cells().unwrap()[index]).join(" ")
        };
        assert_eq!(setup("", 0), setup("", 1));
        assert_ne!(setup("", 0), setup("--duration 5s", 0));
        assert_eq!(
            setup("", 0),
            setup("--agent-config x.toml", 0),
            "none has no agent"
        );
        assert_ne!(setup("", 1), setup("--agent-config x.toml", 1));
        assert!(setup("--full", 0).ends_with("--duration 30s --warmup 5s"));
    }

    #[test]
    fn compare_accepts_every_cell() {
        let options = parse("--full --seed 1");
        for cell in options.cells().unwrap() {
            let parsed = CompareLine::parse(&options.compare_args(&cell));
            let Err(error) = parsed else { continue };
            // The file may be anywhere; whether it can be read is no question of the grid's.
            assert!(cell.place.needs_trace(), "{}: {error}", cell.name());
        }
    }

    /// Results are compared with earlier ones: the trace must stay what it was, to the byte.
    #[test]
    fn the_own_trace_is_always_the_same() {
        const SHA256: &str = "87f53bf139013c93268bb97219d014f353720b2cde6b42c99f611963793005bf";
        let dir = tempfile::tempdir().unwrap();
        let options = parse(&format!("--variant lte --out {}/run", dir.path().display()));
        options.provide_trace().unwrap();
        let file = options.out.join(OWN_TRACE_NAME);
        let sum = process::output(None, &["sha256sum", file.to_str().unwrap()]).unwrap();
        assert_eq!(sum.split(' ').next(), Some(SHA256));
    }

    #[test]
    fn a_missing_trace_is_named() {
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let options = parse("--variant lte --trace /nonexistent/x.trace");
        let error = options.check(&options.cells().unwrap()).unwrap_err();
        assert!(
            error.to_string().contains("--trace /nonexistent/x.trace"),
            "{error}"
        );
    }
}
