// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the agent, or what takes its place, costs in processor time.

use serde::{Deserialize, Serialize};

use crate::base::stats::rounded;
use crate::bed::cpu::CpuTimes;

/// The fields of a record about processor time; null in simulators.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
#[serde(default)]
pub struct CpuFigures {
    pub process_cpu_s: Option<f64>,
    pub bpf_cpu_s: Option<f64>,
    pub cpu_s_per_gb: Option<f64>,
    pub machine_cpu_s: Option<f64>,
}

impl CpuFigures {
    /// Of what was spent while so much payload was received.
    pub fn new(spent: CpuTimes, bytes: u64) -> Self {
        let s = |ns: u64| rounded(ns as f64 / 1e9, 6);
        let both_ns = spent
            .processes_ns
            .map(|ns| ns + spent.programs_ns.unwrap_or(0));
        // Nanoseconds per byte are seconds per gigabyte.
        let per_gb = |ns: u64| rounded(ns as f64 / bytes as f64, 4);
        Self {
            process_cpu_s: spent.processes_ns.map(s),
            bpf_cpu_s: spent.programs_ns.map(s),
            cpu_s_per_gb: both_ns.filter(|_| bytes > 0).map(per_gb),
            machine_cpu_s: Some(s(spent.machine_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_programs_and_its_daemon_are_added_up() {
        let spent = CpuTimes {
            processes_ns: Some(20_000_000),
            programs_ns: Some(30_000_000),
            machine_ns: 4_000_000_000,
        };
        let figures = CpuFigures::new(spent, 25_000_000);
        assert_eq!(figures.process_cpu_s, Some(0.02));
        assert_eq!(figures.bpf_cpu_s, Some(0.03));
        assert_eq!(figures.cpu_s_per_gb, Some(2.0));
        assert_eq!(figures.machine_cpu_s, Some(4.0));
        assert_eq!(CpuFigures::new(spent, 0).cpu_s_per_gb, None);
    }

    #[test]
    fn a_proxy_has_no_programs_and_nobody_has_nothing() {
        let proxy = CpuTimes {
            processes_ns: Some(1_000_000),
            ..CpuTimes::default()
        };
        let figures = CpuFigures::new(proxy, 1_000_000);
        assert_eq!((figures.bpf_cpu_s, figures.cpu_s_per_gb), (None, Some(1.0)));
        let nobody = CpuFigures::new(CpuTimes::default(), 1_000_000);
        assert_eq!((nobody.process_cpu_s, nobody.cpu_s_per_gb), (None, None));
        assert_eq!(nobody.machine_cpu_s, Some(0.0));
    }
}
