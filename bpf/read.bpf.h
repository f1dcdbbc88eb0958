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
	return skb->vlan_present ? (skb->vlan_tci & 0xfff) | 0x1000 : 0;
}

/* Copies and parses the headers. True: a TCP segment, in @sc. */
LH_INLINE bool lh_read(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env, bool to_mh)
{
	u32 len = skb->len;
	int parsed;

	if (len > LH_HDR_BYTES)
		len = LH_HDR_BYTES;
	lh_barrier(len);
	if (lh_outside(len, 40, LH_HDR_BYTES) || bpf_skb_load_bytes(skb, 0, sc->hdr.b, len)) {
		lh_host_count(env, LH_C_bypass_not_tcp, 1);
		return false;
	}
	parsed = lh_parse_headers(sc, len, skb->len, lh_vlan(skb), to_mh);
	if (parsed == LH_PARSED_TCP)
		return true;
	if (parsed == LH_PARSED_NOT_TCP)
		lh_host_count(env, LH_C_bypass_not_tcp, 1);
	else if (parsed == LH_PARSED_FRAGMENT)
		lh_host_count(env, LH_C_bypass_fragment, 1);
	else
		lh_host_count(env, LH_C_bypass_malformed, 1);
	return false;
}

#endif /* LH_READ_BPF_H */
