// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop report`: what somebody needs who is to find out what went wrong on another machine, in one
//! archive without addresses and keys.

mod mask;

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use self::mask::Mask;
use crate::check::{self, Finding};
use crate::config::{self, source_texts};
use crate::tcx::{self, Hook};
use crate::{ask, device};

/// Longest file in the archive; of more only the beginning is there.
const FILE_BYTES: usize = 64 << 20;

const README: &str = "\
What `lasthop report` gathered, for a bug report.

version.txt    version of lasthop, layout of its maps, kernel, architecture
check.jsonl    lasthop check -j, of the machine and the devices that are served
status.jsonl   lasthop status -j
flows.jsonl    lasthop flows -j --why
peers.jsonl    lasthop peers -j
config/        the configuration without comments
programs.txt   BPF programs on the hooks of the devices that are served

IP addresses are ip4-N or ip6-N, layer-2 addresses mac-N, the same address the same name everywhere.
Key files are not read, and what has as many hexadecimal digits as a key is (key). As they are: names
of devices (but for an address in them) and of files, ports, VLANs, lengths of prefixes, counters,
times. No packet is in it, no message of the kernel, and no name of a host but what you may have
written into a path or a device's name.
";

/// A file of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: String,
    text: String,
}

fn member(name: &str, text: impl Into<String>) -> Member {
    Member {
        name: name.to_owned(),
        text: text.into(),
    }
}

/// Writes the archive: to `output`, or to a new file that is named by the time. Where it is.
///
/// # Errors
/// There is such a file already, or it can't be written. What could not be found out is said in the
/// archive instead.
pub fn run(config: Option<&Path>, output: Option<&Path>) -> Result<PathBuf> {
    let now = SystemTime::now();
    let path = match output {
        Some(path) => path.to_owned(),
        None => PathBuf::from(format!(
            "lasthop-report-{}.tar.gz",
            humantime::format_rfc3339_seconds(now)
                .to_string()
                .replace(':', "")
        )),
    };
    let name = path.display();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options
        .open(&path)
        .with_context(|| format!("cannot make {name}: say another with -o FILE"))?;
    let archive = archive(masked(gather(config)), now)?;
    file.write_all(&archive)
        .with_context(|| format!("cannot write {name}"))?;
    Ok(path)
}

/// All that there is to say, with addresses.
fn gather(config: Option<&Path>) -> Vec<Member> {
    let runtime_dir = match config::runtime_dir(config) {
        Ok((directory, _)) => directory,
        Err(_) => config::File::default().runtime_dir(), // said below
    };
    let asked = |request| ask::values(&runtime_dir, None, request);
    // First what changes: the checks take a second.
    let (status, flows, peers) = (asked("status"), asked("flows why"), asked("peers"));
    let devices = status
        .as_ref()
        .map_or(Vec::new(), |(status, _)| names(status));
    let mut findings = check::machine();
    findings.push(check::memory(config));
    findings.extend(devices.iter().flat_map(|device| check::device(device)));
    let findings: Vec<Value> = findings.iter().map(Finding::json).collect();
    let mut members = vec![
        member("README.txt", README),
        member("version.txt", version()),
        member("check.jsonl", lines(&findings)),
        member("status.jsonl", answer(status)),
        member("flows.jsonl", answer(flows)),
        member("peers.jsonl", answer(peers)),
        member("programs.txt", programs(&devices)),
    ];
    members.extend(configuration(config));
    members
}

fn names(status: &[Value]) -> Vec<String> {
    let name = |status: &Value| status["dev"].as_str().map(str::to_owned);
    let of_devices = |name: &String| !name.contains(':'); // others are some of its connections
    status.iter().filter_map(name).filter(of_devices).collect()
}

