/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "segment.h"

LH_INLINE u16 lh_be16(u16 x)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap16(x);
#else
	return x;
#endif
}

LH_INLINE u32 lh_get8(const struct lh_hdr *h, u32 off)
{
	lh_barrier(off);
	return h->b[off & LH_HDR_MASK];
}

LH_INLINE u32 lh_get16(const struct lh_hdr *h, u32 off)
{
	return lh_get8(h, off) << 8 | lh_get8(h, off + 1);
}

LH_INLINE u32 lh_get32(const struct lh_hdr *h, u32 off)
{
	return lh_get16(h, off) << 16 | lh_get16(h, off + 2);
}

/* Two bytes at @off, which is even, in network byte order. All of the headers' fields are at even places. */
LH_INLINE u16 lh_raw16(const struct lh_hdr *h, u32 off)
{
	u16 raw;

	lh_barrier(off);
	__builtin_memcpy(&raw, &h->b[off & LH_HDR_MASK & ~1U], 2);
	return raw;
}

/* lh_get16() at an even place: one load, not two. */
LH_INLINE u32 lh_even16(const struct lh_hdr *h, u32 off)
{
	return lh_be16(lh_raw16(h, off));
}

LH_INLINE u32 lh_even32(const struct lh_hdr *h, u32 off)
{
	return lh_even16(h, off) << 16 | lh_even16(h, off + 2);
}

/* Copies @n bytes at @off, both even, to @to. */
LH_INLINE void lh_copy_even(const struct lh_hdr *h, u32 off, u8 *to, u32 n)
{
	u32 i;

	for (i = 0; i < n; i += 2) {
		u16 raw = lh_raw16(h, off + i);

		__builtin_memcpy(to + i, &raw, 2);
	}
}

/* IPv4 without fragments; returns the offset of layer 4, 0 to give up. */
LH_INLINE u32 lh_parse_ipv4(const struct lh_hdr *h, u32 off, bool to_mh, struct lh_flow_key *key,
			    u32 *l3_bytes, enum lh_parsed *why)
{
	u32 ihl = (lh_get8(h, off) & 15) * 4;

	*why = LH_PARSED_MALFORMED;
	if (lh_get8(h, off) >> 4 != 4 || ihl < 20)
		return 0;
	*why = LH_PARSED_FRAGMENT;
	if (lh_even16(h, off + 6) & 0x3fff)
		return 0;
	*why = LH_PARSED_NOT_TCP;
	if (lh_get8(h, off + 9) != 6)
		return 0;
	*l3_bytes = lh_even16(h, off + 2);
	key->family = 4;
	lh_copy_even(h, off + (to_mh ? 12 : 16), key->fh, 4);
	lh_copy_even(h, off + (to_mh ? 16 : 12), key->mh, 4);
	return off + ihl;
}

/* IPv6; walks hop-by-hop, routing and destination headers, bypasses ESP, AH
 * and fragments. */
LH_INLINE u32 lh_parse_ipv6(const struct lh_hdr *h, u32 hdr_len, u32 off, bool to_mh,
			    struct lh_flow_key *key, u32 *l3_bytes, enum lh_parsed *why)
{
	u32 next = lh_get8(h, off + 6), at = off + 40;
	int i;

	*why = LH_PARSED_MALFORMED;
	if (lh_get8(h, off) >> 4 != 6)
		return 0;
	/* Before the walk, behind which the verifier goes through it once for each way that it ended. */
	key->family = 6;
	lh_copy_even(h, off + (to_mh ? 8 : 24), key->fh, 16);
	lh_copy_even(h, off + (to_mh ? 24 : 8), key->mh, 16);
	for (i = 0; i < 4 && (next == 0 || next == 43 || next == 60); i++) {
		if (at + 2 > hdr_len)
			return 0; /* what stands there is another packet's */
		next = lh_get8(h, at);
		at += (lh_get8(h, at + 1) + 1) * 8;
		if (at > LH_HDR_BYTES - 20)
			return 0;
	}
	*why = next == 44 ? LH_PARSED_FRAGMENT : LH_PARSED_NOT_TCP;
	if (next != 6)
		return 0;
	*l3_bytes = lh_even16(h, off + 4) + 40;
	return at;
}

/* SACK blocks; a first block at or below the ACK, or inside the second one,
 * reports a duplicate (RFC 2883 section 4) and is not a hole's edge. */
