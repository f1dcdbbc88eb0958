// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The page: one file that needs nothing else. maud escapes whatever the experiments' files say.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use maud::{Markup, html};

use super::drawing;
use super::maps;
use super::section::{Part, Section};
use super::shell::{self, columns, day, scrolling};
use super::tables::{self, FIGURES_FILE};
use crate::cell::engine;
use crate::studies::experiment::judge::{Judgement, Outcome};
use crate::studies::experiment::runs::Value;
use crate::studies::experiment::spec::{Axis, Demand, FigureKind, JudgedBy, Relation};
use crate::studies::experiment::summary::{AxisText, Curve, FigureData};
use crate::studies::report::number::number;

const TITLE: &str = "lasthop: experiments";
/// A longer list is folded.
const LONG_LIST: usize = 8;

/// How an experiment, or one of its conditions, stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Met,
    NotMet,
    Incomplete,
    NoConditions,
    Unreadable,
}

impl Standing {
    fn of(part: &Part) -> Self {
        let Some(section) = part.section() else {
            return Self::Unreadable;
        };
        if section.count(Outcome::NotMet) > 0 {
            return Self::NotMet;
        }
        match (section.count(Outcome::Incomplete), section.judgements.len()) {
            (0, 0) => Self::NoConditions,
            (0, _) => Self::Met,
            _ => Self::Incomplete,
        }
    }

    /// Words, since colour alone tells not everybody.
    fn badge(self) -> Markup {
        let (class, text) = match self {
            Self::Met => ("met", "✓ met"),
            Self::NotMet => ("not-met", "✗ not met"),
            Self::Incomplete => ("incomplete", "… incomplete"),
            Self::NoConditions => ("incomplete", "no conditions"),
            Self::Unreadable => ("not-met", "✗ unreadable"),
        };
        html! { span.badge.(class) { (text) } }
    }
}

impl From<Outcome> for Standing {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Met => Self::Met,
            Outcome::NotMet => Self::NotMet,
            Outcome::Incomplete => Self::Incomplete,
        }
    }
}

/// The page. `out`: the directory that it lies in; `no_pictures`: why some are missing.
pub fn page(parts: &[Part], out: &Path, no_pictures: Option<&str>) -> String {
    let header = html! {
        h1 { (TITLE) }
        (origin(parts))
        @if let Some(why) = no_pictures { p.remark { (why) } }
    };
    let main = html! {
        section aria-labelledby="overview" {
            h2 #overview { "Overview" }
            (overview(parts))
        }
        (contrasts(parts))
        @for part in parts { (article(part, out)) }
    };
    shell::document(TITLE, &header, &main)
}

/// Joined by commas.
fn join(words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}

/// When and where.
fn origin(parts: &[Part]) -> Markup {
    let sections = || parts.iter().filter_map(Part::section);
    let lines = || sections().flat_map(|section| &section.lines);
    let days: BTreeSet<String> = lines().map(|line| day(line.ended_s)).collect();
    let kernels: BTreeSet<String> = lines().map(|line| line.kernel.clone()).collect();
    let revisions: BTreeSet<String> = lines().map(|line| line.revision.clone()).collect();
    let metas = || sections().filter_map(|section| section.meta.as_ref());
    let cpus: BTreeSet<usize> = metas().map(|meta| meta.cpus).collect();
    let versions: BTreeSet<String> = metas().map(|meta| meta.version.clone()).collect();
    let when = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(day), _) => day.clone(),
        _ => "no runs".to_owned(),
    };
    html! {
        dl.origin {
            dt { "Runs of" } dd { (when) }
            @if !kernels.is_empty() { dt { "Kernel" } dd { "Linux " (join(kernels)) } }
            @if !cpus.is_empty() { dt { "CPUs" } dd { (join(cpus.iter().map(usize::to_string))) } }
            @if !versions.is_empty() { dt { "lasthop-lab" } dd { (join(versions)) } }
            @if !revisions.is_empty() { dt { "Revision" } dd { (join(revisions)) } }
        }
    }
}

