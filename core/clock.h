/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The window clock (SPEC 2.16): hiding losses takes a loss-based sender's brake
 * away, so the agent brings its own. While a queue stands before the lossy
 * hop, the right edge of the window in every ACK is set to what MH has plus C,
 * and C follows the law of FAST TCP (Wei, Jin, Low, Hegde 2006) on the measured
 * queue. The edge never moves left and never exceeds the receiver's own
 * (invariant 16).
 *
 * Units: bytes, nanoseconds, bytes per second, all unsigned; products of a rate
 * and a time go through microseconds and fit 64 bits up to 10 Gbit/s and 60 s.
 */
#ifndef LH_CLOCK_H
#define LH_CLOCK_H

#include "guard.h"
#include "wired.h"

#define LH_RELEASE_NS LH_SEC
#define LH_C_LEAST_SEGS 4
#define LH_TARGET_MOST 5 /* times the configured target, on an unsteady hop */
#define LH_STEP_MOST 4 /* eighths */
#define LH_STARVED_NS (20 * LH_MSEC)
#define LH_DOUBT_INTERVALS 12 /* the law has brought a real queue to its aim by then */
#define LH_TRIAL_INTERVALS 3 /* the third sees what the first has changed */
#define LH_TRIALS_MOST 4

/* Bytes that a rate delivers in a time. */
LH_INLINE u64 lh_rate_times(u64 rate, u64 ns)
{
	return rate * (ns / 1000) / 1000000;
}

/* Whether the window of the flow's ACKs may be edited. */
LH_INLINE bool lh_clock_usable(struct lh_env *env, const struct lh_flow *f)
{
	u32 need = LH_FLOW_WSCALE | LH_FLOW_FWD;

	return LH_CFG(env)->scheme == LH_SCHEME_rack && LH_CFG(env)->clock &&
	       (f->flags & need) == need && !(f->flags & (LH_FLOW_AUTH | LH_FLOW_MPTCP)) &&
	       lh_wired(f);
}

/* The queue to aim at: more on a hop that pauses (batches, jitter), or the pauses
 * would drain the queue, and pass for one. */
LH_INLINE u64 lh_target(struct lh_env *env, const struct lh_flow *f)
{
	u64 t = LH_CFG(env)->target_ns, gap = lh_max(f->clock.gap_ns, f->clock.gap_now_ns);

	return lh_clamp64(2 * gap, t, LH_TARGET_MOST * t);
}

/* The flow's share of the standing queue, bytes: equal shares give equal rates. */
LH_INLINE u64 lh_clock_alpha(struct lh_env *env, const struct lh_flow *f)
{
	u64 standing = lh_rate_times(lh_device_rate(env, LH_RATE_BINS), lh_target(env, f));

	return lh_max(standing / lh_device_flows(env), lh_mss(f));
}

LH_INLINE u32 lh_clock_bounded(const struct lh_flow *f, u64 c, u64 least, u64 most)
{
	c = lh_clamp64(c, least, lh_max(least, most));
	c = lh_max(c, (u64)LH_C_LEAST_SEGS * lh_mss(f));
	return lh_min(c, 1U << 30);
}

/* What C would be at the flow's share of the best rate that the link has had in
 * the last seconds. Whole bins only: the best of short samples is too good. */
LH_INLINE u64 lh_clock_known(struct lh_env *env, u64 base)
{
	return lh_rate_times(lh_device_rate(env, LH_DEVICE_BINS) / lh_device_flows(env), base);
}

/*
 * The law, once per interval, half a step at a time as in FAST: what it sees is
 * a round trip old. Where hardly a queue is left and FH would send more, C
 * grows faster than by its share, to what is known to fit; beyond that by an
 * eighth, a quarter, a half, for either little is missing or the link has
 * become faster. @base: unloaded round trip; @q: queueing delay.
 */
