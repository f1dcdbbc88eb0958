/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way back, MH to the agent, told apart from the way there by MH's own
 * timestamps (RFC 7323): an ACK that was made at TSval t and comes later than t
 * and the least delay of late explain has queued on its way. An upload of MH's
 * fills that queue, and without this the controller took it for the hop's: a download
 * beside an upload through 300 ms of queue kept a hundredth of its rate.
 *
 * MH's clock has an unknown start and rate. The rate is one of those in use;
 * clocks drift by less than 100 ppm, a millisecond per period.
 */
#ifndef LH_BACK_H
#define LH_BACK_H

#include "types.h"

/* The way back from MH as its timestamps tell of it (back.h). */
struct lh_back {
	u32 tsval; /* of the ACK that came at at_ns */
	u32 tick_ns; /* of MH's timestamp clock; 0: not known yet */
	u64 at_ns; /* 0: no ACK yet */
	s64 least_ns, least_before_ns; /* of this and the last period: delay against that ACK's */
	u64 now_ns; /* delay of the last ACK beyond the least: a queue on the way back */
	u32 has_least, has_before; /* 1: the least of this, of the last period is valid */
};

/* An ACK of @tsval has come. */
LH_INLINE void lh_back_ack(struct lh_env *env, struct lh_flow *f, u32 tsval);

#endif /* LH_BACK_H */
