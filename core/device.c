/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"

#define LH_PEER_PROBES 4 /* places where one receiver may be found */
#define LH_PEER_IDLE_NS (60 * LH_SEC)

LH_INLINE struct lh_peer *lh_peer_of(struct lh_env *env, const struct lh_flow *f)
{
	u32 i = f->peer;
	struct lh_peer *p;

	lh_barrier(i);
	i &= LH_NR_PEERS(env) - 1;
	p = &LH_DEVICE(env)->peer[i];
	return i && p->tag == f->peer_tag ? p : NULL;
}

LH_INLINE u32 lh_peer_hash(const u8 *addr)
{
	u32 h = 2166136261U; /* FNV-1a */
	int i;

	for (i = 0; i < 16; i++)
		h = (h ^ addr[i]) * 16777619U;
	return h ^ h >> 15;
}

LH_INLINE bool lh_peer_is(const struct lh_peer *p, const u8 *addr)
{
	u8 diff = 0;
	int i;

	for (i = 0; i < 16; i++)
		diff |= p->addr[i] ^ addr[i];
	return !diff;
}

LH_INLINE void lh_peer_gain(struct lh_device *d, struct lh_peer *p)
{
	if (!__sync_fetch_and_add(&p->active, 1))
		__sync_fetch_and_add(&d->busy_peers, 1);
}

LH_INLINE void lh_peer_lose(struct lh_device *d, struct lh_peer *p)
{
	s32 before;

	/* Another receiver had the place meanwhile: the flow is of those that were counted before that. */
	if (!p->active)
		return;
	before = __sync_fetch_and_add(&p->active, -1U);
	if (before == 1)
		__sync_fetch_and_add(&d->busy_peers, -1U);
	/* So was another CPU's. Who comes in between makes 0 of it, and the receiver no busy one: this does. */
	if (before <= 0)
		lh_peer_gain(d, p);
}

/* Whether nobody has used the place for a minute, if the receiver that has it was seen then. */
LH_INLINE bool lh_peer_unused(const struct lh_env *env, const struct lh_peer *p, u64 seen_ns)
{
	u64 used_ns = lh_max(seen_ns, p->heard_ns); /* keystrokes give no samples */

	return !seen_ns || lh_since(env->now_ns, used_ns) > LH_PEER_IDLE_NS;
}

/*
 * The place is that of the receiver @addr from now on. @return false: another CPU has just given it away. What
 * that has counted since must not be cleared, so who changes seen_ns first has it; and a flow of the receiver
 * before may be counted meanwhile.
 */
LH_INLINE bool lh_peer_reset(struct lh_env *env, struct lh_peer *p, const u8 *addr, u32 tag)
{
	const u32 seen = offsetof(struct lh_peer, seen_ns) + sizeof(p->seen_ns);
	const u32 active = offsetof(struct lh_peer, active), behind = active + sizeof(p->active);
	u64 seen_ns = *(volatile u64 *)&p->seen_ns;

	if (!lh_peer_unused(env, p, seen_ns))
		return false;
	if (__sync_val_compare_and_swap(&p->seen_ns, seen_ns, env->now_ns) != seen_ns)
		return false;
	p->tag = 0;
	if ((s32)__sync_lock_test_and_set(&p->active, 0) > 0)
		__sync_fetch_and_add(&LH_DEVICE(env)->busy_peers, -1U);
	__builtin_memset((u8 *)p + seen, 0, active - seen);
	__builtin_memset((u8 *)p + behind, 0, sizeof(*p) - behind);
	__builtin_memcpy(p->addr, addr, sizeof(p->addr));
	p->tag = tag;
	return true;
}

LH_INLINE bool lh_answered(const struct lh_flow *f)
{
	return f->fh.most && f->mh.most;
}

/* What place @at of the table is to a receiver of that address. */
enum lh_place {
	LH_PLACE_OTHERS,
	LH_PLACE_ITS,
	LH_PLACE_UNUSED,
};

/* An entry, for Linux 6.6's verifier: what it learns in one turn of the loop it need not keep apart for
 * the next. @return enum lh_place. */
