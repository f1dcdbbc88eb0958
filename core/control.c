/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "limit.h"
#include "queue.h"

#define LH_STEP_MOST 4 /* eighths of C */
#define LH_C_LEAST_SEGS 2
#define LH_C_START_SEGS 10 /* RFC 6928: a burst that any path has to bear */
#define LH_STARVED_NS (20 * LH_MSEC)
#define LH_DOUBT_INTERVALS 12 /* the law has brought a real queue to its aim by then */
#define LH_DOUBT_TARGETS 2 /* times the configured target */
#define LH_TRIAL_INTERVALS 3 /* the third sees what the first has changed */

LH_INLINE bool lh_control_usable(struct lh_env *env, const struct lh_flow *f)
{
	return LH_CFG(env)->clock && lh_window_editable(env, f) && lh_wired(f);
}

/*
 * The flow's share of the standing queue, bytes: equal shares give equal rates. Of
 * the device's rate, as if all receivers shared one queue, but no more than the
 * receiver's own rate makes: beside one of 300 Mbit/s, one of 5 with a queue of its own
 * had 122 ms; with twice its own an RTT of 71 ms for 4 flows at 2 %, not 56. Where they do
 * share one, the smaller grow all the same, for the larger are bounded by the device's
 * share; half a segment for those that have nothing yet.
 */
LH_INLINE u64 lh_control_alpha(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 t = lh_target(env, f), mss = lh_mss(f);
	u64 share = lh_rate_times(lh_device_rate(env, LH_RATE_BINS), t) / lh_device_flows(env);

	if (p)
		share = lh_min(share, lh_rate_times(p->rate, t) / lh_peer_flows(env, p) + mss / 2);
	return lh_max(share, mss);
}

LH_INLINE u32 lh_control_bounded(const struct lh_flow *f, u64 c)
{
	u32 unit = 1U << (f->conn.wscale_mh & 15); /* what rounding may take */
	u32 least = LH_C_LEAST_SEGS + (f->delivery.waits ? lh_stride(&f->delivery) : 0);

	c = lh_max(c, (u64)least * lh_mss(f) + unit);
	return lh_min(c, LH_C_MOST);
}

LH_INLINE u32 lh_above_una(const struct lh_flow *f)
{
	if (lh_flow_sack(f))
		return f->delivery.sacked_bytes;
	return lh_min(f->recovery.nr_dup * lh_mss(f), f->max - f->una);
}

/* The most that C grows to: twice what MH gets in a round trip, as slow start. Who has
 * little to send is to be granted no burst. */
LH_INLINE u64 lh_control_most(const struct lh_flow *f)
{
	u32 now = f->delivery.bytes - f->control.round_delivered;

	return 2ULL * lh_max(f->control.round_bytes, now) + LH_C_START_SEGS * lh_mss(f);
}

/*
 * Whether the queue was gone in this interval of @passed ns: what stood were bursts, as those of slow starts over a long
 * way, and the hop is idle until the next. Held to what these delivered a page of 40 objects took 5.0 s over 250 ms, 20
 * of them local, and 3.9 without agent. Of several flows that have just begun, for one that has the hop to itself idles
 * it by C that is too large as well; and of intervals longer than those that lh_control_spare() goes by.
 */
LH_INLINE bool lh_control_idle(struct lh_env *env, const struct lh_flow *f, u64 passed)
{
	const struct lh_control *c = &f->control;
	const struct lh_peer *p = lh_peer_of(env, f);

	if (!p || p->active < 2 || !c->interval_ns || c->age >= LH_YOUNG_INTERVALS ||
	    passed < 2 * LH_BIN_NS)
		return false;
	return !p->above_ns || p->above_ns > c->interval_ns;
}

/*
 * What the flow carries in a round trip of @base ns at @rate, bytes: over a long way no less than came in the last
 * interval, for there the rate of two bins is that of a burst, or of the pause behind it, as a cut makes one.
 */
LH_ENTRY u64 lh_control_carried(const struct lh_flow *f, u64 rate, u64 base)
{
	u64 bytes = lh_rate_times(rate, base);

	if (!f || base <= 2 * LH_BIN_NS)
		return bytes;
	return lh_max(bytes, f->control.round_bytes);
}

