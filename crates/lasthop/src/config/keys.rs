// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Every key with its default, as `lasthop defaults` prints them: the host's, and the core's
//! parameters between them.

use lasthop_core::params;

use toml::Value;

use super::value;

/// The values that a key may have.
#[derive(Clone, Copy)]
enum Range {
    /// No numbers, or any.
    Any,
    Size(&'static str, &'static str),
    Count(u64, u64),
}

/// A key that concerns the host.
pub struct Key {
    /// As in the file.
    pub key: &'static str,
    /// Its default as the file would have it, or an example where there is no fixed one.
    shown: &'static str,
    text: &'static str,
    range: Range,
}

const fn key(key: &'static str, shown: &'static str, text: &'static str) -> Key {
    Key {
        key,
        shown,
        text,
        range: Range::Any,
    }
}

impl Key {
    const fn size(self, least: &'static str, most: &'static str) -> Self {
        Self {
            range: Range::Size(least, most),
            ..self
        }
    }

    const fn count(self, least: u64, most: u64) -> Self {
        Self {
            range: Range::Count(least, most),
            ..self
        }
    }

    /// What it is, and what it may be.
    fn explained(&self) -> String {
        let text = self.text;
        match self.range {
            Range::Any if self.key == "scheme" => format!("{text} {}.", schemes()),
            Range::Any => text.to_owned(),
            Range::Size(least, most) => format!("{text} {least} to {most}."),
            Range::Count(least, most) => format!("{text} {least} to {most}."),
        }
    }
}

/// All schemes, each in a few words.
fn schemes() -> String {
    let each = lasthop_core::schemes().map(|scheme| format!("`{}`: {}", scheme.name, scheme.doc));
    each.collect::<Vec<_>>().join("; ")
}

fn range_of(key: &str) -> Range {
    let found = KEYS.iter().find(|known| known.key == key);
    found.map_or(Range::Any, |known| known.range)
}

/// The value of a key that is a size.
pub(super) fn size(key: &str, value: &Value) -> Result<u64, String> {
    match range_of(key) {
        Range::Size(least, most) => value::size(value, least, most),
        _ => Err("is no size".to_owned()),
    }
}

/// The value of a key that is a number.
pub(super) fn count(key: &str, value: &Value) -> Result<u64, String> {
    match range_of(key) {
        Range::Count(least, most) => value::count(value, least..=most),
        _ => Err("is no number".to_owned()),
    }
}

