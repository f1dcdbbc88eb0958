/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "resequence.h"

/* A host's queue is through long before; then it has lost something. */
#define LH_AWAY_NS (50 * LH_MSEC)
/* Copies of what was asked for twice come within so long, or not at all. */
#define LH_AGAIN_NS LH_SEC
/* Without timestamps: what comes later may be its sender's, whose timeout is longer (Linux' is
 * 200 ms and the round trip). */
#define LH_AGAIN_UNSTAMPED_NS (150 * LH_MSEC)
/* The longest that anything waits: more, and the sender's timeout comes first. */
#define LH_WAIT_MOST_NS (150 * LH_MSEC)
#define LH_WAIT_BASE_NS (100 * LH_MSEC)

LH_INLINE u32 lh_waiting(const struct lh_flow *f)
{
	return f->resequence.tail - f->resequence.head;
}

/* Entry at @pos, NULL only if the host's memory is gone. */
LH_INLINE struct lh_seg *lh_waiting_at(struct lh_env *env, const struct lh_flow *f, u32 pos)
{
	u32 d = pos >> LH_CHUNK_SHIFT, i = pos;
	struct lh_chunk *c;

	lh_barrier(d);
	c = lh_host_chunk(env, f->resequence.dir[d & (LH_HELD_CHUNKS - 1)]);
	if (!c)
		return NULL;
	lh_barrier(i);
	return &c->seg[i & (LH_CHUNK_SEGS - 1)];
}

LH_INLINE void lh_waiting_put_chunk(struct lh_env *env, struct lh_flow *f, u32 pos)
{
	u32 d = pos >> LH_CHUNK_SHIFT;

	lh_barrier(d);
	lh_host_put_chunk(env, f->resequence.dir[d & (LH_HELD_CHUNKS - 1)]);
}

/* Makes room for one entry at the tail. */
LH_INLINE bool lh_waiting_grow(struct lh_env *env, struct lh_flow *f)
{
	struct lh_resequence *q = &f->resequence;
	u32 d = q->tail >> LH_CHUNK_SHIFT, id;

	if (!(q->tail & (LH_CHUNK_SEGS - 1))) {
		if (q->tail - q->spent > (LH_HELD_CHUNKS - 1) * LH_CHUNK_SEGS ||
		    !lh_host_get_chunk(env, &id))
			return false;
		lh_barrier(d);
		q->dir[d & (LH_HELD_CHUNKS - 1)] = id;
	}
	q->tail++;
	return true;
}

/* Gives the memory of the released back, up to position @upto. */
LH_ENTRY int lh_waiting_reclaim(struct lh_env *env, struct lh_flow *f, u32 upto)
{
	struct lh_resequence *q;
	int i;

	if (!env || !f)
		return 0;
	q = &f->resequence;
	lh_for (i, LH_HELD_CHUNKS * LH_CHUNK_SEGS) {
		struct lh_seg *e;

		if (q->spent == upto || q->spent == q->head)
			break;
		e = lh_waiting_at(env, f, q->spent);
		if (e)
			lh_host_put_slot(env, e->slot);
		q->spent++;
		if (q->spent == q->tail || !(q->spent & (LH_CHUNK_SEGS - 1)))
			lh_waiting_put_chunk(env, f, q->spent - 1);
	}
	if (q->spent == q->tail)
		q->spent = q->head = q->tail = 0;
	return 0;
}

/* First position whose segment ends behind @seq; tail if there is none. */
LH_ENTRY u32 lh_waiting_find(struct lh_env *env, const struct lh_flow *f, u32 seq)
{
	u32 lo, len;
	int i;

	if (!env || !f)
		return 0;
	lo = f->resequence.head;
	len = lh_waiting(f);
	lh_for (i, 10) {
		struct lh_seg *e;
		u32 half = len / 2;

		if (!len)
			break;
		e = lh_waiting_at(env, f, lo + half);
		if (!e)
			break;
		if (lh_after(e->end, seq)) {
			len = half;
		} else {
			lo += half + 1;
			len -= half + 1;
		}
	}
	return lo;
}

/* Moves the entries from @pos on up by one; the last one was just grown. */
LH_ENTRY int lh_waiting_shift(struct lh_env *env, struct lh_flow *f, u32 pos)
{
	u32 n;
	int i;

	if (!env || !f)
		return 0;
	n = f->resequence.tail - 1 - pos;
	lh_for (i, LH_HELD_MOST) {
		u32 at = f->resequence.tail - 1 - i;
		struct lh_seg *to, *from;

		if ((u32)i >= n)
			break;
		to = lh_waiting_at(env, f, at);
		from = lh_waiting_at(env, f, at - 1);
		if (!to || !from)
			break;
		*to = *from;
	}
	return 0;
}

