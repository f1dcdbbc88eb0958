/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "guard.h"
#include "wired.h"

#define LH_LOSSY_LEAST_NS (2 * LH_SEC)
#define LH_LOSSY_LEAST_RTTS 16 /* of the whole path: 2 s are three where that takes 600 ms */
#define LH_LOSSY_MOST_NS (30 * LH_SEC)
#define LH_LOSSY_GAPS 8 /* times between two losses for which a link counts as lossy */
#define LH_TARGET_SEGS 2 /* so many are hardly a queue on a slow link (RFC 8289 section 4.4) */
#define LH_TARGET_YOUNG 4 /* times the configured target, for a flow that has just begun */
#define LH_TARGET_MOST 5 /* the same, on an unsteady hop */
#define LH_DEFIED_INTERVALS 12 /* a queue of ours has answered to C, or was tried, by then */
/* CoDel drops once a queue has stood above 5 ms for 100 (RFC 8289 section 4); what MH's
 * ACKs show of both is a little less. */
#define LH_AQM_TARGET_NS (4 * LH_MSEC)
#define LH_AQM_INTERVAL_NS (75 * LH_MSEC)
#define LH_LONGER_NS (2 * LH_SEC)
#define LH_LONGER_LEAST 32 /* sojourns in that time */
#define LH_LONGER_TARGETS 2 /* the way is longer by more: as long a queue an AQM may keep */
#define LH_RAISED_NS (30 * LH_SEC) /* twice within this time: it was made shorter in between */
#define LH_FULL_PERIOD_NS (10 * LH_SEC)
#define LH_BACKLOG_NS (10 * LH_SEC) /* no queue is longer */
#define LH_FULL_GAP_NS (500 * LH_MSEC) /* a queue that overflows drains for so long at most */

/* The time that the hop to @p, the flow's receiver or none, takes for @segs segments, or @least ns
 * where that is longer. */
LH_INLINE u64 lh_segs_time(struct lh_env *env, const struct lh_flow *f, const struct lh_peer *p,
			   u64 segs, u64 least)
{
	u64 rate = p ? p->rate : lh_device_rate(env, LH_RATE_BINS);

	return lh_rate_time_least(rate, segs * lh_mss(f), least);
}

LH_INLINE u64 lh_target_from(struct lh_env *env, const struct lh_flow *f, u64 least)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 t = LH_CFG(env)->target_ns;

	if (p) /* what a slow one's segments take */
		least = lh_segs_time(env, f, p, LH_TARGET_SEGS, least);
	return lh_clamp64(least, t, LH_TARGET_MOST * t);
}

LH_INLINE u64 lh_queue_pause(const struct lh_flow *f)
{
	return lh_max(f->queue.gap_ns, f->queue.gap_now_ns);
}

LH_INLINE u64 lh_target_steady(struct lh_env *env, const struct lh_flow *f)
{
	return lh_target_from(env, f, 2 * lh_queue_pause(f));
}

LH_INLINE u64 lh_target(struct lh_env *env, const struct lh_flow *f)
{
	u64 t = lh_target_steady(env, f);

	if (f->control.age >= LH_YOUNG_INTERVALS)
		return t;
	return lh_max(t, LH_TARGET_YOUNG * LH_CFG(env)->target_ns);
}

LH_INLINE u64 lh_aim(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 flows = p ? lh_peer_flows(env, p) : lh_device_flows(env);

	return lh_segs_time(env, f, p, flows, lh_target(env, f));
}

LH_INLINE u64 lh_queue(struct lh_env *env, u64 r)
{
	return lh_since(r, lh_lmin(env));
}

LH_INLINE bool lh_queue_stands(struct lh_env *env, const struct lh_flow *f, u64 q)
{
	u64 above = lh_lmin(env) + lh_unsteady(env) + q;
	int i;

	for (i = 0; i < LH_RECENT_SAMPLES; i++)
		if (f->queue.recent_ns[i] <= above)
			return false;
	return true;
}