/// The host's keys; the parameters stand after the second.
pub const KEYS: [Key; 15] = [
    key("scheme", "\"rack\"", "What is done about losses."),
    key(
        "profile",
        "\"std\"",
        "\"std\": RFC 6298 gains, repair on the first duplicate ACK. \"ns2\": as ns-2.35 ran it \
         (rtt_profile \"ns2\", dup_thresh 2, queue_guard false, 100 packets per flow), for \
         comparisons.",
    ),
    key(
        "memory_profile",
        "\"auto\"",
        "\"small\": maps, programs and daemon of one device in 16 MiB, what follows unless set. \
         \"standard\": maps in an eighth of what there is. \"auto\": small where machine or \
         cgroup have no more than 128 MiB.",
    ),
    key(
        "memory",
        "\"512MiB\"",
        "Kernel memory for the maps of all devices together, those too that come later, taken when \
         they are attached. Without this key it is an eighth of what the machine and its cgroup \
         have left, with the profile \"small\" at most 8 MiB, and some 380 MiB a device at the most. \
         512MiB is just an example.",
    )
    .size("1MiB", "1024GiB"),
    key(
        "cache_flow",
        "\"32MiB\"",
        "Of it, packets kept per connection.",
    )
    .size("2KiB", "32MiB"),
    key(
        "cache_total",
        "\"256MiB\"",
        "And per device. Without this key a device keeps as many as fit into its part of \
         `memory`, at most 256MiB; with it `memory` may be more, but not more than there is.",
    )
    .size("256KiB", "4064MiB"), // the most whole areas whose bytes have numbers (maps.rs)
    key(
        "max_flows",
        "16384",
        "Connections that are assisted at a time, per device; others pass unassisted. Without \
         this key as many as take a fifth of the device's part, at most 16384.",
    )
    .count(1, 1_000_000),
    key(
        "mark",
        "\"0x40000000/0x40000000\"",
        "fwmark bits that tell local retransmissions, VALUE/MASK; the other bits are those of the \
         packet that is sent again. Choose bits that your own rules don't use.",
    ),
    key(
        "priority",
        "263",
        "Socket priority (skb->priority) of local retransmissions. 256 to 263 are the user \
         priorities 0 to 7 of Wi-Fi: 262 and 263 are voice, 260 and 261 video; below that Wi-Fi \
         goes by VLAN tag or DSCP. 263, as 7, is the first band of pfifo_fast. What has \
         a class of a qdisc for its priority (tc-htb(8), iptables' CLASSIFY) keeps it instead.",
    )
    .count(0, u32::MAX as u64),
    key(
        "match",
        "[]",
        "Only connections with an end in one of these prefixes (and on that port) are assisted. \
         As --match, which adds to this list: \"10.0.0.0/8\", \"192.0.2.7:443\", \
         \"[2001:db8::/32]:443\", \":443\".",
    ),
    key(
        "exclude",
        "[]",
        "But not those in this list. As --exclude, which adds to it.",
    ),
    key(
        "key",
        "\"/etc/lasthop/key\"",
        "File with one or two keys, mode 0600: what agents at the two ends of a link say to each \
         other is sealed with the first and opened with either. `lasthop key new` makes one. \
         Without this key nothing is sent, and nothing heard. The file is just an example.",
    ),
    key(
        "port",
        "30467",
        "UDP port of these messages, on both sides the same. They never leave the link.",
    )
    .count(1, u16::MAX as u64),
    key(
        "mac_events",
        "\"/run/linkemu/control\"",
        "Socket on which the link's MAC reports what became of each frame, for scheme `csnoop`, or \
         `mac80211` for a radio of this machine. As --mac-events. The path is just an example.",
    ),
    key(
        "runtime_dir",
        "\"/run/lasthop\"",
        "Control sockets and locks: for root alone, unless root makes the directory for a group, \
         with mode 2750. Then that may ask for status, flows and peers.",
    ),
];

const COLUMNS: usize = 78;
const BEFORE_PARAMS: usize = 2;

/// A comment of whole words.
fn comment(text: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("one at least");
        if line.len() + 1 + word.len() > COLUMNS {
            lines.push(format!("# {word}"));
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n")
}

fn entry(text: &str, key: &str, shown: &str) -> String {
    format!("{}\n#: {key} = {shown}\n\n", comment(text))
}

/// The configuration file that says what goes without saying, with explanations.
pub fn defaults() -> String {
    let mut all = format!(
        "{}\n\n",
        comment(
            "lasthop's configuration: /etc/lasthop/lasthop.toml, or --config FILE. Every key may \
             be left out; lines that begin with \"#:\" show the defaults. The command line wins. \
             Unknown keys are errors."
        )
    );
    for key in &KEYS[..BEFORE_PARAMS] {
        all += &entry(&key.explained(), key.key, key.shown);
    }
    for param in params() {
        let text = match value::range_of(&param) {
            Some(range) => format!("{} {range}.", param.text),
            None => param.text.to_owned(),
        };
        all += &entry(&text, param.key, &value::shown(&param, param.initial()));
    }
    for key in &KEYS[BEFORE_PARAMS..] {
        all += &entry(&key.explained(), key.key, key.shown);
    }
    all + &comment(
        "A section for each device that `lasthop daemon` is to serve: without one it serves none. In it \
         any of the keys above but memory, memory_profile and runtime_dir, for this device alone. In its name * stands for any characters and ? for one, as in \
         [device.\"wlan*\"], for devices that come later, too; of several the closest counts. A section [policy.NAME] is for some connections of a device: device \
         names that one's section, match the connections, and scheme, parameters and sizes are what they \
         get; with leave_alone = true they get nothing. Of several policies the first counts. Files in \
         /etc/lasthop/conf.d that end in .toml are read after this one, in the order of their names.",
    ) + "\n# [device.wlan0]\n"
}
