// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop check`: what this machine and its devices have of what the agent needs, tried out
//! where it can be.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::agent::{Agent, Setup};
use crate::device::{self, Device};
use crate::report::Field;
use crate::tcx::{self, Hook};

/// Fields of a line of `check -j`.
pub const FIELDS: &[Field] = &[
    ("check", "", "what was looked at"),
    ("dev", "", "device, for checks of devices; else null"),
    (
        "state",
        "",
        "`ok`, `warning`, `failed` (attach can't work) or `unknown` (could not be told)",
    ),
    ("detail", "", "what was found, and what to do"),
];

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Ok,
    /// Attach works, with a limit.
    Warning,
    /// Attach can't work.
    Failed,
    /// Could not be told.
    Unknown,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// One check's result.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// Device, for checks of devices.
    pub device: Option<String>,
    /// How it came out.
    pub state: State,
    /// What was found, and what to do.
    pub detail: String,
}

impl Finding {
    fn new(check: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self {
            check,
            device: None,
            state,
            detail: detail.into(),
        }
    }

    fn of(device: &str, check: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self {
            device: Some(device.into()),
            ..Self::new(check, state, detail)
        }
    }

    /// The object of `check -j`.
    pub fn json(&self) -> Value {
        json!({
            "check": self.check,
            "dev": self.device,
            "state": self.state.name(),
            "detail": self.detail,
        })
    }

    /// A line for people.
    pub fn line(&self) -> String {
        let device = self
            .device
            .as_deref()
            .map_or(String::new(), |name| format!("{name} "));
        format!(
            "{:<8} {device}{}: {}",
            self.state.name(),
            self.check,
            self.detail
        )
    }
}

fn kernel() -> Finding {
    let (version, release) = device::kernel();
    if version >= (6, 6) {
        Finding::new("kernel", State::Ok, format!("Linux {release}"))
    } else {
        Finding::new(
            "kernel",
            State::Failed,
            format!("Linux {release}: TCX needs 6.6 or newer"),
        )
    }
}

fn capabilities() -> Finding {
    let missing = device::missing_capabilities();
    if missing.is_empty() {
        Finding::new(
            "capabilities",
            State::Ok,
            "CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON are there",
        )
    } else {
        let detail = format!("{} missing: run as root", missing.join(", "));
        Finding::new("capabilities", State::Failed, detail)
    }
}

fn btf() -> Finding {
    if Path::new(device::BTF).exists() {
        Finding::new("btf", State::Ok, device::BTF)
    } else {
        let detail = format!(
            "{} is missing: the kernel needs CONFIG_DEBUG_INFO_BTF",
            device::BTF
        );
        Finding::new("btf", State::Failed, detail)
    }
}

fn jit() -> Finding {
    match fs::read_to_string("/proc/sys/net/core/bpf_jit_enable")
        .as_deref()
        .map(str::trim)
    {
        Ok("0") => Finding::new(
            "jit",
            State::Warning,
            "off: programs are interpreted, several times slower: sysctl net.core.bpf_jit_enable=1",
        ),
        Ok(_) => Finding::new("jit", State::Ok, "on"),
        Err(_) => Finding::new(
            "jit",
            State::Unknown,
            "net.core.bpf_jit_enable can't be read",
        ),
    }
}

/// Asks a hook of the loopback device, which changes nothing.
fn tcx_hooks() -> Finding {
    match tcx::programs_on(1, Hook::Ingress) {
        Ok(_) => Finding::new("tcx", State::Ok, "the kernel has TCX hooks"),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Finding::new(
            "tcx",
            State::Failed,
            "the kernel has no TCX hooks: it must be 6.6 or newer, with CONFIG_NET_XGRESS",
        ),
        Err(error) => Finding::new("tcx", State::Unknown, format!("can't be asked: {error}")),
    }
}

/// Loads the very programs, which tries timers, ring buffer, iterators and kfuncs in one go.
fn programs() -> Finding {
    let small = Setup {
        max_flows: 16,
        cache_total_bytes: 1 << 20,
        ..Setup::default()
    };
    match Agent::load(&small) {
        Ok(_) => Finding::new("programs", State::Ok, "the kernel takes the BPF programs"),
        Err(error) => Finding::new("programs", State::Failed, format!("{error:#}")),
    }
}

/// The checks of the machine.
pub fn machine() -> Vec<Finding> {
    vec![
        kernel(),
        capabilities(),
        btf(),
        jit(),
        tcx_hooks(),
        programs(),
    ]
}

/// What `ethtool -k` says of a feature; none if it isn't there or can't be asked.
fn feature(device: &str, name: &str) -> Option<bool> {
    let output = Command::new("ethtool").args(["-k", device]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let prefix = format!("{name}:");
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(prefix.as_str()))?;
    Some(line.trim().starts_with("on"))
}

