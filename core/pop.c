/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "pop.h"

/* The most that there are: two chunks' segments and the chunks of the window between. */
#define LH_ACK_POPS (2 * LH_CHUNK_SEGS + LH_FLOW_SEGS / LH_CHUNK_SEGS)

/* Takes the head off the cache if @ack covers it. @how: LH_POP_*. @return 1:
 * done, look at the next. */
LH_ENTRY int lh_ack_pop(struct lh_env *env, struct lh_flow *f, u32 ack, u32 how)
{
	struct lh_seg *e;

	if (!env || !f || !lh_cached(f))
		return 0;
	e = lh_seg_at(env, f, f->ring.head);
	if (!e || lh_after(e->end, ack))
		return 0;
	if ((how & LH_POP_HOLE) && !env->ack.last_ns)
		lh_order_late(env, f, e);
	if (e->flags & LH_SEG_SACKED)
		lh_sack_unbook(f, e);
	else
		lh_delivered(env, f, e, !how);
	lh_own_dups_expect(env, f, e);
	if (e->n_local || (e->flags & (LH_SEG_FH_RTX | LH_SEG_SACKED | LH_SEG_CONG)))
		env->ack.unclear = 1;
	env->ack.popped_bytes += e->end - e->seq;
	if (!env->ack.last_ns)
		env->ack.first_ns = e->last_tx_ns;
	env->ack.last_ns = e->last_tx_ns;
	env->ack.last_end = e->end;
	env->ack.steps++;
	lh_ring_pop(env, f, 1);
	return 1;
}

/*
 * Takes a whole chunk off that @ack covers, with what the chunk knows of its segments and no look
 * at each. The first and the last that an ACK covers get theirs: by them hole, order and sojourn
 * are judged. @return 1: done, look at the next.
 */
LH_ENTRY int lh_ack_pop_chunk(struct lh_env *env, struct lh_flow *f, u32 ack)
{
	u32 span, n, pos;
	struct lh_chunk *c;
	struct lh_seg *next;

	if (!env || !f)
		return 0;
	pos = f->ring.head;
	if (!env->ack.last_ns || (pos & (LH_CHUNK_SEGS - 1)) || lh_cached(f) <= LH_CHUNK_SEGS)
		return 0;
	next = lh_seg_at(env, f, pos + LH_CHUNK_SEGS);
	if (!next || lh_after(next->end, ack))
		return 0;
	c = lh_chunk_at(env, f, pos);
	if (!c)
		return 0;
	span = c->seg[LH_CHUNK_SEGS - 1].end - c->seg[0].seq;
	n = lh_min(span - lh_min(c->sacked_bytes, span), LH_CHUNK_SEGS * lh_mss(f));
	f->delivery.sacked_bytes -= lh_min(c->sacked_bytes, f->delivery.sacked_bytes);
	f->nr_sacked -= lh_min(c->nr_sacked, f->nr_sacked);
	f->delivery.bytes += n;
	env->ack.bytes += n;
	env->ack.popped_bytes += span;
	env->ack.nr_segs += LH_CHUNK_SEGS - lh_min(c->nr_sacked, LH_CHUNK_SEGS);
	env->ack.unclear = 1; /* as far as we know */
	if (f->flags & LH_FLOW_RTX)
		env->ack.again_ns = env->now_ns;
	env->ack.steps++;
	lh_ring_pop(env, f, LH_CHUNK_SEGS);
	return 1;
}

/* All that @ack covers. An entry of its own: lh_ring_reclaim_more(). */
LH_ENTRY int lh_ack_pops(struct lh_env *env, struct lh_flow *f, u32 ack, u32 how)
{
	int i;

	if (!env || !f)
		return 0;
	lh_for (i, LH_ACK_POPS)
		if (!lh_ack_pop_chunk(env, f, ack) && !lh_ack_pop(env, f, ack, how))
			break;
	return 0;
}

/* Whether all that is under way left once, in order, and none of it is known to have arrived: the one
 * segment that @ack covers tells what the other does. */
LH_INLINE bool lh_ack_ordinary(struct lh_env *env, const struct lh_flow *f, u32 how)
{
	return !how && !f->delivery.sacked_bytes && !(f->flags & (LH_FLOW_RTX | LH_FLOW_BLOCKED)) &&
	       !(lh_policy(env) & LH_POLICY_SHADOW);
}

/* Segments that an ACK mostly covers; a search for the last of them costs as much as several. */
#define LH_ACK_FEW 4

/* The last one that @ack covers, if it is among the first LH_ACK_FEW from @first on and covered to its end; @n:
 * how many they are. NULL: there are others. */
LH_INLINE struct lh_seg *lh_ack_few(struct lh_env *env, const struct lh_flow *f, u32 ack,
				    struct lh_seg *first, u32 *n)
{
	struct lh_seg *e = first;
	u32 i;

	for (i = 0; i < LH_ACK_FEW; i++) {
		if (i)
			e = i < lh_cached(f) ? lh_seg_at(env, f, f->ring.head + i) : NULL;
		if (!e || lh_after(e->end, ack))
			return NULL;
		*n = i + 1;
		if (e->end == ack)
			return e;
	}
	return NULL;
}

/* How many @ack covers. An entry of its own: lh_ring_reclaim_more(). */
LH_ENTRY u32 lh_ack_many(struct lh_env *env, struct lh_flow *f, u32 ack)
{
	return env && f ? lh_cache_find(env, f, ack) - f->ring.head : 0;
}

/* All that @ack covers at once, of a flow that is lh_ack_ordinary(): what lh_ack_pop() would have
 * learned of the last of them, which is the newest. */
LH_INLINE void lh_ack_run(struct lh_env *env, struct lh_flow *f, u32 ack)
{
	struct lh_seg *first, *last;
	u32 n = 0, span;

	first = lh_oldest(env, f);
	if (!first || lh_after(first->end, ack))
		return;
	last = lh_ack_few(env, f, ack, first, &n);
	if (!last) {
		n = lh_ack_many(env, f, ack);
		last = lh_seg_at(env, f, f->ring.head + n - 1);
	}
	if (!n || !last)
		return;
	span = last->end - first->seq;
	lh_delivered_run(env, f, last, n, span);
	env->ack.popped_bytes += span;
	env->ack.first_ns = first->last_tx_ns;
	env->ack.last_ns = last->last_tx_ns;
	env->ack.last_end = last->end;
	env->ack.steps++;
	lh_ring_pop(env, f, n);
}

/* LH_POP_* of an ACK that moves una. Without SACK nothing but the repair tells that
 * there was a hole: what had waited behind one that the timer found posed as queue,
 * the timer grew with it, and each loss took twice as long as the one before. */
LH_INLINE u32 lh_ack_how(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e;
	u32 how = 0;

	if (lh_gapped(f) || (f->flags & LH_FLOW_RECOVERY))
		how |= LH_POP_HOLE;
	if (lh_flow_sack(f))
		return how;
	e = lh_oldest(env, f);
	if (e && (e->n_local || (e->flags & LH_SEG_FH_RTX)))
		how |= LH_POP_WAITED;
	return how;
}

LH_INLINE void lh_ack_take(struct lh_env *env, struct lh_flow *f, u32 ack, u32 how)
{
	if (lh_ack_ordinary(env, f, how)) {
		lh_ack_run(env, f, ack);
		return;
	}
	/* Two are what most ACKs cover: a loop costs as much as they do. */
	if (!lh_ack_pop(env, f, ack, how) || !lh_ack_pop(env, f, ack, how) ||
	    !lh_ack_pop(env, f, ack, how))
		return;
	lh_ack_pops(env, f, ack, how);
}
