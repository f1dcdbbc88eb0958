/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "cache.h"
#include "device.h"
#include "rtt.h"

#define LH_LMIN_PERIOD_NS (10 * LH_SEC)
#define LH_PEER_BUSY_NS LH_SEC
#define LH_STRIDE_PERIOD_SHIFT 33 /* of nanoseconds: 8.6 s */
#define LH_STRIDE_MOST 255U
#define LH_STRIDE_LEAST 4 /* who acknowledges two or three at once does not wait for more */
#define LH_SINGLES_MOST 32 /* ACKs of single segments in a row: MH delays none */
/* A train: a queue of so much, deliveries for so long and so many. */
#define LH_TRAIN_QUEUE_NS (2 * LH_MSEC)
#define LH_TRAIN_NS (10 * LH_MSEC)
#define LH_TRAIN_SEGS 8

LH_INLINE u64 lh_lmin(struct lh_env *env)
{
	return env->lmin_ns;
}

LH_INLINE u64 lh_unsteady(struct lh_env *env)
{
	return env->unsteady_ns;
}

/* That of @p's, the flow's receiver, or none. */
LH_INLINE void lh_lmin_of(struct lh_env *env, const struct lh_flow *f, const struct lh_peer *p)
{
	if (!p || !p->lmin_now_ns)
		env->lmin_ns = f->rtt.min_ns;
	else
		env->lmin_ns = lh_max(lh_least(p->lmin_now_ns, p->lmin_before_ns),
				      lh_lmin_floor(env, f, p));
}

LH_INLINE void lh_lmin_look(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_peer *p = lh_peer_of(env, f);

	lh_lmin_of(env, f, p);
	env->unsteady_ns = p ? lh_queue_unsteady(env, f, p) : 0;
}

LH_ENTRY int lh_lmin_renew(struct lh_env *env, const struct lh_flow *f)
{
	if (!env || !f)
		return 0;
	lh_lmin_look(env, f);
	return 0;
}

LH_INLINE u64 lh_srtt(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p;

	if (f->rtt.srtt_ns)
		return f->rtt.srtt_ns;
	p = lh_peer_of(env, f);
	return p && p->srtt_ns ? p->srtt_ns : LH_DEVICE(env)->srtt_ns;
}

LH_INLINE void lh_smooth(u64 *srtt_ns, u64 r)
{
	*srtt_ns = *srtt_ns ? *srtt_ns + r / 8 - *srtt_ns / 8 : r;
}

/*
 * One sojourn of the receiver @p's. The minimum does not age while a queue stands
 * before any of its flows (a window of 10 s drifted from 10 to 36 ms, and short
 * flows beside a long one let it drift by 5 ms per 20 s). Where many flows begin
 * at once their first data queue already, and only the handshakes tell how long the
 * way is: 50 flows took 105 ms for it, and kept a queue of 110. That counts until data
 * come within two segments' time of it.
 */
LH_INLINE void lh_peer_sample(struct lh_env *env, struct lh_flow *f, struct lh_peer *p, u64 r)
{
	p->seen_ns = env->now_ns;
	lh_smooth(&p->srtt_ns, r);
	if (!p->lmin_now_ns) {
		p->lmin_now_ns = lh_least(r, f->rtt.min_ns);
		p->guessed = p->lmin_now_ns < r;
		p->since_ns = env->now_ns;
	} else if (r < p->lmin_now_ns ||
		   (p->guessed && r - p->lmin_now_ns < 2 * lh_rate_time(p->rate, lh_mss(f)))) {
		p->lmin_now_ns = r;
		p->guessed = 0;
	} else if (lh_since(env->now_ns, p->busy_ns) > LH_PEER_BUSY_NS &&
		   lh_since(env->now_ns, p->since_ns) > LH_LMIN_PERIOD_NS) {
		p->lmin_before_ns = p->guessed ? 0 : p->lmin_now_ns;
		p->lmin_now_ns = r;
		p->guessed = 0;
		p->since_ns = env->now_ns;
	} else {
		return; /* it is what it was */
	}
	lh_lmin_renew(env, f);
}

