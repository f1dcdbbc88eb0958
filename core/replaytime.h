/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long it takes from telling the other end of the hop of a hole (arrival.h) to the repair, the mean
 * replay time of Murray, Koziniec and Dixon (2009), and so when a hole is told of once more.
 */
#ifndef LH_REPLAYTIME_H
#define LH_REPLAYTIME_H

#include "types.h"

/* A number of microseconds that comes round: what holes remember times in. */
LH_INLINE u32 lh_now_us(struct lh_env *env);

/* Whether what is missing is asked for packet by packet, and waited for. */
LH_INLINE bool lh_requests(struct lh_env *env);

/* The repair of @h has come. */
LH_INLINE void lh_replay_sample(struct lh_env *env, struct lh_flow *f, const struct lh_hole *h);

/* @h, which was asked for, is no longer waited for. */
LH_INLINE void lh_late_note(struct lh_flow *f, const struct lh_hole *h);

/* @s fills no hole: was it given up? Then it tells, too. */
LH_ENTRY int lh_late_comes(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* How long after it was last told of @h is due without an ACK to tell it, in microseconds. */
LH_INLINE u32 lh_hole_wait_us(struct lh_env *env, const struct lh_flow *f, const struct lh_hole *h);

#endif /* LH_REPLAYTIME_H */
