/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wired round trip, agent - FH - agent: the handshake's, then one sample at
 * a time by FH's answer to an ACK that went on to it. With the local one of
 * sample.h it makes the unloaded round trip by which the window clock reckons.
 */
#ifndef LH_WIRED_H
#define LH_WIRED_H

#include "back.h"
#include "hold.h"
#include "sample.h"

/* FH has answered MH's SYN or SYN-ACK. */
LH_INLINE void lh_wired_handshake(struct lh_env *env, struct lh_flow *f);

/* Least wired round trip of late, 0: none seen. */
LH_INLINE u64 lh_wired(const struct lh_flow *f);

/* The unloaded round trip FH - agent - MH and back, 0: unknown. */
LH_INLINE u64 lh_base(struct lh_env *env, const struct lh_flow *f);

/*
 * Data from FH: the first that echoes the timestamp of an ACK was sent after
 * that ACK came. Without timestamps, the first beyond an edge that held FH up.
 */
LH_INLINE void lh_wired_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* The ACK @s goes on to FH, with the right edge @edge. Only the first ACK of a
 * TSval opens a sample: what earlier ones of a slow clock (RFC 7323 section 5.4:
 * up to 1 s per tick) made FH send echoes the same value. */
LH_INLINE void lh_wired_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    u32 edge);

#endif /* LH_WIRED_H */
