/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps, and what the core's host lends it: chunks, slots, counters.
 */
#ifndef LH_HOST_BPF_H
#define LH_HOST_BPF_H

#include "kernel.h"
#include "../core/types.h"
#include "abi.h"

/* User space sets the sizes before load: lh_setup.nr_*. */
const volatile struct lh_setup lh_setup;
struct lh_shared lh_shared;
/* What the core shares between flows; a map of its own, user space reads it. Of its receivers there are
 * lh_setup.nr_peers. */
struct lh_device lh_device SEC(".bss.device");

/* Takes memory as connections come. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct lh_flow_key);
	__type(value, u32); /* index into flows */
} flow_ids SEC(".maps");

/* Where flow_ids said last that flows are, by a hash of the key: two places each, the newer one in the low half. A
 * place has the index in the low LH_HINT_BITS and a part of the hash above; any may be wrong. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} flow_hints SEC(".maps");

/*
 * Pools that grow with need: maps of areas, each of which is an array of struct lh_flow_entry, lh_chunk or
 * lh_slot that user space adds (crates/lasthop/src/programs/pools.rs). Number n is entry n % size of area
 * n / size, the size of an area being a power of two.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} flows SEC(".maps"), chunks SEC(".maps"), slots SEC(".maps");

/* The flows' timers, all from the beginning: in an area they would end with the last descriptor of it,
 * and somebody would have to hold one of each (docs/decisions.md). */
struct lh_timer {
	struct bpf_timer timer; /* fires at the flow's armed_ns */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lh_timer);
} timers SEC(".maps");

/* Copies of flows for user space, which can't look into areas (lh_show). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LH_SHOWN);
	__type(key, u32);
	__type(value, struct lh_flow_entry);
} shown SEC(".maps");

/* How often each slot was given back: a repair that names an earlier use of it comes too late. Apart
 * from the slots, so that giving one back touches no packet that left the processor's caches long ago
 * (docs/performance.md). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} slot_uses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__type(value, u32);
} free_flows SEC(".maps"), free_chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__type(value, struct lh_batch);
} free_slots SEC(".maps");

/* A stack of a pool's free numbers beside the one above, while user space looks through that for those of
 * areas that it is about to take away (crates/lasthop/src/programs/giving.rs): what is free is in one of both. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LH_POOLS);
	__type(key, u32);
	__type(value, u32);
} aside SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lh_env);
} counters SEC(".maps");

/* SYNs that found no place among the unanswered, or in the table: the answer finds them here, unless so
 * many came since. SYNs are cheap to send, and cost no more than this. Of the two LRU hashes the one for
 * many is there while many are unanswered (crates/lasthop/src/programs/syns.rs). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LH_SYNS);
	__type(key, u32);
	__type(value, u32);
} syns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LH_MAX_RULES);
	__type(key, u32);
	__type(value, struct lh_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

/* A super-packet that is cut into its segments. */
struct lh_cut {
	u32 bytes; /* payload of each but the last; 0: it is no super-packet */
	u32 off; /* of the one at hand, in the packet */
	u32 last; /* 1: that is the last one */
	u32 ce; /* 1: one of them asks for a mark */
	u32 kept; /* enum lh_slot_flag of what each keeps: LH_SLOT_CWR or none */
};

/* What one program run needs and the stack can't hold. A packet that the run
 * itself sends re-enters lh_egress, which leaves by its mark before it comes
 * here. */
struct lh_scratch {
	struct lh_hdr hdr;
	struct lh_segment seg;
	struct lh_segment slice;
	struct lh_flow_key key;
	struct lh_actions act;
	struct lh_pending todo[LH_PENDING_MAX]; /* repairs of this kick */
	struct lh_slot slot; /* a held ACK on its way out */
	struct lh_mac_report report;
	struct lh_syn syn; /* of a flow that is about to be created */
	/* The packet that carries what the core asks for (carry.bpf.h): bytes before what is loaded, and
	 * whether its checksum is CHECKSUM_PARTIAL. Of which flow, for lh_ingress: index + 1; 0: none. */
	u32 carry_at, carry_partial, carry_flow;
	struct lh_cut cut;
	u32 claimed; /* by a run (lh_cpu_claim) */
	u8 sum[132]; /* bytes of a packet that are summed up, and zeros (verify.bpf.h) */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lh_scratch);
} scratches SEC(".maps");

