// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Addresses and keys in any text, replaced by names that tell nothing but which are the same.

use std::collections::HashMap;
use std::net::IpAddr;

/// Longest text of an address: IPv6 with an IPv4 address at its end.
const ADDRESS_BYTES: usize = 45;
/// Hexadecimal digits of a key; whatever has as many may be one.
const KEY_DIGITS: usize = 32;
const MAC_BYTES: usize = 17;
/// How a device's name begins that is made of its layer-2 address, and the digits that follow.
const NAMED_BY_MAC: [&str; 3] = ["enx", "wlx", "wwx"];
const NAME_DIGITS: usize = 12;
/// What stands in the place of a key.
const KEY: &str = "(key)";

/// Gives names: the same address has the same one wherever it stands.
#[derive(Debug, Default)]
pub struct Mask {
    hosts: HashMap<IpAddr, String>,
    macs: HashMap<String, String>,
}

impl Mask {
    /// The text with every address and every key replaced. The unspecified addresses stay, which are
    /// nobody's: 0.0.0.0/0 is a rule for all.
    pub fn text(&mut self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = ' ';
        while let Some(first) = rest.chars().next() {
            let begins = !before.is_ascii_alphanumeric() && before != '.';
            let found = begins.then(|| self.first(rest)).flatten();
            let (bytes, name) = found.unwrap_or((first.len_utf8(), first.to_string()));
            masked.push_str(&name);
            before = rest[..bytes].chars().next_back().unwrap_or(' ');
            rest = &rest[bytes..];
        }
        masked
    }

    /// What `text` begins with, if that is to be masked: its length, and its name.
    fn first(&mut self, text: &str) -> Option<(usize, String)> {
        if let Some(found) = self.device(text) {
            return Some(found);
        }
        let is_part = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
        let run = text.bytes().take_while(|byte| is_part(byte)).count();
        let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits >= KEY_DIGITS {
            return Some((digits, KEY.to_owned()));
        }
        if run >= MAC_BYTES && is_mac(&text[..MAC_BYTES]) && ends(&text[MAC_BYTES..]) {
            return Some((MAC_BYTES, self.mac(&text[..MAC_BYTES])));
        }
        (2..=run.min(ADDRESS_BYTES)).rev().find_map(|bytes| {
            let address: IpAddr = text[..bytes].parse().ok()?;
            ends(&text[bytes..]).then(|| (bytes, self.host(address, &text[..bytes])))
        })
    }

    /// The name of a device that is made of its address, such as wlx02005e100007.
    fn device(&mut self, text: &str) -> Option<(usize, String)> {
        let kind = NAMED_BY_MAC
            .into_iter()
            .find(|kind| text.starts_with(kind))?;
        let digits = text.get(kind.len()..kind.len() + NAME_DIGITS)?;
        let bytes = kind.len() + NAME_DIGITS;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) || !ends(&text[bytes..]) {
            return None;
        }
        let pairs: Vec<&str> = (0..NAME_DIGITS)
            .step_by(2)
            .map(|i| &digits[i..i + 2])
            .collect();
        Some((bytes, format!("{kind}-{}", self.mac(&pairs.join(":")))))
    }

    fn host(&mut self, address: IpAddr, text: &str) -> String {
        if address.is_unspecified() {
            return text.to_owned();
        }
        let number = self.hosts.len() + 1;
        let address = address.to_canonical();
        let kind = if address.is_ipv4() { "ip4" } else { "ip6" };
        let name = || format!("{kind}-{number}");
        self.hosts.entry(address).or_insert_with(name).clone()
    }

    fn mac(&mut self, text: &str) -> String {
        let number = self.macs.len() + 1;
        let name = || format!("mac-{number}");
        let key = text.to_ascii_lowercase();
        self.macs.entry(key).or_insert_with(name).clone()
    }
}

/// Whether an address may end before this.
fn ends(rest: &str) -> bool {
    !rest.starts_with(|next: char| next.is_ascii_alphanumeric())
}

/// Six pairs of digits between colons.
fn is_mac(text: &str) -> bool {
    let mut pairs = text.split(':');
    let is_pair = |pair: &str| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit());
    pairs.clone().count() == 6 && pairs.all(is_pair)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn masked(text: &str) -> String {
        Mask::default().text(text)
    }

    #[test]
    fn addresses_have_names() {
        for (text, expected) in [
            ("10.0.0.2", "ip4-1"),
            (
                "{\"mh\":\"10.0.0.2\",\"mh_port\":80}",
                "{\"mh\":\"ip4-1\",\"mh_port\":80}",
            ),
            ("10.0.0.0/8:22", "ip4-1/8:22"),
            ("192.0.2.7:443", "ip4-1:443"),
            ("[2001:db8::/32]:443", "[ip6-1/32]:443"),
            ("fe80::1%wl0", "ip6-1%wl0"),
            ("to 10.0.0.2. And", "to ip4-1. And"),
            ("::ffff:10.0.0.2 10.0.0.2", "ip4-1 ip4-1"),
            ("02:00:00:00:00:1f", "mac-1"),
            ("02:00:00:00:00:1F 02:00:00:00:00:1f", "mac-1 mac-1"),
            ("2001:db8:0:0:0:0:0:1 2001:db8::1", "ip6-1 ip6-1"),
            ("10.0.0.1 10.0.0.2 10.0.0.1", "ip4-1 ip4-2 ip4-1"),
            ("ä10.0.0.1ä", "äip4-1ä"),
            ("wlx02005e100007: 02:00:5e:10:00:07", "wlx-mac-1: mac-1"),
        ] {
            assert_eq!(masked(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_stays() {
        for text in [
            "",
            "6.18.44-fc",
            "2026-11-25T19:29:23Z",
            "0.0.0.0/0 and ::/0",
            "lasthop.toml:2: scheme: no scheme 'snop'",
            "eth0: 1500 bytes, 1.5 GiB",
            "{\"srtt_us\":1234,\"vlan\":[7]}",
            "wlx02005e10000 enxä02005e10000",
            "program 4711 (tag 0123456789abcdef)",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn keys_are_gone() {
        let key = "000102030405060708090a0b0c0d0e0f";
        assert_eq!(masked(&format!("key = {key}\n")), "key = (key)\n");
        assert_eq!(masked(&format!("{key}{key}")), "(key)");
    }

    proptest! {
        /// Whatever stands around it, an address is not in what is left, nor is anything else harmed.
        #[test]
        fn no_address_is_left(
            v4 in any::<u32>().prop_filter("nobody's", |n| *n != 0),
            v6 in any::<u128>().prop_filter("nobody's", |n| *n != 0),
            mac in any::<[u8; 6]>(),
            around in "[ \"/,\\[\\]{}=%()]{1,3}",
        ) {
            let v4 = std::net::Ipv4Addr::from(v4).to_string();
            let v6 = std::net::Ipv6Addr::from(v6).to_string();
            let mac = mac.map(|byte| format!("{byte:02x}")).join(":");
            let text = [&v4, &v6, &mac].map(|one| format!("x{around}{one}{around}y")).join("\n");
            let left = masked(&text);
            for one in [&v4, &v6, &mac] {
                prop_assert!(!left.contains(one.as_str()), "{one} in {left}");
            }
            let bare = |name: &str| format!("x{around}{name}{around}y");
            prop_assert!(left.starts_with(&bare("ip4-1")) && left.ends_with(&bare("mac-1")));
        }
    }
}
