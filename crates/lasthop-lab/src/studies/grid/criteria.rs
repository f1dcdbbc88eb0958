// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the scheme must reach: the acceptance lines of issue `rack` (text in `source`), as data.
//! How each demand is tried stands in `judge.rs`.

use super::cells::BASE;

/// One line of the acceptance list.
#[derive(Debug, Clone, Copy)]
pub struct Criterion {
    /// Short name, for messages and JSON.
    pub name: &'static str,
    /// The text that it was taken from.
    pub source: &'static str,
    /// Cells that it is about.
    pub scope: Scope,
    /// What it asks of each of them.
    pub demand: Demand,
}

/// Cells. An empty list takes all; ranges include both ends.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// Names of variants.
    pub variants: &'static [&'static str],
    /// Rate of the lossy hop in Mbit/s.
    pub rates_mbit: &'static [f64],
    /// Unloaded round trip in ms.
    pub rtt_ms: (f64, f64),
    /// Frame loss in percent.
    pub loss_pct: (f64, f64),
    /// Congestion controls.
    pub ccs: &'static [&'static str],
    /// Left out: variant and congestion control, `*` for all of them.
    pub except: &'static [(&'static str, &'static str)],
}

/// What is asked of the figures of one cell over its seeds. "Ratio" is the mean over the seeds of
/// goodput with the scheme / goodput without an agent and the same seed; it misses a limit if its
/// 95 % interval lies below it, or, with a single seed, if it does itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Demand {
    /// The median of `efficiency` is at least this.
    Efficiency(f64),
    /// The medians of `rtt_p50_ms` and `rtt_p95_ms` are at most so far above the unloaded RTT.
    RttOverBase {
        /// Of the median.
        p50_ms: f64,
        /// Of the 95th percentile.
        p95_ms: f64,
    },
    /// The 95th percentile of the RTT is at most so many times that without an agent.
    RttRatio(f64),
    /// The ratio is at least this.
    Ratio(f64),
    /// The ratio is at least `ratio` at no more than `p95` of the 95th percentile of the RTT that
    /// there is without an agent; or it is at least 1 at no longer an RTT.
    RatioForDelay {
        /// Least ratio.
        ratio: f64,
        /// Most RTT, as a share.
        p95: f64,
    },
    /// Over all seeds together, local retransmissions are at most `factor` × (`link_lost` +
    /// `queue_dropped`) + `slack` per run. The slack is for repairs of frames that were lost
    /// before the measured time began, and for probes of the tail.
    LocalRetransmits {
        /// Most repairs per lost frame.
        factor: f64,
        /// Segments per run.
        slack: u64,
    },
    /// Over all seeds together, retransmissions of the sender but for tail loss probes are less
    /// than this share of its data segments.
    SenderRetransmits(f64),
    /// Every byte right, in every run.
    Content,
}

const ALL: Scope = Scope {
    variants: &[],
    rates_mbit: &[],
    rtt_ms: (0.0, f64::INFINITY),
    loss_pct: (0.0, 100.0),
    ccs: &[],
    except: &[],
};
const GRID: Scope = Scope {
    variants: &[BASE],
    ..ALL
};
const CENTRE_RATE: Scope = Scope {
    rates_mbit: &[20.0],
    rtt_ms: (20.0, 200.0),
    ..GRID
};
/// They have a line of their own, which allows BBR to trade goodput for delay.
const TRADES: &[(&str, &str)] = &[("wave", "bbr"), ("lte", "bbr")];