LH_FUNC int lh_clock_law(struct lh_env *env, struct lh_flow *f, u64 base, u64 q)
{
	struct lh_clock *c = &f->clock;
	u64 alpha = lh_clock_alpha(env, f), bdp = lh_rate_times(lh_rate_most(f), base);
	u64 least = lh_rate_times(lh_rate_mean(f), base) / 2 + alpha;
	u64 now = c->c_bytes, next = now;

	if (q >= lh_target(env, f) / 4) {
		next = now * (base / 1000) / lh_max((base + q) / 1000, 1) + alpha;
		next = (now + next) / 2;
		c->step = 1;
	} else if (c->limited) {
		u64 known = lh_clock_known(env, base) + alpha;

		c->step = lh_clamp64(c->step, 1, LH_STEP_MOST);
		if (now < known) {
			next = known;
		} else {
			next = now + now * c->step / 8;
			c->step *= 2;
		}
	}
	next = lh_clock_bounded(f, next, least, 3 * bdp + alpha);
	c->goal_bytes = next;
	c->c_bytes = lh_min(next, now);
	return 0;
}

/*
 * C grows by what MH gets, as in slow start: a sender that does not pace sends
 * whatever it is granted at once, and a step of C would be a queue of that
 * size. Where a queue stands again it has grown enough. @r: a sojourn.
 */
LH_INLINE void lh_clock_grow(struct lh_env *env, struct lh_flow *f, u64 r)
{
	struct lh_clock *c = &f->clock;

	if (r > lh_lmin(env, f) + 2 * lh_target(env, f))
		c->goal_bytes = 0;
	if (c->c_bytes < c->goal_bytes)
		c->c_bytes = lh_min(c->c_bytes + env->ack.bytes, c->goal_bytes);
}

/* The trial is over: what stands although C was halved is the way itself. */
LH_INLINE void lh_clock_judge(struct lh_env *env, struct lh_flow *f, u64 base)
{
	struct lh_clock *c = &f->clock;
	struct lh_peer *p = lh_peer_of(env, f);
	u64 lmin = lh_lmin(env, f), known;

	c->doubt = 0;
	c->c_bytes = c->trial_c;
	if (c->least_ns <= lmin + lh_target(env, f) / 2) {
		c->trials = lh_min(c->trials + 1, LH_TRIALS_MOST);
		return;
	}
	c->trials = 0;
	f->rtt_min_ns = c->least_ns;
	if (p) {
		p->lmin_now_ns = c->least_ns;
		p->lmin_before_ns = 0;
		p->since_ns = env->now_ns;
	}
	known = lh_clock_known(env, base + c->least_ns - lmin);
	c->c_bytes = lh_clock_bounded(f, known, c->trial_c, known);
	lh_host_count(env, LH_C_lmin_raised, 1);
}

/*
 * Where the law holds the queue comes to rest at the target. One that stays
 * above it may be none: the way over the hop has become longer (another cell, a
 * route of more hops), or others fill it. A trial tells: half of C for as long
 * as it takes to show. If even then no sample is near Lmin, the least of them
 * is the unloaded round trip of now. Without this a hop that became 20 ms
 * longer throttled its flows to a quarter, for Lmin does not age while the
 * clock is engaged. Each trial in vain doubles the time to the next.
 * @return 1: C is a trial's, not the law's.
 */
LH_INLINE bool lh_clock_doubt(struct lh_env *env, struct lh_flow *f, u64 q, u64 base)
{
	struct lh_clock *c = &f->clock;
	u64 target = lh_target(env, f);

	if (!lh_clock_usable(env, f))
		return false; /* FH does not follow C */
	if (c->trial) {
		if (!--c->trial)
			lh_clock_judge(env, f, base);
		return true;
	}
	if (q <= target + target / 4) {
		c->doubt -= !!c->doubt;
		return false;
	}
	c->doubt = lh_min(c->doubt + 1, 255);
	if (c->doubt < LH_DOUBT_INTERVALS << c->trials ||
	    c->c_bytes < 2 * LH_C_LEAST_SEGS * lh_mss(f))
		return false;
	c->trial = LH_TRIAL_INTERVALS;
	c->trial_c = c->c_bytes;
	c->c_bytes /= 2;
	c->goal_bytes = 0;
	return true;
}

