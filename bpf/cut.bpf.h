/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet cut into the segments that will be on the wire, or were: several if it is a super-packet (GRO,
 * TSO), and one if it is none.
 */
#ifndef LH_CUT_BPF_H
#define LH_CUT_BPF_H

#include "carry.bpf.h"

/* A super-packet is about to be cut, by whatever function: what its slices keep. */
LH_INLINE void lh_cut_begin(struct __sk_buff *skb, struct lh_scratch *sc)
{
	sc->cut.kept = (sc->seg.flags & LH_CWR) && lh_cwr_counts(skb) ? LH_SLOT_CWR : 0;
}

/* The slot holds slice @index of the super-packet that sc->cut is for, still with its headers. */
LH_INLINE void lh_mark_slice(const struct lh_scratch *sc, struct lh_slot *slot, u32 index, u32 seq,
			     bool last)
{
	slot->slice = index;
	slot->slice_seq = seq;
	slot->flags |= LH_SLOT_SLICE | (last ? LH_SLOT_SLICE_LAST : 0) | sc->cut.kept;
}

/* Segment @i of the packet in sc->seg, cut as sc->cut has it, into sc->slice. The last that there
 * is a turn for has all that is left: too large for a slot, but the core knows of it. @return
 * false: there is none. */
LH_INLINE bool lh_cut(struct lh_scratch *sc, u32 i)
{
	u32 mss = sc->cut.bytes, at = i * mss, left = sc->seg.payload_bytes - at;

	if (at > sc->seg.payload_bytes)
		return false;
	sc->cut.off = sc->seg.hdr_bytes + at;
	sc->cut.last = !mss || left <= mss || i == LH_TRAIN_MOST - 1;
	if (!i) { /* what all have in common */
		sc->slice = sc->seg;
		sc->slice.part_bytes = 0;
	}
	sc->slice.seq = sc->seg.seq + at;
	if (sc->cut.last) {
		sc->slice.payload_bytes = left;
		sc->slice.end = sc->seg.end;
		sc->slice.flags = sc->seg.flags;
	} else {
		sc->slice.payload_bytes = mss;
		sc->slice.end = sc->slice.seq + mss;
		sc->slice.flags = sc->seg.flags & ~(LH_FIN | LH_PSH);
	}
	return true;
}

/* Segment @i, which has been cut, into the slot that the core has found for it. @return 1: it is there. */
LH_INLINE int lh_store_cut(struct __sk_buff *skb, struct lh_scratch *sc, u32 i)
{
	struct lh_slot *slot =
		lh_store(skb, sc, sc->act.store_slot, sc->cut.off, sc->slice.payload_bytes);

	if (!slot)
		return 0;
	if (sc->cut.bytes)
		lh_mark_slice(sc, slot, i, sc->slice.seq, sc->cut.last);
	return 1;
}

#endif /* LH_CUT_BPF_H */
