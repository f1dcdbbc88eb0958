/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `rack` (docs/design.md, sections 5.6 and 5.7), the default: a SACK scoreboard, loss by
 * time order over the local hop, a local probe timer, handshake and FIN repaired too, and the
 * window controller as the brake of senders whose losses are hidden. Flows without SACK are
 * repaired by duplicate and partial ACKs.
 */
#ifdef LH_SCHEME
LH_SCHEME(rack,
	  LH_POLICY_CONTROL | LH_POLICY_PEER_OUTAGE | LH_POLICY_KEEP_OLDER | LH_POLICY_LINK |
		  LH_POLICY_TELLS,
	  "loss by time order, probe timer and window controller, for today's senders")
#else
#include "../brake.h"
#include "../lifecycle.h"
#include "../outage.h"

#define LH_DUPTHRESH 3 /* segments (RFC 5681) */
#define LH_RACK_BURST 3 /* repairs for one ACK that delivered so many segments */

/* Addresses that nobody has are tried, too: of SYNs to receivers that were not heard yet so
 * many are repaired, or a scan of the net behind the link would take four times its room there. */
#define LH_STRANGER_NS (100 * LH_MSEC)

/* Whether the SYN may go to somebody who is there. */
LH_INLINE bool lh_rack_syn_due(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_peer *p = lh_peer_of(env, f);
	struct lh_device *d = LH_DEVICE(env);

	if (f->mh.most || (p && p->heard_ns))
		return true;
	if (d->stranger_ns && lh_since(env->now_ns, d->stranger_ns) < LH_STRANGER_NS)
		return false;
	d->stranger_ns = env->now_ns;
	return true;
}

/* A SYN or SYN-ACK without data: what follows it is not there yet. */
LH_INLINE void lh_rack_on_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      struct lh_actions *out)
{
	struct lh_seg *e = lh_oldest(env, f);

	f->sent_ns = env->now_ns;
	if (s->payload_bytes || !env->handshakes || !lh_after(s->end, f->una))
		return;
	if (!e && lh_rack_syn_due(env, f))
		lh_cache_insert(env, f, s, f->ring.tail, 0, out);
	else if (e && lh_cached(f) == 1 && e->seq == s->seq && e->end == s->end)
		lh_cache_resent(env, f, s, f->ring.head, e, out);
}

#define lh_rack_on_link lh_outage_link

LH_INLINE void lh_rack_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       struct lh_actions *out)
{
	lh_probe_data(env, f);
	lh_brake_data(env, f, s, out);
}

/*
 * How many repairs nearly every hole is content with, as the flow's own of late tell: one in 2^17 takes
 * more, if each gets lost as often. What takes more than FH waits for it calls lost, and Reno takes tens of
 * thousands of segments to make good for that: at 200 ms and 20 % it came to a tenth of the bound by three
 * repairs, whatever the loss. As long as little is known, of 20 one was lost. 0: more than anybody waits for.
 */
LH_INLINE u32 lh_rack_tries(const struct lh_flow *f)
{
	u32 all = f->recovery.ordered + 20, again = f->recovery.repeated + 1;

	if (again * 51 <= all)
		return 3;
	if (again * 19 <= all)
		return 4;
	if (again * 10 <= all)
		return 5;
	if (again * 7 <= all)
		return 6;
	return again * 5 <= all ? 7 : 0;
}

/*
 * Whether FH shows patience with a hole that is repaired here: today's senders
 * wait a quarter of their least round trip before they call a segment lost (RFC
 * 8985), and timestamps let them take back a reduction that was in vain (RFC
 * 4015). To such a sender, once the controller holds it, the blocks are better
 * shown: it goes on sending through a long repair and bursts less after it. At
 * 400 ms and 5 % loss that is 0.98 of the bound and not 0.87; but at 110 ms, where
 * only two tries fit into the quarter, hiding is 1.00 and showing 0.81. While the
 * queue alone takes as long as FH waits, as after a start, nobody is that patient; nor
 * does the window that an outage swallowed come back within that time.
 */