LH_INLINE void lh_host_count(struct lh_env *env, enum lh_counter id, u64 n)
{
	env->counters.n[id] += n;
}

/* Number @id of a pool whose areas have 1 << @shift entries; NULL: it is not there. */
LH_INLINE void *lh_pooled(void *pool, u32 id, u32 shift)
{
	u32 area = id >> shift, at = id & ((1U << shift) - 1);
	void *entries = bpf_map_lookup_elem(pool, &area);

	return entries ? bpf_map_lookup_elem(entries, &at) : NULL;
}

LH_INLINE struct lh_chunk *lh_host_chunk(struct lh_env *env, u32 id)
{
	return lh_pooled(&chunks, id, lh_setup.chunk_shift);
}

LH_INLINE struct lh_slot *lh_slot_at(u32 id)
{
	return lh_pooled(&slots, id, lh_setup.slot_shift);
}

LH_INLINE struct lh_flow_entry *lh_flow_at(u32 index)
{
	return lh_pooled(&flows, index, lh_setup.flow_shift);
}

/* A free number of the pool from its stack aside. @return 0: there it is. */
LH_INLINE long lh_pop_aside(u32 pool, u32 *id)
{
	void *stack = bpf_map_lookup_elem(&aside, &pool);

	return stack ? bpf_map_pop_elem(stack, id) : -1;
}

LH_INLINE bool lh_host_get_chunk(struct lh_env *env, u32 *id)
{
	u32 got = 0;

	if (bpf_map_pop_elem(&free_chunks, &got) && lh_pop_aside(LH_POOL_CHUNKS, &got))
		return false;
	env->chunks_taken++;
	*id = got;
	return true;
}

LH_INLINE void lh_host_put_chunk(struct lh_env *env, u32 id)
{
	if (!bpf_map_push_elem(&free_chunks, &id, 0))
		env->chunks_taken--;
}

#define LH_OF_CPU_HAS(field)                                                                       \
	_Static_assert(offsetof(struct lh_env, field) == offsetof(struct lh_of_cpu, field) &&      \
			       sizeof(((struct lh_env *)0)->field) ==                              \
				       sizeof(((struct lh_of_cpu *)0)->field),                     \
		       "what user space sees of it")

LH_OF_CPU_HAS(counters);
LH_OF_CPU_HAS(nr_spare);
LH_OF_CPU_HAS(spare);
LH_OF_CPU_HAS(spares_asked);

LH_INLINE bool lh_host_get_slot(struct lh_env *env, u32 *slot)
{
	u32 n = env->nr_spare;

	if (!n) {
		if (!bpf_map_pop_elem(&free_slots, env->spare))
			n = LH_BATCH_SLOTS;
		else if (!lh_pop_aside(LH_POOL_SLOTS, env->spare))
			n = 1;
		else
			return false;
	}
	n--;
	lh_barrier(n);
	*slot = env->spare[n & (LH_SPARE_MAX - 1)];
	env->nr_spare = n;
	env->slots_taken++;
	return true;
}

LH_INLINE void lh_host_put_slot(struct lh_env *env, u32 id)
{
	u32 *uses = bpf_map_lookup_elem(&slot_uses, &id), n = env->nr_spare;

	if (!uses)
		return;
	(*uses)++;
	if (n >= LH_SPARE_MAX) {
		if (bpf_map_push_elem(&free_slots, &env->spare[LH_BATCH_SLOTS], 0))
			return;
		n = LH_BATCH_SLOTS;
	}
	lh_barrier(n);
	env->spare[n & (LH_SPARE_MAX - 1)] = id;
	env->nr_spare = n + 1;
	env->slots_taken--;
}

