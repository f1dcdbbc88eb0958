/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the agents at the two ends of a hop say to each other: comes in, goes out. Form and belief
 * are the core's (core/message.h, core/partner.h). Without a key lh_setup.port is 0, and the
 * verifier drops all of this.
 */
#ifndef LH_CHANNEL_BPF_H
#define LH_CHANNEL_BPF_H

#include "verify.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lh_keys);
} keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lh_us);
} us SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lh_partners_entry);
} partners SEC(".maps");

/* A message on its way in or out. */
struct lh_mail {
	struct lh_sack_block tell[LH_TELL_MOST]; /* of one flow, what is to be told */
	u32 nr_tell;
	u32 tell_each; /* 1: by a message for each block */
	struct lh_sack_block
		absent[LH_TELL_MOST]; /* and what is to be answered that will not come */
	u32 nr_absent;
	u32 pad;
	struct lh_message message;
	struct lh_hello hello;
	struct lh_missing missing;
	struct lh_sender to;
	struct lh_hdr hdr;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lh_mail);
} mails SEC(".maps");

LH_INLINE struct lh_mail *lh_mail(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&mails, &zero);
}

LH_INLINE struct lh_partners_entry *lh_partners(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&partners, &zero);
}

/* Opens the message at @at in the packet. @return enum lh_opened. */
LH_FUNC int lh_open(struct __sk_buff *skb, struct lh_message *m, u32 at, u64 now_ns)
{
	struct lh_partners_entry *e = lh_partners();
	u32 zero = 0, len = m->bytes;
	struct lh_keys *k = bpf_map_lookup_elem(&keys, &zero);
	int opened;

	lh_barrier(len);
	if (!k || !e || lh_outside(len, LH_MESSAGE_BYTES_MIN, LH_MESSAGE_BYTES_MAX) ||
	    bpf_skb_load_bytes(skb, at, m->w, len))
		return LH_OPENED_MALFORMED;
	opened = lh_message_open(m, k);
	if (opened != LH_OPENED)
		return opened;
	if (!lh_lock_word(&e->lock))
		return LH_OPENED_LIMITED; /* a HELLO comes again */
	opened = lh_partners_take(&e->partners, m, now_ns);
	lh_unlock_word(&e->lock);
	return opened;
}

#define LH_LOOK_NS (100 * LH_MSEC) /* between two searches for a flow's partner */

#define LH_NO_HW ~0U /* no layer-2 address at hand: no search */

/* Offsets of the layer-2 addresses that a frame goes to and comes from. */
#define LH_TO_HW 0
#define LH_FROM_HW 6

/* Whether the frame with headers @hdr came from somebody else than @p. */
LH_INLINE bool lh_is_elsewhere(const struct lh_partner *p, const struct lh_hdr *hdr)
{
	return lh_setup.l2_bytes && !lh_bytes_equal(p->at.hw, hdr->b + LH_FROM_HW, 6);
}

/* The partner that frames of @e's flow go to: whose layer-2 address stands at @at in @hdr, or on a
 * device without layer 2 whoever there is. Sets env->partner. A function of its own: called on both
 * ways of a packet. */
LH_ENTRY int lh_partner_of(struct lh_flow_entry *e, struct lh_env *env, const struct lh_hdr *hdr,
			   u32 at)
{
	struct lh_partners_entry *all = lh_partners();
	struct lh_mail *mail = lh_mail();
	struct lh_partner *p;

	if (!e || !env || !hdr || !all || !mail)
		return 0;
	env->partner = 0;
	env->partner_rtt_ns = 0;
	p = lh_partner_at(&all->partners, e->partner - 1);
	if (e->partner && at == LH_FROM_HW && lh_is_elsewhere(p, hdr))
		e->partner = 0; /* MH is behind another agent now, or behind none */
	if (!e->partner || !lh_partner_up(p, env->now_ns)) {
		u32 k;

		if (at == LH_NO_HW || lh_since(env->now_ns, e->partner_ns) < LH_LOOK_NS)
			return 0;
		e->partner_ns = env->now_ns;
		__builtin_memset(&mail->to, 0, sizeof(mail->to));
		if (lh_setup.l2_bytes)
			for (k = 0; k < 6; k++)
				mail->to.hw[k] = hdr->b[(at + k) & LH_HDR_MASK];
		e->partner = lh_partners_find(&all->partners, &mail->to, env->now_ns);
		if (!e->partner)
			return 0;
		p = lh_partner_at(&all->partners, e->partner - 1);
	}
	env->partner = p->can;
	env->partner_rtt_ns = p->rtt_min_ns;
	return env->partner;
}

/* Asks the core's question: is there an agent at the other end of the hop? @at: where @hdr has the
 * layer-2 address of the other end. */
LH_INLINE void lh_know_partner(struct lh_flow_entry *e, struct lh_env *env,
			       const struct lh_hdr *hdr, u32 at)
{
	if (lh_setup.port && (lh_setup.policy & LH_POLICY_CHANNEL))
		lh_partner_of(e, env, hdr, at);
}

