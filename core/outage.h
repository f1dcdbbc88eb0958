/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outages of the hop (SPEC 2.4, SLACK; 2.10, handoff): how one is noticed, what
 * FH is told before its timer fires, how its end is found out, and the repair
 * of the window that it swallowed. SPEC 2.4 is S0's proposal, which was never
 * built; times and conditions are this project's.
 *
 * What FH gets are copies of the last ACK that it has seen, never another
 * number (invariant 11). Three of them start fast retransmit in a sender without
 * SACK, which halves its window and restarts its timer, where a timeout would
 * have left it one segment.
 */
#ifndef LH_OUTAGE_H
#define LH_OUTAGE_H

#include "detect.h"

#define LH_OUTAGE_RESENDS 2 /* repairs of the head that have to fail first */
#define LH_OUTAGE_PROBES 64 /* per outage: enough for minutes, see lh_outage_probe_at() */
#define LH_OUTAGE_COPIES 3 /* RFC 5681 section 3.2 */
#define LH_OUTAGE_BURST LH_MAX_RETRANSMIT /* repairs per ACK once MH is back */
#define LH_OUTAGE_LOOKS 16 /* segments looked at per ACK, the most */
/* So long a link that is down is not probed. Then the event that it is up again
 * may have got lost. */
#define LH_OUTAGE_TRUST_NS (5 * LH_SEC)

/* FH's timeout as Linux reckons it: the variation counts at least rto_min. */
LH_INLINE u64 lh_outage_rto(struct lh_env *env, const struct lh_flow *f)
{
	return f->srtt_ns + f->wired_rtt_ns + lh_max(4 * f->rttvar_ns, LH_CFG(env)->rto_min_ns);
}

/* Whether the host has a copy of the last ACK that FH has seen. */
LH_INLINE bool lh_outage_has_ack(const struct lh_flow *f)
{
	return f->outage.kept && (f->flags & LH_FLOW_FWD) && f->outage.kept_ack == f->fwd_ack &&
	       !(f->flags & (LH_FLOW_MPTCP | LH_FLOW_AUTH));
}

/* Whether copies of it may go to FH now. */
LH_INLINE bool lh_outage_may_tell(struct lh_env *env, const struct lh_flow *f)
{
	return env->alive && f->una == f->fwd_ack && lh_outage_has_ack(f);
}

/*
 * The ACK of this call is done with: the host shall have a copy of the last one
 * that FH got. It shares its place with the one that is kept back (hold.h), which
 * has the same number; where that one has SACK blocks to tell it stays. Beside
 * data of MH's, a bare copy is out of date: FH drops it for its old number.
 */
LH_INLINE void lh_outage_keep(struct lh_flow *f, const struct lh_segment *s,
			      enum lh_ack_class class, struct lh_actions *out)
{
	if (!lh_pure(s) || (f->flags & (LH_FLOW_MPTCP | LH_FLOW_AUTH))) {
		f->outage.kept = 0;
		return;
	}
	if (out->verdict == LH_PASS) {
		if (class == LH_ACK_OLD || ((f->flags & LH_FLOW_HELD) && lh_flow_sack(f)))
			return;
		out->hold = 1;
	}
	if (!out->hold)
		return;
	f->outage.kept = 1;
	f->outage.kept_ack = s->ack;
}

/* Data departs. If it is the oldest outstanding, FH's timer started when FH sent
 * it, half a wired round trip ago; an ACK takes another half to get there. */
LH_INLINE void lh_outage_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (!lh_after(s->seq, f->una))
		f->outage.rto_from_ns = lh_since(env->now_ns, f->wired_rtt_ns);
}

/* When the head's failures and MH's silence amount to an outage, 0: they don't. */
LH_INLINE u64 lh_outage_at(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_seg *e = lh_head(env, f);
	u64 quiet = lh_max(2 * f->srtt_ns, LH_CFG(env)->slack_quiet_ns), failed;

	if (!e || e->n_local < lh_min((u32)LH_OUTAGE_RESENDS, LH_CFG(env)->max_local))
		return 0;
	failed = e->last_tx_ns + (f->srtt_ns ? f->srtt_ns : lh_lrto(env, f));
	return lh_max(failed, f->outage.heard_ns + quiet);
}