LH_INLINE bool lh_rack_patient(struct lh_env *env, const struct lh_flow *f)
{
	u32 tries;

	if (f->control.state == LH_CONTROL_FREE || !(f->flags & LH_FLOW_TS) || f->outage.back_ns)
		return false;
	tries = lh_rack_tries(f);
	return tries && tries * lh_srtt(env, f) + 2 * f->rtt.rttvar_ns < lh_wired(f) / 4 &&
	       lh_flow_sack(f) && lh_control_usable(env, f);
}

/*
 * Whether FH may be shown a hole without taking it for a loss at once. Patient it is only once it has seen
 * something arrive late; before that the third segment above a hole is enough (RFC 8985 section 6.2, step 4).
 * So it is shown two until it has.
 */
LH_INLINE bool lh_rack_shows(const struct lh_flow *f)
{
	return (f->flags & LH_FLOW_LATE_SEEN) || f->nr_sacked < LH_DUPTHRESH;
}

/* FH gets an ACK with a new number: if that fills a hole which it knew of (lh_rack_shown()) and has not filled
 * itself, it learns that segments come late here. */
LH_INLINE void lh_rack_late(struct lh_flow *f)
{
	if (!(f->flags & LH_FLOW_SHOWN))
		return;
	f->flags &= ~LH_FLOW_SHOWN;
	if (!(f->flags & LH_FLOW_FH_RTX) || !lh_after(f->cache.fh_rtx_end, f->hold.fwd_ack))
		f->flags |= LH_FLOW_LATE_SEEN;
}

/* Books that FH gets to see a hole by @s. */
LH_INLINE void lh_rack_shown(struct lh_flow *f, const struct lh_segment *s,
			     const struct lh_actions *out)
{
	if (s->nr_sack && out->verdict == LH_PASS && !out->blank_sack && lh_gapped(f))
		f->flags |= LH_FLOW_SHOWN;
}

/* What FH has sent until its start is over, and a link that loses one in some hundred has shown it. */
#define LH_RACK_SEGS 1000
#define LH_RACK_WINDOWS 16

LH_INLINE bool lh_rack_known(const struct lh_flow *f)
{
	return f->nr_data >= LH_RACK_SEGS &&
	       f->payload_bytes / LH_RACK_WINDOWS >= (u32)(f->max - f->una);
}

/*
 * Whether what is missing is merely waited for: of a hop that reorders (lh_reo) and has lost nothing of late
 * nothing is being repaired. FH loses an ACK clock by it, and never learns that its path reorders: at 20 Mbit/s
 * and 110 ms, where 2 % come 8 ms late, BBR took the one ACK for a dozen segments for a rate, had a round trip
 * of 218 ms (95th percentile) and not 149, and overflowed the queue 2,392 times in 160 s, not once. But in its
 * start FH would see the link's first loss, which waits as well: Reno had 13.4 Mbit/s and not 18.9 at 1 %.
 */
LH_INLINE bool lh_rack_waits(struct lh_env *env, const struct lh_flow *f)
{
	return f->control.state == LH_CONTROL_FREE && lh_gapped(f) && lh_reo(env, f) &&
	       !lh_queue_lossy(env, f) && lh_rack_known(f);
}

/* Whether FH is to be kept from seeing what is missing. */
LH_INLINE bool lh_rack_hides(struct lh_env *env, const struct lh_flow *f)
{
	if (LH_CFG(env)->suppress == LH_SUPPRESS_AUTO)
		return lh_control_brakes(env, f) && !lh_rack_waits(env, f) &&
		       !(lh_rack_patient(env, f) && lh_rack_shows(f));
	return LH_CFG(env)->suppress == LH_SUPPRESS_ON;
}

/* Without SACK: the first duplicate convicts the head, an ACK that stops short
 * of what had departed convicts the next. */
LH_INLINE void lh_rack_repair_blind(struct lh_env *env, struct lh_flow *f, enum lh_ack_class kind,
				    struct lh_actions *out)
{
	struct lh_seg *e = lh_order_head(env, f);

