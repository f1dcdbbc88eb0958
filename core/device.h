/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the flows of one device share: the delivery rate of the link, how many
 * flows make it up, and the local round trip per receiver. Written by several
 * CPUs at once without a lock: a lost update costs a little precision, so
 * sums use atomic additions and everything else plain stores. Another CPU's
 * times may lie ahead of this one's now: their age is lh_since().
 */
#ifndef LH_DEVICE_H
#define LH_DEVICE_H

#include "shadow.h"
#include "types.h"

#define LH_BIN_NS (100 * LH_MSEC)
#define LH_CROWD_BINS 16
#define LH_DEVICE_BINS 64 /* a power of two: what the link could do in the last 6 s */
#define LH_PEERS 1024 /* a power of two */

/* How many there were in the newest bin of LH_BIN_NS, and in the one before. */
struct lh_tally {
	u64 bin; /* its number */
	u32 now, before;
};

/* What C is for all of a receiver's flows, to see what follows from it. */
enum lh_trial {
	LH_TRIAL_HALF, /* half of it: is the queue ours (control.c)? */
	LH_TRIAL_TWICE, /* twice, where there is no half */
	LH_TRIAL_LIMIT, /* a little less than what they get: is less of it lost (limit.h)? */
};

/* One receiver on the link. */
struct lh_peer {
	u8 addr[16]; /* as in lh_flow_key.mh */
	u64 seen_ns; /* last new flow or sample, or ACK to a second */
	u64 busy_ns; /* last sample that showed a standing queue */
	u32 tag; /* hash of addr: whether the place is still ours */
	u8 trials; /* in vain, since the last that was not; LH_TRIALS_MOST at the most */
	u8 guessed; /* 1: lmin_now_ns is a handshake's, whose packets are small */
	u8 trial; /* enum lh_trial: what it is of */
	u8 trial_pad;
	/* The unloaded local round trip: the least sample of this and of the
	 * previous period (sample.h); 0: none. */
	u64 lmin_now_ns, lmin_before_ns;
	u64 since_ns; /* when this period began */
	u64 raised_ns; /* when it was found to be longer last (lh_queue_raise) */
	u64 floor_ns; /* as long as it was then, if it had been found so shortly before; else 0 */
	u64 srtt_ns; /* smoothed local round trip of its flows, 0: none yet */
	u64 lossy_ns; /* last loss of the link's that was hidden from a sender; 0: none */
	u64 lossy_for_ns; /* for so long it counts */
	/* The longest queue of this and of the previous period. */
	u64 full_now_ns, full_before_ns;
	u64 full_since_ns; /* when this period began */
	u64 delivered_ns; /* last delivery to any of the flows */
	u64 xmit_ns; /* latest departure among what was delivered, sent again or not */
	u64 newest_tx_ns; /* the same of what gave a sample */
	u64 queue_ns, queue_at_ns; /* the last sample of it, and when that was */
	u64 above_ns; /* as lh_queue.above_ns, of all its flows */
	u64 empty_ns; /* when nothing of theirs was under way, or in a queue, last (lh_queue_empty) */
	/* Sojourns that are longer than Lmin and any queue of its own explain, and all alike (lh_queue_longer): since
	 * when, the least and the greatest; until when what came to it takes at its best rate. */
	u64 longer_ns, longer_least_ns, longer_most_ns, own_until_ns;
	u64 idle_ns; /* what sojourns that met no queue were above Lmin, smoothed (lh_queue_idle) */
	/* Departures that found it near the longest: the latest, and the first of those that
	 * followed each other closely; 0: none. */
	u64 full_tx_ns, full_from_ns;
	/* The longest queue as it was a round trip ago, and the one before; since when. */
	u64 full_mark_ns, full_mark_before_ns, full_mark_at_ns;
	u64 full_seen_ns; /* when the last sample came, if it found it so; 0: it did not */
	/* The longest queue in bytes: what arrived while a segment queued (lh_queue_bytes). A rate
	 * that changes while the queue drains changes the time, but not this. */
	u32 ahead, full_now, full_before;
	u32 delivered; /* bytes, modulo 2^32 */
	/* A trial of all its flows together: lh_control_doubt(). */
	u64 trial_ns, trial_end_ns; /* when its last part begins and ends; 0: there is none */
	u64 trial_least_ns; /* least sample in its last part; 0: none */
	/* Delivered to it: in this bin, and the best of late, which fades. */
	u64 bin; /* number of the newest bin, now / LH_BIN_NS */
	u64 bytes; /* in it */
	u64 rate; /* bytes per second */
	u64 rate_long; /* the same, but it takes half a minute to fade */
	u64 rate_before; /* of the last whole bin */
	u32 flows, flows_before; /* that delivered in this bin and the one before */
	u32 crowd, crowd_before; /* the same of LH_CROWD_BINS bins */
	u32 active; /* flows with something cached that have this place */
	u32 trial_delivered; /* as delivered, at the first sample of a trial's last part */
	u32 blamed; /* as lh_queue.blamed, of all its flows */
	u32 sampled; /* delivered, at the last sample */
	u32 longer; /* so many of those sojourns */
	u32 own_delivered; /* delivered, when own_until_ns was reckoned last */
	u32 trial_first; /* bytes in the first part of a trial of twice C; 0: it is not over */
	u32 backlog; /* bytes that the hop had to carry of what had gone to it, at backlog_ns (lh_queue_departs) */
	u64 backlog_ns;
	/* What gets lost, and a limit of the hop's (limit.h). */
	u32 again; /* bytes sent once more, by the agent or by FH, modulo 2^32 */
	u32 span_again, span_delivered; /* both when the present span began */
	/* What of the last span's data had to be sent again, and smoothed; of LH_LOST_UNIT. */
	u32 lost, lost_mean;
	u64 span_ns; /* when it began; 0: there is none */
	u64 span_rate; /* delivered in the last one, bytes per second */
	u32 trial_again; /* again, at the first sample of a trial's last part */
	u32 trial_lost; /* lost_mean before a trial */
	u64 trial_rate; /* span_rate before it */
	u64 limit_rate; /* bytes per second; 0: there is none */
	u64 limit_ns; /* when more was lost last */
	u64 tight_ns; /* until then its flows are too many for its limit, or for one on trial, to be braked by it (limit.h) */
	u32 limit_lost; /* what is lost below it, smoothed */
	/* Spans in a row in which so much was lost as only a limit explains; where one is known, in which it was
	 * reached. */
	u32 heavy;
	/* Outages (outage.h). */
	u64 probe_ns; /* last probe, by whichever flow */
	u64 turn_ns; /* the next one waits so long for those of other receivers */
	u64 probes_until_ns; /* when the hop has carried what its flows' probes may take of it (probe.c) */
	u64 heard_ns; /* last ACK of any of the flows, to a millisecond */
	/* Messages of its flows to the agent at the hop's other end (tell.h). */
	u64 told_bin; /* number of the bin in which the last one went */
	u32 told; /* in that bin */
	u32 trial_more; /* so often a trial for a limit may still go on */
	struct lh_tally arriving; /* its flows whose data have come over the hop (resequence.h) */
};

