// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `run`: experiments as files, repeated with seeds, judged by the conditions that they state.

mod across;
mod arguments;
pub mod cells;
pub mod judge;
pub mod line;
pub mod meta;
mod metric;
mod mistake;
pub mod only;
pub mod options;
pub mod own_files;
mod parse;
pub mod planned;
mod raw;
pub mod runs;
pub mod shorter;
pub mod spec;
pub mod stored;
pub mod summary;
mod text;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::thread;

use anyhow::{Context, Result, bail};

use self::cells::Cell;
pub use self::judge::{JUDGEMENT_FIELDS, Judgement, Outcome};
pub use self::line::Line;
pub use self::meta::Meta;
pub use self::options::RunOptions;
use self::runs::Runs;
use self::spec::same_x;
pub use self::spec::{Experiment, FigureKind, Scale};
pub use self::summary::{FigureData, figures};
use crate::base::fields::markdown_table;
use crate::base::files::write_whole;
use crate::base::interrupt;
use crate::base::say::say;
use crate::bed::emulator::DISTORTED;
use crate::bed::process;
use crate::bed::transfer::sockets;
use crate::cell::engine::Engine;
use crate::engines;
use crate::studies::campaign::{self, Figures, Job, Store};
use crate::studies::compare::Verdict;
use crate::studies::experiment::planned::Planned;
use crate::studies::experiment::stored::{SPEC_FILE, Stored};

/// Runs at a time in `meta.json` where none were made here: results from elsewhere were put together.
const GATHERED: u16 = 0;

/// Runs what has no result yet, and judges. The summary goes to standard output, everything else
/// to standard error.
///
/// # Errors
/// A file with a mistake; what makes every run impossible; results that cannot be written: what
/// was finished before is kept.
pub fn run(options: &RunOptions) -> Result<Verdict> {
    run_planned(options, &plan(options)?)
}

/// As [`run`], once it is known what.
pub(crate) fn run_planned(options: &RunOptions, all: &[Planned]) -> Result<Verdict> {
    let mut verdict = Verdict::Good;
    if !options.summary_only {
        check_machine(all)?;
        for (index, planned) in all.iter().enumerate() {
            if all.len() > 1 && io::stderr().is_terminal() {
                let name = &planned.experiment.name;
                say(&format!("{} of {}: {name}", index + 1, all.len()));
            }
            match run_missing(options, planned) {
                Err(_) if interrupt::requested() => return Ok(Verdict::Interrupted),
                Ok(true) => {}
                Ok(false) => verdict = Verdict::Failed,
                Err(error) => return Err(error),
            }
        }
    }
    for planned in all {
        if !summarise(options, planned)? {
            verdict = Verdict::Failed;
        }
    }
    Ok(verdict)
}

fn plan(options: &RunOptions) -> Result<Vec<Planned>> {
    let mut planned: Vec<Planned> = Vec::new();
    for path in &options.files {
        let experiment = Experiment::read(path)?;
        if planned
            .iter()
            .any(|other| other.experiment.name == experiment.name)
        {
            bail!(
                "{}: an experiment of that name is given twice",
                path.display()
            );
        }
        if let Some(x) = options
            .points
            .iter()
            .find(|x| experiment.point(**x).is_none())
        {
            bail!(
                "{}: --point {x}: the axis has no such point",
                path.display()
            );
        }
        let seeds = match options.seeds.is_empty() {
            true => experiment.seeds.clone(),
            false => spec::distinct(options.seeds.iter().cloned().flatten()),
        };
        planned.push(Planned {
            directory: options.out.join(&experiment.name),
            experiment,
            seeds,
            command: options.command(path),
        });
    }
    Ok(planned)
}

