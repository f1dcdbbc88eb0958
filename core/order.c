/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "control.h"
#include "detect.h"

#define LH_REO_KEPT_NS (10 * LH_SEC) /* how long seen reordering is remembered */
#define LH_DOUBT_SHIFT 20 /* units of lh_order.doubt_at: a millisecond, nearly */
#define LH_PROBE_BLIND_NS (700 * LH_MSEC) /* before the device's first sample: a satellite's hop */
#define LH_PATTERN_LEAST 3 /* segments missing: a slow start may have overflowed */
#define LH_PATTERN_SEGS 8 /* delivered behind a loss: enough to tell what it was */
#define LH_PROBES_EVEN 3 /* probes before the time between them doubles */
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
	f->order.reo_ns = lh_min(lh_reo(env, f) + step, 2 * lh_lmin(env, f));
	f->order.reo_seen_ns = env->now_ns;
	lh_host_count(env, LH_C_reordered, 1);
}

/* It or its repair, @e, has come, and none of the timer's: MH's DSACK tells whether both do. One such segment at a time
 * is enough, for as long as the other copy may take. */
LH_INLINE void lh_order_doubt(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e)
{
	struct lh_order *o = &f->order;
	u16 now = env->now_ns >> LH_DOUBT_SHIFT, wait = 3 * lh_lmin(env, f) >> LH_DOUBT_SHIFT;

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
	u64 lmin = lh_lmin(env, f), age = env->now_ns - e->last_tx_ns, step = lmin / 4;

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
	lh_order_patience(env, f, lh_lmin(env, f) / 4);
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
	const struct lh_peer *p = lh_peer_of(env, f);
	u64 wait = p ? lh_min(lh_queue_longest(p), lh_lmin(env, f)) : lh_lmin(env, f);

	return e->last_tx_ns + f->order.rtt_ns + wait;
}

/*
 * A slow start that overflows the queue loses every other segment from there on, the link
 * loses one here and there. So a while after the loss of @e it shows which one it was.
 * @return LH_TRIED_WAITS: not yet; LH_TRIED_OURS: the link.
 */
