/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "control.h"
#include "detect.h"

#define LH_REO_KEPT_NS (10 * LH_SEC) /* how long seen reordering is remembered */
#define LH_DOUBT_SHIFT 20 /* units of lh_order.doubt_at: a millisecond, nearly */
#define LH_PATTERN_LEAST 3 /* segments missing: a slow start may have overflowed */
#define LH_PATTERN_SEGS 8 /* delivered behind a loss: enough to tell what it was */
#define LH_BARE_MAX 3 /* repairs of a SYN, SYN-ACK or FIN */

/* Patience with the segments of this flow: none on a link that keeps the order
 * (a superfluous repair costs one frame), less again when none was needed for
 * a while. */
LH_INLINE u64 lh_reo(struct lh_env *env, const struct lh_flow *f)
{
	return env->now_ns - f->order.reo_seen_ns < LH_REO_KEPT_NS ? f->order.reo_ns : 0;
}

/* Something was late: by @step more is to be waited. */
LH_INLINE void lh_order_patience(struct lh_env *env, struct lh_flow *f, u64 step)
{
	f->order.reo_ns = lh_min(lh_reo(env, f) + step, 2 * lh_lmin(env));
	f->order.reo_seen_ns = env->now_ns;
	lh_host_count(env, LH_C_reordered, 1);
}

/* The original of @e has come, or its repair, which was no probe: MH's DSACK will tell if both do. One such segment at a
 * time is enough, for as long as the other copy may take. */
LH_INLINE void lh_order_doubt(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e)
{
	struct lh_order *o = &f->order;
	u16 now = env->now_ns >> LH_DOUBT_SHIFT, wait = 3 * lh_lmin(env) >> LH_DOUBT_SHIFT;

	if (!lh_flow_sack(f) || e->end == f->recovery.probe_end || f->recovery.nr_probes > 1)
		return;
	if (o->doubt && (u16)(now - o->doubt_at) <= wait)
		return;
	o->doubt = 1;
	o->doubt_at = now;
	f->recovery.doubt_end = e->end;
}

LH_INLINE void lh_order_late(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e)
{
	u64 lmin = lh_lmin(env), age = env->now_ns - e->last_tx_ns, step = lmin / 4;

	if ((e->flags & (LH_SEG_FH_RTX | LH_SEG_SACKED)) || e->n_local > 1)
		return;
	if (e->n_local && age >= lmin - lmin / 4) {
		lh_order_doubt(env, f, e);
		return;
	}
	if (!e->n_local) {
		if (e->last_tx_ns >= f->order.xmit_ns)
			return;
		if (age > f->order.rtt_ns)
			step = lh_max(step, age - f->order.rtt_ns);
	}
	lh_order_patience(env, f, step);
}

LH_INLINE void lh_order_twice(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (!env->view.dsack_ours || !f->order.doubt || f->recovery.doubt_end != s->sack[0].right)
		return;
	f->order.doubt = 0;
	if (f->outage.ended_ns && lh_since(env->now_ns, f->outage.ended_ns) < LH_REO_KEPT_NS)
		return;
	lh_order_patience(env, f, lh_lmin(env) / 4);
}

LH_INLINE void lh_order_arrived(struct lh_env *env, struct lh_flow *f)
{
	const struct lh_ack_sum *sum = &env->ack;
	struct lh_order *o = &f->order;

	if (sum->xmit_ns && sum->xmit_ns >= o->xmit_ns) {
		if (sum->xmit_ns > o->xmit_ns || lh_after(sum->xmit_end, o->xmit_end))
			o->xmit_end = sum->xmit_end;
		o->xmit_ns = sum->xmit_ns;
		o->rtt_ns = env->now_ns - sum->xmit_ns;
	}
	if (sum->rtx_xmit_ns && sum->rtx_xmit_ns >= o->rtx_xmit_ns) {
		if (sum->rtx_xmit_ns > o->rtx_xmit_ns ||
		    lh_after(sum->rtx_xmit_end, o->rtx_xmit_end))
			o->rtx_xmit_end = sum->rtx_xmit_end;
		o->rtx_xmit_ns = sum->rtx_xmit_ns;
	}
}

/* Whether something that departed after @e has arrived. Departures in one
 * burst bear the same time: their order is that of the numbers. */
