// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop report`: what is in the archive, and what is not.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use flate2::read::GzDecoder;
use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use serde_json::Value;

use super::{able, end, fast_link, flows, start_endless};

const KEY: &str = "00112233445566778899aabbccddeeff";

#[test]
fn a_report_has_neither_addresses_nor_keys() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.01)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    let path = |name: &str| directory.path().join(name);
    let (config, key, archive) = (path("lasthop.toml"), path("key"), path("report.tar.gz"));
    fs::write(&key, KEY).expect("key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("mode");
    let text = format!(
        "# {KEY}\n[device.wl0]\nscheme = \"snack\"\nkey = \"{}\"\nexclude = [\"203.0.113.77:22\"]\n",
        key.display()
    );
    fs::write(&config, text).expect("file");
    let agent = bed.start_daemon(&config).expect("daemon");
    let running = start_endless(&bed, 2);
    running.wait_for_all_flows().expect("flows");
    let known = flows(&bed);
    assert_eq!(known.len(), 2);
    let link = bed.command(Host::Bs, &["ip", "-j", "link", "show", "wl0"]);
    let link: Value = serde_json::from_str(&link.expect("ip link")).expect("JSON");
    let mac = link[0]["address"].as_str().expect("an address");

    let binary = find_binary("lasthop").expect("lasthop");
    let words = [&binary, &config, &archive].map(|path| path.to_str().expect("path"));
    let words = [words[0], "report", "--config", words[1], "-o", words[2]];
    bed.command(Host::Bs, &words).expect("report");
    end(running);
    let again = bed.command(Host::Bs, &words).expect_err("it is there");
    assert!(
        format!("{again:#}").contains("say another with -o FILE"),
        "{again:#}"
    );
    let mode = fs::metadata(&archive)
        .expect("archive")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    let packed = fs::File::open(&archive).expect("archive");
    let mut bytes = Vec::new();
    GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .expect("gzip");
    let text = String::from_utf8_lossy(&bytes);
    for name in [
        "README.txt",
        "version.txt",
        "check.jsonl",
        "status.jsonl",
        "flows.jsonl",
        "peers.jsonl",
        "programs.txt",
        "config/lasthop.toml",
    ] {
        assert!(text.contains(&format!("lasthop-report/{name}\0")), "{name}");
    }
    for there in [
        "\"mh\":\"ip4-",
        "\"why\":\"",
        "\"scheme\":\"snack\"",
        "ip4-",
        "wl0 Egress: ",
        "\"ip4-3:22\"",
        "lh_egress",
    ] {
        assert!(text.contains(there), "{there} is missing");
    }
    let ends = known
        .iter()
        .flat_map(|flow| ["mh", "fh"].map(|end| flow[end].as_str()));
    let ends: Vec<&str> = ends.flatten().collect();
    assert_eq!(ends.len(), 4);
    for secret in ends.into_iter().chain([KEY, "203.0.113.77", mac]) {
        assert!(!text.contains(secret), "{secret} is in it");
    }
    agent.stop().expect("stop");
}
