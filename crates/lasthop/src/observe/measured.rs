// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What scheme `shadow` has counted on a device since it was attached: of connections that are over as
//! the core has added them up by kind of sender, and of those that go on.

use std::mem::offset_of;
use std::ops::Add;

use anyhow::{Context, Result};
use lasthop_core::bindings::{
    LH_NR_SHADOW_SENDERS, LH_SHADOW_QUEUES, LH_SHADOW_RATE_SHIFT, LH_SHADOW_RATES,
    LH_SHADOW_SENDER_HALVES, LH_SHADOW_SENDER_STEADY, LH_SHADOW_SENDER_UNKNOWN,
    LH_SHADOW_SENDER_YIELDS, lh_device, lh_shadow_device, lh_shadow_sums,
};

use crate::bytes;
use crate::view::View;

/// Where [`Measured::rates`] begins, bytes per second.
pub const RATE_LEAST: f64 = (1u64 << LH_SHADOW_RATE_SHIFT) as f64;

/// What a sender makes of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Halves its window (NewReno).
    Reno,
    /// Goes down to 0.7 of it (CUBIC).
    Cubic,
    /// Hardly yields (BBR).
    Bbr,
    /// Nothing has shown.
    Unknown,
}

impl Sender {
    /// In the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Reno, Self::Cubic, Self::Bbr, Self::Unknown];

    /// Its number in the core.
    fn id(self) -> u32 {
        match self {
            Self::Reno => LH_SHADOW_SENDER_HALVES,
            Self::Cubic => LH_SHADOW_SENDER_YIELDS,
            Self::Bbr => LH_SHADOW_SENDER_STEADY,
            Self::Unknown => LH_SHADOW_SENDER_UNKNOWN,
        }
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Unknown => "unknown",
        }
    }
}

/// Departures towards receivers, and of these losses, whose queue before the hop was so long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// That arrived.
    pub arrived: u64,
    /// That did not.
    pub lost: u64,
}

impl Seen {
    /// All of them.
    pub fn departed(self) -> u64 {
        self.arrived + self.lost
    }

    /// Part that was lost; 0 of nothing.
    pub fn loss(self) -> f64 {
        self.lost as f64 / self.departed().max(1) as f64
    }
}

impl Add for Seen {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            arrived: self.arrived + other.arrived,
            lost: self.lost + other.lost,
        }
    }
}

/// Everything that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// By kind of sender, as numbered in the core.
    pub senders: [lh_shadow_sums; LH_NR_SHADOW_SENDERS as usize],
    /// By queue: below 1 ms, 2 ms, 4 ms and so on.
    pub by_queue: [Seen; LH_SHADOW_QUEUES as usize],
    /// Bytes that came in trains while segments queued without a pause, by the trains' rates: quarters of
    /// an octave from [`RATE_LEAST`] on.
    pub rates: [u64; LH_SHADOW_RATES as usize],
    /// Time with anything under way to anyone, ns.
    pub busy_ns: u64,
    /// Bytes of some segments in a row from senders, by the rate at which they came, in the same places.
    pub bursts: [u64; LH_SHADOW_RATES as usize],
    /// Data that came over the hop, in segments.
    pub back: Seen,
}

impl Default for Measured {
    fn default() -> Self {
        Self::of_ended(&lh_shadow_device::default(), 0)
    }
}

impl Measured {
    /// What the programs have counted by now.
    ///
    /// # Errors
    /// Their maps can't be read.
    pub fn of(view: &View, now_ns: u64) -> Result<Self> {
        let bytes = view.device()?;
        let place = offset_of!(lh_device, shadow);
        let shadow = bytes.get(place..).and_then(bytes::read::<lh_shadow_device>);
        let mut measured = Self::of_ended(&shadow.context("no counts")?, now_ns);
        view.each_flow(|_, entry| {
            measured.senders[entry.flow.sender() as usize] += &entry.flow.shadow.sums;
            Ok(())
        })?;
        Ok(measured)
    }

    fn of_ended(shadow: &lh_shadow_device, now_ns: u64) -> Self {
        let mut by_queue = [Seen::default(); LH_SHADOW_QUEUES as usize];
        for (seen, (arrived, lost)) in by_queue
            .iter_mut()
            .zip(shadow.segs.iter().zip(&shadow.lost))
        {
            *seen = Seen {
                arrived: *arrived,
                lost: not_negative(*lost),
            };
        }
        let busy_now_ns = match shadow.nr_busy {
            0 => 0,
            _ => now_ns.saturating_sub(shadow.busy_from_ns),
        };
        Self {
            senders: shadow.ended,
            by_queue,
            rates: shadow.rates,
            busy_ns: shadow.busy_ns + busy_now_ns,
            bursts: shadow.bursts,
            back: Seen {
                arrived: shadow.back_segs,
                lost: not_negative(shadow.back_lost),
            },
        }
    }

    /// Of one kind of sender.
    pub fn sender(&self, sender: Sender) -> &lh_shadow_sums {
        &self.senders[sender.id() as usize]
    }

    /// Of all senders.
    pub fn all(&self) -> lh_shadow_sums {
        let mut all = lh_shadow_sums::default();
        self.senders.iter().for_each(|sums| all += sums);
        all
    }
}

/// What was booked and taken back by two CPUs at once may be read as less than nothing.
fn not_negative(n: u64) -> u64 {
    (n as i64).max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_counts_too() {
        let shadow = lh_shadow_device {
            busy_ns: 5,
            busy_from_ns: 100,
            nr_busy: 1,
            back_lost: u64::MAX,
            ..lh_shadow_device::default()
        };
        let measured = Measured::of_ended(&shadow, 140);
        assert_eq!(measured.busy_ns, 45);
        assert_eq!(measured.back.lost, 0);
        let idle = lh_shadow_device {
            nr_busy: 0,
            ..shadow
        };
        assert_eq!(Measured::of_ended(&idle, 140).busy_ns, 5);
    }

    #[test]
    fn every_kind_of_sender_has_its_place() {
        let mut ids: Vec<u32> = Sender::ALL.iter().map(|sender| sender.id()).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..LH_NR_SHADOW_SENDERS).collect::<Vec<_>>());
    }
}