/* lh_queue_crowded() by a rate that is @less bytes per second less than the measured one. */
LH_INLINE bool lh_queue_crowded_by(struct lh_env *env, const struct lh_flow *f, u64 less)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 flows, base = lh_base_here(env, f);

	if (!p || !p->rate)
		return false;
	flows = lh_peer_crowd(p);
	return lh_rate_lacks(lh_since(p->rate, less), base - base / 4, flows * lh_mss(f));
}

LH_INLINE bool lh_queue_crowded(struct lh_env *env, const struct lh_flow *f)
{
	return lh_queue_crowded_by(env, f, 0);
}

LH_INLINE bool lh_queue_roomy(struct lh_env *env, const struct lh_flow *f)
{
	return !lh_queue_crowded_by(env, f, 2ULL * lh_mss(f) * (LH_SEC / LH_BIN_NS));
}

LH_INLINE bool lh_window_editable(struct lh_env *env, const struct lh_flow *f)
{
	u32 need = LH_FLOW_WSCALE | LH_FLOW_FWD;

	return (lh_policy(env) & LH_POLICY_CONTROL) && (f->flags & need) == need &&
	       !lh_flow_sealed(f);
}

LH_INLINE bool lh_queue_lossy(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 at = p ? lh_max(p->lossy_ns, f->queue.lossy_ns) : f->queue.lossy_ns;

	if (LH_CFG(env)->clock == LH_CLOCK_ALWAYS)
		return true;
	return at && lh_since(env->now_ns, at) < (p ? p->lossy_for_ns : LH_LOSSY_LEAST_NS);
}

LH_INLINE void lh_queue_lost(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p)
{
	u64 gap = lh_since(env->now_ns, p->lossy_ns), span = p->lossy_for_ns;
	u64 least = lh_max(LH_LOSSY_LEAST_NS, LH_LOSSY_LEAST_RTTS * lh_base(env, f));

	if (p->lossy_ns && gap < lh_srtt(env, f))
		return;
	if (p->lossy_ns)
		span = span - span / 4 + LH_LOSSY_GAPS * lh_min(gap, LH_LOSSY_MOST_NS) / 4;
	p->lossy_for_ns = lh_min(lh_max(span, least), LH_LOSSY_MOST_NS);
	p->lossy_ns = env->now_ns;
}

LH_INLINE void lh_queue_blame(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);

	if (!lh_queue_lossy(env, f))
		f->queue.blamed = 0;
	f->queue.blamed++;
	f->queue.lossy_ns = env->now_ns;
	if (!p)
		return;
	if (lh_since(env->now_ns, p->lossy_ns) >= p->lossy_for_ns)
		p->blamed = 0;
	p->blamed++;
	lh_queue_lost(env, f, p);
}

LH_INLINE void lh_queue_copied(struct lh_env *env, struct lh_flow *f)
{
	struct lh_queue *q = &f->queue;

	if (lh_since(env->now_ns, q->copied_ns) > LH_LOSSY_LEAST_NS && !lh_queue_lossy(env, f))
		q->copies = 0;
	q->copies++;
	q->copied_ns = env->now_ns;
}

LH_INLINE bool lh_queue_refute(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	struct lh_queue *q = &f->queue;

	if (!q->copies || --q->copies || !q->blamed)
		return false;
	q->lossy_ns = 0;
	if (p) {
		p->blamed -= lh_min(p->blamed, q->blamed);
		if (!p->blamed) /* nor has any other flow's loss been real */
			p->lossy_ns = 0;
	}
	q->blamed = 0;
	return true;
}

LH_INLINE u64 lh_queue_longest(const struct lh_peer *p)
{
	return lh_max(p->full_now_ns, p->full_before_ns);
}

/* The same in bytes. */
LH_INLINE u32 lh_queue_longest_bytes(const struct lh_peer *p)
{
	return lh_max(p->full_now, p->full_before);
}

