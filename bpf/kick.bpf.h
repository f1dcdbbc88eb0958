/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What user space has done by test runs: a flow's timer and the repairs that no packet could carry,
 * what the link and its MAC report, the sweep.
 */
#ifndef LH_KICK_BPF_H
#define LH_KICK_BPF_H

#include "read.bpf.h"
#include "wait.bpf.h"

/* Runs the flow's timer, or tells it of the link. With the lock; returns without it. */
LH_INLINE void lh_kick_flow(struct __sk_buff *skb, struct lh_flow_entry *e, struct lh_env *env,
			    struct lh_scratch *sc)
{
	u32 link = skb->cb[LH_CB_LINK];

	e->kick_sent = 0;
	/* This is the timer that fires. */
	if (env->now_ns >= e->armed_ns)
		e->armed_ns = 0;
	lh_set_room(env, e);
	lh_know_partner(e, env, &sc->hdr, LH_NO_HW);
	if (link == LH_LINK_SAME)
		lh_on_timer(env, &e->flow, &sc->act);
	else
		lh_on_link(env, &e->flow, link == LH_LINK_UP, &sc->act);
	lh_carry_test_run(sc);
	lh_carry_out(skb, e, env, sc);
}

/* A timer in user space fires, if it is still the one of flow @index. */
LH_ENTRY int lh_due_one(u32 index, u64 now)
{
	struct lh_flow_entry *e = lh_flow_at(index);

	if (!e || !e->armed_outside || !e->armed_ns || now < e->armed_ns)
		return 0;
	if (lh_time_comes(e, index, now))
		lh_arm_in_user_space(e, now);
	return 1;
}

/* Test run by user space, whose timers fire for cb[LH_CB_GENERATION] flows, LH_DUE_MAX at most, with their
 * indices in the packet from byte LH_DUE_AT on. Most are over or later by now, and cost no kick. */
SEC("tc")
int lh_due(struct __sk_buff *skb)
{
	u32 n = skb->cb[LH_CB_GENERATION], index;
	u64 now = bpf_ktime_get_ns();
	int i;

	bpf_for (i, 0, LH_DUE_MAX) {
		if ((u32)i >= n || bpf_skb_load_bytes(skb, LH_DUE_AT + 4 * i, &index, 4))
			break;
		lh_due_one(index, now);
	}
	return 0;
}

/* A test run that has to have the CPU's scratch space. @return 1: that was busy, run again; else what @run
 * returns. */
LH_INLINE int lh_run_alone(struct __sk_buff *skb,
			   int (*run)(struct __sk_buff *skb, struct lh_scratch *sc))
{
	struct lh_scratch *sc = lh_scratch();
	int busy;

	if (!sc)
		return 0;
	if (!lh_cpu_claim(sc))
		return 1;
	busy = run(skb, sc);
	lh_cpu_done(sc);
	return busy;
}

LH_INLINE int lh_kick_run(struct __sk_buff *skb, struct lh_scratch *sc)
{
	u32 index = skb->cb[LH_CB_FLOW], generation = skb->cb[LH_CB_GENERATION];
	struct lh_flow_entry *v = lh_flow_at(index);
	struct lh_env *env;

	if (!v || !(env = lh_env(skb)))
		return 0;
	if (!lh_lock(v))
		return 1;
	if (!v->used || v->generation != generation) {
		lh_unlock(v);
		return 0;
	}
	lh_kick_flow(skb, v, env, sc);
	lh_env_done(env);
	return 0;
}

/* Test run by user space: cb[LH_CB_FLOW], cb[LH_CB_GENERATION], cb[LH_CB_LINK]. @return 1:
 * the flow or the CPU was busy, run again; else 0. */
SEC("tc")
int lh_kick(struct __sk_buff *skb)
{
	return lh_run_alone(skb, lh_kick_run);
}

/* Copies and parses the headers of the frame that a report is of. True: a TCP segment, in @sc. */
LH_INLINE bool lh_read_frame(struct __sk_buff *skb, struct lh_scratch *sc)
{
	u32 frame = skb->cb[LH_CB_FRAME] >> 8, at = lh_kick_offset(), len;

	len = lh_read_copied(skb, sc, at);
	if (!len || frame < at)
		return false;
	if (lh_parse_headers(sc, len, frame - at, 0, true) != LH_PARSED_TCP)
		return false;
	/* What may be emitted has the family of the test run's packet. */
	return (sc->key.family == 6) == (skb->protocol == lh_be16(0x86dd));
}

LH_INLINE int lh_report_run(struct __sk_buff *skb, struct lh_scratch *sc)
{
	struct lh_flow_entry *v;
	struct lh_env *env;
	u32 index;

	if (!lh_read_frame(skb, sc) || !(env = lh_env(skb)))
		return 0;
	sc->report.event = skb->cb[LH_CB_FRAME] & 0xff;
	sc->report.at_ns = (u64)skb->cb[LH_CB_AT_HIGH] << 32 | skb->cb[LH_CB_AT];
	sc->report.queued_ns = (u64)skb->cb[LH_CB_QUEUED_HIGH] << 32 | skb->cb[LH_CB_QUEUED];
	v = lh_flow_seek(&sc->key, &index);
	if (!v) {
		lh_host_count(env, LH_C_mac_strangers, 1);
		return 0;
	}
	if (!lh_lock(v))
		return 1;
	if (v->used && lh_key_equal(&v->key, &sc->key)) {
		lh_set_room(env, v);
		lh_on_mac(env, &v->flow, &sc->seg, &sc->report, &sc->act);
		lh_carry_test_run(sc);
		lh_carry_out(skb, v, env, sc);
	} else {
		lh_unlock(v); /* removed, and perhaps given to another, since */
	}
	lh_env_done(env);
	return 0;
}

