/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A train: the segments of a super-packet (GRO, TSO), all of one size but for the last, which leave
 * one right behind the other. Where each of them would have gone the ordinary way they go it as one,
 * for one price.
 */
#ifndef LH_TRAIN_H
#define LH_TRAIN_H

#include "types.h"

#define LH_TRAIN_MOST 128 /* segments; 64 KiB of 536 bytes each, about */

/* The segments of @s, one if it is no super-packet. */
LH_INLINE u32 lh_train_segs(const struct lh_segment *s);

/*
 * Whether lh_on_data() may have the super-packet @s, whose part_bytes are set, as one. Then for each of
 * actions.nr_store of its segments lh_train_next() is to be called, in order, and lh_train_end(). If not,
 * each goes through lh_on_data() by itself, without part_bytes: something is sent again or was skipped,
 * memory is scarce, or it is not about data alone.
 */
LH_ENTRY int lh_train_ordinary(struct lh_env *env, const struct lh_flow *f,
			       const struct lh_segment *s);

/* Payload of segment @i of the train @s. */
LH_INLINE u32 lh_train_bytes(const struct lh_segment *s, u32 i);

/* Segment @i of the train @s goes to the ring's end. @return the slot to copy it to, LH_NO_SLOT: there is
 * no memory for it and what follows. */
LH_INLINE u32 lh_train_next(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    u32 i);

/* That was all: @n of them have a place. */
LH_ENTRY int lh_train_end(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s, u32 n,
			  struct lh_actions *out);

#endif /* LH_TRAIN_H */
