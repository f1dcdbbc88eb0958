// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What an experiment came to with and without the agent: each series that has one beside the
//! series without that has the same options.

use crate::base::stats::median;
use crate::cell::options::NO_AGENT;
use crate::studies::experiment::runs::Runs;
use crate::studies::experiment::spec::{Experiment, Panel, Point, Scale, Series, Statistic};

/// Told of outages or not, a series is measured against the same one without agent.
const AGENT_OPTION: &str = "--outage-events";
/// Between the words of a series' label.
const LABEL_COMMA: &str = ", ";
const GOODPUT: &str = "goodput_mbit";
const DELAY: &str = "rtt_p95_ms";
const DROPS: [&str; 2] = ["queue_dropped", "aqm_dropped"];
/// Where the first panel shows one of these, the case has no other figure of its own.
const GOODPUTS: [&str; 2] = [GOODPUT, "efficiency"];

/// Everything that the page shows side by side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Contrast {
    /// What is compared: a lane of each has the same colour everywhere.
    pub lanes: Vec<Lane>,
    /// The pictures.
    pub panels: Vec<PanelData>,
    /// With the agent against without, per scheme.
    pub ratios: Vec<Ratios>,
}

/// One of what is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    /// What tells it from the others.
    pub label: String,
    /// Whether it has no agent.
    pub is_plain: bool,
}

/// One picture.
#[derive(Debug, Clone, PartialEq)]
pub struct PanelData {
    /// What it shows, how its axis is divided, and what of `compare -j` that is.
    pub panel: Panel,
    /// What the rows are.
    pub rows_are: String,
    /// Rows with a heading each.
    pub blocks: Vec<Block>,
}

/// The series that have everything but the agent in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// What they have in common.
    pub heading: String,
    /// A row per point of the axis.
    pub rows: Vec<Row>,
}

/// One point of the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which.
    pub label: String,
    /// A bar per series.
    pub bars: Vec<Bar>,
}

/// One series at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Place among [`Contrast::lanes`].
    pub lane: usize,
    /// Of each metric that has runs, with the metric's place in the panel.
    pub marks: Vec<(usize, Mark)>,
}

/// A metric over the seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The seed in the middle, which the conditions go by, too.
    pub median: f64,
    /// The least seed.
    pub least: f64,
    /// The greatest.
    pub most: f64,
    /// Seeds.
    pub runs: usize,
}

/// Over all points of a case: with the agent against without.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratios {
    /// Scheme of the agent.
    pub scheme: String,
    /// Goodput.
    pub goodput: Option<Spread>,
    /// 95th percentile of the round trip.
    pub delay: Option<Spread>,
    /// What the first panel shows, if that is no goodput: its label.
    pub own: Option<(String, Spread)>,
    /// Frames that the queue lost, with the agent and without: sums over runs of equal seeds.
    pub drops: (f64, f64),
}

/// Ratios of medians, one per point and pair of series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The one in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

/// Series that differ in nothing but the agent; the first has none.
struct Group<'a> {
    series: Vec<&'a Series>,
}

impl Contrast {
    /// Of an experiment whose file has panels or maps; without there is nothing in it.
    pub fn of(experiment: &Experiment, runs: Runs<'_>) -> Self {
        if experiment.panels.is_empty() && experiment.maps.is_empty() {
            return Self::default();
        }
        let groups = groups(experiment);
        let lanes = lanes(&groups);
        let panels = experiment.panels.iter();
        Self {
            panels: panels
                .map(|panel| panel_data(experiment, panel, &groups, &lanes, runs))
                .collect(),
            ratios: ratios(experiment, &groups, runs),
            lanes,
        }
    }
}

fn groups(experiment: &Experiment) -> Vec<Group<'_>> {
    let is_link = |word: &&String| *word != AGENT_OPTION;
    let link = |series: &Series| series.args.iter().filter(is_link).cloned().collect();
    let plain = experiment.series.iter().filter(|s| s.scheme == NO_AGENT);
    let group = |plain| {
        let alike: Vec<String> = link(plain);
        let agents = experiment.series.iter();
        let agents = agents.filter(|s| s.scheme != NO_AGENT && link(s) == alike);
        Group {
            series: std::iter::once(plain).chain(agents).collect(),
        }
    };
    plain
        .map(group)
        .filter(|group| group.series.len() > 1)
        .collect()
}

impl Group<'_> {
    fn words(series: &Series) -> impl Iterator<Item = &str> {
        series.label.split(LABEL_COMMA)
    }

    fn is_common(&self, word: &str) -> bool {
        let has = |series: &&Series| Self::words(series).any(|other| other == word);
        self.series.iter().all(has)
    }

    /// What all labels say.
    fn heading(&self) -> String {
        let words = Self::words(self.series[0]).filter(|word| self.is_common(word));
        words.collect::<Vec<_>>().join(LABEL_COMMA)
    }

    /// What only this one's says.
    fn own_words(&self, series: &Series) -> String {
        let words = Self::words(series).filter(|word| !self.is_common(word));
        words.collect::<Vec<_>>().join(LABEL_COMMA)
    }
}

/// In the order in which they come first.
fn lanes(groups: &[Group<'_>]) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    for group in groups {
        for series in &group.series {
            let label = group.own_words(series);
            if !lanes.iter().any(|lane| lane.label == label) {
                let is_plain = series.scheme == NO_AGENT;
                lanes.push(Lane { label, is_plain });
            }
        }
    }
    lanes
}

