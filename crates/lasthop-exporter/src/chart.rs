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

/// Of what began a moment ago a line across the hour would be a dot.
const SHORTEST_S: f64 = 300.0;

/// The time that is drawn: until now, for so many seconds.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    now_s: f64,
    span_s: f64,
}

impl Time {
    /// From the oldest sample on, an hour at the most.
    pub(crate) fn since(oldest_s: Option<f64>, now_s: f64) -> Self {
        let span_s = now_s - oldest_s.unwrap_or(now_s);
        Self {
            now_s,
            span_s: span_s.clamp(SHORTEST_S, SPAN.as_secs_f64()),
        }
    }

    /// How far along it is, from 0 to 1.
    fn part(self, at_s: f64) -> f64 {
        (at_s - (self.now_s - self.span_s)) / self.span_s
    }

    fn begin(self) -> String {
        match (self.span_s / 60.0).round() as u32 {
            60.. => "an hour ago".into(),
            minutes => format!("{minutes} min ago"),
        }
    }
}

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

/// The largest of each of `ACROSS` parts of the time, oldest first.
fn thinned(dots: &[Dot], time: Time) -> Vec<Dot> {
    let mut thin: Vec<(usize, Dot)> = Vec::new();
    for (at, value) in dots.iter().copied().filter(|(at, _)| time.part(*at) >= 0.0) {
        let bucket = (time.part(at) * ACROSS as f64) as usize;
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
fn lines(dots: &[Dot], time: Time) -> Vec<String> {
    let top = most(dots).max(f64::MIN_POSITIVE);
    let point = |(at, value): &Dot| {
        let x = time.part(*at) * WIDTH;
        let y = HEIGHT - value / top * (HEIGHT - 2.0) - 1.0;
        format!("{x:.1},{y:.1}")
    };
    let dots = thinned(dots, time);
    let parts = dots.chunk_by(|(before, _), (after, _)| after - before < GAP_S);
    parts
        .map(|part| part.iter().map(point).collect::<Vec<_>>().join(" "))
        .collect()
}

/// A chart with its caption.
pub(crate) fn draw(
    caption: &str,
    dots: &[Dot],
    time: Time,
    show: impl Fn(f64) -> String,
) -> Markup {
    let (top, last) = (show(most(dots)), dots.last().map_or(0.0, |(_, v)| *v));
    let told = format!("{}, at most {top} in the last hour", show(last));
    html! {
        figure {
            figcaption { b { (caption) } " " (told) }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label={ (caption) ": " (told) } {
                @for points in lines(dots, time) {
                    polyline points=(points) {}
                }
            }
            div.axis { span { (time.begin()) } span { "now" } }
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
        let hour = Time::since(Some(0.0), 3600.0);
        let mut dots: Vec<Dot> = (0..720).map(|i| (f64::from(i) * 5.0, 1.0)).collect();
        dots[400].1 = 50.0;
        dots.drain(100..200);
        assert!(thinned(&dots, hour).len() <= ACROSS);
        let lines = lines(&dots, hour);
        assert_eq!(lines.len(), 2);
        let tops = |line: &str| line.split(' ').filter(|p| p.ends_with(",1.0")).count();
        assert_eq!((tops(&lines[0]), tops(&lines[1])), (0, 1));
        assert!(lines[0].starts_with("1.7,77.4 "), "{}", lines[0]);
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let time = Time::since(None, 3600.0);
        assert!(lines(&[], time).is_empty());
        assert_eq!(lines(&[(3600.0, 0.0)], time), ["600.0,79.0"]);
    }

    #[test]
    fn the_time_grows_to_an_hour() {
        let begin = |oldest| Time::since(oldest, 10_000.0).begin();
        assert_eq!(begin(None), "5 min ago");
        assert_eq!(begin(Some(9_990.0)), "5 min ago");
        assert_eq!(begin(Some(9_400.0)), "10 min ago");
        assert_eq!(begin(Some(6_399.0)), "an hour ago");
        assert_eq!(begin(Some(20_000.0)), "5 min ago", "the clock was set");
        let time = Time::since(Some(9_400.0), 10_000.0);
        assert_eq!(
            lines(&[(9_400.0, 1.0), (9_700.0, 2.0)], time),
            ["0.0,40.0", "300.0,1.0"]
        );
    }
}
