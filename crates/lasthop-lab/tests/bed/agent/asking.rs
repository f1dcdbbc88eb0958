// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Who only asks a daemon, or tells it something.

use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;

use super::{able, fast_link, lasthop, serve};

/// Whatever is wrong in the default file, which is for those who serve, who serves can be asked.
#[test]
fn a_wrong_line_keeps_nobody_from_asking() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let (agent, _) = serve(&bed, "[device.wl0]\n");
    let run = |program: &str, words: &str| {
        // An /etc of its own has nothing but that file.
        let program = find_binary(program).expect("program");
        let script = format!(
            "mount -t tmpfs none /etc && mkdir /etc/lasthop && echo colour = 1 >/etc/lasthop/lasthop.toml && exec {} {words} 2>&1",
            program.display()
        );
        bed.command(Host::Bs, &["unshare", "-m", "sh", "-c", &script])
    };
    for (program, words, says) in [
        ("lasthop", "status", "wl0"),
        ("lasthop", "link wl0 down", "connections told"),
        ("lasthop", "flows", "no connections"),
        ("lasthop-exporter", "--textfile /etc/a.prom", ""),
    ] {
        let said = run(program, words).expect(words);
        let wrong = format!("{program}: /etc/lasthop/lasthop.toml:1: ");
        assert!(said.starts_with(&wrong) && said.contains(says), "{said}");
    }
    // Who has the files read again is to hear what is wrong in them.
    let error = run("lasthop", "reload").expect_err("a wrong line");
    assert!(!format!("{error:#}").contains("asking in"), "{error:#}");
    agent.stop().expect("stop");
}

/// Scripts go by the code.
#[test]
fn what_could_not_be_done_is_an_error() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let nobody = lasthop(&bed, &["key", "reload"]).expect_err("nobody is there");
    assert!(format!("{nobody:#}").contains("nothing is served"));
    let mut agent = bed.start_waiting_agent("rack", &[]).expect("agent");
    assert!(lasthop(&bed, &["link", "wl0", "down"]).is_ok());
    bed.lossy_unplug().expect("unplug");
    agent
        .wait_for_line("lasthop: wl0 is gone")
        .expect("noticed");
    let error = lasthop(&bed, &["link", "wl0", "down"]).expect_err("nobody was told");
    let error = format!("{error:#}");
    assert!(
        error.ends_with("lasthop: wl0 down: the device is away"),
        "{error}"
    );
    agent.stop().expect("stop");
}
