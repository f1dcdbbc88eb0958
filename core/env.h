/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What holds for one call of the core, and what its host lends.
 */
#ifndef LH_ENV_H
#define LH_ENV_H

#include "config.h"
#include "counters.h"
#include "hold.h"
#include "message.h"
#include "order.h"
#include "sample.h"

struct lh_host;

struct lh_counters {
	u64 n[LH_NR_COUNTERS]; /* indexed by enum lh_counter */
};

/*
 * What holds for one call, and what the host lends for it. First argument of
 * every function. In BPF it holds no pointer, so that the entry points can be
 * global functions, which the verifier looks at once each and not in every
 * state of their callers; the configuration is .rodata there.
 */
struct lh_env {
#ifdef LH_BPF
	struct lh_counters counters; /* of this CPU, ever growing */
	s64 slots_taken, chunks_taken; /* in this run; negative: given back */
	u32 nr_spare; /* free slots at hand on this CPU */
	u32 spare[64];
	u64 spares_asked; /* lh_shared.spares_asked when they were last put aside */
#else
	struct lh_host *host;
	struct lh_device *device;
	u32 nr_peers; /* places in device->peer, a power of two, at most LH_PEERS */
	const struct lh_config *cfg;
#endif
	struct lh_ack_sum ack; /* what the ACK of this call delivered */
	struct lh_ack_view view; /* and what it is */
	struct lh_order_waits waits; /* of the chunk that is looked through */
	u64 now_ns; /* lh_on_*() see to it that it never decreases for one flow */
	u64 bin, bin_ns; /* lh_bin()'s last answer, and when that bin began */
	u64 lmin_ns; /* lh_lmin() of the flow at hand */
	u64 unsteady_ns; /* lh_unsteady() of it */
	u32 cap_segments; /* the most that a flow may have cached */
	u32 part_segments; /* the pool divided by its flows; with pool_segments */
	u32 pool_segments; /* of the whole pool, while it gets scarce; 0: there is plenty */
	u32 room; /* repairs that the host can take in this call */
	u8 alive; /* 1: the host can wake us in time: suppression allowed */
	u8 accepted; /* 1: the link's queue took the packet, or the host can't see it, and it fits a slot */
	u8 handshakes; /* 1: a SYN may be cached: not too many connections are unanswered */
	u8 partner; /* enum lh_can of the agent at the other end of the hop, if it answers; 0: none */
	u64 partner_rtt_ns; /* round trip to it, the least of late (partner.h); 0: unknown */
};

#ifdef LH_BPF
/* Stays volatile: clang would fold the zeros that user space overwrites. */
#define LH_CFG(env) (&lh_setup.config)
#define LH_DEVICE(env) (&lh_device)
#define LH_NR_PEERS(env) (lh_setup.nr_peers)
#else
#define LH_CFG(env) ((env)->cfg)
#define LH_DEVICE(env) ((env)->device)
#define LH_NR_PEERS(env) ((env)->nr_peers)
#endif

/*
 * What a host lends: memory and counters, nothing else. Every host defines
 * these before it includes unit.h (core/core.c for native ones). Slots and
 * chunks are handed out and taken back by index; a failed get is no error.
 */
#ifndef __cplusplus /* hosts in C++ call core.c, which defines these */
LH_INLINE struct lh_chunk *lh_host_chunk(struct lh_env *env, u32 id);
LH_INLINE bool lh_host_get_chunk(struct lh_env *env, u32 *id);
LH_INLINE void lh_host_put_chunk(struct lh_env *env, u32 id);
LH_INLINE bool lh_host_get_slot(struct lh_env *env, u32 *slot);
LH_INLINE void lh_host_put_slot(struct lh_env *env, u32 slot);
LH_INLINE void lh_host_count(struct lh_env *env, enum lh_counter id, u64 n);
#endif

#endif /* LH_ENV_H */