fn overview(parts: &[Part]) -> Markup {
    let table = html! {
        table.overview {
            (columns(["Experiment", "Result", "Conditions met", "Runs", "Source"]))
            tbody { @for part in parts { tr {
                th scope="row" { a href={ "#" (part.name()) } { (part.name()) } }
                td { (Standing::of(part).badge()) }
                @match part.section() {
                    Some(section) => {
                        td.number { (section.count(Outcome::Met)) "/" (section.judgements.len()) }
                        td.number { (section.wanted() - section.missing().len()) "/" (section.wanted()) }
                        td { (section.experiment.source) }
                    }
                    None => { td {} td {} td {} }
                }
            } } }
        }
    };
    scrolling("Overview", &table)
}

/// All cases at a glance, if some are shown with and without the agent.
fn contrasts(parts: &[Part]) -> Markup {
    let sections = parts.iter().filter_map(Part::section);
    let cases: Vec<&Section> = sections
        .filter(|section| !section.contrast.ratios.is_empty())
        .collect();
    html! {
        @if !cases.is_empty() { section aria-labelledby="contrast" {
            h2 #contrast { "With the agent / without" }
            p.note {
                "Ratios of medians over the seeds: the one in the middle of all points of the case, the "
                "least and the greatest. Queue drops: sums over runs of equal seeds."
            }
            (scrolling("With the agent / without", &drawing::summary(&cases)))
        } }
    }
}

fn article(part: &Part, out: &Path) -> Markup {
    let section = match part {
        Part::Read(section) => section,
        Part::Broken { name, why } => {
            return html! {
                article #(name) {
                    h2 { (name) " " (Standing::Unreadable.badge()) }
                    p.remark { (why) }
                }
            };
        }
    };
    let experiment = &section.experiment;
    html! {
        article #(experiment.name) {
            h2 { (experiment.title) }
            p.source { (experiment.source) " · " code { (experiment.name) } " " (Standing::of(part).badge()) }
            h3 { "Set-up" }
            p { (experiment.about) }
            h3 { "What the source reports" }
            blockquote { p { (experiment.reported) } }
            @if !section.contrast.panels.is_empty() {
                h3 { "With and without the agent" }
                (drawing::pictures(&section.contrast))
            }
            @for map in &section.maps { (maps::pictures(map)) }
            h3 { "Conditions" }
            (conditions(&section.judgements))
            @if !section.figures.is_empty() {
                h3 { "Figures" }
                @for data in &section.figures { (figure(section, data)) }
                (legend_note(section))
                h3 { "Values" }
                @for data in &section.figures {
                    @if data.kind != FigureKind::Window { (values(data)) }
                }
            }
            h3 { "Runs" }
            (runs(section))
            h3 { "Repeat it" }
            (repeat(section, out))
        }
    }
}

fn conditions(judgements: &[Judgement]) -> Markup {
    if judgements.is_empty() {
        return html! { p { "The experiment's file states none." } };
    }
    html! {
        ul.conditions { @for judgement in judgements { li {
            (Standing::from(judgement.outcome).badge())
            div {
                (judgement.check)
                div.detail { (demand(judgement)) " · measured: " (judgement.detail) }
                @if judgement.has_places() { (list("Missed", &judgement.missed)) }
            }
        } } }
    }
}

/// What is asked, in numbers.
fn demand(judgement: &Judgement) -> String {
    let of = match &judgement.to {
        None => judgement.of.clone(),
        Some(to) => match judgement.relation {
            Relation::Ratio => format!("{} / {to}", judgement.of),
            Relation::Difference => format!("{} − {to}", judgement.of),
        },
    };
    let together = |all: &Vec<Demand>| {
        let bounds = all.iter().map(|d| format!("{}{}", d.metric, bounds(d)));
        bounds.collect::<Vec<_>>().join(" and ")
    };
    let any: Vec<String> = judgement.any.iter().map(together).collect();
    format!("{of}: {}", any.join(", or "))
}

