/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet's headers, copied and parsed.
 */
#ifndef LH_READ_BPF_H
#define LH_READ_BPF_H

#include "host.bpf.h"

/* The device's tag, in the form of lh_flow_key.vlan. */
LH_INLINE u32 lh_vlan(const struct __sk_buff *skb)
{
	return skb->vlan_present ? lh_vlan_tag(skb->vlan_tci) : 0;
}

/* Most headers are shorter: Ethernet, IPv4 and TCP with timestamps are 66 bytes, with three SACK blocks 94. */
#define LH_HDR_MOSTLY 96

/* Copies the first bytes that lie in one piece, LH_HDR_MOSTLY at the most, without the helper, which takes three
 * times as long. @return how many, 0: none. */
LH_INLINE u32 lh_read_linear(struct __sk_buff *skb, struct lh_scratch *sc)
{
	u8 *data = (u8 *)(long)skb->data, *end = (u8 *)(long)skb->data_end;
	u64 *to = (u64 *)sc->hdr.b;
	u32 i, rest;

	if (!lh_setup.words)
		return 0;
#pragma unroll
	for (i = 0; i < LH_HDR_MOSTLY / 8; i++) {
		if (data + 8 * (i + 1) > end)
			break;
		to[i] = ((u64 *)data)[i];
	}
	if (i == LH_HDR_MOSTLY / 8)
		return LH_HDR_MOSTLY;
	/* The rest with bytes that are there already. */
	rest = end - data - 8;
	lh_barrier(rest);
	if (lh_outside(rest, 32, LH_HDR_MOSTLY - 8) || data + rest + 8 > end)
		return 0;
	*(u64 *)(sc->hdr.b + rest) = *(u64 *)(data + rest);
	return rest + 8;
}

/* Copies the first bytes from @at on, as many as the buffer has room for. @return how many, 0: none, or too few for
 * an IP and a TCP header. */
LH_INLINE u32 lh_read_copied(struct __sk_buff *skb, struct lh_scratch *sc, u32 at)
{
	u32 len = skb->len;

	if (len < at)
		return 0;
	len -= at;
	if (len > LH_HDR_BYTES)
		len = LH_HDR_BYTES;
	lh_barrier(len);
	if (lh_outside(len, 40, LH_HDR_BYTES) || bpf_skb_load_bytes(skb, at, sc->hdr.b, len))
		return 0;
	return len;
}

/* Copies and parses the headers. @return enum lh_parsed: of a TCP segment, in @sc. */
LH_INLINE int lh_look(struct __sk_buff *skb, struct lh_scratch *sc, bool to_mh)
{
	u32 len = lh_read_linear(skb, sc);
	int parsed = LH_PARSED_MALFORMED;

	/* Of a packet that the buffer has room for there has to be all: one that has carried a repair is put
	 * together from it again. Of others as much as tells what they are: to a UDP header's end. */
	if (len && (len == skb->len || (skb->len > LH_HDR_BYTES && len >= lh_setup.l2_bytes + 48)))
		parsed = lh_parse_here(sc, len, skb->len, lh_vlan(skb), to_mh);
	if (parsed == LH_PARSED_MALFORMED) { /* or longer than that */
		len = lh_read_copied(skb, sc, 0);
		parsed = len ? lh_parse_headers(sc, len, skb->len, lh_vlan(skb), to_mh)
			     : LH_PARSED_NOT_TCP;
	}
	return parsed;
}

/* A packet that lh_look() has found to be no TCP segment goes on. */
LH_INLINE void lh_goes_by(struct lh_env *env, int parsed)
{
	if (parsed == LH_PARSED_NOT_TCP)
		lh_host_count(env, LH_C_bypass_not_tcp, 1);
	else if (parsed == LH_PARSED_FRAGMENT)
		lh_host_count(env, LH_C_bypass_fragment, 1);
	else
		lh_host_count(env, LH_C_bypass_malformed, 1);
}

/* The same for who lets all others by. True: a TCP segment, in @sc. */
LH_INLINE bool lh_read(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env, bool to_mh)
{
	int parsed = lh_look(skb, sc, to_mh);

	if (parsed == LH_PARSED_TCP)
		return true;
	lh_goes_by(env, parsed);
	return false;
}

#endif /* LH_READ_BPF_H */
