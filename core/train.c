/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "train.h"

LH_INLINE u32 lh_train_segs(const struct lh_segment *s)
{
	if (!s->part_bytes)
		return 1;
	return (s->payload_bytes + s->part_bytes - 1) / s->part_bytes;
}

/* Whether what @s says beside its data is the same for each of its segments. */
LH_INLINE bool lh_train_plain(const struct lh_flow *f, const struct lh_segment *s)
{
	const u32 plain = LH_ACK | LH_PSH | LH_FIN | LH_ECE | LH_CWR;

	/* Both ends are known, so that the first segment teaches nothing about the second. */
	return (s->flags & LH_ACK) && !(s->flags & ~plain) && f->fh.known && f->fh.most &&
	       f->mh.known && (f->flags & LH_FLOW_STARTED);
}

LH_ENTRY int lh_train_ordinary(struct lh_env *env, const struct lh_flow *f,
			       const struct lh_segment *s)
{
	u32 n, cap;

	if (!env || !f || !s || s->part_bytes < LH_SMALL_BYTES || !env->accepted)
		return 0;
	if (s->seq != f->max || !lh_train_plain(f, s))
		return 0;
	/* Who watches wants to see each; where memory is scarce each makes room for itself. */
	if ((lh_policy(env) & LH_POLICY_SHADOW) || env->pool_segments)
		return 0;
	n = lh_train_segs(s);
	cap = lh_share_of(env, f);
	if (n > LH_TRAIN_MOST || lh_cached(f) + n > cap - cap / 10)
		return 0;
	if (f->ring.nr_small >= LH_SMALL_MOST)
		return 0; /* the last one may be small */
	return lh_acceptable(f, &f->fh, &f->mh, s) == LH_ACCEPTED;
}

LH_INLINE u32 lh_train_bytes(const struct lh_segment *s, u32 i)
{
	return lh_min(s->payload_bytes - i * s->part_bytes, s->part_bytes);
}

LH_INLINE u32 lh_train_next(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    u32 i)
{
	u32 at = i * s->part_bytes, bytes = lh_train_bytes(s, i), slot;
	bool last = at + bytes == s->payload_bytes;
	struct lh_seg *e;

	if (!lh_host_get_slot(env, &slot))
		return LH_NO_SLOT;
	if (!lh_ring_grow(env, f)) {
		lh_host_put_slot(env, slot);
		return LH_NO_SLOT;
	}
	e = lh_seg_at(env, f, f->ring.tail - 1);
	if (!e)
		return LH_NO_SLOT;
	/* A FIN is the last one's, and only that may be small. */
	lh_seg_begin(env, f, e, s->seq + at, last ? s->end : s->seq + at + bytes, slot, s->tsval,
		     bytes < LH_SMALL_BYTES ? LH_SEG_SMALL : 0);
	return slot;
}

LH_ENTRY int lh_train_end(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s, u32 n,
			  struct lh_actions *out)
{
	u32 bytes;

	if (!env || !f || !s || !out)
		return 0;
	bytes = lh_min(n * s->part_bytes, s->payload_bytes);
	if (n && s->part_bytes > lh_mss(f))
		f->conn.mss = s->part_bytes;
	if (bytes < s->payload_bytes)
		lh_cache_block(f, s->seq + bytes, s->end);
	lh_host_count(env, LH_C_uncached_full, out->nr_store - n);
	lh_host_count(env, LH_C_cached_segments, n);
	lh_host_count(env, LH_C_cached_bytes, bytes);
	out->next_deadline_ns = lh_next_deadline(env, f);
	return n;
}
