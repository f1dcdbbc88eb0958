/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message from one agent of a hop to the other: its form on the wire, made and read. Whom to
 * believe is partner.h's affair.
 *
 * The payload of a UDP datagram that has not been forwarded (TTL or hop limit 255, RFC 5082), in
 * words of eight bytes, all fields in network byte order:
 *
 *	word 0	magic (32 bits), version (8), type (8), stream (8), 0 (8)
 *	word 1	key id (32), bytes of the body (16), 0 (16)
 *	word 2	epoch: the time of the sender's start, ns since 1970; a restart is newer, if no clock was set back
 *	word 3	counter of this epoch and stream, from 1 on, never used twice
 *	...	body, a multiple of eight bytes, at most LH_BODY_BYTES
 *	last	SipHash-2-4 under the key of the sender's address (two words, IPv4 in the first four
 *		bytes), a word of its family (4 or 6, one byte), a byte of 0 and its layer-2 address
 *		(six bytes, zeros where the device has none), and all words before this one
 *
 * The addresses are under the MAC, so that nobody can send another's message as their own, nor have
 * the answers sent to themselves. A stream is a source of counters: processes and the kernel's
 * programs count each by themselves.
 *
 * Body of HELLO, in words: what the sender can do (enum lh_can); its clock, ns; the epoch of the
 * receiver as far as known, or 0 for all; the clock value in the receiver's last HELLO, ns; how long
 * ago that came, ns.
 *
 * Body of MISSING: source address of the data that are missing (two words), their destination (two
 * words); source port (16), destination port (16), outer and inner VLAN tag as in struct
 * lh_flow_key (16 each); family (8), number of blocks (8), 0 (48); then per block the sequence
 * numbers of its first byte (32) and behind its last (32).
 *
 * Body of ABSENT, which answers MISSING: the same, with both ends of the connection exchanged, so that
 * again it is the receiver of the message whose table has them like this. Its blocks will not come.
 *
 * Longer bodies are read as far as they are known: what comes later goes at the end.
 */
#ifndef LH_MESSAGE_H
#define LH_MESSAGE_H

#include "segment.h"
#include "siphash.h"

#define LH_MESSAGE_MAGIC 0x4c48504dU
#define LH_MESSAGE_VERSION 1
#define LH_MESSAGE_WORDS 32 /* a power of two, no less than the longest message has */
#define LH_HEAD_WORDS 4
#define LH_BODY_BYTES 192
#define LH_MAC_BYTES 8
#define LH_MESSAGE_BYTES_MAX (LH_HEAD_WORDS * 8 + LH_BODY_BYTES + LH_MAC_BYTES)
#define LH_MESSAGE_BYTES_MIN (LH_HEAD_WORDS * 8 + LH_MAC_BYTES)
#define LH_MESSAGE_HDR_MAX 62 /* Ethernet, IPv6, UDP */
#define LH_MESSAGE_TOS 0xc0 /* CS6, network control (RFC 2474, RFC 4594) */
#define LH_MESSAGE_HOPS 255 /* TTL or hop limit of what nobody has forwarded (RFC 5082) */
#define LH_MESSAGE_PORT 30467 /* default; below the ports that Linux gives out by itself */
/* Each leaves from another port, for GRO makes one packet of several of the same two ports where a device
 * has rx-udp-gro-forwarding: RFC 6335 section 6, dynamic ports. */
#define LH_MESSAGE_FROM 49152
#define LH_MESSAGE_FROMS 16384 /* a power of two */
#define LH_MISSING_MAX 8 /* blocks of one message */

enum lh_message_type {
	LH_MESSAGE_HELLO = 1,
	LH_MESSAGE_MISSING = 2,
	LH_MESSAGE_ABSENT = 3,
};

enum lh_stream {
	LH_STREAM_USER, /* counted by a process; none does yet */
	LH_STREAM_KERNEL, /* by the programs on the device */
	LH_NR_STREAMS
};

/* What an agent can do for the other one; a bitmap. */
enum lh_can {
	LH_CAN_REPAIR_MISSING = 1, /* MISSING is answered with repairs from the cache */
	LH_CAN_HEAR_ABSENT = 2, /* what ABSENT names is not waited for any longer */
	LH_CAN_TELL_MISSING = 4, /* it says what it misses; older agents that repair do so, too */
};

/* What became of a message. */
enum lh_opened {
	LH_OPENED,
	LH_OPENED_MALFORMED, /* no message, truncated, too long, or a body that makes no sense */
	LH_OPENED_VERSION, /* a version or type that we don't know */
	LH_OPENED_KEY, /* sealed with none of our keys */
	LH_OPENED_FORGED, /* wrong MAC */
	LH_OPENED_OWN, /* our own, come back */
	LH_OPENED_REPLAYED, /* came before, too late, or from an earlier life of its sender */
	LH_OPENED_UNCONFIRMED, /* who sent it has not yet answered us (partner.h) */
	LH_OPENED_LIMITED, /* too many of this sender */
	LH_OPENED_FULL, /* no place for another sender */
	LH_NR_OPENED
};

