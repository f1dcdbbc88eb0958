/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The window controller (parameter `clock`). Hiding losses takes a loss-based sender's brake away, so the
 * agent brings its own: the right edge of the window in every ACK is set to what
 * MH has plus C (window.h), and C follows the law of FAST TCP (Wei, Jin, Low,
 * Hegde 2006) on the measured queue. It brakes whom it deprives, and nobody else:
 *
 *   FREE     FH sees all its losses: those that look like overflows of the queue are
 *            left to it (guard.h), and others there have been none. No edit.
 *   HELD     losses of the link are hidden from FH. C doubles per round trip while
 *            there is no queue, as slow start would; else the law holds.
 *   LETTING  the link has lost nothing for lossy_for_ns. What FH has been denied would
 *            be a burst if it were granted at once: C grows by a sixteenth per round
 *            trip, until FH does not use it up.
 *
 *   FREE -> HELD      a loss of the link is hidden; or the link is lossy of late, be it
 *                     to others of the receiver's flows, and a queue stands
 *   HELD -> LETTING   no such loss for lossy_for_ns
 *   LETTING -> HELD   such a loss
 *   LETTING -> FREE   FH does not use the window up
 *   HELD, LETTING -> FREE  nothing was lost, as DSACKs tell (lh_control_refute)
 *   HELD -> FREE      the flows are too many to be braked (lh_queue_crowded)
 *
 * Units as in queue.h.
 */
#ifndef LH_CONTROL_H
#define LH_CONTROL_H

#include "types.h"

enum lh_control_state {
	LH_CONTROL_FREE, /* FH has its own brake: it sees all its losses */
	LH_CONTROL_HELD, /* losses of the link are hidden from it: the law holds */
	LH_CONTROL_LETTING, /* the link has lost nothing for a while: C grows until FH has room */
};

/* What the controller knows of a flow. */
struct lh_control {
	u32 c_bytes; /* what may be on its way beyond what MH has */
	u8 state; /* enum lh_control_state */
	u8 limited; /* bit 0: FH has used up the window in this interval, bit 1: in the last */
	u8 settling; /* 1: C was cut in this interval, the queue shows it in the next */
	u8 calm; /* 1: hardly a queue was left in the last interval */
	u8 doubt; /* intervals in which the queue stood above the law's aim, less those below */
	u8 step; /* how much C grows next where no queue is left, in eighths of C */
	u8 old_edge; /* 1: FH still spends a window that was granted before C */
	u8 age; /* intervals since the flow began, or went on after a pause */
	u8 idle; /* 1: in the last interval the hop was idle for a time (lh_control_idle) */
	u32 goal_bytes; /* up to which C grows with what MH gets in this interval */
	u32 round_bytes; /* MH got in the last interval */
	u32 round_delivered; /* lh_delivery.bytes when this interval began */
	u64 interval_ns; /* when the law's interval began */
	u64 sum_ns; /* of the interval's samples */
	u64 least_ns; /* of the interval's samples */
	u64 least_before_ns; /* of the last interval's */
	u32 nr_samples; /* in the interval */
	u32 trial_bytes; /* C in LH_TRIAL_LIMIT, 0: as it is */
	u64 marked_ns; /* last CE mark */
};

#define LH_TRIALS_MOST 4 /* in vain that count (lh_trial_wait) */
#define LH_TRIAL_MOST_NS (2 * LH_SEC) /* either part of one, or an interval of that */
#define LH_C_MOST (1ULL << 30) /* of C; as RFC 7323 section 2.3 */
#define LH_DELACK_NS (40 * LH_MSEC) /* of the receiver, that is */
#define LH_DELACK_MOST_NS (200 * LH_MSEC) /* RFC 8985 section 7.2's WCDelAckT */

/* Whether the window of the flow's ACKs may be edited. */
LH_INLINE bool lh_control_usable(struct lh_env *env, const struct lh_flow *f);

/* Bytes above una that MH has. Without SACK each duplicate stands for one
 * segment. */
LH_INLINE u32 lh_above_una(const struct lh_flow *f);

/* C of @c bytes, no less than what lets MH acknowledge. */
LH_INLINE u32 lh_control_bounded(const struct lh_flow *f, u64 c);

/* The unloaded round trip to reckon with; without a wired sample, where no window is edited, a guess. */
LH_INLINE u64 lh_control_base(struct lh_env *env, const struct lh_flow *f);

/* Begins to hold FH if a loss of the link was repaired in this call, and is about to be hidden
 * from it. */
LH_INLINE void lh_control_deprive(struct lh_env *env, struct lh_flow *f);

/* Lets FH go where this ACK shows that there was no loss at all (lh_queue_refute). */
LH_INLINE void lh_control_refute(struct lh_env *env, struct lh_flow *f);

/* The receiver, if all its flows are on trial (enum lh_trial); else NULL. */
LH_INLINE const struct lh_peer *lh_control_trial(struct lh_env *env, const struct lh_flow *f);

/* Begins a trial (enum lh_trial) for all flows of the receiver @p, which shows after @settles ns what comes of
 * it, and ends after @lasts more. */
LH_INLINE void lh_trial_begin(struct lh_env *env, struct lh_peer *p, u32 trial, u64 settles,
			      u64 lasts);

/* It has found nothing: the next one comes twice as late. */
LH_INLINE void lh_trial_vain(struct lh_peer *p);

/* What tells that one is due, usually @n times, doubled for each in vain. */
LH_INLINE u32 lh_trial_wait(const struct lh_peer *p, u32 n);

/* Deliveries, but for a while no sample: what is granted is so little that each segment
 * is alone, and may wait for a delayed ACK. */
LH_INLINE void lh_control_blind(struct lh_env *env, struct lh_flow *f);

/* One sojourn sample @r on the way there. */
LH_INLINE void lh_control_sample(struct lh_env *env, struct lh_flow *f, u64 r);

/* The hop was out and is back. What is known of the way and of its rate still
 * holds, and so does C; what was measured, tried or asked meanwhile does not. */
LH_INLINE void lh_control_resume(struct lh_env *env, struct lh_flow *f);

/* Ends an interval of at least one sample, if it is over: what the samples say about the hop, and
 * C for the next. */
LH_INLINE void lh_control_interval(struct lh_env *env, struct lh_flow *f);

/*
 * Data comes: does FH go on after a pause? In one of less than a round trip it may have
 * waited for its ACKs, and where a queue has stood for as long, in one of more.
 */
LH_INLINE void lh_control_data(struct lh_env *env, struct lh_flow *f);

/* Whether something brakes the sender although its losses are hidden. */
LH_INLINE bool lh_control_brakes(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_CONTROL_H */