/* Test run by user space: the MAC reports of a frame that had left; the packet is its beginning,
 * with an Ethernet header. cb[LH_CB_FRAME], cb[LH_CB_AT], cb[LH_CB_QUEUED]. @return 1: the flow or the
 * CPU was busy, run again; else 0. */
SEC("tc")
int lh_report(struct __sk_buff *skb)
{
	return lh_run_alone(skb, lh_report_run);
}

#define LH_FLUSHES (LH_HELD_MOST + LH_RELEASE_MOST) /* calls of lh_on_release() at the most */

/* What waits in a flow that is about to be forgotten goes on; the core's first word is in sc->act.
 * Under the lock. */
LH_ENTRY int lh_flush(struct __sk_buff *skb, struct lh_flow *f, struct lh_env *env,
		      struct lh_scratch *sc)
{
	int i;

	if (!f || !env || !sc || !(lh_setup.policy & LH_POLICY_SEQUENCE))
		return 0;
	bpf_for (i, 0, LH_FLUSHES) {
		if (!sc->act.nr_release)
			break;
		lh_release_on(skb, f, env, sc);
		lh_on_release(env, f, &sc->act);
	}
	return 0;
}

/* One entry of the sweep that is in use. @of: enum lh_sweep_of. @return 1: it was removed. */
LH_INLINE int lh_sweep_used(struct __sk_buff *skb, struct lh_flow_entry *e, u32 index,
			    struct lh_env *env, struct lh_scratch *sc, u32 of)
{
	bool fits;

	/* What may be emitted has the family of the test run's packet. */
	fits = (e->key.family == 6) == (skb->protocol == lh_be16(0x86dd));
	if (of != LH_SWEEP_OVER && !fits)
		return 0;
	if (!lh_lock(e))
		return 0;
	if (!e->used || (of == LH_SWEEP_UNWANTED && lh_wanted(&e->key))) {
		/* Other programs have followed. Those from before the kernel keeps for as long as a timer is to
		 * call them: for months, with connections that stay. */
		if (e->used && !lh_setup.realtime)
			lh_timer_begin(index);
		lh_unlock(e);
		return 0;
	}
	if (of != LH_SWEEP_OVER || lh_flow_over(env, &e->flow)) {
		u32 copies;

		lh_carry_test_run(sc);
		lh_on_release(env, &e->flow, &sc->act);
		copies = sc->act.emit_held;
		if (copies)
			lh_held_to_slot(&e->held, &sc->slot, sc->act.held_window);
		if (fits)
			lh_flush(skb, &e->flow, env, sc);
		lh_flow_remove(env, e, index);
		if (copies && fits)
			lh_send_held(skb, sc, env, 0);
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

/* One entry of the sweep. By itself, so that a packet for which there is no place beside it (lh_cpu_claim)
 * is one of few. @return 1: it was removed. */
LH_ENTRY int lh_sweep_one(struct __sk_buff *skb, u32 index, struct lh_scratch *sc, u32 of)
{
	struct lh_flow_entry *v = lh_flow_at(index);
	struct lh_env *env;
	int removed = 0;

	if (!v || !sc || !v->used || !lh_cpu_claim(sc))
		return 0;
	env = lh_env(skb);
	if (env) {
		removed = lh_sweep_used(skb, v, index, env, sc, of);
		lh_env_done(env);
	}
	lh_cpu_done(sc);
	return removed;
}

/* Test run by user space: forgets flows that are over in the range
 * [cb[LH_CB_FLOW], + cb[LH_CB_GENERATION]), or others of the packet's family as cb[LH_CB_SWEEP]
 * says. @return how many. */
SEC("tc")
int lh_sweep(struct __sk_buff *skb)
{
	u32 first = skb->cb[LH_CB_FLOW], n = skb->cb[LH_CB_GENERATION];
	u32 of = skb->cb[LH_CB_SWEEP];
	struct lh_scratch *sc = lh_scratch();
	int i, removed = 0;

	if (!sc)
		return 0;
	bpf_for (i, 0, LH_SWEEP_MAX) {
		if ((u32)i >= n)
			break;
		removed += lh_sweep_one(skb, first + i, sc, of);
	}
	return removed;
}

/* Copies a flow that is in use. @return how many that are. */
LH_ENTRY int lh_show_one(u32 index, u32 at)
{
	struct lh_flow_entry *e = lh_flow_at(index);

	return e && e->used && !bpf_map_update_elem(&shown, &at, e, BPF_ANY);
}

/* Test run by user space: copies to map `shown` what is in use of the range
 * [cb[LH_CB_FLOW], + cb[LH_CB_GENERATION]), LH_SHOWN flows at most. @return how many. */
SEC("tc")
int lh_show(struct __sk_buff *skb)
{
	u32 first = skb->cb[LH_CB_FLOW], n = skb->cb[LH_CB_GENERATION];
	int i, found = 0;

	bpf_for (i, 0, LH_SWEEP_MAX) {
		if ((u32)i >= n || found >= LH_SHOWN)
			break;
		found += lh_show_one(first + i, found);
	}
	return found;
}

LH_INLINE int lh_give_run(struct __sk_buff *skb, struct lh_scratch *sc)
{
	struct lh_env *env = lh_env(skb);

	if (!env)
		return 1;
	lh_host_put_slot(env, skb->cb[LH_CB_FLOW]);
	env->slots_taken = 0; /* nobody had it */
	return 0;
}

/* Test run by user space: the slot cb[LH_CB_FLOW], one of fewer than a batch, is free. @return 1: the CPU was
 * busy, run again; else 0. */
SEC("tc")
int lh_give(struct __sk_buff *skb)
{
	return lh_run_alone(skb, lh_give_run);
}

#endif /* LH_KICK_BPF_H */
