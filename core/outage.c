/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "control.h"
#include "order.h"

#define LH_OUTAGE_RESENDS 2 /* repairs of the head that have to fail first */
#define LH_OUTAGE_PROBES 64 /* per outage: enough for minutes, see lh_outage_probe_at() */
#define LH_OUTAGE_COPIES 3 /* RFC 5681 section 3.2 */
#define LH_OUTAGE_LOOKS 16 /* segments looked at per ACK, the most */
/* For how long a link that is said to be down is not probed. Then the event that it is up again
 * may have got lost. */
#define LH_OUTAGE_TRUST_NS (5 * LH_SEC)
/* Probes: lh_outage_pace(), lh_outage_rack_at(). */
#define LH_OUTAGE_EVERY_NS (32 * LH_MSEC)
#define LH_OUTAGE_APART_NS LH_MSEC /* of all receivers', at the least, however fast the hop is */
#define LH_OUTAGE_SHARE 8 /* at most this part of what the hop carries */
#define LH_OUTAGE_PART 160 /* from 5 s on this part of the outage apart */
#define LH_OUTAGE_LAST_NS (300 * LH_SEC) /* then FH's own have to do: 810 probes */

/* FH's timeout as Linux reckons it: the variation counts at least rto_min. */
LH_INLINE u64 lh_outage_rto(struct lh_env *env, const struct lh_flow *f)
{
	return f->rtt.srtt_ns + f->wired.rtt_ns +
	       lh_max(4 * f->rtt.rttvar_ns, LH_CFG(env)->rto_min_ns);
}

LH_INLINE bool lh_outage_has_ack(const struct lh_flow *f)
{
	return f->outage.kept && (f->flags & LH_FLOW_FWD) &&
	       f->outage.kept_ack == f->hold.fwd_ack && !lh_flow_sealed(f);
}

/* Whether copies of it may go to FH now. */
LH_INLINE bool lh_outage_may_tell(struct lh_env *env, const struct lh_flow *f)
{
	return env->alive && f->una == f->hold.fwd_ack && lh_outage_has_ack(f);
}

LH_INLINE void lh_outage_keep(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      enum lh_ack_class kind, struct lh_actions *out)
{
	if (!env->view.pure || lh_flow_sealed(f)) {
		if (!lh_asks(f, s)) /* that takes no number: the copy is as good as it was */
			f->outage.kept = 0;
		return;
	}
	if (out->verdict == LH_PASS) {
		if (kind == LH_ACK_OLD || ((f->flags & LH_FLOW_HELD) && lh_flow_sack(f)))
			return;
		out->hold = 1;
	}
	if (!out->hold)
		return;
	f->outage.kept = 1;
	f->outage.kept_ack = s->ack;
}

LH_INLINE void lh_outage_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (!lh_after(s->seq, f->una))
		f->outage.rto_from_ns = lh_since(env->now_ns, f->wired.rtt_ns);
}

/* How often the head went out in vain. Scheme rack counts its probes, for a repair
 * by time order may just have got lost; a SYN that nobody answers is no outage, nor is
 * what was left to FH as the queue's. */
LH_INLINE u32 lh_outage_failures(struct lh_env *env, const struct lh_flow *f,
				 const struct lh_seg *e)
{
	if (!(lh_policy(env) & LH_POLICY_PEER_OUTAGE))
		return e->n_local;
	return (e->flags & LH_SEG_EMPTY) || !e->n_local ? 0 : f->recovery.nr_probes;
}

/* When MH was heard last. For scheme rack by whichever of its flows: while others go
 * on, this one's misfortune is its own, or MH has forgotten it. */
LH_INLINE u64 lh_outage_heard_ns(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_peer *p = lh_peer_of(env, f);

	if (!(lh_policy(env) & LH_POLICY_PEER_OUTAGE) || !p)
		return f->outage.heard_ns;
	return lh_max(f->outage.heard_ns, p->heard_ns);
}

