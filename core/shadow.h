/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loss seen and not repaired (`lasthop observe`, scheme `shadow`): what would have been done, and how
 * it went without. A segment that departed here and that FH sends again was lost behind us: had it
 * arrived, MH's ACK would have come by before FH's second copy. Where it was not (reordering, an ACK
 * that got lost, a timeout that was none) MH answers too soon for that copy, or says so by DSACK (RFC
 * 2883), and what was booked is taken back.
 *
 * Whose a loss is the numbers tell in the end: those of the link come whatever the queue, those of a
 * queue that overflows come while it is near its longest, an AQM's while one stands. So departures
 * and losses are counted by the queue that they met, as prompt ACKs show it of segments that departed
 * with them or nearly so; the reckoning is user space's.
 */
#ifndef LH_SHADOW_H
#define LH_SHADOW_H

#include "types.h"

/* Queue of less than 1 ms, 2 ms, 4 ms and so on; the last one is open. A power of two. */
#define LH_SHADOW_QUEUES 16

/* Rates of trains, in quarters of an octave: bytes delivered at from 2^13 bytes per second on. A power of
 * two. */
#define LH_SHADOW_RATES 64
#define LH_SHADOW_RATE_SHIFT 13

/* What a sender makes of a loss, by what it has under way after its recovery and before. */
enum lh_shadow_sender {
	LH_SHADOW_SENDER_UNKNOWN, /* nothing was lost that could tell */
	LH_SHADOW_SENDER_HALVES, /* as NewReno (RFC 5681, RFC 6582) */
	LH_SHADOW_SENDER_YIELDS, /* as CUBIC, to 0.7 (RFC 9438) */
	LH_SHADOW_SENDER_STEADY, /* as BBR: hardly at all */
	LH_NR_SHADOW_SENDERS,
};

enum lh_shadow_recovery {
	LH_SHADOW_OPEN, /* nothing is being recovered */
	LH_SHADOW_RECOVERS, /* until `point` is acknowledged */
	LH_SHADOW_RECOVERED, /* the next round trip shows what FH has made of it */
};

/* What is added up for a flow, and of flows that are over for all senders of its kind. */
struct lh_shadow_sums {
	u64 flows; /* 1 of a flow whose ends were both heard */
	u64 segs; /* segments that MH has got */
	u64 bytes; /* their payload */
	u64 busy_ns; /* time with anything under way to MH */
	u64 lost; /* departures towards MH that did not arrive */
	u64 segs_full, lost_full; /* of both, those that met a queue near its longest */
	u64 superfluous; /* copies that FH sent of what had arrived */
	u64 mistaken; /* segments that time order convicted, and that arrived after all */
	u64 upstream_lost; /* gaps in FH's data, as they came to us, that FH has filled */
	/* How much later than `rack` would have FH repaired, of so many losses. */
	u64 late_ns, late;
	u64 acks, acks_limited; /* ACKs, and those at which FH had used all that MH grants */
	/* Round trips whose wired part was measured; sums of that, of the smoothed local one then, and
	 * of the unloaded local one. */
	u64 rounds, wired_ns, local_ns, unloaded_ns;
	u64 outages, outage_ns; /* silences of MH's, from FH's first try on, of a second and more */
};

