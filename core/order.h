/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loss by time order over the local hop (RFC 8985, SPEC 2.16): a segment is
 * lost if one that departed sufficiently later has arrived. And the local
 * probe timer, for losses that nothing later can reveal.
 *
 * Repairs may overtake data in the device's queue (their priority), so there
 * are two clocks: data that arrived convicts everything that departed before
 * it, a repair that arrived convicts only other repairs.
 */
#ifndef LH_ORDER_H
#define LH_ORDER_H

#include "detect.h"

#define LH_REO_LEAST_NS (2 * LH_MSEC)
#define LH_PROBE_SLACK_NS (4 * LH_MSEC)
#define LH_PROBE_DELACK_NS (40 * LH_MSEC) /* a lone segment waits for a delayed ACK */
#define LH_PROBE_BLIND_NS (200 * LH_MSEC) /* before the device's first sample */
#define LH_HANDSHAKE_MAX 3 /* repairs of a SYN or SYN-ACK */

/* How much later the other segment must have left (RFC 8985 section 6.2 step 4:
 * a quarter of the least round trip). */
LH_INLINE u64 lh_reo(struct lh_env *env, const struct lh_flow *f)
{
	return lh_max(lh_lmin(env, f) / 4, LH_REO_LEAST_NS) + f->reo_ns;
}

/*
 * The head arrived although something later had arrived before it. Without a
 * repair, or too soon for the repair to be the cause, that is reordering on
 * the link: more patience, up to twice the unloaded round trip. @e: the head,
 * about to leave the cache.
 */
LH_INLINE void lh_order_late(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e)
{
	u64 lmin = lh_lmin(env, f), step = lmin / 4;

	if ((e->flags & LH_SEG_SENDER_RTX) || e->n_local > 1)
		return;
	if (e->n_local && env->now_ns - e->last_tx_ns >= lmin - lmin / 4)
		return;
	if (!e->n_local) {
		if (e->last_tx_ns >= f->xmit_ns)
			return;
		step = lh_max(step, f->xmit_ns - e->last_tx_ns);
	}
	f->reo_ns = lh_min(f->reo_ns + step, 2 * lmin);
	lh_host_count(env, LH_C_reordered, 1);
}

/* Whether time order says that @e is lost. */
LH_INLINE bool lh_order_lost(struct lh_env *env, const struct lh_flow *f, const struct lh_seg *e)
{
	u64 at = e->last_tx_ns + lh_reo(env, f);

	return at < f->xmit_ns || (e->n_local && at < f->rtx_xmit_ns);
}

/* Whether the bytes are here and may go out once more. */
LH_INLINE bool lh_order_repairable(struct lh_env *env, const struct lh_seg *e)
{
	return !(e->flags & LH_SEG_NO_COPY) && e->n_local < LH_CFG(env)->max_local;
}

/*
 * Repairs at most @budget lost segments of the chunk that holds @pos, oldest
 * sequence number first. @return how many.
 */
LH_ENTRY int lh_order_chunk(struct lh_env *env, struct lh_flow *f, u32 pos, u32 budget,
			    struct lh_actions *out)
{
	u64 oldest = env ? env->now_ns : 0;
	struct lh_chunk *c;
	u32 done = 0;
	int i;

	if (!env || !f || !out)
		return 0;
	c = lh_chunk_at(env, f, pos);
	if (!c)
		return 0;
	lh_for (i, LH_CHUNK_SEGS) {
		struct lh_seg *e;

		if (pos == f->tail || done == budget)
			break;
		e = lh_seg_at(env, f, pos);
		if (!e)
			break;
		if (!(e->flags & LH_SEG_SACKED) && lh_order_repairable(env, e)) {
			if (lh_order_lost(env, f, e) && lh_resend(env, f, e, LH_BY_ORDER, out))
				done++;
			oldest = lh_min(oldest, e->last_tx_ns);
		}
		pos++;
		if (!(pos & (LH_CHUNK_SEGS - 1)))
			break;
	}
	if (done < budget)
		c->oldest_tx_ns = oldest;
	return done;
}

/* Repairs up to @budget of the segments that time order calls lost. */
LH_FUNC int lh_order_repair(struct lh_env *env, struct lh_flow *f, u32 budget,
			    struct lh_actions *out)
{
	u64 newest = lh_max(f->xmit_ns, f->rtx_xmit_ns), reo = lh_reo(env, f);
	u32 pos = f->head, done = 0;
	int i;

	lh_for (i, LH_FLOW_SEGS / LH_CHUNK_SEGS + 1) {
		struct lh_chunk *c;

		if ((s32)(f->tail - pos) <= 0 || done >= budget)
			break;
		c = lh_chunk_at(env, f, pos);
		if (!c)
			break;
		if (c->oldest_tx_ns + reo < newest)
			done += lh_order_chunk(env, f, pos, budget - done, out);
		pos = (pos | (LH_CHUNK_SEGS - 1)) + 1;
	}
	return done;
}

/* The first cached segment that MH lacks: the head, since una stands before it. */
LH_INLINE struct lh_seg *lh_probe_segment(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e = lh_head(env, f);
	u32 max = f->flags & LH_FLOW_FWD ? LH_CFG(env)->max_local : LH_HANDSHAKE_MAX;

	return e && !(e->flags & LH_SEG_NO_COPY) && e->n_local < max ? e : NULL;
}

/*
 * When the head is to be sent once more without a sign from MH (RFC 8985
 * section 7.2 on the local hop): 2 srtt after the last delivery or departure,
 * doubled per probe. 0: never.
 */
LH_INLINE u64 lh_probe_deadline(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_seg *e = lh_probe_segment(env, f);
	u64 srtt = lh_srtt(env, f), wait = LH_PROBE_BLIND_NS;

	if (!e)
		return 0;
	if (srtt) {
		wait = 2 * srtt + LH_PROBE_SLACK_NS;
		if (lh_cached(f) < 2 && (f->flags & LH_FLOW_FWD))
			wait += LH_PROBE_DELACK_NS;
	}
	wait = lh_min(wait << lh_min(f->nr_probes, 6), LH_CFG(env)->lrto_max_ns);
	return lh_max(f->delivered_ns, f->sent_ns) + wait;
}

/* The deadline has passed. */
LH_INLINE void lh_probe(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	struct lh_seg *e = lh_probe_segment(env, f);

	if (!e)
		return;
	f->nr_probes++;
	lh_resend(env, f, e, LH_BY_TIMER, out);
}

#endif /* LH_ORDER_H */