/* How long nothing but repairs has come to the receiver. */
LH_INLINE u64 lh_queue_silent(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_peer *p = lh_peer_of(env, f);
	u64 seen_ns = f->order.xmit_ns + f->order.rtt_ns;

	return lh_since(env->now_ns, lh_max(seen_ns, p ? p->queue_at_ns : 0));
}

/*
 * An ACK may belong to the original and not to the repair: one such mistake
 * and everything that left in between counts as lost (section 11.1: 9,700 repairs for
 * 600 losses). Believed only if the repair had time to arrive, through the queue as the
 * last original showed it: what stood behind that would have come without a pause, so that
 * of a repair of ours, which convicts repairs only, the pause is taken off. On a hop of a
 * quarter of a second the last of a window showed a queue that was gone, nothing told that
 * repairs got lost again, and FH's patience was over before the probe's.
 */
LH_INLINE bool lh_repair_arrived(struct lh_env *env, const struct lh_flow *f,
				 const struct lh_seg *e)
{
	/* Who takes one sample per ACK notes no others. */
	u64 lmin = lh_lmin(env);
	u64 r = lh_policy(env) & LH_POLICY_RTT_PER_ACK ? f->rtt.srtt_ns : f->queue.recent_ns[0];
	u64 queue = lh_since(r, lmin);

	if (e->n_local)
		queue = lh_since(queue, lh_queue_silent(env, f));
	return lmin && env->now_ns - e->last_tx_ns >= lmin + queue / 2;
}

/* Notes that a segment arrived, if it departed after all others that did. */
LH_INLINE void lh_latest(u64 *at_ns, u32 *at_end, const struct lh_seg *e)
{
	if (e->last_tx_ns < *at_ns || (e->last_tx_ns == *at_ns && !lh_after(e->end, *at_end)))
		return;
	*at_ns = e->last_tx_ns;
	*at_end = e->end;
}

LH_INLINE void lh_delivered(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e,
			    bool sample)
{
	struct lh_ack_sum *sum = &env->ack;
	u32 n = e->end - e->seq;

	f->delivery.bytes += n;
	sum->bytes += n;
	sum->nr_segs++;
	if (lh_policy(env) & LH_POLICY_SHADOW)
		lh_shadow_delivered(env, f, e);
	if (e->n_local || (e->flags & LH_SEG_FH_RTX))
		sum->again_ns = lh_max(sum->again_ns, e->last_tx_ns);
	if (e->n_local) {
		if (env->now_ns - e->last_tx_ns < lh_lmin(env) / 2)
			sum->early = 1;
		if (lh_repair_arrived(env, f, e))
			lh_latest(&sum->rtx_xmit_ns, &sum->rtx_xmit_end, e);
		return;
	}
	if (e->flags & LH_SEG_FH_RTX) {
		if (lh_repair_arrived(env, f, e))
			lh_latest(&sum->xmit_ns, &sum->xmit_end, e);
		return;
	}
	lh_latest(&sum->xmit_ns, &sum->xmit_end, e);
	if (sample && e->last_tx_ns > sum->sample_ns) {
		sum->sample_ns = e->last_tx_ns;
		sum->sample_delivered = e->delivered;
		sum->sample_full = 2 * n >= f->conn.mss;
	}
}

LH_INLINE void lh_delivered_run(struct lh_env *env, struct lh_flow *f, const struct lh_seg *last,
				u32 n, u32 bytes)
{
	struct lh_ack_sum *sum = &env->ack;

	f->delivery.bytes += bytes;
	sum->bytes += bytes;
	sum->nr_segs += n;
	lh_latest(&sum->xmit_ns, &sum->xmit_end, last);
	if (last->last_tx_ns <= sum->sample_ns)
		return;
	sum->sample_ns = last->last_tx_ns;
	sum->sample_delivered = last->delivered;
	/* A small one among full ones is the last of a train. */
	sum->sample_full = 2 * bytes >= n * f->conn.mss;
}

#define LH_SACK_NEWS 2
/* Segments and chunks that blocks may have us look at per ACK, with those that its number covers;
 * the next one, which says the same again, goes on. */
#define LH_SACK_STEPS 256

/* Marks the segment at @pos if it begins before @next and reaches no further
 * than @right. @return 0: it doesn't, LH_SACK_NEWS: it was not marked before. */
