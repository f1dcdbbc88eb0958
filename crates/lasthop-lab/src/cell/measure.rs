// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The arithmetic of a measurement: bounds, shares and percentiles.

use crate::bed::transfer::{ReceivedSample, RttSample, SAMPLE_INTERVAL};
use crate::data::link::LinkOptions;
use crate::data::segment::FullSegment;
use crate::data::way::Way;

/// Over this time a flow's share is looked at, in samples.
const SHARE_WINDOW_SAMPLES: usize = (1000 / SAMPLE_INTERVAL.as_millis()) as usize;
/// Part of the fair share that counts as having it.
const SHARE_REACHED: f64 = 0.8;

/// Mean share of full data frames that the hop loses, over the window `[from_ns, to_ns)` since
/// the start of the transfer; without one, periodic outages count with their long-run share.
pub fn mean_loss(
    link: &LinkOptions,
    full: FullSegment,
    way: Way,
    window_ns: Option<(u64, u64)>,
) -> f64 {
    combined_loss(link, link.random_loss(way), full, way, window_ns)
}

/// The same for frames of which the hop loses the share `random` at random.
pub fn combined_loss(
    link: &LinkOptions,
    random: f64,
    full: FullSegment,
    way: Way,
    window_ns: Option<(u64, u64)>,
) -> f64 {
    let bits = 8.0 * full.frame_bytes as f64;
    let by_bit_errors = 1.0 - (1.0 - link.ber).powf(bits);
    let outage = link
        .outage
        .map_or(0.0, |outage| match (window_ns, outage.period_ns) {
            (Some((from_ns, to_ns)), _) => outage.share(from_ns, to_ns),
            (None, Some(period_ns)) => outage.length_ns as f64 / period_ns as f64,
            (None, None) => 0.0,
        });
    let in_bursts = link.burst(way).map_or(0.0, |burst| burst.loss);
    1.0 - (1.0 - random) * (1.0 - in_bursts) * (1.0 - by_bit_errors) * (1.0 - outage)
}

/// The most that any transport could deliver, in bit/s of payload: the smaller of the wired rate
/// and what the hop does not lose of its mean rate, times payload bytes per frame byte.
pub fn bound_bps(link: &LinkOptions, full: FullSegment, way: Way, mean_loss: f64) -> f64 {
    let hop = link.mean_rate_bps(way) as f64 * (1.0 - mean_loss);
    hop.min(link.wired_limit_bps()) * full.payload_share()
}

/// Part of the bound that was delivered; 0 on a hop that lets nothing through.
pub fn efficiency(goodput: f64, bound: f64) -> f64 {
    if bound > 0.0 { goodput / bound } else { 0.0 }
}

/// Jain's index of fairness: 1 when all are equal, 1/n when one has everything. None when nobody
/// has anything.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// When the last flow first got its share: from `opened_ns`, its start, until its goodput over
/// the last second is at least 0.8 of the fair part of what all flows got in that second.
/// None if that never happened.
pub fn late_flow_share_ns(samples: &[ReceivedSample], opened_ns: u64) -> Option<u64> {
    let windows = samples
        .iter()
        .zip(samples.iter().skip(SHARE_WINDOW_SAMPLES));
    let mut after_start = windows.filter(|(_, end)| end.at_ns > opened_ns);
    after_start.find_map(|(begin, end)| {
        let grown = || {
            end.bytes
                .iter()
                .zip(&begin.bytes)
                .map(|(end, begin)| end - begin)
        };
        let fair = grown().sum::<u64>() as f64 / end.bytes.len() as f64;
        let own = grown().next_back()? as f64;
        (own > 0.0 && own >= SHARE_REACHED * fair).then(|| end.at_ns - opened_ns)
    })
}

/// Share of the data segments that were sent again for another reason than a tail loss probe;
/// none if nothing was sent. A probe may also carry new data, which this cannot tell apart, so
/// the share is at least this.
pub fn retransmit_share(retransmits: u64, tail_probes: u64, segments: u64) -> Option<f64> {
    let net = retransmits.saturating_sub(tail_probes);
    (segments > 0).then(|| net as f64 / segments as f64)
}

