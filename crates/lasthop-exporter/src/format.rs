// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Metrics as text, in the two formats that Prometheus reads.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::families::{Family, Number, PREFIX};

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' text format 0.0.4, which node_exporter's textfile collector reads as well.
    Text,
}

impl Format {
    /// Its media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => prometheus_text::CONTENT_TYPE,
        }
    }

    /// The metrics.
    pub fn write(self, families: Vec<Family>) -> String {
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register_collector(Box::new(Families(families)));
        let mut out = String::new();
        match self {
            Self::OpenMetrics => text::encode(&mut out, &registry),
            Self::Text => prometheus_text::encode(&mut out, &registry),
        }
        .expect("a string takes all text");
        out
    }
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let (name, unit) = (&family.name, family.unit.as_ref());
            let mut metric = encoder.encode_descriptor(name, &family.help, unit, family.kind)?;
            for (labels, number) in &family.series {
                match (family.kind, number) {
                    (MetricType::Info, _) => metric.encode_info(labels)?,
                    (MetricType::Counter, Number::Whole(n)) => {
                        metric
                            .encode_family(labels)?
                            .encode_counter::<NoLabelSet, _, u64>(n, None)?
                    }
                    (MetricType::Counter, Number::Real(n)) => {
                        metric
                            .encode_family(labels)?
                            .encode_counter::<NoLabelSet, _, u64>(n, None)?
                    }
                    (_, Number::Whole(n)) => metric.encode_family(labels)?.encode_gauge(n)?,
                    (_, Number::Real(n)) => metric.encode_family(labels)?.encode_gauge(n)?,
                }
            }
        }
        Ok(())
    }
}
