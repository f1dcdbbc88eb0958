// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A test bed's wire and lossy hops while it runs: what their emulators count, and what changes.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::bed::emulator::{Emulator, EmulatorStats};
use crate::bed::testbed::TestBed;
use crate::data::host::Host;
use crate::data::outage::Outage;

/// They go to the emulator as one line, which it limits to 64 KiB.
const MAX_OUTAGES: usize = 1500;

impl TestBed {
    /// Counters of the wire's emulator and of those of all hops between FH and MH.
    ///
    /// # Errors
    /// One does not answer.
    pub fn emulator_stats(&self) -> Result<EmulatorStats> {
        let further = self.hop_emulators()?.into_iter().skip(1);
        Ok(EmulatorStats {
            wan: self.emulator(Host::Wan.name())?.stats()?,
            air: self.emulator(Host::Air.name())?.stats()?,
            further: further.map(Emulator::stats).collect::<Result<_>>()?,
        })
    }

    /// The emulators of the hops between FH and MH, the first base station's first.
    fn hop_emulators(&self) -> Result<Vec<&Emulator>> {
        let hops = self.topology().hops().into_iter();
        hops.map(|hop| self.emulator(&hop.emulator)).collect()
    }

    /// Changes one direction of the first lossy hop: `{"dir": "a_to_b", "loss": 0.02}`, `a_to_b` being
    /// downstream.
    ///
    /// # Errors
    /// The emulator does not answer, or refuses.
    pub fn set_air(&self, change: &Value) -> Result<()> {
        self.emulator(Host::Air.name())?.set(change)
    }

    /// Schedules an outage of all lossy hops in both directions, its times counted from `zero`.
    /// A periodic one comes back for as long as `horizon`.
    ///
    /// # Errors
    /// More outages than an emulator takes, or it does not answer.
    pub fn schedule_outage(&self, outage: Outage, zero: Instant, horizon: Duration) -> Result<()> {
        for air in self.hop_emulators()? {
            let elapsed_ns = air.stats()?.elapsed_ns;
            let zero_ns = elapsed_ns.saturating_sub(zero.elapsed().as_nanos() as u64);
            let outages_ns: Vec<(u64, u64)> = outage
                .intervals_ns(horizon.as_nanos() as u64)
                .take(MAX_OUTAGES + 1)
                .map(|(start_ns, end_ns)| (start_ns + zero_ns, end_ns + zero_ns))
                .collect();
            if outages_ns.len() > MAX_OUTAGES {
                bail!(
                    "--outage: more than {MAX_OUTAGES} outages in {} s: choose a longer period or a shorter run",
                    horizon.as_secs()
                );
            }
            for dir in linkemu::Direction::ALL {
                air.set(&json!({"dir": dir, "outages_ns": outages_ns}))?;
            }
        }
        Ok(())
    }
}
