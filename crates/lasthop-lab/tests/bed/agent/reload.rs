// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop daemon` and `lasthop reload`: what is new applies to the connections that there are, and
//! nothing of them is lost.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::{RunningTransfer, Transfer};
use lasthop_lab::data::host::Host;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::devices::programs_attached;
use super::{
    able, able_alone, counter, end, fast_link, serve, start, start_endless, told, wait_until,
    wait_until_empty,
};

/// A daemon on the base station, and its file.
struct Served {
    bed: TestBed,
    agent: AgentHandle,
    directory: TempDir,
}

impl Served {
    fn start(loss: f64, text: &str) -> Self {
        let bed = TestBed::up(&fast_link(loss)).expect("test bed");
        let directory = tempfile::tempdir().expect("directory");
        fs::write(directory.path().join("lasthop.toml"), text).expect("file");
        let agent = bed.start_daemon(&directory.path().join("lasthop.toml"));
        Self {
            agent: agent.expect("daemon"),
            bed,
            directory,
        }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("lasthop.toml")
    }

    /// `lasthop reload` with this in the file: its lines, and what it complains of.
    fn reload(&self, text: &str) -> (Vec<Value>, String) {
        fs::write(self.file(), text).expect("file");
        reload(&self.bed)
    }
}

fn reload(bed: &TestBed) -> (Vec<Value>, String) {
    read(start_reload(bed))
}

fn start_reload(bed: &TestBed) -> Child {
    let binary = find_binary("lasthop").expect("lasthop");
    let mut command = Command::new(binary);
    command.args(["reload", "-j"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = bed.run_in(Host::Bs, || command.spawn());
    child.expect("namespace").expect("lasthop reload")
}

fn read(child: Child) -> (Vec<Value>, String) {
    let output = child.wait_with_output().expect("lasthop reload");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), errors.is_empty(), "{errors}");
    (lines.collect(), errors)
}

/// What became of wl0 in a reload that nothing is wrong with.
fn of_wl0((lines, errors): (Vec<Value>, String)) -> String {
    assert_eq!(errors, "");
    let line = lines.iter().find(|line| line["dev"] == "wl0");
    line.expect("wl0")["reload"]
        .as_str()
        .expect("a word")
        .to_owned()
}

/// How long nothing arrives at the most, of all connections together, until `over`.
fn longest_pause(running: &RunningTransfer, mut over: impl FnMut() -> bool) -> Duration {
    let (mut at, mut last) = (Instant::now(), running.received_bytes());
    let mut longest = Duration::ZERO;
    while !over() {
        thread::sleep(Duration::from_millis(2));
        let bytes = running.received_bytes();
        if bytes != last {
            longest = longest.max(at.elapsed());
            (at, last) = (Instant::now(), bytes);
        }
    }
    longest.max(at.elapsed())
}

/// Bytes per second of all connections from `since` on.
fn rate(running: &RunningTransfer, (since, bytes): (Instant, u64)) -> f64 {
    (running.received_bytes() - bytes) as f64 / since.elapsed().as_secs_f64()
}

/// So many connections go on for as long as they are needed.
const FEW: usize = 20;

/// Starts connections, and waits until all are known, and have brought some. Not until each has: of two
/// hundred, a few find the queue full for half a minute.
fn under_way(bed: &TestBed, agent: &mut AgentHandle, flows: usize) -> RunningTransfer {
    let mut transfer = Transfer::new().flows(flows);
    if flows > FEW {
        // What they have written when they are to end would take minutes.
        transfer = transfer.bytes(2_000_000);
    }
    let running = start(bed, transfer);
    wait_until("all connections known", || {
        let status = agent.status().expect("status");
        (status["flows"] == flows, status.to_string())
    });
    let some = flows as u64 * 150_000;
    running.wait_for_bytes(some).expect("bytes");
    running
}

