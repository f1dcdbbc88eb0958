// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The nodes for Mininet (contrib/mininet): its example with the router and with the switch, in a network
//! namespace of its own, for Mininet sets sysctls where it runs.

use std::path::Path;
use std::process::Command;

use lasthop_lab::bed::namespace::Namespace;
use lasthop_lab::bed::{agent, netns, process};
use serde_json::Value;

/// The one that Debian's package of Mininet is for.
const PYTHON: &str = "/usr/bin/python3";

/// Gone when dropped.
struct Around(Namespace);

impl Drop for Around {
    fn drop(&mut self) {
        if let Err(error) = netns::remove_name(self.0.name()) {
            eprintln!("{error:#}");
        }
    }
}

/// Runs the example; what it says of the run without and of that with the agent.
fn example(name: &str, words: &[&str]) -> Option<[Value; 2]> {
    if super::skipped_alone(name) {
        return None;
    }
    if let Some(why) = agent::why_not() {
        super::skip(name, why);
        return None;
    }
    if !Command::new(PYTHON)
        .args(["-c", "import mininet"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        super::skip(name, "Mininet is not installed (package mininet)");
        return None;
    }
    let around =
        Around(netns::create(&format!("lasthop-mn{}-air", std::process::id())).expect("namespace"));
    let binaries = process::find_binary("lasthop").expect("lasthop");
    let binaries = binaries.parent().expect("a directory").display();
    let (binaries, root) = (
        format!("LASTHOP_BIN_DIR={binaries}"),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."),
    );
    let script = root.join("contrib/mininet/example.py");
    let script = script.to_str().expect("path");
    // No compiled files beside the sources.
    let mut command = vec![
        "env",
        &binaries,
        "PYTHONDONTWRITEBYTECODE=1",
        PYTHON,
        script,
    ];
    command.extend(["--json", "--bytes", "4000000"]);
    command.extend(words);
    let said = process::output(Some(&around.0), &command).expect("the example");
    let runs: Vec<Value> = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    Some(
        runs.try_into()
            .unwrap_or_else(|_| panic!("not two runs: {said}")),
    )
}

fn repaired(name: &str, words: &[&str]) {
    let Some([without, with]) = example(name, words) else {
        return;
    };
    eprintln!("{without}\n{with}");
    let count = |run: &Value, key: &str| run[key].as_u64().expect("a number");
    for run in [&without, &with] {
        assert_eq!(run["content_ok"], true, "{run}");
        // 2,800 frames, of which 2 % are lost.
        assert!(count(run, "lost") >= 25, "{run}");
    }
    assert_eq!(count(&without, "local_retransmits"), 0);
    bound!(count(&without, "sender_resent") * 4 >= count(&without, "lost") * 3);
    let (lost, repairs) = (count(&with, "lost"), count(&with, "local_retransmits"));
    bound!(repairs * 4 >= lost * 3, "{with}");
    bound!(count(&with, "sender_resent") * 2 <= lost, "{with}");
}

#[test]
fn a_router_in_mininet() {
    repaired("a_router_in_mininet", &[]);
}

#[test]
fn a_switch_in_mininet() {
    repaired("a_switch_in_mininet", &["--switch"]);
}
