/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who may have how much of the cache. A copy that nobody asks for is memory that somebody
 * holds: a flow begins with a few segments, and under pressure (the host says when) a receiver
 * has a part of the pool that does not grow with its flows, and a flow its part of that.
 */
#ifndef LH_SHARE_H
#define LH_SHARE_H

#include "types.h"

#define LH_SHARE_LEAST 4 /* what nobody goes below */
/* A slot holds one segment, however small: so many below so many bytes are enough for
 * keystrokes and requests. */
#define LH_SMALL_BYTES 96
#define LH_SMALL_MOST 64
/* Under pressure a flow that has not got on for so long keeps the least. */
#define LH_SHARE_STALE_NS (10 * LH_SEC)

/* Counts the receiver of @f as busy: the flow has segments since now. */
LH_INLINE void lh_share_gain(struct lh_env *env, struct lh_flow *f);

/* Counts the receiver of @f as less busy: the flow is about to have no segment. */
LH_INLINE void lh_share_lose(struct lh_env *env, struct lh_flow *f);

/* Segments that the flow may have cached now. */
LH_INLINE u32 lh_share_of(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_SHARE_H */
