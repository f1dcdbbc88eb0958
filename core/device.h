/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the flows of one device share: the delivery rate of the link, how many
 * flows make it up, and the local round trip per receiver. Written by several
 * CPUs at once without a lock: a lost update costs a little precision, so
 * sums use atomic additions and everything else plain stores. Another CPU's
 * times may lie ahead of this one's now: their age is lh_since().
 */
#ifndef LH_DEVICE_H
#define LH_DEVICE_H

#include "flow.h"

/* The flow's receiver, NULL: it found no place, or has lost it to another. */
LH_INLINE struct lh_peer *lh_peer_of(struct lh_env *env, const struct lh_flow *f);

/* One flow more of @p's has something cached. */
LH_INLINE void lh_peer_gain(struct lh_device *d, struct lh_peer *p);

/* One less. */
LH_INLINE void lh_peer_lose(struct lh_device *d, struct lh_peer *p);

/* Whether both ends of the connection were heard. Until then it may be anybody's idea. */
LH_INLINE bool lh_answered(const struct lh_flow *f);

/*
 * Finds the place of the receiver @key->mh for the flow @f: its own, or, if FH was heard, one that
 * nobody used for a minute; else none. Hosts call it for a new flow, before its first packet,
 * and for one that has no place (f->peer is 0) before each of MH's: so that who sends to
 * addresses that nobody has, or from them, takes nobody's place.
 */
LH_ENTRY int lh_peer_join(struct lh_env *env, struct lh_flow *f, const struct lh_flow_key *key);

/* @bytes were delivered to MH. @first: the flow's first ones in this bin. */
LH_INLINE void lh_device_add(struct lh_env *env, u32 bytes, bool first);

/* Bytes that a rate delivers in a time. */
LH_INLINE u64 lh_rate_times(u64 rate, u64 ns);

/* How long a rate takes to deliver bytes; 0: there is no rate. */
LH_INLINE u64 lh_rate_time(u64 rate, u64 bytes);

/* Link rate in bytes per second, as far as the flows have shown it lately: the
 * best of the last @bins complete bins. */
LH_FUNC u64 lh_device_rate(struct lh_env *env, u32 bins);

/* How many flows make it up: those of the last complete bin, or of the present
 * one if it has more; at least 1. */
LH_INLINE u64 lh_device_flows(struct lh_env *env);

/* Begins the receiver's bin of now: the old one's rate counts if it is the best
 * of late, whose memory fades by a sixty-fourth per bin. */
LH_INLINE void lh_peer_turn(struct lh_peer *p, u64 bin);

/* @bytes were delivered to the receiver @p. @last: the flow's last bin before. */
LH_INLINE void lh_peer_add(struct lh_env *env, struct lh_peer *p, u32 bytes, u64 last);

/* What the flow's receiver has got, all flows together, as far as that is known. */
LH_INLINE u32 lh_receiver_delivered(struct lh_env *env, const struct lh_flow *f);

/* How many flows the receiver has, as lh_device_flows(). */
LH_INLINE u64 lh_peer_flows(struct lh_env *env, struct lh_peer *p);

#endif /* LH_DEVICE_H */
