// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Why a connection is helped or not, told from what the core keeps of it (core/flow.h). It explains
//! and decides nothing: each reason names the field or flag by which the core itself goes.

use lasthop_core::bindings::{
    self as b, LH_POLICY_CONTROL, LH_POLICY_MAC, LH_POLICY_PARTNER, lh_flow, lh_flow_entry,
};
use serde_json::Value;

use crate::connection::Connection;
use crate::report::{Columns, Field, fields_of, flow_table};
use crate::view::View;

/// What holds for all connections of a device.
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    /// Policies of the scheme (`enum lh_policy`).
    pub policy: u32,
    /// Scheme `none`.
    pub observes: bool,
    /// The scheme only watches in the role that is set.
    pub rests: bool,
    /// The programs believe that user space lives.
    pub alive: bool,
    /// An agent at the hop's other end answers.
    pub partner: bool,
    /// The link's MAC has reported something.
    pub reports: bool,
}

impl Conditions {
    /// As they are now.
    pub fn of(view: &View, now_ns: u64) -> Self {
        let setup = view.setup();
        let partners = view.partners().ok();
        let counters = view.counters().unwrap_or_default();
        let reports = [
            b::LH_C_mac_delivered,
            b::LH_C_mac_undelivered,
            b::LH_C_mac_given_up,
        ];
        Self {
            policy: setup.config.policy(),
            observes: setup.config.scheme == b::LH_SCHEME_none,
            rests: setup.config.rests(),
            alive: view.last_heartbeat_ns() + setup.stale_ns > now_ns,
            partner: partners.is_some_and(|all| all.known().any(|one| one.up(now_ns))),
            reports: reports.iter().any(|id| counters.n[*id as usize] > 0),
        }
    }
}

/// A reason. The first that holds is told, in this order: what stops all help, what stops it at the
/// moment, what limits it, and how it goes where nothing does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// An RST was seen (LH_FLOW_RESET).
    Reset,
    /// Both ends' FINs are acknowledged.
    Closed,
    /// Scheme `none`.
    Observing,
    /// The scheme can't tell the hop's losses in this role (core/scheme.c).
    Rests,
    /// No sign of life from user space.
    Stale,
    /// Schemes with LH_POLICY_PARTNER, and nobody answers.
    NoPartner,
    /// Schemes with LH_POLICY_MAC, and no report has come.
    NoReports,
    /// Nothing was sent towards the lossy side.
    NoData,
    /// The receiver was not heard (lh_end.most).
    OneWay,
    /// The hop is out (lh_outage.since_ns).
    Outage,
    /// LH_FLOW_OVERFLOW (core/guard.h).
    Overflow,
    /// Something is under way, and nothing of it in the ring.
    Uncached,
    /// LH_FLOW_ABANDONED (core/hold.h).
    GivenUp,
    /// LH_FLOW_BLOCKED (core/cache.h).
    Blocked,
    /// LH_FLOW_AUTH.
    Auth,
    /// LH_FLOW_MPTCP.
    Mptcp,
    /// Without LH_FLOW_WSCALE.
    Midstream,
    /// Without selective acknowledgements.
    NoSack,
    /// Without LH_FLOW_TS, where the controller goes by timestamps.
    NoTimestamps,
    /// Something was repaired.
    Helped,
    /// Nothing had to be.
    NothingLost,
}

impl Why {
    /// All reasons, in the order in which they are looked for.
    pub const ALL: [Self; 21] = [
        Self::Reset,
        Self::Closed,
        Self::Observing,
        Self::Rests,
        Self::Stale,
        Self::NoPartner,
        Self::NoReports,
        Self::NoData,
        Self::OneWay,
        Self::Outage,
        Self::Overflow,
        Self::Uncached,
        Self::GivenUp,
        Self::Blocked,
        Self::Auth,
        Self::Mptcp,
        Self::Midstream,
        Self::NoSack,
        Self::NoTimestamps,
        Self::Helped,
        Self::NothingLost,
    ];

    /// The first that holds for this connection.
    pub fn of(entry: &lh_flow_entry, all: &Conditions) -> Self {
        let holds = |why: &Self| why.holds(&entry.flow, all);
        let first = Self::ALL.into_iter().find(holds);
        first.unwrap_or(Self::NothingLost)
    }

