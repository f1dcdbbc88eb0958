/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The queue before the hop, as the deliveries to a receiver show it: how long it is and
 * would be at the law's aim, whether it was full, and so whose a loss is. Rates,
 * flows and queues are the receiver's: on many links each has a queue of its own.
 *
 * Units: bytes, nanoseconds, bytes per second, all unsigned; products of a rate
 * and a time go through microseconds and fit 64 bits up to 10 Gbit/s and 60 s.
 */
#ifndef LH_QUEUE_H
#define LH_QUEUE_H

#include "types.h"

#define LH_RECENT_SAMPLES 4

/* Sojourn on the local hop as the flow's samples show it. */
struct lh_queue {
	u64 recent_ns[LH_RECENT_SAMPLES]; /* the last samples */
	u64 above_ns; /* since when each sample has shown a queue (lh_queue_above); 0: the last did not */
	u64 worth_ns; /* lh_queue_worth() of the last interval */
	u64 busy_ns; /* last time that the queue was no mere trifle */
	u64 gap_now_ns; /* longest pause of the hop in this interval */
	u64 gap_ns; /* such pauses, smoothed over the intervals */
	u64 lossy_ns; /* last loss of the link's that was hidden from FH; 0: none */
	u64 copied_ns; /* when a segment was sent again last */
	u32 copies; /* that MH has not called superfluous, as far back as the link has counted as lossy */
	u32 blamed; /* ACKs and timers since then by which the link had lost something */
	u32 lacks; /* so many samples more have to show as much for a queue of worth_ns to stand */
};

#define LH_YOUNG_INTERVALS 5 /* so long: what a page's objects take */

/* The queue to aim at, if that is @least at least. */
LH_INLINE u64 lh_target_from(struct lh_env *env, const struct lh_flow *f, u64 least);

/* The queue to aim at in the long run: more on a hop that pauses (batches, jitter), or
 * the pauses would drain the queue, and pass for one; and on a slow one, whose segments
 * take long. */
LH_INLINE u64 lh_target_steady(struct lh_env *env, const struct lh_flow *f);

/*
 * The queue to aim at now: more for a flow that has just begun. Where flows come and go,
 * as those of a page do, the hop idles between them, and what they queue is gone by
 * itself. With the aim of a long flow a page of 40 objects took 1.44 of the lossless time
 * at 2 %, with four times that 1.21.
 */
LH_INLINE u64 lh_target(struct lh_env *env, const struct lh_flow *f);

/* Where the queue comes to rest by the controller's law: a segment per flow is the least, and
 * with many flows more than the target. */
LH_INLINE u64 lh_aim(struct lh_env *env, const struct lh_flow *f);

/* The queue that a sojourn of @r on the hop shows. */
LH_INLINE u64 lh_queue(struct lh_env *env, u64 r);

/* What a pause of the hop's own adds to sojourns, at the most. */
LH_INLINE u64 lh_queue_pause(const struct lh_flow *f);

/* Whether a queue above @q stands: even the least of the last samples shows it, beyond what the hop adds by
 * itself. */
LH_INLINE bool lh_queue_stands(struct lh_env *env, const struct lh_flow *f, u64 q);

/*
 * Whether the flows are so many that a share is less than four thirds of a segment per
 * unloaded round trip: two segments, if the queue held half as much again as the way
 * does. Nobody can be braked further then; what overflows is FH's.
 */
LH_INLINE bool lh_queue_crowded(struct lh_env *env, const struct lh_flow *f);

/*
 * Whether they are clearly fewer, so that a flow may begin to be braked. A bin of the rate may have a segment more
 * or less at each of its ends, and of 0.5 Mbit/s has four or five: four flows were HELD and let go 346 times in two
 * minutes, while their queue overflowed, and what that lost was the link's by the time.
 */
LH_INLINE bool lh_queue_roomy(struct lh_env *env, const struct lh_flow *f);

/* Whether nothing forbids for good to edit the window of the flow's ACKs. */
LH_INLINE bool lh_window_editable(struct lh_env *env, const struct lh_flow *f);

/* Whether the link has lost something of late that its sender was not told. */
LH_INLINE bool lh_queue_lossy(struct lh_env *env, const struct lh_flow *f);

/* The link has lost something. How long that says anything about it depends on how
 * often it does; losses within a round trip count as one. */
LH_INLINE void lh_queue_lost(struct lh_env *env, const struct lh_flow *f, struct lh_peer *p);

/* This ACK, or the timer, has shown that the link has lost something of the flow's: lh_queue_lost(). */
LH_INLINE void lh_queue_blame(struct lh_env *env, struct lh_flow *f);

/* A segment of the flow's is sent again, whatever for. */
LH_INLINE void lh_queue_copied(struct lh_env *env, struct lh_flow *f);

/*
 * MH calls a copy of ours superfluous (RFC 2883). Once it has done so for each of them the link has
 * lost nothing, and is not lossy for what only came late: as Linux undoes what it did about a loss when
 * DSACKs refute it. At a start beside an upload ACKs came 190 ms late for the latter's queue, two segments
 * were sent again for that, and FH was braked to a tenth of the link for five seconds.
 * @return whether that was the last one.
 */
LH_INLINE bool lh_queue_refute(struct lh_env *env, struct lh_flow *f);

/* A queue of @q has been seen: since when has it stood? Two segments on a slow link are
 * none (RFC 8289 section 4.4), nor is what a pause of the hop's adds. */
