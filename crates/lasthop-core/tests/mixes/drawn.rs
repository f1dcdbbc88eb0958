// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Mixes that nobody thought of: links and traffic drawn at random, by number. `DRAWN=1-500` looks through them for what
//! the agent makes worse than it is without, or leaves far below the same link without losses;
//! `DRAWN=7` shows one.

use crate::case::{Case, Datagrams, FlowSpec, MS, Pages, SEC, Station};
use crate::lane::{Discipline, Policer};
use crate::run;
use crate::seeds::on_all_cpus;
use crate::table::show;
use crate::unsteady::Unsteady;
use crate::wire::{Carries, FRAME, Random};

/// Most hosts have the first.
const CCS: [&str; 4] = ["cubic", "cubic", "reno", "bbr"];

struct Draw(Random);

impl Draw {
    /// Each decade as often.
    fn log(&mut self, least: f64, most: f64) -> f64 {
        least * (self.0.unit() * (most / least).ln()).exp()
    }

    fn of<T: Copy>(&mut self, among: &[T]) -> T {
        among[(self.0.unit() * among.len() as f64) as usize]
    }

    fn chance(&mut self, p: f64) -> bool {
        self.0.chance(p)
    }

    fn ns(&mut self, least_ms: f64, most_ms: f64) -> u64 {
        (self.log(least_ms, most_ms) * MS as f64) as u64
    }
}

/// From here on the numbers are houses.
const HOUSES: u64 = 10_001;

/// Mix number `number`.
pub fn case(number: u64) -> Case {
    let mut draw = Draw(Random(number.wrapping_mul(0x6c61_7374)));
    let mut case = way(&mut draw);
    queues(&mut case, &mut draw);
    weather(&mut case, &mut draw);
    if number >= HOUSES {
        house(&mut case, &mut draw);
        return case;
    }
    match draw.chance(0.25) {
        true => browsing(&mut case, &mut draw),
        false => transfers(&mut case, &mut draw),
    }
    beside(&mut case, &mut draw);
    case
}

/// Full ones that a link carries in so long.
fn packets(bps: f64, seconds: f64) -> usize {
    (bps * seconds / 8.0 / f64::from(FRAME)) as usize
}

/// Rates and ways; the links of several receivers.
fn way(draw: &mut Draw) -> Case {
    let rtt_ns = draw.ns(8.0, 600.0);
    let local = draw.log(0.02, 0.95);
    let mut case = Case {
        bps: draw.log(0.7e6, 80e6),
        rtt_ns,
        local_rtt_ns: ((rtt_ns as f64 * local) as u64).max(MS),
        warmup_ns: 8 * SEC,
        duration_ns: 20 * SEC,
        ..Case::default()
    };
    if draw.chance(0.75) {
        case.loss = draw.log(0.0003, 0.12);
        case.loss_up = case.loss * draw.of(&[0.0, 0.3, 1.0, 1.0]);
        case.loss_burst = draw.of(&[0.0, 0.0, 2.0, 5.0]);
    }
    if draw.chance(0.15) {
        case.wired_bps = case.bps * draw.log(0.5, 2.0);
        case.wired_queue = packets(case.wired_bps, draw.log(0.01, 0.3)).max(10);
    }
    if draw.chance(0.3) {
        case.bps_up = case.bps * draw.log(0.05, 1.0);
    }
    case
}

fn queues(case: &mut Case, draw: &mut Draw) {
    let long = draw.log(0.01, 0.6);
    case.queue = packets(case.bps, long).max(20);
    if case.bps_up > 0.0 {
        case.queue_up = packets(case.bps_up, draw.log(0.02, 0.4)).max(20);
    }
    if draw.chance(0.2) {
        case.discipline = draw.of(&[Discipline::Codel, Discipline::FqCodel]);
        case.queue = 1_000;
    }
    if draw.chance(0.2) {
        let n = draw.of(&[2, 3, 5]);
        for _ in 0..n {
            let bps = case.bps * draw.log(0.1, 1.0);
            case.stations.push(Station {
                bps,
                loss: case.loss * draw.log(0.2, 2.0),
                queue: packets(bps, long).max(20),
            });
        }
    }
}