/* Whether the queue was near the longest of late, in time or in bytes, for the segment of
 * this call's sample, and no trifle; nor what a hop that pauses makes of none. */
LH_INLINE bool lh_queue_near_full(struct lh_env *env, const struct lh_flow *f,
				  const struct lh_peer *p)
{
	u64 full = lh_queue_longest(p);
	u64 least = f->control.state == LH_CONTROL_HELD ? lh_aim(env, f) : lh_target_steady(env, f);

	if (p->queue_ns < 2 * lh_max(least, lh_queue_pause(f)))
		return false;
	if (p->queue_ns >= full - full / 4)
		return true;
	full = lh_queue_longest_bytes(p);
	return p->ahead >= full - full / 4;
}

LH_INLINE void lh_queue_above(struct lh_env *env, const struct lh_flow *f, u64 *since_ns, u64 q)
{
	u64 trifle = lh_max(LH_AQM_TARGET_NS, lh_queue_pause(f));

	/* No target is less than the configured one. */
	if (q < LH_CFG(env)->target_ns || q < lh_target_from(env, f, trifle))
		*since_ns = 0;
	else if (!*since_ns)
		*since_ns = env->now_ns;
}

LH_INLINE void lh_queue_empty(struct lh_env *env, struct lh_flow *f, struct lh_peer *p)
{
	f->queue.above_ns = 0;
	if (p && !p->active)
		p->empty_ns = env->now_ns;
}

/*
 * For how long a queue has to stand before an AQM drops. On a long hop senders need as
 * long to hear of it, and the bursts of a slow start stand for longer than CoDel's usual
 * 100 ms: whoever runs an AQM there has set it accordingly (RFC 8289 section 4.3). By
 * 75 ms the first loss of the link at 560 of 600 ms, 1 %, ended the start for good: 0.23
 * of the bound with Reno at 5 Mbit/s, and 0.92 by this.
 */
LH_INLINE u64 lh_aqm_interval(struct lh_env *env)
{
	u64 lmin = lh_lmin(env);

	return lh_max(LH_AQM_INTERVAL_NS, lmin - lmin / 4);
}

/* Whether a queue of FH's can be held, once there is one: by its window or by marks. The flags as in
 * lh_window_editable(), again: shared, the verifier had more to look at. */
LH_INLINE bool lh_queue_brakes(const struct lh_flow *f)
{
	u32 need = LH_FLOW_WSCALE | LH_FLOW_FWD;

	return ((f->flags & need) == need && !lh_flow_sealed(f)) || (f->flags & LH_FLOW_ECT);
}

LH_INLINE u64 lh_queue_worth(struct lh_env *env, const struct lh_flow *f, const struct lh_peer *p)
{
	if (!p || lh_queue_brakes(f) || !lh_queue_lossy(env, f))
		return 0;
	return lh_min(lh_base_here(env, f) / LH_WORTH_PART, lh_queue_longest(p) / 2);
}

LH_INLINE bool lh_queue_managed(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 mine = f->queue.above_ns, all = 0, interval;

	if (!LH_CFG(env)->queue_guard || f->queue.lacks || f->control.state != LH_CONTROL_FREE ||
	    (lh_queue_lossy(env, f) && lh_queue_brakes(f)))
		return false;
	if (p && p->above_ns)
		all = lh_max(p->above_ns, p->empty_ns);
	interval = lh_aqm_interval(env);
	return (mine && lh_since(env->now_ns, mine) >= interval) ||
	       (all && lh_since(env->now_ns, all) >= interval);
}

