// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From the text of an experiment's file to [`Experiment`]; mistakes are reported with their line.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use toml::{Spanned, Value};

use super::across;
use super::arguments::{self, Wrong};
use super::metric;
use super::mistake::Mistake;
use super::raw::{
    Alternative, Options, Raw, RawAxis, RawBounds, RawCheck, RawFigure, RawMap, RawPanel, RawPlace,
    RawSeries,
};
use super::spec::{
    Axis, Check, Demand, Experiment, Figure, FigureKind, JudgedBy, Map, Panel, Place, Point, Scale,
    Series, Statistic, distinct, same_x,
};
use crate::base::units;
use crate::cell::engine::Engine;
use crate::data::scheme;

/// The longest name of an experiment, a series or a figure: it becomes part of file names.
const MAX_NAME_BYTES: usize = 48;

/// More in one panel could not be told apart.
const MAX_PANEL_METRICS: usize = 2;

impl Experiment {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// It cannot be read, or has a mistake: `FILE:LINE: what is wrong`.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text, path)
    }

    /// As [`Experiment::read`], of a text.
    ///
    /// # Errors
    /// As there.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let place = |at: Option<Range<usize>>| match at {
            Some(at) => format!("{}:{}", path.display(), line_number(text, at.start)),
            None => path.display().to_string(),
        };
        let raw: Raw = match toml::from_str(text) {
            Ok(raw) => raw,
            Err(error) => {
                let what = error.message().lines().next().unwrap_or_default();
                bail!("{}: {what}", place(error.span()))
            }
        };
        match across::expand(raw).and_then(|raw| build(raw, text, path)) {
            Ok(experiment) => Ok(experiment),
            Err(mistake) => bail!("{}: {}", place(mistake.at), mistake.what),
        }
    }
}

fn line_number(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    before.filter(|byte| **byte == b'\n').count() + 1
}

fn build(raw: Raw, text: &str, path: &Path) -> Result<Experiment, Mistake> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    check_name(&stem).map_err(|what| Mistake::anywhere(format!("the file's name: {what}")))?;
    let range = |text: &Spanned<String>| -> Result<Vec<u64>, Mistake> {
        let ranges = text.get_ref().split(',').map(units::seed_range);
        let ranges: Result<Vec<_>, String> = ranges.collect();
        let ranges = ranges.map_err(|what| Mistake::new(text.span(), format!("seeds: {what}")))?;
        Ok(distinct(ranges.into_iter().flatten()))
    };
    let experiment = Experiment {
        name: stem.into_owned(),
        path: path.to_owned(),
        text: text.to_owned(),
        title: raw.title,
        source: raw.source,
        about: raw.about,
        reported: raw.reported,
        seeds: range(&raw.seeds)?,
        args: setup_args(raw.engine, &raw.setup)?,
        axis: axis(raw.axis)?,
        series: series(raw.series)?,
        figures: Vec::new(),
        maps: raw.map.into_iter().map(map).collect::<Result<_, _>>()?,
        panels: raw.panel.into_iter().map(panel).collect::<Result<_, _>>()?,
        checks: Vec::new(),
    };
    let names = Names::of(&experiment);
    let figures = raw.figure.into_iter().map(|f| figure(f, &names));
    let figures: Vec<Figure> = figures.collect::<Result<_, _>>()?;
    let checks = raw.check.into_iter().map(|c| check(c, &names));
    let checks = checks.collect::<Result<_, _>>()?;
    let experiment = Experiment {
        figures,
        checks,
        ..experiment
    };
    for point in &experiment.axis.points {
        for series in &experiment.series {
            let parts = [&experiment.args, &point.args, &series.args];
            let mut args: Vec<String> = parts.into_iter().flatten().cloned().collect();
            args.extend(["--scheme".to_owned(), series.scheme.clone()]);
            if experiment.has_windows() {
                args.extend(["--samples".to_owned(), "FILE".to_owned()]);
            }
            arguments::check_together(&args).map_err(|what| {
                Mistake::anywhere(format!("series {} at {}: {what}", series.name, point.x))
            })?;
        }
    }
    Ok(experiment)
}

/// What figures and checks may name.
struct Names {
    series: BTreeSet<String>,
    xs: Vec<f64>,
    seeds: Vec<u64>,
}

