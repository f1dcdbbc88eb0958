/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hold and release of duplicate ACKs (docs/design.md, sections 3.5 and 3.6): which ACK may be
 * kept from FH, for how long, and what FH gets when the repair fails.
 */
#ifndef LH_HOLD_H
#define LH_HOLD_H

#include "types.h"

/* What the ACK of this call is beside its class, looked at once. */
struct lh_ack_view {
	u32 edge; /* right edge of its window; just the ACK where the scale is unknown */
	u8 pure; /* 1: nothing but an ACK to tell */
	u8 bare; /* 1: nothing but number, window and SACK blocks, of which FH may be told later */
	u8 unseen; /* 1: it reports something that went by unseen */
	u8 dsack_ours; /* 1: a second copy of what FH sent once: our repair was superfluous */
	u8 blankable; /* 1: its blocks are such, whatever else it has to tell: data of MH's, unknown options */
	u8 hides; /* 1: FH is not to see what is missing (brake.h) */
	u8 pad[2];
};

/* The ACK that FH saw last, the last one that came, and the one that is kept. */
struct lh_hold {
	u32 fwd_ack; /* with LH_FLOW_FWD, as fwd_edge and fwd_flags */
	u32 fwd_edge; /* right edge of the window that FH knows, before it was rounded */
	u32 own_edge; /* the receiver's own, of the last ACK */
	u16 fwd_flags;
	u16 last_window; /* as in the header */
	u64 since_ns; /* first suppression since the last forwarded ACK; with LH_FLOW_WITHHOLDS */
	u64 until_ns; /* when FH gets it; samples of RTT that come meanwhile move it no more */
};

/* Fills env->view. Once per ACK, after una has moved. */
LH_INLINE void lh_ack_see(struct lh_env *env, const struct lh_flow *f, const struct lh_segment *s);

/* Whether @s has nothing but an ACK to tell. */
LH_INLINE bool lh_pure(const struct lh_segment *s);

/* Whether MH asks by @s if FH's window is open, or FH still there: an empty segment below what it sends next, which
 * FH has to answer (RFC 9293 sections 3.8.4 and 3.8.6.1). */
LH_INLINE bool lh_asks(const struct lh_flow *f, const struct lh_segment *s);

/* Whether nothing is to be edited, kept or made up in @f's ACKs: TCP-MD5 or TCP-AO covers them, or MPTCP may make
 * something of them (I16). */
LH_INLINE bool lh_flow_sealed(const struct lh_flow *f);

/* Whether both ends use SACK. */
LH_INLINE bool lh_flow_sack(const struct lh_flow *f);

/* Whether MH has something above what it acknowledges, by its blocks. */
LH_INLINE bool lh_gapped(const struct lh_flow *f);

/* Right edge of the window in @s as FH gets to see it, with the edits of @out. */
LH_INLINE u32 lh_edited_edge(struct lh_env *env, const struct lh_flow *f,
			     const struct lh_segment *s, const struct lh_actions *out);

/*
 * The edge that FH is held to once an edited ACK has shown it @edge. What rounding takes is
 * granted still: were it taken for good, each ACK would take as much again, and the edge
 * pass by what FH has sent.
 */
LH_INLINE u32 lh_kept_edge(const struct lh_flow *f, u32 edge);

/* The edge that FH has seen: fwd_edge, rounded. */
LH_INLINE u32 lh_shown_edge(const struct lh_flow *f);

/*
 * Section 3.10: receivers that tune their buffer open the window on duplicates.
 * Such an ACK must pass when FH is about to run out of window, and always
 * when the window shrinks or its scale is unknown.
 */
LH_INLINE bool lh_window_needed(struct lh_env *env, const struct lh_flow *f,
				const struct lh_segment *s);

/* Whether an ACK, or what one says of holes, has been kept for as long as may be. */
LH_INLINE bool lh_hold_expired(struct lh_env *env, const struct lh_flow *f);

/* Whether every loss that is known of can be repaired here, in time. */
LH_INLINE bool lh_in_hand(struct lh_env *env, struct lh_flow *f);

/* Whether the duplicate @s may be kept from FH. */
LH_INLINE bool lh_suppressible(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

LH_INLINE void lh_suppress(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/*
 * The holes that this ACK shows are ours to repair: FH gets its number and window now, and what it carries, the
 * blocks only if the repairs fail. Of one with data no copy is kept for that, for those would be FH's a second
 * time: it has the blocks of the next ACK, once time is up.
 */
LH_INLINE void lh_hide_blocks(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      struct lh_actions *out);

/*
 * Another ACK of the kept one's number passes, a window update for instance.
 * Without SACK it says all that the kept one says and takes its place: copies
 * of the older one would move the window's edge left later (invariant I16).
 */
LH_INLINE void lh_hold_newer(struct lh_env *env, const struct lh_flow *f, struct lh_actions *out);

/*
 * The repair is given up: FH gets what was kept, and everything from here to
 * the next new ACK. A sender without SACK needs three duplicates to start fast
 * retransmit; one that uses SACK needs the newest blocks once. @passing: a
 * duplicate passes by itself in this call.
 */
LH_INLINE void lh_abandon(struct lh_env *env, struct lh_flow *f, bool passing,
			  struct lh_actions *out);

/* @s goes on to FH, with the edits of @out. */
LH_INLINE void lh_forwarded(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    const struct lh_actions *out);

#endif /* LH_HOLD_H */