struct lh_key {
	u64 k0, k1; /* as lh_sip_begin() takes them */
	u32 id; /* lh_key_id(), 0: no key */
	u32 pad;
};

/* The first one seals, either opens: so a key can be changed without a pause. */
struct lh_keys {
	struct lh_key key[2];
};

/* Where a message is from, as its packet says. */
struct lh_sender {
	/* These 24 bytes lh_message_mac() reads as words. */
	u8 addr[16]; /* network byte order; IPv4 in the first four, the rest zero */
	u8 hw[6]; /* layer 2, zeros where the device has none */
	u8 family; /* 4 or 6 */
	u8 hops; /* TTL or hop limit that was left */
	u8 to[16]; /* whom the packet was for, as @addr */
};

/* A message, and what is known of it in host byte order. Aligned words, since the verifier wants
 * them so. */
struct lh_message {
	u64 w[LH_MESSAGE_WORDS]; /* as on the wire */
	u64 epoch, counter;
	u32 bytes; /* of the whole message */
	u32 key_id;
	u32 body_bytes;
	u8 type; /* enum lh_message_type */
	u8 stream; /* enum lh_stream */
	u8 pad[2];
	struct lh_sender from;
};

/* Who we are on the device. */
struct lh_us {
	u8 addr4[16], addr6[16]; /* network byte order, IPv4 in the first four; zeros: none */
	u8 hw[6]; /* layer 2, zeros where the device has none */
	u8 pad[2];
};

struct lh_hello {
	u64 can; /* enum lh_can */
	u64 time_ns; /* the sender's clock */
	u64 echo_epoch; /* of whom it answers, 0: nobody */
	u64 echo_time_ns; /* their clock, as their last HELLO had it */
	u64 kept_ns; /* how long ago that came */
};

/* Data that did not come over the hop, or of ABSENT will not. */
struct lh_missing {
	/* The connection as the *receiver of the message* has it: of MISSING who sent the data over the
	 * hop, so that mh is where they go and fh where they come from, of ABSENT the other way round. */
	struct lh_flow_key key;
	u32 nr; /* blocks, 1 to LH_MISSING_MAX */
	struct lh_sack_block block[LH_MISSING_MAX];
};

/* A key from its 16 bytes. */
LH_INLINE void lh_key_init(struct lh_key *key, const u8 *bytes);

/*
 * Finds the message in a UDP packet to @port whose headers are in @h: sets m->from and m->bytes.
 * @l2_bytes: 14 or 0. Only untagged packets without IP options, extension headers or fragments:
 * agents send no others. @return the offset of the message, 0: it is none.
 */
LH_ENTRY int lh_message_find(const struct lh_hdr *h, u32 l2_bytes, u32 port, struct lh_message *m);

/* Whether the message is for us: our address, or all hosts of the link (224.0.0.1, ff02::1). All
 * else on this port is other people's. */
LH_ENTRY int lh_message_for(const struct lh_message *m, const struct lh_us *us);

/* Our address of @to's family as the sender's; @to->family without an address: to all of the link,
 * whose addresses it becomes. @return 0: we have none. */
LH_ENTRY int lh_message_address(struct lh_message *m, const struct lh_us *us, struct lh_sender *to);

/* Writes the headers that a sealed message goes out with to @port, checksums too. @return their length, at
 * most LH_MESSAGE_HDR_MAX. */
LH_ENTRY int lh_message_headers(struct lh_hdr *h, const struct lh_message *m,
				const struct lh_sender *to, u32 l2_bytes, u32 port);

/* Seals a message whose body, type, stream, epoch, counter, body_bytes and sender's addresses are
 * set. Sets m->bytes. */
LH_ENTRY int lh_message_seal(struct lh_message *m, const struct lh_key *key);

/* Opens m->bytes bytes in m->w from m->from. @return enum lh_opened; the other fields of @m are
 * valid, and its body makes sense, if it is LH_OPENED. */
LH_ENTRY int lh_message_open(struct lh_message *m, const struct lh_keys *keys);

/* Writes type and body. */
LH_ENTRY int lh_hello_put(struct lh_message *m, const struct lh_hello *hello);
/* MISSING or ABSENT, by @type. @missing as its receiver is to have it: lh_missing_turn() makes it from
 * one's own key. */
LH_ENTRY int lh_missing_put(struct lh_message *m, u32 type, const struct lh_missing *missing);
/* Reads the body of an opened message of that type, of ABSENT, too. */
LH_ENTRY int lh_hello_get(const struct lh_message *m, struct lh_hello *hello);
LH_ENTRY int lh_missing_get(const struct lh_message *m, struct lh_missing *missing);

/* The same connection as the agent at the other end of the hop names it: who is behind the hop for
 * one is before it for the other. */
LH_INLINE void lh_missing_turn(struct lh_missing *missing, const struct lh_flow_key *ours);

#endif /* LH_MESSAGE_H */
