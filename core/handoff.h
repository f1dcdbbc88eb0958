/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fast retransmission on handoff at the mobile host (Caceres and Iftode 1995; docs/design.md, section
 * 5.5): what FH sent into the handoff is lost, and FH sends nothing before its timer, which doubles
 * meanwhile. MH's end of the hop keeps the last ACK that left over it, and repeats it once the link is
 * there again, so that FH retransmits at once. FH's window shrinks as after any loss.
 *
 * FH with SACK makes nothing of duplicates without blocks (RFC 6675): its timer it stays.
 */
#ifndef LH_HANDOFF_H
#define LH_HANDOFF_H

#include "actions.h"
#include "config.h"

/* Half of a connection of which MH is the receiver. */
struct lh_handoff {
	u32 ack; /* of the copy that is kept; with ack_ns */
	u32 pad;
	u64 ack_ns; /* when an ACK that told something new last left; 0: none is kept */
};

/* Whether the parameters and the role ask for it. */
LH_INLINE bool lh_handoff_wanted(struct lh_env *env);

/* The segment @s leaves over the hop. Sets @out's hold where it becomes the copy. */
LH_INLINE void lh_handoff_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			      struct lh_actions *out);

/* The link is there again: repeats the ACK of a connection that was receiving. */
LH_INLINE void lh_handoff_up(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

#endif /* LH_HANDOFF_H */
