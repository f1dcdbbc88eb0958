// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme dproxy (docs/design.md, section 5.11) where somebody or something is against it: what waits is
//! not lost, nor stuck, nor anybody else's harm.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp};
use lasthop_core::{Config, Flow, Host, Key, Limits, MSEC_NS, SEC_NS, Segment, Setup, parse};

use crate::dproxy::{Down, FIRST, OTHER, SIZE, dproxy};

fn bare(seq: u32, ack: u32, flags: u32) -> Tcp {
    Tcp {
        seq,
        ack,
        flags,
        ..Tcp::default()
    }
}

/// The link went down while something was missing, and all of that has been given up when it comes back:
/// what gets lost from then on is asked for.
#[test]
fn a_link_that_is_back_is_asked() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    down.agent.on_link(false, down.now);
    let (_, on) = down.run_ms(200);
    assert_eq!(on.iter().map(|on| on.1).collect::<Vec<_>>(), [2 * SIZE]);
    down.agent.on_link(true, down.now);
    assert_eq!(down.comes(4 * SIZE).asked, [3 * SIZE]);
}

/// Nobody says that the link is up, but what comes over it.
#[test]
fn data_show_that_the_link_is_up() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    down.agent.on_link(false, down.now);
    down.run_ms(200);
    assert_eq!(down.comes(4 * SIZE).asked, [3 * SIZE]);
}

/// A repair that comes when others have waited for long is no reason to begin anew: none waits for more
/// than 150 ms, whatever comes and gets lost.
#[test]
fn a_late_repair_holds_nobody_up() {
    let mut down = Down::new(Config {
        max_local: 100,
        give_up: 8,
        ..dproxy()
    });
    down.comes(0);
    down.comes(6 * SIZE);
    let (start, mut gone) = (down.now, Vec::new());
    for n in (2..6).rev() {
        gone.extend(down.run_ms(20).1);
        gone.extend(down.comes(n * SIZE).on.into_iter().map(|seq| (0, seq)));
    }
    while gone.iter().all(|on| on.1 != 6 * SIZE) {
        gone.extend(down.run_ms(5).1);
        assert!(down.now - start <= 151 * MSEC_NS, "{gone:?}");
    }
    let numbers: Vec<u32> = gone.iter().map(|on| on.1 / SIZE).collect();
    assert_eq!(numbers, [2, 3, 4, 5, 6]);
    down.at_rest();
}

/// Without timestamps the sender's own retransmission looks like a further copy of what was asked for
/// twice. Its timeout comes later than those.
#[test]
fn a_senders_timeout_is_no_copy() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    down.run_ms(45);
    assert_eq!(down.comes(SIZE).on, [SIZE, 2 * SIZE]);
    // The other proxy's, and then what was lost beyond us.
    assert_eq!(down.comes(SIZE).on, []);
    down.comes(4 * SIZE);
    assert_eq!(down.run_ms(100).0.len(), 1);
    assert_eq!(down.comes(3 * SIZE).on, [3 * SIZE, 4 * SIZE]);
    down.run_ms(200);
    assert_eq!(down.comes(3 * SIZE).on, [3 * SIZE]);
}

/// Both ends have closed, what waits has its turn by that, and before its timer runs MH's SYN-ACK comes
/// for another connection, whose numbers lie elsewhere: it goes on, and the timer comes to rest.
#[test]
fn what_waits_is_not_stuck_behind_another_connections_numbers() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    let fin = LH_FIN | LH_ACK;
    let end = FIRST.wrapping_add(3 * SIZE);
    down.agent
        .on_ingress(&bare(end, OTHER, fin).to_mh(&down.ends), down.now);
    assert_eq!(down.waiting(), 2);
    let closes = bare(OTHER, end.wrapping_add(1), fin).to_fh(&down.ends);
    down.agent.on_egress(&closes, down.now);
    let last = bare(end.wrapping_add(1), OTHER + 1, LH_ACK).to_mh(&down.ends);
    down.agent.on_ingress(&last, down.now);
    assert_eq!(down.waiting(), 2);
    let again = bare(FIRST.wrapping_sub(1 << 20), OTHER + 1, LH_SYN | LH_ACK);
    down.agent.on_ingress(&again.to_mh(&down.ends), down.now);
    let mut served = 0;
    while let Some(at) = down.agent.next_deadline() {
        down.timer(at);
        served += 1;
        assert!(served < 100, "a timer that spins");
    }
    down.at_rest();
}

