/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "asked.h"
#include "brake.h"
#include "cache.h"
#include "detect.h"
#include "guard.h"
#include "tell.h"

#define LH_ASKED_SEGS 64 /* looked at per block and call */
#define LH_ASKED_AGE_NS (10 * LH_SEC)

/*
 * Whether @e departed too short a time ago to be known to be missing: half a round trip of the hop
 * for an original, since the round trip that is known may be longer than the least (partner.h), and
 * one for what was sent again, of which an earlier copy may be asked for. That waits in the hop's
 * queue, too, where it is known.
 */
LH_INLINE bool lh_asked_young(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	u64 guard_ns = env->partner_rtt_ns ? env->partner_rtt_ns : f->rtt.srtt_ns;

	if (!e->n_local && !(e->flags & LH_SEG_FH_RTX))
		guard_ns /= 2;
	else if (lh_braked(env))
		guard_ns += lh_queue(env, f->queue.recent_ns[0]) / 2;
	return lh_since(f->asked.at_ns, e->last_tx_ns) < guard_ns;
}

/*
 * Whether @e had been gone for about as long as anything that was asked for of late: its loss may be a
 * drop of the hop's queue, which happens at its longest. Another one is the hop's. Counted once per
 * segment.
 */
LH_INLINE bool lh_asked_longest(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e)
{
	struct lh_asked *a = &f->asked;
	u64 age = lh_since(a->at_ns, e->last_tx_ns), longest;

	if (lh_since(env->now_ns, a->age_since_ns) > LH_ASKED_AGE_NS) {
		a->age_before_ns = a->age_now_ns;
		a->age_now_ns = 0;
		a->age_since_ns = env->now_ns;
	}
	a->age_now_ns = lh_max(a->age_now_ns, age);
	longest = lh_max(a->age_now_ns, a->age_before_ns);
	return age >= longest - longest / 8;
}

/*
 * Whose loss @e is, which the other end asks for: the hop has lost it, but maybe its own queue.
 * Judged by what the controller knows of that queue where there is one, else by the guard, at the
 * base only: to the mobile end the queues of all the path are one. @may: it may be sent now.
 * @return LH_TRIED_OURS, LH_TRIED_NOTHING: FH's, or nothing can be said of it, LH_TRIED_WAITS.
 */
LH_INLINE enum lh_tried lh_asked_whose(struct lh_env *env, struct lh_flow *f,
				       const struct lh_seg *e, bool may)
{
	bool braked = lh_braked(env), longest;

	if (e->n_local)
		return LH_TRIED_OURS;
	longest = !(lh_policy(env) & LH_POLICY_SEQUENCE) || lh_asked_longest(env, f, e);
	if (!may)
		return braked ? LH_TRIED_NOTHING : LH_TRIED_OURS;
	if (braked)
		return lh_order_whose(env, f, e);
	if (LH_CFG(env)->role != LH_ROLE_BASE || !lh_seg_repairable(env, f, e) || !longest ||
	    !lh_guard_suspects(env, f))
		return LH_TRIED_OURS;
	lh_guard_leave(env, f);
	return LH_TRIED_NOTHING;
}

/* When to look again whose loss @e is: in an eighth of the time after which it counts as the link's
 * in any case (lh_order_pattern()); ACKs that come meanwhile may tell sooner. */
LH_INLINE u64 lh_asked_patience(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	u64 end = e->last_tx_ns + f->order.rtt_ns + lh_lmin(env);

	return end > env->now_ns ? lh_max((end - env->now_ns) / 8, LH_REPAIR_FULL_NS)
				 : LH_REPAIR_FULL_NS;
}

/* [left, right) was asked for and will not come from here: the other end is told, if it heeds that. */
LH_ENTRY int lh_asked_absent(struct lh_env *env, struct lh_actions *out, u32 left, u32 right)
{
	u32 n;

	if (!env || !out || !(lh_policy(env) & LH_POLICY_SEQUENCE) ||
	    !(env->partner & LH_CAN_HEAR_ABSENT) || !lh_before(left, right))
		return 0;
	n = out->nr_absent;
	lh_barrier(n);
	if (n && out->absent[(n - 1) & (LH_TELL_MOST - 1)].right == left) {
		out->absent[(n - 1) & (LH_TELL_MOST - 1)].right = right;
		return 1;
	}
	if (n >= LH_TELL_MOST)
		return 0; /* asked for again, or given up by time */
	out->absent[n & (LH_TELL_MOST - 1)].left = left;
	out->absent[n & (LH_TELL_MOST - 1)].right = right;
	out->nr_absent = n + 1;
	return 1;
}

/* The answer is a message as any other, and there are so many. */
LH_INLINE void lh_asked_answer(struct lh_env *env, const struct lh_flow *f, struct lh_actions *out)
{
	if (!out->nr_absent)
		return;
	if (lh_tell_from(env, f) > env->now_ns) {
		out->nr_absent = 0;
		return;
	}
	lh_tell_spend(env, f);
	lh_host_count(env, LH_C_told_absent, 1);
}

