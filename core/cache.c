/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "ring.h"

#define LH_SHED_MOST 8 /* segments evicted per segment that comes */

LH_INLINE void lh_sack_forget(struct lh_flow *f)
{
	int i;

	for (i = 0; i < LH_MAX_SACK; i++)
		f->delivery.seen[i].left = f->delivery.seen[i].right = 0;
}

LH_INLINE void lh_cache_block(struct lh_flow *f, u32 left, u32 right)
{
	if (!(f->flags & LH_FLOW_BLOCKED)) {
		f->flags |= LH_FLOW_BLOCKED;
		f->cache.blocked_start = left;
		f->cache.blocked_end = right;
		return;
	}
	if (lh_before(left, f->cache.blocked_start))
		f->cache.blocked_start = left;
	if (lh_after(right, f->cache.blocked_end))
		f->cache.blocked_end = right;
}

LH_INLINE void lh_sack_unbook(struct lh_flow *f, const struct lh_seg *e)
{
	f->delivery.sacked_bytes -= e->end - e->seq;
	f->nr_sacked -= !!f->nr_sacked;
}

LH_INLINE void lh_cache_again(struct lh_flow *f)
{
	f->flags |= LH_FLOW_RTX;
	f->recovery.rtx_end = f->max;
}

/* MH has said what it had to say of FH's copies before once it has what left after them, and as much again as is
 * under way, for the hop may reorder; and, as a few may be under way, not before a second more than answers take. */
LH_INLINE void lh_cache_fh_again(struct lh_env *env, struct lh_flow *f, u32 left, u32 right)
{
	struct lh_cache *c = &f->cache;
	bool told = lh_after(2 * f->una - f->max, f->recovery.fh_past) &&
		    lh_since(env->now_ns, f->recovery.fh_again_ns) >= LH_SEC + lh_quiet(env, f);

	if (!(f->flags & LH_FLOW_FH_RTX) || told) {
		c->fh_rtx_start = left;
		c->fh_rtx_end = right;
	}
	if (lh_before(left, c->fh_rtx_start))
		c->fh_rtx_start = left;
	if (lh_after(right, c->fh_rtx_end))
		c->fh_rtx_end = right;
	f->recovery.fh_past = f->max;
	f->recovery.fh_again_ns = env->now_ns;
	f->flags |= LH_FLOW_FH_RTX;
	lh_cache_again(f);
}

LH_INLINE void lh_cache_fh_unseen(struct lh_env *env, struct lh_flow *f)
{
	f->cache.fh_rtx_start = f->una - (1U << 29);
	f->cache.fh_rtx_end = f->recovery.fh_past = f->una;
	f->recovery.fh_again_ns = env->now_ns;
	f->flags |= LH_FLOW_FH_RTX;
}

/* @e, which was SACKed, goes: the ACK that covers it books it, as uncached. What counts from an
 * earlier amount moves along, or the difference would wrap. */
LH_INLINE void lh_cache_unbook(struct lh_flow *f, const struct lh_seg *e)
{
	u32 n = e->end - e->seq;

	lh_sack_unbook(f, e);
	f->delivery.bytes -= n;
	f->delivery.train_bytes -= n;
	f->control.round_delivered -= n;
	lh_sack_forget(f);
}

LH_FUNC int lh_cache_shed(struct lh_env *env, struct lh_flow *f, u32 keep, u32 most)
{
	int i;

	lh_for (i, (int)most) {
		struct lh_seg *e;

		if (lh_cached(f) <= lh_max(keep, 1U)) /* who has nothing is counted elsewhere */
			break;
		e = lh_seg_at(env, f, f->ring.head);
		if (!e)
			break;
		if (e->flags & LH_SEG_SACKED)
			lh_cache_unbook(f, e);
		lh_cache_block(f, e->seq, e->end);
		f->ring.head++;
		lh_host_count(env, LH_C_evicted_segments, 1);
	}
	return 0;
}

/* Marks what [left, right) touches as sent again by the sender: repairs start
 * anew (docs/design.md, section 5.2), even though the cached bytes stay the old ones. */