LH_INLINE void lh_clock_restart(struct lh_env *env, struct lh_clock *c)
{
	c->interval_ns = env->now_ns;
	c->sum_ns = c->least_ns = 0;
	c->nr_samples = 0;
}

/* An interval of at least one sample ends: what they say about the hop, and C
 * for the next. @q: their queueing delay. */
LH_INLINE void lh_clock_interval(struct lh_env *env, struct lh_flow *f, u64 base, u64 q)
{
	struct lh_clock *c = &f->clock;
	u64 gap = c->gap_now_ns;

	c->gap_ns = c->gap_ns ? c->gap_ns - c->gap_ns / 4 + gap / 4 : gap;
	c->gap_now_ns = 0;
	c->least_before_ns = c->least_ns;
	if (c->engaged && !lh_clock_doubt(env, f, q, base) && !c->settling)
		lh_clock_law(env, f, base, q);
	c->settling = 0;
	c->limited = c->limited << 1 & 2;
	lh_clock_restart(env, c);
}

/* Whether a queue stands: even the least of the last samples shows it. */
LH_INLINE bool lh_clock_stands(const struct lh_flow *f, u64 above)
{
	int i;

	for (i = 0; i < LH_RECENT_SAMPLES; i++)
		if (f->clock.recent_ns[i] <= above)
			return false;
	return true;
}

/* Whether the hop has been idle between segments for a while although FH would
 * send more: the link has become faster. No need to wait for the interval's
 * end, only for the effect of the last step. */
LH_INLINE bool lh_clock_starves(struct lh_env *env, const struct lh_flow *f, u64 base)
{
	const struct lh_clock *c = &f->clock;

	return c->engaged && c->limited && !c->settling && !c->trial &&
	       env->now_ns - c->busy_ns > lh_max(base / 8, LH_STARVED_NS);
}

/* The rate at this moment. Where several flows share the hop a train of one may
 * run at the rate of all. */
LH_INLINE u64 lh_clock_rate_now(struct lh_env *env, const struct lh_flow *f)
{
	u64 train = f->clock.rate_last;

	return lh_device_flows(env) > 1 ? lh_min(train, lh_rate_mean(f)) : train;
}

LH_INLINE void lh_clock_note(struct lh_env *env, struct lh_flow *f, u64 r)
{
	struct lh_clock *c = &f->clock;
	int i;

	for (i = LH_RECENT_SAMPLES - 1; i > 0; i--)
		c->recent_ns[i] = c->recent_ns[i - 1];
	c->recent_ns[0] = r;
	c->sum_ns += r;
	c->nr_samples++;
	c->least_ns = lh_least(c->least_ns, r);
	if (r > lh_lmin(env, f) + lh_target(env, f) / 8)
		c->busy_ns = env->now_ns;
}

/* A queue stands: C begins at what the flow has shown to fit. */
LH_INLINE void lh_clock_engage(struct lh_env *env, struct lh_flow *f, u64 base)
{
	struct lh_clock *c = &f->clock;
	u64 fits = lh_rate_times(lh_rate_most(f), base) + lh_clock_alpha(env, f);

	c->engaged = 1;
	c->c_bytes = lh_clock_bounded(f, fits, 0, fits);
	c->goal_bytes = 0;
	c->trial = c->doubt = c->trials = 0;
	lh_clock_restart(env, c);
	lh_host_count(env, LH_C_clock_engaged, 1);
}

/* Far too much stands: not at the interval's end but now. */
LH_INLINE void lh_clock_cut(struct lh_env *env, struct lh_flow *f, u64 base)
{
	struct lh_clock *c = &f->clock;
	u64 fits = lh_rate_times(lh_clock_rate_now(env, f), base) + lh_clock_alpha(env, f);

	fits = lh_max(fits, (u64)LH_C_LEAST_SEGS * lh_mss(f));
	if (fits >= c->c_bytes)
		return;
	c->c_bytes = fits;
	c->goal_bytes = 0;
	c->settling = 1;
}

