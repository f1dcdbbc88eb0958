/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `sack`: SACK-aware Snoop (Vangala and Labrador 2003; docs/design.md, section 5.8), as it
 * was published, for comparison with `rack`: `snoop` with a scoreboard. MH's blocks tell of a
 * burst at once, and all of it goes out again within one local round trip. No brake, unless `brake`
 * is set (brake.h): FH sees neither the losses nor the queue that a window without them fills, but
 * for the queue guard.
 * Flows without SACK are `snoop`'s.
 */
#ifdef LH_SCHEME
LH_SCHEME(sack, LH_POLICY_RTT_PER_ACK | LH_POLICY_BRAKE,
	  "snoop with a SACK scoreboard (2003): a burst is repaired within one local round trip")
#else
#include "../brake.h"
#include "../detect.h"
#include "../guard.h"
#include "../hold.h"
#include "../order.h"
#include "sack.h"
#include "snoop.h"

#define lh_sack_on_syn lh_ignore_syn
#define lh_sack_on_link lh_ignore_link

LH_INLINE void lh_sack_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       struct lh_actions *out)
{
	if (!lh_braked(env)) {
		lh_snoop_on_data(env, f, s, out);
		return;
	}
	lh_brake_data(env, f, s, out);
	lh_guard_data(env, f); /* flows without SACK are guarded as `snoop`'s */
}

/* Whatever departed before something that has arrived is lost: from the lowest number up as much
 * as the host takes in one call. The timer goes on with the rest. */
LH_INLINE void lh_sack_repair(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u32 room = lh_min(env->room, LH_MAX_RETRANSMIT), done = 0;

	env->ack.deprived = 0;
	if (lh_order_disturbed(f))
		done = lh_order_repair(env, f, LH_MAX_RETRANSMIT, out);
	lh_brake_deprive(env, f);
	f->recovery.rest_ns = 0;
	if (done)
		f->flags |= LH_FLOW_DUP_DRIVEN;
	if (done && (out->nr_retransmit >= room || f->order.at))
		f->recovery.rest_ns = env->now_ns + LH_REPAIR_REST_NS;
	else if (!room && lh_order_disturbed(f))
		f->recovery.rest_ns = env->now_ns + LH_REPAIR_FULL_NS;
}

LH_INLINE void lh_sack_duplicate(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				 struct lh_actions *out)
{
	f->recovery.nr_dup++;
	if (!lh_braked(env))
		lh_guard_duplicate(env, f, lh_head(env, f));
	lh_sack_repair(env, f, out);
	if (lh_braked(env)) {
		env->view.hides = lh_control_brakes(env, f);
		lh_brake_duplicate(env, f, s, LH_ACK_DUPLICATE, out);
		return;
	}
	if (lh_suppressible(env, f, s))
		lh_suppress(env, f, out);
	else if (f->flags & LH_FLOW_HELD)
		lh_abandon(env, f, true, out);
}

LH_INLINE bool lh_sack_masks(struct lh_env *env)
{
	u32 mask = LH_CFG(env)->sack_mask;

	if (mask != LH_MASK_AUTO)
		return mask;
	return (lh_policy(env) & LH_POLICY_MAC) ||
	       ((lh_policy(env) & LH_POLICY_PARTNER) && env->partner);
}

LH_INLINE void lh_sack_pass(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    struct lh_actions *out)
{
	const struct lh_ack_view *v = &env->view;

	if (lh_sack_masks(env) && s->window && v->bare && !s->dsack && !v->unseen && lh_gapped(f) &&
	    lh_in_hand(env, f))
		lh_hide_blocks(env, f, s, out);
}

LH_INLINE void lh_sack_new(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			   struct lh_actions *out)
{
	lh_guard_new(f);
	lh_sack_repair(env, f, out);
	if (lh_brake_lets_hide(env, f))
		lh_sack_pass(env, f, s, out);
}

LH_INLINE void lh_sack_heard(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     enum lh_ack_class kind, struct lh_actions *out)
{
	if (!lh_flow_sack(f))
		lh_snoop_on_ack(env, f, s, kind, out);
	else if (kind == LH_ACK_NEW)
		lh_sack_new(env, f, s, out);
	else if (kind == LH_ACK_DUPLICATE)
		lh_sack_duplicate(env, f, s, out);
}

LH_INLINE void lh_sack_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      enum lh_ack_class kind, struct lh_actions *out)
{
	bool braked = lh_braked(env);

	lh_order_arrived(env, f);
	if (braked && !lh_brake_ack_begin(env, f, s, kind))
		return;
	lh_sack_heard(env, f, s, kind, out);
	if (braked)
		lh_brake_ack_end(env, f, s, kind, out);
}

/* When there is more to repair although no ACK says so: the rest of a burst, and what the patience
 * with a hop that reorders is over with. */
LH_INLINE u64 lh_sack_more_at(struct lh_env *env, const struct lh_flow *f)
{
	return lh_least(f->recovery.rest_ns, lh_order_deadline(env, f, lh_head(env, f)));
}

LH_INLINE u64 lh_sack_deadline(struct lh_env *env, const struct lh_flow *f)
{
	return lh_least(lh_sack_more_at(env, f), lh_head_deadline(env, f));
}

LH_INLINE void lh_sack_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u64 more = lh_sack_more_at(env, f);

	if (lh_braked(env))
		lh_brake_head(env, f);
	lh_snoop_on_timer(env, f, out);
	if (more && env->now_ns >= more)
		lh_sack_repair(env, f, out);
}

#endif
