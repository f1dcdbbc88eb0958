// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the machine's other nftables rules have to do with split connections, whose packets end here and are
//! forwarded no more.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// What translates addresses, and the same as targets of iptables that nftables has no words for.
const TRANSLATES: [&str; 4] = ["masquerade", "snat", "dnat", "redirect"];
const TARGETS: [&str; 4] = ["MASQUERADE", "SNAT", "DNAT", "REDIRECT"];
/// After these stands a name, or what became of a packet.
const NAMES: [&str; 4] = ["chain", "jump", "goto", "status"];

/// Refuses a machine with NAT, if the user has not chosen connections, and warns of rules that are passed by.
///
/// # Errors
/// Addresses are translated here.
pub(super) fn check(has_chosen: bool) -> Result<()> {
    let output = Command::new("nft")
        .args(["-t", "list", "ruleset"])
        .stdin(Stdio::null())
        .output();
    // Where nft does not run that is said when our own rules are put up.
    let Ok(output) = output else { return Ok(()) };
    let listing = String::from_utf8_lossy(&output.stdout);
    if !has_chosen && translates(&listing) {
        bail!(
            "this machine translates addresses (NAT), which breaks what is split: leave out by --exclude what it \
             touches, or choose by --match what it does not, or split elsewhere"
        );
    }
    if forbids(&listing) {
        tracing::warn!(
            "netfilter's rules for forwarded packets hold for no split connection: what they forbid, forbid in a \
             prerouting chain of priority raw"
        );
    }
    Ok(())
}

/// Whether a rule translates addresses. Between quotes stand targets, and comments, which may say anything.
fn translates(listing: &str) -> bool {
    listing.lines().any(|line| {
        // A table may have any name, and the words of a family before it.
        if line.starts_with("table ") {
            return false;
        }
        let outside: String = line.split('"').step_by(2).collect();
        let words: Vec<&str> = outside.split_whitespace().collect();
        let is_name = |at: usize| at > 0 && NAMES.contains(&words[at - 1]);
        let is_told = |at| TRANSLATES.contains(&words[at]) && !is_name(at);
        let mut targets = line.split("xt target \"").skip(1);
        (0..words.len()).any(is_told)
            || targets.any(|rest| TARGETS.iter().any(|target| rest.starts_with(target)))
    })
}

/// Whether a chain for forwarded packets has rules, or drops what none is for.
fn forbids(listing: &str) -> bool {
    let mut is_forward = false;
    listing.lines().map(str::trim).any(|line| {
        if line.starts_with("type ") {
            is_forward = line.contains(" hook forward ");
            return is_forward && line.contains("policy drop");
        }
        if line == "}" {
            is_forward = false;
        }
        is_forward && !line.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with a chain of that hook, and one more.
    fn table(head: &str, rule: &str) -> String {
        format!(
            "table inet snat {{\n\tchain dnat {{\n\t\t{head}\n{rule}\t}}\n\n\tchain other {{\n\t\tjump dnat\n\t}}\n}}\n"
        )
    }

    #[test]
    fn nat_is_found() {
        let head = "type nat hook postrouting priority srcnat; policy accept;";
        for rule in [
            "oifname \"wl0\" masquerade",
            "ip saddr 10.0.0.0/8 snat to 192.0.2.1 comment \"so\"",
            "counter packets 0 bytes 0 xt target \"MASQUERADE\"",
            "tcp dport 80 redirect to :3128",
        ] {
            assert!(translates(&table(head, &format!("\t\t{rule}\n"))), "{rule}");
        }
        for rule in [
            "",
            "\t\tct status dnat accept\n",
            "\t\taccept comment \"no masquerade here\"\n",
            "\t\txt target \"TCPMSS\"\n",
        ] {
            assert!(!translates(&table(head, rule)), "{rule}");
        }
    }

    #[test]
    fn rules_for_forwarded_packets_are_found() {
        let accepts = "type filter hook forward priority filter; policy accept;";
        let drops = "type filter hook forward priority filter; policy drop;";
        let input = "type filter hook input priority filter; policy drop;";
        let rule = "\t\ttcp dport 5000 drop\n";
        assert!(!forbids(&table(accepts, "")));
        assert!(forbids(&table(accepts, rule)));
        assert!(forbids(&table(drops, "")));
        assert!(!forbids(&table(input, rule)));
    }
}
