/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "accept.h"
#include "order.h"
#include "window.h"

#define LH_OFFSET(field) __builtin_offsetof(struct lh_flow, field)

LH_INLINE void lh_flow_reset(struct lh_env *env, struct lh_flow *f)
{
	u32 peer = f->peer, tag = f->peer_tag;

	lh_cache_flush(env, f);
	lh_resequence_drop(env, f);
	lh_shadow_end(env, f);
	/* In steps, as BPF has no memset() for more than 1 KiB; the empty ring between them stays, and
	 * the shadow's part is clear. */
	__builtin_memset(f, 0, LH_OFFSET(control));
	__builtin_memset(&f->control, 0, LH_OFFSET(ring) - LH_OFFSET(control));
	__builtin_memset(&f->claim, 0, LH_OFFSET(arrival) - LH_OFFSET(claim));
	__builtin_memset(&f->arrival, 0, LH_OFFSET(resequence) - LH_OFFSET(arrival));
	__builtin_memset(&f->resequence, 0, LH_OFFSET(shadow) - LH_OFFSET(resequence));
	f->ring.reclaimed_ns = 0;
	f->peer = peer;
	f->peer_tag = tag;
	lh_lmin_renew(env, f);
	f->conn.wscale_fh = f->conn.wscale_mh = LH_WSCALE_NONE;
}

LH_INLINE void lh_flow_free(struct lh_env *env, struct lh_flow *f)
{
	lh_cache_free(env, f);
	lh_resequence_drop(env, f);
	lh_shadow_end(env, f);
}

/* Data starts at @seq as far as we know. */
LH_INLINE void lh_flow_start(struct lh_flow *f, u32 seq)
{
	f->una = f->max = f->sacked_max = f->rtt.end = seq;
	f->flags |= LH_FLOW_STARTED;
}

/* The same in mid-stream. */
LH_INLINE void lh_flow_join(struct lh_env *env, struct lh_flow *f, u32 seq)
{
	lh_flow_start(f, seq);
	lh_cache_fh_unseen(env, f);
}

LH_INLINE void lh_resync(struct lh_env *env, struct lh_flow *f, u32 ack)
{
	lh_cache_flush(env, f);
	lh_flow_join(env, f, ack);
	f->progress_ns = env->now_ns;
	f->recovery.nr_dup = f->recovery.exp_dup = f->recovery.own_dups = 0;
	f->delivery.sacked_bytes = f->nr_sacked = 0;
	f->mac.lost_end = f->mac.lost_start;
	f->mac.timer_ns = 0;
	lh_sack_forget(f);
	f->flags &= ~(LH_FLOW_OVERFLOW | LH_FLOW_RECOVERY | LH_FLOW_DUP_DRIVEN | LH_FLOW_WITHHOLDS |
		      LH_FLOW_ABANDONED | LH_FLOW_BLOCKED | LH_FLOW_RTX);
}

LH_INLINE void lh_track_options(struct lh_flow *f, const struct lh_segment *s, bool from_mh)
{
	if (s->opts & LH_OPT_SACK_OK)
		f->flags |= from_mh ? LH_FLOW_SACK_MH : LH_FLOW_SACK_FH;
	if (s->opts & LH_OPT_MPTCP)
		f->flags |= LH_FLOW_MPTCP;
	if (s->opts & LH_OPT_AUTH)
		f->flags |= LH_FLOW_AUTH;
	if (from_mh) {
		f->conn.wscale_mh = s->wscale;
		f->conn.mss = s->mss;
	} else {
		f->conn.wscale_fh = s->wscale;
	}
}

/* Both SYNs are seen: scaling holds if both offer it (RFC 7323 section 2.2);
 * where one does not, the scale is known to be none. */
LH_INLINE void lh_track_wscale(struct lh_flow *f)
{
	if (f->conn.wscale_fh == LH_WSCALE_NONE || f->conn.wscale_mh == LH_WSCALE_NONE)
		f->conn.wscale_fh = f->conn.wscale_mh = 0;
	f->flags |= LH_FLOW_WSCALE;
}

