/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an ACK teaches (docs/design.md, section 5.6): which segments arrived and when they had
 * left, hence the sojourn on the local hop, the delivery rate, and the
 * departure times by which losses are found.
 */
#ifndef LH_SAMPLE_H
#define LH_SAMPLE_H

#include "segment.h"

#define LH_RATE_BINS 8

/* What MH has got. */
struct lh_delivery {
	u32 bytes; /* acknowledged or SACKed, modulo 2^32 */
	u32 sacked_bytes; /* of these above una */
	struct lh_sack_block seen[LH_MAX_SACK]; /* blocks of the last ACK: looked through */
	u64 last_ns; /* last delivery, 0: none */
	/* Delivery rate, bytes per second. */
	u64 rate_bin; /* number of the newest bin */
	u32 bin_bytes; /* delivered in it */
	u32 bin_before[2]; /* in the two before it */
	u32 train_bytes; /* bytes, when the present train of deliveries began */
	u64 train_ns; /* when that was; 0: the hop was idle */
	u64 rate_last; /* of the last trains, smoothed */
	u16 singles; /* ACKs of one segment each in a row */
	u8 waits; /* 1: MH has kept an ACK for want of segments */
	u8 pad;
	/* The fewest segments that MH has acknowledged at once (lh_stride): in this period and in the last one
	 * that showed any, 0: none; and the period's number. */
	u8 stride_now, stride_before;
	u16 stride_period;
};

/* What the ACK of this call delivered (sample.h). */
struct lh_ack_sum {
	u64 xmit_ns; /* latest departure among first transmissions; 0: none */
	u64 rtx_xmit_ns; /* the same among local repairs */
	u32 xmit_end, rtx_xmit_end; /* where those segments end: departures may coincide */
	u64 sample_ns; /* departure of the segment that gives a sojourn sample; 0: none */
	u64 again_ns; /* latest departure among what was sent twice; 0: nothing was */
	u64 own_ns; /* how long that segment waited for what we know of (lh_queue_own) */
	u32 sample_delivered; /* lh_receiver_delivered() at that departure */
	u32 bytes; /* newly delivered */
	u32 popped_bytes; /* of what the ACK number covers, that was cached */
	u32 nr_segs;
	u32 sample_full; /* 1: that segment was no small one */
	u32 top; /* lh_flow.sacked_max before this ACK */
	u32 steps; /* segments and chunks that its SACK blocks had us look at */
	u32 looked; /* of its blocks, the valid ones among the first so many were looked through */
	u32 cut; /* and this one, from 1 on, as far as cut_at; 0: none in part */
	u32 cut_at;
	u32 sacked; /* 1: SACK blocks told of something above top: no ACK that was delayed */
	u32 sample_lone; /* 1: it may have waited for the receiver's delayed ACK */
	u32 early; /* 1: MH had something before our repair of it can have come */
	u32 ended; /* 1: it is the first after an outage */
	u32 prompt; /* 1: it was sent when the segment of the sample arrived */
	u32 waited; /* 1: of several segments, and yet it may have been delayed (lh_stride) */
	/* Of what the ACK number itself covers, for the classic estimators. */
	u64 first_ns, last_ns; /* departure of the first and the last segment; 0: none */
	u32 last_end; /* where that one ends */
	u32 unclear; /* 1: something was sent twice or had waited behind a hole (Karn) */
	u32 deprived; /* 1: a loss of the link was repaired and is to be hidden from FH */
};

/* The unloaded local round trip towards this flow's receiver, 0: unknown. An ACK asks for it ten times, so
 * that it is kept in @env. */
LH_INLINE u64 lh_lmin(struct lh_env *env);

/* What the hop adds to that by itself, where no queue of ours stands: batches and jitter, in the mean
 * (lh_queue_idle). Kept as well. */
LH_INLINE u64 lh_unsteady(struct lh_env *env);

/* Looks both up: of a flow whose turn it is, or after anything has changed that it depends on. */
LH_INLINE void lh_lmin_look(struct lh_env *env, const struct lh_flow *f);

/* The same, a function of its own for the stack of its callers. */
LH_ENTRY int lh_lmin_renew(struct lh_env *env, const struct lh_flow *f);

/* The local round trip to reckon with: the flow's own, or the receiver's or the
 * device's before the flow has one; 0: nobody knows. */
LH_INLINE u64 lh_srtt(struct lh_env *env, const struct lh_flow *f);

/* MH has @e, which it was not known to have. @sample: its sojourn tells
 * something about the queue. */
LH_INLINE void lh_delivered(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e,
			    bool sample);

/* The same of @n segments in a row, of @bytes, each of which left once and no later than @last. */
LH_INLINE void lh_delivered_run(struct lh_env *env, struct lh_flow *f, const struct lh_seg *last,
				u32 n, u32 bytes);

/* The SACK blocks of @s. SACKed entries stay until they are acknowledged:
 * receivers may renege (RFC 2018). Inlined: kernels to 6.8 count 32 bytes of stack per
 * function at least, and this one's callers and callees fill the 512. */
LH_INLINE void lh_sack_blocks(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* Bytes per second over a whole bin, the better of the last two: no burst within
 * it passes for a rate. */
LH_INLINE u64 lh_rate_mean(const struct lh_flow *f);

/*
 * How many segments MH acknowledges at once, 0: nobody knows. RFC 9293 asks for every second; some wait for
 * eight, and keep fewer for as long as a lone one (LH_DELACK_NS and more). Taken for a queue that made the law
 * cut C below what they wait for, and each ACK was a delayed one from then on: 20 Mbit/s, 40 ms, 1 %, 10
 * Reno flows 10.6 Mbit/s where nobody has 18.9. So the fewest that came without such a delay count: with GRO
 * those are as many as have arrived together, and soon there are two. They stand until others have been seen,
 * for who has been cut sees none.
 */
LH_INLINE u32 lh_stride(const struct lh_delivery *d);

/* How long the segment of this call's sample waited for those that the same ACK covers, had it met nothing else:
 * they left for @p at once. */
LH_INLINE u64 lh_behind_its_own(struct lh_env *env, const struct lh_flow *f,
				const struct lh_peer *p);

/* Whether the ACK shows by itself that nothing has delayed it. */
LH_INLINE bool lh_ack_at_once(const struct lh_ack_sum *sum);

/* Books what the ACK of this call delivered. @return its sojourn sample, ns; 0:
 * none. */
LH_INLINE u64 lh_learn(struct lh_env *env, struct lh_flow *f);

#endif /* LH_SAMPLE_H */
