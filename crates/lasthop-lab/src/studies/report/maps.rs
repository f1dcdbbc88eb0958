// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Heat maps: a metric over the axis and a further one, for each series. They are drawn into the page,
//! as the pictures of `drawing` are.

use maud::{Markup, html};

use super::number::{number, place};
use crate::studies::experiment::runs::Runs;
use crate::studies::experiment::spec::{Experiment, Map, Picture, Point, Scale, Statistic};

/// A picture's width, in units of which a letter is `LETTER` wide.
const WIDTH: f64 = 360.0;
const LETTER: f64 = 6.3;
const MOST_CELL: f64 = 60.0;
const HEIGHT: f64 = 18.0;
/// Of the line with the columns' names.
const HEAD: f64 = 18.0;
/// Of the colour in the cell of the greatest value: letters on it can be read in light and dark.
const DEEPEST: f64 = 0.55;
/// A logarithmic scale ends so far below its greatest value.
const DECADES: f64 = 3.0;

/// What the maps of one metric show.
#[derive(Debug, Clone, PartialEq)]
pub struct MapData {
    map: Map,
    columns_are: String,
    columns: Vec<String>,
    pictures: Vec<Cells>,
}

/// One picture.
#[derive(Debug, Clone, PartialEq)]
struct Cells {
    title: String,
    rows: Vec<(String, Vec<Option<f64>>)>,
}

impl MapData {
    /// Of all maps that the file asks for. A cell is the median over the seeds.
    pub fn all(experiment: &Experiment, runs: Runs<'_>) -> Vec<Self> {
        let maps = experiment.maps.iter();
        maps.map(|map| Self::of(experiment, map, runs)).collect()
    }

    fn of(experiment: &Experiment, map: &Map, runs: Runs<'_>) -> Self {
        let axis = &experiment.axis;
        let median = |x: f64, series: &str| {
            let value = runs.value(x, series, &map.metric, Statistic::Median)?;
            Some(value.value)
        };
        let row = |(label, series): &(String, String)| {
            let values = axis.points.iter().map(|point| median(point.x, series));
            (label.clone(), values.collect())
        };
        let cells = |picture: &Picture| Cells {
            title: picture.title.clone(),
            rows: picture.rows.iter().map(row).collect(),
        };
        Self {
            columns_are: match axis.unit.as_str() {
                "" => axis.label.clone(),
                unit => format!("{} ({unit})", axis.label),
            },
            columns: axis.points.iter().map(Point::name).collect(),
            pictures: map.pictures.iter().map(cells).collect(),
            map: map.clone(),
        }
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let rows = self.pictures.iter().flat_map(|picture| &picture.rows);
        let values = rows.flat_map(|(_, values)| values).flatten().copied();
        values.filter(|value| value.is_finite())
    }
}

/// What the depth of a colour says.
struct Shade {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Shade {
    /// None without anything to show.
    fn of(data: &MapData) -> Option<Self> {
        let high = data.values().reduce(f64::max)?;
        let least = data.values().reduce(f64::min)?;
        let scale = data.map.scale;
        Some(Self {
            low: match scale {
                Scale::Linear => least.min(0.0),
                Scale::Log => least.max(high / 10f64.powf(DECADES)),
            },
            high,
            scale,
        })
    }

