/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "cache.h"

/* No window that we heard of is taken for narrower: we may have missed a wider one. */
#define LH_SPAN_LEAST_BYTES (1U << 16)
/* In mid-stream an end may send so many times what it had on its way and the other got: within
 * two round trips slow start goes as far (RFC 5681 section 3.1). */
#define LH_USED_TIMES 4
/* How far two ends that agree on their numbers may be apart. */
#define LH_CLAIM_BYTES (1U << 22)

LH_INLINE bool lh_whole(const struct lh_flow *f)
{
	return f->flags & LH_FLOW_WSCALE;
}

/* In mid-stream: what @e may have on its way. */
LH_INLINE u32 lh_may_use(const struct lh_end *e)
{
	u32 used = lh_min(e->used, LH_UNHEARD_BYTES / LH_USED_TIMES) * LH_USED_TIMES;

	return lh_max(used, LH_SPAN_LEAST_BYTES);
}

LH_INLINE u32 lh_granted(const struct lh_flow *f, const struct lh_end *to,
			 const struct lh_segment *s, u32 shift)
{
	if (lh_whole(f))
		return (u32)s->window << (shift & 15);
	return lh_min(lh_may_use(to), (u32)s->window << 14);
}

/* How many windows below the highest end are of use still: one that is under way, one that may be
 * LH_AHEAD, and one of what is late (RFC 5961 section 5.2). */
#define LH_BACK_SPANS 3

/* The widest window that @to may ever have granted to @from; in mid-stream, what @from may use of
 * it. */
LH_INLINE u32 lh_span(const struct lh_end *from, const struct lh_end *to, bool whole)
{
	if (!to->most)
		return LH_UNHEARD_BYTES;
	if (!whole)
		return lh_may_use(from);
	return lh_clamp64(to->most, LH_SPAN_LEAST_BYTES, LH_UNHEARD_BYTES);
}

/* How far what the end @from sends may go. */
LH_INLINE u32 lh_reach(const struct lh_end *from, const struct lh_end *to, bool whole)
{
	if (!whole && !from->most) /* it may have sent much before we heard it */
		return from->end + LH_UNHEARD_BYTES;
	return from->edge + lh_span(from, to, whole);
}

LH_INLINE enum lh_accepted lh_acceptable(const struct lh_flow *f, const struct lh_end *from,
					 const struct lh_end *to, const struct lh_segment *s)
{
	bool whole = lh_whole(f), beyond = false;
	u32 span = lh_span(from, to, whole), granted = lh_span(to, from, whole);
	u32 upto = whole && !f->missed ? to->end : lh_later(to->end, to->edge);
	u32 far = whole ? 0 : LH_UNHEARD_BYTES;

	if (!(s->flags & (LH_ACK | LH_RST)))
		return LH_REFUSED; /* RFC 9293 section 3.10.7.4, fifth */
	if (from->known) {
		if (lh_before(s->end, from->end - LH_BACK_SPANS * span))
			return LH_REFUSED;
		beyond = lh_after(s->end, lh_reach(from, to, whole));
		if (beyond && lh_after(s->end, from->end + far))
			return LH_REFUSED;
	}
	if ((s->flags & LH_ACK) && to->known) {
		if (lh_before(s->ack, to->end - LH_BACK_SPANS * granted))
			return LH_REFUSED;
		if (lh_after(s->ack, upto)) {
			if (lh_after(s->ack, to->end + far))
				return LH_REFUSED;
			beyond = true;
		}
	}
	if (beyond)
		return LH_FAR;
	return whole && from->known && lh_after(s->end, from->edge) ? LH_AHEAD : LH_ACCEPTED;
}

/* @e had [start, end) on its way at once. */
LH_INLINE void lh_end_flight(struct lh_end *e, u32 start, u32 end)
{
	if (lh_after(end, start))
		e->used = lh_max(e->used, end - start);
}

/* The other end acknowledges @ack of what @e sends: what @e had on its way a round trip ago was
 * let through, and is no forger's. */
LH_INLINE void lh_end_used(struct lh_end *e, u32 ack)
{
	u32 end = e->round_end;

	if (lh_before(ack, end))
		return;
	if (end == e->round_start)
		end = ack; /* nothing was on its way then: all of what came since was at once */
	lh_end_flight(e, e->round_start, end);
	e->round_start = ack;
	e->round_end = lh_later(e->end, ack);
}

/* @e is heard, or heard of, for the first time: what lies between @ack and @end is on its way. */
LH_INLINE void lh_end_begin(struct lh_end *e, u32 ack, u32 end)
{
	lh_end_flight(e, ack, end);
	e->round_start = ack;
	e->round_end = end;
}

