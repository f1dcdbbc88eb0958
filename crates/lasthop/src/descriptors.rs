// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How many files may be open: a shell's 1,024 are some twenty devices' maps, links and sockets.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the limit as far as that is possible, to `wanted` at the most; beyond the hard limit root may.
/// @return what it is now.
///
/// # Errors
/// It can't be read.
pub fn raise(wanted: u64) -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= wanted {
        return Ok(soft);
    }
    let raised = [wanted, hard.min(wanted)]
        .into_iter()
        .find(|limit| setrlimit(Resource::RLIMIT_NOFILE, *limit, hard.max(*limit)).is_ok());
    Ok(raised.unwrap_or(soft))
}

/// Raises it to the hard limit.
pub fn raise_to_most() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(io::Error::from)
        .and_then(|(_, hard)| raise(hard));
    match raised {
        Ok(limit) => tracing::debug!("{limit} files may be open"),
        Err(error) => tracing::warn!("how many files may be open: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a shell or a service manager gives is a beginning; and nothing is ever taken away.
    #[test]
    fn the_limit_rises_as_far_as_it_may() {
        let limits = || getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        let (_, hard) = limits();
        setrlimit(Resource::RLIMIT_NOFILE, hard - 1, hard).unwrap();
        assert_eq!(raise(1).unwrap(), hard - 1);
        raise_to_most();
        assert_eq!(limits(), (hard, hard));
    }
}
