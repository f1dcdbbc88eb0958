// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the core returned, and what comments and verdict make of it; then whole files.

use std::fs;

use lasthop_core::bindings::{
    LH_DROP, LH_KEEP_WINDOW, LH_NO_SLOT, LH_TELL_OPTION, LH_WAIT, lh_retransmit,
};
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Actions, Bypass, Outcome, Segment, parse};
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};
use serde_json::Value;

use super::call::{Call, Reasons, Side};
use super::decision::{comments, sent, verdict};
use super::step::Clock;
use super::tests::{Files, Packets, captured, lines, pcap};

const CLOCK: Clock = Clock {
    start_ns: 0,
    now_ns: 0,
};
const FIRST: u32 = 1000;

/// What the core says if it wants nothing.
fn nothing() -> Actions {
    Actions {
        store_slot: LH_NO_SLOT,
        window: LH_KEEP_WINDOW,
        held_window: LH_KEEP_WINDOW,
        ..Actions::default()
    }
}

/// An ACK of MH with a SACK block.
fn ack() -> Vec<u8> {
    let block = option::sack(&[(FIRST + 1448, FIRST + 2896)]);
    let ack = Tcp {
        ack: FIRST,
        window: 500,
        options: block,
        ..Tcp::default()
    };
    ack.to_fh(&Ends::v4(1))
}

/// What is said of a packet of `side` whose call came to `outcome`.
fn said_of(side: Side, packet: &[u8], outcome: &Outcome) -> (Vec<String>, u64) {
    let segment: Option<Segment> = parse(packet, 0, None, side == Side::Wired)
        .ok()
        .map(|(segment, _)| segment);
    let mut call = Call::new(CLOCK, outcome, Reasons::default());
    call.packet = Some((side, packet));
    call.segment = segment.as_ref();
    call.base = FIRST;
    call.window_shift = 7;
    (comments(&call), verdict(&call))
}

/// The same of what the core said of the ACK.
fn said_of_ack(actions: Actions) -> (Vec<String>, u64) {
    let outcome = Outcome {
        dropped: actions.is_drop() || actions.waits(),
        actions: Some(actions),
        ..Outcome::default()
    };
    said_of(Side::Lossy, &ack(), &outcome)
}

#[test]
fn an_ack_passes_is_held_dropped_or_waits() {
    let cases = [
        (nothing(), "lasthop: passed", 0),
        (
            Actions {
                verdict: LH_DROP,
                hold: 1,
                ..nothing()
            },
            "lasthop: held, to be released if the repair fails",
            2,
        ),
        (
            Actions {
                verdict: LH_DROP,
                ..nothing()
            },
            "lasthop: dropped, kept from FH for good",
            2,
        ),
        (
            Actions {
                verdict: LH_WAIT,
                ..nothing()
            },
            "lasthop: waits for its turn",
            4,
        ),
    ];
    for (actions, comment, tc) in cases {
        assert_eq!(said_of_ack(actions), (vec![comment.to_owned()], tc));
    }
}

#[test]
fn edits_of_an_ack() {
    let edited = Actions {
        window: 10,
        blank_sack: 1,
        hold: 1,
        ..nothing()
    };
    let expected = [
        "lasthop: passed",
        "lasthop: edited window 64000->1280",
        "lasthop: blanked SACK 1448-2896",
        "lasthop: kept a copy, to be released later",
    ];
    assert_eq!(said_of_ack(edited).0, expected);
    // Of an ACK that does not pass nothing is edited.
    let dropped = Actions {
        verdict: LH_DROP,
        ..edited
    };
    assert_eq!(said_of_ack(dropped).0.len(), 1);
    // Nor are blocks that are not there.
    let bare = Tcp::default().to_fh(&Ends::v4(1));
    let outcome = Outcome {
        actions: Some(Actions {
            blank_sack: 1,
            ..nothing()
        }),
        ..Outcome::default()
    };
    let (said, _) = said_of(Side::Lossy, &bare, &outcome);
    assert_eq!(said, ["lasthop: passed"]);
}

#[test]
fn what_becomes_of_data() {
    let data = Tcp {
        seq: FIRST,
        payload: vec![0; 100],
        ..Tcp::default()
    };
    let data = data.to_mh(&Ends::v4(1));
    let said = |actions| {
        let outcome = Outcome {
            actions,
            ..Outcome::default()
        };
        said_of(Side::Wired, &data, &outcome)
    };
    let cached = Actions {
        store_slot: 3,
        mark_ce: 1,
        ..nothing()
    };
    let expected = ["lasthop: passed", "lasthop: cached", "lasthop: marked CE"];
    assert_eq!(said(Some(cached)).0, expected);
    assert_eq!(said(Some(nothing())).0, ["lasthop: passed"]);
    let none = vec!["lasthop: passed, no flow is kept for it".to_owned()];
    assert_eq!(said(None), (none, 0));
    let bypassed = Outcome {
        bypass: Some(Bypass::Fragment),
        ..Outcome::default()
    };
    let (said, tc) = said_of(Side::Wired, &data, &bypassed);
    assert_eq!((said[0].as_str(), tc), ("lasthop: passed, a fragment", 0));
}