struct lh_device {
	u64 srtt_ns; /* smoothed local round trip of all flows, 0: none yet */
	u32 busy_peers; /* receivers for whom something is cached */
	u32 pad;
	u64 stranger_ns; /* last SYN that was cached for a receiver that nobody has heard */
	/* Messages to the agent at the other end: as in struct lh_peer, of all; in how many
	 * receivers' names in that bin and the one before. */
	u64 told_bin;
	u32 told;
	u32 tellers, tellers_before;
	u32 told_pad;
	/* Receivers whose data have come over the hop (resequence.h), who have no place all together; and
	 * flows of those. */
	struct lh_tally arriving, strangers;
	u32 replay_us; /* mean time of a repair of those that were asked for, of all; 0: none was seen */
	u32 replay_pad;
	u64 delivered_ns; /* last delivery to anyone */
	u64 drains_ns; /* until when the queues last that samples have shown, whosever they are */
	u64 probes_ns; /* until when the share of the hop is used up that probes have in outages (outage.h) */
	struct lh_shadow_device shadow; /* with LH_POLICY_SHADOW */
	u64 bin; /* number of the newest bin, now / LH_BIN_NS */
	u64 bytes[LH_DEVICE_BINS]; /* delivered in bin n: bytes[n % LH_DEVICE_BINS] */
	u64 flows[LH_DEVICE_BINS]; /* flows that delivered in it */
	struct lh_peer peer[LH_PEERS]; /* [0] is nobody's: a flow without a place has that index */
};

