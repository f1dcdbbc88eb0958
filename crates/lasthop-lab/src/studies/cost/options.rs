// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of `bench-report`.

use std::path::PathBuf;

/// All options of `bench-report`.
#[derive(Debug, Clone, clap::Args)]
pub struct BenchReportOptions {
    /// Directory with packet.jsonl, for forwarding.jsonl, model.json and index.html
    #[arg(value_name = "DIR", default_value = "results/bench")]
    pub directory: PathBuf,

    /// One round of a second of each transfer, to see that it works
    #[arg(long)]
    pub short: bool,

    /// Measure nothing: make the page of what the directory holds
    #[arg(long = "page-only", conflicts_with = "short")]
    pub page_only: bool,
}

impl BenchReportOptions {
    /// Rounds, and seconds of a transfer.
    pub(super) fn effort(&self) -> (u32, u32) {
        if self.short { (1, 1) } else { (3, 3) }
    }
}
