/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "asked.h"
#include "cache.h"
#include "detect.h"
#include "hold.h"

#define LH_ASKED_SEGS 64 /* looked at per block and call */
/* Between two calls' repairs of one list, and where the host has no room for any. */
#define LH_ASKED_REST_NS (LH_MSEC / 10)
#define LH_ASKED_FULL_NS LH_MSEC

/* A local round trip as far as it is known: none is shorter, and what is younger can't be known to be
 * missing. */
LH_INLINE u64 lh_asked_guard(struct lh_env *env, const struct lh_flow *f)
{
	return env->partner_rtt_ns ? env->partner_rtt_ns : f->rtt.srtt_ns;
}

/* Repairs @e if it may be. False: no room in this call. */
LH_INLINE bool lh_asked_one(struct lh_env *env, struct lh_flow *f, struct lh_seg *e,
			    struct lh_actions *out)
{
	if (e->flags & LH_SEG_SACKED)
		return true;
	e->flags |= LH_SEG_ASKED;
	if (!lh_seg_sendable(env, f, e) ||
	    lh_since(f->asked.at_ns, e->last_tx_ns) < lh_asked_guard(env, f))
		return true;
	if (out->nr_retransmit >= lh_min(env->room, LH_MAX_RETRANSMIT))
		return false;
	lh_resend(env, f, e, LH_BY_PARTNER, out);
	return true;
}

/* Works block @i off. False: no room, the block has shrunk. */
LH_ENTRY int lh_asked_block(struct lh_env *env, struct lh_flow *f, u32 i, struct lh_actions *out)
{
	struct lh_sack_block *b;
	u32 pos;
	int k;

	if (!env || !f || !out)
		return 1;
	lh_barrier(i);
	b = &f->asked.block[i & (LH_TELL_MOST - 1)];
	pos = lh_cache_find(env, f, b->left);
	lh_for (k, LH_ASKED_SEGS) {
		struct lh_seg *e;

		if (pos == f->ring.tail)
			return 1;
		e = lh_seg_at(env, f, pos++);
		if (!e || !lh_before(e->seq, b->right))
			return 1;
		if (!lh_asked_one(env, f, e, out))
			return 0;
		b->left = e->end;
	}
	return !lh_before(b->left, b->right);
}

LH_ENTRY int lh_asked_repair(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	int i;

	if (!env || !f || !out)
		return 0;
	f->asked.kept = 0;
	lh_for (i, LH_TELL_MOST) {
		u32 k = f->asked.kept;

		if ((u32)i >= f->asked.nr)
			break;
		if (!k && lh_asked_block(env, f, i, out))
			continue;
		lh_barrier(k);
		f->asked.block[k & (LH_TELL_MOST - 1)] = f->asked.block[i & (LH_TELL_MOST - 1)];
		f->asked.kept++;
	}
	f->asked.nr = f->asked.kept;
	f->asked.rest_ns = 0;
	if (f->asked.nr)
		f->asked.rest_ns =
			env->now_ns + (out->nr_retransmit ? LH_ASKED_REST_NS : LH_ASKED_FULL_NS);
	return 0;
}

LH_INLINE void lh_asked_take(struct lh_env *env, struct lh_flow *f,
			     const struct lh_sack_block *blocks, u32 nr, struct lh_actions *out)
{
	u32 n = 0, i;

	for (i = 0; i < LH_TELL_MOST; i++) {
		u32 left = blocks[i].left, right = blocks[i].right, k = n;

		if (i >= nr)
			break;
		/* Only what FH has sent and MH has not acknowledged can be missing. */
		left = lh_later(left, f->una);
		if (lh_after(right, f->max))
			right = f->max;
		if (!lh_before(left, right))
			continue;
		lh_barrier(k);
		f->asked.block[k & (LH_TELL_MOST - 1)].left = left;
		f->asked.block[k & (LH_TELL_MOST - 1)].right = right;
		n++;
	}
	if (!n)
		return;
	f->asked.nr = n;
	f->asked.at_ns = env->now_ns;
	lh_host_count(env, LH_C_asked, 1);
	lh_asked_repair(env, f, out);
}

LH_INLINE bool lh_asked_head(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e = lh_head(env, f);

	return e && (e->flags & LH_SEG_ASKED);
}

LH_INLINE void lh_hop_duplicate(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out)
{
	f->recovery.nr_dup++;
	if (lh_asked_head(env, f) && lh_suppressible(env, f, s))
		lh_suppress(env, f, out);
	else if (f->flags & LH_FLOW_HELD)
		lh_abandon(env, f, true, out);
}
