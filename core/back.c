/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"

#define LH_BACK_PERIOD_NS (10 * LH_SEC)
#define LH_BACK_LEARN_NS LH_SEC /* over which the rate is estimated */

/* The tick of the rate in use that is within a quarter of @hz: queues on the way back disturb
 * an estimate over a second by that much; 0: none is. */
LH_INLINE u32 lh_back_tick(u64 hz)
{
	u32 known = hz < 50 ? 10 : hz < 170 ? 100 : hz < 500 ? 250 : hz < 10000 ? 1000 : 1000000;

	return hz > known - known / 4 && hz < known + known / 4 ? LH_SEC / known : 0;
}

/* Begins anew with the ACK of this moment as the reference. */
LH_INLINE void lh_back_begin(struct lh_back *b, u64 now_ns, u32 tsval)
{
	b->at_ns = now_ns;
	b->tsval = tsval;
	b->has_least = b->has_before = 0;
	b->now_ns = 0;
}

/* A period is over: the reference moves to this ACK, and the least delays with it. */
LH_INLINE void lh_back_turn(struct lh_back *b, u64 now_ns, u32 tsval, s64 delay_ns)
{
	b->least_before_ns = b->least_ns - delay_ns;
	b->has_before = b->has_least;
	b->has_least = 0;
	b->at_ns = now_ns;
	b->tsval = tsval;
}

LH_INLINE void lh_back_ack(struct lh_env *env, struct lh_flow *f, u32 tsval)
{
	struct lh_back *b = &f->back;
	u64 age = env->now_ns - b->at_ns;
	u32 ticks = tsval - b->tsval;
	s64 delay, least;
	u64 late, tick = b->tick_ns;

	if (!b->at_ns || ticks >> 31 || age > 6 * LH_BACK_PERIOD_NS) {
		lh_back_begin(b, env->now_ns, tsval);
		return;
	}
	if (!tick) {
		if (age >= LH_BACK_LEARN_NS) {
			b->tick_ns = lh_back_tick((u64)ticks * LH_SEC / age);
			lh_back_begin(b, env->now_ns, tsval);
		}
		return;
	}
	delay = (s64)age - (s64)(ticks * tick);
	if (!b->has_least || delay < b->least_ns)
		b->least_ns = delay;
	b->has_least = 1;
	least = b->has_before && b->least_before_ns < b->least_ns ? b->least_before_ns
								  : b->least_ns;
	/* A TSval is up to a tick older than its ACK. */
	late = delay - least;
	b->now_ns = late > tick ? late - tick : 0;
	if (age > LH_BACK_PERIOD_NS)
		lh_back_turn(b, env->now_ns, tsval, delay);
}
