/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the BPF programs and user space share: the values of the maps and of
 * the events. Rust's view of it is generated (crates/lasthop-core).
 */
#ifndef LH_ABI_H
#define LH_ABI_H

#include "../core/flow.h"
#include "../core/partner.h"

/* Counts up when something in the maps means something else, although it looks the same: an agent
 * of another number does not go on with what one has learned (`lasthop daemon --take-over`). */
#define LH_LAYOUT 2

#define LH_SLOT_BYTES 2048
#define LH_SLOT_PKT_BYTES (LH_SLOT_BYTES - 32)
#define LH_CACHE_PKT_MAX (LH_SLOT_PKT_BYTES - 128) /* larger packets pass uncached */
#define LH_HELD_BYTES 256
#define LH_MAX_RULES 32
#define LH_UNANSWERED_PART 8 /* so much of the table may be flows that one end alone speaks of */
#define LH_SYNS_PER_FLOW 4 /* SYNs remembered beside the table, per place in it */

/* Index into map `syns`. */
enum lh_syns {
	LH_SYNS_FEW,
	LH_SYNS_MANY,
	LH_SYNS,
};

enum lh_slot_flag {
	LH_SLOT_SLICE = 1, /* cut from a super-packet: headers still to be made its own */
	LH_SLOT_SLICE_LAST = 2, /* the super-packet's last one keeps FIN and PSH */
	LH_SLOT_PARTIAL = 4, /* the TCP checksum is not finished */
	LH_SLOT_CWR = 8, /* CWR is every slice's, not the first one's alone */
};

/* One cached packet as it left, from layer 2 (or 3) on. Owned by the flow
 * whose segment names it; read and written under that flow's lock. */
struct lh_slot {
	u32 slice; /* index within the super-packet */
	u32 slice_seq; /* the slice's own sequence number, host byte order */
	u32 mark; /* the packet's */
	u32 priority; /* and its priority, which may name a class of a qdisc */
	u16 bytes; /* valid in pkt */
	u16 l3_offset;
	u16 l4_offset;
	u16 hdr_bytes; /* offset of the payload */
	u16 vlan_tci; /* tag beside the packet; vlan_proto 0: none */
	u16 vlan_proto; /* network byte order, as in __sk_buff */
	u8 flags; /* enum lh_slot_flag */
	u8 family; /* 4 or 6 */
	u8 pad[2];
	u8 pkt[LH_SLOT_PKT_BYTES];
};

/* The newest ACK that was kept from FH; at the mobile end the last that left (core/handoff.h). */
struct lh_held {
	u16 bytes;
	u16 l3_offset;
	u16 l4_offset;
	u16 vlan_tci;
	u16 vlan_proto;
	u8 partial; /* the TCP checksum is not finished */
	u8 family;
	u8 pkt[LH_HELD_BYTES];
};

/* Repairs that may wait for one kick, a power of two: a NIC's poll brings up to
 * 64 ACKs before user space can run. */
#define LH_PENDING_MAX 16

/* A repair that the packet at hand could not carry: sent by the next kick. */
struct lh_pending {
	u32 slot;
	u32 use; /* of the slot: another one, too late */
};

/* Value of the areas of map `flows`. */
struct lh_flow_entry {
	u32 lock; /* 1: taken; compare-and-swap */
	u32 generation; /* counts how often the entry was given to a flow */
	u32 used; /* 1: the key is in flow_ids */
	u32 nr_pending;
	struct lh_flow_key key;
	u32 kick_sent; /* 1: an event for user space is under way */
	u32 partner; /* index + 1 of the agent at the hop's other end, 0: none is known */
	u64 partner_ns; /* when the partner was last looked for */
	u64 deadline_ns; /* what the core asked for, 0: none */
	u64 armed_ns; /* when the timer fires, 0: not armed */
	u32 armed_outside; /* 1: that timer is user space's */
	u32 passed; /* lh_shared.passed when the flow was last found */
	u32 nr_tell; /* of tell: what the next kick is to tell that agent */
	u32 tell_each; /* 1: by a message for each of them */
	u32 nr_absent; /* of absent: what it is to answer that will not come */
	u32 index; /* its own, in the map */
	/* First what each packet asks for, as in the flow. */
	struct lh_flow flow;
	u64 created_ns;
	struct lh_sack_block tell[LH_TELL_MOST];
	struct lh_sack_block absent[LH_TELL_MOST];
	struct lh_pending pending[LH_PENDING_MAX];
	struct lh_held held;
};

