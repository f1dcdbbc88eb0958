/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flow.h"
#include "arrival.h"
#include "device.h"
#include "replaytime.h"

/* What jumps farther is no loss. */
#define LH_GAP_MOST_BYTES (1U << 22)

LH_INLINE bool lh_tell_heard(struct lh_env *env)
{
	return env->partner & LH_CAN_REPAIR_MISSING;
}

LH_INLINE struct lh_hole *lh_hole_at(struct lh_flow *f, u32 i)
{
	lh_barrier(i);
	return &f->arrival.hole[i & (LH_HOLES - 1)];
}

LH_INLINE void lh_hole_open(struct lh_env *env, struct lh_flow *f, u32 left, u32 right)
{
	u32 n = f->arrival.nr_holes;
	struct lh_hole *h = lh_hole_at(f, n);

	if (right - left > LH_GAP_MOST_BYTES)
		return;
	if (n >= LH_HOLES) {
		lh_host_count(env, LH_C_holes_untold, 1);
		return;
	}
	h->left = left;
	h->right = right;
	h->told_us = h->asked_us = lh_now_us(env);
	h->tries = h->again = h->nr_told = h->waits = 0;
	f->arrival.nr_holes = n + 1;
	lh_host_count(env, LH_C_holes, 1);
}

/* Everything below @right and not below arrival.max is missing: one hole, or one for each packet that
 * it has room for, and the last place is that of the rest. */
LH_ENTRY int lh_holes_open(struct lh_env *env, struct lh_flow *f, u32 right)
{
	u32 left, size;
	int i;

	if (!env || !f)
		return 0;
	left = f->arrival.max;
	size = lh_requests(env) && right - left <= LH_GAP_MOST_BYTES ? f->arrival.size : 0;
	lh_for (i, LH_HOLES) {
		u32 to = right;

		if (size && right - left > size && f->arrival.nr_holes + 1 < LH_HOLES)
			to = left + size;
		lh_hole_open(env, f, left, to);
		left = to;
		if (left == right)
			break;
	}
	return 0;
}

/* Whether @h was told of no later than at @told_us. */
LH_INLINE bool lh_told_before(const struct lh_hole *h, u32 told_us)
{
	return h->tries && !lh_after(h->told_us, told_us);
}

/* Takes the holes out that have been closed (left is right), in order. */
LH_ENTRY int lh_holes_pack(struct lh_flow *f)
{
	int i;

	if (!f)
		return 0;
	f->arrival.kept = 0;
	lh_for (i, LH_HOLES) {
		struct lh_hole *h = lh_hole_at(f, i);

		if ((u32)i >= f->arrival.nr_holes)
			break;
		if (h->left == h->right)
			continue;
		*lh_hole_at(f, f->arrival.kept) = *h;
		f->arrival.kept++;
	}
	f->arrival.nr_holes = f->arrival.kept;
	return 0;
}

/* Hole @i loses what @s brings. What is left on both sides of it stays two holes, if there is
 * room; else one, and the part behind is the sender's. */
LH_ENTRY int lh_hole_fill(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s, u32 i)
{
	struct lh_hole *h;
	u32 right, n;
	int k;

	if (!env || !f || !s)
		return 0;
	h = lh_hole_at(f, i);
	right = h->right;
	if (!lh_after(s->seq, h->left)) {
		h->left = lh_before(s->end, right) ? s->end : right;
		return 0;
	}
	h->right = s->seq;
	if (h->tries && LH_CFG(env)->order_rule)
		h->again = 1; /* as lh_holes_convict(): the repair begins with the lowest number */
	n = f->arrival.nr_holes;
	if (!lh_before(s->end, right) || n >= LH_HOLES)
		return 0;
	lh_for (k, LH_HOLES) {
		u32 at = n - k;

		if (at <= i + 1 || at >= LH_HOLES)
			break;
		*lh_hole_at(f, at) = *lh_hole_at(f, at - 1);
	}
	*lh_hole_at(f, i + 1) = *h;
	lh_hole_at(f, i + 1)->again = 0;
	lh_hole_at(f, i + 1)->left = s->end;
	lh_hole_at(f, i + 1)->right = right;
	f->arrival.nr_holes = n + 1;
	return 1;
}

/* What lay lower and was told of no later than what has just come in is lost once more: repairs
 * go out in the order of their requests, lowest number first. @below: number of that hole. */
