/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wired round trip, agent - FH - agent: the handshake's, then one sample at
 * a time by FH's answer to an ACK that went on to it. With the local one of
 * sample.h it makes the unloaded round trip by which the window controller reckons.
 */
#ifndef LH_WIRED_H
#define LH_WIRED_H

#include "types.h"

/* The wired round trip and its open sample. */
struct lh_wired {
	u32 tsval; /* of the ACK that left at tsval_ns */
	u32 asked_edge; /* right edge of its window */
	u32 tsval_last; /* of the last ACK that went on to FH; with has_tsval */
	u32 has_tsval; /* 1: tsval_last is valid */
	u64 tsval_ns; /* 0: none */
	u64 now_ns, before_ns; /* least of this and the previous period */
	u64 since_ns; /* when this period began */
	u64 rtt_ns; /* least seen between the agent and FH; 0: none */
	u64 syn_rx_ns; /* SYN or SYN-ACK that came from MH and FH has not answered; 0: none */
};

/* FH has answered MH's SYN or SYN-ACK. */
LH_INLINE void lh_wired_handshake(struct lh_env *env, struct lh_flow *f);

/* Least wired round trip of late, 0: none seen. */
LH_INLINE u64 lh_wired(const struct lh_flow *f);

/* The unloaded round trip FH - agent - MH and back, 0: unknown. */
LH_ENTRY u64 lh_base(struct lh_env *env, const struct lh_flow *f);

/* The same, as part of its caller: where every packet comes by. */
LH_INLINE u64 lh_base_here(struct lh_env *env, const struct lh_flow *f);

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
