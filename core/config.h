/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an operator or an experiment may set. Constant while a device is
 * attached: .rodata in BPF, so that the verifier prunes the other schemes.
 * Defaults stand in docs/design.md, section 8, and are set by the hosts.
 */
#ifndef LH_CONFIG_H
#define LH_CONFIG_H

#include "types.h"

/* LH_SCHEME_none and so on, from the schemes' own rows. */
enum lh_scheme {
#define LH_SCHEME(name, policies, doc) LH_SCHEME_##name,
#include "scheme/list.h"
#undef LH_SCHEME
	LH_NR_SCHEMES
};

enum lh_rtt_profile {
	LH_RTT_STD, /* RFC 6298 gains, floor against delayed ACKs */
	LH_RTT_NS2, /* ns-2.35's, as Nguyen 2002 prints it (docs/design.md, section 3.3) */
};

enum lh_timer_arm {
	LH_TIMER_ALWAYS, /* while anything is cached (ns-2) */
	LH_TIMER_AFTER_DUP, /* only after a duplicate-driven repair (Kim and Chung 2007 on earlier schemes) */
};

enum lh_clock_mode {
	LH_CLOCK_OFF,
	LH_CLOCK_AUTO, /* brakes senders whose losses are hidden */
	LH_CLOCK_ALWAYS, /* and all others while a queue stands */
};

enum lh_suppress_mode {
	LH_SUPPRESS_AUTO, /* where a brake is left, and FH has no patience of its own */
	LH_SUPPRESS_ON,
	LH_SUPPRESS_OFF,
};

struct lh_config {
	u32 scheme; /* enum lh_scheme */
	u32 rtt_profile; /* enum lh_rtt_profile */
	u32 timer_arm; /* enum lh_timer_arm */
	u32 dup_thresh; /* duplicates: the repair goes out on this one, at least 1 */
	u32 max_local; /* local retransmissions per segment before it counts as lost by congestion */
	u32 strict_window; /* 1: every duplicate that changes the window passes (docs/design.md, section 3.10) */
	u64 lrto_floor_ns; /* least local retransmission timeout, profile std */
	u64 lrto_max_ns; /* greatest local retransmission timeout before backoff */
	u64 hold_min_ns; /* bounds of the time that an ACK may be kept back */
	u64 hold_max_ns;
	u64 idle_ns; /* a flow without packets for so long is forgotten */
	u64 ns2_tick_ns; /* snoopTick: least timeout of profile ns2 */
	u64 ns2_srtt_ns; /* start values of profile ns2 */
	u64 ns2_rttvar_ns;
	u32 ns2_gain_1024; /* g of profile ns2, in 1/1024 */
	u32 queue_guard; /* 1: a loss that looks like the queue's overflow is left to FH */
	/* Scheme rack. */
	u32 suppress; /* enum lh_suppress_mode */
	u32 clock; /* enum lh_clock_mode */
	u64 target_ns; /* standing queue that the clock aims at, where the hop is steady */
	/* Scheme slack. */
	u64 slack_quiet_ns; /* least silence of MH that counts as an outage; rack, too */
	u64 rto_min_ns; /* FH's least timeout, beyond the round trip */
	u32 slack_bursts; /* bursts of three copies until the next new ACK, 1 to 3 */
	u32 freeze; /* 1: one copy that closes the window instead of the burst */
	u32 handoff; /* copies of the last ACK when the link comes up, 0 to 3 */
	u32 pad;
};

#endif /* LH_CONFIG_H */
