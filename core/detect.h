/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a loss is found and repaired: classes of ACKs (docs/design.md, section 3.4), the
 * duplicate count, the timer of the oldest segment. Schemes combine these.
 */
#ifndef LH_DETECT_H
#define LH_DETECT_H

#include "types.h"

/* Duplicate ACKs and recovery (RFC 5681, RFC 6582). */
struct lh_recovery {
	u32 nr_dup; /* duplicates since the last new ACK */
	u32 exp_dup; /* duplicates that the repaired loss may still cause */
	u32 point; /* what had provably departed when recovery began; with LH_FLOW_RECOVERY */
	u32 rtx_end; /* what had departed when anything below it was last sent again; with LH_FLOW_RTX */
	u32 nr_probes; /* local probes since the last delivery */
	u8 vain; /* of the probes of late: two for each in vain, less one for each (probe.h) */
	/* ACKs of all that was under way that came later than a probe in time, less those that did not
	 * (lh_probe_answered): of a lone segment, and of several. */
	u8 late_lone, late_more;
	u8 streams; /* pieces in a row that came soon after a probe would have gone out (lh_probe_streams) */
	u32 probe_end; /* end of the segment that the last probe repeated */
	u32 fh_past; /* what had departed when FH last sent anything again; with LH_FLOW_FH_RTX */
	u32 doubt_end; /* with lh_order.doubt */
	u8 tells; /* 1: MH has sent a DSACK: it says itself which probes were in vain */
	u8 pad[3];
	u64 vain_ns; /* when one was last found to be in vain */
	/* Duplicates still to come for what a receiver without SACK gets twice; none
	 * once una is beyond own_dups_end. */
	u32 own_dups, own_dups_end;
	u64 own_dups_ns; /* when the last of them was caused */
	u32 ordered; /* repairs by time order of late */
	u32 repeated; /* those of them whose segment had been repaired before: its repair was lost */
	u64 fh_again_ns; /* when FH last sent anything again; with LH_FLOW_FH_RTX */
	u64 rest_ns; /* scheme sack: when the rest of a burst is to be repaired; 0: there is none */
};

enum lh_ack_class {
	LH_ACK_NEW, /* moves una */
	LH_ACK_OLD, /* below una */
	LH_ACK_BEYOND, /* above everything seen: we joined late or missed data */
	LH_ACK_DUPLICATE, /* something above una has arrived, una has not */
	LH_ACK_OWN, /* the answer to a segment that MH got twice: no loss caused it */
	LH_ACK_SAME, /* same number for another reason: window update, keepalive */
};

LH_INLINE enum lh_ack_class lh_classify(const struct lh_flow *f, const struct lh_segment *s);

/* The cached segment that MH wants next, NULL if it is not here. */
LH_INLINE struct lh_seg *lh_head(struct lh_env *env, const struct lh_flow *f);

/*
 * Whether another copy of @e, which is acknowledged, is still under way. It is if
 * the latest has not had the time of an unloaded round trip, whoever sent it. Beyond
 * that time doesn't tell, for the queue may have drained: with srtt in its place
 * every repair after an outage seemed to be one too many, and the losses that
 * duplicates showed were left to the timer. But had @e been lost, everything that
 * was under way behind it would have caused a duplicate before the repair came
 * through, but for those that got lost. That holds for repairs which a duplicate
 * asked for: by the time of the others MH has answered for what is behind, or
 * nothing is.
 */
LH_INLINE void lh_own_dups_expect(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e);

/* FH sends again what MH has acknowledged. It need not see the answer if it is about
 * to get an ACK of this number or above, for that went on within a wired round trip.
 * Otherwise that one was lost, and the answer is what FH waits for; so is the one to
 * a keepalive. */
LH_INLINE void lh_own_dups_stale(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* Whether the ACK @s, which moves nothing, is one of these. In order, the copies
 * arrive before what left later; after LRTO they got lost on the way. What MH lacks
 * next, if anything, has to be here. */
LH_INLINE bool lh_own_dup(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* Between two calls' repairs of one burst or list, and where the host has no room for any. */
#define LH_REPAIR_REST_NS (LH_MSEC / 10)
#define LH_REPAIR_FULL_NS LH_MSEC

/* What drives a local retransmission, for the counters. */
enum lh_reason { LH_BY_DUPACK, LH_BY_PARTIAL, LH_BY_ORDER, LH_BY_TIMER, LH_BY_PARTNER, LH_BY_MAC };

/* Sends the segment @e again, limit or not. False: no room in this call's actions. */
LH_INLINE bool lh_send_again(struct lh_env *env, struct lh_flow *f, struct lh_seg *e,
			     enum lh_reason why, struct lh_actions *out);

/* Sends the segment @e again as one of its max_local tries. False: none is left, or no room. */
LH_INLINE bool lh_resend(struct lh_env *env, struct lh_flow *f, struct lh_seg *e,
			 enum lh_reason why, struct lh_actions *out);

/*
 * What has provably departed: on a FIFO link the n-th duplicate was caused by
 * the n-th segment after the lost one, or a later one. A repair that overtakes
 * queued segments must not make those look lost (section 3.8).
 */
LH_INLINE void lh_extend_recovery(struct lh_env *env, struct lh_flow *f);

/*
 * The segment at una, if a duplicate says that it is lost and it may be sent
 * again now: at first sight, and once more when there are more duplicates than
 * the loss explains (Click's limit of two), a local round trip apart.
 */
LH_INLINE bool lh_dup_repair(struct lh_env *env, struct lh_flow *f, struct lh_seg *e,
			     struct lh_actions *out);

/*
 * When the oldest segment counts as lost: LRTO after the later of its latest
 * departure and the last progress (on a FIFO link a segment behind a queue
 * that still moves is not late), doubled per repair (section 3.7, rule b). Scheme
 * slack doubles from the second repair on: after 80, 160 and 320 ms it would
 * find out about an outage when FH's 200 ms are over.
 * 0: no such time.
 */
LH_INLINE u64 lh_head_deadline(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_DETECT_H */
