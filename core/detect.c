/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "hold.h"
#include "sample.h"

#define LH_UNDER_WAY_MAX 16

LH_INLINE enum lh_ack_class lh_classify(const struct lh_flow *f, const struct lh_segment *s)
{
	int i;

	if (lh_after(s->ack, f->max))
		return LH_ACK_BEYOND;
	if (lh_after(s->ack, f->una))
		return LH_ACK_NEW;
	if (lh_before(s->ack, f->una))
		return LH_ACK_OLD;
	if (f->una == f->max || (s->flags & (LH_SYN | LH_FIN)) || lh_asks(f, s))
		return LH_ACK_SAME;
	if (!lh_flow_sack(f))
		return !s->payload_bytes && s->window == f->hold.last_window ? LH_ACK_DUPLICATE
									     : LH_ACK_SAME;
	for (i = 0; i < LH_MAX_SACK; i++)
		if (i < s->nr_sack && lh_after(s->sack[i].right, s->ack))
			return LH_ACK_DUPLICATE;
	return LH_ACK_SAME;
}

LH_INLINE struct lh_seg *lh_head(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e = lh_oldest(env, f);

	return e && !lh_after(e->seq, f->una) ? e : NULL;
}

/*
 * MH answers what it has already with a duplicate ACK. With SACK it says so itself
 * (RFC 2883); without, taken for losses, these duplicates make repairs that make
 * duplicates (8,000 for 6 losses in 40 s before a queue of 40 ms behind a round trip
 * of 0.4 ms; 1,100 for 48 after an outage, when FH repairs the window, too). So what
 * is to come is counted, and kept from FH for good.
 */
LH_INLINE void lh_own_dups_add(struct lh_env *env, struct lh_flow *f)
{
	f->recovery.own_dups++;
	f->recovery.own_dups_end = f->max;
	f->recovery.own_dups_ns = env->now_ns;
}

LH_INLINE void lh_own_dups_expect(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e)
{
	u64 lmin = lh_lmin(env), r = lh_max(f->rtt.srtt_ns, lmin);
	u64 age = env->now_ns - e->last_tx_ns;
	bool again = e->n_local || (e->flags & LH_SEG_FH_RTX);
	bool unasked = e->n_local && e->behind >= 2 && 2 * f->recovery.nr_dup <= e->behind;

	/* One segment of FH's may be several here, and gets one answer. */
	if (lh_flow_sack(f) || !again || (!e->n_local && env->ack.last_ns == e->last_tx_ns))
		return;
	/* The receiver's unloaded round trip is that of full segments, the flow's least that of its SYN. */
	if (2 * (e->end - e->seq) < lh_mss(f))
		lmin = lh_least(lmin, f->rtt.min_ns);
	if (unasked && age < (lmin + r) / 2)
		f->flags &= ~LH_FLOW_RECOVERY; /* nothing was lost: the next is no hole */
	else if (age >= lmin)
		return;
	lh_own_dups_add(env, f);
}

LH_INLINE void lh_own_dups_stale(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (!lh_flow_sack(f) && s->payload_bytes > 1 && !(s->flags & (LH_SYN | LH_FIN)) &&
	    !lh_after(s->end, f->una) && env->now_ns - f->progress_ns < f->wired.rtt_ns)
		lh_own_dups_add(env, f);
}

LH_INLINE bool lh_own_dup(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (!f->recovery.own_dups || lh_flow_sack(f) || s->nr_sack || !env->view.pure ||
	    s->window != f->hold.last_window)
		return false;
	if (env->now_ns - f->recovery.own_dups_ns > lh_lrto(env, f)) {
		f->recovery.own_dups = 0;
		return false;
	}
	if (f->una != f->max && !lh_head(env, f))
		return false;
	f->recovery.own_dups--;
	return true;
}

LH_INLINE bool lh_send_again(struct lh_env *env, struct lh_flow *f, struct lh_seg *e,
			     enum lh_reason why, struct lh_actions *out)
{
	u32 n = out->nr_retransmit, i = n;

	if (n >= lh_min(env->room, LH_MAX_RETRANSMIT))
		return false;
	/* Before 6.12 the verifier forgets the bound when clang spills @n. */
	lh_barrier(i);
	i &= LH_MAX_RETRANSMIT - 1;
	out->retransmit[i].slot = e->slot;
	out->retransmit[i].seq = e->seq;
	out->nr_retransmit = n + 1;
	e->last_tx_ns = f->sent_ns = env->now_ns;
	e->behind = 0;
	if (why != LH_BY_ORDER) { /* who sends by order keeps the chunks' bounds */
		f->order.all = 1;
		f->order.at = 0;
	}
	lh_cache_again(f);
	lh_queue_copied(env, f);
	f->conn.syn_tx_ns = 0; /* Karn: the answer may be to either SYN */
	f->nr_retransmits++;
	lh_host_count(env, LH_C_local_retransmits, 1);
	lh_host_count(env,
		      why == LH_BY_DUPACK    ? LH_C_retransmits_dupack
		      : why == LH_BY_PARTIAL ? LH_C_retransmits_partial
		      : why == LH_BY_ORDER   ? LH_C_retransmits_order
		      : why == LH_BY_PARTNER ? LH_C_retransmits_asked
		      : why == LH_BY_MAC     ? LH_C_retransmits_mac
					     : LH_C_retransmits_timer,
		      1);
	return true;
}

