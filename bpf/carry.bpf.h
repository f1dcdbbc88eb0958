/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the core asks for, carried out on a packet that is free: that of a test run, a message that has
 * been read, a packet whose bytes wait in a slot. It is spoilt by that, and goes no further itself.
 */
#ifndef LH_CARRY_BPF_H
#define LH_CARRY_BPF_H

#include "channel.bpf.h"

/* The packet of a test run carries from here on. */
LH_INLINE void lh_carry_test_run(struct lh_scratch *sc)
{
	sc->carry_at = lh_kick_offset();
	sc->carry_partial = 0;
}

/* A packet that came from the link does, for the flow of that index, whose lock is kept: lh_ingress has
 * it carry, since deeper down there is no stack left for that. Its own tag is in every slot that it may
 * be loaded with, and a sum over all of its bytes will not be theirs: the kernel drops it when a packet
 * grows, and only then. */
LH_INLINE void lh_carry_arrived(struct __sk_buff *skb, struct lh_scratch *sc, u32 index)
{
	sc->carry_flow = index + 1;
	sc->carry_at = 0;
	sc->carry_partial = lh_partial(skb);
	lh_untag(skb);
	if (lh_summed(skb) == CHECKSUM_COMPLETE)
		bpf_skb_change_tail(skb, skb->len + 1, 0);
}

/* Sends the packet, which a slot was loaded into and which is marked: out, or if @ingress to the
 * stack, as if it came from MH. */
LH_INLINE int lh_send_loaded(struct __sk_buff *skb, u32 vlan_proto, u32 vlan_tci, u32 ingress,
			     struct lh_env *env)
{
	int err = 0;

	if (vlan_proto)
		err = bpf_skb_vlan_push(skb, vlan_proto, vlan_tci);
	if (!err)
		err = bpf_clone_redirect(skb, lh_setup.ifindex, ingress ? BPF_F_INGRESS : 0);
	lh_untag(skb);
	if (err)
		lh_host_count(env, LH_C_retransmit_errors, 1);
	return err;
}

/* Releases the held ACK that was put into sc->slot, to FH, or if it @leaves over the hop. A global function,
 * as lh_carry_one(): Linux 6.6's verifier walks what a loop calls turn by turn. */
LH_ENTRY int lh_send_held(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env,
			  u32 leaves)
{
	struct lh_slot *slot;

	if (!sc || !env)
		return -1;
	slot = &sc->slot;
	if (lh_load_vehicle(skb, slot, sc->carry_at, sc->carry_partial))
		return -1;
	lh_mark(skb);
	return lh_send_loaded(skb, slot->vlan_proto, slot->vlan_tci, !leaves, env);
}

/* The held ACK in the form of a slot. @window: to set in it, as in lh_actions. */
LH_INLINE void lh_held_to_slot(const struct lh_held *held, struct lh_slot *slot, u32 window)
{
	u32 bytes = held->bytes;

	__builtin_memcpy(slot->pkt, held->pkt, LH_HELD_BYTES);
	lh_barrier(bytes);
	if (bytes <= LH_HELD_BYTES)
		__builtin_memset(slot->pkt + bytes, 0, 4);
	slot->bytes = bytes;
	slot->l3_offset = held->l3_offset;
	slot->l4_offset = held->l4_offset;
	slot->vlan_tci = held->vlan_tci;
	slot->vlan_proto = held->vlan_proto;
	slot->family = held->family;
	slot->flags = held->partial ? LH_SLOT_PARTIAL : 0;
	if (window == LH_KEEP_WINDOW)
		return;
	lh_slot_put16(slot, (u32)slot->l4_offset + 14, lh_be16(window));
	slot->flags = LH_SLOT_PARTIAL; /* the checksum is made anew */
}

/* Loads repair @todo into @skb under the lock and sends it without. A slot that
 * was given back meanwhile is left alone. */
LH_ENTRY int lh_carry_one(struct __sk_buff *skb, struct lh_flow_entry *v, struct lh_env *env,
			  struct lh_scratch *sc, const struct lh_pending *todo)
{
	u32 id, proto = 0, tci = 0, mark = skb->mark;
	struct lh_slot *slot;
	u32 *uses;
	int err = 1; /* the slot is another packet's by now */

	if (!v || !env || !sc || !todo)
		return -1;
	if (!lh_lock(v)) {
		lh_host_count(env, LH_C_retransmit_errors, 1);
		return -1;
	}
	id = todo->slot;
	slot = lh_slot_at(id);
	uses = bpf_map_lookup_elem(&slot_uses, &id);
	if (slot && uses && *uses == todo->use) {
		proto = slot->vlan_proto;
		tci = slot->vlan_tci;
		lh_mark_repair(skb, slot);
		err = lh_load_vehicle(skb, slot, sc->carry_at, sc->carry_partial);
	}
	lh_unlock(v);
	if (!err)
		err = lh_send_loaded(skb, proto, tci, 0, env);
	else if (err < 0)
		lh_host_count(env, LH_C_retransmit_errors, 1);
	skb->mark = mark; /* what goes out next has its own */
	return err;
}

/* Carries out what the core asks for in sc->act, and repairs that were deferred. With the lock;
 * returns without it. @return how many packets were to be sent. */
LH_FUNC int lh_carry_out(struct __sk_buff *skb, struct lh_flow_entry *e, struct lh_env *env,
			 struct lh_scratch *sc)
{
	u32 n, copies, tells, leaves;
	int i;

	lh_set_deadline(e, sc->act.next_deadline_ns, env->now_ns);
	copies = sc->act.emit_held;
	leaves = sc->act.held_leaves;
	if (copies)
		lh_held_to_slot(&e->held, &sc->slot, sc->act.held_window);
	if (sc->act.nr_retransmit)
		lh_defer_quietly(e, &sc->act, 0);
	if (sc->act.nr_release)
		lh_release_on(skb, &e->flow, env, sc);
	/* What is told is no TCP, whose place of the checksum the device would fill: a kick tells it. */
	tells = sc->carry_partial ? 0 : lh_take_tell(e, sc);
	n = e->nr_pending;
	e->nr_pending = 0;
	__builtin_memcpy(sc->todo, e->pending, sizeof(sc->todo));
	lh_unlock(e);
	bpf_for (i, 0, 3) {
		if ((u32)i >= copies)
			break;
		lh_send_held(skb, sc, env, leaves);
	}
	bpf_for (i, 0, LH_PENDING_MAX) {
		if ((u32)i >= n)
			break;
		lh_carry_one(skb, e, env, sc, &sc->todo[i & (LH_PENDING_MAX - 1)]);
	}
	if (tells)
		lh_send_tells(skb, sc, env, tells);
	return n + copies;
}

#endif /* LH_CARRY_BPF_H */
