// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A connection, packet by packet, through the BPF programs.

use std::time::Duration;

use anyhow::Result;
use lasthop::monotonic::now_ns;
use lasthop::programs::{Agent, Outcome, Program, Setup, SkbContext};
use lasthop_core::Config;
use lasthop_core::bindings::{LH_ACK, LH_SYN};
use lasthop_core::packet::{Ends, Tcp, option};

/// An agent that may hold ACKs back for an hour.
pub fn agent(config: Config) -> Result<Agent> {
    agent_as(Setup {
        config,
        ..Setup::default()
    })
}

/// The same, set up otherwise as well.
pub fn agent_as(setup: Setup) -> Result<Agent> {
    let agent = Agent::load(&Setup {
        ifindex: 1,
        max_flows: 32_768,
        cache_total_bytes: 512 << 20,
        ..setup
    })?;
    agent.fill()?; // nobody here serves what the programs ask for
    agent.heartbeat(now_ns() + 3_600_000_000_000);
    Ok(agent)
}

/// The programs of the two directions.
pub trait Programs {
    /// One run over a packet.
    fn outcome(&self, program: Program, packet: &[u8], context: &SkbContext) -> Result<Outcome>;

    /// How long the kernel says that a run took.
    fn time(&self, program: Program, packet: &[u8], mark: u32) -> Result<Duration> {
        let context = SkbContext {
            mark,
            ..SkbContext::default()
        };
        Ok(self.outcome(program, packet, &context)?.duration)
    }
}

impl Programs for Agent {
    fn outcome(&self, program: Program, packet: &[u8], context: &SkbContext) -> Result<Outcome> {
        self.run(program, packet, context, 1)
    }
}

fn tcp(flags: u32, options: Vec<u8>) -> Tcp {
    Tcp {
        flags,
        options,
        ethernet: true,
        ..Tcp::default()
    }
}

/// As Linux has them (RFC 7323 appendix A).
fn stamps(own: u32, echo: u32) -> Vec<u8> {
    let mut stamps = vec![1, 1];
    stamps.extend(option::timestamps(own, echo));
    stamps
}

/// The handshake of connection `n`: its SYN, and the answer.
pub fn opens(agent: &dyn Programs, n: u16, sack: bool) -> Result<[Duration; 2]> {
    let ends = Ends::v4(n);
    let mut options = option::wscale(7);
    if sack {
        options.extend(option::sack_ok());
    }
    let syn = tcp(LH_SYN, options.clone()).to_mh(&ends);
    let answer = Tcp {
        ack: 1,
        ..tcp(LH_SYN | LH_ACK, options)
    };
    Ok([
        agent.time(Program::Egress, &syn, 0)?,
        agent.time(Program::Ingress, &answer.to_fh(&ends), 0)?,
    ])
}

/// One connection.
pub struct Talk {
    ends: Ends,
    mss: u32,
    /// Of a packet that FH sends; more than one: a super-packet.
    segments: u32,
    data: Vec<u8>,
    ack: Tcp,
    /// What FH sends next.
    pub next: u32,
}

impl Talk {
    /// Connection `n`, whose segments carry `mss` bytes, after its handshake.
    pub fn new(agent: &dyn Programs, n: u16, mss: u32, sack: bool) -> Result<Self> {
        Self::echoing(agent, n, mss, sack, 2)
    }

    /// The same, whose MH returns `echo` in its timestamps: 1 is what FH stamps its data with, and only
    /// they may be sent again that are no older than what MH has returned (PAWS).
    pub fn echoing(agent: &dyn Programs, n: u16, mss: u32, sack: bool, echo: u32) -> Result<Self> {
        let ends = Ends::v4(n);
        let data = Tcp {
            payload: vec![7; mss as usize],
            ..tcp(LH_ACK, stamps(1, 2))
        }
        .to_mh(&ends);
        opens(agent, n, sack)?;
        let mut talk = Self {
            ends,
            mss,
            segments: 1,
            data,
            ack: tcp(LH_ACK, stamps(1, echo)),
            next: 1,
        };
        talk.acks(agent, 1)?; // its window is scaled
        Ok(talk)
    }

    /// From now on FH sends super-packets of so many segments.
    pub fn in_trains(mut self, segments: u32) -> Self {
        self.segments = segments;
        self.data = Tcp {
            payload: vec![7; (self.mss * segments) as usize],
            ..tcp(LH_ACK, stamps(1, 2))
        }
        .to_mh(&self.ends);
        self
    }

    /// Payload of a packet that FH sends.
    pub fn bytes(&self) -> u32 {
        self.mss * self.segments
    }

    /// FH sends the segment at `seq`. Nobody verifies the checksums of data: only the numbers
    /// move.
    pub fn sends(&mut self, agent: &dyn Programs, seq: u32, mark: u32) -> Result<Duration> {
        self.data[38..42].copy_from_slice(&seq.to_be_bytes());
        let is_train = self.segments > 1;
        let context = SkbContext {
            mark,
            gso_size: if is_train { self.mss } else { 0 },
            gso_segs: if is_train { self.segments } else { 0 },
            ..SkbContext::default()
        };
        Ok(agent
            .outcome(Program::Egress, &self.data, &context)?
            .duration)
    }

    /// FH sends the next segment.
    pub fn goes_on(&mut self, agent: &dyn Programs) -> Result<Duration> {
        let seq = self.next;
        self.next += self.bytes();
        self.sends(agent, seq, 0)
    }

    /// MH acknowledges. Checksums of ACKs that no device has looked at are verified: that is part
    /// of what is measured.
    pub fn acks(&mut self, agent: &dyn Programs, ack: u32) -> Result<Duration> {
        self.ack.ack = ack;
        agent.time(Program::Ingress, &self.ack.to_fh(&self.ends), 0)
    }

    /// The same with up to three SACK blocks behind the timestamps, as Linux has them.
    pub fn tells(
        &mut self,
        agent: &dyn Programs,
        ack: u32,
        blocks: &[(u32, u32)],
    ) -> Result<Duration> {
        let mut options = self.ack.options.clone();
        if !blocks.is_empty() {
            options.extend([1, 1]);
            options.extend(option::sack(blocks));
        }
        let tcp = Tcp {
            ack,
            options,
            ..self.ack.clone()
        };
        agent.time(Program::Ingress, &tcp.to_fh(&self.ends), 0)
    }

    /// The same with SACK blocks and without timestamps, for which there is no room beside four.
    pub fn sacks(
        &mut self,
        agent: &dyn Programs,
        ack: u32,
        blocks: &[(u32, u32)],
    ) -> Result<Duration> {
        let tcp = Tcp {
            options: option::sack(blocks),
            ack,
            ..self.ack.clone()
        };
        agent.time(Program::Ingress, &tcp.to_fh(&self.ends), 0)
    }
}
