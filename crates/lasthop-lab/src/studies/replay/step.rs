// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the agent did with one packet or timer, for people and as JSON.

use std::fmt;

use lasthop_core::bindings::{
    LH_FLOW_BLOCKED, LH_FLOW_FWD, LH_FLOW_RECOVERY, LH_FLOW_STARTED, LH_KEEP_WINDOW, lh_flow,
};
use lasthop_core::{Actions, Flow, Segment};
use serde::Serialize;

use crate::base::fields::{Field, markdown_table};
use crate::base::stats::rounded;

/// What called the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A packet towards MH.
    Data,
    /// A packet from MH.
    Ack,
    /// The flow's timer.
    Timer,
}

/// What the agent said of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It is kept from FH.
    Drop,
    /// It goes on: no flow is kept for it.
    NoFlow,
}

/// One call of the agent. The fields are described in [`FIELDS`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Step {
    pub kind: Kind,
    pub time_s: f64,
    pub flow: String,
    pub seq: Option<u32>,
    pub bytes: Option<u32>,
    pub flags: String,
    pub sack: Vec<[i64; 2]>,
    pub verdict: Option<Verdict>,
    pub repairs: Vec<i64>,
    pub window_bytes: Option<u64>,
    pub blank_sack: bool,
    pub hold: bool,
    pub released: u32,
    pub mark_ce: bool,
    pub state: Option<State>,
    /// Counts the flows from 1, in the order in which they appear.
    #[serde(skip)]
    pub number: usize,
}

/// Fields of a line, in their order.
pub const FIELDS: [Field; 15] = [
    Field::new(
        "kind",
        "name",
        "`data`: a packet towards MH; `ack`: a packet from MH; `timer`: the flow's timer",
    ),
    Field::new("time_s", "s", "since the first packet that was replayed"),
    Field::new("flow", "text", "FH and port `>` MH and port"),
    Field::new(
        "seq",
        "bytes",
        "of data the sequence number, of an ACK the acknowledgement number, since the flow's first; null for timers, and where no number of FH's was seen yet",
    ),
    Field::new("bytes", "bytes", "payload of the packet; null for timers"),
    Field::new(
        "flags",
        "text",
        "`S` SYN, `F` FIN, `R` RST, as the packet has them",
    ),
    Field::new(
        "sack",
        "list of [bytes, bytes]",
        "SACK blocks of the packet, as `seq`",
    ),
    Field::new(
        "verdict",
        "name",
        "`pass`, `drop` (kept from FH), `no_flow` (passes: no flow is kept for it); null for timers",
    ),
    Field::new(
        "repairs",
        "list of bytes",
        "segments sent again towards MH, as `seq`, in this order",
    ),
    Field::new(
        "window_bytes",
        "bytes",
        "window that is put into the ACK; null if it keeps its own",
    ),
    Field::new("blank_sack", "boolean", "its SACK blocks are overwritten"),
    Field::new(
        "hold",
        "boolean",
        "a copy of the ACK is kept, to be released later",
    ),
    Field::new("released", "ACKs", "copies of the held ACK that go to FH"),
    Field::new("mark_ce", "boolean", "the packet is marked CE"),
    Field::new(
        "state",
        "object",
        "the flow afterwards; null until it has begun",
    ),
];

/// A flow after a call. The fields are described in [`STATE_FIELDS`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct State {
    pub una: i64,
    pub edge: Option<i64>,
    pub outstanding_bytes: u32,
    pub sacked_bytes: u32,
    pub cached_segments: u32,
    pub blocked: Option<[i64; 2]>,
    pub recovery: bool,
    pub held_ms: Option<f64>,
    pub c_bytes: u32,
    pub engaged: bool,
    pub limited: bool,
    pub step: u8,
    pub sojourn_ms: f64,
    pub wired_ms: f64,
    pub gap_ms: f64,
    pub deadline_s: Option<f64>,
}

