/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "agent.h"

/* What is beyond the numbers of repairs, blocks and slots nobody reads, and 130 bytes take their time. */
LH_INLINE void lh_actions_init(struct lh_actions *out)
{
	out->verdict = LH_PASS;
	out->nr_retransmit = 0;
	out->store_slot = LH_NO_SLOT;
	out->store_pos = 0;
	out->nr_store = 0;
	out->hold = 0;
	out->emit_held = 0;
	out->held_leaves = 0;
	out->nr_release = 0;
	out->reload_slot = LH_NO_SLOT;
	out->window = out->held_window = LH_KEEP_WINDOW;
	out->blank_sack = 0;
	out->mark_ce = 0;
	out->tell_by = LH_TELL_NOT;
	out->nr_tell = out->nr_absent = 0;
	out->next_deadline_ns = 0;
}

/* It is the flow's turn. Hosts read the clock before they wait for its lock, so that another
 * CPU may have been here later: a time that ran backwards would make segments
 * look as if they had left long ago. */
LH_INLINE void lh_turn_of(struct lh_env *env, const struct lh_flow *f)
{
	u64 latest = lh_max(f->seen_ns, f->sent_ns);

	env->now_ns = lh_max(env->now_ns, latest);
	lh_lmin_look(env, f);
}

/* When something is to be sent next, 0: never. */
LH_INLINE u64 lh_send_deadline(struct lh_env *env, const struct lh_flow *f)
{
	u64 at = 0;

	if (!(f->flags & LH_FLOW_RESET)) /* else nobody wants repairs any more */
		at = lh_scheme_deadline(env, f);
	if (f->flags & LH_FLOW_HELD)
		at = lh_least(at, f->hold.until_ns);
	if ((lh_policy(env) & LH_POLICY_TELL) && !(f->flags & LH_FLOW_RESET))
		at = lh_least(at, lh_arrival_deadline(env, f));
	if (lh_policy(env) & LH_POLICY_SEQUENCE)
		at = lh_least(at, lh_resequence_deadline(env, f));
	return at;
}

/* When lh_on_timer() is wanted next, 0: never. */
LH_INLINE u64 lh_next_deadline(struct lh_env *env, const struct lh_flow *f)
{
	return lh_least(lh_send_deadline(env, f), lh_ring_deadline(f));
}

LH_ENTRY int lh_on_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			struct lh_actions *out)
{
	if (!env || !f || !s || !out)
		return 0;
	lh_actions_init(out);
	lh_turn_of(env, f);
	if (s->payload_bytes) {
		u32 segs = lh_train_segs(s);

		f->nr_data += segs;
		f->payload_bytes += s->payload_bytes;
		lh_host_count(env, LH_C_data_segments, segs);
		lh_host_count(env, LH_C_data_bytes, s->payload_bytes);
	}
	if (!lh_track_fh(env, f, s)) {
		lh_host_count(env, LH_C_bypass_unacceptable, 1);
		goto done;
	}
	/* Or late, which looks the same; a bare FIN, too. */
	if (s->seq != s->end && !(s->flags & LH_SYN) && lh_before(s->seq, f->max))
		lh_cache_fh_again(env, f, s->seq, s->end);
	if (lh_policy(env) & LH_POLICY_TELL) {
		if (s->flags & LH_ACK)
			lh_arrival_acked(f, s->ack);
		if (!(lh_policy(env) & LH_POLICY_SEQUENCE)) /* else it was, when it was missed */
			lh_arrival_tell(env, f, s, out);
	}
	lh_handoff_ack(env, f, s, out);
	if (s->flags & LH_SYN)
		lh_scheme_on_syn(env, f, s, out);
	lh_own_dups_stale(env, f, s);
	if (lh_is_data(f, s)) {
		if (lh_is_probe(f, s))
			lh_track_max(f, s);
		else
			lh_scheme_on_data(env, f, s, out);
	}
done:
	lh_ring_reclaim(env, f, LH_RECLAIM_SEGS + out->nr_store);
	out->next_deadline_ns = lh_next_deadline(env, f);
	return 0;
}