LH_ENTRY int lh_sack_one(struct lh_env *env, struct lh_flow *f, u32 pos, u32 next, u32 right)
{
	struct lh_seg *e;
	bool fresh;

	if (!env || !f)
		return 0;
	e = lh_seg_at(env, f, pos);
	if (!e || !lh_before(e->seq, next) || lh_after(e->end, right))
		return 0;
	if (e->flags & LH_SEG_SACKED)
		return 1;
	e->flags |= LH_SEG_SACKED;
	f->delivery.sacked_bytes += e->end - e->seq;
	f->nr_sacked++;
	/* There is room for three blocks or four: what lies below others may be told of late. */
	fresh = lh_after(e->end, env->ack.top);
	env->ack.sacked |= fresh;
	lh_delivered(env, f, e, fresh);
	return LH_SACK_NEWS;
}

/* One segment more of the chunk at @pos is SACKed: that one. */
LH_ENTRY int lh_sack_count(struct lh_env *env, struct lh_flow *f, u32 pos)
{
	struct lh_seg *e;

	if (!env || !f)
		return 0;
	e = lh_seg_at(env, f, pos);
	if (e)
		lh_chunk_sack(env, f, pos, e);
	return 0;
}

/* Whether the whole chunk that begins at @pos is marked and lies within: whoever sends one
 * list of blocks and another in turn has us look at a window each time. */
LH_ENTRY int lh_sack_skips(struct lh_env *env, const struct lh_flow *f, u32 pos, u32 next,
			   u32 right)
{
	struct lh_chunk *c;

	if (!env || !f || (pos & (LH_CHUNK_SEGS - 1)) || f->ring.tail - pos < LH_CHUNK_SEGS)
		return 0;
	c = lh_chunk_at(env, f, pos);
	return c && c->nr_sacked == LH_CHUNK_SEGS &&
	       lh_before(c->seg[LH_CHUNK_SEGS - 1].seq, next) &&
	       !lh_after(c->seg[LH_CHUNK_SEGS - 1].end, right);
}

/* The blocks' share of the work is done, before the segment at @pos: the next ACK goes on there. */
LH_ENTRY int lh_sack_cut(struct lh_env *env, const struct lh_flow *f, u32 pos, u32 next)
{
	struct lh_seg *e;

	if (!env || !f || env->ack.steps < LH_SACK_STEPS)
		return 0;
	e = pos == f->ring.tail ? NULL : lh_seg_at(env, f, pos);
	env->ack.cut_at = e && lh_before(e->seq, next) ? e->seq : next;
	return 0;
}

/* Marks what begins between @pos and @next and lies below @right. */
LH_ENTRY int lh_sack_range(struct lh_env *env, struct lh_flow *f, u32 pos, u32 next, u32 right)
{
	int i, marked;

	if (!env || !f)
		return 0;
	lh_for (i, LH_FLOW_SEGS) {
		if (pos == f->ring.tail || env->ack.steps >= LH_SACK_STEPS)
			break;
		env->ack.steps++;
		if (lh_sack_skips(env, f, pos, next, right)) {
			pos += LH_CHUNK_SEGS;
			continue;
		}
		marked = lh_sack_one(env, f, pos, next, right);
		if (!marked)
			break;
		if (marked == LH_SACK_NEWS)
			lh_sack_count(env, f, pos);
		pos++;
	}
	return lh_sack_cut(env, f, pos, next);
}

/* First number from @at on that no block of the last ACK contains; @next is
 * where the next such block begins, at most @right. */
LH_INLINE u32 lh_sack_fresh(const struct lh_flow *f, u32 at, u32 right, u32 *next)
{
	int i, j;

	*next = right;
	for (j = 0; j < LH_MAX_SACK; j++)
		for (i = 0; i < LH_MAX_SACK; i++)
			if (f->delivery.seen[i].left != f->delivery.seen[i].right &&
			    !lh_before(at, f->delivery.seen[i].left) &&
			    lh_before(at, f->delivery.seen[i].right))
				at = f->delivery.seen[i].right;
	for (i = 0; i < LH_MAX_SACK; i++)
		if (f->delivery.seen[i].left != f->delivery.seen[i].right &&
		    lh_after(f->delivery.seen[i].left, at) &&
		    lh_before(f->delivery.seen[i].left, *next))
			*next = f->delivery.seen[i].left;
	return at;
}

