/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "device.h"
#include "tell.h"

/* Whether there is one left for the receiver @p in bin @bin; without a place of its own (NULL) it
 * is one of many. */
LH_INLINE bool lh_tell_may(const struct lh_device *d, const struct lh_peer *p, u64 bin)
{
	u32 all = d->told_bin >= bin ? d->told : 0;
	u32 n = lh_max(lh_max(d->tellers, d->tellers_before), 1U);

	if (!p)
		return all < LH_TELL_BIN / 2;
	if (p->told_bin < bin)
		return all < LH_TELL_BIN_ALL;
	return all < LH_TELL_BIN && p->told < LH_TELL_BIN / n;
}

LH_ENTRY u64 lh_tell_from(struct lh_env *env, const struct lh_flow *f)
{
	u64 bin;

	if (!env || !f)
		return 0;
	bin = lh_bin(env);
	if (lh_tell_may(LH_DEVICE(env), lh_peer_of(env, f), bin))
		return env->now_ns;
	return (bin + 1) * LH_BIN_NS;
}

LH_INLINE bool lh_tell_plenty(struct lh_env *env)
{
	const struct lh_device *d = LH_DEVICE(env);

	return d->told_bin != lh_bin(env) || d->told < LH_TELL_BIN / 2;
}

LH_ENTRY int lh_tell_spend(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_device *d;
	struct lh_peer *p;
	u64 bin;

	if (!env || !f)
		return 0;
	d = LH_DEVICE(env);
	p = lh_peer_of(env, f);
	bin = lh_bin(env);
	if (d->told_bin < bin) { /* who read the clock before another counts in its bin */
		d->tellers_before = d->told_bin + 1 == bin ? d->tellers : 0;
		d->told_bin = bin;
		d->told = d->tellers = 0;
	}
	d->told++;
	if (!p)
		return 0;
	if (p->told_bin < bin) {
		p->told_bin = bin;
		p->told = 0;
		d->tellers++;
	}
	p->told++;
	return 0;
}