/* In place of a flow: the pools run low (lh_shared.grow_asked). */
#define LH_EVENT_GROW 0xffffffffU

/* Map `events`, a ring buffer: run lh_kick for this flow at once, or lh_due in a while. */
struct lh_event {
	u32 flow; /* index into `flows`, or LH_EVENT_GROW */
	u32 generation; /* of the entry; another one: too late, forget it */
	u32 family; /* 4 or 6: which template packet to run lh_kick with */
	u32 in_us; /* in so many microseconds, and not at another time asked for before; 0: at once */
};

enum lh_rule_action {
	LH_RULE_MATCH = 1,
	LH_RULE_EXCLUDE = 2,
};

/* --match and --exclude: a rule applies if either end of the connection is in
 * the prefix and, with a port, has that port. */
struct lh_rule {
	u8 addr[16]; /* network byte order; IPv4 in the first four */
	u8 family; /* 4 or 6; 0: any address */
	u8 prefix_bits;
	u16 port; /* host byte order, 0: any */
	u32 action; /* enum lh_rule_action */
};

/* Set before load (.rodata). */
struct lh_setup {
	struct lh_config config;
	u32 policy; /* lhc_policy() of config */
	u32 ifindex; /* of the attached device */
	u32 l2_bytes; /* 14: Ethernet header; 0: none */
	u32 mark_value; /* fwmark bits that tell our own packets */
	u32 mark_mask;
	u32 priority; /* skb->priority of local retransmissions */
	u32 nr_slots; /* payload slots at the most, a multiple of LH_BATCH_SLOTS */
	u32 nr_chunks; /* the same of chunks */
	u32 slot_shift, chunk_shift, flow_shift; /* log2 of an area's size */
	u32 nr_flows;
	u32 nr_peers; /* receivers that have a place, a power of two, at most LH_PEERS */
	u32 flow_segments; /* cap per flow while memory is plenty */
	u32 nr_rules;
	u32 has_match; /* 1: only flows that a match rule covers are assisted */
	u32 test_clock; /* 1: the time is skb->tstamp (differential test) */
	u32 words; /* 1: words may stand anywhere: the kernel has HAVE_EFFICIENT_UNALIGNED_ACCESS */
	u32 test_no_timers; /* 1: as if the kernel had no memory for any (tests) */
	u32 realtime; /* 1: PREEMPT_RT: flows' timers are user space's, and runs may preempt each other */
	u32 port; /* of messages between agents, 0: none are heard or sent */
	u32 shared; /* 1: agents with other rules, and the same mark, serve the device as well */
	u64 can; /* enum lh_can, lhc_can(policy) */
	u64 stale_ns; /* heartbeat older than this: pass everything */
};

/* Slots travel between CPUs by the batch: what one frees is what the other
 * needs, and a stack map's lock per segment cost a third of the agent's time. */
#define LH_BATCH_SLOTS 32

/* Value of map `free_slots`. */
struct lh_batch {
	u32 slot[LH_BATCH_SLOTS];
};

#define LH_SPARE_MAX (2 * LH_BATCH_SLOTS) /* one to give, one to keep */

/* Map `counters`, per CPU, one entry: so the value begins (it is the struct lh_env of that CPU's runs,
 * core/env.h). */
