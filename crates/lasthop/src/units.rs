// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Human units of the configuration file and the command line.

use std::net::IpAddr;

use ipnet::IpNet;
use lasthop_core::bindings::{LH_RULE_EXCLUDE, LH_RULE_MATCH, lh_rule};

/// Nanoseconds from `80ms`, `1s`, `250us`, `2min` or `1h`.
///
/// # Errors
/// A sentence that names the text.
pub fn duration_ns(text: &str) -> Result<u64, String> {
    lasthop_units::duration_ns(text).map_err(|_| {
        format!("'{text}' is no time: write a number with ns, us, ms, s, min or h, such as 80ms")
    })
}

/// Bytes from `8MiB`, `512KiB`, `1GB` or `65536`.
///
/// # Errors
/// A sentence that names the text.
pub fn size_bytes(text: &str) -> Result<u64, String> {
    lasthop_units::size_bytes(text).map_err(|_| {
        format!(
            "'{text}' is no size: write bytes or a number with kB, MB, GB, KiB, MiB or GiB, such as 8MiB"
        )
    })
}

/// A value and a mask of fwmark bits from `0x40000000/0x40000000`; the mask is the value's own
/// bits where it is left out.
///
/// # Errors
/// A sentence that names the text.
pub fn mark(text: &str) -> Result<(u32, u32), String> {
    let number = |s: &str| match s.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => s.parse().ok(),
    };
    let (value, mask) = text.split_once('/').unwrap_or((text, text));
    match (number(value), number(mask)) {
        (Some(value), Some(mask)) if value != 0 && value & !mask == 0 => Ok((value, mask)),
        _ => Err(format!(
            "'{text}' is no mark: write VALUE/MASK, the value not 0 and inside the mask, such as 0x40000000/0x40000000"
        )),
    }
}

/// Addresses that begin alike, from `10.0.0.0/8`, `2001:db8::/32`, or one address.
///
/// # Errors
/// A sentence that names the text.
pub fn prefix(text: &str) -> Result<IpNet, String> {
    let one = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| one()).map_err(|_| {
        format!("'{text}' is no address or prefix: write for example 10.2.0.0/24 or fd02::2")
    })
}

/// A rule from `PREFIX[:PORT]`: `10.0.0.0/8`, `192.0.2.7:443`, `[2001:db8::/32]:443`, `2001:db8::1`,
/// or `:443` for a port alone.
///
/// # Errors
/// A sentence that names the text.
pub fn rule(text: &str, exclude: bool) -> Result<lh_rule, String> {
    let bad = || {
        format!(
            "'{text}' is no rule: write PREFIX[:PORT], such as 10.0.0.0/8, 192.0.2.7:443, [2001:db8::/32]:443 or :443"
        )
    };
    let (addresses, port) = split_port(text).ok_or_else(bad)?;
    let mut rule = lh_rule {
        port: port.map_or(Ok(0), str::parse).map_err(|_| bad())?,
        action: if exclude {
            LH_RULE_EXCLUDE
        } else {
            LH_RULE_MATCH
        },
        ..Default::default()
    };
    if addresses.is_empty() {
        return if rule.port == 0 { Err(bad()) } else { Ok(rule) };
    }
    let net = prefix(addresses).map_err(|_| bad())?;
    rule.prefix_bits = net.prefix_len();
    match net.addr() {
        IpAddr::V4(v4) => {
            rule.family = 4;
            rule.addr[..4].copy_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            rule.family = 6;
            rule.addr.copy_from_slice(&v6.octets());
        }
    }
    Ok(rule)
}

/// Splits off the port. An IPv6 prefix has colons of its own: then brackets tell.
fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (prefix, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((prefix, Some(port))),
            None if after.is_empty() => Some((prefix, None)),
            None => None,
        };
    }
    match text.matches(':').count() {
        0 => Some((text, None)),
        1 => text
            .split_once(':')
            .map(|(prefix, port)| (prefix, Some(port))),
        _ => Some((text, None)),
    }
}

/// Bytes in MiB, for messages.
pub fn mib(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes < 10 * MIB && bytes % MIB != 0 {
        true => format!("{:.1} MiB", bytes as f64 / MIB as f64),
        false => format!("{} MiB", bytes / MIB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes() {
        assert_eq!(duration_ns("80ms"), Ok(80_000_000));
        assert_eq!(duration_ns("1.5s"), Ok(1_500_000_000));
        assert_eq!(duration_ns("2min"), Ok(120_000_000_000));
        assert_eq!(size_bytes("8MiB"), Ok(8 << 20));
        assert_eq!(size_bytes("4096"), Ok(4096));
        assert_eq!(duration_ns("1h"), Ok(3_600_000_000_000));
        assert_eq!(size_bytes("8MB"), Ok(8_000_000));
        for text in ["", "80", "ms", "-1s", "1x", "nan s"] {
            assert!(duration_ns(text).is_err(), "{text}");
        }
        for text in ["", "8MX", "MiB", "-1"] {
            assert!(size_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn marks() {
        assert_eq!(
            mark("0x40000000/0x40000000"),
            Ok((0x4000_0000, 0x4000_0000))
        );
        assert_eq!(mark("16"), Ok((16, 16)));
        for text in ["0/0xff", "0x100/0xff", "x", "1/2/3"] {
            assert!(mark(text).is_err(), "{text}");
        }
    }

    #[test]
    fn prefixes() {
        let contains = |text: &str, address: &str| {
            let address: IpAddr = address.parse().unwrap();
            prefix(text).unwrap().contains(&address)
        };
        assert!(contains("10.2.0.0/24", "10.2.0.255"));
        assert!(!contains("10.2.0.0/24", "10.2.1.0"));
        assert!(contains("10.2.0.2", "10.2.0.2") && !contains("10.2.0.2", "10.2.0.3"));
        assert!(contains("10.2.0.9/24", "10.2.0.2"));
        assert!(contains("0.0.0.0/0", "1.2.3.4") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("fd02::/64", "fd02::2") && !contains("fd02::/64", "fd01::2"));
        for text in ["", "10.2.0.0/33", "10.2.0/24", "fd02::/x", "fd02::/129"] {
            assert!(prefix(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rules() {
        let net = rule("10.0.0.0/8", false).unwrap();
        assert_eq!((net.family, net.prefix_bits, net.port), (4, 8, 0));
        assert_eq!(net.addr[..4], [10, 0, 0, 0]);
        assert_eq!(net.action, LH_RULE_MATCH);
        let host = rule("192.0.2.7:443", true).unwrap();
        assert_eq!(
            (host.prefix_bits, host.port, host.action),
            (32, 443, LH_RULE_EXCLUDE)
        );
        let v6 = rule("[2001:db8::/32]:443", false).unwrap();
        assert_eq!((v6.family, v6.prefix_bits, v6.port), (6, 32, 443));
        assert_eq!(v6.addr[..4], [0x20, 0x01, 0x0d, 0xb8]);
        assert_eq!(rule("2001:db8::1", false).unwrap().prefix_bits, 128);
        assert_eq!(rule("10.1.2.3/8", false).unwrap().addr[..4], [10, 1, 2, 3]);
        let port = rule(":443", false).unwrap();
        assert_eq!((port.family, port.port), (0, 443));
        for text in [
            "",
            ":",
            "10.0.0.0/33",
            "10.0.0/8",
            "10.0.0.0/",
            "2001:db8::/129",
            "[::1",
            "[::1]x",
            "1.2.3.4:99999",
            ":0",
        ] {
            assert!(rule(text, false).is_err(), "{text}");
        }
    }
}
