/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "device.h"
#include "replaytime.h"

/* For so long an ACK may come by to tell of a hole; as long as CPUs take to put packets in order. */
#define LH_TELL_WAIT_US 1000
/* Time to a repair as long as none was seen, at least, and the least and the most that is believed (Murray,
 * Koziniec and Dixon 2009 name no figures); more where the hop is so long that it takes that. */
#define LH_REPLAY_START_US 20000
#define LH_REPLAY_LEAST_US 2000
#define LH_REPLAY_MOST_US 1000000
#define LH_REPLAY_TRIPS 4

LH_INLINE u32 lh_now_us(struct lh_env *env)
{
	return env->now_ns / 1000;
}

LH_INLINE bool lh_requests(struct lh_env *env)
{
	return lh_policy(env) & LH_POLICY_SEQUENCE;
}

/* The hop's round trip to the other agent; 0: unknown. */
LH_INLINE u32 lh_replay_trip_us(struct lh_env *env)
{
	return lh_min(env->partner_rtt_ns, LH_RTT_MAX_NS) / 1000;
}

/* The usual time of a repair: the flow's own, what others had, or no less than the way there and back. */
LH_INLINE u32 lh_replay_mean_us(struct lh_env *env, const struct lh_flow *f)
{
	u32 mean = f->arrival.replay_us;

	if (!mean)
		mean = LH_DEVICE(env)->replay_us;
	return mean ? mean : lh_max(lh_replay_trip_us(env), (u32)LH_REPLAY_START_US);
}

/* A repair took so long, smoothed as RFC 6298 has it. What one flow has learned another begins with.
 * An entry: called in a loop whose turns Linux 6.8's verifier would tell apart by each of these cases. */
LH_ENTRY int lh_replay_took(struct lh_env *env, struct lh_flow *f, u32 took_us)
{
	struct lh_arrival *a;
	struct lh_device *d;
	u32 off, trip;

	if (!env || !f)
		return 0;
	trip = lh_replay_trip_us(env);
	if (took_us > lh_max(LH_REPLAY_TRIPS * trip, (u32)LH_REPLAY_MOST_US))
		return 0;
	a = &f->arrival;
	d = LH_DEVICE(env);
	took_us = lh_max(took_us, (u32)LH_REPLAY_LEAST_US);
	d->replay_us = d->replay_us ? d->replay_us - d->replay_us / 8 + took_us / 8 : took_us;
	if (!a->replay_us) {
		a->replay_us = took_us;
		a->replay_var_us = (took_us > trip ? took_us - trip : 0) / 2;
		return 0;
	}
	off = took_us > a->replay_us ? took_us - a->replay_us : a->replay_us - took_us;
	a->replay_var_us += off / 4 - a->replay_var_us / 4;
	a->replay_us += took_us / 8 - a->replay_us / 8;
	return 0;
}

/*
 * What was told of once tells how long it took (Karn). A request that was repeated by time alone does,
 * too, and as if this were the answer to the first: what takes longer than the time to repeat it would
 * never be learned else, as when a queue has grown before the hop. So does what was told of again a
 * shorter time ago than the way there and back takes.
 */
LH_INLINE void lh_replay_sample(struct lh_env *env, struct lh_flow *f, const struct lh_hole *h)
{
	u32 now = lh_now_us(env);

	if (lh_requests(env) || h->tries == 1 ||
	    (h->waits && now - h->told_us < lh_replay_trip_us(env)))
		lh_replay_took(env, f, now - h->asked_us);
}

LH_INLINE void lh_late_note(struct lh_flow *f, const struct lh_hole *h)
{
	u32 at = f->arrival.nr_late++;

	lh_barrier(at);
	f->arrival.late[at & (LH_LATE - 1)].left = h->left;
	f->arrival.late[at & (LH_LATE - 1)].asked_us = h->asked_us;
}

LH_ENTRY int lh_late_comes(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	u32 i;

	if (!env || !f || !s)
		return 0;
	for (i = 0; i < LH_LATE; i++) {
		struct lh_late *l = &f->arrival.late[i];

		if (i >= f->arrival.nr_late || l->left != s->seq)
			continue;
		lh_replay_took(env, f, lh_now_us(env) - l->asked_us);
		l->left = s->seq - 1; /* once */
	}
	return 0;
}

/*
 * Murray, Koziniec and Dixon (2009) ask again at two, three and four times the mean, and so does who waits
 * for it. Else after the usual time and what it varies by, as it does behind a queue, by RFC 6298's measure:
 * on a hop of 600 ms twice the time, which that was at the least, left no time for a third try before FH
 * lost its patience. Too soon it does no harm: the other end knows what it has just sent (lh_asked_young()).
 */
LH_INLINE u32 lh_hole_wait_us(struct lh_env *env, const struct lh_flow *f, const struct lh_hole *h)
{
	u32 mean;

	if (h->again)
		return 0;
	if (!h->tries)
		return lh_requests(env) ? 0 : LH_TELL_WAIT_US;
	mean = lh_replay_mean_us(env, f);
	if (lh_requests(env))
		return h->waits ? mean : 2 * mean;
	return mean + lh_max(4 * f->arrival.replay_var_us, mean / 16) + LH_REPLAY_START_US;
}