/// A flow has the whole buffer, and it is as large as may be: the gap is given up, nobody overtakes.
#[test]
fn the_greatest_buffer_keeps_the_order() {
    let mut down = Down::new(Config {
        reorder_buffer: 256,
        ..dproxy()
    });
    down.comes(0);
    let mut on = Vec::new();
    for n in 2..=300 {
        on.extend(down.comes(n * SIZE).on);
    }
    assert_eq!(on, (2..=300).map(|n| n * SIZE).collect::<Vec<_>>());
    assert_eq!(down.count(LH_C_unsequenced), 0);
    assert_eq!(down.count(LH_C_overcrowded), 1);
    down.at_rest();
}

/// No memory: what comes passes as it comes, and is not lost.
#[test]
fn without_memory_everything_passes() {
    for limits in [
        Limits {
            slots: 2,
            chunks: 4,
            ..Limits::default()
        },
        Limits {
            slots: 64,
            chunks: 0,
            ..Limits::default()
        },
    ] {
        let mut down = Down::with(Setup {
            config: dproxy(),
            limits,
            ..Setup::default()
        });
        down.comes(0);
        let mut on = Vec::new();
        for n in 2..10 {
            on.extend(down.comes(n * SIZE).on);
        }
        on.extend(down.comes(SIZE).on);
        on.extend(down.run_ms(1).1.into_iter().map(|on| on.1));
        on.sort_unstable();
        assert_eq!(
            on,
            (1..10).map(|n| n * SIZE).collect::<Vec<_>>(),
            "{limits:?}"
        );
        down.at_rest();
    }
}

/// Data of connections that nobody has answered: they may be anybody's idea. Nothing of them waits,
/// nothing is asked for in their names, and nobody has less of the buffer for them.
#[test]
fn what_nobody_answers_gets_no_part() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    let forged = |host: u16, seq: u32| {
        let tcp = Tcp {
            payload: vec![7; 100],
            ..bare(seq, 1, LH_ACK)
        };
        tcp.to_mh(&Ends::v4(host))
    };
    for host in 2..400 {
        for seq in [1_000, 1_200, 1_400] {
            let outcome = down.agent.on_ingress(&forged(host, seq), down.now);
            assert!(!outcome.dropped && outcome.told.is_empty(), "{host}");
        }
    }
    assert_eq!(down.agent.host().pool().slots_used(), 0);
    assert_eq!(down.comes(2 * SIZE).asked, [SIZE]);
    for n in 3..100 {
        assert_eq!(down.comes(n * SIZE).on, []);
    }
    assert_eq!(down.waiting(), 98);
}

/// An ACK that was kept and goes on is not one of those that the next few wait for (parameter `brake`).
#[test]
fn an_ack_that_comes_by_is_not_counted() {
    let config = dproxy();
    let mut host = Host::new(Limits::default());
    let mut flow = Flow::new();
    flow.raw_mut().resequence.away = 2;
    let ack = bare(FIRST, OTHER, LH_ACK).to_mh(&Ends::v4(1));
    let (segment, _): (Segment, Key) = parse(&ack, 0, None, false).expect("TCP");
    host.on_through(&mut flow, &config, &segment, &lh_call::at(SEC_NS));
    assert_eq!(flow.raw().resequence.away, 2);
}

/// Who has many connections has no more of the buffer for that.
#[test]
fn a_host_with_many_connections_has_its_part() {
    let mut down = Down::new(dproxy());
    let mut others = Vec::new();
    for port in 1_000..1_200 {
        let mut ends = Ends::v4(2);
        ends.fh = ([203, 0, 113, 7], port).into(); // who sends over the link
        down.open_between(ends);
        others.push(ends);
    }
    for ends in others {
        down.ends = ends;
        down.comes(0);
    }
    down.open(3);
    down.comes(0);
    for n in 2..=76 {
        assert_eq!(down.comes(n * SIZE).on, []);
    }
    // Half of it, as there are two.
    assert_ne!(down.comes(77 * SIZE).on, []);
    assert_eq!(down.count(LH_C_overcrowded), 1);
}
