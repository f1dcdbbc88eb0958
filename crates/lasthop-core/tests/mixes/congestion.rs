// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Congestion controls as Linux runs them: Reno (RFC 5681), CUBIC (RFC 9438)
//! with HyStart. Windows count segments, times are nanoseconds.

use crate::bbr::Bbr;

const MS: u64 = 1_000_000;

/// What one ACK tells.
#[derive(Debug, Clone, Copy, Default)]
pub struct RateSample {
    pub now_ns: u64,
    /// Newly acknowledged or SACKed, segments.
    pub acked: u32,
    pub lost: u32,
    /// Least RTT of what was acknowledged; 0: none.
    pub rtt_ns: u64,
    /// Segments delivered within `interval_ns`; 0: no sample.
    pub delivered: u64,
    pub interval_ns: u64,
    pub app_limited: bool,
    /// In all, before the sampled segment left.
    pub prior_delivered: u64,
    pub total_delivered: u64,
    pub in_flight: u32,
    pub limited: bool,
    pub snd_una: u64,
    pub snd_nxt: u64,
    pub in_recovery: bool,
    pub in_loss: bool,
}

#[derive(Debug)]
pub enum Control {
    Reno(Reno),
    Cubic(Cubic),
    Bbr(Box<Bbr>),
}

impl Control {
    pub fn by_name(name: &str) -> Self {
        match name {
            "reno" => Self::Reno(Reno::default()),
            "cubic" => Self::Cubic(Cubic::default()),
            "bbr" => Self::Bbr(Box::default()),
            other => panic!("no congestion control {other}"),
        }
    }

    /// Sets its windows itself, also in recovery.
    pub fn is_bbr(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    pub fn ssthresh(&mut self, cwnd: u32) -> u32 {
        match self {
            Self::Reno(_) => (cwnd / 2).max(2),
            Self::Cubic(c) => c.ssthresh(cwnd),
            Self::Bbr(b) => {
                b.save_cwnd(cwnd);
                u32::MAX
            }
        }
    }

    pub fn on_loss_state(&mut self) {
        match self {
            Self::Cubic(c) => c.reset(),
            Self::Bbr(b) => b.on_rto(),
            Self::Reno(_) => {}
        }
    }

    /// Growth in the open state. Returns (cwnd, ssthresh).
    pub fn grow(&mut self, s: &RateSample, cwnd: u32, ssthresh: u32) -> (u32, u32) {
        match self {
            Self::Reno(r) => r.grow(s, cwnd, ssthresh),
            Self::Cubic(c) => c.grow(s, cwnd, ssthresh),
            Self::Bbr(_) => (cwnd, ssthresh),
        }
    }
}

#[derive(Debug, Default)]
pub struct Reno {
    count: u32,
}

/// Slow start up to the threshold. Returns the new window and what is left.
fn slow_start(cwnd: u32, ssthresh: u32, acked: u32) -> (u32, u32) {
    let new = (cwnd + acked).min(ssthresh);
    (new, acked - (new - cwnd))
}

impl Reno {
    fn grow(&mut self, s: &RateSample, cwnd: u32, ssthresh: u32) -> (u32, u32) {
        if !s.limited {
            return (cwnd, ssthresh);
        }
        let (mut cwnd, mut acked) = (cwnd, s.acked);
        if cwnd < ssthresh {
            (cwnd, acked) = slow_start(cwnd, ssthresh, acked);
        }
        self.count += acked;
        if self.count >= cwnd {
            self.count -= cwnd;
            cwnd += 1;
        }
        (cwnd, ssthresh)
    }
}

#[derive(Debug, Default)]
pub struct Cubic {
    w_max: f64,
    epoch_ns: u64,
    k_s: f64,
    origin: f64,
    w_est: f64,
    credit: f64,
    delay_min_ns: u64,
    // HyStart
    round_end: u64,
    round_start_ns: u64,
    last_ack_ns: u64,
    samples: u32,
    curr_ns: u64,
    found: bool,
}

const BETA: f64 = 717.0 / 1024.0;
const C: f64 = 0.4;

impl Cubic {
    fn reset(&mut self) {
        *self = Self {
            w_max: self.w_max,
            ..Self::default()
        };
    }

    fn ssthresh(&mut self, cwnd: u32) -> u32 {
        self.epoch_ns = 0;
        let w = f64::from(cwnd);
        self.w_max = if w < self.w_max {
            w * (1.0 + BETA) / 2.0
        } else {
            w
        };
        ((w * BETA) as u32).max(2)
    }

    fn grow(&mut self, s: &RateSample, cwnd: u32, ssthresh: u32) -> (u32, u32) {
        let (mut cwnd, mut ssthresh) = (cwnd, ssthresh);
        if s.rtt_ns > 0 {
            if self.delay_min_ns == 0 || s.rtt_ns < self.delay_min_ns {
                self.delay_min_ns = s.rtt_ns;
            }
            if !self.found && cwnd < ssthresh && cwnd >= 16 {
                self.hystart(s);
                if self.found {
                    ssthresh = cwnd;
                }
            }
        }
        if !s.limited {
            return (cwnd, ssthresh);
        }
        let mut acked = s.acked;
        if cwnd < ssthresh {
            (cwnd, acked) = slow_start(cwnd, ssthresh, acked);
        }
        if acked > 0 {
            cwnd = self.avoid(s, cwnd, acked);
        }
        (cwnd, ssthresh)
    }

    fn avoid(&mut self, s: &RateSample, cwnd: u32, acked: u32) -> u32 {
        let w = f64::from(cwnd);
        if self.epoch_ns == 0 {
            self.epoch_ns = s.now_ns;
            self.w_est = w;
            if w < self.w_max {
                self.k_s = ((self.w_max - w) / C).cbrt();
                self.origin = self.w_max;
            } else {
                self.k_s = 0.0;
                self.origin = w;
            }
        }
        let t = (s.now_ns - self.epoch_ns + self.delay_min_ns) as f64 / 1e9;
        let mut target = self.origin + C * (t - self.k_s).powi(3);
        self.w_est += f64::from(acked) * 3.0 * (1.0 - BETA) / (1.0 + BETA) / w;
        target = target.max(self.w_est).min(1.5 * w);
        self.credit += f64::from(acked) * ((target - w) / w).max(0.01 / w);
        let whole = self.credit.floor();
        self.credit -= whole;
        cwnd + whole as u32
    }

    fn hystart(&mut self, s: &RateSample) {
        if s.snd_una > self.round_end {
            self.round_end = s.snd_nxt;
            self.round_start_ns = s.now_ns;
            self.last_ack_ns = s.now_ns;
            self.samples = 0;
            self.curr_ns = u64::MAX;
        }
        if s.now_ns - self.last_ack_ns <= 2 * MS {
            self.last_ack_ns = s.now_ns;
            if s.now_ns - self.round_start_ns > self.delay_min_ns / 2 {
                self.found = true;
            }
        }
        self.curr_ns = self.curr_ns.min(s.rtt_ns);
        if self.samples < 8 {
            self.samples += 1;
        } else {
            let thresh = (self.delay_min_ns / 8).clamp(4 * MS, 16 * MS);
            if self.curr_ns > self.delay_min_ns + thresh {
                self.found = true;
            }
        }
    }
}
