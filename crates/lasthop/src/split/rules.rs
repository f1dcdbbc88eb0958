// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What sends packets of split connections to this machine's own sockets: a table of nftables and a
//! route by mark, the kernel's TPROXY. Nothing here holds traffic up when the proxy is gone: its
//! queue is bypassed then, and no socket takes a packet.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::{LH_RULE_EXCLUDE, lh_rule};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::route::{
    RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::netlink;

/// Name of the table, of the family inet.
const TABLE: &str = "lasthop_split";
/// The mark by which packets are delivered here, in the bits that are ours: "lh" in ASCII.
const MARK: u32 = 0x6c68_0000;
/// The mark of a SYN whose far side has answered.
pub(super) const CONNECTED: u32 = 0x6c68_0001;
/// The mark of a SYN that waits, where nftables has no `queue` of its own (kernels without NFT_QUEUE).
const CHOSEN: u32 = 0x6c68_0002;
/// Number of the netfilter queue and of the routing table.
pub(super) const NUMBER: u16 = 0x6c68;
/// Of its rules: before those of who has policy routing, behind that of the own addresses.
const PRIORITIES: [u32; 3] = [1, 2, 3];
/// The loopback device, first in every network namespace.
const LOOPBACK: u32 = 1;

/// What the rules are made of.
pub(super) struct Plan<'a> {
    /// Devices that face the lossy link.
    pub(super) devices: &'a [String],
    /// Which connections, as for `attach`.
    pub(super) rules: &'a [lh_rule],
    /// Ports of the listeners, IPv4 and IPv6.
    pub(super) ports: [u16; 2],
}