LH_INLINE bool lh_order_passed(const struct lh_flow *f, const struct lh_seg *e)
{
	if (e->last_tx_ns < f->order.xmit_ns ||
	    (e->n_local && e->last_tx_ns < f->order.rtx_xmit_ns) ||
	    e->last_tx_ns < f->outage.lost_ns)
		return true;
	if (e->n_local)
		return e->last_tx_ns == f->order.rtx_xmit_ns &&
		       lh_before(e->end, f->order.rtx_xmit_end);
	return e->last_tx_ns == f->order.xmit_ns && lh_before(e->end, f->order.xmit_end);
}

/* Whether time order says that @e is lost (RFC 8985 section 6.2, step 5). */
LH_INLINE bool lh_order_lost(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	u64 reo = lh_reo(env, f);

	if (!lh_order_passed(f, e))
		return false;
	return !reo || env->now_ns - e->last_tx_ns >= f->order.rtt_ns + reo;
}

/* Whether the bytes are here and may go out once more. */
LH_INLINE bool lh_order_repairable(struct lh_env *env, const struct lh_flow *f,
				   const struct lh_seg *e)
{
	u32 max = LH_CFG(env)->max_local;

	if (e->flags & LH_SEG_EMPTY)
		max = lh_min(max, LH_BARE_MAX);
	/* None has a copy there; once convicted, FH is to send it first. */
	if (lh_policy(env) & LH_POLICY_SHADOW)
		return !(e->flags & LH_SEG_LOST) && !lh_seg_stale(f, e);
	return !(e->flags & LH_SEG_NO_COPY) && !lh_seg_overflow(f, e) && !lh_seg_stale(f, e) &&
	       e->n_local < max;
}

/* When what departed in one burst with @e has come: the queue that this made was not longer than the longest, and
 * on a long hop the next burst is far away. */
LH_INLINE u64 lh_order_pattern_until(struct lh_env *env, const struct lh_flow *f,
				     const struct lh_seg *e)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 wait = lh_lmin(env), pattern;

	if (p) {
		/* Others' segments stand between its own: on a slow hop none of these may come within Lmin. */
		pattern = LH_PATTERN_LEAST * (lh_peer_flows(env, p) - 1) * lh_mss(f);
		wait = lh_rate_time_least(p->rate, pattern, wait);
		wait = lh_min(wait, lh_queue_longest(p));
	}
	return e->last_tx_ns + f->order.rtt_ns + wait;
}

/* Bytes that MH lacks below what it has reported. */
LH_INLINE u32 lh_order_missing(const struct lh_flow *f)
{
	return f->sacked_max - f->una - f->delivery.sacked_bytes;
}

/* From @e up to there. What a repair that has come overtook may lie above, and what the other end of the hop
 * asks for. */
LH_INLINE u32 lh_order_range(const struct lh_flow *f, const struct lh_seg *e)
{
	return lh_after(f->sacked_max, e->seq) ? f->sacked_max - e->seq : 0;
}

/*
 * A slow start that overflows the queue loses every other segment from there on, the link
 * loses one here and there. So a while after the loss of @e it shows which one it was.
 * @return LH_TRIED_WAITS: not yet; LH_TRIED_OURS: the link.
 */
LH_INLINE enum lh_tried lh_order_pattern(struct lh_env *env, const struct lh_flow *f,
					 const struct lh_seg *e)
{
	u32 missing = lh_order_missing(f), range = lh_order_range(f, e), mss = lh_mss(f);

	if (missing >= lh_max(LH_PATTERN_LEAST * mss, range / 4))
		return LH_TRIED_NOTHING;
	if (range < LH_PATTERN_SEGS * mss && env->now_ns < lh_order_pattern_until(env, f, e))
		return LH_TRIED_WAITS;
	return LH_TRIED_OURS;
}

/* Whether somebody's slow start fills the queue before @p, the flow's receiver or none, so that the longest
 * it has been says little, and a pattern of losses can be seen. */
LH_INLINE bool lh_order_starts(const struct lh_flow *f, const struct lh_peer *p)
{
	return p && lh_queue_rising(p) && lh_flow_sack(f);
}

/*
 * Whether @e is of a burst of which hardly anything has come, beside other flows of its receiver @p, if any, while the
 * link has lost nothing of late. Of the bursts with which a page's connections begin the last ones find the queue full,
 * and nothing comes of them that would show it. Repaired here FH was braked for it, and what overflowed from then on
 * was the link's as well.
 */