/* The first stretch from @at on of the block [left, right) that the last ACK's
 * blocks did not contain: blocks repeat and windows are wide. A segment that the
 * stretch's ends cut belongs to it if it lies within the block. @return where
 * the next stretch may begin; @right: done. */
LH_ENTRY u32 lh_sack_stretch(struct lh_env *env, struct lh_flow *f, u32 at, u32 left, u32 right)
{
	u32 next = right, pos;
	struct lh_seg *e;

	if (!env || !f)
		return right;
	at = lh_sack_fresh(f, at, right, &next);
	if (!lh_before(at, right))
		return right;
	pos = lh_cache_find(env, f, at);
	e = pos == f->ring.tail ? NULL : lh_seg_at(env, f, pos);
	if (e && lh_before(e->seq, left))
		pos++;
	lh_sack_range(env, f, pos, next, right);
	return next;
}

/* One block of an ACK. */
LH_ENTRY int lh_sack_block_new(struct lh_env *env, struct lh_flow *f, u32 left, u32 right)
{
	u32 at = left;
	int i;

	if (!env || !f)
		return 0;
	lh_for (i, LH_MAX_SACK + 1) {
		if (!lh_before(at, right))
			break;
		at = lh_sack_stretch(env, f, at, left, right);
	}
	return 0;
}

/* Whether block @k of @s reports something that MH has above the ACK. */
LH_INLINE bool lh_sack_valid(const struct lh_flow *f, const struct lh_segment *s, u32 k)
{
	u32 left = s->sack[k].left, right = s->sack[k].right;

	return lh_after(right, s->ack) && lh_before(left, right) && !lh_after(right, f->max) &&
	       lh_after(left, s->ack) && !(k == 0 && s->dsack);
}

LH_INLINE void lh_sack_blocks(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	int b;

	lh_for (b, LH_MAX_SACK) {
		u32 k = b;

		if (k >= s->nr_sack)
			break;
		lh_barrier(k);
		k &= LH_MAX_SACK - 1;
		if (!lh_sack_valid(f, s, k))
			continue;
		env->ack.cut_at = s->sack[k].left;
		lh_sack_block_new(env, f, s->sack[k].left, s->sack[k].right);
		if (env->ack.steps >= LH_SACK_STEPS) {
			env->ack.cut = k + 1;
			break;
		}
		env->ack.looked = k + 1;
		if (lh_after(s->sack[k].right, f->sacked_max))
			f->sacked_max = s->sack[k].right;
	}
	for (b = 0; b < LH_MAX_SACK; b++) {
		bool valid = (u32)b < env->ack.looked && lh_sack_valid(f, s, b);

		f->delivery.seen[b].left = valid ? s->sack[b].left : 0;
		f->delivery.seen[b].right = valid ? s->sack[b].right : 0;
		if ((u32)b + 1 == env->ack.cut && lh_after(env->ack.cut_at, s->sack[b].left)) {
			f->delivery.seen[b].left = s->sack[b].left;
			f->delivery.seen[b].right = env->ack.cut_at;
		}
	}
}

/* The bin of the flow's own rates that belongs to now. */
LH_INLINE void lh_rate_turn(struct lh_flow *f, u64 bin)
{
	if (bin != f->delivery.rate_bin) {
		bool next = bin == f->delivery.rate_bin + 1;

		f->delivery.bin_before[1] = next ? f->delivery.bin_before[0] : 0;
		f->delivery.bin_before[0] = next ? f->delivery.bin_bytes : 0;
		f->delivery.bin_bytes = 0;
	}
	f->delivery.rate_bin = bin;
}

/*
 * Delivery rate. While segments queue the hop delivers without a pause, so that
 * what arrives between two ACKs of such a train shows its rate even where the
 * sender's bursts leave gaps between trains.
 */
