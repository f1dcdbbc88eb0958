// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Programs of the distribution that pages need.

use std::path::PathBuf;

use anyhow::{Result, anyhow};

use crate::data::page::{PageOptions, Protocol};

/// What serves pages.
pub const SERVER_TOOL: &str = "nginx";

/// What makes the server's certificate.
pub const CERTIFICATE_TOOL: &str = "openssl";

/// What fetches a page.
pub const CLIENT_TOOL: &str = "curl";

/// Where a user's `PATH` may not lead, but root's does.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Finds a program of the distribution that pages need.
///
/// # Errors
/// It is not installed; the message says what to install.
pub fn find_tool(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| {
            anyhow!(
                "--page needs {name}: `scripts/setup.sh run` installs it, or the package {name}"
            )
        })
}

/// Finds out what is missing, before a long run fails on it.
///
/// # Errors
/// A tool that is not installed; the message says what to install.
pub fn check_tools(options: &PageOptions) -> Result<()> {
    let tools: &[&str] = match (options.page, options.protocol) {
        (false, _) => &[],
        (true, Protocol::Http1) => &[SERVER_TOOL, CLIENT_TOOL],
        (true, Protocol::Http2) => &[SERVER_TOOL, CLIENT_TOOL, CERTIFICATE_TOOL],
    };
    tools.iter().try_for_each(|tool| find_tool(tool).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_its_remedy() {
        let error = find_tool("no-such-server").unwrap_err().to_string();
        assert!(error.contains("no-such-server") && error.contains("setup.sh"));
        assert_eq!(error.lines().count(), 1);
    }
}
