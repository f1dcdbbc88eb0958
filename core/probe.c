/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "control.h"
#include "detect.h"

#define LH_PROBE_BLIND_NS (700 * LH_MSEC) /* before the device's first sample: a satellite's hop */
#define LH_PROBES_SHARE 2 /* their part of the hop is one in so many */
#define LH_PROBES_AHEAD_NS (20 * LH_MSEC) /* so much of it at once */
#define LH_PROBES_THIN_NS (500 * LH_MSEC) /* since nothing was under way */
#define LH_PROBES_EVEN 3 /* probes before the time between them doubles */
#define LH_VAIN_MOST 4
#define LH_VAIN_NS (10 * LH_SEC) /* for so long the last one is heeded: then one is tried in time */

/* Such ACKs that make the next probe wait, and the most that count: few enough to unlearn. */
#define LH_LATE_FROM 4
#define LH_LATE_MOST 8

/* Probes in vain of late. */
LH_INLINE u32 lh_vain(struct lh_env *env, const struct lh_flow *f)
{
	return lh_since(env->now_ns, f->recovery.vain_ns) > LH_VAIN_NS ? 0 : f->recovery.vain;
}

/*
 * The local round trip to reckon with. That of a handshake, whose packets are small, tells nothing of segments that queue,
 * and of a flow whose segments were all sent again there is no other: then the receiver's counts as well.
 */
LH_INLINE u64 lh_probe_srtt(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_peer *p = lh_peer_of(env, f);
	u64 srtt = lh_srtt(env, f);

	return p && srtt == f->rtt.min_ns ? lh_max(srtt, p->srtt_ns) : srtt;
}

/* How long a probe in time waits (RFC 8985 section 7.2), by the local round trip @srtt. */
LH_INLINE u64 lh_probe_soon(u64 srtt)
{
	return 2 * srtt + LH_PROBE_SLACK_NS;
}

/* How much longer MH may keep the ACK of a segment if it is @lone (RFC 1122 section 4.2.3.2). */
LH_INLINE u64 lh_probe_delack(const struct lh_flow *f, bool lone)
{
	return lone && (f->flags & LH_FLOW_FWD) ? LH_DELACK_NS : 0;
}

/*
 * Whether ACKs of a @lone segment, or of the last several, mostly came later than a probe in time would have gone out.
 * On a link that is known to lose only for one that nothing had preceded, of a thin flow: of 30 kB every 400 ms, every
 * 8th segment acknowledged, the end is lost too often. They took 217 ms instead of 97 at 5 % (mean), where of a segment
 * every 100 ms 1,482 of 1,795 went out twice.
 */
LH_INLINE bool lh_probe_waits(struct lh_env *env, const struct lh_flow *f, bool lone)
{
	if ((lone ? f->recovery.late_lone : f->recovery.late_more) < LH_LATE_FROM)
		return false;
	if (lone && !f->recovery.nr_probes && f->delivery.last_ns < f->sent_ns)
		return true;
	return !lh_queue_lossy(env, f);
}

/*
 * Whether FH sends a little now and then, the next of it soon after a probe would have gone out, to somebody who
 * acknowledges several at once: what comes next tells of a loss as well. A segment every 30 ms over a hop of 10, every
 * 8th acknowledged, went out twice 3,000 times in 6,000.
 */
LH_INLINE bool lh_probe_streams(const struct lh_flow *f)
{
	return f->recovery.late_more >= LH_LATE_FROM && f->recovery.streams >= LH_LATE_FROM;
}

LH_INLINE void lh_probe_data(struct lh_env *env, struct lh_flow *f)
{
	u64 soon = lh_probe_soon(lh_probe_srtt(env, f)), gap = lh_since(env->now_ns, f->sent_ns);

	if (gap > soon + LH_DELACK_NS)
		f->recovery.streams = 0;
	else if (gap > soon)
		f->recovery.streams = lh_min(f->recovery.streams + 1, LH_LATE_MOST);
}

/* How much longer MH may keep its ACK: of a lone segment, or as the answers to earlier probes show, for hosts double
 * the time of a delayed ACK from 40 to 200 ms while nobody reads. */
LH_INLINE u64 lh_probe_patience(struct lh_env *env, const struct lh_flow *f)
{
	bool lone = lh_cached(f) < 2;
	u32 vain = lh_vain(env, f);

	if (lh_probe_waits(env, f, lone))
		return LH_DELACK_MOST_NS;
	if (!vain)
		return lh_probe_delack(f, lone || lh_probe_streams(f));
	return lh_min(LH_DELACK_NS << (vain - 1), LH_DELACK_MOST_NS);
}

