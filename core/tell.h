/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * In whose name how many messages go to the other end of the hop. It takes a thousand a second
 * (partner.h), and whose are too many must wait with them, not everybody: so many in all, to be
 * shared by the receivers in whose names any go; and one for each, as long as all of them leave
 * room.
 */
#ifndef LH_TELL_H
#define LH_TELL_H

#include "types.h"

/* Messages per bin of LH_BIN_NS: to be shared, and with the one that each has. */
#define LH_TELL_BIN 80
#define LH_TELL_BIN_ALL 95

/* When a message may go in the name of @f's receiver: env->now_ns, or the next bin. */
LH_ENTRY u64 lh_tell_from(struct lh_env *env, const struct lh_flow *f);

/* Whether there is no need to be sparing of them: half of what is to be shared is left. */
LH_INLINE bool lh_tell_plenty(struct lh_env *env);

/* One goes now. */
LH_ENTRY int lh_tell_spend(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_TELL_H */
