// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What files and options order.

use lasthop_core::bindings::LH_RULE_EXCLUDE;

use super::*;

/// What is for a policy that is not served stays with the next one, and in the end with the device's own.
#[test]
fn what_nobody_else_serves_is_left_to_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lasthop.toml");
    let policy = |name: &str, more: &str| {
        format!("[policy.{name}]\ndevice = \"wlan0\"\nmatch = [\"{more}\"]\n")
    };
    let text = format!(
        "exclude = [\":22\"]\n[device.wlan0]\n{}{}{}leave_alone = true\n",
        policy("a", ":1"),
        policy("b", ":2"),
        policy("c", ":3")
    );
    std::fs::write(&file, text).unwrap();
    let orders = Orders {
        config: Some(file),
        devices: Devices::Sections,
        overrides: Overrides::default(),
    };
    let wanted = orders.read(0).unwrap();
    let ports = |policy: &str, serves: fn(&str) -> bool| -> Vec<u16> {
        let of = |(_, settings): &&(String, Settings)| settings.policy == policy;
        let (_, settings) = wanted.devices.iter().find(of).unwrap();
        let rules = settings.rules_beside(serves);
        if serves("a") && serves("b") {
            assert_eq!(rules, settings.setup.rules, "as if all were served");
        }
        let excluded = rules.iter().filter(|rule| rule.action == LH_RULE_EXCLUDE);
        excluded.map(|rule| rule.port).collect()
    };
    assert_eq!(ports("", |_| true), [22, 3, 1, 2]);
    assert_eq!(ports("", |policy| policy != "a"), [22, 3, 2]);
    assert_eq!(ports("", |_| false), [22, 3]);
    assert_eq!(ports("b", |_| true), [22, 1]);
    assert_eq!(ports("b", |policy| policy != "a"), [22]);
}

/// What is attached keeps its sizes: it was told of as changed.
#[test]
fn other_memory_changes_nothing_that_is_attached() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lasthop.toml");
    let orders = Orders {
        config: Some(file.clone()),
        devices: Devices::Sections,
        overrides: Overrides::default(),
    };
    let read = |keys: &str, of_device: &str| {
        std::fs::write(&file, format!("{keys}\n[device.wlan0]\n{of_device}\n")).unwrap();
        orders.read(0).unwrap()
    };
    let there = "memory = \"4MiB\"\nmemory_profile = \"standard\"";
    for (keys, told) in [
        (there, vec![]),
        (
            "memory = \"5MiB\"\nmemory_profile = \"standard\"",
            vec!["memory"],
        ),
        (
            "memory = \"4MiB\"\nmemory_profile = \"small\"",
            vec!["memory_profile"],
        ),
    ] {
        // What is left varies as other memory does, and of a device that has one size set the other one with it.
        for of_device in ["", "cache_total = \"1MiB\"", "max_flows = 100"] {
            let (before, mut after) = (read(there, of_device), read(keys, of_device));
            assert_eq!(before.budget.keys_of_change(&after.budget), told);
            let (there, wanted) = (&before.devices[0].1, &mut after.devices[0].1);
            wanted.keep_sizes(there);
            assert!(wanted.serves_as(there), "{keys} {of_device}");
        }
    }
}

/// `lasthop check` found nothing wrong with files by which the daemon does not begin.
#[test]
fn what_the_daemon_would_refuse_is_told_before() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lasthop.toml");
    let told = |text: &str| {
        std::fs::write(&file, text).unwrap();
        refusal(Some(&file)).map_or(String::new(), |error| format!("{error:#}"))
    };
    let fits = "memory = \"20MiB\"\n[device.a]\n[device.b]\n";
    assert_eq!(told(fits), "");
    let too_much = told(&format!("{fits}cache_total = \"64MiB\"\n"));
    assert!(too_much.contains("too few"), "{too_much}");
    let no_source = told("[device.a]\nscheme = \"csnoop\"\n");
    assert!(no_source.contains("mac_events"), "{no_source}");
    assert_eq!(told("shceme = 1\n"), "", "it is told of anyway");
}

/// Nothing is let go because a file is away for a moment; where there never was one nothing is missing.
#[test]
fn a_file_that_is_lost_orders_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lasthop.toml");
    std::fs::write(&file, "").unwrap();
    let orders = Orders {
        config: Some(file),
        devices: Devices::Sections,
        overrides: Overrides::default(),
    };
    let read = |has_file| {
        let wanted = orders.read(0).unwrap();
        Wanted { has_file, ..wanted }
    };
    for (had, has, goes_on) in [
        (false, false, true),
        (false, true, true),
        (true, true, true),
        (true, false, false),
    ] {
        let wanted = read(has).unless_lost(had);
        assert_eq!(wanted.is_ok(), goes_on, "had {had}, has {has}");
    }
    let error = read(false).unless_lost(true).unwrap_err().to_string();
    assert!(
        error.starts_with(DEFAULT_PATH) && !error.contains('\n'),
        "{error}"
    );
}

/// Who has a key has somebody to talk to, unless the file says not; of a device's agents one does.
#[test]
fn a_key_is_for_a_partner() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lasthop.toml");
    let read = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let orders = Orders {
            config: Some(file.clone()),
            devices: Devices::Sections,
            overrides: Overrides::default(),
        };
        let wanted = orders.read(0)?;
        let partner = |(_, s): &(String, Settings)| s.setup.config.partner;
        Ok::<_, anyhow::Error>(wanted.devices.iter().map(partner).collect::<Vec<_>>())
    };
    let key = "[device.a]\nkey = \"k\"\n";
    let policy = "[policy.p]\ndevice = \"a\"\nmatch = [\"10.0.0.0/8\"]\n";
    for (text, partners) in [
        ("[device.a]\n", vec![LH_PARTNER_OFF]),
        (key, vec![LH_PARTNER_ON]),
        (&format!("{key}partner = false\n"), vec![LH_PARTNER_OFF]),
        (
            &format!("{key}partner = true\n{policy}"),
            vec![LH_PARTNER_ON, LH_PARTNER_OFF],
        ),
    ] {
        assert_eq!(read(text).unwrap(), partners, "{text}");
    }
    let error = read("[device.a]\npartner = true\n").unwrap_err();
    assert!(format!("{error:#}").contains("no key"), "{error:#}");
}
