/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The window controller (control.h, window.h) around the packets of a scheme: what `rack` does in
 * any case, and a scheme with LH_POLICY_BRAKE if parameter `brake` is set. Whose losses are hidden
 * has no brake left, and what its growth makes the hop's own queue drop is repaired and hidden as
 * well. So it is held instead, and what looks like a drop of that queue is left to it (queue.h).
 *
 * A scheme that may be braked has its own way as long as lh_braked() is false. Else, in this order:
 *
 *	on_data		lh_brake_data(), which caches, too
 *	on_ack		lh_brake_ack_begin(): samples; nothing else is to be done if it says no
 *			repairs, of what lh_order_whose() calls ours; then lh_brake_deprive()
 *			lh_brake_duplicate() for all that is no new ACK
 *			lh_brake_ack_end(): the window
 *	on_timer	lh_brake_head(), before the oldest segment's timer; lh_brake_deprive()
 *
 * What stands in the way of every ACK are functions of their own: the verifier looks at them once,
 * and not in every state of their callers.
 */
#ifndef LH_BRAKE_H
#define LH_BRAKE_H

#include "detect.h"

/* Whether the scheme that runs brakes senders whose losses it hides. */
LH_INLINE bool lh_braked(struct lh_env *env);

/* Data leave: they are cached, and marked where a mark is the only brake. */
LH_INLINE void lh_brake_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     struct lh_actions *out);

/* What the ACK shows of the hop's queue, and C by it. @r: its sample as lh_learn() has it. */
LH_ENTRY int lh_brake_sample(struct lh_env *env, struct lh_flow *f, u64 r);

/* An ACK of class @kind has come. 0: it is of another time, and passes as it is. */
LH_ENTRY int lh_brake_ack_begin(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				u32 kind);

/* Where there is a brake: lh_control_deprive(). */
LH_INLINE void lh_brake_deprive(struct lh_env *env, struct lh_flow *f);

/* Whether losses may be hidden from FH: always as published, else if something brakes it. */
LH_INLINE bool lh_brake_lets_hide(struct lh_env *env, const struct lh_flow *f);

/*
 * What FH gets to see of a duplicate, or of an ACK that only reports a superfluous repair (DSACK,
 * LH_ACK_OWN): nothing, or a mere window update. env->view.hides: FH is not to see what is missing.
 * Unlike lh_suppressible() this keeps FH going: at the edge of a window that is ours every duplicate
 * is one that FH needs.
 */
LH_ENTRY int lh_brake_duplicate(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				u32 kind, struct lh_actions *out);

/* The window of the ACK, if it passes. */
LH_INLINE void lh_brake_ack_end(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				u32 kind, struct lh_actions *out);

/* The oldest segment's timer may have run out: where the queue was full the loss is FH's. */
LH_INLINE void lh_brake_head(struct lh_env *env, struct lh_flow *f);

#endif /* LH_BRAKE_H */
