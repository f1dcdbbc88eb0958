/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel host: tc programs on the device that faces the lossy link. They
 * parse, find the flow, call the core under the flow's lock and carry out its
 * actions. No protocol logic here (core/agent.h). ARCHITECTURE.md follows a
 * packet through it.
 */
#include "kick.bpf.h"

/* @s goes through the core. What it says of memory is in sc->act. */
LH_INLINE void lh_give_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			    struct lh_scratch *sc)
{
	env->accepted = s->payload_bytes <= LH_CACHE_PKT_MAX - LH_HDR_BYTES;
	if (!env->accepted)
		lh_host_count(env, LH_C_uncached_size, 1);
	lh_on_data(env, f, s, &sc->act);
}

/* Segment @i of the packet goes through the core and into the cache. @return 1: there are others. A global
 * function: before Linux 6.12 the verifier finds no end of the loop around it. */
LH_ENTRY int lh_cache_one(struct __sk_buff *skb, struct lh_flow *f, struct lh_env *env,
			  struct lh_scratch *sc, u32 i)
{
	struct lh_actions *act;

	if (!f || !env || !sc || !lh_cut(sc, i))
		return 0;
	act = &sc->act;
	lh_give_data(env, f, &sc->slice, sc);
	sc->cut.ce |= act->mark_ce;
	if (act->store_slot == LH_NO_SLOT)
		return !sc->cut.last;
	if (!lh_store_cut(skb, sc, i))
		lh_store_failed(env, f, act->store_pos);
	return !sc->cut.last;
}

/* The packet in sc->seg, which is one segment, goes through the core and into the cache. */
LH_INLINE void lh_cache_whole(struct __sk_buff *skb, struct lh_flow *f, struct lh_env *env,
			      struct lh_scratch *sc)
{
	const struct lh_segment *s = &sc->seg;
	u32 id;

	lh_give_data(env, f, s, sc);
	id = sc->act.store_slot;
	if (id != LH_NO_SLOT && !lh_store(skb, sc, id, s->hdr_bytes, s->payload_bytes))
		lh_store_failed(env, f, sc->act.store_pos);
}

/* The packet in sc->seg is cached, cut into the segments that will be on the wire if it is a
 * super-packet (GRO, TSO), of @mss bytes; 0: it is none. */
LH_INLINE void lh_cache_each(struct __sk_buff *skb, struct lh_flow_entry *v, struct lh_env *env,
			     struct lh_scratch *sc, u32 mss)
{
	int i;

	if (!mss) {
		lh_cache_whole(skb, &v->flow, env, sc);
		return;
	}
	sc->cut.bytes = mss;
	sc->cut.ce = 0;
	bpf_for (i, 0, LH_TRAIN_MOST)
		if (!lh_cache_one(skb, &v->flow, env, sc, i))
			break;
	sc->act.mark_ce = sc->cut.ce; /* one mark for all: it is in the IP header */
}

/* Segment @i of the super-packet in sc->seg, which goes through the core as one, is cached. @return 0: there
 * is no memory for it and what follows. */
LH_INLINE int lh_cache_part(struct __sk_buff *skb, struct lh_flow *f, struct lh_env *env,
			    struct lh_scratch *sc, u32 i)
{
	struct lh_slot *slot;
	u32 at, n, id;

	at = i * sc->seg.part_bytes;
	n = lh_train_bytes(&sc->seg, i);
	id = lh_train_next(env, f, &sc->seg, i);
	if (id == LH_NO_SLOT)
		return 0;
	slot = lh_store(skb, sc, id, sc->seg.hdr_bytes + at, n);
	if (slot)
		lh_mark_slice(sc, slot, i, sc->seg.seq + at, at + n == sc->seg.payload_bytes);
	else
		lh_store_failed(env, f, f->ring.tail - 1);
	return 1;
}

#define LH_PARTS 4 /* at once: a turn of the loop takes as long as a third of a segment */

