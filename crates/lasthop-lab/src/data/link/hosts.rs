// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the receivers make of the link.

use linkemu::StationConfig;

use super::LinkOptions;
use crate::data::hosts::in_turn;
use crate::data::topology::{self, Family};
use crate::data::way::Way;

impl LinkOptions {
    /// Rate of one host's link; of the common one if they share it.
    pub fn host_rate_bps(&self, host: usize, way: Way) -> u64 {
        match (way, self.return_path.rate_up_bps, self.hosts.rate_bps(host)) {
            (Way::Up, Some(rate_bps), Some(_)) | (_, _, Some(rate_bps)) => rate_bps,
            (_, _, None) => self.mean_rate_bps(way),
        }
    }

    /// Share of the frames that are lost at random between BS and one host.
    pub fn host_loss(&self, host: usize, way: Way) -> f64 {
        let own = in_turn(&self.hosts.host_loss, host);
        match (way, self.loss_up) {
            (Way::Up, Some(loss)) => loss,
            _ => own.unwrap_or(self.loss),
        }
    }

    /// Packets that may wait for one host; on the common link if they share it.
    pub fn host_queue_packets(&self, host: usize, way: Way) -> u64 {
        let own = match (way, self.return_path.queue_up) {
            (Way::Up, Some(queue)) => Some(queue),
            _ => in_turn(&self.hosts.host_queue, host),
        };
        let queue = own.unwrap_or(self.queue);
        queue.packets(self.host_rate_bps(host, way), self.rtt_ns)
    }

    /// Share of the frames that the hop loses at random: the mean over the hosts.
    pub fn mean_random_loss(&self, way: Way) -> f64 {
        let hosts = self.hosts.count();
        let losses = (0..hosts).map(|host| self.host_loss(host, way));
        losses.sum::<f64>() / hosts as f64
    }

    /// Packets that may wait at the hop, for all hosts together.
    pub fn all_queue_packets(&self, way: Way) -> u64 {
        match self.hosts.have_links() {
            true => (0..self.hosts.count())
                .map(|host| self.host_queue_packets(host, way))
                .sum(),
            false => self.queue_packets_of(way),
        }
    }

    /// The emulator's stations; none if all hosts share the hop.
    pub fn stations(&self, way: Way) -> Vec<StationConfig> {
        if !self.hosts.have_links() {
            return Vec::new();
        }
        let station = |host| StationConfig {
            addresses: [Family::V4, Family::V6]
                .map(|family| topology::mobile_address(host, family))
                .to_vec(),
            rate_bps: Some(self.host_rate_bps(host, way)),
            loss: in_turn(&self.hosts.host_loss, host).map(|_| self.host_loss(host, way)),
            queue_frames: Some(self.host_queue_packets(host, way) as usize),
        };
        (0..self.hosts.count()).map(station).collect()
    }
}