LH_INLINE u64 lh_outage_at(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	u32 enough = lh_min((u32)LH_OUTAGE_RESENDS, LH_CFG(env)->max_local);
	u64 failed;

	if (!e || lh_outage_failures(env, f, e) < enough)
		return 0;
	failed = e->last_tx_ns + (f->rtt.srtt_ns ? f->rtt.srtt_ns : lh_lrto(env, f));
	return lh_max(failed, lh_outage_heard_ns(env, f) + lh_quiet(env, f));
}

/*
 * Sets the time between two probes of a receiver, scheme rack, and between any two: short, because what the
 * outage costs beyond its length is this, and FH's own attempt may happen to come
 * right after the end. But no more than a share of what the hop carries, LRTO at the
 * most. A segment takes no longer than the unloaded round trip: a thin flow's rate
 * tells nothing about the hop.
 */
LH_FUNC int lh_outage_pace(struct lh_env *env, struct lh_flow *f)
{
	u64 rate = lh_device_rate(env, LH_DEVICE_BINS), wire = lh_lmin(env), apart;
	u64 most = lh_max(lh_lrto(env, f), LH_OUTAGE_EVERY_NS);

	if (rate)
		wire = lh_min(wire, lh_rate_time(rate, lh_mss(f)));
	apart = LH_OUTAGE_SHARE * wire;
	f->outage.every_ns = lh_clamp64(apart, LH_OUTAGE_EVERY_NS, most);
	/* Where nothing has come to anyone of late, what the hop carries is not known. */
	f->outage.apart_ns =
		lh_clamp64(apart, LH_OUTAGE_APART_NS, rate ? most : LH_OUTAGE_EVERY_NS);
	return 0;
}

LH_INLINE void lh_outage_begin(struct lh_env *env, struct lh_flow *f)
{
	struct lh_outage *o = &f->outage;
	const struct lh_seg *e = lh_head(env, f);
	u32 end = e ? e->end : f->una;

	if (!o->vain || o->begin_end != end) {
		o->first_ns = env->now_ns;
		o->nr_probes = 0;
	}
	o->begin_end = end;
	o->since_ns = env->now_ns;
	o->mute = 0;
	o->back_ns = o->lost_ns = 0;
	lh_outage_pace(env, f);
	lh_host_count(env, LH_C_outages, 1);
}

LH_INLINE u64 lh_outage_tell_at(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_seg *e = lh_head(env, f);
	u64 rto = lh_outage_rto(env, f);
	bool freeze = LH_CFG(env)->freeze;

	if (f->outage.mute || f->outage.told >= (freeze ? 1 : LH_CFG(env)->slack_bursts))
		return 0;
	if (!freeze && !f->outage.told && e && (e->flags & LH_SEG_FH_RTX))
		return 0;
	return f->outage.rto_from_ns + rto - rto / 4;
}

/* The labelled exception to invariant I16: FH is to believe the window closed (as
 * in M-TCP) and to wait. MH's next ACK opens it, whatever it says. */
LH_INLINE void lh_outage_freeze(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	out->emit_held = 1;
	out->held_window = 0;
	f->flags &= ~LH_FLOW_HELD;
	f->outage.frozen = 1;
	f->hold.fwd_edge = f->hold.fwd_ack;
	lh_host_count(env, LH_C_freezes, 1);
}

LH_INLINE void lh_outage_thaw(struct lh_flow *f, struct lh_actions *out)
{
	out->emit_held = 1;
	f->outage.frozen = 0;
	f->hold.fwd_edge = f->hold.own_edge;
}

/*
 * @copies of the last ACK, at once. What is kept back goes out instead, and by its
 * own rule. A sender that uses SACK makes nothing of repeated ACKs without new
 * blocks (section 3.4, class 5). @return how many go out.
 */
