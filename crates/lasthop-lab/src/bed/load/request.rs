// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What one end of a connection asks of the other: 32 bytes, little-endian, that say which connection
//! it is and how much goes each way. The content follows from seed, connection and direction, so that
//! either end compares each byte without having been told any.

use crate::bed::transfer::content::Content;

/// Bytes of a request before the content that goes with it.
pub(super) const HEADER_BYTES: usize = 32;
/// Whoever answers closes first.
const ANSWERER_CLOSES: u32 = 1;

/// One exchange: so many bytes there, then so many back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// Number of the connection, which no other one of the load has.
    pub id: u64,
    /// Number of the exchange on it, from 0.
    pub exchange: u32,
    /// Content from the opener.
    pub there_bytes: u32,
    /// Content back.
    pub back_bytes: u32,
    /// Whoever answers closes as soon as all is sent; else whoever asks does.
    pub answerer_closes: bool,
}

impl Request {
    pub(super) fn encode(&self, seed: u64) -> [u8; HEADER_BYTES] {
        let flags = if self.answerer_closes {
            ANSWERER_CLOSES
        } else {
            0
        };
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.id.to_le_bytes());
        for (index, word) in [self.exchange, flags, self.there_bytes, self.back_bytes]
            .into_iter()
            .enumerate()
        {
            let at = 8 + 4 * index;
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let check = check(seed, &bytes);
        bytes[24..].copy_from_slice(&check);
        bytes
    }

    /// None: these are not the bytes that were sent.
    pub(super) fn decode(seed: u64, bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        if bytes[24..] != check(seed, bytes) {
            return None;
        }
        Some(Self {
            id: u64::from(word(0)) | u64::from(word(4)) << 32,
            exchange: word(8),
            answerer_closes: word(12) & ANSWERER_CLOSES != 0,
            there_bytes: word(16),
            back_bytes: word(20),
        })
    }

    /// What the opener sends.
    pub(super) fn there(&self, seed: u64) -> Content {
        self.content(seed, 0)
    }

    /// What comes back.
    pub(super) fn back(&self, seed: u64) -> Content {
        self.content(seed, 1)
    }

    /// Another stream for each exchange: bytes of an earlier one would not pass.
    fn content(&self, seed: u64, way: usize) -> Content {
        let exchange = u64::from(self.exchange).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Content::new(seed ^ exchange, 2 * self.id as usize + way)
    }
}

/// Of the first 24 bytes: what the content's own generator makes of them.
fn check(seed: u64, bytes: &[u8; HEADER_BYTES]) -> [u8; 8] {
    let mut sum = seed;
    for word in bytes[..24].chunks_exact(8) {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        let mut mixed = [0; 8];
        Content::new(sum, word as usize).fill(0, &mut mixed);
        sum = u64::from_le_bytes(mixed);
    }
    sum.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Request = Request {
        id: 0x1_0000_0007,
        exchange: 3,
        there_bytes: 100,
        back_bytes: 70_000,
        answerer_closes: true,
    };

    #[test]
    fn what_is_sent_is_understood() {
        assert_eq!(Request::decode(9, &REQUEST.encode(9)), Some(REQUEST));
        let other = Request {
            answerer_closes: false,
            ..REQUEST
        };
        assert_eq!(Request::decode(9, &other.encode(9)), Some(other));
    }

    #[test]
    fn any_other_bit_or_seed_is_noticed() {
        let sent = REQUEST.encode(9);
        assert_eq!(Request::decode(10, &sent), None);
        for bit in 0..8 * HEADER_BYTES {
            let mut got = sent;
            got[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Request::decode(9, &got), None, "bit {bit}");
        }
    }

    #[test]
    fn ways_exchanges_and_connections_differ() {
        let first = |content: Content| {
            let mut bytes = [0; 16];
            content.fill(0, &mut bytes);
            bytes
        };
        let next = Request {
            exchange: 4,
            ..REQUEST
        };
        let other = Request { id: 8, ..REQUEST };
        let all = [
            first(REQUEST.there(1)),
            first(REQUEST.back(1)),
            first(next.there(1)),
            first(other.there(1)),
            first(REQUEST.there(2)),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{index}");
        }
    }
}
