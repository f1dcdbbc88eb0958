// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The programs by their names.

/// The programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Packets from MH.
    Ingress,
    /// Packets towards MH.
    Egress,
    /// A flow's timer.
    Kick,
    /// Timers of flows that user space keeps.
    Due,
    /// Forgets flows that are over.
    Sweep,
    /// Shows flows that are in use.
    Show,
    /// Takes a free slot back.
    Give,
    /// Says hello to other agents.
    Say,
    /// Hears what the MAC reports.
    Report,
}

impl Program {
    /// In the object.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingress => "lh_ingress",
            Self::Egress => "lh_egress",
            Self::Kick => "lh_kick",
            Self::Due => "lh_due",
            Self::Sweep => "lh_sweep",
            Self::Show => "lh_show",
            Self::Give => "lh_give",
            Self::Say => "lh_say",
            Self::Report => "lh_report",
        }
    }
}