LH_INLINE bool lh_order_burst_lost(struct lh_env *env, const struct lh_flow *f,
				   const struct lh_seg *e, const struct lh_peer *p)
{
	u32 missing = lh_order_missing(f), range = lh_order_range(f, e);

	if (!p || p->active < 2 || e->n_local || !LH_CFG(env)->queue_guard || !lh_flow_sack(f) ||
	    lh_queue_lossy(env, f))
		return false;
	return missing >= lh_max(LH_PATTERN_LEAST * lh_mss(f), range / 2);
}

/* @e counts as lost: whose loss is it? @return LH_TRIED_OURS: the link's, and so ours to
 * repair; LH_TRIED_NOTHING: FH's, as without an agent. */
LH_INLINE enum lh_tried lh_order_judge(struct lh_env *env, const struct lh_flow *f,
				       const struct lh_seg *e)
{
	struct lh_peer *p = lh_peer_of(env, f);

	/* Nobody else keeps what it goes by: a scheme that was another until a reload would go by that for ever. */
	if (!(lh_policy(env) & (LH_POLICY_CONTROL | LH_POLICY_SHADOW)))
		return LH_TRIED_OURS;
	if (!e->n_local && lh_queue_managed(env, f))
		return LH_TRIED_NOTHING;
	if (!lh_queue_overflowed(env, f, e))
		return lh_order_burst_lost(env, f, e, p) ? LH_TRIED_NOTHING : LH_TRIED_OURS;
	if (lh_order_starts(f, p))
		return lh_order_pattern(env, f, e);
	return LH_TRIED_NOTHING;
}

LH_INLINE bool lh_order_overflowed_tail(struct lh_env *env, const struct lh_flow *f,
					const struct lh_seg *e)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u32 missing = f->max - f->una - f->delivery.sacked_bytes;

	if (!lh_queue_overflowed(env, f, e))
		return false;
	/* Flows that have something under way: who fell silent together delivers nothing now. */
	return !lh_order_starts(f, p) || p->active > 1 || missing >= LH_PATTERN_LEAST * lh_mss(f);
}

LH_INLINE enum lh_tried lh_order_whose(struct lh_env *env, struct lh_flow *f,
				       const struct lh_seg *e)
{
	enum lh_tried whose = lh_order_judge(env, f, e);

	if (whose == LH_TRIED_NOTHING)
		lh_guard_leave(env, f);
	else if (whose == LH_TRIED_OURS && !e->n_local)
		env->ack.deprived = 1;
	return whose;
}

/* Repairs the segment at @pos if it is lost and may be sent. */
LH_ENTRY int lh_order_try(struct lh_env *env, struct lh_flow *f, u32 pos, struct lh_actions *out)
{
	struct lh_seg *e;

	if (!env || !f || !out)
		return LH_TRIED_NOTHING;
	e = lh_seg_at(env, f, pos);
	if (!e || (e->flags & LH_SEG_SACKED))
		return LH_TRIED_NOTHING;
	/* What is not ours now may be once the overflow is over, or FH has sent it again: the
	 * chunk's bound holds. */
	if (!lh_order_repairable(env, f, e))
		return lh_seg_overflow(f, e) ? LH_TRIED_WAITS : LH_TRIED_NOTHING;
	if (!lh_order_lost(env, f, e))
		return LH_TRIED_WAITS;
	if (lh_policy(env) & LH_POLICY_SHADOW) {
		lh_shadow_convict(env, f, e);
		return LH_TRIED_NOTHING;
	}
	if (lh_order_whose(env, f, e) != LH_TRIED_OURS || !lh_resend(env, f, e, LH_BY_ORDER, out))
		return LH_TRIED_WAITS;
	return LH_TRIED_SENT;
}

/* Books that @e is still to be looked at. In env, not in the loop below: of what is in memory the
 * verifier forgets the values, of what is on the stack Linux 6.8's remembers each turn's, until
 * their sequence is too long for it. */
LH_INLINE void lh_order_waits(struct lh_env *env, const struct lh_seg *e)
{
	struct lh_order_waits *w = &env->waits;

	w->oldest_tx_ns = e ? lh_min(w->oldest_tx_ns, e->last_tx_ns) : 0;
	if (!e || e->n_local)
		w->again_tx_ns = lh_min(w->again_tx_ns, w->oldest_tx_ns);
}

/*
 * Repairs at most @budget lost segments of the chunk that holds @pos, oldest
 * sequence number first. @return how many.
 */
