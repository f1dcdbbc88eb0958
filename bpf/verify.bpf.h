/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checksums of what comes from MH. tc runs before the stack looks at them, and a frame that
 * was damaged on the link must not move the core's state: FH discards it. Devices that have
 * looked say so; for the others it is done here.
 */
#ifndef LH_VERIFY_BPF_H
#define LH_VERIFY_BPF_H

#include "send.bpf.h"

/* One's complement sum of @len bytes of @skb from @off on, an even number of bytes after the
 * start of what is summed, added to @sum. */
LH_ENTRY u32 lh_skb_sum(struct __sk_buff *skb, struct lh_scratch *sc, u32 off, u32 len, u32 sum)
{
	int i;

	if (!sc)
		return sum;
	bpf_for (i, 0, LH_CACHE_PKT_MAX / LH_CSUM_STEP + 1) {
		/* Before Linux 6.8 "not 0" is no lower bound, one less is one. */
		u32 less = (len > LH_CSUM_STEP ? LH_CSUM_STEP : len) - 1, n, words;

		lh_barrier(less);
		if (less >= LH_CSUM_STEP || bpf_skb_load_bytes(skb, off, sc->sum, less + 1))
			break;
		n = less + 1;
		__builtin_memset(sc->sum + n, 0, 4);
		words = (n + 3) / 4;
		lh_barrier(words);
		if (lh_outside(words, 1, LH_CSUM_STEP / 4))
			break;
		sum = bpf_csum_diff(NULL, 0, (__be32 *)sc->sum, words * 4, sum);
		off += n;
		len -= n;
	}
	return sum;
}

#define LH_SUM_MOST 60 /* bytes of the longest header without extensions: of IPv4, and of TCP */

/* The same of the headers that have been read, where they stand, @len a multiple of 4. */
LH_INLINE u32 lh_hdr_sum(struct __sk_buff *skb, struct lh_scratch *sc, u32 at, u32 len, u32 sum)
{
	lh_barrier(at);
	lh_barrier(len);
	if (lh_outside(len, 4, LH_SUM_MOST) || at > LH_HDR_BYTES - LH_SUM_MOST)
		return lh_skb_sum(skb, sc, at, len, sum);
	return bpf_csum_diff(NULL, 0, (__be32 *)(sc->hdr.b + at), len, sum);
}

/* The same of @len bytes, a constant, without the helper: a call takes longer than that sum. */
LH_INLINE u32 lh_hdr_halves(struct lh_scratch *sc, u32 at, u32 len)
{
	u16 *half;
	u32 i, sum = 0;

	lh_barrier(at);
	if (at > LH_HDR_BYTES - LH_SUM_MOST)
		return 0;
	half = (u16 *)(sc->hdr.b + (at & ~1U)); /* as it is */
#pragma unroll
	for (i = 0; i < len / 2; i++)
		sum += half[i];
	return sum;
}

/* The addresses. */
LH_INLINE u32 lh_sum_addresses(struct lh_scratch *sc)
{
	u32 l3 = sc->seg.l3_offset;

	return sc->key.family == 4 ? lh_hdr_halves(sc, l3 + 12, 8) : lh_hdr_halves(sc, l3 + 8, 32);
}

/* TCP's header, mostly with timestamps or without options, added to @sum, which is no large one. */
LH_INLINE u32 lh_sum_tcp(struct __sk_buff *skb, struct lh_scratch *sc, u32 sum)
{
	u32 l4 = sc->seg.l4_offset, len = sc->seg.hdr_bytes - l4;

	if (len == 32)
		return sum + lh_hdr_halves(sc, l4, 32);
	if (len == 20)
		return sum + lh_hdr_halves(sc, l4, 20);
	return lh_hdr_sum(skb, sc, l4, len, sum);
}

/* Whether the checksums of the segment in sc->seg are right as far as anybody can tell. A
 * super-packet's parts were looked at when they were put together. */
LH_ENTRY int lh_sums_right(struct __sk_buff *skb, struct lh_scratch *sc)
{
	u32 l3, l4, behind, bytes, summed, addresses, sum;

	if (!sc)
		return 0;
	summed = lh_summed(skb);
	if (summed == CHECKSUM_UNNECESSARY || summed == CHECKSUM_PARTIAL || skb->gso_size)
		return 1;
	l3 = sc->seg.l3_offset;
	l4 = sc->seg.l4_offset;
	behind = sc->seg.hdr_bytes;
	bytes = behind - l4 + sc->seg.payload_bytes;
	if (bytes > LH_CACHE_PKT_MAX)
		return 1; /* too large for a frame of the link */
	addresses = lh_sum_addresses(sc);
	if (sc->key.family == 4) {
		sum = l4 - l3 == 20 ? lh_hdr_halves(sc, l3, 12) + addresses
				    : lh_hdr_sum(skb, sc, l3, l4 - l3, 0);
		if (lh_fold(sum) != 0xffff)
			return 0;
	}
	/* With the pseudo-header (RFC 9293 section 3.1, RFC 8200 section 8.1). */
	sum = lh_sum_tcp(skb, sc, addresses + lh_be16(6) + lh_be16(bytes));
	if (sc->seg.payload_bytes)
		sum = lh_skb_sum(skb, sc, behind, sc->seg.payload_bytes, sum);
	return lh_fold(sum) == 0xffff;
}

#endif /* LH_VERIFY_BPF_H */
