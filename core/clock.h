/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The window clock. Hiding losses takes a loss-based sender's brake away, so the
 * agent brings its own: the right edge of the window in every ACK is set to what
 * MH has plus C (window.h), and C follows the law of FAST TCP (Wei, Jin, Low,
 * Hegde 2006) on the measured queue. It brakes whom it deprives, and nobody else:
 *
 *   FREE     FH sees all its losses: those that look like overflows of the queue are
 *            left to it (guard.h), and others there have been none. No edit.
 *   HELD     losses of the link are hidden from FH. C doubles per round trip while
 *            there is no queue, as slow start would; else the law holds.
 *   LETTING  the link has lost nothing for lossy_for_ns. What FH has been denied would
 *            be a burst if it were granted at once: C grows by a sixteenth per round
 *            trip, until FH does not use it up.
 *
 *   FREE -> HELD      a loss of the link is hidden; or the link is lossy of late, be it
 *                     to others of the receiver's flows, and a queue stands
 *   HELD -> LETTING   no such loss for lossy_for_ns
 *   LETTING -> HELD   such a loss
 *   LETTING -> FREE   FH does not use the window up; or an overflow
 *
 * Units as in queue.h.
 */
#ifndef LH_CLOCK_H
#define LH_CLOCK_H

#include "queue.h"

#define LH_DELACK_NS (40 * LH_MSEC) /* of the receiver, that is */

/* Whether the window of the flow's ACKs may be edited. */
LH_INLINE bool lh_clock_usable(struct lh_env *env, const struct lh_flow *f);

/* Bytes above una that MH has. Without SACK each duplicate stands for one
 * segment. */
LH_INLINE u32 lh_above_una(const struct lh_flow *f);

/* If a loss of the link was repaired in this call, and is about to be hidden from FH. */
LH_INLINE void lh_clock_deprive(struct lh_env *env, struct lh_flow *f);

/* Whether all flows of the receiver are on trial, with half of C. */
LH_INLINE bool lh_clock_on_trial(struct lh_env *env, const struct lh_flow *f);

/* Deliveries, but for a while no sample: what is granted is so little that each segment
 * is alone, and may wait for a delayed ACK. */
LH_INLINE void lh_clock_blind(struct lh_env *env, struct lh_flow *f);

/* One sojourn sample @r on the way there. */
LH_FUNC int lh_clock_sample(struct lh_env *env, struct lh_flow *f, u64 r);

/* The hop was out and is back. What is known of the way and of its rate still
 * holds, and so does C; what was measured, tried or asked meanwhile does not. */
LH_INLINE void lh_clock_resume(struct lh_env *env, struct lh_flow *f);

/* If an interval of at least one sample has ended: what they say about the hop, and C for
 * the next. */
LH_FUNC int lh_clock_interval(struct lh_env *env, struct lh_flow *f);

/*
 * Data comes: does FH go on after a pause? In one of less than a round trip it may have
 * waited for its ACKs, and where a queue has stood for as long, in one of more.
 */
LH_INLINE void lh_clock_data(struct lh_env *env, struct lh_flow *f);

/* Whether something brakes the sender although its losses are hidden. */
LH_INLINE bool lh_clock_brakes(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_CLOCK_H */
