/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flow table: key -> index -> entry, the entry's lock, its timer. Entries
 * are given out from a stack and taken back by the sweep only, so that no
 * flow with a held ACK ever vanishes (an LRU map would do that).
 */
#ifndef LH_TABLE_BPF_H
#define LH_TABLE_BPF_H

#include "host.bpf.h"

/* Four milliseconds of waiting at the most; then the packet passes. The lock is
 * held for a few microseconds, but who runs a virtual machine may take the CPU
 * away that holds it, for a slice or so of its scheduler, and a data segment that
 * passes unseen looks like a loss upstream (with 50 us one did in ten seconds at
 * 20 % loss: the sender saw 40 holes; docs/decisions.md, D72). With PREEMPT_RT who
 * holds it can be preempted for as long as it takes, and who waits has a deadline.
 * By the clock: a turn takes 2 ns on one CPU and 10 ns on another. It is read once
 * in LH_LOCK_SPINS turns, about a microsecond; the turns are bounded for whoever
 * has a clock that stands still (40 ms).
 * bpf_spin_lock is out: no bpf_for under it before 6.14. A global function: what
 * comes behind a loop of its own Linux 6.8's verifier can't prune (lh_leave). */
#define LH_LOCK_WAIT_NS (4 * LH_MSEC)
#define LH_LOCK_WAIT_REALTIME_NS (LH_MSEC / 2)
#define LH_LOCK_SPINS 128
#define LH_LOCK_SPINS_MAX (4 << 20)

LH_ENTRY int lh_lock_word(u32 *lock)
{
	u64 since = 0, now, most;
	int i, got = 0;

	if (!lock)
		return 0;
	most = lh_setup.realtime ? LH_LOCK_WAIT_REALTIME_NS : LH_LOCK_WAIT_NS;
	bpf_for (i, 0, LH_LOCK_SPINS_MAX) {
		if (!*(volatile u32 *)lock && !__sync_val_compare_and_swap(lock, 0, 1)) {
			got = 1;
			break;
		}
		if (i % LH_LOCK_SPINS)
			continue;
		now = bpf_ktime_get_ns();
		if (!since)
			since = now;
		if (now - since >= most)
			break;
	}
	return got;
}

LH_INLINE void lh_unlock_word(u32 *lock)
{
	__sync_lock_test_and_set(lock, 0);
}

LH_INLINE int lh_lock(struct lh_flow_entry *e)
{
	return lh_lock_word(&e->lock);
}

LH_INLINE void lh_unlock(struct lh_flow_entry *e)
{
	lh_unlock_word(&e->lock);
}

LH_INLINE bool lh_key_equal(const struct lh_flow_key *a, const struct lh_flow_key *b)
{
	const u32 *x = (const u32 *)a, *y = (const u32 *)b;
	u32 diff = 0;
	int i;

	_Static_assert(sizeof(*a) % 4 == 0, "compared by words");
#pragma unroll
	for (i = 0; i < (int)(sizeof(*a) / 4); i++)
		diff |= x[i] ^ y[i];
	return !diff;
}

/* Asks user space to run lh_kick for the flow; once per kick. */
LH_INLINE void lh_send_event(struct lh_flow_entry *e, u32 index)
{
	struct lh_event event = {
		.flow = index,
		.generation = e->generation,
		.family = e->key.family,
	};

	if (e->kick_sent)
		return;
	e->kick_sent = 1; /* before the event: the kick may run at once */
	if (lh_put_event(&event))
		e->kick_sent = 0;
}

/* Arms for @at_ns, unless a call of the core's has armed for what it wants. @return @at_ns, 0: it has. */
LH_INLINE u64 lh_arm_once_more(struct lh_flow_entry *e, u64 at_ns)
{
	return __sync_val_compare_and_swap(&e->armed_ns, 0, at_ns) ? 0 : at_ns;
}

/* The timer of flow @index fires: has it kicked if it is due. @return when the timer is to fire once more,
 * which is in e->armed_ns too, unless a call of the core's has come to want it earlier; 0: not. Late rather
 * than often: whoever moves the deadline later leaves the timer as it is, and it is armed anew here. */
LH_INLINE u64 lh_time_comes(struct lh_flow_entry *e, u32 index, u64 now)
{
	u64 due, later;

	/* Full barriers here and in lh_set_deadline(): either we see its new
	 * deadline, or it sees that we are not armed any more. */
	__sync_lock_test_and_set(&e->armed_ns, 0);
	due = *(volatile u64 *)&e->deadline_ns;
	if (!due)
		return 0;
	/* A thousand flows in an outage are no thousand kicks per probe. */
	later = lh_outage_stands_by(NULL, &e->flow, now);
	due = lh_max(due, later);
	if (now < due)
		return lh_arm_once_more(e, due);
	lh_send_event(e, index);
	if (e->kick_sent)
		return 0;
	/* The ring buffer is full: user space is behind. */
	return lh_arm_once_more(e, now + LH_MSEC);
}

