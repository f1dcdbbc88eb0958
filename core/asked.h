/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the agent at the hop's other end asks for (docs/design.md, section 5.9): a list of what it
 * misses, repaired from the cache within one local round trip. A well-formed lie can't be told
 * from the truth: at most one repair per segment and local round trip, max_local per segment, and
 * nothing towards FH.
 */
#ifndef LH_ASKED_H
#define LH_ASKED_H

#include "arrival.h"
#include "segment.h"

/* A list that is being worked off: what one call has no room for the timer sends. */
struct lh_asked {
	struct lh_sack_block block[LH_TELL_MOST]; /* what is left of it */
	u32 nr, kept; /* kept: of lh_asked_repair(), as lh_arrival.kept */
	u64 at_ns; /* when it came */
	u64 rest_ns; /* when to go on; 0: nothing is left */
	/* The longest that a segment had been gone when it was first asked for, in this and the previous
	 * period; when this one began. */
	u64 age_now_ns, age_before_ns, age_since_ns;
};

/* The first @nr of @blocks, of which there are LH_TELL_MOST places at least, are missing beyond the
 * hop. */
LH_INLINE void lh_asked_take(struct lh_env *env, struct lh_flow *f,
			     const struct lh_sack_block *blocks, u32 nr, struct lh_actions *out);

/* Goes on with the list. */
LH_ENTRY int lh_asked_repair(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/* Whether the segment that MH wants next is one that the other end has asked for, or the MAC has
 * given up: whoever repairs that, it was the hop that lost it. */
LH_INLINE bool lh_asked_head(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_ASKED_H */