/* What becomes of a segment that was asked for. */
enum lh_asked_for {
	LH_ASKED_LATER, /* not in this call, for want of room or of knowledge */
	LH_ASKED_DONE,
	LH_ASKED_ABSENT, /* it may not be repaired, and has been gone for long enough to be missing */
};

/* Repairs the segment at @pos if it may be. @return enum lh_asked_for. */
LH_ENTRY int lh_asked_one(struct lh_env *env, struct lh_flow *f, u32 pos, struct lh_actions *out)
{
	enum lh_tried whose;
	struct lh_seg *e;
	bool young, may;

	if (!env || !f || !out)
		return LH_ASKED_DONE;
	e = lh_seg_at(env, f, pos);
	if (!e || (e->flags & LH_SEG_SACKED))
		return LH_ASKED_DONE;
	young = lh_asked_young(env, f, e);
	may = !young && lh_seg_sendable(env, f, e);
	whose = lh_asked_whose(env, f, e, may);
	if (whose == LH_TRIED_WAITS) {
		f->asked.rest_ns = env->now_ns + lh_asked_patience(env, f, e);
		return LH_ASKED_LATER;
	}
	if (whose == LH_TRIED_OURS)
		e->flags |= LH_SEG_ASKED;
	if (whose != LH_TRIED_OURS || !may)
		return young ? LH_ASKED_DONE : LH_ASKED_ABSENT;
	if (out->nr_retransmit >= lh_min(env->room, LH_MAX_RETRANSMIT))
		return LH_ASKED_LATER;
	lh_resend(env, f, e, LH_BY_PARTNER, out);
	return LH_ASKED_DONE;
}

/* Works block @i off. False: not all of it, the block has shrunk. */
LH_ENTRY int lh_asked_block(struct lh_env *env, struct lh_flow *f, u32 i, struct lh_actions *out)
{
	struct lh_sack_block *b;
	int k, one;
	u32 pos;

	if (!env || !f || !out)
		return 1;
	lh_barrier(i);
	b = &f->asked.block[i & (LH_TELL_MOST - 1)];
	b->left = lh_later(b->left, f->una);
	pos = lh_cache_find(env, f, b->left);
	lh_for (k, LH_ASKED_SEGS) {
		struct lh_seg *e = pos == f->ring.tail ? NULL : lh_seg_at(env, f, pos);

		if (!e || !lh_before(e->seq, b->right)) {
			lh_asked_absent(env, out, b->left, b->right);
			return 1;
		}
		lh_asked_absent(env, out, b->left, e->seq); /* if there is anything between */
		one = lh_asked_one(env, f, pos, out);
		if (one == LH_ASKED_LATER)
			return 0;
		if (one == LH_ASKED_ABSENT)
			lh_asked_absent(env, out, e->seq, e->end);
		b->left = e->end;
		pos++;
	}
	return !lh_before(b->left, b->right);
}

LH_ENTRY int lh_asked_repair(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	int i;

	if (!env || !f || !out)
		return 0;
	f->asked.kept = 0;
	f->asked.rest_ns = 0; /* of one whose loss is not known yet: when to look */
	env->ack.deprived = 0;
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
	if (!f->asked.nr)
		f->asked.rest_ns = 0;
	else if (!f->asked.rest_ns)
		f->asked.rest_ns =
			env->now_ns + (out->nr_retransmit ? LH_REPAIR_REST_NS : LH_REPAIR_FULL_NS);
	lh_asked_answer(env, f, out);
	return 0;
}

/* Whether [left, right) is part of what is still to be worked off. */
LH_INLINE bool lh_asked_waits(const struct lh_flow *f, u32 left, u32 right)
{
	u32 i;

	for (i = 0; i < LH_TELL_MOST; i++) {
		const struct lh_sack_block *b = &f->asked.block[i];

		if (i < f->asked.nr && !lh_before(left, b->left) && !lh_after(right, b->right))
			return true;
	}
	return false;
}

/* What finds no room behind the rest of the last list is told again. */
LH_INLINE void lh_asked_take(struct lh_env *env, struct lh_flow *f,
			     const struct lh_sack_block *blocks, u32 nr, struct lh_actions *out)
{
	u32 n = 0, i;

	for (i = 0; i < LH_TELL_MOST; i++) {
		u32 left = blocks[i].left, right = blocks[i].right, k = f->asked.nr;

		if (i >= nr)
			break;
		/* Only what FH has sent and MH has not acknowledged can be missing. */
		left = lh_later(left, f->una);
		if (lh_after(right, f->max))
			right = f->max;
		if (!lh_before(left, right))
			continue;
		n++;
		if (k >= LH_TELL_MOST || lh_asked_waits(f, left, right))
			continue;
		lh_barrier(k);
		f->asked.block[k & (LH_TELL_MOST - 1)].left = left;
		f->asked.block[k & (LH_TELL_MOST - 1)].right = right;
		f->asked.nr++;
	}
	if (!n)
		return;
	f->asked.at_ns = env->now_ns;
	lh_host_count(env, LH_C_asked, 1);
	lh_asked_repair(env, f, out);
}

LH_INLINE bool lh_asked_head(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e = lh_head(env, f);

	return e && (e->flags & LH_SEG_ASKED);
}
