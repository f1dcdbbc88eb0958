// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Curves, drawn into the page, so that they follow its colours and width.

use maud::{Markup, html};

use crate::studies::experiment::spec::Scale;
use crate::studies::report::number::{number, place};
use crate::studies::report::range::{Range, tick_number};

/// A picture's size, in units of which a letter is some 6 wide: so it fits a telephone.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 32.0;
const MARK: f64 = 2.6;
const HEADROOM: f64 = 1.06;

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// What it is.
    pub label: String,
    /// Number of its colour in style.css.
    pub lane: usize,
    /// Whether it is what a model says: dashed and without marks.
    pub is_model: bool,
    /// Where it goes, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A picture of some curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// What lies along it.
    pub x: String,
    /// How.
    pub scale: Scale,
    /// The curves.
    pub curves: Vec<Curve>,
}

impl Panel {
    fn points(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }

    /// Along and up; none without points.
    fn ranges(&self) -> Option<[Range; 2]> {
        let xs = || self.points().map(|(x, _)| *x);
        let (low, high) = (xs().reduce(f64::min)?, xs().reduce(f64::max)?);
        let most = self.points().map(|(_, y)| *y).fold(0.0, f64::max);
        let range = |scale, low, high| Range {
            scale,
            low,
            // Of a single point there is still an axis.
            high: if high > low { high } else { low + 1.0 },
        };
        Some([
            range(self.scale, low, high),
            range(Scale::Linear, 0.0, most * HEADROOM),
        ])
    }
}

/// Pictures side by side, as many as there is room for.
pub fn panels(panels: &[Panel]) -> Markup {
    html! { div.panels { @for panel in panels { (picture(panel)) } } }
}

fn picture(panel: &Panel) -> Markup {
    html! {
        figure.panel {
            figcaption { (panel.title) }
            @match panel.ranges() {
                None => { p.note { "Not measured." } }
                Some([x, y]) => {
                    svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(words(panel)) {
                        (axes(panel, &x, &y))
                        @for curve in &panel.curves { (drawn(curve, &x, &y)) }
                    }
                    p.legend { @for curve in &panel.curves { (key(curve)) } }
                }
            }
        }
    }
}

fn at_x(range: &Range, x: f64) -> f64 {
    LEFT + range.part(x) * (WIDTH - LEFT - RIGHT)
}

fn at_y(range: &Range, y: f64) -> f64 {
    HEIGHT - BOTTOM - range.part(y) * (HEIGHT - TOP - BOTTOM)
}

fn axes(panel: &Panel, x: &Range, y: &Range) -> Markup {
    let base = HEIGHT - BOTTOM;
    html! {
        @for tick in y.ticks() {
            @let at = at_y(y, tick);
            line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(place(at)) y2=(place(at)) {}
            text.never x=(LEFT - 5.0) y=(place(at + 3.8)) { (tick_number(tick)) }
        }
        @for tick in x.ticks() {
            @let at = place(at_x(x, tick));
            line.grid x1=(at) x2=(at) y1=(TOP) y2=(base) {}
            text.tick x=(at) y=(place(base + 13.0)) { (tick_number(tick)) }
        }
        text.tick x=(place((LEFT + WIDTH - RIGHT) / 2.0)) y=(place(HEIGHT - 5.0)) { (panel.x) }
    }
}

fn drawn(curve: &Curve, x: &Range, y: &Range) -> Markup {
    let places = curve.points.iter();
    let places: Vec<(f64, f64)> = places.map(|p| (at_x(x, p.0), at_y(y, p.1))).collect();
    let line: Vec<String> = places
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    html! {
        g.{ "lane-" (curve.lane) } {
            title { (curve.label) }
            polyline class=(class(curve)) points=(line.join(" ")) {}
            @if !curve.is_model {
                @for (x, y) in places { circle.mark cx=(place(x)) cy=(place(y)) r=(MARK) {} }
            }
        }
    }
}

fn class(curve: &Curve) -> &'static str {
    if curve.is_model {
        "curve model"
    } else {
        "curve"
    }
}

fn key(curve: &Curve) -> Markup {
    html! {
        span.key.{ "lane-" (curve.lane) } {
            svg viewBox="-6 -5 12 10" aria-hidden="true" {
                line class=(class(curve)) x1="-6" x2="6" y1="0" y2="0" {}
                @if !curve.is_model { circle.mark cx="0" cy="0" r=(MARK) {} }
            }
            (curve.label)
        }
    }
}

/// For those who do not see the picture.
fn words(panel: &Panel) -> String {
    let curve = |curve: &Curve| {
        let point = |(x, y): &(f64, f64)| format!("{} at {}", number(*y), tick_number(*x));
        let points: Vec<String> = curve.points.iter().map(point).collect();
        format!(" {}: {}.", curve.label, points.join(", "))
    };
    let measured = panel.curves.iter().filter(|curve| !curve.is_model);
    let curves: String = measured.map(curve).collect();
    format!("{} over {}.{curves}", panel.title, panel.x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(points: &[(f64, f64)], scale: Scale) -> Panel {
        let curve = |label: &str, is_model| Curve {
            label: label.to_owned(),
            lane: 1,
            is_model,
            points: points.to_vec(),
        };
        Panel {
            title: "ns".into(),
            x: "flows".into(),
            scale,
            curves: vec![curve("data <i>", false), curve("model", true)],
        }
    }

    #[test]
    fn a_curve_goes_from_end_to_end() {
        let text = picture(&panel(&[(1.0, 50.0), (100.0, 100.0)], Scale::Log)).into_string();
        assert!(text.contains("44.0,") && text.contains("346.0,"), "{text}");
        assert!(text.contains("data &lt;i&gt;: 50.0 at 1, 100 at 100."));
        // One mark a point, and one of the legend; none of the model.
        assert_eq!(text.matches("<circle").count(), 3);
        assert_eq!(text.matches("curve model").count(), 2);
    }

    #[test]
    fn nothing_and_a_single_point() {
        assert!(
            picture(&panel(&[], Scale::Linear))
                .into_string()
                .contains("Not measured")
        );
        let text = picture(&panel(&[(0.0, 0.0)], Scale::Linear)).into_string();
        assert!(!text.contains("NaN"), "{text}");
    }
}
