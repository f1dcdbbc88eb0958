// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is measured while the world turns.

use super::{Event, HOP_DOWN, SAMPLE_NS, World};
use crate::case::SEC;
use crate::report::{Flowing, Report, percentile};
use crate::wire::FRAME;

impl World {
    // ---- figures

    pub(super) fn hop_counts(&self) -> (u64, u64, u64, u64) {
        let down = &self.lanes[HOP_DOWN..];
        (
            down.iter().map(|l| l.counts.queue_dropped).sum(),
            down.iter().map(|l| l.counts.aqm_dropped).sum(),
            down.iter().map(|l| l.counts.lost).sum(),
            self.repairs,
        )
    }

    pub(super) fn sample(&mut self) {
        let now = self.now_ns;
        let warm = now - SEC >= self.case.warmup_ns;
        if now - SEC >= self.case.warmup_ns && now - SEC < self.case.warmup_ns + SAMPLE_NS {
            self.warm = self.hop_counts();
            for c in &mut self.conns {
                c.at_warmup = c.receiver.next;
            }
        }
        for c in &mut self.conns {
            let t = now - SEC;
            let over = c.stopped || c.done_ns.is_some();
            if warm && c.spec.measured && !over && c.started_ns < now && t > c.spec.start_ns {
                c.rtts.push(c.sender.srtt_ns() as f64 / 1e6);
            }
        }
        if warm {
            let lane = &self.lanes[HOP_DOWN];
            let ms = lane.waiting() as f64 * 1514.0 * 8e3 / lane.rates[0].1;
            self.hop_queue_ms.push(ms);
        }
        if self.trace {
            self.print_trace();
        }
        self.push(now + SAMPLE_NS, Event::Sample);
    }

    pub(super) fn print_trace(&self) {
        if std::env::var_os("MIXES_ALL").is_some() {
            let t = (self.now_ns - SEC) as f64 / 1e9;
            for (i, c) in self.conns.iter().enumerate() {
                let Some(f) = self.agent.as_ref().and_then(|a| a.flow(i)) else {
                    continue;
                };
                let (k, q) = (&f.raw().control, &f.raw().queue);
                println!(
                    "{t:.1} {i} st {} c {} calm {} lim {} rec {:?} gap {:.1} b {} | {}",
                    k.state,
                    k.c_bytes,
                    k.calm,
                    k.limited,
                    q.recent_ns.map(|r| r / 1000),
                    q.gap_ns as f64 / 1e6,
                    k.round_bytes,
                    c.sender.describe()
                );
            }
            return;
        }
        let Some(c) = self.conns.first() else { return };
        let queue = self.lanes[HOP_DOWN].waiting();
        let state = self.agent.as_ref().and_then(|a| a.flow(0)).map(|f| {
            let f = f.raw();
            format!("{} {:?} {:?} {:?}", f.flags, f.control, f.queue, f.delivery)
        });
        println!(
            "{:.1} q {queue} {} | {}",
            (self.now_ns - SEC) as f64 / 1e9,
            c.sender.describe(),
            state.unwrap_or_default()
        );
    }

    pub(super) fn report(mut self) -> Report {
        let (queue_dropped, aqm_dropped, lost, repairs) = self.hop_counts();
        let seconds = (self.now_ns - SEC - self.case.warmup_ns.min(self.now_ns - SEC)) as f64 / 1e9;
        let flows: Vec<Flowing> = self.conns.iter().map(|c| Flowing::of(c, seconds)).collect();
        let mut rtts: Vec<f64> = Vec::new();
        for c in self.conns.iter_mut().filter(|c| c.spec.measured) {
            rtts.append(&mut c.rtts);
        }
        let queue = &mut self.hop_queue_ms;
        let most = self.conns.iter().map(|c| c.sender.counts.most_beyond).max();
        Report {
            in_flight_most: most.unwrap_or(0),
            bound_mbit: self.case.bound_mbit(),
            queue_dropped: queue_dropped - self.warm.0,
            aqm_dropped: aqm_dropped - self.warm.1,
            lost: lost - self.warm.2,
            repairs: repairs - self.warm.3,
            rtt_p50_ms: percentile(&mut rtts, 0.5),
            rtt_p95_ms: percentile(&mut rtts, 0.95),
            queue_p50_ms: percentile(queue, 0.5),
            queue_p95_ms: percentile(queue, 0.95),
            page_ms: self.browser.map(|b| b.loads_ms).unwrap_or_default(),
            datagrams_mbit: self.datagrams as f64 * f64::from(FRAME) * 8e-6 / seconds.max(1e-9),
            flows,
            counters: self.agent.map(|a| a.counters()).unwrap_or_default(),
        }
    }
}
