// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
use lasthop_core::bindings::{
    LH_CLOCK_ALWAYS, LH_CLOCK_AUTO, LH_CLOCK_OFF, LH_SUPPRESS_OFF, LH_SUPPRESS_ON,
    LH_TIMER_AFTER_DUP, lh_config,
};

use lasthop_core::params;
use toml::Value;

use super::*;
use crate::maps;
use crate::memory::{CACHE_MOST_BYTES, FLOWS_MOST, Room};

fn error(text: &str) -> String {
    parse(text, "x.toml").unwrap_err().to_string()
}

#[test]
fn errors_name_file_and_line() {
    let unknown = error("scheme = \"snoop\"\n\ndup_tresh = 1\n");
    assert_eq!(
        unknown,
        "x.toml:3: unknown key 'dup_tresh': did you mean 'dup_thresh'?"
    );
    let far = error("colour = 1\n");
    assert!(far.contains("'colour', expected one of"), "{far}");
    let time = error("# hm\nlrto_floor = \"80\"\n");
    assert!(
        time.starts_with("x.toml:2: ") && time.contains("80ms"),
        "{time}"
    );
    let range = error("\n\nmax_local = 0\n");
    assert_eq!(range, "x.toml:3: max_local: 0 is not from 1 to 100");
    let order = error("hold_min = \"3s\"\n");
    assert_eq!(order, "x.toml:1: hold_min: is above hold_max");
    let order = error("\n\nhold_max = \"10ms\"\n");
    assert_eq!(order, "x.toml:3: hold_max: is below hold_min");
    let order = error("\nlrto_max = \"50ms\"\n");
    assert_eq!(order, "x.toml:2: lrto_max: is below lrto_floor");
    let scheme = error("\nscheme = \"eln\"\n");
    assert!(
        scheme.starts_with("x.toml:2: scheme: no scheme 'eln'; have: none"),
        "{scheme}"
    );
    let bare = error("\nidle = 60\n");
    assert!(
        bare.starts_with("x.toml:2: idle: '60' is no time"),
        "{bare}"
    );
    let size = error("cache_flow = \"33MiB\"\n");
    assert_eq!(size, "x.toml:1: cache_flow: must be from 2KiB to 32MiB");
    let element = error("match = [\n \"10.0.0.0/8\",\n \"10.0.0.0/40\",\n]\n");
    assert!(
        element.starts_with("x.toml:3: match: '10.0.0.0/40'"),
        "{element}"
    );
    let kind = error("max_flows = \"many\"\n");
    assert!(
        kind.starts_with("x.toml:1: ") && !kind.contains('\n'),
        "{kind}"
    );
    let rule = error("idle = \"5s\"\nmatch = [\"10.0.0.0/40\"]\n");
    assert!(rule.starts_with("x.toml:2: match: '10.0.0.0/40'"), "{rule}");
    assert!(error("= 3").starts_with("x.toml:1: "));
}

#[test]
fn outage_keys() {
    let text = "slack_bursts = 3\nslack_quiet = \"80ms\"\nrto_min = \"500ms\"\n\
                freeze = true\nhandoff = 2\n";
    let config = parse(text, "x")
        .unwrap()
        .setup("slack", &Room::UNLIMITED)
        .unwrap()
        .config;
    assert_eq!(config.scheme, lh_config::slack().scheme);
    assert_eq!(
        (config.slack_bursts, config.freeze, config.handoff),
        (3, 1, 2)
    );
    assert_eq!(
        (config.slack_quiet_ns, config.rto_min_ns),
        (80_000_000, 500_000_000)
    );
    for (text, message) in [
        (
            "slack_bursts = 0",
            "x:1: slack_bursts: 0 is not from 1 to 3",
        ),
        ("handoff = 4", "x:1: handoff: 4 is not from 0 to 3"),
        ("rto_min = \"61s\"", "x:1: rto_min: must be from 1ms to 60s"),
        (
            "slack_quiet = \"0ms\"",
            "x:1: slack_quiet: must be from 1ms to 10s",
        ),
    ] {
        assert_eq!(parse(text, "x").unwrap_err().to_string(), message);
    }
    let kind = parse("freeze = 1", "x").unwrap_err().to_string();
    assert!(kind.starts_with("x:1: freeze: "), "{kind}");
}