LH_INLINE void lh_parse_sack(const struct lh_hdr *h, u32 at, u32 len, struct lh_segment *s)
{
	u32 n = (len - 2) / 8;
	u32 i;

	if (n > LH_MAX_SACK)
		n = LH_MAX_SACK;
	s->opts |= LH_OPT_SACK;
	s->nr_sack = n;
	s->sack_at = at;
	s->sack_bytes = len;
	for (i = 0; i < LH_MAX_SACK; i++) {
		if (i >= n)
			break;
		s->sack[i].left = lh_get32(h, at + 2 + i * 8);
		s->sack[i].right = lh_get32(h, at + 6 + i * 8);
	}
	if (n && !lh_after(s->sack[0].right, s->ack))
		s->dsack = 1;
	else if (n > 1 && !lh_before(s->sack[0].left, s->sack[1].left) &&
		 !lh_after(s->sack[0].right, s->sack[1].right))
		s->dsack = 1;
}

/* Blocks that the other agent misses. */
LH_INLINE void lh_parse_missing(const struct lh_hdr *h, u32 at, u32 len, struct lh_segment *s)
{
	u32 i;

	s->nr_missing = (len - LH_MISSING_BYTES(0)) / 8;
	s->missing_at = at;
	for (i = 0; i < LH_MISSING_MOST; i++) {
		if (i >= s->nr_missing)
			break;
		s->missing[i].left = lh_get32(h, at + 4 + i * 8);
		s->missing[i].right = lh_get32(h, at + 8 + i * 8);
	}
}

/* Whether an option is that of agents to each other. */
LH_INLINE bool lh_is_missing(const struct lh_hdr *h, u32 at, u32 kind, u32 len)
{
	return kind == LH_MISSING_KIND && len >= LH_MISSING_BYTES(1) &&
	       len <= LH_MISSING_BYTES(LH_MISSING_MOST) && !((len - LH_MISSING_BYTES(0)) & 7) &&
	       lh_get16(h, at + 2) == LH_MISSING_EXID;
}

/* One option of @kind and @len bytes at @at. */
LH_INLINE void lh_parse_option(const struct lh_hdr *h, u32 at, u32 kind, u32 len,
			       struct lh_segment *s)
{
	if (kind == 8 && len == 10) {
		s->opts |= LH_OPT_TS;
		s->tsval = lh_get32(h, at + 2);
		s->tsecr = lh_get32(h, at + 6);
	} else if (kind == 5 && len >= 10) {
		lh_parse_sack(h, at, len, s);
	} else if (kind == 2 && len == 4) {
		s->opts |= LH_OPT_MSS;
		s->mss = lh_get16(h, at + 2);
	} else if (kind == 3 && len == 3) {
		u32 shift = lh_get8(h, at + 2);

		s->opts |= LH_OPT_WSCALE;
		s->wscale = shift > 14 ? 14 : shift; /* RFC 7323 section 2.3 */
	} else if (kind == 4 && len == 2) {
		s->opts |= LH_OPT_SACK_OK;
	} else if (kind == 30) {
		s->opts |= LH_OPT_MPTCP;
	} else if (kind == 19 || kind == 29) {
		s->opts |= LH_OPT_AUTH;
	} else if (!s->missing_at && lh_is_missing(h, at, kind, len)) {
		lh_parse_missing(h, at, len, s);
	} else {
		if (s->missing_at && lh_is_missing(h, at, kind, len))
			s->nr_missing = 0; /* no agent writes two: neither is one's */
		s->opts |= LH_OPT_UNKNOWN;
	}
}

/*
 * The option at @at. @return where the next one is; @end behind the last one,
 * more than @end: malformed. An entry of its own, since before Linux 6.18 the
 * verifier walks through all options after each other if it knows @at.
 */
LH_ENTRY int lh_parse_next(const struct lh_hdr *h, u32 at, u32 end, struct lh_segment *s)
{
	u32 kind, len;

	if (!h || !s)
		return 0;
	kind = lh_get8(h, at);
	if (kind == 0) {
		s->eol = 1;
		return end;
	}
	if (kind == 1)
		return at + 1;
	len = lh_get8(h, at + 1);
	if (len < 2 || len > 40 || at + len > end)
		return end + 1;
	lh_parse_option(h, at, kind, len, s);
	return at + len;
}

#define LH_TS_WORD 0x0101080aU /* NOP, NOP, timestamps of 10 bytes */

/* The options between @at and @end. @return where they end; not @end: malformed. */
LH_ENTRY int lh_parse_each(const struct lh_hdr *h, u32 at, u32 end, struct lh_segment *s)
{
	int i;

	lh_for (i, 40) {
		if (at >= end)
			break;
		at = lh_parse_next(h, at, end, s);
	}
	return at;
}