LH_ENTRY int lh_order_chunk(struct lh_env *env, struct lh_flow *f, u32 pos, u32 budget,
			    struct lh_actions *out)
{
	struct lh_chunk *c;
	u32 done = 0;
	int i;

	if (!env || !f || !out)
		return 0;
	env->waits.oldest_tx_ns = env->now_ns;
	env->waits.again_tx_ns = ~0ULL;
	lh_for (i, LH_CHUNK_SEGS) {
		int tried;

		if (pos == f->ring.tail || done >= budget)
			break;
		tried = lh_order_try(env, f, pos, out);
		done += tried == LH_TRIED_SENT;
		if (tried != LH_TRIED_NOTHING)
			lh_order_waits(env, lh_seg_at(env, f, pos));
		pos++;
		if (!(pos & (LH_CHUNK_SEGS - 1)))
			break;
	}
	c = lh_chunk_at(env, f, pos - 1);
	if (!c)
		return done;
	if (done < budget) {
		c->oldest_tx_ns = env->waits.oldest_tx_ns;
		c->again_tx_ns = env->waits.again_tx_ns;
	} else { /* not all was looked at */
		c->again_tx_ns = lh_min(c->again_tx_ns, env->waits.again_tx_ns);
	}
	return done;
}

LH_INLINE bool lh_order_disturbed(const struct lh_flow *f)
{
	return (f->flags & LH_FLOW_RTX) || lh_gapped(f);
}

/*
 * Whether something in the chunk may be lost. What arrived of the repairs convicts repairs
 * only: without a bound of their own each ACK of the window behind a repair looked at all
 * of it (74 us for 3,600 segments, 1 us now).
 */
LH_INLINE bool lh_order_due(const struct lh_flow *f, const struct lh_chunk *c)
{
	return f->order.all || c->oldest_tx_ns <= lh_max(f->order.xmit_ns, f->outage.lost_ns) ||
	       c->again_tx_ns <= f->order.rtx_xmit_ns;
}

/* Chunks that are looked through per call. Where a window waits, for it is FH's to repair or
 * the host has no room, the next call goes on. */
#define LH_ORDER_CHUNKS 4
/* Chunks whose bounds are read per call: of a window of 14,400 segments all of them cost ten
 * times what else an ACK does (9 us). */
#define LH_ORDER_WALK 64

LH_FUNC int lh_order_repair(struct lh_env *env, struct lh_flow *f, u32 budget,
			    struct lh_actions *out)
{
	u32 pos = f->ring.head, done = 0, looked = 0;
	bool all;
	int i;

	lh_for (i, LH_ORDER_WALK) {
		struct lh_chunk *c;

		if ((s32)(f->ring.tail - pos) <= 0 || done >= budget || looked == LH_ORDER_CHUNKS)
			break;
		c = lh_chunk_at(env, f, pos);
		if (!c)
			break;
		if (lh_order_due(f, c)) {
			done += lh_order_chunk(env, f, pos, budget - done, out);
			looked++;
		}
		pos = (pos | (LH_CHUNK_SEGS - 1)) + 1;
		if (!i && (s32)(f->ring.tail - pos) > 0 && f->order.at - pos < f->ring.tail - pos)
			pos = f->order.at;
	}
	/* With the budget used up the oldest come first again. */
	all = (s32)(f->ring.tail - pos) <= 0;
	f->order.at = !all && done < budget ? pos : 0;
	if (all && done < budget)
		f->order.all = 0;
	return done;
}

LH_INLINE struct lh_seg *lh_order_head(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e = lh_head(env, f);

	return e && lh_order_repairable(env, f, e) ? e : NULL;
}

LH_INLINE u64 lh_order_deadline(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	u64 reo = lh_reo(env, f), at;

	if (!lh_flow_sack(f) || !e || !lh_order_repairable(env, f, e) ||
	    (e->flags & LH_SEG_SACKED) || !lh_order_passed(f, e))
		return 0;
	at = e->last_tx_ns + f->order.rtt_ns;
	if (reo && env->now_ns < at + reo)
		return at + reo;
	switch (lh_order_judge(env, f, e)) {
	case LH_TRIED_NOTHING:
		return 0;
	case LH_TRIED_WAITS:
		return lh_order_pattern_until(env, f, e);
	default: /* ours since the pattern has shown itself, if it did not go out at once */
		return reo ? at + reo : lh_order_pattern_until(env, f, e);
	}
}
