/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an operator or an experiment may set (params.h), as the core reads it.
 */
#ifndef LH_CONFIG_H
#define LH_CONFIG_H

#include "params.h"
#include "types.h"

/* LH_SCHEME_none and so on, from the schemes' own rows. */
enum lh_scheme {
#define LH_SCHEME(name, policies, doc) LH_SCHEME_##name,
#include "scheme/list.h"
#undef LH_SCHEME
	LH_NR_SCHEMES
};

/* Which end of the hop we are at. */
enum lh_role {
	LH_ROLE_BASE, /* ACKs of what leaves come from the hop's other end */
	LH_ROLE_MOBILE, /* they come from beyond it: a loss may be anybody's */
};

enum lh_rtt_profile {
	LH_RTT_STD, /* RFC 6298 gains, floor against delayed ACKs */
	LH_RTT_NS2, /* ns-2.35's, as Nguyen 2002 prints it (docs/design.md, section 3.3) */
};

enum lh_timer_arm {
	LH_TIMER_ALWAYS, /* while anything is cached (ns-2) */
	LH_TIMER_AFTER_DUP, /* only after a duplicate-driven repair (Kim and Chung 2007 on earlier schemes) */
};

enum lh_partner_mode {
	LH_PARTNER_OFF,
	LH_PARTNER_ON,
	LH_PARTNER_AUTO, /* user space's to decide, by whether there is a key; else off */
};

enum lh_clock_mode {
	LH_CLOCK_OFF,
	LH_CLOCK_AUTO, /* brakes senders whose losses are hidden */
	LH_CLOCK_ALWAYS, /* and all others while a queue stands */
};

enum lh_suppress_mode {
	LH_SUPPRESS_AUTO, /* where a brake is left, and FH has no patience of its own */
	LH_SUPPRESS_ON,
	LH_SUPPRESS_OFF,
};

enum lh_undelivered_mode {
	LH_UNDELIVERED_FINAL, /* the MAC has given the frame up */
	LH_UNDELIVERED_ATTEMPT, /* an attempt has failed, whether or not there will be more */
};

enum lh_mask_mode {
	LH_MASK_OFF,
	LH_MASK_ON,
	LH_MASK_AUTO, /* where another than the ACKs says whose loss it was */
};

#define LH_NO_FIELD(...)
#define LH_TIME_FIELD(key, ...) u64 key##_ns;
#define LH_WORD_FIELD(key, ...) u32 key;
#define LH_RATIO_FIELD(key, ...) u32 key##_1024;
#define LH_ONE_MORE(...) +1
/* Fields of 32 bits, `scheme` among them. */
#define LH_CONFIG_WORDS                                                                            \
	(1 LH_PARAMS(LH_NO_FIELD, LH_ONE_MORE, LH_ONE_MORE, LH_ONE_MORE, LH_ONE_MORE))

/* Constant while a device is attached: .rodata in BPF, so that the verifier prunes the other
 * schemes. Fields, units and defaults: params.h. */
struct lh_config {
	LH_PARAMS(LH_TIME_FIELD, LH_NO_FIELD, LH_NO_FIELD, LH_NO_FIELD, LH_NO_FIELD)
	u32 scheme; /* enum lh_scheme */
	LH_PARAMS(LH_NO_FIELD, LH_WORD_FIELD, LH_WORD_FIELD, LH_WORD_FIELD, LH_RATIO_FIELD)
	u32 pad[2 - LH_CONFIG_WORDS % 2];
};

enum lh_param_kind {
	LH_PARAM_TIME,
	LH_PARAM_COUNT,
	LH_PARAM_FLAG,
	LH_PARAM_CHOICE,
	LH_PARAM_RATIO
};

/* A parameter as hosts in other languages see it; lhc_param(). Values as in its field. */
struct lh_param {
	const char *key; /* in configuration files */
	const char *words; /* of a choice, with spaces between; else NULL */
	const char *text; /* for people */
	u32 kind; /* enum lh_param_kind */
	u32 offset; /* of the field in struct lh_config, bytes */
	u64 initial, least, most;
};

#endif /* LH_CONFIG_H */
