/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an ACK's number covers leaves the ring, and what that teaches is summed up for sample.h.
 */
#ifndef LH_POP_H
#define LH_POP_H

#include "types.h"

/* How an ACK came to move una. */
#define LH_POP_HOLE 1 /* something above una had arrived already */
#define LH_POP_WAITED 2 /* what it covers may have: una's own segment was sent again */

/* LH_POP_* of an ACK that is about to move una. */
LH_INLINE u32 lh_ack_how(struct lh_env *env, const struct lh_flow *f);

/* All that @ack covers. @how: LH_POP_*. */
LH_INLINE void lh_ack_take(struct lh_env *env, struct lh_flow *f, u32 ack, u32 how);

#endif /* LH_POP_H */
