/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `shadow`: `rack` without hands. It finds losses as `rack` does (order.h, detect.h), notes
 * what `rack` would have done about them, and how FH fared without (shadow.h). No packet is copied,
 * kept, edited or sent, and no timer runs. For `lasthop observe`.
 */
#ifdef LH_SCHEME
LH_SCHEME(shadow, LH_POLICY_SHADOW,
	  "what rack would repair, and how it goes without; touches nothing")
#else
#include "../lifecycle.h"
#include "../shadow.h"

#define lh_shadow_on_syn lh_ignore_syn
#define lh_shadow_on_link lh_ignore_link

LH_INLINE void lh_shadow_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				 struct lh_actions *out)
{
	lh_shadow_data(env, f, s);
	lh_cache_data(env, f, s, out);
}

/* What `rack` would repair: by time order, or without SACK the head by the first duplicate. */
LH_INLINE void lh_shadow_seek(struct lh_env *env, struct lh_flow *f, enum lh_ack_class kind,
			      struct lh_actions *out)
{
	struct lh_seg *e;

	if (kind != LH_ACK_NEW && kind != LH_ACK_DUPLICATE)
		return;
	if (lh_flow_sack(f)) {
		if (lh_order_disturbed(f))
			lh_order_repair(env, f, 1, out);
		return;
	}
	e = kind == LH_ACK_DUPLICATE && f->recovery.nr_dup == 1 ? lh_order_head(env, f) : NULL;
	if (e && !(e->flags & LH_SEG_FH_RTX))
		lh_shadow_convict(env, f, e);
}

LH_INLINE void lh_shadow_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				enum lh_ack_class kind, struct lh_actions *out)
{
	u64 r;

	if (s->seq != s->end)
		lh_shadow_back(env, f, s);
	if (s->opts & LH_OPT_TS)
		lh_back_ack(env, f, s->tsval);
	lh_shadow_heard(env, f);
	r = lh_learn(env, f);
	if (kind == LH_ACK_OLD || kind == LH_ACK_BEYOND)
		return;
	if (kind == LH_ACK_DUPLICATE)
		f->recovery.nr_dup++;
	if (r)
		lh_queue_note(env, f, lh_since(r, f->back.now_ns));
	lh_shadow_look(env, f);
	lh_shadow_seek(env, f, kind, out);
	lh_shadow_ack(env, f, s);
	lh_wired_ack(env, f, s, env->view.edge);
	if (f->wired.tsval_ns == env->now_ns)
		f->shadow.asked = s->ack;
}

LH_INLINE void lh_shadow_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
}

LH_INLINE u64 lh_shadow_deadline(struct lh_env *env, const struct lh_flow *f)
{
	return 0;
}

#endif
