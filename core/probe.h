/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes of scheme `rack` (docs/design/schemes.md, 5.6): the oldest segment is sent once more when MH is silent, for
 * nothing that comes may tell of its loss (RFC 8985 section 7, which sends the newest; docs/decisions.md, D92, says why
 * not here); and what tells that MH was merely late.
 */
#ifndef LH_PROBE_H
#define LH_PROBE_H

#include "types.h"

#define LH_PROBE_SLACK_NS (4 * LH_MSEC)

/* Whether the ACK of this call shows that MH had kept it, and the probe was in vain: it covers what had left before as
 * well, and MH would have told of a hole when that came. */
LH_INLINE bool lh_probe_in_vain(struct lh_env *env, const struct lh_flow *f);

/* FH has sent something: does it do so all the time, a little each? */
LH_INLINE void lh_probe_data(struct lh_env *env, struct lh_flow *f);

/*
 * When the next probe is due: so long after the last delivery or departure. A
 * probe or its answer may be lost as well, so that only from the fourth on the
 * time doubles. 0: never. @e: lh_head().
 */
LH_INLINE u64 lh_probe_deadline(struct lh_env *env, const struct lh_flow *f,
				const struct lh_seg *e);

/*
 * Whether the ACK @s says that the last probe was in vain: MH had it all, and had kept its ACK. One
 * whose application reads at its own pace keeps it until there is room (RFC 9293 section 3.8.6.2.2), or
 * for the delayed ACK's time, however much has come: of a stream's segments up to 47 % were sent
 * twice. Where most probes of a flow are, the next ones wait longer. Who never says so is known by when its ACKs come
 * (lh_probe_answered()).
 */
LH_INLINE void lh_probe_judge(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* The deadline has passed: the head goes out. MH's answer lets time order find
 * the rest; should it be lost again, the next probe takes two. */
LH_INLINE void lh_probe(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

#endif /* LH_PROBE_H */
