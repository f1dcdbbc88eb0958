/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "share.h"

#define LH_RECLAIM_NS (10 * LH_MSEC)

LH_INLINE u32 lh_cached(const struct lh_flow *f)
{
	return f->ring.tail - f->ring.head;
}

LH_INLINE struct lh_chunk *lh_chunk_at(struct lh_env *env, const struct lh_flow *f, u32 pos)
{
	u32 d = pos >> LH_CHUNK_SHIFT;

	lh_barrier(d);
	return lh_host_chunk(env, f->ring.dir[d & (LH_FLOW_CHUNKS - 1)]);
}

LH_INLINE struct lh_seg *lh_seg_at(struct lh_env *env, const struct lh_flow *f, u32 pos)
{
	struct lh_chunk *c = lh_chunk_at(env, f, pos);
	u32 i = pos;

	if (!c)
		return NULL;
	lh_barrier(i); /* after the check, or clang adds to a pointer that may be none */
	return &c->seg[i & (LH_CHUNK_SEGS - 1)];
}

LH_INLINE struct lh_seg *lh_oldest(struct lh_env *env, const struct lh_flow *f)
{
	return lh_cached(f) ? lh_seg_at(env, f, f->ring.head) : NULL;
}

LH_FUNC u32 lh_cache_find(struct lh_env *env, const struct lh_flow *f, u32 seq)
{
	u32 lo = f->ring.head, len = lh_cached(f);
	int i;

	lh_for (i, 15) {
		struct lh_seg *s;
		u32 half = len / 2;

		if (!len)
			break;
		s = lh_seg_at(env, f, lo + half);
		if (!s)
			break;
		if (lh_after(s->end, seq)) {
			len = half;
		} else {
			lo += half + 1;
			len -= half + 1;
		}
	}
	return lo;
}

LH_INLINE bool lh_ring_grow(struct lh_env *env, struct lh_flow *f)
{
	u32 d = f->ring.tail >> LH_CHUNK_SHIFT;
	struct lh_chunk *c;

	if (!(f->ring.tail & (LH_CHUNK_SEGS - 1))) {
		u32 id;

		if (f->ring.tail - f->ring.spent > (LH_FLOW_CHUNKS - 1) * LH_CHUNK_SEGS)
			return false; /* the directory has no place, until more is reclaimed */
		if (!lh_host_get_chunk(env, &id))
			return false;
		lh_barrier(d);
		f->ring.dir[d & (LH_FLOW_CHUNKS - 1)] = id;
		c = lh_host_chunk(env, id);
		if (c) {
			c->oldest_tx_ns = env->now_ns;
			c->again_tx_ns = ~0ULL;
			c->nr_sacked = c->sacked_bytes = 0;
		}
	}
	f->ring.tail++;
	return true;
}

LH_INLINE void lh_ring_put_chunk(struct lh_env *env, struct lh_flow *f, u32 pos)
{
	u32 d = pos >> LH_CHUNK_SHIFT;

	lh_barrier(d);
	lh_host_put_chunk(env, f->ring.dir[d & (LH_FLOW_CHUNKS - 1)]);
}

LH_INLINE void lh_chunk_sack(struct lh_env *env, const struct lh_flow *f, u32 pos,
			     const struct lh_seg *e)
{
	struct lh_chunk *c = lh_chunk_at(env, f, pos);

	if (!c)
		return;
	c->nr_sacked++;
	c->sacked_bytes += e->end - e->seq;
}

LH_INLINE void lh_chunk_unsack(struct lh_env *env, const struct lh_flow *f, u32 pos,
			       const struct lh_seg *e)
{
	struct lh_chunk *c = lh_chunk_at(env, f, pos);

	if (!c || !c->nr_sacked)
		return;
	c->nr_sacked--;
	c->sacked_bytes -= e->end - e->seq;
}

LH_INLINE void lh_ring_pop(struct lh_env *env, struct lh_flow *f, u32 n)
{
	if (n && n == lh_cached(f))
		lh_share_lose(env, f);
	f->ring.head += n;
}

/* Gives the memory of the oldest entry back that was taken off. */
LH_INLINE void lh_ring_reclaim_one(struct lh_env *env, struct lh_flow *f)
{
	struct lh_seg *s = lh_seg_at(env, f, f->ring.spent);

	if (s) {
		if (s->slot != LH_NO_SLOT)
			lh_host_put_slot(env, s->slot);
		f->ring.nr_small -= !!(s->flags & LH_SEG_SMALL);
	}
	f->ring.spent++;
	if (f->ring.spent == f->ring.tail) {
		lh_ring_put_chunk(env, f, f->ring.spent - 1);
		f->ring.spent = f->ring.head = f->ring.tail = 0;
	} else if (!(f->ring.spent & (LH_CHUNK_SEGS - 1))) {
		lh_ring_put_chunk(env, f, f->ring.spent - 1);
	}
}

/* As lh_ring_reclaim(). An entry of its own, since what comes behind a loop of the same function Linux 6.8's
 * verifier can't prune. */
LH_ENTRY int lh_ring_reclaim_more(struct lh_env *env, struct lh_flow *f, u32 most)
{
	int i;

	if (!env || !f || f->ring.spent == f->ring.head)
		return 0;
	f->ring.reclaimed_ns = env->now_ns;
	lh_for (i, LH_FLOW_CHUNKS * LH_CHUNK_SEGS) {
		if ((u32)i >= most || f->ring.spent == f->ring.head)
			break;
		lh_ring_reclaim_one(env, f);
	}
	return 0;
}

LH_INLINE void lh_ring_reclaim(struct lh_env *env, struct lh_flow *f, u32 most)
{
	if (f->ring.spent == f->ring.head)
		return;
	f->ring.reclaimed_ns = env->now_ns;
	lh_ring_reclaim_one(env, f); /* mostly there is no other, and a loop costs as much */
	if (f->ring.spent != f->ring.head)
		lh_ring_reclaim_more(env, f, most - 1);
}

LH_INLINE u64 lh_ring_deadline(const struct lh_flow *f)
{
	return f->ring.spent == f->ring.head ? 0 : f->ring.reclaimed_ns + LH_RECLAIM_NS;
}

LH_FUNC int lh_cache_flush(struct lh_env *env, struct lh_flow *f)
{
	lh_ring_pop(env, f, lh_cached(f));
	return 0;
}

LH_FUNC int lh_cache_free(struct lh_env *env, struct lh_flow *f)
{
	lh_cache_flush(env, f);
	return lh_ring_reclaim_more(env, f, LH_FLOW_CHUNKS * LH_CHUNK_SEGS);
}

LH_FUNC int lh_ring_shift(struct lh_env *env, struct lh_flow *f, u32 pos)
{
	u32 n = f->ring.tail - 1 - pos;
	int i;

	lh_for (i, LH_SHIFT_MAX) {
		u32 at = f->ring.tail - 1 - i;
		struct lh_seg *to, *from;
		struct lh_chunk *c;

		if ((u32)i >= n)
			break;
		to = lh_seg_at(env, f, at);
		from = lh_seg_at(env, f, at - 1);
		if (!to || !from)
			break;
		*to = *from;
		c = lh_chunk_at(env, f, at);
		if (c)
			c->oldest_tx_ns = c->again_tx_ns = 0;
		if (!(at & (LH_CHUNK_SEGS - 1)) && (to->flags & LH_SEG_SACKED)) {
			lh_chunk_unsack(env, f, at - 1, to);
			lh_chunk_sack(env, f, at, to);
		}
	}
	return 0;
}