#[test]
fn values_arrive() {
    let text = "profile = \"ns2\"\nmax_local = 3\nidle = \"5s\"\ncache_total = \"1MiB\"\n\
                timer_arm = \"after_dup\"\nmark = \"0x10/0x30\"\nexclude = [\":22\"]\n";
    let setup = parse(text, "x")
        .unwrap()
        .setup("snoop", &Room::UNLIMITED)
        .unwrap();
    assert_eq!(setup.config.dup_thresh, 2);
    assert_eq!(setup.config.max_local, 3);
    assert_eq!(setup.config.idle_ns, 5_000_000_000);
    assert_eq!(setup.config.timer_arm, LH_TIMER_AFTER_DUP);
    assert_eq!(setup.cache_flow_bytes, 100 * 2048);
    assert_eq!(setup.cache_total_bytes, 1 << 20);
    assert_eq!(setup.mark, (0x10, 0x30));
    assert_eq!(setup.rules.len(), 1);
}

#[test]
fn memory_is_shared() {
    let room = Room {
        available_bytes: 1 << 30,
        total_bytes: 1 << 30,
    };
    let of = |text: &str| {
        let setup = parse(text, "x").unwrap().setup("snoop", &room).unwrap();
        (setup.max_flows, setup.cache_total_bytes >> 20)
    };
    let (flows, cache_mib) = of("memory = \"32MiB\"\n");
    assert!(flows < 16_384 && (20..32).contains(&cache_mib));
    let (flows, cache_mib) = of("memory_profile = \"small\"\n");
    assert!(flows < 1_000 && (5..8).contains(&cache_mib));
    assert_eq!(
        of("memory_profile = \"small\"\nmax_flows = 50\ncache_total = \"9MiB\"\n"),
        (50, 9)
    );
    let wrong = error("memory_profile = \"tiny\"\n");
    assert_eq!(
        wrong,
        "x.toml:1: memory_profile: write \"auto\", \"small\" or \"standard\""
    );
    let set = "memory = \"32MiB\"\ncache_total = \"64MiB\"\n";
    assert!(parse(set, "x").unwrap().setup("snoop", &room).is_err());
    assert!(File::default().setup("eln", &room).is_err());
}

/// What `lasthop defaults` prints shows every key, with its default.
#[test]
fn defaults_are_the_defaults() {
    let text = keys::defaults();
    let shown: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("#:"))
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    let file = parse(&shown, "defaults").unwrap();
    let setup = file
        .setup(file.scheme.as_deref().unwrap(), &Room::UNLIMITED)
        .unwrap();
    let defaults = File::default().setup("rack", &Room::UNLIMITED).unwrap();
    assert_eq!(setup.config, defaults.config);
    assert_eq!(setup.mark, defaults.mark);
    assert_eq!(setup.priority, defaults.priority);
    assert_eq!(setup.max_flows, defaults.max_flows);
    assert_eq!(setup.cache_total_bytes, defaults.cache_total_bytes);
    assert_eq!(setup.cache_flow_bytes, defaults.cache_flow_bytes);
    assert_eq!(file.runtime_dir(), Path::new(DEFAULT_RUNTIME_DIR));
    let keys = keys::KEYS.len() + params().count();
    assert_eq!(shown.lines().count(), keys);
    assert!(parse(&text, "defaults").is_ok(), "all of it is comments");
    assert!(text.lines().all(|line| line.len() <= 79), "{text}");
}

/// It promises every setting's range, and says what each scheme does.
#[test]
fn defaults_tell_ranges_and_schemes() {
    let text = keys::defaults().replace("\n# ", " ");
    for scheme in lasthop_core::schemes() {
        let told = format!("`{}`: {}", scheme.name, scheme.doc);
        assert!(text.contains(&told), "{told}");
    }
    for (key, range) in [
        ("memory", "1MiB to 1024GiB."),
        ("cache_flow", "2KiB to 32MiB."),
        ("cache_total", "256KiB to 4064MiB."),
        ("max_flows", "1 to 1000000."),
        ("priority", "0 to 4294967295."),
        ("port", "1 to 65535."),
    ] {
        let ends = format!("{range}\n#: {key} = ");
        assert!(text.contains(&ends), "{ends}");
    }
}

/// More was taken for so much by `check`, and less was there.
#[test]
fn the_cache_is_as_large_as_a_file_may_say() {
    use crate::maps::cached_bytes;
    let most = parse("cache_total = \"4064MiB\"", "x").unwrap().memory();
    let most = most.cache_total_bytes.unwrap();
    assert_eq!(cached_bytes(most), most);
    assert_eq!(cached_bytes(2 * most), most);
    assert_eq!(
        error("cache_total = \"4065MiB\""),
        "x.toml:1: cache_total: must be from 256KiB to 4064MiB"
    );
}

