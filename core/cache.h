/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What of a flow is cached, and what of that may be repaired here: the way of a data
 * segment into the ring, and "is every hole repairable?".
 */
#ifndef LH_CACHE_H
#define LH_CACHE_H

#include "types.h"

/* What the flow can't repair here. */
struct lh_cache {
	u32 blocked_start, blocked_end; /* between these lie all such; with LH_FLOW_BLOCKED */
	u32 fh_rtx_start, fh_rtx_end; /* of what FH sent twice; with LH_FLOW_FH_RTX */
};

/* @e is no SACKed segment above una any more. */
LH_INLINE void lh_sack_unbook(struct lh_flow *f, const struct lh_seg *e);

/* Segments that MH says it has may be looked at again: one of them changed. */
LH_INLINE void lh_sack_forget(struct lh_flow *f);

/* [left, right) can't be repaired here, or its loss is not to be hidden. Until
 * una has passed it lh_cache_covers() looks closer; elsewhere it need not. */
LH_INLINE void lh_cache_block(struct lh_flow *f, u32 left, u32 right);

/* Something that had departed already departs once more, or late. */
LH_INLINE void lh_cache_again(struct lh_flow *f);

/* FH itself has sent [left, right) again: MH may report that to it. */
LH_INLINE void lh_cache_fh_again(struct lh_env *env, struct lh_flow *f, u32 left, u32 right);

/* What came before una went by unseen: FH may have sent any of it again. */
LH_INLINE void lh_cache_fh_unseen(struct lh_env *env, struct lh_flow *f);

/*
 * The oldest that are cached go, down to @keep, @most at a time: nobody has asked for them in
 * all that time. What they leave is a hole that can't be repaired here, so that an ACK that
 * was kept for it goes out.
 */
LH_FUNC int lh_cache_shed(struct lh_env *env, struct lh_flow *f, u32 keep, u32 most);

LH_INLINE u32 lh_mss(const struct lh_flow *f);

/* What is known of a segment [@seq, @end) that has just got the entry @e in the ring. @slot: for its
 * bytes, or LH_NO_SLOT. @flags: enum lh_seg_flag. */
LH_INLINE void lh_seg_begin(struct lh_env *env, struct lh_flow *f, struct lh_seg *e, u32 seq,
			    u32 end, u32 slot, u32 tsval, u8 flags);

/* A new entry for @s at ring position @pos; sets the action to copy it. */
LH_INLINE bool lh_cache_insert(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       u32 pos, u8 flags, struct lh_actions *out);

/*
 * Whether MH would drop the cached copy as a duplicate of old (PAWS, RFC 7323
 * section 5): FH has sent something before it again, with a timestamp of then,
 * and that arrived. Only FH can repair the rest of the window now; copies
 * without end went into this trap (8,800 repairs for 3,600 losses).
 */
LH_INLINE bool lh_seg_stale(const struct lh_flow *f, const struct lh_seg *e);

/* The least silence of MH that may be an outage (outage.h). */
LH_INLINE u64 lh_quiet(struct lh_env *env, const struct lh_flow *f);

/* The sender sent [s->seq, s->end) again, or something that overlaps what is
 * cached from @pos on. @e: the entry at @pos. */
LH_INLINE void lh_cache_resent(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       u32 pos, struct lh_seg *e, struct lh_actions *out);

/*
 * Puts the data segment @s into the cache, if it may be there. Sets
 * f->max. Data that is new stops at nine tenths of the share, so that a late
 * earlier segment, which is needed first, still fits (Click's rule). Of a super-packet
 * (train.h) it only says that it is to be.
 */
LH_INLINE void lh_cache_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     struct lh_actions *out);

/* The newest timestamp that MH has taken is @tsecr. */
LH_INLINE void lh_cache_echo(struct lh_env *env, struct lh_flow *f, u32 tsecr);

/* Whether the segment's loss is left to FH as one of the queue (guard.h). */
LH_INLINE bool lh_seg_overflow(const struct lh_flow *f, const struct lh_seg *e);

/* Whether a copy of the segment may go out, by itself: it is here, MH would take
 * it, and its loss is not FH's affair. */
LH_INLINE bool lh_seg_sendable(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e);

/* Whether the segment can still be repaired here without hiding congestion. */
LH_INLINE bool lh_seg_repairable(struct lh_env *env, const struct lh_flow *f,
				 const struct lh_seg *e);

/*
 * Whether every byte in [una, upto) is either SACKed or repairable here (bsnoop's rule;
 * docs/design.md, section 3.5). Nothing stands in the way but within the blocked range, which gives
 * up what is found to be in order, so that nothing is looked at twice. Where that takes longer
 * than one call may, the answer is no: FH gets the ACK.
 */
LH_FUNC bool lh_cache_covers(struct lh_env *env, struct lh_flow *f, u32 upto);

#endif /* LH_CACHE_H */