/* Whether the ACK of this call, of a @lone segment or of several, came later than a probe in time would have
 * gone out, since MH was last heard or sent to. */
LH_INLINE bool lh_probe_outwaited(struct lh_env *env, const struct lh_flow *f, bool lone)
{
	u64 srtt = lh_probe_srtt(env, f), wait = lh_probe_soon(srtt) + lh_probe_delack(f, lone);

	return srtt && env->now_ns > lh_max(f->delivery.last_ns, f->sent_ns) + wait;
}

LH_INLINE bool lh_probe_in_vain(struct lh_env *env, const struct lh_flow *f)
{
	return f->recovery.nr_probes == 1 && env->ack.again_ns &&
	       lh_after(f->una, f->recovery.probe_end);
}

/*
 * The last of what is under way is acknowledged: was the probe in vain, or would it have been? Who sends no DSACK, or
 * no SACK at all, never says so, and lwIP and its kin keep their ACKs for up to 250 ms: each lone segment went out
 * twice, for as long as the flow lasted (10 kB every 400 ms: 394 times of 395). But who delays delays most, and a link
 * that loses most of them is none. So each ACK that came late by itself, or as the answer to the first probe, is one
 * more, each that came in time one less, and so is what turns out to be lost while we wait. Of lone segments and
 * several apart: a receiver that acknowledges every other one is late with the former only.
 */
LH_INLINE void lh_probe_answered(struct lh_env *env, struct lh_flow *f)
{
	struct lh_recovery *r = &f->recovery;
	bool lone = env->ack.nr_segs < 2, more;
	bool vain = lh_probe_in_vain(env, f);
	u32 late = lone ? r->late_lone : r->late_more;

	if (!env->ack.nr_segs || env->ack.sacked || (f->una != f->max && !vain))
		return;
	if (!env->ack.again_ns)
		more = lh_probe_outwaited(env, f, lone);
	else if (!vain && lh_probe_waits(env, f, lone))
		more = false; /* it was lost, and a probe in time would have helped */
	else if (r->nr_probes == 1 && !r->tells)
		more = true;
	else
		return;
	late = more ? lh_min(late + 1, LH_LATE_MOST) : late - (late > 0);
	if (lone)
		r->late_lone = late;
	else
		r->late_more = late;
}

LH_INLINE void lh_probe_judge(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	u32 end = f->recovery.probe_end;

	if (s->dsack)
		f->recovery.tells = 1;
	else
		lh_probe_answered(env, f);
	if (!env->view.dsack_ours || !lh_after(end, s->sack[0].left) ||
	    lh_after(end, s->sack[0].right))
		return;
	f->recovery.vain = lh_min(lh_vain(env, f) + 2, LH_VAIN_MOST);
	f->recovery.vain_ns = env->now_ns;
	f->recovery.probe_end = s->sack[0].left; /* told once */
}

/*
 * How long MH may be silent before the head is sent once more. Without a hole
 * twice the local round trip (RFC 8985 section 7.2), and a delayed ACK more for
 * a lone segment. While MH holds something above a hole it answers whatever
 * arrives at once (RFC 5681 section 4.2), so that little more than the last
 * sojourn is long enough. @srtt: lh_probe_srtt().
 */
LH_INLINE u64 lh_probe_wait(struct lh_env *env, const struct lh_flow *f, u64 srtt)
{
	if (!srtt)
		return LH_PROBE_BLIND_NS;
	if (lh_gapped(f)) {
		srtt = lh_max(srtt, f->order.rtt_ns);
		return srtt + srtt / 4 + LH_PROBE_SLACK_NS;
	}
	return lh_probe_soon(srtt) + lh_probe_patience(env, f);
}

/*
 * Until when the head @e may well be on its way: while what comes to MH departed before it
 * did, and a little longer, for it is next. 50 flows that began at once sent 425 probes
 * before their first ACK. Two segments take no more than two round trips, each of which
 * has one in it: where the rate says more, it is a thin flow's and not the hop's. 100 bytes
 * every half a second make 1,000 bytes a second, and of 136 losses 7 were probed before FH
 * sent them again.
 */
LH_INLINE u64 lh_queued_until(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e,
			      u64 srtt)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 next;

	if (!p || p->xmit_ns >= e->last_tx_ns)
		return 0;
	next = lh_rate_time_least(p->rate, 2 * lh_mss(f), LH_PROBE_SLACK_NS);
	next = srtt ? lh_min(next, 2 * srtt) : next;
	return lh_min(lh_max(p->delivered_ns, p->heard_ns) + next,
		      e->last_tx_ns + LH_CFG(env)->lrto_max_ns);
}

