/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What FH gets to see of the window controller: the right edge of the window in an
 * ACK, which never exceeds the receiver's own and moves left by less than a unit of the
 * window scale at the most (RFC 7323 section 2.4), and the CE mark for senders
 * whose window may not be edited.
 */
#ifndef LH_WINDOW_H
#define LH_WINDOW_H

#include "types.h"

/*
 * The right edge for an ACK whose receiver grants @own: ours while FH is braked, in
 * steps of a segment and a unit of the scale at least (RFC 9293 section 3.8.6.2.2),
 * never left of what FH knows unless the receiver itself goes there.
 *
 * Where nothing is under way no ACK will come that could open a window of less than a
 * segment: then it is one, and the unit that rounding may take. In a trial, with half of
 * C, 40 of 100 flows waited for their probes of a zero window.
 */
LH_INLINE u32 lh_control_edge(struct lh_env *env, const struct lh_flow *f, u32 own);

/*
 * Sets the window of the passing ACK @s. Zero windows stay as they are, and so
 * does whatever is not about una: its window is of another time. @same: it is a
 * duplicate that FH is to see.
 */
LH_INLINE void lh_control_window(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				 bool same, struct lh_actions *out);

/*
 * Flows whose window may not be edited but that understand ECN: a mark per two
 * round trips while the queue stands (RFC 3168), the second brake. FH hears of it
 * after one, and the queue shows what it did after the other; a mark in between
 * took CUBIC to 0.45 of what the path holds.
 */
LH_INLINE void lh_control_mark(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       struct lh_actions *out);

/*
 * What was kept is sent on with a window as an ACK would get it now: with none, if MH has closed
 * its own since, in an ACK that could not take the kept one's place (lh_hold_newer()); with MH's
 * own, while no sample of the wired round trip lets the controller have a say. The window that it
 * came with may reach beyond fwd_edge, and the next edge that is granted would be left of it.
 */
LH_INLINE void lh_release(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

#endif /* LH_WINDOW_H */
