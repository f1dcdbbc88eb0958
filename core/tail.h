/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of a window, behind which nothing comes that could tell of its loss, once a probe has found it so
 * (RFC 8985 section 7; scheme rack).
 */
#ifndef LH_TAIL_H
#define LH_TAIL_H

#include "types.h"

/*
 * The end of a window may have been lost: it is repaired. On a narrow hop, where MH acknowledges each segment by itself,
 * one such answer says nothing yet; that the next segment is long overdue does, but not whose loss that is. Where the
 * link has lost nothing of late it is the queue's, and FH's: repaired here it made a start on 2 Mbit/s overflow again
 * (182 drops of four flows instead of 152), and a probe for each segment had FH wait for four seconds.
 * @return whether it was lost.
 */
LH_INLINE bool lh_tail_ends(struct lh_env *env, struct lh_flow *f);

#endif /* LH_TAIL_H */
