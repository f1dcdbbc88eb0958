/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What user space has done by test runs: a flow's timer and the repairs that no packet could carry,
 * what the link and its MAC report, the sweep.
 */
#ifndef LH_KICK_BPF_H
#define LH_KICK_BPF_H

#include "channel.bpf.h"

/* Sends the packet of a test run, which a slot was loaded into. @ingress: to
 * the stack, as if it came from MH. */
LH_INLINE int lh_send_loaded(struct __sk_buff *skb, u32 vlan_proto, u32 vlan_tci, u32 ingress,
			     struct lh_env *env)
{
	int err = 0;

	if (vlan_proto)
		err = bpf_skb_vlan_push(skb, vlan_proto, vlan_tci);
	lh_mark(skb);
	if (!err)
		err = bpf_clone_redirect(skb, lh_setup.ifindex, ingress ? BPF_F_INGRESS : 0);
	if (skb->vlan_present)
		bpf_skb_vlan_pop(skb);
	if (err)
		lh_host_count(env, LH_C_retransmit_errors, 1);
	return err;
}

/* Without layer 2 on the device the test run's own 14 bytes stay before what is
 * loaded: the redirect takes them off. */
LH_INLINE u32 lh_kick_offset(void)
{
	return lh_setup.l2_bytes ? 0 : 14;
}