impl Plan<'_> {
    /// The table that takes new connections, and delivers those that are split.
    fn table(&self, queue: &str) -> String {
        let devices: Vec<String> = self
            .devices
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect();
        let devices = devices.join(", ");
        let [v4, v6] = self.ports;
        format!(
            "table inet {TABLE} {{
{sockets}
  chain syns {{
    type filter hook prerouting priority -151; policy accept;
    meta l4proto != tcp return
    tcp flags & (fin | syn | rst | ack) != syn return
    tcp sport {{ {v4}, {v6} }} return
    tcp dport {{ {v4}, {v6} }} return
    fib daddr type {{ local, broadcast, multicast }} return
    iifname {{ {devices} }} jump choose
    fib daddr . mark oifname {{ {devices} }} jump choose
  }}
  chain choose {{
{chosen}  }}
  chain divert {{
    type filter hook prerouting priority -149; policy accept;
    meta mark {CHOSEN:#x} meta mark set 0
    meta mark != {CONNECTED:#x} return
    meta nfproto ipv4 meta l4proto tcp tproxy ip to :{v4} meta mark set {MARK:#x} accept
    meta nfproto ipv6 meta l4proto tcp tproxy ip6 to :{v6} meta mark set {MARK:#x} accept
  }}
}}
",
            sockets = self.sockets(),
            chosen = self.chosen(queue),
        )
    }

    /// Packets that a transparent socket waits for. A SYN takes the way of new connections: an old
    /// connection's last wait (TIME-WAIT) is ended there. Our listeners have no address and so would
    /// take whatever goes to their ports: connections with one of these are nobody's here. (nftables'
    /// `socket wildcard` tells, but not of a connection that is half open.) ICMP errors go to the
    /// socket whose packet they quote: without them it would not learn the path's MTU.
    fn sockets(&self) -> String {
        let [v4, v6] = self.ports;
        format!(
            "  chain sockets {{
    type filter hook prerouting priority -152; policy accept;
    tcp dport {{ {v4}, {v6} }} return
    tcp flags & (fin | syn | rst | ack) != syn socket transparent 1 meta mark set {MARK:#x} accept
    meta l4proto {{ icmp, icmpv6 }} socket transparent 1 socket wildcard 0 meta mark set {MARK:#x} accept
  }}"
        )
    }

    /// Those that `--match` and `--exclude` leave go to the queue.
    fn chosen(&self, queue: &str) -> String {
        let mut lines = String::new();
        let (without, with): (Vec<_>, Vec<_>) = self
            .rules
            .iter()
            .partition(|rule| rule.action == LH_RULE_EXCLUDE);
        for rule in without {
            for end in ends(rule) {
                let _ = writeln!(lines, "    {end} return");
            }
        }
        for rule in &with {
            for end in ends(rule) {
                let _ = writeln!(lines, "    {end} {queue}");
            }
        }
        if with.is_empty() {
            let _ = writeln!(lines, "    {queue}");
        }
        lines
    }
}

/// A rule for the connection's source and one for its destination.
fn ends(rule: &lh_rule) -> [String; 2] {
    ["s", "d"].map(|end| {
        let mut words = Vec::new();
        match rule.family {
            4 => {
                let [a, b, c, d, ..] = rule.addr;
                let address = Ipv4Addr::new(a, b, c, d);
                words.push(format!("ip {end}addr {address}/{}", rule.prefix_bits));
            }
            6 => {
                let address = Ipv6Addr::from(rule.addr);
                words.push(format!("ip6 {end}addr {address}/{}", rule.prefix_bits));
            }
            _ => {}
        }
        if rule.port != 0 {
            words.push(format!("tcp {end}port {}", rule.port));
        }
        words.join(" ")
    })
}

/// The rules while they stand. Dropping them takes them away.
pub(super) struct Standing {
    /// The queue is by these, for want of nftables' own.
    iptables: bool,
    /// What stays when no more connections are taken.
    sockets: String,
}

impl Standing {
    /// Puts them up, in place of what a proxy has left that was killed.
    pub(super) fn up(plan: &Plan) -> Result<Self> {
        let mut standing = Self {
            iptables: false,
            sockets: plan.sockets(),
        };
        let own = format!("queue flags bypass to {NUMBER}");
        if let Err(error) = nft(&(replace() + &plan.table(&own))) {
            tracing::debug!("{error:#}; by iptables");
            nft(&(replace() + &plan.table(&format!("meta mark set {CHOSEN:#x}"))))?;
            standing.iptables = true;
            forget_iptables();
            iptables("-A").with_context(|| format!("{error:#}, and without"))?;
        }
        for family in families() {
            add(RouteNetlinkMessage::NewRoute(route(family)))?;
            for rule in routing(family) {
                add(RouteNetlinkMessage::NewRule(rule))?;
            }
        }
        Ok(standing)
    }

    /// Takes no more connections; those that are split stay.
    pub(super) fn close(&self) -> Result<()> {
        nft(&format!(
            "{}table inet {TABLE} {{\n{}\n}}\n",
            replace(),
            self.sockets
        ))
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if let Err(error) = nft(&replace()) {
            tracing::warn!("{error:#}");
        }
        if self.iptables {
            forget_iptables();
        }
        for family in families() {
            // As they go, nothing is left that would go to a rule that is not there.
            let rules = routing(family).into_iter().rev();
            let rules = rules.map(RouteNetlinkMessage::DelRule);
            let route = RouteNetlinkMessage::DelRoute(route(family));
            for message in rules.chain([route]) {
                if let Err(error) = netlink::request(NETLINK_ROUTE, 0, message) {
                    tracing::debug!("taking a route back: {error}");
                }
            }
        }
    }
}

/// Appends (`-A`) or deletes (`-D`) the rule that queues what was chosen.
fn iptables(verb: &str) -> Result<()> {
    let (mark, number) = (format!("{CHOSEN:#x}"), NUMBER.to_string());
    let programs = ["iptables", "ip6tables"];
    for program in &programs[..families().len()] {
        let words = [
            "-w",
            "-t",
            "mangle",
            verb,
            "PREROUTING",
            "-m",
            "mark",
            "--mark",
            &mark,
            "-j",
            "NFQUEUE",
            "--queue-num",
            &number,
            "--queue-bypass",
        ];
        let output = Command::new(program)
            .args(words)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("{program}: cannot run it; is iptables installed?"))?;
        if !output.status.success() {
            bail!(
                "{program} refuses the queue: {}",
                first_line(&output.stderr)
            );
        }
    }
    Ok(())
}

/// Deletes it, as often as proxies that were killed have left it.
fn forget_iptables() {
    for _ in 0..16 {
        if iptables("-D").is_err() {
            return;
        }
    }
}

fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().next().unwrap_or("no reason given").to_owned()
}

/// Those that this kernel has.
fn families() -> Vec<AddressFamily> {
    let mut families = vec![AddressFamily::Inet];
    if std::path::Path::new("/proc/sys/net/ipv6").exists() {
        families.push(AddressFamily::Inet6);
    }
    families
}

/// Empties the table, which need not be there.
fn replace() -> String {
    format!("table inet {TABLE}\ndelete table inet {TABLE}\n")
}

