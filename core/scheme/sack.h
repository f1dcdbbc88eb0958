/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What other schemes build on scheme `sack`.
 */
#ifndef LH_SCHEME_SACK_H
#define LH_SCHEME_SACK_H

#include "../detect.h"

LH_INLINE void lh_sack_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       struct lh_actions *out);
/* An ACK, between what the brake does with it. */
LH_INLINE void lh_sack_heard(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     enum lh_ack_class kind, struct lh_actions *out);
/* A new ACK passes; what it shows above its number only where `sack_mask` does not hide it. */
LH_INLINE void lh_sack_pass(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    struct lh_actions *out);
LH_INLINE void lh_sack_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);
LH_INLINE u64 lh_sack_deadline(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_SCHEME_SACK_H */
