// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `report`: the pictures, tables and the page of what `run` wrote.

mod contrast;
mod drawing;
mod maps;
pub(crate) mod number;
pub mod options;
mod page;
pub(crate) mod range;
mod section;
pub(crate) mod shell;
mod tables;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use self::options::ReportOptions;
use self::section::{Part, Section};
use crate::base::fields::markdown_table;
use crate::base::say::say;
use crate::studies::campaign::plot::{self, Drawn};
use crate::studies::experiment::stored::SPEC_FILE;
use crate::studies::experiment::summary::FigureData;
use crate::studies::report::tables::FIGURES_FILE;

/// Name of the page in the directory of results.
pub const PAGE: &str = "index.html";
const SCRIPT: &str = include_str!("../../../../../experiments/plot/experiment.py");

/// What `figures.json` holds.
#[derive(Debug, Serialize)]
struct FiguresFile<'a> {
    experiment: &'a str,
    title: &'a str,
    figures: &'a [FigureData],
}

/// Writes pictures, tables and the page of every experiment in a directory. Returns the page's
/// path.
///
/// # Errors
/// The directory holds no experiment, or it cannot be written. An experiment that cannot be read
/// is none: the page says so.
pub fn report(options: &ReportOptions) -> Result<PathBuf> {
    let out = &options.directory;
    let parts = parts(out)?;
    for section in parts.iter().filter_map(Part::section) {
        write_tables(section)?;
    }
    let remark = draw(&parts);
    if let Some(remark) = &remark {
        say(&format!("note: {remark}"));
    }
    for part in &parts {
        if let Part::Broken { why, .. } = part {
            say(&format!("note: {why}"));
        }
    }
    let path = out.join(PAGE);
    let page = page::page(&parts, out, remark.as_deref());
    write(&path, page.as_bytes())?;
    Ok(path)
}

/// The columns of `runs.csv` and `summary.csv` as tables in Markdown.
pub fn columns_markdown() -> String {
    format!(
        "### runs.csv\n\n{}\n### summary.csv\n\n{}",
        markdown_table(&tables::run_columns()),
        markdown_table(&tables::SUMMARY_COLUMNS)
    )
}

/// The experiments in a directory, by name.
fn parts(out: &Path) -> Result<Vec<Part>> {
    let entries = fs::read_dir(out).map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow::anyhow!(
            "{}: no such directory: give the --out of lasthop-lab run",
            out.display()
        ),
        ErrorKind::NotADirectory => anyhow::anyhow!(
            "{}: is no directory: give the --out of lasthop-lab run",
            out.display()
        ),
        _ => anyhow::Error::from(error).context(format!("cannot read {}", out.display())),
    })?;
    let mut directories = Vec::new();
    for entry in entries {
        let directory = entry
            .with_context(|| format!("cannot read {}", out.display()))?
            .path();
        if directory.join(SPEC_FILE).is_file() {
            directories.push(directory);
        }
    }
    if directories.is_empty() {
        let hint = match out.join(SPEC_FILE).is_file() {
            true => "this is one experiment's: give the directory above it",
            false => "give the --out of lasthop-lab run, once it has run something",
        };
        bail!("{}: no experiment's results in it: {hint}", out.display());
    }
    directories.sort();
    Ok(directories.iter().map(|d| Part::read(d)).collect())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn write_tables(section: &Section) -> Result<()> {
    let experiment = &section.experiment;
    let figures = FiguresFile {
        experiment: &experiment.name,
        title: &experiment.title,
        figures: &section.figures,
    };
    let json = serde_json::to_string_pretty(&figures)? + "\n";
    let in_directory = |name: &str| section.directory.join(name);
    write(&in_directory(FIGURES_FILE), json.as_bytes())?;
    write(
        &in_directory(tables::RUNS_FILE),
        &tables::runs(&experiment.name, &section.lines)?,
    )?;
    write(
        &in_directory(tables::SUMMARY_FILE),
        &tables::summary(&experiment.name, &section.figures)?,
    )
}

/// Draws all figures; returns what kept them from being drawn. Without pictures the page still
/// has its tables.
fn draw(parts: &[Part]) -> Option<String> {
    let sections = || parts.iter().filter_map(Part::section);
    for section in sections() {
        // What an earlier report drew may show other runs.
        for figure in &section.figures {
            for suffix in ["svg", "png"] {
                let _ = fs::remove_file(section.picture(&figure.name, suffix));
            }
        }
    }
    let files: Vec<PathBuf> = sections()
        .filter(|section| !section.figures.is_empty())
        .map(|section| section.directory.join(FIGURES_FILE))
        .collect();
    if files.is_empty() {
        return None;
    }
    match plot::draw(SCRIPT, &files) {
        Ok(Drawn::Yes) => None,
        Ok(Drawn::NoMatplotlib) => Some(
            "the figures are not drawn: matplotlib is missing (Debian, Ubuntu: `apt install \
             python3-matplotlib`, then the same command again)"
                .to_owned(),
        ),
        Err(error) => Some(format!("{error:#}")),
    }
}

#[cfg(test)]
mod tests;
