// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What attach needs runs out at each step of it: one line says so, and nothing is left.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use lasthop_lab::bed::process::{Lifetime, Managed, find_binary};
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::way::Way;
use nix::sys::signal::Signal;

use super::devices::programs_attached;
use super::{PATIENCE, able, fast_link, run, skip};

/// So many descriptors are enough.
const DESCRIPTORS: u64 = 84;

/// Seconds after which one that attached is ended: what attaching takes while others load their programs.
const LONG_ENOUGH: &str = "6";

/// Runs `lasthop attach wl0 ARGS`, ended by SIGTERM if it works.
fn attach(bed: &TestBed, prepare: impl FnOnce(&mut Command) + Send) -> Output {
    let binary = find_binary("lasthop").expect("lasthop");
    bed.run_in(Host::Bs, || {
        let mut command = Command::new("timeout");
        command.args(["--preserve-status", LONG_ENOUGH]);
        command.arg(&binary).args(["attach", "wl0", "--once"]);
        prepare(&mut command);
        command.output()
    })
    .expect("namespace")
    .expect("attach")
}

/// Whether it attached; if not, it must have said why.
fn attached(bed: &TestBed, what: &str, output: &Output) -> bool {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        programs_attached(bed),
        0,
        "{what}: something stays attached"
    );
    if output.status.success() {
        assert!(out.contains("attached to wl0"), "{what}: {out}{error}");
        return true;
    }
    assert_eq!(output.status.code(), Some(1), "{what}: {out}{error}");
    assert_eq!(error.lines().count(), 1, "{what}: {error}");
    assert!(error.starts_with("lasthop: "), "{what}: {error}");
    false
}

#[test]
fn descriptors_run_out() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    for (refused, most) in (6..=DESCRIPTORS).step_by(3).enumerate() {
        let output = attach(&bed, |command| {
            let limit = libc::rlimit {
                rlim_cur: most,
                rlim_max: most,
            };
            // SAFETY: one system call, between fork and exec.
            unsafe {
                command.pre_exec(move || {
                    match libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) {
                        0 => Ok(()),
                        _ => Err(std::io::Error::last_os_error()),
                    }
                });
            }
        });
        if attached(&bed, &format!("{most} descriptors"), &output) {
            assert!(refused > 3, "it needs only {most}");
            return;
        }
    }
    panic!("it needs more than {DESCRIPTORS} descriptors");
}

/// `lasthop attach` with small tables, and what strace says of its calls of bpf(2), one per line:
/// thread, call. From the `n`-th of each thread on, if that is given, they find no memory.
fn attach_traced(bed: &TestBed, n: Option<usize>) -> (Output, Vec<String>) {
    let log = tempfile::NamedTempFile::new().expect("file");
    let config = tempfile::NamedTempFile::new().expect("file");
    std::fs::write(&config, "cache_total = \"1MiB\"\nmax_flows = 64\n").expect("configuration");
    let binary = find_binary("lasthop").expect("lasthop");
    let output = bed
        .run_in(Host::Bs, || {
            let mut command = Command::new("timeout");
            command.args(["--preserve-status", LONG_ENOUGH, "strace", "-f", "-qq"]);
            command.arg("-o").arg(log.path()).args(["-e", "trace=bpf"]);
            if let Some(n) = n {
                command.args(["-e", &format!("inject=bpf:error=ENOMEM:when={n}+")]);
            }
            command.arg(&binary).args(["attach", "wl0", "--once"]);
            command.arg("--config").arg(config.path()).output()
        })
        .expect("namespace")
        .expect("attach");
    let text = std::fs::read_to_string(log.path()).expect("trace");
    let calls = text.lines().filter(|line| line.contains("bpf("));
    (output, calls.map(str::to_owned).collect())
}

