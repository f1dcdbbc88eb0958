/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `none`: everything passes, and is counted. What comparisons begin with.
 */
#ifdef LH_SCHEME
LH_SCHEME(none, LH_POLICY_RTT_PER_ACK, "observe and count only")
#else
#include "../lifecycle.h"

#define lh_none_on_syn lh_ignore_syn
#define lh_none_on_link lh_ignore_link

LH_INLINE void lh_none_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       struct lh_actions *out)
{
	lh_track_max(f, s);
}

LH_INLINE void lh_none_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      enum lh_ack_class kind, struct lh_actions *out)
{
}

LH_INLINE void lh_none_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
}

LH_INLINE u64 lh_none_deadline(struct lh_env *env, const struct lh_flow *f)
{
	return 0;
}

#endif
