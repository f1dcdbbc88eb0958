// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Agents at the ends of the lossy hops, which find each other where a hop has two, and what the
//! hop's MAC has for them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::LH_POLICY_MAC;
use serde_json::Value;

use crate::base::interrupt;
use crate::bed::agent::{AgentHandle, BINARY};
use crate::bed::process;
use crate::bed::testbed::TestBed;
use crate::data::ends::{Agents, End};
use crate::data::scheme;
use crate::data::topology::Place;

/// HELLOs go out once a second, and it takes three to be believed.
const MEETING_PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);

impl TestBed {
    /// Attaches an agent at each of these ends of each hop, with its role; those of hops that have
    /// two get one key for all, and each has found that at the other end when this returns.
    ///
    /// # Errors
    /// As [`TestBed::start_agent`], and two that do not find each other.
    pub fn start_ends(
        &self,
        agents: Agents,
        scheme: &str,
        extra_args: &[&str],
    ) -> Result<Vec<AgentHandle>> {
        let mut args = vec!["--once"];
        args.extend(extra_args);
        let ends = agents.ends(self.topology());
        let have_partners = agents == Agents::Both;
        let key = have_partners.then(|| self.key_file()).transpose()?;
        args.extend(key.iter().flat_map(|path| ["--key", path]));
        let attach = |end: &End| {
            self.attach(
                &end.place,
                scheme,
                &[&args[..], &["--role", end.role]].concat(),
            )
        };
        let handles = ends.iter().map(attach).collect::<Result<Vec<_>>>()?;
        for end in ends.iter().filter(|_| have_partners) {
            self.wait_for_partner(&end.place)?;
        }
        Ok(handles)
    }

    /// Attaches an agent and records it.
    pub(super) fn attach(&self, place: &Place, scheme: &str, args: &[&str]) -> Result<AgentHandle> {
        let at = (self.station(&place.host)?, place.device.as_str());
        let source = self.mac_events(place, scheme)?;
        let mut args = args.to_vec();
        args.extend(source.iter().flat_map(|path| ["--mac-events", path]));
        let mut agent = AgentHandle::start(at, scheme, &args, self.helper_log(place))?;
        self.note_helper(scheme, agent.process_mut())?;
        Ok(agent)
    }

    fn key_file(&self) -> Result<String> {
        let path = self.directory().join("agents.key");
        let mut command = Command::new(process::find_binary(BINARY)?);
        command.args(["key", "new"]);
        let key = process::run_to_end(None, command, "lasthop key new")?;
        let cannot = || format!("cannot write {}", path.display());
        fs::write(&path, "").with_context(cannot)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).with_context(cannot)?;
        fs::write(&path, key).with_context(cannot)?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// Waits until the agent at that place takes another one's word.
    ///
    /// # Errors
    /// It hears none in time, or does not answer.
    pub fn wait_for_partner(&self, at: &Place) -> Result<()> {
        let begin = Instant::now();
        loop {
            interrupt::check()?;
            let mut command = Command::new(process::find_binary(BINARY)?);
            command.args(["peers", "-j"]);
            let text =
                process::run_to_end(Some(self.station(&at.host)?), command, "lasthop peers")?;
            let peers = text.lines().map(serde_json::from_str::<Value>);
            let mut own = peers.flatten().filter(|peer| peer["dev"] == *at.device);
            if own.any(|peer| peer["state"] == "up") {
                return Ok(());
            }
            if begin.elapsed() > MEETING_PATIENCE {
                bail!(
                    "the agent on {} of {} has found no other one: {}",
                    at.device,
                    at.host,
                    text.trim()
                );
            }
            thread::sleep(POLL);
        }
    }

    /// Where the MAC of the link at `place` reports, if the scheme goes by that.
    fn mac_events(&self, place: &Place, scheme: &str) -> Result<Option<String>> {
        if !scheme::has_policy(scheme, LH_POLICY_MAC) {
            return Ok(None);
        }
        let mut links = self.topology().links.iter();
        let link = links.find(|link| [&link.up, &link.down].contains(&place));
        let link =
            link.with_context(|| format!("no link at {} of {}", place.device, place.host))?;
        scheme::check_mac(scheme, self.link().mac.as_ref())?;
        let control = self.emulator(&link.emulator)?.control();
        Ok(Some(control.to_string_lossy().into_owned()))
    }
}
