// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Traces of a link's delivery opportunities, in mahimahi's format: a text file with a time in
//! whole milliseconds per line. At each of them the link can send 1,504 bytes, one full packet;
//! a time that is given several times allows as many. The last time is the length of the trace,
//! after which it starts again.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Bytes that may leave at one opportunity, as mahimahi counts them.
pub(crate) const OPPORTUNITY_BYTES: u64 = 1504;
const MAX_OPPORTUNITIES: usize = 10_000_000;
/// One day: longer is no trace in milliseconds.
const MAX_PERIOD_MS: u64 = 86_400_000;

/// The opportunities of a link in one direction; none: the link has no trace. In JSON the path of
/// a file, or the list of milliseconds itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Source", into = "Source")]
pub struct RateTrace {
    path: Option<PathBuf>,
    /// Shared, since the settings are copied at every change. Sorted; the last is above 0.
    opportunities_ms: Arc<[u64]>,
}

/// A trace as it stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "rate_trace: neither a path nor a list of milliseconds"
)]
enum Source {
    Path(PathBuf),
    Opportunities(Vec<u64>),
}

impl TryFrom<Source> for RateTrace {
    type Error = Error;

    fn try_from(source: Source) -> Result<Self> {
        match source {
            Source::Path(path) => Self::read(&path),
            Source::Opportunities(opportunities_ms) => Self::new(opportunities_ms),
        }
    }
}

impl From<RateTrace> for Source {
    fn from(trace: RateTrace) -> Self {
        match trace.path {
            Some(path) => Self::Path(path),
            None => Self::Opportunities(trace.opportunities_ms.to_vec()),
        }
    }
}

impl RateTrace {
    /// A trace of these times, in milliseconds; none of them: no trace.
    ///
    /// # Errors
    /// Times that go back, that are all zero, or that are too many or too late.
    pub fn new(opportunities_ms: Vec<u64>) -> Result<Self> {
        check(&opportunities_ms).map_err(|problem| Error::config("rate_trace", problem))?;
        Ok(Self {
            path: None,
            opportunities_ms: opportunities_ms.into(),
        })
    }

    /// Reads a file, a regular one: a pipe whose other end nobody opens would hold up for good
    /// whoever reads.
    ///
    /// # Errors
    /// It cannot be read, or is no trace; file and line are named.
    pub fn read(path: &Path) -> Result<Self> {
        let name = format!("rate_trace {}", path.display());
        let text = read_regular(path).map_err(|e| Error::io(name.as_str(), e))?;
        let fail = |problem: String| Error::config(name.as_str(), problem);
        let mut opportunities_ms = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if !line.is_empty() {
                let at_ms = line.parse().map_err(|_| {
                    fail(format!(
                        "line {number}: {line:.20?} is no time: write whole milliseconds, one a line"
                    ))
                })?;
                opportunities_ms.push(at_ms);
            }
        }
        if opportunities_ms.is_empty() {
            return Err(fail("is empty: write milliseconds, one a line".into()));
        }
        check(&opportunities_ms).map_err(fail)?;
        Ok(Self {
            path: Some(path.into()),
            opportunities_ms: opportunities_ms.into(),
        })
    }

    /// Whether there is no trace.
    pub fn is_empty(&self) -> bool {
        self.opportunities_ms.is_empty()
    }

    /// The times of one repetition.
    pub(crate) fn opportunities_ms(&self) -> &[u64] {
        &self.opportunities_ms
    }

    /// Milliseconds after which the trace starts again; 0 without one.
    pub fn period_ms(&self) -> u64 {
        self.opportunities_ms.last().copied().unwrap_or(0)
    }

    /// Full frames that the link can carry per second on average; 0 without a trace.
    pub fn full_frames_per_second(&self) -> f64 {
        match self.period_ms() {
            0 => 0.0,
            period_ms => self.opportunities_ms.len() as f64 * 1000.0 / period_ms as f64,
        }
    }
}

fn read_regular(path: &Path) -> io::Result<String> {
    let mut file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK) // a pipe is opened without waiting, and refused
        .open(path)?;
    if !file.metadata()?.is_file() {
        let problem = "is no regular file, nothing else is read";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn check(opportunities_ms: &[u64]) -> std::result::Result<(), String> {
    if let Some(i) = opportunities_ms.windows(2).position(|w| w[0] > w[1]) {
        let (before, after) = (opportunities_ms[i], opportunities_ms[i + 1]);
        return Err(format!(
            "entry {} goes back from {before} to {after} ms: sort the times",
            i + 2
        ));
    }
    match opportunities_ms.last() {
        Some(0) => Err("lasts 0 ms: the last time must be above 0".into()),
        Some(last) if *last > MAX_PERIOD_MS => Err(format!(
            "lasts {last} ms: at most {MAX_PERIOD_MS} are allowed"
        )),
        _ if opportunities_ms.len() > MAX_OPPORTUNITIES => Err(format!(
            "has more than {MAX_OPPORTUNITIES} opportunities: cut it"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_and_list_are_the_same_trace() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("link.trace");
        std::fs::write(&path, "0\n3\n3\n\n20\n").unwrap();
        let read = RateTrace::read(&path).unwrap();
        assert_eq!(read.opportunities_ms(), [0, 3, 3, 20]);
        assert_eq!(
            (read.period_ms(), read.full_frames_per_second()),
            (20, 200.0)
        );
        let json = serde_json::to_string(&read).unwrap();
        assert_eq!(json, format!("{path:?}"), "written as its path");
        assert_eq!(serde_json::from_str::<RateTrace>(&json).unwrap(), read);
        let listed: RateTrace = serde_json::from_str("[0,3,3,20]").unwrap();
        assert_eq!(listed.opportunities_ms(), read.opportunities_ms());
        assert_eq!(serde_json::to_string(&listed).unwrap(), "[0,3,3,20]");
        assert!(serde_json::from_str::<RateTrace>("[]").unwrap().is_empty());
    }

    #[test]
    fn errors_name_file_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bad.trace");
        for (text, hint) in [
            ("1\n2\nthree\n", "line 3"),
            ("1.5\n", "line 1"),
            ("5\n4\n", "entry 2 goes back"),
            ("0\n0\n", "above 0"),
            ("\n", "is empty"),
            ("99999999999\n", "at most"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = RateTrace::read(&path).unwrap_err().to_string();
            let whole = error.contains(hint) && error.contains("bad.trace");
            assert!(whole && !error.contains('\n'), "{error}");
        }
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for odd in [&pipe, dir.path()] {
            let error = RateTrace::read(odd).unwrap_err().to_string();
            assert!(error.contains("is no regular file"), "{error}");
        }
        let error = RateTrace::read(Path::new("/nonexistent")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent"));
    }
}
