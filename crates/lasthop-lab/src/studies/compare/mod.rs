// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `compare`: the same transfer with every scheme, congestion control and seed.

pub(crate) mod progress;
mod table;
mod table_hosts;

use std::collections::HashSet;
use std::io::{self, Write};

use anyhow::{Context, Result};

use self::progress::Progress;
use crate::base::interrupt;
use crate::cell::options::CompareOptions;
use crate::cell::record::Record;
use crate::engines;

/// How a comparison ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every cell ran, and every byte was right.
    Good,
    /// A cell could not be run, or content was wrong or missing; it has been said which.
    Failed,
    /// The user stopped it; what was finished has been printed.
    Interrupted,
}

/// Runs all cells. Records go to standard output, everything else to standard error.
///
/// # Errors
/// What makes every cell impossible, and a standard output that cannot be written.
pub fn run(options: &CompareOptions) -> Result<Verdict> {
    engines::check(options)?;
    let engine = engines::of(options.engine.engine);
    let cells = options.cells();
    let progress = Progress::new(cells.len());
    let mut records = Vec::new();
    let mut said = HashSet::new();
    let mut verdict = Verdict::Good;
    for (index, cell) in cells.iter().enumerate() {
        progress.begin(index, cell);
        match engine.run(options, cell, &|share| progress.share(share)) {
            Ok(outcome) => {
                say_once(&progress, &mut said, &outcome.notes);
                if let Some(failure) = &outcome.failure {
                    progress.say(&format!("{cell}: {failure}"));
                    verdict = Verdict::Failed;
                }
                if options.json {
                    print_json(&outcome.record)?;
                }
                records.push(outcome.record);
            }
            Err(_) if interrupt::requested() => {
                verdict = Verdict::Interrupted;
                break;
            }
            Err(error) => {
                progress.say(&format!("{cell}: {error:#}"));
                verdict = Verdict::Failed;
            }
        }
    }
    progress.end();
    if !options.json && !records.is_empty() {
        print_table(options, &records)?;
    }
    Ok(verdict)
}

/// What holds for every cell is said with the first only.
fn say_once(progress: &Progress, said: &mut HashSet<String>, notes: &[String]) {
    for note in notes {
        if said.insert(note.clone()) {
            progress.say(&format!("note: {note}"));
        }
    }
}

/// One line, flushed: what is finished must not be lost with a later Ctrl-C.
fn print_json(record: &Record) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(record)?)
        .and_then(|()| out.flush())
        .context("standard output")
}

fn print_table(options: &CompareOptions, records: &[Record]) -> Result<()> {
    let mut out = io::stdout().lock();
    let title = format!(
        "{}, {}{}\n\n",
        options.link.summary(),
        options.traffic_summary(),
        options.engine.summary()
    );
    out.write_all(title.as_bytes())
        .and_then(|()| out.write_all(table::render(records).as_bytes()))
        .and_then(|()| out.flush())
        .context("standard output")
}