LH_INLINE void lh_ends_learn(struct lh_end *from, struct lh_end *to, const struct lh_segment *s,
			     u32 window)
{
	if (!from->known) {
		from->end = from->round_start = from->round_end = s->end;
		from->edge = s->end + (to->most ? to->most : LH_UNHEARD_BYTES);
		from->known = 1;
	} else if (lh_after(s->end, from->end)) {
		if (!from->most) {
			lh_end_begin(from, from->end, s->end);
			from->edge = lh_later(from->edge, s->end + LH_SPAN_LEAST_BYTES);
		}
		from->end = s->end;
	}
	if (s->flags & LH_RST)
		return; /* its window means nothing */
	if (s->flags & LH_ACK) {
		bool first = !to->known || (!from->most && !(s->flags & LH_SYN));

		if (!to->known || lh_after(s->ack, to->end))
			to->end = s->ack;
		if (!to->known || !from->most || lh_after(s->ack + window, to->edge))
			to->edge = s->ack + window;
		/* In mid-stream it may have granted more before. */
		if (!from->most && !(s->flags & LH_SYN))
			to->edge = to->end + lh_max(window, LH_SPAN_LEAST_BYTES);
		if (first)
			lh_end_begin(to, s->ack, to->end);
		else
			lh_end_used(to, s->ack);
		to->known = 1;
	}
	from->most = lh_max(from->most, lh_max(window, 1U));
}

LH_INLINE void lh_claim_note(struct lh_flow *f, const struct lh_segment *s)
{
	bool goes_on = (f->flags & LH_FLOW_CLAIM) && !lh_before(s->seq, f->claim.seq) &&
		       !lh_after(s->seq, f->claim.end + LH_SPAN_LEAST_BYTES);

	if (s->seq == s->end || (s->flags & (LH_SYN | LH_RST)))
		return;
	/* MH answers the first of a burst when FH has sent the last. */
	if (!goes_on)
		f->claim.seq = s->seq;
	f->claim.end = goes_on ? lh_later(f->claim.end, s->end) : s->end;
	f->claim.ack = s->ack;
	f->flags |= LH_FLOW_CLAIM;
}

LH_INLINE bool lh_claim_answered(const struct lh_flow *f, const struct lh_segment *s)
{
	u32 behind = f->claim.end - s->ack, apart = s->seq - f->claim.ack + LH_CLAIM_BYTES;
	u32 span = lh_max(LH_CLAIM_BYTES, f->claim.end - f->claim.seq);

	return (f->flags & LH_FLOW_CLAIM) && (s->flags & LH_ACK) &&
	       !(s->flags & (LH_SYN | LH_RST)) && behind < span && apart < 2 * LH_CLAIM_BYTES;
}

/* @e has sent up to @end, where the other end had @ack, and both say so. */
LH_INLINE void lh_end_widen(struct lh_end *e, u32 ack, u32 end)
{
	if (lh_after(end, e->end)) {
		lh_end_flight(e, ack, end);
		e->end = end;
	}
	e->edge = lh_later(e->edge, end + LH_SPAN_LEAST_BYTES);
}

LH_INLINE void lh_claim_take(struct lh_flow *f, const struct lh_segment *s)
{
	lh_end_widen(&f->fh, f->una, f->claim.end);
	lh_end_widen(&f->mh, f->claim.ack, s->end);
	f->flags &= ~LH_FLOW_CLAIM;
}

LH_ENTRY int lh_mac_acceptable(const struct lh_flow *f, const struct lh_segment *s)
{
	enum lh_accepted is;

	if (!f || !s)
		return 0;
	if ((s->flags & (LH_SYN | LH_ACK)) == LH_SYN)
		return 1; /* its number is all that there is */
	is = lh_acceptable(f, &f->fh, &f->mh, s);
	return is == LH_ACCEPTED || is == LH_AHEAD;
}

/* For so long nothing may have been acceptable before both ends' word counts against ours: who
 * forges both without seeing either needs half a million tries, and so much silence. */
#define LH_STUCK_NS LH_SEC

LH_INLINE bool lh_claim_proved(struct lh_env *env, const struct lh_flow *f,
			       const struct lh_segment *s)
{
	return lh_claim_answered(f, s) && lh_since(env->now_ns, f->seen_ns) > LH_STUCK_NS;
}

LH_INLINE bool lh_stuck(struct lh_env *env, const struct lh_flow *f)
{
	return f->progress_ns && lh_since(env->now_ns, f->progress_ns) > LH_STUCK_NS;
}

LH_INLINE bool lh_claim_below(struct lh_env *env, const struct lh_flow *f,
			      const struct lh_segment *s)
{
	return lh_claim_answered(f, s) && lh_before(s->ack, f->una) &&
	       lh_after(s->ack, f->claim.seq) && lh_stuck(env, f);
}
