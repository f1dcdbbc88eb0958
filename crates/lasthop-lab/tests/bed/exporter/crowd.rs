// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Ten thousand connections: who asks about them waits, the agent does not. What asking takes is printed,
//! for a quiet machine and a release build: `LASTHOP_BIN_DIR=target/release cargo test --test bed
//! ten_thousand -- --ignored --nocapture`.

use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use super::{FRESH, able_alone, get, series, skip, start};

const CONNECTIONS: usize = 10_000;
const AT_ONCE: usize = 64;
const TRIES: usize = 5;

/// Whether so many sockets may be open here; says so if not.
fn may_open() -> bool {
    let needs = CONNECTIONS as u64 + 1_000;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("limit");
    let may = setrlimit(Resource::RLIMIT_NOFILE, needs, most.max(needs)).is_ok();
    if !may {
        skip(&format!("{needs} open files are needed, {most} allowed"));
    }
    may
}

/// Connections from MH to FH that stay. Nobody accepts those: they wait in the listener's queue, and a
/// process that may open but twenty thousand files has room for the other ends.
fn crowd(bed: &TestBed) -> (Socket, Vec<TcpStream>) {
    let at = SocketAddr::from(([10, 1, 0, 2], 7_000));
    for key in ["net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog"] {
        let value = format!("{key}={}", 2 * CONNECTIONS);
        bed.command(Host::Fh, &["sysctl", "-qw", &value])
            .expect("sysctl");
    }
    let listen = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&at.into())?;
        socket.listen(2 * CONNECTIONS as i32).map(|()| socket)
    };
    let listener = bed.run_in(Host::Fh, listen).expect("enter FH");
    let ends = Mutex::new(Vec::new());
    let connect = || {
        thread::scope(|scope| {
            for worker in 0..AT_ONCE {
                let share = (CONNECTIONS + worker) / AT_ONCE;
                let ends = &ends;
                scope.spawn(move || {
                    for _ in 0..share {
                        let stream = TcpStream::connect(at).expect("connect");
                        ends.lock().expect("no panic").push(stream);
                    }
                });
            }
        });
    };
    bed.run_in(Host::Mh, connect).expect("enter MH");
    (
        listener.expect("listen"),
        ends.into_inner().expect("no panic"),
    )
}

/// What `lasthop ARGS` prints on BS, and the median of the times that it takes.
fn timed(bed: &TestBed, args: &[&str]) -> (String, Duration) {
    let binary = find_binary("lasthop").expect("lasthop");
    let run = || {
        let began = Instant::now();
        let output = Command::new(&binary).args(args).output().expect("lasthop");
        assert!(output.status.success(), "{args:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        (text, began.elapsed())
    };
    let mut runs: Vec<_> = (0..TRIES)
        .map(|_| bed.run_in(Host::Bs, run).expect("enter BS"))
        .collect();
    runs.sort_by_key(|(_, time)| *time);
    runs.swap_remove(TRIES / 2)
}

#[test]
#[ignore = "ten thousand connections, for figures"]
fn ten_thousand_connections_are_told_of() {
    if !able_alone() || !may_open() {
        return;
    }
    let link = LinkOptions {
        rate_bps: 100_000_000,
        rtt_ns: 10_000_000,
        local_rtt_ns: 5_000_000,
        loss: 0.01,
        ..LinkOptions::default()
    };
    let bed = TestBed::up(&link).expect("test bed");
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let (listener, ends) = crowd(&bed);
    assert_eq!(ends.len(), CONNECTIONS);
    let exporter = Command::new(find_binary("lasthop-exporter").expect("exporter"));
    let _exporter = start(&bed, exporter);
    let transfer = Transfer::new().flows(4).bytes(100_000_000);
    let running = transfer.deadline(Duration::from_secs(300)).start(&bed);
    let running = running.expect("transfer");
    running.wait_for_all_flows().expect("flows");

    let (flows, time) = timed(&bed, &["flows", "-j"]);
    println!("flows -j {time:?}");
    assert!(flows.lines().count() >= CONNECTIONS);
    for args in [&["flows"][..], &["flows", "--why"], &["status", "-j"]] {
        println!("{} {:?}", args.join(" "), timed(&bed, args).1);
    }
    let top = ["top", "--once", "--interval", "200ms"];
    println!(
        "top, two looks and 200 ms between {:?}",
        timed(&bed, &top).1
    );
    let mut scrapes: Vec<Duration> = (0..TRIES)
        .map(|_| {
            thread::sleep(FRESH);
            let began = Instant::now();
            let text = get(&bed, "/metrics");
            let flows = series(&text, "lasthop_flows{device=\"wl0\"}").expect("flows");
            assert!(flows >= CONNECTIONS as f64, "{flows}");
            began.elapsed()
        })
        .collect();
    scrapes.sort();
    println!("scrape {:?}", scrapes[TRIES / 2]);
    // A heartbeat that came too late would show in what passed without help.
    let status = agent.status().expect("status");
    assert_eq!(status["counters"]["bypass_stale"], 0, "{status}");
    assert!(!running.is_finished(), "nothing passed meanwhile");
    drop(running);
    drop((ends, listener));
    agent.stop().expect("stop");
}
