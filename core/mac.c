/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "mac.h"

#define LH_MAC_SEGS 64 /* looked at per call */
/* Assumed as long as no delivery was reported: RFC 6298's beginning is too long for a hop. */
#define LH_MAC_FIRST_NS (80 * LH_MSEC)

LH_INLINE bool lh_mac_waits(const struct lh_flow *f)
{
	return lh_before(f->mac.lost_start, f->mac.lost_end);
}

/* W = Q + D, from the departure here to the MAC's answer, with the gains of RFC 6298 in the order
 * that the paper prints: the mean first. */
LH_INLINE void lh_mac_sample(struct lh_env *env, struct lh_flow *f, u64 w)
{
	struct lh_mac *m = &f->mac;
	u64 off;

	w = lh_min(w, LH_CFG(env)->lrto_max_ns);
	if (!m->sojourn_ns) {
		m->sojourn_ns = w;
		m->sojourn_var_ns = w / 2;
		return;
	}
	m->sojourn_ns = m->sojourn_ns - m->sojourn_ns / 8 + w / 8;
	off = w > m->sojourn_ns ? w - m->sojourn_ns : m->sojourn_ns - w;
	m->sojourn_var_ns = m->sojourn_var_ns - m->sojourn_var_ns / 4 + off / 4;
}

/* SW + 4 RW. */
LH_INLINE u64 lh_mac_patience(const struct lh_flow *f)
{
	const struct lh_mac *m = &f->mac;

	return m->sojourn_ns ? m->sojourn_ns + 4 * m->sojourn_var_ns : LH_MAC_FIRST_NS;
}

LH_INLINE void lh_mac_wait(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e)
{
	struct lh_mac *m = &f->mac;

	if (!lh_mac_waits(f)) {
		m->lost_start = e->seq;
		m->lost_end = e->end;
		m->timer_ns = env->now_ns + lh_mac_patience(f);
		return;
	}
	if (lh_before(e->seq, m->lost_start))
		m->lost_start = e->seq;
	if (lh_after(e->end, m->lost_end))
		m->lost_end = e->end;
}

/* Books that a copy of @e has or has not arrived. */
LH_INLINE void lh_mac_book_one(struct lh_env *env, struct lh_flow *f, struct lh_seg *e,
			       const struct lh_mac_report *report)
{
	/* A younger copy is on its way, and has a report of its own. */
	bool older = report->queued_ns && report->queued_ns < e->last_tx_ns;

	if (report->event == LH_MAC_DELIVERED) {
		if (!older && report->at_ns > e->last_tx_ns && report->at_ns <= env->now_ns)
			lh_mac_sample(env, f, report->at_ns - e->last_tx_ns);
		e->flags &= ~LH_SEG_LOST;
		e->arrived = 1;
		if (!e->n_local)
			e->flags &= ~LH_SEG_ASKED; /* a later attempt brought it */
		return;
	}
	if (older || (e->flags & LH_SEG_SACKED))
		return;
	e->flags |= LH_SEG_ASKED | LH_SEG_LOST;
	lh_mac_wait(env, f, e);
}

/* Whether the report is one of what the scheme calls a loss, or of a delivery. */
LH_INLINE bool lh_mac_counts(struct lh_env *env, const struct lh_mac_report *report)
{
	if (report->event != LH_MAC_UNDELIVERED)
		return true;
	return LH_CFG(env)->undelivered == LH_UNDELIVERED_ATTEMPT;
}

LH_ENTRY int lh_mac_book(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			 const struct lh_mac_report *report)
{
	u32 pos;
	int i;

	if (!env || !f || !s || !report)
		return 0;
	lh_host_count(env,
		      report->event == LH_MAC_DELIVERED	    ? LH_C_mac_delivered
		      : report->event == LH_MAC_UNDELIVERED ? LH_C_mac_undelivered
							    : LH_C_mac_given_up,
		      1);
	if (!lh_mac_counts(env, report))
		return 0;
	pos = lh_cache_find(env, f, s->seq);
	lh_for (i, LH_MAC_SEGS) {
		struct lh_seg *e;

		if (pos == f->ring.tail)
			break;
		e = lh_seg_at(env, f, pos++);
		if (!e || !lh_before(e->seq, s->end))
			break;
		if (!lh_before(e->seq, s->seq) && !lh_after(e->end, s->end))
			lh_mac_book_one(env, f, e, report);
	}
	return report->event == LH_MAC_DELIVERED;
}

/* Whether MH would take a copy of @e, and may have one more. Whose loss it was the MAC has said: what
 * FH has sent again, or the wire had lost before, is the hop's loss now. */
LH_INLINE bool lh_mac_sendable(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	return !(e->flags & (LH_SEG_NO_COPY | LH_SEG_SACKED)) && !lh_seg_stale(f, e) &&
	       e->n_local < LH_CFG(env)->max_local;
}

/* Repairs the one at @pos if it waits. 0: no room in this call, or none is left. */
LH_ENTRY int lh_mac_repair_one(struct lh_env *env, struct lh_flow *f, u32 pos,
			       struct lh_actions *out)
{
	struct lh_mac *m;
	struct lh_seg *e;

	if (!env || !f || !out)
		return 0;
	m = &f->mac;
	e = pos == f->ring.tail ? NULL : lh_seg_at(env, f, pos);
	if (!e || !lh_before(e->seq, m->lost_end)) {
		m->lost_start = m->lost_end;
		return 0;
	}
	if ((e->flags & LH_SEG_LOST) && lh_mac_sendable(env, f, e)) {
		if (!lh_resend(env, f, e, LH_BY_MAC, out))
			return 0;
		env->ack.deprived = 1;
	}
	e->flags &= ~LH_SEG_LOST;
	m->lost_start = e->end;
	return 1;
}

LH_ENTRY int lh_mac_repair(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u32 pos;
	int i;

	if (!env || !f || !out)
		return 0;
	env->ack.deprived = 0;
	f->mac.timer_ns = 0;
	if (!lh_mac_waits(f))
		return 0;
	f->mac.lost_start = lh_later(f->mac.lost_start, f->una);
	pos = lh_cache_find(env, f, f->mac.lost_start);
	lh_for (i, LH_MAC_SEGS)
		if (!lh_mac_repair_one(env, f, pos++, out))
			break;
	if (lh_mac_waits(f))
		f->mac.timer_ns = env->now_ns + (env->room ? LH_REPAIR_REST_NS : LH_REPAIR_FULL_NS);
	return 0;
}

LH_INLINE bool lh_mac_head(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e = lh_head(env, f);

	if (!e || !(e->flags & LH_SEG_ASKED))
		return false;
	return (e->flags & LH_SEG_LOST) || lh_since(env->now_ns, e->last_tx_ns) < lh_lrto(env, f);
}

LH_INLINE u64 lh_mac_probe_at(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e = LH_CFG(env)->probe ? lh_head(env, f) : NULL;

	if (!e || !e->arrived || LH_CFG(env)->role != LH_ROLE_BASE)
		return 0;
	return lh_head_deadline(env, f);
}