LH_INLINE u32 lh_outage_copies(struct lh_env *env, struct lh_flow *f, u32 copies,
			       struct lh_actions *out)
{
	if (f->flags & LH_FLOW_HELD) {
		lh_abandon(env, f, false, out);
		if (!lh_window_editable(env, f))
			out->held_window = f->hold.last_window; /* as lh_release() */
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

LH_INLINE u64 lh_outage_probe_at(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_outage *o = &f->outage;
	const struct lh_seg *e = lh_head(env, f);
	u64 at;

	if (!e || (e->flags & LH_SEG_NO_COPY) || lh_seg_stale(f, e) ||
	    o->nr_probes >= LH_OUTAGE_PROBES)
		return 0;
	at = e->last_tx_ns + lh_max(lh_lrto(env, f), lh_since(e->last_tx_ns, o->first_ns) / 8);
	at = lh_max(at, o->turn_ns);
	return o->down_ns ? lh_max(at, o->down_ns + LH_OUTAGE_TRUST_NS) : at;
}

/* How much longer than the prober a flow that stands by waits, from a quarter of
 * @every to a half: not all of them shall wake at once. */
LH_INLINE u64 lh_outage_turn(const struct lh_flow *f, u64 every)
{
	return every / 4 + every / 64 * (f->una * 2654435761U >> 28);
}

LH_INLINE bool lh_outage_known_over(const struct lh_flow *f, const struct lh_peer *p)
{
	return p && p->heard_ns > f->outage.since_ns + f->rtt.srtt_ns;
}

LH_INLINE u64 lh_outage_rack_at(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_outage *o = &f->outage;
	const struct lh_peer *p = lh_peer_of(env, f);
	const struct lh_seg *e = lh_head(env, f);
	u64 last, every;

	if (!e || (e->flags & (LH_SEG_NO_COPY | LH_SEG_EMPTY)) || lh_seg_stale(f, e))
		return 0;
	last = e->last_tx_ns;
	if (p && lh_outage_known_over(f, p))
		return lh_max(last + f->rtt.srtt_ns, p->heard_ns);
	if (p && p->probe_ns > last)
		last = p->probe_ns;
	if (last > o->first_ns + LH_OUTAGE_LAST_NS)
		return 0;
	every = lh_max(o->every_ns, lh_since(last, o->first_ns) / LH_OUTAGE_PART);
	every = lh_max(every, lh_since(p ? p->turn_ns : o->turn_ns, last));
	if (last != e->last_tx_ns)
		every += lh_outage_turn(f, every);
	return o->down_ns ? lh_max(last + every, o->down_ns + LH_OUTAGE_TRUST_NS) : last + every;
}

LH_INLINE u64 lh_outage_stands_by(struct lh_env *env, const struct lh_flow *f, u64 now_ns)
{
	const struct lh_peer *p = lh_peer_of(env, f);
	u64 until;

	if (!(lh_policy(env) & LH_POLICY_PEER_OUTAGE) || !f->outage.since_ns ||
	    (f->flags & LH_FLOW_HELD) || !p || lh_outage_known_over(f, p))
		return 0;
	until = lh_max(p->probe_ns + f->outage.every_ns, p->turn_ns);
	return until > now_ns ? until + lh_outage_turn(f, f->outage.every_ns) : 0;
}

/*
 * The flow has probed. Its next one has its turn when what has been sent by then is @apart_ns each: with as many
 * probers as find room they go on as before, with more each waits for all others, and nobody's timer is early.
 */
LH_INLINE void lh_outage_turns(struct lh_env *env, struct lh_flow *f)
{
	struct lh_device *d = LH_DEVICE(env);
	struct lh_peer *p = lh_peer_of(env, f);
	u64 turn_ns = lh_max(d->probes_ns, env->now_ns) + f->outage.apart_ns;

	d->probes_ns = f->outage.turn_ns = turn_ns;
	if (p)
		p->turn_ns = turn_ns;
}

/* Nobody has to wait for anybody any more. */
LH_INLINE void lh_outage_turn_now(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);

	LH_DEVICE(env)->probes_ns = f->outage.turn_ns = 0;
	if (p)
		p->turn_ns = 0;
}

LH_INLINE void lh_outage_probe(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	struct lh_seg *e = lh_head(env, f);
	struct lh_peer *p = lh_peer_of(env, f);

	if (!e || !lh_send_again(env, f, e, LH_BY_TIMER, out))
		return;
	e->n_local = lh_max(e->n_local, 1); /* Karn: it was sent twice */
	f->outage.nr_probes++;
	if (p)
		p->probe_ns = env->now_ns;
	lh_outage_turns(env, f);
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
	e = pos == f->ring.tail ? NULL : lh_seg_at(env, f, pos);
	if (!e || !lh_before(e->seq, f->outage.lost_end))
		return 0;
	if (!(e->flags & LH_SEG_SACKED) && lh_seg_sendable(env, f, e) &&
	    e->last_tx_ns < f->outage.back_ns && env->now_ns - e->last_tx_ns >= f->rtt.srtt_ns &&
	    !lh_resend(env, f, e, why, out))
		return 0;
	f->outage.next = e->end;
	return 1;
}

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

/* Everything that had departed is in doubt: the recovery point. The tries that
 * failed say nothing about the hop as it is now, unless it was heard before, in vain. */
LH_INLINE void lh_outage_doubt(struct lh_env *env, struct lh_flow *f)
{
	struct lh_outage *o = &f->outage;
	struct lh_seg *e = lh_head(env, f);
	struct lh_chunk *c;
	bool again = o->vain;

	/* Who acknowledges byte by byte would have each outage be the first. */
	o->vain = e && e->end == o->begin_end;
	if (f->una == f->max)
		return;
	o->back_ns = env->now_ns;
	o->next = f->una;
	o->lost_end = f->max;
	if (!e)
		return;
	if (!again || !o->vain)
		e->n_local = lh_min(e->n_local, 1);
	/* It may be repaired again, and what repairs convict has a bound of its own: without it time order
	 * would not look at it, and its deadline stay in the past. */
	c = lh_chunk_at(env, f, f->ring.head);
	if (!c)
		return;
	c->oldest_tx_ns = lh_min(c->oldest_tx_ns, e->last_tx_ns);
	c->again_tx_ns = lh_min(c->again_tx_ns, e->last_tx_ns);
}

LH_INLINE void lh_outage_heard(struct lh_env *env, struct lh_flow *f)
{
	struct lh_outage *o = &f->outage;

	o->heard_ns = env->now_ns;
	o->down_ns = 0;
	if (!o->since_ns)
		return;
	o->since_ns = 0;
	if (f->una == f->max)
		return;
	lh_outage_doubt(env, f);
	f->recovery.point = f->max;
	f->flags |= LH_FLOW_RECOVERY;
}

LH_INLINE u64 lh_outage_horizon(struct lh_env *env, const struct lh_flow *f)
{
	u64 srtt = lh_srtt(env, f);

	return lh_since(env->now_ns, srtt + srtt / 4 + LH_PROBE_SLACK_NS);
}

LH_INLINE void lh_outage_lost(struct lh_env *env, struct lh_flow *f)
{
	struct lh_outage *o = &f->outage;

	o->back_ns = o->lost_ns = 0;
	lh_outage_doubt(env, f);
	if (!o->back_ns)
		return;
	if (lh_flow_sack(f)) {
		o->lost_ns = lh_outage_horizon(env, f);
	} else {
		f->recovery.point = f->max;
		f->flags |= LH_FLOW_RECOVERY;
	}
}

LH_INLINE void lh_outage_over(struct lh_env *env, struct lh_flow *f)
{
	struct lh_outage *o = &f->outage;

	o->heard_ns = o->ended_ns = env->now_ns;
	o->since_ns = o->down_ns = 0;
	f->recovery.nr_probes = 0;
	lh_control_resume(env, f);
	lh_outage_lost(env, f);
}

/* A silence of so long may have been one. */
LH_INLINE u64 lh_outage_quiet(struct lh_env *env, const struct lh_flow *f)
{
	return lh_quiet(env, f) + f->rtt.srtt_ns; /* the answer takes as long */
}

/* Whether MH was silent for as long. Others of the receiver's flows may have heard it meanwhile. */
LH_INLINE bool lh_outage_was_quiet(struct lh_env *env, const struct lh_flow *f)
{
	return f->outage.heard_ns &&
	       lh_since(env->now_ns, lh_outage_heard_ns(env, f)) >= lh_outage_quiet(env, f);
}

/*
 * Whether something like an outage has just ended that was not noticed: MH was silent
 * for as long, and lacks what left at the beginning. Either FH sent on until the end, so
 * that no probe was due, and a hole shows, of more than a segment: one that was lost alone, with
 * nothing behind it to send for a round trip of the path, is silence as well. Or the answer to a
 * probe came before the verdict: it tells nothing of what is behind (340 ms for an outage of 200).
 * Where the newest that arrives after the silence left before it, the hop has kept it: a pause or
 * a queue, there or on the way back, and no outage. Nor is it one where MH had kept its ACK,
 * unless the link loses ACKs, too.
 */
LH_INLINE bool lh_outage_missed(struct lh_env *env, const struct lh_flow *f)
{
	u64 newest = lh_max(env->ack.xmit_ns, env->ack.rtx_xmit_ns);
	const struct lh_seg *e = lh_head(env, f);

	if (!lh_outage_was_quiet(env, f) || !e)
		return false;
	/* The way may take as long, or the hop has kept what it had. */
	if (!f->rtt.srtt_ns || newest < lh_outage_horizon(env, f))
		return false;
	if (f->recovery.nr_probes)
		return lh_queue_lossy(env, f) || !lh_probe_in_vain(env, f);
	if (env->now_ns - e->last_tx_ns < lh_outage_quiet(env, f) || !lh_gapped(f) ||
	    lh_cached(f) < 2)
		return false;
	e = lh_seg_at(env, f, f->ring.head + 1);
	return e && !(e->flags & LH_SEG_SACKED);
}

/* MH is heard in an outage, or after a silence that may have been one. An entry of its own: of hardly any ACK
 * this is so. */
LH_ENTRY int lh_outage_ends(struct lh_env *env, struct lh_flow *f)
{
	if (!env || !f)
		return 0;
	if (f->outage.since_ns || lh_outage_missed(env, f))
		lh_outage_over(env, f);
	else if (!lh_tail_ends(env, f))
		return 0;
	env->ack.ended = 1;
	return 0;
}

LH_INLINE void lh_outage_rack_heard(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);

