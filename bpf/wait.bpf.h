/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What has to wait for its turn (core/resequence.h), and its way on: clones to the device's ingress,
 * through this CPU's backlog. They come by lh_ingress again, by which they are counted; the last one
 * takes the next few along, and is put together again from its own slot. Without LH_POLICY_SEQUENCE
 * the verifier drops all of this.
 */
#ifndef LH_WAIT_BPF_H
#define LH_WAIT_BPF_H

#include "hear.bpf.h"
#include "cut.bpf.h"

/* Segment @i of the packet in sc->seg waits. @return 1: there are others. A global function, as
 * lh_cache_one(). */
LH_ENTRY int lh_wait_one(struct __sk_buff *skb, struct lh_flow *f, struct lh_env *env,
			 struct lh_scratch *sc, u32 i)
{
	struct lh_slot *slot;

	if (!f || !env || !sc || !(lh_setup.policy & LH_POLICY_SEQUENCE) || !lh_cut(sc, i))
		return 0;
	lh_on_wait(env, f, &sc->slice, &sc->act);
	if (sc->act.store_slot == LH_NO_SLOT || lh_store_cut(skb, sc, i))
		return !sc->cut.last;
	slot = lh_slot_at(sc->act.store_slot);
	if (slot)
		slot->bytes = 0; /* can't be loaded: lost, for its sender to repair */
	return !sc->cut.last;
}

/* One that was released has come through; it goes on, and may take others along. @return the
 * program's verdict. */
LH_FUNC int lh_through(struct __sk_buff *skb, struct lh_scratch *sc, struct lh_env *env)
{
	u32 index = 0, id, partial = lh_partial(skb), mark = skb->mark;
	struct lh_flow_entry *v = lh_flow_find(env, &sc->key, &index);
	struct lh_slot *slot;
	int verdict = TCX_NEXT;

	if (!v)
		return TCX_NEXT;
	lh_know_partner(v, env, &sc->hdr, LH_NO_HW);
	lh_on_through(env, &v->flow, &sc->seg, &sc->act);
	if (sc->act.nr_release) {
		sc->carry_at = 0;
		sc->carry_partial = partial;
		lh_release_on(skb, &v->flow, env, sc);
		id = sc->act.reload_slot;
		slot = lh_slot_at(id);
		if (!slot || lh_load_vehicle(skb, slot, 0, partial))
			verdict = TCX_DROP;
		skb->mark = mark;
	}
	lh_set_deadline(v, sc->act.next_deadline_ns, env->now_ns);
	lh_unlock(v);
	return verdict;
}

#endif /* LH_WAIT_BPF_H */
