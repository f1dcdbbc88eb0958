// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Who may ask: root without rights, and whom root lets read; nobody else, and nobody may command.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use lasthop_lab::bed::process::output;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use tempfile::TempDir;

use super::{able, bed, get, series, start};
use crate::for_everybody;

const READERS: u32 = 64_123;
const NOBODY: &str = "65534";
const UP: &str = "lasthop_up{device=\"wl0\"}";

/// A directory for sockets with this mode, and a configuration file that names it.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new(mode: u32) -> Self {
        let dir = tempfile::tempdir().expect("directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("mode");
        let run = dir.path().join("run");
        fs::DirBuilder::new().mode(0o700).create(&run).expect("run");
        chown(&run, Some(0), Some(READERS)).expect("group");
        fs::set_permissions(&run, fs::Permissions::from_mode(mode)).expect("mode");
        let text = format!("runtime_dir = \"{}\"\n", run.display());
        fs::write(dir.path().join("lasthop.toml"), text).expect("configuration");
        Self { dir }
    }

    fn config(&self) -> String {
        let path = self.dir.path().join("lasthop.toml");
        path.to_str().expect("path").to_owned()
    }

    /// The directory of the agent's namespace.
    fn inner(&self) -> PathBuf {
        let run = self.dir.path().join("run");
        let mut entries = fs::read_dir(run).expect("run");
        entries.next().expect("one").expect("entry").path()
    }

    /// A program as nobody, in this group, or as root without a capability.
    fn as_nobody(&self, program: &Path, group: u32) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", &group.to_string()]);
        command.args(["--clear-groups", "--no-new-privs"]);
        command.arg(program).args(["--config", &self.config()]);
        command
    }
}

fn says(bed: &TestBed, words: &[&str]) -> String {
    match output(Some(bed.namespace(Host::Bs)), words) {
        Ok(text) => text,
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn whom_root_lets_read_may_ask_and_not_command() {
    if !able() {
        return;
    }
    let bed = bed();
    let place = Place::new(0o2750);
    let config = place.config();
    let agent = bed.start_agent("rack", &["--config", &config]);
    let agent = agent.expect("agent");
    let mode = |path: &Path| fs::metadata(path).expect("metadata").mode() & 0o7777;
    assert_eq!(mode(&place.inner()), 0o2750);
    assert_eq!(mode(&place.inner().join("wl0.sock")), 0o770);
    assert_eq!(mode(&place.inner().join("wl0.lock")), 0o600);

    let exporter = for_everybody("lasthop-exporter", place.dir.path());
    let running = start(&bed, place.as_nobody(&exporter, READERS));
    assert_eq!(series(&get(&bed, "/metrics"), UP), Some(1.0));
    drop(running);
    let _other = start(&bed, {
        let mut command = place.as_nobody(&exporter, 65_534);
        command.args(["--expect", "wl0"]);
        command
    });
    let text = get(&bed, "/metrics");
    assert_eq!(series(&text, UP), Some(0.0), "nobody else may");
    let refused = "lasthop_exporter_ask_errors_total{device=\"\",reason=\"directory\"}";
    assert!(series(&text, refused) >= Some(1.0), "{text}");

    let lasthop = for_everybody("lasthop", place.dir.path());
    let lasthop = lasthop.to_str().expect("path");
    let (group, link) = (READERS.to_string(), ["link", "wl0", "down"]);
    let reader = [
        "setpriv",
        "--reuid",
        NOBODY,
        "--regid",
        &group,
        "--clear-groups",
        lasthop,
    ];
    let said = says(&bed, &[&reader[..], &link, &["--config", &config]].concat());
    assert!(said.contains("lets only root tell it that"), "{said}");
    let said = says(
        &bed,
        &[&reader[..], &["status", "--config", &config]].concat(),
    );
    assert!(said.starts_with("wl0: attached"), "{said}");
    let said = says(
        &bed,
        &[&[lasthop][..], &link, &["--config", &config]].concat(),
    );
    assert!(said.starts_with("wl0 down: "), "{said}");

    // A device that is renamed gets another socket, once the agent has given up its rights.
    let rename = |from: &str, to: &str| {
        for words in [
            &["ip", "link", "set", from, "down"][..],
            &["ip", "link", "set", from, "name", to],
            &["ip", "link", "set", to, "up"],
        ] {
            let said = says(&bed, words);
            assert!(said.is_empty(), "{said}");
        }
    };
    rename("wl0", "wl9");
    super::wait_for("another socket", || {
        let socket = place.inner().join("wl9.sock");
        socket.exists().then(|| assert_eq!(mode(&socket), 0o770))
    });
    rename("wl9", "wl0");
    agent.stop().expect("stop");
}

/// The agents' own directory lets in root alone, as ever; who is root needs nothing more.
#[test]
fn root_without_capabilities_is_enough_and_needed() {
    if !able() {
        return;
    }
    let bed = bed();
    let place = Place::new(0o755); // for everybody to enter, but not made for a group
    let config = place.config();
    let agent = bed.start_agent("rack", &["--config", &config]);
    let agent = agent.expect("agent");
    let mode = fs::metadata(place.inner()).expect("metadata").mode();
    assert_eq!(mode & 0o7777, 0o700);
    let exporter = for_everybody("lasthop-exporter", place.dir.path());
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]);
    command.arg(&exporter).args(["--config", &config]);
    let running = start(&bed, command);
    let status = fs::read_to_string(format!("/proc/{}/status", running.id().pid)).expect("status");
    assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
    assert_eq!(series(&get(&bed, "/metrics"), UP), Some(1.0));
    drop(running);
    let socket = place.inner().join("wl0.sock");
    // Ours is the right to command.
    let mut stream = UnixStream::connect(socket).expect("connect");
    stream.write_all(b"link up\n").expect("ask");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("answer");
    assert!(said.starts_with("wl0 up: "), "{said}");
    agent.stop().expect("stop");
}