#[test]
fn what_the_agent_sends_says_what_it_is() {
    let mut actions = Actions {
        nr_retransmit: 2,
        emit_held: 2,
        window: 10,
        ..nothing()
    };
    for (n, retransmit) in actions.retransmit.iter_mut().enumerate() {
        let seq = FIRST + 1448 * n as u32;
        *retransmit = lh_retransmit { slot: 0, seq };
    }
    let (packet, other) = (ack(), Tcp::default().to_fh(&Ends::v4(2)));
    let mut edited = packet.clone();
    let (segment, _) = parse(&packet, 0, None, false).unwrap();
    actions.edit(&mut edited, &segment);
    let outcome = Outcome {
        actions: Some(actions),
        to_mh: vec![other.clone(), other.clone()],
        to_fh: vec![packet.clone(), packet.clone(), other.clone()],
        passed: Some(edited.clone()),
        ..Outcome::default()
    };
    let mut call = Call::new(CLOCK, &outcome, Reasons::default());
    call.packet = Some((Side::Lossy, &packet));
    call.segment = Some(&segment);
    call.base = FIRST;
    call.window_shift = 7;
    let sent: Vec<_> = sent(&call)
        .into_iter()
        .map(|sent| (sent.by, sent.bytes, sent.comment))
        .collect();
    let of = |side, bytes: &'static str, packet| (side, packet, bytes.to_owned());
    let expected = [
        of(Side::Lossy, "lasthop: repair of seq 0", &other[..]),
        of(Side::Lossy, "lasthop: repair of seq 1448", &other),
        of(
            Side::Wired,
            "lasthop: released ACK 0, window 64000, copy 1 of 2",
            &packet,
        ),
        of(
            Side::Wired,
            "lasthop: released ACK 0, window 64000, copy 2 of 2",
            &packet,
        ),
        of(
            Side::Wired,
            "lasthop: in its turn: a packet that had waited",
            &other,
        ),
        of(
            Side::Wired,
            "lasthop: as edited: the form in which the packet before leaves",
            &edited,
        ),
    ];
    assert_eq!(sent, expected);
    let led: Vec<String> = comments(&call).split_off(2);
    let expected = [
        "lasthop: led to repair of seq 0 1448",
        "lasthop: led to release of 2 ACKs",
        "lasthop: led to 1 packet that had waited",
    ];
    assert_eq!(led, expected);
}

/// A packet that leaves as it came is not written twice; the padding of its frame is none of it.
#[test]
fn what_passes_unchanged_is_not_sent() {
    let packet = ack();
    let padded = [&packet[..], &[0; 6]].concat();
    let outcome = Outcome {
        actions: Some(nothing()),
        passed: Some(packet),
        ..Outcome::default()
    };
    let mut call = Call::new(CLOCK, &outcome, Reasons::default());
    call.packet = Some((Side::Lossy, &padded));
    assert_eq!(sent(&call), []);
}

#[test]
fn what_the_two_agents_of_a_hop_say_to_each_other() {
    let told = Actions {
        tell_by: LH_TELL_OPTION,
        ..nothing()
    };
    let outcome = Outcome {
        actions: Some(told),
        annotated: Some([ack(), vec![0; 12]].concat()),
        absent: vec![(1, 2)],
        ..Outcome::default()
    };
    let (said, _) = said_of(Side::Wired, &ack(), &outcome);
    let expected = [
        "lasthop: passed",
        "lasthop: told the other agent by an option what is missing",
        "lasthop: told the other agent what will not come",
    ];
    assert_eq!(said, expected);
}

/// A packet of a file as it was read.
#[derive(Debug)]
struct Read {
    interface: u32,
    at_ns: u64,
    original_bytes: u32,
    bytes: Vec<u8>,
    comments: Vec<String>,
    flags: u32,
    verdict: Option<Vec<u8>>,
}