/* The classic estimators: one sample per ACK, none if anything that it covers
 * was sent twice (Karn), nor if it had waited SACKed behind a hole. */
LH_INLINE void lh_ack_sample(struct lh_env *env, struct lh_flow *f)
{
	const struct lh_ack_sum *sum = &env->ack;

	if (!sum->last_ns || sum->unclear || f->recovery.nr_dup)
		return;
	if (LH_CFG(env)->rtt_profile == LH_RTT_NS2 && lh_before(sum->last_end, f->rtt.end))
		return;
	lh_rtt_sample(env, f, env->now_ns - sum->last_ns);
	f->rtt.end = f->max;
}

/* More at once is no delivery but a number that somebody made up. */
#define LH_UNCACHED_MOST (1U << 20)

/* MH also got what could not be cached: rates and bounds that left it out would
 * throttle a flow for our lack of memory. @from: una before this ACK. */
LH_INLINE void lh_ack_uncached(struct lh_env *env, struct lh_flow *f, u32 from)
{
	u32 upto = f->una, n;
	struct lh_seg *e;

	if (upto - from == env->ack.popped_bytes)
		return;
	e = lh_oldest(env, f);
	if (e && lh_before(e->seq, upto))
		upto = e->seq;
	n = upto - from - env->ack.popped_bytes;
	if ((s32)n <= 0)
		return;
	n = lh_min(n, LH_UNCACHED_MOST);
	f->delivery.bytes += n;
	env->ack.bytes += n;
}

/* What every scheme does with an ACK that moves una. */
LH_INLINE void lh_ack_new(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s)
{
	u32 from = f->una, how = lh_ack_how(env, f);

	f->una = s->ack;
	f->progress_ns = env->now_ns;
	f->flags &= ~LH_FLOW_RESET; /* the connection lives: that one was forged */
	lh_ack_take(env, f, s->ack, how);
	lh_ack_uncached(env, f, from);
	if (lh_policy(env) & LH_POLICY_RTT_PER_ACK)
		lh_ack_sample(env, f);
	if (env->ack.nr_segs < 2 && f->max - f->una < 2U * lh_mss(f))
		env->ack.sample_lone = 1;
	if (lh_before(f->sacked_max, f->una))
		f->sacked_max = f->una;
	f->recovery.nr_dup = 0;
	f->recovery.exp_dup = 0;
	f->flags &= ~(LH_FLOW_DUP_DRIVEN | LH_FLOW_WITHHOLDS | LH_FLOW_ABANDONED);
	if (lh_after(f->una, f->recovery.own_dups_end))
		f->recovery.own_dups = 0;
	if (!lh_before(f->una, f->recovery.rtx_end))
		f->flags &= ~LH_FLOW_RTX;
	if (lh_flow_sack(f) && !lh_before(f->una, f->recovery.point))
		f->flags &= ~LH_FLOW_RECOVERY; /* that began before MH's first block */
	if ((f->flags & LH_FLOW_BLOCKED) && !lh_before(f->una, f->cache.blocked_end))
		f->flags &= ~LH_FLOW_BLOCKED;
	else if (lh_before(f->cache.blocked_start, f->una))
		f->cache.blocked_start = f->una; /* before the numbers come round */
	if ((f->flags & LH_FLOW_FH_RTX) && lh_after(f->una, f->cache.fh_rtx_end + (1U << 29)))
		f->flags &= ~LH_FLOW_FH_RTX; /* before the numbers come round */
}

/* What the data of @s, which came over the hop, show to be missing; and where what is missing is
 * waited for, whether they may pass. */