LH_ENTRY int lh_resequence_twice(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	u32 tsval, i;

	if (!env || !f || !s || s->seq == s->end)
		return 0;
	tsval = s->opts & LH_OPT_TS ? s->tsval : 0;
	for (i = 0; i < LH_AGAIN; i++) {
		struct lh_again *a = &f->resequence.again[i];

		if (!a->copies || a->seq != s->seq || a->end != s->end || a->tsval != tsval ||
		    env->now_ns > a->until_ns)
			continue;
		a->copies--;
		lh_host_count(env, LH_C_copies_dropped, 1);
		return 1;
	}
	return 0;
}

LH_ENTRY int lh_resequence_asked(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				 u32 tries)
{
	struct lh_again *a;
	u32 at;

	if (!env || !f || !s || tries < 2)
		return 0;
	at = f->resequence.nr_again++;
	lh_barrier(at);
	a = &f->resequence.again[at & (LH_AGAIN - 1)];
	a->seq = s->seq;
	a->end = s->end;
	a->tsval = s->opts & LH_OPT_TS ? s->tsval : 0;
	a->copies = tries - 1;
	a->until_ns = env->now_ns + (s->opts & LH_OPT_TS ? LH_AGAIN_NS : LH_AGAIN_UNSTAMPED_NS);
	return 0;
}

/* One more in bin @bin. @return whether it is the first. */
LH_INLINE bool lh_tally_add(struct lh_tally *t, u64 bin)
{
	if (t->bin < bin) { /* who read the clock before another counts in its bin */
		t->before = t->bin + 1 == bin ? t->now : 0;
		t->bin = bin;
		t->now = 0;
	}
	return !t->now++;
}

/* How many there are: as in the bin that is over, or more already; at least 1. */
LH_INLINE u32 lh_tally_of(const struct lh_tally *t)
{
	return lh_max(lh_max(t->now, t->before), 1U);
}

/* The flows of @f's receiver, or of all that have no place. */
LH_INLINE struct lh_tally *lh_resequence_tally(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);

	return p ? &p->arriving : &LH_DEVICE(env)->strangers;
}

/* Packets that may wait for the flow: an equal part for each receiver whose data have come in this
 * tenth of a second or the one before, and of that for each of its flows. */
LH_ENTRY u32 lh_resequence_share(struct lh_env *env, const struct lh_flow *f)
{
	u32 part;

	if (!env || !f)
		return 0;
	part = LH_CFG(env)->reorder_buffer / lh_tally_of(&LH_DEVICE(env)->arriving);
	part /= lh_tally_of(lh_resequence_tally(env, f));
	return lh_min(part, (u32)LH_HELD_MOST);
}

/* Data of the flow have come: it is one of those that share the buffer. */
LH_INLINE void lh_resequence_count(struct lh_env *env, struct lh_flow *f)
{
	u64 bin = lh_bin(env);

	if (f->resequence.bin == bin)
		return;
	f->resequence.bin = bin;
	if (lh_tally_add(lh_resequence_tally(env, f), bin))
		lh_tally_add(&LH_DEVICE(env)->arriving, bin);
}

/* Whether it is known to whom to turn for what is missing, that somebody wakes us, and that the
 * connection is more than anybody's idea. Else nothing is waited for, nor asked for. */
LH_INLINE bool lh_resequence_may(struct lh_env *env, const struct lh_flow *f)
{
	return env->alive && lh_tell_heard(env) && lh_answered(f);
}

/* Whether what waits and begins at @seq has its turn. Where nothing is missing all of it has,
 * whatever its numbers: MH's SYN may have said others since. */
LH_INLINE bool lh_has_turn(const struct lh_flow *f, u32 seq)
{
	return !f->arrival.nr_holes || lh_before(seq, lh_arrival_next(f));
}

/* Whether there is memory for one packet more. Another CPU may take it before us. */
LH_INLINE bool lh_waiting_fits(struct lh_env *env, const struct lh_flow *f)
{
	u32 id;

	if (!lh_host_get_slot(env, &id))
		return false;
	lh_host_put_slot(env, id);
	if (f->resequence.tail & (LH_CHUNK_SEGS - 1))
		return true;
	if (!lh_host_get_chunk(env, &id))
		return false;
	lh_host_put_chunk(env, id);
	return true;
}