/// The numbers of the calls, each in its thread, that make a map or a link, load a program, or
/// enter the first or the last entry. libbpf's own questions are programs without a name of ours.
fn calls_that_matter(calls: &[String]) -> Vec<(usize, &str)> {
    let mut numbers = std::collections::HashMap::new();
    let mut chosen = Vec::new();
    let mut entries = Vec::new();
    for call in calls {
        let (thread, call) = call.split_once(' ').expect("a thread");
        let n = numbers.entry(thread).or_insert(0);
        *n += 1;
        let ours = call.contains("prog_name=\"lh_") || call.contains("map_name=\"");
        if call.contains("BPF_MAP_UPDATE_ELEM") {
            entries.push((*n, call));
        } else if call.contains("BPF_LINK_CREATE")
            || (ours && (call.contains("BPF_PROG_LOAD") || call.contains("BPF_MAP_CREATE")))
        {
            chosen.push((*n, call));
        }
    }
    chosen.extend(entries.first().into_iter().chain(entries.last()));
    chosen
}

/// The kernel has no memory for a map, a program, an entry or a link.
#[test]
fn memory_of_the_kernel_runs_out() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("calls of bpf(2) that fail: needs strace");
    }
    let (output, calls) = attach_traced(&bed, None);
    assert!(attached(&bed, "nothing fails", &output));
    let chosen = calls_that_matter(&calls);
    assert!(chosen.len() > 20, "{chosen:#?}");
    // One that fails libbpf tries again in another way; so do all that follow. It also repeats what
    // the verifier was interrupted in, by which the numbers of one run are not those of the next:
    // where the last ones meet nothing of ours, a lower number does.
    for (n, call) in chosen {
        let met = (n.saturating_sub(4)..=n).rev().any(|n| {
            let (output, calls) = attach_traced(&bed, Some(n));
            let ours = calls_that_matter(&calls);
            let hit = ours.iter().any(|(_, call)| call.contains("(INJECTED)"));
            assert!(!hit || !attached(&bed, call, &output), "{call}");
            hit
        });
        assert!(met, "call {n} was not met: {call}");
    }
}

/// The runtime directory's file system has no room for the locks, or for the sockets, of the device and of the process.
#[test]
fn the_disk_is_full() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let dir = tempfile::tempdir().expect("directory");
    let config = dir.path().join("lasthop.toml");
    let disk = dir.path().join("run");
    std::fs::create_dir(&disk).expect("directory");
    let text = format!("runtime_dir = \"{}\"\n", disk.join("lasthop").display());
    std::fs::write(&config, text).expect("configuration");
    let mut reached = false;
    for inodes in 1..=8 {
        // In a mount namespace of its own, which goes with the process.
        let script = format!(
            "mount -t tmpfs -o nr_inodes={inodes},mode=755 full {} && exec timeout --preserve-status {LONG_ENOUGH} \"$0\" attach wl0 --once --config {}",
            disk.display(),
            config.display()
        );
        let binary = find_binary("lasthop").expect("lasthop");
        let output = bed
            .run_in(Host::Bs, || {
                let mut command = Command::new("unshare");
                command.args(["--mount", "sh", "-c", &script]);
                command.arg(&binary).output()
            })
            .expect("namespace")
            .expect("attach");
        reached = attached(&bed, &format!("{inodes} inodes"), &output);
        if reached {
            assert!(inodes > 3, "it needs only {inodes}");
            break;
        }
    }
    assert!(reached, "it needs more than eight inodes");
}

/// An agent on each side of the hop, as the README says for both ways: neither takes the other's
/// packets for anything but a host's.
#[test]
fn two_agents_in_series() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let agent = bed.start_agent("rack", &[]).expect("agent");
    let binary = find_binary("lasthop").expect("lasthop");
    let mut command = Command::new(&binary);
    command.args(["attach", "eth0", "--once"]);
    let mh = bed.namespace(Host::Mh);
    let lifetime = Lifetime::WithLab(Signal::SIGTERM);
    let mut other = Managed::spawn(command, "lasthop", mh, lifetime, None).expect("agent at MH");
    other
        .wait_for_line("lasthop: attached to eth0", PATIENCE)
        .expect("attached");
    for way in [Way::Down, Way::Up] {
        run(&bed, Transfer::new().bytes(4_000_000).direction(way));
    }
    let words = [binary.to_str().expect("path"), "status", "-j"];
    let status = bed.command(Host::Mh, &words).expect("status");
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    assert!(
        status["counters"]["local_retransmits"].as_u64() > Some(30),
        "{status}"
    );
    agent.stop().expect("stop");
    let ended = other.stop(Signal::SIGTERM, PATIENCE).expect("ended");
    assert!(ended.success(), "{ended}");
}
