// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Further axes of an experiment: `[[across]]`. Each series and figure of the file is there once for
//! every combination of their points, or for those that it names with `where`; a condition holds for
//! all of them together.
//!
//! They become series of their own before anything else is looked at, so that what is run and drawn
//! needs to know of one axis only.

use std::collections::BTreeSet;

use toml::{Spanned, Value};

use super::mistake::Mistake;
use super::raw::{
    Options, Raw, RawAcross, RawCheck, RawFigure, RawMap, RawPlace, RawSeries, Where,
};
use super::spec::Picture;

/// One point of each further axis.
#[derive(Debug, Clone, Default)]
struct Combination {
    /// Name of each axis, and of its point.
    points: Vec<(String, String)>,
    /// What runs there have in common.
    options: Options,
}

impl Combination {
    /// A name, with those of the points.
    fn name(&self, name: Spanned<String>) -> Spanned<String> {
        let at = name.span();
        let points = self.points.iter().map(|(_, point)| format!("-{point}"));
        Spanned::new(at, name.into_inner() + &points.collect::<String>())
    }

    /// The points' names.
    fn words(&self) -> String {
        let points: Vec<&str> = self.points.iter().map(|(_, p)| p.as_str()).collect();
        points.join(", ")
    }

    /// Without one axis, and its point there.
    fn without(&self, axis: &str) -> (Vec<&str>, &str) {
        let mut others = Vec::new();
        let mut own = "";
        for (name, point) in &self.points {
            match name == axis {
                true => own = point,
                false => others.push(point.as_str()),
            }
        }
        (others, own)
    }

    /// Whether it is among those that are named.
    fn is_meant(&self, only: &Where) -> bool {
        only.iter().all(|(axis, wanted)| {
            let own = self.points.iter().find(|(name, _)| name == axis.get_ref());
            own.is_some_and(|(_, point)| wanted.get_ref().contains(point))
        })
    }
}

/// Puts every combination in place of what stands once in the file.
///
/// # Errors
/// An axis or a point that is named twice or not at all, an option that two parts give.
pub(super) fn expand(raw: Raw) -> Result<Raw, Mistake> {
    let all = combinations(&raw.across)?;
    let wheres = raw.figure.iter().map(|f| &f.only);
    let of_checks = raw.check.iter().flat_map(|c| [&c.only, &c.except]);
    for only in wheres.chain(of_checks) {
        check_where(only, &raw.across)?;
    }
    let check = raw.check.into_iter().map(|check| placed(check, &all));
    let check = check.collect::<Result<_, _>>()?;
    let map = raw.map.into_iter();
    let map = map.map(|map| drawn(map, &raw.across, &raw.series, &all));
    let raw = Raw {
        check,
        map: map.collect::<Result<_, _>>()?,
        ..raw
    };
    if raw.across.is_empty() {
        return Ok(raw);
    }
    let mut series = Vec::new();
    for one in &raw.series {
        for combination in &all {
            series.push(series_at(one, combination)?);
        }
    }
    let figures: Vec<RawFigure> = raw.figure.iter().map(|f| named(f, &raw.series)).collect();
    Ok(Raw {
        across: Vec::new(),
        series,
        figure: figures.iter().flat_map(|f| figures_at(f, &all)).collect(),
        ..raw
    })
}

/// A condition that knows where it must hold.
fn placed(check: RawCheck, all: &[Combination]) -> Result<RawCheck, Mistake> {
    let is_left_out = |c: &Combination| !check.except.is_empty() && c.is_meant(&check.except);
    let meant = all.iter().filter(|c| c.is_meant(&check.only));
    let place = |combination: &Combination| RawPlace {
        across: combination.words(),
        of: combination.name(check.of.clone()),
        to: check.to.clone().map(|name| combination.name(name)),
    };
    let places = meant.filter(|c| !is_left_out(c)).map(place);
    let places: Vec<RawPlace> = places.collect();
    match places.is_empty() {
        true => Err(Mistake::new(
            check.of.span(),
            "`where` and `except` leave nothing that this check is about",
        )),
        false => Ok(RawCheck { places, ..check }),
    }
}

/// A map that knows its pictures: those of one combination of the other axes side by side.
fn drawn(
    map: RawMap,
    across: &[RawAcross],
    series: &[RawSeries],
    all: &[Combination],
) -> Result<RawMap, Mistake> {
    let axis = map.rows.get_ref();
    if !across.iter().any(|a| a.name.get_ref() == axis) {
        let what = format!("rows: there is no [[across]] called `{axis}`");
        return Err(Mistake::new(map.rows.span(), what));
    }
    let mut others: Vec<Vec<&str>> = all.iter().map(|c| c.without(axis).0).collect();
    let mut seen = BTreeSet::new();
    others.retain(|points| seen.insert(points.clone()));
    let picture = |points: &Vec<&str>, series: &RawSeries| {
        let rows = all.iter().filter(|c| c.without(axis).0 == *points);
        let row = |c: &Combination| {
            let series = c.name(series.name.clone()).into_inner();
            (c.without(axis).1.to_owned(), series)
        };
        let words = points.iter().copied().chain([series.label.as_str()]);
        Picture {
            title: words.collect::<Vec<_>>().join(", "),
            rows: rows.map(row).collect(),
        }
    };
    let pictures = others
        .iter()
        .flat_map(|points| series.iter().map(|series| picture(points, series)))
        .collect();
    Ok(RawMap { pictures, ..map })
}