/* Whether the connection is past its handshake and not closed both ways: a SYN may be
 * anybody's then (RFC 5961 section 4). */
LH_INLINE bool lh_live(const struct lh_flow *f)
{
	u32 closed = LH_FLOW_FIN_FH_ACKED | LH_FLOW_FIN_MH_ACKED;

	return (f->flags & LH_FLOW_LIVE) && (f->flags & closed) != closed;
}

/* FH's SYN or SYN-ACK opens the connection. */
LH_INLINE void lh_open_fh(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	lh_track_options(f, s, false);
	lh_flow_start(f, s->seq);
	f->max = s->seq + 1; /* data in a SYN (TFO, RFC 7413) is not ours: section 7 */
	f->flags |= LH_FLOW_SYN_FH;
	f->flags &= ~(LH_FLOW_RESET | LH_FLOW_FH_RTX);
	f->conn.syn_tx_ns = env->now_ns;
	f->seen_ns = env->now_ns;
	f->fh.known = 0; /* its number is this one from now on */
	lh_ends_learn(&f->fh, &f->mh, s, s->window);
}

/* MH's. */
LH_INLINE void lh_open_mh(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	lh_track_options(f, s, true);
	f->flags |= LH_FLOW_SYN_MH;
	f->flags &= ~LH_FLOW_RESET;
	f->conn.isn_mh = s->seq;
	lh_arrival_open(f, s->end);
	f->wired.syn_rx_ns = env->now_ns;
	f->seen_ns = env->now_ns;
	f->mh.known = 0;
	lh_ends_learn(&f->mh, &f->fh, s, s->window);
}

LH_INLINE void lh_syn_aside(struct lh_syn *syn, const struct lh_segment *s, bool from_mh,
			    u64 now_ns)
{
	bool again = syn->valid && syn->seq == s->seq && syn->from_mh == from_mh;

	syn->at_ns = again ? 0 : now_ns;
	syn->seq = s->seq;
	syn->end = s->end;
	syn->window = s->window;
	syn->mss = s->mss;
	syn->wscale = s->wscale;
	syn->opts = s->opts;
	syn->from_mh = from_mh;
	syn->valid = 1;
}

LH_INLINE bool lh_syn_answered(const struct lh_syn *syn, const struct lh_segment *s, bool from_mh)
{
	/* The SYN alone, or with all of the data in it (RFC 7413 section 4.2.2): anything between
	 * may be forged, and 300 numbers are 300 times as easy to guess as two. */
	return syn->valid && syn->from_mh != from_mh &&
	       (s->ack == syn->seq + 1 || s->ack == syn->end);
}

/* The SYN kept aside has opened another connection between the same ports: that of
 * the flow is over. */
LH_ENTRY int lh_syn_take(struct lh_env *env, struct lh_flow *f)
{
	struct lh_segment s;
	bool from_mh;
	u64 at_ns;

	if (!env || !f)
		return 0;
	at_ns = f->conn.syn.at_ns;
	from_mh = f->conn.syn.from_mh;
	__builtin_memset(&s, 0, sizeof(s));
	s.seq = f->conn.syn.seq;
	s.end = f->conn.syn.end;
	s.flags = LH_SYN;
	s.window = f->conn.syn.window;
	s.mss = f->conn.syn.mss;
	s.wscale = f->conn.syn.wscale;
	s.opts = f->conn.syn.opts;
	lh_flow_reset(env, f);
	if (from_mh) {
		lh_open_mh(env, f, &s);
		f->wired.syn_rx_ns = at_ns;
	} else {
		lh_open_fh(env, f, &s);
		f->conn.syn_tx_ns = at_ns;
	}
	return 0;
}

/* Whether a SYN-ACK from FH (@from_mh: from MH) acknowledges the other end's SYN, which we
 * saw, with or without the data in it. */
