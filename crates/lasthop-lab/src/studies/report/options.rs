// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of `report`.

use std::path::PathBuf;

use crate::studies::experiment::options::DEFAULT_OUT;

/// All options of `report`.
#[derive(Debug, Clone, clap::Args)]
pub struct ReportOptions {
    /// Directory that `run` wrote
    #[arg(value_name = "DIR", default_value = DEFAULT_OUT)]
    pub directory: PathBuf,
}
