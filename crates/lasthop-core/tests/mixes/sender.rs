// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A sender as Linux has it: SACK scoreboard, RACK-TLP (RFC 8985), PRR (RFC
//! 6937), timeouts (RFC 6298 with Linux' least of 200 ms), undo by timestamps and
//! DSACK (RFC 3522, 3708).

mod recovery;

use std::collections::VecDeque;

use crate::congestion::{Control, RateSample};
use crate::wire::{Ack, Data, MSS};

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;
const RTO_LEAST_NS: u64 = 200 * MS;
const INITIAL_WINDOW: u32 = 10;

#[derive(Debug, Clone, Copy)]
struct Seg {
    seq: u64,
    len: u32,
    sent_ns: u64,
    /// Of the connection, when it left: rate samples.
    delivered: u64,
    delivered_ns: u64,
    first_ns: u64,
    app_limited: bool,
    sacked: bool,
    lost: bool,
    /// A copy is under way beside the first.
    again: bool,
    resent: bool,
}

impl Seg {
    fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Recovery,
    Loss,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub sent: u64,
    pub resent: u64,
    pub timeouts: u64,
    pub tail_probes: u64,
    pub undone: u64,
    /// The most bytes beyond the last ACK.
    pub most_beyond: u64,
}

#[derive(Debug)]
pub struct Sender {
    control: Control,
    segs: VecDeque<Seg>,
    una: u64,
    next: u64,
    /// The application has written up to here.
    pub written: u64,
    edge: u64,
    cwnd: u32,
    ssthresh: u32,
    state: State,
    high: u64,
    prior_cwnd: u32,
    prr_delivered: u32,
    prr_out: u32,
    undo: Option<(u32, u32)>,
    undo_left: i64,
    /// Timestamp of the episode's first retransmission.
    resent_ts: Option<u32>,
    sacked_out: u32,
    lost_out: u32,
    again_out: u32,
    rack_ns: u64,
    rack_end: u64,
    rack_rtt_ns: u64,
    reordering: bool,
    srtt_ns: u64,
    /// Four times the mean deviation, its most within this round, and what the
    /// timeout is made of, as Linux keeps them.
    mdev_ns: i64,
    mdev_max_ns: i64,
    rttvar_ns: i64,
    rtt_end: u64,
    pub min_rtt_ns: u64,
    rto_backoff: u32,
    timer_ns: Option<u64>,
    /// RFC 8985's reordering timer.
    reorder_ns: Option<u64>,
    timer_is_probe: bool,
    probe_end: Option<(u64, bool)>,
    pub pace_ns: u64,
    delivered: u64,
    delivered_ns: u64,
    first_ns: u64,
    app_limited_till: u64,
    limited: bool,
    max_out: u32,
    ts_recent: u32,
    pub counts: Counts,
}

fn ts(now_ns: u64) -> u32 {
    (now_ns / MS) as u32
}

impl Sender {
    pub fn new(cc: &str, edge: u64, handshake_rtt_ns: u64) -> Self {
        Self {
            control: Control::by_name(cc),
            segs: VecDeque::new(),
            una: 0,
            next: 0,
            written: 0,
            edge,
            cwnd: INITIAL_WINDOW,
            ssthresh: u32::MAX,
            state: State::Open,
            high: 0,
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            undo: None,
            undo_left: 0,
            resent_ts: None,
            sacked_out: 0,
            lost_out: 0,
            again_out: 0,
            rack_ns: 0,
            rack_end: 0,
            rack_rtt_ns: 0,
            reordering: false,
            srtt_ns: handshake_rtt_ns,
            mdev_ns: 2 * handshake_rtt_ns as i64,
            mdev_max_ns: RTO_LEAST_NS as i64,
            rttvar_ns: (2 * handshake_rtt_ns).max(RTO_LEAST_NS) as i64,
            rtt_end: 0,
            min_rtt_ns: handshake_rtt_ns,
            rto_backoff: 0,
            timer_ns: None,
            reorder_ns: None,
            timer_is_probe: false,
            probe_end: None,
            pace_ns: 0,
            delivered: 0,
            delivered_ns: 0,
            first_ns: 0,
            app_limited_till: 0,
            limited: false,
            max_out: 0,
            ts_recent: 0,
            counts: Counts::default(),
        }
    }

    pub fn srtt_ns(&self) -> u64 {
        self.srtt_ns
    }

