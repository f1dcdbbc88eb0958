// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A policer in front of the queue: frames beyond a rate are dropped at once, and none waits for it.
//!
//! The generic cell rate algorithm (ITU-T I.371), which is a bucket of tokens that is never counted: a frame conforms if
//! its theoretical arrival is no further ahead than the bucket is deep.

use crate::config::DirectionConfig;
use crate::frame::FrameMeta;

const NS_PER_S: u128 = 1_000_000_000;

/// Bucket of one link, full at first.
pub(crate) struct Policer {
    /// 0: none.
    rate_bps: u64,
    burst_bytes: u64,
    /// When the bucket is full again.
    full_ns: u64,
}

impl Policer {
    pub fn new(config: &DirectionConfig) -> Self {
        Self {
            rate_bps: config.police_bps,
            burst_bytes: config.police_burst_bytes,
            full_ns: 0,
        }
    }

    pub fn configure(&mut self, config: &DirectionConfig) {
        self.rate_bps = config.police_bps;
        self.burst_bytes = config.police_burst_bytes;
    }

    /// Whether a frame that arrives then may pass, which takes its bytes from the bucket.
    pub fn lets_pass(&mut self, meta: &FrameMeta, now_ns: u64) -> bool {
        if self.rate_bps == 0 || !meta.lossy {
            return true;
        }
        let full_ns = self.full_ns.max(now_ns) + self.time_ns(u64::from(meta.bytes));
        if full_ns - now_ns > self.time_ns(self.burst_bytes) {
            return false;
        }
        self.full_ns = full_ns;
        true
    }

    fn time_ns(&self, bytes: u64) -> u64 {
        let ns = u128::from(bytes) * 8 * NS_PER_S / u128::from(self.rate_bps);
        u64::try_from(ns).unwrap_or(u64::MAX / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn policer(police_bps: u64, police_burst_bytes: u64) -> Policer {
        Policer::new(&DirectionConfig {
            police_bps,
            police_burst_bytes,
            ..DirectionConfig::default()
        })
    }

    fn frame(bytes: u32) -> FrameMeta {
        FrameMeta {
            bytes,
            lossy: true,
            tcp_data: false,
            flow: None,
        }
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // A millisecond per frame, and room for ten.
        let mut policer = policer(8_000_000, 10_000);
        let passed = (0..100).filter(|_| policer.lets_pass(&frame(1000), 0));
        assert_eq!(passed.count(), 10);
        let passed = (1..=400).filter(|n| policer.lets_pass(&frame(1000), n * MS / 4));
        assert_eq!(passed.count(), 100);
        // After a pause there is room for ten again, and no more.
        let passed = (0..100).filter(|_| policer.lets_pass(&frame(1000), 1000 * MS));
        assert_eq!(passed.count(), 10);
    }

    #[test]
    fn what_is_spared_takes_nothing() {
        let mut policer = policer(8_000_000, 2000);
        let spared = FrameMeta {
            lossy: false,
            ..frame(1000)
        };
        assert!((0..100).all(|_| policer.lets_pass(&spared, 0)));
        let passed = (0..100).filter(|_| policer.lets_pass(&frame(1000), 0));
        assert_eq!(passed.count(), 2);
    }

    #[test]
    fn without_a_rate_all_passes() {
        let mut policer = policer(0, 0);
        assert!((0..100).all(|_| policer.lets_pass(&frame(9000), 0)));
    }
}