/* The next LH_PARTS segments of it from @i on, or as many as act.nr_store has. @return how many were cached. */
LH_ENTRY int lh_cache_parts(struct __sk_buff *skb, struct lh_flow *f, struct lh_env *env,
			    struct lh_scratch *sc, u32 i)
{
	u32 k;

	if (!f || !env || !sc)
		return 0;
#pragma unroll
	for (k = 0; k < LH_PARTS; k++) {
		if (i + k >= sc->act.nr_store || !lh_cache_part(skb, f, env, sc, i + k))
			break;
	}
	return k;
}

/* The ACK in @skb leaves with an option for the agent at the hop's other end, by which it grows. */
LH_INLINE void lh_annotate(struct __sk_buff *skb, struct lh_scratch *sc)
{
	u32 len = sc->seg.hdr_bytes; /* what lies behind is a short frame's padding */
	u32 more = lh_edit_tell(&sc->hdr, &sc->seg, &sc->act, lh_partial(skb));

	if (!more)
		return;
	len += more;
	lh_barrier(len);
	if (lh_outside(len, 40, LH_HDR_BYTES) || bpf_skb_change_tail(skb, len, 0))
		return;
	bpf_skb_store_bytes(skb, 0, sc->hdr.b, len, 0);
}

/* Keeps the ACK of this run as the flow's held one. */
LH_INLINE void lh_hold(struct __sk_buff *skb, struct lh_flow_entry *e, struct lh_scratch *sc)
{
	struct lh_held *held = &e->held;

	/* No payload, so that the whole packet is in the header buffer. */
	__builtin_memcpy(held->pkt, sc->hdr.b, LH_HELD_BYTES);
	held->bytes = sc->seg.hdr_bytes;
	held->l3_offset = sc->seg.l3_offset;
	held->l4_offset = sc->seg.l4_offset;
	held->vlan_tci = skb->vlan_tci;
	held->vlan_proto = skb->vlan_present ? skb->vlan_proto : 0;
	held->partial = lh_partial(skb);
	held->family = e->key.family;
}

/*
 * What the core has asked for about a packet towards MH, which goes on after this. Called with the
 * lock, returns without it. A global function: behind a loop of bpf_for in the same function Linux
 * 6.8's verifier takes no two states for equal, and walked every combination of these branches for
 * every way out of the loop, past a million instructions.
 */
LH_ENTRY int lh_leave(struct __sk_buff *skb, struct lh_flow_entry *e, struct lh_scratch *sc,
		      u32 index)
{
	if (!e || !sc)
		return 0;
	if (sc->act.hold)
		lh_hold(skb, e, sc);
	lh_tell_later(e, index, &sc->act);
	lh_unlock(e);
	if (sc->act.tell_by == LH_TELL_OPTION)
		lh_annotate(skb, sc);
	/* The cached copy stays unmarked: what a repair meets is another queue. */
	if (sc->act.mark_ce)
		lh_mark_ce(skb, sc);
	return 0;
}

/* The same of one that is on the wire as it is, of which mostly nothing is asked. */
LH_INLINE void lh_let_go(struct __sk_buff *skb, struct lh_flow_entry *e, struct lh_scratch *sc,
			 u32 index)
{
	const struct lh_actions *act = &sc->act;

	if (act->hold || act->tell_by != LH_TELL_NOT || act->nr_absent || act->mark_ce)
		lh_leave(skb, e, sc, index);
	else
		lh_unlock(e);
}

/* Writes the edited TCP header back. The sum over the segment stays what it
 * was, so that a CHECKSUM_COMPLETE of the device stays true. */
LH_INLINE void lh_put_headers(struct __sk_buff *skb, struct lh_scratch *sc)
{
	u32 at = sc->seg.l4_offset, len = (u32)sc->seg.hdr_bytes - at;

	lh_barrier(at);
	lh_barrier(len);
	if (lh_outside(len, 20, 60) || at > LH_HDR_BYTES - 60)
		return;
	bpf_skb_store_bytes(skb, at, sc->hdr.b + at, len, 0);
}