    fn holds(self, f: &lh_flow, all: &Conditions) -> bool {
        let has = |bits: u32| f.flags & bits == bits;
        let policy = |bit: u32| all.policy & bit != 0;
        match self {
            Self::Reset => has(b::LH_FLOW_RESET),
            Self::Closed => has(b::LH_FLOW_FIN_FH_ACKED | b::LH_FLOW_FIN_MH_ACKED),
            Self::Observing => all.observes,
            Self::Rests => all.rests,
            Self::Stale => !all.alive,
            Self::NoPartner => policy(LH_POLICY_PARTNER) && !all.partner,
            Self::NoReports => policy(LH_POLICY_MAC) && !all.reports,
            Self::NoData => f.nr_data == 0,
            Self::OneWay => f.mh.most == 0,
            Self::Outage => f.outage.since_ns != 0,
            Self::Overflow => has(b::LH_FLOW_OVERFLOW),
            Self::Uncached => f.max != f.una && f.ring.head == f.ring.tail,
            Self::GivenUp => has(b::LH_FLOW_ABANDONED),
            Self::Blocked => has(b::LH_FLOW_BLOCKED) && f.max != f.una,
            Self::Auth => has(b::LH_FLOW_AUTH),
            Self::Mptcp => has(b::LH_FLOW_MPTCP),
            Self::Midstream => !has(b::LH_FLOW_WSCALE),
            Self::NoSack => !sack(f),
            Self::NoTimestamps => policy(LH_POLICY_CONTROL) && !has(b::LH_FLOW_TS),
            Self::Helped => f.nr_retransmits > 0,
            Self::NothingLost => true,
        }
    }

    /// Stable: the word in `flows -j --why`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Observing => "observing",
            Self::Rests => "rests",
            Self::Stale => "stale",
            Self::NoPartner => "no-partner",
            Self::NoReports => "no-reports",
            Self::NoData => "no-data",
            Self::OneWay => "one-way",
            Self::Outage => "outage",
            Self::Overflow => "overflow",
            Self::Uncached => "uncached",
            Self::GivenUp => "given-up",
            Self::Blocked => "blocked",
            Self::Auth => "auth",
            Self::Mptcp => "mptcp",
            Self::Midstream => "midstream",
            Self::NoSack => "no-sack",
            Self::NoTimestamps => "no-timestamps",
            Self::Helped => "helped",
            Self::NothingLost => "nothing-lost",
        }
    }

    /// What it means, for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Reset => "one end has reset the connection: nobody wants repairs any more",
            Self::Closed => "both ends have closed the connection",
            Self::Observing => "scheme none observes and counts only",
            Self::Rests => {
                "in this role the scheme can't tell the hop's losses from others and only watches"
            }
            Self::Stale => {
                "the serving process gives no sign of life, so that the programs let everything pass"
            }
            Self::NoPartner => {
                "no agent at the hop's other end answers, without which snack is sack at the base, and nothing is asked for anywhere"
            }
            Self::NoReports => "the link's MAC has reported nothing, and the scheme goes by that",
            Self::NoData => {
                "no data have gone towards the lossy side; those from there can be repaired at the link's other end only"
            }
            Self::OneWay => "no ACK has come by: they seem to take another way",
            Self::Outage => "the receiver is cut off: what is lost is repaired once it is heard",
            Self::Overflow => {
                "the last losses look like overflows of the queue before the link and are the sender's to repair, as its brake"
            }
            Self::Uncached => {
                "nothing of what is under way is cached: it is too large, there is no room, or it was late (uncached_* in status)"
            }
            Self::GivenUp => "a repair failed: duplicate ACKs pass until the next new one",
            Self::Blocked => {
                "some of what is under way is the sender's to repair: lost before it came here, tried too often, or sent again already"
            }
            Self::Auth => "TCP-MD5 or TCP-AO: repaired, but no ACK is edited or kept",
            Self::Mptcp => "MPTCP: repaired, but no ACK is edited or kept",
            Self::Midstream => {
                "picked up in mid-stream, its window scale unknown: repaired, but no window is edited"
            }
            Self::NoSack => {
                "no selective acknowledgements: one loss is repaired per local round trip"
            }
            Self::NoTimestamps => {
                "no timestamps: repaired, but the sender can't take back what it did too early"
            }
            Self::Helped => "losses are repaired here",
            Self::NothingLost => "nothing had to be repaired so far",
        }
    }

    /// The same of one connection, with what was done for it.
    pub fn sentence(self, f: &lh_flow) -> String {
        match f.nr_retransmits {
            0 => self.text().to_owned(),
            n => format!(
                "{}; {n} repairs so far, {} ACKs kept",
                self.text(),
                f.nr_suppressed
            ),
        }
    }
}

