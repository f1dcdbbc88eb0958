/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The queue guard: whose loss is it, the link's or that of the queue before it?
 * tc runs before the queue and can't see its drops; hiding them takes away the
 * brake of a sender that fills the queue until it overflows, and every overflow
 * is "repaired" (docs/design.md, section 1.2: hidden loss means no brake; CUBIC at 0 % loss: a
 * third of its goodput without agent). A drop of a tail-drop queue comes while
 * the queue stands and the sender puts more in flight than it did before; a
 * sender whose window is full (the papers') doesn't do the latter. Where both
 * hold, the loss is left to FH (invariant I6: never hide congestion). A loss of
 * the link at such a moment costs FH a window reduction, as without agent.
 * Not in the papers; `queue_guard` switches it off.
 */
#ifndef LH_GUARD_H
#define LH_GUARD_H

#include "types.h"

/* Outstanding bytes, and where an overflow was suspected. */
struct lh_guard {
	u32 overflow_end; /* what had departed then; with LH_FLOW_OVERFLOW */
	/* The most within this and the previous period of LH_LEVEL_PERIOD_NS, and when that was
	 * last raised. */
	u32 level_now, level_before;
	u64 level_since_ns, level_raised_ns;
};

/* A queue that counts: several times the unloaded round trip. With once that a
 * window of 64 KiB over 2 Mbit/s, whose own queue is that long, lost half of the
 * help; a queue so short that it overflows below this is not guarded. */
#define LH_QUEUE_RTTS 4
#define LH_QUEUE_LEAST_NS (20 * LH_MSEC)

/* New data has departed: @f->max has moved. */
LH_INLINE void lh_guard_data(struct lh_env *env, struct lh_flow *f);

/*
 * A loss that may be an overflow: everything in flight is left to FH, repairs
 * by timer included. A sender whose own repair comes second is told so by DSACK
 * and takes its reduction back (section 6).
 */
LH_INLINE void lh_guard_leave(struct lh_env *env, struct lh_flow *f);

/* A duplicate came, f->recovery.nr_dup counts it; @e is what MH wants next, NULL if it is not here.
 * The first may show an overflow. */
LH_INLINE void lh_guard_duplicate(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e);

/* una has moved. */
LH_INLINE void lh_guard_new(struct lh_flow *f);

/* Whether a loss that shows itself now may be an overflow. */
LH_INLINE bool lh_guard_suspects(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_GUARD_H */
