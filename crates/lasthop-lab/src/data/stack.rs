// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the end hosts' TCP does otherwise than its profile says: the knobs of old papers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::units;
use crate::data::profile::Profile;

/// Longer than any kernel waits.
const MAX_RTO_MIN_NS: u64 = 120_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// One kernel setting below `/proc/sys/net`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sysctl {
    /// Below `net.`: `ipv4.tcp_frto`.
    pub key: String,
    /// As it is written.
    pub value: String,
}

impl FromStr for Sysctl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write KEY=VALUE, such as net.ipv4.tcp_frto=0";
        let Some((name, value)) = text.split_once('=') else {
            return Err(format!("`{text}` sets nothing: {help}"));
        };
        let Some(key) = name.trim().strip_prefix("net.") else {
            return Err(format!(
                "`{name}` does not begin with net.: only those settings exist per host; {help}"
            ));
        };
        // What names a file of this directory and nothing above it.
        let fits = |part: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            !part.is_empty() && part.chars().all(known)
        };
        if !key.split(['.', '/']).all(fits) {
            return Err(format!("`{name}` is no name of a setting: {help}"));
        }
        Ok(Self {
            key: key.to_owned(),
            value: value.trim().to_owned(),
        })
    }
}

impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "net.{}={}", self.key, self.value)
    }
}

/// Changes to the profile, on FH and MH alike.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, clap::Args)]
#[serde(default)]
#[command(next_help_heading = "TCP stack of the end hosts")]
pub struct StackOptions {
    /// Least retransmission timeout, a route attribute: 1ms to 2min [default: the kernel's, or
    /// 500ms with --profile vintage]
    #[arg(long = "rto-min", value_name = "TIME", value_parser = rto_min_ns)]
    pub rto_min_ns: Option<u64>,

    /// Initial congestion window in segments, a route attribute [default: the kernel's, or 2 with
    /// --profile vintage]
    #[arg(long = "initcwnd", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub initial_cwnd: Option<u32>,

    /// Kernel setting below net., after those of the profile; may be repeated, or several joined by ;
    #[arg(long = "sysctl", value_name = "KEY=VALUE", value_delimiter = ';')]
    pub sysctls: Vec<Sysctl>,
}

fn rto_min_ns(text: &str) -> Result<u64, String> {
    match units::duration_ns(text)? {
        time_ns @ NS_PER_MS..=MAX_RTO_MIN_NS if time_ns % NS_PER_MS == 0 => Ok(time_ns),
        _ => Err(format!(
            "`{text}` must be whole milliseconds, at least 1ms and at most 2min"
        )),
    }
}

impl StackOptions {
    /// What follows a route in `ip route`: the attributes of the profile, or those in their place.
    pub fn route_attributes(&self, profile: Profile) -> String {
        let mut text = String::new();
        if let Some(rto_min_ns) = self.rto_min_ns(profile) {
            text.push_str(&format!(" rto_min {}ms", rto_min_ns / NS_PER_MS));
        }
        if let Some(segments) = self.initial_cwnd(profile) {
            text.push_str(&format!(" initcwnd {segments}"));
        }
        text
    }

    /// Least retransmission timeout; none: the kernel's.
    pub fn rto_min_ns(&self, profile: Profile) -> Option<u64> {
        self.rto_min_ns.or(match profile {
            Profile::Modern | Profile::Linux24 => None,
            Profile::Vintage => Some(500 * NS_PER_MS),
        })
    }

    /// Initial congestion window in segments; none: the kernel's.
    pub fn initial_cwnd(&self, profile: Profile) -> Option<u32> {
        self.initial_cwnd.or(match profile {
            Profile::Modern => None,
            Profile::Vintage | Profile::Linux24 => Some(2),
        })
    }

    /// The value that a setting was given, if it was.
    pub fn sysctl(&self, key: &str) -> Option<&str> {
        let mut given = self.sysctls.iter().rev();
        given.find(|s| s.key == key).map(|s| s.value.as_str())
    }

    /// What differs from the profile, for people; empty if nothing does.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(
            self.rto_min_ns
                .map(|ns| format!("RTO at least {}", units::show_duration(ns))),
        );
        parts.extend(self.initial_cwnd.map(|n| format!("initial window {n}")));
        parts.extend(self.sysctls.iter().map(ToString::to_string));
        parts.iter().map(|part| format!(", {part}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        stack: StackOptions,
    }

    fn parse(words: &[&str]) -> Result<StackOptions, String> {
        match Cli::try_parse_from([&["lab"], words].concat()) {
            Ok(cli) => Ok(cli.stack),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn route_attributes_override_those_of_the_profile() {
        let none = StackOptions::default();
        assert_eq!(none.route_attributes(Profile::Modern), "");
        let vintage = none.route_attributes(Profile::Vintage);
        assert_eq!(vintage, " rto_min 500ms initcwnd 2");
        let both = parse(&["--rto-min", "1s", "--initcwnd", "1"]).unwrap();
        let attributes = " rto_min 1000ms initcwnd 1";
        assert_eq!(both.route_attributes(Profile::Modern), attributes);
        assert_eq!(both.route_attributes(Profile::Vintage), attributes);
        let one = parse(&["--rto-min", "20ms"]).unwrap();
        assert_eq!(one.route_attributes(Profile::Modern), " rto_min 20ms");
        let vintage = one.route_attributes(Profile::Vintage);
        assert_eq!(vintage, " rto_min 20ms initcwnd 2");
    }

    #[test]
    fn the_last_of_equal_settings_counts() {
        let stack = parse(&[
            "--sysctl",
            "net.ipv4.tcp_rmem=4096 8192 16384",
            "--sysctl",
            "net.ipv4.tcp_sack=0;net.ipv4.tcp_sack=1",
        ])
        .unwrap();
        assert_eq!(stack.sysctl("ipv4.tcp_rmem"), Some("4096 8192 16384"));
        assert_eq!(stack.sysctl("ipv4.tcp_sack"), Some("1"));
        assert_eq!(stack.sysctl("ipv4.tcp_dsack"), None);
        assert!(stack.summary().ends_with(", net.ipv4.tcp_sack=1"));
    }

    #[test]
    fn usage_errors_name_the_option() {
        for (words, hint) in [
            (["--rto-min", "0"], "--rto-min"),
            (["--rto-min", "100"], "100ms"),
            (["--rto-min", "1500us"], "whole milliseconds"),
            (["--initcwnd", "0"], "--initcwnd"),
            (["--sysctl", "net.ipv4.tcp_frto"], "--sysctl"),
            (["--sysctl", "kernel.panic=1"], "net."),
            (["--sysctl", "net.ipv4/../../kernel/panic=1"], "no name"),
            (["--sysctl", "net.=1"], "no name"),
        ] {
            let error = parse(&words).unwrap_err();
            assert!(error.contains(hint), "{words:?}: {error}");
        }
    }
}
