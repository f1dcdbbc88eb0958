/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A hop that carries no more although nothing queues: with a policer on it, or before a queue so short that it overflows
 * below the controller's aim. What is beyond its rate gets lost, however much FH is granted, and since that is
 * hidden from FH, C grew to twice of what MH got: half of all segments were dropped, and of whatever else came that way;
 * a round trip took a second, for all that waited to be repaired (10 of 100 Mbit/s, four CUBIC flows).
 *
 * From a bad link it is told by what less does (LH_TRIAL_LIMIT): a link loses the same share of it. Where half as
 * much gets lost at the most, the receiver's rate has a limit, which its flows share. C follows it
 * from then on: up in small steps, and back as soon as more than usual is lost. Linux's BBR does so for itself,
 * without a trial, by two intervals of 20 % loss at one rate (tcp_bbr.c, lt_bw), after Flach et al., "An Internet-Wide
 * Analysis of Traffic Policing" (SIGCOMM 2016).
 *
 * Where its flows are too many to be braked so far, losses are left to them (lh_peer.tight_ns), in a trial as well; what FH
 * sends again counts as lost like what the agent does. Units as in queue.h.
 */
#ifndef LH_LIMIT_H
#define LH_LIMIT_H

#include "types.h"

#define LH_LOST_UNIT 1024 /* of what has to be sent again shares are in parts of so many */

/* The trial is over: what came, and what was lost? */
LH_ENTRY int lh_limit_judge(struct lh_env *env, const struct lh_flow *f);

/*
 * An interval of the flow's is over, in which the queue was @q ns long in the mean: notes what has been lost of
 * late and how much of a queue is worth a loss (queue.h), and begins a trial if so much is lost, and goes on so, that a
 * limit may be why. @return whether there is one that C follows.
 */
LH_ENTRY int lh_limit_interval(struct lh_env *env, struct lh_flow *f, u64 q);

#endif /* LH_LIMIT_H */