fn bounds(demand: &Demand) -> String {
    let bounds = match (demand.min, demand.max) {
        (None, None) => return String::new(),
        (Some(min), None) => format!(" at least {min}"),
        (None, Some(max)) => format!(" at most {max}"),
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
    };
    match demand.judged_by {
        JudgedBy::Value => bounds,
        JudgedBy::Interval => bounds + " (judged by the 95 % interval)",
    }
}

/// Label and unit.
fn axis(axis: &AxisText) -> String {
    match axis.unit.is_empty() {
        true => axis.label.clone(),
        false => format!("{} ({})", axis.label, axis.unit),
    }
}

fn figure(section: &Section, data: &FigureData) -> Markup {
    let Ok(svg) = fs::read(section.picture(&data.name, "svg")) else {
        return html! { p.note { "No picture of “" (data.title) "”." } };
    };
    let src = format!("data:image/svg+xml;base64,{}", BASE64.encode(svg));
    html! {
        figure {
            (scrolling(&data.title, &html! { img alt=(alt(data)) src=(src); }))
            figcaption {
                (shown_run(section, data))
                "Beside this page: " (file(section, &format!("{}.svg", data.name)))
                ", " (file(section, &format!("{}.png", data.name)))
            }
        }
    }
}

/// Which run a window figure shows.
fn shown_run(section: &Section, data: &FigureData) -> String {
    let experiment = &section.experiment;
    let figure = experiment.figures.iter().find(|f| f.name == data.name);
    let Some((seed, x)) = figure.and_then(|figure| Some((figure.seed, figure.at?))) else {
        return String::new();
    };
    let Axis { label, unit, .. } = &experiment.axis;
    format!("One run per series: seed {seed}, {label} {x} {unit}. ")
}

/// A file of the experiment, as a link that holds while the page lies where it was made.
fn file(section: &Section, name: &str) -> Markup {
    let path = format!("{}/{name}", section.experiment.name);
    html! { a href=(path) { (path) } }
}

/// What the picture shows, for those who do not see it.
fn alt(data: &FigureData) -> String {
    let axes = format!("{}: {} over {}.", data.title, axis(&data.y), axis(&data.x));
    let curves = data.curves.iter().map(|curve| match data.kind {
        FigureKind::Window => format!(" {}.", curve.label),
        _ => format!(" {}: {}.", curve.label, course(curve)),
    });
    let reported = data.reported.iter().map(|r| format!(" {}.", r.label));
    axes + &curves.chain(reported).collect::<String>()
}

/// First, last and greatest value.
fn course(curve: &Curve) -> String {
    let by_value = |a: &&Value, b: &&Value| a.value.total_cmp(&b.value);
    let greatest = curve.points.iter().max_by(by_value);
    let show = |value: &Value| format!("{} at {}", number(value.value), value.x);
    match (curve.points.first(), greatest, curve.points.last()) {
        (Some(first), Some(greatest), Some(last)) => format!(
            "from {} to {}, greatest {}",
            show(first),
            show(last),
            show(greatest)
        ),
        _ => "no runs".to_owned(),
    }
}

fn legend_note(section: &Section) -> Markup {
    let mut kinds = section.figures.iter().map(|figure| figure.kind);
    html! {
        @if kinds.any(|kind| kind != FigureKind::Window) {
            p.note {
                "Lines join the means over the seeds; bars are 95 % intervals of the mean (Student’s t; "
                "for ratios and differences over pairs of equal seeds), small marks the seeds. Black: "
                "what the source reports."
            }
        }
    }
}