fn hardware_offload(device: &str) -> Finding {
    let check = "hardware offload";
    match feature(device, "hw-tc-offload") {
        Some(true) => Finding::of(
            device,
            check,
            State::Warning,
            format!(
                "hw-tc-offload is on: flows that the hardware forwards are not seen: ethtool -K {device} hw-tc-offload off"
            ),
        ),
        Some(false) => Finding::of(device, check, State::Ok, "off"),
        None => unknown_feature(device, check),
    }
}

/// What there is to say where [`feature`] has no answer.
fn unknown_feature(device: &str, check: &'static str) -> Finding {
    let detail = "ethtool can't tell (is it installed?)";
    Finding::of(device, check, State::Unknown, detail)
}

/// Names in the lists of devices of the flow tables that `nft list flowtables` prints.
fn offloading_devices(listing: &str) -> Vec<String> {
    // Only tables with `flags offload` go past tc: the software path leaves through the device's
    // egress hook and enters after its ingress hook.
    let tables = listing.split("flowtable ").skip(1);
    tables
        .filter(|table| table.contains("flags offload"))
        .filter_map(|table| table.split_once("devices = {")?.1.split_once('}'))
        .flat_map(|(devices, _)| devices.split(','))
        .map(|name| name.trim().trim_matches('"').to_owned())
        .collect()
}

fn flow_table(device: &str) -> Finding {
    let check = "flow table";
    let output = match Command::new("nft").args(["list", "flowtables"]).output() {
        Err(_) => return Finding::of(device, check, State::Unknown, "nft is not installed"),
        Ok(output) if !output.status.success() => {
            let error = String::from_utf8_lossy(&output.stderr);
            let first = error.lines().next().unwrap_or("no reason given");
            let detail = format!("nft can't tell: {first}");
            return Finding::of(device, check, State::Unknown, detail);
        }
        Ok(output) => output,
    };
    let listing = String::from_utf8_lossy(&output.stdout);
    if offloading_devices(&listing)
        .iter()
        .any(|name| name == device)
    {
        Finding::of(
            device,
            check,
            State::Warning,
            "an nftables flow table with `flags offload` names it: flows in hardware are not seen",
        )
    } else {
        Finding::of(
            device,
            check,
            State::Ok,
            "no nftables flow table hands its flows to hardware",
        )
    }
}

fn receive_offload(device: &str) -> Finding {
    let check = "receive offload";
    match feature(device, "generic-receive-offload") {
        Some(true) => Finding::of(
            device,
            check,
            State::Ok,
            "on: super-packets are cached by their segments",
        ),
        Some(false) => Finding::of(device, check, State::Ok, "off"),
        None => unknown_feature(device, check),
    }
}

/// The checks of a device.
pub fn device(name: &str) -> Vec<Finding> {
    let found = match Device::find(name) {
        Ok(found) => found,
        Err(error) => {
            return vec![Finding::of(
                name,
                "device",
                State::Failed,
                format!("{error:#}"),
            )];
        }
    };
    let kind = if found.l2_bytes == 14 {
        "with an Ethernet header"
    } else {
        "without link-layer header"
    };
    let mut findings = vec![Finding::of(name, "device", State::Ok, kind)];
    findings.push(if found.too_large() {
        let detail = format!(
            "{} bytes: packets that large pass uncached",
            found.mtu_bytes
        );
        Finding::of(name, "mtu", State::Warning, detail)
    } else {
        Finding::of(name, "mtu", State::Ok, format!("{} bytes", found.mtu_bytes))
    });
    findings.push(hardware_offload(name));
    findings.push(flow_table(name));
    findings.push(receive_offload(name));
    findings
}

/// Whether attach can work.
pub fn passed(findings: &[Finding]) -> bool {
    findings
        .iter()
        .all(|finding| finding.state != State::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_documented() {
        let value = Finding::of("wl0", "mtu", State::Ok, "1500 bytes").json();
        let mut keys = crate::report::keys(&value);
        keys.sort_unstable();
        let mut names: Vec<_> = FIELDS.iter().map(|(name, _, _)| *name).collect();
        names.sort_unstable();
        assert_eq!(keys, names);
    }

    #[test]
    fn flow_tables_are_read() {
        let listing = "table inet f {\n\tflowtable a {\n\t\thook ingress priority filter\n\t\tdevices = { \"eth10\", wl0 }\n\t\tflags offload\n\t}\n\tflowtable b {\n\t\thook ingress priority filter\n\t\tdevices = { eth1 }\n\t}\n}\n";
        assert_eq!(offloading_devices(listing), ["eth10", "wl0"]);
        assert!(offloading_devices("").is_empty());
    }

    #[test]
    fn a_missing_device_fails() {
        let findings = device("nosuch0");
        assert!(!passed(&findings));
        assert!(
            findings[0]
                .line()
                .starts_with("failed   nosuch0 device: no such device")
        );
        assert!(passed(&[kernel()]) || device::kernel().0 < (6, 6));
    }
}