LH_FUNC int lh_cache_mark_fh(struct lh_env *env, struct lh_flow *f, u32 left, u32 right)
{
	u32 pos = lh_cache_find(env, f, left);
	int i;

	lh_cache_block(f, left, right); /* FH's repair is under way, ours would be a second one */
	lh_for (i, 64) {
		struct lh_seg *s;

		if (pos == f->ring.tail)
			break;
		s = lh_seg_at(env, f, pos);
		if (!s || !lh_before(s->seq, right))
			break;
		if (lh_policy(env) & LH_POLICY_SHADOW)
			lh_shadow_again(env, f, pos);
		pos++;
		lh_cache_block(f, s->seq, s->end);
		s->flags = (s->flags & ~(LH_SEG_LOST | LH_SEG_ASKED)) | LH_SEG_FH_RTX;
		s->n_local = 0;
		s->last_tx_ns = env->now_ns;
	}
	return 0;
}

LH_INLINE u32 lh_mss(const struct lh_flow *f)
{
	return f->conn.mss ? f->conn.mss : 536; /* RFC 9293 section 3.7.1 */
}

/* The flag of a segment that never had a copy here: it was only watched. */
LH_INLINE u8 lh_seg_bare(const struct lh_seg *e)
{
	return e->slot == LH_NO_SLOT ? LH_SEG_NO_COPY : 0;
}

LH_INLINE void lh_seg_begin(struct lh_env *env, struct lh_flow *f, struct lh_seg *e, u32 seq,
			    u32 end, u32 slot, u32 tsval, u8 flags)
{
	e->last_tx_ns = env->now_ns;
	e->seq = seq;
	e->end = end;
	e->slot = slot;
	e->delivered = lh_policy(env) & LH_POLICY_SHADOW ? f->shadow.departed
							 : lh_receiver_delivered(env, f);
	e->tsval = tsval;
	e->arrived = 0;
	e->n_local = 0;
	e->flags = flags | lh_seg_bare(e);
	f->ring.nr_small += !!(flags & LH_SEG_SMALL);
	if (lh_cached(f) == 1)
		lh_share_gain(env, f);
	/* After that this flow is counted as one of its receiver's. */
	e->behind = lh_queue_departs(env, f, end - seq);
}

LH_INLINE bool lh_cache_insert(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       u32 pos, u8 flags, struct lh_actions *out)
{
	struct lh_seg *e;
	u32 slot = LH_NO_SLOT; /* none is needed by who only watches */

	if (f->ring.tail - pos > LH_SHIFT_MAX) {
		lh_host_count(env, LH_C_uncached_overlap, 1);
		return false;
	}
	if (s->payload_bytes < LH_SMALL_BYTES) {
		if (f->ring.nr_small >= LH_SMALL_MOST) {
			lh_host_count(env, LH_C_uncached_small, 1);
			return false;
		}
		flags |= LH_SEG_SMALL;
	}
	if (!(lh_policy(env) & LH_POLICY_SHADOW) && !lh_host_get_slot(env, &slot)) {
		lh_host_count(env, LH_C_uncached_full, 1);
		return false;
	}
	if (!lh_ring_grow(env, f)) {
		if (slot != LH_NO_SLOT)
			lh_host_put_slot(env, slot);
		lh_host_count(env, LH_C_uncached_full, 1);
		return false;
	}
	if (pos + 1 != f->ring.tail)
		lh_ring_shift(env, f, pos);
	e = lh_seg_at(env, f, pos);
	if (!e)
		return false;
	if (!s->payload_bytes)
		flags |= LH_SEG_EMPTY;
	lh_seg_begin(env, f, e, s->seq, s->end, slot, s->tsval, flags);
	out->store_slot = slot;
	out->store_pos = pos;
	/* Of a flow whose SYN was not seen, or had no such option. */
	if (s->payload_bytes > lh_mss(f))
		f->conn.mss = s->payload_bytes;
	lh_host_count(env, LH_C_cached_segments, 1);
	lh_host_count(env, LH_C_cached_bytes, s->payload_bytes);
	return true;
}

LH_INLINE bool lh_seg_stale(const struct lh_flow *f, const struct lh_seg *e)
{
	return (f->flags & LH_FLOW_TS) && lh_before(e->tsval, f->conn.ts_recent);
}

LH_INLINE u64 lh_quiet(struct lh_env *env, const struct lh_flow *f)
{
	return lh_max(2 * f->rtt.srtt_ns, LH_CFG(env)->slack_quiet_ns);
}

/*
 * Whether the copy that is here is better than FH's new one @s: in an outage, or what
 * may become one, that one gets lost, and should ours with its timestamp arrive first,
 * PAWS would make MH drop the rest of the window, which has older ones. The older one
 * also lets FH see that its timeout was in vain (RFC 4015).
 */