/// Parameters, rules and the scheme change under connections that lose packets: none is lost, none
/// begins anew, every byte is right, and data hardly pause. Over `span`, with all the reloads in it, as much
/// arrives as in as long before, but for `loss` of it.
fn under_traffic(flows: usize, span: Duration, loss: f64) {
    let section = |text: &str| format!("[device.wl0]\n{text}\n");
    let mut served = Served::start(0.02, &section("scheme = \"rack\""));
    let running = under_way(&served.bed, &mut served.agent, flows);
    let moment = || (Instant::now(), running.received_bytes());
    let began = moment();
    let before = longest_pause(&running, || began.0.elapsed() > span);
    let rate_before = rate(&running, began);
    let created = counter(&mut served.agent, "flows_created");
    let resumed = counter(&mut served.agent, "resynchronised");
    let began = moment();
    for text in [
        "scheme = \"rack\"\nmax_local = 7",
        "scheme = \"rack\"\nexclude = [\"203.0.113.0/24\"]",
        "scheme = \"sack\"",
        "scheme = \"rack\"",
    ] {
        fs::write(served.file(), section(text)).expect("file");
        let mut child = start_reload(&served.bed);
        let pause = longest_pause(&running, || child.try_wait().expect("wait").is_some());
        assert_eq!(of_wl0(read(child)), "changed", "{text}");
        eprintln!("{flows} flows, {text:?}: longest pause {pause:?}, {before:?} before");
        bound!(
            pause < (4 * before).max(Duration::from_millis(200)),
            "{pause:?}, {before:?} before"
        );
        let status = served.agent.status().expect("status");
        assert!(text.contains(status["scheme"].as_str().expect("scheme")));
    }
    longest_pause(&running, || began.0.elapsed() > span);
    assert!(!running.is_finished(), "the reloads came too late");
    let goodput = rate(&running, began) / rate_before;
    eprintln!("{flows} flows: goodput with reloads {goodput:.3} of that before");
    bound!(goodput >= 1.0 - loss, "{goodput}");
    assert_eq!(of_wl0(reload(&served.bed)), "unchanged");
    end(running);
    assert_eq!(counter(&mut served.agent, "flows_created"), created);
    assert_eq!(counter(&mut served.agent, "resynchronised"), resumed);
    assert!(counter(&mut served.agent, "local_retransmits") > 0);
    wait_until_empty(&mut served.agent);
    served.agent.stop().expect("stop");
    assert_eq!(programs_attached(&served.bed), 0);
}

#[test]
fn connections_go_on_through_reloads() {
    if able() {
        under_traffic(FEW, Duration::from_millis(1_500), 0.5);
    }
}

#[test]
#[ignore = "two hundred connections for more than a minute"]
fn two_hundred_connections_go_on_through_reloads() {
    if able_alone() {
        under_traffic(200, Duration::from_secs(10), 0.05);
    }
}

/// What is excluded in mid-transfer is let go at once, with what was kept of it; what is not excluded any
/// more is taken up.
#[test]
fn rules_are_for_connections_that_there_are() {
    if !able() {
        return;
    }
    let mut served = Served::start(0.01, "[device.wl0]\n");
    let running = start_endless(&served.bed, 4);
    running.wait_for_all_flows().expect("flows");
    let excluded = "[device.wl0]\nexclude = [\"0.0.0.0/0\"]\n";
    assert_eq!(of_wl0(served.reload(excluded)), "changed");
    let status = served.agent.status().expect("status");
    assert_eq!(
        (&status["flows"], &status["cache_bytes"]),
        (&0.into(), &0.into())
    );
    assert_eq!(of_wl0(served.reload("[device.wl0]\n")), "changed");
    wait_until("taken up in mid-stream", || {
        let status = served.agent.status().expect("status");
        (status["flows"] == 4, status.to_string())
    });
    end(running);
    wait_until_empty(&mut served.agent);
}

