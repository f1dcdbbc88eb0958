/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `rack` (SPEC 2.16), the default: a SACK scoreboard, loss by time order
 * over the local hop, a local probe timer, handshake and FIN repaired too, and
 * the window controller as the brake of senders whose losses are hidden. Flows
 * without SACK are repaired by duplicate and partial ACKs.
 */
#ifndef LH_SCHEME_RACK_H
#define LH_SCHEME_RACK_H

#include "../lifecycle.h"
#include "../outage.h"

/* A SYN or SYN-ACK without data: what follows it is not there yet. */
LH_INLINE void lh_rack_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			   struct lh_actions *out);

LH_INLINE void lh_rack_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       struct lh_actions *out);

LH_INLINE void lh_rack_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      enum lh_ack_class class, struct lh_actions *out);

/* When a segment is due: without a sign from MH, or since others overtook it. */
LH_INLINE u64 lh_rack_deadline(struct lh_env *env, const struct lh_flow *f);

LH_INLINE void lh_rack_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

#endif /* LH_SCHEME_RACK_H */
