// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `grid`: the experiments that come with the program, whole or in part, in one command that can be
//! stopped and started again, and one page about them.

mod options;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use toml::Table;

pub use self::options::GridOptions;
use crate::base::say::say;
use crate::studies::compare::Verdict;
use crate::studies::experiment::options::RunOptions;
use crate::studies::experiment::own_files::{GRID, MIXES, OwnFile, QUICK_GRID};
use crate::studies::experiment::planned::Planned;
use crate::studies::experiment::shorter::{Shorter, shortened};
use crate::studies::experiment::stored::SPEC_FILE;
use crate::studies::experiment::{Experiment, only, run_planned};
use crate::studies::report::options::ReportOptions;
use crate::studies::report::report;

/// Options of the command line that do not change what is run: with a value, and without.
const NOT_REPEATED: [&str; 2] = ["--out", "--jobs"];
/// See there.
const FLAGS_NOT_REPEATED: [&str; 2] = ["-j", "--json"];

/// Runs what has no result yet, judges, and writes the page. `words`: those of the command line, for
/// the page.
///
/// # Errors
/// As [`crate::studies::experiment::run`] and [`report`]. Whatever became of the runs, what there is
/// makes a page.
pub fn run(options: &GridOptions, words: &[String]) -> Result<Verdict> {
    let planned = match options.summary_only {
        true => stored(&options.out)?,
        false => planned(options, words)?,
    };
    let verdict = run_planned(&as_run_options(options), &planned);
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

/// What the options ask for.
fn planned(options: &GridOptions, words: &[String]) -> Result<Vec<Planned>> {
    if options.quick && !options.filter.variants.is_empty() {
        bail!("--variant: --quick has no variants; leave out one of the two");
    }
    let shorter = options.shorter()?;
    let files = chosen(options)?;
    let mut planned = Vec::new();
    for file in &files {
        let Some(text) = shortened(file.text, &shorter)? else {
            continue;
        };
        let experiment = Experiment::parse(&text, Path::new(file.path))?;
        planned.push(Planned {
            directory: options.out.join(file.name),
            seeds: experiment.seeds.clone(),
            experiment,
            command: repeated(words),
        });
    }
    match planned.is_empty() {
        true => bail!(
            "nothing has all of these: {}",
            what_there_is(&files, &shorter)?
        ),
        false => Ok(planned),
    }
}

fn chosen(options: &GridOptions) -> Result<Vec<&'static OwnFile>> {
    let Some(names) = &options.mixes else {
        return Ok(match options.is_quick() {
            true => QUICK_GRID.iter().collect(),
            false => GRID.iter().collect(),
        });
    };
    let is_known = |name: &&String| MIXES.iter().any(|file| file.name == **name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let known: Vec<&str> = MIXES.iter().map(|file| file.name).collect();
        bail!(
            "--mixes: no mix `{unknown}`; there are: {}",
            known.join(", ")
        );
    }
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    Ok(MIXES.iter().filter(|file| is_chosen(file.name)).collect())
}

/// The values in these files of the options that were asked for.
fn what_there_is(files: &[&OwnFile], shorter: &Shorter) -> Result<String> {
    let mut parts = Vec::new();
    for only in &shorter.only {
        let mut values: Vec<String> = Vec::new();
        for file in files {
            let file: Table = toml::from_str(file.text)?;
            for value in only::values(&file, only.option()) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        parts.push(format!("--{} has {}", only.option(), values.join(", ")));
    }
    Ok(parts.join("; "))
}

/// What a directory has, as it was run.
fn stored(out: &Path) -> Result<Vec<Planned>> {
    let nothing = || {
        format!(
            "{}: no results: run `lasthop-lab grid` first",
            out.display()
        )
    };
    let mut directories = Vec::new();
    for entry in fs::read_dir(out).with_context(nothing)? {
        let directory = entry?.path();
        if directory.join(SPEC_FILE).is_file() {
            directories.push(directory);
        }
    }
    directories.sort();
    if directories.is_empty() {
        bail!(nothing());
    }
    let planned = directories.into_iter().map(|directory| {
        let name = directory.file_name().unwrap_or_default();
        let experiment = Experiment {
            name: name.to_string_lossy().into_owned(),
            ..Experiment::read(&directory.join(SPEC_FILE))?
        };
        Ok(Planned {
            seeds: experiment.seeds.clone(),
            experiment,
            directory,
            command: Vec::new(),
        })
    });
    planned.collect()
}

/// The command line that repeats it, in whatever directory.
fn repeated(words: &[String]) -> Vec<String> {
    let mut repeated = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let option = word
            .split_once('=')
            .map_or(word.as_str(), |(option, _)| option);
        match NOT_REPEATED.contains(&option) {
            true if option == word => drop(words.next()),
            true => {}
            false if FLAGS_NOT_REPEATED.contains(&option) => {}
            false => repeated.push(word.clone()),
        }
    }
    repeated
}

fn as_run_options(options: &GridOptions) -> RunOptions {
    RunOptions {
        files: Vec::new(),
        out: options.out.clone(),
        seeds: Vec::new(),
        points: Vec::new(),
        jobs: options.jobs,
        json: options.json,
        summary_only: options.summary_only,
        brief: true,
    }
}

#[cfg(test)]
mod tests;
