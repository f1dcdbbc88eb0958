// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Congestion controls by the kernel's names, as far as ns-3 has them.

use anyhow::{Result, bail};

/// The kernel's name, and ns-3's type. `reno` is what Linux calls so, `newreno` is ns-3's own
/// (RFC 6582).
const CONTROLS: [(&str, &str); 16] = [
    ("bbr", "TcpBbr"),
    ("bic", "TcpBic"),
    ("cubic", "TcpCubic"),
    ("dctcp", "TcpDctcp"),
    ("highspeed", "TcpHighSpeed"),
    ("htcp", "TcpHtcp"),
    ("hybla", "TcpHybla"),
    ("illinois", "TcpIllinois"),
    ("ledbat", "TcpLedbat"),
    ("lp", "TcpLp"),
    ("newreno", "TcpNewReno"),
    ("reno", "TcpLinuxReno"),
    ("scalable", "TcpScalable"),
    ("vegas", "TcpVegas"),
    ("westwood", "TcpWestwoodPlus"),
    ("yeah", "TcpYeah"),
];

/// ns-3's type of a congestion control.
///
/// # Errors
/// ns-3 has none of that name.
pub fn type_id(name: &str) -> Result<String> {
    let known = CONTROLS.iter().find(|(kernel, _)| *kernel == name);
    let Some((_, class)) = known else {
        let names = CONTROLS.map(|(kernel, _)| kernel).join(", ");
        bail!("ns-3 has no congestion control `{name}`, but {names}");
    };
    Ok(format!("ns3::{class}"))
}
