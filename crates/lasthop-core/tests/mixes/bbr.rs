// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! BBR, version 1, as in Linux' tcp_bbr.c: but for its policer detection.

use crate::congestion::RateSample;
use crate::wire::{MSS, Random};

const SEC: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const HIGH_GAIN: f64 = 2885.0 / 1000.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

#[derive(Debug)]
pub struct Bbr {
    mode: Mode,
    /// Segments per nanosecond, newest first: (round, rate).
    bw: Vec<(u64, f64)>,
    round: u64,
    next_round_delivered: u64,
    min_rtt_ns: u64,
    min_rtt_at_ns: u64,
    probe_done_ns: u64,
    full_bw: f64,
    full_count: u32,
    cycle: usize,
    cycle_ns: u64,
    prior_cwnd: u32,
    conserve: bool,
    was_recovery: bool,
    idle_restart: bool,
    extra: [u32; 2],
    extra_rounds: u32,
    extra_epoch_ns: u64,
    extra_acked: u32,
    pace: f64,
    probe_round_done: bool,
    random: Random,
}

impl Default for Bbr {
    fn default() -> Self {
        Self {
            mode: Mode::Startup,
            bw: Vec::new(),
            round: 0,
            next_round_delivered: 0,
            min_rtt_ns: 0,
            min_rtt_at_ns: 0,
            probe_done_ns: 0,
            full_bw: 0.0,
            full_count: 0,
            cycle: 0,
            cycle_ns: 0,
            prior_cwnd: 0,
            conserve: false,
            was_recovery: false,
            idle_restart: false,
            extra: [0; 2],
            extra_rounds: 0,
            extra_epoch_ns: 0,
            extra_acked: 0,
            pace: 0.0,
            probe_round_done: false,
            random: Random(7),
        }
    }
}

impl Bbr {
    fn max_bw(&self) -> f64 {
        self.bw.iter().map(|b| b.1).fold(0.0, f64::max)
    }

    fn full(&self) -> bool {
        self.full_count >= 3
    }

    fn gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw => CYCLE[self.cycle],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw => 2.0,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Bytes per nanosecond. Before the pipe is full it never falls.
    pub fn pacing(&mut self, cwnd: u32, srtt_ns: u64) -> f64 {
        let rtt = if srtt_ns > 0 { srtt_ns } else { MS } as f64;
        let rate = self.max_bw() * self.gain() * 0.99;
        if self.max_bw() == 0.0 {
            self.pace = f64::from(cwnd) / rtt * HIGH_GAIN;
        } else if self.full() || rate > self.pace {
            self.pace = rate;
        }
        self.pace * f64::from(MSS)
    }

    fn bdp(&self, gain: f64) -> f64 {
        if self.min_rtt_ns == 0 {
            return 10.0;
        }
        self.max_bw() * self.min_rtt_ns as f64 * gain
    }

    fn inflight(&self, gain: f64) -> u32 {
        let mut w = self.bdp(gain).ceil() as u32;
        w += 3 * 2; // quantisation: three bursts of two segments
        if self.mode == Mode::ProbeBw && self.cycle == 0 {
            w += 2;
        }
        w
    }

    pub fn save_cwnd(&mut self, cwnd: u32) {
        if !self.was_recovery && self.mode != Mode::ProbeRtt {
            self.prior_cwnd = cwnd;
        } else {
            self.prior_cwnd = self.prior_cwnd.max(cwnd);
        }
    }

    pub fn on_rto(&mut self) {
        self.full_bw = 0.0;
        self.conserve = false;
    }