fn read(path: &str) -> Vec<Read> {
    let mut reader = create_reader(1 << 16, fs::File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    loop {
        match reader.next() {
            Ok((used, block)) => {
                if let PcapBlockOwned::NG(Block::EnhancedPacket(block)) = &block {
                    let with = |code: u16| {
                        let options = block.options.iter();
                        let options = options.filter(move |option| option.code.0 == code);
                        options.map(|option| option.as_bytes().unwrap().to_vec())
                    };
                    let flags = with(2).next().unwrap();
                    packets.push(Read {
                        interface: block.if_id,
                        at_ns: u64::from(block.ts_high) << 32 | u64::from(block.ts_low),
                        original_bytes: block.origlen,
                        bytes: block.data[..block.caplen as usize].to_vec(),
                        comments: with(1)
                            .map(|text| String::from_utf8(text).unwrap())
                            .collect(),
                        flags: u32::from_le_bytes(flags.try_into().unwrap()),
                        verdict: with(7).next(),
                    });
                }
                reader.consume(used);
            }
            Err(PcapError::Eof) => return packets,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// The captures' packets and the agent's, by time, and how many comments begin so.
fn written(files: &Files, more: &[&str]) -> (Vec<Read>, Vec<Value>) {
    let path = files.path("pcapng");
    let words: Vec<&str> = [&["-j", "--pcapng", &path], more].concat();
    let (text, result) = files.replay(&words);
    result.unwrap();
    (read(&path), lines(&text))
}

fn count(packets: &[Read], begins: &str) -> usize {
    let said = packets.iter().flat_map(|packet| &packet.comments);
    said.filter(|comment| comment.starts_with(begins)).count()
}

/// Every packet that the agent saw is there, in its order and as it was captured; and the repair
/// is, of the third segment, with no more of it than the capture had.
#[test]
fn a_file_has_the_packets_and_the_repair() {
    for ends in [Ends::v4(1), Ends::v6(1)] {
        let (wired, lossy) = captured(&ends);
        let files = Files::new(&pcap(&wired, 1, true), &pcap(&lossy, 1, true));
        let (packets, lines) = written(&files, &[]);
        let mut expected: Packets = [wired.clone(), lossy.clone()].concat();
        expected.sort_by_key(|(at_ns, _)| *at_ns);
        let came: Vec<&Read> = packets
            .iter()
            .filter(|packet| packet.interface < 2)
            .collect();
        assert_eq!(came.len(), expected.len());
        for (packet, (at_ns, bytes)) in came.iter().zip(&expected) {
            assert_eq!(packet.at_ns, super::tests::START_NS + at_ns);
            assert_eq!(packet.bytes[..], bytes[..bytes.len().min(128)]);
            assert_eq!(packet.original_bytes as usize, bytes.len());
            assert_eq!(packet.flags, 1);
            assert_eq!(packet.verdict.as_ref().unwrap().len(), 9);
            assert_eq!(packet.verdict.as_ref().unwrap()[0], 1);
        }
        let repairs: Vec<&Read> = packets
            .iter()
            .filter(|packet| packet.interface == 3)
            .collect();
        assert_eq!(repairs.len(), 1);
        assert_eq!(
            repairs[0].comments,
            ["lasthop: repair of seq 2897 (by time order)"]
        );
        assert_eq!((repairs[0].flags, &repairs[0].verdict), (2, &None));
        // The third segment without its Ethernet header.
        let third = &wired[3].1[14..];
        assert_eq!(repairs[0].bytes, third[..128 - 14]);
        assert_eq!(repairs[0].original_bytes as usize, third.len());
        let held = lines
            .iter()
            .filter(|line| line["verdict"] == "drop")
            .count();
        assert!(held > 0);
        assert_eq!(count(&packets, "lasthop: held"), held);
        let dropped = packets.iter().filter(|packet| {
            packet
                .verdict
                .as_ref()
                .is_some_and(|verdict| verdict[1..] == 2_u64.to_le_bytes())
        });
        assert_eq!(dropped.count(), held);
        // The SYN's place is kept, too.
        assert_eq!(count(&packets, "lasthop: cached"), 11);
        assert_eq!(lines.last().unwrap()["counters"]["cached_segments"], 11);
    }
}

/// What is before `--from` is not written; what the capture has of a packet is known all the same.
#[test]
fn a_file_of_a_part_of_the_time() {
    let (wired, lossy) = captured(&Ends::v4(1));
    let files = Files::new(&pcap(&wired, 1, true), &pcap(&lossy, 1, true));
    let (packets, lines) = written(&files, &["--from", "27ms", "--to", "29ms"]);
    let came = packets.iter().filter(|packet| packet.interface < 2).count();
    assert_eq!(
        came,
        lines
            .iter()
            .filter(|line| line["verdict"].is_string())
            .count()
    );
    assert!(came < wired.len());
    assert_eq!(count(&packets, "lasthop: repair of"), 1);
    let repair = packets.iter().find(|packet| packet.interface == 3).unwrap();
    assert_eq!(repair.bytes.len(), 128 - 14);
}

/// Scheme none does nothing, and so nothing but the captures is there.
#[test]
fn a_file_of_an_onlooker() {
    let (wired, lossy) = captured(&Ends::v4(1));
    let files = Files::new(&pcap(&wired, 1, true), &pcap(&lossy, 1, true));
    let (packets, _) = written(&files, &["--scheme", "none"]);
    assert_eq!(packets.len(), wired.len() + lossy.len());
    assert_eq!(count(&packets, "lasthop: passed"), packets.len());
}

#[test]
fn a_file_that_cannot_be_written() {
    let (wired, lossy) = captured(&Ends::v4(1));
    let files = Files::new(&pcap(&wired, 1, true), &pcap(&lossy, 1, true));
    let error = files.error(&["--pcapng", "/nonexistent/pcapng"]);
    assert!(
        error.starts_with("--pcapng /nonexistent/pcapng: "),
        "{error}"
    );
    // A capture is not overwritten by what comes of it.
    let wired = files.path("wired");
    let error = files.error(&["--pcapng", &wired]);
    assert!(error.contains("is the capture that is replayed"), "{error}");
    files.replay(&[]).1.unwrap();
    if std::path::Path::new("/dev/full").exists() {
        let error = files.error(&["--pcapng", "/dev/full"]);
        assert!(error.contains("No space left"), "{error}");
    }
}
