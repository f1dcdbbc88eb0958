// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Seeded generators: one per (seed, direction, effect), so that switching an effect on does not
//! shift the numbers that another one sees.

use rand::RngCore;
use rand_pcg::Pcg64;

use crate::config::Direction;

/// Generator of one effect in one direction. Its numbers are the same on every machine and with
/// every version of this crate.
#[derive(Debug, Clone)]
pub struct Random(Pcg64);

impl Random {
    /// The generator of `effect` (its name, so that the order of effects does not matter).
    pub fn new(seed: u64, direction: Direction, effect: &str) -> Self {
        let stream = fnv1a(effect.as_bytes()) ^ (direction.index() as u64);
        // PCG streams that differ only in their increment are correlated for a while; mixing
        // the stream into the state as well separates them from the first number on.
        let high = splitmix64(seed ^ splitmix64(stream));
        let low = splitmix64(high ^ seed);
        let state = (u128::from(high) << 64) | u128::from(low);
        Self(Pcg64::new(state, u128::from(stream)))
    }

    /// Uniform in [0, 1), in steps of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        // Converted here, not by `rand`, whose distributions may change between versions.
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// True with `probability`; always takes exactly one number.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// A hash that is the same on every machine.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Mixes all bits of a number into all.
pub(crate) fn splitmix64(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(seed: u64, direction: Direction, effect: &str) -> Vec<f64> {
        let mut random = Random::new(seed, direction, effect);
        (0..10_000).map(|_| random.unit()).collect()
    }

    #[test]
    fn same_key_same_numbers() {
        assert_eq!(
            draws(7, Direction::AToB, "loss"),
            draws(7, Direction::AToB, "loss")
        );
    }

    /// |correlation| of n independent pairs exceeds 5/√n about once in two million tries; the
    /// seeds are fixed, so this is a statement about these streams, not a gamble.
    #[test]
    fn streams_are_uncorrelated() {
        let base = draws(7, Direction::AToB, "loss");
        for other in [
            draws(8, Direction::AToB, "loss"),
            draws(7, Direction::BToA, "loss"),
            draws(7, Direction::AToB, "ber"),
        ] {
            let n = base.len() as f64;
            let sum: f64 = base
                .iter()
                .zip(&other)
                .map(|(x, y)| (x - 0.5) * (y - 0.5))
                .sum();
            let correlation = sum / n * 12.0;
            assert!(correlation.abs() < 5.0 / n.sqrt(), "{correlation}");
        }
    }

    /// Published results name their seed: these numbers must never change.
    #[test]
    fn numbers_are_pinned() {
        let mut random = Random::new(1, Direction::AToB, "loss");
        let first: Vec<u64> = (0..3).map(|_| (random.unit() * 1e9) as u64).collect();
        assert_eq!(first, [806_874_303, 728_460_144, 790_212_979]);
    }
}