struct lh_of_cpu {
	struct lh_counters counters;
	s64 slots_taken, chunks_taken;
	u32 nr_spare; /* free slots at hand */
	u32 spare[LH_SPARE_MAX];
	u64 spares_asked; /* lh_shared.spares_asked when they were last put aside */
};

/* The pools: index into map `aside`. */
enum lh_pool {
	LH_POOL_SLOTS,
	LH_POOL_CHUNKS,
	LH_POOL_FLOWS,
	LH_POOLS,
};

/* Shared live values (.bss). */
struct lh_shared {
	u64 heartbeat_ns; /* CLOCK_MONOTONIC, written by user space */
	u64 slots_used; /* payload slots handed out */
	u64 chunks_used;
	u64 flows_used;
	u64 active_flows; /* flows with at least one cached segment */
	u64 unanswered; /* flows of which one end alone was heard */
	u64 slots_there, chunks_there,
		flows_there; /* that user space has added to the pools so far */
	/* That it can add: lh_setup.nr_*, or what memory there is for. */
	u64 slots_most, chunks_most, flows_most;
	u64 syns_there, syns_most; /* SYNs that can be remembered */
	u64 spares_asked; /* counts up when each CPU is to put aside the slots that it has at hand */
	u64 grow_asked; /* 1: the programs have asked for more, and user space has not looked yet */
	/* Until when user space looks at the events every LH_POLL_NS in any case (CLOCK_MONOTONIC), and need not
	 * be woken for a timer that is due later than that; 0: it sleeps. */
	u64 polls_until_ns;
	/* Packets that passed without a look (lh_packet_claim), of whichever flow. */
	u32 passed;
	u32 pad;
};

#define LH_POLL_NS (10 * LH_MSEC)

/* Map `partners`, one entry. Maps `keys` (struct lh_keys) and `us` (struct lh_us) have one each,
 * which user space writes. */
struct lh_partners_entry {
	u32 lock; /* 1: taken; compare-and-swap */
	u32 pad;
	u64 counter; /* the last one given to a message of LH_STREAM_KERNEL */
	struct lh_partners partners; /* its epoch is user space's */
};

/* Timers of user space that fire by one test run of lh_due, and where their flows stand in its packet. */
#define LH_DUE_MAX 256
#define LH_DUE_AT 16

/* skb->cb of a test run of lh_kick, lh_due, lh_sweep, lh_show, lh_give, lh_say or lh_report. */
enum lh_cb {
	LH_CB_FLOW, /* kick: index; sweep, show: first index; give: slot */
	LH_CB_GENERATION, /* kick: generation; due: number of timers; sweep, show: number of entries, at most LH_SWEEP_MAX */
	LH_CB_LINK, /* kick: enum lh_link */
	LH_CB_SWEEP = LH_CB_LINK, /* sweep: enum lh_sweep_of */
	LH_CB_TO = LH_CB_FLOW, /* say: index + 1 of a partner, 0: all of the link */
	LH_CB_FRAME =
		LH_CB_FLOW, /* report: enum lh_mac_event, and from bit 8 on the frame's bytes */
	LH_CB_AT = LH_CB_GENERATION, /* report: low and high half of struct lh_mac_report's at_ns */
	LH_CB_AT_HIGH,
	LH_CB_QUEUED, /* report: the same of queued_ns */
	LH_CB_QUEUED_HIGH,
};

/* What a kick is to tell the core of the link, in place of the time. */
enum lh_link {
	LH_LINK_SAME,
	LH_LINK_DOWN,
	LH_LINK_UP,
};

/* Which flows a sweep forgets. What is kept of live ones is sent on first. */
enum lh_sweep_of {
	LH_SWEEP_OVER, /* closed and quiet, or idle */
	LH_SWEEP_ALL,
	LH_SWEEP_UNWANTED, /* those that the rules leave alone */
};

#define LH_SWEEP_MAX 512
#define LH_SHOWN 8 /* flows that one run of lh_show shows, at most */

#endif /* LH_ABI_H */
