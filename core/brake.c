/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "brake.h"
#include "control.h"

LH_INLINE bool lh_braked(struct lh_env *env)
{
	return lh_policy(env) & LH_POLICY_CONTROL;
}

LH_INLINE void lh_brake_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     struct lh_actions *out)
{
	lh_control_data(env, f);
	lh_cache_data(env, f, s, out);
	lh_control_mark(env, f, s, out);
}

/* As lh_control_blind(); a function of its own for the stack of its callers, which have others to
 * call. */
LH_ENTRY int lh_brake_blind(struct lh_env *env, struct lh_flow *f)
{
	if (!env || !f)
		return 0;
	lh_control_blind(env, f);
	return 0;
}

LH_ENTRY int lh_brake_sample(struct lh_env *env, struct lh_flow *f, u64 r)
{
	if (!env || !f)
		return 0;
	if (r) {
		lh_control_sample(env, f, r);
		lh_control_interval(env, f);
	} else {
		lh_brake_blind(env, f);
	}
	return 0;
}

LH_ENTRY int lh_brake_ack_begin(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				u32 kind)
{
	u64 r;

	if (!env || !f || !s)
		return 0;
	if (s->opts & LH_OPT_TS)
		lh_back_ack(env, f, s->tsval);
	lh_control_refute(env, f);
	r = lh_learn(env, f);
	if (kind == LH_ACK_OLD || kind == LH_ACK_BEYOND)
		return 0;
	lh_brake_sample(env, f, r);
	return 1;
}

/* As lh_control_deprive(), and a function of its own as lh_brake_blind(). */
LH_ENTRY int lh_brake_hold(struct lh_env *env, struct lh_flow *f)
{
	if (!env || !f)
		return 0;
	lh_control_deprive(env, f);
	return 0;
}

LH_INLINE void lh_brake_deprive(struct lh_env *env, struct lh_flow *f)
{
	if (lh_braked(env))
		lh_brake_hold(env, f);
}

LH_INLINE bool lh_brake_lets_hide(struct lh_env *env, const struct lh_flow *f)
{
	return !lh_braked(env) || lh_control_brakes(env, f);
}

LH_ENTRY int lh_brake_duplicate(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				u32 kind, struct lh_actions *out)
{
	const struct lh_ack_view *v;
	bool update;

	if (!env || !f || !s || !out)
		return 0;
	v = &env->view;
	if (!s->window || !v->hides || !v->blankable || f->hold.fwd_ack != s->ack ||
	    (s->dsack && !v->dsack_ours) || lh_before(v->edge, f->hold.fwd_edge) || v->unseen)
		goto pass;
	if (kind != LH_ACK_SAME && !lh_in_hand(env, f))
		goto pass;
	if (kind == LH_ACK_SAME && !v->dsack_ours)
		goto pass;
	if (!lh_control_usable(env, f))
		update = lh_window_needed(env, f, s);
	else
		update = lh_after(lh_control_edge(env, f, v->edge), f->hold.fwd_edge);
	/* What has data or an unknown option passes in any case. */
	if (kind != LH_ACK_DUPLICATE) {
		out->blank_sack = update || !v->bare;
		out->verdict = out->blank_sack ? LH_PASS : LH_DROP;
		if (!out->blank_sack)
			lh_host_count(env, LH_C_dsacks_dropped, 1);
	} else if (!update && v->bare) {
		lh_suppress(env, f, out);
	} else if (!update || lh_control_usable(env, f)) {
		lh_hide_blocks(env, f, s, out);
		lh_host_count(env, LH_C_window_updates, update);
	} else {
		goto pass;
	}
	return 0;
pass:
	if (kind == LH_ACK_DUPLICATE && (f->flags & LH_FLOW_WITHHOLDS))
		lh_abandon(env, f, true, out);
	return 0;
}

LH_INLINE void lh_brake_ack_end(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				u32 kind, struct lh_actions *out)
{
	if (out->verdict == LH_DROP)
		return;
	lh_control_window(env, f, s, kind == LH_ACK_DUPLICATE && !out->blank_sack, out);
	if (out->window != LH_KEEP_WINDOW)
		lh_host_count(env, LH_C_windows_edited, 1);
	lh_wired_ack(env, f, s, lh_edited_edge(env, f, s, out));
}

LH_INLINE void lh_brake_head(struct lh_env *env, struct lh_flow *f)
{
	u64 due = lh_head_deadline(env, f);
	struct lh_seg *e = due && env->now_ns >= due ? lh_head(env, f) : NULL;

	if (e && lh_order_overflowed_tail(env, f, e))
		lh_guard_leave(env, f);
}