/// All criteria.
pub const CRITERIA: [Criterion; 14] = [
    Criterion {
        name: "efficiency",
        source: "efficiency at RTT 20..200: >= 0.97 at 0.1..5 %",
        scope: Scope {
            loss_pct: (0.1, 5.0),
            ..CENTRE_RATE
        },
        demand: Demand::Efficiency(0.97),
    },
    Criterion {
        name: "efficiency-10%",
        source: "efficiency at RTT 20..200: >= 0.95 at 10 %",
        scope: Scope {
            loss_pct: (10.0, 10.0),
            ..CENTRE_RATE
        },
        demand: Demand::Efficiency(0.95),
    },
    Criterion {
        name: "efficiency-20%",
        source: "efficiency at RTT 20..200: >= 0.93 at 20 %",
        scope: Scope {
            loss_pct: (20.0, 20.0),
            ..CENTRE_RATE
        },
        demand: Demand::Efficiency(0.93),
    },
    Criterion {
        name: "efficiency-400ms",
        source: "at 400 ms >= 0.95 up to 2 %",
        scope: Scope {
            rtt_ms: (400.0, 400.0),
            loss_pct: (0.0, 2.0),
            ..GRID
        },
        demand: Demand::Efficiency(0.95),
    },
    Criterion {
        name: "efficiency-rates",
        source: "at 5 and 100 Mbit/s (110 ms) >= 0.95 up to 5 %",
        scope: Scope {
            rates_mbit: &[5.0, 100.0],
            loss_pct: (0.0, 5.0),
            ..GRID
        },
        demand: Demand::Efficiency(0.95),
    },
    Criterion {
        name: "delay",
        source: "RTT for reno and cubic at 0.1..2 % loss: p50 <= base + 15 ms, p95 <= base + 25 ms",
        scope: Scope {
            loss_pct: (0.1, 2.0),
            ccs: &["reno", "cubic"],
            ..GRID
        },
        demand: Demand::RttOverBase {
            p50_ms: 15.0,
            p95_ms: 25.0,
        },
    },
    Criterion {
        name: "delay-0%",
        source: "RTT at 0 % loss: p95 <= none's, within the 3 % by which two runs of that differ",
        scope: Scope {
            loss_pct: (0.0, 0.0),
            ..GRID
        },
        demand: Demand::RttRatio(1.03),
    },
    Criterion {
        name: "no-harm-0%",
        source: "do no harm: >= 0.98 of none at 0 % loss in every cell and variant",
        scope: Scope {
            loss_pct: (0.0, 0.0),
            except: TRADES,
            ..ALL
        },
        demand: Demand::Ratio(0.98),
    },
    Criterion {
        name: "no-harm",
        source: "nowhere below 0.97 of none",
        scope: Scope {
            except: TRADES,
            ..ALL
        },
        demand: Demand::Ratio(0.97),
    },
    Criterion {
        name: "varying-rate",
        source: "wave and lte: >= none for reno and cubic",
        scope: Scope {
            variants: &["wave", "lte"],
            ccs: &["reno", "cubic"],
            ..ALL
        },
        demand: Demand::Ratio(1.0),
    },
    Criterion {
        name: "varying-rate-bbr",
        source: "wave and lte: for bbr >= 0.85 of none's goodput with <= 0.6 of its p95 RTT, or \
                 >= full goodput at no more RTT",
        scope: Scope {
            variants: &["wave", "lte"],
            ccs: &["bbr"],
            ..ALL
        },
        demand: Demand::RatioForDelay {
            ratio: 0.85,
            p95: 0.6,
        },
    },
    Criterion {
        name: "local-retransmits",
        source: "local retransmissions <= 1.1 x (link_lost in data direction + queue_dropped)",
        scope: ALL,
        demand: Demand::LocalRetransmits {
            factor: 1.1,
            slack: 3,
        },
    },
    Criterion {
        name: "sender-retransmits",
        source: "sender retransmits net of tail probes < 0.1 % of segments at 2 %",
        scope: Scope {
            loss_pct: (2.0, 2.0),
            // Its queue stands before the agent: what overflows there is the sender's to repair.
            except: &[("wired", "*")],
            ..ALL
        },
        demand: Demand::SenderRetransmits(0.001),
    },
    Criterion {
        name: "content",
        source: "end-to-end semantics are sacred: every byte right",
        scope: ALL,
        demand: Demand::Content,
    },
];

impl Scope {
    /// Whether a cell is meant.
    pub fn takes(
        &self,
        variant: &str,
        rate_mbit: f64,
        rtt_ms: f64,
        loss_pct: f64,
        cc: &str,
    ) -> bool {
        let within = |(low, high): (f64, f64), value: f64| (low..=high).contains(&value);
        let is_excepted =
            |(v, c): &(&str, &str)| (*v == "*" || *v == variant) && (*c == "*" || *c == cc);
        (self.variants.is_empty() || self.variants.contains(&variant))
            && (self.rates_mbit.is_empty() || self.rates_mbit.contains(&rate_mbit))
            && within(self.rtt_ms, rtt_ms)
            && within(self.loss_pct, loss_pct)
            && (self.ccs.is_empty() || self.ccs.contains(&cc))
            && !self.except.iter().any(is_excepted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::grid::cells;

    /// How many places of the grid each criterion is about.
    #[test]
    fn scopes() {
        let count = |criterion: &Criterion| {
            let takes = |p: &&cells::Place| {
                let (rate_mbit, rtt_ms) = (f64::from(p.rate_mbit), f64::from(p.rtt_ms));
                criterion
                    .scope
                    .takes(p.variant, rate_mbit, rtt_ms, p.loss_pct, p.cc)
            };
            cells::full().iter().filter(takes).count()
        };
        let counts: Vec<(&str, usize)> = CRITERIA.iter().map(|c| (c.name, count(c))).collect();
        assert_eq!(
            counts,
            [
                ("efficiency", 4 * 5 * 3),
                ("efficiency-10%", 4 * 3),
                ("efficiency-20%", 4 * 3),
                ("efficiency-400ms", 5 * 3),
                ("efficiency-rates", 2 * 6 * 3),
                ("delay", 7 * 4 * 2),
                ("delay-0%", 7 * 3),
                ("no-harm-0%", 7 * 3 + 10 * 3 - 2),
                ("no-harm", 228 - 4),
                ("varying-rate", 2 * 2 * 2),
                ("varying-rate-bbr", 2 * 2),
                ("local-retransmits", 228),
                ("sender-retransmits", 7 * 3 + 9 * 3),
                ("content", 228),
            ]
        );
    }
}