    /// The window after one ACK.
    pub fn on_ack(&mut self, s: &RateSample, cwnd: u32) -> u32 {
        let round = self.update_bw(s);
        self.update_extra(s, round, cwnd);
        self.update_cycle(s);
        self.check_full(s, round);
        if self.mode == Mode::Startup && self.full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && s.in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(s.now_ns);
        }
        let cwnd = self.update_min_rtt(s, cwnd, round);
        self.set_cwnd(s, cwnd, round)
    }

    fn update_bw(&mut self, s: &RateSample) -> bool {
        if s.delivered == 0 || s.interval_ns == 0 {
            return false;
        }
        let mut start = false;
        if s.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = s.total_delivered;
            self.round += 1;
            start = true;
            self.conserve = false;
        }
        let bw = s.delivered as f64 / s.interval_ns as f64;
        if !s.app_limited || bw >= self.max_bw() {
            let round = self.round;
            self.bw.retain(|b| b.0 + 10 > round && b.1 > bw);
            self.bw.push((round, bw));
        } else {
            let round = self.round;
            if self.bw.len() > 1 {
                self.bw.retain(|b| b.0 + 10 > round);
            }
        }
        start
    }

    fn update_extra(&mut self, s: &RateSample, round: bool, cwnd: u32) {
        if s.acked == 0 {
            return;
        }
        if round {
            self.extra_rounds += 1;
            if self.extra_rounds >= 5 {
                self.extra_rounds = 0;
                self.extra = [0, self.extra[0]];
            }
        }
        let expected = self.max_bw() * (s.now_ns - self.extra_epoch_ns) as f64;
        if f64::from(self.extra_acked) <= expected {
            self.extra_acked = 0;
            self.extra_epoch_ns = s.now_ns;
        }
        self.extra_acked += s.acked;
        let expected = self.max_bw() * (s.now_ns - self.extra_epoch_ns) as f64;
        let extra = (f64::from(self.extra_acked) - expected).max(0.0) as u32;
        self.extra[0] = self.extra[0].max(extra.min(cwnd));
    }

    fn update_cycle(&mut self, s: &RateSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let long = s.now_ns - self.cycle_ns > self.min_rtt_ns;
        let inflight = s.in_flight + s.acked;
        let next = match CYCLE[self.cycle] {
            g if g > 1.0 => long && (s.lost > 0 || inflight >= self.inflight(g)),
            g if g < 1.0 => long || inflight <= self.inflight(1.0),
            _ => long,
        };
        if next {
            self.cycle = (self.cycle + 1) % 8;
            self.cycle_ns = s.now_ns;
        }
    }

    fn check_full(&mut self, s: &RateSample, round: bool) {
        if self.full() || !round || s.app_limited {
            return;
        }
        let bw = self.max_bw();
        if bw >= self.full_bw * 1.25 {
            self.full_bw = bw;
            self.full_count = 0;
        } else {
            self.full_count += 1;
        }
    }

    fn enter_probe_bw(&mut self, now_ns: u64) {
        self.mode = Mode::ProbeBw;
        self.cycle = (1 + 7 - (self.random.next() % 7) as usize) % 8;
        if self.cycle == 1 {
            self.cycle = 2;
        }
        self.cycle_ns = now_ns;
    }

    fn update_min_rtt(&mut self, s: &RateSample, cwnd: u32, round: bool) -> u32 {
        let expired = self.min_rtt_ns > 0 && s.now_ns > self.min_rtt_at_ns + 10 * SEC;
        let mut cwnd = cwnd;
        if s.rtt_ns > 0 && (self.min_rtt_ns == 0 || s.rtt_ns <= self.min_rtt_ns || expired) {
            self.min_rtt_ns = s.rtt_ns;
            self.min_rtt_at_ns = s.now_ns;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(cwnd);
            self.probe_done_ns = 0;
            self.probe_round_done = false;
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_done_ns == 0 && s.in_flight <= 4 {
                self.probe_done_ns = s.now_ns + 200 * MS;
                self.next_round_delivered = s.total_delivered;
            } else if self.probe_done_ns != 0 {
                self.probe_round_done |= round;
            }
            if self.probe_done_ns != 0 && self.probe_round_done && s.now_ns > self.probe_done_ns {
                self.min_rtt_at_ns = s.now_ns;
                cwnd = cwnd.max(self.prior_cwnd);
                if self.full() {
                    self.enter_probe_bw(s.now_ns);
                } else {
                    self.mode = Mode::Startup;
                }
            }
        }
        if s.acked > 0 {
            self.idle_restart = false;
        }
        cwnd
    }

    fn set_cwnd(&mut self, s: &RateSample, cwnd: u32, _round: bool) -> u32 {
        let mut cwnd = cwnd;
        if s.acked == 0 {
            return self.capped(cwnd);
        }
        if s.lost > 0 {
            cwnd = cwnd.saturating_sub(s.lost).max(1);
        }
        let recovery = s.in_recovery || s.in_loss;
        if s.in_recovery && !self.was_recovery {
            self.conserve = true;
            self.next_round_delivered = s.total_delivered;
            cwnd = s.in_flight + s.acked;
        } else if self.was_recovery && !recovery {
            self.conserve = false;
            cwnd = cwnd.max(self.prior_cwnd);
        }
        self.was_recovery = recovery;
        if self.conserve {
            return self.capped(cwnd.max(s.in_flight + s.acked));
        }
        let target = self.inflight(self.cwnd_gain()) + self.extra[0].max(self.extra[1]);
        if self.full() {
            cwnd = (cwnd + s.acked).min(target);
        } else if cwnd < target || s.total_delivered < 10 {
            cwnd += s.acked;
        }
        self.capped(cwnd.max(4))
    }

    fn capped(&self, cwnd: u32) -> u32 {
        if self.mode == Mode::ProbeRtt {
            cwnd.min(4)
        } else {
            cwnd
        }
    }
}