impl Names {
    fn of(experiment: &Experiment) -> Self {
        Self {
            series: experiment.series.iter().map(|s| s.name.clone()).collect(),
            xs: experiment.axis.points.iter().map(|p| p.x).collect(),
            seeds: experiment.seeds.clone(),
        }
    }

    fn series(&self, name: Spanned<String>) -> Result<String, Mistake> {
        if self.series.contains(name.get_ref()) {
            return Ok(name.into_inner());
        }
        let known: Vec<&str> = self.series.iter().map(String::as_str).collect();
        let what = format!(
            "there is no series `{}`, but {}",
            name.get_ref(),
            known.join(", ")
        );
        Err(Mistake::new(name.span(), what))
    }

    fn metric(name: Spanned<String>) -> Result<String, Mistake> {
        match metric::check(name.get_ref()) {
            Ok(()) => Ok(name.into_inner()),
            Err(what) => Err(Mistake::new(name.span(), what)),
        }
    }

    fn x(&self, x: f64, at: Range<usize>) -> Result<f64, Mistake> {
        if self.xs.iter().any(|known| same_x(*known, x)) {
            return Ok(x);
        }
        let what = format!("{x} is no point of the axis, which has {:?}", self.xs);
        Err(Mistake::new(at, what))
    }

    /// Whether one of these points, or of all, has another at so many times its x.
    fn has_shifted(&self, points: Option<&[f64]>, shift: f64) -> bool {
        let mut points = points.unwrap_or(&self.xs).iter();
        points.any(|x| self.xs.iter().any(|known| same_x(*known, x * shift)))
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let fits = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    match fits {
        true => Ok(()),
        false => Err(format!(
            "`{name}` is no name: use up to {MAX_NAME_BYTES} lower-case letters, digits and -"
        )),
    }
}

/// The options that all runs share, the engine first.
fn setup_args(engine: Option<Spanned<Engine>>, setup: &Options) -> Result<Vec<String>, Mistake> {
    let mut args = Vec::new();
    if let Some(value) = engine.and_then(|engine| engine.get_ref().to_possible_value()) {
        args.extend(["--engine".to_owned(), value.get_name().to_owned()]);
    }
    args.extend(args_of(setup)?);
    Ok(args)
}

/// As arguments of `compare`. A flag is true or false, a list is joined by commas.
fn args_of(options: &Options) -> Result<Vec<String>, Mistake> {
    let mut args = Vec::new();
    for (key, value) in options {
        let words = match value.get_ref() {
            Value::Boolean(false) => continue,
            Value::Boolean(true) => None,
            Value::Array(values) => {
                let words: Option<Vec<String>> = values.iter().map(word).collect();
                let words = words.ok_or_else(|| {
                    Mistake::new(value.span(), "a list may hold numbers and texts only")
                })?;
                Some(words.join(","))
            }
            other => Some(word(other).ok_or_else(|| {
                let what = "write a number, a text, true or a list of them";
                Mistake::new(value.span(), what)
            })?),
        };
        arguments::check(key.get_ref(), words.as_deref()).map_err(|wrong| match wrong {
            Wrong::Key(what) => Mistake::new(key.span(), what),
            Wrong::Value(what) => Mistake::new(value.span(), what),
        })?;
        args.push(format!("--{}", key.get_ref()));
        args.extend(words);
    }
    Ok(args)
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

fn axis(raw: RawAxis) -> Result<Axis, Mistake> {
    let mut points: Vec<Point> = Vec::new();
    for raw_point in raw.points {
        let at = raw_point.span();
        let point = point(raw_point)?;
        if points.iter().any(|other| same_x(other.x, point.x)) {
            return Err(Mistake::new(
                at,
                format!("x = {} is there already", point.x),
            ));
        }
        if raw.scale == Scale::Log && point.x <= 0.0 {
            let what = "a logarithmic axis has no place for 0 and below";
            return Err(Mistake::new(at, what));
        }
        points.push(point);
    }
    if points.is_empty() {
        return Err(Mistake::anywhere("axis: points are missing"));
    }
    Ok(Axis {
        label: raw.label,
        unit: raw.unit,
        scale: raw.scale,
        points,
    })
}

fn point(raw: Spanned<Options>) -> Result<Point, Mistake> {
    let at = raw.span();
    let (mut x, mut label) = (None, None);
    let mut options = Options::new();
    for (key, value) in raw.into_inner() {
        match (key.get_ref().as_str(), value.get_ref()) {
            ("x", Value::Integer(number)) => x = Some(*number as f64),
            ("x", Value::Float(number)) if number.is_finite() => x = Some(*number),
            ("x", _) => return Err(Mistake::new(value.span(), "x: write a number")),
            ("label", Value::String(text)) => label = Some(text.clone()),
            ("label", _) => return Err(Mistake::new(value.span(), "label: write a text")),
            _ => {
                options.insert(key, value);
            }
        }
    }
    Ok(Point {
        x: x.ok_or_else(|| Mistake::new(at, "a point needs an x"))?,
        label,
        args: args_of(&options)?,
    })
}

fn series(raw: Vec<RawSeries>) -> Result<Vec<Series>, Mistake> {
    let mut all: Vec<Series> = Vec::new();
    for raw in raw {
        let at = raw.name.span();
        let name = raw.name.into_inner();
        check_name(&name).map_err(|what| Mistake::new(at.clone(), what))?;
        if all.iter().any(|other| other.name == name) {
            return Err(Mistake::new(
                at,
                format!("series `{name}` is there already"),
            ));
        }
        let scheme = known_scheme(raw.scheme)?;
        let agent = raw.agent.map(|agent| agent_config(agent, &scheme));
        let agent = agent.transpose()?;
        all.push(Series {
            name,
            label: raw.label,
            scheme,
            args: args_of(&raw.options)?,
            agent,
        });
    }
    match all.is_empty() {
        true => Err(Mistake::anywhere("series are missing")),
        false => Ok(all),
    }
}

fn known_scheme(name: Spanned<String>) -> Result<String, Mistake> {
    match scheme::check_name(name.get_ref()) {
        Ok(()) => Ok(name.into_inner()),
        Err(error) => Err(Mistake::new(name.span(), error)),
    }
}

/// The table as a configuration file, after the agent's own check of it.
fn agent_config(table: Spanned<toml::Table>, scheme: &str) -> Result<String, Mistake> {
    let at = table.span();
    if !scheme::has_agent(scheme) {
        let what = format!("{scheme} is no agent and has no configuration of one");
        return Err(Mistake::new(at, what));
    }
    let named = table.get_ref().get("scheme");
    if named.is_some_and(|named| named.as_str() != Some(scheme)) {
        let what = format!("agent: the series says which scheme it has, {scheme}: leave it out");
        return Err(Mistake::new(at, what));
    }
    let text = toml::to_string(table.get_ref()).map_err(|error| Mistake::new(at.clone(), error))?;
    match lasthop::config::parse(&text, "agent") {
        Ok(_) => Ok(text),
        Err(error) => Err(Mistake::new(at, format!("{error:#}"))),
    }
}

fn figure(raw: RawFigure, names: &Names) -> Result<Figure, Mistake> {
    let at = raw.name.span();
    let name = raw.name.into_inner();
    check_name(&name).map_err(|what| Mistake::new(at.clone(), what))?;
    let window = raw.kind == FigureKind::Window;
    let metric = match (raw.metric, window) {
        (None, false) => return Err(Mistake::new(at, "this kind of figure needs a metric")),
        (None, true) => String::new(),
        (Some(metric), false) => Names::metric(metric)?,
        (Some(metric), true) => {
            return Err(Mistake::new(metric.span(), "a window figure has no metric"));
        }
    };
    let to = raw.to.map(|name| names.series(name)).transpose()?;
    if to.is_some() != raw.kind.relation().is_some() {
        let what = "a ratio or difference needs `to`, a series; no other kind has one";
        return Err(Mistake::new(at, what));
    }
    let x = raw
        .at
        .map(|x| names.x(*x.get_ref(), x.span()))
        .transpose()?;
    if x.is_some() != window {
        let what = "a window figure needs `at`, the x of its runs; no other kind has one";
        return Err(Mistake::new(at, what));
    }
    let series = match raw.series.is_empty() {
        true => names.series.iter().cloned().collect(),
        false => {
            let chosen = raw.series.into_iter().map(|name| names.series(name));
            chosen.collect::<Result<Vec<_>, _>>()?
        }
    };
    let seed = raw.seed.unwrap_or(names.seeds[0]);
    if !names.seeds.contains(&seed) {
        return Err(Mistake::new(at, format!("seed {seed} is none of `seeds`")));
    }
    let series = series.into_iter().filter(|name| Some(name) != to.as_ref());
    Ok(Figure {
        name,
        title: raw.title,
        kind: raw.kind,
        metric,
        label: raw.label,
        unit: raw.unit,
        scale: raw.scale,
        series: series.collect(),
        to,
        at: x,
        seed,
        span_s: (raw.from_s, raw.to_s),
        reported: raw.reported,
    })
}

fn panel(raw: RawPanel) -> Result<Panel, Mistake> {
    let at = raw.metrics.span();
    let metrics = raw.metrics.into_inner();
    if !(1..=MAX_PANEL_METRICS).contains(&metrics.len()) {
        let what = "metrics: name one, or a median and a higher percentile";
        return Err(Mistake::new(at, what));
    }
    Ok(Panel {
        label: raw.label,
        unit: raw.unit,
        scale: raw.scale,
        metrics: metrics
            .into_iter()
            .map(Names::metric)
            .collect::<Result<_, _>>()?,
    })
}

fn map(raw: RawMap) -> Result<Map, Mistake> {
    Ok(Map {
        label: raw.label,
        unit: raw.unit,
        scale: raw.scale,
        metric: Names::metric(raw.metric)?,
        rows_are: raw.rows.into_inner(),
        pictures: raw.pictures,
    })
}

/// What a check asks: its one metric's bounds, or alternatives.
fn demands(raw: &RawCheck) -> Result<Vec<Vec<Demand>>, Mistake> {
    let at = raw.of.span();
    let Some(metric) = &raw.metric else {
        if raw.any.is_empty() || raw.min.is_some() || raw.max.is_some() || raw.peak.is_some() {
            let what = "a check needs a metric with min, max or peak, or `any`";
            return Err(Mistake::new(at, what));
        }
        let alternatives = raw.any.iter();
        return alternatives
            .map(|any| alternative(any, raw.judged_by, &at))
            .collect();
    };
    if !raw.any.is_empty() {
        let what = "`any` stands in place of `metric`, `min` and `max`";
        return Err(Mistake::new(at, what));
    }
    if raw.min.is_none() && raw.max.is_none() && raw.peak.is_none() {
        let what = "this check can't fail: give min, max or peak";
        return Err(Mistake::new(at, what));
    }
    check_bounds(raw.min, raw.max, &at)?;
    Ok(vec![vec![Demand {
        metric: Names::metric(metric.clone())?,
        min: raw.min,
        max: raw.max,
        judged_by: raw.judged_by,
    }]])
}

/// Finds bounds that no value is within.
fn check_bounds(min: Option<f64>, max: Option<f64>, at: &Range<usize>) -> Result<(), Mistake> {
    let is_within = |value: f64| min.is_none_or(|m| value >= m) && max.is_none_or(|m| value <= m);
    match is_within(min.or(max).unwrap_or(0.0)) {
        true => Ok(()),
        false => Err(Mistake::new(
            at.clone(),
            "min and max: no value is within them",
        )),
    }
}

/// What must hold together. `judged_by`: what its bounds are where they do not say; `at`: place of the
/// check.
fn alternative(
    raw: &Alternative,
    judged_by: JudgedBy,
    at: &Range<usize>,
) -> Result<Vec<Demand>, Mistake> {
    if raw.is_empty() {
        return Err(Mistake::new(at.clone(), "any: a table needs a metric"));
    }
    let demand = |(metric, bounds): (&Spanned<String>, &RawBounds)| {
        if bounds.min.is_none() && bounds.max.is_none() {
            return Err(Mistake::new(metric.span(), "any: give min or max"));
        }
        check_bounds(bounds.min, bounds.max, &metric.span())?;
        Ok(Demand {
            metric: Names::metric(metric.clone())?,
            min: bounds.min,
            max: bounds.max,
            judged_by: bounds.judged_by.unwrap_or(judged_by),
        })
    };
    raw.iter().map(demand).collect()
}

fn places(raw: Vec<RawPlace>, names: &Names) -> Result<Vec<Place>, Mistake> {
    let place = |raw: RawPlace| {
        Ok(Place {
            across: raw.across,
            of: names.series(raw.of)?,
            to: raw.to.map(|name| names.series(name)).transpose()?,
        })
    };
    raw.into_iter().map(place).collect()
}

fn check(raw: RawCheck, names: &Names) -> Result<Check, Mistake> {
    let at = raw.of.span();
    let any = demands(&raw)?;
    let by_interval = |demand: &Demand| demand.judged_by == JudgedBy::Interval;
    if any.iter().flatten().any(by_interval) && raw.statistic != Statistic::Mean {
        let what = "only a mean has an interval to be judged by: leave `statistic` out";
        return Err(Mistake::new(at, what));
    }
    if raw.to_reported.is_some() && (raw.to.is_some() || raw.at.is_some()) {
        let what = "`to_reported` stands in place of `to`, and says at which x";
        return Err(Mistake::new(at, what));
    }
    let points = match raw.at {
        None => None,
        Some(xs) => {
            let place = xs.span();
            let xs = xs.into_inner().into_iter();
            if xs.len() == 0 {
                let what = "at: name a point, or leave it out: everywhere";
                return Err(Mistake::new(place, what));
            }
            let xs = xs.map(|x| names.x(x, place.clone()));
            Some(xs.collect::<Result<Vec<_>, _>>()?)
        }
    };
    if let Some(peak) = &raw.peak {
        let [low, high] = *peak.get_ref();
        if !names.xs.iter().any(|x| (low..=high).contains(x)) {
            let what = format!("no point of the axis lies between {low} and {high}");
            return Err(Mistake::new(peak.span(), what));
        }
    }
    if raw.shift.is_some() && raw.to.is_none() {
        return Err(Mistake::new(at, "`shift` needs `to`"));
    }
    let shift = raw.shift.unwrap_or(1.0);
    if !names.has_shifted(points.as_deref(), shift) {
        let what = format!("shift: no point of the axis lies at {shift} times the x of another");
        return Err(Mistake::new(at, what));
    }
    if raw.to_at.is_some() && (raw.to.is_none() || raw.shift.is_some()) {
        return Err(Mistake::new(at, "`to_at` needs `to`, and no `shift`"));
    }
    if let Some(metric) = &raw.to_metric {
        if raw.to.is_none() {
            return Err(Mistake::new(metric.span(), "`to_metric` needs `to`"));
        }
        metric::check(metric.get_ref()).map_err(|what| Mistake::new(metric.span(), what))?;
    }
    if (raw.to_least.is_some() || raw.to_most.is_some()) && raw.to.is_none() {
        return Err(Mistake::new(at, "`to_least` and `to_most` need `to`"));
    }
    let to_at = raw.to_at.map(|x| names.x(*x.get_ref(), x.span()));
    let none = |pairs: &&Spanned<_>| Vec::is_empty(pairs.get_ref());
    if let Some(pairs) = raw.to_reported.as_ref().filter(none) {
        let what = "to_reported: give a pair of x and value";
        return Err(Mistake::new(pairs.span(), what));
    }
    let to_reported = raw.to_reported.map(|pairs| {
        let known = |pair: &[f64; 2]| names.x(pair[0], pairs.span()).map(|x| [x, pair[1]]);
        pairs
            .get_ref()
            .iter()
            .map(known)
            .collect::<Result<Vec<_>, _>>()
    });
    Ok(Check {
        text: raw.text,
        of: raw.of.into_inner(),
        to: raw.to.map(Spanned::into_inner),
        places: places(raw.places, names)?,
        relation: raw.relation,
        any,
        statistic: raw.statistic,
        at: points,
        shift,
        to_at: to_at.transpose()?,
        to_metric: raw.to_metric.map(Spanned::into_inner),
        to_limits: (raw.to_least, raw.to_most),
        to_reported: to_reported.transpose()?,
        hold: raw.hold,
        peak: raw.peak.map(Spanned::into_inner),
        fall: raw.fall.unwrap_or(1.0),
    })
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