LH_INLINE void lh_control_restart(struct lh_env *env, struct lh_flow *f)
{
	struct lh_control *c = &f->control;

	c->round_bytes = f->delivery.bytes - c->round_delivered;
	c->round_delivered = f->delivery.bytes;
	c->interval_ns = env->now_ns;
	c->sum_ns = c->least_ns = 0;
	c->nr_samples = 0;
}

/* From now on FH is braked: by what the flow has shown to fit where a queue stands, else
 * by what is under way. */
LH_INLINE void lh_control_hold(struct lh_env *env, struct lh_flow *f)
{
	struct lh_control *c = &f->control;
	u64 base = lh_base(env, f), t = lh_target(env, f);
	u64 fits = lh_control_carried(f, lh_rate_mean(f), base) + lh_control_alpha(env, f);

	c->calm = !lh_queue_stands(env, f, t);
	if (c->calm)
		fits = lh_control_most(f);
	if (c->state == LH_CONTROL_FREE) {
		c->c_bytes = lh_control_bounded(f, fits);
		lh_host_count(env, LH_C_clock_engaged, 1);
	}
	c->state = LH_CONTROL_HELD;
	c->goal_bytes = c->calm ? 2 * c->c_bytes : 0;
	c->step = 0;
	c->doubt = 0;
}

LH_INLINE void lh_control_free(struct lh_env *env, struct lh_flow *f)
{
	if (f->control.state == LH_CONTROL_FREE)
		return;
	f->control.state = LH_CONTROL_FREE;
	lh_host_count(env, LH_C_clock_released, 1);
}

LH_INLINE void lh_control_deprive(struct lh_env *env, struct lh_flow *f)
{
	if (!env->ack.deprived)
		return;
	lh_queue_blame(env, f);
	if (f->control.state != LH_CONTROL_HELD && lh_control_usable(env, f) && lh_base(env, f) &&
	    lh_queue_roomy(env, f))
		lh_control_hold(env, f);
}

LH_INLINE void lh_control_refute(struct lh_env *env, struct lh_flow *f)
{
	if (env->view.dsack_ours && lh_queue_refute(env, f) && !lh_queue_lossy(env, f))
		lh_control_free(env, f);
}

/* What C would be at the flow's share of the best rate of late. */
LH_INLINE u64 lh_control_known(struct lh_env *env, const struct lh_flow *f, u64 base)
{
	struct lh_peer *p = lh_peer_of(env, f);

	return p ? lh_rate_times(p->rate / lh_peer_flows(env, p), base) : 0;
}

/*
 * As much of ten segments (RFC 6928) as an equal part of the receiver's rate has under way without a queue, less a
 * quarter: what stands although a flow has no more than that is not for this one. A call of 48 kB/s beside one that
 * nobody can brake had two segments under way, and pieces of it took 3.5 s.
 */
LH_ENTRY u64 lh_control_fair(struct lh_env *env, const struct lh_flow *f, u64 base)
{
	struct lh_peer *p;
	u64 rate;

	if (!env || !f || f->control.age < LH_YOUNG_INTERVALS)
		return 0;
	p = lh_peer_of(env, f);
	if (!p)
		return 0;
	rate = p->rate_before / lh_max(lh_peer_crowd(p), 1);
	return lh_min(lh_rate_times(rate - rate / 4, base), LH_C_START_SEGS * lh_mss(f));
}

/* Whether the link has room as far as is known: it carries less than three quarters of
 * the best of late, or no queue has been seen. */
LH_INLINE bool lh_control_spare(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);

	if (!p || !p->busy_ns)
		return true; /* no queue yet */
	lh_peer_turn(p, lh_bin(env));
	return p->rate_before < p->rate - p->rate / 4;
}

/* C on the way from HELD to FREE, once per interval: until FH is held up no more. */
LH_INLINE void lh_control_let(struct lh_env *env, struct lh_flow *f)
{
	struct lh_control *c = &f->control;

	if (c->limited)
		c->c_bytes = lh_control_bounded(f, (u64)c->c_bytes + c->c_bytes / 16);
	else
		lh_control_free(env, f);
}

/*
 * The law, once per interval, half a step at a time as in FAST: what it sees is
 * a round trip old. @base: unloaded round trip; @q: queueing delay.
 */