/* One sojourn sample @r. */
LH_FUNC int lh_clock_sample(struct lh_env *env, struct lh_flow *f, u64 r)
{
	struct lh_clock *c = &f->clock;
	u64 lmin = lh_lmin(env, f), target = lh_target(env, f), base = lh_base(env, f);

	lh_clock_note(env, f, r);
	lh_clock_grow(env, f, r);
	if (!base)
		base = 4 * lmin; /* no wired sample: only for marks */
	if (!c->engaged && lh_clock_stands(f, lmin + target)) {
		lh_clock_engage(env, f, base);
	} else if (c->engaged && env->now_ns - c->busy_ns > LH_RELEASE_NS) {
		c->engaged = 0;
		lh_host_count(env, LH_C_clock_released, 1);
	}
	if (c->engaged && c->rate_last && lh_clock_stands(f, lmin + 4 * target))
		lh_clock_cut(env, f, base);
	if (lh_clock_starves(env, f, base)) {
		lh_clock_interval(env, f, base, 0);
		c->settling = 1;
	} else if (env->now_ns - c->interval_ns >= base + target) {
		u64 mean = c->sum_ns / lh_max(c->nr_samples, 1);

		lh_clock_interval(env, f, base, mean > lmin ? mean - lmin : 0);
	}
	return 0;
}

/* The hop was out and is back. What is known of the way and of its rate still
 * holds, and so does C; what was measured, tried or asked meanwhile does not. */
LH_INLINE void lh_clock_resume(struct lh_env *env, struct lh_flow *f)
{
	struct lh_clock *c = &f->clock;
	u64 lmin = lh_lmin(env, f);
	int i;

	if (c->trial)
		c->c_bytes = c->trial_c;
	c->trial = c->doubt = c->settling = c->limited = 0;
	for (i = 0; i < LH_RECENT_SAMPLES; i++)
		c->recent_ns[i] = lmin;
	c->gap_now_ns = c->train_ns = c->tsval_ns = 0;
	c->goal_bytes = 0;
	c->busy_ns = env->now_ns;
	lh_clock_restart(env, c);
}

/* Bytes above una that MH has. Without SACK each duplicate stands for one
 * segment. */
LH_INLINE u32 lh_above_una(const struct lh_flow *f)
{
	if (lh_flow_sack(f))
		return f->sacked_bytes;
	return lh_min(f->nr_dup * lh_mss(f), f->max - f->una);
}

/*
 * The right edge for an ACK whose receiver grants @own: ours while a queue
 * stands, in steps of a segment at least (RFC 9293 section 3.8.6.2.2; what FH
 * knows is rounded up by less than a unit of the scale), never left of what FH
 * knows unless the receiver itself goes there.
 */
LH_INLINE u32 lh_clock_edge(struct lh_env *env, const struct lh_flow *f, u32 own)
{
	u32 edge = f->una + lh_above_una(f) + f->clock.c_bytes;

	if (!f->clock.engaged || !lh_before(edge, own))
		return own;
	if (lh_before(edge, f->fwd_edge) ||
	    lh_before(edge + (1U << (f->wscale_mh & 15)), f->fwd_edge + lh_mss(f)))
		edge = f->fwd_edge;
	return lh_before(edge, own) ? edge : own;
}

/* Header value by which an ACK of number @ack grants @edge, rounded up to the
 * unit of the scale but never above @window, the receiver's own. */
LH_INLINE u32 lh_clock_header(const struct lh_flow *f, u32 ack, u32 edge, u32 window)
{
	u32 shift = f->wscale_mh & 15;
	u32 units = (edge - ack + (1U << shift) - 1) >> shift;

	return lh_min(units, window);
}

/* The edge for a duplicate that FH is to see as one: without SACK that is an ACK
 * whose window is the last one's too (RFC 5681 section 2). */
