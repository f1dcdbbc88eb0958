// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The exporter's process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A directory for sockets, and a configuration file that names it.
pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("directory");
        fs::create_dir(dir.path().join("run")).expect("run");
        let place = Self { dir };
        let text = format!("runtime_dir = \"{}\"\n", place.run().display());
        fs::write(place.config(), text).expect("configuration");
        place
    }

    /// Where agents have their sockets.
    pub fn run(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("lasthop.toml")
    }

    /// A file beside them.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The exporter with these arguments.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-exporter"));
        command.arg("--config").arg(self.config()).args(args);
        command
    }

    /// Starts one that serves.
    pub fn serve(&self, args: &[&str]) -> Exporter {
        let mut command = self.command(&["--listen", "127.0.0.1:0"]);
        let mut child = command
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .expect("exporter");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let at = line
            .trim()
            .strip_prefix("lasthop-exporter: serving http://")
            .and_then(|rest| rest.strip_suffix('/'));
        let at = at.unwrap_or_else(|| panic!("it said {line:?}"));
        Exporter {
            at: at.parse().expect("address"),
            child,
        }
    }
}

/// An exporter that serves; dropping it kills it.
pub struct Exporter {
    pub at: SocketAddr,
    pub child: Child,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kilobytes that a process has in memory.
pub fn resident_kib(pid: u32) -> u64 {
    let text = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    let text = text.expect("/proc");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    kib.expect("VmRSS").trim().parse().expect("a number")
}
