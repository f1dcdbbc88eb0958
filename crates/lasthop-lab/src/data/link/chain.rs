// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What several lossy hops in a row make of the link.

use anyhow::{Result, bail};

use super::LinkOptions;
use crate::base::units;
use crate::data::sender::Sender;

impl LinkOptions {
    /// Checks what goes with one lossy hop alone, and that the hops fit into the round trip.
    ///
    /// # Errors
    /// It names the option, and what to do.
    pub(super) fn check_chain(&self) -> Result<()> {
        let hops = self.hops;
        if hops == 1 {
            return Ok(());
        }
        if self.hosts.count() > 1 || self.hosts.have_links() {
            bail!("--hops {hops}: --hosts and --host-rate are for one hop: leave them out");
        }
        if self.sender == Sender::Bs {
            bail!("--hops {hops}: --sender bs would begin behind the wire: use fh");
        }
        let hops_ns = u64::from(hops).saturating_mul(self.local_rtt_ns);
        if hops_ns > self.rtt_ns {
            bail!(
                "--hops {hops}: --local-rtt {} on each is longer than --rtt {}: give --rtt {} or more",
                units::show_duration(self.local_rtt_ns),
                units::show_duration(self.rtt_ns),
                units::show_duration(hops_ns)
            );
        }
        Ok(())
    }

    /// For people; empty for one hop.
    pub(super) fn chain_summary(&self) -> String {
        match self.hops {
            1 => String::new(),
            hops => format!(" on each of {hops} hops"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::data::emulation::configs;
    use crate::data::topology::Topology;
    use crate::data::words::link;

    #[test]
    fn each_hop_has_its_part_of_the_round_trip() {
        let five = link("--hops 5 --rtt 50ms --local-rtt 1ms --mac 802.11a --queue 100").unwrap();
        assert!(
            five.summary()
                .contains("50ms (1ms local on each of 5 hops)")
        );
        let all = configs(&Topology::of(1, five.hops), &five).unwrap();
        let delays_ns: Vec<u64> = all.iter().map(|(_, c)| c.b_to_a.delay_ns).collect();
        assert_eq!(delays_ns[0], 22_500_000);
        assert_eq!(delays_ns[1..], [500_000; 5]);
        for (name, config) in &all[1..] {
            config.validate().unwrap();
            assert_eq!(config.mac, five.mac, "{name} has a channel of its own");
            assert_eq!(config.a_to_b.queue_frames, 100);
        }
        let mut seeds: Vec<u64> = all.iter().map(|(_, c)| c.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 6);
        assert!(!link("").unwrap().summary().contains("hops"));
    }

    #[test]
    fn what_goes_with_one_hop_alone_is_refused() {
        for (words, hint) in [
            ("--hops 3 --hosts 2", "--hosts"),
            ("--hops 2 --host-rate 5mbit", "--host-rate"),
            ("--hops 2 --sender bs", "use fh"),
            ("--hops 3 --rtt 25ms", "--rtt 30ms"),
            ("--hops 0", "1..=9"),
            ("--hops 10", "1..=9"),
        ] {
            let error = link(words).unwrap_err();
            assert!(error.contains(hint), "{words}: {error}");
        }
        link("--hops 3 --rtt 30ms --hosts 1").unwrap();
    }
}
