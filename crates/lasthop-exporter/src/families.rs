// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The metrics of a sample. No label says anything of a connection: there are as many series as
//! devices, receivers and reasons.

use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use serde_json::Value;

use crate::sample::{Said, Sample};
use crate::table::{self, Gauge, REPAIRS};

/// Before every metric's name.
pub const PREFIX: &str = "lasthop";

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Counted, or whole.
    Whole(u64),
    /// Measured.
    Real(f64),
}

/// Labels in their order.
pub type Labels = Vec<(&'static str, String)>;

/// A metric, and its series.
#[derive(Debug)]
pub struct Family {
    /// Name without prefix, unit and `_total`.
    pub name: String,
    /// Its unit.
    pub unit: Option<Unit>,
    /// What it means, in one line.
    pub help: String,
    /// Counter, gauge or info.
    pub kind: MetricType,
    /// By labels.
    pub series: Vec<(Labels, Number)>,
}

/// All metrics of the sample that have a series. With `receivers` those of receivers as well.
pub fn of(sample: &Sample, receivers: bool) -> Vec<Family> {
    let mut all = vec![build(), up(sample), errors(sample), took(sample)];
    all.push(agents(sample));
    all.push(attached(sample));
    all.extend(table::of_device().iter().map(|gauge| device(gauge, sample)));
    all.push(peers(sample));
    if receivers {
        all.extend(table::of_receiver().iter().map(|g| receiver(g, sample)));
    }
    all.push(repairs(sample));
    all.extend(counters(sample));
    all.retain(|family| !family.series.is_empty());
    all
}

fn family(name: &str, kind: MetricType, help: &str, series: Vec<(Labels, Number)>) -> Family {
    Family {
        name: name.to_owned(),
        unit: None,
        help: help.to_owned(),
        kind,
        series,
    }
}

fn of_device(name: &str) -> Labels {
    vec![("device", name.to_owned())]
}

fn build() -> Family {
    let labels = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    family(
        "build",
        MetricType::Info,
        "The exporter's version",
        vec![(labels, Number::Whole(1))],
    )
}

fn up(sample: &Sample) -> Family {
    let series = sample.devices.iter().map(|(name, said)| {
        let up = matches!(said, Said::Up { .. });
        (of_device(name), Number::Whole(u64::from(up)))
    });
    family(
        "up",
        MetricType::Gauge,
        "1: the device's agent answered; 0: it could not be asked, and nothing else is told of it",
        series.collect(),
    )
}

fn errors(sample: &Sample) -> Family {
    let series = sample.errors.iter().map(|((device, reason), n)| {
        let mut labels = of_device(device);
        labels.push(("reason", (*reason).to_owned()));
        (labels, Number::Whole(*n))
    });
    family(
        "exporter_ask_errors",
        MetricType::Counter,
        "Times that an agent could not be asked, by reason; without a device: the directory of their sockets",
        series.collect(),
    )
}

fn took(sample: &Sample) -> Family {
    let mut it = family(
        "exporter_ask",
        MetricType::Gauge,
        "How long it took to ask all agents",
        vec![(Vec::new(), Number::Real(sample.took.as_secs_f64()))],
    );
    it.unit = Some(Unit::Seconds);
    it
}

fn agents(sample: &Sample) -> Family {
    let series = sample.up().map(|(name, status, _)| {
        let mut labels = of_device(name);
        labels.push(("scheme", status["scheme"].as_str().unwrap_or("").to_owned()));
        (labels, Number::Whole(1))
    });
    family(
        "agent",
        MetricType::Info,
        "What the device's agent does about losses",
        series.collect(),
    )
}

fn attached(sample: &Sample) -> Family {
    let series = sample.up().map(|(name, status, _)| {
        let attached = status["state"] == "attached";
        (of_device(name), Number::Whole(u64::from(attached)))
    });
    family(
        "attached",
        MetricType::Gauge,
        "1: the agent's programs are on the device; 0: the device is away, or can't be attached, and the agent tries again",
        series.collect(),
    )
}

/// Fields that are null have no series: there is nothing to say.
fn number(value: &Value, per: f64) -> Option<Number> {
    match value.as_u64() {
        Some(whole) if per == 1.0 => Some(Number::Whole(whole)),
        _ => value.as_f64().map(|real| Number::Real(real / per)),
    }
}

fn gauges(gauge: &Gauge, series: Vec<(Labels, Number)>) -> Family {
    Family {
        unit: gauge.unit.clone(),
        ..family(gauge.name, MetricType::Gauge, gauge.help, series)
    }
}

fn device(gauge: &Gauge, sample: &Sample) -> Family {
    let series = sample.up().filter_map(|(name, status, _)| {
        let number = number(&status[gauge.field], gauge.per)?;
        Some((of_device(name), number))
    });
    gauges(gauge, series.collect())
}

fn receiver(gauge: &Gauge, sample: &Sample) -> Family {
    let of = |(name, status, _): (&str, &Value, &[Value])| {
        let all = status["receivers"].as_array().cloned().unwrap_or_default();
        let series = all.into_iter().filter_map(|receiver| {
            let mut labels = of_device(name);
            labels.push(("receiver", receiver["addr"].as_str()?.to_owned()));
            Some((labels, number(&receiver[gauge.field], gauge.per)?))
        });
        series.collect::<Vec<_>>()
    };
    gauges(gauge, sample.up().flat_map(of).collect())
}

fn peers(sample: &Sample) -> Family {
    let of = |(name, _, peers): (&str, &Value, &[Value])| {
        ["up", "new", "silent"].map(|state| {
            let mut labels = of_device(name);
            labels.push(("state", state.to_owned()));
            let n = peers.iter().filter(|peer| peer["state"] == state).count();
            (labels, Number::Whole(n as u64))
        })
    };
    family(
        "peers",
        MetricType::Gauge,
        "Agents at the other end of the link, by state",
        sample.up().flat_map(of).collect(),
    )
}

fn repairs(sample: &Sample) -> Family {
    let reasons: Vec<(String, &str)> = lasthop_core::counters()
        .filter_map(|c| {
            c.name
                .strip_prefix(REPAIRS.0)
                .map(|why| (c.name.into(), why))
        })
        .collect();
    let of = |(name, status, _): (&str, &Value, &[Value])| {
        let series = reasons.iter().filter_map(|(counter, why)| {
            let mut labels = of_device(name);
            labels.push(("reason", (*why).to_owned()));
            Some((labels, number(&status["counters"][counter], 1.0)?))
        });
        series.collect::<Vec<_>>()
    };
    family(
        REPAIRS.1,
        MetricType::Counter,
        "Segments sent again from the cache, by what showed the loss",
        sample.up().flat_map(of).collect(),
    )
}

/// All counters that are no part of [`repairs`].
fn counters(sample: &Sample) -> Vec<Family> {
    let mut refers_to = "";
    let mut all = Vec::new();
    for counter in lasthop_core::counters() {
        let help = alone(counter.doc, &mut refers_to, counter.name);
        if counter.name == REPAIRS.1 || counter.name.starts_with(REPAIRS.0) {
            continue;
        }
        let series = sample.up().filter_map(|(name, status, _)| {
            let number = number(&status["counters"][counter.name], 1.0)?;
            Some((of_device(name), number))
        });
        let mut it = family(counter.name, MetricType::Counter, &help, series.collect());
        if let Some(name) = counter.name.strip_suffix("_bytes") {
            (it.name, it.unit) = (name.to_owned(), Some(Unit::Bytes));
        }
        all.push(it);
    }
    all
}

/// A counter's words where the one before it in the core's list can't be seen: some refer to it.
fn alone<'a>(doc: &str, refers_to: &mut &'a str, name: &'a str) -> String {
    if let Some(rest) = doc.strip_prefix("of these") {
        return format!("of {PREFIX}_{refers_to}_total{rest}");
    }
    if let Some(rest) = doc.strip_prefix("the same:") {
        return format!("as {PREFIX}_{refers_to}_total:{rest}");
    }
    *refers_to = name;
    doc.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_alone() {
        let mut to = "";
        assert_eq!(alone("gaps", &mut to, "holes"), "gaps");
        let of = alone("of these, late", &mut to, "late");
        assert_eq!(of, "of lasthop_holes_total, late");
        let same = alone("the same: early", &mut to, "early");
        assert_eq!(same, "as lasthop_holes_total: early");
    }

    /// What the formats would have to escape in help texts, and prometheus-client doesn't.
    #[test]
    fn help_needs_no_escapes() {
        for counter in lasthop_core::counters() {
            assert!(!counter.doc.contains(['"', '\\', '\n']), "{}", counter.doc);
        }
    }
}
