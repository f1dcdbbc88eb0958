/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's entry points. A host parses a packet (segment.h), finds the
 * flow, calls one of these under the flow's lock, and carries out the actions.
 *
 *   lh_on_data()   a segment leaves towards MH, or a super-packet (train.h)
 *   lh_on_ack()    a segment came from MH
 *   lh_on_wait(), lh_on_turn()  that segment has to wait for its turn
 *   lh_on_through() one that has waited comes through on its way on
 *   lh_on_timer()  actions.next_deadline_ns has passed
 *   lh_on_link()   the link went down or came up
 *   lh_on_partner() the agent at the hop's other end tells what it misses
 *   lh_on_absent() it answers that something will not come
 *   lh_on_mac()    the MAC reports what became of a frame
 *
 * Every function is pure but for the flow, the actions and the memory and
 * counters that the host lends (env.h); work per call is bounded.
 */
#ifndef LH_AGENT_H
#define LH_AGENT_H

#include "edit.h"
#include "lifecycle.h"
#include "message.h"

/* A TCP segment of the flow leaves towards MH, or what lh_train_ordinary() lets go as one. It always goes on. */
LH_ENTRY int lh_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			struct lh_actions *out);

/* A segment of the flow came from MH: an ACK, perhaps with data. */
LH_ENTRY int lh_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
		       struct lh_actions *out);

/*
 * After lh_on_ack() has said LH_WAIT: for each segment of the packet (a super-packet's parts, as they
 * would be on the wire) its place, out->store_slot, which the host copies it to; LH_NO_SLOT: there is
 * none. The packet itself goes no further. Then lh_on_turn(): what goes on instead. Both add to what
 * lh_on_ack() has left in @out.
 */
LH_ENTRY int lh_on_wait(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			struct lh_actions *out);
LH_ENTRY int lh_on_turn(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/* The segment @s, one of actions.release, has come through the host's queue and goes on. */
LH_ENTRY int lh_on_through(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			   struct lh_actions *out);

/* One of what was released could not be sent on. */
LH_INLINE void lh_release_lost(struct lh_flow *f);

/* The timer. A call before the deadline does nothing: hosts have other reasons
 * to look after a flow, and each would be a repair more than MH's ACKs allow. */
LH_ENTRY int lh_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/* The link went down (@up 0) or came up: a hint of the host's, which may be
 * wrong or missing. */
LH_ENTRY int lh_on_link(struct lh_env *env, struct lh_flow *f, u32 up, struct lh_actions *out);

/* The agent at the hop's other end misses @missing of data that leave here, as a message of its
 * own says. @missing->key is the flow's; of the blocks LH_TELL_MOST are looked at. */
LH_ENTRY int lh_on_partner(struct lh_env *env, struct lh_flow *f, const struct lh_missing *missing,
			   struct lh_actions *out);

/* The agent at the hop's other end has been asked for @absent, and will not send it. What waits for that
 * may go: lh_on_turn() at once, where the host has a packet to carry it, else the timer says so. */
LH_ENTRY int lh_on_absent(struct lh_env *env, struct lh_flow *f, const struct lh_missing *absent,
			  struct lh_actions *out);

/* The MAC reports what became of the frame of the segment @s, which had left here; whoever
 * asks for no reports (LH_POLICY_MAC) ignores them. */
LH_ENTRY int lh_on_mac(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
		       const struct lh_mac_report *report, struct lh_actions *out);

/*
 * Hosts call this once a second for flows with something cached, while the pool gets scarce
 * (env->pool_segments): whoever sends nothing any more has to give back, too.
 */
LH_ENTRY int lh_on_sweep(struct lh_env *env, struct lh_flow *f);

/* The host could not copy what belongs to ring position @pos, of the last lh_on_data(), into its slot. */
LH_INLINE void lh_store_failed(struct lh_env *env, struct lh_flow *f, u32 pos);

/* The flow is about to be forgotten: @out says what FH still has to get. To be called again, as long as
 * anything is released. */
LH_ENTRY int lh_on_release(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/*
 * Whether the host may forget the flow: closed and quiet, or idle. Never
 * while an ACK is kept back or something waits for its turn: it would be lost.
 */
LH_INLINE bool lh_flow_over(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_AGENT_H */