LH_INLINE void lh_holes_convict(struct lh_env *env, struct lh_flow *f, u32 below, u32 told_us)
{
	int i;

	if (!LH_CFG(env)->order_rule)
		return;
	lh_for (i, LH_HOLES) {
		struct lh_hole *h = lh_hole_at(f, i);

		if ((u32)i >= below)
			break;
		if (h->left != h->right && lh_told_before(h, told_us))
			h->again = 1;
	}
}

/* What @s brings of hole @i. @return 1: it lay within, or before it. An entry of its own, as all
 * bodies of loops here that branch: what Linux 6.8's verifier learns in one turn it need not keep
 * apart for the next. */
LH_ENTRY int lh_hole_meets(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s, u32 i)
{
	struct lh_hole *h;

	if (!env || !f || !s)
		return 1;
	h = lh_hole_at(f, i);
	if (i >= f->arrival.nr_holes || !lh_before(h->left, s->end))
		return 1;
	if (!lh_after(h->right, s->seq))
		return 0;
	if (h->tries) {
		f->arrival.tries = lh_max(f->arrival.tries, h->tries);
		lh_replay_sample(env, f, h);
		lh_holes_convict(env, f, i, h->told_us);
	}
	return lh_hole_fill(env, f, s, i);
}

LH_ENTRY int lh_arrival_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	struct lh_arrival *a;
	int i;

	if (!env || !f || !s || s->seq == s->end)
		return 0;
	a = &f->arrival;
	a->size = lh_max(a->size, s->part_bytes ? s->part_bytes : s->payload_bytes);
	a->mute = 0; /* it has come over the link */
	a->tries = 0;
	if (!a->known) {
		a->max = s->end;
		a->known = 1;
		return 0;
	}
	lh_for (i, LH_HOLES) {
		if (lh_hole_meets(env, f, s, i))
			break;
	}
	lh_holes_pack(f);
	if (!a->tries && lh_requests(env) && lh_before(s->seq, a->max))
		lh_late_comes(env, f, s);
	if (lh_after(s->seq, a->max))
		lh_holes_open(env, f, s->seq);
	a->max = lh_later(a->max, s->end);
	return a->tries;
}

LH_INLINE void lh_arrival_open(struct lh_flow *f, u32 next)
{
	f->arrival.max = next;
	f->arrival.known = 1;
	f->arrival.nr_holes = 0;
}

LH_INLINE u32 lh_arrival_next(const struct lh_flow *f)
{
	return f->arrival.nr_holes ? f->arrival.hole[0].left : f->arrival.max;
}

LH_ENTRY int lh_arrival_give_up(struct lh_env *env, struct lh_flow *f)
{
	if (!env || !f || !f->arrival.nr_holes)
		return 0;
	lh_late_note(f, &f->arrival.hole[0]);
	f->arrival.hole[0].left = f->arrival.hole[0].right;
	lh_host_count(env, LH_C_holes_given_up, 1);
	return lh_holes_pack(f);
}

LH_INLINE void lh_arrival_give_all_up(struct lh_env *env, struct lh_flow *f)
{
	lh_host_count(env, LH_C_holes_given_up, f->arrival.nr_holes);
	f->arrival.nr_holes = 0;
}

/* Hole @i loses what of it lies in [left, right), if it begins or ends there: what is between two holes
 * has come. It may still come, from FH, which says nothing of how long a repair takes. */
LH_ENTRY int lh_hole_absent(struct lh_env *env, struct lh_flow *f, u32 i, u32 left, u32 right)
{
	struct lh_hole *h;

	if (!env || !f || i >= f->arrival.nr_holes)
		return 0;
	h = lh_hole_at(f, i);
	if (!lh_before(h->left, right) || !lh_before(left, h->right))
		return 0;
	if (!lh_before(h->left, left))
		h->left = lh_before(right, h->right) ? right : h->right;
	else if (!lh_before(right, h->right))
		h->right = left;
	if (h->left != h->right)
		return 0;
	lh_host_count(env, LH_C_holes_given_up, 1);
	lh_host_count(env, LH_C_holes_absent, 1);
	return 1;
}

LH_ENTRY int lh_arrival_absent(struct lh_env *env, struct lh_flow *f,
			       const struct lh_missing *absent, u32 i)
{
	u32 left, right;
	int k;

	if (!env || !f || !absent)
		return 0;
	lh_barrier(i);
	left = absent->block[i & (LH_MISSING_MAX - 1)].left;
	right = absent->block[i & (LH_MISSING_MAX - 1)].right;
	if (!lh_before(left, right))
		return 0;
	lh_for (k, LH_HOLES) {
		lh_hole_absent(env, f, k, left, right);
	}
	return lh_holes_pack(f);
}

