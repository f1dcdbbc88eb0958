/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring of unacknowledged segments of a flow, ordered by sequence number
 * (SPEC section 1, "Cache entry"). Positions count up for ever; a two-level
 * directory leads from a position to its entry, so that idle flows cost no
 * memory and a search is a bisection.
 */
#ifndef LH_RING_H
#define LH_RING_H

#include "share.h"

/* Entries that may be moved to make room for a late segment. Bounds the work
 * that a sender can cause with segments in reverse order. */
#define LH_SHIFT_MAX 512

/*
 * What MH has acknowledged leaves the ring at once, and its memory by and by: so many segments
 * per packet, which is more than it can bring, and where no packet comes so many by the timer. An
 * ACK of a whole window would take 100 us otherwise.
 */
#define LH_RECLAIM_SEGS 16
#define LH_RECLAIM_IDLE_SEGS 512

LH_INLINE u32 lh_cached(const struct lh_flow *f);

/* Chunk of @pos, NULL only if the host's memory is gone. */
LH_INLINE struct lh_chunk *lh_chunk_at(struct lh_env *env, const struct lh_flow *f, u32 pos);

/* Entry at @pos, NULL as above. */
LH_INLINE struct lh_seg *lh_seg_at(struct lh_env *env, const struct lh_flow *f, u32 pos);

/* First position whose segment ends after @seq; tail if there is none. */
LH_FUNC u32 lh_cache_find(struct lh_env *env, const struct lh_flow *f, u32 seq);

/* Makes room for one entry at the tail. */
LH_INLINE bool lh_ring_grow(struct lh_env *env, struct lh_flow *f);

/* The segment at @pos, which begins and ends as @e, is SACKed. */
LH_INLINE void lh_chunk_sack(struct lh_env *env, const struct lh_flow *f, u32 pos,
			     const struct lh_seg *e);

/* It is SACKed no more. */
LH_INLINE void lh_chunk_unsack(struct lh_env *env, const struct lh_flow *f, u32 pos,
			       const struct lh_seg *e);

/* Takes @n entries off the head, which keep their memory until it is reclaimed. */
LH_INLINE void lh_ring_pop(struct lh_env *env, struct lh_flow *f, u32 n);

/* The same of at most @most. */
LH_FUNC int lh_ring_reclaim(struct lh_env *env, struct lh_flow *f, u32 most);

/* When lh_ring_reclaim() is wanted even if no packet comes; 0: never. */
LH_INLINE u64 lh_ring_deadline(const struct lh_flow *f);

/* Nothing is cached any more. */
LH_INLINE void lh_cache_flush(struct lh_env *env, struct lh_flow *f);

/* Nor is any memory taken: the flow is about to be forgotten. */
LH_FUNC int lh_cache_free(struct lh_env *env, struct lh_flow *f);

/* Moves the entries from @pos on up by one; the last one was just grown. */
LH_FUNC int lh_ring_shift(struct lh_env *env, struct lh_flow *f, u32 pos);

#endif /* LH_RING_H */