LH_INLINE int lh_control_law(struct lh_env *env, struct lh_flow *f, u64 base, u64 q)
{
	struct lh_control *c = &f->control;
	u64 alpha = lh_control_alpha(env, f), now = c->c_bytes;
	u64 least = lh_rate_times(lh_rate_mean(f), base) / 2 + alpha;
	u64 next = now * (base / 1000) / lh_max((base + q) / 1000, 1) + alpha, goal = 0;

	if (c->state == LH_CONTROL_LETTING) {
		lh_control_let(env, f);
		return 0;
	}
	c->calm = c->idle || q < lh_target(env, f) / 4;
	if (q < 2 * lh_aim(env, f) && now < lh_control_known(env, f, base))
		goal = lh_control_known(env, f, base);
	if (!c->calm) {
		c->step = 0;
	} else if (c->idle || lh_control_spare(env, f)) {
		goal = lh_max(goal, lh_control_most(f));
	} else if (c->limited) {
		goal = lh_max(goal, now + now * c->step / 8);
		c->step = lh_clamp64(2 * c->step, 1, LH_STEP_MOST);
	}
	least = lh_max(least, lh_control_fair(env, f, base));
	c->goal_bytes = lh_min(goal, 2 * LH_C_MOST);
	c->c_bytes = lh_control_bounded(f, lh_max((now + next) / 2, least));
	return 0;
}

/*
 * While no queue is left C grows by what MH gets, as slow start does, so that it is
 * never in the way of a sender that starts or finds the link faster than it was.
 */
LH_INLINE void lh_control_grow(struct lh_env *env, struct lh_flow *f)
{
	struct lh_control *c = &f->control;
	u64 most = lh_min(lh_control_most(f), c->goal_bytes);

	if (c->state == LH_CONTROL_HELD && c->c_bytes < most &&
	    (c->idle || !lh_queue_stands(env, f, lh_aim(env, f))))
		c->c_bytes = lh_control_bounded(f, lh_min(c->c_bytes + env->ack.bytes, most));
}

LH_INLINE const struct lh_peer *lh_control_trial(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_peer *p = lh_peer_of(env, f);

	return p && p->trial_end_ns && env->now_ns < p->trial_end_ns ? p : NULL;
}

/*
 * The aim to doubt against, which pauses raise by little: C that is too small makes
 * pauses itself, and by that alone a longer way was never doubted. Nor does a rate that
 * falls, for C makes it fall: what a segment of each flow takes came to a longer way's
 * 21 ms before the doubt had lasted for a trial, and seven flows had half of a hop for good.
 */
LH_INLINE u64 lh_doubt_aim(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p)
{
	u64 t = lh_target_from(env, f, LH_DOUBT_TARGETS * LH_CFG(env)->target_ns);

	t = lh_min(t, lh_target(env, f));
	return lh_rate_time_least(p->rate_long, lh_peer_flows(env, p) * lh_mss(f), t);
}

/*
 * The queue above which a flow doubts. Where it has the hop to itself the rate is its own, and of a thin one that is
 * none of the hop's: by 48 kB/s a segment takes 30 ms, and C that held a call of so much back was never tried.
 */
LH_INLINE u64 lh_doubt_from(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p)
{
	u64 aim = lh_doubt_aim(env, f, p);

	if (f->control.limited && lh_peer_flows(env, p) < 2)
		aim = lh_min(aim, LH_DOUBT_TARGETS * LH_CFG(env)->target_ns);
	return aim + aim / 4;
}

/*
 * A sample @r in the last part of a trial. Without what came in one burst with it: on a hop of 1 Mbit/s the second of
 * two takes 12 ms longer, and by that Lmin was raised 26 times in two minutes.
 */
LH_INLINE void lh_trial_sample(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p,
			       u64 r)
{
	u64 behind = lh_behind_its_own(env, f, p);

	if (!p->trial_least_ns) {
		p->trial_delivered = p->delivered;
		p->trial_again = p->again;
	}
	if (behind > lh_queue_pause(f)) /* no batch of the hop's, and no thin flow's rate */
		r = lh_since(r, behind);
	p->trial_least_ns = lh_least(p->trial_least_ns, r);
}