/* The kernel's timer of a flow. */
static int lh_timer_fires(void *map, u32 *index, struct lh_timer *t)
{
	struct lh_flow_entry *e = lh_flow_at(*index);
	u64 now = bpf_ktime_get_ns(), again, armed;

	again = e ? lh_time_comes(e, *index, now) : 0;
	if (!again)
		return 0;
	bpf_timer_start(&t->timer, again - now, 0);
	/* Whoever started it for an earlier time since ours was decided has lost that. */
	armed = __sync_fetch_and_add(&e->armed_ns, 0);
	if (armed && armed < again)
		bpf_timer_start(&t->timer, armed > now ? armed - now : 0, 0);
	return 0;
}

/* Where the kernel has no timer for the flow: has user space run lh_due at e->armed_ns. What finds no room
 * in the ring buffer is armed by the next call of the core, or by the sweep. */
LH_ENTRY int lh_arm_in_user_space(struct lh_flow_entry *e, u64 now_ns)
{
	struct lh_event event = {};
	u64 in_ns, polls_ns, wakes = 0;

	if (!e)
		return 0;
	in_ns = e->armed_ns > now_ns ? e->armed_ns - now_ns : 0;
	event.flow = e->index;
	event.generation = e->generation;
	event.family = e->key.family;
	event.in_us = lh_min(in_ns / 1000 + 1, (u64)(u32)-1);
	e->armed_outside = 1;
	polls_ns = *(volatile u64 *)&lh_shared.polls_until_ns;
	if (polls_ns)
		wakes = in_ns > 2 * LH_POLL_NS && polls_ns > now_ns + LH_POLL_NS
				? BPF_RB_NO_WAKEUP
				: BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&events, &event, sizeof(event), wakes))
		e->armed_ns = 0;
	return 0;
}

/* Starts the timer of a flow. @return false: there is none. PREEMPT_RT refuses them all (up to 7.3), and any
 * kernel one for which it has no memory at hand: 6.18 refused a flow in two, of 25,000 that came 2,000 a
 * second. */
LH_INLINE bool lh_arm(struct lh_flow_entry *e, u64 in_ns)
{
	u32 index = e->index;
	struct lh_timer *t;

	if (lh_setup.realtime)
		return false;
	t = bpf_map_lookup_elem(&timers, &index);
	return t && !bpf_timer_start(&t->timer, in_ns, 0);
}

/* Makes it, for the first flow of an entry; EBUSY later. From then on it calls these programs. */
LH_INLINE void lh_timer_begin(u32 index)
{
	struct lh_timer *t = bpf_map_lookup_elem(&timers, &index);

	if (!t || lh_setup.test_no_timers)
		return;
	bpf_timer_init(&t->timer, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&t->timer, lh_timer_fires);
}

LH_INLINE void lh_timer_end(u32 index)
{
	struct lh_timer *t = bpf_map_lookup_elem(&timers, &index);

	if (t)
		bpf_timer_cancel(&t->timer);
}

/* Called under the lock after every call of the core. */
LH_INLINE void lh_set_deadline(struct lh_flow_entry *e, u64 deadline_ns, u64 now_ns)
{
	u64 armed;

	*(volatile u64 *)&e->deadline_ns = deadline_ns;
	if (lh_setup.test_clock || !deadline_ns)
		return;
	armed = __sync_fetch_and_add(&e->armed_ns, 0);
	if (armed && armed <= deadline_ns)
		return;
	e->armed_ns = deadline_ns;
	e->armed_outside = 0;
	if (!lh_arm(e, deadline_ns > now_ns ? deadline_ns - now_ns : 0))
		lh_arm_in_user_space(e, now_ns);
}

/* Whether the first @bits of two addresses agree. */
LH_INLINE bool lh_prefix_covers(const u8 *rule, const u8 *addr, u32 bits)
{
	int i;

	for (i = 0; i < 16; i++) {
		u32 left = bits > (u32)i * 8 ? bits - i * 8 : 0;
		u8 mask = left >= 8 ? 0xff : (u8)(0xff00 >> left);

		if ((rule[i] ^ addr[i]) & mask)
			return false;
	}
	return true;
}

