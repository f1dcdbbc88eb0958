/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The seam between the agent (agent.h) and its schemes. A scheme is one file, scheme/NAME.c, and
 * one line of scheme/list.h. The file begins with its row,
 *
 *	#ifdef LH_SCHEME
 *	LH_SCHEME(NAME, policies, "one line for help texts")
 *	#else
 *	... bodies ...
 *	#endif
 *
 * by which its number, name, help, policies and its place in every dispatch are generated, and
 * defines a function per event:
 *
 *	void lh_NAME_on_syn(env, f, s, out)	a SYN or SYN-ACK of FH's leaves towards MH
 *	void lh_NAME_on_data(env, f, s, out)	data, or a FIN, above una leave towards MH
 *	void lh_NAME_on_ack(env, f, s, kind, out)	a segment came from MH; una and
 *						scoreboard have moved, env->view says what it is
 *	void lh_NAME_on_timer(env, f, out)	lh_NAME_deadline() may have passed
 *	void lh_NAME_on_link(env, f, up, out)	the link went down or came up (a hint), with
 *						LH_POLICY_LINK
 *	u64 lh_NAME_deadline(env, f)		when on_timer() is wanted, ns; 0: never
 *
 * An event that means nothing to it is one line: #define lh_NAME_on_link lh_ignore_link. What
 * mechanisms need to know of a scheme they ask for as a policy, never by its name. The scheme is a
 * constant while a device is attached: in BPF the verifier sees the one that runs.
 */
#ifndef LH_SCHEME_H
#define LH_SCHEME_H

#include "config.h"
#include "detect.h"

enum lh_policy {
	/* The window controller brakes FH (control.h): windows and SACK blocks of its ACKs may be
	 * edited, and it goes on sending while an ACK is kept back. */
	LH_POLICY_CONTROL = 0x01,
	/* One sample of the local round trip per ACK (Karn), as RFC 6298 and ns-2 take them. */
	LH_POLICY_RTT_PER_ACK = 0x02,
	/* An outage is the receiver's: all its flows share one prober (outage.h). */
	LH_POLICY_PEER_OUTAGE = 0x04,
	/* Of two copies of a segment the older, with its timestamp, stays through an outage. */
	LH_POLICY_KEEP_OLDER = 0x08,
	/* A copy of the newest ACK stays here, to be told in an outage. */
	LH_POLICY_KEEP_ACK = 0x10,
	/* The head's timer backs off after its second try. */
	LH_POLICY_LATE_BACKOFF = 0x20,
	/* An agent at the hop's other end: what it misses of ours is repaired (asked.h). */
	LH_POLICY_PARTNER = 0x40,
	/* It hides losses and, as published, brakes nobody: with parameter `brake` it has
	 * LH_POLICY_CONTROL, too, and samples as the controller wants them (brake.h). */
	LH_POLICY_BRAKE = 0x80,
	/* The MAC tells what becomes of each frame (mac.h). */
	LH_POLICY_MAC = 0x100,
	/* What comes over the hop is put in order before its receiver sees it (resequence.h), and what
	 * is missing asked for packet by packet. */
	LH_POLICY_SEQUENCE = 0x400,
	/* It only watches (shadow.h): segments are noted without their bytes, and what would be
	 * repaired is booked. */
	LH_POLICY_SHADOW = 0x800,
	/* At the mobile end `handoff` repeats the last ACK that left (handoff.h). */
	LH_POLICY_HANDOFF = 0x200,
	/* It heeds a link that goes down or comes up; flows of other schemes are not told. */
	LH_POLICY_LINK = 0x1000,
	/* What is missing of what comes over the hop is told to the agent at its other end (arrival.h). */
	LH_POLICY_TELL = 0x2000,
	/* With parameter `partner` it has LH_POLICY_TELL at the base, and is `snack` with `brake` at the
	 * mobile end. */
	LH_POLICY_TELLS = 0x4000,
	LH_POLICY_CHANNEL = LH_POLICY_PARTNER | LH_POLICY_TELL, /* agents talk to each other */
};

/* Policies of @scheme by its row, enum lh_policy. */
LH_INLINE u32 lh_policy_of(u32 scheme);

/* Policies of the scheme that @cfg sets, with its parameters. */
LH_INLINE u32 lh_policy_in(const struct lh_config *cfg);

/* Policies of the scheme that was chosen, whether it runs or rests in the role that is set. */
LH_INLINE u32 lh_policy_chosen(struct lh_env *env);

/* Policies of the scheme that runs. A constant in BPF, which user space has looked up. */
LH_INLINE u32 lh_policy(struct lh_env *env);

/* The events, handed to the scheme that runs. */
LH_INLINE void lh_scheme_on_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				struct lh_actions *out);
LH_INLINE void lh_scheme_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				 struct lh_actions *out);
LH_INLINE void lh_scheme_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
				enum lh_ack_class kind, struct lh_actions *out);
LH_INLINE void lh_scheme_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);
LH_INLINE void lh_scheme_on_link(struct lh_env *env, struct lh_flow *f, u32 up,
				 struct lh_actions *out);
LH_INLINE u64 lh_scheme_deadline(struct lh_env *env, const struct lh_flow *f);

/* For schemes to whom an event means nothing. */
LH_INLINE void lh_ignore_syn(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     struct lh_actions *out);
LH_INLINE void lh_ignore_link(struct lh_env *env, struct lh_flow *f, u32 up,
			      struct lh_actions *out);

#endif /* LH_SCHEME_H */