/// What has the mark is looked up in a table of its own if it comes from a device. What is looked up for this machine
/// (from `lo`) is not: there the mark is that of a packet whose sender's address is verified
/// (net.ipv4.conf.*.src_valid_mark), or of a socket that has its own from a SYN (tcp_fwmark_accept), and would find
/// every host here. In the order in which they are added: one that goes to another needs it to be there.
fn routing(family: AddressFamily) -> [RuleMessage; 3] {
    let marked = || [RuleAttribute::FwMark(MARK), RuleAttribute::FwMask(u32::MAX)];
    let [past, ours, behind] = PRIORITIES;
    let with = |action, priority, attributes: Vec<RuleAttribute>| {
        let mut rule = RuleMessage::default();
        rule.header.family = family;
        rule.header.action = action;
        rule.attributes = attributes;
        rule.attributes.push(RuleAttribute::Priority(priority));
        rule
    };
    let own = [
        RuleAttribute::Iifname("lo".into()),
        RuleAttribute::Goto(behind),
    ];
    let table = [RuleAttribute::Table(NUMBER.into())];
    [
        with(RuleAction::Nop, behind, Vec::new()),
        with(
            RuleAction::Goto,
            past,
            marked().into_iter().chain(own).collect(),
        ),
        with(
            RuleAction::ToTable,
            ours,
            marked().into_iter().chain(table).collect(),
        ),
    ]
}

/// Which says that every address is here.
fn route(family: AddressFamily) -> RouteMessage {
    let mut route = RouteMessage::default();
    route.header.address_family = family;
    route.header.kind = RouteType::Local;
    route.header.scope = RouteScope::Host;
    route.header.protocol = RouteProtocol::Static;
    route.attributes = vec![
        RouteAttribute::Table(NUMBER.into()),
        RouteAttribute::Oif(LOOPBACK),
    ];
    route
}

/// Adds a rule or a route, which may be there.
fn add(message: RouteNetlinkMessage) -> Result<()> {
    let done = netlink::request(NETLINK_ROUTE, NLM_F_CREATE | NLM_F_EXCL, message);
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        done => done.context("the route by mark"),
    }
}

/// Has nftables do it, all or nothing.
fn nft(script: &str) -> Result<()> {
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("nft: cannot run it; is nftables installed?")?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(script.as_bytes()).context("nft")?;
    }
    let output = child.wait_with_output().context("nft")?;
    if output.status.success() {
        return Ok(());
    }
    bail!("nft refuses the rules: {}", first_line(&output.stderr));
}

/// Whether a device's name can stand between quotes.
pub(super) fn is_quotable(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\' && b != b'*')
}

/// The wildcard address of a family.
pub(super) fn any(is_v4: bool) -> IpAddr {
    match is_v4 {
        true => Ipv4Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units;

    fn table(matches: &[&str], excludes: &[&str]) -> String {
        let rules: Vec<lh_rule> = matches
            .iter()
            .map(|text| units::rule(text, false).unwrap())
            .chain(excludes.iter().map(|text| units::rule(text, true).unwrap()))
            .collect();
        let plan = Plan {
            devices: &["wl0".into(), "wl1".into()],
            rules: &rules,
            ports: [4001, 4002],
        };
        plan.table("queue flags bypass to 27752")
    }

    #[test]
    fn all_connections_of_the_devices() {
        let table = table(&[], &[]);
        assert!(table.contains("iifname { \"wl0\", \"wl1\" } jump choose"));
        assert!(table.contains("  chain choose {\n    queue flags bypass to 27752\n  }"));
        assert!(table.contains("tproxy ip6 to :4002"));
    }

    /// What comes first in a chain decides: a match on TCP flags is no answer for what has none.
    #[test]
    fn what_is_not_tcp_passes_by_the_queue() {
        let table = table(&[], &[]);
        let mut syns = table
            .lines()
            .skip_while(|line| !line.contains("chain syns"))
            .skip(2);
        assert_eq!(syns.next().unwrap().trim(), "meta l4proto != tcp return");
    }

    #[test]
    fn excluded_ones_return_before_others_are_taken() {
        let table = table(&["10.2.0.0/16"], &["[fd02::2]:22", ":443"]);
        let chosen: Vec<&str> = table
            .lines()
            .skip_while(|line| !line.contains("chain choose"))
            .skip(1)
            .take_while(|line| !line.contains('}'))
            .map(str::trim)
            .collect();
        assert_eq!(
            chosen,
            [
                "ip6 saddr fd02::2/128 tcp sport 22 return",
                "ip6 daddr fd02::2/128 tcp dport 22 return",
                "tcp sport 443 return",
                "tcp dport 443 return",
                "ip saddr 10.2.0.0/16 queue flags bypass to 27752",
                "ip daddr 10.2.0.0/16 queue flags bypass to 27752",
            ]
        );
    }

    #[test]
    fn names_that_would_end_the_quotes_are_refused() {
        assert!(is_quotable("wl0") && is_quotable("phy0-ap0.5"));
        for name in ["", "a\"b", "a b", "wl*", "a\\"] {
            assert!(!is_quotable(name), "{name:?}");
        }
    }
}