/* Sends mail->message, which is sealed, to mail->to on the packet at hand, behind its first @at bytes
 * (lh_kick_offset()). */
LH_INLINE int lh_post(struct __sk_buff *skb, struct lh_mail *mail, u32 at)
{
	u32 len = mail->message.bytes;
	u32 n = lh_message_headers(&mail->hdr, &mail->message, &mail->to, lh_setup.l2_bytes,
				   lh_setup.port);

	lh_barrier(n);
	lh_barrier(len);
	if (lh_outside(n, 28, LH_MESSAGE_HDR_MAX) ||
	    lh_outside(len, LH_MESSAGE_BYTES_MIN, LH_MESSAGE_BYTES_MAX))
		return -1;
	lh_barrier(at);
	if (at > 14)
		return -1;
	/* A device without layer 2 goes by the packet's protocol. */
	if (!lh_setup.l2_bytes && (mail->to.family == 6) != (skb->protocol == lh_be16(0x86dd)))
		return -1;
	if (bpf_skb_change_tail(skb, at + n + len, 0) ||
	    bpf_skb_store_bytes(skb, at, mail->hdr.b, n, 0) ||
	    bpf_skb_store_bytes(skb, at + n, mail->message.w, len, 0))
		return -1;
	lh_mark(skb);
	return bpf_clone_redirect(skb, lh_setup.ifindex, 0);
}

/*
 * Sends the message whose type and body stand in mail->message to mail->to (its family alone: to all
 * of the link) on the packet at hand, behind its first @at bytes, and spoils it. @return 0: sent.
 */
LH_FUNC int lh_send_message(struct __sk_buff *skb, struct lh_mail *mail, struct lh_env *env, u32 at)
{
	struct lh_partners_entry *e = lh_partners();
	struct lh_message *m = &mail->message;
	u32 zero = 0;
	struct lh_keys *k = bpf_map_lookup_elem(&keys, &zero);
	struct lh_us *we = bpf_map_lookup_elem(&us, &zero);
	int err = -1;

	if (lh_setup.port && e && k && we && k->key[0].id && lh_message_address(m, we, &mail->to)) {
		m->epoch = e->partners.epoch;
		m->stream = LH_STREAM_KERNEL;
		m->counter = __sync_fetch_and_add(&e->counter, 1) + 1;
		if (lh_message_seal(m, &k->key[0]))
			err = lh_post(skb, mail, at);
	}
	if (err)
		lh_host_count(env, LH_C_messages_unsent, 1);
	else
		lh_host_count(env, LH_C_messages_sent, 1);
	return err;
}

/* The address of partner @to - 1 into mail->to. @return 0: it is not up. */
LH_INLINE int lh_address_to(struct lh_mail *mail, u32 to, u64 now_ns)
{
	struct lh_partners_entry *e = lh_partners();
	struct lh_partner *p;

	if (!to || !e)
		return 0;
	p = lh_partner_at(&e->partners, to - 1);
	mail->to = p->at;
	return lh_partner_up(p, now_ns);
}

/* Puts @n of @more behind the @had that are in @list, as many as have room. @return how many there are. */
LH_INLINE u32 lh_note_blocks(struct lh_sack_block *list, u32 had, const struct lh_sack_block *more,
			     u32 n)
{
	u32 i;

	for (i = 0; i < LH_TELL_MOST; i++) {
		if (i >= n || had >= LH_TELL_MOST)
			break;
		lh_barrier(had);
		list[had & (LH_TELL_MOST - 1)] = more[i];
		had++;
	}
	return had;
}

/* What messages are to tell, of what the core has found missing: all of it by one, or one for each. */
LH_INLINE u32 lh_tells(const struct lh_actions *act)
{
	return act->tell_by == LH_TELL_MESSAGE || act->tell_by == LH_TELL_EACH ? act->nr_tell : 0;
}

/* What @act tells and answers is the next kick's to send, behind what is noted already; what has no room
 * is told again by and by. Under the lock. */
LH_INLINE void lh_note_tell(struct lh_flow_entry *e, const struct lh_actions *act)
{
	u32 n = lh_tells(act);

	if (n) {
		e->nr_tell = lh_note_blocks(e->tell, e->nr_tell, act->tell, n);
		e->tell_each = act->tell_by == LH_TELL_EACH;
	}
	if (lh_setup.policy & LH_POLICY_SEQUENCE)
		e->nr_absent = lh_note_blocks(e->absent, e->nr_absent, act->absent, act->nr_absent);
}

/* What @act tells or answers, if it does, a kick sends. Under the lock. */
LH_INLINE void lh_tell_later(struct lh_flow_entry *e, u32 index, const struct lh_actions *act)
{
	if (!lh_tells(act) && !act->nr_absent)
		return;
	lh_note_tell(e, act);
	lh_send_event(e, index);
}

