/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"

#define LH_TAIL_LEAST 4 /* segments that are missing: fewer a probe each will bring */

/* Whether two segments of each flow of @p, the flow's receiver, take so long that each is acknowledged by itself: a
 * delayed ACK does not wait for the next. */
LH_INLINE bool lh_tail_narrow(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p)
{
	u64 flows = lh_max(lh_peer_flows(env, p), (u64)p->active);

	return lh_rate_lacks(p->rate, LH_DELACK_NS / 2, 2 * flows * lh_mss(f));
}

/* Whether what MH lacks departed so long ago that no queue to @p, its receiver, has taken half as long; and whether
 * that is so much that a probe for each would take too long. */
LH_INLINE bool lh_tail_overdue(struct lh_env *env, const struct lh_flow *f, const struct lh_peer *p)
{
	const struct lh_seg *e = lh_head(env, f);
	u64 most = lh_lmin(env) + 2 * lh_queue_longest(p) + LH_DELACK_NS;

	return e && lh_since(env->now_ns, e->last_tx_ns) >= most &&
	       f->max - f->una >= LH_TAIL_LEAST * lh_mss(f);
}

/*
 * Whether a probe has brought what it repeated and nothing else, in the time that its answer takes: what had departed
 * before it has not come by then. A slow start that ends in a full queue loses the end of a window; each probe brought
 * a segment, and its ACK put off FH's own, which would have brought all (RFC 8985 section 7).
 */
LH_INLINE bool lh_tail_probed(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_ack_sum *sum = &env->ack;
	u64 least = f->rtt.min_ns, took = lh_since(env->now_ns, sum->again_ns);

	return f->recovery.nr_probes && sum->nr_segs == 1 && f->una == f->recovery.probe_end &&
	       f->una != f->max && !lh_gapped(f) && !env->view.dsack_ours &&
	       (took >= least - least / 4 || f->recovery.nr_probes > 1) &&
	       lh_outage_horizon(env, f) <= sum->again_ns + LH_DELACK_NS;
}

LH_INLINE bool lh_tail_ends(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	bool narrow;

	if (!p || !p->rate)
		return false;
	narrow = lh_tail_narrow(env, f, p);
	if (!lh_tail_probed(env, f) || (narrow && !lh_tail_overdue(env, f, p)))
		return false;
	if (narrow && !lh_queue_lossy(env, f))
		lh_guard_leave(env, f);
	else
		lh_outage_lost(env, f);
	return true;
}
