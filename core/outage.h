/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outages of the hop (docs/design.md, sections 5.4, SLACK, and 5.5, handoff): how one is
 * noticed, what FH is told before its timer fires, how its end is found out, and the repair of
 * the window that it swallowed. SLACK is a proposal of the Linux Snoop paper, which was never
 * built; times and conditions are this project's. Scheme `slack` does all of it, to FH of the
 * papers' time; `rack` tells FH nothing, whose timestamps or F-RTO (RFC 4015, RFC 5682) take a
 * timeout back when the window arrives after all, and looks for the end more often.
 *
 * What FH gets are copies of the last ACK that it has seen, never another number (invariant
 * I11). Three of them start fast retransmit in a sender without SACK, which halves its window
 * and restarts its timer, where a timeout would have left it one segment.
 */
#ifndef LH_OUTAGE_H
#define LH_OUTAGE_H

#include "detect.h"
#include "types.h"

/* An outage of the hop, and what FH is told of it (outage.h; schemes rack and slack). */
struct lh_outage {
	u64 heard_ns; /* last ACK from MH, or when another flow's was found out */
	u64 since_ns; /* when the outage was noticed; 0: there is none */
	u64 first_ns; /* the same of the first in a row of which none brought una on; with since_ns */
	u64 down_ns; /* when the link was said to be down; 0: it was not, or MH was heard since */
	u64 rto_from_ns; /* FH's timer finds an ACK in time that leaves here within its RTO of this */
	u64 back_ns; /* when MH was heard again; 0: no lost window is being repaired */
	/* Scheme rack. */
	u64 ended_ns; /* when the last outage ended; what departed before measured it */
	u64 lost_ns; /* what departed before and has not arrived is lost; 0: who knows */
	u64 every_ns; /* least time between two probes of the receiver; with since_ns */
	u64 apart_ns; /* and between two of any receivers' */
	u64 turn_ns; /* the next one waits so long for those of other receivers */
	u32 next; /* sequence number up to which the lost window is repaired; with back_ns */
	u32 lost_end; /* what had departed at back_ns */
	u32 kept_ack; /* number of the ACK that the host has a copy of; with kept */
	u32 begin_end; /* end of the head when the last outage began; with first_ns */
	u8 kept; /* 1: the held ACK's buffer is filled, and as new as what FH knows */
	u8 told; /* bursts and freezes since the last new ACK */
	u8 frozen; /* 1: FH believes the window closed, by our word */
	u8 mute; /* 1: FH can't be told of this outage */
	u8 nr_probes; /* of the head in this outage, or this row of them */
	u8 vain; /* 1: the last outage ended, and the head of when it began MH lacks still, or a part of it */
	u8 pad[2];
};

#define LH_OUTAGE_BURST LH_MAX_RETRANSMIT /* repairs per ACK once MH is back */

/* Whether the host has a copy of the last ACK that FH has seen. */
LH_INLINE bool lh_outage_has_ack(const struct lh_flow *f);

/*
 * The ACK of this call is done with: the host shall have a copy of the last one
 * that FH got. It shares its place with the one that is kept back (hold.h), which
 * has the same number; where that one has SACK blocks to tell it stays. Beside
 * data of MH's, a bare copy is out of date: FH drops it for its old number.
 */
LH_INLINE void lh_outage_keep(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      enum lh_ack_class kind, struct lh_actions *out);

/* Data departs. If it is the oldest outstanding, FH's timer started when FH sent
 * it, half a wired round trip ago; an ACK takes another half to get there. */
LH_INLINE void lh_outage_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* When the failures of the head (@e: lh_head()) and MH's silence amount to an outage, 0: they don't. */
LH_INLINE u64 lh_outage_at(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e);

/*
 * An outage begins. MH may be heard while its head never arrives: it sends data of its own, and
 * refuses that segment, or it is too large for what is behind the hop. Each word of MH's then
 * ends an outage and the next one begins. Those are a row: probes go on by the time of the first,
 * and the tries that failed are forgiven once (lh_outage_doubt()).
 */
