// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the place of the wired end makes of the link.

use anyhow::{Result, bail};

use super::LinkOptions;
use crate::data::host::Host;
use crate::data::sender::Sender;
use crate::data::way::Way;

impl LinkOptions {
    /// Whether a host has an end of transfers, and so the TCP settings of the ends.
    pub fn is_end(&self, host: Host) -> bool {
        host == Host::Mh || host == Host::Fh || host == self.sender.host()
    }

    /// The host that sends in one direction.
    pub fn sender_host(&self, way: Way) -> Host {
        match way {
            Way::Down => self.sender.host(),
            Way::Up => way.sender(),
        }
    }

    /// Unloaded round trip between the ends.
    pub fn path_rtt_ns(&self) -> u64 {
        match self.sender {
            Sender::Fh => self.rtt_ns,
            Sender::Bs => self.local_rtt_ns,
        }
    }

    /// What the wire lets through in bit/s, if the transfers cross it.
    pub fn wired_limit_bps(&self) -> f64 {
        match self.sender {
            Sender::Fh => self.wired_rate_bps as f64,
            Sender::Bs => f64::INFINITY,
        }
    }

    /// Checks what a sender beyond no wire can't have.
    ///
    /// # Errors
    /// Round trips per flow, which the wired part makes.
    pub(crate) fn check_sender(&self) -> Result<()> {
        if self.sender == Sender::Bs && !self.variation.flow_rtt_ns.is_empty() {
            bail!("--sender bs: --flow-rtt lies on the wire, which is not crossed: leave it out");
        }
        Ok(())
    }
}