/* Takes out what agents tell each other: it is the hop's, and nobody else's word. */
LH_INLINE void lh_strip(struct __sk_buff *skb, struct lh_scratch *sc)
{
	if (lh_setup.port && (lh_setup.policy & LH_POLICY_CHANNEL) &&
	    lh_edit_strip(&sc->hdr, &sc->seg, lh_partial(skb)))
		lh_put_headers(skb, sc);
}

/* A packet towards MH, @super: cut into the segments of @mss bytes that will be on the wire. */
LH_INLINE void lh_towards_mh(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env,
			     u32 mss, bool super)
{
	struct lh_flow_entry *v;
	u32 index = 0, before;

	v = lh_flow_find(env, &sc->key, &index);
	if (!v) {
		/* Only what opens a connection or carries data starts a flow. */
		if ((sc->seg.flags & LH_RST) || sc->seg.seq == sc->seg.end)
			return;
		v = lh_flow_create(env, sc, false, &index);
		if (!v)
			return;
		lh_peer_join(env, &v->flow, &sc->key);
	}
	lh_know_partner(v, env, &sc->hdr, LH_TO_HW);
	before = lh_weight(&v->flow);
	lh_cache_each(skb, v, env, sc, super ? mss : 0);
	lh_count_weight(before, lh_weight(&v->flow));
	lh_set_deadline(v, sc->act.next_deadline_ns, env->now_ns);
	if (super)
		lh_leave(skb, v, sc, index);
	else
		lh_let_go(skb, v, sc, index);
}

/* One that is on the wire as it is: without a loop, which costs as much as a look-up. */
LH_INLINE void lh_from_fh(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env)
{
	lh_towards_mh(skb, sc, env, 0, false);
}

/* A super-packet (GRO, TSO) that goes through the core and into the cache as one. @return 0: not this one,
 * its segments have to go one by one. 1: that was it, or it passes. */
LH_FUNC int lh_train_from_fh(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env)
{
	struct lh_flow_entry *v;
	u32 index = 0, before;
	int i, n = 0, most, got;

	v = lh_flow_find(env, &sc->key, &index);
	if (!v)
		return index == LH_FLOW_BUSY;
	lh_know_partner(v, env, &sc->hdr, LH_TO_HW);
	before = lh_weight(&v->flow);
	env->accepted = sc->seg.part_bytes <= LH_CACHE_PKT_MAX - LH_HDR_BYTES;
	if (!lh_train_ordinary(env, &v->flow, &sc->seg)) {
		lh_unlock(v);
		return 0;
	}
	lh_on_data(env, &v->flow, &sc->seg, &sc->act);
	most = (sc->act.nr_store + LH_PARTS - 1) / LH_PARTS;
	bpf_for (i, 0, most) {
		got = lh_cache_parts(skb, &v->flow, env, sc, i * LH_PARTS);
		n += got;
		if (got < LH_PARTS)
			break;
	}
	lh_train_end(env, &v->flow, &sc->seg, n, &sc->act);
	lh_count_weight(before, lh_weight(&v->flow));
	lh_set_deadline(v, sc->act.next_deadline_ns, env->now_ns);
	lh_leave(skb, v, sc, index);
	return 1;
}

/* Another super-packet. Not a branch of lh_from_fh(): behind a loop of the same function Linux 6.8's verifier
 * takes no two states for equal. */
LH_FUNC int lh_super_from_fh(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env,
			     u32 mss)
{
	lh_towards_mh(skb, sc, env, mss, true);
	return 0;
}

LH_INLINE void lh_egress_run(struct __sk_buff *skb, struct lh_scratch *sc)
{
	struct lh_env *env = lh_env(skb);

	if (!env)
		return;
	if (lh_read(skb, sc, env, true)) {
		/* Only agents of this hop tell each other on it, and we do later. */
		lh_strip(skb, sc);
		if (skb->gso_size && sc->seg.payload_bytes > skb->gso_size) {
			sc->seg.part_bytes = skb->gso_size;
			lh_cut_begin(skb, sc);
			if (!lh_train_from_fh(skb, sc, env))
				lh_super_from_fh(skb, sc, env, skb->gso_size);
		} else {
			lh_from_fh(skb, sc, env);
		}
	}
	lh_env_done(env);
}

