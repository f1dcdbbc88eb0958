// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Features of a device that its driver can switch, as `ethtool -k` lists them. Not with `--json`:
//! that needs ethtool netlink, which a kernel may be built without.

use std::collections::HashMap;
use std::process::Command;

use super::{Finding, State};

/// Which features are on; empty if they can't be asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Features(HashMap<String, bool>);

impl Features {
    /// Those of a device, in one go.
    pub(super) fn of(device: &str) -> Self {
        let output = Command::new("ethtool").args(["-k", device]).output();
        output.map_or_else(
            |_| Self::default(),
            |output| Self::parse(&String::from_utf8_lossy(&output.stdout)),
        )
    }

    /// Lines as `\ttx-checksum-ipv4: off [fixed]`, below one that names the device.
    fn parse(listing: &str) -> Self {
        let feature = |line: &str| {
            let (name, state) = line.trim().split_once(": ")?;
            let on = match state.split_whitespace().next()? {
                "on" => true,
                "off" => false,
                _ => return None,
            };
            Some((name.to_owned(), on))
        };
        Self(listing.lines().filter_map(feature).collect())
    }

    /// Whether a feature is on; none if it isn't there or can't be asked.
    pub(super) fn get(&self, name: &str) -> Option<bool> {
        self.0.get(name).copied()
    }
}

/// What there is to say where [`Features::get`] has no answer.
pub(super) fn unknown(device: &str, check: &'static str) -> Finding {
    let detail = "ethtool can't tell (is it installed?)";
    Finding::of(device, check, State::Unknown, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ethtool 6.1 says of a veth device, in full.
    const VETH: &str = include_str!("ethtool-veth.txt");

    #[test]
    fn features_are_read() {
        let features = Features::parse(VETH);
        for (name, on) in [
            ("generic-receive-offload", Some(false)),
            ("generic-segmentation-offload", Some(true)),
            ("tx-checksum-ipv4", Some(false)),
            ("hw-tc-offload", Some(false)),
            ("rx-checksumming", Some(true)),
            ("checksum", None),
            ("Features for lo", None),
        ] {
            assert_eq!(features.get(name), on, "{name}");
        }
        let features_of_veth = VETH.lines().count() - 1;
        assert_eq!(features.0.len(), features_of_veth);
    }

    #[test]
    fn nothing_is_known_of_what_can_not_be_asked() {
        assert_eq!(Features::parse(""), Features::default());
        assert_eq!(
            Features::parse("netlink error: No such device\nx: maybe\n: \n"),
            Features::default()
        );
        assert_eq!(Features::of("nosuch0"), Features::default());
    }
}