/// What changes while the link is used.
fn weather(case: &mut Case, draw: &mut Draw) {
    if draw.chance(0.12) && case.stations.is_empty() {
        let fast = case.bps;
        for _ in 0..draw.of(&[2, 3, 4]) {
            case.wave
                .push((fast * draw.log(0.2, 1.0), draw.ns(300.0, 4_000.0)));
        }
    }
    if draw.chance(0.08) && case.stations.is_empty() {
        let bps = case.bps.max(4e6) * draw.log(0.2, 0.8);
        case.policer = Some(Policer {
            bps,
            burst_bytes: (bps * draw.log(0.02, 0.3) / 8.0).max(30_000.0),
        });
    }
    if draw.chance(0.08) {
        case.longer_ns = Some((12 * SEC, draw.ns(2.0, 50.0)));
    }
    if draw.chance(0.08) {
        case.loss_from_ns = draw.ns(1_000.0, 15_000.0);
    }
    if draw.chance(0.3) {
        case.unsteady = unsteady(draw, case.rtt_ns as f64 / MS as f64);
    }
}

fn unsteady(draw: &mut Draw, rtt_ms: f64) -> Unsteady {
    let mut unsteady = Unsteady::default();
    match draw.of(&[0, 1, 2, 3, 4]) {
        0 => unsteady.jitter_ns = draw.ns(1.0, 40.0),
        1 => unsteady.late_ns = draw.ns(2.0, 20.0),
        2 => {
            unsteady.detour_share = draw.log(0.002, 0.2);
            unsteady.detour_ns = draw.ns(0.1, 1.0) * rtt_ms as u64;
        }
        3 => unsteady.batch_ns = draw.ns(2.0, 40.0),
        _ => {
            unsteady.pause_ns = draw.ns(20.0, 800.0);
            unsteady.pause_every_ns = unsteady.pause_ns * draw.of(&[4, 10, 30]);
        }
    }
    unsteady
}

fn browsing(case: &mut Case, draw: &mut Draw) {
    case.pages = Some(pages(draw, 10, &[1, 6, 20, 40, 80], 0.7));
    case.stations.clear();
    case.bps = case.bps.max(2e6);
    case.warmup_ns = 0;
    case.duration_ns = 150 * SEC;
}

fn pages(draw: &mut Draw, loads: usize, objects: &[usize], keep_alive: f64) -> Pages {
    Pages {
        cc: draw.of(&CCS),
        loads,
        objects: draw.of(objects),
        connections: draw.of(&[1, 2, 6, 12]),
        least_bytes: draw.of(&[2e3, 10e3, 23e3]),
        most_bytes: draw.of(&[30e3, 140e3, 600e3]),
        keep_alive: draw.chance(keep_alive),
    }
}

fn transfers(case: &mut Case, draw: &mut Draw) {
    let n = draw.of(&[1, 1, 1, 2, 3, 4, 6, 10, 20]);
    let mixed = draw.chance(0.3);
    let cc = draw.of(&CCS);
    let receivers = receiver(draw);
    for i in 0..n {
        let spec = match mixed {
            true => FlowSpec {
                cc: draw.of(&CCS),
                ..receiver(draw)
            },
            false => FlowSpec {
                cc,
                ..receivers.clone()
            },
        };
        let start_ns = draw.ns(1.0, 5_000.0);
        let extra_wired_ns = match mixed {
            true => draw.ns(1.0, 200.0),
            false => 0,
        };
        case.flows.push(FlowSpec {
            start_ns,
            extra_wired_ns,
            station: i % case.stations.len().max(1),
            ..spec
        });
    }
    if draw.chance(0.2) {
        thin(case, draw);
    }
}

