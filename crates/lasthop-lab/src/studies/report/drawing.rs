// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The pictures of what an experiment came to with and without the agent. They are drawn into the
//! page, so that they follow its colours and width, and need nothing that draws.

use maud::{Markup, html};

use super::contrast::{Bar, Block, Contrast, Mark, PanelData, Ratios, Row, Spread};
use super::number::{number, place};
use super::range::{Range, tick_number};
use super::section::Section;
use super::shell::columns;
use crate::studies::experiment::judge::Outcome;
use crate::studies::experiment::spec::{Panel, Scale};

/// A picture's width, in units of which a letter is `LETTER` wide: so it fits a telephone.
const WIDTH: f64 = 360.0;
const LETTER: f64 = 5.7;
/// Room at the right for half of a number below the axis.
const MARGIN: f64 = 16.0;
const LEAST_LABEL: f64 = 40.0;
const MOST_LABEL: f64 = 165.0;
/// Heights: of the axis' numbers, a heading, a series, and what keeps rows apart.
const AXIS: f64 = 18.0;
const HEADING: f64 = 19.0;
const LANE: f64 = 10.0;
const GAP: f64 = 8.0;
/// In style.css.
const LANE_COLOURS: usize = 7;
/// Half of a mark.
const MARK: f64 = 3.3;
/// Beyond the greatest value.
const HEADROOM: f64 = 1.04;
/// Of the greatest value: an axis begins there, or below all values, where 0 would leave no room for
/// what differs. It begins at 0 if something is less than half of it.
const LATEST_START: f64 = 0.75;

/// The pictures side by side, as many as there is room for, with their legend.
pub fn pictures(contrast: &Contrast) -> Markup {
    let panels = || contrast.panels.iter();
    let has_two = panels().any(|data| data.panel.metrics.len() > 1);
    html! {
        p.legend { @for (index, lane) in contrast.lanes.iter().enumerate() {
            span.key.{ "lane-" (index % LANE_COLOURS) } {
                svg viewBox="-5 -5 10 10" aria-hidden="true" { (shape(0, lane.is_plain, 0.0, 0.0)) }
                (lane.label)
            }
        } }
        div.panels { @for data in panels() { (picture(contrast, data)) } }
        p.note {
            "Medians over the seeds, with whiskers from the least to the greatest seed."
            @if has_two { " Circles: p50, or the first that is named; diamonds: p95, or the second." }
        }
    }
}

/// The table at the top of the page: a line per case and scheme of the agent.
pub fn summary(sections: &[&Section]) -> Markup {
    let rows = || {
        let of = |section: &&'_ Section| section.contrast.ratios.len();
        sections.iter().filter(move |section| of(section) > 0)
    };
    html! {
        table.overview {
            (columns(["Case", "Conditions met", "Goodput", "RTT p95", "Queue drops", "Its own figure"]))
            tbody { @for section in rows() { @for ratios in &section.contrast.ratios {
                (summary_row(section, ratios))
            } } }
        }
    }
}

fn summary_row(section: &Section, ratios: &Ratios) -> Markup {
    let name = &section.experiment.name;
    let has_several = section.contrast.ratios.len() > 1;
    html! { tr {
        th scope="row" { a href={ "#" (name) } { (name) } @if has_several { ", " (ratios.scheme) } }
        td.number { (section.count(Outcome::Met)) "/" (section.judgements.len()) }
        td.number { (spread(ratios.goodput)) }
        td.number { (spread(ratios.delay)) }
        td.number { (dropped(ratios.drops)) }
        td.number { @if let Some((label, own)) = &ratios.own { (spread(Some(*own))) " " span.interval { (label) } } }
    } }
}

fn spread(spread: Option<Spread>) -> Markup {
    let Some(Spread {
        median,
        least,
        most,
    }) = spread
    else {
        return html! { "–" };
    };
    html! {
        (number(median))
        @if least < most { " " span.interval { (number(least)) " to " (number(most)) } }
    }
}

fn dropped((with, without): (f64, f64)) -> Markup {
    html! {
        @if without > 0.0 { (number(with / without)) " " }
        span.interval { (with) " of " (without) }
    }
}

