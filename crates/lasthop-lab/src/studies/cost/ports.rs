// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a port takes: processors for the agent's programs, by the model.

use serde::Serialize;

use super::model::{Kind, Model, Path};

/// Rates of ports, Gbit/s.
pub const PORTS: [f64; 3] = [10.0, 25.0, 100.0];
/// Bytes of the wire that a segment takes beside its payload: preamble and gap 20, Ethernet 18, IPv4 20,
/// TCP with timestamps 32.
const BESIDE: f64 = 90.0;

/// What goes over a port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// In words.
    pub name: &'static str,
    /// What its packets are like.
    pub data: Kind,
    /// Payload of each segment, bytes.
    pub mss: f64,
    /// Segments for each ACK.
    pub acked: f64,
}

const MSS: f64 = 1448.0;
const SMALL: f64 = 536.0;
const BULK: Kind = Kind {
    segments: 1.0,
    weight: MSS / 1024.0,
    flows: 100.0,
    loss: 0.0,
    forwarded: true,
};

/// Those that the table is about.
pub const MIXES: [Mix; 5] = [
    Mix {
        name: "bulk, GRO merges 16 segments, an ACK for each such packet",
        data: Kind {
            segments: 16.0,
            ..BULK
        },
        mss: MSS,
        acked: 16.0,
    },
    Mix {
        name: "bulk without GRO, an ACK for two segments",
        data: BULK,
        mss: MSS,
        acked: 2.0,
    },
    Mix {
        name: "the same of 25,000 flows",
        data: Kind {
            flows: 25_000.0,
            ..BULK
        },
        mss: MSS,
        acked: 2.0,
    },
    Mix {
        name: "the same of 25,000 flows, 1 % lost",
        data: Kind {
            flows: 25_000.0,
            loss: 0.01,
            ..BULK
        },
        mss: MSS,
        acked: 2.0,
    },
    Mix {
        name: "the same in segments of 536 bytes",
        data: Kind {
            flows: 25_000.0,
            loss: 0.01,
            weight: SMALL / 1024.0,
            ..BULK
        },
        mss: SMALL,
        acked: 2.0,
    },
];

/// What the model says of a mix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Need {
    /// Of which one.
    pub mix: &'static str,
    /// Time of a data packet.
    pub data_ns: f64,
    /// Time of an ACK.
    pub ack_ns: f64,
    /// Processor time per Gbit of the wire.
    pub s_per_gbit: f64,
    /// Processors for each of [`PORTS`], full in one direction.
    pub cores: [f64; 3],
    /// What one processor carries if it does nothing else.
    pub gbit_per_core: f64,
}

impl Need {
    /// Of one mix.
    pub fn of(model: &Model, mix: &Mix) -> Self {
        let data_ns = model.data.ns(&mix.data);
        let ack_ns = model.ack.ns(&Kind {
            segments: mix.acked,
            weight: Path::Ack.weight(mix.mss),
            ..mix.data
        });
        let segments_per_gbit = 1e9 / 8.0 / (mix.mss + BESIDE);
        let ns = segments_per_gbit * (data_ns / mix.data.segments + ack_ns / mix.acked);
        let s_per_gbit = ns / 1e9;
        Self {
            mix: mix.name,
            data_ns,
            ack_ns,
            s_per_gbit,
            cores: PORTS.map(|gbit| gbit * s_per_gbit),
            gbit_per_core: 1.0 / s_per_gbit,
        }
    }

    /// Of all.
    pub fn all(model: &Model) -> Vec<Self> {
        MIXES.iter().map(|mix| Self::of(model, mix)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{TERMS, Terms};
    use super::*;

    #[test]
    fn a_port_of_packets_that_cost_a_microsecond() {
        let flat = Terms {
            ns: std::array::from_fn::<_, TERMS, _>(|i| if i == 0 { 1_000.0 } else { 0.0 }),
            half_flows: 1.0,
        };
        let model = Model {
            data: flat.clone(),
            ack: flat,
            syn: [0.0; 2],
            yardstick: [0.0; 2],
            points: Vec::new(),
            worst: 0.0,
        };
        let [bulk, single, ..] = &Need::all(&model)[..] else {
            panic!("five mixes");
        };
        // 81,274 segments of 1,538 bytes are a Gbit; 1.5 us each.
        assert!((single.s_per_gbit - 0.12191).abs() < 1e-5, "{single:?}");
        assert!((single.cores[0] - 1.2191).abs() < 1e-4);
        assert!((bulk.s_per_gbit * 12.0 - single.s_per_gbit).abs() < 1e-9);
        assert!((single.gbit_per_core * single.s_per_gbit - 1.0).abs() < 1e-12);
    }
}