    pub fn in_flight(&self) -> u32 {
        (self.segs.len() as u32 + self.again_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    pub fn describe(&self) -> String {
        format!(
            "{:?} cwnd {} ssthresh {} flight {} una {} next {} edge+{} srtt {:.1}",
            self.state,
            self.cwnd,
            self.ssthresh,
            self.in_flight(),
            self.una,
            self.next,
            self.edge.saturating_sub(self.una),
            self.srtt_ns as f64 / 1e6
        )
    }

    // ---- sending

    /// Whatever may leave now. `pace_ns` says when more may, if that is later.
    pub fn pump(&mut self, now_ns: u64, out: &mut Vec<Data>) {
        let bbr = self.control.is_bbr();
        // New data do not put the timeout off, but for the first.
        let mut rearm = false;
        loop {
            if bbr && self.pace_ns > now_ns {
                break;
            }
            if self.in_flight() >= self.cwnd {
                self.limited = true;
                break;
            }
            let bytes = if let Some(at) = self.next_lost() {
                rearm |= at == 0;
                self.resend(at, now_ns, out)
            } else if self.next < self.written {
                let len = (self.written - self.next).min(u64::from(MSS)) as u32;
                if self.next + u64::from(len) > self.edge {
                    break;
                }
                rearm |= self.timer_ns.is_none() || self.timer_is_probe;
                self.send_new(len, now_ns, out)
            } else {
                self.app_limited_till = (self.delivered + u64::from(self.in_flight())).max(1);
                break;
            };
            if bbr {
                let rate = self.pacing();
                let base = self.pace_ns.max(now_ns.saturating_sub(MS / 2));
                self.pace_ns = base + (f64::from(bytes) / rate) as u64;
            }
        }
        if self.in_flight() >= self.max_out {
            self.max_out = self.in_flight();
        }
        if rearm {
            self.arm(now_ns);
        }
    }

    fn pacing(&mut self) -> f64 {
        match &mut self.control {
            Control::Bbr(b) => b.pacing(self.cwnd, self.srtt_ns),
            _ => f64::INFINITY,
        }
    }

    /// Whether a pacing timer is wanted.
    pub fn wants_pace(&self, now_ns: u64) -> bool {
        self.control.is_bbr()
            && self.pace_ns > now_ns
            && self.in_flight() < self.cwnd
            && (self.lost_out > self.again_out || self.next < self.written.min(self.edge))
    }

    fn next_lost(&self) -> Option<usize> {
        if self.lost_out <= self.again_out {
            return None;
        }
        self.segs.iter().position(|s| s.lost && !s.again)
    }

    fn stamp(&mut self, now_ns: u64) -> (u64, u64, u64, bool) {
        if self.in_flight() == 0 {
            self.first_ns = now_ns;
            self.delivered_ns = now_ns;
        }
        let limited = self.app_limited_till > self.delivered;
        (self.delivered, self.delivered_ns, self.first_ns, limited)
    }

    fn send_new(&mut self, len: u32, now_ns: u64, out: &mut Vec<Data>) -> u32 {
        let (delivered, delivered_ns, first_ns, app_limited) = self.stamp(now_ns);
        self.segs.push_back(Seg {
            seq: self.next,
            len,
            sent_ns: now_ns,
            delivered,
            delivered_ns,
            first_ns,
            app_limited,
            sacked: false,
            lost: false,
            again: false,
            resent: false,
        });
        self.emit(self.next, len, now_ns, out);
        self.next += u64::from(len);
        self.counts.most_beyond = self.counts.most_beyond.max(self.next - self.una);
        len
    }

    fn emit(&mut self, seq: u64, len: u32, now_ns: u64, out: &mut Vec<Data>) {
        self.counts.sent += 1;
        if self.state != State::Open {
            self.prr_out += 1;
        }
        out.push(Data {
            seq,
            len,
            tsval: ts(now_ns),
            tsecr: self.ts_recent,
            mh_ack: 0,
        });
    }

    fn resend(&mut self, at: usize, now_ns: u64, out: &mut Vec<Data>) -> u32 {
        let (delivered, delivered_ns, first_ns, app_limited) = self.stamp(now_ns);
        let s = &mut self.segs[at];
        s.sent_ns = now_ns;
        s.delivered = delivered;
        s.delivered_ns = delivered_ns;
        s.first_ns = first_ns;
        s.app_limited = app_limited;
        s.again = true;
        s.resent = true;
        let (seq, len) = (s.seq, s.len);
        self.again_out += 1;
        self.counts.resent += 1;
        self.undo_left += 1;
        self.resent_ts.get_or_insert(ts(now_ns));
        self.emit(seq, len, now_ns, out);
        len
    }

    // ---- ACKs

    pub fn on_ack(&mut self, a: &Ack, wscale: u8, now_ns: u64, out: &mut Vec<Data>) {
        if a.ack > self.next || a.ack < self.una {
            return;
        }
        let edge = a.ack + (u64::from(a.window) << wscale);
        if a.ack > self.una {
            self.edge = edge;
        } else {
            self.edge = self.edge.max(edge);
        }
        self.ts_recent = a.tsval;
        let flight = self.in_flight();
        let mut acked = Acked::default();
        self.mark_sacked(a, now_ns, &mut acked);
        let advanced = a.ack > self.una;
        if advanced {
            self.pop(a, now_ns, &mut acked);
            self.rto_backoff = 0;
        }
        if a.dsack {
            self.undo_left -= 1;
        }
        self.learn_rtt(&acked);
        let lost = self.find_lost(now_ns);
        self.probe_answered(a, now_ns);
        let sample = self.sample(&acked, lost, flight, now_ns);
        self.turn(a, advanced, lost);
        if let Control::Bbr(b) = &mut self.control {
            let sample = RateSample {
                in_recovery: self.state == State::Recovery,
                in_loss: self.state == State::Loss,
                ..sample
            };
            self.cwnd = b.on_ack(&sample, self.cwnd);
        } else if self.state == State::Recovery {
            self.reduce(sample.acked, lost, advanced);
        } else if sample.acked > 0 && (self.state == State::Open || advanced) {
            (self.cwnd, self.ssthresh) = self.control.grow(&sample, self.cwnd, self.ssthresh);
        }
        self.limited = false;
        // No later because of what left after the head's last copy: or the timeout
        // would never come in a long recovery.
        let head = self.segs.front().map_or(0, |s| s.sent_ns);
        if advanced || acked.sacked_sent_ns < head && acked.sacked > 0 {
            self.arm(now_ns);
        }
        self.pump(now_ns, out);
        if self.segs.is_empty() {
            self.timer_ns = None;
        }
    }

    fn deliver(&mut self, s: &Seg, now_ns: u64, acked: &mut Acked) {
        self.delivered += 1;
        self.delivered_ns = now_ns;
        acked.newly += 1;
        if acked.sample.is_none_or(|o| s.delivered >= o.delivered) {
            acked.sample = Some(*s);
        }
        self.rack_note(s, now_ns);
    }

    fn rack_note(&mut self, s: &Seg, now_ns: u64) {
        let rtt = now_ns - s.sent_ns;
        if s.resent && rtt < self.min_rtt_ns {
            return;
        }
        self.rack_rtt_ns = rtt;
        if (s.sent_ns, s.end()) > (self.rack_ns, self.rack_end) {
            self.rack_ns = s.sent_ns;
            self.rack_end = s.end();
        }
    }

    fn mark_sacked(&mut self, a: &Ack, now_ns: u64, acked: &mut Acked) {
        let from = usize::from(a.dsack);
        for &(left, right) in &a.blocks()[from.min(a.nr_blocks)..] {
            let mut i = self.segs.partition_point(|s| s.seq < left);
            while i < self.segs.len() && self.segs[i].end() <= right {
                let s = self.segs[i];
                if !s.sacked {
                    self.segs[i].sacked = true;
                    self.sacked_out += 1;
                    if s.lost {
                        self.lost_out -= 1;
                        self.segs[i].lost = false;
                    }
                    if s.again {
                        self.again_out -= 1;
                        self.segs[i].again = false;
                    }
                    if !s.resent {
                        acked.note_rtt(now_ns - s.sent_ns);
                        if s.end() < self.high_sacked() {
                            self.reordering = true;
                        }
                    }
                    acked.sacked += 1;
                    acked.sacked_sent_ns = s.sent_ns;
                    self.deliver(&s, now_ns, acked);
                }
                i += 1;
            }
        }
    }

    fn high_sacked(&self) -> u64 {
        if self.sacked_out < 2 {
            return 0;
        }
        let last = self.segs.iter().rev().find(|s| s.sacked);
        last.map_or(0, Seg::end)
    }

    fn pop(&mut self, a: &Ack, now_ns: u64, acked: &mut Acked) {
        let holes = self.sacked_out > 0;
        while let Some(s) = self.segs.front().copied() {
            if s.end() > a.ack {
                break;
            }
            self.segs.pop_front();
            self.lost_out -= u32::from(s.lost);
            self.again_out -= u32::from(s.again);
            if s.sacked {
                self.sacked_out -= 1;
                continue;
            }
            if s.resent {
                acked.again = true;
            } else {
                self.reordering |= holes;
                let r = now_ns - s.sent_ns;
                acked.first_rtt_ns.get_or_insert(r);
                acked.rtt_ns = Some(r);
            }
            self.deliver(&s, now_ns, acked);
        }
        self.una = a.ack;
    }

    fn find_lost(&mut self, now_ns: u64) -> u32 {
        if self.rack_ns == 0 {
            return 0;
        }
        let reo = match !self.reordering && (self.state != State::Open || self.sacked_out >= 3) {
            true => 0,
            false => (self.min_rtt_ns / 4).min(self.srtt_ns),
        };
        let (mut lost, mut wait) = (0, None);
        let limit = self.rack_rtt_ns + reo;
        for s in &mut self.segs {
            if s.sacked || (s.lost && !s.again) {
                continue;
            }
            if (s.sent_ns, s.end()) >= (self.rack_ns, self.rack_end) {
                if !s.resent && s.sent_ns > self.rack_ns {
                    break;
                }
                continue;
            }
            if now_ns >= s.sent_ns + limit || reo == 0 {
                if s.again {
                    s.again = false;
                    self.again_out -= 1;
                } else {
                    s.lost = true;
                    self.lost_out += 1;
                }
                lost += 1;
            } else {
                let at = s.sent_ns + limit;
                wait = Some(wait.map_or(at, |o: u64| o.min(at)));
            }
        }
        self.reorder_ns = wait;
        lost
    }

    fn probe_answered(&mut self, a: &Ack, _now_ns: u64) {
        let Some((end, again)) = self.probe_end else {
            return;
        };
        if a.ack < end {
            return;
        }
        self.probe_end = None;
        if again && !a.dsack && self.state == State::Open && !self.control.is_bbr() {
            // The probe repaired a loss: one reduction (RFC 8985 section 7.4).
            self.ssthresh = self.control.ssthresh(self.cwnd);
            self.cwnd = self.ssthresh.min(self.cwnd);
        }
    }

    fn sample(&mut self, acked: &Acked, lost: u32, flight: u32, now_ns: u64) -> RateSample {
        let mut s = RateSample {
            now_ns,
            acked: acked.newly,
            lost,
            rtt_ns: acked.rtt_ns.unwrap_or(0),
            total_delivered: self.delivered,
            in_flight: self.in_flight(),
            snd_una: self.una,
            snd_nxt: self.next,
            ..RateSample::default()
        };
        s.limited = self.limited || flight >= self.cwnd || {
            self.cwnd < self.ssthresh && self.cwnd < 2 * self.max_out
        };
        self.max_out = self.in_flight();
        if let Some(seg) = acked.sample {
            let sent = seg.sent_ns - seg.first_ns;
            let got = self.delivered_ns - seg.delivered_ns;
            self.first_ns = seg.sent_ns;
            s.delivered = self.delivered - seg.delivered;
            s.interval_ns = sent.max(got);
            s.prior_delivered = seg.delivered;
            s.app_limited = seg.app_limited;
            if s.interval_ns < self.min_rtt_ns {
                s.interval_ns = 0;
            }
        }
        s
    }
}

#[derive(Debug, Default)]
struct Acked {
    newly: u32,
    sacked: u32,
    sacked_sent_ns: u64,
    /// Of the oldest and of the newest segment that the ACK's number covers.
    first_rtt_ns: Option<u64>,
    rtt_ns: Option<u64>,
    /// Something that was sent twice is covered, too.
    again: bool,
    sample: Option<Seg>,
}

impl Acked {
    fn note_rtt(&mut self, r: u64) {
        self.rtt_ns = Some(self.rtt_ns.map_or(r, |o| o.min(r)));
    }
}
