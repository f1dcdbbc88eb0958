// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Sections for devices of which only a part of the name is known: `*` stands for any characters, `?`
//! for one.

use std::cmp::Reverse;

use super::file::File;
use super::files::Configuration;

const ANY: char = '*';
const ONE: char = '?';

/// Whether a section's name stands for several devices.
pub fn is_pattern(section: &str) -> bool {
    section.contains([ANY, ONE])
}

/// Whether the name of a device is one that `pattern` stands for.
fn matches(pattern: &str, name: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => name.is_empty(),
        Some(ANY) => {
            let ends = name.char_indices().map(|(at, _)| at);
            let mut tails = ends.chain([name.len()]).map(|at| &name[at..]);
            tails.any(|tail| matches(rest.as_str(), tail))
        }
        Some(wanted) => {
            let mut left = name.chars();
            let found = left.next();
            found.is_some_and(|c| wanted == ONE || wanted == c)
                && matches(rest.as_str(), left.as_str())
        }
    }
}

/// The more, the closer a pattern is to a single name: by characters that must be there as they are,
/// then by those that must be there at all.
fn specific(pattern: &str) -> (usize, usize) {
    let count = |wanted: fn(char) -> bool| pattern.chars().filter(|c| wanted(*c)).count();
    (count(|c| c != ANY && c != ONE), count(|c| c == ONE))
}

impl Configuration {
    /// The section of a device, if it has one: of that name, else of the pattern that is closest to it, of
    /// two that are equally close the first by the alphabet.
    pub fn section_of(&self, device: &str) -> Option<(&str, &File)> {
        let named = self.devices.get_key_value(device);
        let found = named.or_else(|| {
            let patterns = self.devices.iter().filter(|(name, _)| is_pattern(name));
            patterns
                .filter(|(pattern, _)| matches(pattern, device))
                .max_by_key(|(pattern, _)| (specific(pattern), Reverse(pattern.as_str())))
        });
        found.map(|(section, file)| (section.as_str(), file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("wlan*", "wlan0", true),
            ("wlan*", "wlan", true),
            ("wlan*", "wwan0", false),
            ("wlan?", "wlan0", true),
            ("wlan?", "wlan", false),
            ("wlan?", "wlan10", false),
            ("*", "anything", true),
            ("phy?-ap*", "phy0-ap1", true),
            ("phy?-ap*", "phy10-ap1", false),
            ("*-ap*", "phy10-ap1", true),
            ("*0", "wlan00", true),
            ("*ü?", "süüß", true),
            ("wlan0", "wlan0", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_closest_section_wins() {
        let sections = ["*", "wlan*", "wlan?", "wlan1*", "w*1?", "wlan12", "*lan*"];
        let all = Configuration {
            devices: sections
                .map(|name| (name.to_owned(), File::default()))
                .into(),
            ..Configuration::default()
        };
        for (device, section) in [
            ("wlan12", "wlan12"),
            ("wlan13", "wlan1*"),
            ("wlan1", "wlan1*"),
            ("wlan2", "wlan?"),
            ("wlan22", "wlan*"),
            ("vlan7", "*lan*"),
            ("eth0", "*"),
        ] {
            let found = all.section_of(device).map(|(section, _)| section);
            assert_eq!(found, Some(section), "{device}");
        }
        assert!(Configuration::default().section_of("wlan0").is_none());
    }
}