fn values(data: &FigureData) -> Markup {
    let points = || data.curves.iter().flat_map(|curve| &curve.points);
    let mut xs: Vec<f64> = points().map(|point| point.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let tick = |x: f64| data.ticks.iter().find(|tick| tick.x == x);
    let caption = match &data.to {
        None if data.title == data.y.label => axis(&data.y),
        None => format!("{}: {}", data.title, axis(&data.y)),
        Some(to) => format!("{}: {}, against {to}", data.title, axis(&data.y)),
    };
    let table = html! {
        table {
            caption { (caption) }
            thead { tr {
                th scope="col" { (axis(&data.x)) }
                @for curve in &data.curves { th scope="col" { (curve.label) } }
            } }
            tbody { @for x in xs { tr {
                th scope="row" { (x) @if let Some(tick) = tick(x) { " (" (tick.label) ")" } }
                @for curve in &data.curves {
                    td.number { (value(curve.points.iter().find(|point| point.x == x))) }
                }
            } } }
        }
    };
    scrolling(&caption, &table)
}

fn value(point: Option<&Value>) -> Markup {
    let Some(point) = point else {
        return html! { "–" };
    };
    let runs = match point.runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    };
    html! {
        (number(point.value)) " "
        span.interval {
            @match (point.low, point.high) {
                (Some(low), Some(high)) => { (number(low)) " to " (number(high)) }
                _ => (runs),
            }
        }
    }
}

/// A list, folded if it is long.
fn list(summary: &str, items: &[String]) -> Markup {
    let list = html! { ul { @for item in items { li { (item) } } } };
    html! {
        @if items.is_empty() {
        } @else if items.len() > LONG_LIST {
            details { summary { (summary) ": " (items.len()) } (list) }
        } @else {
            p { (summary) ":" }
            (list)
        }
    }
}

/// How many there are, and what befell them.
fn runs(section: &Section) -> Markup {
    let missing = section.missing();
    let lines = || section.lines.iter();
    let notes: Vec<String> = lines()
        .filter(|line| !line.notes.is_empty())
        .map(|line| format!("{}: {}", line.cell, line.notes.join("; ")))
        .collect();
    let corrupt: Vec<String> = lines()
        .filter(|line| !line.record.content_ok)
        .map(|line| line.cell.clone())
        .collect();
    html! {
        p {
            (section.wanted() - missing.len()) " of " (section.wanted()) " runs ("
            (section.experiment.axis.points.len()) " points × " (section.experiment.series.len())
            " series × " (section.experiment.seeds.len()) " seeds). "
            "Each: " (file(section, tables::RUNS_FILE))
            @if !section.figures.is_empty() {
                "; the tables above: " (file(section, tables::SUMMARY_FILE)) ", "
                (file(section, FIGURES_FILE))
            }
            "."
        }
        @for remark in &section.remarks { p.remark { (remark) } }
        (list("Bytes wrong or missing", &corrupt))
        (list("What was said about runs", &notes))
        (list("Missing (not made, or failed)", &missing))
        (settings(section))
    }
}

/// What the end hosts were set to.
fn settings(section: &Section) -> Markup {
    let used: BTreeSet<String> = section
        .lines
        .iter()
        .filter(|line| line.record.engine == engine::Engine::Testbed)
        .filter_map(|line| {
            Some(
                serde_json::to_value(line.record.profile)
                    .ok()?
                    .as_str()?
                    .to_owned(),
            )
        })
        .collect();
    let Some(meta) = &section.meta else {
        return html! { p.remark { "meta.json is missing or not of this version." } };
    };
    html! {
        @for (name, set) in &meta.profiles { @if used.contains(name) {
            details {
                summary { "TCP of the end hosts: profile " (name) }
                pre { @for (key, value) in set { (key) " = " (value) "\n" } }
            }
        } }
    }
}

fn repeat(section: &Section, out: &Path) -> Markup {
    html! {
        p { "The experiment; results that are there already are not made again:" }
        pre { code { (section.run_command(out)) } }
        p { "One run of it, for a closer look:" }
        pre { code { (section.compare_command()) } }
    }
}
