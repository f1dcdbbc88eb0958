// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop check`: what this machine and its devices have of what the agent needs, tried out
//! where it can be.

mod bypass;
mod device_checks;
mod features;
mod memory;
mod queue;
mod radio;

use std::fs;
use std::path::Path;

use anyhow::Error;
use serde_json::{Value, json};

pub use self::device_checks::device;
pub use self::memory::memory;
pub use self::radio::is_radio;
use crate::device;
use crate::programs::{Agent, Setup};
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

/// What the daemon would say of the files (`daemon::settings::refusal`), before somebody starts it.
pub fn refused(error: &Error) -> Finding {
    let detail = format!("a daemon that begins now would refuse the files: {error:#}");
    Finding::new("configuration", State::Warning, detail)
}

fn kernel() -> Finding {
    let (version, release) = device::kernel();
    if version >= (6, 6) {
        let timers = match device::is_realtime() {
            true => {
                ", PREEMPT_RT: lets BPF programs have no timers, so that lasthop keeps them itself"
            }
            false => "",
        };
        Finding::new("kernel", State::Ok, format!("Linux {release}{timers}"))
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
        let detail = format!(
            "{} missing: run as root",
            device::capability_names(&missing, ", ")
        );
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

/// The verifier refuses calls of kernel functions to programs that are interpreted, so that those
/// that were taken are not. `setting`: net.core.bpf_jit_enable, which other network namespaces
/// than the first don't show.
fn jit(setting: Option<&str>, taken: bool) -> Finding {
    let (state, detail) = match setting {
        Some("0") if !taken => (
            State::Failed,
            "off: the kernel takes programs such as ours only with it: sysctl -w net.core.bpf_jit_enable=1",
        ),
        _ if taken => (State::Ok, "on"),
        Some(_) => (State::Ok, "on, by net.core.bpf_jit_enable"),
        None => (
            State::Unknown,
            "net.core.bpf_jit_enable can't be read: it must be 1 in the first network namespace",
        ),
    };
    Finding::new("jit", state, detail)
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
    let programs = programs();
    let setting = fs::read_to_string("/proc/sys/net/core/bpf_jit_enable").ok();
    let jit = jit(
        setting.as_deref().map(str::trim),
        programs.state == State::Ok,
    );
    vec![kernel(), capabilities(), btf(), jit, tcx_hooks(), programs]
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
    fn programs_that_are_taken_are_compiled() {
        assert_eq!(jit(Some("0"), false).state, State::Failed);
        assert_eq!(jit(None, false).state, State::Unknown);
        for setting in [None, Some("1"), Some("0")] {
            assert_eq!(jit(setting, true).state, State::Ok);
        }
        assert_eq!(jit(Some("1"), false).state, State::Ok);
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