/// The schemes that a parameter's text begins with: "Schemes `rack` and `slack`: ...".
fn schemes(text: &str) -> String {
    let named = text
        .strip_prefix("Scheme")
        .and_then(|rest| rest.split_once(':'));
    let Some((named, _)) = named else {
        return "all".into();
    };
    let schemes: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
    schemes.join(", ")
}

/// The page that says where parameters come from has a row for each, with the schemes that its
/// text names.
#[test]
fn every_key_has_its_source() {
    let page = include_str!("../../../../docs/design/parameters.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    for param in params() {
        let key = format!("`{}`", param.key);
        let mut of_key = rows
            .iter()
            .filter(|cells| cells.get(1).is_some_and(|keys| keys.contains(&key)));
        let (Some([_, _, said, source, _]), None) =
            (of_key.next().map(Vec::as_slice), of_key.next())
        else {
            panic!("not one row for {key}")
        };
        assert_eq!(*said, schemes(param.text), "{key}");
        assert!(!source.is_empty(), "{key}");
    }
}

/// Any value that a parameter may have is read as it is shown.
#[test]
fn values_are_read_as_they_are_shown() {
    for param in params() {
        for number in [
            *param.range().start(),
            param.initial(),
            *param.range().end(),
        ] {
            let shown = value::shown(&param, number);
            let read: Value =
                toml::from_str::<toml::Table>(&format!("x = {shown}")).unwrap()["x"].clone();
            assert_eq!(
                value::param(&param, &read),
                Ok(number),
                "{} = {shown}",
                param.key
            );
        }
    }
}

#[test]
fn a_choice_is_a_word_or_true_or_false() {
    let config = |text: &str| parse(text, "x").unwrap().config();
    assert_eq!(config("clock = true").clock, LH_CLOCK_AUTO);
    assert_eq!(config("clock = false").clock, LH_CLOCK_OFF);
    assert_eq!(config("clock = \"always\"").clock, LH_CLOCK_ALWAYS);
    assert_eq!(config("suppress = \"on\"").suppress, LH_SUPPRESS_ON);
    assert_eq!(config("suppress = false").suppress, LH_SUPPRESS_OFF);
    assert_eq!(
        error("clock = 3"),
        "x.toml:1: clock: write one of \"off\", \"auto\", \"always\""
    );
}

/// The configuration in these files, the first one lasthop.toml, the others in conf.d.
fn written(files: &[(&str, &str)]) -> anyhow::Result<Configuration> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("conf.d")).unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    Configuration::read(&dir.path().join(files[0].0))
}

#[test]
fn a_device_has_what_its_section_says_and_else_what_all_have() {
    let all = written(&[
        (
            "lasthop.toml",
            "scheme = \"snoop\"\nexclude = [\":22\"]\nmax_local = 4\n\n[device.wlan0]\nmax_local = 5\n\n[device.wwan0]\nscheme = \"rack\"\nexclude = []\n",
        ),
        (
            "conf.d/20-site.toml",
            "dup_thresh = 2\n[device.wlan0]\nkey = \"/etc/lasthop/key\"\n",
        ),
        ("conf.d/10-early.toml", "dup_thresh = 3\n[device.ppp0]\n"),
        ("conf.d/10-early.toml.dpkg-new", "nonsense\n"),
    ])
    .unwrap();
    let names: Vec<&str> = all.devices.keys().map(String::as_str).collect();
    assert_eq!(names, ["ppp0", "wlan0", "wwan0"]);
    let wlan0 = &all.devices["wlan0"];
    assert_eq!(wlan0.scheme.as_deref(), Some("snoop"));
    assert_eq!(wlan0.config().max_local, 5);
    assert_eq!(wlan0.config().dup_thresh, 2, "the later file wins");
    assert_eq!(wlan0.key.as_deref(), Some(Path::new("/etc/lasthop/key")));
    assert_eq!(wlan0.exclude, [":22"]);
    let wwan0 = &all.devices["wwan0"];
    assert_eq!(wwan0.scheme.as_deref(), Some("rack"));
    assert!(wwan0.exclude.is_empty() && wwan0.key.is_none());
    assert_eq!(wwan0.config().max_local, 4);
    assert_eq!(all.common.config().max_local, 4);
}

