/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What other schemes build on scheme `snack`.
 */
#ifndef LH_SCHEME_SNACK_H
#define LH_SCHEME_SNACK_H

#include "../detect.h"

/* An ACK where it is known what the hop has lost, between what the brake does with it. @hides: what
 * MH wants next is that, and FH is kept from seeing it; nothing else is kept from it. */
LH_INLINE void lh_snack_heard(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      enum lh_ack_class kind, bool hides, struct lh_actions *out);

#endif /* LH_SCHEME_SNACK_H */
