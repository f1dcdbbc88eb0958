// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Numbers for TCP connections, in the order in which the relay first sees them, whichever way
//! they go: what `flow_delays_ns` chooses by. Ports alone would not do, since connections may
//! share either of theirs.

use std::collections::HashMap;

use crate::config::{Config, Direction};
use crate::frame::{self, FlowKey};

/// Connections that are told apart, which bounds the memory; later ones have no number, and so no
/// delay of their own.
const MAX_FLOWS: usize = 1 << 16;

/// The connections seen so far. Empty, and without cost, while no direction asks for numbers.
#[derive(Default)]
pub struct FlowTable {
    wanted: bool,
    numbers: HashMap<FlowKey, u32>,
}

impl FlowTable {
    /// A table for these settings.
    pub fn new(config: &Config) -> Self {
        let mut table = Self::default();
        table.configure(config);
        table
    }

    /// Takes over new settings. Counting begins at 0 when numbers are wanted for the first time,
    /// or again after both directions did without.
    pub fn configure(&mut self, config: &Config) {
        let wants = |d| !config.direction(d).flow_delays_ns.is_empty();
        self.wanted = Direction::ALL.into_iter().any(wants);
        if !self.wanted {
            self.numbers = HashMap::new();
        }
    }

    /// Number of the connection that `frame` belongs to; none if it is not TCP, if nobody wants
    /// to know, or if there are too many.
    pub fn number(&mut self, frame: &[u8]) -> Option<u32> {
        if !self.wanted {
            return None;
        }
        let key = frame::flow_key(frame)?;
        let next = self.numbers.len();
        if next >= MAX_FLOWS {
            return self.numbers.get(&key).copied();
        }
        Some(*self.numbers.entry(key).or_insert(next as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ethernet, IPv4 and TCP without payload: 10.0.0.`from` to 10.0.0.`to`.
    fn frame(from: (u8, u16), to: (u8, u16)) -> Vec<u8> {
        let mut frame = vec![0; 14 + 20 + 20];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&40u16.to_be_bytes());
        frame[23] = 6;
        frame[26..30].copy_from_slice(&[10, 0, 0, from.0]);
        frame[30..34].copy_from_slice(&[10, 0, 0, to.0]);
        frame[34..36].copy_from_slice(&from.1.to_be_bytes());
        frame[36..38].copy_from_slice(&to.1.to_be_bytes());
        frame[46] = 5 << 4;
        frame
    }

    fn config(delays_ns: &str) -> Config {
        let text = format!(r#"{{"a":"x","b":"y","b_to_a":{{"flow_delays_ns":{delays_ns}}}}}"#);
        Config::from_json(&text).unwrap()
    }

    #[test]
    fn numbered_in_order_of_appearance_both_ways_alike() {
        let mut table = FlowTable::new(&config("[5]"));
        let (host, server) = ((1, 40_000), (2, 80));
        for (from, to, number) in [
            (host, server, 0),
            ((1, 40_001), server, 1),
            (server, host, 0),
            ((1, 40_002), server, 2),
            ((1, 40_000), (3, 80), 3),
            (server, (1, 40_001), 1),
        ] {
            assert_eq!(table.number(&frame(from, to)), Some(number));
        }
        let mut udp = frame(host, server);
        udp[23] = 17;
        assert_eq!(table.number(&udp), None);
    }

    #[test]
    fn counts_only_on_request_and_within_bounds() {
        let mut table = FlowTable::new(&config("[]"));
        assert_eq!(table.number(&frame((1, 1), (2, 2))), None);
        table.configure(&config("[1,2]"));
        for i in 0..MAX_FLOWS as u32 {
            let from = ((i >> 15) as u8, i as u16 & 0x7fff);
            assert_eq!(table.number(&frame(from, (9, 0x8000))), Some(i));
        }
        assert_eq!(table.number(&frame((8, 1), (9, 0x8000))), None);
        assert_eq!(table.number(&frame((0, 7), (9, 0x8000))), Some(7));
        table.configure(&config("[]"));
        table.configure(&config("[1]"));
        assert_eq!(table.number(&frame((8, 1), (9, 9))), Some(0));
    }
}
