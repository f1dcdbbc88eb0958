// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Further axes of an experiment: `[[across]]`. Each series, figure and condition of the file is there
//! once for every combination of their points, or for those that it names with `where`.
//!
//! They become series of their own before anything else is looked at, so that what is run, drawn and
//! judged needs to know of one axis only.

use toml::{Spanned, Value};

use super::mistake::Mistake;
use super::raw::{Options, Raw, RawAcross, RawCheck, RawFigure, RawSeries, Where};

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

    /// Words for people, with those of the points.
    fn words(&self, words: &str) -> String {
        let points: Vec<&str> = self.points.iter().map(|(_, p)| p.as_str()).collect();
        format!("{words} ({})", points.join(", "))
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
    for only in wheres.chain(raw.check.iter().map(|c| &c.only)) {
        check_where(only, &raw.across)?;
    }
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
        figure: each(&figures, &all, |f| &f.only, figure_at),
        check: each(&raw.check, &all, |c| &c.only, check_at),
        ..raw
    })
}

/// One of each for every combination that it means.
fn each<T>(
    of_file: &[T],
    all: &[Combination],
    only: fn(&T) -> &Where,
    at: fn(&T, &Combination) -> T,
) -> Vec<T> {
    let of_one = |one| {
        let meant = all.iter().filter(move |c| c.is_meant(only(one)));
        meant.map(move |combination| at(one, combination))
    };
    of_file.iter().flat_map(of_one).collect()
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
        label: combination.words(&series.label),
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

fn figure_at(raw: &RawFigure, combination: &Combination) -> RawFigure {
    let figure = raw.clone();
    let name = |name| combination.name(name);
    RawFigure {
        name: name(figure.name),
        title: combination.words(&figure.title),
        to: figure.to.map(name),
        series: figure.series.into_iter().map(name).collect(),
        ..figure
    }
}

fn check_at(raw: &RawCheck, combination: &Combination) -> RawCheck {
    let check = raw.clone();
    RawCheck {
        text: combination.words(&check.text),
        of: combination.name(check.of),
        to: check.to.map(|name| combination.name(name)),
        ..check
    }
}

#[cfg(test)]
#[path = "across_tests.rs"]
mod tests;
