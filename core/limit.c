/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "control.h"
#include "limit.h"

/* A span, in which what gets lost is counted: of so many segments at least, for of fewer no share can be told,
 * and of a tenth to a whole second. */
#define LH_SPAN_SEGS 32
#define LH_SPAN_MOST_NS LH_SEC
#define LH_SPAN_PAUSE_NS (2 * LH_SEC) /* one that took longer had a pause in it */
/* A limit is tried where more gets lost than links lose: where FH is not told of it a half of all does. 20 % at
 * random are 31 % in hardly any span, and not in six in a row. */
#define LH_LIMIT_DOUBT (LH_LOST_UNIT * 5 / 16)
#define LH_LIMIT_HEAVY 6 /* spans in a row */
#define LH_TRIAL_MORE 3 /* times that a trial goes on before it is in vain */
/* So much more than usual gets lost where it is reached. */
#define LH_LIMIT_EXCESS (LH_LOST_UNIT / 16)
/* For so many spans at the most where C has grown up to it; more in a row tell of a worse link. */
#define LH_LIMIT_PROBED 2
/* Reached in more spans than that in a row, it is none: C has long been below it. */
#define LH_LIMIT_WRONG 16
/* So long after it was reached C grows by a quarter of its steps. */
#define LH_LIMIT_CAUTION_NS (2 * LH_SEC)
/* Not reached for so long, it is no limit any more. */
#define LH_LIMIT_ENDS_NS (20 * LH_SEC)
#define LH_LIMIT_SHARE 4 /* segments per round trip: C is two at the least */

LH_INLINE bool lh_limit_reached(const struct lh_peer *p)
{
	return p->lost >= p->limit_lost + LH_LIMIT_EXCESS;
}

/* What share of all was sent again. */
LH_INLINE u64 lh_lost_share(u32 delivered, u32 again)
{
	return (u64)again * LH_LOST_UNIT / ((u64)delivered + again + 1);
}

/* What the flow's share of @rate makes in an unloaded round trip, bytes. */
LH_INLINE u64 lh_limit_share(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p,
			     u64 rate)
{
	return lh_rate_times(rate / lh_peer_flows(env, p), lh_base(env, f));
}

/* The present span is over: what came in it, and what had to be sent again. */
LH_INLINE void lh_limit_span(struct lh_env *env, struct lh_peer *p, u64 age)
{
	u32 got = p->delivered - p->span_delivered, again = p->again - p->span_again;
	bool heavy;

	p->lost = 0;
	p->span_rate = 0;
	if (p->span_ns && age < LH_SPAN_PAUSE_NS && got) {
		p->lost = lh_lost_share(got, again);
		p->span_rate = (u64)got * LH_SEC / age;
		p->lost_mean += p->lost / 4 - p->lost_mean / 4;
	}
	heavy = p->limit_rate ? lh_limit_reached(p) : p->lost >= LH_LIMIT_DOUBT;
	p->heavy = heavy ? p->heavy + 1 : 0;
	p->span_ns = env->now_ns;
	p->span_delivered = p->delivered;
	p->span_again = p->again;
}

/* The limit by what the last span has shown. What gets lost below it grows, too, when a link gets worse. */
LH_INLINE void lh_limit_follow(struct lh_env *env, struct lh_peer *p)
{
	if (p->heavy > LH_LIMIT_WRONG) {
		p->limit_rate = 0;
		p->heavy = 0;
		lh_trial_vain(p);
	} else if (lh_limit_reached(p)) {
		p->limit_rate -= p->limit_rate / 4;
		p->limit_rate += p->span_rate / 4;
		p->limit_ns = env->now_ns;
	} else if (lh_since(env->now_ns, p->limit_ns) > LH_LIMIT_ENDS_NS) {
		p->limit_rate = 0;
	} else {
		p->limit_rate = lh_max(p->limit_rate, p->span_rate);
	}
	if (!lh_limit_reached(p) || p->heavy > LH_LIMIT_PROBED)
		p->limit_lost += p->lost / 8 - p->limit_lost / 8;
}

/* C of a trial, bytes: a little less than what MH gets. */
LH_INLINE u32 lh_limit_trial(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p)
{
	u64 share = lh_limit_share(env, f, p, p->trial_rate - p->trial_rate / 8);

	return lh_min(f->control.c_bytes, lh_control_bounded(f, share));
}

/* Until when the receiver's flows are too many to be braked so far: in a trial, too, for what C can't do FH has to, but
 * then to its end only, since nothing may come that ends it. */
LH_INLINE u64 lh_limit_tight(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p)
{
	bool trial = p->trial_end_ns && p->trial == LH_TRIAL_LIMIT;
	u64 rate = trial ? p->trial_rate : p->limit_rate;
	u64 least = lh_max(lh_control_bounded(f, 0), LH_LIMIT_SHARE * lh_mss(f));

	if (!rate || lh_limit_share(env, f, p, rate) >= least)
		return 0;
	return trial ? p->trial_end_ns : env->now_ns + LH_LIMIT_ENDS_NS;
}