SEC("tc")
int lh_egress(struct __sk_buff *skb)
{
	struct lh_scratch *sc;

	if (lh_marked(skb)) { /* before anything else: see struct lh_scratch */
		if (lh_understated(skb) && lh_fix_truesize(skb))
			return TCX_DROP;
		return TCX_NEXT;
	}
	if (lh_sent_on(skb))
		return TCX_NEXT;
	sc = lh_scratch();
	if (sc && lh_packet_claim(sc)) {
		lh_egress_run(skb, sc);
		lh_cpu_done(sc);
	}
	return TCX_NEXT;
}

/*
 * Sends the first repair on the skb of the ACK. @keep: the ACK goes on, so
 * that it must be put together again behind the clone. Called with the lock,
 * returns without it. @return the program's verdict.
 */
LH_FUNC int lh_turn_around(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_flow_entry *v,
			   struct lh_env *env)
{
	bool keep = sc->act.verdict == LH_PASS;
	u32 id = sc->act.retransmit[0].slot, mark = skb->mark, prio = skb->priority;
	u32 partial = lh_partial(skb), len = skb->len;
	struct lh_slot *slot = lh_slot_at(id);
	int err = -1;

	if (slot) {
		lh_mark_repair(skb, slot);
		err = lh_load_vehicle(skb, slot, 0, partial);
	}
	lh_unlock(v);
	if (err)
		lh_host_count(env, LH_C_retransmit_errors, 1);
	if (!keep && (err || !lh_understated(skb)))
		return err ? TCX_DROP : bpf_redirect(lh_setup.ifindex, 0);
	if (!err && bpf_clone_redirect(skb, lh_setup.ifindex, 0))
		lh_host_count(env, LH_C_retransmit_errors, 1);
	if (!keep)
		return TCX_DROP;
	skb->mark = mark;
	skb->priority = prio;
	lh_barrier(len);
	if (lh_outside(len, 40, LH_HDR_BYTES))
		return TCX_NEXT;
	/* An ACK that can't be restored is worth less than a wrong one. */
	if (bpf_skb_change_tail(skb, len, 0) || bpf_skb_store_bytes(skb, 0, sc->hdr.b, len, 0))
		return TCX_DROP;
	return TCX_NEXT;
}

/* Whether the packet at hand can carry a repair: the same places of the headers (a partial checksum names
 * its place), a tag beside it if that has one, and small enough to be put together again. */
LH_INLINE bool lh_can_carry(const struct __sk_buff *skb, const struct lh_scratch *sc)
{
	u32 id = sc->act.retransmit[0].slot;
	struct lh_slot *slot = lh_slot_at(id);

	return slot && !slot->vlan_proto == !skb->vlan_present &&
	       (!slot->vlan_proto ||
		(slot->vlan_proto == skb->vlan_proto && slot->vlan_tci == skb->vlan_tci)) &&
	       slot->l3_offset == sc->seg.l3_offset && slot->l4_offset == sc->seg.l4_offset &&
	       skb->len <= LH_HDR_BYTES && !skb->gso_size;
}

/* Copies of the passing duplicate stand for held ones: the same number, and
 * newer blocks. An entry of its own: lh_leave(). */
LH_ENTRY int lh_clone_ack(struct __sk_buff *skb, u32 copies)
{
	u32 mark = skb->mark;
	int i;

	skb->mark = lh_with_ours(mark);
	bpf_for (i, 0, 3) {
		if ((u32)i >= copies)
			break;
		bpf_clone_redirect(skb, lh_setup.ifindex, BPF_F_INGRESS);
	}
	skb->mark = mark;
	return 0;
}

/* The packet from MH in sc->seg has to wait for its turn: its bytes do, and it carries what goes on in
 * its place, and what is asked for. The lock is kept. */
