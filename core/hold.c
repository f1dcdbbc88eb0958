/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "cache.h"
#include "rtt.h"

/* Flags whose change FH must see (CAKE's ACK filter refuses the same). */
#define LH_ECN_FLAGS (LH_ECE | LH_CWR | LH_AE)

LH_INLINE bool lh_flow_sack(const struct lh_flow *f)
{
	u32 both = LH_FLOW_SACK_FH | LH_FLOW_SACK_MH;

	return (f->flags & both) == both || (f->flags & LH_FLOW_SACK_SEEN);
}

LH_INLINE bool lh_gapped(const struct lh_flow *f)
{
	return lh_after(f->sacked_max, f->una);
}

/* Whether the blocks of @s may be blanked, as far as it itself says. */
LH_INLINE bool lh_blankable(const struct lh_segment *s)
{
	u32 more = LH_FIN | LH_SYN | LH_RST | LH_URG | LH_RESERVED;

	return !(s->flags & more) && !(s->opts & LH_OPT_MPTCP);
}

LH_INLINE bool lh_pure(const struct lh_segment *s)
{
	return lh_blankable(s) && !s->payload_bytes && !(s->flags & LH_PSH) &&
	       !(s->opts & LH_OPT_UNKNOWN);
}

LH_INLINE bool lh_flow_sealed(const struct lh_flow *f)
{
	return f->flags & (LH_FLOW_AUTH | LH_FLOW_MPTCP);
}

LH_INLINE bool lh_asks(const struct lh_flow *f, const struct lh_segment *s)
{
	return s->seq + 1 == f->mh.end && s->seq == s->end;
}

/* Right edge of the window in @s; just the ACK where the scale is unknown. */
LH_INLINE u32 lh_window_edge(const struct lh_flow *f, const struct lh_segment *s)
{
	if (!(f->flags & LH_FLOW_WSCALE))
		return s->ack;
	return s->ack + ((u32)s->window << (f->conn.wscale_mh & 15));
}

LH_INLINE u32 lh_edited_edge(struct lh_env *env, const struct lh_flow *f,
			     const struct lh_segment *s, const struct lh_actions *out)
{
	if (out->window == LH_KEEP_WINDOW)
		return env->view.edge;
	return s->ack + (out->window << (f->conn.wscale_mh & 15));
}

LH_INLINE u32 lh_kept_edge(const struct lh_flow *f, u32 edge)
{
	u32 unit = 1U << (f->conn.wscale_mh & 15);

	return lh_before(edge, f->hold.fwd_edge) && lh_before(f->hold.fwd_edge, edge + unit)
		       ? f->hold.fwd_edge
		       : edge;
}

LH_INLINE u32 lh_shown_edge(const struct lh_flow *f)
{
	u32 shift = f->conn.wscale_mh & 15;

	return f->hold.fwd_ack + ((f->hold.fwd_edge - f->hold.fwd_ack) >> shift << shift);
}

LH_INLINE bool lh_window_needed(struct lh_env *env, const struct lh_flow *f,
				const struct lh_segment *s)
{
	u32 edge = env->view.edge;

	if (!(f->flags & LH_FLOW_WSCALE) || !(f->flags & LH_FLOW_FWD))
		return s->window != f->hold.last_window;
	/* Against what FH knows, not what came last: that one may have been kept
	 * back when FH had room, and has none now. */
	if (edge == f->hold.fwd_edge)
		return false;
	return LH_CFG(env)->strict_window || lh_before(edge, f->hold.fwd_edge) ||
	       !lh_before(f->max + 2 * lh_mss(f), f->hold.fwd_edge);
}

/* Whether MH reports something that went by unseen. */
LH_INLINE bool lh_sack_unseen(const struct lh_flow *f, const struct lh_segment *s)
{
	int i;

	for (i = 0; i < LH_MAX_SACK; i++)
		if (i < s->nr_sack && lh_after(s->sack[i].right, f->max))
			return true;
	return false;
}

/* Whether the first SACK block of @s reports a second copy that can't be of
 * FH's own making: FH never sent it twice, so the repair was superfluous. */
LH_INLINE bool lh_dsack_ours(const struct lh_flow *f, const struct lh_segment *s)
{
	/* None of ours can lie further back: the answer to what somebody forges in FH's name. */
	u32 oldest = f->una - 2 * LH_FLOW_SEGS * lh_mss(f);

	if (!s->dsack || lh_before(s->sack[0].left, oldest))
		return false;
	return !(f->flags & LH_FLOW_FH_RTX) || !lh_before(s->sack[0].left, f->cache.fh_rtx_end) ||
	       !lh_after(s->sack[0].right, f->cache.fh_rtx_start);
}