/* Of so many repairs by time order it is known how many were lost. */
#define LH_ORDERED_MOST 256

LH_INLINE void lh_count_ordered(struct lh_flow *f, const struct lh_seg *e)
{
	struct lh_recovery *r = &f->recovery;

	if (r->ordered >= LH_ORDERED_MOST) {
		r->ordered /= 2;
		r->repeated /= 2;
	}
	r->ordered++;
	r->repeated += e->n_local > 0;
}

LH_INLINE bool lh_resend(struct lh_env *env, struct lh_flow *f, struct lh_seg *e,
			 enum lh_reason why, struct lh_actions *out)
{
	if (!lh_send_again(env, f, e, why, out))
		return false;
	lh_queue_adds(env, f, e->end - e->seq);
	if (why == LH_BY_ORDER)
		lh_count_ordered(f, e);
	e->n_local++;
	if (e->n_local >= LH_CFG(env)->max_local) {
		/* The limit's last try is under way; whatever FH does about the
		 * hole from here on is its own affair (invariant I6). */
		e->flags |= LH_SEG_CONG;
		lh_cache_block(f, e->seq, e->end);
		lh_host_count(env, LH_C_exhausted_segments, 1);
	}
	return true;
}

LH_INLINE void lh_extend_recovery(struct lh_env *env, struct lh_flow *f)
{
	u32 point = f->una, n = lh_min(f->recovery.nr_dup, lh_cached(f) - 1);

	if (lh_flow_sack(f)) {
		point = f->sacked_max;
	} else if (lh_cached(f)) {
		struct lh_seg *e = lh_seg_at(env, f, f->ring.head + n);

		if (e)
			point = e->end;
	}
	if (!(f->flags & LH_FLOW_RECOVERY) || lh_after(point, f->recovery.point))
		f->recovery.point = point;
	f->flags |= LH_FLOW_RECOVERY;
}

/*
 * How many of the last segments behind the head have departed within two local round
 * trips, the queue may have grown: MH's answers to them are still to come. What left
 * before that was answered or lost: an outage leaves a window of it.
 */
LH_INLINE u32 lh_under_way(struct lh_env *env, const struct lh_flow *f)
{
	u32 n = 0, pos = f->ring.tail;
	int i;

	lh_for (i, LH_UNDER_WAY_MAX) {
		struct lh_seg *e;

		if (pos == f->ring.head || --pos == f->ring.head)
			break;
		e = lh_seg_at(env, f, pos);
		if (e && env->now_ns - e->last_tx_ns < 2 * f->rtt.srtt_ns)
			n++;
	}
	return n;
}

LH_INLINE bool lh_dup_repair(struct lh_env *env, struct lh_flow *f, struct lh_seg *e,
			     struct lh_actions *out)
{
	if (e->n_local && (e->n_local >= 2 || env->now_ns - e->last_tx_ns < f->rtt.srtt_ns))
		return false;
	/* Everything cached behind it may still cause a duplicate each; an upper
	 * bound, since ACKs get lost and merged. */
	f->recovery.exp_dup =
		lh_cached(f) - 1 > f->recovery.nr_dup ? lh_cached(f) - 1 - f->recovery.nr_dup : 0;
	f->flags |= LH_FLOW_DUP_DRIVEN;
	if (!lh_resend(env, f, e, LH_BY_DUPACK, out))
		return false;
	e->behind = lh_under_way(env, f);
	return true;
}

/* What is repaired on the word of the hop's other end, or of its MAC, no duplicate drives: there the
 * timer would never run. */
LH_INLINE bool lh_head_armed(struct lh_env *env, const struct lh_flow *f)
{
	u32 policy = lh_policy(env);

	if (LH_CFG(env)->timer_arm != LH_TIMER_AFTER_DUP || (f->flags & LH_FLOW_DUP_DRIVEN))
		return true;
	return (policy & LH_POLICY_MAC) || ((policy & LH_POLICY_PARTNER) && env->partner);
}

LH_INLINE u64 lh_head_deadline(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e = lh_head(env, f);
	u64 from, shift;

	if (!e || (e->flags & LH_SEG_NO_COPY) || lh_seg_overflow(f, e) || lh_seg_stale(f, e) ||
	    e->n_local >= LH_CFG(env)->max_local)
		return 0;
	if (!(f->flags & LH_FLOW_FWD)) /* no ACK ever came by: they take another way */
		return 0;
	if (!lh_head_armed(env, f))
		return 0;
	from = lh_max(e->last_tx_ns, f->progress_ns);
	shift = lh_min(e->n_local, 4);
	if ((lh_policy(env) & LH_POLICY_LATE_BACKOFF) && shift)
		shift--;
	return from + (lh_lrto(env, f) << shift);
}