LH_FUNC int lh_wait(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_flow_entry *v,
		    struct lh_env *env)
{
	u32 index = sc->carry_flow - 1;
	int i;

	sc->cut.bytes = sc->seg.part_bytes;
	lh_cut_begin(skb, sc);
	bpf_for (i, 0, LH_TRAIN_MOST)
		if (!lh_wait_one(skb, &v->flow, env, sc, i))
			break;
	lh_on_turn(env, &v->flow, &sc->act);
	lh_carry_arrived(skb, sc, index);
	/* What is told is no TCP, whose place of the checksum the device would fill. */
	if (sc->carry_partial) {
		lh_tell_later(v, index, &sc->act);
		sc->act.tell_by = LH_TELL_NOT;
	}
	return TCX_DROP;
}

/* Whether the packet from MH in sc->seg, or each segment in it, of which the core is told, fits a slot,
 * and lh_wait() reaches the last of them. */
LH_INLINE bool lh_parts_fit(const struct __sk_buff *skb, struct lh_scratch *sc)
{
	u32 part = skb->gso_size, bytes = sc->seg.payload_bytes;

	if (!part || bytes <= part)
		return bytes <= LH_CACHE_PKT_MAX - LH_HDR_BYTES;
	sc->seg.part_bytes = part;
	return part <= LH_CACHE_PKT_MAX - LH_HDR_BYTES && bytes <= part * LH_TRAIN_MOST;
}

/* Whether a segment from MH, of no flow that we know, starts one: a SYN, and data where another agent
 * sends them over the hop, for they are looked after here. */
LH_INLINE bool lh_starts_here(const struct lh_segment *s)
{
	if (s->flags & LH_RST)
		return false;
	return (s->flags & LH_SYN) || ((lh_setup.policy & LH_POLICY_SEQUENCE) && s->seq != s->end);
}

/* A packet from MH. @return the program's verdict. */
LH_INLINE int lh_from_mh(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env)
{
	struct lh_actions *act = &sc->act;
	struct lh_flow_entry *v;
	u32 index = 0, before;
	int verdict;

	v = lh_flow_find(env, &sc->key, &index);
	if (!v) {
		if (!lh_starts_here(&sc->seg))
			return TCX_NEXT;
		v = lh_flow_create(env, sc, true, &index);
		if (!v)
			return TCX_NEXT;
	}
	if (!env->alive)
		lh_host_count(env, LH_C_bypass_stale, 1);
	lh_know_partner(v, env, &sc->hdr, LH_FROM_HW);
	before = lh_weight(&v->flow);
	if (!v->flow.peer)
		lh_peer_join(env, &v->flow, &sc->key);
	env->accepted = lh_parts_fit(skb, sc);
	lh_on_ack(env, &v->flow, &sc->seg, act);
	lh_count_weight(before, lh_weight(&v->flow));
	if ((lh_setup.policy & LH_POLICY_SEQUENCE) && act->verdict == LH_WAIT) {
		sc->carry_flow = index + 1;
		return TCX_DROP;
	}
	if (act->hold)
		lh_hold(skb, v, sc);
	if (lh_setup.policy & LH_POLICY_SEQUENCE)
		lh_tell_later(v, index, act);
	lh_set_deadline(v, act->next_deadline_ns, env->now_ns);
	verdict = act->verdict == LH_DROP ? TCX_DROP : TCX_NEXT;
	if (verdict == TCX_NEXT && lh_edits(&sc->seg, act) &&
	    lh_edit_ack(&sc->hdr, &sc->seg, act, lh_partial(skb)))
		lh_put_headers(skb, sc);
	if (act->nr_retransmit && lh_can_carry(skb, sc)) {
		if (act->nr_retransmit > 1)
			lh_defer(v, index, act, 1);
		verdict = lh_turn_around(skb, sc, v, env);
	} else {
		if (act->nr_retransmit)
			lh_defer(v, index, act, 0);
		lh_unlock(v);
	}
	if (act->emit_held && verdict == TCX_NEXT)
		lh_clone_ack(skb, act->emit_held);
	return verdict;
}