/// Of pages, transfers that come and stay, a connection that has a little to say, an upload and a call as many as chance
/// has it, all over the same link.
fn house(case: &mut Case, draw: &mut Draw) {
    case.bps = case.bps.max(3e6);
    case.warmup_ns = 4 * SEC;
    case.duration_ns = 60 * SEC;
    let stations = case.stations.len().max(1);
    for i in 0..draw.of(&[0, 1, 1, 2, 4]) {
        case.flows.push(FlowSpec {
            cc: draw.of(&CCS),
            start_ns: draw.ns(10.0, 20_000.0),
            station: i % stations,
            managed: !draw.chance(0.1),
            ..receiver(draw)
        });
    }
    if draw.chance(0.5) {
        thin(case, draw);
    }
    if draw.chance(0.7) {
        case.pages = Some(pages(draw, 1_000, &[1, 6, 20, 40], 0.8));
    }
    if draw.chance(0.4) {
        case.datagrams
            .push(datagrams(draw.log(0.08e6, 0.2 * case.bps)));
    }
    if draw.chance(0.3) {
        case.flows.push(FlowSpec {
            cc: draw.of(&CCS),
            ..FlowSpec::upload()
        });
    }
}

/// How a host receives.
fn receiver(draw: &mut Draw) -> FlowSpec {
    FlowSpec {
        mh_opens: true,
        ack_every: draw.of(&[1, 2, 2, 2, 2, 4, 8]),
        delack_ns: draw.of(&[40, 40, 100, 200]) * MS,
        dsack: !draw.chance(0.1),
        mptcp: draw.chance(0.05),
        window: draw.of(&[64 << 10, 256 << 10, 8 << 20, 8 << 20, 8 << 20]),
        ack_carries: match draw.chance(0.1) {
            false => Carries::Nothing,
            true => Carries::Payload(300),
        },
        ..FlowSpec::default()
    }
}

/// A connection that has a little to say now and then.
fn thin(case: &mut Case, draw: &mut Draw) {
    let (bytes, every_ms) = draw.of(&[(100, 500), (1_448, 30), (10_000, 400), (100_000, 1_000)]);
    case.flows.push(FlowSpec {
        chunks: Some((bytes, every_ms * MS)),
        measured: false,
        ..receiver(draw)
    });
}

/// As long as anything goes on.
fn datagrams(bps: f64) -> Datagrams {
    Datagrams {
        bps,
        start_ns: 0,
        end_ns: 1_000 * SEC,
        station: 0,
    }
}

/// Others on the link.
fn beside(case: &mut Case, draw: &mut Draw) {
    if draw.chance(0.12) {
        case.datagrams
            .push(datagrams(case.bps * draw.log(0.02, 0.6)));
    }
    if draw.chance(0.12) {
        case.flows.push(FlowSpec::upload());
    }
    if draw.chance(0.1) {
        case.flows.push(FlowSpec {
            cc: draw.of(&["cubic", "bbr"]),
            managed: false,
            measured: false,
            ..FlowSpec::default()
        });
    }
}

/// What is compared, in the mean of the seeds.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    mbit: f64,
    rtt95_ms: f64,
    page_ms: f64,
    piece_ms: f64,
    piece95_ms: f64,
    jain: f64,
    datagrams_mbit: f64,
    others_mbit: f64,
}

const SEEDS: u64 = 2;

/// So many milliseconds; if there should be some and none came through, as bad as can be.
fn took(ms: f64, expected: bool) -> f64 {
    match expected && ms == 0.0 {
        true => 60e3,
        false => ms,
    }
}

fn figures(case: &Case) -> Figures {
    let mut sum = Figures::default();
    for seed in 1..=SEEDS {
        let r = run(&Case {
            seed,
            ..case.clone()
        });
        let (piece, piece95) = r.chunks_ms();
        let others = r
            .flows
            .iter()
            .zip(&case.flows)
            .filter(|(_, spec)| !spec.managed);
        let k = SEEDS as f64;
        sum.mbit += r.mbit() / k;
        sum.rtt95_ms += r.rtt_p95_ms / k;
        sum.page_ms += took(r.page_median_ms(), case.pages.is_some()) / k;
        let pieces = case.flows.iter().any(|f| f.chunks.is_some());
        sum.piece_ms += took(piece, pieces) / k;
        sum.piece95_ms += took(piece95, pieces) / k;
        sum.jain += r.jain() / k;
        sum.datagrams_mbit += r.datagrams_mbit / k;
        sum.others_mbit += others.map(|(f, _)| f.mbit).sum::<f64>() / k;
    }
    sum
}

/// The same without losses of the link's.
fn clean(case: &Case) -> Case {
    let mut case = Case {
        loss: 0.0,
        loss_up: 0.0,
        ..case.clone()
    };
    case.stations.iter_mut().for_each(|s| s.loss = 0.0);
    case
}