#[test]
fn errors_in_sections_name_file_and_line() {
    let of = |text: &str| {
        let error = written(&[("lasthop.toml", ""), ("conf.d/a.toml", text)]).unwrap_err();
        let error = error.to_string();
        let (_, named) = error.split_once("conf.d/").expect("the file");
        named.to_owned()
    };
    for (text, expected) in [
        (
            "[device.wlan0]\n\nmax_local = 0\n",
            "a.toml:3: max_local: 0 is not from 1 to 100",
        ),
        (
            "[device.wlan0]\nshceme = \"rack\"\n",
            "a.toml:2: unknown key 'shceme': did you mean 'scheme'?",
        ),
        (
            "[device.wlan0]\nhold_min = \"3s\"\n",
            "a.toml:2: hold_min: is above hold_max",
        ),
        (
            "[device.wlan0]\nmemory = \"8MiB\"\n",
            "a.toml:2: memory: is for all devices: write it above the first section",
        ),
        (
            "device = \"wlan0\"\n",
            "a.toml:1: device: write a section for each, as [device.wlan0]",
        ),
        (
            "[device]\nwlan0 = 3\n",
            "a.toml:1: device: write a section for each, as [device.wlan0]",
        ),
        (
            "[device.wlan0.10]\nscheme = \"rack\"\n",
            "a.toml:1: a name with a dot needs quotes: [device.\"wlan0.10\"]",
        ),
        (
            "\n[device.\"a b\"]\n",
            "a.toml:2: 'a b' can't be the name of a device",
        ),
    ] {
        assert_eq!(of(text), expected);
    }
    let twice = of("[device.wlan0]\n[device.wlan0]\n");
    assert!(
        twice.starts_with("a.toml:2: ") && !twice.contains('\n'),
        "{twice}"
    );
    let missing = written(&[("conf.d/a.toml", "")]).map(|all| all.devices.len());
    assert_eq!(missing.unwrap(), 0, "and no conf.d beside it");
}

#[test]
fn policies_are_in_their_order() {
    let all = written(&[
        (
            "lasthop.toml",
            "max_local = 4\nexclude = [\":22\"]\n[device.wlan0]\nscheme = \"snoop\"\n\n[policy.zeta]\ndevice = \"wlan0\"\nmatch = [\"10.1.0.0/16\"]\nscheme = \"slack\"\n[policy.alpha]\ndevice = \"wlan0\"\nmatch = [\"10.0.0.0/8\"]\nleave_alone = true\n",
        ),
        ("conf.d/a.toml", "[policy.zeta]\nmax_local = 7\n"),
    ])
    .unwrap();
    let told: Vec<(&str, bool, u32)> = all
        .policies
        .iter()
        .map(|p| (p.name.as_str(), p.leave_alone, p.file.config().max_local))
        .collect();
    assert_eq!(told, [("zeta", false, 7), ("alpha", true, 4)]);
    assert_eq!(all.policies[0].file.scheme.as_deref(), Some("slack"));
    for (text, says) in [
        (
            "[policy.a]\nmatch = [\":5\"]\n",
            "x.toml:1: policy a: device is missing: write",
        ),
        (
            "[device.w0]\n[policy.a]\ndevice = \"w1\"\nmatch = [\":5\"]\n",
            "x.toml:2: policy a: device: there is no section [device.w1]: ",
        ),
        (
            "[device.w0]\n[policy.a]\ndevice = \"w0\"\n",
            "x.toml:2: policy a: match is missing: write",
        ),
        (
            "[policy.a]\nkey = \"/k\"\n",
            "x.toml:2: key: is for a device",
        ),
        (
            "[policy.a]\nmemory = \"8MiB\"\n",
            "x.toml:2: memory: is for all",
        ),
        (
            "[policy.a]\nleave_alone = 1\n",
            "x.toml:2: leave_alone: write true or false",
        ),
        ("policy = 3\n", "x.toml:1: policy: write a section for each"),
        (
            "[policy.a]\nscheme = \"x\"\n",
            "x.toml:2: scheme: no scheme",
        ),
    ] {
        let found = error(text);
        assert!(found.starts_with(says), "{text}: {found}");
    }
}

