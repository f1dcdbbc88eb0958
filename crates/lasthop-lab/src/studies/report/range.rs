// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What an axis spans, and the numbers on it.

use crate::studies::experiment::spec::Scale;

/// As many numbers on an axis as have room.
const TICKS: f64 = 6.0;

/// From one value to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Whether steps or factors are of equal length.
    pub scale: Scale,
    /// The least value; more than 0 on a logarithmic scale.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Range {
    /// How far along a value lies, from 0 to 1; what is beyond an end lies there.
    pub fn part(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        part.clamp(0.0, 1.0)
    }

    /// Round numbers within it.
    pub fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = round_step((self.high - self.low) / TICKS);
                let [first, last] = [(self.low / step).ceil(), (self.high / step).floor()];
                (first as u64..=last as u64)
                    .map(|i| i as f64 * step)
                    .collect()
            }
            Scale::Log => {
                let first = self.low.log10().floor() as i32;
                let last = self.high.log10().ceil() as i32;
                let factors: &[f64] = match self.high < 150.0 * self.low {
                    true => &[1.0, 2.0, 5.0],
                    false => &[1.0],
                };
                let decades = (first..=last).map(|power| 10f64.powi(power));
                decades
                    .flat_map(|decade| factors.iter().map(move |factor| factor * decade))
                    .filter(|tick| (self.low..=self.high).contains(tick))
                    .collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, not less than this.
fn round_step(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0].into_iter();
    let steps = factors.map(|factor| factor * decade);
    steps
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(10.0 * decade)
}

/// Without the digits that arithmetic leaves behind.
pub fn tick_number(tick: f64) -> String {
    let rounded = format!("{tick:.6}");
    match rounded.contains('.') {
        true => rounded
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => rounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let shown = |scale, low, high| -> Vec<String> {
            let ticks = Range { scale, low, high }.ticks();
            ticks.into_iter().map(tick_number).collect()
        };
        assert_eq!(
            shown(Scale::Linear, 0.0, 1.05),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(shown(Scale::Linear, 90.0, 231.0), ["100", "150", "200"]);
        assert_eq!(
            shown(Scale::Linear, 0.0, 240.0),
            ["0", "50", "100", "150", "200"]
        );
        assert_eq!(
            shown(Scale::Log, 90.0, 6000.0),
            ["100", "200", "500", "1000", "2000", "5000"]
        );
        assert_eq!(shown(Scale::Log, 9.0, 6000.0), ["10", "100", "1000"]);
    }
}
