/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "order.h"
#include "shadow.h"

#define LH_SHADOW_OUTAGE_NS LH_SEC /* a silence of MH's that no timeout of FH's explains */
#define LH_SHADOW_TRIES 3 /* copies of FH's without an answer */
#define LH_SHADOW_BURST_SEGS 8 /* that tell of the rate at which they came */
#define LH_SHADOW_BURST_LEAST 3 /* as many do behind the first, where a pause follows */
#define LH_SHADOW_BURST_GAP_NS (20 * LH_MSEC) /* no burst goes on behind such a pause */
#define LH_SHADOW_FLIGHT_SEGS 8 /* a smaller flight tells not by how much it was reduced */
#define LH_SHADOW_TRAIN_LEAST 2 /* segments: a shorter train tells nothing */
#define LH_SHADOW_TRAIN_MOST 8 /* a longer one is taken for two */
/* Flights after and before between NewReno's half, CUBIC's 0.7 and all of it. */
#define LH_SHADOW_HALVES_1024 666
#define LH_SHADOW_YIELDS_1024 880

/* How a loss is booked in an entry (lh_seg.behind): the queue that it met. */
#define LH_MARK_QUEUE 0x0f /* index into lh_shadow_device.lost */
#define LH_MARK_FULL 0x10

LH_INLINE enum lh_shadow_sender lh_shadow_sender_of(const struct lh_flow *f)
{
	const struct lh_shadow *w = &f->shadow;

	if (!w->nr_ratios)
		return LH_SHADOW_SENDER_UNKNOWN;
	if (w->ratio_1024 < LH_SHADOW_HALVES_1024)
		return LH_SHADOW_SENDER_HALVES;
	return w->ratio_1024 < LH_SHADOW_YIELDS_1024 ? LH_SHADOW_SENDER_YIELDS
						     : LH_SHADOW_SENDER_STEADY;
}

/* Whether what departed at @tx_ns can't have been acknowledged yet, however short the queue has become: of
 * what was sent twice MH had the first copy, then. */
LH_INLINE bool lh_shadow_too_soon(struct lh_env *env, u64 tx_ns)
{
	u64 lmin = lh_lmin(env);

	return lh_since(env->now_ns, tx_ns) < lmin - lmin / 8;
}

/* Whether the ACK of this call, of a single segment, left when that arrived: what departed right behind it
 * would have had MH acknowledge both (RFC 1122 section 4.2.3.2). As in a start, when each is acknowledged. */
LH_INLINE bool lh_shadow_followed(struct lh_env *env, struct lh_flow *f)
{
	const struct lh_seg *next = lh_oldest(env, f);

	return env->ack.nr_segs == 1 && !env->ack.sacked && !env->ack.sample_lone && next &&
	       lh_since(next->last_tx_ns, env->ack.sample_ns) < LH_MSEC;
}

/* When the segment had departed by which the ACK of this call shows a queue that lh_queue_note() leaves out;
 * 0: it shows none, or that one has it. In FH's recoveries all that arrives may have been sent twice, and what
 * gets lost there met the same queue; while MH lacks anything it delays no ACK (RFC 5681 section 4.2). */
LH_INLINE u64 lh_shadow_sample(struct lh_env *env, struct lh_flow *f)
{
	u64 again_ns = env->ack.again_ns;

	if (again_ns <= env->ack.sample_ns)
		return lh_shadow_followed(env, f) ? env->ack.sample_ns : 0;
	if (!lh_gapped(f) || lh_shadow_too_soon(env, again_ns))
		return 0;
	return again_ns;
}

LH_INLINE void lh_shadow_look(struct lh_env *env, struct lh_flow *f)
{
	const struct lh_peer *p = lh_peer_of(env, f);
	u64 q = p ? p->queue_ns : 0, longest = p ? lh_queue_longest(p) : 0;
	u64 tx_ns = lh_shadow_sample(env, f), r;
	struct lh_shadow *w = &f->shadow;
	u32 mark = 0;
	int i;

	if (tx_ns) {
		r = lh_since(env->now_ns, tx_ns);
		q = lh_queue(env, lh_since(r, f->back.now_ns));
		longest = lh_max(longest, q);
	} else if (lh_ack_at_once(&env->ack)) {
		tx_ns = env->ack.sample_ns;
	}
	for (i = 0; i < LH_SHADOW_QUEUES - 1; i++)
		mark += q >= LH_MSEC << i;
	if (q >= LH_MSEC && q >= longest - longest / 4)
		mark |= LH_MARK_FULL;
	w->mark = mark;
	if (tx_ns <= w->met_tx_ns[0])
		return;
	w->met[1] = w->met[0];
	w->met_tx_ns[1] = w->met_tx_ns[0];
	w->met[0] = mark;
	w->met_tx_ns[0] = tx_ns;
}

