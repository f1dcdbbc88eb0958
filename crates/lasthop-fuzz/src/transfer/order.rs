// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What an agent does with data that come to it over the hop (scheme `dproxy`): whatever comes goes on
//! once, or waits and goes on later, or is a copy; nothing waits for long; and where nothing was given up
//! the order is the sender's.

use lasthop_core::bindings::{
    LH_C_bypass_unacceptable, LH_C_copies_dropped, LH_C_holes_given_up, LH_C_holes_untold,
    LH_C_release_errors, LH_C_resynchronised, LH_C_unsequenced, LH_SYN,
};
use lasthop_core::{Agent, MSEC_NS, Outcome, parse, seq_before};

/// No packet waits longer (core/resequence.c).
const WAITS_NS: u64 = 150 * MSEC_NS + 1_000;

/// What of a packet stays as it is on its way through an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Content {
    seq: u32,
    end: u32,
    ack: u32,
    flags: u16,
    payload: Vec<u8>,
}

/// Of a packet with data, or a FIN.
fn content(packet: &[u8]) -> Option<Content> {
    let (s, _) = parse(packet, 0, None, false).ok()?;
    (s.seq != s.end && u32::from(s.flags) & LH_SYN == 0).then(|| Content {
        seq: s.seq,
        end: s.end,
        ack: s.ack,
        flags: s.flags,
        payload: packet[usize::from(s.hdr_bytes)..].to_vec(),
    })
}

/// One agent's.
#[derive(Default)]
pub struct Order {
    /// What waits, and since when.
    waits: Vec<(u64, Content)>,
    /// What has come in, as long as few of it has.
    came: Vec<Content>,
    /// Counters before the call.
    lost: u64,
    copies: u64,
    resynchronised: u64,
    /// Behind what the receiver has in order.
    front: Option<u32>,
    /// Nobody puts them in order, or somebody has sent what their sender never would.
    any: bool,
}

impl Order {
    /// From here on the numbers may be anybody's, in any order.
    pub fn any(&mut self) {
        self.any = true;
    }

    /// The sender's data begin there.
    pub fn opens(&mut self, first: u32) {
        self.front = Some(first);
    }

    /// The receiver has everything below.
    pub fn has(&mut self, ack: u32) {
        if self.front.is_some_and(|front| seq_before(front, ack)) {
            self.front = Some(ack);
        }
    }

    /// `packet` came to the agent, which did that.
    pub fn comes(&mut self, agent: &Agent, packet: &[u8], outcome: &Outcome, now_ns: u64) {
        let lost = agent.counter(LH_C_release_errors) - self.lost;
        let copies = agent.counter(LH_C_copies_dropped) - self.copies;
        let syn =
            parse(packet, 0, None, false).is_ok_and(|(s, _)| u32::from(s.flags) & LH_SYN != 0);
        if let Some(content) = content(packet) {
            let waits = outcome.actions.as_ref().is_some_and(|a| a.waits());
            assert!(
                !outcome.dropped || waits || copies == 1,
                "data are kept back"
            );
            if self.front.is_none() {
                self.front = Some(content.seq);
            }
            if waits && copies == 0 && lost == 0 {
                self.waits.push((now_ns, content.clone()));
            } else if outcome.dropped && lost == 0 {
                assert!(self.is_copy(&content), "it had not come before");
            }
            if self.came.len() < 4_096 {
                self.came.push(content);
            }
        }
        self.goes(agent, outcome, syn);
    }

    fn is_copy(&self, of: &Content) -> bool {
        let covers = |c: &Content| !seq_before(of.seq, c.seq) && !seq_before(c.end, of.end);
        self.came.len() >= 4_096 || self.came.iter().any(covers)
    }

    /// What goes on by any call, and what is left.
    pub fn goes(&mut self, agent: &Agent, outcome: &Outcome, syn: bool) {
        for packet in &outcome.to_fh {
            self.released(packet);
        }
        let on = outcome.passed.iter().chain(&outcome.to_fh);
        for content in on.filter_map(|packet| content(packet)) {
            self.arrives(agent, &content);
        }
        let left: u32 = agent
            .keys()
            .map(|key| agent.flow(key).expect("a flow").waiting())
            .sum();
        if left as usize != self.waits.len() {
            let anew = agent.counter(LH_C_resynchronised) != self.resynchronised;
            assert!(syn || anew, "{left} wait of {}", self.waits.len());
            assert_eq!(left, 0);
            self.waits.clear();
        }
        self.lost = agent.counter(LH_C_release_errors);
        self.copies = agent.counter(LH_C_copies_dropped);
        self.resynchronised = agent.counter(LH_C_resynchronised);
    }

    /// All timers have been served.
    pub fn timers(&self, now_ns: u64) {
        let oldest = self.waits.iter().map(|w| w.0).min().unwrap_or(now_ns);
        assert!(
            now_ns - oldest <= WAITS_NS,
            "{} ns is too long",
            now_ns - oldest
        );
    }

    /// It goes on, and had waited, if it is more than an ACK.
    pub fn released(&mut self, packet: &[u8]) -> bool {
        let Some(content) = content(packet) else {
            return false;
        };
        let at = self.waits.iter().position(|w| w.1 == content);
        self.waits.remove(at.expect("released what did not wait"));
        true
    }

    fn arrives(&mut self, agent: &Agent, content: &Content) {
        let Some(front) = self.front else {
            return;
        };
        let excuses = [
            LH_C_holes_given_up,
            LH_C_holes_untold,
            LH_C_unsequenced,
            LH_C_release_errors,
            LH_C_bypass_unacceptable, // beyond the window, as far as the agent knows it
        ];
        let excused = excuses.iter().any(|&counter| agent.counter(counter) != 0);
        assert!(
            self.any || excused || !seq_before(front, content.seq),
            "{} goes on where {front} is missing",
            content.seq
        );
        if seq_before(front, content.end) {
            self.front = Some(content.end);
        }
    }

    /// The agent has forgotten everything.
    pub fn forgotten(&mut self) {
        assert!(
            self.waits.is_empty(),
            "{} packets are lost",
            self.waits.len()
        );
        self.front = None;
        self.came.clear();
    }
}
