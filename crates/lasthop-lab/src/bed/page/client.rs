// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! curl at the mobile host: one process per load of the page, and so new connections for each.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::Signal;

use super::{CLIENT_TOOL, Page, find_tool};
use crate::bed::namespace::Namespace;
use crate::bed::process::{Lifetime, Managed};
use crate::bed::testbed::TestBed;
use crate::data::host::Host;
use crate::data::page::{PageOptions, Protocol};
use crate::data::switch::Switch;

/// Of curl's `--write-out`, per object: how many connections were made for it.
const FORMAT: &str = "%{num_connects}\\n";

/// What one load came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    /// From curl's start to its end; none if something is missing or wrong.
    pub elapsed_ns: Option<u64>,
    /// Bytes of objects that arrived.
    pub bytes: u64,
    /// Connections that were made.
    pub connections: u32,
    /// What is missing or wrong.
    pub failure: Option<String>,
}

/// What loads a page again and again.
#[derive(Debug)]
pub struct Client {
    program: PathBuf,
    args: Vec<String>,
    directory: PathBuf,
    namespace: Namespace,
}

impl Client {
    /// Prepares to load the page that is served at `server`.
    ///
    /// # Errors
    /// curl is missing, or its files cannot be written.
    pub fn new(
        bed: &TestBed,
        page: &Page,
        options: &PageOptions,
        server: SocketAddr,
    ) -> Result<Self> {
        let directory = bed.directory().join("client");
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        let list = directory.join("objects");
        let text = object_list(page, options.protocol, server, &directory);
        fs::write(&list, text).with_context(|| format!("cannot write {}", list.display()))?;
        Ok(Self {
            program: find_tool(CLIENT_TOOL)?,
            args: arguments(options, &list),
            directory,
            namespace: bed.namespace(Host::Mh).clone(),
        })
    }

    /// Loads the page once, for as long as `patience` lasts, and compares every object.
    ///
    /// # Errors
    /// curl cannot be run, or the user interrupts. Objects that are missing or wrong are no error
    /// but part of the load.
    pub fn load(&self, page: &Page, patience: Duration) -> Result<Load> {
        self.forget(page)?;
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        let lifetime = Lifetime::WithLab(Signal::SIGKILL);
        let begin = Instant::now();
        let mut curl = Managed::spawn(command, CLIENT_TOOL, &self.namespace, lifetime, None)?;
        let ended = curl.wait_or_none(patience)?;
        let elapsed_ns = begin.elapsed().as_nanos() as u64;
        let said = match ended {
            Some(status) if status.success() => None,
            Some(_) => curl.check_running().err().map(|error| error.to_string()),
            None => {
                curl.kill()?;
                Some(format!("not loaded within {} s", patience.as_secs()))
            }
        };
        let lines = curl.rest_of_lines();
        let connections = lines
            .iter()
            .filter_map(|line| line.parse::<u32>().ok())
            .sum();
        let (bytes, wrong) = self.compare(page)?;
        let failure = said.or(wrong);
        Ok(Load {
            elapsed_ns: failure.is_none().then_some(elapsed_ns),
            bytes,
            connections,
            failure,
        })
    }

    /// What the load before has left.
    fn forget(&self, page: &Page) -> Result<()> {
        for object in 0..page.sizes_bytes().len() {
            let path = file(&self.directory, object);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(e).with_context(|| format!("cannot remove {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Bytes that arrived, and what is the matter with the first object that is not as it should
    /// be.
    fn compare(&self, page: &Page) -> Result<(u64, Option<String>)> {
        let (mut total_bytes, mut wrong) = (0, None);
        for (object, bytes) in page.sizes_bytes().iter().enumerate() {
            let path = file(&self.directory, object);
            let got = match fs::read(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
                other => other.with_context(|| format!("cannot read {}", path.display()))?,
            };
            total_bytes += got.len() as u64;
            if wrong.is_none() {
                wrong = match page.content(object).first_wrong(0, &got) {
                    Some(position) => Some(format!("object {object} differs at byte {position}")),
                    None if got.len() as u64 == *bytes => None,
                    None => Some(format!("object {object}: {} of {bytes} bytes", got.len())),
                };
            }
        }
        Ok((total_bytes, wrong))
    }
}

fn file(directory: &Path, object: usize) -> PathBuf {
    directory.join(format!("object-{object}"))
}

/// A file for curl's `--config`: what to fetch and where to put it.
fn object_list(page: &Page, protocol: Protocol, server: SocketAddr, directory: &Path) -> String {
    let scheme = match protocol {
        Protocol::Http1 => "http",
        Protocol::Http2 => "https",
    };
    let line = |object: usize| {
        let path = file(directory, object);
        format!(
            "url = {scheme}://{server}/{object}\noutput = {}\n",
            path.display()
        )
    };
    (0..page.sizes_bytes().len()).map(line).collect()
}

fn arguments(options: &PageOptions, list: &Path) -> Vec<String> {
    // No configuration of the user's, no proxy, no progress; an error page is an error.
    let mut args = [
        "-q",
        "--noproxy",
        "*",
        "--globoff",
        "--silent",
        "--show-error",
        "--fail",
        "--parallel",
    ]
    .map(str::to_owned)
    .to_vec();
    match options.protocol {
        // At once: curl would otherwise wait for the first connection, to see whether all objects
        // can go over it.
        Protocol::Http1 => {
            args.extend(["--http1.1", "--parallel-immediate"].map(str::to_owned));
            args.extend([
                "--parallel-max".to_owned(),
                options.connections().to_string(),
            ]);
        }
        // That very wait is wanted here.
        Protocol::Http2 => {
            args.extend(["--http2", "--insecure"].map(str::to_owned));
            let most = options.objects.min(300); // the most that curl takes
            args.extend(["--parallel-max".to_owned(), most.to_string()]);
        }
    }
    if options.keepalive == Switch::Off {
        args.extend(["--header", "Connection: close"].map(str::to_owned));
    }
    args.extend(["--write-out".to_owned(), FORMAT.to_owned()]);
    args.extend(["--config".to_owned(), list.display().to_string()]);
    args
}

/// Says which loads made another number of connections than `expected`, if any did.
pub fn odd_connections(loads: &[Load], expected: u32) -> Option<String> {
    let good = loads.iter().filter(|load| load.failure.is_none());
    let odd: Vec<u32> = good
        .map(|load| load.connections)
        .filter(|connections| *connections != expected)
        .collect();
    (!odd.is_empty()).then(|| {
        format!(
            "{} loads made {odd:?} connections instead of {expected}",
            odd.len()
        )
    })
}
