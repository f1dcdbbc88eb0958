// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Lines of the last hour, drawn here: the page needs no library for it.

use maud::{Markup, html};

use crate::history::SPAN;

/// Points across: the longest of each bucket counts, so that no peak is lost.
const ACROSS: usize = 240;
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 80.0;
/// The exporter asks once a minute at the least: no sample for so long, and the line is broken.
const GAP_S: f64 = 150.0;

/// A value at a time, in seconds since 1970.
pub(crate) type Dot = (f64, f64);

/// What is added per second between two dots; after a restart nothing is known.
pub(crate) fn per_second(dots: &[(f64, u64)]) -> Vec<Dot> {
    let pairs = dots.windows(2).filter_map(|pair| {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        let added = after.checked_sub(before)?;
        (to > from).then(|| (to, added as f64 / (to - from)))
    });
    pairs.collect()
}

/// The largest value, 0 if there is none.
pub(crate) fn most(dots: &[Dot]) -> f64 {
    dots.iter().map(|(_, value)| *value).fold(0.0, f64::max)
}

/// The largest of each of `ACROSS` parts of the hour, oldest first.
fn thinned(dots: &[Dot], now_s: f64) -> Vec<Dot> {
    let begin = now_s - SPAN.as_secs_f64();
    let mut thin: Vec<(usize, Dot)> = Vec::new();
    for (at, value) in dots.iter().copied().filter(|(at, _)| *at >= begin) {
        let bucket = ((at - begin) / SPAN.as_secs_f64() * ACROSS as f64) as usize;
        match thin.last_mut() {
            Some((last, dot)) if *last == bucket => {
                *dot = (at, dot.1.max(value));
            }
            _ => thin.push((bucket, (at, value))),
        }
    }
    thin.into_iter().map(|(_, dot)| dot).collect()
}

/// The parts of the line, as `points` of polylines.
fn lines(dots: &[Dot], now_s: f64) -> Vec<String> {
    let top = most(dots).max(f64::MIN_POSITIVE);
    let begin = now_s - SPAN.as_secs_f64();
    let point = |(at, value): &Dot| {
        let x = (at - begin) / SPAN.as_secs_f64() * WIDTH;
        let y = HEIGHT - value / top * (HEIGHT - 2.0) - 1.0;
        format!("{x:.1},{y:.1}")
    };
    let dots = thinned(dots, now_s);
    let parts = dots.chunk_by(|(before, _), (after, _)| after - before < GAP_S);
    parts
        .map(|part| part.iter().map(point).collect::<Vec<_>>().join(" "))
        .collect()
}

/// A chart with its caption.
pub(crate) fn draw(
    caption: &str,
    dots: &[Dot],
    now_s: f64,
    show: impl Fn(f64) -> String,
) -> Markup {
    let (top, last) = (show(most(dots)), dots.last().map_or(0.0, |(_, v)| *v));
    let told = format!("{}, at most {top} in the last hour", show(last));
    html! {
        figure {
            figcaption { b { (caption) } " " (told) }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label={ (caption) ": " (told) } {
                @for points in lines(dots, now_s) {
                    polyline points=(points) {}
                }
            }
            div.axis { span { "an hour ago" } span { "now" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_counters_that_start_anew() {
        let dots = [
            (0.0, 10),
            (5.0, 20),
            (10.0, 5),
            (15.0, 5),
            (15.0, 9),
            (20.0, 10),
        ];
        let expected = [(5.0, 2.0), (15.0, 0.0), (20.0, 0.2)];
        assert_eq!(per_second(&dots), expected);
    }

    #[test]
    fn a_peak_stays_and_a_gap_shows() {
        let mut dots: Vec<Dot> = (0..720).map(|i| (f64::from(i) * 5.0, 1.0)).collect();
        dots[400].1 = 50.0;
        dots.drain(100..200);
        assert!(thinned(&dots, 3600.0).len() <= ACROSS);
        let lines = lines(&dots, 3600.0);
        assert_eq!(lines.len(), 2);
        let tops = |line: &str| line.split(' ').filter(|p| p.ends_with(",1.0")).count();
        assert_eq!((tops(&lines[0]), tops(&lines[1])), (0, 1));
        assert!(lines[0].starts_with("1.7,77.4 "), "{}", lines[0]);
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(lines(&[], 3600.0).is_empty());
        assert_eq!(lines(&[(3600.0, 0.0)], 3600.0), ["600.0,79.0"]);
    }
}
