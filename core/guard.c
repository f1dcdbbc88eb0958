/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "cache.h"

#define LH_LEVEL_PERIOD_NS (2 * LH_SEC)
#define LH_LEVEL_RECENT_NS (3 * LH_SEC) /* CUBIC rests at its old maximum before it goes on */

LH_INLINE void lh_guard_data(struct lh_env *env, struct lh_flow *f)
{
	u32 level = f->max - f->una;
	u64 age = env->now_ns - f->guard.level_since_ns;

	if (age > LH_LEVEL_PERIOD_NS) {
		f->guard.level_before = age < 2 * LH_LEVEL_PERIOD_NS ? f->guard.level_now : 0;
		f->guard.level_now = 0;
		f->guard.level_since_ns = env->now_ns;
	}
	if (level <= f->guard.level_now)
		return;
	f->guard.level_now = level;
	if (level > f->guard.level_before)
		f->guard.level_raised_ns = env->now_ns;
}

LH_INLINE void lh_guard_leave(struct lh_env *env, struct lh_flow *f)
{
	f->flags |= LH_FLOW_OVERFLOW;
	f->guard.overflow_end = f->max;
	lh_cache_block(f, f->una, f->max);
	lh_host_count(env, LH_C_overflow_suspected, 1);
}

LH_INLINE void lh_guard_new(struct lh_flow *f)
{
	if (!lh_before(f->una, f->guard.overflow_end))
		f->flags &= ~LH_FLOW_OVERFLOW;
}

LH_INLINE bool lh_guard_suspects(struct lh_env *env, const struct lh_flow *f)
{
	u64 least = lh_max(LH_QUEUE_RTTS * f->rtt.min_ns, LH_QUEUE_LEAST_NS);

	return LH_CFG(env)->queue_guard && f->rtt.low_ns >= f->rtt.min_ns + least &&
	       env->now_ns - f->guard.level_raised_ns < LH_LEVEL_RECENT_NS;
}

LH_INLINE void lh_guard_duplicate(struct lh_env *env, struct lh_flow *f, const struct lh_seg *e)
{
	if (f->recovery.nr_dup == 1 && e && lh_seg_repairable(env, f, e) &&
	    lh_guard_suspects(env, f))
		lh_guard_leave(env, f);
}