/* The options between @at and @end. False: malformed. */
LH_INLINE bool lh_parse_options(const struct lh_hdr *h, u32 at, u32 end, struct lh_segment *s)
{
	/* Two NOPs and timestamps, as RFC 7323 appendix A has it and everybody sends it: without the loop. */
	if (at + 12 <= end && lh_even32(h, at) == LH_TS_WORD) {
		s->opts |= LH_OPT_TS;
		s->tsval = lh_even32(h, at + 4);
		s->tsecr = lh_even32(h, at + 8);
		at += 12;
		if (at == end)
			return true;
	}
	return (u32)lh_parse_each(h, at, end, s) == end;
}

/* The TCP header at s->l4_offset. @hdr_len: valid bytes in @h. */
LH_INLINE enum lh_parsed lh_parse_tcp(const struct lh_hdr *h, u32 hdr_len, u32 l3_bytes, bool to_mh,
				      struct lh_segment *s, struct lh_flow_key *key)
{
	u32 at = s->l4_offset, doff = (lh_get8(h, at + 12) >> 4) * 4;
	u32 headers = at + doff - s->l3_offset;

	/* Any TCP header must fit where this one begins, so that it can be edited and written back. */
	if (doff < 20 || at + doff > hdr_len || at > LH_HDR_BYTES - 60 || headers > l3_bytes)
		return LH_PARSED_MALFORMED;
	s->hdr_bytes = at + doff;
	s->payload_bytes = l3_bytes - headers;
	s->seq = lh_even32(h, at + 4);
	s->ack = lh_even32(h, at + 8);
	s->flags = lh_even16(h, at + 12) & 0xfff;
	s->window = lh_even16(h, at + 14);
	s->end = s->seq + s->payload_bytes + !!(s->flags & LH_SYN) + !!(s->flags & LH_FIN);
	key->fh_port = lh_even16(h, at + (to_mh ? 0 : 2));
	key->mh_port = lh_even16(h, at + (to_mh ? 2 : 0));
	if (doff > 20 && !lh_parse_options(h, at + 20, at + doff, s))
		return LH_PARSED_MALFORMED;
	return LH_PARSED_TCP;
}

LH_INLINE u32 lh_vlan_tag(u32 tci)
{
	u32 id = tci & 0xfff;

	return id ? id | 0x1000 : 0;
}

LH_INLINE enum lh_parsed lh_parse(const struct lh_hdr *h, u32 hdr_len, u32 pkt_bytes, u32 l2_bytes,
				  u32 vlan, bool to_mh, struct lh_segment *s,
				  struct lh_flow_key *key)
{
	u32 at = l2_bytes, proto, nr_vlan = 0, l3_bytes = 0, tag, i;
	enum lh_parsed why;

	s->wscale = LH_WSCALE_NONE;
	if (hdr_len < l2_bytes + 40)
		return LH_PARSED_NOT_TCP;
	if (vlan)
		key->vlan[nr_vlan++] = vlan;
	if (l2_bytes) {
		proto = lh_get16(h, 12);
		for (i = 0; i < 2 && (proto == 0x8100 || proto == 0x88a8); i++) {
			if (nr_vlan > 1)
				return LH_PARSED_NOT_TCP;
			tag = lh_vlan_tag(lh_get16(h, at));
			key->vlan[nr_vlan] = tag;
			nr_vlan += tag > 0;
			proto = lh_get16(h, at + 2);
			at += 4;
		}
	} else {
		proto = lh_get8(h, 0) >> 4 == 6 ? 0x86dd : 0x0800;
	}
	s->l3_offset = at;
	if (proto == 0x0800) {
		s->ecn = lh_get8(h, at + 1) & 3;
		s->l4_offset = lh_parse_ipv4(h, at, to_mh, key, &l3_bytes, &why);
	} else if (proto == 0x86dd) {
		s->ecn = lh_get8(h, at + 1) >> 4 & 3;
		s->l4_offset = lh_parse_ipv6(h, hdr_len, at, to_mh, key, &l3_bytes, &why);
	} else {
		return LH_PARSED_NOT_TCP;
	}
	if (!s->l4_offset)
		return why;
	/* A length that the packet doesn't have: truncated, or BIG TCP's 0. */
	if (l3_bytes + at > pkt_bytes || s->l4_offset + 20U > hdr_len)
		return LH_PARSED_MALFORMED;
	return lh_parse_tcp(h, hdr_len, l3_bytes, to_mh, s, key);
}
