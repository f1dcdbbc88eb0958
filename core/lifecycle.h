/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Birth, options and death of a flow as its packets tell them (SPEC section
 * 4), the first RTT samples from the handshake, and joining in mid-stream.
 */
#ifndef LH_LIFECYCLE_H
#define LH_LIFECYCLE_H

#include "order.h"
#include "window.h"

/* Everything anew, as for a connection never seen. */
LH_INLINE void lh_flow_reset(struct lh_env *env, struct lh_flow *f)
{
	u32 peer = f->peer, tag = f->peer_tag;

	lh_cache_flush(env, f);
	/* In two steps, as BPF has no memset(); an empty ring needs no directory. */
	__builtin_memset(f, 0, __builtin_offsetof(struct lh_flow, dir));
	__builtin_memset(&f->nr_dup, 0, sizeof(*f) - __builtin_offsetof(struct lh_flow, nr_dup));
	f->peer = peer;
	f->peer_tag = tag;
	f->wscale_fh = f->wscale_mh = LH_WSCALE_NONE;
}

/* Data starts at @seq as far as we know. */
LH_INLINE void lh_flow_start(struct lh_flow *f, u32 seq)
{
	f->una = f->max = f->sacked_max = f->rtt_end = seq;
	f->flags |= LH_FLOW_STARTED;
}

/* The cache is worthless: MH has acknowledged what never passed here. A hole
 * cannot be open, so nothing is held. */
LH_INLINE void lh_resync(struct lh_env *env, struct lh_flow *f, u32 ack)
{
	lh_cache_flush(env, f);
	f->una = f->max = f->sacked_max = f->rtt_end = ack;
	f->nr_dup = f->exp_dup = f->own_dups = 0;
	f->sacked_bytes = 0;
	lh_sack_forget(f);
	f->flags &= ~(LH_FLOW_OVERFLOW | LH_FLOW_RECOVERY | LH_FLOW_DUP_DRIVEN | LH_FLOW_HELD |
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
		f->wscale_mh = s->wscale;
		f->mss = s->mss;
	} else {
		f->wscale_fh = s->wscale;
	}
}

/* Both SYNs are seen: scaling holds if both offer it (RFC 7323 section 2.2);
 * where one does not, the scale is known to be none. */
LH_INLINE void lh_track_wscale(struct lh_flow *f)
{
	if (f->wscale_fh == LH_WSCALE_NONE || f->wscale_mh == LH_WSCALE_NONE)
		f->wscale_fh = f->wscale_mh = 0;
	f->flags |= LH_FLOW_WSCALE;
}

/* SYN or SYN-ACK from FH. A new initial number means a new connection (port
 * reuse); the same one is a repetition, and gives no RTT sample (Karn). It may come
 * when the first has been answered: beyond a round trip of 1 s it always does. */
LH_INLINE void lh_track_fh_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	bool again = (f->flags & LH_FLOW_STARTED) && f->max == s->seq + 1 &&
		     (f->una == s->seq || f->una == f->max);

	if (again) {
		f->syn_tx_ns = 0;
		return;
	}
	if (!(s->flags & LH_ACK) || (f->flags & LH_FLOW_STARTED)) {
		u8 wscale_mh = f->wscale_mh;
		u16 mss = f->mss;
		u32 isn_mh = f->isn_mh;
		u32 keep = f->flags &
			   (LH_FLOW_SYN_MH | LH_FLOW_SACK_MH | LH_FLOW_MPTCP | LH_FLOW_AUTH);
		bool answer = s->flags & LH_ACK;

		lh_flow_reset(env, f);
		if (answer) {
			f->flags = keep;
			f->wscale_mh = wscale_mh;
			f->mss = mss;
			f->isn_mh = isn_mh;
		}
	}
	lh_track_options(f, s, false);
	lh_flow_start(f, s->seq);
	f->max = s->seq + 1; /* data in a SYN (TFO) is not ours: SPEC section 3 */
	f->flags |= LH_FLOW_SYN_FH;
	f->syn_tx_ns = env->now_ns;
	if (s->flags & LH_ACK) {
		lh_wired_handshake(env, f);
		if (f->flags & LH_FLOW_SYN_MH)
			lh_track_wscale(f);
	}
	f->seen_ns = env->now_ns;
}

/* Any segment from FH. */
LH_INLINE void lh_track_fh(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	f->seen_ns = env->now_ns;
	if (s->flags & LH_RST) {
		f->flags |= LH_FLOW_RESET;
		return;
	}
	if (s->flags & LH_SYN) {
		lh_track_fh_syn(env, f, s);
		return;
	}
	if (s->opts & LH_OPT_AUTH)
		f->flags |= LH_FLOW_AUTH;
	if (!(f->flags & LH_FLOW_STARTED))
		lh_flow_start(f, s->seq);
	lh_wired_data(env, f, s);
	if (s->flags & LH_ACK) {
		lh_wired_handshake(env, f);
		if ((f->flags & LH_FLOW_FIN_MH) && !lh_before(s->ack, f->fin_mh))
			f->flags |= LH_FLOW_FIN_MH_ACKED;
	}
	if (s->flags & LH_FIN) {
		f->flags |= LH_FLOW_FIN_FH;
		f->fin_fh = s->end;
	}
}