LH_INLINE bool lh_syn_matches(const struct lh_flow *f, const struct lh_segment *s, bool from_mh)
{
	u32 isn = from_mh ? f->max - 1 : f->conn.isn_mh;

	return lh_after(s->ack, isn) && !lh_after(s->ack, from_mh ? f->fh.end : f->mh.end);
}

/*
 * Whether FH's SYN-ACK @s belongs to a simultaneous open (RFC 9293 section 3.5): MH's SYN crossed FH's and took its
 * place here, and MH's answer has come first. Both numbers are what MH has said, or anybody could open a live
 * connection anew.
 */
LH_INLINE bool lh_syn_crossed(const struct lh_flow *f, const struct lh_segment *s)
{
	u32 need = LH_FLOW_SYN_MH | LH_FLOW_FWD, unless = LH_FLOW_SYN_FH | LH_FLOW_STARTED;

	return (f->flags & (need | unless)) == need && s->ack == f->conn.isn_mh + 1 &&
	       s->seq + 1 == f->hold.fwd_ack;
}

/* Takes it: MH has got what it says, so that neither round trip can be told. An entry of its own, as this is rare. */
LH_ENTRY int lh_open_crossed(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (!env || !f || !s)
		return 0;
	lh_open_fh(env, f, s);
	lh_flow_start(f, f->max);
	lh_track_wscale(f);
	f->conn.syn_tx_ns = f->wired.syn_rx_ns = 0;
	return 1;
}

/*
 * SYN or SYN-ACK from FH. A new initial number means a new connection (port
 * reuse), on a live one once MH has answered it; the same one is a repetition, and gives no
 * RTT sample (Karn). It may come when the first has been answered: beyond a round trip of
 * 1 s it always does. @return whether @s is the flow's own.
 */
LH_INLINE bool lh_track_fh_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	bool again = (f->flags & LH_FLOW_STARTED) && f->max == s->seq + 1 &&
		     (f->una == s->seq || f->una == f->max);
	bool answer = s->flags & LH_ACK;

	if (again) {
		f->conn.syn_tx_ns = 0;
		f->flags &= ~LH_FLOW_RESET;
		return true;
	}
	if (answer && lh_syn_answered(&f->conn.syn, s, false))
		lh_syn_take(env, f);
	if (lh_live(f)) {
		if (!answer)
			lh_syn_aside(&f->conn.syn, s, false, env->now_ns);
		return answer && lh_syn_crossed(f, s) && lh_open_crossed(env, f, s);
	}
	if (answer && (f->flags & LH_FLOW_SYN_MH) && !lh_syn_matches(f, s, false))
		return false;
	if (!answer || ((f->flags & LH_FLOW_STARTED) && !(f->flags & LH_FLOW_SYN_MH)))
		lh_flow_reset(env, f);
	lh_open_fh(env, f, s);
	if (answer) {
		lh_wired_handshake(env, f);
		if (f->flags & LH_FLOW_SYN_MH)
			lh_track_wscale(f);
		f->flags |= LH_FLOW_LIVE;
	}
	return true;
}

/* The numbers of @s from FH: are they its? What they tell is noted. */
LH_INLINE enum lh_accepted lh_accept_fh(struct lh_flow *f, const struct lh_segment *s)
{
	enum lh_accepted is = lh_acceptable(f, &f->fh, &f->mh, s);

	if (is == LH_REFUSED || is == LH_FAR)
		lh_claim_note(f, s);
	else
		lh_ends_learn(&f->fh, &f->mh, s, lh_granted(f, &f->mh, s, f->conn.wscale_fh));
	return is;
}

