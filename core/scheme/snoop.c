/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `snoop`: the classic rules of Amir, Balakrishnan, Seshan and Katz
 * (1995; docs/design.md, section 5.2) with the head timer of the Linux version (section 5.3).
 * One repair per run of duplicates and per partial ACK; several losses in a
 * window are repaired one local round trip each.
 */
#ifdef LH_SCHEME
LH_SCHEME(snoop, LH_POLICY_RTT_PER_ACK,
	  "classic Snoop (1995) with the local timers of the Linux version")
#else
#include "../detect.h"
#include "../guard.h"
#include "snoop.h"

#define lh_snoop_on_syn lh_ignore_syn
#define lh_snoop_on_link lh_ignore_link

LH_INLINE void lh_snoop_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out)
{
	lh_cache_data(env, f, s, out);
	lh_guard_data(env, f);
}

LH_INLINE void lh_snoop_duplicate(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				  struct lh_actions *out)
{
	struct lh_seg *e = lh_head(env, f);
	bool can_hold;

	f->recovery.nr_dup++;
	lh_guard_duplicate(env, f, e);
	if (!e || !lh_seg_overflow(f, e))
		lh_extend_recovery(env, f);
	if (!e || !lh_seg_repairable(env, f, e) || (f->flags & LH_FLOW_ABANDONED))
		goto pass;
	can_hold = lh_suppressible(env, f, s);
	if (f->recovery.nr_dup < LH_CFG(env)->dup_thresh)
		return; /* ns-2 forwards what comes before the threshold */
	if (f->recovery.exp_dup && e->n_local)
		f->recovery.exp_dup--;
	else if (!lh_dup_repair(env, f, e, out) && env->now_ns - e->last_tx_ns >= f->rtt.srtt_ns)
		goto pass; /* sent twice, and still they come */
	if (can_hold) {
		lh_suppress(env, f, out);
		return;
	}
pass:
	if (f->flags & LH_FLOW_HELD)
		lh_abandon(env, f, true, out);
}

/* The "expected ACK" of Amir et al. (1995): a new ACK that stops short of what had departed when
 * the repair began uncovers the next hole. It passes, and the hole is filled. */
LH_INLINE void lh_snoop_new(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	struct lh_seg *e;

	lh_guard_new(f);
	if (!(f->flags & LH_FLOW_RECOVERY))
		return;
	if (!lh_before(f->una, f->recovery.point)) {
		f->flags &= ~LH_FLOW_RECOVERY;
		return;
	}
	e = lh_head(env, f);
	if (!e || e->n_local || !lh_seg_repairable(env, f, e))
		return;
	f->recovery.exp_dup = lh_cached(f) - 1;
	lh_resend(env, f, e, LH_BY_PARTIAL, out);
}

/* The answer to what MH got twice: FH would take it for a loss. It has nothing
 * else to tell, if what MH lacks next is here. */
LH_INLINE void lh_snoop_own(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    struct lh_actions *out)
{
	if (!lh_suppressible(env, f, s))
		return;
	out->verdict = LH_DROP;
	lh_host_count(env, LH_C_dsacks_dropped, 1);
}

LH_INLINE void lh_snoop_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       enum lh_ack_class kind, struct lh_actions *out)
{
	if (kind == LH_ACK_NEW)
		lh_snoop_new(env, f, out);
	else if (kind == LH_ACK_DUPLICATE)
		lh_snoop_duplicate(env, f, s, out);
	else if (kind == LH_ACK_OWN)
		lh_snoop_own(env, f, s, out);
}

/* The head's timer. */
LH_INLINE void lh_snoop_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u64 due = lh_head_deadline(env, f);

	if (due && env->now_ns >= due) {
		struct lh_seg *e = lh_head(env, f);

		if (e)
			lh_resend(env, f, e, LH_BY_TIMER, out);
	}
}

#define lh_snoop_deadline lh_head_deadline

#endif
