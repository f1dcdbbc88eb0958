/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring of unacknowledged segments of a flow, ordered by sequence number
 * (docs/design.md, section 3.2). Positions count up for ever; a two-level
 * directory leads from a position to its entry, so that idle flows cost no
 * memory and a search is a bisection.
 */
#ifndef LH_RING_H
#define LH_RING_H

#include "types.h"

#define LH_CHUNK_SHIFT 6
#define LH_CHUNK_SEGS (1 << LH_CHUNK_SHIFT)
#define LH_FLOW_CHUNKS 512 /* directory entries, a power of two */
#define LH_FLOW_SEGS 16384 /* most segments cached per flow: 32 MiB of 2 KiB slots */
#define LH_NO_SLOT 0xffffffffU

enum lh_seg_flag {
	LH_SEG_FH_RTX = 1, /* the sender sent it again: its duplicates are the sender's */
	LH_SEG_CONG = 2, /* lost upstream, or local repairs exhausted */
	LH_SEG_SACKED = 4,
	LH_SEG_NO_COPY = 8, /* the host could not store the bytes */
	LH_SEG_EMPTY = 16, /* a SYN or FIN without data */
	LH_SEG_SMALL = 32, /* below LH_SMALL_BYTES: counted in nr_small */
	LH_SEG_ASKED = 64, /* the hop has lost it: its other end or the MAC says so */
	LH_SEG_LOST =
		128, /* the MAC has given it up, or who watches has convicted it, and it was not
			    * sent again since */
};

/* One cached segment. Its bytes are in a slot of the host's pool. */
struct lh_seg {
	u64 last_tx_ns; /* latest departure, anyone's */
	u32 seq, end; /* sequence numbers */
	u32 slot; /* index into the host's payload pool; LH_NO_SLOT: it is only watched (shadow.h) */
	u32 delivered; /* lh_receiver_delivered() when it departed; watched: lh_shadow.departed, and once
			* convicted when that was, 1,024 ns */
	u32 tsval; /* of the cached copy, 0: the connection has no timestamps */
	u8 n_local; /* local retransmissions since the sender last sent it */
	u8 flags; /* enum lh_seg_flag */
	/* lh_under_way() when a duplicate last made us repair it; before any repair lh_queue_departs(); watched:
	 * LH_MARK_* */
	u8 behind;
	u8 arrived; /* 1: the MAC has reported a copy as delivered; watched: a loss is booked */
};

/* The ring of a flow is made of chunks, so that an idle flow holds none. */
struct lh_chunk {
	/* No segment of the chunk that MH lacks departed before this: most chunks
	 * need no look when losses are sought by time order. */
	u64 oldest_tx_ns;
	u64 again_tx_ns; /* the same of those that were sent again here */
	u32 nr_sacked; /* of its segments, and bytes of these */
	u32 sacked_bytes;
	struct lh_seg seg[LH_CHUNK_SEGS];
};

/* Positions count up for ever: cached are [head, tail), and [spent, head) still have memory. It
 * outlives lh_flow_reset(). */
struct lh_ring {
	u32 head, tail, spent;
	u32 nr_small; /* small segments in [spent, tail) */
	u64 reclaimed_ns; /* last call of lh_ring_reclaim() */
	u32 dir[LH_FLOW_CHUNKS]; /* chunk of position p: dir[(p >> 6) & 511] */
};

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

/* The oldest entry, NULL: nothing is cached. Whether MH lacks it: lh_head(). */
LH_INLINE struct lh_seg *lh_oldest(struct lh_env *env, const struct lh_flow *f);

/* First position whose segment ends after @seq; tail if there is none. */
LH_FUNC u32 lh_cache_find(struct lh_env *env, const struct lh_flow *f, u32 seq);

/* Makes room for one entry at the tail. */
LH_INLINE bool lh_ring_grow(struct lh_env *env, struct lh_flow *f);

/* Notes that the segment at @pos, which begins and ends as @e, is SACKed. */
LH_INLINE void lh_chunk_sack(struct lh_env *env, const struct lh_flow *f, u32 pos,
			     const struct lh_seg *e);

/* Notes that the segment at @pos is SACKed no more, as when its receiver reneges (RFC 2018). */
LH_INLINE void lh_chunk_unsack(struct lh_env *env, const struct lh_flow *f, u32 pos,
			       const struct lh_seg *e);

/* Takes @n entries off the head, which keep their memory until it is reclaimed. */
LH_INLINE void lh_ring_pop(struct lh_env *env, struct lh_flow *f, u32 n);

/* Gives back the memory of at most @most popped segments. */
LH_INLINE void lh_ring_reclaim(struct lh_env *env, struct lh_flow *f, u32 most);

/* The same, for whom more than one is likely. */
LH_ENTRY int lh_ring_reclaim_more(struct lh_env *env, struct lh_flow *f, u32 most);

/* When lh_ring_reclaim() is wanted even if no packet comes; 0: never. */
LH_INLINE u64 lh_ring_deadline(const struct lh_flow *f);

/* Empties the ring. */
LH_FUNC int lh_cache_flush(struct lh_env *env, struct lh_flow *f);

/* Empties the ring and gives all its memory back. */
LH_FUNC int lh_cache_free(struct lh_env *env, struct lh_flow *f);

/* Moves the entries from @pos on up by one; the last one was just grown. */
LH_FUNC int lh_ring_shift(struct lh_env *env, struct lh_flow *f, u32 pos);

#endif /* LH_RING_H */
