// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! PEPsal (Caini, Firrincieli and Lacamera 2007), where it is installed: what brings connections to
//! it, which it leaves to its users.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::base::interrupt;
use crate::bed::namespace::Namespace;
use crate::bed::process::{self, Managed};

/// Names its executable, before any in PATH.
pub const VARIABLE: &str = "LASTHOP_PEPSAL";
/// Its executable's name in PATH.
const BINARY: &str = "pepsal";
const PORT: u16 = 5000;
/// It stays in the foreground without more.
pub(super) const ARGUMENTS: [&str; 2] = ["-p", "5000"];
const READY_PATIENCE: Duration = Duration::from_secs(10);
pub(super) const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// A listening socket in /proc/net/tcp.
const LISTENS: &str = "0A";

/// Finds it.
///
/// # Errors
/// It is nowhere; the message says how to name it.
pub(super) fn find() -> Result<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    if let Some(path) = named {
        match path.is_file() {
            true => return Ok(path),
            false => bail!("{VARIABLE}: there is no file {}", path.display()),
        }
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(BINARY))
        .find(|candidate| candidate.is_file())
        .with_context(|| {
            format!("--scheme pepsal: no {BINARY} in PATH: install it, or name it by {VARIABLE}")
        })
}

/// Waits until it listens, and brings it the connections that this host forwards, from both of
/// their ends (TPROXY). The rules go with the namespace.
pub(super) fn redirect(namespace: &Namespace, pepsal: &mut Managed) -> Result<()> {
    let deadline = Instant::now() + READY_PATIENCE;
    while !listens(namespace)? {
        interrupt::check()?;
        pepsal.check_running()?;
        if Instant::now() >= deadline {
            bail!("{BINARY} does not listen on port {PORT}");
        }
        thread::sleep(interrupt::POLL);
    }
    for line in [
        "ip rule add fwmark 1 lookup 100",
        "ip route add local 0.0.0.0/0 dev lo table 100",
        // Its own connections to the servers are this host's: what comes for them is not redirected.
        "iptables -w -t mangle -A PREROUTING -p tcp -m addrtype --dst-type LOCAL -j ACCEPT",
        "iptables -w -t mangle -A PREROUTING -p tcp -j TPROXY --on-port 5000 --tproxy-mark 1",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        process::output(Some(namespace), &words).context("bringing connections to PEPsal")?;
    }
    Ok(())
}

fn listens(namespace: &Namespace) -> Result<bool> {
    // /proc/net is that of the process's first thread, which is elsewhere.
    let table = namespace.run(|| fs::read_to_string("/proc/thread-self/net/tcp"))?;
    Ok(is_listed(&table.context("/proc/net/tcp")?))
}

/// Whether a table of sockets has a listener on the port.
fn is_listed(table: &str) -> bool {
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, state) = (words.next(), words.nth(1));
        local.is_some_and(|local| local.ends_with(&format!(":{PORT:04X}")))
            && state == Some(LISTENS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_listener_is_found_in_the_table_of_sockets() {
        let line = |port: &str, state: &str| {
            format!("   0: 00000000:{port} 00000000:0000 {state} 00000000:00000000 00:00000000\n")
        };
        let head = "  sl  local_address rem_address   st tx_queue rx_queue\n";
        assert!(is_listed(&(head.to_owned() + &line("1388", "0A"))));
        assert!(!is_listed(&(head.to_owned() + &line("1388", "01"))));
        assert!(!is_listed(&(head.to_owned() + &line("1389", "0A"))));
    }
}