/*
 * Whether the hop was busy in the last part of a trial as at its best. Then a queue stands,
 * whoever's it is: half of what a longer way has in flight would leave it idle half the time.
 * The floor of C, and flows that are FREE, may be all that the hop takes: with 100 CUBIC
 * flows at 2 %, some of them not yet HELD, the queue of 110 ms passed for the way, and
 * stayed for good: RTT 322 ms instead of 177, 5,000 overflows hidden and repaired in 10 s.
 * Over all of that part, not from its first ACK on: half of C may come in one burst per round trip,
 * and a hop that carries it within half of one looked busy (a way longer by 20 ms, one flow, 1 %: 7
 * starts in 24 had 0.79 to 0.90 of the bound, for the next trial comes twice as late).
 */
LH_INLINE bool lh_trial_busy(struct lh_env *env, const struct lh_peer *p)
{
	u32 got = p->delivered - p->trial_delivered;
	u64 best = lh_rate_times(p->rate, lh_since(env->now_ns, p->trial_ns));

	return best && got >= best / 2 + best / 8;
}

/* Whether twice C has brought half as much again at least: then the hop had room, and no queue stood. */
LH_INLINE bool lh_trial_brought_more(const struct lh_peer *p)
{
	u32 got = p->delivered - p->trial_delivered;

	return p->trial_first && got >= p->trial_first + p->trial_first / 2;
}

LH_INLINE bool lh_trial_found_queue(struct lh_env *env, const struct lh_peer *p)
{
	return p->trial == LH_TRIAL_TWICE ? !lh_trial_brought_more(p) : lh_trial_busy(env, p);
}

LH_INLINE void lh_trial_begin(struct lh_env *env, struct lh_peer *p, u32 trial, u64 settles,
			      u64 lasts)
{
	p->trial = trial;
	p->trial_first = 0;
	p->trial_delivered = p->delivered;
	p->trial_again = p->again;
	p->trial_least_ns = 0;
	p->trial_ns = env->now_ns + settles;
	p->trial_end_ns = p->trial_ns + lasts;
}

LH_INLINE void lh_trial_vain(struct lh_peer *p)
{
	p->trials = lh_min(p->trials + 1, LH_TRIALS_MOST);
}

LH_INLINE u32 lh_trial_wait(const struct lh_peer *p, u32 n)
{
	return n << (p->trials & 7); /* LH_TRIALS_MOST at the most */
}

/* The trial is over: what stands although every C was halved, or doubled for more to come, is the way itself. */
LH_INLINE void lh_control_judge(struct lh_env *env, struct lh_flow *f, struct lh_peer *p)
{
	u64 end = p->trial_end_ns, least = p->trial_least_ns;

	if (__sync_val_compare_and_swap(&p->trial_end_ns, end, 0) != end)
		return;
	if (lh_since(env->now_ns, end) > end - p->trial_ns) {
		/* Nobody has sent meanwhile: what came then says nothing of how busy the hop was. Or FH could not, who got
		 * losses to repair. */
		if (p->tight_ns == end)
			lh_trial_vain(p);
		return;
	}
	if (p->trial == LH_TRIAL_LIMIT) {
		lh_limit_judge(env, f);
		return;
	}
	if (!least) { /* of few samples none fell into its last part */
		p->trials = lh_max(p->trials, 1);
		return;
	}
	if (least <= lh_lmin(env) + lh_doubt_aim(env, f, p) / 2 || lh_trial_found_queue(env, p)) {
		lh_trial_vain(p);
		return;
	}
	p->trials = 0;
	lh_queue_raise(env, f, p, least);
}

/*
 * Where the law holds the queue comes to rest at its aim. One that stays above it may
 * be none: the way over the hop has become longer (another cell, a route of more
 * hops), or others fill it. A trial tells: half of C for all flows of the receiver, for
 * as long as it takes to show. If even then no sample is near Lmin, the least of
 * them is the unloaded round trip of now. Without this a hop that became 20 ms
 * longer throttled its flows to a quarter, for Lmin does not age while a queue
 * stands. Each trial in vain doubles the time to the next. C that is as small as it gets
 * can't be halved: it is doubled. Eight flows beside a host of the same address that acknowledged
 * what had just left came to rest there, with a quarter of a hop that was idle for the rest.
 */
