// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What came of a case.

use crate::world::Conn;

#[derive(Debug, Clone)]
pub struct Flowing {
    pub mbit: f64,
    pub completion_ms: Option<f64>,
    pub resent: u64,
    pub timeouts: u64,
    pub measured: bool,
    pub station: usize,
    /// How long each piece took that the application wrote.
    pub chunk_ms: Vec<f64>,
    /// Segments that MH got twice.
    pub twice: u64,
    pub rtt_p95_ms: f64,
    pub rtt_p50_ms: f64,
}

impl Flowing {
    pub fn of(c: &Conn, seconds: f64) -> Self {
        let k = c.sender.counts;
        Self {
            mbit: (c.receiver.next - c.at_warmup) as f64 * 8e-6 / seconds.max(1e-9),
            completion_ms: c.done_ns.map(|d| (d - c.started_ns) as f64 / 1e6),
            resent: k.resent,
            timeouts: k.timeouts,
            measured: c.spec.measured,
            station: c.spec.station,
            chunk_ms: c.chunks.took_ms.clone(),
            twice: c.receiver.nr_twice,
            rtt_p95_ms: percentile(&mut c.rtts.clone(), 0.95),
            rtt_p50_ms: percentile(&mut c.rtts.clone(), 0.5),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Report {
    pub bound_mbit: f64,
    pub queue_dropped: u64,
    pub aqm_dropped: u64,
    pub lost: u64,
    pub repairs: u64,
    pub rtt_p50_ms: f64,
    pub rtt_p95_ms: f64,
    pub queue_p50_ms: f64,
    pub queue_p95_ms: f64,
    pub page_ms: Vec<f64>,
    /// That MH got, Mbit/s of frames.
    pub datagrams_mbit: f64,
    /// The most bytes that a sender had beyond the last ACK.
    pub in_flight_most: u64,
    pub flows: Vec<Flowing>,
    /// The agent's counters by name, those that are not 0.
    pub counters: Vec<(&'static str, u64)>,
}

impl Report {
    pub fn mbit(&self) -> f64 {
        self.flows
            .iter()
            .filter(|f| f.measured)
            .map(|f| f.mbit)
            .sum()
    }

    pub fn efficiency(&self) -> f64 {
        self.mbit() / self.bound_mbit
    }

    pub fn jain(&self) -> f64 {
        let v: Vec<f64> = self
            .flows
            .iter()
            .filter(|f| f.measured)
            .map(|f| f.mbit)
            .collect();
        let (sum, squares) = v.iter().fold((0.0, 0.0), |a, x| (a.0 + x, a.1 + x * x));
        sum * sum / (v.len() as f64 * squares).max(1e-12)
    }

    pub fn timeouts(&self) -> u64 {
        self.flows.iter().map(|f| f.timeouts).sum()
    }

    pub fn resent(&self) -> u64 {
        self.flows
            .iter()
            .filter(|f| f.measured)
            .map(|f| f.resent)
            .sum()
    }

    pub fn twice(&self) -> u64 {
        self.flows.iter().map(|f| f.twice).sum()
    }

    /// The mean and the 95th percentile of how long pieces took; 0 without any.
    pub fn chunks_ms(&self) -> (f64, f64) {
        let all = self.flows.iter().flat_map(|f| f.chunk_ms.iter().copied());
        let mut all: Vec<f64> = all.collect();
        let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
        (mean, percentile(&mut all, 0.95))
    }

    pub fn page_median_ms(&self) -> f64 {
        percentile(&mut self.page_ms.clone(), 0.5)
    }

    pub fn completions(&self, p: f64) -> f64 {
        let mut v: Vec<f64> = self.flows.iter().filter_map(|f| f.completion_ms).collect();
        percentile(&mut v, p)
    }

    pub fn line(&self) -> String {
        format!(
            "{:6.2} Mbit/s {:.3} jain {:.3} rtt {:5.0}/{:5.0} q {:5.1}/{:5.1} drop {:5} aqm {:4} \
             lost {:5} repairs {:5} rtx {:5} rto {:3}",
            self.mbit(),
            self.efficiency(),
            self.jain(),
            self.rtt_p50_ms,
            self.rtt_p95_ms,
            self.queue_p50_ms,
            self.queue_p95_ms,
            self.queue_dropped,
            self.aqm_dropped,
            self.lost,
            self.repairs,
            self.resent(),
            self.timeouts()
        )
    }
}

/// 0 of nothing.
pub fn percentile(v: &mut [f64], p: f64) -> f64 {
    if v.is_empty() {
        return 0.0;
    }
    v.sort_by(f64::total_cmp);
    v[((v.len() - 1) as f64 * p).round() as usize]
}