LH_INLINE void lh_ack_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			   struct lh_actions *out)
{
	u32 tries;

	if (!(lh_policy(env) & LH_POLICY_SEQUENCE)) {
		lh_arrival_data(env, f, s);
		return;
	}
	if (lh_resequence_twice(env, f, s)) {
		out->verdict = LH_DROP;
		return;
	}
	tries = lh_arrival_data(env, f, s);
	lh_resequence_asked(env, f, s, tries);
	lh_resequence_data(env, f, s, out);
	lh_arrival_tell(env, f, NULL, out);
}

/* The flow's receiver is heard, by whichever scheme, and keeps its place. One that was silent for so long that it
 * went to another is given one by the host with the next packet. */
LH_INLINE void lh_peer_heard(struct lh_env *env, struct lh_flow *f)
{
	struct lh_peer *p = lh_peer_of(env, f);

	if (!p)
		f->peer = 0;
	else if (lh_since(env->now_ns, p->seen_ns) >= LH_SEC)
		p->seen_ns = env->now_ns; /* all CPUs see this line: not each time */
}

LH_ENTRY int lh_on_ack(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
		       struct lh_actions *out)
{
	enum lh_ack_class kind;

	if (!env || !f || !s || !out)
		return 0;
	lh_actions_init(out);
	lh_turn_of(env, f);
	__builtin_memset(&env->ack, 0, sizeof(env->ack));
	env->ack.top = f->sacked_max;
	if (!lh_track_mh(env, f, s))
		goto done;
	lh_peer_heard(env, f);
	lh_host_count(env, LH_C_ack_segments, 1);
	if (lh_policy(env) & LH_POLICY_TELL)
		lh_ack_data(env, f, s, out);
	kind = lh_classify(f, s);
	if (kind == LH_ACK_BEYOND)
		lh_resync(env, f, s->ack);
	else if (kind == LH_ACK_NEW)
		lh_ack_new(env, f, s);
	lh_ack_see(env, f, s);
	if (s->opts & LH_OPT_TS)
		lh_cache_echo(env, f, s->tsecr);
	if (kind == LH_ACK_DUPLICATE)
		lh_host_count(env, LH_C_duplicate_acks, 1);
	if ((kind == LH_ACK_DUPLICATE || kind == LH_ACK_SAME) && lh_own_dup(env, f, s))
		kind = LH_ACK_OWN;
	if (s->nr_sack && kind != LH_ACK_OLD)
		lh_sack_blocks(env, f, s);
	/* No agent writes into what TCP-MD5 or TCP-AO covers: not one's. */
	if (s->nr_missing && !(s->opts & LH_OPT_AUTH) && (lh_policy(env) & LH_POLICY_PARTNER) &&
	    env->partner)
		lh_asked_take(env, f, s->missing, s->nr_missing, out);
	lh_scheme_on_ack(env, f, s, kind, out);
	if (kind != LH_ACK_OLD) {
		f->hold.last_window = s->window;
		f->hold.own_edge = env->view.edge;
	}
	if (out->verdict == LH_PASS && (kind == LH_ACK_SAME || kind == LH_ACK_OWN))
		lh_hold_newer(env, f, out);
	if (out->verdict == LH_PASS && kind != LH_ACK_OLD)
		lh_forwarded(env, f, s, out);
	if (lh_policy(env) & LH_POLICY_KEEP_ACK)
		lh_outage_keep(env, f, s, kind, out);
done:
	lh_ring_reclaim(env, f, LH_RECLAIM_SEGS);
	out->next_deadline_ns = lh_next_deadline(env, f);
	return 0;
}

/* When the timer is wanted next after it was served. What found no room among this call's repairs
 * or in its list is due already, and would be again at once. */
LH_INLINE u64 lh_deadline_served(struct lh_env *env, const struct lh_flow *f,
				 const struct lh_actions *out)
{
	u64 at = lh_next_deadline(env, f);
	u32 room = lh_min(env->room, LH_MAX_RETRANSMIT);

	if (!at || at > env->now_ns)
		return at;
	if (out->nr_retransmit < room && out->nr_tell < LH_TELL_MOST)
		return at;
	return env->now_ns + (room ? LH_REPAIR_REST_NS : LH_REPAIR_FULL_NS);
}

