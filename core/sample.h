/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an ACK teaches (SPEC 2.16): which segments arrived and when they had
 * left, hence the sojourn on the local hop, the delivery rate, and the
 * departure times by which losses are found.
 */
#ifndef LH_SAMPLE_H
#define LH_SAMPLE_H

#include "cache.h"
#include "device.h"
#include "rtt.h"

/* The unloaded local round trip towards this flow's receiver, 0: unknown. */
LH_INLINE u64 lh_lmin(struct lh_env *env, const struct lh_flow *f);

/* The local round trip to reckon with: the flow's own, or the receiver's or the
 * device's before the flow has one; 0: nobody knows. */
LH_INLINE u64 lh_srtt(struct lh_env *env, const struct lh_flow *f);

/* MH has @e, which it was not known to have. @sample: its sojourn tells
 * something about the queue. */
LH_INLINE void lh_delivered(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e,
			    bool sample);

/* The SACK blocks of @s. SACKed entries stay until they are acknowledged:
 * receivers may renege (RFC 2018). Inlined: kernels to 6.8 count 32 bytes of stack per
 * function at least, and this one's callers and callees fill the 512. */
LH_INLINE void lh_sack_blocks(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* Bytes per second over a whole bin, the better of the last two: no burst within
 * it passes for a rate. */
LH_INLINE u64 lh_rate_mean(const struct lh_flow *f);

/* Whether the ACK shows by itself that nothing has delayed it. */
LH_INLINE bool lh_ack_at_once(const struct lh_ack_sum *sum);

/* Books what the ACK of this call delivered. @return its sojourn sample, ns; 0:
 * none. */
LH_FUNC u64 lh_learn(struct lh_env *env, struct lh_flow *f);

#endif /* LH_SAMPLE_H */