/* Whether what was released on this device is of our connections: by the rules, of which one agent's
 * cover none of another's. What can't be told is. */
LH_INLINE bool lh_released_here(struct __sk_buff *skb)
{
	struct lh_scratch *sc;
	struct lh_env *env;
	bool ours = true;

	if (!lh_setup.shared)
		return true;
	sc = lh_scratch();
	if (!sc || !lh_cpu_claim(sc))
		return true;
	env = lh_env(skb);
	if (env && lh_read(skb, sc, env, false))
		ours = lh_wanted(&sc->key);
	lh_cpu_done(sc);
	return ours;
}

/* Something that we released comes by on its way on. @return the program's verdict. */
LH_FUNC int lh_comes_by(struct __sk_buff *skb)
{
	struct lh_scratch *sc = lh_scratch();
	struct lh_env *env;
	int verdict = TCX_NEXT;

	if (!sc || !lh_cpu_claim(sc))
		return TCX_NEXT;
	env = lh_env(skb);
	if (env && lh_read(skb, sc, env, false)) {
		verdict = lh_through(skb, sc, env);
		lh_env_done(env);
	}
	lh_cpu_done(sc);
	return verdict;
}

/* Lets the packet carry: sc->carry_flow has kept its lock. @waits: it has to wait, too. A global function: on
 * Linux 6.6 the verifier walked it for every state of lh_ingress, past a million instructions. */
LH_ENTRY int lh_carry_now(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env,
			  u32 waits)
{
	struct lh_flow_entry *v;
	u32 index;

	if (!sc || !env || !(lh_setup.policy & LH_POLICY_PARTNER))
		return 0;
	index = sc->carry_flow - 1;
	v = lh_flow_at(index);
	if (!v)
		return 0;
	if (waits)
		lh_wait(skb, sc, v, env);
	lh_carry_out(skb, v, env, sc);
	lh_env_done(env);
	return 0;
}

/* The same, if the packet is to carry. @return whether it did. */
LH_INLINE bool lh_carry(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env,
			bool waits)
{
	if (!(lh_setup.policy & LH_POLICY_PARTNER) || !sc->carry_flow)
		return false;
	lh_carry_now(skb, sc, env, waits);
	return true;
}

LH_INLINE int lh_ingress_run(struct __sk_buff *skb, struct lh_scratch *sc)
{
	struct lh_env *env = lh_env(skb);
	int verdict, parsed;

	if (!env)
		return TCX_NEXT;
	sc->carry_flow = 0;
	parsed = lh_look(skb, sc, false);
	if (parsed != LH_PARSED_TCP) {
		verdict = lh_may_be_message(skb) ? lh_hear(skb, sc, env) : TCX_NEXT;
		if (verdict == TCX_NEXT) /* another agent's words are no traffic */
			lh_goes_by(env, parsed);
		return lh_carry(skb, sc, env, false) ? TCX_DROP : verdict;
	}
	if (!lh_sums_right(skb, sc)) {
		lh_host_count(env, LH_C_bypass_checksum, 1);
		return TCX_NEXT;
	}
	lh_strip(skb, sc);
	verdict = lh_from_mh(skb, sc, env);
	if (lh_carry(skb, sc, env, true))
		return TCX_DROP;
	lh_env_done(env);
	return verdict;
}

SEC("tc")
int lh_ingress(struct __sk_buff *skb)
{
	struct lh_scratch *sc;
	int verdict;

	if (lh_marked(skb)) { /* a held ACK, or data, that we released */
		if (!lh_released_here(skb))
			return TCX_NEXT; /* with the mark, by which the other agent knows it */
		skb->mark &= ~lh_setup.mark_mask;
		return lh_setup.policy & LH_POLICY_SEQUENCE ? lh_comes_by(skb) : TCX_NEXT;
	}
	sc = lh_scratch();
	if (!sc || !lh_packet_claim(sc))
		return TCX_NEXT;
	verdict = lh_ingress_run(skb, sc);
	lh_cpu_done(sc);
	return verdict;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