/// All combinations, the last axis fastest.
fn combinations(across: &[RawAcross]) -> Result<Vec<Combination>, Mistake> {
    let mut all = vec![Combination::default()];
    for (index, axis) in across.iter().enumerate() {
        let (name, at) = (axis.name.get_ref(), axis.name.span());
        let earlier = across[..index].iter();
        if earlier.clone().any(|other| other.name.get_ref() == name) {
            let what = format!("axis `{name}` is there already");
            return Err(Mistake::new(at, what));
        }
        if axis.points.is_empty() {
            return Err(Mistake::new(
                at,
                format!("axis `{name}`: points are missing"),
            ));
        }
        let points = points(axis)?;
        let mut next = Vec::new();
        for before in &all {
            for (point, options) in &points {
                let mut combination = before.clone();
                combination.points.push((name.clone(), point.clone()));
                add(&mut combination.options, options)?;
                next.push(combination);
            }
        }
        all = next;
    }
    Ok(all)
}

/// The points of an axis: names and options.
fn points(axis: &RawAcross) -> Result<Vec<(String, Options)>, Mistake> {
    let mut points: Vec<(String, Options)> = Vec::new();
    for raw in &axis.points {
        let (name, options) = point(raw)?;
        if points.iter().any(|(other, _)| *other == name) {
            let what = format!("point `{name}` is there already");
            return Err(Mistake::new(raw.span(), what));
        }
        points.push((name, options));
    }
    Ok(points)
}

/// A point's name and options.
fn point(raw: &Spanned<Options>) -> Result<(String, Options), Mistake> {
    let mut options = raw.get_ref().clone();
    let name = options.keys().find(|key| key.get_ref() == "name").cloned();
    match name.and_then(|name| options.remove(&name)) {
        Some(value) => match value.get_ref() {
            Value::String(name) => Ok((name.clone(), options)),
            _ => Err(Mistake::new(value.span(), "name: write a text")),
        },
        None => Err(Mistake::new(
            raw.span(),
            "a point of [[across]] needs a name",
        )),
    }
}

/// Adds options to others, of which none may be among them.
fn add(options: &mut Options, more: &Options) -> Result<(), Mistake> {
    for (key, value) in more {
        let is_same = |other: &Spanned<String>| other.get_ref() == key.get_ref();
        if options.keys().any(is_same) {
            let what = format!("{}: another part of the file gives it, too", key.get_ref());
            return Err(Mistake::new(key.span(), what));
        }
        options.insert(key.clone(), value.clone());
    }
    Ok(())
}

fn check_where(only: &Where, across: &[RawAcross]) -> Result<(), Mistake> {
    for (name, wanted) in only {
        let Some(axis) = across.iter().find(|a| a.name.get_ref() == name.get_ref()) else {
            let what = format!("where: there is no [[across]] called `{}`", name.get_ref());
            return Err(Mistake::new(name.span(), what));
        };
        let points = points(axis)?;
        let known = |wanted: &&String| !points.iter().any(|(point, _)| point == *wanted);
        if let Some(unknown) = wanted.get_ref().iter().find(known) {
            let names: Vec<&str> = points.iter().map(|(point, _)| point.as_str()).collect();
            let what = format!("where: no point `{unknown}`, but {}", names.join(", "));
            return Err(Mistake::new(wanted.span(), what));
        }
        if wanted.get_ref().is_empty() {
            return Err(Mistake::new(wanted.span(), "where: points are missing"));
        }
    }
    Ok(())
}

fn series_at(raw: &RawSeries, combination: &Combination) -> Result<RawSeries, Mistake> {
    let mut series = raw.clone();
    add(&mut series.options, &combination.options)?;
    Ok(RawSeries {
        name: combination.name(series.name),
        label: format!("{}, {}", combination.words(), series.label),
        ..series
    })
}

/// A figure that names its series: without, all but the one that it is measured against.
fn named(figure: &RawFigure, series: &[RawSeries]) -> RawFigure {
    let mut figure = figure.clone();
    if figure.series.is_empty() {
        let to = figure.to.as_ref().map(|to| to.get_ref());
        let names = series.iter().map(|series| &series.name);
        let shown = names.filter(|name| Some(name.get_ref()) != to);
        figure.series = shown.cloned().collect();
    }
    figure
}

/// One for every combination that it means.
fn figures_at(raw: &RawFigure, all: &[Combination]) -> Vec<RawFigure> {
    let at = |combination: &Combination| {
        let figure = raw.clone();
        let name = |name| combination.name(name);
        RawFigure {
            name: name(figure.name),
            title: format!("{} ({})", figure.title, combination.words()),
            to: figure.to.map(name),
            series: figure.series.into_iter().map(name).collect(),
            ..figure
        }
    };
    all.iter()
        .filter(|c| c.is_meant(&raw.only))
        .map(at)
        .collect()
}

#[cfg(test)]
#[path = "across_tests.rs"]
mod tests;
