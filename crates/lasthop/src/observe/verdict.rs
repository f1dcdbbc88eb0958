// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What an operator should make of it, in words, and the settings that fit. Pure.

use serde_json::{Map, Value, json};

use super::measured::Measured;
use super::reckon::{Losses, Reckoned};

/// Fewer departures say nothing.
const SEGMENTS_LEAST: u64 = 1_000;
/// With less a lossy link is no matter.
const LOSS_LEAST: f64 = 0.000_5;
/// What is worth a program on a router, and what is much.
const GAIN_LEAST: f64 = 1.05;
const GAIN_MUCH: f64 = 1.25;
/// A round trip of the hop alone after which its own agent has to wait long for each repair.
const LONG_NS: u64 = 200_000_000;
/// Losses of what comes over the link that are worth an agent at its other end.
const BACK_LEAST: f64 = 0.002;
const BACK_SEGMENTS: u64 = 500;
/// With so much of the time at what receivers grant, they are what limits.
const LIMITED: f64 = 0.5;
/// A standing queue that people feel.
const QUEUE_NS: u64 = 64_000_000;

/// The words of `finding`, and what each means.
pub const FINDINGS: &[(&str, &str)] = &[
    ("too_little", "too little traffic to say anything"),
    ("worth_it", "`rack` would carry much more"),
    ("some_gain", "`rack` would carry a little more"),
    ("not_worth_it", "`rack` would change nothing that counts"),
    ("rate_unknown", "the link loses, but its rate has not shown"),
    (
        "unclear",
        "a queue always stood: whose the losses are can't be told",
    ),
    ("upstream", "most losses happen before the data come here"),
    ("queue", "most losses are the queue's before the link"),
    (
        "managed_queue",
        "the queue before the link drops early (an AQM)",
    ),
    ("bufferbloat", "a long queue stands before the link"),
    ("receiver_limited", "receivers grant no more than is used"),
    ("outages", "receivers were cut off for a second and more"),
    ("long_hop", "the link's own round trip is long"),
    ("both_ends", "what comes over the link is lost, too"),
];

/// One thing that an operator should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A word of [`FINDINGS`].
    pub word: &'static str,
    /// A sentence.
    pub text: String,
}

/// What follows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// The weightiest first.
    pub findings: Vec<Finding>,
    /// Keys of the configuration with values that fit here.
    pub settings: Map<String, Value>,
}

impl Verdict {
    fn say(&mut self, word: &'static str, text: String) {
        debug_assert!(FINDINGS.iter().any(|(known, _)| *known == word));
        self.findings.push(Finding { word, text });
    }

    fn set(&mut self, key: &str, value: Value) {
        self.settings.insert(key.to_owned(), value);
    }
}

/// A part of 100, with as many digits as tell.
fn percent(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        p if p >= 1.0 => format!("{p:.1} %"),
        p => format!("{p:.2} %"),
    }
}

fn mbit(bytes_per_s: f64) -> String {
    let mbit = bytes_per_s * 8.0 / 1e6;
    match mbit {
        m if m >= 10.0 => format!("{m:.0} Mbit/s"),
        m => format!("{m:.1} Mbit/s"),
    }
}

/// What an operator should make of it.
pub fn verdict(measured: &Measured, reckoned: &Reckoned) -> Verdict {
    let all = &reckoned.all;
    let mut verdict = Verdict::default();
    if reckoned.losses.departed + measured.back.departed() < SEGMENTS_LEAST {
        let text = format!(
            "only {} segments went over the link: observe while it is used",
            reckoned.losses.departed + measured.back.departed()
        );
        verdict.say("too_little", text);
        return verdict;
    }
    help(&mut verdict, reckoned);
    elsewhere(&mut verdict, reckoned);
    if all.outages > 0 {
        let text = format!(
            "{} times a receiver was silent for a second and more, {:.1} s in the mean: `rack` looks for the end of an outage; where the modem or supplicant can tell, let it call `lasthop link`",
            all.outages,
            all.outage_ns as f64 / all.outages as f64 / 1e9
        );
        verdict.say("outages", text);
    }
    other_end(&mut verdict, measured, reckoned);
    verdict
}

/// Whether it is worth it.
fn help(verdict: &mut Verdict, reckoned: &Reckoned) {
    let losses = &reckoned.losses;
    if losses.unclear {
        verdict.say("unclear", "a queue stood before the link whenever anything departed, so that its losses can't be told from the link's: observe at another time as well".to_owned());
    }
    let lossy = losses.link_rate >= LOSS_LEAST;
    let lost = format!(
        "the link loses {} ({} of {} segments)",
        percent(losses.link_rate),
        losses.link,
        losses.departed
    );
    match (lossy, reckoned.gain(), reckoned.expected) {
        (true, Some(gain), Some(expected)) if gain >= GAIN_LEAST => {
            let word = match gain >= GAIN_MUCH {
                true => "worth_it",
                false => "some_gain",
            };
            let text = format!(
                "{lost}; senders get {} through, with `rack` about {}: {gain:.1} times as much",
                mbit(reckoned.goodput),
                mbit(expected)
            );
            verdict.say(word, text);
            verdict.set("scheme", json!("rack"));
        }
        (true, None, _) => {
            let text = format!(
                "{lost}, but no segments ever queued before it, so that what it could carry has not shown"
            );
            verdict.say("rate_unknown", text);
            verdict.set("scheme", json!("rack"));
        }
        (true, ..) => {
            let text = format!(
                "{lost}, but its senders get {} through all the same: not worth it here",
                mbit(reckoned.goodput)
            );
            verdict.say("not_worth_it", text);
        }
        (false, ..) => {
            let text = format!("{lost}: not worth it here");
            verdict.say("not_worth_it", text);
        }
    }
}

