// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The mixes themselves, for the cases that assert and for the table that shows.

use crate::case::{Case, Datagrams, FlowSpec, MS, Pages, SEC, Station};
use crate::lane::{Discipline, Policer};
use crate::unsteady::Unsteady;
use crate::wire::{Carries, Random};

/// The link of most mixes: 20 Mbit/s, 110 ms of which the hop takes 10.
pub fn link(loss: f64) -> Case {
    Case::new(20.0, 110, 10, loss)
}

/// Flows that nobody can brake, the last `free` of them, keep the queue long.
pub fn unbraked(held: usize, free: usize, loss: f64) -> Case {
    let mut case = link(loss).flows(held + free, "cubic");
    for flow in &mut case.flows[held..] {
        flow.mptcp = true;
    }
    case
}

/// Pages of 40 objects over six connections.
pub fn page(cc: &'static str, loss: f64) -> Case {
    Case {
        pages: Some(Pages {
            cc,
            loads: 8,
            objects: 40,
            connections: 6,
            least_bytes: 23e3,
            most_bytes: 140e3,
            keep_alive: true,
        }),
        warmup_ns: 0,
        duration_ns: 200 * SEC,
        ..link(loss)
    }
}

/// Ways on which pages are loaded: Mbit/s, ms, of which local.
pub const BROWSED: [(f64, u64, u64); 6] = [
    (2.0, 60, 10),
    (10.0, 30, 4),
    (10.0, 120, 30),
    (10.0, 250, 20),
    (10.0, 350, 300),
    (50.0, 30, 4),
];

/// The same on another way.
pub fn browse((mbit, rtt, local): (f64, u64, u64), cc: &'static str, loss: f64) -> Case {
    Case {
        bps: mbit * 1e6,
        rtt_ns: rtt * MS,
        local_rtt_ns: local * MS,
        ..page(cc, loss)
    }
}

/// Beside an upload that the agent does not see, over a quarter of the rate and 100 ms of queue.
pub fn beside_upload(mut case: Case) -> Case {
    case.bps_up = case.bps / 4.0;
    case.queue_up = ((case.bps_up * 0.1 / 8.0 / 1514.0) as usize).max(20);
    case.flow(FlowSpec::upload())
}

/// Beside hosts of the same addresses that acknowledge what has just left.
pub fn liars(flows: usize, (rtt, local): (u64, u64), cc: &'static str, loss: f64) -> Case {
    Case {
        liars: true,
        ..Case::new(20.0, rtt, local, loss).flows(flows, cc)
    }
}

/// Short transfers, four a second, beside two long ones.
pub fn arrivals(loss: f64) -> Case {
    let mut case = link(loss).flows(2, "cubic");
    let mut random = Random(5);
    let mut at = SEC;
    while at < 24 * SEC {
        at += (-random.unit().max(1e-9).ln() * 250.0 * MS as f64) as u64;
        case = case.flow(FlowSpec {
            start_ns: at,
            bytes: Some((10e3 * (random.unit() * 4.0).exp()) as u64),
            measured: false,
            mh_opens: true,
            ..FlowSpec::default()
        });
    }
    case
}

/// A receiver of 5 Mbit/s beside one of `fast`, each with a queue of its own and `n` flows.
pub fn stations(fast: f64, n: usize, loss: f64) -> Case {
    let mut case = Case::new(5.0 + fast, 40, 10, loss);
    case.stations = [5.0, fast]
        .map(|mbit| Station {
            bps: mbit * 1e6,
            loss,
            queue: (mbit * 8.0) as usize + 20,
        })
        .to_vec();
    for i in 0..2 * n {
        case = case.flow(FlowSpec {
            station: i % 2,
            ..FlowSpec::default()
        });
    }
    case
}

/// ACKs that queue behind an upload's data.
pub fn upload(loss: f64) -> Case {
    let mut case = link(loss).flows(1, "cubic").flow(FlowSpec::upload());
    case.bps_up = 2e6;
    case.queue_up = 50;
    case
}

/// One flow on a hop with a queue of so many milliseconds, for others to share.
fn shared(queue_ms: usize, loss: f64) -> Case {
    let mut case = Case::new(20.0, 40, 10, loss).flows(1, "cubic");
    case.queue = queue_ms * 20_000 / 8 / 1514;
    case
}

/// Beside it a flow that the agent does not see.
pub fn beside_flow(cc: &'static str, queue_ms: usize, loss: f64) -> Case {
    shared(queue_ms, loss).flow(FlowSpec {
        cc,
        managed: false,
        ..FlowSpec::default()
    })
}

/// Beside it datagrams of half the rate.
pub fn beside_datagrams(queue_ms: usize, loss: f64) -> Case {
    let mut case = shared(queue_ms, loss);
    case.datagrams.push(Datagrams {
        bps: 10e6,
        start_ns: 0,
        end_ns: 100 * SEC,
        station: 0,
    });
    case
}