/* One flow's. */
struct lh_shadow {
	struct lh_shadow_sums sums;
	u64 busy_from_ns; /* up to then sums.busy_ns counts; 0: nothing is under way */
	u64 idle_ns; /* since when nothing is */
	u64 gap_ns; /* when FH's data last showed a gap */
	/* Deliveries while segments queued before the hop without a pause, as departures stood in the
	 * queue: FH's second copies and what gets lost take their time there as well. */
	u32 departed; /* bytes, modulo 2^32; of a segment lh_seg.delivered, with its own */
	u32 newest_departed; /* of what the ACK of this call delivered and FH sent once, the latest */
	u64 newest_ns; /* when that had left; 0: there is none */
	u64 train_at_ns; /* the last prompt ACK; 0: none yet */
	u64 train_ns; /* of the train that goes on */
	u32 train_bytes;
	u32 train_departed, train_delivered; /* at that ACK */
	u32 mark; /* the queue before the hop as the last ACK showed it: LH_MARK_* */
	u32 met[2]; /* and as the last two prompt ones did, the later one first */
	u64 met_tx_ns[2]; /* when the segments of those had departed */
	u32 booked; /* losses taken back of which a DSACK may still tell */
	/* What FH makes of a loss: its flight, as a round trip that wired.h measures shows it. */
	u32 asked; /* ACK number of the ACK by which that one began */
	u32 flight; /* of the last one without loss, bytes; 0: none */
	u32 recovers; /* enum lh_shadow_recovery */
	u32 point; /* what had departed when the loss was found */
	u32 nr_ratios, ratio_1024; /* flight after a recovery to that before, smoothed */
	u32 tries; /* copies of FH's since MH was heard */
	u64 tried_ns; /* the first of them; with tries */
	u32 back_end; /* data of MH's that came over the hop: the last end; 0: none came */
	u64 back_gap_ns; /* when they last showed a gap */
	u64 due_ns; /* when `rack` would have probed for the segment that FH now sends again; 0: never */
	u32 burst_bytes; /* that have come in a row, since burst_ns */
	u64 burst_ns, burst_last_ns;
};

/* The device's. */
struct lh_shadow_device {
	struct lh_shadow_sums ended[LH_NR_SHADOW_SENDERS]; /* flows that are over */
	u64 segs[LH_SHADOW_QUEUES], lost[LH_SHADOW_QUEUES]; /* by the queue that they met */
	u64 rates[LH_SHADOW_RATES]; /* bytes of trains, by their rate */
	u64 busy_ns; /* time with anything under way to anyone */
	u64 busy_from_ns; /* since when there is; with nr_busy */
	u64 idle_ns; /* since when there is nothing */
	u64 nr_busy; /* flows with anything under way */
	/* Bytes of some segments in a row from FH, by the rate at which they came here. */
	u64 bursts[LH_SHADOW_RATES];
	/* Data that came over the hop, and gaps in them that their sender had to fill. */
	u64 back_segs, back_lost;
};

/* What @f's sender seems to be. */
LH_INLINE enum lh_shadow_sender lh_shadow_sender_of(const struct lh_flow *f);

/* @s of FH's departs, and is not in the ring yet. */
LH_ENTRY int lh_shadow_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* The ring has got its first segment, or is about to have none. */
LH_INLINE void lh_shadow_busy(struct lh_env *env, struct lh_flow *f);
/* Also of a flow that is not watched, or no more. Global, as its branches stood in a loop: with them Linux
 * 6.8's verifier looked at a million instructions. */
LH_ENTRY int lh_shadow_idle(struct lh_env *env, struct lh_flow *f);

/* FH sends the segment at @pos of the ring again. Called before its entry says so. */
LH_ENTRY int lh_shadow_again(struct lh_env *env, struct lh_flow *f, u32 pos);

/* FH fills a gap that its data had when they came here. */
LH_INLINE void lh_shadow_filled(struct lh_env *env, struct lh_flow *f);

/* `rack` would repair @e now, by time order or a duplicate. */
LH_INLINE void lh_shadow_convict(struct lh_env *env, struct lh_flow *f, struct lh_seg *e);

/* MH has @e, which it was not known to have. */
LH_INLINE void lh_shadow_delivered(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e);

/* Notes the queue before the hop, once a sample is taken. */
LH_INLINE void lh_shadow_look(struct lh_env *env, struct lh_flow *f);

/* MH is heard, before what its ACK teaches is learned: did an outage end? */
LH_INLINE void lh_shadow_heard(struct lh_env *env, struct lh_flow *f);

/* The wired round trip that the ACK @f->shadow.asked began, of @wired_ns, has brought data up to @end. */
LH_FUNC int lh_shadow_flight(struct lh_env *env, struct lh_flow *f, u32 end, u64 wired_ns);

/* An ACK of this flow's, once what it teaches is learned (lh_learn). */
LH_INLINE void lh_shadow_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* Data of MH's came over the hop. */
LH_INLINE void lh_shadow_back(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* The flow is over: what was added up, if anything, goes to its sender's kind, and is cleared. */
LH_FUNC int lh_shadow_end(struct lh_env *env, struct lh_flow *f);

#endif /* LH_SHADOW_H */
