// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Services of procd's (OpenWrt). It watches over the process that it has forked, by its number, and nothing tells
//! it of another one: what took its place would be nobody's, and the service would be started beside it.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::stat::field_in;

/// In a process' /proc/PID/stat, behind its name.
const PARENT: usize = 1;

/// The service that a process is; empty: which one, procd does not say. None: it is none.
pub(super) fn service_of(stat: &str, pid: u32) -> Option<String> {
    let parent = field_in(stat, PARENT)?;
    let name = fs::read_to_string(format!("/proc/{parent}/comm")).ok()?;
    if name.trim_end() != "procd" {
        return None;
    }
    let mut list = Command::new("ubus");
    let said = list.args(["call", "service", "list"]).output();
    let said = said.ok().filter(|out| out.status.success());
    // Orphans are its children as well.
    match said.and_then(|out| serde_json::from_slice(&out.stdout).ok()) {
        Some(services) => service_in(&services, pid),
        None => Some(String::new()),
    }
}

/// The service of which that process is an instance.
fn service_in(services: &Value, pid: u32) -> Option<String> {
    let is_it = |instance: &Value| instance["pid"] == pid;
    let has = |service: &Value| {
        let instances = service["instances"].as_object();
        instances.is_some_and(|all| all.values().any(is_it))
    };
    let mut services = services.as_object()?.iter();
    services
        .find(|(_, service)| has(service))
        .map(|(name, _)| name.clone())
}

/// What to do about it.
pub(super) fn advice(service: &str, pid: u32) -> String {
    let service = match service {
        "" => "lasthop",
        service => service,
    };
    format!(
        "process {pid} is a service of procd's, which would not watch over another one in its place: it has to be started anew, by `/etc/init.d/{service} restart`, which picks up its connections in mid-stream"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_service_of_a_process() {
        let services = json!({
            "odhcpd": {"instances": {"instance1": {"running": true, "pid": 81}}},
            "log": {},
            "hop": {"instances": {"one": {"running": false}, "two": {"running": true, "pid": 82}}},
        });
        assert_eq!(service_in(&services, 82).as_deref(), Some("hop"));
        assert_eq!(service_in(&services, 8), None);
        assert!(advice("hop", 82).contains("/etc/init.d/hop restart"));
        assert!(advice("", 82).contains("/etc/init.d/lasthop restart"));
    }

    #[test]
    fn the_parent_of_a_process() {
        let stat = "7 (a) R b) S 1 7 7 34816 7 4194560 1 0 0";
        assert_eq!(field_in(stat, PARENT), Some("1"));
    }
}
