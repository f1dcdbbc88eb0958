/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `snack`: Snoop with negative acknowledgements (Sun, Li and Liew 2004, as Kim and Chung
 * 2007 describe it; docs/design.md, section 5.9). An agent at either end of the hop: who receives
 * data over it finds what is missing (arrival.h) and tells, who sent it repairs the whole list within
 * one local round trip (asked.h) and keeps the duplicates that the loss causes from the sender. Both
 * ways at once, so that data from the mobile host are helped as well.
 *
 * What is hidden is only what the other end has asked for: that the hop has lost, and nothing else is
 * known to be. With parameter `brake` (brake.h) what the hop's own queue may have dropped is not
 * hidden, either, and the sender is held as by `rack`. So it stands in for `rack` at the mobile end
 * if that has a partner (scheme.c). Without an answer from there the base's end is
 * `sack`, and the mobile end, to whom all losses of the path look alike, leaves them to the sender.
 */
#ifdef LH_SCHEME
LH_SCHEME(
	snack, LH_POLICY_RTT_PER_ACK | LH_POLICY_PARTNER | LH_POLICY_TELL | LH_POLICY_BRAKE,
	"negative acknowledgements between agents at both ends of the hop (2004), both directions")
#else
#include "../asked.h"
#include "../brake.h"
#include "../detect.h"
#include "../guard.h"
#include "../hold.h"
#include "../order.h"
#include "sack.h"
#include "snack.h"
#include "snoop.h"

#define lh_snack_on_syn lh_ignore_syn
#define lh_snack_on_data lh_sack_on_data
#define lh_snack_on_link lh_ignore_link

/* No answer from the other end: ACKs are all that there is to go by, and they tell where a segment
 * was lost at the base's end only. */
LH_INLINE bool lh_snack_as_sack(struct lh_env *env)
{
	return !env->partner && LH_CFG(env)->role == LH_ROLE_BASE;
}

LH_INLINE void lh_snack_duplicate(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				  struct lh_actions *out)
{
	f->recovery.nr_dup++;
	if (env->view.hides && lh_suppressible(env, f, s))
		lh_suppress(env, f, out);
	else if (f->flags & LH_FLOW_HELD)
		lh_abandon(env, f, true, out);
}

LH_INLINE void lh_snack_heard(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      enum lh_ack_class kind, bool hides, struct lh_actions *out)
{
	bool braked = lh_braked(env);

	env->view.hides = hides && lh_brake_lets_hide(env, f);
	if (kind == LH_ACK_NEW) {
		lh_guard_new(f);
		if (env->view.hides)
			lh_sack_pass(env, f, s, out);
	} else if (braked) {
		f->recovery.nr_dup += kind == LH_ACK_DUPLICATE;
		lh_brake_duplicate(env, f, s, kind, out);
	} else if (kind == LH_ACK_DUPLICATE) {
		lh_snack_duplicate(env, f, s, out);
	}
}

/* By what the other end has asked for. A call, and not in place: behind a brake's questions the verifier would look at
 * it once for each of their answers. */
LH_ENTRY int lh_snack_asked(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    u32 kind, struct lh_actions *out)
{
	if (!env || !f || !s || !out)
		return 0;
	lh_snack_heard(env, f, s, kind, lh_asked_head(env, f), out);
	return 0;
}

LH_INLINE void lh_snack_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       enum lh_ack_class kind, struct lh_actions *out)
{
	bool braked = lh_braked(env);

	lh_order_arrived(env, f);
	if (braked) {
		int now = lh_brake_ack_begin(env, f, s, kind);

		lh_brake_deprive(env, f); /* by the list that came with it */
		if (!now)
			return;
	}
	if (lh_snack_as_sack(env))
		lh_sack_heard(env, f, s, kind, out);
	else
		lh_snack_asked(env, f, s, kind, out);
	if (braked)
		lh_brake_ack_end(env, f, s, kind, out);
}

/* The oldest segment's timer is the base's: to the mobile end's all of the path's delay is the hop's.
 * It finds what nothing behind it can show to be missing. */
LH_INLINE u64 lh_snack_deadline(struct lh_env *env, const struct lh_flow *f)
{
	u64 rest = f->asked.rest_ns;

	if (lh_snack_as_sack(env))
		return lh_least(rest, lh_sack_deadline(env, f));
	if (LH_CFG(env)->role != LH_ROLE_BASE)
		return rest;
	return lh_least(rest, lh_head_deadline(env, f));
}

LH_INLINE void lh_snack_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	if (f->asked.rest_ns && env->now_ns >= f->asked.rest_ns) {
		lh_asked_repair(env, f, out);
		lh_brake_deprive(env, f);
	}
	if (lh_snack_as_sack(env)) {
		lh_sack_on_timer(env, f, out);
	} else if (LH_CFG(env)->role == LH_ROLE_BASE) {
		if (lh_braked(env))
			lh_brake_head(env, f);
		lh_snoop_on_timer(env, f, out);
	}
}

#endif
