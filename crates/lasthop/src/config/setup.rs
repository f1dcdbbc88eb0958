// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From the file's keys to what the programs are loaded with.

use anyhow::Result;
use lasthop_core::bindings::LH_MESSAGE_PORT;

use super::file::{File, Profile, scheme_id};
use crate::memory::{Asked, Budget, Part, Room};
use crate::programs::Setup;
use crate::units;

impl File {
    /// What the programs of a device are loaded with, but for the device. `room`: what there is
    /// for its maps.
    ///
    /// # Errors
    /// As [`File::setup_within`], or more memory than there is.
    pub fn setup(&self, scheme: &str, room: &Room) -> Result<Setup> {
        let asked = self.memory();
        let parts = Budget::new(&asked, *room).divide(&[asked])?;
        self.setup_within(scheme, &parts[0])
    }

    /// The same with what the device gets of the memory of all.
    ///
    /// # Errors
    /// A scheme that isn't there, or a bad rule.
    pub fn setup_within(&self, scheme: &str, part: &Part) -> Result<Setup> {
        let mut config = self.config();
        config.scheme = scheme_id(scheme)?;
        let base = Setup::default();
        // ns-2's maxbufs: 100 packets.
        let flow_default = match self.profile {
            Some(Profile::Ns2) => 100 * 2048,
            _ => base.cache_flow_bytes,
        };
        let rules = self.matches.iter().map(|text| units::rule(text, false));
        let rules = rules.chain(self.exclude.iter().map(|text| units::rule(text, true)));
        Ok(Setup {
            config,
            mark: self.mark.unwrap_or(base.mark),
            priority: self.priority.unwrap_or(base.priority),
            max_flows: part.max_flows,
            cache_total_bytes: part.cache_total_bytes,
            cache_flow_bytes: self.cache_flow_bytes.unwrap_or(flow_default),
            rules: rules
                .collect::<Result<_, _>>()
                .map_err(anyhow::Error::msg)?,
            // No key, no messages.
            port: match self.key {
                Some(_) => self.port.unwrap_or(LH_MESSAGE_PORT as u16),
                None => 0,
            },
            ..base
        })
    }

    /// Sizes that it asks for.
    pub fn memory(&self) -> Asked {
        Asked {
            profile: self.memory_profile,
            memory_bytes: self.memory_bytes,
            max_flows: self.max_flows,
            cache_total_bytes: self.cache_total_bytes,
        }
    }
}