fn version() -> String {
    let machine = nix::sys::utsname::uname().map_or("?".into(), |name| {
        name.machine().to_string_lossy().into_owned()
    });
    format!(
        "lasthop {}, layout {}\nLinux {}, {machine}\n",
        env!("CARGO_PKG_VERSION"),
        lasthop_core::LAYOUT,
        device::kernel().1
    )
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// Lines that were answered, and behind them what was not.
fn answer(answer: Result<(Vec<Value>, Vec<String>)>) -> String {
    match answer {
        Ok((values, silent)) => {
            let silent = silent.iter().map(|line| format!("# {line}\n"));
            lines(&values) + &silent.collect::<String>()
        }
        Err(error) => format!("# {error:#}\n"),
    }
}

fn programs(devices: &[String]) -> String {
    let mut text = String::new();
    for name in devices {
        for hook in [Hook::Ingress, Hook::Egress] {
            let _ = match device::ifindex(name).map(|index| tcx::programs_on(index, hook)) {
                None => writeln!(text, "{name} {hook:?}: the device is away"),
                Some(Err(error)) => writeln!(text, "{name} {hook:?}: {error}"),
                Some(Ok(ids)) => writeln!(text, "{name} {hook:?}: {}", named(&ids)),
            };
        }
    }
    text
}

fn named(ids: &[u32]) -> String {
    let one = |id: &u32| match tcx::program_name(*id) {
        Ok(name) => format!("{id} {name}"),
        Err(error) => format!("{id} ({error})"),
    };
    ids.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The files as they are read, without comments: those are for the people there.
fn configuration(config: Option<&Path>) -> Vec<Member> {
    let texts = match source_texts(config) {
        Ok(texts) => texts,
        Err(error) => return vec![member("config/error.txt", format!("{error:#}\n"))],
    };
    let plain = |(name, text): (PathBuf, String)| {
        let table: Result<toml::Table, _> = toml::from_str(&text);
        let text = match table.map(|table| table.to_string()) {
            Ok(text) => text,
            Err(error) => format!("# {}\n", error.message().replace('\n', " ")),
        };
        member(&format!("config/{}", name.display()), text)
    };
    texts.into_iter().map(plain).collect()
}

/// The same without addresses and keys, in texts and names.
fn masked(members: Vec<Member>) -> Vec<Member> {
    let mut mask = Mask::default();
    let hide = |Member { name, mut text }: Member| {
        if text.len() > FILE_BYTES {
            let end = (0..=FILE_BYTES).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or(0));
            text += "\n# and more\n";
        }
        Member {
            text: mask.text(&text),
            name: mask.text(&name),
        }
    };
    members.into_iter().map(hide).collect()
}

fn archive(members: Vec<Member>, now: SystemTime) -> Result<Vec<u8>> {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for Member { name, text } in members {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_size(text.len() as u64);
        header.set_mtime(seconds);
        tar.append_data(
            &mut header,
            format!("lasthop-report/{name}"),
            text.as_bytes(),
        )?;
    }
    Ok(tar.into_inner()?.finish()?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    const SECRET: &str = "00112233445566778899aabbccddeeff";

    fn unpacked(archive: &[u8]) -> BTreeMap<String, String> {
        let mut tar = tar::Archive::new(GzDecoder::new(archive));
        let read = |entry: std::io::Result<tar::Entry<'_, _>>| {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            (name, text)
        };
        tar.entries().unwrap().map(read).collect()
    }

    /// A configuration with all that must not get out.
    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("key");
        std::fs::write(&key, format!("{SECRET}\n")).unwrap();
        let text = format!(
            "# my host is 203.0.113.9, the key {SECRET}\nexclude = [\"198.51.100.0/24:22\", \"[2001:db8:7::]:80\"]\nruntime_dir = \"{}\"\n[device.wl0]\nkey = \"{}\" # {SECRET}\nmatch = [\"198.51.100.0/24\"]\n",
            directory.path().join("run").display(),
            key.display()
        );
        std::fs::write(directory.path().join("lasthop.toml"), text).unwrap();
        std::fs::create_dir(directory.path().join("conf.d")).unwrap();
        let more = "[device.wl0]\nexclude = [\"192.0.2.1\"]\n";
        std::fs::write(directory.path().join("conf.d/more.toml"), more).unwrap();
        directory
    }

    #[test]
    fn neither_addresses_nor_keys_are_in_the_archive() {
        let directory = directory();
        let file = directory.path().join("lasthop.toml");
        let answers = [
            member(
                "flows.jsonl",
                "{\"mh\":\"198.51.100.0\",\"fh\":\"2001:db8:7::\"}\n",
            ),
            member(
                "peers.jsonl",
                "{\"addr\":\"fe80::7\",\"mac\":\"02:00:5e:10:00:07\"}\n",
            ),
        ];
        let mut members = configuration(Some(&file));
        assert_eq!(members.len(), 2);
        members.extend(answers);
        let files = unpacked(&archive(masked(members), SystemTime::now()).unwrap());
        let all: String = files.values().cloned().collect();
        for secret in [
            SECRET,
            "203.0.113.9",
            "198.51.100",
            "192.0.2.1",
            "2001:db8:7",
            "fe80::7",
            "02:00:5e:10:00:07",
            "my host",
        ] {
            assert!(!all.contains(secret), "{secret} in {files:?}");
        }
        let config = &files["lasthop-report/config/lasthop.toml"];
        let same = "ip4-1/24:22";
        assert!(
            config.contains(same) && config.contains("\"ip4-1/24\""),
            "{config}"
        );
        let flows = &files["lasthop-report/flows.jsonl"];
        assert_eq!(flows, "{\"mh\":\"ip4-1\",\"fh\":\"ip6-2\"}\n");
        assert!(files["lasthop-report/config/conf.d/more.toml"].contains("ip4-3"));
    }

    /// What can't be had is said where it would be, and a file that is there is not overwritten.
    #[test]
    fn a_report_is_made_whatever_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let nothing = directory.path().join("nothing.toml");
        let text = &configuration(Some(&nothing))[0].text;
        assert!(text.contains("nothing.toml"), "{text}");
        std::fs::write(&nothing, "scheme = [\n").unwrap();
        assert!(configuration(Some(&nothing))[0].text.starts_with("# "));
        let error = run(Some(&nothing), Some(&nothing)).unwrap_err();
        assert!(
            format!("{error:#}").contains("say another with -o FILE"),
            "{error:#}"
        );
        let refused = Err(anyhow::anyhow!("no right"));
        assert_eq!(answer(refused), "# no right\n");
        let silent = vec!["wl0: process 3 is busy".to_owned()];
        assert_eq!(
            answer(Ok((vec![serde_json::json!({})], silent))),
            "{}\n# wl0: process 3 is busy\n"
        );
    }

    #[test]
    fn a_file_has_a_bound() {
        let long = vec![member("flows.jsonl", "ä".repeat(FILE_BYTES / 2 + 1))];
        let text = &masked(long)[0].text;
        assert!(text.len() < FILE_BYTES + 20 && text.ends_with("and more\n"));
    }

    /// The page in the archive names each file of it.
    #[test]
    fn the_readme_tells_what_is_in_it() {
        for name in [
            "version.txt",
            "check.jsonl",
            "status.jsonl",
            "flows.jsonl",
            "peers.jsonl",
            "config/",
            "programs.txt",
        ] {
            assert!(README.contains(name), "{name}");
        }
    }
}