/// Finds out what would make runs fail, before the first one.
fn check_machine(planned: &[Planned]) -> Result<()> {
    let mut needs = Vec::new();
    for planned in planned {
        needs.extend(cells::needs(&planned.experiment));
    }
    for name in [Engine::Ns3, Engine::Ns2, Engine::Testbed] {
        let of_engine = || needs.iter().filter(|need| need.engine == name);
        if of_engine().next().is_none() {
            continue;
        }
        if name == Engine::Testbed {
            process::check_root()?;
            // Simulators know theirs without being asked: the file's parser has seen to it.
            let named = of_engine().flat_map(|need| &need.congestion_controls);
            for cc in named.collect::<BTreeSet<_>>() {
                sockets::check_congestion_control(cc)?;
            }
        }
        let schemes: Vec<&str> = of_engine().map(|need| need.scheme.as_str()).collect();
        engines::of(name).check_tools(&schemes)?;
    }
    Ok(())
}

/// Makes the directory and puts into it what belongs to the experiment as a whole.
fn prepare(planned: &Planned) -> Result<()> {
    let directory = &planned.directory;
    let samples = directory.join(cells::SAMPLES);
    fs::create_dir_all(&samples).with_context(|| format!("cannot create {}", samples.display()))?;
    write_whole(&directory.join(SPEC_FILE), &planned.experiment.text)
}

/// Runs what is missing. Returns whether every cell has a result now.
fn run_missing(options: &RunOptions, planned: &Planned) -> Result<bool> {
    prepare(planned)?;
    let mut store = Store::<Line>::open(&planned.directory.join(line::FILE))?;
    let cells = cells::cells(&planned.experiment, &planned.seeds, &planned.directory)?;
    let points = &options.points;
    let wanted = |cell: &Cell| points.is_empty() || points.iter().any(|x| same_x(*x, cell.x));
    let missing: Vec<Cell> = cells
        .into_iter()
        .filter(wanted)
        .filter(|cell| {
            let stored = store.results.find(&cell.name, &cell.setup);
            stored.is_none() || cells::lacks_samples(&planned.experiment, cell, &planned.directory)
        })
        .collect();
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    if missing.is_empty() {
        let meta = Meta::read(&planned.directory);
        let mut meta = meta.unwrap_or_else(|| Meta::here(planned, cpus, GATHERED));
        meta.command.clone_from(&planned.command);
        meta.seeds.clone_from(&planned.seeds);
        meta.write(&planned.directory)?;
        return Ok(true);
    }
    let mut complete = true;
    // One after the other: a simulation takes a whole CPU, which would disturb a test bed.
    for engine in [Engine::Testbed, Engine::Ns3, Engine::Ns2] {
        let of_engine = missing.iter().filter(|cell| cell.engine == engine);
        let batches = cells::batches(of_engine.cloned(), options.jobs, cpus);
        for (slots, cells) in batches.into_iter().rev() {
            Meta::here(planned, cpus, slots).write(&planned.directory)?;
            complete &= match engine {
                Engine::Testbed => run_undisturbed(slots, &cells, &mut store)?,
                Engine::Ns3 | Engine::Ns2 => run_jobs(slots, &cells, &mut store, |_, _| true)?,
            };
        }
    }
    Ok(complete)
}

/// Runs cells on test beds; what the others disturbed is run again, alone. Returns whether all have
/// a result.
fn run_undisturbed(slots: u16, cells: &[Cell], store: &mut Store<Line>) -> Result<bool> {
    let mut disturbed = Vec::new();
    let mut complete = run_jobs(slots, cells, store, |cell, figures| {
        // Alone, it may do better: what it lost was the machine's fault, not the link's. Until
        // then it has no result, whatever comes between.
        let mut notes = figures.notes.iter();
        let is_disturbed = slots > 1 && notes.any(|note| note.contains(DISTORTED));
        if is_disturbed {
            disturbed.push(cell.clone());
        }
        !is_disturbed
    })?;
    if !disturbed.is_empty() {
        say(&format!(
            "{} runs were disturbed by the others: again, alone",
            disturbed.len()
        ));
        complete &= run_jobs(1, &disturbed, store, |_, _| true)?;
    }
    Ok(complete)
}