/* Releases the held ACK that was put into @slot, to FH, or if it @leaves over the hop. */
LH_FUNC int lh_send_held(struct __sk_buff *skb, struct lh_slot *slot, struct lh_env *env,
			 u32 leaves)
{
	if (lh_load_vehicle(skb, slot, lh_kick_offset(), 0))
		return -1;
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
LH_FUNC int lh_kick_one(struct __sk_buff *skb, struct lh_flow_value *v, struct lh_env *env,
			const struct lh_pending *todo)
{
	u32 id = todo->slot, proto = 0, tci = 0;
	struct lh_slot *slot;
	int err = -1;

	if (!lh_lock(&v->entry))
		return -1;
	slot = bpf_map_lookup_elem(&slots, &id);
	if (slot && slot->generation == todo->generation) {
		proto = slot->vlan_proto;
		tci = slot->vlan_tci;
		err = lh_load_vehicle(skb, slot, lh_kick_offset(), 0);
	}
	lh_unlock(&v->entry);
	return err ? err : lh_send_loaded(skb, proto, tci, 0, env);
}

/* Carries out what the core asks for in a test run, and repairs that were deferred. With the lock;
 * returns without it. @return how many packets were to be sent. */
LH_FUNC int lh_kick_send(struct __sk_buff *skb, struct lh_flow_value *v, struct lh_env *env,
			 struct lh_scratch *sc)
{
	struct lh_flow_entry *e = &v->entry;
	u32 n, copies, tells, leaves;
	int i;

	lh_set_deadline(v, sc->act.next_deadline_ns, env->now_ns);
	copies = sc->act.emit_held;
	leaves = sc->act.held_leaves;
	if (copies)
		lh_held_to_slot(&e->held, &sc->slot, sc->act.held_window);
	if (sc->act.nr_retransmit)
		lh_defer_quietly(e, &sc->act, 0);
	tells = lh_take_tell(e, sc);
	n = e->nr_pending;
	e->nr_pending = 0;
	__builtin_memcpy(sc->todo, e->pending, sizeof(sc->todo));
	lh_unlock(e);
	bpf_for (i, 0, 3) {
		if ((u32)i >= copies)
			break;
		lh_send_held(skb, &sc->slot, env, leaves);
	}
	bpf_for (i, 0, LH_PENDING_MAX) {
		if ((u32)i >= n)
			break;
		lh_kick_one(skb, v, env, &sc->todo[i & (LH_PENDING_MAX - 1)]);
	}
	if (tells)
		lh_send_missing(skb, sc, env, tells);
	return n + copies;
}

/* Runs the flow's timer, or tells it of the link. With the lock; returns without it. */
LH_INLINE void lh_kick_flow(struct __sk_buff *skb, struct lh_flow_value *v, struct lh_env *env,
			    struct lh_scratch *sc)
{
	u32 link = skb->cb[LH_CB_LINK];
	struct lh_flow_entry *e = &v->entry;

	e->kick_sent = 0;
	lh_set_room(env, e);
	lh_know_partner(e, env, &sc->hdr, LH_NO_HW);
	if (link == LH_LINK_SAME)
		lh_on_timer(env, &e->flow, &sc->act);
	else
		lh_on_link(env, &e->flow, link == LH_LINK_UP, &sc->act);
	lh_kick_send(skb, v, env, sc);
}

/* Test run by user space: cb[LH_CB_FLOW], cb[LH_CB_GENERATION], cb[LH_CB_LINK]. @return 1:
 * the flow was busy, run again; else 0. */
SEC("tc")
int lh_kick(struct __sk_buff *skb)
{
	u32 index = skb->cb[LH_CB_FLOW], generation = skb->cb[LH_CB_GENERATION];
	struct lh_flow_value *v = bpf_map_lookup_elem(&flows, &index);
	struct lh_scratch *sc = lh_scratch();
	struct lh_env *env;

	if (!v || !sc || !(env = lh_env(skb)))
		return 0;
	if (!lh_lock(&v->entry))
		return 1;
	if (!v->entry.used || v->entry.generation != generation) {
		lh_unlock(&v->entry);
		return 0;
	}
	lh_kick_flow(skb, v, env, sc);
	lh_env_done(env);
	return 0;
}

/* Copies and parses the headers of the frame that a report is of. True: a TCP segment, in @sc. */
LH_INLINE bool lh_read_frame(struct __sk_buff *skb, struct lh_scratch *sc)
{
	u32 frame = skb->cb[LH_CB_FRAME] >> 8, at = lh_kick_offset(), len = skb->len;

	if (len < at || frame < at)
		return false;
	len -= at;
	if (len > LH_HDR_BYTES)
		len = LH_HDR_BYTES;
	lh_barrier(len);
	if (lh_outside(len, 40, LH_HDR_BYTES) || bpf_skb_load_bytes(skb, at, sc->hdr.b, len))
		return false;
	if (lh_parse_headers(sc, len, frame - at, 0, true) != LH_PARSED_TCP)
		return false;
	/* What may be emitted has the family of the test run's packet. */
	return (sc->key.family == 6) == (skb->protocol == lh_be16(0x86dd));
}

/* Test run by user space: the MAC reports of a frame that had left; the packet is its beginning,
 * with an Ethernet header. cb[LH_CB_FRAME], cb[LH_CB_AT], cb[LH_CB_QUEUED]. @return 1: the flow was
 * busy, run again; else 0. */
SEC("tc")
int lh_report(struct __sk_buff *skb)
{
	struct lh_scratch *sc = lh_scratch();
	struct lh_flow_value *v = NULL;
	struct lh_env *env;
	u32 *id;

	if (!sc || !lh_read_frame(skb, sc) || !(env = lh_env(skb)))
		return 0;
	sc->report.event = skb->cb[LH_CB_FRAME] & 0xff;
	sc->report.at_ns = (u64)skb->cb[LH_CB_AT_HIGH] << 32 | skb->cb[LH_CB_AT];
	sc->report.queued_ns = (u64)skb->cb[LH_CB_QUEUED_HIGH] << 32 | skb->cb[LH_CB_QUEUED];
	id = bpf_map_lookup_elem(&flow_ids, &sc->key);
	if (id)
		v = bpf_map_lookup_elem(&flows, id);
	if (!v) {
		lh_host_count(env, LH_C_mac_strangers, 1);
		return 0;
	}
	if (!lh_lock(&v->entry))
		return 1;
	if (v->entry.used && lh_key_equal(&v->entry.key, &sc->key)) {
		lh_set_room(env, &v->entry);
		lh_on_mac(env, &v->entry.flow, &sc->seg, &sc->report, &sc->act);
		lh_kick_send(skb, v, env, sc);
	} else {
		lh_unlock(&v->entry); /* removed, and perhaps given to another, since */
	}
	lh_env_done(env);
	return 0;
}

/* One entry of the sweep. @return 1: it was removed. */
LH_ENTRY int lh_sweep_one(struct __sk_buff *skb, u32 index, struct lh_env *env,
			  struct lh_scratch *sc, u32 force)
{
	struct lh_flow_value *v = bpf_map_lookup_elem(&flows, &index);
	struct lh_flow_entry *e;
	bool fits;

	if (!v || !env || !sc || !v->entry.used)
		return 0;
	e = &v->entry;
	/* What may be emitted has the family of the test run's packet. */
	fits = (e->key.family == 6) == (skb->protocol == lh_be16(0x86dd));
	if (force && !fits)
		return 0;
	if (!lh_lock(e))
		return 0;
	if (!e->used) {
		lh_unlock(e);
		return 0;
	}
	if (force || lh_flow_over(env, &e->flow)) {
		u32 copies;

		lh_on_release(env, &e->flow, &sc->act);
		copies = sc->act.emit_held;
		if (copies)
			lh_held_to_slot(&e->held, &sc->slot, sc->act.held_window);
		lh_flow_remove(env, v, index);
		if (copies && fits)
			lh_send_held(skb, &sc->slot, env, 0);
		return 1;
	}
	if (env->pool_segments && lh_cached(&e->flow)) {
		u32 before = lh_weight(&e->flow);

		lh_on_sweep(env, &e->flow);
		lh_count_weight(before, lh_weight(&e->flow));
	}
	/* An event that got lost would leave the flow without a timer. */
	if (e->deadline_ns && env->now_ns > e->deadline_ns + 100 * LH_MSEC) {
		e->kick_sent = 0;
		lh_send_event(e, index);
	}
	lh_unlock(e);
	return 0;
}

/* Test run by user space: forgets flows that are over in the range
 * [cb[LH_CB_FLOW], + cb[LH_CB_GENERATION]); with cb[LH_CB_FORCE] all of the
 * packet's family. @return how many. */
SEC("tc")
int lh_sweep(struct __sk_buff *skb)
{
	u32 first = skb->cb[LH_CB_FLOW], n = skb->cb[LH_CB_GENERATION];
	u32 force = skb->cb[LH_CB_FORCE];
	struct lh_scratch *sc = lh_scratch();
	struct lh_env *env;
	int i, removed = 0;

	if (!sc || !(env = lh_env(skb)))
		return 0;
	bpf_for (i, 0, LH_SWEEP_MAX) {
		if ((u32)i >= n)
			break;
		removed += lh_sweep_one(skb, first + i, env, sc, force);
	}
	lh_env_done(env);
	return removed;
}

#endif /* LH_KICK_BPF_H */