/* An interval of the flow's is over. */
LH_INLINE void lh_limit_look(struct lh_env *env, struct lh_flow *f, struct lh_peer *p)
{
	u64 age;

	f->control.trial_bytes =
		p->trial_end_ns && p->trial == LH_TRIAL_LIMIT ? lh_limit_trial(env, f, p) : 0;
	age = lh_since(env->now_ns, p->span_ns);
	if (age < LH_BIN_NS ||
	    (age < LH_SPAN_MOST_NS && p->delivered - p->span_delivered < LH_SPAN_SEGS * lh_mss(f)))
		return;
	lh_limit_span(env, p, age);
	if (p->limit_rate && p->span_rate)
		lh_limit_follow(env, p);
	p->tight_ns = lh_limit_tight(env, f, p);
}

/* The last part of a trial is to come after @settles ns. */
LH_INLINE void lh_limit_part(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p,
			     u64 settles)
{
	u64 base = lh_control_base(env, f);
	u64 lasts = lh_max(2 * lh_max(base, LH_BIN_NS),
			   lh_rate_time(p->trial_rate, LH_SPAN_SEGS * lh_mss(f)));

	lh_trial_begin(env, p, LH_TRIAL_LIMIT, lh_min(settles, LH_TRIAL_MOST_NS),
		       lh_min(lasts, LH_TRIAL_MOST_NS));
}

/* Begins a trial for a limit: first until nothing is under way any more of what was granted before, holes included. */
LH_INLINE void lh_limit_try(struct lh_env *env, struct lh_flow *f, struct lh_peer *p)
{
	u64 flows = lh_peer_flows(env, p);

	p->heavy = 0;
	p->trial_lost = p->lost_mean;
	p->trial_rate = p->span_rate;
	p->trial_more = LH_TRIAL_MORE;
	lh_limit_part(env, f, p,
		      lh_control_base(env, f) +
			      2 * lh_rate_time(p->span_rate / flows, f->control.c_bytes));
	f->control.trial_bytes = lh_limit_trial(env, f, p);
	p->tight_ns = lh_limit_tight(env, f, p);
}

LH_ENTRY int lh_limit_judge(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p;
	u64 lost, least;
	u32 got, again;

	if (!env || !f)
		return 0;
	p = lh_peer_of(env, f);
	if (!p)
		return 0;
	got = p->delivered - p->trial_delivered;
	again = p->again - p->trial_again;
	lost = lh_lost_share(got, again);
	/* Of two segments that are granted the last may get lost, which takes time. Where next to nothing comes the rate is
	 * another's, who shares the limit and takes what is left to him. */
	least = lh_rate_times(p->trial_rate / 4, lh_since(env->now_ns, p->trial_ns));
	if (lost > p->trial_lost / 2 || got < least) {
		if (p->trial_more) { /* holes are repaired more than once */
			p->trial_more--;
			lh_limit_part(env, f, p, 0);
			p->tight_ns = lh_limit_tight(env, f, p);
		} else {
			lh_trial_vain(p);
		}
		return 0;
	}
	lh_host_count(env, LH_C_limits_found, 1);
	p->limit_rate = p->trial_rate;
	p->limit_lost = lost;
	p->limit_ns = env->now_ns;
	return 0;
}

/* C for the next interval. Beyond the flow's equal share where the others leave theirs: of a page's connections some wait
 * for the next object. */
LH_INLINE void lh_limit_law(struct lh_env *env, struct lh_flow *f, struct lh_peer *p)
{
	u64 c = f->control.c_bytes, share = lh_limit_share(env, f, p, p->limit_rate);

	if (lh_limit_reached(p))
		c = lh_min(c, share);
	else if (c < share)
		c = lh_min(share, c + c / 4 + lh_mss(f));
	else if (f->control.limited && p->rate_before < p->limit_rate - p->limit_rate / 4)
		c += c / 4;
	else if (f->control.limited)
		c += lh_since(env->now_ns, p->limit_ns) > LH_LIMIT_CAUTION_NS ? c / 32 : c / 128;
	/* FH has its brake there, and of two segments the last is lost too often. */
	if (env->now_ns < p->tight_ns)
		c = lh_max(c, LH_LIMIT_SHARE * lh_mss(f));
	f->control.c_bytes = lh_control_bounded(f, c);
}

LH_ENTRY int lh_limit_interval(struct lh_env *env, struct lh_flow *f, u64 q)
{
	struct lh_peer *p;
	u64 aim;

	if (!env || !f)
		return 0;
	p = lh_peer_of(env, f);
	/* Here, since this is once per interval and an entry. */
	f->queue.worth_ns = lh_queue_worth(env, f, p);
	if (!p)
		return 0;
	lh_limit_look(env, f, p);
	aim = lh_aim(env, f);
	if (!p->limit_rate) {
		/* By the least: a mean of a busy machine's, or of a hop that jitters, is no queue. */
		if (f->control.state == LH_CONTROL_HELD && !p->trial_end_ns &&
		    f->control.least_before_ns < lh_lmin(env) + aim &&
		    p->heavy >= lh_trial_wait(p, LH_LIMIT_HEAVY))
			lh_limit_try(env, f, p);
		return 0;
	}
	if (f->control.state != LH_CONTROL_HELD || (q >= aim && !lh_limit_reached(p)))
		return 0;
	f->control.calm = f->control.goal_bytes = 0;
	if (!f->control.settling && !p->trial_end_ns)
		lh_limit_law(env, f, p);
	return 1;
}
