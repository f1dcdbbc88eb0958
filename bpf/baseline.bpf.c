/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What any program on tc has to pay that follows connections: the headers are copied and parsed, and the
 * connection is looked up. Attached nowhere: the benchmark of the packet path (crates/lasthop/benches)
 * measures the agent's programs by it, since a nanosecond is another one on each machine.
 */
#include "read.bpf.h"

LH_INLINE int lh_follow(struct __sk_buff *skb, bool to_mh)
{
	struct lh_scratch *sc = lh_scratch();
	u32 zero = 0;
	struct lh_env *env = bpf_map_lookup_elem(&counters, &zero);

	if (skb->mark == lh_setup.mark_value) /* as the benchmark's empty run */
		return TCX_NEXT;
	if (sc && env && lh_read(skb, sc, env, to_mh) && !bpf_map_lookup_elem(&flow_ids, &sc->key))
		bpf_map_update_elem(&flow_ids, &sc->key, &zero, BPF_ANY);
	return TCX_NEXT;
}

SEC("tc")
int lh_egress(struct __sk_buff *skb)
{
	return lh_follow(skb, true);
}

SEC("tc")
int lh_ingress(struct __sk_buff *skb)
{
	return lh_follow(skb, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