/* The flow's receiver, NULL: it found no place, or has lost it to another. */
LH_INLINE struct lh_peer *lh_peer_of(struct lh_env *env, const struct lh_flow *f);

/* Counts a flow more of @p's that has something cached. */
LH_INLINE void lh_peer_gain(struct lh_device *d, struct lh_peer *p);

/* Counts a flow less of @p's that has something cached. */
LH_INLINE void lh_peer_lose(struct lh_device *d, struct lh_peer *p);

/* Whether both ends of the connection were heard. Until then it may be anybody's idea. */
LH_INLINE bool lh_answered(const struct lh_flow *f);

/*
 * Finds the place of the receiver @key->mh for the flow @f: its own, or, if FH was heard, one that
 * nobody used for a minute; else none. Hosts call it for a new flow, before its first packet,
 * and for one that has no place (f->peer is 0) before each of MH's: so that who sends to
 * addresses that nobody has, or from them, takes nobody's place.
 */
LH_ENTRY int lh_peer_join(struct lh_env *env, struct lh_flow *f, const struct lh_flow_key *key);

/* The bin of now, now / LH_BIN_NS. */
LH_INLINE u64 lh_bin(struct lh_env *env);

/* @bytes were delivered to MH. @first: the flow's first ones in this bin. */
LH_INLINE void lh_device_add(struct lh_env *env, u32 bytes, bool first);

/* Bytes that a rate delivers in a time. */
LH_INLINE u64 lh_rate_times(u64 rate, u64 ns);

/* Whether those are less than @bytes. */
LH_INLINE bool lh_rate_lacks(u64 rate, u64 ns, u64 bytes);

/* How long a rate takes to deliver bytes; 0: there is no rate. */
LH_INLINE u64 lh_rate_time(u64 rate, u64 bytes);

/* The same, or @least ns where that is longer. */
LH_INLINE u64 lh_rate_time_least(u64 rate, u64 bytes, u64 least);

/* Link rate in bytes per second, as far as the flows have shown it lately: the
 * best of the last @bins complete bins. */
LH_ENTRY u64 lh_device_rate(struct lh_env *env, u32 bins);

/* How many flows make it up: those of the last complete bin, or of the present
 * one if it has more; at least 1. */
LH_ENTRY u64 lh_device_flows(struct lh_env *env);

/* Begins the receiver's bin of now: the old one's rate counts if it is the best
 * of late, whose memory fades by a sixty-fourth per bin. */
LH_INLINE void lh_peer_turn(struct lh_peer *p, u64 bin);

/* @bytes were delivered to the receiver @p. @last: the flow's last bin before. */
LH_INLINE void lh_peer_add(struct lh_env *env, struct lh_peer *p, u32 bytes, u64 last);

/* What the flow's receiver has got, all flows together, as far as that is known. */
LH_INLINE u32 lh_receiver_delivered(struct lh_env *env, const struct lh_flow *f);

/* How many of the receiver's flows have delivered within some 1.6 s: also those that do so seldom. */
LH_INLINE u64 lh_peer_crowd(const struct lh_peer *p);

/* How many flows the receiver has, as lh_device_flows(). */
LH_INLINE u64 lh_peer_flows(struct lh_env *env, struct lh_peer *p);

#endif /* LH_DEVICE_H */