/// What limits that no agent here helps.
fn elsewhere(verdict: &mut Verdict, reckoned: &Reckoned) {
    let all = &reckoned.all;
    let Losses {
        link,
        queue,
        departed,
        managed,
        ..
    } = reckoned.losses;
    let tell = |n: u64| n as f64 >= LOSS_LEAST * departed as f64;
    if all.upstream_lost > link + queue && tell(all.upstream_lost) {
        let text = format!(
            "{} losses happen before the data come here, {} behind: look there first, no agent here repairs those",
            all.upstream_lost,
            link + queue
        );
        verdict.say("upstream", text);
    }
    if queue > link && tell(queue) {
        let text = format!(
            "{queue} of {} losses are the queue's before the link: those stay the senders' to see",
            link + queue
        );
        verdict.say("queue", text);
    }
    if managed {
        verdict.say("managed_queue", "the queue before the link drops while it is short, as CoDel does: `rack` keeps its own queue below that, and leaves such drops to the senders".to_owned());
    } else if reckoned.queue_ns[1] >= QUEUE_NS {
        let text = format!(
            "one segment in twenty meets a queue of {} ms and more: fq_codel, or `clock = \"always\"`, shortens it",
            reckoned.queue_ns[1] / 2_000_000
        );
        verdict.say("bufferbloat", text);
    }
    if reckoned.limited >= LIMITED {
        let text = format!(
            "at {} of the ACKs the sender had used all that its receiver grants: nobody can help there",
            percent(reckoned.limited)
        );
        verdict.say("receiver_limited", text);
    }
}

/// Where an agent at the other end of the link would help.
fn other_end(verdict: &mut Verdict, measured: &Measured, reckoned: &Reckoned) {
    let all = &reckoned.all;
    let lossy = reckoned.losses.link_rate >= LOSS_LEAST;
    let unloaded_ns = all.unloaded_ns / all.rounds.max(1);
    if lossy && unloaded_ns >= LONG_NS {
        let text = format!(
            "the link alone takes {} ms there and back: every repair takes that long; with an agent at its other end too (`snack`, a key on both) losses are told of at once",
            unloaded_ns / 1_000_000
        );
        verdict.say("long_hop", text);
    }
    if measured.back.departed() >= BACK_SEGMENTS && measured.back.loss() >= BACK_LEAST {
        let text = format!(
            "of {} segments that came over the link {} were lost: an agent at its other end repairs those (`rack` there, or `snack` and a key on both)",
            measured.back.departed(),
            percent(measured.back.loss())
        );
        verdict.say("both_ends", text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured::Seen;
    use super::super::reckon::reckon;
    use super::*;

    /// So many segments arrived and were lost of a link of 2.36 MB/s, and so many bytes in ten seconds.
    fn measured(arrived: u64, lost: u64, bytes: u64) -> Measured {
        let mut measured = Measured::default();
        let sums = &mut measured.senders[0];
        (sums.flows, sums.segs, sums.lost, sums.bytes) = (1, arrived, lost, bytes);
        sums.busy_ns = 10_000_000_000;
        measured.by_queue[0] = Seen { arrived, lost };
        measured.busy_ns = 10_000_000_000;
        measured.rates[32] = 1_000_000;
        measured
    }

    fn words(measured: &Measured) -> Vec<&'static str> {
        let verdict = verdict(measured, &reckon(measured));
        verdict
            .findings
            .iter()
            .map(|finding| finding.word)
            .collect()
    }

    #[test]
    fn whether_it_is_worth_it() {
        for (measured, word) in [
            (measured(500, 20, 500_000), "too_little"),
            (measured(9_800, 200, 3_000_000), "worth_it"),
            (measured(9_800, 200, 19_500_000), "some_gain"),
            (measured(9_800, 200, 22_000_000), "not_worth_it"),
            (measured(100_000, 3, 3_000_000), "not_worth_it"),
        ] {
            assert_eq!(words(&measured)[0], word, "{:?}", measured.all());
        }
        let worth = measured(9_800, 200, 3_000_000);
        let verdict = verdict(&worth, &reckon(&worth));
        assert_eq!(verdict.settings["scheme"], "rack");
        let mut silent = worth;
        silent.rates.fill(0);
        assert_eq!(words(&silent)[0], "rate_unknown");
    }

    #[test]
    fn what_else_there_is() {
        let mut m = measured(9_800, 200, 3_000_000);
        let sums = &mut m.senders[0];
        sums.upstream_lost = 300;
        (sums.outages, sums.outage_ns) = (2, 5_000_000_000);
        (sums.rounds, sums.unloaded_ns) = (10, 6_000_000_000);
        (sums.acks, sums.acks_limited) = (10, 9);
        m.back = Seen {
            arrived: 990,
            lost: 10,
        };
        let found = words(&m);
        for word in [
            "upstream",
            "outages",
            "long_hop",
            "both_ends",
            "receiver_limited",
        ] {
            assert!(found.contains(&word), "{word}: {found:?}");
        }
        let quiet = words(&measured(100_000, 3, 3_000_000));
        assert_eq!(quiet, ["not_worth_it"]);
    }
}
