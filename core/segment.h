/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet's headers, parsed into plain values. Works on a copy of the first
 * bytes, so that the same code runs over an skb, a pcap record and an ns-3
 * packet. Whatever it doesn't understand it says so of, and the host forwards.
 */
#ifndef LH_SEGMENT_H
#define LH_SEGMENT_H

#include "types.h"

#define LH_HDR_BYTES 256 /* a power of two: indices are masked with it */
#define LH_HDR_MASK (LH_HDR_BYTES - 1)
#define LH_MAX_SACK 4 /* blocks that fit into 40 bytes of options */
#define LH_WSCALE_NONE 255
/*
 * The option by which two agents tell each other what is missing (docs/design.md, section 5.9):
 * kind 253 with an ExID (RFC 6994), then up to three blocks of two sequence numbers, in network
 * byte order. It is on the hop only.
 */
#define LH_MISSING_KIND 253
#define LH_MISSING_EXID 0x4c48
#define LH_MISSING_MOST 3 /* beside timestamps */
#define LH_MISSING_BYTES(n) (4 + 8 * (n))

/* The first bytes of a packet from layer 2 (or 3, on devices without it) on. Aligned: they are read by words. */
struct lh_hdr {
	u8 b[LH_HDR_BYTES];
} __attribute__((aligned(8)));

enum lh_tcp_flag {
	LH_FIN = 0x01,
	LH_SYN = 0x02,
	LH_RST = 0x04,
	LH_PSH = 0x08,
	LH_ACK = 0x10,
	LH_URG = 0x20,
	LH_ECE = 0x40,
	LH_CWR = 0x80,
	LH_AE = 0x100, /* AccECN, RFC 9768; formerly NS */
	LH_RESERVED = 0xe00, /* whatever they will mean (RFC 9293 section 3.1) */
};

enum lh_tcp_opt {
	LH_OPT_MSS = 0x01,
	LH_OPT_WSCALE = 0x02,
	LH_OPT_SACK_OK = 0x04,
	LH_OPT_SACK = 0x08,
	LH_OPT_TS = 0x10,
	LH_OPT_MPTCP = 0x20,
	LH_OPT_AUTH = 0x40, /* TCP-MD5 or TCP-AO: nothing may be edited */
	LH_OPT_UNKNOWN = 0x80,
};

enum lh_parsed {
	LH_PARSED_TCP,
	LH_PARSED_NOT_TCP,
	LH_PARSED_FRAGMENT,
	LH_PARSED_MALFORMED,
};

struct lh_sack_block {
	u32 left, right; /* sequence numbers, host byte order, [left, right) */
};

/* One TCP segment; all numbers in host byte order. Owned by the host for the
 * length of one call. */
struct lh_segment {
	u32 seq;
	u32 end; /* seq + payload + SYN + FIN */
	u32 ack;
	u32 payload_bytes;
	u32 tsval, tsecr; /* valid with LH_OPT_TS */
	u16 window; /* as in the header, not scaled */
	u16 mss; /* of a SYN's option, else 0 */
	u16 flags; /* enum lh_tcp_flag */
	u16 l3_offset; /* bytes from the start of struct lh_hdr */
	u16 l4_offset;
	u16 hdr_bytes; /* offset of the payload */
	u8 opts; /* enum lh_tcp_opt */
	u8 wscale; /* shift of a SYN's option, else LH_WSCALE_NONE */
	u8 nr_sack;
	u8 dsack; /* 1: the first SACK block reports a duplicate (RFC 2883) */
	u8 ecn; /* codepoint of the IP header: 0 not capable, 3 CE (RFC 3168) */
	u8 sack_bytes; /* length of the SACK option */
	u16 sack_at; /* its offset in struct lh_hdr */
	struct lh_sack_block sack[LH_MAX_SACK];
	/* What the agent at the hop's other end misses of the data that this acknowledges. */
	u16 missing_at; /* offset of that option in struct lh_hdr, the first if there are two; 0: none */
	u8 nr_missing; /* 0: there is none */
	u8 eol; /* 1: End of Option List: what is put behind it nobody reads */
	u32 part_bytes; /* payload of each segment in a super-packet (GRO), set by the host; 0: it is one */
	struct lh_sack_block missing[LH_MAX_SACK]; /* one more than there can be */
};

/* Names a connection from the agent's place: mh is the side of the lossy
 * link. Padding is zero, so that the bytes can be hashed. */
struct lh_flow_key {
	u8 mh[16]; /* network byte order; IPv4 in the first four */
	u8 fh[16];
	u16 mh_port; /* host byte order */
	u16 fh_port;
	u16 vlan[2]; /* outer and inner tag, as lh_vlan_tag() */
	u8 family; /* 4 or 6 */
	u8 pad[3];
};

/* To network byte order, and back. */
LH_INLINE u16 lh_be16(u16 x);

LH_INLINE u32 lh_get8(const struct lh_hdr *h, u32 off);
LH_INLINE u32 lh_get16(const struct lh_hdr *h, u32 off);

/* The tag of a TCI in a flow's key: the VLAN's identifier | 0x1000. 0: of none, as a tag that says no more
 * than the frame's priority (IEEE 802.1Q): one direction may have such, and the other none. */
LH_INLINE u32 lh_vlan_tag(u32 tci);

/*
 * Parses the packet whose first @hdr_len bytes are in @h. @l2_bytes: 14 with
 * an Ethernet header, 0 without. @vlan: a tag that the device keeps beside the
 * packet, in the form of lh_flow_key.vlan, else 0. @to_mh: the packet leaves
 * towards the lossy link. @pkt_bytes: length of the whole packet.
 * @s and @key must be zeroed.
 */
LH_INLINE enum lh_parsed lh_parse(const struct lh_hdr *h, u32 hdr_len, u32 pkt_bytes, u32 l2_bytes,
				  u32 vlan, bool to_mh, struct lh_segment *s,
				  struct lh_flow_key *key);

#endif /* LH_SEGMENT_H */
