/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `snoop`: the classic rules of Amir, Balakrishnan, Seshan and Katz
 * (1995; SPEC 2.2) with the head timer of the Linux version (SPEC 2.3).
 * One repair per run of duplicates and per partial ACK; several losses in a
 * window are repaired one local round trip each.
 */
#ifndef LH_SCHEME_SNOOP_H
#define LH_SCHEME_SNOOP_H

#include "../detect.h"
#include "../guard.h"

LH_INLINE void lh_snoop_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out);

/* S4's "expected ACK": a new ACK that stops short of what had departed when
 * the repair began uncovers the next hole. It passes, and the hole is filled. */
LH_INLINE void lh_snoop_new(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

LH_INLINE void lh_snoop_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       enum lh_ack_class class, struct lh_actions *out);

/* The head's timer. */
LH_INLINE void lh_snoop_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

#endif /* LH_SCHEME_SNOOP_H */
