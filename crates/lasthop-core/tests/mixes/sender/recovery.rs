// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Timers, round trips and recovery of a sender.

use super::{Acked, MS, RTO_LEAST_NS, SEC, Sender, State};
use crate::wire::{Ack, Data, MSS};

impl Sender {
    // ---- timers

    pub(super) fn rto_ns(&self) -> u64 {
        let base = match self.srtt_ns {
            0 => SEC,
            srtt => srtt + (self.rttvar_ns as u64).max(RTO_LEAST_NS),
        };
        (base << self.rto_backoff.min(8)).min(120 * SEC)
    }

    pub(super) fn arm(&mut self, now_ns: u64) {
        if self.segs.is_empty() {
            self.timer_ns = None;
            return;
        }
        self.timer_is_probe =
            self.state == State::Open && self.probe_end.is_none() && self.sacked_out == 0;
        let mut at = now_ns + self.rto_ns();
        if self.timer_is_probe {
            let slack = if self.segs.len() == 1 {
                RTO_LEAST_NS
            } else {
                2 * MS
            };
            at = at.min(now_ns + 2 * self.srtt_ns.max(MS) + slack);
        }
        self.timer_ns = Some(at);
    }

    /// When [`Sender::on_timer`] is wanted.
    pub fn next_timer(&self) -> Option<u64> {
        self.timer_ns.into_iter().chain(self.reorder_ns).min()
    }

    pub fn on_timer(&mut self, now_ns: u64, out: &mut Vec<Data>) {
        if self.reorder_ns.is_some_and(|at| at <= now_ns) {
            self.reorder_ns = None;
            let lost = self.find_lost(now_ns);
            self.enter_recovery(lost);
            if self.state == State::Recovery && lost > 0 && !self.control.is_bbr() {
                self.cwnd = self.cwnd.max(self.in_flight() + 1);
            }
            self.pump(now_ns, out);
        }
        if self.timer_ns.is_none_or(|at| at > now_ns) {
            return;
        }
        self.timer_ns = None;
        if self.segs.is_empty() {
            return;
        }
        if self.timer_is_probe {
            self.tail_probe(now_ns, out);
        } else {
            self.timeout(now_ns, out);
        }
    }

    pub(super) fn tail_probe(&mut self, now_ns: u64, out: &mut Vec<Data>) {
        self.counts.tail_probes += 1;
        let len = (self.written - self.next).min(u64::from(MSS)) as u32;
        if len > 0 && self.next + u64::from(len) <= self.edge {
            self.send_new(len, now_ns, out);
            self.probe_end = Some((self.next, false));
        } else {
            let last = self.segs.len() - 1;
            let s = &mut self.segs[last];
            s.sent_ns = now_ns;
            s.resent = true;
            let (seq, len) = (s.seq, s.len);
            self.counts.resent += 1;
            self.probe_end = Some((self.next, true));
            self.emit(seq, len, now_ns, out);
        }
        self.timer_is_probe = false;
        self.timer_ns = Some(now_ns + self.rto_ns());
    }

    pub(super) fn timeout(&mut self, now_ns: u64, out: &mut Vec<Data>) {
        self.counts.timeouts += 1;
        if self.state != State::Loss {
            if self.state == State::Open {
                self.undo = Some((self.cwnd, self.ssthresh));
                self.undo_left = 0;
                self.resent_ts = None;
            }
            let was_bbr = self.control.is_bbr();
            let thresh = self.control.ssthresh(self.cwnd);
            if !was_bbr {
                self.ssthresh = thresh;
            }
        }
        self.control.on_loss_state();
        self.state = State::Loss;
        self.high = self.next;
        self.lost_out = 0;
        self.again_out = 0;
        for s in &mut self.segs {
            s.again = false;
            s.lost = !s.sacked;
            self.lost_out += u32::from(s.lost);
        }
        self.cwnd = self.in_flight() + 1;
        self.rto_backoff += 1;
        self.probe_end = None;
        self.pace_ns = now_ns;
        self.pump(now_ns, out);
        self.timer_is_probe = false;
        self.timer_ns = Some(now_ns + self.rto_ns());
    }

