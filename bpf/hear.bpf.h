/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message of the agent at the hop's other end comes in: it is read, and what it asks for goes out on
 * the message's own packet.
 */
#ifndef LH_HEAR_BPF_H
#define LH_HEAR_BPF_H

#include "carry.bpf.h"

/* What another agent misses of a flow of ours, by the key of our table, or will not send of it. The request
 * turns around into the data, the answer into what has waited for it, if those are of its family; else the
 * next kick sends them. */
LH_FUNC int lh_told(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env,
		    struct lh_mail *mail)
{
	struct lh_flow_entry *v;
	u32 index = 0;
	bool carries;

	if (!(lh_setup.policy & LH_POLICY_PARTNER) ||
	    !lh_missing_get(&mail->message, &mail->missing))
		return 0;
	v = lh_flow_find(env, &mail->missing.key, &index);
	if (!v)
		return 0;
	lh_know_partner(v, env, &sc->hdr, LH_FROM_HW);
	carries = (v->key.family == 6) == (skb->protocol == lh_be16(0x86dd)) && !lh_partial(skb);
	if (mail->message.type == LH_MESSAGE_MISSING) {
		lh_on_partner(env, &v->flow, &mail->missing, &sc->act);
	} else {
		lh_on_absent(env, &v->flow, &mail->missing, &sc->act);
		if (carries)
			lh_on_turn(env, &v->flow, &sc->act);
	}
	if (carries) {
		lh_carry_arrived(skb, sc, index);
	} else {
		lh_set_deadline(v, sc->act.next_deadline_ns, env->now_ns);
		if (sc->act.nr_retransmit)
			lh_defer(v, index, &sc->act, 0);
		lh_tell_later(v, index, &sc->act);
		lh_unlock(v);
		lh_env_done(env);
	}
	return 1;
}

/* Whether a packet that is not TCP is worth a look: long enough for a message, and so for its headers
 * to be in sc->hdr, where those of a packet before stand otherwise. */
LH_INLINE bool lh_may_be_message(const struct __sk_buff *skb)
{
	return lh_setup.port && skb->len >= lh_setup.l2_bytes + 28 + LH_MESSAGE_BYTES_MIN;
}

/* A packet whose headers are in sc->hdr and that is not TCP: a message, perhaps. @return the
 * program's verdict; what is not for us passes as it came. */
LH_FUNC int lh_hear(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env)
{
	struct lh_mail *mail = lh_mail();
	u32 zero = 0, opened;
	struct lh_us *we = bpf_map_lookup_elem(&us, &zero);
	int at;

	if (!mail || !we || lh_vlan(skb))
		return TCX_NEXT;
	at = lh_message_find(&sc->hdr, lh_setup.l2_bytes, lh_setup.port, &mail->message);
	if (!at || !lh_message_for(&mail->message, we))
		return TCX_NEXT;
	if (mail->message.from.hops != LH_MESSAGE_HOPS) {
		lh_host_count(env, LH_C_messages_off_link, 1);
		return TCX_NEXT;
	}
	opened = lh_open(skb, &mail->message, at, env->now_ns);
	lh_barrier(opened);
	if (opened < LH_NR_OPENED)
		lh_host_count(env, LH_C_messages_accepted + opened, 1);
	if (opened == LH_OPENED && mail->message.type != LH_MESSAGE_HELLO)
		lh_told(skb, sc, env, mail);
	return TCX_DROP;
}

#endif /* LH_HEAR_BPF_H */