/// (how bad, what): 1 is as good as it should be.
fn complaints(
    house: bool,
    clean: &Figures,
    none: &Figures,
    rack: &Figures,
) -> Vec<(f64, &'static str)> {
    let mut all = Vec::new();
    let mut less = |what, rack: f64, than: f64, by: f64| {
        if rack < than * by {
            all.push((than / rack.max(1e-3), what));
        }
    };
    if house || none.page_ms == 0.0 {
        less("goodput", rack.mbit, none.mbit, 0.95);
        less("goodput/clean", rack.mbit, clean.mbit, 0.85);
        less("jain", rack.jain, none.jain.min(clean.jain), 0.85);
    }
    less(
        "datagrams",
        rack.datagrams_mbit,
        none.datagrams_mbit.min(clean.datagrams_mbit),
        0.97,
    );
    less(
        "others",
        rack.others_mbit,
        none.others_mbit.min(clean.others_mbit),
        0.85,
    );
    let mut more = |what, rack: f64, than: f64, by: f64, ms: f64| {
        if rack > than * by + ms {
            all.push((rack / than.max(1.0), what));
        }
    };
    more(
        "rtt95",
        rack.rtt95_ms,
        none.rtt95_ms.max(clean.rtt95_ms),
        1.15,
        10.0,
    );
    // Beside a house's transfers, which losses keep small without an agent, what is short is fast.
    let slower = |of: fn(&Figures) -> f64| match house {
        true => of(none).max(of(clean)),
        false => of(none),
    };
    more("page", rack.page_ms, slower(|f| f.page_ms), 1.05, 3.0);
    more("page/clean", rack.page_ms, clean.page_ms, 1.4, 20.0);
    more("piece", rack.piece_ms, slower(|f| f.piece_ms), 1.1, 3.0);
    more(
        "piece95",
        rack.piece95_ms,
        slower(|f| f.piece95_ms),
        1.15,
        5.0,
    );
    all
}

fn judged(number: u64) -> Option<String> {
    let case = case(number);
    let (clean, none) = (figures(&clean(&case)), figures(&case));
    let rack = figures(&case.with_agent());
    let house = number >= HOUSES && case.flows.iter().any(|f| f.measured);
    let mut all = complaints(house, &clean, &none, &rack);
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (worst, _) = *all.first()?;
    let what: Vec<String> = all
        .iter()
        .map(|(by, what)| format!("{what} {by:.2}"))
        .collect();
    let of = |f: &Figures| {
        format!(
            "{:.2}M {:.0}ms page {:.0} piece {:.0}/{:.0} jain {:.2} udp {:.2} others {:.2}",
            f.mbit,
            f.rtt95_ms,
            f.page_ms,
            f.piece_ms,
            f.piece95_ms,
            f.jain,
            f.datagrams_mbit,
            f.others_mbit
        )
    };
    Some(format!(
        "{worst:.2}\t{number}\t{}\tclean {}\tnone {}\track {}",
        what.join(", "),
        of(&clean),
        of(&none),
        of(&rack)
    ))
}

#[test]
#[ignore = "looks for what is worse, for minutes"]
fn drawn() {
    let range = std::env::var("DRAWN").unwrap_or_else(|_| "1-100".into());
    let (from, to) = range.split_once('-').unwrap_or((&range, &range));
    let number = |n: &str| {
        n.parse::<u64>()
            .unwrap_or_else(|_| panic!("DRAWN={range}: FROM-TO"))
    };
    let numbers = number(from)..=number(to);
    if numbers.start() == numbers.end() {
        let case = case(*numbers.start());
        println!("{case:#?}");
        show(&format!("drawn-{range}"), &case);
        if std::env::var_os("SEED").is_some() {
            return; // the judgement has seeds of its own
        }
    }
    on_all_cpus(numbers, |number| {
        if let Some(line) = judged(number) {
            println!("{line}");
        }
    });
}

/// What was found under a number is found there again.
#[test]
fn a_number_is_a_mix() {
    let shown = |number| format!("{:?}", case(number));
    assert_eq!(shown(7), shown(7));
    assert_ne!(shown(7), shown(8));
}
