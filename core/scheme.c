/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "scheme.h"

LH_INLINE u32 lh_policy_of(u32 scheme)
{
#define LH_SCHEME(name, policies, doc)                                                             \
	if (scheme == LH_SCHEME_##name)                                                            \
		return policies;
#include "scheme/list.h"
#undef LH_SCHEME
	return 0;
}

/* The scheme whose events these are. With the other end's word the mobile end has something to go by:
 * what its partner has asked for is repaired there as by `snack`, whatever the partner does by itself. */
LH_INLINE u32 lh_scheme_in(u32 scheme, u32 role, u32 partner)
{
	if (partner == LH_PARTNER_ON && role == LH_ROLE_MOBILE &&
	    (lh_policy_of(scheme) & LH_POLICY_TELLS))
		return LH_SCHEME_snack;
	return scheme;
}

/* The controller samples whatever shows the queue (sample.h), not each ACK once. */
LH_INLINE u32 lh_policy_in(const struct lh_config *cfg)
{
	u32 scheme = lh_scheme_in(cfg->scheme, cfg->role, cfg->partner);
	u32 policies = lh_policy_of(scheme);

	if (cfg->partner == LH_PARTNER_ON && (policies & LH_POLICY_TELLS))
		policies |= LH_POLICY_TELL;
	/* In place of another scheme, which brakes whoever it hides losses from. */
	if ((cfg->brake || scheme != cfg->scheme) && (policies & LH_POLICY_BRAKE))
		policies = (policies & ~LH_POLICY_RTT_PER_ACK) | LH_POLICY_CONTROL;
	return policies;
}

/* Policies of the scheme that was chosen; in BPF user space has looked them up. */
LH_INLINE u32 lh_policy_chosen(struct lh_env *env)
{
#ifdef LH_BPF
	return lh_setup.policy;
#else
	return lh_policy_in(LH_CFG(env));
#endif
}

/* At the mobile end only the other one's word, or the MAC's, tells the hop's losses from those of the
 * wire, which FH must see: a scheme that asks for neither does nothing there. */
LH_INLINE bool lh_rests_in(u32 role, u32 policies)
{
	return role == LH_ROLE_MOBILE && !(policies & (LH_POLICY_PARTNER | LH_POLICY_MAC));
}

LH_INLINE bool lh_scheme_rests(struct lh_env *env)
{
	return lh_rests_in(LH_CFG(env)->role, lh_policy_chosen(env));
}

LH_INLINE u32 lh_policy(struct lh_env *env)
{
	return lh_scheme_rests(env) ? 0 : lh_policy_chosen(env);
}

/* The scheme that runs. */
LH_INLINE u32 lh_scheme_running(struct lh_env *env)
{
	if (lh_scheme_rests(env))
		return LH_SCHEME_none;
	return lh_scheme_in(LH_CFG(env)->scheme, LH_CFG(env)->role, LH_CFG(env)->partner);
}

LH_INLINE void lh_ignore_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     struct lh_actions *out)
{
}

LH_INLINE void lh_ignore_link(struct lh_env *env, struct lh_flow *f, u32 up, struct lh_actions *out)
{
}

#include "scheme/list.h"

LH_INLINE void lh_scheme_on_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out)
{
	u32 scheme = lh_scheme_running(env);

#define LH_SCHEME(name, policies, doc)                                                             \
	if (scheme == LH_SCHEME_##name)                                                            \
		lh_##name##_on_syn(env, f, s, out);
#include "scheme/list.h"
#undef LH_SCHEME
}

LH_INLINE void lh_scheme_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				 struct lh_actions *out)
{
	u32 scheme = lh_scheme_running(env);

#define LH_SCHEME(name, policies, doc)                                                             \
	if (scheme == LH_SCHEME_##name)                                                            \
		lh_##name##_on_data(env, f, s, out);
#include "scheme/list.h"
#undef LH_SCHEME
}

LH_INLINE void lh_scheme_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				enum lh_ack_class kind, struct lh_actions *out)
{
	u32 scheme = lh_scheme_running(env);

#define LH_SCHEME(name, policies, doc)                                                             \
	if (scheme == LH_SCHEME_##name)                                                            \
		lh_##name##_on_ack(env, f, s, kind, out);
#include "scheme/list.h"
#undef LH_SCHEME
}

LH_INLINE void lh_scheme_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u32 scheme = lh_scheme_running(env);

#define LH_SCHEME(name, policies, doc)                                                             \
	if (scheme == LH_SCHEME_##name)                                                            \
		lh_##name##_on_timer(env, f, out);
#include "scheme/list.h"
#undef LH_SCHEME
}

LH_INLINE void lh_scheme_on_link(struct lh_env *env, struct lh_flow *f, u32 up,
				 struct lh_actions *out)
{
	u32 scheme = lh_scheme_running(env);

#define LH_SCHEME(name, policies, doc)                                                             \
	if (scheme == LH_SCHEME_##name)                                                            \
		lh_##name##_on_link(env, f, up, out);
#include "scheme/list.h"
#undef LH_SCHEME
}

LH_INLINE u64 lh_scheme_deadline(struct lh_env *env, const struct lh_flow *f)
{
	u32 scheme = lh_scheme_running(env);

#define LH_SCHEME(name, policies, doc)                                                             \
	if (scheme == LH_SCHEME_##name)                                                            \
		return lh_##name##_deadline(env, f);
#include "scheme/list.h"
#undef LH_SCHEME
	return 0;
}
