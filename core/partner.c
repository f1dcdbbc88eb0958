/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "partner.h"

LH_INLINE bool lh_sender_equal(const struct lh_sender *a, const struct lh_sender *b)
{
	return a->family == b->family && lh_bytes_equal(a->addr, b->addr, 16);
}

LH_INLINE struct lh_partner *lh_partner_at(struct lh_partners *t, u32 i)
{
	lh_barrier(i);
	return &t->partner[i & (LH_MAX_PARTNERS - 1)];
}

LH_INLINE bool lh_partner_up(const struct lh_partner *partner, u64 now_ns)
{
	return partner->epoch && partner->confirmed &&
	       lh_since(now_ns, partner->heard_ns) < LH_PARTNER_ALIVE_NS;
}

/* Whether another sender may have the place. */
LH_INLINE bool lh_partner_spare(const struct lh_partner *l, u64 now_ns)
{
	u64 after = l->confirmed ? LH_PARTNER_FORGET_NS : LH_PARTNER_ALIVE_NS;

	return !l->epoch || lh_since(now_ns, l->heard_ns) >= after;
}

/*
 * One place of the table, looked at for a message: is it its sender's, a later life of that, or to
 * be had? What is found stands in @t. An entry of its own: see lh_parse_next().
 */
LH_ENTRY int lh_partner_look(struct lh_partners *t, const struct lh_message *m, u32 i, u64 now_ns)
{
	struct lh_partner *l;
	bool same;

	if (!t || !m)
		return 0;
	l = lh_partner_at(t, i);
	if (l->epoch == m->epoch) {
		t->found = i + 1;
		return 0;
	}
	if (lh_partner_spare(l, now_ns)) {
		if (!t->place)
			t->place = i + 1;
		return 0;
	}
	same = lh_sender_equal(&l->at, &m->from);
	if (same && l->epoch > m->epoch)
		t->rival |= lh_since(now_ns, l->heard_ns) < LH_PARTNER_ALIVE_NS;
	else if (same && !l->confirmed)
		t->place = i + 1; /* one such place for each address */
	return 0;
}

/* Whether the counter has come before, or is too old to tell. */
LH_INLINE bool lh_replayed(const struct lh_replay *r, u64 counter)
{
	if (counter > r->top)
		return false;
	return r->top - counter >= LH_PARTNER_WINDOW || (r->seen >> (r->top - counter) & 1);
}

LH_INLINE void lh_replay_mark(struct lh_replay *r, u64 counter)
{
	if (counter <= r->top) {
		r->seen |= 1ULL << (r->top - counter);
		return;
	}
	if (counter - r->top >= LH_PARTNER_WINDOW)
		r->seen = 0;
	else
		r->seen <<= counter - r->top;
	r->seen |= 1;
	r->top = counter;
}

/* A token bucket in one number (GCRA): the time at which the messages so far would have come at
 * the rate that is allowed may be ahead by a burst. */
LH_INLINE bool lh_partner_spend(struct lh_partner *l, u64 now_ns)
{
	u64 step = LH_SEC / LH_PARTNER_RATE, spent = lh_max(l->spent_ns, now_ns);

	if (spent - now_ns > (LH_PARTNER_BURST - 1) * step)
		return false;
	l->spent_ns = spent + step;
	return true;
}

/* The hop's round trip once more. */
LH_INLINE void lh_partner_sample(struct lh_partner *l, u64 rtt, u64 now_ns)
{
	u64 age = lh_since(now_ns, l->rtt_since_ns);

	if (!l->rtt_now_ns || age >= LH_PARTNER_RTT_NS) {
		l->rtt_before_ns = age < 2 * LH_PARTNER_RTT_NS ? l->rtt_now_ns : 0;
		l->rtt_now_ns = 0;
		l->rtt_since_ns = now_ns;
	}
	l->rtt_now_ns = lh_least(l->rtt_now_ns, rtt);
	l->rtt_min_ns = lh_least(l->rtt_before_ns, l->rtt_now_ns);
	l->srtt_ns = l->srtt_ns ? l->srtt_ns - l->srtt_ns / 8 + rtt / 8 : rtt; /* RFC 6298 */
}

/* A HELLO that answers one of ours: its sender lives, and is so far away, at most. The time for
 * which it kept ours is by its own clock: of samples that err both ways the least would be a wrong
 * one. */
LH_INLINE void lh_partner_answered(struct lh_partner *l, const struct lh_hello *hello, u64 now_ns)
{
	u64 round = lh_since(now_ns, hello->echo_time_ns), kept = hello->kept_ns, doubt;

	if (hello->echo_time_ns > now_ns || round > LH_PARTNER_ANSWER_NS)
		return;
	l->confirmed = 1;
	doubt = round / LH_PARTNER_DRIFT;
	if (kept <= round + doubt)
		lh_partner_sample(l, lh_max(round + doubt - kept, 1ULL), now_ns);
}

/* The earlier lives of a sender are over, and what has not answered in its name. A later one that has
 * is not: who was first heard at another address may have come to this one late. */
