/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheme `slack`: Snoop with the slow ACK that its Linux version proposed for
 * short disconnections (SPEC 2.4), and, on request, the closed window in its
 * place (`freeze`) and the fast retransmit on handoff (SPEC 2.10, `handoff`).
 */
#ifndef LH_SCHEME_SLACK_H
#define LH_SCHEME_SLACK_H

#include "../outage.h"
#include "snoop.h"

LH_INLINE void lh_slack_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out);

LH_INLINE void lh_slack_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			       enum lh_ack_class class, struct lh_actions *out);

LH_INLINE u64 lh_slack_deadline(struct lh_env *env, const struct lh_flow *f);

LH_INLINE void lh_slack_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

#endif /* LH_SCHEME_SLACK_H */