LH_ENTRY int lh_arrival_link(struct lh_env *env, struct lh_flow *f, u32 up)
{
	int i;

	if (!env || !f)
		return 0;
	f->arrival.mute = !up;
	lh_for (i, LH_HOLES) {
		struct lh_hole *h = lh_hole_at(f, i);

		if (!up || (u32)i >= f->arrival.nr_holes)
			break;
		h->again = h->tries != 0;
	}
	return 0;
}

LH_ENTRY int lh_arrival_acked(struct lh_flow *f, u32 ack)
{
	int i;

	if (!f || !f->arrival.nr_holes)
		return 0;
	lh_for (i, LH_HOLES) {
		struct lh_hole *h = lh_hole_at(f, i);

		if ((u32)i >= f->arrival.nr_holes || !lh_before(h->left, ack))
			break;
		h->left = lh_before(ack, h->right) ? ack : h->right;
	}
	return lh_holes_pack(f);
}

/* Holes that fit into an option of the ACK @s, in the 40 bytes that there are (RFC 9293
 * section 3.1); 0: none, or @s is not to be edited. */
LH_INLINE u32 lh_tell_room(const struct lh_flow *f, const struct lh_segment *s)
{
	u32 used = s->hdr_bytes - s->l4_offset;

	if ((s->flags & ~(LH_ACK | LH_ECE)) || (s->opts & (LH_OPT_AUTH | LH_OPT_MPTCP)) ||
	    lh_flow_sealed(f) || s->missing_at || s->eol || used + LH_MISSING_BYTES(1) > 60)
		return 0;
	return lh_min((60 - used - LH_MISSING_BYTES(0)) / 8, (u32)LH_MISSING_MOST);
}

/* Since it was last told of or opened; 0 where another CPU's clock was ahead. */
LH_INLINE u32 lh_hole_since_us(struct lh_env *env, const struct lh_hole *h)
{
	u32 now = lh_now_us(env);

	return lh_after(now, h->told_us) ? now - h->told_us : 0;
}

/* Whether @h is to be told of now. @ack: an ACK can take the first word of it along. */
LH_INLINE bool lh_hole_due(struct lh_env *env, const struct lh_flow *f, const struct lh_hole *h,
			   bool ack)
{
	if (ack && !h->tries)
		return true;
	return lh_hole_since_us(env, h) >= lh_hole_wait_us(env, f, h);
}

/* Whether @h is told of once more in the ACK that leaves: the last one may not have arrived. */
LH_INLINE bool lh_hole_echoes(struct lh_env *env, const struct lh_hole *h)
{
	return h->tries && h->nr_told < (lh_requests(env) ? 1 : LH_CFG(env)->asks);
}

LH_INLINE void lh_tell_hole(const struct lh_hole *h, struct lh_actions *out)
{
	u32 k = out->nr_tell;

	lh_barrier(k);
	out->tell[k & (LH_TELL_MOST - 1)].left = h->left;
	out->tell[k & (LH_TELL_MOST - 1)].right = h->right;
	out->nr_tell++;
}

/* Whether @h, which is due, had enough of tries. What is waited for has so many times the mean time of
 * a repair, counted from the request that nothing has shown to be lost. */
LH_INLINE bool lh_hole_enough(struct lh_env *env, const struct lh_hole *h)
{
	if (h->tries >= LH_CFG(env)->max_local)
		return true;
	return lh_requests(env) && h->tries && !h->again && h->waits + 2U >= LH_CFG(env)->give_up;
}

/* Another try of @h. */
LH_INLINE void lh_hole_try(struct lh_env *env, struct lh_hole *h)
{
	h->waits = h->tries && !h->again ? h->waits + 1 : 0;
	h->told_us = lh_now_us(env);
	if (!h->waits)
		h->asked_us = h->told_us;
	h->tries++;
	h->again = h->nr_told = 0;
}

/* Begins another try of hole @i, if it is due, or gives it up. @return 1: a try. */
LH_ENTRY int lh_hole_look(struct lh_env *env, struct lh_flow *f, u32 i, u32 ack)
{
	struct lh_hole *h;

	if (!env || !f)
		return 0;
	h = lh_hole_at(f, i);
	if (!lh_hole_due(env, f, h, ack))
		return 0;
	if (lh_hole_enough(env, h)) {
		lh_late_note(f, h);
		h->left = h->right; /* the sender's, from here on */
		lh_host_count(env, LH_C_holes_given_up, 1);
		return 0;
	}
	lh_hole_try(env, h);
	return 1;
}