LH_ENTRY int lh_partners_end(struct lh_partners *t, u32 but)
{
	struct lh_partner *l, *now;
	int i;

	if (!t)
		return 0;
	now = lh_partner_at(t, but);
	lh_for (i, LH_MAX_PARTNERS) {
		l = lh_partner_at(t, i);
		if ((u32)i != but && l->epoch && lh_sender_equal(&l->at, &now->at) &&
		    (l->epoch < now->epoch || !l->confirmed))
			l->epoch = 0;
	}
	return 0;
}

/* The newest HELLO of its stream. @return 1: it has confirmed the link. */
LH_ENTRY int lh_partner_heard(struct lh_partner *l, const struct lh_message *m, u64 epoch,
			      u64 now_ns)
{
	struct lh_hello hello;
	bool before;

	if (!l || !m || !lh_hello_get(m, &hello))
		return 0;
	before = l->confirmed;
	/* Who speaks both families is written to in the one that was heard first. */
	if (l->at.family == m->from.family || lh_since(now_ns, l->at_ns) >= LH_PARTNER_ALIVE_NS) {
		l->at = m->from;
		l->at_ns = now_ns;
	}
	l->can = hello.can;
	l->hello_ns = now_ns;
	l->hello_time_ns = hello.time_ns;
	if (hello.echo_epoch == epoch)
		lh_partner_answered(l, &hello, now_ns);
	return l->confirmed && !before;
}

/* A message that belongs to the link. */
LH_ENTRY int lh_partner_take(struct lh_partner *l, const struct lh_message *m, u64 now_ns)
{
	struct lh_replay *r;

	if (!l || !m)
		return LH_OPENED_MALFORMED;
	r = &l->stream[m->stream == LH_STREAM_KERNEL];
	if (lh_replayed(r, m->counter)) {
		l->nr_replayed++;
		return LH_OPENED_REPLAYED;
	}
	if (m->type != LH_MESSAGE_HELLO && !l->confirmed) {
		l->nr_unconfirmed++;
		return LH_OPENED_UNCONFIRMED;
	}
	lh_replay_mark(r, m->counter);
	/* By HELLO the link lives, whatever else there is too much of. */
	if (m->type != LH_MESSAGE_HELLO && !lh_partner_spend(l, now_ns)) {
		l->nr_limited++;
		return LH_OPENED_LIMITED;
	}
	l->heard_ns = now_ns;
	l->nr_accepted++;
	return LH_OPENED;
}

/* The link of the message's sender, a new one if need be and may be: @return index + 1, or a
 * negative enum lh_opened. */
LH_ENTRY int lh_partners_place(struct lh_partners *t, const struct lh_message *m, u64 now_ns)
{
	struct lh_partner *l;
	int i;

	if (!t || !m)
		return -LH_OPENED_MALFORMED;
	t->found = t->place = t->rival = 0;
	lh_for (i, LH_MAX_PARTNERS)
		lh_partner_look(t, m, i, now_ns);
	if (t->found)
		return t->found;
	if (m->type != LH_MESSAGE_HELLO)
		return -LH_OPENED_UNCONFIRMED;
	if (t->rival)
		return -LH_OPENED_REPLAYED;
	if (!t->place)
		return -LH_OPENED_FULL;
	l = lh_partner_at(t, t->place - 1);
	__builtin_memset(l, 0, sizeof(*l));
	l->epoch = m->epoch;
	l->first_ns = l->at_ns = now_ns;
	l->at = m->from;
	return t->place;
}

LH_ENTRY int lh_partners_take(struct lh_partners *t, const struct lh_message *m, u64 now_ns)
{
	struct lh_partner *l;
	int at, opened;

	if (!t || !m)
		return LH_OPENED_MALFORMED;
	if (m->epoch == t->epoch)
		return LH_OPENED_OWN;
	at = lh_partners_place(t, m, now_ns);
	if (at <= 0)
		return -at;
	l = lh_partner_at(t, at - 1);
	opened = lh_partner_take(l, m, now_ns);
	/* An older HELLO that was overtaken has nothing to tell. */
	if (opened == LH_OPENED && m->type == LH_MESSAGE_HELLO &&
	    l->stream[m->stream == LH_STREAM_KERNEL].top == m->counter &&
	    lh_partner_heard(l, m, t->epoch, now_ns))
		lh_partners_end(t, at - 1);
	return opened;
}

LH_INLINE void lh_partner_hello(const struct lh_partner *partner, u64 can, u64 now_ns,
				struct lh_hello *hello)
{
	__builtin_memset(hello, 0, sizeof(*hello));
	hello->can = can;
	hello->time_ns = now_ns;
	if (!partner || !partner->hello_ns)
		return;
	hello->echo_epoch = partner->epoch;
	hello->echo_time_ns = partner->hello_time_ns;
	hello->kept_ns = lh_since(now_ns, partner->hello_ns);
}

LH_ENTRY int lh_partners_find(const struct lh_partners *t, const struct lh_sender *from, u64 now_ns)
{
	u32 found = 0;
	int i;

	if (!t || !from)
		return 0;
	lh_for (i, LH_MAX_PARTNERS) {
		const struct lh_partner *l;
		u32 k = i;

		lh_barrier(k);
		l = &t->partner[k & (LH_MAX_PARTNERS - 1)];
		if (lh_partner_up(l, now_ns) && lh_bytes_equal(l->at.hw, from->hw, 6)) {
			found = k + 1;
			break;
		}
	}
	return found;
}
