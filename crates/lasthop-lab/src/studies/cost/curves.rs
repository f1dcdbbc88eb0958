// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which curves the page shows.

use super::chart::{Curve, Panel};
use super::forwarding::SCHEME;
use super::lines::{Line, Packet};
use super::model::{Checked, Model, Path};
use super::table::cells;
use crate::data::scheme::NO_AGENT;
use crate::studies::experiment::spec::Scale;

/// Colours in style.css: of data, of ACKs, of new connections, and of what things are compared with.
const DATA: usize = 1;
const ACK: usize = 2;
const OPENED: usize = 3;
const PLAIN: usize = 0;
/// Payload of the small segments of which a test run has super-packets.
const SMALL: f64 = 100.0;

fn curve(label: &str, lane: usize, is_model: bool, mut points: Vec<(f64, f64)>) -> Curve {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Curve {
        label: label.to_owned(),
        lane,
        is_model,
        points,
    }
}

/// A picture of those curves that have points.
fn panel(title: String, x: &str, scale: Scale, mut curves: Vec<Curve>) -> Panel {
    curves.retain(|curve| !curve.points.is_empty());
    Panel {
        title,
        x: x.to_owned(),
        scale,
        curves,
    }
}

/// Times of the programs.
pub fn packets(packets: &[Packet], model: &Model) -> Vec<Panel> {
    let axes = [
        ("flows", "flows", Scale::Log),
        ("bytes", "payload of a segment, bytes", Scale::Log),
        (
            "segments",
            "segments of a super-packet of small ones",
            Scale::Log,
        ),
        ("loss", "segments lost, %", Scale::Linear),
    ];
    let mut panels: Vec<Panel> = axes
        .into_iter()
        .map(|axis| of_axis(packets, model, axis))
        .collect();
    panels.push(forwarded(model));
    panels.push(opened(packets));
    panels.retain(|panel| !panel.curves.is_empty());
    panels
}

fn of_axis(packets: &[Packet], model: &Model, (axis, x, scale): (&str, &str, Scale)) -> Panel {
    let fits = |mss: f64| axis != "segments" || mss == SMALL;
    let own = |path: &str, of: fn(&Packet) -> f64| -> Vec<(f64, f64)> {
        let own = packets
            .iter()
            .filter(|p| p.axis == axis && p.path == path && fits(p.mss));
        own.map(|p| (p.x, of(p))).collect()
    };
    let said = |path| -> Vec<(f64, f64)> {
        let is_own = |p: &&Checked| p.axis == axis && p.path == path && fits(p.mss);
        let own = model.points.iter().filter(is_own);
        own.map(|p| (p.x, p.model_ns)).collect()
    };
    let curves = vec![
        curve("data", DATA, false, own("data", |p| p.ns)),
        curve("ACK", ACK, false, own("ack", |p| p.ns)),
        curve("data, model", DATA, true, said(Path::Data)),
        curve("ACK, model", ACK, true, said(Path::Ack)),
        curve("yardstick, data", PLAIN, false, own("data", |p| p.base_ns)),
    ];
    let title = format!("ns per packet against {}", word(axis));
    panel(title, x, scale, curves)
}

fn word(axis: &str) -> &str {
    match axis {
        "bytes" | "mss" => "size",
        other => other,
    }
}

/// Super-packets of full segments, as they came by.
fn forwarded(model: &Model) -> Panel {
    let own = |path, of: fn(&Checked) -> f64| -> Vec<(f64, f64)> {
        let own = model
            .points
            .iter()
            .filter(|p| p.axis == "forwarded" && p.path == path);
        own.map(|p| (p.x, of(p))).collect()
    };
    let curves = vec![
        curve("data", DATA, false, own(Path::Data, |p| p.ns)),
        curve("ACK", ACK, false, own(Path::Ack, |p| p.ns)),
        curve("data, model", DATA, true, own(Path::Data, |p| p.model_ns)),
        curve("ACK, model", ACK, true, own(Path::Ack, |p| p.model_ns)),
    ];
    panel(
        "ns per super-packet in forwarding".to_owned(),
        "segments of 1,448 bytes; of an ACK: that it acknowledges",
        Scale::Linear,
        curves,
    )
}

fn opened(packets: &[Packet]) -> Panel {
    let own = |path: &str, of: fn(&Packet) -> f64| -> Vec<(f64, f64)> {
        let own = packets
            .iter()
            .filter(|p| p.axis == "rules" && p.path == path);
        own.map(|p| (p.x, of(p))).collect()
    };
    let curves = vec![
        curve("SYN", OPENED, false, own("syn", |p| p.ns)),
        curve("its answer", ACK, false, own("syn-ack", |p| p.ns)),
        curve("yardstick, SYN", PLAIN, false, own("syn", |p| p.base_ns)),
    ];
    panel(
        "ns per new connection against rules".to_owned(),
        "rules, none of which covers it",
        Scale::Linear,
        curves,
    )
}

/// Processor time per Gbit of forwarding.
pub fn forwarding(lines: &[Line]) -> Vec<Panel> {
    let axes = [
        ("flows", "flows, GRO on", Scale::Log),
        ("mss", "payload of a segment, bytes, GRO off", Scale::Log),
        ("loss", "segments lost, %, GRO off", Scale::Linear),
    ];
    let drawn = |(axis, x, scale): (&str, &str, Scale)| {
        let cells = cells(lines, axis);
        let own = |helper: &str| -> Vec<(f64, f64)> {
            let own = cells.iter().filter(|cell| cell.helper == helper);
            own.map(|cell| (cell.x, cell.s_per_gbit)).collect()
        };
        let curves = vec![
            curve("without agent", PLAIN, false, own(NO_AGENT)),
            curve("with", DATA, false, own(SCHEME)),
        ];
        let title = format!("CPU s per Gbit against {}", word(axis));
        panel(title, x, scale, curves)
    };
    let mut panels: Vec<Panel> = axes.into_iter().map(drawn).collect();
    panels.retain(|panel| !panel.curves.is_empty());
    panels
}