LH_INLINE enum lh_tried lh_order_pattern(struct lh_env *env, const struct lh_flow *f,
					 const struct lh_seg *e)
{
	u32 missing = f->sacked_max - f->una - f->delivery.sacked_bytes, mss = lh_mss(f);
	/* What a repair that has come overtook may lie above all that was SACKed, and what the other end of
	 * the hop asks for. */
	u32 range = lh_after(f->sacked_max, e->seq) ? f->sacked_max - e->seq : 0;

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
		return LH_TRIED_OURS;
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

#define LH_VAIN_MOST 4
#define LH_VAIN_NS (10 * LH_SEC) /* for so long the last one is heeded: then one is tried in time */

/* Such ACKs that make the next probe wait, and the most that count: few enough to unlearn. */
#define LH_LATE_FROM 4
#define LH_LATE_MOST 8

/* Probes in vain of late. */
LH_INLINE u32 lh_vain(struct lh_env *env, const struct lh_flow *f)
{
	return lh_since(env->now_ns, f->recovery.vain_ns) > LH_VAIN_NS ? 0 : f->recovery.vain;
}

/* How much longer MH may keep the ACK of a segment if it is @lone (RFC 1122 section 4.2.3.2). */
LH_INLINE u64 lh_probe_delack(const struct lh_flow *f, bool lone)
{
	return lone && (f->flags & LH_FLOW_FWD) ? LH_DELACK_NS : 0;
}

/*
 * Whether ACKs of a @lone segment, or of the last several, mostly came later than a probe in time would have gone out.
 * On a link that is known to lose only for one that nothing had preceded, of a thin flow: of 30 kB every 400 ms, every
 * 8th segment acknowledged, the end is lost too often. They took 217 ms instead of 97 at 5 % (mean), where of a segment
 * every 100 ms 1,482 of 1,795 went out twice.
 */
LH_INLINE bool lh_probe_waits(struct lh_env *env, const struct lh_flow *f, bool lone)
{
	if ((lone ? f->recovery.late_lone : f->recovery.late_more) < LH_LATE_FROM)
		return false;
	if (lone && !f->recovery.nr_probes && f->delivery.last_ns < f->sent_ns)
		return true;
	return !lh_queue_lossy(env, f);
}

/* How much longer MH may keep its ACK: of a lone segment, or as the answers to earlier probes show, for hosts double
 * the time of a delayed ACK from 40 to 200 ms while nobody reads. */
LH_INLINE u64 lh_probe_patience(struct lh_env *env, const struct lh_flow *f)
{
	bool lone = lh_cached(f) < 2;
	u32 vain = lh_vain(env, f);

	if (lh_probe_waits(env, f, lone))
		return LH_DELACK_MOST_NS;
	if (!vain)
		return lh_probe_delack(f, lone);
	return lh_min(LH_DELACK_NS << (vain - 1), LH_DELACK_MOST_NS);
}

/* Whether the ACK of this call, of a @lone segment or of several, came later than a probe in time would have
 * gone out, since MH was last heard or sent to. */
LH_INLINE bool lh_probe_outwaited(struct lh_env *env, const struct lh_flow *f, bool lone)
{
	u64 srtt = lh_srtt(env, f), wait = 2 * srtt + LH_PROBE_SLACK_NS + lh_probe_delack(f, lone);

	return srtt && env->now_ns > lh_max(f->delivery.last_ns, f->sent_ns) + wait;
}

/*
 * The last of what is under way is acknowledged: was the probe in vain, or would it have been? Who sends no DSACK, or
 * no SACK at all, never says so, and lwIP and its kin keep their ACKs for up to 250 ms: each lone segment went out
 * twice, for as long as the flow lasted (10 kB every 400 ms: 394 times of 395). But who delays delays most, and a link
 * that loses most of them is none. So each ACK that came late by itself, or as the answer to the first probe, is one
 * more, each that came in time one less, and so is what turns out to be lost while we wait. Of lone segments and
 * several apart: a receiver that acknowledges every other one is late with the former only.
 */
LH_INLINE void lh_probe_answered(struct lh_env *env, struct lh_flow *f)
{
	struct lh_recovery *r = &f->recovery;
	bool lone = env->ack.nr_segs < 2, more;
	u32 late = lone ? r->late_lone : r->late_more;

	if (!env->ack.nr_segs || env->ack.sacked || f->una != f->max)
		return;
	if (!env->ack.again_ns)
		more = lh_probe_outwaited(env, f, lone);
	else if (lh_probe_waits(env, f, lone))
		more = false; /* it was lost, and a probe in time would have helped */
	else if (r->nr_probes == 1 && !r->tells)
		more = true;
	else
		return;
	late = more ? lh_min(late + 1, LH_LATE_MOST) : late - (late > 0);
	if (lone)
		r->late_lone = late;
	else
		r->late_more = late;
}

LH_INLINE void lh_probe_judge(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	u32 end = f->recovery.probe_end;

	if (s->dsack)
		f->recovery.tells = 1;
	else
		lh_probe_answered(env, f);
	if (!env->view.dsack_ours || !lh_after(end, s->sack[0].left) ||
	    lh_after(end, s->sack[0].right))
		return;
	f->recovery.vain = lh_min(lh_vain(env, f) + 2, LH_VAIN_MOST);
	f->recovery.vain_ns = env->now_ns;
	f->recovery.probe_end = s->sack[0].left; /* told once */
}

/*
 * How long MH may be silent before the head is sent once more. Without a hole
 * twice the local round trip (RFC 8985 section 7.2), and a delayed ACK more for
 * a lone segment. While MH holds something above a hole it answers whatever
 * arrives at once (RFC 5681 section 4.2), so that little more than the last
 * sojourn is long enough.
 */
LH_INLINE u64 lh_probe_wait(struct lh_env *env, const struct lh_flow *f)
{
	u64 srtt = lh_srtt(env, f);

	if (!srtt)
		return LH_PROBE_BLIND_NS;
	if (lh_gapped(f)) {
		srtt = lh_max(srtt, f->order.rtt_ns);
		return srtt + srtt / 4 + LH_PROBE_SLACK_NS;
	}
	return 2 * srtt + LH_PROBE_SLACK_NS + lh_probe_patience(env, f);
}

/*
 * Until when the head @e may well be on its way: while what comes to MH departed before it
 * did, and a little longer, for it is next. 50 flows that began at once sent 425 probes
 * before their first ACK. Two segments take no more than two round trips, each of which
 * has one in it: where the rate says more, it is a thin flow's and not the hop's. 100 bytes
 * every half a second make 1,000 bytes a second, and of 136 losses 7 were probed before FH
 * sent them again.
 */
LH_INLINE u64 lh_queued_until(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 next, most = 2 * lh_srtt(env, f);

	if (!p || p->xmit_ns >= e->last_tx_ns)
		return 0;
	next = lh_rate_time_least(p->rate, 2 * lh_mss(f), LH_PROBE_SLACK_NS);
	next = most ? lh_min(next, most) : next;
	return lh_min(p->delivered_ns + next, e->last_tx_ns + LH_CFG(env)->lrto_max_ns);
}

LH_INLINE u64 lh_probe_deadline(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	u32 n = f->recovery.nr_probes,
	    shift = n > LH_PROBES_EVEN ? lh_min(n - LH_PROBES_EVEN, 6) : 0;
	u64 wait;

	if (!e || !lh_order_repairable(env, f, e))
		return 0;
	/* Where no ACK ever came by they take another way: nothing can be known. */
	if (!(f->flags & LH_FLOW_FWD || e->flags & LH_SEG_EMPTY))
		return 0;
	wait = lh_min(lh_probe_wait(env, f) << shift, LH_CFG(env)->lrto_max_ns);
	return lh_max(lh_max(f->delivery.last_ns, f->sent_ns) + wait, lh_queued_until(env, f, e));
}

/* Sends the segment at @pos again if MH lacks it. @return 1: it does. */
LH_ENTRY int lh_probe_one(struct lh_env *env, struct lh_flow *f, u32 pos, struct lh_actions *out)
{
	struct lh_seg *e;

	if (!env || !f || !out)
		return 1;
	e = lh_seg_at(env, f, pos);
	if (!e)
		return 1;
	if ((e->flags & LH_SEG_SACKED) || !lh_order_repairable(env, f, e))
		return 0;
	lh_resend(env, f, e, LH_BY_TIMER, out);
	return 1;
}

LH_INLINE void lh_probe(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	struct lh_seg *e = lh_order_head(env, f);
	u32 pos = f->ring.head + 1;
	int i;

	if (!e)
		return;
	/* Lost where the queue is full, with nothing behind it to tell: FH's, too. Probes of
	 * 400 flows with a segment or two each were repairs without end. */
	if (lh_order_overflowed_tail(env, f, e)) {
		lh_guard_leave(env, f);
		f->sent_ns = env->now_ns; /* the timer of what FH itself has repeated goes on */
		f->recovery.nr_probes++;
		return;
	}
	lh_resend(env, f, e, LH_BY_TIMER, out);
	f->recovery.probe_end = e->end;
	if (f->recovery.vain) /* unless MH says otherwise */
		f->recovery.vain--;
	if (f->recovery.nr_probes++ == 0)
		return;
	lh_for (i, LH_CHUNK_SEGS) {
		if (pos == f->ring.tail || lh_probe_one(env, f, pos, out))
			break;
		pos++;
	}
}
