/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reorder buffer (Murray, Koziniec and Dixon 2009; docs/design.md, section 5.11): what comes over
 * the hop behind a gap waits here until the gap is filled or given up (arrival.h), so that its
 * receiver sees no loss that the hop's ends repair between themselves.
 *
 * What is released goes to the receiver by the host's own queue (in Linux the CPU's backlog), a few
 * packets at a time, so that others' come between; whatever else comes meanwhile would overtake it,
 * and waits as well. Each comes by once more on its way (lh_on_through()), and the last of them takes
 * the next few along. Only when all are through does a packet pass at once again.
 *
 * Bounded: a buffer for all flows of the device together, of which each receiver has an equal part,
 * and each of its flows of that. Who has more than its part is not waited for: its oldest gap is
 * given up, its receiver reports the loss, and its sender slows down. Of connections that one end
 * alone speaks of nothing waits.
 */
#ifndef LH_RESEQUENCE_H
#define LH_RESEQUENCE_H

#include "actions.h"
#include "types.h"

#define LH_HELD_CHUNKS 8 /* directory entries, a power of two */
/* Packets of a flow that may wait: the largest buffer, and one super-packet more before the gap is
 * given up. */
#define LH_HELD_MOST 384
#define LH_AGAIN 4 /* a power of two */

/* What was asked for more than once and has come: further copies may follow. */
struct lh_again {
	u32 seq, end; /* sequence numbers */
	u32 tsval; /* of the copy that came, 0: it had no timestamp */
	u32 copies; /* that may still come */
	u64 until_ns;
};

/* Positions count up for ever, as in ring.h: [head, tail) wait, in the order of their numbers, and
 * [spent, head) are released but still have their slots. Outlives lh_flow_reset() no more than what
 * waits does. */
struct lh_resequence {
	u32 head, tail, spent;
	u32 away; /* released, and not yet through */
	u32 dir[LH_HELD_CHUNKS]; /* chunk of position p: dir[(p >> 6) & 7] */
	u64 away_ns; /* when the last of them went */
	u64 bin; /* number of the newest LH_BIN_NS in which data came */
	struct lh_again again[LH_AGAIN];
	u32 nr_again; /* ever noted: where the next one goes */
	u32 pad;
};

/* Whether @s, which has come over the hop, is one more copy of what was asked for twice. */
LH_ENTRY int lh_resequence_twice(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* @s has come for the first time, after it was asked for @tries times. */
LH_ENTRY int lh_resequence_asked(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				 u32 tries);

/* Whether @s may pass: sets @out's verdict. Holes have been brought up to date. */
LH_ENTRY int lh_resequence_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out);

/* A segment of a packet that has to wait: @out's store_slot is where its bytes go, LH_NO_SLOT: there
 * is no place, or it is here already. */
LH_ENTRY int lh_resequence_put(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       struct lh_actions *out);

/* What has its turn now: @out's release. Nothing while something is away. */
LH_ENTRY int lh_resequence_turn(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/* Something released is through; @s is what. The last one takes more along: @out's release and
 * reload_slot. */
LH_ENTRY int lh_resequence_through(struct lh_env *env, struct lh_flow *f,
				   const struct lh_segment *s, struct lh_actions *out);

/* The timer: nothing waits longer than it may, nor for what got lost in the host. */
LH_ENTRY int lh_resequence_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/* When lh_resequence_timer() is wanted, 0: never. */
LH_ENTRY u64 lh_resequence_deadline(struct lh_env *env, const struct lh_flow *f);

/* The next few in their order, gaps or not, without a word of when they are through: the flow is
 * about to be forgotten. */
LH_ENTRY int lh_resequence_flush(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/* What waits is forgotten, and its memory given back. */
LH_INLINE void lh_resequence_drop(struct lh_env *env, struct lh_flow *f);

/* How many packets wait. */
LH_INLINE u32 lh_waiting(const struct lh_flow *f);

#endif /* LH_RESEQUENCE_H */
