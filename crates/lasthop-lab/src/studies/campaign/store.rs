// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A file of JSON Lines: one line per finished cell, appended as cells finish, so that a run that
//! was stopped, in whatever way, goes on where it was.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A line of the file.
pub trait Entry: Serialize + DeserializeOwned {
    /// Name of the cell: the latest line of a cell counts.
    fn cell(&self) -> &str;
    /// What it was run with: a line of another set-up does not count as its result.
    fn setup(&self) -> &str;
}

/// The lines of a file.
#[derive(Debug)]
pub struct Results<L> {
    /// The latest line of each cell, in the order of the cells' first lines.
    lines: Vec<L>,
    index: BTreeMap<String, usize>,
    /// Numbers of lines that are no results.
    pub ignored: Vec<usize>,
    /// How many bytes of the file are whole lines.
    whole_bytes: u64,
}

impl<L> Default for Results<L> {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            index: BTreeMap::new(),
            ignored: Vec::new(),
            whole_bytes: 0,
        }
    }
}

impl<L: Entry> Results<L> {
    /// Reads the file at `path`; without one there are no results.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        match fs::read(path) {
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
            match serde_json::from_slice::<L>(line) {
                Ok(line) => results.insert(line),
                Err(_) => results.ignored.push(number + 1),
            }
        }
        results
    }

    fn insert(&mut self, line: L) {
        match self.index.get(line.cell()) {
            Some(index) => self.lines[*index] = line,
            None => {
                self.index.insert(line.cell().to_owned(), self.lines.len());
                self.lines.push(line);
            }
        }
    }

    /// The latest line of each cell.
    pub fn lines(&self) -> &[L] {
        &self.lines
    }

    /// The result of a cell, if it was run with just this set-up.
    pub fn find(&self, cell: &str, setup: &str) -> Option<&L> {
        let line = &self.lines[*self.index.get(cell)?];
        (line.setup() == setup).then_some(line)
    }
}

/// The file, open for more lines. Only one lab at a time has it.
#[derive(Debug)]
pub struct Store<L> {
    file: Flock<File>,
    path: PathBuf,
    /// What it holds.
    pub results: Results<L>,
}

impl<L: Entry> Store<L> {
    /// Opens the file at `path`, made with its directory if need be, and removes a torn last line.
    ///
    /// # Errors
    /// It cannot be read or written, or another lab writes it now.
    pub fn open(path: &Path) -> Result<Self> {
        let named = || path.display().to_string();
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)
                .with_context(|| format!("cannot create {}", directory.display()))?;
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .with_context(|| format!("cannot write {}", named()))?;
        let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((_, Errno::EWOULDBLOCK)) => bail!(
                "{}: another lasthop-lab writes it now; wait for that one or choose another --out",
                named()
            ),
            Err((_, e)) => return Err(e).with_context(|| format!("cannot lock {}", named())),
        };
        let results = Results::read(path)?;
        if file.metadata()?.len() > results.whole_bytes {
            file.set_len(results.whole_bytes)
                .with_context(|| format!("cannot shorten {}", named()))?;
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            results,
        })
    }

    /// Appends a line, and sees to it that it is on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, line: L) -> Result<()> {
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
mod tests {
    use super::*;

    /// The smallest line.
    #[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
    struct Line {
        cell: String,
        setup: String,
        value: f64,
    }

    impl Entry for Line {
        fn cell(&self) -> &str {
            &self.cell
        }

        fn setup(&self) -> &str {
            &self.setup
        }
    }

    fn line(cell: &str, value: f64) -> Line {
        Line {
            cell: cell.into(),
            setup: "--duration 30s".into(),
            value,
        }
    }

    const FILE: &str = "cells.jsonl";

    #[test]
    fn a_stopped_run_goes_on_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let first = line("a/none", 5.0);
        let mut store = Store::<Line>::open(&dir.path().join(FILE)).unwrap();
        store.append(first.clone()).unwrap();
        drop(store);
        let path = dir.path().join(FILE);
        let torn = serde_json::to_string(&line("a/rack", 18.0)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(&torn.as_bytes()[..torn.len() / 2]);
        fs::write(&path, &bytes).unwrap();

        let mut store = Store::<Line>::open(&dir.path().join(FILE)).unwrap();
        assert_eq!(store.results.lines(), std::slice::from_ref(&first));
        assert!(store.results.find(&first.cell, &first.setup).is_some());
        assert!(store.results.find(&first.cell, "--duration 5s").is_none());
        store.append(line("a/rack", 18.0)).unwrap();
        drop(store);
        let results = Results::<Line>::read(&dir.path().join(FILE)).unwrap();
        assert_eq!(results.lines().len(), 2);
        assert!(results.ignored.is_empty(), "the torn line is gone");
    }

    #[test]
    fn the_latest_line_of_a_cell_counts_and_rubbish_is_ignored() {
        let old = serde_json::to_string(&line("a/none", 5.0)).unwrap();
        let new = serde_json::to_string(&line("a/none", 6.0)).unwrap();
        let results = Results::<Line>::parse(format!("{old}\nrubbish\n{new}\n").as_bytes());
        assert_eq!(results.lines().len(), 1);
        assert_eq!(results.lines()[0].value, 6.0);
        assert_eq!(results.ignored, [2]);
    }

    #[test]
    fn two_labs_do_not_share_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let first = Store::<Line>::open(&dir.path().join(FILE)).unwrap();
        let error = Store::<Line>::open(&dir.path().join(FILE))
            .unwrap_err()
            .to_string();
        assert!(error.contains("--out"), "{error}");
        drop(first);
        assert!(Store::<Line>::open(&dir.path().join(FILE)).is_ok());
    }
}
