// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The daemon under soak: its file, which changes, reloads and take-overs.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::bed::agent::{AgentHandle, BINARY};
use crate::bed::process::find_binary;
use crate::bed::testbed::TestBed;
use crate::data::host::Host;

/// What the device's section says in turn: schemes that act in different ways, and parameters. The first
/// and every second one is the default scheme, as most soaked for.
const SECTIONS: [&str; 10] = [
    "scheme = \"rack\"",
    "scheme = \"rack\"\nmax_local = 7\ntarget = \"8ms\"",
    "scheme = \"snoop\"",
    "scheme = \"rack\"\nqueue_guard = false",
    "scheme = \"sack\"\nbrake = true",
    "scheme = \"rack\"\nexclude = [\"203.0.113.0/24\"]",
    "scheme = \"slack\"",
    "scheme = \"rack\"\nclock = \"off\"\nsuppress = \"off\"",
    "scheme = \"shadow\"",
    "scheme = \"rack\"\nhold_max = \"500ms\"",
];

/// The daemon, and a reload that is under way.
pub(super) struct Served<'a> {
    bed: &'a TestBed,
    config: PathBuf,
    pub(super) agent: AgentHandle,
    section: usize,
    reload: Reload,
}

/// A `lasthop reload` that is under way, and since when. Dropping it ends it.
#[derive(Default)]
struct Reload(Option<(Child, Instant)>);

/// What came of a reload.
pub(super) struct Reloaded {
    pub(super) section: &'static str,
    pub(super) took_s: f64,
    /// Why it failed.
    pub(super) failure: Option<String>,
}

impl<'a> Served<'a> {
    pub(super) fn start(bed: &'a TestBed) -> Result<Self> {
        let config = bed.directory().join("soak.toml");
        write(&config, SECTIONS[0])?;
        Ok(Self {
            agent: bed.start_daemon(&config)?,
            bed,
            config,
            section: 0,
            reload: Reload::default(),
        })
    }

    /// Has the daemon read the next section; does not wait for it.
    pub(super) fn begin_reload(&mut self) -> Result<()> {
        self.section = (self.section + 1) % SECTIONS.len();
        write(&self.config, SECTIONS[self.section])?;
        let mut command = Command::new(find_binary(BINARY)?);
        command.args(["reload", "-j"]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.bed.run_in(Host::Bs, || command.spawn())?;
        let child = child.context("lasthop reload: cannot start it")?;
        self.reload.0 = Some((child, Instant::now()));
        Ok(())
    }

    /// Whether the daemon reads, or another one may take over.
    pub(super) fn is_reloading(&self) -> bool {
        self.reload.0.is_some()
    }

    /// What came of a reload, once that is over.
    pub(super) fn reloaded(&mut self) -> Result<Option<Reloaded>> {
        let ended = match &mut self.reload.0 {
            Some((child, _)) => child.try_wait()?.is_some(),
            None => false,
        };
        let Some((child, began)) = self.reload.0.take_if(|_| ended) else {
            return Ok(None);
        };
        let output = child.wait_with_output()?;
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let changed = lines.lines().any(|line| {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            line["dev"] == "wl0" && line["reload"] == "changed"
        });
        let said = || {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            format!("{} {}", lines.trim(), errors.trim())
        };
        Ok(Some(Reloaded {
            section: SECTIONS[self.section],
            took_s: began.elapsed().as_secs_f64(),
            failure: (!changed).then(said),
        }))
    }

    /// Lets another process serve what this one does; the one from before ends by itself.
    pub(super) fn take_over(&mut self) -> Result<()> {
        if self.is_reloading() {
            bail!("a take-over in mid-reload");
        }
        let next = self.bed.take_over(&self.config).context("take-over")?;
        std::mem::replace(&mut self.agent, next)
            .wait()
            .context("the daemon that was taken over")
    }

    /// Ends the daemon.
    pub(super) fn stop(self) -> Result<()> {
        self.agent.stop()
    }
}

impl Drop for Reload {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn write(config: &PathBuf, section: &str) -> Result<()> {
    // Connections that rest for longer are forgotten, and picked up again in mid-stream.
    let text = format!(
        "memory = \"448MiB\"\nmax_flows = 32768\ncache_total = \"128MiB\"\nidle = \"10s\"\n\
         [device.wl0]\n{section}\n"
    );
    fs::write(config, text).with_context(|| format!("cannot write {}", config.display()))
}
