/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "device.h"

/* While one end alone was heard: twice the first window of most senders (RFC 6928). */
#define LH_SHARE_UNANSWERED 24
/* Until MH has acknowledged data: the first window of the others. */
#define LH_SHARE_UNPROVED 128

LH_INLINE void lh_share_gain(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);

	if (p)
		lh_peer_gain(LH_DEVICE(env), p);
	if (lh_policy(env) & LH_POLICY_SHADOW)
		lh_shadow_busy(env, f);
}

LH_INLINE void lh_share_lose(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);

	if (p)
		lh_peer_lose(LH_DEVICE(env), p);
	/* Whatever the scheme: a host forgets flows of the one before, too. */
	lh_shadow_idle(env, f);
}

/* An equal part of the pool for each receiver, and of that for each of its flows. */
LH_INLINE u32 lh_share_pressed(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 peers = LH_DEVICE(env)->busy_peers, part;

	if (!p)
		return env->part_segments;
	part = env->pool_segments / lh_clamp64(peers, 1, LH_PEERS);
	return lh_clamp64(part / lh_max(p->active, 1U), LH_SHARE_LEAST, LH_FLOW_SEGS);
}

LH_INLINE u32 lh_share_of(struct lh_env *env, const struct lh_flow *f)
{
	u32 cap = lh_min(env->cap_segments, (u32)LH_FLOW_SEGS);

	if (env->pool_segments)
		cap = lh_min(cap, lh_share_pressed(env, f));
	if (!lh_answered(f))
		return lh_min(cap, (u32)LH_SHARE_UNANSWERED);
	return f->delivery.bytes ? cap : lh_min(cap, (u32)LH_SHARE_UNPROVED);
}
