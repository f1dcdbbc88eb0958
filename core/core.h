/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The exported functions of core.c, for hosts in other languages. Prefix lhc_
 * (lasthop core, callable); agent.h says what each does. Not thread-safe per
 * flow: the caller holds the flow's lock.
 */
#ifndef LH_CORE_H
#define LH_CORE_H

#include "flow.h"
#include "partner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory and counters lent by the caller, and the state that its flows share
 * (zeroed at first, lhc_device_bytes() long); @ctx is passed through. Semantics as
 * lh_host_* in env.h: get_* return 0 when there is nothing left. */
struct lh_host_ops {
	void *ctx;
	struct lh_device *device;
	u32 nr_peers; /* receivers that have a place in it, a power of two; 0: LH_PEERS */
	struct lh_chunk *(*chunk)(void *ctx, u32 id);
	int (*get_chunk)(void *ctx, u32 *id);
	void (*put_chunk)(void *ctx, u32 id);
	int (*get_slot)(void *ctx, u32 *slot);
	void (*put_slot)(void *ctx, u32 slot);
	void (*count)(void *ctx, u32 counter, u64 n);
};

/* The values of struct lh_env that a caller gives for one call. */
struct lh_call {
	u64 now_ns;
	u32 cap_segments; /* as in struct lh_env */
	u32 part_segments, pool_segments;
	u8 alive; /* 1: the caller keeps the timers it is asked for */
	u8 accepted; /* 1: the link's queue took the packet, or can't be seen */
	u8 handshakes; /* 1: not too many connections are unanswered */
	u8 partner; /* as in struct lh_env */
	u64 partner_rtt_ns; /* as in struct lh_env */
};

/* The first @len bytes of a packet of @pkt_bytes. @vlan: TCI beside the packet, or 0. @return enum
 * lh_parsed; @seg and @key are valid for LH_PARSED_TCP. */
int lhc_parse(const u8 *packet, u32 len, u32 pkt_bytes, u32 l2_bytes, u32 vlan, u32 to_mh,
	      struct lh_segment *seg, struct lh_flow_key *key);
void lhc_flow_init(struct lh_flow *flow);
void lhc_on_data(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 const struct lh_segment *seg, const struct lh_call *call, struct lh_actions *out);
/* A super-packet: its segments' bytes are stored by nobody. @return 0: it has to go one by one (train.h). */
int lhc_on_train(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 const struct lh_segment *seg, const struct lh_call *call, struct lh_actions *out);
void lhc_on_ack(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		const struct lh_segment *seg, const struct lh_call *call, struct lh_actions *out);
/* The bytes that lhc_on_wait() wants to be stored come from the packet of the last lhc_on_ack(), whose
 * actions @out still has. */
void lhc_on_wait(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 const struct lh_segment *seg, const struct lh_call *call, struct lh_actions *out);
void lhc_on_turn(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 const struct lh_call *call, struct lh_actions *out);
void lhc_on_through(const struct lh_host_ops *ops, struct lh_flow *flow,
		    const struct lh_config *cfg, const struct lh_segment *seg,
		    const struct lh_call *call, struct lh_actions *out);
void lhc_on_timer(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		  const struct lh_call *call, struct lh_actions *out);
void lhc_on_link(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 u32 up, const struct lh_call *call, struct lh_actions *out);
void lhc_on_partner(const struct lh_host_ops *ops, struct lh_flow *flow,
		    const struct lh_config *cfg, const struct lh_missing *missing,
		    const struct lh_call *call, struct lh_actions *out);
void lhc_on_absent(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		   const struct lh_missing *absent, const struct lh_call *call,
		   struct lh_actions *out);
void lhc_on_mac(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		const struct lh_segment *seg, const struct lh_mac_report *report,
		const struct lh_call *call, struct lh_actions *out);
void lhc_on_sweep(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		  const struct lh_call *call);
void lhc_store_failed(const struct lh_host_ops *ops, struct lh_flow *flow,
		      const struct lh_actions *actions);
void lhc_on_release(const struct lh_host_ops *ops, struct lh_flow *flow,
		    const struct lh_config *cfg, const struct lh_call *call,
		    struct lh_actions *out);
