/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "guard.h"

#define LH_LEVEL_PERIOD_NS (2 * LH_SEC)
#define LH_LEVEL_RECENT_NS (3 * LH_SEC) /* CUBIC rests at its old maximum before it goes on */

LH_INLINE void lh_guard_data(struct lh_env *env, struct lh_flow *f)
{
	u32 level = f->max - f->una;

	if (env->now_ns - f->level_since_ns > LH_LEVEL_PERIOD_NS) {
		f->level_before = f->level_now;
		f->level_now = 0;
		f->level_since_ns = env->now_ns;
	}
	if (level <= f->level_now)
		return;
	f->level_now = level;
	if (level > f->level_before)
		f->level_raised_ns = env->now_ns;
}

LH_INLINE void lh_guard_leave(struct lh_env *env, struct lh_flow *f)
{
	f->flags |= LH_FLOW_OVERFLOW;
	f->overflow_end = f->max;
	lh_cache_block(f, f->una, f->max);
	lh_host_count(env, LH_C_overflow_suspected, 1);
}

LH_INLINE void lh_guard_new(struct lh_flow *f)
{
	if (!lh_before(f->una, f->overflow_end))
		f->flags &= ~LH_FLOW_OVERFLOW;
}

LH_INLINE bool lh_guard_suspects(struct lh_env *env, const struct lh_flow *f)
{
	u64 least = lh_max(LH_QUEUE_RTTS * f->rtt_min_ns, LH_QUEUE_LEAST_NS);

	return LH_CFG(env)->queue_guard && f->rtt_low_ns >= f->rtt_min_ns + least &&
	       env->now_ns - f->level_raised_ns < LH_LEVEL_RECENT_NS;
}
