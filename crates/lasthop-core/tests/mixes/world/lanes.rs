// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The lanes that a case has, in the order of `WIRE_DOWN`, `WIRE_UP`, `HOP_UP`, `HOP_DOWN`.

use crate::case::{Case, SEC, Station};
use crate::lane::{Discipline, Lane};
use crate::unsteady::Timing;

/// `seed`: each lane draws its own numbers from it.
pub(super) fn of(case: &Case, seed: u64) -> Vec<Lane> {
    let wire = |s| Lane::new(case.wired_bps, 0, case.wired_queue, Discipline::Fifo, s);
    let mut lanes = vec![wire(seed ^ 1), wire(seed ^ 2), up(case, seed)];
    let shared = [Station {
        bps: case.bps,
        loss: case.loss,
        queue: case.queue_packets(),
    }];
    let stations = match case.stations.as_slice() {
        [] => &shared,
        stations => stations,
    };
    for (i, station) in (0..).zip(stations) {
        lanes.push(down(case, station, seed, i));
    }
    lanes
}

fn up(case: &Case, seed: u64) -> Lane {
    let bps = match case.bps_up > 0.0 {
        true => case.bps_up,
        false => case.bps,
    };
    let queue = match case.queue_up {
        0 => case.queue_packets(),
        n => n,
    };
    let mut lane = Lane::new(
        bps,
        case.local_rtt_ns / 2,
        queue,
        Discipline::Fifo,
        seed ^ 3,
    );
    lane.loss = case.loss_up;
    lane.loss_burst = case.loss_burst;
    lane.timing = Timing::new(case.unsteady, seed ^ 4, seed ^ 5);
    lane
}

/// To the station of number `i`.
fn down(case: &Case, station: &Station, seed: u64, i: u64) -> Lane {
    let half = case.local_rtt_ns / 2;
    let own = seed ^ (10 + i);
    let mut lane = Lane::new(station.bps, half, station.queue, case.discipline, own);
    lane.loss = station.loss;
    lane.loss_burst = case.loss_burst;
    lane.loss_from_ns = SEC + case.loss_from_ns;
    if let Some(policer) = case.policer {
        lane.police(policer);
    }
    lane.timing = Timing::new(case.unsteady, seed ^ (20 + i), seed ^ 5);
    if !case.wave.is_empty() {
        let mut from = 0;
        lane.rates.clear();
        for (bps, ns) in &case.wave {
            lane.rates.push((from, *bps));
            from += ns;
        }
        lane.period_ns = from;
    }
    lane
}
