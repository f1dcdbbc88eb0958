// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `bench-report`: what the agent costs as things grow. Reads what the benchmark of the BPF programs
//! printed, measures forwarding, fits a model to both, and writes a page.

mod chart;
mod curves;
mod fit;
mod forwarding;
mod lines;
mod model;
pub mod options;
mod page;
mod ports;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use self::lines::{FORWARDING_FILE, Line, PACKET_FILE, Packet};
use self::model::Model;
use self::options::BenchReportOptions;
use self::ports::Need;
use crate::base::files::write_whole;

/// Name of the page.
pub const PAGE: &str = "index.html";
/// What the page says of the model, for programs.
const MODEL_FILE: &str = "model.json";

/// What model.json holds.
#[derive(Debug, Serialize)]
struct ModelFile<'a> {
    model: &'a Model,
    needs: &'a [Need],
}

/// Measures forwarding, unless only the page is asked for, and writes model and page. Returns the page's
/// path, and the largest relative error of the model.
///
/// # Errors
/// packet.jsonl is missing, this is not root, or the directory cannot be written.
pub fn run(options: &BenchReportOptions) -> Result<(PathBuf, f64)> {
    let directory = &options.directory;
    let packets = packets(&directory.join(PACKET_FILE))?;
    let file = directory.join(FORWARDING_FILE);
    if !options.page_only {
        let mut lines = vec![Line::Machine(forwarding::machine())];
        lines.extend(forwarding::measure(options.effort())?);
        forwarding::write(&file, &lines)?;
    }
    let lines: Vec<Line> = lines::read(&file)?;
    let model = Model::of(&packets, &lines);
    let needs = Need::all(&model);
    let json = serde_json::to_string_pretty(&ModelFile {
        model: &model,
        needs: &needs,
    })?;
    write_whole(&directory.join(MODEL_FILE), &(json + "\n"))?;
    let path = directory.join(PAGE);
    let text = page::page(&packets, &lines, &model, &needs);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok((path, model.worst))
}

fn packets(path: &Path) -> Result<Vec<Packet>> {
    if !path.exists() {
        bail!(
            "{} is missing: `make bench-report` makes it, or `cargo bench -p lasthop --bench packet -- \
             grow` prints it",
            path.display()
        );
    }
    lines::read(path)
}

#[cfg(test)]
mod tests;