/// What is wrong in a file is said with its line, and all stays as it is; so does what takes other maps.
#[test]
fn what_is_wrong_changes_nothing() {
    if !able() {
        return;
    }
    let mut served = Served::start(0.0, "[device.wl0]\nscheme = \"snoop\"\n");
    for (text, says) in [
        (
            "[device.wl0]\nscheme = \"snop\"\n",
            "lasthop.toml:2: scheme: no scheme 'snop'",
        ),
        ("[device.wl0\n", "lasthop.toml:1: "),
        (
            "[device.wl0]\nmax_flows = 100\n",
            "wl0: still as before: max_flows can't change",
        ),
        (
            "[device.wl0]\nkey = \"/nonexistent/key\"\n",
            "wl0: still as before: ",
        ),
        (
            "[device.wl0]\nscheme = \"csnoop\"\n",
            "device wl0: scheme csnoop goes by",
        ),
    ] {
        let (_, errors) = served.reload(text);
        assert!(errors.contains(says), "{text:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert_eq!(served.agent.status().expect("status")["scheme"], "snoop");
    }
    assert_eq!(programs_attached(&served.bed), 2);
}

/// Sections come and go, and so do devices; SIGHUP is as good as `lasthop reload`.
#[test]
fn devices_come_and_go_with_their_sections() {
    if !able() {
        return;
    }
    let mut served = Served::start(0.0, "[device.wl0]\n");
    let both = "[device.wl0]\n\n[device.late0]\nscheme = \"snoop\"\n";
    let (lines, errors) = served.reload(both);
    assert_eq!(errors, "");
    let of = |dev: &str| {
        lines
            .iter()
            .find(|line| line["dev"] == dev)
            .expect("a line")
    };
    assert_eq!(
        (&of("wl0")["reload"], &of("late0")["reload"]),
        (&"unchanged".into(), &"added".into())
    );
    let ip = |words: &str| {
        let words: Vec<&str> = ["ip"].into_iter().chain(words.split(' ')).collect();
        served.bed.command(Host::Bs, &words).expect("ip");
    };
    ip("link add late0 type veth peer name late1");
    served
        .agent
        .wait_for_line("lasthop: attached to late0")
        .expect("attached");
    let ip = |words: &str| {
        let words: Vec<&str> = ["ip"].into_iter().chain(words.split(' ')).collect();
        served.bed.command(Host::Bs, &words).expect("ip");
    };
    ip("link del late0");
    served
        .agent
        .wait_for_line("lasthop: late0 is gone")
        .expect("gone");
    fs::write(served.file(), "[device.late0]\n").expect("file");
    kill(Pid::from_raw(served.agent.pid()), Signal::SIGHUP).expect("SIGHUP");
    served
        .agent
        .wait_for_line("lasthop: detached from wl0")
        .expect("detached");
    assert_eq!(programs_attached(&served.bed), 0);
    let (lines, errors) = served.reload("");
    assert_eq!(
        (lines[0]["reload"].as_str(), errors.as_str()),
        (Some("removed"), "")
    );
    let (lines, _) = served.reload("[device.wl0]\n");
    assert_eq!(lines[0]["reload"], "added");
    served
        .agent
        .wait_for_line("lasthop: attached to wl0")
        .expect("attached");
    assert_eq!(programs_attached(&served.bed), 2);
    served.agent.stop().expect("stop");
}

/// `attach` reads its file again, too, and what its command line says wins as before. One daemon is enough
/// for a network namespace.
#[test]
fn attach_reads_its_file_again() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("a.toml");
    fs::write(&file, "max_local = 5\n").expect("file");
    let path = file.to_str().expect("path");
    let mut agent = bed
        .start_agent("snoop", &["--config", path])
        .expect("agent");
    fs::write(&file, "max_local = 6\nscheme = \"rack\"\n").expect("file");
    let (lines, errors) = reload(&bed);
    assert_eq!(
        (lines[0]["reload"].as_str(), errors.as_str()),
        (Some("changed"), "")
    );
    assert_eq!(agent.status().expect("status")["scheme"], "snoop");
    agent.stop().expect("stop");
}

/// Another process takes over under traffic, twice, the second time with another scheme in the file: no
/// connection is lost or begins anew, and data hardly pause. The one from before ends by itself.
fn taken_over(flows: usize) {
    let served = Served::start(0.02, "[device.wl0]\n");
    let Served {
        bed,
        mut agent,
        directory,
    } = served;
    let file = directory.path().join("lasthop.toml");
    let running = under_way(&bed, &mut agent, flows);
    let enough = Instant::now() + Duration::from_millis(1_500);
    let before = longest_pause(&running, || Instant::now() > enough);
    let created = counter(&mut agent, "flows_created");
    for text in ["[device.wl0]\n", "[device.wl0]\nscheme = \"sack\"\n"] {
        fs::write(&file, text).expect("file");
        let was = agent.pid();
        let next = bed.take_over(&file).expect("take over");
        agent.wait().expect("the one from before ends");
        agent = next;
        assert_ne!(agent.pid(), was);
        let enough = Instant::now() + Duration::from_millis(500);
        let pause = longest_pause(&running, || Instant::now() > enough);
        eprintln!("{flows} flows: longest pause {pause:?} after that, {before:?} before");
        bound!(pause < (4 * before).max(Duration::from_millis(200)));
        assert_eq!(programs_attached(&bed), 2);
        let owner = |of: &str| {
            let owner = || lasthop::control::owner_of(Path::new("/run/lasthop"), of);
            bed.run_in(Host::Bs, owner)
                .expect("namespace")
                .expect("lock")
        };
        for of in ["wl0", lasthop::control::DAEMON] {
            assert_eq!(
                owner(of),
                Some(agent.pid() as u32),
                "whose the lock of {of} is"
            );
        }
        assert_eq!(counter(&mut agent, "flows_created"), created);
    }
    wait_until("the scheme of the file", || {
        let status = agent.status().expect("status");
        (status["scheme"] == "sack", status.to_string())
    });
    assert!(!running.is_finished(), "it came too late");
    end(running);
    assert_eq!(counter(&mut agent, "flows_created"), created);
    assert_eq!(counter(&mut agent, "resynchronised"), 0);
    wait_until_empty(&mut agent);
    agent.stop().expect("stop");
    assert_eq!(programs_attached(&bed), 0);
    // A namespace may have the number of one in which an agent was killed.
    let mut left = runtime_files(&bed);
    left.retain(|name| name.starts_with("wl0") || name.starts_with(lasthop::control::DAEMON));
    assert!(left.is_empty(), "{left:?}");
}