/// Fields of `state`, in their order.
pub const STATE_FIELDS: [Field; 16] = [
    Field::new(
        "una",
        "bytes",
        "highest acknowledgement number from MH, as `seq`",
    ),
    Field::new(
        "edge",
        "bytes",
        "right edge of the window that FH knows, as `seq`; null if it has got none",
    ),
    Field::new("outstanding_bytes", "bytes", "sent, not acknowledged"),
    Field::new(
        "sacked_bytes",
        "bytes",
        "of these, what MH has by its SACK blocks",
    ),
    Field::new("cached_segments", "segments", "in the flow's cache"),
    Field::new(
        "blocked",
        "[bytes, bytes]",
        "all that cannot be repaired here lies between them, as `seq`; null if nothing",
    ),
    Field::new("recovery", "boolean", "a loss is being repaired"),
    Field::new(
        "held_ms",
        "ms",
        "since the first ACK that is kept back; null if none is",
    ),
    Field::new("c_bytes", "bytes", "C of the window controller"),
    Field::new(
        "engaged",
        "boolean",
        "the window controller limits the sender",
    ),
    Field::new(
        "limited",
        "boolean",
        "FH has used up the window in this interval",
    ),
    Field::new(
        "step",
        "eighths of C",
        "by which C grows next where no queue is left",
    ),
    Field::new(
        "sojourn_ms",
        "ms",
        "newest sample of a segment's time from the agent to MH and back, the queue included; 0: none",
    ),
    Field::new(
        "wired_ms",
        "ms",
        "least round trip of late between the agent and FH; 0: none",
    ),
    Field::new("gap_ms", "ms", "pauses of the hop, smoothed"),
    Field::new(
        "deadline_s",
        "s",
        "when the flow's timer is due, as `time_s`; null: never",
    ),
];

/// A moment of the replay, as lines tell it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// First packet, nanoseconds since 1970.
    pub start_ns: u64,
    /// Now.
    pub now_ns: u64,
}

impl Clock {
    /// Seconds from the start to `at_ns`.
    pub fn seconds(self, at_ns: u64) -> f64 {
        at_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// `seq` relative to `base`; a little before it is negative.
pub fn relative(seq: u32, base: u32) -> i64 {
    match seq.wrapping_sub(base) {
        before if before > u32::MAX - (1 << 24) => i64::from(before as i32),
        after => i64::from(after),
    }
}

fn ms(ns: u64) -> f64 {
    rounded(ns as f64 / 1e6, 6)
}

impl Step {
    /// A call of which nothing is known but when and for which flow.
    pub fn new(kind: Kind, clock: Clock, flow: String, number: usize) -> Self {
        Self {
            kind,
            time_s: clock.seconds(clock.now_ns),
            flow,
            seq: None,
            bytes: None,
            flags: String::new(),
            sack: Vec::new(),
            verdict: (kind != Kind::Timer).then_some(Verdict::NoFlow),
            repairs: Vec::new(),
            window_bytes: None,
            blank_sack: false,
            hold: false,
            released: 0,
            mark_ce: false,
            state: None,
            number,
        }
    }

    /// Enters the packet. `base`: the first of FH's sequence numbers.
    pub fn set_packet(&mut self, segment: &Segment, base: Option<u32>) {
        let flags = [
            (segment.is_syn(), 'S'),
            (segment.is_fin(), 'F'),
            (segment.is_rst(), 'R'),
        ];
        self.flags = flags.iter().filter(|f| f.0).map(|f| f.1).collect();
        self.bytes = Some(segment.payload_bytes);
        let Some(base) = base else { return };
        self.seq = match self.kind {
            Kind::Data => Some(segment.seq.wrapping_sub(base)),
            _ => segment.is_ack().then(|| segment.ack.wrapping_sub(base)),
        };
        if self.kind == Kind::Ack {
            let blocks = segment.sack_blocks().iter();
            self.sack = blocks
                .map(|block| [relative(block.left, base), relative(block.right, base)])
                .collect();
        }
    }

    /// Enters what the agent decided.
    pub fn set_actions(&mut self, actions: &Actions, flow: &Flow, base: u32) {
        if self.kind != Kind::Timer {
            self.verdict = Some(match actions.is_drop() {
                true => Verdict::Drop,
                false => Verdict::Pass,
            });
        }
        let repairs = actions.retransmits().iter();
        self.repairs = repairs.map(|r| relative(r.seq, base)).collect();
        self.window_bytes = (self.kind == Kind::Ack && actions.window != LH_KEEP_WINDOW)
            .then(|| u64::from(actions.window) << flow.raw().conn.wscale_mh);
        self.blank_sack = actions.blank_sack != 0;
        self.hold = actions.hold != 0;
        self.released = actions.emit_held;
        self.mark_ce = actions.mark_ce != 0;
    }

    /// Enters the flow's state after the call.
    pub fn set_state(&mut self, flow: &Flow, deadline_ns: Option<u64>, base: u32, clock: Clock) {
        if flow.has(LH_FLOW_STARTED) {
            self.state = Some(State::of(flow, deadline_ns, base, clock));
        }
    }
}

impl State {
    /// The state of `flow`. `base`: the first of FH's sequence numbers.
    pub fn of(flow: &Flow, deadline_ns: Option<u64>, base: u32, clock: Clock) -> Self {
        let raw: &lh_flow = flow.raw();
        let rel = |seq| relative(seq, base);
        let held_ns = clock.now_ns.saturating_sub(raw.hold.since_ns);
        Self {
            una: rel(raw.una),
            edge: flow.has(LH_FLOW_FWD).then(|| rel(raw.hold.fwd_edge)),
            outstanding_bytes: raw.max.wrapping_sub(raw.una),
            sacked_bytes: raw.delivery.sacked_bytes,
            cached_segments: flow.cached(),
            blocked: flow
                .has(LH_FLOW_BLOCKED)
                .then(|| [rel(raw.cache.blocked_start), rel(raw.cache.blocked_end)]),
            recovery: flow.has(LH_FLOW_RECOVERY),
            held_ms: (flow.is_held() && raw.hold.since_ns != 0).then(|| ms(held_ns)),
            c_bytes: raw.control.c_bytes,
            engaged: raw.control.state != 0,
            limited: raw.control.limited & 1 != 0,
            step: raw.control.step,
            sojourn_ms: ms(raw.queue.recent_ns[0]),
            wired_ms: ms(raw.wired.now_ns),
            gap_ms: ms(raw.queue.gap_ns),
            deadline_s: deadline_ns.map(|at_ns| clock.seconds(at_ns)),
        }
    }
}

/// One line: time, flow, packet, decisions, and the state behind a bar.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Data => "DATA",
            Kind::Ack => "ACK",
            Kind::Timer => "TIMER",
        };
        let mut words = vec![self.packet_text()];
        words.extend(self.decisions());
        words.retain(|word| !word.is_empty());
        write!(
            f,
            "{:11.6} {:>2} {kind:5} {:58}",
            self.time_s,
            self.number,
            words.join("  ")
        )?;
        match &self.state {
            Some(state) => write!(f, " | {state}"),
            None => Ok(()),
        }
    }
}