LH_INLINE u32 lh_clock_edge_same(struct lh_env *env, const struct lh_flow *f, u32 own)
{
	if (lh_flow_sack(f))
		return lh_clock_edge(env, f, own);
	return lh_before(f->fwd_edge, own) && lh_after(f->fwd_edge, f->una) ? f->fwd_edge : own;
}

/*
 * Sets the window of the passing ACK @s. Zero windows stay as they are, and so
 * does whatever is not about una: its window is of another time. @same: it is a
 * duplicate that FH is to see.
 */
LH_INLINE void lh_clock_window(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       bool same, struct lh_actions *out)
{
	u32 own = lh_window_edge(f, s), edge, header;

	if (!lh_clock_usable(env, f) || s->ack != f->una || !s->window)
		return;
	edge = same ? lh_clock_edge_same(env, f, own) : lh_clock_edge(env, f, own);
	header = lh_clock_header(f, s->ack, edge, s->window);
	if (header != s->window)
		out->window = header;
}

/*
 * The queue at which a flow is marked. A sender answers a mark by a cut to 0.5
 * (RFC 5681) or 0.7 (RFC 9438): what stands must be worth half a round trip, or
 * the hop runs dry; at 5 ms two marks cost CUBIC a third of its goodput. Where a
 * loss was repaired meanwhile the queue may be as full as it gets, and a
 * standing one will do, as for the guard of scheme `snoop` (guard.h).
 */
LH_INLINE u64 lh_clock_mark_queue(struct lh_env *env, const struct lh_flow *f, u64 base)
{
	u64 most = lh_max(base / 2, lh_target(env, f));
	u64 full = lh_max(LH_QUEUE_RTTS * lh_lmin(env, f), LH_QUEUE_LEAST_NS);

	return (f->flags & LH_FLOW_RTX) ? lh_min(full, most) : most;
}

/*
 * Flows whose window may not be edited but that understand ECN: a mark per two
 * round trips while the queue stands (RFC 3168), the second brake. FH hears of it
 * after one, and the queue shows what it did after the other; a mark in between
 * took CUBIC to 0.45 of what the path holds.
 */
LH_INLINE void lh_clock_mark(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     struct lh_actions *out)
{
	struct lh_clock *c = &f->clock;
	u64 base;

	if (s->ecn == 1 || s->ecn == 2)
		f->flags |= LH_FLOW_ECT;
	if (!c->engaged || !LH_CFG(env)->clock || lh_clock_usable(env, f) || !s->ecn ||
	    s->ecn == 3 || !s->payload_bytes)
		return;
	base = lh_max(lh_base(env, f), 4 * lh_lmin(env, f));
	if (env->now_ns - c->marked_ns < 2 * (base + c->recent_ns[0]) ||
	    !lh_clock_stands(f, lh_lmin(env, f) + lh_clock_mark_queue(env, f, base)))
		return;
	c->marked_ns = env->now_ns;
	out->mark_ce = 1;
	lh_host_count(env, LH_C_ce_marks, 1);
}

/* What was kept is sent on with a window as an ACK would get it now. */
LH_INLINE void lh_release(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u32 shift = f->wscale_mh & 15, edge;

	lh_abandon(env, f, false, out);
	if (!out->emit_held || !lh_clock_usable(env, f) || !lh_after(f->own_edge, f->una))
		return;
	edge = lh_clock_edge_same(env, f, f->own_edge);
	out->held_window =
		lh_clock_header(f, f->una, edge, lh_min((f->own_edge - f->una) >> shift, 0xffffU));
	f->fwd_edge = f->una + (out->held_window << shift);
}

/* Whether something brakes the sender although its losses are hidden. */
LH_INLINE bool lh_clock_brakes(struct lh_env *env, const struct lh_flow *f)
{
	return lh_clock_usable(env, f) || (LH_CFG(env)->clock && (f->flags & LH_FLOW_ECT));
}

#endif /* LH_CLOCK_H */