/// Runs `cells`, `slots` at a time, and stores what `counts` says counts. Returns whether all have
/// been run.
fn run_jobs(
    slots: u16,
    cells: &[Cell],
    store: &mut Store<Line>,
    mut counts: impl FnMut(&Cell, &Figures) -> bool,
) -> Result<bool> {
    let jobs: Vec<Job> = cells.iter().map(|cell| cell.job.clone()).collect();
    campaign::run(slots, &jobs, |index, figures| {
        let cell = &cells[index];
        match counts(cell, &figures) {
            true => store.append(line_of(cell, figures)),
            false => Ok(()),
        }
    })
}

fn line_of(cell: &Cell, figures: Figures) -> Line {
    let mut notes = figures.notes;
    notes.extend(figures.failure);
    Line {
        cell: cell.name.clone(),
        x: cell.x,
        series: cell.series.clone(),
        setup: cell.setup.clone(),
        revision: meta::revision().to_owned(),
        kernel: meta::kernel(),
        ended_s: meta::now_s(),
        notes,
        record: figures.record,
    }
}

/// Prints what the experiment came to. Returns whether all conditions are met, of what `grid` made
/// shorter at least one.
fn summarise(options: &RunOptions, planned: &Planned) -> Result<bool> {
    let (experiment, directory) = (&planned.experiment, &planned.directory);
    let stored = Stored::read(experiment, directory)?;
    for remark in stored.remarks() {
        say(&format!("note: {}: {remark}", experiment.name));
    }
    if stored.lines.is_empty() && !options.brief {
        bail!("{}: no results", directory.join(line::FILE).display());
    }
    let wanted = |line: &&Line| planned.seeds.contains(&line.record.seed);
    let lines: Vec<&Line> = stored.lines.iter().filter(wanted).collect();
    let runs = Runs::new(&lines);
    let judgements = judge::judge(experiment, runs, planned.seeds.len());
    // A link that lets nothing through is no wrong content, and some experiments have one.
    let wrong = |line: &&&Line| !line.record.content_ok && line.record.bytes > 0;
    let wrong = lines.iter().filter(wrong).count();
    if wrong > 0 {
        say(&format!(
            "{}: {wrong} runs with wrong or missing content",
            experiment.name
        ));
    }
    let text = if options.json {
        let lines = judgements.iter().map(serde_json::to_string);
        let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
        lines.iter().map(|line| format!("{line}\n")).collect()
    } else if options.brief {
        text::brief(experiment, &judgements)
    } else {
        text::experiment(experiment, runs, &judgements, directory)
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("standard output")?;
    Ok(wrong == 0 && is_success(options.brief, &judgements))
}

/// Whether all conditions are met. `is_part`: the experiment may be part of a whole, and have lost its
/// conditions: that is no success.
fn is_success(is_part: bool, judgements: &[Judgement]) -> bool {
    let met = |judgement: &Judgement| judgement.outcome == Outcome::Met;
    let has_judged = !is_part || !judgements.is_empty();
    has_judged && judgements.iter().all(met)
}

/// The fields of `run -j` as a table in Markdown.
pub fn fields_markdown() -> String {
    markdown_table(&JUDGEMENT_FIELDS)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::base::small::Small;

    #[test]
    fn a_part_without_conditions_is_no_success() {
        let text = Small::new("T", "1")
            .setup("cc = \"reno\"")
            .axis("Loss", "points = [{ x = 0, loss = 0 }]")
            .tcp_and_snoop("")
            .text();
        let experiment = Experiment::parse(&text, Path::new("t.toml")).unwrap();
        assert!(!is_success(true, &[]), "grid took them away");
        assert!(is_success(false, &[]), "a file may have none");
        let said = text::brief(&experiment, &[]);
        assert!(said.contains("nothing judged"), "{said}");
    }
}