LH_INLINE bool lh_queue_overflowed(struct lh_env *env, const struct lh_flow *f,
				   const struct lh_seg *e)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 slack;

	if (!p || e->n_local || !LH_CFG(env)->queue_guard)
		return false;
	if (env->now_ns < p->tight_ns)
		return true;
	if (!p->full_tx_ns)
		return false;
	if (f->control.state == LH_CONTROL_HELD && f->control.doubt < LH_DEFIED_INTERVALS)
		return false;
	/* A flow that C cannot hold keeps its queue full, and every loss looks like this. */
	if (!lh_window_editable(env, f) && lh_queue_lossy(env, f))
		return false;
	if (e->behind)
		return true;
	/* It takes as long to drain so far. */
	slack = lh_queue_longest(p) / 4;
	if (e->last_tx_ns + slack < p->full_from_ns)
		return false;
	/* Nothing newer is known, with many flows of a segment or two each. */
	if (p->full_seen_ns && lh_since(env->now_ns, p->full_seen_ns) < LH_FULL_GAP_NS)
		return true;
	return e->last_tx_ns <= p->full_tx_ns + slack;
}

LH_ENTRY int lh_queue_departs(struct lh_env *env, const struct lh_flow *f, u32 bytes)
{
	struct lh_peer *p;
	u64 left, passed;
	u32 full;

	if (!env || !f || !(lh_policy(env) & LH_POLICY_CONTROL))
		return 0;
	p = lh_peer_of(env, f);
	if (!p || !p->full_tx_ns)
		return 0;
	full = lh_queue_longest_bytes(p);
	passed = lh_min(lh_since(env->now_ns, p->backlog_ns), LH_BACKLOG_NS);
	left = lh_since(p->backlog, lh_rate_times(p->rate, passed));
	/* More than the longest has overflowed it; twice, for that may not have been seen yet. */
	p->backlog = lh_min(left, 2 * full) + bytes;
	p->backlog_ns = env->now_ns;
	/* A trifle is never full, nor what was longest too long ago. */
	if (left < full - full / 4 || lh_queue_longest(p) < 2 * LH_CFG(env)->target_ns)
		return 0;
	return p->active > 1 && !(lh_queue_lossy(env, f) && lh_queue_roomy(env, f));
}

LH_INLINE void lh_queue_adds(struct lh_env *env, const struct lh_flow *f, u32 bytes)
{
	struct lh_peer *p = lh_peer_of(env, f);

	if (p) {
		p->backlog += bytes;
		p->again += bytes;
	}
}

LH_INLINE void lh_queue_again(struct lh_env *env, const struct lh_flow *f, u32 bytes)
{
	struct lh_peer *p = lh_peer_of(env, f);

	if (p)
		p->again += bytes;
}

/* Whether the segment of this call's sample departed after the queues had drained, as earlier samples showed
 * them, and whatever else came to its receiver since, as far as its rate is known. */
LH_INLINE bool lh_queue_ran_empty(struct lh_env *env, const struct lh_peer *p)
{
	u64 drains_ns = LH_DEVICE(env)->drains_ns, tx_ns = env->ack.sample_ns;

	if (tx_ns <= drains_ns || !p->rate)
		return false;
	return !lh_rate_lacks(p->rate, tx_ns - drains_ns, p->delivered - p->sampled);
}

/* A segment met no queue of ours and took @late longer than Lmin. */
LH_INLINE void lh_queue_idle(struct lh_env *env, struct lh_flow *f, struct lh_peer *p, u64 late)
{
	if (late > 2 * lh_queue_pause(f) + LH_CFG(env)->target_ns)
		return;
	p->idle_ns = p->idle_ns ? p->idle_ns - p->idle_ns / 4 + late / 4 : late;
	f->queue.above_ns = 0;
	p->empty_ns = env->now_ns;
}

LH_INLINE u64 lh_queue_unsteady(struct lh_env *env, const struct lh_flow *f,
				const struct lh_peer *p)
{
	if (!(lh_policy(env) & LH_POLICY_CONTROL) ||
	    2 * f->queue.gap_ns < LH_TARGET_MOST * LH_CFG(env)->target_ns)
		return 0;
	return lh_min(p->idle_ns, lh_queue_pause(f));
}

