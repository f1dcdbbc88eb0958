// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--mac`: an 802.11 medium in a few words.

use linkemu::mac::MacConfig;
use serde_json::{Map, Value};

use crate::base::units;

const HELP: &str = "write STANDARD[,KEY=VALUE]..., such as 802.11b,tries=4 or \
                    802.11a,rate=54,policy=no_ack; in place of the standard murray2009 or madwifi; \
                    keys: rate, basic_rate (Mbit/s), preamble \
                    (long, short), policy (ack, no_ack, block_ack_burst, block_ack_each), \
                    block_frames, tries, txop (such as 608us), aifsn, cw_min, cw_max, loss_per (attempt, \
                    packet), control_loss, tx_watts, rx_watts, idle_watts";

/// Radios by name: what they stand for. Keys behind a name replace its own.
const NAMED: [(&str, &str); 2] = [
    // Carries what Murray, Koziniec and Dixon (2009) measured over 802.11a, with ACKs and without:
    // room for two exchanges of a full segment (docs/design.md, section 5.15).
    ("murray2009", "802.11a,rate=54,txop=608us"),
    // What MadWiFi's source gave best effort between an access point and one station where nothing
    // of higher priority is sent and the card can do bursts: 12 % more than they measured.
    ("madwifi", "802.11a,rate=54,aifsn=2,cw_min=7,txop=2048us"),
];

/// Reads a medium: the emulator's own keys, without the units in their names, or a radio's name
/// and what is otherwise.
///
/// # Errors
/// What is no medium, or none that there can be.
pub fn parse(text: &str) -> Result<MacConfig, String> {
    let (first, rest) = text.split_once(',').unwrap_or((text, ""));
    let named = NAMED.iter().find(|(name, _)| *name == first);
    let begin = named.map_or(first, |(_, words)| words);
    let rest = rest.split(',').filter(|_| text.contains(','));
    let mut words = begin.split(',').chain(rest);
    let mut keys = Map::new();
    keys.insert("standard".into(), words.next().unwrap_or_default().into());
    for word in words {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("`{word}` has no value: {HELP}"))?;
        let (key, value) = match key {
            "rate" | "basic_rate" => (format!("{key}_mbps"), number(value)),
            "txop" => ("txop_ns".to_owned(), units::duration_ns(value)?.into()),
            "control_loss" => (key.to_owned(), units::fraction(value)?.into()),
            _ => (key.to_owned(), number(value)),
        };
        keys.insert(key, value);
    }
    let mac: MacConfig = serde_json::from_value(Value::Object(keys))
        .map_err(|error| format!("`{text}`: {error}: {HELP}"))?;
    mac.validate().map_err(|error| error.to_string())?;
    Ok(mac)
}

/// A number, or a word.
fn number(text: &str) -> Value {
    let whole = text.parse::<u64>().map(Value::from);
    let number = whole.or_else(|_| text.parse::<f64>().map(Value::from));
    number.unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkemu::mac::{LossPer, Policy, Standard};

    #[test]
    fn a_medium_in_a_few_words() {
        let plain = parse("802.11b").unwrap();
        assert_eq!(plain, MacConfig::new(Standard::B));
        let mac = parse("802.11a,rate=36,policy=block_ack_each,block_frames=8,tries=3").unwrap();
        assert_eq!(
            (mac.rate_mbps, mac.policy),
            (Some(36.0), Policy::BlockAckEach)
        );
        assert_eq!((mac.block_frames, mac.tries), (Some(8), Some(3)));
        let mac = parse("802.11b,rate=5.5,basic_rate=2,loss_per=packet,control_loss=1%").unwrap();
        assert_eq!((mac.loss_per, mac.control_loss), (LossPer::Packet, 0.01));
        let mac = parse("802.11b,tx_watts=1,rx_watts=0.9,idle_watts=0").unwrap();
        assert_eq!(
            (mac.tx_watts, mac.rx_watts, mac.idle_watts),
            (1.0, 0.9, 0.0)
        );
    }

    #[test]
    fn a_name_stands_for_its_keys_and_others_replace_them() {
        let words = "802.11a,rate=54,aifsn=2,cw_min=7,cw_max=1023,txop=2048us";
        let mac = parse(words).unwrap();
        assert_eq!(
            (mac.aifsn, mac.cw_min, mac.cw_max),
            (Some(2), Some(7), Some(1023))
        );
        assert_eq!(mac.txop_ns(), 2_048_000);
        assert_eq!(parse("madwifi,cw_max=1023").unwrap(), mac);
        let calibrated = parse("murray2009,policy=no_ack").unwrap();
        assert_eq!(
            (
                calibrated.rate_mbps,
                calibrated.txop_ns(),
                calibrated.policy
            ),
            (Some(54.0), 608_000, Policy::NoAck)
        );
        let blocks = parse("murray2009,policy=block_ack_each,txop=0").unwrap();
        assert_eq!(blocks.txop_ns(), 0);
        assert_eq!(parse("murray2009").unwrap().policy, Policy::Ack);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, what) in [
            ("", "unknown variant"),
            ("802.11n", "802.11n"),
            ("802.11b,short", "short"),
            ("802.11b,", "no value"),
            ("802.11a,txop=608", "unit"),
            ("802.11a,cw_min=8", "cw_min"),
            ("murray", "unknown variant"),
            ("murray2009,policy=block_ack_each", "txop"),
            ("802.11b,retries=7", "retries"),
            ("802.11b,rate=54", "rate_mbps"),
            ("802.11b,tries=0", "tries"),
            ("802.11b,policy=no_ack,tries=7", "no_ack"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                error.contains(what) && !error.contains('\n'),
                "{text}: {error}"
            );
        }
    }
}
