/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State of one half-flow: data from the fixed host (FH) to the mobile host
 * (MH) over the lossy link, ACKs back. Soft: losing it costs speed only.
 * Each mechanism's part of it is declared beside its code.
 */
#ifndef LH_FLOW_H
#define LH_FLOW_H

#include "accept.h"
#include "actions.h"
#include "arrival.h"
#include "asked.h"
#include "back.h"
#include "brake.h"
#include "cache.h"
#include "control.h"
#include "detect.h"
#include "device.h"
#include "env.h"
#include "guard.h"
#include "hold.h"
#include "lifecycle.h"
#include "mac.h"
#include "order.h"
#include "probe.h"
#include "handoff.h"
#include "outage.h"
#include "pop.h"
#include "queue.h"
#include "resequence.h"
#include "ring.h"
#include "rtt.h"
#include "sample.h"
#include "scheme.h"
#include "segment.h"
#include "shadow.h"
#include "share.h"
#include "tail.h"
#include "tell.h"
#include "train.h"
#include "wired.h"
#include "window.h"

enum lh_flow_flag {
	LH_FLOW_STARTED = 0x001, /* una and max are valid */
	LH_FLOW_SACK_FH = 0x002, /* FH's SYN permits SACK */
	LH_FLOW_SACK_MH = 0x004,
	LH_FLOW_SACK_SEEN = 0x008, /* MH has sent a SACK block: picked up in mid-stream */
	LH_FLOW_WSCALE = 0x010, /* both shifts are known */
	LH_FLOW_MPTCP = 0x020,
	LH_FLOW_AUTH = 0x040,
	LH_FLOW_FIN_FH = 0x080, /* FH's FIN was seen: fin_fh is valid */
	LH_FLOW_FIN_MH = 0x100,
	LH_FLOW_FIN_FH_ACKED = 0x200,
	LH_FLOW_FIN_MH_ACKED = 0x400,
	LH_FLOW_RESET = 0x800,
	LH_FLOW_DUP_DRIVEN = 0x1000, /* an ACK has driven a repair: the head's timer may run */
	LH_FLOW_RECOVERY = 0x2000, /* recovery.point is valid */
	LH_FLOW_HELD = 0x4000, /* an ACK is kept back */
	LH_FLOW_ABANDONED = 0x8000, /* duplicates pass until the next new ACK */
	LH_FLOW_FWD = 0x10000, /* fwd_* are valid */
	LH_FLOW_SYN_MH = 0x20000, /* MH's SYN or SYN-ACK was seen */
	LH_FLOW_OVERFLOW = 0x40000, /* losses below overflow_end are left to FH */
	LH_FLOW_BLOCKED = 0x80000, /* blocked_start and blocked_end are valid */
	LH_FLOW_FH_RTX = 0x100000, /* fh_rtx_* are valid */
	LH_FLOW_TS = 0x400000, /* the connection uses timestamps */
	LH_FLOW_ECT = 0x200000, /* FH's data may be marked (RFC 3168) */
	LH_FLOW_SYN_FH = 0x800000, /* FH's SYN or SYN-ACK was seen */
	LH_FLOW_RTX = 0x1000000, /* rtx_end is valid */
	LH_FLOW_LIVE = 0x2000000, /* past its handshake: another one must be answered to count */
	LH_FLOW_CLAIM = 0x4000000, /* claim is valid */
	LH_FLOW_TSVAL_FH = 0x8000000, /* tsval_fh is valid */
	LH_FLOW_SHOWN = 0x10000000, /* FH knows by the last ACK that it got what is above a hole */
	LH_FLOW_LATE_SEEN = 0x20000000, /* and saw one filled that it had not sent again */
	LH_FLOW_HIDDEN = 0x40000000, /* blocks are kept from FH, without a copy, as HELD */
};

/* FH is not told all, for a time (lh_hold.until_ns). */
#define LH_FLOW_WITHHOLDS (LH_FLOW_HELD | LH_FLOW_HIDDEN)

struct lh_flow {
	u32 flags; /* enum lh_flow_flag */
	u32 una; /* highest acknowledgement number from MH (SND.UNA of FH as MH sees it) */
	u32 max; /* highest sequence number + 1 that departed */
	u32 sacked_max; /* highest right edge of a SACK block above una, else una */
	u32 peer, peer_tag; /* index into lh_device.peer; its tag when we joined */
	u32 missed; /* 1: a packet of its went by unseen; set by the host, without the flow's lock */
	u32 nr_sacked; /* cached segments above una that MH has */
	/* Times, ns on the host's monotonic clock; 0: none. */
	u64 seen_ns; /* last packet in either direction */
	u64 progress_ns; /* last advance of una */
	u64 sent_ns; /* last departure of data, anyone's */
	/* Counts for `lasthop flows`. */
	u64 nr_data;
	u64 payload_bytes;
	u64 nr_retransmits, nr_suppressed, nr_released, nr_upstream_lost;
	/* What each mechanism knows, beside its code: first what each packet asks for, since a line of the
	 * processor's cache that is not at hand takes as long as a hundred instructions. */
	struct lh_end fh, mh;
	struct lh_wired wired;
	struct lh_connection conn;
	struct lh_rtt rtt;
	struct lh_order order;
	struct lh_queue queue;
	struct lh_delivery delivery;
	struct lh_guard guard;
	struct lh_hold hold;
	struct lh_control control;
	struct lh_recovery recovery;
	struct lh_back back;
	struct lh_outage outage;
	struct lh_cache cache;
	struct lh_ring ring;
	struct lh_claim claim; /* with LH_FLOW_CLAIM */
	struct lh_mac mac;
	struct lh_asked asked;
	struct lh_handoff handoff; /* of the other half: what MH receives */
	struct lh_arrival arrival; /* of the other half: what MH sends */
	struct lh_resequence resequence; /* of the same */
	struct lh_shadow shadow; /* with LH_POLICY_SHADOW */
};

#endif /* LH_FLOW_H */
