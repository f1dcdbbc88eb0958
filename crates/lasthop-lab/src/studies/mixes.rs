// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `grid --mixes`: the experiments about links as they are, in one command, and one page about them.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::base::say::say;
use crate::base::units;
use crate::studies::compare::Verdict;
use crate::studies::experiment::mix_files::MIXES;
use crate::studies::experiment::options::RunOptions;
use crate::studies::experiment::planned::Planned;
use crate::studies::experiment::shorter::{Shorter, shortened};
use crate::studies::experiment::{Experiment, run_planned};
use crate::studies::report::options::ReportOptions;
use crate::studies::report::report;

/// What is run of them, and how.
#[derive(Debug, Clone)]
pub struct MixOptions {
    /// Names of the files; none: all.
    pub names: Vec<String>,
    /// Directory of the results and of the page.
    pub out: PathBuf,
    /// Seeds in place of the files'.
    pub seeds: Vec<RangeInclusive<u64>>,
    /// One seed, and the ends of each axis.
    pub quick: bool,
    /// Measured time in place of the files'.
    pub duration_ns: Option<u64>,
    /// Time before it in place of the files'.
    pub warmup_ns: Option<u64>,
    /// Runs at a time; none: as many as the machine carries undisturbed.
    pub jobs: Option<u16>,
    /// Print conditions as JSON Lines.
    pub json: bool,
    /// Run nothing.
    pub summary_only: bool,
}

/// Runs what has no result yet, judges, and writes the page.
///
/// # Errors
/// As [`crate::studies::experiment::run`] and [`report`]. Whatever became of the runs, what there is makes a page.
pub fn run(options: &MixOptions) -> Result<Verdict> {
    let planned = options.planned()?;
    let verdict = run_planned(&options.as_run_options(), &planned);
    if matches!(verdict, Ok(Verdict::Interrupted)) {
        return verdict;
    }
    let page = report(&ReportOptions {
        directory: options.out.clone(),
    });
    let (verdict, page) = (verdict?, page?);
    say(&format!("the page: {}", page.display()));
    Ok(verdict)
}

impl MixOptions {
    fn planned(&self) -> Result<Vec<Planned>> {
        let is_known = |name: &&String| MIXES.iter().any(|(known, _)| known == name);
        if let Some(unknown) = self.names.iter().find(|name| !is_known(name)) {
            let known: Vec<&str> = MIXES.iter().map(|(name, _)| *name).collect();
            bail!(
                "--mixes: no mix `{unknown}`; there are: {}",
                known.join(", ")
            );
        }
        let is_chosen = |name: &str| self.names.is_empty() || self.names.iter().any(|n| n == name);
        let chosen = MIXES.iter().filter(|(name, _)| is_chosen(name));
        chosen.map(|(name, text)| self.plan(name, text)).collect()
    }

    fn plan(&self, name: &str, text: &str) -> Result<Planned> {
        let path = format!("experiments/mixes/{name}.toml");
        let text = shortened(text, &self.shorter())?;
        let experiment = Experiment::parse(&text, Path::new(&path))?;
        Ok(Planned {
            directory: self.out.join(name),
            seeds: experiment.seeds.clone(),
            experiment,
            command: self.command(name),
        })
    }

    fn shorter(&self) -> Shorter {
        let show = |seeds: &RangeInclusive<u64>| match (seeds.start(), seeds.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}..{last}"),
        };
        let seeds: Vec<String> = self.seeds.iter().map(show).collect();
        let times = [("duration", self.duration_ns), ("warmup", self.warmup_ns)];
        Shorter {
            seeds: match (seeds.is_empty(), self.quick) {
                (false, _) => Some(seeds.join(",")),
                (true, true) => Some("1".to_owned()),
                (true, false) => None,
            },
            ends_only: self.quick,
            times: times
                .into_iter()
                .filter_map(|(key, ns)| Some((key, units::show_duration(ns?))))
                .collect(),
        }
    }

    /// What repeats one of them, but for `--out`.
    fn command(&self, name: &str) -> Vec<String> {
        let mut command = vec!["grid".to_owned(), format!("--mixes={name}")];
        let shorter = self.shorter();
        if shorter.ends_only {
            command.push("--quick".to_owned());
        }
        if let Some(seeds) = shorter.seeds {
            command.extend(["--seed".to_owned(), seeds]);
        }
        for (key, time) in shorter.times {
            command.extend([format!("--{key}"), time]);
        }
        command
    }

    fn as_run_options(&self) -> RunOptions {
        RunOptions {
            files: Vec::new(),
            out: self.out.clone(),
            seeds: Vec::new(),
            points: Vec::new(),
            jobs: self.jobs,
            json: self.json,
            summary_only: self.summary_only,
            brief: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    fn options() -> MixOptions {
        MixOptions {
            names: Vec::new(),
            out: "out".into(),
            seeds: Vec::new(),
            quick: false,
            duration_ns: None,
            warmup_ns: None,
            jobs: None,
            json: false,
            summary_only: false,
        }
    }

    #[test]
    fn every_file_is_one_of_them() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/mixes");
        let entries = fs::read_dir(directory).unwrap();
        let files: BTreeSet<String> = entries
            .map(|entry| entry.unwrap().path())
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let names: BTreeSet<String> = MIXES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(files, names);
    }

    #[test]
    fn whole_and_shortened_ones_are_right() {
        let shortened = MixOptions {
            quick: true,
            duration_ns: Some(2_000_000_000),
            ..options()
        };
        for (whole, short) in options()
            .planned()
            .unwrap()
            .iter()
            .zip(shortened.planned().unwrap())
        {
            let (whole, short) = (&whole.experiment, &short.experiment);
            assert!(!whole.panels.is_empty(), "{}: no [[panel]]", whole.name);
            assert_eq!(short.seeds, [1], "{}", short.name);
            assert_eq!(short.axis.points.len(), 2, "{}", short.name);
            assert!(
                short.checks.len() >= whole.checks.len() / 2,
                "{}",
                short.name
            );
        }
    }

    #[test]
    fn a_name_that_is_none_is_answered_with_those_there_are() {
        let options = MixOptions {
            names: vec!["page".to_owned()],
            ..options()
        };
        let error = options.planned().unwrap_err().to_string();
        assert!(
            error.contains("`page`") && error.contains("pages-rtt"),
            "{error}"
        );
    }

    #[test]
    fn the_command_says_how_it_was_shortened() {
        let options = MixOptions {
            names: vec!["pages".to_owned(), "upload".to_owned()],
            quick: true,
            duration_ns: Some(5_000_000_000),
            ..options()
        };
        let planned = options.planned().unwrap();
        assert_eq!(
            planned[1].command,
            [
                "grid",
                "--mixes=pages",
                "--quick",
                "--seed",
                "1",
                "--duration",
                "5s"
            ]
        );
    }
}
