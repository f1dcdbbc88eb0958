// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `grid.jsonl`: one line per finished cell, appended as cells finish, so that a run that was
//! stopped, in whatever way, goes on where it was.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::compare::Record;

/// Name of the file in the directory of `--out`.
pub const FILE: &str = "grid.jsonl";

/// One line. The record's fields stand beside these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name of the cell.
    pub cell: String,
    /// Its variant.
    pub variant: String,
    /// Options of `compare` that it was run with, but congestion control, scheme and seed.
    pub setup: String,
    /// What `compare` said beside the record.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Figures.
    #[serde(flatten)]
    pub record: Record,
}

impl Line {
    /// Name of the cell's place: without scheme and seed.
    pub fn place(&self) -> &str {
        let mut parts = self.cell.rsplitn(3, '/');
        parts.nth(2).unwrap_or(&self.cell)
    }
}

/// The lines of a file.
#[derive(Debug, Default)]
pub struct Results {
    /// The latest line of each cell, in the order of the cells' first lines.
    lines: Vec<Line>,
    index: BTreeMap<String, usize>,
    /// Numbers of lines that are no results.
    pub ignored: Vec<usize>,
    /// How many bytes of the file are whole lines.
    whole_bytes: u64,
}

impl Results {
    /// Reads the file in `directory`; without one there are no results.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(e) => Err(e).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// A last line without its end was being written when the lab died; it is left out.
    fn parse(bytes: &[u8]) -> Self {
        let mut results = Self::default();
        for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if !line.ends_with(b"\n") {
                break;
            }
            results.whole_bytes += line.len() as u64;
            match serde_json::from_slice::<Line>(line) {
                Ok(line) => results.insert(line),
                Err(_) => results.ignored.push(number + 1),
            }
        }
        results
    }

    fn insert(&mut self, line: Line) {
        match self.index.get(&line.cell) {
            Some(index) => self.lines[*index] = line,
            None => {
                self.index.insert(line.cell.clone(), self.lines.len());
                self.lines.push(line);
            }
        }
    }

    /// The latest line of each cell.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The result of a cell, if it was run with just this set-up.
    pub fn find(&self, cell: &str, setup: &str) -> Option<&Line> {
        let line = &self.lines[*self.index.get(cell)?];
        (line.setup == setup).then_some(line)
    }
}

/// The file, open for more lines. Only one lab at a time has it.
#[derive(Debug)]
pub struct Store {
    file: Flock<File>,
    path: PathBuf,
    /// What it holds.
    pub results: Results,
}

impl Store {
    /// Opens the file in `directory`, both made if need be, and removes a torn last line.
    ///
    /// # Errors
    /// It cannot be read or written, or another lab writes it now.
    pub fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(FILE);
        let named = || path.display().to_string();
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .with_context(|| format!("cannot write {}", named()))?;
        let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((_, Errno::EWOULDBLOCK)) => bail!(
                "{}: another lasthop-lab writes it now; wait for that one or choose another --out",
                named()
            ),
            Err((_, e)) => return Err(e).with_context(|| format!("cannot lock {}", named())),
        };
        let results = Results::read(directory)?;
        if file.metadata()?.len() > results.whole_bytes {
            file.set_len(results.whole_bytes)
                .with_context(|| format!("cannot shorten {}", named()))?;
        }
        Ok(Self {
            file,
            path,
            results,
        })
    }

    /// Appends a line, and sees to it that it is on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, line: Line) -> Result<()> {
        let text = format!("{}\n", serde_json::to_string(&line)?);
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.results.insert(line);
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::compare::record::sample;

    /// The line of a cell at `place`, such as `base/20mbit/110ms/2%/reno`.
    pub fn line(place: &str, scheme: &str, seed: u64, goodput_mbit: f64) -> Line {
        let parts: Vec<&str> = place.split('/').collect();
        let number = |text: &str, unit: &str| text.trim_end_matches(unit).parse().unwrap();
        let mut record = sample(scheme, parts[4], seed, goodput_mbit);
        record.rate_mbit = number(parts[1], "mbit");
        record.rtt_ms = number(parts[2], "ms");
        record.loss_pct = number(parts[3], "%");
        Line {
            cell: format!("{place}/{scheme}/{seed}"),
            variant: parts[0].into(),
            setup: "--duration 30s".into(),
            notes: Vec::new(),
            record,
        }
    }

    const PLACE: &str = "base/20mbit/110ms/2%/reno";

    #[test]
    fn a_stopped_run_goes_on_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let first = line(PLACE, "none", 1, 5.0);
        let mut store = Store::open(dir.path()).unwrap();
        store.append(first.clone()).unwrap();
        drop(store);
        let path = dir.path().join(FILE);
        let torn = serde_json::to_string(&line(PLACE, "rack", 1, 18.0)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(&torn.as_bytes()[..torn.len() / 2]);
        fs::write(&path, &bytes).unwrap();

        let mut store = Store::open(dir.path()).unwrap();
        assert_eq!(store.results.lines(), std::slice::from_ref(&first));
        assert!(store.results.find(&first.cell, &first.setup).is_some());
        assert!(store.results.find(&first.cell, "--duration 5s").is_none());
        store.append(line(PLACE, "rack", 1, 18.0)).unwrap();
        drop(store);
        let results = Results::read(dir.path()).unwrap();
        assert_eq!(results.lines().len(), 2);
        assert!(results.ignored.is_empty(), "the torn line is gone");
    }

    #[test]
    fn the_latest_line_of_a_cell_counts_and_rubbish_is_ignored() {
        let old = serde_json::to_string(&line(PLACE, "none", 1, 5.0)).unwrap();
        let new = serde_json::to_string(&line(PLACE, "none", 1, 6.0)).unwrap();
        let results = Results::parse(format!("{old}\nrubbish\n{new}\n").as_bytes());
        assert_eq!(results.lines().len(), 1);
        assert_eq!(results.lines()[0].record.goodput_mbit, 6.0);
        assert_eq!(results.ignored, [2]);
        assert_eq!(results.lines()[0].place(), PLACE);
    }

    #[test]
    fn two_labs_do_not_share_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let first = Store::open(dir.path()).unwrap();
        let error = Store::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("--out"), "{error}");
        drop(first);
        assert!(Store::open(dir.path()).is_ok());
    }
}