fn picture(contrast: &Contrast, data: &PanelData) -> Markup {
    let Some(axis) = Axis::of(data) else {
        return html! { figure.panel { (title(&data.panel)) p.note { "No runs yet." } } };
    };
    let height = height(data);
    let tops = tops(AXIS, data.blocks.iter().map(block_height));
    html! {
        figure.panel {
            (title(&data.panel))
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(words(contrast, data)) {
                text.soft x="0" y="12" { (data.rows_are) }
                (axis.drawn(height))
                @for (block, top) in data.blocks.iter().zip(tops) {
                    (drawn_block(contrast, &axis, block, top))
                }
            }
        }
    }
}

fn title(panel: &Panel) -> Markup {
    html! { figcaption { (panel.label) @if !panel.unit.is_empty() { " (" (panel.unit) ")" } } }
}

fn row_height(row: &Row) -> f64 {
    LANE * row.bars.len() as f64 + GAP
}

fn heading_height(block: &Block) -> f64 {
    if block.heading.is_empty() {
        0.0
    } else {
        HEADING
    }
}

fn block_height(block: &Block) -> f64 {
    heading_height(block) + block.rows.iter().map(row_height).sum::<f64>()
}

fn height(data: &PanelData) -> f64 {
    // The axis stands above and below: a picture may be longer than a screen.
    2.0 * AXIS + data.blocks.iter().map(block_height).sum::<f64>()
}

/// Where things of these heights begin, one below the other.
fn tops(first: f64, heights: impl Iterator<Item = f64>) -> Vec<f64> {
    let next = |top: &mut f64, height: f64| {
        let own = *top;
        *top += height;
        Some(own)
    };
    heights.scan(first, next).collect()
}

fn drawn_block(contrast: &Contrast, axis: &Axis, block: &Block, top: f64) -> Markup {
    let heading = heading_height(block);
    let tops = tops(top + heading, block.rows.iter().map(row_height));
    html! {
        @if heading > 0.0 { text.heading x="0" y=(place(top + heading - 6.0)) { (block.heading) } }
        @for (index, (row, top)) in block.rows.iter().zip(tops).enumerate() {
            @let height = row_height(row);
            @if index % 2 == 0 {
                rect.band x="0" y=(place(top)) width=(WIDTH) height=(place(height)) {}
            }
            // Letters stand on their line; this brings them to the row's middle.
            text x="2" y=(place(top + height / 2.0 + 3.8)) { (row.label) }
            @for (lane, bar) in row.bars.iter().enumerate() {
                (drawn_bar(contrast, axis, row, bar, top + GAP / 2.0 + LANE * (lane as f64 + 0.5)))
            }
        }
    }
}

/// From the first metric to the second, with the seeds' ends.
fn drawn_bar(contrast: &Contrast, axis: &Axis, row: &Row, bar: &Bar, y: f64) -> Markup {
    let lane = &contrast.lanes[bar.lane];
    let xs: Vec<f64> = bar.marks.iter().map(|(_, m)| axis.x(m.median)).collect();
    html! {
        g.{ "lane-" (bar.lane % LANE_COLOURS) } {
            title { (row.label) ", " (lane.label) ": " (values(bar)) }
            @if let [first, .., last] = xs[..] { (line("span", first, last, y)) }
            @for (_, mark) in &bar.marks {
                @if mark.least < mark.most { (line("whisker", axis.x(mark.least), axis.x(mark.most), y)) }
            }
            @for (metric, mark) in &bar.marks {
                (shape(*metric, lane.is_plain, axis.x(mark.median), y))
                @if mark.median.is_infinite() {
                    text.never x=(place(axis.x(mark.median) - 6.0)) y=(place(y + 3.5)) { "never" }
                }
            }
        }
    }
}

fn line(class: &str, from: f64, to: f64, y: f64) -> Markup {
    html! { line.(class) x1=(place(from)) x2=(place(to)) y1=(place(y)) y2=(place(y)) {} }
}