LH_INLINE void lh_outage_begin(struct lh_env *env, struct lh_flow *f)
{
	f->outage.since_ns = env->now_ns;
	f->outage.nr_probes = f->outage.mute = 0;
	f->outage.back_ns = 0;
	lh_host_count(env, LH_C_outages, 1);
}

/*
 * When FH is to be told, 0: not. At three quarters of its timeout, with what is
 * left for the way and for an estimate that is too long. Once FH has repeated the
 * segment by itself it is too late for duplicates: it has been in the timeout, or
 * in fast recovery already. A closed window helps it even then, its timer stops
 * doubling.
 */
LH_INLINE u64 lh_outage_tell_at(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_seg *e = lh_head(env, f);
	u64 rto = lh_outage_rto(env, f);
	bool freeze = LH_CFG(env)->freeze;

	if (f->outage.mute || f->outage.told >= (freeze ? 1 : LH_CFG(env)->slack_bursts))
		return 0;
	if (!freeze && !f->outage.told && e && (e->flags & LH_SEG_SENDER_RTX))
		return 0;
	return f->outage.rto_from_ns + rto - rto / 4;
}

/* The labelled exception to invariant 16: FH is to believe the window closed (as
 * in M-TCP) and to wait. MH's next ACK opens it, whatever it says. */
LH_INLINE void lh_outage_freeze(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	out->emit_held = 1;
	out->held_window = 0;
	f->flags &= ~LH_FLOW_HELD;
	f->outage.frozen = 1;
	f->fwd_edge = f->fwd_ack;
	lh_host_count(env, LH_C_freezes, 1);
}

/* The window opens again, as wide as MH said last. */
LH_INLINE void lh_outage_thaw(struct lh_flow *f, struct lh_actions *out)
{
	out->emit_held = 1;
	f->outage.frozen = 0;
	f->fwd_edge = f->own_edge;
}

/*
 * @copies of the last ACK, at once. What is kept back goes out instead, and by its
 * own rule. A sender that uses SACK makes nothing of repeated ACKs without new
 * blocks (SPEC section 1, class 5). @return how many go out.
 */
LH_INLINE u32 lh_outage_copies(struct lh_env *env, struct lh_flow *f, u32 copies,
			       struct lh_actions *out)
{
	if (f->flags & LH_FLOW_HELD) {
		lh_abandon(env, f, false, out);
	} else if (!lh_flow_sack(f)) {
		out->emit_held = copies;
		f->flags |= LH_FLOW_ABANDONED; /* FH is at it: it gets MH's own, too */
	}
	return out->emit_held;
}

LH_INLINE void lh_outage_tell(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	if (!lh_outage_may_tell(env, f))
		f->outage.mute = 1;
	else if (LH_CFG(env)->freeze)
		lh_outage_freeze(env, f, out);
	else if (lh_outage_copies(env, f, LH_OUTAGE_COPIES, out))
		lh_host_count(env, LH_C_slack_bursts, 1);
	else
		f->outage.mute = 1;
	if (f->outage.mute) {
		lh_host_count(env, LH_C_slack_inapplicable, 1);
		return;
	}
	f->outage.told++;
	f->outage.rto_from_ns = env->now_ns; /* fast retransmit restarts FH's timer */
}

/*
 * When the head goes out again to see whether MH is back, 0: never. LRTO apart at
 * first, then an eighth of the outage, so that its end is noticed soon in
 * proportion; the 64th comes after some 700 times eight LRTO.
 */
LH_INLINE u64 lh_outage_probe_at(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_outage *o = &f->outage;
	const struct lh_seg *e = lh_head(env, f);
	u64 at;

	if (!e || (e->flags & LH_SEG_NO_COPY) || lh_seg_stale(f, e) ||
	    o->nr_probes >= LH_OUTAGE_PROBES)
		return 0;
	at = e->last_tx_ns + lh_max(lh_lrto(env, f), lh_since(e->last_tx_ns, o->since_ns) / 8);
	return o->down_ns ? lh_max(at, o->down_ns + LH_OUTAGE_TRUST_NS) : at;
}

/* Sends the head, not as one of its max_local tries: that many would be used up
 * before a longer outage ends. */
LH_INLINE void lh_outage_probe(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	struct lh_seg *e = lh_head(env, f);

	if (!e || !lh_send_again(env, f, e, LH_BY_TIMER, out))
		return;
	e->n_local = lh_max(e->n_local, 1); /* Karn: it was sent twice */
	f->outage.nr_probes++;
}