    pub(super) fn learn_rtt(&mut self, acked: &Acked) {
        if let Some(r) = acked.rtt_ns {
            if self.min_rtt_ns == 0 || r < self.min_rtt_ns {
                self.min_rtt_ns = r;
            }
        }
        let Some(r) = acked.first_rtt_ns.or(acked.rtt_ns).filter(|_| !acked.again) else {
            return;
        };
        let mut m = r as i64 - self.srtt_ns as i64;
        self.srtt_ns = (self.srtt_ns as i64 + m / 8) as u64;
        if m < 0 {
            m = -m - self.mdev_ns / 4;
            if m > 0 {
                m /= 8;
            }
        } else {
            m -= self.mdev_ns / 4;
        }
        self.mdev_ns += m;
        self.mdev_max_ns = self.mdev_max_ns.max(self.mdev_ns);
        self.rttvar_ns = self.rttvar_ns.max(self.mdev_max_ns);
        if self.una > self.rtt_end {
            self.rttvar_ns -= (self.rttvar_ns - self.mdev_max_ns).max(0) / 4;
            self.rtt_end = self.next;
            self.mdev_max_ns = RTO_LEAST_NS as i64;
        }
    }

    /// Changes of state, before the window is set.
    pub(super) fn turn(&mut self, a: &Ack, advanced: bool, lost: u32) {
        if self.state != State::Open && advanced {
            let early = self
                .resent_ts
                .is_some_and(|first| (a.tsecr.wrapping_sub(first) as i32) < 0);
            if (early || self.undo_left == 0 && self.resent_ts.is_some()) && self.undo.is_some() {
                self.take_back();
            } else if self.una >= self.high {
                if self.state == State::Recovery && !self.control.is_bbr() {
                    self.cwnd = self.ssthresh;
                }
                self.state = State::Open;
                self.undo = None;
            }
        }
        self.enter_recovery(lost);
    }

    /// A loss within a timeout's recovery changes nothing.
    pub(super) fn enter_recovery(&mut self, lost: u32) {
        if self.state != State::Open || lost == 0 {
            return;
        }
        self.undo = Some((self.cwnd, self.ssthresh));
        self.undo_left = 0;
        self.resent_ts = None;
        self.prior_cwnd = self.cwnd;
        let thresh = self.control.ssthresh(self.cwnd);
        if !self.control.is_bbr() {
            self.ssthresh = thresh;
        }
        self.state = State::Recovery;
        self.high = self.next;
        self.prr_delivered = 0;
        self.prr_out = 0;
    }

    pub(super) fn take_back(&mut self) {
        let Some((cwnd, ssthresh)) = self.undo.take() else {
            return;
        };
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = ssthresh;
        self.counts.undone += 1;
        self.state = State::Open;
        for s in &mut self.segs {
            if s.lost && !s.again {
                s.lost = false;
                self.lost_out -= 1;
            }
        }
    }

    /// Proportional rate reduction.
    pub(super) fn reduce(&mut self, newly: u32, lost: u32, advanced: bool) {
        if newly == 0 {
            return;
        }
        self.prr_delivered += newly;
        let flight = self.in_flight();
        let mut count = if flight > self.ssthresh {
            let want = u64::from(self.ssthresh) * u64::from(self.prr_delivered);
            let want = want.div_ceil(u64::from(self.prior_cwnd.max(1)));
            (want as u32).saturating_sub(self.prr_out)
        } else {
            let mut n = self.prr_delivered.saturating_sub(self.prr_out).max(newly);
            n += u32::from(advanced && lost == 0);
            n.min(self.ssthresh - flight)
        };
        if self.prr_out == 0 {
            count = count.max(1);
        }
        self.cwnd = flight + count;
    }
}
