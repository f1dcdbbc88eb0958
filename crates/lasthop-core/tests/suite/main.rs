// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Tests of the C core, cheapest first: truth tables, scripted exchanges,
//! properties against a reference receiver. One binary, to link once.

#[macro_use]
mod rig;

mod absent;
mod accept;
mod agent;
mod bench;
mod both;
mod both_sim;
mod brake;
mod cache;
mod classes;
mod control_model;
mod control_rules;
mod csnoop;
mod device;
mod dproxy;
mod dproxy_away;
mod dproxy_hop;
mod dproxy_review;
mod edit;
mod ends;
mod fingerprint;
mod guard;
mod handoff;
mod hop;
mod hop_trace;
mod hostile;
mod lifecycle;
mod lists;
mod message;
mod model;
mod names;
mod nonsense;
mod order_rules;
mod outage;
mod paced;
mod pair;
mod parser;
mod partner;
mod property;
mod queue;
mod rack;
mod rack_outage;
mod refute;
mod reorder;
mod rtt;
mod sack;
mod scoreboard;
mod script;
mod script_hold;
mod sequence;
mod shadow;
mod sim;
mod snack;
mod snack_brake;
mod stale;
mod suppress;
mod train;
mod twice;
mod watch;
mod watch_edit;
mod window;
mod work;
