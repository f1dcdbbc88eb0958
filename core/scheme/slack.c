/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `slack`: Snoop with the slow ACK that its Linux version proposed for
 * short disconnections (docs/design.md, section 5.4), and, on request, the closed window in its
 * place (`freeze`) and the fast retransmit on handoff (section 5.5, `handoff`), which is all that it
 * does at the mobile end (handoff.h).
 */
#ifdef LH_SCHEME
LH_SCHEME(slack,
	  LH_POLICY_RTT_PER_ACK | LH_POLICY_KEEP_ACK | LH_POLICY_LATE_BACKOFF | LH_POLICY_HANDOFF |
		  LH_POLICY_LINK,
	  "snoop, and the last ACK again before an outage drives the sender into a timeout")
#else
#include "../outage.h"
#include "snoop.h"

#define lh_slack_on_syn lh_ignore_syn
#define lh_slack_on_link lh_outage_link

LH_INLINE void lh_slack_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out)
{
	lh_outage_data(env, f, s);
	lh_snoop_on_data(env, f, s, out);
}

/* A new ACK while the lost window is repaired: two segments for each that has
 * arrived, as in FH's own slow start. More than the partial ACK's one, for here
 * it is known that the whole window is gone. */
LH_INLINE void lh_slack_new(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u32 budget = lh_clamp64(2 * env->ack.nr_segs, 2, LH_OUTAGE_BURST);

	if (lh_before(f->una, f->outage.lost_end)) {
		lh_guard_new(f);
		lh_outage_repair(env, f, budget, LH_BY_PARTIAL, out);
		return;
	}
	/* What was lost since then is found as ever. */
	f->outage.back_ns = 0;
	lh_snoop_new(env, f, out);
}

LH_INLINE void lh_slack_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       enum lh_ack_class kind, struct lh_actions *out)
{
	bool was_out = f->outage.since_ns;

	if (kind == LH_ACK_NEW || kind == LH_ACK_BEYOND) {
		f->outage.told = 0;
		f->outage.rto_from_ns = env->now_ns;
	}
	if (kind == LH_ACK_BEYOND)
		f->outage.since_ns = f->outage.back_ns = 0;
	lh_outage_heard(env, f);
	if (kind == LH_ACK_NEW && f->outage.back_ns)
		lh_slack_new(env, f, out);
	else
		lh_snoop_on_ack(env, f, s, kind, out);
	/* MH is back and says nothing new: the oldest segment, at once. */
	if (was_out && f->outage.back_ns && kind != LH_ACK_NEW && !out->nr_retransmit)
		lh_outage_repair(env, f, 1, LH_BY_TIMER, out);
}

LH_INLINE u64 lh_slack_deadline(struct lh_env *env, const struct lh_flow *f)
{
	if (!f->outage.since_ns)
		return lh_least(lh_head_deadline(env, f), lh_outage_at(env, f, lh_head(env, f)));
	return lh_least(lh_outage_probe_at(env, f), lh_outage_tell_at(env, f));
}

LH_INLINE void lh_slack_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u64 due = lh_outage_at(env, f, lh_head(env, f));

	/* Three copies of a kept ACK that ran out of time are a burst. */
	if (out->emit_held && !LH_CFG(env)->freeze)
		f->outage.told++, f->outage.rto_from_ns = env->now_ns;
	if (!f->outage.since_ns && due && env->now_ns >= due)
		lh_outage_begin(env, f);
	if (!f->outage.since_ns) {
		lh_snoop_on_timer(env, f, out);
		return;
	}
	due = lh_outage_tell_at(env, f);
	if (due && env->now_ns >= due && !out->emit_held)
		lh_outage_tell(env, f, out);
	due = lh_outage_probe_at(env, f);
	if (due && env->now_ns >= due)
		lh_outage_probe(env, f, out);
}

#endif
