/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "edit.h"

/* Sets one byte; adds to @sum what the one's complement sum gains. */
LH_INLINE void lh_edit8(struct lh_hdr *h, u32 off, u32 odd, u8 v, u32 *sum)
{
	u32 shift = odd & 1 ? 0 : 8;

	lh_barrier(off);
	off &= LH_HDR_MASK;
	*sum += ((u32)v << shift) + (~((u32)h->b[off] << shift) & 0xffff);
	h->b[off] = v;
}

LH_ENTRY int lh_edit_ack(struct lh_hdr *h, const struct lh_segment *s, const struct lh_actions *out,
			 u32 partial)
{
	u32 sum, l4;
	int i;

	if (!h || !s || !out)
		return 0;
	if (out->window == LH_KEEP_WINDOW && !(out->blank_sack && s->nr_sack))
		return 0;
	l4 = s->l4_offset;
	sum = ~lh_get16(h, l4 + 16) & 0xffff;
	if (out->window != LH_KEEP_WINDOW) {
		lh_edit8(h, l4 + 14, 0, out->window >> 8, &sum);
		lh_edit8(h, l4 + 15, 1, out->window & 0xff, &sum);
	}
	lh_for (i, 40) {
		u32 at = s->sack_at + i;

		if (!out->blank_sack || !s->nr_sack || i >= s->sack_bytes)
			break;
		lh_edit8(h, at, at - l4, 1, &sum); /* NOP */
	}
	if (partial)
		return 1;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
	lh_barrier(l4);
	h->b[(l4 + 16) & LH_HDR_MASK] = sum >> 8;
	h->b[(l4 + 17) & LH_HDR_MASK] = sum & 0xff;
	return 1;
}