#include "../core/unit.h"

LH_INLINE struct lh_scratch *lh_scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

/*
 * Whether this run may have what there is one of per CPU: the scratch space, the environment. With
 * PREEMPT_RT softirqs and who has them off can be preempted, and from 6.18 on no lock keeps them apart on
 * a CPU (PREEMPT_RT_NEEDS_BH_LOCK): who comes while another is at it lets its packet pass, since waiting
 * for who was preempted would take for ever. lh_cpu_done() ends it.
 */
LH_INLINE bool lh_cpu_claim(struct lh_scratch *sc)
{
	u32 zero = 0;
	struct lh_env *env;

	if (!lh_setup.realtime || !__sync_val_compare_and_swap(&sc->claimed, 0, 1))
		return true;
	env = bpf_map_lookup_elem(&counters, &zero);
	if (env)
		__sync_fetch_and_add(&env->counters.n[LH_C_bypass_lock], 1);
	return false;
}

/* The same for a packet that passes else. Of which flow it is nobody knows then: each may have missed it
 * (lh_look_for_passed). */
LH_INLINE bool lh_packet_claim(struct lh_scratch *sc)
{
	if (lh_cpu_claim(sc))
		return true;
	if (lh_setup.realtime)
		__sync_fetch_and_add(&lh_shared.passed, 1);
	return false;
}

LH_INLINE void lh_cpu_done(struct lh_scratch *sc)
{
	if (lh_setup.realtime)
		__sync_lock_test_and_set(&sc->claimed, 0);
}

/* Parses the headers in sc->hdr. @return enum lh_parsed. */
LH_INLINE int lh_parse_here(struct lh_scratch *sc, u32 hdr_len, u32 pkt_bytes, u32 vlan, bool to_mh)
{
	__builtin_memset(&sc->seg, 0, sizeof(sc->seg));
	__builtin_memset(&sc->key, 0, sizeof(sc->key));
	return lh_parse(&sc->hdr, hdr_len, pkt_bytes, lh_setup.l2_bytes, vlan, to_mh, &sc->seg,
			&sc->key);
}

/* As lh_parse_here(), for who does so seldom. A global function, for the verifier's sake. */
LH_ENTRY int lh_parse_headers(struct lh_scratch *sc, u32 hdr_len, u32 pkt_bytes, u32 vlan,
			      u32 to_mh)
{
	if (!sc)
		return LH_PARSED_MALFORMED;
	return lh_parse_here(sc, hdr_len, pkt_bytes, vlan, to_mh);
}

LH_INLINE u64 lh_now(const struct __sk_buff *skb)
{
	return lh_setup.test_clock ? skb->tstamp : bpf_ktime_get_ns();
}

/* User space supplies the kicks by which held ACKs are released; without a
 * sign of life nothing may be kept back. */
LH_INLINE bool lh_alive(u64 now_ns)
{
	u64 beat = *(volatile u64 *)&lh_shared.heartbeat_ns;

	return beat + lh_setup.stale_ns > now_ns;
}

/* A flow may have all that it may while three quarters of the pool suffice for everybody; then
 * core/share.h says who has to be content with how much. */
LH_INLINE void lh_share(struct lh_env *env)
{
	u64 used = *(volatile u64 *)&lh_shared.slots_used;
	u64 active = *(volatile u64 *)&lh_shared.active_flows;
	u64 most = lh_shared.slots_most, part;

	env->cap_segments = lh_setup.flow_segments;
	env->pool_segments = 0;
	if (used < most - most / 4)
		return;
	part = most / (active ? active : 1);
	env->part_segments = lh_clamp64(part, LH_SHARE_LEAST, lh_setup.flow_segments);
	env->pool_segments = most;
}