	if (kind == LH_ACK_DUPLICATE) {
		lh_extend_recovery(env, f);
		if (e && !(e->flags & LH_SEG_FH_RTX) && lh_order_whose(env, f, e) == LH_TRIED_OURS)
			lh_dup_repair(env, f, e, out);
	} else if (f->flags & LH_FLOW_RECOVERY) {
		if (!lh_before(f->una, f->recovery.point))
			f->flags &= ~LH_FLOW_RECOVERY;
		else if (e && !e->n_local)
			lh_resend(env, f, e, LH_BY_PARTIAL, out);
	}
}

/*
 * The window that an outage swallowed, once MH is heard again: two segments for each
 * that has arrived, as in FH's own slow start, but one where the repairs themselves
 * queue: all flows of the receiver are at it at once. If what had departed before
 * arrives after all, the hop had kept it, and time order tells better what is lost.
 * @return how many may go out, 0: there is no such window.
 */
LH_INLINE u32 lh_rack_window(struct lh_env *env, struct lh_flow *f)
{
	struct lh_outage *o = &f->outage;
	bool kept = env->ack.early || (env->ack.xmit_ns && env->ack.xmit_ns < o->lost_ns);
	u64 sent = env->ack.rtx_xmit_ns;

	if (o->back_ns && !lh_before(f->una, o->lost_end))
		o->back_ns = 0;
	if (!o->back_ns)
		return 0;
	if (env->ack.ended)
		return 2; /* the rest of what this ACK reports arrived long ago */
	if (lh_flow_sack(f) && kept) {
		o->back_ns = o->lost_ns = 0;
		return 0;
	}
	if (sent && env->now_ns - sent > lh_lmin(env) + 2 * lh_target_steady(env, f))
		return lh_clamp64(env->ack.nr_segs, 1, LH_RACK_BURST);
	return lh_clamp64(2 * env->ack.nr_segs, 2, LH_OUTAGE_BURST);
}

/*
 * Packet conservation: a repair per segment that has left the link, and one more where nothing but repairs has come. Of a
 * window that a queue could not take each would wait for the one before, to which MH may delay its answer: the slow start
 * of proportional rate reduction (RFC 6937 section 3).
 */
LH_INLINE u32 lh_rack_budget(const struct lh_ack_sum *sum)
{
	bool alone = sum->rtx_xmit_ns && !sum->xmit_ns;

	return lh_clamp64(sum->nr_segs, 1, LH_RACK_BURST) + alone;
}

/* What the ACK shows to be lost, as far as its budget goes. */
LH_ENTRY int lh_rack_repair(struct lh_env *env, struct lh_flow *f, u32 kind, struct lh_actions *out)
{
	u32 window, budget;

	if (!env || !f || !out)
		return 0;
	window = lh_rack_window(env, f);
	budget = window ? window : lh_rack_budget(&env->ack);
	/* MH is back and says nothing new: the oldest segment, at once. */
	if (kind != LH_ACK_NEW && kind != LH_ACK_DUPLICATE) {
		if (!window || !env->ack.ended)
			return 0;
		budget = 1;
		kind = LH_ACK_NEW;
	}
	if (window && kind == LH_ACK_NEW && !lh_flow_sack(f))
		lh_outage_repair(env, f, budget, LH_BY_PARTIAL, out);
	else if (!lh_flow_sack(f))
		lh_rack_repair_blind(env, f, kind, out);
	else if (lh_order_disturbed(f))
		lh_order_repair(env, f, budget, out);
	lh_control_deprive(env, f);
	return 0;
}

/* Whether lh_rack_repair() could find anything to do: with SACK only while something is missing. */
LH_INLINE bool lh_rack_may_repair(struct lh_env *env, const struct lh_flow *f)
{
	return f->outage.back_ns || !lh_flow_sack(f) || lh_order_disturbed(f) || env->ack.deprived;
}

