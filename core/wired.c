/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "back.h"
#include "hold.h"
#include "sample.h"

#define LH_WIRED_PERIOD_NS (10 * LH_SEC)

LH_INLINE void lh_wired_handshake(struct lh_env *env, struct lh_flow *f)
{
	if (f->wired.syn_rx_ns)
		f->wired.rtt_ns = lh_least(f->wired.rtt_ns, env->now_ns - f->wired.syn_rx_ns);
	f->wired.syn_rx_ns = 0;
}

LH_INLINE u64 lh_wired(const struct lh_flow *f)
{
	const struct lh_wired *w = &f->wired;
	u64 least = lh_least(w->now_ns, w->before_ns);

	return least ? least : w->rtt_ns;
}

LH_INLINE u64 lh_base_here(struct lh_env *env, const struct lh_flow *f)
{
	u64 wired = lh_wired(f), lmin = lh_lmin(env);

	return wired && lmin ? wired + lmin : 0;
}

LH_ENTRY u64 lh_base(struct lh_env *env, const struct lh_flow *f)
{
	return env && f ? lh_base_here(env, f) : 0;
}

/* The open sample of the wired round trip is answered, with data up to @end. */
LH_INLINE void lh_wired_learn(struct lh_env *env, struct lh_flow *f, u32 end)
{
	struct lh_wired *w = &f->wired;
	u64 r = env->now_ns - w->tsval_ns;

	/* FH answers the edge that it got a round trip ago: would it send more? */
	if (!lh_before(end + 4 * lh_mss(f), w->asked_edge))
		f->control.limited |= 1;
	w->tsval_ns = 0;
	r = r ? r : 1;
	if (r > LH_RTT_MAX_NS)
		return;
	if (lh_policy(env) & LH_POLICY_SHADOW)
		lh_shadow_flight(env, f, end, r);
	if (env->now_ns - w->since_ns > LH_WIRED_PERIOD_NS) {
		w->before_ns = w->now_ns;
		w->now_ns = 0;
		w->since_ns = env->now_ns;
	}
	w->now_ns = lh_least(w->now_ns, r);
	w->rtt_ns = lh_least(w->rtt_ns, r);
}

LH_INLINE void lh_wired_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (!f->wired.tsval_ns)
		return;
	if (s->opts & LH_OPT_TS) {
		if (!lh_before(s->tsecr, f->wired.tsval))
			lh_wired_learn(env, f, s->end);
	} else if (lh_after(s->end, f->wired.tsval)) {
		lh_wired_learn(env, f, s->end);
	}
}

LH_INLINE void lh_wired_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    u32 edge)
{
	struct lh_wired *w = &f->wired;
	bool first = w->has_tsval && lh_after(s->tsval, w->tsval_last);

	if (s->opts & LH_OPT_TS) {
		if (first || !w->has_tsval)
			w->tsval_last = s->tsval;
		w->has_tsval = 1;
	}
	if (w->tsval_ns && env->now_ns - w->tsval_ns < LH_WIRED_PERIOD_NS)
		return;
	w->tsval_ns = 0;
	w->asked_edge = edge;
	if (s->opts & LH_OPT_TS) {
		if (!first)
			return;
		w->tsval = s->tsval;
		w->tsval_ns = env->now_ns;
	} else if ((f->flags & LH_FLOW_WSCALE) && lh_after(edge, lh_shown_edge(f)) &&
		   !lh_before(f->max + lh_mss(f), lh_shown_edge(f))) {
		w->tsval = lh_shown_edge(f);
		w->tsval_ns = env->now_ns;
	}
}