    /// What never came has the deepest one.
    fn depth(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        let part = if part.is_nan() { 1.0 } else { part };
        part.clamp(0.0, 1.0) * DEEPEST
    }
}

/// All maps of one metric, those that belong together side by side.
pub fn pictures(data: &MapData) -> Markup {
    let map = &data.map;
    html! {
        h3 { (map.label) @if !map.unit.is_empty() { " (" (map.unit) ")" } }
        @match Shade::of(data) {
            None => { p.note { "No runs yet." } }
            Some(shade) => {
                div.panels { @for cells in &data.pictures { (picture(data, cells, &shade)) } }
                p.note {
                    "Rows: " (map.rows_are) "; columns: " (data.columns_are)
                    ". Medians over the seeds; the deeper the colour, the greater, up to "
                    (number(shade.high)) "."
                }
            }
        }
    }
}

fn picture(data: &MapData, cells: &Cells, shade: &Shade) -> Markup {
    let longest = cells.rows.iter().map(|(label, _)| label.chars().count());
    let left = longest.max().unwrap_or(0) as f64 * LETTER + 10.0;
    let width = ((WIDTH - left) / data.columns.len() as f64).min(MOST_CELL);
    let height = HEAD + HEIGHT * cells.rows.len() as f64;
    let middle = |column: usize| place(left + width * (column as f64 + 0.5));
    html! {
        figure.panel {
            figcaption { (cells.title) }
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(words(data, cells)) {
                @for (column, name) in data.columns.iter().enumerate() {
                    text.tick x=(middle(column)) y="12" { (name) }
                }
                @for (row, (label, values)) in cells.rows.iter().enumerate() {
                    @let top = HEAD + HEIGHT * row as f64;
                    text x="2" y=(place(top + 13.0)) { (label) }
                    @for (column, value) in values.iter().enumerate() {
                        @if let Some(value) = value {
                            rect.cell x=(place(left + width * column as f64)) y=(place(top))
                                width=(place(width - 1.0)) height=(HEIGHT - 1.0)
                                fill-opacity=(format!("{:.2}", shade.depth(*value))) {}
                            text.value x=(middle(column)) y=(place(top + 13.0)) { (short(*value)) }
                        }
                    }
                }
            }
        }
    }
}

/// With no more digits than a cell has room for.
fn short(value: f64) -> String {
    match value.abs() < 1.0 {
        true => format!("{value:.2}").replace('-', "−"),
        false => number(value),
    }
}

/// For those who do not see the picture.
fn words(data: &MapData, cells: &Cells) -> String {
    let mut text = format!("{}, {}.", data.map.label, cells.title);
    for (label, values) in &cells.rows {
        let named = data.columns.iter().zip(values);
        let shown = named.map(|(column, value)| match value {
            Some(value) => format!("{} at {column}", number(*value)),
            None => format!("no runs at {column}"),
        });
        let shown: Vec<String> = shown.collect();
        text.push_str(&format!(" {label}: {}.", shown.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::base::small::Small;
    use crate::studies::experiment::line::Line;
    use crate::studies::experiment::line::tests::line;

    fn data(scale: &str, lines: &[Line]) -> MapData {
        let text = Small::new("T", "1..2")
            .axis(
                "Loss",
                "unit = \"%\"\npoints = [{ x = 0, loss = 0 }, { x = 2, loss = 0.02 }]",
            )
            .with(
                "[[across]]",
                "name = \"rtt\"\npoints = [{ name = \"near\", rtt = \"20ms\" }, { name = \"far\", rtt = \"200ms\" }]",
            )
            .with(
                "[[across]]",
                "name = \"cc\"\npoints = [{ name = \"reno\", cc = \"reno\" }, { name = \"bbr\", cc = \"bbr\" }]",
            )
            .tcp_and_snoop("")
            .with(
                "[[map]]",
                &format!("label = \"M\"\nmetric = \"goodput_mbit\"\nrows = \"rtt\"\nscale = \"{scale}\""),
            )
            .text();
        let experiment = Experiment::parse(&text, Path::new("t.toml")).unwrap();
        let lines: Vec<&Line> = lines.iter().collect();
        MapData::all(&experiment, Runs::new(&lines)).remove(0)
    }

    #[test]
    fn a_picture_for_each_series_and_what_is_left() {
        let lines = [
            line(2.0, "snoop-far-bbr", 1, 4.0),
            line(2.0, "snoop-far-bbr", 2, 6.0),
            line(0.0, "tcp-near-reno", 1, 1.0),
        ];
        let data = data("linear", &lines);
        let titles: Vec<&str> = data.pictures.iter().map(|p| p.title.as_str()).collect();
        assert_eq!(
            titles,
            ["reno, TCP", "reno, Snoop", "bbr, TCP", "bbr, Snoop"]
        );
        let rows = [
            ("near".to_owned(), vec![None, None]),
            ("far".to_owned(), vec![None, Some(5.0)]),
        ];
        assert_eq!(data.pictures[3].rows, rows);
        assert!(words(&data, &data.pictures[3]).contains("far: no runs at 0, 5.00 at 2."));
        let drawn = pictures(&data).into_string();
        assert_eq!(drawn.matches("<rect").count(), 2);
        assert!(drawn.contains("Rows: rtt; columns: Loss (%)"));
    }

    #[test]
    fn the_greatest_is_the_deepest() {
        let lines = |values: [f64; 2]| {
            let [first, second] = values;
            [
                line(0.0, "tcp-near-reno", 1, first),
                line(2.0, "tcp-near-reno", 1, second),
            ]
        };
        let depths = |scale: &str, values: [f64; 2]| {
            let shade = Shade::of(&data(scale, &lines(values))).unwrap();
            values.map(|value| (shade.depth(value) / DEEPEST * 100.0).round())
        };
        assert_eq!(depths("linear", [1.0, 4.0]), [25.0, 100.0]);
        assert_eq!(depths("linear", [-1.0, 1.0]), [0.0, 100.0]);
        assert_eq!(depths("log", [1.0, 100.0]), [0.0, 100.0]);
        assert_eq!(depths("log", [-3.0, 1000.0]), [0.0, 100.0]);
        assert_eq!(depths("linear", [0.0, 0.0]), [100.0, 100.0]);
        assert!(Shade::of(&data("linear", &[])).is_none());
    }
}