/// Percentile of sorted values by the nearest rank; none without values.
pub fn percentile<T: Copy>(sorted: &[T], percent: f64) -> Option<T> {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// Mean and 95th percentile of times, in ms; none without any.
pub fn mean_and_p95_ms(mut times_ns: Vec<u64>) -> Option<(f64, f64)> {
    times_ns.sort_unstable();
    let p95_ns = percentile(&times_ns, 95.0)?;
    let mean_ns = times_ns.iter().sum::<u64>() as f64 / times_ns.len() as f64;
    Some((mean_ns / 1e6, p95_ns as f64 / 1e6))
}

/// Percentiles of the round-trip times from `from_ns` on, in milliseconds, by the nearest rank;
/// none without samples.
pub fn rtt_percentiles_ms<const N: usize>(
    samples: &[RttSample],
    from_ns: u64,
    percentiles: [f64; N],
) -> Option<[f64; N]> {
    let mut rtt_us: Vec<u32> = samples
        .iter()
        .filter(|sample| sample.at_ns >= from_ns)
        .map(|sample| sample.rtt_us)
        .collect();
    rtt_us.sort_unstable();
    if rtt_us.is_empty() {
        return None;
    }
    Some(percentiles.map(|percent| {
        percentile(&rtt_us, percent).map_or(0.0, |rtt_us| f64::from(rtt_us) / 1000.0)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::topology::Family;

    #[test]
    fn bound_of_the_design() {
        let link = LinkOptions::default();
        let full = link.full_segment(Family::V4, None);
        let loss = mean_loss(&link, full, Way::Down, None);
        let bound = bound_bps(&link, full, Way::Down, loss);
        assert!((bound / 1e6 - 18.7).abs() < 0.05, "{bound}"); // 20 × 0.98 × 1448 / 1514
        let wired = LinkOptions {
            wired_rate_bps: 10_000_000,
            loss: 0.0,
            profile: crate::data::profile::Profile::Vintage,
            ..link
        };
        let full = wired.full_segment(Family::V6, None);
        let loss = mean_loss(&wired, full, Way::Up, None);
        let bound = bound_bps(&wired, full, Way::Up, loss);
        assert!(
            (bound / 1e6 - 10.0 * 1440.0 / 1514.0).abs() < 1e-9,
            "{bound}"
        );
    }

    #[test]
    fn losses_combine() {
        let link = LinkOptions {
            loss: 0.5,
            loss_up: Some(0.0),
            ber: 1e-5,
            outage: Some("1s,1s,4s".parse().unwrap()),
            ..LinkOptions::default()
        };
        let by_bits = 1.0 - (1.0 - 1e-5f64).powi(8 * 1514);
        let full = link.full_segment(Family::V4, None);
        let up = mean_loss(&link, full, Way::Up, None);
        assert!((up - (1.0 - (1.0 - by_bits) * 0.75)).abs() < 1e-9, "{up}");
        let down = mean_loss(&link, full, Way::Down, Some((0, 1_000_000_000)));
        assert!(
            (down - (1.0 - 0.5 * (1.0 - by_bits))).abs() < 1e-9,
            "{down}"
        );
    }

    #[test]
    fn short_segments_are_hit_less_and_carry_less() {
        let link = LinkOptions {
            rate_bps: 2_000_000,
            loss: 0.0,
            ber: 1e-5,
            profile: crate::data::profile::Profile::Vintage,
            ..LinkOptions::default()
        };
        // Frames of 500 bytes, as in the paper of 1995: 3.9 % of them are hit.
        let full = link.full_segment(Family::V4, Some(446));
        for way in [Way::Down, Way::Up] {
            let loss = mean_loss(&link, full, way, None);
            assert!((loss - 0.0392).abs() < 1e-4, "{loss}");
            let bound = bound_bps(&link, full, way, loss);
            let expected = 2e6 * (1.0 - loss) * 446.0 / 500.0;
            assert!((bound - expected).abs() < 1e-6, "{bound}");
        }
    }

    #[test]
    fn a_hop_that_lets_nothing_through() {
        assert_eq!(efficiency(0.0, 0.0), 0.0);
        assert_eq!(efficiency(1.0, 4.0), 0.25);
    }

    #[test]
    fn fairness() {
        assert_eq!(jain(&[2.0, 2.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0]), None);
    }

    /// Samples of flows that receive so many bytes per interval, from the given sample on.
    fn received(flows: &[(usize, u64)], samples: usize) -> Vec<ReceivedSample> {
        let bytes_at = |sample: usize| {
            let bytes = |(start, rate): &(usize, u64)| rate * sample.saturating_sub(*start) as u64;
            flows.iter().map(bytes).collect()
        };
        (0..samples)
            .map(|sample| ReceivedSample {
                at_ns: sample as u64 * SAMPLE_INTERVAL.as_nanos() as u64,
                bytes: bytes_at(sample),
            })
            .collect()
    }

    #[test]
    fn the_late_flow_has_its_share_when_a_second_says_so() {
        let start_ns = 2_000_000_000;
        let equal = received(&[(0, 100), (20, 100)], 60);
        // A share x of one second against a whole one: x >= 0.8 (1 + x) / 2 from 0.67 s on.
        assert_eq!(late_flow_share_ns(&equal, start_ns), Some(700_000_000));
        let starved = received(&[(0, 100), (20, 60)], 60);
        assert_eq!(late_flow_share_ns(&starved, start_ns), None);
        assert_eq!(
            late_flow_share_ns(&received(&[(0, 0), (0, 0)], 60), 0),
            None
        );
        assert_eq!(late_flow_share_ns(&[], 0), None);
    }

    #[test]
    fn retransmissions_without_tail_probes() {
        assert_eq!(retransmit_share(12, 2, 1000), Some(0.01));
        assert_eq!(retransmit_share(1, 2, 1000), Some(0.0));
        assert_eq!(retransmit_share(0, 0, 0), None);
    }

    #[test]
    fn percentiles_by_nearest_rank() {
        let sample = |at_ns, rtt_us| RttSample {
            at_ns,
            connection: 0,
            rtt_us,
        };
        let samples: Vec<_> = (1..=100).map(|i| sample(i, i as u32 * 1000)).collect();
        let all = rtt_percentiles_ms(&samples, 0, [50.0, 95.0, 99.0]).unwrap();
        assert_eq!(all, [50.0, 95.0, 99.0]);
        assert_eq!(rtt_percentiles_ms(&samples, 100, [50.0]), Some([100.0]));
        assert_eq!(rtt_percentiles_ms(&samples, 101, [50.0]), None);
    }
}