/* The way to @p is as long as that now. */
LH_INLINE void lh_queue_raise(struct lh_env *env, struct lh_flow *f, struct lh_peer *p, u64 least)
{
	bool again = p->raised_ns && lh_since(env->now_ns, p->raised_ns) < LH_RAISED_NS;

	p->floor_ns = again ? least : 0;
	p->raised_ns = env->now_ns;
	p->lmin_now_ns = least;
	p->lmin_before_ns = 0;
	p->guessed = 0;
	p->since_ns = env->now_ns;
	lh_lmin_renew(env, f);
	lh_host_count(env, LH_C_lmin_raised, 1);
}

LH_INLINE u64 lh_queue_own(struct lh_env *env, struct lh_peer *p, u64 tx_ns, u64 q)
{
	u64 wait;

	if (!p)
		return 0;
	if (!p->rate || q < LH_CFG(env)->target_ns) {
		p->own_until_ns = 0;
		return 0;
	}
	wait = lh_since(p->own_until_ns, tx_ns);
	p->own_until_ns = lh_max(p->own_until_ns, tx_ns) +
			  lh_rate_time(p->rate - p->rate / 8, p->delivered - p->own_delivered);
	p->own_until_ns = lh_min(p->own_until_ns, env->now_ns); /* for it has come */
	p->own_delivered = p->delivered;
	return wait;
}

/*
 * A sample @r shows a queue of @q although FH is FREE. That of a flow of ours empties while FH sends less than the
 * hop carries, as it does after each loss that is left to it; where the hop is as busy as at its best it may stand
 * (400 flows keep one full, and so always alike). Somebody else's comes and goes. What none of this explains and
 * stays the same to within a target for so long is the way: roaming, a satellite's handover, another cell. Lmin does
 * not age while a queue stands, nobody is HELD who could be tried (lh_control_doubt), and each loss would be left to
 * FH for good.
 */
LH_ENTRY int lh_queue_longer(struct lh_env *env, struct lh_flow *f, u64 r, u64 q)
{
	struct lh_peer *p;
	bool longer;
	u64 t;

	if (!env || !f)
		return 0;
	p = lh_peer_of(env, f);
	if (!p || !p->rate)
		return 0;
	t = LH_CFG(env)->target_ns;
	longer = q >= LH_LONGER_TARGETS * t + lh_queue_pause(f);
	if (!longer || r + t < p->longer_most_ns)
		p->longer_ns = 0;
	if (!longer || env->ack.own_ns > t / 2)
		return 0;
	if (!p->longer_ns || r > p->longer_least_ns + t) {
		p->longer_ns = env->now_ns;
		p->longer_least_ns = p->longer_most_ns = r;
		p->longer = 0;
	}
	p->longer_least_ns = lh_min(p->longer_least_ns, r);
	p->longer_most_ns = lh_max(p->longer_most_ns, r);
	p->longer = lh_min(p->longer + 1, LH_LONGER_LEAST);
	if (p->longer < LH_LONGER_LEAST || lh_since(env->now_ns, p->longer_ns) < LH_LONGER_NS)
		return 0;
	lh_queue_raise(env, f, p, p->longer_least_ns);
	p->longer_ns = 0;
	return 0;
}

LH_INLINE void lh_queue_recent(struct lh_env *env, struct lh_flow *f, u64 r)
{
	struct lh_device *d = LH_DEVICE(env);
	struct lh_peer *p = lh_peer_of(env, f);
	u64 q = lh_queue(env, r);
	int i;

	for (i = LH_RECENT_SAMPLES - 1; i > 0; i--)
		f->queue.recent_ns[i] = f->queue.recent_ns[i - 1];
	f->queue.recent_ns[0] = r;
	if (p && lh_queue_ran_empty(env, p))
		lh_queue_idle(env, f, p, q);
	if (p && f->control.state == LH_CONTROL_FREE) {
		if (q >= LH_CFG(env)->target_ns)
			lh_queue_longer(env, f, r, q);
		else
			p->longer_ns = 0;
	}
	lh_queue_above(env, f, &f->queue.above_ns, q);
	if (q < f->queue.worth_ns)
		f->queue.lacks = LH_RECENT_SAMPLES;
	else
		f->queue.lacks -= !!f->queue.lacks;
	if (p)
		p->sampled = p->delivered;
	d->drains_ns = lh_max(d->drains_ns, env->ack.sample_ns + q);
}

