// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the agent did with a packet, in the words of a capture's comments and as a verdict of tc:
//! what the core returned, and nothing else. Display filters match how the comments begin
//! (docs/wireshark.md): those words stay as they are.

use lasthop_core::bindings::{LH_KEEP_WINDOW, LH_TELL_OPTION};
use lasthop_core::{Actions, Bypass, parse};

use super::call::{Call, Side};
use super::step::relative;

/// How every comment begins.
const OURS: &str = "lasthop: ";

/// `TC_ACT_OK`, `TC_ACT_SHOT` and `TC_ACT_STOLEN` of Linux.
const TC_OK: u64 = 0;
const TC_SHOT: u64 = 2;
const TC_STOLEN: u64 = 4;

/// A packet that the agent sends itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent<'a> {
    /// The device that it leaves by.
    pub by: Side,
    /// The IP packet.
    pub bytes: &'a [u8],
    /// What it is.
    pub comment: String,
}

/// The verdict of the call's packet, as `TC_ACT_*`: it goes on, is kept from its receiver, or waits.
pub fn verdict(call: &Call) -> u64 {
    match &call.outcome.actions {
        Some(actions) if actions.waits() => TC_STOLEN,
        _ if call.outcome.dropped => TC_SHOT,
        _ => TC_OK,
    }
}

/// What was done with the call's packet; the first says what became of it.
pub fn comments(call: &Call) -> Vec<String> {
    let outcome = call.outcome;
    let mut said = vec![fate(call)];
    if let Some(actions) = &outcome.actions {
        match call.packet {
            Some((Side::Wired, _)) => said.extend(done_to_data(actions)),
            _ => said.extend(done_to_ack(call, actions)),
        }
        if actions.hold != 0 && !outcome.dropped {
            said.push("kept a copy, to be released later".into());
        }
        said.extend(led_to(call, actions));
    }
    if strips(call) {
        said.push("removed the option of the other agent".into());
    }
    said.into_iter()
        .map(|text| format!("{OURS}{text}"))
        .collect()
}

fn fate(call: &Call) -> String {
    let outcome = call.outcome;
    let text = match (&outcome.bypass, &outcome.actions) {
        (Some(Bypass::NotTcp), _) => "passed, not TCP",
        (Some(Bypass::Fragment), _) => "passed, a fragment",
        (Some(Bypass::Malformed), _) => "passed, headers that cannot be parsed",
        (None, None) => "passed, no flow is kept for it",
        (None, Some(actions)) if actions.waits() => "waits for its turn",
        (None, Some(actions)) if actions.is_drop() && actions.hold != 0 => {
            "held, to be released if the repair fails"
        }
        (None, Some(actions)) if actions.is_drop() => "dropped, kept from FH for good",
        (None, Some(_)) => "passed",
    };
    text.to_owned()
}

fn done_to_data(actions: &Actions) -> Vec<String> {
    let mut said = Vec::new();
    if actions.store().is_some() {
        said.push("cached".to_owned());
    }
    if actions.mark_ce != 0 {
        said.push("marked CE".to_owned());
    }
    said
}

fn done_to_ack(call: &Call, actions: &Actions) -> Vec<String> {
    let Some(segment) = call.segment.filter(|_| !call.outcome.dropped) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    if actions.window != LH_KEEP_WINDOW {
        let [own, new] = [u32::from(segment.window), actions.window]
            .map(|window| u64::from(window) << call.window_shift);
        said.push(format!("edited window {own}->{new}"));
    }
    let blocks = segment.sack_blocks();
    if actions.blank_sack != 0 && !blocks.is_empty() {
        let rel = |seq| relative(seq, call.base);
        let blocks = blocks.iter();
        let blocks = blocks.map(|block| format!("{}-{}", rel(block.left), rel(block.right)));
        let blocks = blocks.collect::<Vec<_>>().join(" ");
        said.push(format!("blanked SACK {blocks}"));
    }
    said
}