LH_INLINE bool lh_track_fh(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (s->flags & LH_RST) {
		if (lh_accept_fh(f, s) != LH_ACCEPTED)
			return false;
		f->flags |= LH_FLOW_RESET;
		f->seen_ns = env->now_ns;
		return true;
	}
	if (s->flags & LH_SYN)
		return lh_track_fh_syn(env, f, s);
	if (lh_accept_fh(f, s) != LH_ACCEPTED)
		return false;
	f->seen_ns = env->now_ns;
	f->flags |= LH_FLOW_LIVE;
	f->flags &= ~LH_FLOW_CLAIM;
	if (!lh_after(s->end, f->una) && lh_stuck(env, f))
		lh_claim_note(f, s);
	if (s->payload_bytes)
		f->flags &= ~LH_FLOW_RESET;
	if (s->opts & LH_OPT_AUTH)
		f->flags |= LH_FLOW_AUTH;
	if ((s->opts & LH_OPT_TS) &&
	    (!(f->flags & LH_FLOW_TSVAL_FH) || lh_after(s->tsval, f->conn.tsval_fh))) {
		f->conn.tsval_fh = s->tsval;
		f->flags |= LH_FLOW_TSVAL_FH;
	}
	if (!(f->flags & LH_FLOW_STARTED))
		lh_flow_join(env, f, s->seq);
	lh_wired_data(env, f, s);
	lh_wired_handshake(env, f);
	if ((f->flags & LH_FLOW_FIN_MH) && !lh_before(s->ack, f->conn.fin_mh))
		f->flags |= LH_FLOW_FIN_MH_ACKED;
	if ((f->flags & LH_FLOW_FIN_FH) && lh_after(s->end, f->conn.fin_fh))
		f->flags &= ~(LH_FLOW_FIN_FH | LH_FLOW_FIN_FH_ACKED); /* that one was forged */
	if (s->flags & LH_FIN) {
		f->flags |= LH_FLOW_FIN_FH;
		f->conn.fin_fh = s->end;
	}
	return true;
}

/* MH's SYN-ACK, which answers a SYN that FH may have sent. */
LH_INLINE void lh_track_mh_answer(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	lh_open_mh(env, f, s);
	if (f->flags & LH_FLOW_SYN_FH)
		lh_track_wscale(f);
	/* With the data in it, if there were any (RFC 7413 section 4.2.2). */
	if ((f->flags & LH_FLOW_STARTED) && f->una != f->max && !lh_before(s->ack, f->max) &&
	    !lh_after(s->ack, f->fh.end)) {
		if (f->conn.syn_tx_ns)
			lh_rtt_sample(env, f, env->now_ns - f->conn.syn_tx_ns);
		lh_cache_flush(env, f); /* the SYN */
		lh_flow_start(f, s->ack);
		f->progress_ns = env->now_ns;
	}
	f->conn.syn_tx_ns = 0;
	/* FH knows this number now: a duplicate of it may be kept. */
	f->hold.last_window = s->window;
	f->flags |= LH_FLOW_FWD | LH_FLOW_LIVE;
	f->hold.fwd_ack = s->ack;
	f->hold.fwd_edge = f->hold.own_edge = s->ack + s->window; /* never scaled in a SYN */
	f->hold.fwd_flags = 0;
}

/* SYN or SYN-ACK from MH. A repetition gives no sample of the wired round trip
 * (Karn): the answer may be to the first one, and a late copy says nothing new. */
LH_INLINE void lh_track_mh_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	bool again = (f->flags & LH_FLOW_SYN_MH) && s->seq == f->conn.isn_mh;
	bool answer = s->flags & LH_ACK;

	if (again && lh_live(f)) {
		f->wired.syn_rx_ns = 0;
		return;
	}
	if (answer && lh_syn_answered(&f->conn.syn, s, true))
		lh_syn_take(env, f);
	if (lh_live(f)) {
		if (!answer)
			lh_syn_aside(&f->conn.syn, s, true, env->now_ns);
		return;
	}
	if (answer) {
		if ((f->flags & LH_FLOW_SYN_FH) && !lh_syn_matches(f, s, true))
			return;
		lh_track_mh_answer(env, f, s);
		return;
	}
	if (again && (f->flags & LH_FLOW_SYN_FH))
		return;
	lh_flow_reset(env, f);
	lh_open_mh(env, f, s);
	if (again)
		f->wired.syn_rx_ns = 0;
}

/* Both ends agree on numbers that we know nothing of: as if we had just come, in
 * mid-stream. Options and scales may be another connection's. */
