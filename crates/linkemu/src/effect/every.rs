// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Every N-th frame is lost: for tests that must know which frames are missing.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct Every {
    loss_every: u64,
    /// Lossy frames since the last one that was lost here.
    since_loss: u64,
}

pub(super) fn build(config: &DirectionConfig, _: Random) -> Box<dyn Effect> {
    Box::new(Every {
        loss_every: config.loss_every,
        since_loss: 0,
    })
}

impl Effect for Every {
    fn configure(&mut self, config: &DirectionConfig) {
        // Counting starts again with each new period, else the first loss after a change would
        // depend on the traffic before it.
        if self.loss_every != config.loss_every {
            *self = Every {
                loss_every: config.loss_every,
                since_loss: 0,
            };
        }
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        if self.loss_every == 0 || !frame.lossy {
            return;
        }
        self.since_loss += 1;
        if self.since_loss == self.loss_every {
            self.since_loss = 0;
            passage.lost = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lost_of;
    use super::*;
    use crate::config::Direction;

    #[test]
    fn loses_exactly_the_nth() {
        let config = |loss_every| DirectionConfig {
            loss_every,
            ..Default::default()
        };
        let mut effect = build(&config(3), Random::new(1, Direction::AToB, "every"));
        let lost = lost_of(effect.as_mut(), 7, 100);
        assert_eq!(lost, [false, false, true, false, false, true, false]);
        effect.configure(&config(0));
        assert!(!lost_of(effect.as_mut(), 10, 100).contains(&true));
        effect.configure(&config(1));
        assert!(!lost_of(effect.as_mut(), 10, 100).contains(&false));
    }
}
