/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What other schemes build on scheme `snoop`.
 */
#ifndef LH_SCHEME_SNOOP_H
#define LH_SCHEME_SNOOP_H

#include "../detect.h"

LH_INLINE void lh_snoop_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out);
LH_INLINE void lh_snoop_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       enum lh_ack_class kind, struct lh_actions *out);
/* A new ACK: the next hole of the window is filled. */
LH_INLINE void lh_snoop_new(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);
LH_INLINE void lh_snoop_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

#endif /* LH_SCHEME_SNOOP_H */