/// Two flows through a queue that is managed.
pub fn managed(discipline: Discipline, cc: &'static str, loss: f64) -> Case {
    Case {
        discipline,
        queue: 1_000,
        ..link(loss).flows(2, cc)
    }
}

/// A hop that is most of the way: `local_ms` of `rtt_ms`.
pub fn long_hop(mbit: f64, rtt_ms: u64, local_ms: u64, cc: &'static str, loss: f64) -> Case {
    Case {
        duration_ns: 40 * SEC,
        warmup_ns: 10 * SEC,
        ..Case::new(mbit, rtt_ms, local_ms, loss).flows(1, cc)
    }
}

/// Receivers that acknowledge eight segments at once, and fewer `delack_ms` late.
pub fn strides(n: usize, cc: &'static str, delack_ms: u64, loss: f64) -> Case {
    let case = Case {
        warmup_ns: 5 * SEC,
        duration_ns: 40 * SEC,
        ..Case::new(20.0, 40, 20, loss).flows(n, cc)
    };
    case.each(|flow| {
        flow.ack_every = 8;
        flow.delack_ns = delack_ms * MS;
    })
}

/// What comes back carries more than ACKs: half of the 40 ms are the hop's.
pub fn carries(carries: Carries, cc: &'static str, loss: f64) -> Case {
    let case = Case::new(20.0, 40, 20, loss).flows(1, cc);
    case.each(|flow| flow.ack_carries = carries)
}

/// A share of the frames takes so many milliseconds longer, and others overtake them.
pub fn detours(ms: u64, share: f64, cc: &'static str, loss: f64) -> Case {
    let unsteady = Unsteady {
        detour_share: share,
        detour_ns: ms * MS,
        ..Unsteady::default()
    };
    uneven(unsteady, cc, loss)
}

/// One flow over a hop that is not steady.
fn uneven(unsteady: Unsteady, cc: &'static str, loss: f64) -> Case {
    Case {
        unsteady,
        ..link(loss).flows(1, cc)
    }
}

/// Receivers of pieces, by name: what most hosts do, the longest delayed ACK (of any segment), none that tells what came
/// twice, and ACKs of eight segments.
pub const RECEIVERS: [(&str, u32, u64, bool); 4] = [
    ("plain", 2, 40, true),
    ("late", 2, 200, true),
    ("mute", 2, 200, false),
    ("eighth", 8, 200, false),
];

/// (bytes, milliseconds between them): a terminal, a call, short and longer answers.
pub const PIECES: [(u64, u64); 4] = [(100, 500), (1_448, 30), (10_000, 400), (30_000, 400)];

/// So much and so often to one of `RECEIVERS`.
pub fn pieces(rtt: u64, local: u64, receiver: &str, often: (u64, u64), loss: f64) -> Case {
    let known = RECEIVERS.iter().find(|r| r.0 == receiver);
    let &(_, every, delack_ms, dsack) = known.expect("one of RECEIVERS");
    let case = Case {
        warmup_ns: 0,
        duration_ns: 180 * SEC,
        ..Case::new(20.0, rtt, local, loss).flows(1, "cubic")
    };
    case.each(|flow| {
        flow.ack_every = every;
        flow.delack_ns = delack_ms * MS;
        flow.dsack = dsack;
        flow.delack_short = receiver != "plain";
        flow.chunks = Some((often.0, often.1 * MS));
    })
}

/// The hop becomes 30 ms longer.
pub fn moved(case: Case) -> Case {
    Case {
        longer_ns: Some((8 * SEC, 15 * MS)),
        ..case
    }
}

/// A link on which a segment takes 24 ms, or 12.
pub fn slow(mbit: f64, n: usize, cc: &'static str, loss: f64) -> Case {
    Case {
        duration_ns: 120 * SEC,
        ..Case::new(mbit, 110, 10, loss).flows(n, cc)
    }
}

/// A link on which a segment takes 48 ms, and a full queue a second.
pub fn narrow(n: usize, cc: &'static str, loss: f64) -> Case {
    Case {
        duration_ns: 60 * SEC,
        ..Case::new(0.25, 40, 10, loss).flows(n, cc)
    }
}

/// A call of 48 kB/s beside a connection that nobody can brake, which keeps 40 to 90 ms queued.
pub fn call(discipline: Discipline, loss: f64) -> Case {
    let case = Case {
        discipline,
        queue: match discipline {
            Discipline::Fifo => 42,
            _ => 1_000,
        },
        ..Case::new(5.7, 46, 8, loss).flows(1, "reno")
    };
    sealed(case).flow(FlowSpec {
        chunks: Some((1_448, 30 * MS)),
        measured: false,
        mh_opens: true,
        ..FlowSpec::default()
    })
}

/// Connections that nobody can brake (MPTCP, TCP-AO).
pub fn sealed(case: Case) -> Case {
    case.each(|flow| flow.mptcp = true)
}