LH_ENTRY int lh_resequence_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out)
{
	struct lh_resequence *q;
	u32 parts = 1;
	bool turn;

	if (!env || !f || !s || !out || s->seq == s->end)
		return 0;
	q = &f->resequence;
	if (q->away && lh_since(env->now_ns, q->away_ns) > LH_AWAY_NS)
		q->away = 0;
	if (lh_resequence_may(env, f))
		lh_resequence_count(env, f);
	else
		lh_arrival_give_all_up(env, f);
	turn = lh_before(s->seq, lh_arrival_next(f));
	if (turn && !lh_waiting(f) && !q->away)
		return 0;
	if (s->part_bytes)
		parts += s->payload_bytes / s->part_bytes;
	if ((!turn && !lh_resequence_share(env, f)) || lh_waiting(f) + parts > LH_HELD_MOST ||
	    !env->accepted || !lh_waiting_fits(env, f)) {
		lh_host_count(env, LH_C_unsequenced, 1);
		return 0;
	}
	out->verdict = LH_WAIT;
	return 1;
}

/* Since when a packet waits that comes now and goes before the one at @pos: as long as that, which
 * may wait no longer for its sake. So the first has waited the longest. */
LH_INLINE u64 lh_waiting_since(struct lh_env *env, const struct lh_flow *f, u32 pos)
{
	struct lh_seg *e = pos == f->resequence.tail ? NULL : lh_waiting_at(env, f, pos);

	return e ? lh_min(e->last_tx_ns, env->now_ns) : env->now_ns;
}

/* A packet that had to wait found no memory after all, and is lost. Its copies may come, and
 * nothing else shall be lost for what it waits for. */
LH_ENTRY int lh_resequence_fails(struct lh_env *env, struct lh_flow *f)
{
	u32 i;

	if (!env || !f)
		return 0;
	for (i = 0; i < LH_AGAIN; i++)
		f->resequence.again[i].copies = 0;
	lh_arrival_give_all_up(env, f);
	lh_host_count(env, LH_C_release_errors, 1);
	return 0;
}

LH_ENTRY int lh_resequence_put(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       struct lh_actions *out)
{
	struct lh_seg *e;
	u32 pos, slot;
	u64 since;

	if (!env || !f || !s || !out)
		return 0;
	pos = lh_waiting_find(env, f, s->seq);
	if (pos != f->resequence.tail) {
		e = lh_waiting_at(env, f, pos);
		if (!e)
			return 0;
		if (!lh_before(s->seq, e->seq) && !lh_after(s->end, e->end)) {
			lh_host_count(env, LH_C_copies_dropped, 1);
			return 0;
		}
		pos += !lh_before(s->seq, e->seq);
	}
	if (!lh_host_get_slot(env, &slot))
		return lh_resequence_fails(env, f);
	if (!lh_waiting_grow(env, f)) {
		lh_host_put_slot(env, slot);
		return lh_resequence_fails(env, f);
	}
	lh_waiting_shift(env, f, pos);
	since = lh_waiting_since(env, f, pos + 1);
	e = lh_waiting_at(env, f, pos);
	if (!e)
		return 0;
	__builtin_memset(e, 0, sizeof(*e));
	e->seq = s->seq;
	e->end = s->end;
	e->slot = slot;
	e->last_tx_ns = since;
	out->store_slot = slot;
	out->store_pos = pos;
	lh_host_count(env, LH_C_waited, 1);
	return 1;
}

/* Who has more waiting than its part gives its oldest gaps up, until something has its turn. */
LH_INLINE void lh_resequence_shed(struct lh_env *env, struct lh_flow *f)
{
	struct lh_seg *e;
	int i;

	if (lh_waiting(f) <= lh_resequence_share(env, f))
		return;
	e = lh_waiting_at(env, f, f->resequence.head);
	lh_for (i, LH_HOLES) {
		if (!e || lh_has_turn(f, e->seq))
			break;
		lh_arrival_give_up(env, f);
		lh_host_count(env, LH_C_overcrowded, 1);
	}
}

/* The first that wait, up to as many as go at once; @all: whether they have their turn or not. */
LH_ENTRY int lh_resequence_take(struct lh_env *env, struct lh_flow *f, u32 all,
				struct lh_actions *out)
{
	struct lh_resequence *q;
	u32 most;
	int i;