/* The queue that @e met, which is lost: as the nearer one of the last two samples shows it. What follows
 * the end of a burst departs when the queue that the burst has filled is empty again. */
LH_INLINE u32 lh_shadow_met(const struct lh_shadow *w, const struct lh_seg *e)
{
	u64 after_ns = lh_since(w->met_tx_ns[0], e->last_tx_ns);

	return w->met[lh_since(e->last_tx_ns, w->met_tx_ns[1]) < after_ns];
}

/* Books @n losses, which may be taken back (-1). */
LH_INLINE void lh_shadow_book(struct lh_env *env, struct lh_flow *f, u32 mark, s64 n)
{
	struct lh_shadow_sums *sums = &f->shadow.sums;
	u32 i = mark & LH_MARK_QUEUE;

	sums->lost += n;
	if (mark & LH_MARK_FULL)
		sums->lost_full += n;
	lh_barrier(i);
	__sync_fetch_and_add(&LH_DEVICE(env)->shadow.lost[i & (LH_SHADOW_QUEUES - 1)], n);
}

/* FH has sent again what had arrived. @mark: as it was booked. */
LH_INLINE void lh_shadow_take_back(struct lh_env *env, struct lh_flow *f, u32 mark)
{
	f->shadow.sums.superfluous++;
	if (f->shadow.sums.lost)
		lh_shadow_book(env, f, mark, -1);
}

/* Place of a rate in lh_shadow_device.rates and bursts. */
LH_INLINE u32 lh_shadow_octave(u64 rate)
{
	u64 left = lh_clamp64(rate >> LH_SHADOW_RATE_SHIFT, 1, 0xffff);
	u32 octave = 0;
	int i;

	for (i = 3; i >= 0; i--) {
		if (left >> (1 << i)) {
			octave += 1 << i;
			left >>= 1 << i;
		}
	}
	return octave * 4 + ((rate >> (LH_SHADOW_RATE_SHIFT - 2 + octave)) & 3);
}

/* The last of a burst has come. */
LH_INLINE void lh_shadow_burst_end(struct lh_env *env, const struct lh_shadow *w)
{
	u64 took = lh_max(lh_since(w->burst_last_ns, w->burst_ns), 1ULL);
	u32 i = lh_shadow_octave((u64)w->burst_bytes * LH_SEC / took);

	lh_barrier(i);
	__sync_fetch_and_add(&LH_DEVICE(env)->shadow.bursts[i & (LH_SHADOW_RATES - 1)],
			     (u64)w->burst_bytes);
}

/* The rate at which some segments in a row come from FH: where they are as fast each time, what the way to us
 * carries. */
LH_INLINE void lh_shadow_burst(struct lh_env *env, struct lh_flow *f, u32 bytes)
{
	struct lh_shadow *w = &f->shadow;

	if (lh_since(env->now_ns, w->burst_last_ns) > LH_SHADOW_BURST_GAP_NS) {
		if (w->burst_ns && w->burst_bytes >= LH_SHADOW_BURST_LEAST * lh_mss(f))
			lh_shadow_burst_end(env, w);
		w->burst_ns = 0;
	}
	w->burst_last_ns = env->now_ns;
	if (!w->burst_ns) { /* the time of the first one is not known */
		w->burst_ns = env->now_ns;
		w->burst_bytes = 0;
		return;
	}
	w->burst_bytes += bytes;
	if (w->burst_bytes < LH_SHADOW_BURST_SEGS * lh_mss(f))
		return;
	lh_shadow_burst_end(env, w);
	w->burst_ns = env->now_ns;
	w->burst_bytes = 0;
}

LH_ENTRY int lh_shadow_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	if (!env || !f || !s)
		return 0;
	f->shadow.due_ns = 0;
	if (lh_before(s->seq, f->max))
		f->shadow.due_ns = lh_probe_deadline(env, f, lh_head(env, f));
	f->shadow.departed += s->end - s->seq;
	lh_shadow_burst(env, f, s->payload_bytes);
	if (lh_after(s->seq, f->max))
		f->shadow.gap_ns = env->now_ns;
	return 0;
}

