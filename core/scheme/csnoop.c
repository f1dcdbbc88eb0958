/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `csnoop`: C-Snoop (Kim and Chung 2007; docs/design.md, section 5.10). The MAC says of each
 * frame whether it was delivered, and what it gave up is sent again with the next delivery, or by a
 * timer where there is none. ACKs are not needed for that, so that their loss does no harm; they
 * free the cache, and duplicates that the hop's losses cause are kept from the sender. At either
 * end of the hop, each for what it sends itself: no agent at the other end, no guess whose a loss
 * is. What no report calls lost is not repaired, and not hidden: losses of queues are the sender's,
 * which brake it. With parameter `brake` (brake.h) it is held as by `rack` as well.
 */
#ifdef LH_SCHEME
LH_SCHEME(csnoop, LH_POLICY_RTT_PER_ACK | LH_POLICY_MAC | LH_POLICY_BRAKE,
	  "repair of what the link's MAC reports as lost (C-Snoop, 2007), at either end of the hop")
#else
#include "../brake.h"
#include "../mac.h"
#include "snack.h"
#include "snoop.h"

#define lh_csnoop_on_syn lh_ignore_syn
#define lh_csnoop_on_link lh_ignore_link

LH_INLINE void lh_csnoop_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				 struct lh_actions *out)
{
	if (lh_braked(env))
		lh_brake_data(env, f, s, out);
	else
		lh_cache_data(env, f, s, out);
}

LH_INLINE void lh_csnoop_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				enum lh_ack_class kind, struct lh_actions *out)
{
	bool braked = lh_braked(env);

	if (braked && !lh_brake_ack_begin(env, f, s, kind))
		return;
	lh_snack_heard(env, f, s, kind, lh_mac_head(env, f), out);
	if (braked)
		lh_brake_ack_end(env, f, s, kind, out);
}

LH_INLINE u64 lh_csnoop_deadline(struct lh_env *env, const struct lh_flow *f)
{
	return lh_least(f->mac.timer_ns, lh_mac_probe_at(env, f));
}

LH_INLINE void lh_csnoop_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	if (f->mac.timer_ns && env->now_ns >= f->mac.timer_ns) {
		lh_mac_repair(env, f, out);
		lh_brake_deprive(env, f);
	}
	if (lh_mac_probe_at(env, f))
		lh_snoop_on_timer(env, f, out);
}

#endif