/* SYN or SYN-ACK from MH. A repetition gives no sample of the wired round trip
 * (Karn): the answer may be to the first one. */
LH_INLINE void lh_track_mh_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	bool again = (f->flags & LH_FLOW_SYN_MH) && s->seq == f->isn_mh;

	if (s->flags & LH_ACK) {
		f->syn_rx_ns = again ? 0 : env->now_ns;
		f->flags |= LH_FLOW_SYN_MH;
		f->isn_mh = s->seq;
		lh_track_options(f, s, true);
		if (f->flags & LH_FLOW_SYN_FH)
			lh_track_wscale(f);
		if ((f->flags & LH_FLOW_STARTED) && s->ack == f->max && f->una != f->max) {
			if (f->syn_tx_ns)
				lh_rtt_sample(env, f, env->now_ns - f->syn_tx_ns);
			lh_cache_flush(env, f); /* the SYN */
			f->una = f->sacked_max = s->ack;
			f->progress_ns = env->now_ns;
		}
		f->syn_tx_ns = 0;
		/* FH knows this number now: a duplicate of it may be kept. */
		f->last_window = s->window;
		/* A late copy takes nothing back that FH knows since (invariant 16). */
		if ((f->flags & LH_FLOW_FWD) && lh_before(s->ack, f->fwd_ack))
			return;
		f->flags |= LH_FLOW_FWD;
		f->fwd_ack = s->ack;
		f->fwd_edge = f->own_edge = s->ack + s->window; /* never scaled in a SYN */
		f->fwd_flags = 0;
		return;
	}
	/* A late copy says nothing new; another number is the port's next connection. */
	if (again && (f->flags & (LH_FLOW_FWD | LH_FLOW_SYN_FH)))
		return;
	lh_flow_reset(env, f);
	f->flags |= LH_FLOW_SYN_MH;
	f->isn_mh = s->seq;
	f->seen_ns = env->now_ns;
	f->syn_rx_ns = again ? 0 : env->now_ns;
	lh_track_options(f, s, true);
}

/* Any segment from MH. */
LH_INLINE void lh_track_mh(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	f->seen_ns = env->now_ns;
	if (s->flags & LH_RST) {
		f->flags |= LH_FLOW_RESET;
		return;
	}
	if (s->flags & LH_SYN) {
		lh_track_mh_syn(env, f, s);
		return;
	}
	if (s->flags & LH_FIN) {
		f->flags |= LH_FLOW_FIN_MH;
		f->fin_mh = s->end;
	}
	if (!(s->flags & LH_ACK))
		return;
	if (s->nr_sack)
		f->flags |= LH_FLOW_SACK_SEEN;
	if (!(f->flags & LH_FLOW_STARTED))
		lh_flow_start(f, s->ack);
	/* The answer to FH's SYN-ACK: a local sample without queue or data. */
	if (f->syn_tx_ns && s->ack == f->una + 1) {
		lh_rtt_sample(env, f, env->now_ns - f->syn_tx_ns);
		f->syn_tx_ns = 0;
	}
	if ((f->flags & LH_FLOW_FIN_FH) && !lh_before(s->ack, f->fin_fh))
		f->flags |= LH_FLOW_FIN_FH_ACKED;
}

/* Whether the segment from FH occupies sequence space that we care for. */
LH_INLINE bool lh_is_data(const struct lh_flow *f, const struct lh_segment *s)
{
	return !(s->flags & (LH_SYN | LH_RST)) && s->end != s->seq && lh_after(s->end, f->una);
}

/* A zero-window probe: one byte into a closed window (RFC 9293 3.8.6.1), whether
 * MH has closed it or we have. It is meant to be answered, not delivered: never
 * cached. */
LH_INLINE bool lh_is_probe(const struct lh_flow *f, const struct lh_segment *s)
{
	return (f->flags & LH_FLOW_FWD) && (!f->last_window || f->outage.frozen) &&
	       s->payload_bytes <= 1 && !(s->flags & LH_FIN);
}

/* @s departs without a place in the cache. */
LH_INLINE void lh_track_max(struct lh_flow *f, const struct lh_segment *s)
{
	/* With what it jumps over, if it does. */
	lh_cache_block(f, lh_after(s->seq, f->max) ? f->max : s->seq, s->end);
	if (lh_after(s->end, f->max))
		f->max = s->end;
}

#endif /* LH_LIFECYCLE_H */
