/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "device.h"
#include "replaytime.h"

/* For so long an ACK may come by to tell of a hole; as long as CPUs take to put packets in order. */
#define LH_TELL_WAIT_US 1000
/* Time to a repair as long as none was seen, and the least that is believed (Murray, Koziniec and
 * Dixon 2009 name no figures). */
#define LH_REPLAY_START_US 20000
#define LH_REPLAY_LEAST_US 2000

LH_INLINE u32 lh_now_us(struct lh_env *env)
{
	return env->now_ns / 1000;
}

LH_INLINE bool lh_requests(struct lh_env *env)
{
	return lh_policy(env) & LH_POLICY_SEQUENCE;
}

/* A repair took so long, smoothed as RFC 6298 has it. What one flow has learned another begins with.
 * An entry: called in a loop whose turns Linux 6.8's verifier would tell apart by each of these cases. */
LH_ENTRY int lh_replay_took(struct lh_env *env, struct lh_flow *f, u32 took_us)
{
	struct lh_arrival *a;
	struct lh_device *d;
	u32 off;

	if (!env || !f || took_us > LH_SEC / 1000)
		return 0;
	a = &f->arrival;
	d = LH_DEVICE(env);
	took_us = lh_max(took_us, (u32)LH_REPLAY_LEAST_US);
	d->replay_us = d->replay_us ? d->replay_us - d->replay_us / 8 + took_us / 8 : took_us;
	if (!a->replay_us) {
		a->replay_us = took_us;
		a->replay_var_us = took_us / 2;
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
 * never be learned else, as when a queue has grown before the hop.
 */
LH_INLINE void lh_replay_sample(struct lh_env *env, struct lh_flow *f, const struct lh_hole *h)
{
	if (lh_requests(env))
		lh_replay_took(env, f, lh_now_us(env) - h->asked_us);
	else if (h->tries == 1)
		lh_replay_took(env, f, lh_now_us(env) - h->told_us);
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
 * Twice the usual time of a repair, or more where that varies, as it does behind a queue, by RFC 6298's
 * measure. Murray, Koziniec and Dixon (2009) ask again at two, three and four times the mean, and so does
 * who waits for it.
 */
LH_INLINE u32 lh_hole_wait_us(struct lh_env *env, const struct lh_flow *f, const struct lh_hole *h)
{
	u32 mean = f->arrival.replay_us, var = f->arrival.replay_var_us;

	if (h->again)
		return 0;
	if (lh_requests(env)) {
		if (!mean)
			mean = LH_DEVICE(env)->replay_us;
		mean = mean ? mean : LH_REPLAY_START_US;
		return !h->tries ? 0 : h->waits ? mean : 2 * mean;
	}
	if (!h->tries)
		return LH_TELL_WAIT_US;
	if (!mean)
		return 2 * LH_REPLAY_START_US;
	return lh_max(2 * mean, mean + 4 * var + LH_REPLAY_START_US);
}
