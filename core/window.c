/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "control.h"

/* What the law grants: MH's bytes and C. */
LH_ENTRY u32 lh_control_granted(struct lh_env *env, const struct lh_flow *f)
{
	const struct lh_peer *p;
	u32 c;

	if (!env || !f)
		return 0;
	p = lh_control_trial(env, f);
	c = f->control.c_bytes;
	if (p && p->trial == LH_TRIAL_LIMIT)
		c = f->control.trial_bytes ? f->control.trial_bytes : c;
	else if (p)
		c = p->trial == LH_TRIAL_TWICE ? lh_min(2ULL * c, LH_C_MOST) : c / 2;
	return f->una + lh_above_una(f) + c;
}

/* The edge to show of one @granted, where MH's is @own. */
LH_INLINE u32 lh_control_edge_of(const struct lh_flow *f, u32 granted, u32 own)
{
	u32 edge = granted, unit = 1U << (f->conn.wscale_mh & 15);
	u32 step = lh_max((u32)lh_mss(f), unit), least = f->una + lh_mss(f) + unit;

	if (f->una == f->max && lh_before(f->hold.fwd_edge, least)) {
		edge = lh_after(edge, least) ? edge : least;
		step = 0;
	}
	if (!lh_before(edge, own))
		return own;
	if (lh_before(edge, f->hold.fwd_edge + step))
		edge = f->hold.fwd_edge;
	return lh_before(edge, own) ? edge : own;
}

LH_INLINE u32 lh_control_edge(struct lh_env *env, const struct lh_flow *f, u32 own)
{
	if (f->control.state == LH_CONTROL_FREE)
		return own;
	return lh_control_edge_of(f, lh_control_granted(env, f), own);
}

/*
 * Header value by which an ACK of number @ack grants @edge, in whole units of the
 * scale, never above @window, the receiver's own. Rounded up, an edge that stays would
 * go right by up to a unit with each ACK: with a scale of 12 that was a queue of 45 ms,
 * with eight flows 173. Rounded down it goes left by less than a unit, as RFC 7323
 * section 2.4 says that senders must expect: of what fwd_edge grants, not of what the last
 * ACK showed (lh_kept_edge()).
 */
LH_INLINE u32 lh_control_header(const struct lh_flow *f, u32 ack, u32 edge, u32 window)
{
	u32 units = (edge - ack) >> (f->conn.wscale_mh & 15);

	return lh_min(lh_max(units, 1U), window);
}

/* The edge for a duplicate that FH is to see as one: without SACK that is an ACK
 * whose window is the last one's too (RFC 5681 section 2). */
LH_INLINE u32 lh_control_edge_same(const struct lh_flow *f, u32 granted, u32 own)
{
	if (lh_flow_sack(f))
		return lh_control_edge_of(f, granted, own);
	return lh_before(f->hold.fwd_edge, own) && lh_after(f->hold.fwd_edge, f->una)
		       ? f->hold.fwd_edge
		       : own;
}

LH_INLINE void lh_control_window(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				 bool same, struct lh_actions *out)
{
	u32 own = env->view.edge, granted, edge, header;

	if (f->control.state == LH_CONTROL_FREE) {
		f->control.old_edge = 1; /* what it spends is MH's own window */
		return;
	}
	if (!lh_control_usable(env, f) || s->ack != f->una || !s->window)
		return;
	granted = lh_control_granted(env, f);
	f->control.old_edge = lh_before(granted + 2 * lh_mss(f), f->hold.fwd_edge);
	edge = same ? lh_control_edge_same(f, granted, own) : lh_control_edge_of(f, granted, own);
	header = lh_control_header(f, s->ack, edge, s->window);
	if (header != s->window)
		out->window = header;
}

/*
 * The queue at which a flow is marked. A sender answers a mark by a cut to 0.5
 * (RFC 5681) or 0.7 (RFC 9438): what stands must be worth half a round trip, or
 * the hop runs dry; at 5 ms two marks cost CUBIC a third of its goodput. Where a
 * loss was repaired meanwhile the queue may be as full as it gets, and a
 * standing one will do, as for the guard of scheme `snoop` (guard.h).
 */
LH_INLINE u64 lh_control_mark_queue(struct lh_env *env, const struct lh_flow *f, u64 base)
{
	u64 most = lh_max(base / 2, lh_target(env, f));
	u64 full = lh_max(LH_QUEUE_RTTS * lh_lmin(env), LH_QUEUE_LEAST_NS);

	return (f->flags & LH_FLOW_RTX) ? lh_min(full, most) : most;
}

LH_INLINE void lh_control_mark(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       struct lh_actions *out)
{
	struct lh_control *c = &f->control;
	u64 base;

	if (s->ecn == 1 || s->ecn == 2)
		f->flags |= LH_FLOW_ECT;
	if (!LH_CFG(env)->clock || !lh_queue_lossy(env, f) || lh_control_usable(env, f) ||
	    !s->ecn || s->ecn == 3 || !s->payload_bytes)
		return;
	base = lh_max(lh_base(env, f), 4 * lh_lmin(env));
	if (lh_since(env->now_ns, f->delivery.last_ns) > base + f->queue.recent_ns[0])
		return; /* what samples have shown before a pause stands no more */
	if (env->now_ns - c->marked_ns < 2 * (base + f->queue.recent_ns[0]) ||
	    !lh_queue_stands(env, f, lh_control_mark_queue(env, f, base)))
		return;
	c->marked_ns = env->now_ns;
	out->mark_ce = 1;
	lh_host_count(env, LH_C_ce_marks, 1);
}

LH_INLINE void lh_release(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u32 shift = f->conn.wscale_mh & 15, edge;

	lh_abandon(env, f, false, out);
	if (!out->emit_held)
		return;
	if (!LH_CFG(env)->clock || !lh_window_editable(env, f)) {
		/* One without blocks may have shown FH another since: it stays (I16). */
		out->held_window = f->hold.last_window;
		return;
	}
	edge = f->hold.own_edge;
	if (f->control.state != LH_CONTROL_FREE)
		edge = lh_control_edge_same(f, lh_control_granted(env, f), edge);
	out->held_window = lh_control_header(f, f->una, edge,
					     lh_min((f->hold.own_edge - f->una) >> shift, 0xffffU));
	f->hold.fwd_edge = lh_kept_edge(f, f->una + (out->held_window << shift));
}