/* Whether nothing was under way here for so short a time that it was, before us: what FH sends for
 * MH's last ACK has the wired round trip to make. */
LH_INLINE bool lh_shadow_pauses(struct lh_env *env, const struct lh_flow *f, u64 since_ns)
{
	return since_ns && lh_since(env->now_ns, since_ns) < 2 * lh_base(env, f);
}

LH_INLINE void lh_shadow_busy(struct lh_env *env, struct lh_flow *f)
{
	struct lh_shadow_device *d = &LH_DEVICE(env)->shadow;
	struct lh_shadow *w = &f->shadow;

	w->busy_from_ns = lh_shadow_pauses(env, f, w->idle_ns) ? w->idle_ns : env->now_ns;
	if (__sync_fetch_and_add(&d->nr_busy, 1))
		return;
	d->busy_from_ns = lh_shadow_pauses(env, f, d->idle_ns) ? d->idle_ns : env->now_ns;
}

LH_ENTRY int lh_shadow_idle(struct lh_env *env, struct lh_flow *f)
{
	struct lh_shadow_device *d;
	struct lh_shadow *w;

	if (!env || !f || !f->shadow.busy_from_ns)
		return 0;
	d = &LH_DEVICE(env)->shadow;
	w = &f->shadow;
	w->sums.busy_ns += lh_since(env->now_ns, w->busy_from_ns);
	w->busy_from_ns = 0;
	w->idle_ns = env->now_ns;
	if (__sync_fetch_and_add(&d->nr_busy, -1ULL) != 1)
		return 0;
	__sync_fetch_and_add(&d->busy_ns, lh_since(env->now_ns, d->busy_from_ns));
	d->idle_ns = env->now_ns;
	return 0;
}

/* A loss was found. @clear: by what came after it, not by FH's timer. */
LH_INLINE void lh_shadow_recovery(struct lh_flow *f, bool clear)
{
	struct lh_shadow *w = &f->shadow;

	if (w->recovers == LH_SHADOW_RECOVERED || !clear)
		w->flight = 0; /* of two reductions in one nothing is known */
	if (w->recovers != LH_SHADOW_RECOVERS || !clear)
		w->point = f->max;
	w->recovers = LH_SHADOW_RECOVERS;
}

LH_FUNC int lh_shadow_flight(struct lh_env *env, struct lh_flow *f, u32 end, u64 wired_ns)
{
	struct lh_shadow *w = &f->shadow;
	u32 flight = end - w->asked, ratio;

	w->sums.rounds++;
	w->sums.wired_ns += wired_ns;
	w->sums.local_ns += f->rtt.srtt_ns;
	w->sums.unloaded_ns += lh_lmin(env);
	if ((s32)flight <= 0 || w->recovers == LH_SHADOW_RECOVERS)
		return 0;
	if (w->recovers == LH_SHADOW_RECOVERED) {
		if (lh_before(w->asked, w->point))
			return 0;
		w->recovers = LH_SHADOW_OPEN;
		if (w->flight >= LH_SHADOW_FLIGHT_SEGS * lh_mss(f)) {
			ratio = lh_clamp64((u64)flight * 1024 / w->flight, 0, 1024);
			w->ratio_1024 = w->nr_ratios ? w->ratio_1024 - w->ratio_1024 / 4 + ratio / 4
						     : ratio;
			w->nr_ratios++;
		}
	}
	w->flight = flight;
	return 0;
}

LH_ENTRY int lh_shadow_again(struct lh_env *env, struct lh_flow *f, u32 pos)
{
	struct lh_shadow *w;
	struct lh_seg *e;
	u32 now_us;

	if (!env || !f)
		return 0;
	w = &f->shadow;
	e = lh_seg_at(env, f, pos);
	if (!w->tries++)
		w->tried_ns = env->now_ns;
	if (!e || (e->flags & LH_SEG_SACKED))
		return 0;
	now_us = env->now_ns >> 10; /* nearly: of 1,024 ns each */
	if (e->flags & LH_SEG_LOST) {
		w->sums.late_ns += (u64)(now_us - e->delivered) << 10;
		w->sums.late++;
	} else {
		if (w->due_ns) {
			w->sums.late_ns += lh_since(env->now_ns, w->due_ns);
			w->sums.late++;
		}
		e->behind = lh_shadow_met(w, e);
		lh_shadow_recovery(f, false);
	}
	e->arrived = 1;
	lh_shadow_book(env, f, e->behind, 1);
	return 0;
}