LH_INLINE bool lh_rule_covers(const struct lh_rule *r, const struct lh_flow_key *key)
{
	if (r->family && r->family != key->family)
		return false;
	return (lh_prefix_covers(r->addr, key->mh, r->prefix_bits) &&
		(!r->port || r->port == key->mh_port)) ||
	       (lh_prefix_covers(r->addr, key->fh, r->prefix_bits) &&
		(!r->port || r->port == key->fh_port));
}

/* --match and --exclude, asked once per flow. A global function: the verifier
 * looks at it once, not in every state of its callers. */
__attribute__((noinline)) int lh_wanted(const struct lh_flow_key *key)
{
	bool matched = !lh_setup.has_match, excluded = false;
	int i;

	if (!key)
		return 0;
	bpf_for (i, 0, LH_MAX_RULES) {
		struct lh_rule *r;
		u32 id = i;

		if (id >= lh_setup.nr_rules)
			break;
		r = bpf_map_lookup_elem(&rules, &id);
		if (!r || !lh_rule_covers(r, key))
			continue;
		if (r->action == LH_RULE_EXCLUDE)
			excluded = true;
		else
			matched = true;
	}
	return matched && !excluded;
}

/* Repairs that the flow can take on: what it defers must not get lost. */
LH_INLINE void lh_set_room(struct lh_env *env, const struct lh_flow_entry *e)
{
	env->room = LH_PENDING_MAX - lh_min(e->nr_pending, (u32)LH_PENDING_MAX);
}

#define LH_HINT_BITS 20 /* of an index: max_flows is no more than 1,000,000 */
#define LH_HINT_INDEX ((1U << LH_HINT_BITS) - 1)

/* Multilinear (Carter and Wegman 1979), cheaper than the table's own: who finds out how to let flows collide makes
 * each of their packets ask the table, no more. */
LH_INLINE u32 lh_hint_hash(const struct lh_flow_key *key)
{
	const u32 *w = (const u32 *)key;
	u64 odd = 0x9e3779b97f4a7c15ULL, sum = 0;
	u32 i;

	_Static_assert(sizeof(*key) % 4 == 0, "taken by words");
#pragma unroll
	for (i = 0; i < sizeof(*key) / 4; i++) {
		sum += w[i] * odd;
		odd = odd << 7 | odd >> 57;
	}
	return sum >> 32;
}

/* Index of @key's flow by the table, which the hint at @hint keeps as @tag | index. @return index + 1, 0: there is
 * none. A global function: mostly the hint is right. */
LH_ENTRY u32 lh_flow_listed(const struct lh_flow_key *key, u64 *hint, u32 tag)
{
	u32 *id;

	if (!key || !hint)
		return 0;
	id = bpf_map_lookup_elem(&flow_ids, key);
	if (!id)
		return 0;
	*hint = *hint << 32 | tag | (*id & LH_HINT_INDEX);
	return *id + 1;
}

/* The entry that the hint at @hint says has @key, NULL: none, or it is another's. Sets @index. */
LH_INLINE struct lh_flow_entry *lh_flow_hinted(const struct lh_flow_key *key, const u64 *hint,
					       u32 tag, u32 *index)
{
	struct lh_flow_entry *v;
	u64 both = *hint;
	u32 place = both;

	if ((place ^ tag) & ~LH_HINT_INDEX)
		place = both >> 32;
	if ((place ^ tag) & ~LH_HINT_INDEX)
		return NULL;
	*index = place & LH_HINT_INDEX;
	v = lh_flow_at(*index);
	return v && v->used && lh_key_equal(&v->key, key) ? v : NULL;
}

/* The entry that has @key, or had it: not locked. NULL: none. @index is set with it. */
LH_INLINE struct lh_flow_entry *lh_flow_seek(const struct lh_flow_key *key, u32 *index)
{
	u32 hash = lh_hint_hash(key), tag = hash & ~LH_HINT_INDEX, at, place;
	struct lh_flow_entry *v;
	u64 *hint;

	at = (u64)(hash * 0x85ebca6bU) * lh_setup.nr_flows >> 32;
	hint = bpf_map_lookup_elem(&flow_hints, &at);
	if (!hint)
		return NULL;
	v = lh_flow_hinted(key, hint, tag, index);
	if (v)
		return v;
	place = lh_flow_listed(key, hint, tag);
	if (!place)
		return NULL;
	*index = place - 1;
	return lh_flow_at(*index);
}

/* Whether something has passed without a look since the flow was last found: it may have been of this
 * one. Under the lock. */