LH_INLINE void lh_outage_begin(struct lh_env *env, struct lh_flow *f);

/*
 * When FH is to be told, 0: not. At three quarters of its timeout, with what is
 * left for the way and for an estimate that is too long. Once FH has repeated the
 * segment by itself it is too late for duplicates: it has been in the timeout, or
 * in fast recovery already. A closed window helps it even then, its timer stops
 * doubling.
 */
LH_INLINE u64 lh_outage_tell_at(struct lh_env *env, const struct lh_flow *f);

/* The window opens again, as wide as MH said last. */
LH_INLINE void lh_outage_thaw(struct lh_flow *f, struct lh_actions *out);

LH_INLINE void lh_outage_tell(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/*
 * When the head goes out again to see whether MH is back, 0: never. LRTO apart at
 * first, then an eighth of the outage, so that its end is noticed soon in
 * proportion; the 64th comes after some 700 times eight LRTO.
 */
LH_INLINE u64 lh_outage_probe_at(struct lh_env *env, const struct lh_flow *f);

/* Whether another flow of the receiver @p has heard it in our outage: what was still
 * on its way when the link was said to be down does not count. */
LH_INLINE bool lh_outage_known_over(const struct lh_flow *f, const struct lh_peer *p);

/*
 * When the next probe of an outage is due with LH_POLICY_PEER_OUTAGE: the flows of a receiver
 * share one prober, the
 * flow whose head went out last goes on, the others stand by, at times of their
 * own, should it end. A hundred flows would else be a hundred probes each time. When
 * one of them hears MH the others find out as soon as they look.
 */
LH_INLINE u64 lh_outage_rack_at(struct lh_env *env, const struct lh_flow *f);

/*
 * For a host to whom lh_on_timer() is dear, and who has not got the flow's lock: until
 * when a flow that stands by need not be looked after although its deadline has come;
 * 0: it must be. @now_ns: of the host.
 */
LH_INLINE u64 lh_outage_stands_by(struct lh_env *env, const struct lh_flow *f, u64 now_ns);

/*
 * Sends the head, not as one of its max_local tries: that many would be used up
 * before a longer outage ends. All receivers' probes together take no more than the share of the hop that
 * those of one may: each is given its turn for the next one (lh_outage_turns()). One segment each to 400 receivers
 * that had fallen silent made 12,000 probes a second, five times what the hop carried, and before all else that queued.
 */
LH_INLINE void lh_outage_probe(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/* Up to @budget repairs of the lost window, in order: a duplicate then tells that
 * the head's own was lost, so that none is expected (lh_recovery.exp_dup). */
LH_INLINE void lh_outage_repair(struct lh_env *env, struct lh_flow *f, u32 budget,
				enum lh_reason why, struct lh_actions *out);

/* An ACK has come from MH, which ends an outage. */
LH_INLINE void lh_outage_heard(struct lh_env *env, struct lh_flow *f);

/*
 * The outage is over, with LH_POLICY_PEER_OUTAGE; also where another flow has heard MH. The
 * order on the hop tells what is lost: all that departed longer ago than an answer takes, for
 * the answers since then would have come before this one. Without SACK it is repaired in order,
 * as by scheme slack.
 */
LH_INLINE void lh_outage_over(struct lh_env *env, struct lh_flow *f);

/* An ACK has come from MH, scheme rack; before anything is learnt from it. */
LH_INLINE void lh_outage_rack_heard(struct lh_env *env, struct lh_flow *f);

/* The host's word on the link. */
LH_INLINE void lh_outage_link(struct lh_env *env, struct lh_flow *f, u32 up,
			      struct lh_actions *out);

/* Of what an outage cannot have kept back if it left so long ago: later answers would have come before this ACK. */
LH_INLINE u64 lh_outage_horizon(struct lh_env *env, const struct lh_flow *f);

/* What had departed is lost, as far as it has had its time. */
LH_INLINE void lh_outage_lost(struct lh_env *env, struct lh_flow *f);

#endif /* LH_OUTAGE_H */
