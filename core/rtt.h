/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Local round-trip time: agent -> MH -> agent (docs/design.md, section 3.3).
 * Integer nanoseconds; the ns-2 gain is in 1/1024.
 */
#ifndef LH_RTT_H
#define LH_RTT_H

#include "types.h"

/* The local round trip, ns; 0: none yet. */
struct lh_rtt {
	u64 srtt_ns, rttvar_ns;
	u64 low_ns, min_ns; /* its lower samples of late, and the least */
	/* The least since the way was found to be longer, and when that was (lh_lmin_floor). */
	u64 raised_ns, least_ns;
	u32 end; /* profile ns2, one sample per window: none below this number */
	u32 pad;
};

#define LH_RTT_MAX_NS (60 * LH_SEC) /* a longer sample is a clock gone wrong */

LH_INLINE void lh_rtt_sample(struct lh_env *env, struct lh_flow *f, u64 r);

/*
 * Less than this the way to @p does not take the flow's segments. The least of all flows' samples may be made up:
 * whoever acknowledges what has just left, or hands the data over in fragments first, has a round trip of nothing, and
 * then all that the others see is queue. Trials find the truth, and it is taken back at once: 8 flows over a hop of
 * 20 ms that loses nothing had 5.5 Mbit/s of the 19 that they have without an agent. Who was found to be wrong twice
 * within a short time is not believed for a while but by flows that see it themselves.
 */
LH_INLINE u64 lh_lmin_floor(const struct lh_env *env, const struct lh_flow *f,
			    const struct lh_peer *p);

/* A sample @r of the flow's own, by which it may know better. */
LH_ENTRY int lh_lmin_own(struct lh_env *env, struct lh_flow *f, u64 r);

/* Local retransmission timeout. The floor of profile std answers delayed
 * ACKs: 20 ms gave 900 spurious timeouts in 12 s, 80 ms one (section 11.2). */
LH_INLINE u64 lh_lrto(struct lh_env *env, const struct lh_flow *f);

/*
 * How long the newest suppressed ACK may be kept (section 3.6): less than
 * what drives FH into a timeout, R being the whole round trip. With `rack` the
 * window goes on opening meanwhile, so that no tail probe (2R) is due, and what
 * counts is the timeout: the duplicate would have come R after the segment left,
 * the timeout comes R + 200 ms after it (Linux' least; others wait longer). So
 * the time does not depend on R; a share of 2R gave up repairs after 38 ms on a
 * path of 20 ms, and came too late on one of 400 ms.
 */
LH_INLINE u64 lh_hold_time(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_RTT_H */