LH_INLINE bool lh_cache_keeps(struct lh_env *env, const struct lh_flow *f,
			      const struct lh_segment *s, const struct lh_seg *e)
{
	if (!(lh_policy(env) & LH_POLICY_KEEP_OLDER) || !(f->flags & LH_FLOW_TS) ||
	    (e->flags & LH_SEG_NO_COPY) || e->end != s->end || lh_seg_stale(f, e))
		return false;
	return f->outage.since_ns || lh_since(env->now_ns, f->outage.heard_ns) >= lh_quiet(env, f);
}

LH_INLINE void lh_cache_resent(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       u32 pos, struct lh_seg *e, struct lh_actions *out)
{
	struct lh_seg *next = pos + 1 == f->ring.tail ? NULL : lh_seg_at(env, f, pos + 1);
	bool fits = e->seq == s->seq && !lh_before(s->end, e->end) &&
		    !(next && lh_before(next->seq, s->end));
	bool keep;

	if (!fits) {
		lh_cache_mark_fh(env, f, s->seq, s->end);
		lh_host_count(env, LH_C_uncached_overlap, 1);
		return;
	}
	if (lh_policy(env) & LH_POLICY_SHADOW)
		lh_shadow_again(env, f, pos);
	keep = lh_cache_keeps(env, f, s, e);
	/* The newer bytes are kept: the same data with a younger timestamp, or
	 * more of it (section 3.2: keep the longer), not SACKed as a whole then. Repairs
	 * start anew (Amir et al. 1995). */
	if (e->end != s->end && (e->flags & LH_SEG_SACKED)) {
		lh_sack_unbook(f, e);
		e->flags &= LH_SEG_SMALL;
		lh_chunk_unsack(env, f, pos, e);
		lh_sack_forget(f);
	}
	e->flags = (e->flags & (LH_SEG_SACKED | LH_SEG_SMALL)) | LH_SEG_FH_RTX |
		   (s->payload_bytes ? 0 : LH_SEG_EMPTY) | lh_seg_bare(e);
	e->end = s->end;
	if (!keep)
		e->tsval = s->tsval;
	lh_cache_block(f, s->seq, s->end);
	e->n_local = 0;
	if (!(lh_policy(env) & LH_POLICY_SHADOW)) /* there a loss is booked in it */
		e->behind = lh_queue_departs(env, f, e->end - e->seq);
	if (!(e->flags & LH_SEG_SACKED))
		lh_queue_again(env, f, e->end - e->seq);
	e->last_tx_ns = env->now_ns;
	lh_host_count(env, LH_C_refreshed_segments, 1);
	if (keep || e->slot == LH_NO_SLOT)
		return;
	out->store_slot = e->slot;
	out->store_pos = pos;
}

LH_INLINE void lh_cache_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     struct lh_actions *out)
{
	u32 cap = lh_share_of(env, f);
	bool fresh = !lh_before(s->seq, f->max);
	struct lh_seg *e = NULL;
	u32 pos;

	f->sent_ns = env->now_ns;
	if (s->part_bytes) { /* one by one: lh_train_next() */
		f->max = s->end;
		out->nr_store = lh_train_segs(s);
		return;
	}
	if (env->pool_segments) {
		lh_cache_shed(env, f, cap, LH_SHED_MOST);
		lh_ring_reclaim_more(env, f, LH_SHED_MOST);
	}
	if (fresh) {
		if (s->seq != f->max)
			lh_cache_block(f, f->max, s->seq);
		f->max = s->end;
		cap -= cap / 10;
		pos = f->ring.tail;
	} else {
		if (lh_after(s->end, f->max))
			f->max = s->end;
		pos = lh_cache_find(env, f, s->seq);
		if (pos != f->ring.tail)
			e = lh_seg_at(env, f, pos);
	}
	if (e && lh_before(e->seq, s->end)) {
		lh_cache_resent(env, f, s, pos, e, out);
		return;
	}
	if (!env->accepted || lh_cached(f) >= cap) {
		if (env->accepted)
			lh_host_count(env, LH_C_uncached_full, 1);
		lh_cache_block(f, s->seq, s->end);
		return;
	}
	if (fresh) {
		if (!lh_cache_insert(env, f, s, pos, 0, out))
			lh_cache_block(f, s->seq, s->end);
		return;
	}
	/* Below what has departed, but not here: lost or reordered upstream, or
	 * forwarded uncached and now resent. Its duplicates are the sender's. */
	f->nr_upstream_lost++;
	if (lh_policy(env) & LH_POLICY_SHADOW)
		lh_shadow_filled(env, f);
	lh_host_count(env, LH_C_upstream_lost, 1);
	lh_cache_block(f, s->seq, s->end);
	lh_sack_forget(f); /* MH may have told of it already */
	lh_cache_insert(env, f, s, pos, LH_SEG_CONG, out);
}

