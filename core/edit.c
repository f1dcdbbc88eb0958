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

/* Writes the TCP checksum whose complement @sum is. */
LH_INLINE void lh_edit_sum(struct lh_hdr *h, u32 at, u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
	lh_barrier(at);
	h->b[at & LH_HDR_MASK] = sum >> 8;
	h->b[(at + 1) & LH_HDR_MASK] = sum & 0xff;
}

/* Overwrites @bytes, 40 at most, of the options at @at with NOPs. @l4: where the TCP header is. */
LH_INLINE void lh_edit_nops(struct lh_hdr *h, u32 at, u32 bytes, u32 l4, u32 *sum)
{
	int i;

	lh_for (i, 40) {
		if ((u32)i >= bytes)
			break;
		lh_edit8(h, at + i, at + i - l4, 1, sum);
	}
}

LH_INLINE bool lh_edits(const struct lh_segment *s, const struct lh_actions *out)
{
	return out->window != LH_KEEP_WINDOW || (out->blank_sack && s->nr_sack);
}

LH_ENTRY int lh_edit_ack(struct lh_hdr *h, const struct lh_segment *s, const struct lh_actions *out,
			 u32 partial)
{
	u32 sum, l4;

	if (!h || !s || !out || !lh_edits(s, out))
		return 0;
	l4 = s->l4_offset;
	sum = ~lh_get16(h, l4 + 16) & 0xffff;
	if (out->window != LH_KEEP_WINDOW) {
		lh_edit8(h, l4 + 14, 0, out->window >> 8, &sum);
		lh_edit8(h, l4 + 15, 1, out->window & 0xff, &sum);
	}
	if (out->blank_sack && s->nr_sack)
		lh_edit_nops(h, s->sack_at, s->sack_bytes, l4, &sum);
	if (!partial)
		lh_edit_sum(h, l4 + 16, sum);
	return 1;
}

LH_ENTRY int lh_edit_strip(struct lh_hdr *h, const struct lh_segment *s, u32 partial)
{
	u32 sum, l4;

	if (!h || !s || !s->nr_missing || (s->opts & LH_OPT_AUTH))
		return 0; /* TCP-AO covers the options: not one of ours */
	l4 = s->l4_offset;
	sum = ~lh_get16(h, l4 + 16) & 0xffff;
	lh_edit_nops(h, s->missing_at, LH_MISSING_BYTES((u32)s->nr_missing), l4, &sum);
	if (!partial)
		lh_edit_sum(h, l4 + 16, sum);
	return 1;
}

/* Adds @n to the 16 bits at @at, which a sum of one's complement covers, too. */
LH_INLINE void lh_edit_add16(struct lh_hdr *h, u32 at, u32 n, u32 *sum)
{
	u32 v = lh_get16(h, at) + n;

	lh_edit8(h, at, 0, v >> 8 & 0xff, sum);
	lh_edit8(h, at + 1, 1, v & 0xff, sum);
}

/* The IP header's length, and its own checksum where it has one. */
LH_INLINE void lh_edit_longer(struct lh_hdr *h, u32 l3, u32 bytes)
{
	u32 sum;

	if (lh_get8(h, l3) >> 4 == 6) {
		sum = 0;
		lh_edit_add16(h, l3 + 4, bytes, &sum);
		return;
	}
	sum = ~lh_get16(h, l3 + 10) & 0xffff;
	lh_edit_add16(h, l3 + 2, bytes, &sum);
	lh_edit_sum(h, l3 + 10, sum);
}

LH_ENTRY int lh_edit_ce(struct lh_hdr *h, u32 l3)
{
	u32 sum;

	if (!h)
		return 0;
	if (lh_get8(h, l3) >> 4 == 6) {
		sum = 0;
		lh_edit8(h, l3 + 1, 1, lh_get8(h, l3 + 1) | 0x30, &sum);
		return 1;
	}
	sum = ~lh_get16(h, l3 + 10) & 0xffff;
	lh_edit8(h, l3 + 1, 1, lh_get8(h, l3 + 1) | 3, &sum);
	lh_edit_sum(h, l3 + 10, sum);
	return 1;
}

/* Puts 32 bits at @at, which were 0 to the checksum. */
LH_INLINE void lh_edit_put32(struct lh_hdr *h, u32 at, u32 v, u32 *sum)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		u32 to = at + i;

		lh_barrier(to);
		h->b[to & LH_HDR_MASK] = v >> (24 - 8 * i) & 0xff;
	}
	*sum += (v >> 16) + (v & 0xffff);
}

LH_ENTRY int lh_edit_tell(struct lh_hdr *h, const struct lh_segment *s,
			  const struct lh_actions *out, u32 partial)
{
	u32 n, at, l4, sum, bytes;
	int i;

	if (!h || !s || !out || out->tell_by != LH_TELL_OPTION)
		return 0;
	n = out->nr_tell;
	at = s->hdr_bytes;
	l4 = s->l4_offset;
	bytes = LH_MISSING_BYTES(n);
	if (!n || n > LH_MISSING_MOST || at + bytes > LH_HDR_BYTES)
		return 0;
	sum = ~lh_get16(h, l4 + 16) & 0xffff;
	lh_edit_put32(h, at, (u32)LH_MISSING_KIND << 24 | bytes << 16 | LH_MISSING_EXID, &sum);
	lh_for (i, LH_MISSING_MOST) {
		u32 k = i;

		if (k >= n)
			break;
		lh_barrier(k);
		k &= LH_TELL_MOST - 1;
		lh_edit_put32(h, at + 4 + 8 * k, out->tell[k].left, &sum);
		lh_edit_put32(h, at + 8 + 8 * k, out->tell[k].right, &sum);
	}
	lh_edit8(h, l4 + 12, 0, lh_get8(h, l4 + 12) + (bytes / 4 << 4), &sum);
	lh_edit_longer(h, s->l3_offset, bytes);
	if (partial) {
		/* The field has the sum of the pseudo-header, of which the length is a part. */
		sum = lh_get16(h, l4 + 16) + bytes;
		lh_edit_sum(h, l4 + 16, ~((sum & 0xffff) + (sum >> 16)) & 0xffff);
	} else {
		lh_edit_sum(h, l4 + 16, sum + bytes);
	}
	return bytes;
}
