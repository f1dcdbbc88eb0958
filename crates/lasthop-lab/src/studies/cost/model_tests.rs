// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use super::*;
use crate::studies::cost::lines::Train;

/// A machine that does what the model says.
fn ns(segments: f64, kib: f64, flows: f64, loss: f64) -> f64 {
    let more = if segments > 1.0 { 120.0 } else { 0.0 };
    let flows = 700.0 * (flows - 1.0) / (flows - 1.0 + 1_000.0);
    let missing = 1.0 - (1.0 - loss).powf(BEHIND);
    let forwarded = if kib > 0.0 { 150.0 } else { 0.0 };
    forwarded
        + 400.0
        + more
        + 50.0 * (segments - 1.0)
        + 30.0 * kib
        + flows
        + 900.0 * loss
        + 200.0 * missing
}

fn packet(axis: &str, x: f64, path: &str, ns: f64) -> Packet {
    let is = |name: &str, other: f64| if axis == name { x } else { other };
    Packet {
        axis: axis.to_owned(),
        x,
        path: path.to_owned(),
        flows: is("flows", 1.0),
        mss: 1448.0,
        segments: is("segments", 1.0),
        ns,
        base_ns: 100.0,
        ratio: ns / 100.0,
        skipped: None,
    }
}

fn measured() -> (Vec<Packet>, Vec<Line>) {
    let mut packets = Vec::new();
    for path in ["data", "ack"] {
        for flows in [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 25_000.0] {
            packets.push(packet("flows", flows, path, ns(1.0, 0.0, flows, 0.0)));
        }
        for segments in [1.0, 2.0, 8.0, 32.0] {
            packets.push(packet(
                "segments",
                segments,
                path,
                ns(segments, 0.0, 1.0, 0.0),
            ));
        }
        for percent in [0.0, 1.0, 5.0, 20.0] {
            packets.push(packet(
                "loss",
                percent,
                path,
                ns(1.0, 0.0, 1.0, percent / 100.0),
            ));
        }
    }
    for rules in [0.0, 10.0, 32.0] {
        packets.push(packet("rules", rules, "syn", 1_500.0 + 15.0 * rules));
    }
    let train = |segments: f64| Train {
        most: segments as u32,
        data_runs: 1_000,
        data_ns: ns(segments, segments * 1448.0 / 1024.0, 1.0, 0.0),
        data_segments: segments,
        ack_runs: 1_000,
        ack_ns: ns(segments, segments, 1.0, 0.0),
        ack_segments: segments,
    };
    let lines = [1.0, 11.0, 44.0].map(|segments| Line::Train(train(segments)));
    (packets, lines.into())
}

#[test]
fn the_terms_that_points_were_made_of_are_found() {
    let (packets, lines) = measured();
    let model = Model::of(&packets, &lines);
    let wanted = [400.0, 120.0, 50.0, 150.0, 30.0, 700.0, 900.0, 200.0];
    for (found, wanted) in model.data.ns.iter().zip(wanted) {
        assert!((found - wanted).abs() < 0.01 * wanted, "{:?}", model.data);
    }
    assert_eq!(model.data.half_flows, 1_000.0);
    assert!((model.ack.ns[4] - 30.0).abs() < 0.3, "{:?}", model.ack);
    assert!(model.worst < 1e-6, "{}", model.worst);
    assert!((model.syn[0] - 1_500.0).abs() < 1e-6 && (model.syn[1] - 15.0).abs() < 1e-6);
    assert_eq!(model.yardstick, [100.0, 100.0]);
    // Flows, segments, losses; and those that were forwarded.
    assert_eq!(model.points.len(), 2 * (6 + 4 + 4) + 2 * 3);
}

#[test]
fn the_largest_error_is_that_of_the_point_that_does_not_fit() {
    let (mut packets, lines) = measured();
    packets[3].ns *= 1.5;
    let model = Model::of(&packets, &lines);
    let worst = model.points.iter().max_by(|a, b| {
        let [a, b] = [a, b].map(|point| point.error.abs());
        a.total_cmp(&b)
    });
    let worst = worst.unwrap();
    assert_eq!((worst.axis.as_str(), worst.x), ("flows", 1_000.0));
    assert!(worst.error < -0.1 && model.worst == -worst.error);
}

#[test]
fn without_forwarding_there_is_a_model_of_the_rest() {
    let (packets, _) = measured();
    let model = Model::of(&packets, &[]);
    assert_eq!(model.data.ns[3..5], [0.0, 0.0]);
    assert!(model.worst < 1e-6);
    let nothing = Model::of(&[], &[]);
    assert_eq!((nothing.worst, nothing.points.len()), (0.0, 0));
}
