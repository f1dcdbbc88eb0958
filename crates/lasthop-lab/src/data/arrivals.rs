// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! When short transfers arrive, and how long they are.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use linkemu::{Direction, Random};
use statrs::distribution::{ContinuousCDF, LogNormal, Pareto};

use crate::base::units;

/// Sizes of `web`, in bytes: those of files in SURGE (P. Barford, M. Crovella: Generating
/// Representative Web Workloads for Network and Server Performance Evaluation, SIGMETRICS 1998,
/// table 1), a log-normal body of 93 % up to 133 kB and a Pareto tail above it. Both are cut off,
/// the body below and the tail above, so that no single draw decides about a run.
const BODY_SHARE: f64 = 0.93;
const BODY_LOCATION: f64 = 9.357;
const BODY_SCALE: f64 = 1.318;
const TAIL_SHAPE: f64 = 1.1;
const BORDER_BYTES: f64 = 133_000.0;
const LEAST_BYTES: f64 = 1_000.0;
const MOST_BYTES: f64 = 10_000_000.0;
/// Each takes a port and two sockets.
const MAX_ARRIVALS_PER_S: f64 = 1000.0;

/// How often something arrives, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Per second.
    pub per_s: f64,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write N/s, such as 4/s or 0.5/s, at most 1000/s";
        let number = text.strip_suffix("/s").map(str::trim).map(str::parse);
        match number {
            Some(Ok(per_s)) if per_s > 0.0 && per_s <= MAX_ARRIVALS_PER_S => Ok(Self { per_s }),
            _ => Err(format!("`{text}` is no rate of arrivals: {help}")),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.per_s)
    }
}

/// How long short transfers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sizes {
    /// As files of the web.
    #[default]
    Web,
    /// All the same.
    Equal(u64),
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "web" => Ok(Self::Web),
            _ => units::size_bytes(text)
                .map(Self::Equal)
                .map_err(|what| format!("{what}; or write web")),
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Web => f.write_str("web"),
            Self::Equal(bytes) => write!(f, "{bytes}B"),
        }
    }
}

/// Short transfers, in the order of their beginnings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// When each begins.
    pub starts: Vec<Duration>,
    /// What each carries.
    pub sizes_bytes: Vec<u64>,
}

impl Arrivals {
    /// A Poisson process of `rate` until `end`. The same seed gives the same arrivals, of which a
    /// longer time only has more.
    pub fn draw(rate: Rate, sizes: Sizes, end: Duration, seed: u64) -> Self {
        let mut gaps = Random::new(seed, Direction::AToB, "gaps of arrivals");
        let mut lengths = Random::new(seed, Direction::AToB, "sizes of arrivals");
        let web = Web::new();
        let (mut arrivals, mut at_s) = (Self::default(), 0.0);
        loop {
            at_s -= (1.0 - gaps.unit()).ln() / rate.per_s;
            if at_s >= end.as_secs_f64() {
                return arrivals;
            }
            arrivals.starts.push(Duration::from_secs_f64(at_s));
            let (part, place) = (lengths.unit(), lengths.unit());
            arrivals.sizes_bytes.push(match sizes {
                Sizes::Equal(bytes) => bytes,
                Sizes::Web => web.size_bytes(part, place),
            });
        }
    }
}

/// The two parts of `web`; none where the library refuses its constants, which the tests would
/// show.
struct Web {
    body: Option<LogNormal>,
    tail: Option<Pareto>,
}

impl Web {
    fn new() -> Self {
        Self {
            body: LogNormal::new(BODY_LOCATION, BODY_SCALE).ok(),
            tail: Pareto::new(BORDER_BYTES, TAIL_SHAPE).ok(),
        }
    }

    /// From two numbers in [0, 1): which part, and where in it.
    fn size_bytes(&self, part: f64, place: f64) -> u64 {
        let bytes = if part < BODY_SHARE {
            between(self.body.as_ref(), LEAST_BYTES, BORDER_BYTES, place)
        } else {
            between(self.tail.as_ref(), BORDER_BYTES, MOST_BYTES, place)
        };
        bytes.clamp(LEAST_BYTES, MOST_BYTES).round() as u64
    }
}

/// The value at `place` in [0, 1) of a distribution of which only [least, most] is left.
fn between(
    distribution: Option<&impl ContinuousCDF<f64, f64>>,
    least: f64,
    most: f64,
    place: f64,
) -> f64 {
    let Some(distribution) = distribution else {
        return least;
    };
    let (low, high) = (distribution.cdf(least), distribution.cdf(most));
    distribution.inverse_cdf(low + place * (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(seed: u64, seconds: u64) -> Arrivals {
        let rate = "4/s".parse().unwrap();
        Arrivals::draw(rate, Sizes::Web, Duration::from_secs(seconds), seed)
    }

    #[test]
    fn arrivals_are_those_of_a_poisson_process() {
        let arrivals = draw(1, 2500);
        let count = arrivals.starts.len() as f64;
        assert!((count / 10_000.0 - 1.0).abs() < 0.05, "{count}");
        // The gaps' mean is their standard deviation.
        let gaps: Vec<f64> = arrivals
            .starts
            .windows(2)
            .map(|w| (w[1] - w[0]).as_secs_f64())
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
    }

    #[test]
    fn the_seed_decides_and_a_longer_time_has_more() {
        let (short, long) = (draw(1, 20), draw(1, 40));
        let count = short.starts.len();
        assert_eq!(short.starts, long.starts[..count]);
        assert_eq!(short.sizes_bytes, long.sizes_bytes[..count]);
        assert_ne!(short, draw(2, 20));
    }

    #[test]
    fn sizes_of_the_web() {
        let mut sizes = draw(3, 5000).sizes_bytes;
        sizes.sort_unstable();
        let share = |bytes: u64| {
            sizes.iter().filter(|size| **size <= bytes).count() as f64 / sizes.len() as f64
        };
        assert!(sizes[0] >= 1000 && sizes[sizes.len() - 1] <= 10_000_000);
        assert!((share(133_000) - 0.93).abs() < 0.01, "{}", share(133_000));
        // The median of the body, cut off at both ends, times its share.
        assert!((share(11_000) - 0.455).abs() < 0.03, "{}", share(11_000));
        assert!(
            (share(1_000_000) - 0.993).abs() < 0.004,
            "{}",
            share(1_000_000)
        );
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        assert!((45e3..75e3).contains(&mean), "{mean}");
    }

    #[test]
    fn what_may_be_written() {
        assert_eq!("0.5/s".parse(), Ok(Rate { per_s: 0.5 }));
        for text in ["4", "0/s", "-1/s", "2000/s", "x/s", "nan/s"] {
            assert!(text.parse::<Rate>().unwrap_err().contains("4/s"), "{text}");
        }
        assert_eq!("web".parse(), Ok(Sizes::Web));
        assert_eq!("30kB".parse(), Ok(Sizes::Equal(30_000)));
        assert!("mail".parse::<Sizes>().unwrap_err().contains("web"));
    }
}