impl Step {
    fn packet_text(&self) -> String {
        let Some(bytes) = self.bytes else {
            return String::new();
        };
        let mut text = self.seq.map_or("-".to_owned(), |seq| seq.to_string());
        if bytes > 0 || self.kind == Kind::Data {
            text += &format!("+{bytes}");
        }
        if !self.flags.is_empty() {
            text += &format!(" {}", self.flags);
        }
        if !self.sack.is_empty() {
            let blocks = self
                .sack
                .iter()
                .map(|[left, right]| format!("{left}..{right}"));
            text += &format!(" sack {}", blocks.collect::<Vec<_>>().join(","));
        }
        text
    }

    fn decisions(&self) -> Vec<String> {
        let mut words = vec![match self.verdict {
            Some(Verdict::Pass) => "pass".to_owned(),
            Some(Verdict::Drop) => "drop".to_owned(),
            Some(Verdict::NoFlow) => "no flow".to_owned(),
            None => String::new(),
        }];
        if !self.repairs.is_empty() {
            let repairs: Vec<String> = self.repairs.iter().map(i64::to_string).collect();
            words.push(format!("REPAIR {}", repairs.join(",")));
        }
        if let Some(bytes) = self.window_bytes {
            words.push(format!("window {bytes}"));
        }
        for (so, word) in [
            (self.blank_sack, "blank-sack"),
            (self.hold, "hold"),
            (self.mark_ce, "mark-ce"),
        ] {
            if so {
                words.push(word.to_owned());
            }
        }
        if self.released > 0 {
            words.push(format!("release {}", self.released));
        }
        words
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "C {}{}",
            self.c_bytes,
            if self.engaged { "*" } else { "" }
        )?;
        write!(f, " q {:.1} ms, una {}", self.sojourn_ms, self.una)?;
        write!(
            f,
            " out {} sacked {}",
            self.outstanding_bytes, self.sacked_bytes
        )?;
        if let Some([start, end]) = self.blocked {
            write!(f, " blocked {start}..{end}")?;
        }
        if let Some(held_ms) = self.held_ms {
            write!(f, " held {held_ms:.1} ms")?;
        }
        Ok(())
    }
}

/// The counters of the agent at the end. The fields are described in [`COUNTER_FIELDS`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Counters {
    pub kind: &'static str,
    pub time_s: f64,
    pub counters: serde_json::Map<String, serde_json::Value>,
}

/// Fields of the last line, in their order.
pub const COUNTER_FIELDS: [Field; 3] = [
    Field::new("kind", "name", "`counters`"),
    Field::new("time_s", "s", "of the last packet"),
    Field::new(
        "counters",
        "object",
        "the agent's counters, named as in `lasthop status -j`, of all packets up to then",
    ),
];

/// All fields as tables in Markdown, the end of `docs/replay.md`.
pub fn markdown() -> String {
    let parts: [(&str, &[Field]); 3] = [
        ("A line per packet and timer", &FIELDS),
        ("`state`", &STATE_FIELDS),
        ("The last line", &COUNTER_FIELDS),
    ];
    let parts = parts.map(|(title, fields)| format!("### {title}\n\n{}", markdown_table(fields)));
    parts.join("\n")
}
