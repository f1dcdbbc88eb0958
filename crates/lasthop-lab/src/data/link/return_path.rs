// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the return path makes of the link.

use anyhow::{Result, bail};

use super::LinkOptions;
use crate::data::queue::Queue;
use crate::data::way::Way;

impl LinkOptions {
    /// Checks what the return path's options do not know of the others.
    ///
    /// # Errors
    /// A rate besides a wave or a trace.
    pub(super) fn check_return_path(&self) -> Result<()> {
        let varies = self.variation.mean_rate_bps(Way::Up).is_some();
        if self.return_path.rate_up_bps.is_some() && varies {
            bail!("--rate-up: --rate-wave and --rate-trace-up set that rate, too: leave one out");
        }
        Ok(())
    }

    /// Rate of the lossy hop in one direction while nothing varies it; of all hosts together if
    /// each has a link of its own.
    pub fn constant_rate_bps(&self, way: Way) -> u64 {
        match (way, self.return_path.rate_up_bps) {
            (Way::Up, Some(rate_bps)) if self.hosts.have_links() => {
                rate_bps * self.hosts.count() as u64
            }
            (Way::Up, Some(rate_bps)) => rate_bps,
            _ => self.nominal_rate_bps(),
        }
    }

    /// Limit of the queue in one direction, before it is told the rate.
    pub(crate) fn queue_of(&self, way: Way) -> Queue {
        match (way, self.return_path.queue_up) {
            (Way::Up, Some(queue)) => queue,
            _ => self.queue,
        }
    }

    /// Packets that may wait on the hop's common link in one direction.
    pub fn queue_packets_of(&self, way: Way) -> u64 {
        self.queue_of(way)
            .packets(self.constant_rate_bps(way), self.rtt_ns)
    }

    /// What the emulator lets one ACK stand for; 0: ACKs are not thinned.
    pub fn ack_thin(&self, way: Way) -> u32 {
        match way {
            Way::Up => self.return_path.ack_thin.unwrap_or(0),
            Way::Down => 0,
        }
    }

    /// Deliveries come at multiples of this in one direction; 0: at any time.
    pub fn batch_ns(&self, way: Way) -> u64 {
        match (way, self.return_path.batch_up_ns) {
            (Way::Up, Some(batch_ns)) => batch_ns,
            _ => self.variation.batch_ns,
        }
    }
}
