/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the core asks of its host after a call.
 */
#ifndef LH_ACTIONS_H
#define LH_ACTIONS_H

#include "arrival.h"
#include "ring.h"
#include "segment.h"

#define LH_MAX_RETRANSMIT 4 /* per event, a power of two */
#define LH_KEEP_WINDOW 0xffffffffU

enum lh_verdict {
	LH_PASS,
	LH_DROP,
	LH_WAIT, /* out of its turn: lh_on_wait() for each of its segments, then lh_on_turn() */
};

#define LH_RELEASE_MOST 8 /* per call, a power of two */

/* How the other end of the hop is told what is missing. */
enum lh_tell {
	LH_TELL_NOT,
	LH_TELL_OPTION, /* in the packet of this call, an ACK that leaves (edit.h) */
	LH_TELL_MESSAGE, /* by a message of its own */
	LH_TELL_EACH, /* by a message for each block, in this order */
};

struct lh_retransmit {
	u32 slot;
	u32 seq; /* for logs and tests */
};

/* What the host shall do after a call. Set by the core, of arrays as much as their numbers say. */
struct lh_actions {
	u32 verdict; /* enum lh_verdict: of the packet of this call */
	u32 nr_retransmit;
	struct lh_retransmit retransmit[LH_MAX_RETRANSMIT]; /* send in this order */
	u32 store_slot; /* copy this packet's bytes there, LH_NO_SLOT: don't */
	u32 store_pos; /* ring position, for lh_store_failed() */
	u32 nr_store; /* segments of a super-packet that went through as one, to be stored (train.h) */
	u32 hold; /* 1: keep a copy of this ACK as the flow's held ACK, whatever the verdict */
	u32 emit_held; /* copies of the held ACK to send to FH */
	/* Edits of an ACK that passes (edit.h). The held copy is the ACK as it came. */
	u32 window; /* header value to set in it, LH_KEEP_WINDOW: leave it */
	u32 held_window; /* the same for the copies that emit_held asks for */
	u32 blank_sack; /* 1: overwrite its SACK option with NOPs */
	u32 mark_ce; /* 1: set Congestion Experienced in this data packet */
	u32 tell_by; /* enum lh_tell */
	u32 nr_tell;
	struct lh_sack_block tell[LH_TELL_MOST]; /* what is missing of MH's data */
	/* To be answered to the other end of the hop by one message: of what it asked for, this will not
	 * come from here. */
	u32 nr_absent;
	struct lh_sack_block absent[LH_TELL_MOST];
	u32 held_leaves; /* 1: hold and emit_held are of an ACK that leaves over the hop (handoff.h) */
	/* What had to wait goes on to its receiver, in this order, each with our mark: lh_on_through()
	 * when it comes through here once more, by the host's own queue (resequence.h). */
	u32 nr_release;
	u32 release[LH_RELEASE_MOST]; /* slots */
	/* The packet of this call has carried them and goes on as what this slot holds; LH_NO_SLOT: as
	 * it is. */
	u32 reload_slot;
	u64 next_deadline_ns; /* call lh_on_timer() then; 0: no timer */
};

#endif /* LH_ACTIONS_H */