/* A new ACK passes in any case; blocks above it only where FH has to act. */
LH_INLINE void lh_rack_new(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			   struct lh_actions *out)
{
	const struct lh_ack_view *v = &env->view;

	if (!s->nr_sack || !s->window || !v->hides || !v->blankable)
		return;
	if ((s->dsack && !v->dsack_ours) || v->unseen)
		return;
	if (lh_gapped(f)) {
		if (lh_in_hand(env, f))
			lh_hide_blocks(env, f, s, out);
	} else if (s->dsack && s->nr_sack == 1) {
		out->blank_sack = 1; /* only a superfluous repair's report */
	}
}

LH_INLINE void lh_rack_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      enum lh_ack_class kind, struct lh_actions *out)
{
	u64 r;

	if (s->opts & LH_OPT_TS)
		lh_back_ack(env, f, s->tsval);
	if (kind == LH_ACK_NEW)
		lh_guard_new(f);
	if (kind == LH_ACK_BEYOND)
		f->outage.since_ns = f->outage.back_ns = f->outage.lost_ns = 0;
	lh_outage_rack_heard(env, f);
	lh_order_twice(env, f, s);
	lh_probe_judge(env, f, s);
	lh_control_refute(env, f);
	r = lh_learn(env, f);
	if (f->order.xmit_ns < f->outage.ended_ns) /* the time that one took was the outage's */
		f->order.rtt_ns = lh_min(f->order.rtt_ns, f->rtt.srtt_ns);
	if (kind == LH_ACK_OLD || kind == LH_ACK_BEYOND)
		return;
	if (kind == LH_ACK_DUPLICATE)
		f->recovery.nr_dup++;
	lh_brake_sample(env, f, r);
	if (lh_rack_may_repair(env, f))
		lh_rack_repair(env, f, kind, out);
	/* An ACK without blocks that says something new has nothing to hide. */
	env->view.hides = (kind != LH_ACK_NEW || s->nr_sack) && lh_rack_hides(env, f);
	if (kind == LH_ACK_NEW) {
		lh_rack_late(f);
		lh_rack_new(env, f, s, out);
	} else {
		lh_brake_duplicate(env, f, s, kind, out);
	}
	lh_rack_shown(f, s, out);
	lh_brake_ack_end(env, f, s, kind, out);
}

/* When a segment is due: without a sign from MH, or since others overtook it. */
LH_INLINE u64 lh_rack_deadline(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_seg *head = lh_head(env, f);
	u64 order, probe;

	if (!head)
		return 0;
	if (f->outage.since_ns)
		return lh_outage_rack_at(env, f);
	order = lh_order_deadline(env, f, head);
	probe = lh_probe_deadline(env, f, head);
	return lh_least(lh_outage_at(env, f, head), lh_least(order, probe));
}

/* In an outage: is it over? */
LH_INLINE void lh_rack_on_outage_timer(struct lh_env *env, struct lh_flow *f,
				       struct lh_actions *out)
{
	u64 due = lh_outage_rack_at(env, f);

	if (!due || env->now_ns < due)
		return;
	if (!lh_outage_known_over(f, lh_peer_of(env, f))) {
		lh_outage_probe(env, f, out);
		return;
	}
	lh_outage_over(env, f);
	lh_probe(env, f, out);
}

LH_INLINE void lh_rack_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u64 due = lh_outage_at(env, f, lh_head(env, f));

	if (!f->outage.since_ns && due && env->now_ns >= due)
		lh_outage_begin(env, f);
	if (f->outage.since_ns) {
		lh_rack_on_outage_timer(env, f, out);
		return;
	}
	due = lh_probe_deadline(env, f, lh_head(env, f));
	env->ack.deprived = 0;
	if (lh_flow_sack(f)) {
		u32 done = lh_order_repair(env, f, LH_RACK_BURST, out);

		lh_control_deprive(env, f);
		/* What seemed an overflow's is ours, now that FH is braked or the link known
		 * for lossy. */
		if (env->ack.deprived)
			done += lh_order_repair(env, f, LH_RACK_BURST, out);
		if (done)
			return;
	}
	if (due && env->now_ns >= due)
		lh_probe(env, f, out);
}

#endif