fn panel_data(
    experiment: &Experiment,
    panel: &Panel,
    groups: &[Group<'_>],
    lanes: &[Lane],
    runs: Runs<'_>,
) -> PanelData {
    let bar = |group: &Group<'_>, series: &Series, x: f64| {
        let label = group.own_words(series);
        let marks = panel.metrics.iter().enumerate();
        let mark = |(place, metric): (usize, &String)| {
            Some((place, Mark::of(runs, x, &series.name, metric)?))
        };
        Bar {
            lane: lanes.iter().position(|l| l.label == label).unwrap_or(0),
            marks: marks.filter_map(mark).collect(),
        }
    };
    let row = |group: &Group<'_>, point: &Point| Row {
        label: row_label(experiment, point),
        bars: group
            .series
            .iter()
            .map(|series| bar(group, series, point.x))
            .collect(),
    };
    let block = |group: &Group<'_>| Block {
        heading: group.heading(),
        rows: experiment
            .axis
            .points
            .iter()
            .map(|point| row(group, point))
            .collect(),
    };
    PanelData {
        panel: panel.clone(),
        rows_are: experiment.axis.label.clone(),
        blocks: groups.iter().map(block).collect(),
    }
}

fn row_label(experiment: &Experiment, point: &Point) -> String {
    match (&point.label, experiment.axis.unit.as_str()) {
        (Some(label), _) => label.clone(),
        (None, "") => point.x.to_string(),
        (None, unit) => format!("{} {unit}", point.x),
    }
}

impl Mark {
    fn of(runs: Runs<'_>, x: f64, series: &str, metric: &str) -> Option<Self> {
        let value = |statistic| runs.value(x, series, metric, statistic);
        let middle = value(Statistic::Median)?;
        Some(Self {
            median: middle.value,
            least: value(Statistic::Min)?.value,
            most: value(Statistic::Max)?.value,
            runs: middle.runs,
        })
    }
}

impl PanelData {
    /// All finite values, the seeds' ends included.
    pub fn values(&self) -> Vec<f64> {
        let rows = self.blocks.iter().flat_map(|block| &block.rows);
        let marks = rows
            .flat_map(|row| &row.bars)
            .flat_map(|bar| &bar.marks)
            .flat_map(|(_, mark)| [mark.least, mark.median, mark.most]);
        let shown = |value: &f64| match self.panel.scale {
            Scale::Linear => value.is_finite(),
            Scale::Log => value.is_finite() && *value > 0.0,
        };
        marks.filter(shown).collect()
    }
}

/// Per scheme of the agent, in the order of the file.
fn ratios(experiment: &Experiment, groups: &[Group<'_>], runs: Runs<'_>) -> Vec<Ratios> {
    let mut schemes: Vec<&str> = Vec::new();
    for series in groups.iter().flat_map(|group| &group.series[1..]) {
        if !schemes.contains(&series.scheme.as_str()) {
            schemes.push(&series.scheme);
        }
    }
    let is_own = |panel: &&Panel| !GOODPUTS.contains(&panel.metrics[0].as_str());
    let own = experiment.panels.first().filter(is_own);
    let of_scheme = |scheme: &str| {
        let agents = groups.iter().flat_map(|group| {
            let agents = group.series[1..].iter().filter(|s| s.scheme == scheme);
            agents.map(|agent| [agent.name.as_str(), group.series[0].name.as_str()])
        });
        let pairs: Vec<[&str; 2]> = agents.collect();
        let spread = |metric: &str| Spread::of(experiment, &pairs, metric, runs);
        Ratios {
            scheme: scheme.to_owned(),
            goodput: spread(GOODPUT),
            delay: spread(DELAY),
            own: own.and_then(|panel| Some((panel.label.clone(), spread(&panel.metrics[0])?))),
            drops: drops(experiment, &pairs, runs),
        }
    };
    schemes.into_iter().map(of_scheme).collect()
}

impl Spread {
    /// Of each pair at each point. What neither brought to an end has no ratio.
    fn of(
        experiment: &Experiment,
        pairs: &[[&str; 2]],
        metric: &str,
        runs: Runs<'_>,
    ) -> Option<Self> {
        let mut ratios = Vec::new();
        for point in &experiment.axis.points {
            for pair in pairs {
                let value = |name| runs.value(point.x, name, metric, Statistic::Median);
                let [Some(with), Some(without)] = pair.map(value) else {
                    continue;
                };
                ratios.push(with.value / without.value);
            }
        }
        ratios.retain(|ratio| !ratio.is_nan());
        Some(Self {
            median: median(&ratios)?,
            least: Statistic::Min.of(&ratios)?,
            most: Statistic::Max.of(&ratios)?,
        })
    }
}

fn drops(experiment: &Experiment, pairs: &[[&str; 2]], runs: Runs<'_>) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for point in &experiment.axis.points {
        for [with, without] in pairs {
            for metric in DROPS {
                let other = runs.values(point.x, without, metric);
                for (seed, dropped) in runs.values(point.x, with, metric) {
                    // A ratio of sums says something only if both are of the same seeds.
                    if let Some((_, without)) = other.iter().find(|(s, _)| *s == seed) {
                        sums = (sums.0 + dropped, sums.1 + without);
                    }
                }
            }
        }
    }
    sums
}

#[cfg(test)]
#[path = "contrast_tests.rs"]
mod tests;