LH_INLINE void lh_look_for_passed(struct lh_flow_entry *e)
{
	u32 passed;

	if (!lh_setup.realtime)
		return;
	passed = *(volatile u32 *)&lh_shared.passed;
	if (e->passed == passed)
		return;
	e->passed = passed;
	e->flow.missed = 1;
}

#define LH_FLOW_BUSY 0xffffffffU /* in place of an index: another CPU has it */

/* The locked entry of @key, NULL: none, or busy, which @index tells then. @index is set with it. */
LH_INLINE struct lh_flow_entry *lh_flow_find(struct lh_env *env, const struct lh_flow_key *key,
					     u32 *index)
{
	struct lh_flow_entry *v = lh_flow_seek(key, index);

	if (!v)
		return NULL;
	/* Mostly nobody else has it: neither a call nor a loop for that. */
	if (__sync_val_compare_and_swap(&v->lock, 0, 1) && !lh_lock(v)) {
		*(volatile u32 *)&v->flow.missed = 1;
		lh_host_count(env, LH_C_bypass_lock, 1);
		*index = LH_FLOW_BUSY;
		return NULL;
	}
	if (v->used && lh_key_equal(&v->key, key)) {
		lh_set_room(env, v);
		lh_look_for_passed(v);
		return v;
	}
	lh_unlock(v); /* removed, and perhaps given to another, since */
	return NULL;
}

/* The SYN that is remembered of a connection, NULL: none is. */
LH_INLINE struct lh_syn *lh_syn_kept(const struct lh_flow_key *key)
{
	struct lh_syn *kept = NULL;
	u32 which = LH_SYNS_MANY;
	void *in = bpf_map_lookup_elem(&syns, &which);

	if (in)
		kept = bpf_map_lookup_elem(in, key);
	if (kept)
		return kept;
	which = LH_SYNS_FEW;
	in = bpf_map_lookup_elem(&syns, &which);
	return in ? bpf_map_lookup_elem(in, key) : NULL;
}

/* Remembers sc->seg, a SYN, beside what is known of the other end's. */
LH_ENTRY int lh_syn_keep(struct lh_env *env, struct lh_scratch *sc, u32 from_mh)
{
	struct lh_syn *kept;
	u32 which = LH_SYNS_MANY;
	void *in;

	if (!env || !sc)
		return 0;
	kept = lh_syn_kept(&sc->key);
	if (kept)
		sc->syn = *kept;
	lh_syn_aside(&sc->syn, &sc->seg, from_mh, env->now_ns);
	in = bpf_map_lookup_elem(&syns, &which);
	if (!in) {
		which = LH_SYNS_FEW;
		in = bpf_map_lookup_elem(&syns, &which);
	}
	if (in)
		bpf_map_update_elem(in, &sc->key, &sc->syn, BPF_ANY);
	return 0;
}

/*
 * Whether sc->seg, of a connection that has no entry, may have one. While too many are
 * unanswered a SYN is but remembered, and the answer to one that was is worth an entry: sc->syn
 * is the SYN that sc->seg answers, or none.
 */
LH_INLINE bool lh_flow_admit(struct lh_env *env, struct lh_scratch *sc, bool from_mh)
{
	const struct lh_flow_key *key = &sc->key;
	const struct lh_segment *s = &sc->seg;
	u32 kind = s->flags & (LH_SYN | LH_ACK);
	struct lh_syn *syn = &sc->syn, *kept;

	__builtin_memset(syn, 0, sizeof(*syn));
	if (kind == (LH_SYN | LH_ACK)) {
		kept = lh_syn_kept(key);
		if (kept && lh_syn_answered(kept, s, from_mh)) {
			*syn = *kept;
			return true;
		}
	}
	if (env->handshakes)
		return true;
	if (kind == LH_SYN)
		lh_syn_keep(env, sc, from_mh);
	lh_host_count(env, LH_C_bypass_unanswered, 1);
	return false;
}

/* Counts a flow that is new, and asks for more places if it leaves few: in the table, or among the
 * unanswered. A global function, for the stack of its callers. */
LH_ENTRY int lh_count_flow(void)
{
	u64 used = __sync_fetch_and_add(&lh_shared.flows_used, 1) + 1;
	u64 unanswered = __sync_fetch_and_add(&lh_shared.unanswered, 1) + 1;

	if (lh_runs_low(used, lh_shared.flows_there, lh_shared.flows_most) ||
	    (lh_shared.syns_there < lh_shared.syns_most &&
	     unanswered * LH_UNANSWERED_PART > lh_setup.nr_flows / 2))
		lh_ask_for_more();
	return 0;
}