LH_INLINE void lh_rate_sample(struct lh_env *env, struct lh_flow *f, u64 r)
{
	u64 bytes, least, age;

	if (r < lh_lmin(env) + LH_TRAIN_QUEUE_NS) {
		f->delivery.train_ns = 0;
		return;
	}
	bytes = f->delivery.bytes - f->delivery.train_bytes;
	age = env->now_ns - f->delivery.train_ns;
	least = lh_max(LH_TRAIN_NS, 2 * f->queue.gap_ns);
	if (f->delivery.train_ns && (age < least || bytes < LH_TRAIN_SEGS * (u64)f->conn.mss))
		return;
	if (f->delivery.train_ns) {
		u64 rate = bytes * LH_SEC / age;

		f->delivery.rate_last =
			f->delivery.rate_last
				? f->delivery.rate_last - f->delivery.rate_last / 4 + rate / 4
				: rate;
	}
	f->delivery.train_ns = env->now_ns;
	f->delivery.train_bytes = f->delivery.bytes;
}

LH_INLINE u64 lh_rate_mean(const struct lh_flow *f)
{
	return lh_max(f->delivery.bin_before[0], f->delivery.bin_before[1]) * (LH_SEC / LH_BIN_NS);
}

LH_INLINE bool lh_ack_at_once(const struct lh_ack_sum *sum)
{
	return (sum->nr_segs >= 2 && !sum->waited) || sum->sacked;
}

LH_INLINE u32 lh_stride(const struct lh_delivery *d)
{
	u32 known = lh_least(d->stride_now, d->stride_before);

	return known >= LH_STRIDE_LEAST ? known : 0;
}

/* Whether the oldest segment that the ACK of this call covers has been gone for so long that MH may have kept
 * the ACK of it. */
LH_INLINE bool lh_ack_is_late(struct lh_env *env, const struct lh_flow *f)
{
	u64 lmin = lh_lmin(env), way = lmin + lh_unsteady(env) + f->back.now_ns;

	return lmin && lh_since(env->now_ns, env->ack.first_ns) >= way + LH_DELACK_NS / 2;
}

/* MH has acknowledged @n at once. */
LH_INLINE void lh_stride_sample(struct lh_env *env, struct lh_flow *f, u32 n)
{
	struct lh_delivery *d = &f->delivery;
	u16 period = env->now_ns >> LH_STRIDE_PERIOD_SHIFT;

	if (period != d->stride_period && d->stride_now) {
		d->stride_before = d->stride_now;
		d->stride_now = 0;
	}
	d->stride_period = period;
	if (!d->stride_now)
		d->stride_now = n;
	else if (n < d->stride_now) /* half the way: one may be a timer's that began earlier */
		d->stride_now -= (d->stride_now - n + 1) / 2;
}

/* Whether the ACK of this call, of fewer segments than MH acknowledges at once, has waited for more: those that
 * had left soon behind its own would have come meanwhile, and then it would cover them. */
LH_INLINE bool lh_ack_waited(struct lh_env *env, const struct lh_flow *f)
{
	u64 late = lh_since(env->now_ns - env->ack.sample_ns, lh_lmin(env));
	const struct lh_seg *next = lh_oldest(env, f);

	return !next || lh_since(next->last_tx_ns, env->ack.sample_ns) >= late / 2;
}

LH_INLINE u64 lh_behind_its_own(struct lh_env *env, const struct lh_flow *f,
				const struct lh_peer *p)
{
	const struct lh_ack_sum *sum = &env->ack;

	if (!sum->first_ns || sum->bytes <= lh_mss(f))
		return 0;
	return lh_since(lh_rate_time(p->rate, sum->bytes - lh_mss(f)),
			sum->sample_ns - sum->first_ns);
}

/* Whether MH, which has acknowledged @n at once, may wait for more than is known: nobody knows for how many, or it does
 * not acknowledge as few as it once did. */
LH_INLINE bool lh_stride_doubtful(const struct lh_delivery *d, u32 n)
{
	return !lh_stride(d) && n > lh_least(d->stride_now, d->stride_before);
}

/* What the number of segments tells that the ACK of this call covers. */
LH_INLINE void lh_ack_judge(struct lh_env *env, struct lh_flow *f)
{
	struct lh_ack_sum *sum = &env->ack;
	u32 n = lh_min(sum->nr_segs, LH_STRIDE_MOST);

	if (n < 2 || sum->sacked || sum->unclear || !sum->first_ns)
		return;
	if (!lh_ack_is_late(env, f))
		lh_stride_sample(env, f, n);
	else if (!lh_ack_waited(env, f))
		return;
	else if (n < lh_stride(&f->delivery))
		f->delivery.waits = sum->waited = 1;
	else if (lh_stride_doubtful(&f->delivery, n) && sum->own_ns <= LH_CFG(env)->target_ns / 2)
		sum->waited = 1;
}