LH_INLINE void lh_queue_above(struct lh_env *env, const struct lh_flow *f, u64 *since_ns, u64 q);

/* Nothing of the flow's is under way: for an AQM no queue of its own has stood until now, nor of
 * @p's, its receiver's or none, if that has nothing else under way. CoDel's interval begins anew then, too (RFC
 * 8289 section 4.1); what comes late all the same waits for the hop's next batch, or behind others. */
LH_INLINE void lh_queue_empty(struct lh_env *env, struct lh_flow *f, struct lh_peer *p);

#define LH_WORTH_PART 4

/* How much of a queue has to stand before FH, which nobody can brake, hears of a loss of a link that loses, ns: it
 * halves, and where less queues than a part of a round trip the hop runs dry. Half of one is what Reno would need;
 * others wait in it. @p: its receiver or none. 0: any. */
LH_INLINE u64 lh_queue_worth(struct lh_env *env, const struct lh_flow *f, const struct lh_peer *p);

/*
 * Whether the queue has stood for so long that an AQM may drop, while FH sees its losses
 * and none of late came without a queue: nothing tells then that it is the link. Or nobody can
 * brake FH: then each loss with a queue of worth_ns is what brakes it, whosever it is, and those without one
 * are repaired. Of the flow's own samples, whose queue may be its own (RFC 8290), and of all of
 * the receiver's, for the flow may have paused.
 */
LH_INLINE bool lh_queue_managed(struct lh_env *env, const struct lh_flow *f);

/*
 * Whether the loss of @e looks like an overflow of the queue before the hop: it departed when
 * the queue was near the longest that it has been of late. Tail drop happens there and nowhere
 * else. Such losses are FH's, and whoever else shares the queue relies on that; what was
 * repaired already is ours. While FH is HELD a queue of ours answers to C: only if it has not
 * for some time, it is somebody else's.
 */
LH_INLINE bool lh_queue_overflowed(struct lh_env *env, const struct lh_flow *f,
				   const struct lh_seg *e);

/*
 * @bytes more of the flow's go to the hop. @return whether they meet a queue near the longest of late, by what has gone
 * to the receiver of all its flows, and what the hop carries at its best rate of late: of what several send at once
 * nothing may come through that shows it. One flow's own samples do; and on a hop that loses FH is braked for the doubt,
 * where it can be (pages at 2 % took 5 % longer when each such loss was left to it). An entry of its own, for lack of
 * room.
 */
LH_ENTRY int lh_queue_departs(struct lh_env *env, const struct lh_flow *f, u32 bytes);

/* @bytes of the flow's go to the hop once more. */
LH_INLINE void lh_queue_adds(struct lh_env *env, const struct lh_flow *f, u32 bytes);

/* FH takes @bytes of the flow's for lost, and has sent them again. */
LH_INLINE void lh_queue_again(struct lh_env *env, const struct lh_flow *f, u32 bytes);

/*
 * Whether the longest queue has grown by half within a round trip or two, as in somebody's
 * slow start. Where it would end is not known yet: full is whatever it is now.
 */
LH_INLINE bool lh_queue_rising(const struct lh_peer *p);

/*
 * The flow's samples have a new one, @r. If its segment departed after all that samples have shown to
 * stand before it had drained, it met no queue of ours, and none has stood since: a slow start on a hop of
 * a quarter of a second sends one burst per round trip, and between those of early ones the hop idles. What
 * it took longer than Lmin all the same is the hop's own, as far as pauses explain it, and the mean of
 * that is no queue for the controller either, on an uneven hop (lh_queue_unsteady). Else somebody's stands there who does not come by here.
 */
LH_INLINE void lh_queue_recent(struct lh_env *env, struct lh_flow *f, u64 r);

/*
 * How long a segment that departed at @tx_ns and met a queue of @q ns had to wait for what has come to @p, its
 * receiver or none, before it: at seven eighths of the best rate of late. Less than @q is somebody else's queue, or
 * the way, or a delayed ACK. Once per sample.
 */
LH_INLINE u64 lh_queue_own(struct lh_env *env, struct lh_peer *p, u64 tx_ns, u64 q);

/*
 * What the hop to @p, the flow's receiver, adds to sojourns by itself, in the mean: where its pauses are longer
 * than what the target makes up for (lh_target_steady). Behind a neighbour's short queue a flow's segments come
 * late by now and then, too. Taken off there the 95th percentile of the round trip was 165 ms instead of 79
 * beside a BBR that the agent does not see, with a queue of 30 ms, for the flow filled that as well.
 */
LH_INLINE u64 lh_queue_unsteady(struct lh_env *env, const struct lh_flow *f,
				const struct lh_peer *p);

/* The way to @p, the flow's receiver, has become longer: Lmin is @least now. */
LH_INLINE void lh_queue_raise(struct lh_env *env, struct lh_flow *f, struct lh_peer *p, u64 least);

/* The same for its receiver @p, after the flow's: the queue, how long it stands, and the longest.
 * @target: lh_target(). */
LH_INLINE void lh_queue_peer(struct lh_env *env, struct lh_flow *f, struct lh_peer *p, u64 r,
			     u64 target);

/* Both, where no controller (control.h) asks for more. */
LH_INLINE void lh_queue_note(struct lh_env *env, struct lh_flow *f, u64 r);

/* The longest queue of late, ns. */
LH_INLINE u64 lh_queue_longest(const struct lh_peer *p);

#endif /* LH_QUEUE_H */