	env->ack.ended = 0;
	if (f->outage.since_ns || f->recovery.nr_probes || lh_outage_was_quiet(env, f))
		lh_outage_ends(env, f);
	if (p && lh_since(env->now_ns, p->heard_ns) >= LH_MSEC)
		p->heard_ns = env->now_ns; /* all CPUs see this line: not each time */
	f->outage.heard_ns = env->now_ns;
	/* What departed before measured the outage, and no queue. */
	if (env->ack.sample_ns < f->outage.ended_ns)
		env->ack.sample_ns = 0;
}

/* The link is down: no need to wait for failures. What has no payload, a handshake's or a FIN, has no
 * outage: nothing that answers it would end one. */
LH_INLINE void lh_outage_down(struct lh_env *env, struct lh_flow *f)
{
	const struct lh_seg *e = lh_head(env, f);

	if (f->una == f->max || (e && e->flags & LH_SEG_EMPTY))
		return;
	f->outage.down_ns = env->now_ns;
	if (!f->outage.since_ns)
		lh_outage_begin(env, f);
}

/*
 * The link is up. The outage lasts until MH is heard, for the word may be early,
 * but the head goes out at once, and probing starts anew. FH's timer may have
 * grown long in the meantime: `handoff` copies make it send now (section 5.5).
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
		o->since_ns = o->first_ns = env->now_ns;
	o->nr_probes = o->vain = 0;
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
	    env->now_ns - e->last_tx_ns >= f->rtt.srtt_ns)
		lh_outage_probe(env, f, out);
	lh_outage_turn_now(env, f);
}

LH_INLINE void lh_outage_link(struct lh_env *env, struct lh_flow *f, u32 up, struct lh_actions *out)
{
	if (up)
		lh_outage_up(env, f, out);
	else
		lh_outage_down(env, f);
}