/// Hollow without an agent: colour alone tells not everybody.
fn shape(metric: usize, is_plain: bool, x: f64, y: f64) -> Markup {
    let class = if is_plain { "mark plain" } else { "mark" };
    html! {
        @if metric == 0 {
            circle class=(class) cx=(place(x)) cy=(place(y)) r=(MARK) {}
        } @else {
            path class=(class) d=(format!("M{x:.1} {:.1}l{MARK} {MARK} -{MARK} {MARK} -{MARK} -{MARK}z", y - MARK)) {}
        }
    }
}

/// For those who do not see the picture.
fn words(contrast: &Contrast, data: &PanelData) -> String {
    let mut text = format!("{}.", data.panel.label);
    for block in &data.blocks {
        for row in &block.rows {
            let bar = |bar: &Bar| format!("{} {}", contrast.lanes[bar.lane].label, values(bar));
            let bars: Vec<String> = row.bars.iter().map(bar).collect();
            let heading = match block.heading.is_empty() {
                true => String::new(),
                false => format!("{} at ", block.heading),
            };
            text.push_str(&format!(" {heading}{}: {}.", row.label, bars.join("; ")));
        }
    }
    text
}

fn values(bar: &Bar) -> String {
    let show = |(_, mark): &(usize, Mark)| match mark.runs {
        1 => number(mark.median),
        _ => format!(
            "{} ({} to {})",
            number(mark.median),
            number(mark.least),
            number(mark.most)
        ),
    };
    match bar.marks.is_empty() {
        true => "no runs".to_owned(),
        false => bar.marks.iter().map(show).collect::<Vec<_>>().join(", "),
    }
}

/// Where values lie.
struct Axis {
    range: Range,
    /// First place right of the rows' labels.
    left: f64,
}

impl Axis {
    /// None without anything to show.
    fn of(data: &PanelData) -> Option<Self> {
        let values = data.values();
        let has_runs = |row: &Row| row.bars.iter().any(|bar| !bar.marks.is_empty());
        if !data.blocks.iter().flat_map(|b| &b.rows).any(has_runs) {
            return None;
        }
        let least = values.iter().copied().reduce(f64::min).unwrap_or(1.0);
        let most = values.iter().copied().reduce(f64::max).unwrap_or(1.0);
        let rows = data.blocks.iter().flat_map(|block| &block.rows);
        let longest = rows.map(|row| row.label.chars().count()).max().unwrap_or(0);
        // Its text stands on the line of the axis' first number.
        let longest = longest.max(data.rows_are.chars().count() + 2);
        let (low, high) = match data.panel.scale {
            Scale::Linear if most <= 0.0 => (0.0, 1.0),
            Scale::Linear if least < most / 2.0 => (0.0, most * HEADROOM),
            Scale::Linear => ((0.95 * least).min(LATEST_START * most), most * HEADROOM),
            Scale::Log => (least / 1.1, most * 1.1),
        };
        Some(Self {
            range: Range {
                scale: data.panel.scale,
                low,
                high,
            },
            left: (longest as f64 * LETTER + 10.0).clamp(LEAST_LABEL, MOST_LABEL),
        })
    }

    /// What never came lies at the right end.
    fn x(&self, value: f64) -> f64 {
        self.left + self.range.part(value) * (WIDTH - MARGIN - self.left)
    }

    fn drawn(&self, height: f64) -> Markup {
        html! {
            @for tick in self.range.ticks() {
                @let x = place(self.x(tick));
                line.grid x1=(x) x2=(x) y1=(AXIS) y2=(place(height - AXIS)) {}
                @for y in [12.0, height - 5.0] {
                    text.tick x=(x) y=(place(y)) { (tick_number(tick)) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_came_lies_at_the_end_and_nothing_left_of_the_axis() {
        for (scale, low) in [(Scale::Linear, 0.0), (Scale::Log, 1.0)] {
            let axis = Axis {
                range: Range {
                    scale,
                    low,
                    high: 10.0,
                },
                left: 60.0,
            };
            assert_eq!(axis.x(f64::INFINITY), WIDTH - MARGIN);
            assert_eq!(axis.x(0.0), 60.0);
            assert_eq!(axis.x(10.0), WIDTH - MARGIN);
        }
    }
}
