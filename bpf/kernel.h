/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types and constants that the programs use, instead of a
 * vmlinux.h of 150,000 lines: the UAPI context, and some fields of kernel
 * structs by CO-RE. Numbers: the kernel release that brought a thing.
 */
#ifndef LH_KERNEL_H
#define LH_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STACK = 23, /* 4.20 */
	BPF_MAP_TYPE_RINGBUF = 27, /* 5.8 */
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_INGRESS = 1,
	CLOCK_MONOTONIC = 1,
};

enum { /* of bpf_ringbuf_output() */
       BPF_RB_NO_WAKEUP = 1,
       BPF_RB_FORCE_WAKEUP = 2,
};

/* Verdicts of TCX programs (6.6); TCX_NEXT lets other programs run. */
enum tcx_action_base {
	TCX_NEXT = -1,
	TCX_DROP = 2,
};

enum {
	CHECKSUM_NONE = 0,
	CHECKSUM_UNNECESSARY = 1,
	CHECKSUM_COMPLETE = 2,
	CHECKSUM_PARTIAL = 3,
};

struct bpf_timer { /* 5.15 */
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_num { /* 6.4 */
	__u64 opaque[1];
} __attribute__((aligned(8)));

/* UAPI: layout fixed for ever. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
	__u32 vlan_present;
	__u32 vlan_tci;
	__u32 vlan_proto;
	__u32 priority;
	__u32 ingress_ifindex;
	__u32 ifindex;
	__u32 tc_index;
	__u32 cb[5];
	__u32 hash;
	__u32 tc_classid;
	__u32 data;
	__u32 data_end;
	__u32 napi_id;
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 data_meta;
	__u64 flow_keys __attribute__((aligned(8)));
	__u64 tstamp;
	__u32 wire_len;
	__u32 gso_segs;
	__u64 sk __attribute__((aligned(8)));
	__u32 gso_size;
	__u8 tstamp_type;
	__u8 : 8;
	__u16 : 16;
	__u64 hwtstamp;
};

/* Whether a checksum is finished, whether the device is to encrypt the payload, what else it is to make of
 * a packet by its route, and how it is to cut a super-packet, is not in the UAPI context. */
struct sk_buff {
	__u8 ip_summed : 2;
	__u8 decrypted : 1; /* not in every kernel */
	__u8 tc_skip_classify : 1;
	unsigned int truesize;
	unsigned long _skb_refdst;
	unsigned char *head;
	unsigned int end; /* an offset, on 64-bit machines */
} __attribute__((preserve_access_index));

struct skb_shared_info {
	unsigned int gso_type;
} __attribute__((preserve_access_index));

#define SKB_GSO_TCP_ACCECN (1 << 19) /* 6.15; no other's before */

#define SKB_DST_PTRMASK (~1UL)
#define DST_METADATA 0x0080

struct lwtunnel_state;

struct dst_entry {
	unsigned short flags;
	struct lwtunnel_state *lwtstate;
} __attribute__((preserve_access_index));

enum metadata_type {
	METADATA_IP_TUNNEL,
};

#define IP_TUNNEL_INFO_TX 0x01

struct ip_tunnel_info {
	__u8 mode;
} __attribute__((preserve_access_index));

struct metadata_dst {
	enum metadata_type type;
	union {
		struct ip_tunnel_info tun_info;
	} u;
} __attribute__((preserve_access_index));

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

extern void *bpf_cast_to_kern_ctx(void *obj) __ksym; /* 6.2 */

#define LH_BPF 1

#endif /* LH_KERNEL_H */