/* What this kick is to tell and to answer, noted before or just now (sc->act), goes where it is found
 * without the lock. @return index + 1 of the partner, 0: nothing. */
LH_INLINE u32 lh_take_tell(struct lh_flow_entry *e, struct lh_scratch *sc)
{
	struct lh_mail *mail = lh_mail();
	u32 i;

	if (!lh_setup.port || !mail)
		return 0;
	lh_note_tell(e, &sc->act);
	mail->nr_tell = e->nr_tell;
	mail->nr_absent = e->nr_absent;
	e->nr_tell = e->nr_absent = 0;
	if (!mail->nr_tell && !mail->nr_absent)
		return 0;
	mail->tell_each = e->tell_each;
	for (i = 0; i < LH_TELL_MOST; i++) {
		mail->tell[i] = e->tell[i];
		mail->absent[i] = e->absent[i];
	}
	sc->key = e->key;
	return e->partner;
}

/* Sends mail->missing, of our flow sc->key, to partner @to - 1, on the packet at hand, as a message of
 * that type. A global function: called twice. */
LH_ENTRY int lh_send_missing(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env,
			     u32 to, u32 type)
{
	struct lh_mail *mail = lh_mail();

	if (!sc || !env || !mail)
		return -1;
	lh_missing_turn(&mail->missing, &sc->key);
	if (!lh_address_to(mail, to, env->now_ns) ||
	    !lh_missing_put(&mail->message, type, &mail->missing))
		return -1;
	return lh_send_message(skb, mail, env, sc->carry_at);
}

/* Sends the first @n of @list by one message. */
LH_INLINE void lh_send_list(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env,
			    u32 to, u32 type, const struct lh_sack_block *list, u32 n)
{
	struct lh_mail *mail = lh_mail();
	u32 k;

	if (!mail || !n || n > LH_TELL_MOST)
		return;
	mail->missing.nr = n;
	for (k = 0; k < LH_TELL_MOST; k++)
		mail->missing.block[k] = list[k];
	lh_send_missing(skb, sc, env, to, type);
}

/* Sends block @i of mail->tell alone. A global function: see lh_cache_one(). */
LH_ENTRY int lh_send_piece(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env, u32 to,
			   u32 i)
{
	struct lh_mail *mail = lh_mail();

	if (!sc || !env || !mail)
		return -1;
	lh_barrier(i);
	mail->missing.nr = 1;
	mail->missing.block[0] = mail->tell[i & (LH_TELL_MOST - 1)];
	return lh_send_missing(skb, sc, env, to, LH_MESSAGE_MISSING);
}

/* Sends what lh_take_tell() has found. */
LH_INLINE void lh_send_tells(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env,
			     u32 to)
{
	struct lh_mail *mail = lh_mail();
	u32 n;
	int i;

	if (!mail)
		return;
	if (lh_setup.policy & LH_POLICY_SEQUENCE)
		lh_send_list(skb, sc, env, to, LH_MESSAGE_ABSENT, mail->absent, mail->nr_absent);
	n = mail->nr_tell;
	if (!mail->tell_each) {
		lh_send_list(skb, sc, env, to, LH_MESSAGE_MISSING, mail->tell, n);
		return;
	}
	bpf_for (i, 0, LH_TELL_MOST) {
		if ((u32)i >= n)
			break;
		lh_send_piece(skb, sc, env, to, i);
	}
}

LH_INLINE int lh_say_run(struct __sk_buff *skb)
{
	struct lh_partners_entry *e = lh_partners();
	struct lh_mail *mail = lh_mail();
	u32 to = skb->cb[LH_CB_TO];
	struct lh_partner *p = NULL;
	struct lh_env *env;

	if (!lh_setup.port || !e || !mail || !(env = lh_env(skb)))
		return 1;
	__builtin_memset(&mail->to, 0, sizeof(mail->to));
	mail->to.family = skb->protocol == lh_be16(0x86dd) ? 6 : 4;
	if (to) {
		p = lh_partner_at(&e->partners, to - 1);
		if (!p->epoch)
			return 1;
		mail->to = p->at;
	}
	lh_partner_hello(p, lh_setup.can, env->now_ns, &mail->hello);
	lh_hello_put(&mail->message, &mail->hello);
	return lh_send_message(skb, mail, env, lh_kick_offset()) != 0;
}

/* Test run by user space, once a second: HELLO to partner cb[LH_CB_TO] - 1, or to all of the link
 * in the packet's family. @return 0: sent. */
SEC("tc")
int lh_say(struct __sk_buff *skb)
{
	struct lh_scratch *sc = lh_scratch();
	int failed;

	if (!sc || !lh_cpu_claim(sc))
		return 1;
	failed = lh_say_run(skb);
	lh_cpu_done(sc);
	return failed;
}

#endif /* LH_CHANNEL_BPF_H */
