/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a slot to a packet on the wire. The vehicle is an skb that is there
 * anyway: the duplicate ACK that turns around, or the packet of a test run.
 */
#ifndef LH_SEND_BPF_H
#define LH_SEND_BPF_H

#include "table.bpf.h"

/* Bytes per call of bpf_csum_diff. Small, because the verifier adds the
 * greatest offset and the greatest length; hence LH_CACHE_PKT_MAX. */
#define LH_CSUM_STEP 128

LH_INLINE void lh_slot_put16(struct lh_slot *slot, u32 off, u16 v)
{
	lh_barrier(off);
	if (off > LH_SLOT_PKT_BYTES - 2)
		return;
	__builtin_memcpy(slot->pkt + off, &v, 2); /* @v is in network byte order */
}

/* One's complement sum of pkt[off, off + len), added to @sum. The slot is
 * padded with zeros to a multiple of four. */
LH_ENTRY u32 lh_slot_sum(struct lh_slot *slot, u32 off, u32 len, u32 sum)
{
	int i;

	if (!slot)
		return sum;
	bpf_for (i, 0, LH_SLOT_PKT_BYTES / LH_CSUM_STEP + 1) {
		u32 words = len > LH_CSUM_STEP ? LH_CSUM_STEP / 4 : (len + 3) / 4, n;

		lh_barrier(words);
		lh_barrier(off);
		if (lh_outside(words, 1, LH_CSUM_STEP / 4) || off > LH_CACHE_PKT_MAX)
			break;
		n = words * 4;
		sum = bpf_csum_diff(NULL, 0, (__be32 *)(slot->pkt + off), n, sum);
		off += n;
		len = len > n ? len - n : 0;
	}
	return sum;
}