/* Puts the last of the slots at hand aside. @return 1: there is none, or no place for it. */
LH_ENTRY int lh_spare_aside(struct lh_env *env)
{
	u32 pool = LH_POOL_SLOTS, n;
	void *stack;

	if (!env)
		return 1;
	n = env->nr_spare;
	stack = bpf_map_lookup_elem(&aside, &pool);
	if (!stack || n - 1 >= LH_SPARE_MAX)
		return 1;
	n--;
	lh_barrier(n);
	if (bpf_map_push_elem(stack, &env->spare[n & (LH_SPARE_MAX - 1)], 0))
		return 1;
	env->nr_spare = n;
	return 0;
}

/* Puts all of them aside, as user space has asked. */
LH_ENTRY int lh_spares_aside(struct lh_env *env)
{
	int i;

	bpf_for (i, 0, LH_SPARE_MAX) {
		if (lh_spare_aside(env))
			break;
	}
	return 0;
}

/* The environment of this run, NULL: give up. Per CPU: a run that a packet of
 * ours causes leaves by the mark before it comes here. */
LH_INLINE struct lh_env *lh_env(const struct __sk_buff *skb)
{
	u32 zero = 0;
	struct lh_env *env = bpf_map_lookup_elem(&counters, &zero);

	if (!env)
		return NULL;
	env->now_ns = lh_now(skb);
	if (env->spares_asked != lh_shared.spares_asked) {
		env->spares_asked = lh_shared.spares_asked;
		lh_spares_aside(env);
	}
	lh_share(env);
	env->alive = lh_alive(env->now_ns);
	env->slots_taken = env->chunks_taken = 0;
	env->accepted = 1; /* tc sees packets before the queue does */
	env->partner = 0; /* until the flow is known: bpf/channel.bpf.h */
	env->partner_rtt_ns = 0;
	env->handshakes =
		*(volatile u64 *)&lh_shared.unanswered * LH_UNANSWERED_PART < lh_setup.nr_flows;
	return env;
}

/* Whether a pool of which so much is @used is to grow. A sender in slow start needs twice as much within a
 * round trip, and user space some 10 ms. */
LH_INLINE bool lh_runs_low(u64 used, u64 there, u64 most)
{
	return there < most && used > there / 2;
}

/* Puts an event into the ring buffer and wakes user space. By itself the kernel does so only for who has seen
 * all that came before, and who polls has not. @return 0: done. */
LH_INLINE int lh_put_event(struct lh_event *event)
{
	u64 wakes = *(volatile u64 *)&lh_shared.polls_until_ns ? BPF_RB_FORCE_WAKEUP : 0;

	return bpf_ringbuf_output(&events, event, sizeof(*event), wakes);
}

/* Asks user space for more of the pools that run low; once, until it has done what it can. */
LH_ENTRY int lh_ask_for_more(void)
{
	struct lh_event event = {.flow = LH_EVENT_GROW};

	if (*(volatile u64 *)&lh_shared.grow_asked)
		return 0;
	lh_shared.grow_asked = 1; /* before the event: it may be answered at once */
	if (lh_put_event(&event))
		lh_shared.grow_asked = 0;
	return 0;
}

/* Books what the run took of the pools: once, not per segment, since both
 * CPUs of a flow fight for these words. */
LH_INLINE void lh_env_done(struct lh_env *env)
{
	u64 slots_used = lh_shared.slots_used, chunks_used = lh_shared.chunks_used;

	if (env->slots_taken)
		__sync_fetch_and_add(&lh_shared.slots_used, env->slots_taken);
	if (env->chunks_taken)
		__sync_fetch_and_add(&lh_shared.chunks_used, env->chunks_taken);
	if (lh_runs_low(slots_used, lh_shared.slots_there, lh_shared.slots_most) ||
	    lh_runs_low(chunks_used, lh_shared.chunks_there, lh_shared.chunks_most))
		lh_ask_for_more();
}

#endif /* LH_HOST_BPF_H */