/// What is in the runtime directory of the base station's network namespace.
pub(super) fn runtime_files(bed: &TestBed) -> Vec<String> {
    let directory = bed.run_in(Host::Bs, || {
        lasthop::control::directory(Path::new("/run/lasthop"))
    });
    let entries = fs::read_dir(directory.expect("namespace").expect("directory"));
    let names = entries.into_iter().flatten().flatten();
    names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn another_process_takes_over() {
    if able() {
        taken_over(FEW);
    }
}

#[test]
#[ignore = "two hundred connections for more than a minute"]
fn another_process_takes_two_hundred_connections_over() {
    if able_alone() {
        taken_over(200);
    }
}

/// One that can't take over leaves all to the one from before; without one it begins as usual.
#[test]
fn who_cannot_take_over_leaves_all_as_it_is() {
    if !able() {
        return;
    }
    let served = Served::start(0.01, "[device.wl0]\n");
    let running = start_endless(&served.bed, 4);
    running.wait_for_all_flows().expect("flows");
    // No right to load programs.
    let binary = find_binary("lasthop").expect("lasthop");
    let file = served.file();
    let output = served.bed.run_in(Host::Bs, || {
        let mut command = Command::new("setpriv");
        command.args([
            "--bounding-set=-bpf,-sys_admin",
            "--inh-caps=-bpf,-sys_admin",
        ]);
        command
            .arg(binary)
            .args(["daemon", "--take-over", "--config"]);
        command.arg(&file).output()
    });
    let output = output.expect("namespace").expect("setpriv");
    assert!(!output.status.success());
    // Whoever asks and says nothing more is gone.
    let socket = served.bed.run_in(Host::Bs, || {
        lasthop::control::directory(Path::new("/run/lasthop"))
    });
    let socket = socket
        .expect("namespace")
        .expect("directory")
        .join(":daemon.sock");
    for _ in 0..3 {
        let mut stream = UnixStream::connect(&socket).expect("socket");
        writeln!(stream, "hand over").expect("asked");
        let mut first = [0; 1];
        stream.read_exact(&mut first).expect("an answer");
    }
    end(running);
    assert_eq!(
        of_wl0(served.reload("[device.wl0]\nscheme = \"snoop\"\n")),
        "changed"
    );
    assert_eq!(programs_attached(&served.bed), 2);
    let file = served.file();
    served.agent.stop().expect("stop");
    let without_any = served.bed.run_in(Host::Bs, || {
        let mut command = Command::new("timeout");
        command.args(["--preserve-status", "-s", "INT", "60"]);
        command.arg(find_binary("lasthop").expect("lasthop"));
        command
            .args(["daemon", "--take-over", "--config"])
            .arg(file);
        command.stdout(Stdio::piped()).spawn()
    });
    let mut child = without_any.expect("namespace").expect("timeout");
    let mut said = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let attached =
        |line: std::io::Result<String>| line.is_ok_and(|line| line.contains("attached to wl0"));
    assert!(said.any(attached), "it begins as usual");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("SIGINT");
    assert!(child.wait().expect("daemon").success());
}

/// A device that somebody else serves, or whose key can't be read, waits for that alone.
#[test]
fn who_is_at_fault_keeps_nobody_from_being_served() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let key = bed.directory().join("key");
    let text = format!(
        "[device.eth0]\n[device.lo]\nkey = {:?}\n[device.wl0]\n",
        key.display().to_string()
    );
    let claim = || lasthop::control::Control::claim(Path::new("/run/lasthop"), "eth0");
    let other = bed.run_in(Host::Bs, claim).expect("namespace");
    let (mut agent, _) = serve(&bed, &text);
    drop(other.expect("eth0's lock"));
    agent
        .wait_for_line("lasthop: attached to eth0 (")
        .expect("once nobody else serves it");
    let all = told(&bed, "status").into_iter();
    let mut of_lo = all.filter(|status| status["dev"] == "lo");
    let text = of_lo.next().expect("lo")["complaint"].clone();
    let text = text.as_str().expect("a complaint");
    assert!(text.starts_with("lo: key file /"), "{text}");
    agent.stop().expect("stop");
}