/*
 * The next segment of the lost window goes out, once per outage, unless it departed
 * so lately that its ACK may be on its way. What FH had sent again was lost with the
 * rest; what it sends again now need not be. @return 1: there may be more.
 */
LH_ENTRY int lh_outage_repair_one(struct lh_env *env, struct lh_flow *f, u32 why,
				  struct lh_actions *out)
{
	struct lh_seg *e;
	u32 pos;

	if (!env || !f || !out)
		return 0;
	pos = lh_cache_find(env, f, f->outage.next);
	e = pos == f->tail ? NULL : lh_seg_at(env, f, pos);
	if (!e || !lh_before(e->seq, f->outage.lost_end))
		return 0;
	if (!(e->flags & LH_SEG_SACKED) && lh_seg_sendable(env, f, e) &&
	    e->last_tx_ns < f->outage.back_ns && env->now_ns - e->last_tx_ns >= f->srtt_ns &&
	    !lh_resend(env, f, e, why, out))
		return 0;
	f->outage.next = e->end;
	return 1;
}

/* Up to @budget repairs of the lost window, in order: a duplicate then tells that
 * the head's own was lost, so that none is expected (lh_flow.exp_dup). */
LH_INLINE void lh_outage_repair(struct lh_env *env, struct lh_flow *f, u32 budget,
				enum lh_reason why, struct lh_actions *out)
{
	int i;

	if (lh_before(f->outage.next, f->una))
		f->outage.next = f->una;
	lh_for (i, LH_OUTAGE_LOOKS)
		if (out->nr_retransmit >= budget || !lh_outage_repair_one(env, f, why, out))
			break;
}

/*
 * An ACK has come from MH. If that ends an outage, everything that had departed is
 * in doubt: the recovery point. The tries that failed say nothing about the hop as
 * it is now.
 */
LH_INLINE void lh_outage_heard(struct lh_env *env, struct lh_flow *f)
{
	struct lh_outage *o = &f->outage;
	struct lh_seg *e;

	o->heard_ns = env->now_ns;
	o->down_ns = 0;
	if (!o->since_ns)
		return;
	o->since_ns = 0;
	if (f->una == f->max)
		return;
	o->back_ns = env->now_ns;
	o->next = f->una;
	o->lost_end = f->recovery_point = f->max;
	f->flags |= LH_FLOW_RECOVERY;
	e = lh_head(env, f);
	if (e)
		e->n_local = lh_min(e->n_local, 1);
}

/* The link is down: no need to wait for failures. */
LH_INLINE void lh_outage_down(struct lh_env *env, struct lh_flow *f)
{
	if (f->una == f->max)
		return;
	f->outage.down_ns = env->now_ns;
	if (!f->outage.since_ns)
		lh_outage_begin(env, f);
}

/*
 * The link is up. The outage lasts until MH is heard, for the word may be early,
 * but the head goes out at once, and probing starts anew. FH's timer may have
 * grown long in the meantime: `handoff` copies make it send now (SPEC 2.10).
 */
LH_INLINE void lh_outage_up(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	struct lh_outage *o = &f->outage;
	const struct lh_seg *e = lh_head(env, f);
	u32 copies = LH_CFG(env)->handoff;

	o->down_ns = 0;
	if (f->una == f->max)
		return;
	if (o->since_ns)
		o->since_ns = env->now_ns;
	o->nr_probes = 0;
	if (o->frozen && lh_outage_has_ack(f)) {
		lh_outage_thaw(f, out);
		copies = lh_min(copies, LH_OUTAGE_COPIES - 1U);
	}
	if (copies && lh_outage_may_tell(env, f)) {
		u32 opened = out->emit_held;

		out->emit_held = 0;
		copies = lh_outage_copies(env, f, copies, out);
		lh_host_count(env, LH_C_handoff_acks, copies);
		out->emit_held = opened + copies;
	}
	if (e && !(e->flags & LH_SEG_NO_COPY) && !lh_seg_stale(f, e) &&
	    env->now_ns - e->last_tx_ns >= f->srtt_ns)
		lh_outage_probe(env, f, out);
}

#endif /* LH_OUTAGE_H */
