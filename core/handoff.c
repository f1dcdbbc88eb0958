/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "handoff.h"
#include "hold.h"

/* Who has received nothing for so long waits for nothing: handoffs take less. */
#define LH_HANDOFF_RECENT_NS (10 * LH_SEC)

LH_INLINE bool lh_handoff_wanted(struct lh_env *env)
{
	return LH_CFG(env)->role == LH_ROLE_MOBILE && LH_CFG(env)->handoff &&
	       (lh_policy_chosen(env) & LH_POLICY_HANDOFF);
}

LH_INLINE void lh_handoff_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      struct lh_actions *out)
{
	struct lh_handoff *h = &f->handoff;

	if (!lh_handoff_wanted(env) || !(s->flags & LH_ACK) || lh_flow_sealed(f))
		return;
	if (h->ack_ns && lh_before(s->ack, h->ack))
		return; /* an older one, late */
	if (!h->ack_ns || s->ack != h->ack) {
		/* Beside data it tells as much, but can't be repeated: the older one says nothing new. */
		h->ack_ns = lh_pure(s) ? env->now_ns : 0;
		h->ack = s->ack;
	}
	if (!h->ack_ns || !lh_pure(s))
		return;
	out->hold = 1; /* the newest window, too: duplicates must have that of the last ACK */
	out->held_leaves = 1;
}

LH_INLINE void lh_handoff_up(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	if (!lh_handoff_wanted(env) || !f->handoff.ack_ns || lh_flow_sealed(f) ||
	    lh_since(env->now_ns, f->handoff.ack_ns) > LH_HANDOFF_RECENT_NS)
		return;
	out->emit_held = LH_CFG(env)->handoff;
	out->held_leaves = 1;
	lh_host_count(env, LH_C_handoff_acks, out->emit_held);
}
