// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! All links of one direction: the one that everybody shares, and one for each station. They run
//! side by side, so a slow station holds up nobody but itself.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::config::{Direction, DirectionConfig};
use crate::frame::{self, FrameMeta};
use crate::label::Label;
use crate::model::{Exit, LinkModel, Verdict};

/// Sets the generators of stations apart; an odd constant of which no two small multiples are
/// alike in any half.
const STATION_SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Number of a link: that of the shared one is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkNumber(usize);

/// The links of one direction. `T` is whatever stands for a frame's bytes.
pub struct Hop<T> {
    links: Vec<LinkModel<T>>,
    by_address: HashMap<IpAddr, LinkNumber>,
    /// Stations are beyond interface `b`: frames towards it carry their address as the
    /// destination, frames from it as the source.
    direction: Direction,
}

impl<T: Send + 'static> Hop<T> {
    /// Idle links.
    pub fn new(config: &DirectionConfig, seed: u64, direction: Direction) -> Self {
        let mut links = vec![LinkModel::new(config, seed, direction)];
        let mut by_address = HashMap::new();
        for (station, number) in config.stations.iter().zip(1..) {
            let own_seed = seed ^ STATION_SEED_STEP.wrapping_mul(number as u64);
            links.push(LinkModel::new(
                &config.of_station(station),
                own_seed,
                direction,
            ));
            let addresses = station.addresses.iter();
            by_address.extend(addresses.map(|address| (*address, LinkNumber(number))));
        }
        Self {
            links,
            by_address,
            direction,
        }
    }

    /// Takes over new settings; the stations and their addresses are the same as before.
    pub fn configure(&mut self, config: &DirectionConfig) {
        let (shared, own) = self.links.split_at_mut(1);
        shared.iter_mut().for_each(|link| link.configure(config));
        for (link, station) in own.iter_mut().zip(&config.stations) {
            link.configure(&config.of_station(station));
        }
    }

    /// The link that a frame takes: its station's, or the shared one.
    pub fn link_of(&self, frame: &[u8]) -> LinkNumber {
        const SHARED: LinkNumber = LinkNumber(0);
        if self.by_address.is_empty() {
            return SHARED;
        }
        let Some((source, destination)) = frame::addresses(frame) else {
            return SHARED;
        };
        let address = match self.direction {
            Direction::AToB => destination,
            Direction::BToA => source,
        };
        self.by_address.get(&address).copied().unwrap_or(SHARED)
    }

    /// A frame reaches its link at `arrival_ns`.
    pub fn push(
        &mut self,
        link: LinkNumber,
        meta: FrameMeta,
        label: Label,
        token: T,
        arrival_ns: u64,
    ) -> Verdict<T> {
        self.links[link.0].push_labelled(meta, label, token, arrival_ns)
    }

    /// The next frame that has left its link by `now_ns`, in order of due time, of what arrived by
    /// `known_ns`: see [`LinkModel::pop_due_of`].
    pub fn pop_due(&mut self, known_ns: u64, now_ns: u64) -> Option<Exit<T>> {
        if let [only] = &mut self.links[..] {
            return only.pop_due_of(known_ns, now_ns);
        }
        let due = |link: &mut LinkModel<T>| link.first_due_ns(known_ns, now_ns);
        let firsts = self.links.iter_mut().enumerate();
        let (_, next) = firsts
            .filter_map(|(number, link)| Some((due(link)?, number)))
            .min()?;
        self.links[next].pop_due_of(known_ns, now_ns)
    }

    /// No frame takes less than this from its arrival to its delivery.
    pub fn least_delay_ns(&self) -> u64 {
        let links = self.links.iter().map(LinkModel::least_delay_ns);
        links.min().unwrap_or(0)
    }

    /// When [`Hop::pop_due`] should be called next; `None` while all links are empty.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.links.iter().filter_map(LinkModel::next_due_ns).min()
    }

    /// Frames that wait for transmission.
    pub fn queue_frames(&self) -> usize {
        self.links.iter().map(LinkModel::queue_frames).sum()
    }

    /// Frames in transmission or on their way.
    pub fn in_flight_frames(&self) -> usize {
        self.links.iter().map(LinkModel::in_flight_frames).sum()
    }
}

#[cfg(test)]
#[path = "hop_tests.rs"]
mod tests;
