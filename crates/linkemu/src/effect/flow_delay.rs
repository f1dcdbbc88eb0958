// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! An extra delay per TCP connection, so that connections with different round-trip times share
//! a link: connection number n gets `flow_delays_ns[n mod length]`. The relay numbers them in
//! the order in which it first sees them, in whichever direction. Order is kept within a
//! connection, not between them; whatever is not TCP gets no extra delay.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct FlowDelay {
    delays_ns: Vec<u64>,
    /// Latest delivery of each connection: a delay that shrinks must not reorder it.
    last_delivery_ns: Vec<u64>,
}

pub(super) fn build(config: &DirectionConfig, _: Random) -> Box<dyn Effect> {
    Box::new(FlowDelay {
        delays_ns: config.flow_delays_ns.clone(),
        last_delivery_ns: Vec::new(),
    })
}

impl Effect for FlowDelay {
    fn configure(&mut self, config: &DirectionConfig) {
        if self.delays_ns != config.flow_delays_ns {
            self.delays_ns.clone_from(&config.flow_delays_ns);
        }
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        let Some(flow) = frame.flow.map(|flow| flow as usize) else {
            return;
        };
        if self.delays_ns.is_empty() {
            return;
        }
        passage.delay_ns += self.delays_ns[flow % self.delays_ns.len()];
        if passage.lost {
            return;
        }
        if flow >= self.last_delivery_ns.len() {
            self.last_delivery_ns.resize(flow + 1, 0);
        }
        let last_ns = &mut self.last_delivery_ns[flow];
        passage.delay_ns += last_ns.saturating_sub(passage.delivery_ns());
        *last_ns = passage.delivery_ns();
    }

    fn may_overtake(&self) -> bool {
        !self.delays_ns.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::lossy_frame;
    use super::*;
    use crate::config::Direction;

    fn delivery_ns(effect: &mut dyn Effect, flow: Option<u32>, start_ns: u64) -> u64 {
        let mut passage = Passage::at(start_ns);
        let frame = FrameMeta {
            flow,
            ..lossy_frame(100)
        };
        effect.apply(&frame, &mut passage);
        passage.delivery_ns()
    }

    #[test]
    fn each_connection_in_turn() {
        let config = |delays_ns: &[u64]| DirectionConfig {
            flow_delays_ns: delays_ns.to_vec(),
            ..Default::default()
        };
        let random = Random::new(1, Direction::AToB, "flow_delay");
        let mut effect = build(&config(&[0, 50, 300]), random);
        let flows = [Some(0), Some(1), Some(2), Some(3), Some(4), None];
        let delivered = flows.map(|flow| delivery_ns(effect.as_mut(), flow, 1000));
        assert_eq!(delivered, [1000, 1050, 1300, 1000, 1050, 1000]);
        assert!(effect.may_overtake());
        // Shorter from now on: the connection's own order holds, the others do not wait.
        effect.configure(&config(&[20]));
        let delivered = [0, 2, 2].map(|flow| delivery_ns(effect.as_mut(), Some(flow), 1100));
        assert_eq!(delivered, [1120, 1300, 1300]);
        effect.configure(&config(&[]));
        assert_eq!(delivery_ns(effect.as_mut(), Some(1), 2000), 2000);
        assert!(!effect.may_overtake());
    }
}