LH_ENTRY u32 lh_peer_look(struct lh_env *env, const struct lh_flow_key *key, u32 at)
{
	const struct lh_peer *p;

	if (!env || !key || !at)
		return LH_PLACE_OTHERS;
	lh_barrier(at);
	p = &LH_DEVICE(env)->peer[at & (LH_NR_PEERS(env) - 1)];
	if (p->seen_ns && lh_peer_is(p, key->mh))
		return LH_PLACE_ITS;
	return lh_peer_unused(env, p, p->seen_ns) ? LH_PLACE_UNUSED : LH_PLACE_OTHERS;
}

LH_ENTRY int lh_peer_join(struct lh_env *env, struct lh_flow *f, const struct lh_flow_key *key)
{
	u32 hash, found = 0, unused = 0;
	struct lh_peer *p;
	int i;

	if (!env || !f || !key)
		return 0;
	hash = lh_peer_hash(key->mh);
	lh_for (i, LH_PEER_PROBES) {
		u32 at = (hash + i) & (LH_NR_PEERS(env) - 1);
		u32 is = lh_peer_look(env, key, at);

		if (is == LH_PLACE_ITS) {
			found = at;
			break;
		}
		if (is == LH_PLACE_UNUSED && !unused && f->fh.most)
			unused = at;
	}
	if (!found && unused) {
		lh_barrier(unused);
		p = &LH_DEVICE(env)->peer[unused & (LH_NR_PEERS(env) - 1)];
		if (lh_peer_reset(env, p, key->mh, hash))
			found = unused; /* else with MH's next packet */
	}
	if (found && f->fh.most) {
		lh_barrier(found);
		p = &LH_DEVICE(env)->peer[found & (LH_NR_PEERS(env) - 1)];
		p->seen_ns = env->now_ns;
		/* What it has from before it had a place. */
		if (!f->peer && f->ring.tail != f->ring.head)
			lh_peer_gain(LH_DEVICE(env), p);
	}
	f->peer = found;
	f->peer_tag = hash;
	return 0;
}

/* Empties the bins after @old, up to @bin. An entry of its own: lh_ring_reclaim_more(). */
LH_ENTRY int lh_device_empty(struct lh_env *env, u64 old, u64 bin)
{
	struct lh_device *d = LH_DEVICE(env);
	int i;

	if (!env)
		return 0;
	lh_for (i, LH_DEVICE_BINS) {
		u32 k = (bin - i) & (LH_DEVICE_BINS - 1);

		if (bin - i <= old)
			break;
		lh_barrier(k);
		k &= LH_DEVICE_BINS - 1;
		d->bytes[k] = 0;
		d->flows[k] = 0;
	}
	return 0;
}

/* Begins the bin of now, if another one was the newest; who is first empties
 * those in between. */
LH_INLINE void lh_device_turn(struct lh_env *env, u64 bin)
{
	struct lh_device *d = LH_DEVICE(env);
	u64 old = d->bin;

	if (old < bin && __sync_val_compare_and_swap(&d->bin, old, bin) == old)
		lh_device_empty(env, old, bin);
}

/* A division takes as long as a map's look-up, and mostly nothing has changed. */
LH_INLINE u64 lh_bin(struct lh_env *env)
{
	if (env->now_ns - env->bin_ns >= LH_BIN_NS) { /* or before it: another flow's now */
		env->bin = env->now_ns / LH_BIN_NS;
		env->bin_ns = env->bin * LH_BIN_NS;
	}
	return env->bin;
}

LH_INLINE void lh_device_add(struct lh_env *env, u32 bytes, bool first)
{
	u64 bin = lh_bin(env);
	u32 k = bin & (LH_DEVICE_BINS - 1);

	lh_device_turn(env, bin);
	lh_barrier(k);
	k &= LH_DEVICE_BINS - 1;
	__sync_fetch_and_add(&LH_DEVICE(env)->bytes[k], bytes);
	if (first)
		__sync_fetch_and_add(&LH_DEVICE(env)->flows[k], 1);
}

#define LH_RATE_LEAST 1000 /* whoever delivers less has nothing to deliver */
#define LH_RATE_BYTES (1ULL << 34) /* more than that times LH_SEC is more than 64 bits */

LH_INLINE u64 lh_rate_times(u64 rate, u64 ns)
{
	return rate * (ns / 1000) / 1000000;
}