fn sack(f: &lh_flow) -> bool {
    let both = b::LH_FLOW_SACK_FH | b::LH_FLOW_SACK_MH;
    f.flags & both == both || f.flags & b::LH_FLOW_SACK_SEEN != 0
}

/// What `--why` adds to a line of `flows -j`.
pub const WHY_FIELDS: &[Field] = &[
    ("why", "", "a word from the list below"),
    (
        "why_text",
        "",
        "the same as a sentence, with what was done so far; its wording may change",
    ),
];

/// Adds the fields of `--why` to the object of a connection.
pub fn explain(flow: &mut Connection<'_>, entry: &lh_flow_entry, all: &Conditions) {
    let why = Why::of(entry, all);
    flow.why = Some(why.word());
    flow.why_text = Some(why.sentence(&entry.flow));
}

const COLUMNS: Columns<5> = [
    ("dev", "DEV"),
    ("mh", "MH"),
    ("fh", "FH"),
    ("why", "WHY"),
    ("why_text", ""),
];

/// Fields of connections that [`for_people`] looks at.
pub fn fields_for_people() -> Vec<&'static str> {
    fields_of(&COLUMNS)
}

/// A table for people, most data first: each connection, and why.
pub fn for_people(flows: &[Value]) -> String {
    flow_table(flows, &COLUMNS, COLUMNS.len())
}

