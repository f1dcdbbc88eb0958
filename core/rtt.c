/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "device.h"
#include "sample.h"

#define LH_FLOOR_NS (60 * LH_SEC) /* so long what others say of less is not believed */
#define LH_HOLD_LONG_NS (9 * LH_SEC / 2)

/* RFC 6298 section 2: deviation first, gains 1/4 and 1/8. */
LH_INLINE void lh_rtt_std(struct lh_flow *f, u64 r)
{
	u64 dev;

	if (!f->rtt.srtt_ns) {
		f->rtt.srtt_ns = r;
		f->rtt.rttvar_ns = r / 2;
		return;
	}
	dev = r > f->rtt.srtt_ns ? r - f->rtt.srtt_ns : f->rtt.srtt_ns - r;
	f->rtt.rttvar_ns = f->rtt.rttvar_ns - f->rtt.rttvar_ns / 4 + dev / 4;
	f->rtt.srtt_ns = f->rtt.srtt_ns - f->rtt.srtt_ns / 8 + r / 8;
}

/* ns-2.35 snoop.cc: the gain weighs the *old* value, so that the newest
 * sample makes up seven eighths; kept for fidelity only. */
LH_INLINE void lh_rtt_ns2(struct lh_env *env, struct lh_flow *f, u64 r)
{
	u64 g = LH_CFG(env)->ns2_gain_1024, dev;

	if (!f->rtt.srtt_ns) {
		f->rtt.srtt_ns = LH_CFG(env)->ns2_srtt_ns;
		f->rtt.rttvar_ns = LH_CFG(env)->ns2_rtt_var_ns;
	}
	f->rtt.srtt_ns = (g * f->rtt.srtt_ns + (1024 - g) * r) >> 10;
	dev = r > f->rtt.srtt_ns ? r - f->rtt.srtt_ns : f->rtt.srtt_ns - r;
	f->rtt.rttvar_ns = f->rtt.rttvar_ns ? (g * dev + (1024 - g) * f->rtt.rttvar_ns) >> 10 : dev;
}

LH_INLINE u64 lh_lmin_floor(const struct lh_env *env, const struct lh_flow *f,
			    const struct lh_peer *p)
{
	if (!p->floor_ns || lh_since(env->now_ns, p->raised_ns) > LH_FLOOR_NS)
		return 0;
	return f->rtt.raised_ns == p->raised_ns ? lh_min(p->floor_ns, f->rtt.least_ns)
						: p->floor_ns;
}

LH_ENTRY int lh_lmin_own(struct lh_env *env, struct lh_flow *f, u64 r)
{
	struct lh_peer *p;

	if (!env || !f)
		return 0;
	p = lh_peer_of(env, f);
	if (!p || !p->floor_ns)
		return 0;
	if (f->rtt.raised_ns == p->raised_ns && r >= f->rtt.least_ns)
		return 0;
	f->rtt.raised_ns = p->raised_ns;
	f->rtt.least_ns = r;
	lh_lmin_renew(env, f);
	return 0;
}

LH_INLINE void lh_rtt_sample(struct lh_env *env, struct lh_flow *f, u64 r)
{
	if (r > LH_RTT_MAX_NS)
		return;
	r = r ? r : 1;
	/* Down at once, up slowly: a delayed ACK is no queue. */
	if (!f->rtt.low_ns || r < f->rtt.low_ns)
		f->rtt.low_ns = r;
	else
		f->rtt.low_ns += (r - f->rtt.low_ns) / 8;
	if (!f->rtt.min_ns || r < f->rtt.min_ns) {
		f->rtt.min_ns = r;
		lh_lmin_renew(env, f);
	}
	lh_lmin_own(env, f, r);
	if (LH_CFG(env)->rtt_profile == LH_RTT_NS2)
		lh_rtt_ns2(env, f, r);
	else
		lh_rtt_std(f, r);
}

LH_INLINE u64 lh_lrto(struct lh_env *env, const struct lh_flow *f)
{
	if (LH_CFG(env)->rtt_profile == LH_RTT_NS2) {
		u64 srtt = f->rtt.srtt_ns ? f->rtt.srtt_ns : LH_CFG(env)->ns2_srtt_ns;
		u64 var = f->rtt.srtt_ns ? f->rtt.rttvar_ns : LH_CFG(env)->ns2_rtt_var_ns;

		return lh_max(srtt + 4 * var, LH_CFG(env)->ns2_tick_ns);
	}
	if (!f->rtt.srtt_ns)
		return LH_CFG(env)->lrto_max_ns;
	return lh_clamp64(f->rtt.srtt_ns + 4 * f->rtt.rttvar_ns, LH_CFG(env)->lrto_floor_ns,
			  LH_CFG(env)->lrto_max_ns);
}

/*
 * What drives FH into a timeout with `rack` (lh_hold_time): Linux' least. On a hop so long that
 * no third repair is back by then, as long as three take: four and a half of its round trips, of
 * which a quarter is taken off. FH's timeout grows with the first such repair that it sees, and one
 * that was in vain is taken back by timestamps (RFC 4015). At 5 % one loss in 400 takes three, and
 * a start has 60: with time for two (three and a half) three starts in 13 ended at a quarter of the
 * rate (250 of 300 ms, 5 Mbit/s, Reno, the kernel's TCP). With just three round trips, at 100 of
 * 110 ms, the second came 10 ms late, and Reno had 0.86 and not 0.96. Above LH_HOLD_LONG_NS no
 * repair is back within the longest time that an ACK is kept (hold_max). @trip_ns: of the hop.
 */
LH_INLINE u64 lh_hold_rack(u64 trip_ns)
{
	u64 least = 200 * LH_MSEC, tries = 4 * trip_ns + trip_ns / 2;

	return tries <= LH_HOLD_LONG_NS ? lh_max(least, tries) : least;
}

LH_INLINE u64 lh_hold_time(struct lh_env *env, const struct lh_flow *f)
{
	u64 r = f->rtt.srtt_ns + f->wired.rtt_ns;
	u64 rto = lh_min(2 * r, r + 200 * LH_MSEC);

	/* To the mobile end's the whole path is the hop, and a repair takes as long as to its partner and
	 * back. */
	if ((lh_policy(env) & LH_POLICY_CONTROL) && LH_CFG(env)->role == LH_ROLE_BASE)
		rto = lh_hold_rack(f->rtt.min_ns);
	else if ((lh_policy(env) & LH_POLICY_CONTROL) && env->partner_rtt_ns)
		rto = lh_hold_rack(env->partner_rtt_ns);
	return lh_clamp64(rto - rto / 4, LH_CFG(env)->hold_min_ns, LH_CFG(env)->hold_max_ns);
}