LH_INLINE bool lh_rate_lacks(u64 rate, u64 ns, u64 bytes)
{
	return rate * (ns / 1000) < bytes * 1000000;
}

LH_INLINE u64 lh_rate_time(u64 rate, u64 bytes)
{
	return rate ? lh_min(bytes, LH_RATE_BYTES) * LH_SEC / lh_max(rate, LH_RATE_LEAST) : 0;
}

LH_INLINE u64 lh_rate_time_least(u64 rate, u64 bytes, u64 least)
{
	/* Mostly it is, and needs no division. A product beyond 64 bits says no more than it should. */
	if (lh_min(bytes, LH_RATE_BYTES) * LH_SEC < (least + 1) * lh_max(rate, LH_RATE_LEAST))
		return least;
	return lh_max(least, lh_rate_time(rate, bytes));
}

LH_ENTRY u64 lh_device_rate(struct lh_env *env, u32 bins)
{
	struct lh_device *d = LH_DEVICE(env);
	u64 bin, best = 0;
	int i;

	if (!env)
		return 0;
	bin = lh_bin(env);
	lh_device_turn(env, bin);
	lh_for (i, LH_DEVICE_BINS - 1) {
		u32 k = (bin - 1 - i) & (LH_DEVICE_BINS - 1);

		if ((u32)i >= bins)
			break;
		lh_barrier(k);
		k &= LH_DEVICE_BINS - 1;
		best = lh_max(best, d->bytes[k]);
	}
	return best * (LH_SEC / LH_BIN_NS);
}

LH_ENTRY u64 lh_device_flows(struct lh_env *env)
{
	struct lh_device *d = LH_DEVICE(env);
	u64 bin, n;

	if (!env)
		return 1;
	bin = lh_bin(env);
	lh_device_turn(env, bin);
	n = lh_max(d->flows[bin & (LH_DEVICE_BINS - 1)],
		   d->flows[(bin - 1) & (LH_DEVICE_BINS - 1)]);
	return lh_max(n, 1);
}

LH_INLINE void lh_peer_turn(struct lh_peer *p, u64 bin)
{
	u64 old = p->bin, rate, passed;

	if (old >= bin || __sync_val_compare_and_swap(&p->bin, old, bin) != old)
		return;
	passed = bin - old;
	rate = p->bytes * (LH_SEC / LH_BIN_NS);
	if (passed < 64) {
		p->rate -= p->rate / 64 * passed;
		p->rate_long -= p->rate_long / 256 * passed;
	} else {
		p->rate = p->rate_long = 0;
	}
	p->rate = lh_max(p->rate, rate);
	p->rate_long = lh_max(p->rate_long, rate);
	p->rate_before = passed == 1 ? rate : 0;
	p->flows_before = passed == 1 ? p->flows : 0;
	if (bin / LH_CROWD_BINS != old / LH_CROWD_BINS) {
		p->crowd_before = passed <= LH_CROWD_BINS ? p->crowd : 0;
		p->crowd = 0;
	}
	p->bytes = 0;
	p->flows = 0;
}

LH_INLINE void lh_peer_add(struct lh_env *env, struct lh_peer *p, u32 bytes, u64 last)
{
	u64 bin = lh_bin(env);

	lh_peer_turn(p, bin);
	__sync_fetch_and_add(&p->bytes, bytes);
	__sync_fetch_and_add(&p->delivered, bytes);
	if (last < bin)
		__sync_fetch_and_add(&p->flows, 1);
	if (last / LH_CROWD_BINS < bin / LH_CROWD_BINS)
		__sync_fetch_and_add(&p->crowd, 1);
}

LH_INLINE u32 lh_receiver_delivered(struct lh_env *env, const struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);

	return p ? p->delivered : f->delivery.bytes;
}

LH_INLINE u64 lh_peer_crowd(const struct lh_peer *p)
{
	return lh_max(p->crowd, p->crowd_before);
}

LH_INLINE u64 lh_peer_flows(struct lh_env *env, struct lh_peer *p)
{
	u64 n;

	lh_peer_turn(p, lh_bin(env));
	n = lh_max(p->flows, p->flows_before);
	return lh_max(n, 1);
}