/// What else the packet brought about. Packets that it had sent say themselves what they are.
fn led_to(call: &Call, actions: &Actions) -> Vec<String> {
    let mut said = Vec::new();
    let repairs = actions.retransmits().iter();
    let repairs: Vec<String> = repairs
        .map(|repair| relative(repair.seq, call.base).to_string())
        .collect();
    if !repairs.is_empty() {
        said.push(format!("led to repair of seq {}", repairs.join(" ")));
    }
    match (actions.emit_held, actions.held_leaves) {
        (0, _) => {}
        (n, 0) => said.push(format!("led to release of {}", counted(n, "ACK"))),
        (n, _) => said.push(format!("led to {} towards MH", counted(n, "repeated ACK"))),
    }
    let in_turn = call.outcome.to_fh.len() - released(actions);
    if in_turn > 0 {
        let packets = counted(in_turn as u32, "packet");
        said.push(format!("led to {packets} that had waited"));
    }
    match actions.tell_by {
        LH_TELL_OPTION => said.push("told the other agent by an option what is missing".into()),
        _ if !call.outcome.told.is_empty() => {
            said.push("told the other agent by a message what is missing".into());
        }
        _ => {}
    }
    if !call.outcome.absent.is_empty() {
        said.push("told the other agent what will not come".into());
    }
    said
}

fn counted(n: u32, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// How many of the packets to FH are copies of the held ACK: the first ones.
fn released(actions: &Actions) -> usize {
    match actions.held_leaves {
        0 => actions.emit_held as usize,
        _ => 0,
    }
}

/// Whether the packet had the option by which the other agent of the hop tells what it misses, and
/// leaves without.
fn strips(call: &Call) -> bool {
    let (Some((side, _)), Some(segment)) = (call.packet, call.segment) else {
        return false;
    };
    let leaves = match side {
        Side::Wired => &call.outcome.annotated,
        Side::Lossy => &call.outcome.passed,
    };
    let Some(Ok((leaves, _))) = leaves
        .as_ref()
        .map(|packet| parse(packet, 0, None, side == Side::Wired))
    else {
        return false;
    };
    segment.nr_missing != 0 && leaves.nr_missing == 0
}

/// What the agent sends because of the call, in its order; the packet itself among it if it leaves
/// in another form.
pub fn sent<'a>(call: &Call<'a>) -> Vec<Sent<'a>> {
    let outcome = call.outcome;
    let mut sent = Vec::new();
    if let Some(actions) = &outcome.actions {
        sent.extend(to_mh(call, actions));
        sent.extend(to_fh(call, actions));
    }
    if let Some((side, packet)) = call.packet {
        let (leaves, by) = match side {
            Side::Wired => (&outcome.annotated, Side::Lossy),
            Side::Lossy => (&outcome.passed, Side::Wired),
        };
        // Short Ethernet frames have padding behind the packet.
        let other = |leaves: &&Vec<u8>| !packet.starts_with(leaves);
        if let Some(bytes) = leaves.as_ref().filter(other) {
            let comment = format!("{OURS}as edited: the form in which the packet before leaves");
            sent.push(Sent { by, bytes, comment });
        }
    }
    sent
}

/// Repairs, and at the mobile end copies of the last ACK.
fn to_mh<'a>(call: &Call<'a>, actions: &Actions) -> Vec<Sent<'a>> {
    let why = match call.reasons.names().join(" or ") {
        none if none.is_empty() => none,
        names => format!(" (by {names})"),
    };
    let repairs = actions.retransmits().iter();
    let repairs = repairs.map(|repair| {
        let seq = relative(repair.seq, call.base);
        format!("{OURS}repair of seq {seq}{why}")
    });
    let copies = (1..=actions.emit_held)
        .map(|copy| format!("{OURS}repeated ACK, copy {copy} of {}", actions.emit_held));
    let comments = repairs.chain(copies);
    let packets = call.outcome.to_mh.iter().zip(comments);
    packets
        .map(|(bytes, comment)| Sent {
            by: Side::Lossy,
            bytes,
            comment,
        })
        .collect()
}

/// Copies of the held ACK, then what had to wait for its turn.
fn to_fh<'a>(call: &Call<'a>, actions: &Actions) -> Vec<Sent<'a>> {
    let copies = released(actions);
    let packets = call.outcome.to_fh.iter().enumerate();
    packets
        .map(|(i, bytes)| {
            let comment = match i < copies {
                true => format!(
                    "{OURS}released{}, copy {} of {copies}",
                    ack_of(call, bytes),
                    i + 1
                ),
                false => format!("{OURS}in its turn: a packet that had waited"),
            };
            Sent {
                by: Side::Wired,
                bytes,
                comment,
            }
        })
        .collect()
}

/// ` ACK 1449, window 64240` of a packet to FH.
fn ack_of(call: &Call, packet: &[u8]) -> String {
    parse(packet, 0, None, false).map_or(String::new(), |(segment, _)| {
        let window = u64::from(segment.window) << call.window_shift;
        format!(" ACK {}, window {window}", relative(segment.ack, call.base))
    })
}
