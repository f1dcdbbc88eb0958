/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Birth, options and death of a flow as its packets tell them (docs/design.md, section 7), the
 * first RTT samples from the handshake, and joining in mid-stream.
 */
#ifndef LH_LIFECYCLE_H
#define LH_LIFECYCLE_H

#include "types.h"

/* A SYN on a live connection: kept aside until the other end has answered it (lifecycle.h). */
struct lh_syn {
	u64 at_ns;
	u32 seq, end; /* as in lh_segment */
	u16 window; /* never scaled in a SYN */
	u16 mss;
	u8 wscale;
	u8 opts; /* enum lh_tcp_opt */
	u8 from_mh;
	u8 valid;
};

/* The connection as its handshake, options and ends tell. */
struct lh_connection {
	struct lh_syn syn;
	u32 isn_mh; /* of MH's SYN that opened the connection; with LH_FLOW_SYN_MH */
	u32 fin_fh, fin_mh; /* sequence number after the FIN; with LH_FLOW_FIN_* */
	u32 tsval_fh; /* newest timestamp of FH's; with LH_FLOW_TSVAL_FH */
	u32 ts_recent; /* MH's, as its ACKs echo it (RFC 7323); with LH_FLOW_TS */
	u16 mss; /* of MH's SYN, or the largest payload cached; 0: unknown */
	u8 wscale_fh, wscale_mh;
	u64 syn_tx_ns; /* SYN or SYN-ACK that left towards MH, for a first local sample; 0: none */
};

/* Everything anew, as for a connection never seen. */
LH_INLINE void lh_flow_reset(struct lh_env *env, struct lh_flow *f);

/* All the memory that the flow has is given back: it is about to be forgotten. */
LH_INLINE void lh_flow_free(struct lh_env *env, struct lh_flow *f);

/* The cache is worthless: MH has acknowledged what never passed here. A hole
 * cannot be open, so nothing is held. */
LH_INLINE void lh_resync(struct lh_env *env, struct lh_flow *f, u32 ack);

/* Keeps a SYN aside: on a live connection, and in the host where a flow found no place. A
 * repeated one gives no sample (Karn). */
LH_INLINE void lh_syn_aside(struct lh_syn *syn, const struct lh_segment *s, bool from_mh,
			    u64 now_ns);

/* Whether @s, a SYN-ACK, answers the SYN that was kept aside, which came from the other end. */
LH_INLINE bool lh_syn_answered(const struct lh_syn *syn, const struct lh_segment *s, bool from_mh);

/*
 * Any segment from FH. @return whether it is the flow's and the core may act on it. An RST
 * only suspends the flow: data or a new ACK of the connection's prove that it was forged
 * (RFC 5961 section 3).
 */
LH_INLINE bool lh_track_fh(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* Any segment from MH. @return whether it is the flow's and the core may act on it. */
LH_INLINE bool lh_track_mh(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* Whether the segment from FH occupies sequence space that we care for. */
LH_INLINE bool lh_is_data(const struct lh_flow *f, const struct lh_segment *s);

/* A zero-window probe: one byte into a closed window (RFC 9293 3.8.6.1), whether
 * MH has closed it or we have. It is meant to be answered, not delivered: never
 * cached. */
LH_INLINE bool lh_is_probe(const struct lh_flow *f, const struct lh_segment *s);

/* @s departs without a place in the cache. */
LH_INLINE void lh_track_max(struct lh_flow *f, const struct lh_segment *s);

#endif /* LH_LIFECYCLE_H */
