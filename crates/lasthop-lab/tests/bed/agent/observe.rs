// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop observe`: what it says of a hop is what happened there, and it touches nothing.

use std::io::Read;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lasthop_core::{Bypass, parse};
use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};

use super::{Sets, able, able_in_peace, counter, fast_link, flows, lasthop, lost, run, wait_until};

fn attached(bed: &TestBed) -> bool {
    let status = lasthop(bed, &["status", "-j"]).expect("status");
    status.contains("\"state\":\"attached\"")
}

/// What is observed while `work` goes on: the last line, once it is interrupted.
fn observed(bed: &TestBed, work: impl FnOnce()) -> Value {
    let binary = find_binary("lasthop").expect("lasthop");
    let start = || {
        Command::new(binary)
            .args(["observe", "wl0", "-j"])
            .stdout(Stdio::piped())
            .spawn()
    };
    let observer = bed.namespace(Host::Bs).run(start).expect("entered");
    let observer = observer.expect("started");
    wait_until("it is attached", || (attached(bed), String::new()));
    work();
    kill(Pid::from_raw(observer.id() as i32), Signal::SIGINT).expect("signal");
    let output = observer.wait_with_output().expect("its end");
    assert!(output.status.success(), "{}", output.status);
    let text = String::from_utf8(output.stdout).expect("text");
    let last = text.lines().last().expect("a line");
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(last["final"], true);
    last
}

/// Losses by the emulator and by the sender's retransmissions are the same; nothing else is made of them.
#[test]
fn losses_are_those_of_the_hop() {
    if !able_in_peace() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let last = observed(&bed, || {
        for cc in ["reno", "cubic"] {
            run(&bed, Transfer::new().bytes(4_000_000).cc(cc));
        }
    });
    let air = bed.emulator_stats().expect("emulator").air.a_to_b;
    eprintln!("lost {}, seen {last}", air.data_lost);
    assert!(air.data_lost > 80, "the hop lost only {}", air.data_lost);
    // The link's are the link's, and all are the link's and its queue's, which a busy machine may overflow.
    for (name, there) in [("link_lost", air.data_lost), ("lost", lost(&bed))] {
        let seen = last[name].as_u64().expect("a number");
        bound!(
            seen.abs_diff(there) * 10 <= there,
            "{name} {seen} of {there}"
        );
    }
    assert_eq!(last["flows"], 2);
    assert_eq!(last["verdict"][0]["finding"], "worth_it", "{last}");
    assert_eq!(last["settings"]["scheme"], "rack");
    // 50 Mbit/s with headers, as far as a busy machine's emulator shows it.
    let link = last["link_mbit"].as_f64().expect("a number");
    bound!((30.0..65.0).contains(&link), "{link}");
    assert!(!attached(&bed), "it is over");
    bed.down().expect("nothing is left");
}

/// A hop that loses nothing is not worth an agent, and who says so is right: "not worth it" is a verdict.
#[test]
fn no_loss_is_not_worth_it() {
    if !able_in_peace() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let last = observed(&bed, || {
        run(&bed, Transfer::new().bytes(12_000_000).cc("cubic"));
    });
    bound!(last["verdict"][0]["finding"] == "not_worth_it", "{last}");
    let pct = last["link_loss_pct"].as_f64().expect("a number");
    bound!(pct <= 0.05, "{last}");
    bound!(last["settings"] == serde_json::json!({}), "{last}");
    bed.down().expect("nothing is left");
}