	if (!env || !f || !out)
		return 0;
	q = &f->resequence;
	most = lh_min(LH_CFG(env)->catch_up, (u32)LH_RELEASE_MOST);
	lh_for (i, LH_RELEASE_MOST) {
		struct lh_seg *e;
		u32 k = i;

		if (k >= most || !lh_waiting(f))
			break;
		e = lh_waiting_at(env, f, q->head);
		if (!e || !(all || lh_has_turn(f, e->seq)))
			break;
		lh_barrier(k);
		out->release[k & (LH_RELEASE_MOST - 1)] = e->slot;
		out->nr_release = k + 1;
		q->head++;
	}
	q->away = out->nr_release;
	q->away_ns = env->now_ns;
	lh_host_count(env, LH_C_sequenced, out->nr_release);
	return out->nr_release;
}

LH_ENTRY int lh_resequence_turn(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	if (!env || !f || !out || f->resequence.away)
		return 0;
	lh_waiting_reclaim(env, f, f->resequence.head);
	lh_resequence_shed(env, f);
	return lh_resequence_take(env, f, 0, out);
}

LH_ENTRY int lh_resequence_through(struct lh_env *env, struct lh_flow *f,
				   const struct lh_segment *s, struct lh_actions *out)
{
	struct lh_resequence *q;
	struct lh_seg *e;
	u32 last;

	if (!env || !f || !s || !out)
		return 0;
	q = &f->resequence;
	/* Taken for lost, and late; or an ACK that was kept. */
	if (!q->away || s->seq == s->end)
		return 0;
	if (--q->away)
		return 0;
	last = q->head - 1;
	e = q->spent == q->head ? NULL : lh_waiting_at(env, f, last);
	/* Else something before it got lost in the host: the timer goes on, with a packet of its own. */
	if (!e || e->seq != s->seq)
		return 0;
	lh_waiting_reclaim(env, f, last);
	lh_resequence_shed(env, f);
	if (lh_resequence_take(env, f, 0, out))
		out->reload_slot = e->slot;
	else
		lh_waiting_reclaim(env, f, q->head);
	return 0;
}

/* For so long @e may wait: what its sender's timeout leaves of the round trip, as far as that is
 * known. */
LH_INLINE u64 lh_wait_until(const struct lh_flow *f, const struct lh_seg *e)
{
	u64 most = f->rtt.srtt_ns / 2 + LH_WAIT_BASE_NS;

	return e->last_tx_ns + lh_min(most, LH_WAIT_MOST_NS);
}

/* Gives up the gaps behind which something has waited for as long as it may. */
LH_ENTRY int lh_resequence_expire(struct lh_env *env, struct lh_flow *f)
{
	int i;

	if (!env || !f)
		return 0;
	lh_for (i, LH_HOLES) {
		struct lh_seg *e;
		u32 pos;

		if (!f->arrival.nr_holes)
			break;
		pos = lh_waiting_find(env, f, lh_arrival_next(f));
		if (pos == f->resequence.tail)
			break;
		e = lh_waiting_at(env, f, pos);
		if (!e || env->now_ns < lh_wait_until(f, e))
			break;
		lh_arrival_give_up(env, f);
	}
	return 0;
}

LH_ENTRY int lh_resequence_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	struct lh_resequence *q;

	if (!env || !f || !out)
		return 0;
	q = &f->resequence;
	if (q->away && env->now_ns >= q->away_ns + LH_AWAY_NS)
		q->away = 0;
	if (!lh_resequence_may(env, f))
		lh_arrival_give_all_up(env, f);
	lh_resequence_expire(env, f);
	return lh_resequence_turn(env, f, out);
}

LH_ENTRY u64 lh_resequence_deadline(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_resequence *q;
	struct lh_seg *e;

	if (!env || !f)
		return 0;
	q = &f->resequence;
	if (q->away)
		return q->away_ns + LH_AWAY_NS;
	if (q->spent == q->tail)
		return 0;
	if (q->head == q->tail)
		return env->now_ns; /* memory to give back */
	e = lh_waiting_at(env, f, q->head);
	if (!e || lh_has_turn(f, e->seq) || !lh_resequence_may(env, f))
		return env->now_ns;
	return lh_wait_until(f, e);
}

LH_ENTRY int lh_resequence_flush(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	if (!env || !f || !out)
		return 0;
	lh_waiting_reclaim(env, f, f->resequence.head);
	return lh_resequence_take(env, f, 1, out);
}

LH_INLINE void lh_resequence_drop(struct lh_env *env, struct lh_flow *f)
{
	f->resequence.head = f->resequence.tail;
	lh_waiting_reclaim(env, f, f->resequence.head);
}