/* Whether FH may be told later of what the blocks of @s say, or of all, if that is nothing but its number, window
 * and these. */
LH_INLINE bool lh_bare(struct lh_env *env, const struct lh_flow *f, const struct lh_segment *s)
{
	if (!env->alive || (f->flags & LH_FLOW_ABANDONED) || lh_flow_sealed(f))
		return false;
	return (f->flags & LH_FLOW_FWD) && !((f->hold.fwd_flags ^ s->flags) & LH_ECN_FLAGS);
}

/* What blocks have to say, of an ACK that has some. A function of its own: the verifier need not tell its cases
 * apart in what follows. */
LH_ENTRY int lh_ack_see_blocks(struct lh_env *env, const struct lh_flow *f,
			       const struct lh_segment *s)
{
	if (!env || !f || !s)
		return 0;
	env->view.unseen = lh_sack_unseen(f, s);
	env->view.dsack_ours = lh_dsack_ours(f, s);
	return 0;
}

LH_INLINE void lh_ack_see(struct lh_env *env, const struct lh_flow *f, const struct lh_segment *s)
{
	struct lh_ack_view *v = &env->view;
	bool ours = !s->nr_missing || (lh_policy(env) & LH_POLICY_CHANNEL);

	v->edge = lh_window_edge(f, s);
	v->pure = lh_pure(s) && ours && !lh_asks(f, s);
	v->blankable = lh_blankable(s) && ours && !lh_asks(f, s) && lh_bare(env, f, s);
	v->bare = v->pure && v->blankable;
	v->unseen = v->dsack_ours = 0;
	if (s->nr_sack)
		lh_ack_see_blocks(env, f, s);
}

LH_INLINE bool lh_hold_expired(struct lh_env *env, const struct lh_flow *f)
{
	return (f->flags & LH_FLOW_WITHHOLDS) && env->now_ns >= f->hold.until_ns;
}

LH_INLINE bool lh_in_hand(struct lh_env *env, struct lh_flow *f)
{
	if (lh_hold_expired(env, f))
		return false;
	return lh_cache_covers(env, f, lh_flow_sack(f) ? f->sacked_max : f->una + 1);
}

LH_INLINE bool lh_suppressible(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	/* FH must have seen an ACK of this very number. */
	return env->view.bare && !s->dsack && f->hold.fwd_ack == s->ack && !f->outage.frozen &&
	       !lh_window_needed(env, f, s) && lh_in_hand(env, f);
}

/* From now on FH is not told all, as @flag says: for a time. */
LH_INLINE void lh_hold_begin(struct lh_env *env, struct lh_flow *f, u32 flag)
{
	if (!(f->flags & LH_FLOW_WITHHOLDS)) {
		f->hold.since_ns = env->now_ns;
		f->hold.until_ns = env->now_ns + lh_hold_time(env, f);
	}
	f->flags |= flag;
}

LH_INLINE void lh_suppress(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	lh_hold_begin(env, f, LH_FLOW_HELD);
	f->nr_suppressed++;
	lh_host_count(env, LH_C_suppressed_acks, 1);
	out->verdict = LH_DROP;
	out->hold = 1;
}

LH_INLINE void lh_hide_blocks(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      struct lh_actions *out)
{
	if (s->payload_bytes)
		lh_hold_begin(env, f, LH_FLOW_HIDDEN);
	else
		lh_suppress(env, f, out);
	out->verdict = LH_PASS;
	out->blank_sack = 1;
}

LH_INLINE void lh_hold_newer(struct lh_env *env, const struct lh_flow *f, struct lh_actions *out)
{
	if ((f->flags & LH_FLOW_HELD) && !lh_flow_sack(f) && env->view.pure)
		out->hold = 1;
}

LH_INLINE void lh_abandon(struct lh_env *env, struct lh_flow *f, bool passing,
			  struct lh_actions *out)
{
	u32 copies = lh_flow_sack(f) ? 1 : 3;

	if (f->flags & LH_FLOW_HELD) {
		out->emit_held = copies - passing;
		f->nr_released += out->emit_held;
		lh_host_count(env, LH_C_released_acks, out->emit_held);
	}
	f->flags &= ~LH_FLOW_WITHHOLDS;
	f->flags |= LH_FLOW_ABANDONED;
}

LH_INLINE void lh_forwarded(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    const struct lh_actions *out)
{
	u32 edge = lh_edited_edge(env, f, s, out);

	f->flags |= LH_FLOW_FWD;
	f->hold.fwd_ack = s->ack;
	f->hold.fwd_edge = out->window == LH_KEEP_WINDOW ? edge : lh_kept_edge(f, edge);
	f->hold.fwd_flags = s->flags;
	f->outage.frozen = 0; /* FH has MH's own word on the window again */
}
