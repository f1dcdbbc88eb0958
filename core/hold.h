/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hold and release of duplicate ACKs (SPEC section 1, "Suppressible" and
 * "Hold, don't discard"): which ACK may be kept from FH, for how long, and
 * what FH gets when the repair fails.
 */
#ifndef LH_HOLD_H
#define LH_HOLD_H

#include "types.h"

/* The ACK that FH saw last, the last one that came, and the one that is kept. */
struct lh_hold {
	u32 fwd_ack; /* with LH_FLOW_FWD, as fwd_edge and fwd_flags */
	u32 fwd_edge; /* right edge of the window that FH knows, before it was rounded */
	u32 own_edge; /* the receiver's own, of the last ACK */
	u16 fwd_flags;
	u16 last_window; /* as in the header */
	u64 since_ns; /* first suppression since the last forwarded ACK; with LH_FLOW_HELD */
	u64 until_ns; /* when FH gets it; samples of RTT that come meanwhile move it no more */
};

LH_INLINE bool lh_flow_sack(const struct lh_flow *f);

/* Whether @s has nothing but an ACK to tell. */
LH_INLINE bool lh_pure(const struct lh_segment *s);

/* Right edge of the window in @s; just the ACK where the scale is unknown. */
LH_INLINE u32 lh_window_edge(const struct lh_flow *f, const struct lh_segment *s);

/* The same as FH gets to see it, with the edits of @out. */
LH_INLINE u32 lh_edited_edge(const struct lh_flow *f, const struct lh_segment *s,
			     const struct lh_actions *out);

/*
 * The edge that FH is held to once an edited ACK has shown it @edge. What rounding takes is
 * granted still: were it taken for good, each ACK would take as much again, and the edge
 * pass by what FH has sent.
 */
LH_INLINE u32 lh_kept_edge(const struct lh_flow *f, u32 edge);

/* The edge that FH has seen: fwd_edge, rounded. */
LH_INLINE u32 lh_shown_edge(const struct lh_flow *f);

/*
 * SPEC Q17: receivers that tune their buffer open the window on duplicates.
 * Such an ACK must pass when FH is about to run out of window, and always
 * when the window shrinks or its scale is unknown.
 */
LH_INLINE bool lh_window_needed(struct lh_env *env, const struct lh_flow *f,
				const struct lh_segment *s);

/* Whether MH reports something that went by unseen. */
LH_INLINE bool lh_sack_unseen(const struct lh_flow *f, const struct lh_segment *s);

/* Whether the first SACK block of @s reports a second copy that can't be of
 * FH's own making: FH never sent it twice, so the repair was superfluous. */
LH_INLINE bool lh_dsack_ours(const struct lh_flow *f, const struct lh_segment *s);

/* Whether @s carries nothing but its number, window and SACK blocks, so that
 * FH may be told of the latter later. */
LH_INLINE bool lh_bare(struct lh_env *env, const struct lh_flow *f, const struct lh_segment *s);

/* Whether an ACK has been kept for as long as one may be. */
LH_INLINE bool lh_hold_expired(struct lh_env *env, const struct lh_flow *f);

/* Whether every loss that is known of can be repaired here, in time. */
LH_INLINE bool lh_in_hand(struct lh_env *env, struct lh_flow *f);

/* Whether the duplicate @s may be kept from FH. */
LH_INLINE bool lh_suppressible(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

LH_INLINE void lh_suppress(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/*
 * Another ACK of the kept one's number passes, a window update for instance.
 * Without SACK it says all that the kept one says and takes its place: copies
 * of the older one would move the window's edge left later (invariant 16).
 */
LH_INLINE void lh_hold_newer(struct lh_flow *f, const struct lh_segment *s, struct lh_actions *out);

/*
 * The repair is given up: FH gets what was kept, and everything from here to
 * the next new ACK. A sender without SACK needs three duplicates to start fast
 * retransmit; one that uses SACK needs the newest blocks once. @passing: a
 * duplicate passes by itself in this call.
 */
LH_INLINE void lh_abandon(struct lh_env *env, struct lh_flow *f, bool passing,
			  struct lh_actions *out);

/* @s goes on to FH, with the edits of @out. */
LH_INLINE void lh_forwarded(struct lh_flow *f, const struct lh_segment *s,
			    const struct lh_actions *out);

#endif /* LH_HOLD_H */