/*
 * How long the hop has paused: the time before this delivery that neither the
 * way there and back explains nor a delivery before it, to whomever. Batches,
 * airtime of others and jitter show here; a queue does not, and neither does a
 * way that has become longer, for even the least of the last samples has it.
 */
LH_INLINE void lh_gap_sample(struct lh_env *env, struct lh_flow *f)
{
	u64 lmin = lh_lmin(env), way = lh_max(lmin, f->control.least_before_ns);
	u64 from = env->ack.sample_ns + way + f->back.now_ns;

	from = lh_max(LH_DEVICE(env)->delivered_ns, from);
	/* Nobody knows the way before its first sample. */
	if (!lmin || !env->ack.sample_ns || env->now_ns <= from)
		return;
	f->queue.gap_now_ns = lh_max(f->queue.gap_now_ns, env->now_ns - from);
}

/*
 * Whether the ACK of this call was sent when its segment arrived. One of a single segment
 * may have been delayed (RFC 1122 section 4.2.3.2), by 40 ms and more; its sojourn
 * is an upper bound then, no more. Unless MH acknowledges each, as some always do.
 */
LH_INLINE bool lh_prompt(struct lh_flow *f, const struct lh_ack_sum *sum)
{
	if (sum->waited)
		return false;
	if (lh_ack_at_once(sum)) {
		f->delivery.singles /= 2; /* an ACK may have got lost */
		return true;
	}
	f->delivery.singles = lh_min(f->delivery.singles + 1, LH_SINGLES_MOST);
	return f->delivery.singles == LH_SINGLES_MOST && !sum->sample_lone;
}

LH_INLINE u64 lh_learn(struct lh_env *env, struct lh_flow *f)
{
	struct lh_ack_sum *sum = &env->ack;
	u64 bin = lh_bin(env), r;
	struct lh_peer *p = lh_peer_of(env, f);

	if (!sum->bytes)
		return 0;
	f->recovery.nr_probes = 0;
	lh_order_arrived(env, f);
	lh_device_add(env, sum->bytes, f->delivery.rate_bin < bin);
	if (p) {
		lh_peer_add(env, p, sum->bytes, f->delivery.rate_bin);
		p->delivered_ns = env->now_ns;
		p->xmit_ns = lh_max(p->xmit_ns, lh_max(sum->xmit_ns, sum->rtx_xmit_ns));
	}
	lh_rate_turn(f, bin);
	f->delivery.bin_bytes += sum->bytes;
	lh_gap_sample(env, f);
	f->delivery.last_ns = LH_DEVICE(env)->delivered_ns = env->now_ns;
	/* An ACK that what was sent again has caused tells late of what came before. */
	if (!sum->sample_ns || env->now_ns < sum->sample_ns || sum->again_ns > sum->sample_ns)
		return 0;
	r = env->now_ns - sum->sample_ns;
	r = r ? r : 1;
	if (r > LH_RTT_MAX_NS)
		return 0;
	sum->own_ns =
		lh_queue_own(env, p, sum->sample_ns, lh_since(r, lh_lmin(env) + f->back.now_ns));
	lh_ack_judge(env, f);
	sum->prompt = lh_prompt(f, sum);
	if (!sum->prompt) {
		/* What is the delay's and what the queue's, others may have shown of late. */
		if (p && lh_since(env->now_ns, p->queue_at_ns) < LH_PEER_BUSY_NS)
			r = lh_min(r,
				   lh_lmin(env) + lh_unsteady(env) + p->queue_ns + f->back.now_ns);
		else if (r >= f->queue.recent_ns[0])
			return 0;
	}
	lh_rtt_sample(env, f, r);
	if (p && sum->sample_full) /* a small one is serialised sooner */
		lh_peer_sample(env, f, p, r);
	lh_smooth(&LH_DEVICE(env)->srtt_ns, r);
	lh_rate_sample(env, f, r);
	return r;
}