/* What of the @bytes that were delivered since a segment departed had queued before it, when it met a queue of
 * @q ns: the rest was under way on the hop, which of a long one that is used at all is nearly everything. */
LH_INLINE u32 lh_queue_bytes(struct lh_env *env, u32 bytes, u64 q)
{
	if (q < LH_CFG(env)->target_ns)
		return 0; /* a trifle */
	return bytes * (q >> 10) / lh_max((lh_lmin(env) + q) >> 10, 1);
}

LH_INLINE bool lh_queue_rising(const struct lh_peer *p)
{
	u64 before = p->full_mark_before_ns;

	return lh_queue_longest(p) > before + before / 2;
}

/*
 * A sample @r: how long the queue was. An ACK of one segment may have been delayed, others
 * may have got lost; what departed later has not arrived before, in a queue.
 */
LH_INLINE void lh_queue_sample(struct lh_env *env, struct lh_flow *f, struct lh_peer *p, u64 r)
{
	u64 q = lh_queue(env, r), age = lh_since(env->now_ns, p->full_since_ns);
	bool newest = env->ack.sample_ns >= p->newest_tx_ns;

	lh_queue_above(env, f, &p->above_ns, q);
	if (age > LH_FULL_PERIOD_NS) { /* what was before a pause is too old */
		p->full_before_ns = age < 2 * LH_FULL_PERIOD_NS ? p->full_now_ns : 0;
		p->full_before = age < 2 * LH_FULL_PERIOD_NS ? p->full_now : 0;
		p->full_now_ns = p->full_now = 0;
		p->full_since_ns = env->now_ns;
	}
	p->newest_tx_ns = lh_max(p->newest_tx_ns, env->ack.sample_ns);
	if (!env->ack.prompt || !newest)
		return;
	q = lh_since(q, lh_unsteady(env));
	p->queue_ns = q;
	p->queue_at_ns = env->now_ns;
	p->ahead = lh_queue_bytes(env, p->delivered - env->ack.sample_delivered, q);
	if (lh_since(env->now_ns, p->full_mark_at_ns) > lh_base_here(env, f)) {
		p->full_mark_before_ns = p->full_mark_ns;
		p->full_mark_ns = lh_queue_longest(p);
		p->full_mark_at_ns = env->now_ns;
	}
	p->full_now_ns = lh_max(p->full_now_ns, p->queue_ns);
	p->full_now = lh_max(p->full_now, p->ahead);
	p->full_seen_ns = 0;
	if (!lh_queue_near_full(env, f, p))
		return;
	p->full_seen_ns = env->now_ns;
	if (env->ack.sample_ns > p->full_tx_ns + LH_FULL_GAP_NS)
		p->full_from_ns = env->ack.sample_ns;
	p->full_tx_ns = env->ack.sample_ns;
}

LH_INLINE void lh_queue_peer(struct lh_env *env, struct lh_flow *f, struct lh_peer *p, u64 r,
			     u64 target)
{
	if (lh_queue_stands(env, f, target / 2))
		p->busy_ns = env->now_ns;
	lh_queue_sample(env, f, p, r);
}

LH_INLINE void lh_queue_note(struct lh_env *env, struct lh_flow *f, u64 r)
{
	struct lh_peer *p = lh_peer_of(env, f);

	lh_queue_recent(env, f, r);
	if (p)
		lh_queue_peer(env, f, p, r, lh_target(env, f));
}