LH_INLINE u16 lh_fold(u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The pseudo-header's sum (RFC 9293 section 3.1, RFC 8200 section 8.1). */
LH_INLINE u32 lh_slot_pseudo(struct lh_slot *slot)
{
	u32 l4_bytes = (u32)slot->bytes - slot->l4_offset;
	u32 sum = lh_be16(6) + lh_be16(l4_bytes);

	if (slot->family == 4)
		return lh_slot_sum(slot, slot->l3_offset + 12, 8, sum);
	return lh_slot_sum(slot, slot->l3_offset + 8, 32, sum);
}

/* Lengths, identification and header checksum of a slice's IP header. */
LH_INLINE void lh_slot_fix_ip(struct lh_slot *slot)
{
	u32 l3 = slot->l3_offset, id;

	lh_barrier(l3);
	if (l3 > LH_HDR_BYTES)
		return;
	if (slot->family == 6) {
		lh_slot_put16(slot, l3 + 4, lh_be16(slot->bytes - l3 - 40));
		return;
	}
	lh_slot_put16(slot, l3 + 2, lh_be16(slot->bytes - l3));
	id = (u32)slot->pkt[l3 + 4] << 8 | slot->pkt[l3 + 5];
	lh_slot_put16(slot, l3 + 4, lh_be16(id + slot->slice));
	lh_slot_put16(slot, l3 + 10, 0);
	lh_slot_put16(slot, l3 + 10, ~lh_fold(lh_slot_sum(slot, l3, slot->l4_offset - l3, 0)));
}

/* Sequence number and flags of a slice, as segmentation would make them: FIN
 * and PSH with the last one, CWR with the first but where it counts (lh_cwr_counts). */
LH_INLINE void lh_slot_fix_tcp(struct lh_slot *slot)
{
	u32 l4 = slot->l4_offset;
	u8 drop = 0;

	lh_barrier(l4);
	if (l4 > LH_HDR_BYTES)
		return;
	lh_slot_put16(slot, l4 + 4, lh_be16(slot->slice_seq >> 16));
	lh_slot_put16(slot, l4 + 6, lh_be16(slot->slice_seq & 0xffff));
	if (!(slot->flags & LH_SLOT_SLICE_LAST))
		drop |= LH_FIN | LH_PSH;
	if (slot->slice && !(slot->flags & LH_SLOT_CWR))
		drop |= LH_CWR;
	slot->pkt[l4 + 13] &= ~drop;
}

/* Makes a slice or an unfinished packet one that can go on any wire. Done at
 * the first repair, since most slots are never sent. */
LH_ENTRY int lh_slot_finish(struct lh_slot *slot)
{
	u32 l4, sum;

	if (!slot || !(slot->flags & (LH_SLOT_SLICE | LH_SLOT_PARTIAL)))
		return 0;
	l4 = slot->l4_offset;
	if (slot->flags & LH_SLOT_SLICE) {
		lh_slot_fix_ip(slot);
		lh_slot_fix_tcp(slot);
	}
	lh_slot_put16(slot, l4 + 16, 0);
	sum = lh_slot_sum(slot, l4, (u32)slot->bytes - l4, lh_slot_pseudo(slot));
	lh_slot_put16(slot, l4 + 16, ~lh_fold(sum));
	slot->flags &= ~(LH_SLOT_SLICE | LH_SLOT_PARTIAL);
	return 0;
}

LH_INLINE u32 lh_summed(struct __sk_buff *skb)
{
	struct sk_buff *kskb = bpf_cast_to_kern_ctx(skb);

	return BPF_CORE_READ_BITFIELD(kskb, ip_summed);
}

/* The packet's route, or what stands in its place; NULL: none. Its fields are read by the verifier's
 * own guarded loads, so without a helper. */
LH_INLINE struct dst_entry *lh_dst(struct __sk_buff *skb)
{
	struct sk_buff *kskb = bpf_cast_to_kern_ctx(skb);
	unsigned long dst;

	/* Kernels to come may keep it elsewhere: the agent loads there all the same. */
	if (!bpf_core_field_exists(kskb->_skb_refdst) ||
	    !bpf_core_field_exists(struct dst_entry, flags) ||
	    !bpf_core_field_exists(struct dst_entry, lwtstate) ||
	    !bpf_core_field_exists(struct metadata_dst, type))
		return NULL;
	dst = kskb->_skb_refdst & SKB_DST_PTRMASK;
	return dst ? bpf_core_cast((void *)dst, struct dst_entry) : NULL;
}

/* Whether the device goes by @skb's route, which has something to tell: to what end of which tunnel
 * (vxlan, geneve, gre with `external`), which port of a switch, which offloaded MACsec. Where a packet
 * came from, through such a tunnel, is nothing. A global function: few packets come here. */
LH_ENTRY int lh_dst_tells(struct __sk_buff *skb)
{
	struct dst_entry *dst = lh_dst(skb);
	struct metadata_dst *told;

	if (!dst)
		return 0;
	if (!(dst->flags & DST_METADATA))
		return dst->lwtstate != NULL;
	told = bpf_core_cast(dst, struct metadata_dst);
	return told->type != METADATA_IP_TUNNEL || (told->u.tun_info.mode & IP_TUNNEL_INFO_TX);
}

/* Whether what the device is to make of the packet is not in its bytes. What is sent again by us would
 * lack it: would leave in clear if the device is to encrypt it (TLS or PSP of a socket of this machine),
 * and not at all if it has no word where to. */
LH_INLINE bool lh_more_than_bytes(struct __sk_buff *skb)
{
	struct sk_buff *kskb = bpf_cast_to_kern_ctx(skb);
	struct dst_entry *dst = lh_dst(skb);

	if (bpf_core_field_exists(kskb->decrypted) && BPF_CORE_READ_BITFIELD(kskb, decrypted))
		return true;
	return dst && ((dst->flags & DST_METADATA) || dst->lwtstate) && lh_dst_tells(skb);
}

/* Whether a shaper that several devices share (ifb) sends the packet on: it has left by here before. */
LH_INLINE bool lh_sent_on(struct __sk_buff *skb)
{
	struct sk_buff *kskb = bpf_cast_to_kern_ctx(skb);

	return bpf_core_field_exists(kskb->tc_skip_classify) &&
	       BPF_CORE_READ_BITFIELD(kskb, tc_skip_classify);
}

/* Whether CWR of the super-packet @skb is each segment's: a bit of Accurate ECN's counter (RFC 9768), of which
 * the receiver would read another number. RFC 3168's is said once. A global function: few packets come here. */
LH_ENTRY int lh_cwr_counts(struct __sk_buff *skb)
{
	struct sk_buff *kskb = bpf_cast_to_kern_ctx(skb);
	struct skb_shared_info *info = NULL;

	if (!bpf_core_field_exists(kskb->head) || !bpf_core_field_exists(kskb->end) ||
	    !bpf_core_field_exists(info->gso_type))
		return 0;
	info = bpf_core_cast(kskb->head + kskb->end, struct skb_shared_info);
	return (info->gso_type & SKB_GSO_TCP_ACCECN) != 0;
}

LH_INLINE bool lh_partial(struct __sk_buff *skb)
{
	return lh_summed(skb) == CHECKSUM_PARTIAL;
}

/*
 * Whether @skb claims to occupy less memory than it holds, as a pure ACK of a
 * socket of this machine does (veth; skb_set_tcp_pure_ack says 2 bytes). As
 * data it would wrap the receiver's scaling_ratio, at 0 a division by zero in
 * its kernel (seen in tcp_rcv_space_adjust, Linux 6.12).
 */
LH_INLINE bool lh_understated(struct __sk_buff *skb)
{
	struct sk_buff *kskb = bpf_cast_to_kern_ctx(skb);

	/* Read by itself: kernels without CONFIG_BPF_EVENTS have no helper for that. */
	return kskb->truesize < skb->len;
}

/* Puts that right: a larger buffer is accounted for, unless a socket owns the
 * skb; hence in a clone. @return 0, else the packet is spoilt. */
LH_INLINE int lh_fix_truesize(struct __sk_buff *skb)
{
	u32 len = skb->len;

	if (bpf_skb_change_tail(skb, len + 4096, 0))
		return 0;
	return bpf_skb_change_tail(skb, len, 0);
}

/*
 * Turns @skb into the slot's packet, from byte @at on. @partial: the skb's
 * checksum state is CHECKSUM_PARTIAL and stays so, hence the field must hold
 * just the pseudo-header's sum. Negative: the skb is spoilt.
 */
LH_ENTRY int lh_load_vehicle(struct __sk_buff *skb, struct lh_slot *slot, u32 at, u32 partial)
{
	u32 len;

	if (!slot || at > 14)
		return -1;
	len = slot->bytes;
	lh_slot_finish(slot);
	lh_barrier(len);
	if (lh_outside(len, 40, LH_CACHE_PKT_MAX))
		return -1;
	if (bpf_skb_change_tail(skb, at + len, 0))
		return -1;
	if (bpf_skb_store_bytes(skb, at, slot->pkt, len, 0))
		return -1;
	if (partial) {
		u16 sum = lh_fold(lh_slot_pseudo(slot));

		if (bpf_skb_store_bytes(skb, at + slot->l4_offset + 16, &sum, 2, 0))
			return -1;
	}
	return 0;
}

/* The repairs from number @from on can't ride on this packet. Under the lock. */
LH_ENTRY int lh_defer_quietly(struct lh_flow_entry *e, const struct lh_actions *act, u32 from)
{
	int i;

	if (!e || !act)
		return 0;
	bpf_for (i, 0, LH_MAX_RETRANSMIT) {
		u32 k = i, n = e->nr_pending, id, *uses;

		if (k < from || k >= act->nr_retransmit || n >= LH_PENDING_MAX)
			continue;
		lh_barrier(k);
		lh_barrier(n);
		id = act->retransmit[k & (LH_MAX_RETRANSMIT - 1)].slot;
		uses = bpf_map_lookup_elem(&slot_uses, &id);
		if (!uses)
			continue;
		e->pending[n & (LH_PENDING_MAX - 1)].slot = id;
		e->pending[n & (LH_PENDING_MAX - 1)].use = *uses;
		e->nr_pending = n + 1;
	}
	return 0;
}

/* The same, and the next kick sends them. */
LH_INLINE void lh_defer(struct lh_flow_entry *e, u32 index, const struct lh_actions *act, u32 from)
{
	lh_defer_quietly(e, act, from);
	lh_send_event(e, index);
}

/* Without layer 2 on the device the 14 bytes of a test run's packet stay before what is loaded: the
 * redirect takes them off. */
LH_INLINE u32 lh_kick_offset(void)
{
	return lh_setup.l2_bytes ? 0 : 14;
}

/* @mark with our bits, by which the programs know what is theirs. */
LH_INLINE u32 lh_with_ours(u32 mark)
{
	return (mark & ~lh_setup.mark_mask) | lh_setup.mark_value;
}

/* Our mark and the priority of repairs (the papers' second queue). */
LH_INLINE void lh_mark(struct __sk_buff *skb)
{
	skb->mark = lh_with_ours(skb->mark);
	skb->priority = lh_setup.priority;
}

/* The same of a repair, which goes the way of the packet in @slot: by that one's other mark bits, and
 * to the class that somebody has chosen for it (a priority with a major number, TC_H_MAJ). */
LH_INLINE void lh_mark_repair(struct __sk_buff *skb, const struct lh_slot *slot)
{
	u32 class = slot->priority;

	skb->mark = lh_with_ours(slot->mark);
	skb->priority = class >> 16 ? class : lh_setup.priority;
}

LH_INLINE bool lh_marked(const struct __sk_buff *skb)
{
	return (skb->mark & lh_setup.mark_mask) == lh_setup.mark_value;
}

/* Takes the tag off that the device keeps beside the packet. What a packet has within comes to stand
 * there then, and goes as well. */
LH_INLINE void lh_untag(struct __sk_buff *skb)
{
	if (skb->vlan_present)
		bpf_skb_vlan_pop(skb);
	if (skb->vlan_present)
		bpf_skb_vlan_pop(skb);
}

/* The packet, which @slot was loaded into, goes to the stack as if it came from MH. */
LH_INLINE int lh_send_up(struct __sk_buff *skb, const struct lh_slot *slot)
{
	u32 tagged = skb->vlan_present, mark = skb->mark;
	int err = 0;

	if (slot->vlan_proto && !tagged)
		err = bpf_skb_vlan_push(skb, slot->vlan_proto, slot->vlan_tci);
	skb->mark = lh_with_ours(mark);
	if (!err)
		err = bpf_clone_redirect(skb, lh_setup.ifindex, BPF_F_INGRESS);
	skb->mark = mark;
	if (!tagged)
		lh_untag(skb);
	return err;
}

/* Sends number @i of what had to wait on. A global function: see lh_cache_one(). */
LH_ENTRY int lh_release_one(struct __sk_buff *skb, struct lh_flow *f, struct lh_env *env,
			    struct lh_scratch *sc, u32 i)
{
	struct lh_slot *slot;
	u32 id;

	if (!f || !env || !sc)
		return 0;
	lh_barrier(i);
	id = sc->act.release[i & (LH_RELEASE_MOST - 1)];
	slot = lh_slot_at(id);
	if (slot && !lh_load_vehicle(skb, slot, sc->carry_at, sc->carry_partial) &&
	    !lh_send_up(skb, slot))
		return 1;
	lh_host_count(env, LH_C_release_errors, 1);
	lh_release_lost(f);
	return 0;
}

/*
 * Sends what had to wait (sc->act.release) on to its receiver, on the packet at hand, by which it comes
 * to this CPU's backlog and through lh_ingress once more. Under the lock: nothing of it runs at once.
 */
LH_ENTRY int lh_release_on(struct __sk_buff *skb, struct lh_flow *f, struct lh_env *env,
			   struct lh_scratch *sc)
{
	int i;

	if (!f || !env || !sc || !(lh_setup.policy & LH_POLICY_SEQUENCE))
		return 0;
	bpf_for (i, 0, LH_RELEASE_MOST) {
		if ((u32)i >= sc->act.nr_release)
			break;
		lh_release_one(skb, f, env, sc, i);
	}
	return 0;
}

/* Copies the packet in sc->seg, or of a super-packet the slice whose payload of @len bytes is at @off in
 * @skb, into its slot. @return the slot; NULL: it can't. */
LH_INLINE struct lh_slot *lh_store(struct __sk_buff *skb, const struct lh_scratch *sc, u32 slot_id,
				   u32 off, u32 len)
{
	const struct lh_segment *s = &sc->seg;
	struct lh_slot *slot = lh_slot_at(slot_id);
	u32 hdr, end, more;

	if (!slot || lh_more_than_bytes(skb))
		return NULL;
	/* Behind the call in there: of what is kept on the stack meanwhile Linux 6.8 learns no bound. */
	hdr = s->hdr_bytes;
	lh_barrier(hdr);
	if (lh_outside(hdr, 40, LH_HDR_BYTES))
		return NULL;
	lh_barrier(len);
	if (len > LH_CACHE_PKT_MAX - LH_HDR_BYTES)
		return NULL;
	/* What is copied past the headers the payload overwrites. */
	if (hdr <= 128)
		__builtin_memcpy(slot->pkt, sc->hdr.b, 128);
	else
		__builtin_memcpy(slot->pkt, sc->hdr.b, LH_HDR_BYTES);
	/* Before Linux 6.8 `len && ...` is no lower bound, len - 1 is one. */
	more = len - 1;
	lh_barrier(more);
	if (len && (more >= LH_CACHE_PKT_MAX - LH_HDR_BYTES ||
		    bpf_skb_load_bytes(skb, off, slot->pkt + hdr, more + 1)))
		return NULL;
	end = hdr + len;
	lh_barrier(end);
	if (end > LH_CACHE_PKT_MAX)
		return NULL;
	__builtin_memset(slot->pkt + end, 0, 4); /* lh_slot_sum reads whole words */
	slot->bytes = end;
	slot->l3_offset = s->l3_offset;
	slot->l4_offset = s->l4_offset;
	slot->hdr_bytes = hdr;
	slot->family = sc->key.family;
	slot->mark = skb->mark;
	slot->priority = skb->priority;
	slot->vlan_tci = skb->vlan_tci;
	slot->vlan_proto = skb->vlan_present ? skb->vlan_proto : 0;
	slot->slice = 0;
	slot->flags = lh_partial(skb) ? LH_SLOT_PARTIAL : 0;
	return slot;
}

/* Not by bpf_skb_ecn_set_ce(): that goes by the kernel's place of the network header, which in a frame with
 * two tags is the inner one's (net/bridge). */
LH_INLINE void lh_mark_ce(struct __sk_buff *skb, struct lh_scratch *sc)
{
	u32 at = sc->seg.l3_offset;

	lh_edit_ce(&sc->hdr, at);
	lh_barrier(at);
	if (at > LH_HDR_BYTES - 60)
		return;
	bpf_skb_store_bytes(skb, at, sc->hdr.b + at, 20, 0);
}

#endif /* LH_SEND_BPF_H */