LH_ENTRY int lh_pick_up(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	u32 end;

	if (!env || !f || !s)
		return 0;
	end = f->claim.end;
	lh_flow_reset(env, f);
	lh_flow_join(env, f, s->ack);
	f->max = f->fh.end = end;
	f->fh.edge = end + LH_UNHEARD_BYTES;
	f->fh.known = 1;
	lh_ends_learn(&f->mh, &f->fh, s, lh_granted(f, &f->fh, s, 0));
	f->seen_ns = f->progress_ns = env->now_ns;
	f->flags |= LH_FLOW_LIVE;
	lh_host_count(env, LH_C_resynchronised, 1);
	return 0;
}

/* The numbers of @s from MH: are they its? If not, both ends may yet agree on them. */
LH_INLINE bool lh_accept_mh(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	enum lh_accepted is = lh_acceptable(f, &f->mh, &f->fh, s);

	if (is == LH_FAR && lh_claim_answered(f, s)) {
		lh_claim_take(f, s);
	} else if (is == LH_REFUSED || is == LH_FAR) {
		lh_host_count(env, LH_C_bypass_unacceptable, 1);
		if (lh_claim_proved(env, f, s))
			lh_pick_up(env, f, s);
		return false;
	} else if (lh_claim_below(env, f, s)) {
		lh_pick_up(env, f, s);
		return false;
	}
	lh_ends_learn(&f->mh, &f->fh, s, lh_granted(f, &f->fh, s, f->conn.wscale_mh));
	return true;
}

LH_INLINE bool lh_track_mh(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (s->flags & LH_SYN && !(s->flags & LH_RST)) {
		lh_track_mh_syn(env, f, s);
		return false; /* nothing is acknowledged that a scheme would look after */
	}
	if (!lh_accept_mh(env, f, s))
		return false;
	f->seen_ns = env->now_ns;
	if (s->flags & LH_RST) {
		f->flags |= LH_FLOW_RESET;
		return false;
	}
	f->flags |= LH_FLOW_LIVE;
	if ((f->flags & LH_FLOW_FIN_MH) && lh_after(s->end, f->conn.fin_mh))
		f->flags &= ~(LH_FLOW_FIN_MH | LH_FLOW_FIN_MH_ACKED); /* that one was forged */
	if (s->flags & LH_FIN) {
		f->flags |= LH_FLOW_FIN_MH;
		f->conn.fin_mh = s->end;
	}
	if (s->nr_sack)
		f->flags |= LH_FLOW_SACK_SEEN;
	if (!(f->flags & LH_FLOW_STARTED))
		lh_flow_join(env, f, s->ack);
	/* The answer to FH's SYN-ACK: a local sample without queue or data. */
	if (f->conn.syn_tx_ns && s->ack == f->una + 1) {
		lh_rtt_sample(env, f, env->now_ns - f->conn.syn_tx_ns);
		f->conn.syn_tx_ns = 0;
	}
	if ((f->flags & LH_FLOW_FIN_FH) && !lh_before(s->ack, f->conn.fin_fh))
		f->flags |= LH_FLOW_FIN_FH_ACKED;
	return true;
}

LH_INLINE bool lh_is_data(const struct lh_flow *f, const struct lh_segment *s)
{
	return !(s->flags & (LH_SYN | LH_RST)) && s->end != s->seq && lh_after(s->end, f->una);
}

LH_INLINE bool lh_is_probe(const struct lh_flow *f, const struct lh_segment *s)
{
	return (f->flags & LH_FLOW_FWD) && (!f->hold.last_window || f->outage.frozen) &&
	       s->payload_bytes <= 1 && !(s->flags & LH_FIN);
}

LH_INLINE void lh_track_max(struct lh_flow *f, const struct lh_segment *s)
{
	/* With what it jumps over, if it does. */
	lh_cache_block(f, lh_after(s->seq, f->max) ? f->max : s->seq, s->end);
	if (lh_after(s->end, f->max))
		f->max = s->end;
}
