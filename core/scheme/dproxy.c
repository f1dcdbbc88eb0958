/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `dproxy`: D-Proxy (Murray, Koziniec and Dixon 2009; docs/design.md, section 5.11). A proxy at
 * either end of a link that acknowledges nothing by itself. Who receives data over it finds what is
 * missing by the sequence numbers (arrival.h), asks for it packet by packet and puts everything in
 * order (resequence.h); who sent it repairs from the cache (asked.h). Both ways at once. No ACK is
 * touched, and the receiver sees no gap, so that no duplicate needs to be kept from the sender.
 *
 * What tells the sender of congestion: a gap that is given up, since the flow has more waiting than its
 * part of the buffer, or since the other end does not have it or takes it for a drop of the hop's own
 * queue (guard.h). With parameter `brake` (brake.h) it is held as by `rack` as well.
 */
#ifdef LH_SCHEME
LH_SCHEME(
	dproxy,
	LH_POLICY_RTT_PER_ACK | LH_POLICY_PARTNER | LH_POLICY_TELL | LH_POLICY_SEQUENCE |
		LH_POLICY_BRAKE | LH_POLICY_LINK,
	"two proxies around the hop: requests for what is missing, and its receiver sees it in order (D-Proxy, 2009)")
#else
#include "../asked.h"
#include "../brake.h"
#include "../guard.h"
#include "sack.h"
#include "snack.h"
#include "snoop.h"

#define lh_dproxy_on_syn lh_ignore_syn
#define lh_dproxy_on_data lh_sack_on_data
#define lh_dproxy_on_link lh_ignore_link

LH_INLINE void lh_dproxy_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				enum lh_ack_class kind, struct lh_actions *out)
{
	if (lh_braked(env))
		lh_snack_on_ack(env, f, s, kind, out);
	else if (kind == LH_ACK_NEW)
		lh_guard_new(f);
}

/* Whether what nothing behind it can show to be missing is looked after here. */
LH_INLINE bool lh_dproxy_probes(struct lh_env *env)
{
	return LH_CFG(env)->tail_probe && env->partner && LH_CFG(env)->role == LH_ROLE_BASE;
}

LH_INLINE u64 lh_dproxy_deadline(struct lh_env *env, const struct lh_flow *f)
{
	u64 rest = f->asked.rest_ns;

	return lh_dproxy_probes(env) ? lh_least(rest, lh_head_deadline(env, f)) : rest;
}

LH_INLINE void lh_dproxy_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	if (f->asked.rest_ns && env->now_ns >= f->asked.rest_ns) {
		lh_asked_repair(env, f, out);
		lh_brake_deprive(env, f);
	}
	if (lh_dproxy_probes(env)) {
		if (lh_braked(env))
			lh_brake_head(env, f);
		lh_snoop_on_timer(env, f, out);
	}
}

#endif
