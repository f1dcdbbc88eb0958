// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `grid`: the evaluation grid as one command that can be stopped and started again, and that
//! says which acceptance criteria hold.

mod cells;
mod criteria;
mod judge;
mod line;
mod options;
mod plot;
mod summary;
mod text;

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use self::cells::GridCell;
use self::judge::{Judgement, Outcome};
use self::line::Line;
pub use self::options::GridOptions;
use self::summary::Row;
pub use self::text::markdown;
use crate::base::interrupt;
use crate::base::say::say;
use crate::studies::campaign::{self, Figures, Job, Results, Store};
use crate::studies::compare::Verdict;
use crate::studies::mixes;

/// Runs the cells that have no result yet, and judges; with `--mixes` what `mixes::run` does. The summary goes to standard output,
/// everything else to standard error.
///
/// # Errors
/// What makes every cell impossible; a file or standard output that cannot be written; no
/// results to judge.
pub fn run(options: &GridOptions) -> Result<Verdict> {
    if let Some(mixes) = options.mixes() {
        return mixes::run(&mixes);
    }
    let (results, complete) = if options.summary_only {
        (Results::read(&options.out.join(line::FILE))?, true)
    } else {
        match run_cells(options)? {
            Some(ran) => ran,
            None => return Ok(Verdict::Interrupted),
        }
    };
    if !results.ignored.is_empty() {
        say(&format!(
            "note: {}: lines {:?} are no results of this version: ignored",
            options.out.join(line::FILE).display(),
            results.ignored
        ));
    }
    let lines = chosen_lines(options, &results)?;
    let (rows, left_out) = summary::rows(&lines);
    if left_out > 0 {
        say(&format!(
            "note: {left_out} results of other set-ups of the same cells are left out"
        ));
    }
    let judgements = judge::judge(&rows, &options.judge);
    print_summary(options, &rows, &judgements)?;
    match plot::draw(&options.out, &options.judge) {
        Ok(None) => {}
        Ok(Some(remark)) => say(&format!("note: {remark}")),
        // The figures stand, whatever befell the pictures.
        Err(error) => say(&format!("note: {error:#}")),
    }
    let failed: Vec<&str> = judgements
        .iter()
        .filter(|judgement| judgement.outcome == Outcome::Fails)
        .map(|judgement| judgement.criterion)
        .collect();
    if !failed.is_empty() {
        say(&format!(
            "{} does not meet: {}",
            options.judge,
            failed.join(", ")
        ));
    }
    Ok(if failed.is_empty() && complete {
        Verdict::Good
    } else {
        Verdict::Failed
    })
}

/// Runs what is missing. Returns all results and whether every cell has one now; none if the user
/// interrupted.
fn run_cells(options: &GridOptions) -> Result<Option<(Results<Line>, bool)>> {
    let cells = options.cells()?;
    options.check(&cells)?;
    let mut store = Store::<Line>::open(&options.out.join(line::FILE))?;
    let missing: Vec<GridCell> = cells
        .into_iter()
        .filter(|cell| {
            let setup = options.setup(cell).join(" ");
            store.results.find(&cell.name(), &setup).is_none()
        })
        .collect();
    let transfer = Duration::from_nanos(options.warmup_ns() + options.duration_ns());
    let job = |cell: &GridCell| Job::on_test_bed(cell.name(), options.compare_args(cell), transfer);
    let jobs: Vec<Job> = missing.iter().map(job).collect();
    let result = campaign::run(options.jobs(), &jobs, |index, figures| {
        store.append(line_of(options, &missing[index], figures))
    });
    match result {
        Err(_) if interrupt::requested() => Ok(None),
        Err(error) => Err(error),
        Ok(complete) => Ok(Some((store.results, complete))),
    }
}

fn line_of(options: &GridOptions, cell: &GridCell, figures: Figures) -> Line {
    Line {
        cell: cell.name(),
        variant: cell.place.variant.to_owned(),
        setup: options.setup(cell).join(" "),
        notes: figures.notes,
        record: figures.record,
    }
}

/// The lines that the summary is about: those of the chosen cells; with `--summary-only` all that
/// there are and that the filters take.
fn chosen_lines<'a>(options: &GridOptions, results: &'a Results<Line>) -> Result<Vec<&'a Line>> {
    let all = results.lines().iter();
    let lines: Vec<&Line> = if options.summary_only {
        let takes = |line: &&Line| {
            let (filter, r) = (&options.filter, &line.record);
            filter.takes(&line.variant, r.rate_mbit, r.rtt_ms, r.loss_pct, &r.cc)
        };
        all.filter(takes).collect()
    } else {
        let cells = options.cells()?;
        let names: HashSet<String> = cells.iter().map(GridCell::name).collect();
        all.filter(|line| names.contains(&line.cell)).collect()
    };
    if lines.is_empty() {
        bail!(
            "{} has no results for these options",
            options.out.join(line::FILE).display()
        );
    }
    Ok(lines)
}

fn print_summary(options: &GridOptions, rows: &[Row], judgements: &[Judgement]) -> Result<()> {
    let text = if options.json {
        let rows = rows.iter().map(serde_json::to_string);
        let lines = rows.chain(judgements.iter().map(serde_json::to_string));
        let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
        lines.join("\n") + "\n"
    } else {
        let judged = text::judgements(judgements);
        format!("{}\nscheme {}:\n{judged}", text::cells(rows), options.judge)
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("standard output")
}
