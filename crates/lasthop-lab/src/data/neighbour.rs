// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A neighbour as given on the command line: who it is, and when it is there.

use std::fmt;
use std::str::FromStr;

use crate::base::units;

/// What a neighbour sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// One TCP flow with this congestion control.
    Tcp(String),
    /// UDP at this rate on the hop, headers included.
    Udp(u64),
}

/// A flow from FH to MH that the agent leaves alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// What it sends.
    pub kind: Kind,
    /// When it begins, after the transfer did.
    pub start_ns: u64,
    /// When it ends; none: with the measured time.
    pub end_ns: Option<u64>,
}

impl FromStr for Neighbour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write CC or udp:RATE, and START,END if it is not there all the time: cubic, \
                    udp:10mbit,5s,15s";
        let mut parts = text.split(',').map(str::trim);
        let kind = kind(parts.next().unwrap_or_default())
            .map_err(|what| format!("`{text}` is no neighbour: {what}{help}"))?;
        let times = parts.map(units::duration_ns).collect::<Result<Vec<_>, _>>();
        let (start_ns, end_ns) = match times?[..] {
            [] => (0, None),
            [start_ns] => (start_ns, None),
            [start_ns, end_ns] if end_ns > start_ns => (start_ns, Some(end_ns)),
            [_, _] => return Err(format!("`{text}`: the end must come after the start")),
            _ => return Err(format!("`{text}` is no neighbour: {help}")),
        };
        Ok(Self {
            kind,
            start_ns,
            end_ns,
        })
    }
}

fn kind(text: &str) -> Result<Kind, String> {
    if let Some(rate) = text.strip_prefix("udp:") {
        return match units::rate_bps(rate) {
            Ok(rate_bps) => Ok(Kind::Udp(rate_bps)),
            Err(what) => Err(format!("{what}; ")),
        };
    }
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    match text {
        "udp" | "" => Err(String::new()),
        name if name.chars().all(is_name) => Ok(Kind::Tcp(name.to_owned())),
        _ => Err(String::new()),
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(cc) => f.write_str(cc),
            Self::Udp(rate_bps) => write!(f, "UDP at {}", units::show_rate(*rate_bps)),
        }
    }
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        match (self.start_ns, self.end_ns) {
            (0, None) => Ok(()),
            (start_ns, None) => write!(f, " from {} on", units::show_duration(start_ns)),
            (start_ns, Some(end_ns)) => write!(
                f,
                " from {} to {}",
                units::show_duration(start_ns),
                units::show_duration(end_ns)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours() {
        let cubic: Neighbour = "cubic".parse().unwrap();
        assert_eq!(cubic.kind, Kind::Tcp("cubic".into()));
        assert_eq!((cubic.start_ns, cubic.end_ns), (0, None));
        let udp: Neighbour = "udp:10mbit,5s,15s".parse().unwrap();
        assert_eq!(udp.kind, Kind::Udp(10_000_000));
        assert_eq!(udp.end_ns, Some(15_000_000_000));
        assert_eq!(udp.to_string(), "UDP at 10mbit from 5s to 15s");
        let late: Neighbour = "bbr,5s".parse().unwrap();
        assert_eq!((late.start_ns, late.end_ns), (5_000_000_000, None));
        for text in [
            "",
            "udp",
            "udp:10",
            "cubic,5",
            "cubic,5s,5s",
            "cubic,1s,2s,3s",
            "Cu bic",
        ] {
            assert!(text.parse::<Neighbour>().is_err(), "{text}");
        }
    }
}
