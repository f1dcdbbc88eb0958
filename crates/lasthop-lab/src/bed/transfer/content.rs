// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What flows carry: a pseudo-random stream of which every byte follows from (seed, flow,
//! position), so that the receiver compares each one without storing or being told anything.
//!
//! Compared with a hash over the whole stream this also says *where* the first wrong byte is, and
//! it works for a stream that is cut off anywhere.

const WORD_BYTES: u64 = 8;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Stream of one flow.
#[derive(Debug, Clone, Copy)]
pub struct Content {
    key: u64,
}

impl Content {
    /// The stream of flow number `flow` in a transfer with `seed`.
    pub fn new(seed: u64, flow: usize) -> Self {
        Self {
            key: mix(mix(seed).wrapping_add(flow as u64)),
        }
    }

    /// Fills `out` with the bytes from position `at` on.
    pub fn fill(self, at: u64, out: &mut [u8]) {
        let (mut word, skip) = (at / WORD_BYTES, (at % WORD_BYTES) as usize);
        let head = out
            .len()
            .min((WORD_BYTES as usize - skip) % WORD_BYTES as usize);
        let (head, rest) = out.split_at_mut(head);
        if !head.is_empty() {
            head.copy_from_slice(&self.word(word)[skip..skip + head.len()]);
            word += 1;
        }
        let mut words = rest.chunks_exact_mut(WORD_BYTES as usize);
        for chunk in &mut words {
            chunk.copy_from_slice(&self.word(word));
            word += 1;
        }
        let tail = words.into_remainder();
        let last = self.word(word);
        tail.copy_from_slice(&last[..tail.len()]);
    }

    /// Position of the first byte of `got`, which begins at position `at`, that is wrong.
    pub fn first_wrong(self, at: u64, got: &[u8]) -> Option<u64> {
        let mut expected = [0u8; 4096];
        let mut at = at;
        for part in got.chunks(expected.len()) {
            let expected = &mut expected[..part.len()];
            self.fill(at, expected);
            if part != expected {
                let offset = part.iter().zip(expected.iter()).position(|(a, b)| a != b);
                return Some(at + offset.unwrap_or(0) as u64);
            }
            at += part.len() as u64;
        }
        None
    }

    fn word(self, index: u64) -> [u8; 8] {
        mix(self.key.wrapping_add(index.wrapping_mul(GOLDEN))).to_le_bytes()
    }
}

/// The finaliser of SplitMix64.
fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_gives_the_same_stream() {
        let content = Content::new(1, 3);
        let mut whole = vec![0; 10_000];
        content.fill(0, &mut whole);
        for (at, len) in [
            (0, 1),
            (1, 6),
            (3, 5),
            (7, 1),
            (7, 2),
            (8, 8),
            (5, 4096),
            (13, 9000),
            (9, 0),
        ] {
            let mut part = vec![0; len];
            content.fill(at as u64, &mut part);
            assert_eq!(part, whole[at..at + len], "{at} {len}");
        }
    }

    #[test]
    fn a_wrong_byte_is_found_where_it_is() {
        let content = Content::new(1, 0);
        let mut got = vec![0; 20_000];
        content.fill(11, &mut got);
        assert_eq!(content.first_wrong(11, &got), None);
        got[7777] ^= 1;
        assert_eq!(content.first_wrong(11, &got), Some(11 + 7777));
    }

    #[test]
    fn flows_and_seeds_differ_and_shifts_do_not_pass() {
        let mut got = vec![0; 64];
        Content::new(1, 0).fill(0, &mut got);
        for other in [Content::new(1, 1), Content::new(2, 0)] {
            assert_eq!(other.first_wrong(0, &got), Some(0));
        }
        assert!(Content::new(1, 0).first_wrong(8, &got).is_some());
    }
}
