/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wired.h"

#define LH_WIRED_PERIOD_NS (10 * LH_SEC)

LH_INLINE void lh_wired_handshake(struct lh_env *env, struct lh_flow *f)
{
	if (f->syn_rx_ns)
		f->wired_rtt_ns = lh_least(f->wired_rtt_ns, env->now_ns - f->syn_rx_ns);
	f->syn_rx_ns = 0;
}

LH_INLINE u64 lh_wired(const struct lh_flow *f)
{
	const struct lh_clock *c = &f->clock;
	u64 least = lh_least(c->wired_now_ns, c->wired_before_ns);

	return least ? least : f->wired_rtt_ns;
}

LH_INLINE u64 lh_base(struct lh_env *env, const struct lh_flow *f)
{
	u64 wired = lh_wired(f), lmin = lh_lmin(env, f);

	return wired && lmin ? wired + lmin : 0;
}

/* The open sample of the wired round trip is answered, with data up to @end. */
LH_INLINE void lh_wired_learn(struct lh_env *env, struct lh_flow *f, u32 end)
{
	struct lh_clock *c = &f->clock;
	u64 r = env->now_ns - c->tsval_ns;

	/* FH answers the edge that it got a round trip ago: would it send more? */
	if (!lh_before(end + 4 * lh_mss(f), c->asked_edge))
		c->limited |= 1;
	c->tsval_ns = 0;
	r = r ? r : 1;
	if (r > LH_RTT_MAX_NS)
		return;
	if (env->now_ns - c->wired_since_ns > LH_WIRED_PERIOD_NS) {
		c->wired_before_ns = c->wired_now_ns;
		c->wired_now_ns = 0;
		c->wired_since_ns = env->now_ns;
	}
	c->wired_now_ns = lh_least(c->wired_now_ns, r);
	f->wired_rtt_ns = lh_least(f->wired_rtt_ns, r);
}

LH_INLINE void lh_wired_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (!f->clock.tsval_ns)
		return;
	if (s->opts & LH_OPT_TS) {
		if (!lh_before(s->tsecr, f->clock.tsval))
			lh_wired_learn(env, f, s->end);
	} else if (lh_after(s->end, f->clock.tsval)) {
		lh_wired_learn(env, f, s->end);
	}
}

LH_INLINE void lh_wired_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    u32 edge)
{
	struct lh_clock *c = &f->clock;
	bool first = c->has_tsval && lh_after(s->tsval, c->tsval_last);

	if (s->opts & LH_OPT_TS) {
		if (first || !c->has_tsval)
			c->tsval_last = s->tsval;
		c->has_tsval = 1;
	}
	if (c->tsval_ns && env->now_ns - c->tsval_ns < LH_WIRED_PERIOD_NS)
		return;
	c->tsval_ns = 0;
	c->asked_edge = edge;
	if (s->opts & LH_OPT_TS) {
		if (!first)
			return;
		c->tsval = s->tsval;
		c->tsval_ns = env->now_ns;
	} else if ((f->flags & LH_FLOW_WSCALE) && lh_after(edge, lh_shown_edge(f)) &&
		   !lh_before(f->max + lh_mss(f), lh_shown_edge(f))) {
		c->tsval = lh_shown_edge(f);
		c->tsval_ns = env->now_ns;
	}
}
