/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loss by time order over the local hop (RFC 8985; docs/design.md, section 5.6): a segment is
 * lost if one that departed sufficiently later has arrived. For losses that nothing later can
 * reveal there are probes (probe.h).
 *
 * Repairs may overtake data in the device's queue (their priority), so there
 * are two clocks: data that arrived convicts everything that departed before
 * it, a repair that arrived convicts only other repairs. Once an outage is over
 * whatever it swallowed is convicted, too (outage.h, lost_ns).
 */
#ifndef LH_ORDER_H
#define LH_ORDER_H

#include "types.h"

/* Departures of what arrived (RFC 8985 section 6). */
struct lh_order {
	u64 xmit_ns; /* latest departure among first transmissions that arrived */
	u64 rtx_xmit_ns; /* the same among local repairs */
	u32 xmit_end, rtx_xmit_end; /* ends of those segments */
	u64 rtt_ns; /* sojourn of the one that left at xmit_ns */
	u64 reo_ns; /* patience that reordering on the link has taught */
	u64 reo_seen_ns; /* when it was last seen */
	u32 at; /* ring position where the search for losses goes on */
	u8 all; /* 1: chunks' again_tx_ns do not hold, all are to be looked through */
	u8 doubt; /* 1: the segment that ends at lh_recovery.doubt_end was repaired, and may have been but late */
	u16 doubt_at; /* since then, 2^20 ns */
};

/* What a look through a chunk leaves to be looked at again: its chunk's bounds (ring.h). */
struct lh_order_waits {
	u64 oldest_tx_ns, again_tx_ns;
};

/* Books when what the ACK of this call delivered had departed (RFC 8985 section 6.2, step 2). */
LH_INLINE void lh_order_arrived(struct lh_env *env, struct lh_flow *f);

/*
 * The head arrived although something later had arrived before it. Without a
 * repair, or too soon for the repair to be the cause, that is reordering on
 * the link: from now on a segment may be that much later than its successors,
 * up to twice the unloaded round trip, before it counts as lost. @e: the head,
 * about to leave the cache.
 */
LH_INLINE void lh_order_late(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e);

/*
 * Where the repair had the time to be the cause, only MH's DSACK @s tells that the original was late, and has come as
 * well (lh_order_doubt). Without it nothing was ever learned of detours of 12 ms, where the hop takes 10 there and back,
 * and each segment that took one went out twice: 7,703 repairs for 2,687 losses.
 */
LH_INLINE void lh_order_twice(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* What lh_order_try() found at a position. */
enum lh_tried { LH_TRIED_NOTHING, LH_TRIED_WAITS, LH_TRIED_SENT, LH_TRIED_OURS };

/* Whose affair the loss of @e is, and what follows: everything in flight is left to FH as the
 * queue's, or FH is braked. */
LH_INLINE enum lh_tried lh_order_whose(struct lh_env *env, struct lh_flow *f,
				       const struct lh_seg *e);

/* Whether anything may have departed out of the numbers' order, or arrived so:
 * otherwise no segment above una can have been overtaken, and none need be
 * looked at. */
LH_INLINE bool lh_order_disturbed(const struct lh_flow *f);

/* Repairs up to @budget of the segments that time order calls lost: those of the first chunk, and
 * from f->order.at on. */
LH_FUNC int lh_order_repair(struct lh_env *env, struct lh_flow *f, u32 budget,
			    struct lh_actions *out);

/* The first cached segment that MH lacks (una stands before it), if it may be
 * sent again. */
LH_INLINE struct lh_seg *lh_order_head(struct lh_env *env, const struct lh_flow *f);

/*
 * Whether @e, of which nothing behind it has told, counts as lost to the queue. The end of a burst meets
 * the longest queue of all, and a slow start consists of bursts: where that queue is still rising, the flow
 * is alone, and hardly more than @e is missing, it is the link's. At 110 ms and 2 % one of 16 starts ended by
 * such a loss, and Reno was at 0.70 of the bound for as long as it took to grow again. Of several flows nobody
 * knows whose start it is: pages of 40 objects over six connections took 0.7 % longer by it.
 */
LH_INLINE bool lh_order_overflowed_tail(struct lh_env *env, const struct lh_flow *f,
					const struct lh_seg *e);

/* When the patience with the head ends (@e: lh_head()), and if it has, when it is clear whose loss that is
 * (lh_order_pattern()); 0: it is not being waited for. What FH has sent again and lost to
 * the queue again is for the probe timer, and so is what MH has reported and dropped all the
 * same (RFC 2018 section 8): time order does not look at it, and the timer would spin. */
LH_INLINE u64 lh_order_deadline(struct lh_env *env, const struct lh_flow *f,
				const struct lh_seg *e);

#endif /* LH_ORDER_H */