LH_INLINE void lh_cache_echo(struct lh_env *env, struct lh_flow *f, u32 tsecr)
{
	struct lh_seg *e;

	if ((f->flags & LH_FLOW_TSVAL_FH) && lh_after(tsecr, f->conn.tsval_fh))
		return; /* FH has not sent that yet: nothing is known of what MH took */
	if (!(f->flags & LH_FLOW_TS) || lh_after(tsecr, f->conn.ts_recent))
		f->conn.ts_recent = tsecr;
	f->flags |= LH_FLOW_TS; /* in every segment or in none */
	e = lh_oldest(env, f);
	if (e && lh_seg_stale(f, e))
		lh_cache_block(f, f->una, f->max);
}

LH_INLINE bool lh_seg_overflow(const struct lh_flow *f, const struct lh_seg *e)
{
	return (f->flags & LH_FLOW_OVERFLOW) && lh_before(e->seq, f->guard.overflow_end) &&
	       !(e->flags & LH_SEG_FH_RTX);
}

LH_INLINE bool lh_seg_sendable(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	return !(e->flags & (LH_SEG_CONG | LH_SEG_NO_COPY)) && !lh_seg_overflow(f, e) &&
	       !lh_seg_stale(f, e) && e->n_local < LH_CFG(env)->max_local;
}

LH_INLINE bool lh_seg_repairable(struct lh_env *env, const struct lh_flow *f,
				 const struct lh_seg *e)
{
	return !(e->flags & LH_SEG_FH_RTX) && lh_seg_sendable(env, f, e);
}

/* Entries and chunks that lh_cache_covers() looks at per call. */
#define LH_COVER_STEPS 256

/* Whether the chunk that begins at @pos has been SACKed as a whole, without a gap, from @at on. */
LH_INLINE struct lh_seg *lh_chunk_arrived(struct lh_env *env, const struct lh_flow *f, u32 pos,
					  u32 at)
{
	struct lh_chunk *c;
	struct lh_seg *last;

	if ((pos & (LH_CHUNK_SEGS - 1)) || f->ring.tail - pos < LH_CHUNK_SEGS)
		return NULL;
	c = lh_chunk_at(env, f, pos);
	if (!c || c->nr_sacked != LH_CHUNK_SEGS || lh_after(c->seg[0].seq, at))
		return NULL;
	last = &c->seg[LH_CHUNK_SEGS - 1];
	return last->end - c->seg[0].seq == c->sacked_bytes ? last : NULL;
}

LH_FUNC bool lh_cache_covers(struct lh_env *env, struct lh_flow *f, u32 upto)
{
	u32 at = f->cache.blocked_start, end = f->cache.blocked_end, pos;
	int i;

	if (!(f->flags & LH_FLOW_BLOCKED) || !lh_before(at, upto))
		return true;
	if (lh_before(upto, end))
		end = upto;
	pos = lh_cache_find(env, f, at);
	lh_for (i, LH_COVER_STEPS) {
		struct lh_seg *e;

		if (!lh_before(at, end) || pos == f->ring.tail)
			break;
		e = lh_chunk_arrived(env, f, pos, at);
		if (e) {
			pos += LH_CHUNK_SEGS;
			at = e->end;
			continue;
		}
		e = lh_seg_at(env, f, pos++);
		if (!e || lh_after(e->seq, at) ||
		    (!(e->flags & LH_SEG_SACKED) && !lh_seg_repairable(env, f, e)))
			break;
		at = e->end;
	}
	if (lh_after(at, f->cache.blocked_start))
		f->cache.blocked_start = at;
	if (!lh_before(at, f->cache.blocked_end))
		f->flags &= ~LH_FLOW_BLOCKED;
	return !lh_before(at, end);
}