/* A new entry for sc->key, locked, that has joined no receiver yet. @index: as lh_flow_find() left it, and its.
 * NULL: it has one, which is busy, it is not admitted, filtered, there is no room, or another CPU was
 * faster; the packet passes unassisted. */
LH_FUNC struct lh_flow_entry *lh_flow_create(struct lh_env *env, struct lh_scratch *sc,
					     bool from_mh, u32 *index)
{
	const struct lh_flow_key *key = &sc->key;
	struct lh_flow_entry *e;
	u32 id = 0;

	if (*index == LH_FLOW_BUSY || !lh_flow_admit(env, sc, from_mh))
		return NULL;
	if ((lh_setup.has_match || lh_setup.nr_rules) && !lh_wanted(key)) {
		lh_host_count(env, LH_C_bypass_filtered, 1);
		return NULL;
	}
	if (bpf_map_pop_elem(&free_flows, &id) && lh_pop_aside(LH_POOL_FLOWS, &id)) {
		/* There may be more by the time that it is answered. */
		if ((sc->seg.flags & (LH_SYN | LH_ACK)) == LH_SYN)
			lh_syn_keep(env, sc, from_mh);
		lh_host_count(env, LH_C_bypass_table_full, 1);
		return NULL;
	}
	e = lh_flow_at(id);
	if (!e)
		return NULL;
	if (!lh_lock(e))
		goto undo;
	e->key = *key;
	e->used = 1;
	e->generation++;
	e->index = id;
	e->nr_pending = 0;
	e->nr_tell = e->nr_absent = 0;
	e->tell_each = 0;
	e->partner = 0; /* the next flow's receiver may have none */
	e->partner_ns = 0;
	e->kick_sent = 0;
	e->created_ns = env->now_ns;
	e->passed = *(volatile u32 *)&lh_shared.passed;
	e->held.bytes = 0;
	env->room = LH_MAX_RETRANSMIT;
	lh_flow_reset(env, &e->flow);
	e->flow.conn.syn = sc->syn;
	e->flow.peer = 0; /* of the connection that had this place before */
	if (!lh_setup.realtime)
		lh_timer_begin(id);
	if (bpf_map_update_elem(&flow_ids, key, &id, BPF_NOEXIST)) {
		e->used = 0;
		lh_unlock(e);
		goto undo;
	}
	lh_count_flow();
	lh_host_count(env, LH_C_flows_created, 1);
	*index = id;
	return e;
undo:
	bpf_map_push_elem(&free_flows, &id, 0);
	return NULL;
}

/* What of a flow the shared sums count. */
#define LH_WEIGHT_ACTIVE 1 /* it has something cached */
#define LH_WEIGHT_UNANSWERED 2

LH_INLINE u32 lh_weight(const struct lh_flow *f)
{
	return (lh_cached(f) ? LH_WEIGHT_ACTIVE : 0) | (lh_answered(f) ? 0 : LH_WEIGHT_UNANSWERED);
}

/* Keeps the shared sums. @before: lh_weight() when the lock was taken. */
LH_INLINE void lh_count_weight(u32 before, u32 after)
{
	u32 gained = after & ~before, lost = before & ~after;

	if (gained & LH_WEIGHT_ACTIVE)
		__sync_fetch_and_add(&lh_shared.active_flows, 1);
	if (lost & LH_WEIGHT_ACTIVE)
		__sync_fetch_and_add(&lh_shared.active_flows, -1ULL);
	if (gained & LH_WEIGHT_UNANSWERED)
		__sync_fetch_and_add(&lh_shared.unanswered, 1);
	if (lost & LH_WEIGHT_UNANSWERED)
		__sync_fetch_and_add(&lh_shared.unanswered, -1ULL);
}

/* Forgets the locked flow and gives its entry back; the lock is gone too. */
LH_INLINE void lh_flow_remove(struct lh_env *env, struct lh_flow_entry *e, u32 index)
{
	u32 before = lh_weight(&e->flow);

	lh_flow_free(env, &e->flow);
	lh_count_weight(before, 0);
	if (!lh_setup.realtime)
		lh_timer_end(index);
	e->armed_ns = 0;
	e->deadline_ns = 0;
	e->used = 0;
	e->generation++;
	bpf_map_delete_elem(&flow_ids, &e->key);
	__sync_fetch_and_add(&lh_shared.flows_used, -1ULL);
	lh_host_count(env, LH_C_flows_removed, 1);
	lh_unlock(e);
	bpf_map_push_elem(&free_flows, &index, 0);
}

#endif /* LH_TABLE_BPF_H */