LH_INLINE void lh_shadow_filled(struct lh_env *env, struct lh_flow *f)
{
	/* Sooner than FH can know of it: it was only late. */
	if (lh_since(env->now_ns, f->shadow.gap_ns) >= lh_wired(f) / 2)
		f->shadow.sums.upstream_lost++;
}

LH_INLINE void lh_shadow_convict(struct lh_env *env, struct lh_flow *f, struct lh_seg *e)
{
	e->flags |= LH_SEG_LOST;
	e->behind = lh_shadow_met(&f->shadow, e);
	e->delivered = env->now_ns >> 10;
	lh_shadow_recovery(f, true);
}

LH_INLINE void lh_shadow_delivered(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e)
{
	struct lh_shadow *w = &f->shadow;

	if (e->flags & LH_SEG_LOST) {
		w->sums.mistaken++;
	} else if (e->arrived && lh_shadow_too_soon(env, e->last_tx_ns)) {
		lh_shadow_take_back(env, f, e->behind);
		w->booked++; /* its DSACK is still to come */
	} else if (!(e->flags & LH_SEG_FH_RTX) && e->last_tx_ns >= w->newest_ns) {
		if (e->last_tx_ns > w->newest_ns || lh_after(e->delivered, w->newest_departed))
			w->newest_departed = e->delivered;
		w->newest_ns = e->last_tx_ns;
	}
}

/* The train is over: at what rate did it come? */
LH_INLINE void lh_shadow_train_end(struct lh_env *env, struct lh_flow *f)
{
	struct lh_shadow *w = &f->shadow;
	u32 i;

	if (w->train_bytes >= LH_SHADOW_TRAIN_LEAST * lh_mss(f) && w->train_ns) {
		i = lh_shadow_octave((u64)w->train_bytes * LH_SEC / w->train_ns);
		lh_barrier(i);
		__sync_fetch_and_add(&LH_DEVICE(env)->shadow.rates[i & (LH_SHADOW_RATES - 1)],
				     (u64)w->train_bytes);
	}
	w->train_ns = w->train_bytes = 0;
}

/* What came while segments queued: each had departed before the one before it was here. */
LH_INLINE void lh_shadow_train(struct lh_env *env, struct lh_flow *f)
{
	struct lh_shadow *w = &f->shadow;
	struct lh_peer *p = lh_peer_of(env, f);
	u64 left_ns = w->newest_ns;
	u32 own = w->newest_departed - w->train_departed, all;
	bool goes_on = w->train_at_ns && left_ns + lh_lmin(env) <= w->train_at_ns;

	w->newest_ns = 0;
	if (!left_ns || !lh_ack_at_once(&env->ack) || (w->train_at_ns && (s32)own <= 0))
		return;
	all = lh_receiver_delivered(env, f) - w->train_delivered;
	if (goes_on) {
		/* Where others share the queue what they got counts. A flow alone tells by its
		 * own departures: of what arrived some is told of late, if there are more holes
		 * than an ACK has blocks. */
		if (p && lh_peer_flows(env, p) > 1)
			own = lh_max(own, all);
		w->train_bytes += own;
		w->train_ns += env->now_ns - w->train_at_ns;
	}
	if (!goes_on || w->train_bytes >= LH_SHADOW_TRAIN_MOST * lh_mss(f))
		lh_shadow_train_end(env, f);
	w->train_at_ns = env->now_ns;
	w->train_departed = w->newest_departed;
	w->train_delivered += all;
}

/* MH was silent while FH tried. */
LH_INLINE void lh_shadow_heard(struct lh_env *env, struct lh_flow *f)
{
	struct lh_shadow *w = &f->shadow;
	u64 silent = lh_since(env->now_ns, w->tried_ns);

	if (w->tries >= LH_SHADOW_TRIES && silent >= LH_SHADOW_OUTAGE_NS) {
		w->sums.outages++;
		w->sums.outage_ns += silent;
	}
	w->tries = 0;
}