LH_INLINE void lh_control_doubt(struct lh_env *env, struct lh_flow *f, u64 q, u64 base)
{
	struct lh_peer *p = lh_peer_of(env, f);
	struct lh_control *c = &f->control;
	/* Of one flow, whose sender may answer when it likes, and half of C is everybody's. */
	u64 interval = lh_min(base + q + f->back.now_ns, LH_TRIAL_MOST_NS);

	if (!p || p->trial_end_ns)
		return;
	if (q <= lh_doubt_from(env, f, p) || c->old_edge) {
		c->doubt -= !!c->doubt;
		return;
	}
	c->doubt = lh_min(c->doubt + 1, 255);
	if (c->doubt < lh_trial_wait(p, LH_DOUBT_INTERVALS))
		return;
	c->doubt = 0;
	lh_trial_begin(env, p,
		       c->c_bytes < 2 * LH_C_LEAST_SEGS * lh_mss(f) ? LH_TRIAL_TWICE
								    : LH_TRIAL_HALF,
		       (LH_TRIAL_INTERVALS - 1) * interval, interval);
}

/* A sample @r of the receiver's. @target: lh_target(). */
LH_INLINE void lh_control_peer(struct lh_env *env, struct lh_flow *f, u64 r, u64 target)
{
	struct lh_peer *p = lh_peer_of(env, f);

	if (!p)
		return;
	if (p->trial_end_ns && env->now_ns >= p->trial_end_ns)
		lh_control_judge(env, f, p);
	else if (p->trial_end_ns && env->now_ns >= p->trial_ns &&
		 (env->ack.prompt || p->trial == LH_TRIAL_LIMIT)) /* that one asks what came */
		lh_trial_sample(env, f, p, r);
	else if (p->trial_end_ns && !p->trial_first && env->now_ns < p->trial_ns &&
		 env->now_ns >= p->trial_ns - lh_since(p->trial_end_ns, p->trial_ns))
		p->trial_first = lh_max(p->delivered - p->trial_delivered, 1U);
	lh_queue_peer(env, f, p, r, target);
}

/* Whether the hop has been idle between segments for a while although FH would
 * send more: the link has become faster. No need to wait for the interval's end. */
LH_INLINE bool lh_control_starves(struct lh_env *env, const struct lh_flow *f, u64 base)
{
	const struct lh_control *c = &f->control;

	return c->limited && !c->calm &&
	       env->now_ns - f->queue.busy_ns > lh_max(base / 8, LH_STARVED_NS);
}

/* The rate at this moment. Where several flows share the hop a train of one may
 * run at the rate of all. */
LH_INLINE u64 lh_control_rate_now(struct lh_env *env, const struct lh_flow *f)
{
	u64 train = f->delivery.rate_last;

	return lh_device_flows(env) > 1 ? lh_min(train, lh_rate_mean(f)) : train;
}

LH_INLINE void lh_control_note(struct lh_env *env, struct lh_flow *f, u64 r, u64 target)
{
	struct lh_control *c = &f->control;

	lh_queue_recent(env, f, r);
	c->sum_ns += r;
	c->nr_samples++;
	c->least_ns = lh_least(c->least_ns, r);
	if (r > lh_lmin(env) + target / 8)
		f->queue.busy_ns = env->now_ns;
}

/* Far too much stands: not at the interval's end but now. */
LH_INLINE void lh_control_cut(struct lh_env *env, struct lh_flow *f, u64 base)
{
	struct lh_control *c = &f->control;
	u64 fits =
		lh_control_carried(f, lh_control_rate_now(env, f), base) + lh_control_alpha(env, f);

	c->calm = 0;
	fits = lh_control_bounded(f, fits);
	if (fits >= c->c_bytes)
		return;
	c->c_bytes = fits;
	c->settling = 1;
}

/* From FREE to HELD and on to LETTING, as far as samples decide. */
LH_INLINE void lh_control_turn(struct lh_env *env, struct lh_flow *f)
{
	struct lh_control *c = &f->control;
	bool lossy = lh_queue_lossy(env, f);

	if (c->state == LH_CONTROL_FREE && lossy && lh_queue_stands(env, f, lh_aim(env, f)) &&
	    lh_control_usable(env, f) && lh_queue_roomy(env, f))
		lh_control_hold(env, f);
	else if (c->state == LH_CONTROL_HELD && !lossy)
		c->state = LH_CONTROL_LETTING;
	else if (c->state == LH_CONTROL_HELD && lh_queue_crowded(env, f))
		lh_control_free(env, f);
}