/* Index of the receiver for lh_flow.peer; when to call it: lh_peer_join(). */
void lhc_peer_join(const struct lh_host_ops *ops, struct lh_flow *flow,
		   const struct lh_flow_key *key, u64 now_ns);
u64 lhc_device_bytes(void);
/* Edits the first @len bytes of a packet that passes, as core/edit.h; @return 1:
 * something has changed. */
int lhc_edit_ack(u8 *packet, u32 len, const struct lh_segment *seg, const struct lh_actions *out);
/* What the other end of the hop tells of or is told, as core/edit.h; @packet has LH_HDR_BYTES
 * places. lhc_edit_tell() @return bytes by which it has grown. */
int lhc_edit_strip(u8 *packet, u32 len, const struct lh_segment *seg);
int lhc_edit_tell(u8 *packet, u32 len, const struct lh_segment *seg, const struct lh_actions *out);
void lhc_flow_free(const struct lh_host_ops *ops, struct lh_flow *flow);
int lhc_flow_over(const struct lh_flow *flow, const struct lh_config *cfg, u64 now_ns);
u64 lhc_lrto_ns(const struct lh_flow *flow, const struct lh_config *cfg);
u64 lhc_hold_ns(const struct lh_flow *flow, const struct lh_config *cfg);
u32 lhc_shadow_sender(const struct lh_flow *flow); /* enum lh_shadow_sender */
struct lh_seg *lhc_seg_at(const struct lh_host_ops *ops, const struct lh_flow *flow, u32 pos);
int lhc_before(u32 a, u32 b);
/* SipHash-2-4 of @len bytes; @key: 16 bytes. */
u64 lhc_siphash(const u8 *key, const u8 *data, u32 len);
/* Messages between agents: message.h, partner.h. Opened and sealed they stand in m->w, m->bytes long. */
void lhc_key_init(struct lh_key *key, const u8 *bytes);
int lhc_message_find(const u8 *packet, u32 len, u32 l2_bytes, u32 port, struct lh_message *m);
int lhc_message_for(const struct lh_message *m, const struct lh_us *us);
int lhc_message_address(struct lh_message *m, const struct lh_us *us, struct lh_sender *to);
/* The whole packet of a sealed message; @packet has 320 bytes of room. @return its length. */
int lhc_message_packet(u8 *packet, const struct lh_message *m, const struct lh_sender *to,
		       u32 l2_bytes, u32 port);
int lhc_message_seal(struct lh_message *m, const struct lh_key *key);
int lhc_message_open(struct lh_message *m, const struct lh_keys *keys);
void lhc_hello_put(struct lh_message *m, const struct lh_hello *hello);
void lhc_hello_get(const struct lh_message *m, struct lh_hello *hello);
int lhc_missing_put(struct lh_message *m, u32 type, const struct lh_missing *missing);
void lhc_missing_get(const struct lh_message *m, struct lh_missing *missing);
void lhc_missing_turn(struct lh_missing *missing, const struct lh_flow_key *ours);
int lhc_partners_take(struct lh_partners *t, const struct lh_message *m, u64 now_ns);
void lhc_partner_hello(const struct lh_partner *partner, u64 can, u64 now_ns,
		       struct lh_hello *hello);
int lhc_partner_up(const struct lh_partner *partner, u64 now_ns);
int lhc_partners_find(const struct lh_partners *t, const struct lh_sender *from, u64 now_ns);
u64 lhc_can(u32 policy); /* enum lh_can, of an agent with these policies (lhc_policy()) */
const char *lhc_counter_name(u32 id); /* NULL past the last */
const char *lhc_counter_doc(u32 id);
/* All parameters at their defaults, scheme `rack`. */
void lhc_config_init(struct lh_config *cfg);
const struct lh_param *lhc_param(u32 id); /* NULL past the last */
u32 lhc_policy(const struct lh_config *cfg); /* enum lh_policy */
/* 1: the scheme does nothing in the role that is set, though it would elsewhere. */
int lhc_rests(const struct lh_config *cfg);
const char *lhc_scheme_name(u32 id);
const char *lhc_scheme_doc(u32 id);

#ifdef __cplusplus
}
#endif

#endif /* LH_CORE_H */