/* How much has arrived by this ACK, and through which queue. */
LH_INLINE void lh_shadow_arrived(struct lh_env *env, struct lh_flow *f)
{
	struct lh_shadow_sums *sums = &f->shadow.sums;
	u32 mark = f->shadow.mark, i = mark & LH_MARK_QUEUE;

	sums->segs += env->ack.nr_segs;
	sums->bytes += env->ack.bytes;
	if (mark & LH_MARK_FULL)
		sums->segs_full += env->ack.nr_segs;
	lh_barrier(i);
	__sync_fetch_and_add(&LH_DEVICE(env)->shadow.segs[i & (LH_SHADOW_QUEUES - 1)],
			     (u64)env->ack.nr_segs);
}

LH_INLINE void lh_shadow_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	struct lh_shadow *w = &f->shadow;

	w->sums.flows = lh_answered(f);
	w->sums.acks++;
	if (!lh_before(f->max + lh_mss(f), f->fh.edge))
		w->sums.acks_limited++;
	if (s->dsack) {
		if (w->booked)
			w->booked--;
		else
			lh_shadow_take_back(env, f, f->shadow.mark);
	}
	if (w->recovers == LH_SHADOW_RECOVERS && !lh_before(f->una, w->point))
		w->recovers = LH_SHADOW_RECOVERED;
	if (env->ack.bytes) {
		lh_shadow_train(env, f);
		lh_shadow_arrived(env, f);
	}
	if (w->busy_from_ns) {
		w->sums.busy_ns += lh_since(env->now_ns, w->busy_from_ns);
		w->busy_from_ns = env->now_ns;
	}
}

LH_INLINE void lh_shadow_back(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	struct lh_shadow_device *d = &LH_DEVICE(env)->shadow;
	struct lh_shadow *w = &f->shadow;
	u32 part = s->part_bytes ? s->part_bytes : lh_max(s->payload_bytes, 1), gap;

	__sync_fetch_and_add(&d->back_segs, (u64)(s->payload_bytes + part - 1) / part);
	gap = s->seq - w->back_end;
	if (w->back_end && (s32)gap > 0) {
		__sync_fetch_and_add(&d->back_lost, (u64)(gap + part - 1) / part);
		w->back_gap_ns = env->now_ns;
	} else if (w->back_end && (s32)gap < 0 && lh_after(s->end, s->seq) &&
		   lh_since(env->now_ns, w->back_gap_ns) < lh_lmin(env) / 2) {
		__sync_fetch_and_add(&d->back_lost, -1ULL); /* it was only late */
	}
	if (!w->back_end || lh_after(s->end, w->back_end))
		w->back_end = s->end ? s->end : 1;
}

/* The number of @field goes to all of that kind. */
#define LH_SHADOW_GIVE(field) __sync_fetch_and_add(&to->field, from->field)

LH_FUNC int lh_shadow_end(struct lh_env *env, struct lh_flow *f)
{
	const struct lh_shadow_sums *from = &f->shadow.sums;
	u32 kind = lh_shadow_sender_of(f);
	struct lh_shadow_sums *to;

	lh_barrier(kind);
	to = &LH_DEVICE(env)->shadow.ended[kind & (LH_NR_SHADOW_SENDERS - 1)];
	if (!from->flows)
		goto done;
	LH_SHADOW_GIVE(flows);
	LH_SHADOW_GIVE(segs);
	LH_SHADOW_GIVE(bytes);
	LH_SHADOW_GIVE(busy_ns);
	LH_SHADOW_GIVE(lost);
	LH_SHADOW_GIVE(segs_full);
	LH_SHADOW_GIVE(lost_full);
	LH_SHADOW_GIVE(superfluous);
	LH_SHADOW_GIVE(mistaken);
	LH_SHADOW_GIVE(upstream_lost);
	LH_SHADOW_GIVE(late_ns);
	LH_SHADOW_GIVE(late);
	LH_SHADOW_GIVE(acks);
	LH_SHADOW_GIVE(acks_limited);
	LH_SHADOW_GIVE(rounds);
	LH_SHADOW_GIVE(wired_ns);
	LH_SHADOW_GIVE(local_ns);
	LH_SHADOW_GIVE(unloaded_ns);
	LH_SHADOW_GIVE(outages);
	LH_SHADOW_GIVE(outage_ns);
done:
	__builtin_memset(&f->shadow, 0, sizeof(f->shadow));
	return 0;
}