/*
 * What a probe takes of the hop, ns: a segment's time by the rate of late, where something has been under way to the receiver
 * all the time. A thin flow's rate tells nothing about the hop: there a segment takes no longer than the unloaded round trip.
 */
LH_INLINE u64 lh_probe_takes(struct lh_env *env, const struct lh_flow *f, const struct lh_peer *p)
{
	u64 wire = lh_lmin(env), takes = lh_rate_time(p->rate, lh_mss(f));
	bool thin = lh_since(env->now_ns, p->empty_ns) < LH_PROBES_THIN_NS;

	if (!takes)
		return wire;
	takes = lh_min(takes, LH_CFG(env)->lrto_max_ns);
	return thin && wire ? lh_min(takes, wire) : takes;
}

/* One has gone out, and takes its part of the hop. */
LH_INLINE void lh_probe_book(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 from;

	if (!p)
		return;
	from = lh_max(p->probes_until_ns, lh_since(env->now_ns, LH_PROBES_AHEAD_NS));
	p->probes_until_ns = from + LH_PROBES_SHARE * lh_probe_takes(env, f, p);
}

/*
 * Until when the receiver's flows have had their part of the hop for probes, 0: it is their turn. Not all of them look
 * at the same moment. On a narrow hop each waits for longer than any round trip that a flow knows of: at 0.25 Mbit/s, 48
 * ms for a segment and a second for a full queue, eight flows had 0.34 of the bound although nothing was lost, for 6,600
 * probes in a minute left room for little else.
 */
LH_INLINE u64 lh_probes_until(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);
	u64 takes;

	if (!p || p->probes_until_ns <= env->now_ns)
		return 0;
	takes = LH_PROBES_SHARE * lh_probe_takes(env, f, p);
	return p->probes_until_ns + lh_outage_turn(f, takes);
}

LH_INLINE u64 lh_probe_deadline(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	u32 n = f->recovery.nr_probes,
	    shift = n > LH_PROBES_EVEN ? lh_min(n - LH_PROBES_EVEN, 6) : 0;
	u64 srtt, wait;

	if (!e || !lh_order_repairable(env, f, e))
		return 0;
	/* Where no ACK ever came by they take another way: nothing can be known. */
	if (!(f->flags & LH_FLOW_FWD || e->flags & LH_SEG_EMPTY))
		return 0;
	srtt = lh_probe_srtt(env, f);
	wait = lh_min(lh_probe_wait(env, f, srtt) << shift, LH_CFG(env)->lrto_max_ns);
	wait = lh_max(lh_max(f->delivery.last_ns, f->sent_ns) + wait,
		      lh_queued_until(env, f, e, srtt));
	return lh_max(wait, lh_probes_until(env, f));
}

/* Sends the segment at @pos again if MH lacks it. @return 1: it does. */
LH_ENTRY int lh_probe_one(struct lh_env *env, struct lh_flow *f, u32 pos, struct lh_actions *out)
{
	struct lh_seg *e;

	if (!env || !f || !out)
		return 1;
	e = lh_seg_at(env, f, pos);
	if (!e)
		return 1;
	if ((e->flags & LH_SEG_SACKED) || !lh_order_repairable(env, f, e))
		return 0;
	lh_resend(env, f, e, LH_BY_TIMER, out);
	return 1;
}

LH_INLINE void lh_probe(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	struct lh_seg *e = lh_order_head(env, f);
	u32 pos = f->ring.head + 1;
	int i;

	if (!e)
		return;
	/* Lost where the queue is full, with nothing behind it to tell: FH's, too. Probes of
	 * 400 flows with a segment or two each were repairs without end. */
	if (lh_order_overflowed_tail(env, f, e)) {
		lh_guard_leave(env, f);
		f->sent_ns = env->now_ns; /* the timer of what FH itself has repeated goes on */
		f->recovery.nr_probes++;
		return;
	}
	lh_resend(env, f, e, LH_BY_TIMER, out);
	lh_probe_book(env, f);
	f->recovery.probe_end = e->end;
	if (f->recovery.vain) /* unless MH says otherwise */
		f->recovery.vain--;
	if (f->recovery.nr_probes++ == 0)
		return;
	lh_for (i, LH_CHUNK_SEGS) {
		if (pos == f->ring.tail || lh_probe_one(env, f, pos, out))
			break;
		pos++;
	}
}