/// What a device has let pass that is in no table, by reason, from its status; none where there is nothing.
pub fn of_rest(status: &Value) -> Option<String> {
    let counted = |counter: lasthop_core::Named| {
        let n = status["counters"][counter.name].as_u64()?;
        let is_bypass = counter.name.starts_with("bypass_");
        (is_bypass && n > 0).then(|| format!("{} {n} ({})", counter.name, counter.doc))
    };
    let reasons: Vec<String> = lasthop_core::counters().filter_map(counted).collect();
    let dev = status["dev"].as_str().unwrap_or("?");
    (!reasons.is_empty()).then(|| format!("{dev}: passed without help: {}", reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use lasthop_core::Config;
    use serde_json::json;

    use super::*;
    use crate::report::keys;

    const OPTIONS: u32 =
        b::LH_FLOW_SACK_FH | b::LH_FLOW_SACK_MH | b::LH_FLOW_WSCALE | b::LH_FLOW_TS;

    fn fine() -> Conditions {
        Conditions {
            policy: Config::default().policy(),
            observes: false,
            rests: false,
            alive: true,
            partner: false,
            reports: false,
        }
    }

    /// A connection for which nothing is in the way, with something cached.
    fn healthy() -> lh_flow_entry {
        let mut entry = lh_flow_entry::default();
        entry.flow.flags = OPTIONS;
        entry.flow.nr_data = 10;
        entry.flow.mh.most = 65_535;
        entry.flow.max = 1_000;
        entry.flow.ring.tail = 1;
        entry
    }

    fn word(change: impl FnOnce(&mut lh_flow)) -> &'static str {
        let mut entry = healthy();
        change(&mut entry.flow);
        Why::of(&entry, &fine()).word()
    }

    #[test]
    fn the_state_of_a_connection_gives_the_reason() {
        assert_eq!(word(|_| ()), "nothing-lost");
        assert_eq!(word(|f| f.nr_retransmits = 3), "helped");
        let without = |bit: u32| word(move |f| f.flags &= !bit);
        assert_eq!(without(b::LH_FLOW_TS), "no-timestamps");
        assert_eq!(without(b::LH_FLOW_SACK_MH), "no-sack");
        assert_eq!(without(b::LH_FLOW_WSCALE), "midstream");
        let with = |bit: u32| word(move |f| f.flags |= bit);
        assert_eq!(with(b::LH_FLOW_MPTCP), "mptcp");
        assert_eq!(with(b::LH_FLOW_AUTH), "auth");
        assert_eq!(with(b::LH_FLOW_BLOCKED), "blocked");
        assert_eq!(with(b::LH_FLOW_ABANDONED), "given-up");
        assert_eq!(with(b::LH_FLOW_OVERFLOW), "overflow");
        assert_eq!(with(b::LH_FLOW_RESET), "reset");
        let both = b::LH_FLOW_FIN_FH_ACKED | b::LH_FLOW_FIN_MH_ACKED;
        assert_eq!(with(both), "closed");
        assert_eq!(with(b::LH_FLOW_FIN_FH_ACKED), "nothing-lost");
        assert_eq!(word(|f| f.ring.tail = f.ring.head), "uncached");
        assert_eq!(word(|f| f.outage.since_ns = 1), "outage");
        assert_eq!(word(|f| f.mh.most = 0), "one-way");
        assert_eq!(word(|f| f.nr_data = 0), "no-data");
    }

    /// What is acknowledged needs no cache, and nobody's repair.
    #[test]
    fn nothing_under_way_is_in_order() {
        let rests = |f: &mut lh_flow| {
            f.una = f.max;
            f.ring.tail = f.ring.head;
            f.flags |= b::LH_FLOW_BLOCKED;
        };
        assert_eq!(word(rests), "nothing-lost");
    }

    /// In mid-stream a SACK block of the receiver's tells what no SYN could.
    #[test]
    fn a_block_seen_is_as_good_as_the_syns() {
        let seen = |f: &mut lh_flow| {
            f.flags = b::LH_FLOW_SACK_SEEN | b::LH_FLOW_WSCALE | b::LH_FLOW_TS;
        };
        assert_eq!(word(seen), "nothing-lost");
    }

    #[test]
    fn what_holds_for_the_device_comes_first() {
        let word = |all: Conditions| {
            let mut entry = healthy();
            entry.flow.nr_retransmits = 3;
            Why::of(&entry, &all).word()
        };
        let (rests, stale) = (true, false);
        assert_eq!(word(Conditions { rests, ..fine() }), "rests");
        let observes = true;
        assert_eq!(word(Conditions { observes, ..fine() }), "observing");
        let alive = stale;
        assert_eq!(word(Conditions { alive, ..fine() }), "stale");
        let policy = Config::snack().policy();
        assert_eq!(word(Conditions { policy, ..fine() }), "no-partner");
        let partner = true;
        let answered = Conditions {
            policy,
            partner,
            ..fine()
        };
        assert_eq!(word(answered), "helped");
        let policy = Config::csnoop().policy();
        assert_eq!(word(Conditions { policy, ..fine() }), "no-reports");
        let reports = true;
        let told = Conditions {
            policy,
            reports,
            ..fine()
        };
        assert_eq!(word(told), "helped");
    }

    /// Only the controller goes by timestamps.
    #[test]
    fn timestamps_matter_to_whom_they_do() {
        let mut entry = healthy();
        entry.flow.flags &= !b::LH_FLOW_TS;
        let policy = Config::snoop().policy();
        let all = Conditions { policy, ..fine() };
        assert_eq!(Why::of(&entry, &all), Why::NothingLost);
    }

    #[test]
    fn reasons_have_names_of_their_own() {
        let mut words: Vec<&str> = Why::ALL.iter().map(|why| why.word()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Why::ALL.len());
    }

    #[test]
    fn a_connection_is_explained_by_the_documented_fields() {
        let mut entry = healthy();
        entry.flow.flags |= b::LH_FLOW_MPTCP;
        entry.flow.nr_retransmits = 7;
        let mut flow = Connection::of("wl0", &entry, 0);
        let before = serde_json::to_value(&flow).unwrap();
        explain(&mut flow, &entry, &fine());
        let flow = serde_json::to_value(&flow).unwrap();
        let mut added = keys(&flow);
        added.retain(|name| before.get(name).is_none());
        let names: Vec<&str> = WHY_FIELDS.iter().map(|(name, _, _)| *name).collect();
        assert_eq!(added, names);
        assert_eq!(flow["why"], "mptcp");
        let text = flow["why_text"].as_str().unwrap();
        assert!(text.starts_with("MPTCP: ") && text.contains("7 repairs"));
    }

    #[test]
    fn people_read_a_sentence_per_connection() {
        let flow = |port: u16, data_bytes: u64| {
            json!({
                "dev": "wl0", "mh": "::1", "mh_port": port, "fh": "::2", "fh_port": 80,
                "data_bytes": data_bytes, "why": "helped", "why_text": "losses are repaired here",
            })
        };
        let expected = "\
DEV  MH     FH      WHY
wl0  ::1 8  ::2 80  helped  losses are repaired here
wl0  ::1 7  ::2 80  helped  losses are repaired here
";
        assert_eq!(for_people(&[flow(7, 1), flow(8, 2)]), expected);
    }

    #[test]
    fn what_is_in_no_table_is_told_by_reason() {
        let status = |n: u64| json!({"dev": "wl0", "counters": {"bypass_filtered": n, "bypass_stale": 0, "holes": 4}});
        assert_eq!(of_rest(&status(0)), None);
        assert_eq!(
            of_rest(&status(5)).unwrap(),
            "wl0: passed without help: bypass_filtered 5 (TCP segments outside --match or inside --exclude)"
        );
    }
}