/* Begins another try of each hole that is due, of @most at most; gives up what had enough of them.
 * @return how many. */
LH_ENTRY int lh_holes_try(struct lh_env *env, struct lh_flow *f, u32 most, u32 ack)
{
	u32 n = 0;
	int i;

	if (!env || !f)
		return 0;
	lh_for (i, LH_HOLES) {
		if ((u32)i >= f->arrival.nr_holes || n >= most)
			break;
		n += lh_hole_look(env, f, i, ack);
	}
	lh_holes_pack(f);
	return n;
}

/* Tells of @due holes whose try has just begun, and of as many more as @most leaves room for. */
LH_ENTRY int lh_holes_list(struct lh_env *env, struct lh_flow *f, u32 due, u32 most,
			   struct lh_actions *out)
{
	u32 more = most - due;
	int i;

	if (!env || !f || !out)
		return 0;
	lh_for (i, LH_HOLES) {
		struct lh_hole *h = lh_hole_at(f, i);

		if ((u32)i >= f->arrival.nr_holes || out->nr_tell >= most)
			break;
		if (!lh_hole_echoes(env, h) || (h->nr_told && !more))
			continue;
		more -= h->nr_told != 0;
		h->nr_told++;
		lh_tell_hole(h, out);
	}
	return out->nr_tell;
}

/* What @out tells goes by one message, or as requests by one for each packet, so that who loses one
 * loses no more; a few at once as long as there is plenty of them. */
LH_INLINE void lh_tell_messages(struct lh_env *env, const struct lh_flow *f, struct lh_actions *out)
{
	u32 n = 1, i;

	if (lh_requests(env) && lh_tell_plenty(env)) {
		out->tell_by = LH_TELL_EACH;
		n = out->nr_tell;
	}
	for (i = 0; i < LH_TELL_MOST; i++)
		if (i < n)
			lh_tell_spend(env, f);
	lh_host_count(env, LH_C_told_messages, n);
}

LH_ENTRY int lh_arrival_tell(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     struct lh_actions *out)
{
	u32 room = 0, most, due, n;

	if (!env || !f || !out || !f->arrival.nr_holes || !lh_tell_heard(env) || f->arrival.mute)
		return 0;
	if (s && (s->payload_bytes || (s->flags & (LH_SYN | LH_FIN | LH_RST))))
		return 0; /* the timer does */
	if (s)
		room = lh_tell_room(f, s);
	most = room ? room : LH_TELL_MOST;
	if (!room && lh_tell_from(env, f) > env->now_ns)
		return 0;
	due = lh_holes_try(env, f, most, s != NULL);
	if (!s && !due)
		return 0; /* ACKs repeat it, not the timer */
	n = lh_holes_list(env, f, due, most, out);
	out->tell_by = !n ? LH_TELL_NOT : room ? LH_TELL_OPTION : LH_TELL_MESSAGE;
	if (n && room)
		lh_host_count(env, LH_C_told_options, 1);
	else if (n)
		lh_tell_messages(env, f, out);
	return n;
}

/* How long until hole @i is due, in microseconds. An entry, so that what the verifier knows of one
 * hole's wait is nothing that it has to keep apart for the next. */
LH_ENTRY u32 lh_hole_left_us(struct lh_env *env, const struct lh_flow *f, u32 i)
{
	const struct lh_hole *h;
	u32 since, wait;

	if (!env || !f)
		return 0;
	lh_barrier(i);
	h = &f->arrival.hole[i & (LH_HOLES - 1)];
	since = lh_hole_since_us(env, h);
	wait = lh_hole_wait_us(env, f, h);
	return wait > since ? wait - since : 0;
}

LH_ENTRY u64 lh_arrival_deadline(struct lh_env *env, const struct lh_flow *f)
{
	u32 least = ~0U, left;
	u64 due;
	int i;

	if (!env || !f || !lh_tell_heard(env) || !f->arrival.nr_holes || f->arrival.mute)
		return 0;
	lh_for (i, LH_HOLES) {
		if ((u32)i >= f->arrival.nr_holes)
			break;
		left = lh_hole_left_us(env, f, i);
		least = lh_min(least, left);
	}
	if (least == ~0U)
		return 0;
	/* Up to the microsecond in which it is due, and to the next bin if there were many in this. */
	due = env->now_ns + (u64)least * 1000;
	return lh_max(due, lh_tell_from(env, f));
}