LH_ENTRY int lh_on_timer(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	u64 due;

	if (!env || !f || !out)
		return 0;
	lh_actions_init(out);
	lh_turn_of(env, f);
	due = lh_ring_deadline(f);
	if (due && env->now_ns >= due)
		lh_ring_reclaim_more(env, f, LH_RECLAIM_IDLE_SEGS);
	due = lh_send_deadline(env, f);
	if (!due || env->now_ns < due)
		goto done;
	/* Both an ACK that was kept and a repair may be due. */
	if (lh_hold_expired(env, f)) {
		lh_host_count(env, LH_C_held_expired, 1);
		lh_release(env, f, out);
	}
	if (!(f->flags & LH_FLOW_RESET)) {
		lh_scheme_on_timer(env, f, out);
		if (lh_policy(env) & LH_POLICY_TELL)
			lh_arrival_tell(env, f, NULL, out);
	}
	if (lh_policy(env) & LH_POLICY_SEQUENCE)
		lh_resequence_timer(env, f, out);
	if (out->nr_retransmit || out->emit_held || out->nr_tell || out->nr_absent ||
	    out->nr_release)
		lh_host_count(env, LH_C_timer_kicks, 1);
done:
	out->next_deadline_ns = lh_deadline_served(env, f, out);
	return 0;
}

LH_ENTRY int lh_on_link(struct lh_env *env, struct lh_flow *f, u32 up, struct lh_actions *out)
{
	if (!env || !f || !out)
		return 0;
	lh_actions_init(out);
	lh_turn_of(env, f);
	if (!(f->flags & LH_FLOW_RESET))
		lh_scheme_on_link(env, f, up, out);
	if (up && !(f->flags & LH_FLOW_RESET))
		lh_handoff_up(env, f, out);
	if (lh_policy(env) & LH_POLICY_SEQUENCE)
		lh_arrival_link(env, f, up);
	out->next_deadline_ns = lh_next_deadline(env, f);
	return 0;
}

LH_ENTRY int lh_on_partner(struct lh_env *env, struct lh_flow *f, const struct lh_missing *missing,
			   struct lh_actions *out)
{
	if (!env || !f || !missing || !out)
		return 0;
	lh_actions_init(out);
	lh_turn_of(env, f);
	env->ack.deprived = 0;
	if (!(f->flags & LH_FLOW_RESET) && (lh_policy(env) & LH_POLICY_PARTNER))
		lh_asked_take(env, f, missing->block, missing->nr, out);
	lh_brake_deprive(env, f);
	out->next_deadline_ns = lh_next_deadline(env, f);
	return 0;
}

LH_ENTRY int lh_on_absent(struct lh_env *env, struct lh_flow *f, const struct lh_missing *absent,
			  struct lh_actions *out)
{
	int i;

	if (!env || !f || !absent || !out)
		return 0;
	lh_actions_init(out);
	lh_turn_of(env, f);
	if ((lh_policy(env) & LH_POLICY_SEQUENCE) && env->partner) {
		lh_for (i, LH_TELL_MOST) {
			if ((u32)i >= absent->nr)
				break;
			lh_arrival_absent(env, f, absent, i);
		}
	}
	out->next_deadline_ns = lh_next_deadline(env, f);
	return 0;
}

LH_ENTRY int lh_on_mac(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
		       const struct lh_mac_report *report, struct lh_actions *out)
{
	if (!env || !f || !s || !report || !out)
		return 0;
	lh_actions_init(out);
	lh_turn_of(env, f);
	if ((f->flags & LH_FLOW_RESET) || !(lh_policy(env) & LH_POLICY_MAC))
		goto done;
	if (!lh_mac_acceptable(f, s)) {
		lh_host_count(env, LH_C_bypass_unacceptable, 1);
		goto done;
	}
	if (lh_mac_book(env, f, s, report)) {
		lh_mac_repair(env, f, out);
		lh_brake_deprive(env, f);
	}
done:
	out->next_deadline_ns = lh_next_deadline(env, f);
	return 0;
}