/// Those that are refused there, or are another section's, are no help.
#[test]
fn a_wrong_key_is_told_what_can_stand_there() {
    for (text, says, not) in [
        (
            "[devices.w0]\n",
            "x.toml:1: unknown key 'devices': did you mean a section [device.NAME]?",
            "scheme",
        ),
        (
            "[device.w0]\ncolour = 1\n",
            "x.toml:2: unknown key 'colour', expected one of scheme, ",
            "memory",
        ),
        (
            "[device.w0]\nmemori = 1\n",
            "x.toml:2: unknown key 'memori', expected",
            "runtime_dir",
        ),
        (
            "[policy.a]\ncolour = 1\n",
            "x.toml:2: unknown key 'colour', expected one of ",
            "mac_events",
        ),
        (
            "[policy.a]\nleave_alon = 1\n",
            "x.toml:2: unknown key 'leave_alon': did you mean 'leave_alone'?",
            "49",
        ),
        (
            "colour = 1\n",
            "x.toml:1: unknown key 'colour', expected one of ",
            "leave_alone",
        ),
        (
            "[device.w0]\nleave_alone = true\n",
            "x.toml:2: leave_alone: is for a policy: write it in a section [policy.NAME]",
            "unknown",
        ),
    ] {
        let found = error(text);
        assert!(
            found.starts_with(says) && !found.contains(not),
            "{text}: {found}"
        );
    }
    let in_policy = error("[policy.a]\ncolour = 1\n");
    assert!(in_policy.ends_with(", device, leave_alone"), "{in_policy}");
}

/// A file that is missing says nothing, and what is beside it counts; one that can't be read may say anything.
#[test]
fn what_can_not_be_read_is_not_missing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lasthop.toml");
    let read = || Configuration::read_if_there(&file).map(|all| (all.has_file, all.devices.len()));
    let error = || format!("{:#}", read().unwrap_err());
    assert_eq!(read().unwrap(), (false, 0));
    std::fs::create_dir(dir.path().join("conf.d")).unwrap();
    std::fs::write(dir.path().join("conf.d/a.toml"), "[device.wlan0]\n").unwrap();
    assert_eq!(read().unwrap(), (false, 1));
    std::fs::write(&file, "").unwrap();
    assert_eq!(read().unwrap(), (true, 1), "an empty one is one");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("nothing.toml", &file).unwrap();
    assert!(error().contains("lasthop.toml is a link to nothing"));
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("lasthop.toml", &file).unwrap();
    assert!(error().starts_with("cannot read the configuration "));
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(error().starts_with("cannot read the configuration "));
    assert!(!error().contains('\n'));
}

/// Who only asks need not mind what is wrong for those who serve, as long as it finds them; in a file that
/// somebody named it minds.
#[test]
fn sockets_are_found_whatever_else_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lasthop.toml");
    std::fs::create_dir(dir.path().join("conf.d")).unwrap();
    let found = |text: &str, beside: &str| {
        std::fs::write(&file, text).unwrap();
        std::fs::write(dir.path().join("conf.d/a.toml"), beside).unwrap();
        let (found, wrong) = files::Sources::read_if_there(&file).unwrap().runtime_dir();
        let named = runtime_dir(Some(&file)).map(|(found, _)| found);
        assert_eq!(
            named.map_err(|e| e.to_string()),
            match &wrong {
                None => Ok(found.clone()),
                Some(wrong) => Err(wrong.to_string()),
            }
        );
        (found.display().to_string(), wrong.is_some())
    };
    let (set, none) = ("runtime_dir = \"/run/x\"\n", DEFAULT_RUNTIME_DIR);
    for (text, beside, says, is_wrong) in [
        (set, "", "/run/x", false),
        ("", "", none, false),
        ("colour = 1\n", "", none, true),
        ("[device.wl0\n", "", none, true),
        (
            "runtime_dir = \"/run/x\"\n[device.wl0\n",
            "",
            "/run/x",
            true,
        ),
        ("colour = 1\n", set, "/run/x", true),
        ("runtime_dir = 3\n", "", none, true),
        ("[device.wl0]\nruntime_dir = \"/run/x\"\n", "", none, true),
    ] {
        assert_eq!(
            found(text, beside),
            (says.to_owned(), is_wrong),
            "{text}, {beside}"
        );
    }
}

/// It said 350 MiB for long, when the maps of a device came to more.
#[test]
fn what_the_maps_of_a_device_may_take_is_what_the_key_says() {
    let text = keys::defaults().replace("\n# ", " ");
    let (before, _) = text.split_once(" MiB a device").unwrap();
    let said: u64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    let most = maps::memory_bytes(FLOWS_MOST, CACHE_MOST_BYTES) >> 20;
    // Some of it is each CPU's.
    assert!(most.abs_diff(said) <= said / 20, "{most} MiB");
}