/// To receivers that acknowledge each segment.
pub fn one_by_one(case: Case) -> Case {
    case.each(|flow| flow.ack_every = 1)
}

/// A rate that jumps between 30 and 10 Mbit/s.
pub fn wave(cc: &'static str, loss: f64) -> Case {
    Case {
        wave: vec![(30e6, 2 * SEC), (10e6, 2 * SEC)],
        ..link(loss).flows(1, cc)
    }
}

/// A hop that becomes 20 ms longer before anything is measured.
pub fn longer(n: usize, cc: &'static str, loss: f64) -> Case {
    Case {
        longer_ns: Some((8 * SEC, 10 * MS)),
        warmup_ns: 12 * SEC,
        duration_ns: 22 * SEC,
        ..link(loss).flows(n, cc)
    }
}

/// The same, and until it is longer the hop has lost nothing.
pub fn roams(n: usize, cc: &'static str, loss: f64) -> Case {
    Case {
        loss_from_ns: 8 * SEC,
        warmup_ns: 24 * SEC,
        duration_ns: 20 * SEC,
        ..longer(n, cc, loss)
    }
}

/// Hops whose frames don't come as evenly as they left, by name.
pub fn unsteady(cc: &'static str, loss: f64) -> [(&'static str, Case); 7] {
    let none = Unsteady::default();
    let pause = |ms: u64, every_ms: u64| Unsteady {
        pause_ns: ms * MS,
        pause_every_ns: every_ms * MS,
        ..none
    };
    let hop = |unsteady| uneven(unsteady, cc, loss);
    let jitter = |ms: u64| {
        hop(Unsteady {
            jitter_ns: ms * MS,
            ..none
        })
    };
    let batch_ns = 20 * MS;
    let mobile = Case {
        unsteady: Unsteady {
            late_ns: 8 * MS,
            batch_ns: 5 * MS,
            ..pause(100, 1_000)
        },
        ..Case::new(20.0, 80, 40, loss).flows(1, cc)
    };
    let satellite = Case {
        unsteady: Unsteady {
            jitter_ns: 10 * MS,
            batch_ns,
            ..none
        },
        ..long_hop(20.0, 300, 250, cc, loss)
    };
    [
        ("jitter-5", jitter(5)),
        ("jitter-20", jitter(20)),
        ("batch-20", hop(Unsteady { batch_ns, ..none })),
        ("pause-30", hop(pause(30, 200))),
        ("pause-200", hop(pause(200, 2_000))),
        ("mobile", mobile),
        ("satellite", satellite),
    ]
}

/// A line of 100 Mbit/s whose owner drops what is beyond 10, but for so many milliseconds' worth.
pub fn policed(burst_ms: u64, loss: f64) -> Case {
    let bps = 10e6;
    Case {
        policer: Some(Policer {
            bps,
            burst_bytes: bps * burst_ms as f64 / 8e3,
        }),
        ..Case::new(100.0, 50, 10, loss)
    }
}

/// A page's on such a line.
pub fn policed_page(burst_ms: u64, cc: &'static str, loss: f64) -> Case {
    Case {
        pages: page(cc, loss).pages,
        warmup_ns: 0,
        duration_ns: 200 * SEC,
        ..policed(burst_ms, loss)
    }
}

/// One that loses 10 % besides, from some time on.
pub fn policed_fades(burst_ms: u64, flows: usize) -> Case {
    Case {
        loss_from_ns: 12 * SEC,
        ..policed(burst_ms, 0.1).flows(flows, "cubic")
    }
}

/// A short one that loses 8 % besides: a download and pages, of which so little is under way that the last is often lost.
pub fn policed_lossy() -> Case {
    let mut case = Case {
        policer: Some(Policer {
            bps: 4.1e6,
            burst_bytes: 30e3,
        }),
        pages: Some(Pages {
            loads: 1000,
            objects: 6,
            connections: 1,
            ..page("reno", 0.0).pages.unwrap()
        }),
        ..Case::new(7.6, 10, 7, 0.08).flows(1, "reno")
    };
    case.flows[0].window = 256 << 10;
    case.flows[0].delack_ns = 200 * MS;
    case
}

/// Flows whose receiver acknowledges each eighth segment: C is ten at the least.
pub fn policed_rare_acks() -> Case {
    let mut case = Case {
        policer: Some(Policer {
            bps: 12.4e6,
            burst_bytes: 127e3,
        }),
        ..Case::new(27.0, 32, 2, 0.0).flows(10, "cubic")
    };
    for flow in &mut case.flows {
        flow.ack_every = 8;
        flow.dsack = false;
    }
    case
}

/// A hop of 50 Mbit/s with room for so few packets.
pub fn short(queue: usize, loss: f64) -> Case {
    Case {
        queue,
        ..Case::new(50.0, 50, 10, loss)
    }
}