LH_ENTRY int lh_on_wait(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			struct lh_actions *out)
{
	if (!env || !f || !s || !out)
		return 0;
	lh_turn_of(env, f);
	out->store_slot = LH_NO_SLOT;
	return lh_resequence_put(env, f, s, out);
}

LH_ENTRY int lh_on_turn(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	if (!env || !f || !out)
		return 0;
	lh_turn_of(env, f);
	lh_resequence_turn(env, f, out);
	out->next_deadline_ns = lh_next_deadline(env, f);
	return 0;
}

LH_INLINE void lh_release_lost(struct lh_flow *f)
{
	if (f->resequence.away)
		f->resequence.away--;
}

LH_ENTRY int lh_on_through(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			   struct lh_actions *out)
{
	if (!env || !f || !s || !out)
		return 0;
	lh_actions_init(out);
	lh_turn_of(env, f);
	lh_resequence_through(env, f, s, out);
	out->next_deadline_ns = lh_next_deadline(env, f);
	return 0;
}

#define LH_SWEEP_SHED 512 /* segments evicted per call of lh_on_sweep() */

LH_ENTRY int lh_on_sweep(struct lh_env *env, struct lh_flow *f)
{
	u32 keep;

	if (!env || !f || !env->pool_segments)
		return 0;
	lh_turn_of(env, f);
	keep = lh_share_of(env, f);
	if (lh_since(env->now_ns, f->progress_ns) > LH_SHARE_STALE_NS)
		keep = lh_min(keep, (u32)LH_SHARE_LEAST);
	lh_cache_shed(env, f, keep, LH_SWEEP_SHED);
	return lh_ring_reclaim_more(env, f, LH_SWEEP_SHED);
}

LH_INLINE void lh_store_failed(struct lh_env *env, struct lh_flow *f, u32 pos)
{
	struct lh_seg *e = lh_seg_at(env, f, pos);

	if (!e)
		return;
	e->flags |= LH_SEG_NO_COPY;
	lh_cache_block(f, e->seq, e->end);
}

LH_ENTRY int lh_on_release(struct lh_env *env, struct lh_flow *f, struct lh_actions *out)
{
	if (!env || !f || !out)
		return 0;
	lh_actions_init(out);
	lh_turn_of(env, f);
	if (f->flags & LH_FLOW_HELD)
		lh_release(env, f, out);
	else if (f->outage.frozen && lh_outage_has_ack(f))
		lh_outage_thaw(f, out);
	if (lh_policy(env) & LH_POLICY_SEQUENCE)
		lh_resequence_flush(env, f, out);
	return 0;
}

/* A connection that was never answered is forgotten sooner: SYNs are cheap to
 * send and must not fill the table. */
#define LH_HALF_OPEN_NS (10 * LH_SEC)

LH_INLINE bool lh_flow_over(struct lh_env *env, const struct lh_flow *f)
{
	u32 closed = LH_FLOW_FIN_FH_ACKED | LH_FLOW_FIN_MH_ACKED;
	u64 quiet = env->now_ns > f->seen_ns ? env->now_ns - f->seen_ns : 0;

	if ((f->flags & LH_FLOW_HELD) || lh_waiting(f))
		return false;
	if ((f->flags & LH_FLOW_RESET) || (f->flags & closed) == closed)
		return quiet > 2 * lh_lrto(env, f);
	if (!lh_answered(f))
		return quiet > lh_min(LH_HALF_OPEN_NS, LH_CFG(env)->idle_ns);
	return quiet > LH_CFG(env)->idle_ns;
}
