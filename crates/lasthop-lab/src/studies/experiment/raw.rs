// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! An experiment's file as it is written, before it is checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::spec::{FigureKind, Hold, JudgedBy, Picture, Relation, Reported, Scale, Statistic};
use crate::cell::engine::Engine;

/// Options of `compare` by their long names, with their places in the file.
pub(super) type Options = BTreeMap<Spanned<String>, Spanned<Value>>;

/// Names of further axes, and the points that are meant; an axis that is not named: all.
pub(super) type Where = BTreeMap<Spanned<String>, Spanned<Vec<String>>>;

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) title: String,
    pub(super) source: String,
    pub(super) about: String,
    pub(super) reported: String,
    pub(super) seeds: Spanned<String>,
    #[serde(default)]
    pub(super) engine: Option<Spanned<Engine>>,
    #[serde(default)]
    pub(super) setup: Options,
    pub(super) axis: RawAxis,
    #[serde(default)]
    pub(super) across: Vec<RawAcross>,
    pub(super) series: Vec<RawSeries>,
    #[serde(default)]
    pub(super) figure: Vec<RawFigure>,
    #[serde(default)]
    pub(super) map: Vec<RawMap>,
    #[serde(default)]
    pub(super) panel: Vec<RawPanel>,
    #[serde(default)]
    pub(super) check: Vec<RawCheck>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAxis {
    pub(super) label: String,
    #[serde(default)]
    pub(super) unit: String,
    #[serde(default)]
    pub(super) scale: Scale,
    pub(super) points: Vec<Spanned<Options>>,
}

/// A further axis, whose points have names in place of an x.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAcross {
    pub(super) name: Spanned<String>,
    pub(super) points: Vec<Spanned<Options>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSeries {
    pub(super) name: Spanned<String>,
    pub(super) label: String,
    pub(super) scheme: Spanned<String>,
    #[serde(default)]
    pub(super) options: Options,
    #[serde(default)]
    pub(super) agent: Option<Spanned<toml::Table>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFigure {
    #[serde(default, rename = "where")]
    pub(super) only: Where,
    pub(super) name: Spanned<String>,
    pub(super) title: String,
    pub(super) kind: FigureKind,
    #[serde(default)]
    pub(super) metric: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) label: String,
    #[serde(default)]
    pub(super) unit: String,
    #[serde(default)]
    pub(super) scale: Scale,
    #[serde(default)]
    pub(super) to: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) series: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) at: Option<Spanned<f64>>,
    #[serde(default)]
    pub(super) seed: Option<u64>,
    #[serde(default)]
    pub(super) from_s: Option<f64>,
    #[serde(default)]
    pub(super) to_s: Option<f64>,
    #[serde(default)]
    pub(super) reported: Vec<Reported>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPanel {
    pub(super) label: String,
    #[serde(default)]
    pub(super) unit: String,
    #[serde(default)]
    pub(super) scale: Scale,
    pub(super) metrics: Spanned<Vec<Spanned<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMap {
    pub(super) label: String,
    #[serde(default)]
    pub(super) unit: String,
    #[serde(default)]
    pub(super) scale: Scale,
    pub(super) metric: Spanned<String>,
    pub(super) rows: Spanned<String>,
    /// What `across` makes of it.
    #[serde(skip)]
    pub(super) pictures: Vec<Picture>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBounds {
    #[serde(default)]
    pub(super) min: Option<f64>,
    #[serde(default)]
    pub(super) max: Option<f64>,
    #[serde(default)]
    pub(super) judged_by: Option<JudgedBy>,
}

/// What must hold together: bounds of metrics.
pub(super) type Alternative = BTreeMap<Spanned<String>, RawBounds>;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCheck {
    #[serde(default, rename = "where")]
    pub(super) only: Where,
    #[serde(default)]
    pub(super) except: Where,
    /// What `across` makes of `of` and `to`.
    #[serde(skip)]
    pub(super) places: Vec<RawPlace>,
    pub(super) text: String,
    pub(super) of: Spanned<String>,
    #[serde(default)]
    pub(super) to: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) relation: Relation,
    #[serde(default)]
    pub(super) metric: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) any: Vec<Alternative>,
    #[serde(default)]
    pub(super) statistic: Statistic,
    #[serde(default)]
    pub(super) judged_by: JudgedBy,
    #[serde(default)]
    pub(super) at: Option<Spanned<Vec<f64>>>,
    #[serde(default)]
    pub(super) shift: Option<f64>,
    #[serde(default)]
    pub(super) to_at: Option<Spanned<f64>>,
    #[serde(default)]
    pub(super) to_metric: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) to_least: Option<f64>,
    #[serde(default)]
    pub(super) to_most: Option<f64>,
    #[serde(default)]
    pub(super) to_reported: Option<Spanned<Vec<[f64; 2]>>>,
    #[serde(default)]
    pub(super) min: Option<f64>,
    #[serde(default)]
    pub(super) max: Option<f64>,
    #[serde(default)]
    pub(super) hold: Hold,
    #[serde(default)]
    pub(super) peak: Option<Spanned<[f64; 2]>>,
    #[serde(default)]
    pub(super) fall: Option<f64>,
}

/// A condition at one combination of the points of all further axes.
#[derive(Debug, Clone)]
pub(super) struct RawPlace {
    pub(super) across: String,
    pub(super) of: Spanned<String>,
    pub(super) to: Option<Spanned<String>>,
}