/// A device that is served by a scheme which acts is not observed, one that watches is asked, and by a
/// reload the one becomes the other under a connection that goes on.
#[test]
fn from_watching_to_helping() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    let config = directory.path().join("lasthop.toml");
    let write = |scheme: &str| {
        let text = format!("[device.wl0]\nscheme = \"{scheme}\"\n");
        std::fs::write(&config, text).expect("file");
    };
    write("shadow");
    let mut agent = bed.start_daemon(&config).expect("daemon");
    let transfer = Transfer::new().bytes(16_000_000).cc("reno");
    let running = transfer.deadline(super::PATIENCE).start(&bed);
    let running = running.expect("transfer");
    let args = ["observe", "wl0", "-j", "--duration", "0s"];
    wait_until("a loss is seen", || {
        let text = lasthop(&bed, &args).expect("observe");
        let line: Value = serde_json::from_str(text.trim()).expect("JSON");
        (line["link_lost"].as_u64() > Some(0), text)
    });
    assert_eq!(agent.status().expect("status")["cache_bytes"], 0);
    assert_eq!(counter(&mut agent, "local_retransmits"), 0);
    write("rack");
    lasthop(&bed, &["reload"]).expect("reload");
    wait_until("a loss is repaired", || {
        let repairs = counter(&mut agent, "local_retransmits");
        (repairs > 0, repairs.to_string())
    });
    assert_eq!(counter(&mut agent, "retransmit_errors"), 0);
    let refused = format!("{:#}", lasthop(&bed, &args).expect_err("rack acts"));
    assert!(
        refused.contains("is attached with scheme rack"),
        "{refused}"
    );
    write("shadow");
    lasthop(&bed, &["reload"]).expect("reload");
    assert_eq!(flows(&bed).len(), 1);
    super::check(&running.wait().expect("transfer"));
    agent.stop().expect("stop");
    bed.down().expect("nothing is left");
}

/// TCP over IPv4 as it passed a device, without what a router changes: the time to live and its sum.
type Passed = Vec<Vec<u8>>;

/// What passes `device`: towards MH, and from it.
fn listen(device: &str, until: &AtomicBool) -> [Passed; 2] {
    let any = i32::from((libc::ETH_P_ALL as u16).to_be());
    let mut socket =
        Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(any))).expect("packet socket");
    socket.set_recv_buffer_size(64 << 20).expect("room");
    let name = std::ffi::CString::new(device).expect("a name");
    // SAFETY: a string that ends, read only.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) } as i32;
    // SAFETY: integers only.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    // SAFETY: an address of that size, which outlives the call.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as u32,
        )
    };
    assert_eq!(bound, 0, "bind");
    let pause = Duration::from_millis(200);
    socket.set_read_timeout(Some(pause)).expect("timeout");
    let mut packet = vec![0; 1 << 16];
    let mut passed = [Passed::new(), Passed::new()];
    loop {
        match socket.read(&mut packet) {
            Ok(n) => sort(&packet[..n], &mut passed),
            Err(_) if until.load(Ordering::Relaxed) => return passed,
            Err(_) => {}
        }
    }
}

/// By its addresses a packet goes one way or the other.
fn sort(packet: &[u8], passed: &mut [Passed; 2]) {
    const L3: usize = 14;
    if matches!(
        parse(packet, L3 as u32, None, true),
        Err(Bypass::NotTcp | Bypass::Malformed)
    ) {
        return;
    }
    let length = usize::from(u16::from_be_bytes([packet[L3 + 2], packet[L3 + 3]]));
    let mut bytes = packet[L3..L3 + length].to_vec();
    bytes[8] = 0;
    bytes[10..12].fill(0);
    let towards_mh = bytes[16..20] == [10, 2, 0, 2];
    passed[usize::from(!towards_mh)].push(bytes);
}

/// Captures of both devices of BS while it is observed: the same packets in the same order, byte for byte.
#[test]
fn no_byte_changes() {
    if !able() {
        return;
    }
    let link = LinkOptions {
        loss: 0.05,
        ..fast_link(0.05)
    };
    let bed = TestBed::up(&link).expect("test bed");
    let until = AtomicBool::new(false);
    let [wired, lossy] = thread::scope(|scope| {
        let over = Sets(&until);
        let captures = ["eth0", "wl0"].map(|device| {
            let (namespace, until) = (bed.namespace(Host::Bs).clone(), &until);
            scope.spawn(move || namespace.run(|| listen(device, until)).expect("entered"))
        });
        let last = observed(&bed, || {
            run(&bed, Transfer::new().bytes(2_000_000).cc("cubic"));
        });
        assert!(last["link_lost"].as_u64() > Some(20), "{last}");
        drop(over);
        captures.map(|capture| capture.join().expect("no panic"))
    });
    for (way, (before, after)) in ["data", "ACKs"].iter().zip(wired.iter().zip(&lossy)) {
        assert!(before.len() > 500, "{way}: {}", before.len());
        assert_eq!(before.len(), after.len(), "{way}");
        let differs = before.iter().zip(after).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{way}");
    }
    bed.down().expect("nothing is left");
}