LH_INLINE void lh_control_blind(struct lh_env *env, struct lh_flow *f)
{
	struct lh_control *c = &f->control;

	lh_control_turn(env, f);
	if (c->state == LH_CONTROL_FREE || !env->ack.bytes || !c->interval_ns ||
	    env->now_ns - c->interval_ns < 2 * (lh_base_here(env, f) + LH_DELACK_NS))
		return;
	if (c->state == LH_CONTROL_LETTING)
		lh_control_let(env, f);
	else
		c->c_bytes = lh_control_bounded(f, c->c_bytes + lh_control_alpha(env, f));
	lh_control_restart(env, f);
}

LH_INLINE u64 lh_control_base(struct lh_env *env, const struct lh_flow *f)
{
	u64 base = lh_base_here(env, f);

	return base ? base : 4 * lh_lmin(env);
}

LH_INLINE void lh_control_sample(struct lh_env *env, struct lh_flow *f, u64 r)
{
	struct lh_control *c = &f->control;
	u64 base = lh_control_base(env, f), target = lh_target(env, f);

	r = lh_since(r, f->back.now_ns);
	lh_control_note(env, f, r, target);
	lh_control_peer(env, f, r, target);
	lh_control_grow(env, f);
	lh_control_turn(env, f);
	if (c->state == LH_CONTROL_HELD && f->delivery.rate_last && !c->settling &&
	    lh_queue_stands(env, f, 4 * lh_aim(env, f)))
		lh_control_cut(env, f, base);
	if (c->state == LH_CONTROL_HELD && lh_control_starves(env, f, base))
		c->calm = 1;
}

LH_INLINE void lh_control_resume(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	struct lh_control *c = &f->control;
	u64 lmin = lh_lmin(env);
	int i;

	c->doubt = c->settling = c->limited = 0;
	for (i = 0; i < LH_RECENT_SAMPLES; i++)
		f->queue.recent_ns[i] = lmin;
	f->queue.above_ns = 0; /* what stood is not known any more */
	if (p)
		p->above_ns = 0;
	f->queue.gap_now_ns = f->delivery.train_ns = f->wired.tsval_ns = 0;
	c->goal_bytes = 0;
	f->queue.busy_ns = env->now_ns;
	lh_control_restart(env, f);
}

LH_INLINE void lh_control_interval(struct lh_env *env, struct lh_flow *f)
{
	struct lh_control *c = &f->control;
	u64 base = lh_control_base(env, f), age = env->now_ns - c->interval_ns, q;

	/* No target is less than the configured one. */
	if (!c->nr_samples || age < base + LH_CFG(env)->target_ns || age < base + lh_target(env, f))
		return;
	q = lh_since(lh_queue(env, c->sum_ns / c->nr_samples), lh_unsteady(env));
	f->queue.gap_ns = f->queue.gap_ns
				  ? f->queue.gap_ns - f->queue.gap_ns / 4 + f->queue.gap_now_ns / 4
				  : f->queue.gap_now_ns;
	f->queue.gap_now_ns = 0;
	c->least_before_ns = c->least_ns;
	c->idle = lh_control_idle(env, f, age);
	c->age = lh_min(c->age + 1, LH_YOUNG_INTERVALS);
	if (!lh_limit_interval(env, f, q)) {
		if (c->state == LH_CONTROL_HELD)
			lh_control_doubt(env, f, lh_queue(env, c->least_ns), base);
		if (c->state != LH_CONTROL_FREE && !c->settling && !lh_control_trial(env, f))
			lh_control_law(env, f, base, q);
	}
	c->settling = 0;
	c->limited = c->limited << 1 & 2;
	lh_control_restart(env, f);
}

LH_INLINE void lh_control_data(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p;
	u64 base, above;

	if (lh_cached(f))
		return;
	p = lh_peer_of(env, f);
	base = lh_base(env, f);
	above = p ? p->above_ns : 0;
	lh_queue_empty(env, f, p);
	if (above && lh_since(env->now_ns, above) > base)
		return;
	if (base && lh_since(env->now_ns, f->sent_ns) > base)
		f->control.age = 0;
}

LH_INLINE bool lh_control_brakes(struct lh_env *env, const struct lh_flow *f)
{
	return lh_control_usable(env, f) || (LH_CFG(env)->clock && (f->flags & LH_FLOW_ECT));
}
