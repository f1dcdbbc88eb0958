/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State of one half-flow: data from the fixed host (FH) to the mobile host
 * (MH) over the lossy link, ACKs back. Soft: losing it costs speed only.
 * Also the actions that the core asks of its host.
 */
#ifndef LH_FLOW_H
#define LH_FLOW_H

#include "config.h"
#include "counters.h"
#include "segment.h"

#define LH_CHUNK_SHIFT 6
#define LH_CHUNK_SEGS (1 << LH_CHUNK_SHIFT)
#define LH_FLOW_CHUNKS 128 /* directory entries, a power of two */
#define LH_FLOW_SEGS 4096 /* most segments cached per flow: 8 MiB of 2 KiB slots */
#define LH_MAX_RETRANSMIT 4 /* per event, a power of two */
#define LH_NO_SLOT 0xffffffffU
#define LH_KEEP_WINDOW 0xffffffffU

enum lh_seg_flag {
	LH_SEG_SENDER_RTX = 1, /* the sender sent it again: its duplicates are the sender's */
	LH_SEG_CONG = 2, /* lost upstream, or local repairs exhausted */
	LH_SEG_SACKED = 4,
	LH_SEG_NO_COPY = 8, /* the host could not store the bytes */
	LH_SEG_BARE = 16, /* a SYN or FIN without data */
	LH_SEG_SMALL = 32, /* below LH_SMALL_BYTES: counted in nr_small */
};

/* One cached segment. Its bytes are in a slot of the host's pool. */
struct lh_seg {
	u64 last_tx_ns; /* latest departure, anyone's */
	u32 seq, end; /* sequence numbers */
	u32 slot; /* index into the host's payload pool */
	u32 delivered; /* lh_receiver_delivered() when it departed */
	u32 tsval; /* of the cached copy, 0: the connection has no timestamps */
	u8 n_local; /* local retransmissions since the sender last sent it */
	u8 flags; /* enum lh_seg_flag */
	u8 behind; /* lh_under_way() when a duplicate last made us repair it */
	u8 pad[1];
};

/* The ring of a flow is made of chunks, so that an idle flow holds none. */
struct lh_chunk {
	/* No segment of the chunk that MH lacks departed before this: most chunks
	 * need no look when losses are sought by time order. */
	u64 oldest_tx_ns;
	u64 again_tx_ns; /* the same of those that were sent again here */
	u32 nr_sacked; /* of its segments, and bytes of these */
	u32 sacked_bytes;
	struct lh_seg seg[LH_CHUNK_SEGS];
};

enum lh_flow_flag {
	LH_FLOW_STARTED = 0x001, /* una and max are valid */
	LH_FLOW_SACK_FH = 0x002, /* FH's SYN permits SACK */
	LH_FLOW_SACK_MH = 0x004,
	LH_FLOW_SACK_SEEN = 0x008, /* MH has sent a SACK block: picked up in mid-stream */
	LH_FLOW_WSCALE = 0x010, /* both shifts are known */
	LH_FLOW_MPTCP = 0x020,
	LH_FLOW_AUTH = 0x040,
	LH_FLOW_FIN_FH = 0x080, /* FH's FIN was seen: fin_fh is valid */
	LH_FLOW_FIN_MH = 0x100,
	LH_FLOW_FIN_FH_ACKED = 0x200,
	LH_FLOW_FIN_MH_ACKED = 0x400,
	LH_FLOW_RESET = 0x800,
	LH_FLOW_DUP_DRIVEN = 0x1000, /* a duplicate has driven a repair of the head */
	LH_FLOW_RECOVERY = 0x2000, /* recovery_point is valid */
	LH_FLOW_HELD = 0x4000, /* an ACK is kept back */
	LH_FLOW_ABANDONED = 0x8000, /* duplicates pass until the next new ACK */
	LH_FLOW_FWD = 0x10000, /* fwd_* are valid */
	LH_FLOW_SYN_MH = 0x20000, /* MH's SYN or SYN-ACK was seen */
	LH_FLOW_OVERFLOW = 0x40000, /* losses below overflow_end are left to FH */
	LH_FLOW_BLOCKED = 0x80000, /* blocked_start and blocked_end are valid */
	LH_FLOW_FH_RTX = 0x100000, /* fh_rtx_end is valid */
	LH_FLOW_TS = 0x400000, /* the connection uses timestamps */
	LH_FLOW_ECT = 0x200000, /* FH's data may be marked (RFC 3168) */
	LH_FLOW_SYN_FH = 0x800000, /* FH's SYN or SYN-ACK was seen */
	LH_FLOW_RTX = 0x1000000, /* rtx_end is valid */
	LH_FLOW_LIVE = 0x2000000, /* past its handshake: another one must be answered to count */
	LH_FLOW_CLAIM = 0x4000000, /* claim is valid */
	LH_FLOW_TSVAL_FH = 0x8000000, /* tsval_fh is valid */
};

/* One end of the connection as far as its packets and the other's have told (accept.h).
 * Sequence numbers of what this end sends. */
struct lh_end {
	u32 end; /* behind the last that was acceptable */
	u32 edge; /* rightmost edge of a window that the other end has granted it */
	u32 most; /* widest window that it has itself granted, bytes; 0: it was not heard */
	u32 known; /* 1: end and edge are valid */
	/* In mid-stream, where no window's scale is known (accept.h). */
	u32 used; /* most that it had on its way, and the other end got, bytes */
	u32 round_start,
		round_end; /* what the other end had, and this one had sent, a round trip ago */
};

/* A SYN on a live connection: kept aside until the other end has answered it (lifecycle.h). */
struct lh_syn {
	u64 at_ns;
	u32 seq, end; /* as in lh_segment */
	u16 window; /* never scaled in a SYN */
	u16 mss;
	u8 wscale;
	u8 opts; /* enum lh_tcp_opt */
	u8 from_mh;
	u8 valid;
};

/* What FH sent at numbers that can't be its (accept.h): should MH answer there, both are
 * right, and we have missed something. */
struct lh_claim {
	u32 seq, end, ack;
};

#define LH_RECENT_SAMPLES 4
#define LH_RATE_BINS 8

enum lh_clock_state {
	LH_CLOCK_FREE, /* FH has its own brake: it sees all its losses */
	LH_CLOCK_HELD, /* losses of the link are hidden from it: the law holds */
	LH_CLOCK_LETTING, /* the link has lost nothing for a while: C grows until FH has room */
};

/* The window clock of a flow (clock.h). */
struct lh_clock {
	u32 c_bytes; /* what may be on its way beyond what MH has */
	u8 state; /* enum lh_clock_state */
	u8 limited; /* bit 0: FH has used up the window in this interval, bit 1: in the last */
	u8 settling; /* 1: C was cut in this interval, the queue shows it in the next */
	u8 has_tsval; /* 1: tsval_last is valid */
	u8 calm; /* 1: hardly a queue was left in the last interval */
	u8 doubt; /* intervals in which the queue stood above the law's aim, less those below */
	u8 step; /* how much C grows next where no queue is left, in eighths of C */
	u8 singles; /* ACKs of one segment each in a row */
	u8 old_edge; /* 1: FH still spends a window that was granted before C */
	u8 age; /* intervals since the flow began, or went on after a pause */
	u32 goal_bytes; /* up to which C grows with what MH gets in this interval */
	u64 lossy_ns; /* last loss of the link's that was hidden from FH; 0: none */
	u32 round_bytes; /* MH got in the last interval */
	u32 round_delivered; /* lh_flow.delivered when this interval began */
	/* The open sample of the wired round trip. */
	u32 tsval; /* of the ACK that left at tsval_ns */
	u32 asked_edge; /* right edge of its window */
	u32 tsval_last; /* of the last ACK that went on to FH */
	u64 tsval_ns; /* 0: none */
	u64 wired_now_ns, wired_before_ns; /* least of this and the previous period */
	u64 wired_since_ns; /* when this period began */
	/* Sojourn on the local hop. */
	u64 recent_ns[LH_RECENT_SAMPLES]; /* the last samples */
	u64 interval_ns; /* when the law's interval began */
	u64 sum_ns; /* of the interval's samples */
	u64 least_ns; /* of the interval's samples */
	u64 least_before_ns; /* of the last interval's */
	u64 gap_now_ns; /* longest pause of the hop in this interval */
	u64 gap_ns; /* such pauses, smoothed over the intervals */
	u32 nr_samples; /* in the interval */
	u64 busy_ns; /* last time that the queue was no mere trifle */
	/* Delivery rate, bytes per second. */
	u64 rate_bin; /* number of the newest bin */
	u32 bin_bytes; /* delivered in it */
	u32 bin_before[2]; /* in the two before it */
	u64 rate_last; /* of the last trains, smoothed */
	u64 train_ns; /* when the present train of deliveries began; 0: the hop was idle */
	u32 train_delivered; /* lh_flow.delivered then */
	u64 marked_ns; /* last CE mark */
	/* Since when each sample has shown a queue (lh_queue_above); 0: the last did not. */
	u64 above_ns;
};

/* The way back from MH as its timestamps tell of it (back.h). */
struct lh_back {
	u32 tsval; /* of the ACK that came at at_ns */
	u32 hz; /* ticks of MH's timestamp clock per second; 0: not known yet */
	u64 at_ns; /* 0: no ACK yet */
	s64 least_ns, least_before_ns; /* of this and the last period: delay against that ACK's */
	u64 now_ns; /* delay of the last ACK beyond the least: a queue on the way back */
	u32 has_least, has_before; /* 1: the least of this, of the last period is valid */
};

/* An outage of the hop, and what FH is told of it (outage.h; schemes rack and slack). */
struct lh_outage {
	u64 heard_ns; /* last ACK from MH, or when another flow's was found out */
	u64 since_ns; /* when the outage was noticed; 0: there is none */
	u64 down_ns; /* when the link was said to be down; 0: it was not, or MH was heard since */
	u64 rto_from_ns; /* FH's timer finds an ACK in time that leaves here within its RTO of this */
	u64 back_ns; /* when MH was heard again; 0: no lost window is being repaired */
	/* Scheme rack. */
	u64 ended_ns; /* when the last outage ended; what departed before measured it */
	u64 lost_ns; /* what departed before and has not arrived is lost; 0: who knows */
	u64 every_ns; /* least time between two probes of the receiver; with since_ns */
	u32 next; /* sequence number up to which the lost window is repaired; with back_ns */
	u32 lost_end; /* what had departed at back_ns */
	u32 kept_ack; /* number of the ACK that the host has a copy of; with kept */
	u8 kept; /* 1: the held ACK's buffer is filled, and as new as what FH knows */
	u8 told; /* bursts and freezes since the last new ACK */
	u8 frozen; /* 1: FH believes the window closed, by our word */
	u8 mute; /* 1: FH can't be told of this outage */
	u8 nr_probes; /* of the head in this outage */
	u8 pad[7];
};

struct lh_flow {
	u32 flags; /* enum lh_flow_flag */
	/* Data direction. */
	u32 una; /* highest acknowledgement number from MH (SND.UNA of FH as MH sees it) */
	u32 max; /* highest sequence number + 1 that departed */
	u32 sacked_max; /* highest right edge of a SACK block above una, else una */
	/* The ring (ring.h), which outlives lh_flow_reset(). Positions: cached are [head, tail),
	 * and [spent, head) still have memory. */
	u32 head, tail, spent;
	u32 nr_small; /* small segments in [spent, tail) */
	u32 dir[LH_FLOW_CHUNKS]; /* chunk of position p: dir[(p >> 6) & 127] */
	/* Duplicate ACKs and recovery (SPEC 2.2). */
	u32 nr_dup; /* duplicates since the last new ACK */
	u32 exp_dup; /* duplicates that the repaired loss may still cause */
	u32 recovery_point; /* what had provably departed when recovery began */
	u32 overflow_end; /* what had departed when an overflow was suspected */
	u32 rtt_end; /* profile ns2, one sample per window: none below this */
	/* Delivery and time order (order.h). */
	u32 delivered; /* bytes that MH has, acknowledged or SACKed, modulo 2^32 */
	u32 sacked_bytes; /* of these above una */
	u32 blocked_start, blocked_end; /* between these lie all that can't be repaired here */
	u32 fh_rtx_end; /* highest end of what FH sent twice */
	u32 rtx_end; /* what had departed when anything below it was last sent again */
	u32 nr_probes; /* local probes since the last delivery */
	u32 order_at; /* ring position where the search for losses goes on */
	u32 order_all; /* 1: chunks' again_tx_ns do not hold, all are to be looked through */
	/* Duplicates still to come for what a receiver without SACK gets twice; none
	 * once una is beyond own_dups_end. */
	u32 own_dups, own_dups_end;
	u64 own_dups_ns; /* when the last of them was caused */
	struct lh_sack_block seen[LH_MAX_SACK]; /* blocks of the last ACK: looked through */
	u64 xmit_ns; /* latest departure among first transmissions that arrived */
	u64 rtx_xmit_ns; /* the same among local repairs */
	u32 xmit_end, rtx_xmit_end; /* ends of those segments */
	u64 rack_rtt_ns; /* sojourn of the one that left at xmit_ns */
	u64 delivered_ns; /* last delivery, 0: none */
	u64 sent_ns; /* last departure of data, anyone's */
	u64 reo_ns; /* patience that reordering on the link has taught */
	u64 reo_seen_ns; /* when it was last seen */
	u32 peer, peer_tag; /* index into lh_device.peer; its tag when we joined */
	struct lh_clock clock;
	struct lh_back back;
	struct lh_outage outage;
	/* The ACK that FH saw last, and the last one that came. */
	u32 fwd_ack;
	u32 fwd_edge; /* right edge of the window that FH knows, before it was rounded */
	u32 own_edge; /* the receiver's own, of the last ACK */
	u16 fwd_flags;
	u16 last_window; /* as in the header */
	struct lh_end fh, mh;
	struct lh_syn syn;
	struct lh_claim claim; /* with LH_FLOW_CLAIM */
	u32 tsval_fh; /* newest timestamp of FH's; with LH_FLOW_TSVAL_FH */
	u16 mss; /* of MH's SYN, or the largest payload cached; 0: unknown */
	u8 wscale_fh, wscale_mh;
	u32 fin_fh, fin_mh; /* sequence number after the FIN */
	u32 ts_recent; /* MH's, as its ACKs echo it (RFC 7323); with LH_FLOW_TS */
	u32 isn_mh; /* of MH's SYN that opened the connection; with LH_FLOW_SYN_MH */
	/* Times, ns on the host's monotonic clock; 0: none. */
	u64 seen_ns; /* last packet in either direction */
	u64 progress_ns; /* last advance of una */
	u64 reclaimed_ns; /* last call of lh_ring_reclaim() */
	u64 syn_tx_ns; /* SYN or SYN-ACK that left towards MH, for a first local sample */
	u64 syn_rx_ns; /* SYN or SYN-ACK that came from MH, for the wired round trip */
	u64 held_since_ns; /* first suppression since the last forwarded ACK */
	u64 held_until_ns; /* when FH gets it; samples of RTT that come meanwhile move it no more */
	u64 srtt_ns, rttvar_ns; /* local round trip */
	u64 rtt_low_ns, rtt_min_ns; /* its lower samples of late, and the least; 0: none */
	/* Outstanding bytes: the most within this and the previous period of
	 * LH_LEVEL_PERIOD_NS, and when that was last raised. */
	u32 level_now, level_before;
	u64 level_since_ns, level_raised_ns;
	u64 wired_rtt_ns; /* least seen between the agent and FH */
	/* Counts for `lasthop flows`. */
	u64 nr_data, nr_retransmits, nr_suppressed, nr_released, nr_upstream_lost;
	u64 payload_bytes;
};

#define LH_BIN_NS (100 * LH_MSEC)
#define LH_CROWD_BINS 16
#define LH_DEVICE_BINS 64 /* a power of two: what the link could do in the last 6 s */
#define LH_PEERS 1024 /* a power of two */

/* One receiver on the link. Entry 0 serves those that found no place. */
struct lh_peer {
	u8 addr[16]; /* as in lh_flow_key.mh */
	u64 seen_ns; /* last new flow or sample */
	u64 busy_ns; /* last sample that showed a standing queue */
	u32 tag; /* hash of addr: whether the place is still ours */
	u8 trials; /* that found a real queue, since the last that did not */
	u8 guessed; /* 1: lmin_now_ns is a handshake's, whose packets are small */
	/* The unloaded local round trip: the least sample of this and of the
	 * previous period (sample.h); 0: none. */
	u64 lmin_now_ns, lmin_before_ns;
	u64 since_ns; /* when this period began */
	u64 srtt_ns; /* smoothed local round trip of its flows, 0: none yet */
	u64 lossy_ns; /* last loss of the link's that was hidden from a sender; 0: none */
	u64 lossy_for_ns; /* for so long it counts */
	/* The longest queue of this and of the previous period. */
	u64 full_now_ns, full_before_ns;
	u64 full_since_ns; /* when this period began */
	u64 delivered_ns; /* last delivery to any of the flows */
	u64 xmit_ns; /* latest departure among what was delivered, sent again or not */
	u64 newest_tx_ns; /* the same of what gave a sample */
	u64 queue_ns, queue_at_ns; /* the last sample of it, and when that was */
	u64 above_ns; /* as lh_clock.above_ns, of all its flows */
	/* Departures that found it near the longest: the latest, and the first of those that
	 * followed each other closely; 0: none. */
	u64 full_tx_ns, full_from_ns;
	/* The longest queue as it was a round trip ago, and the one before; since when. */
	u64 full_mark_ns, full_mark_before_ns, full_mark_at_ns;
	u64 full_seen_ns; /* when the last sample came, if it found it so; 0: it did not */
	/* The same in bytes: what arrived while a segment was under way. A rate that
	 * changes while the queue drains changes the time, but not this. */
	u32 ahead, full_now, full_before;
	u32 delivered; /* bytes, modulo 2^32 */
	/* A trial of all its flows together: lh_clock_doubt(). */
	u64 trial_ns, trial_end_ns; /* from, to; 0: there is none */
	u64 trial_least_ns; /* least sample in its last part; 0: none */
	/* Delivered to it: in this bin, and the best of late, which fades. */
	u64 bin; /* number of the newest bin, now / LH_BIN_NS */
	u64 bytes; /* in it */
	u64 rate; /* bytes per second */
	u64 rate_before; /* of the last whole bin */
	u32 flows, flows_before; /* that delivered in this bin and the one before */
	u32 crowd, crowd_before; /* the same of LH_CROWD_BINS bins */
	u32 active; /* flows with something cached that have this place */
	u32 trial_delivered; /* as delivered, at the first sample of a trial's last part */
	/* Outages (outage.h). */
	u64 probe_ns; /* last probe, by whichever flow */
	u64 heard_ns; /* last ACK of any of the flows, to a millisecond */
};

struct lh_device {
	u64 srtt_ns; /* smoothed local round trip of all flows, 0: none yet */
	u32 busy_peers; /* receivers for whom something is cached */
	u32 pad;
	u64 stranger_ns; /* last SYN that was cached for a receiver that nobody has heard */
	u64 delivered_ns; /* last delivery to anyone */
	u64 bin; /* number of the newest bin, now / LH_BIN_NS */
	u64 bytes[LH_DEVICE_BINS]; /* delivered in bin n: bytes[n % LH_DEVICE_BINS] */
	u64 flows[LH_DEVICE_BINS]; /* flows that delivered in it */
	struct lh_peer peer[LH_PEERS];
};

struct lh_host;

struct lh_counters {
	u64 n[LH_NR_COUNTERS]; /* indexed by enum lh_counter */
};

/* What the ACK of this call delivered (sample.h). */
struct lh_ack_sum {
	u64 xmit_ns; /* latest departure among first transmissions; 0: none */
	u64 rtx_xmit_ns; /* the same among local repairs */
	u32 xmit_end, rtx_xmit_end; /* where those segments end: departures may coincide */
	u64 sample_ns; /* departure of the segment that gives a sojourn sample; 0: none */
	u64 again_ns; /* latest departure among what was sent twice; 0: nothing was */
	u32 sample_delivered; /* lh_receiver_delivered() at that departure */
	u32 bytes; /* newly delivered */
	u32 popped_bytes; /* of what the ACK number covers, that was cached */
	u32 nr_segs;
	u32 sample_full; /* 1: that segment was no small one */
	u32 top; /* lh_flow.sacked_max before this ACK */
	u32 steps; /* segments and chunks that its SACK blocks had us look at */
	u32 sacked; /* 1: SACK blocks told of something above top: no ACK that was delayed */
	u32 sample_lone; /* 1: it may have waited for the receiver's delayed ACK */
	u32 early; /* 1: MH had something before our repair of it can have come */
	u32 ended; /* 1: it is the first after an outage */
	/* Of what the ACK number itself covers, for the classic estimators. */
	u64 last_ns; /* departure of the last segment; 0: none */
	u32 last_end; /* where that one ends */
	u32 unclear; /* 1: something was sent twice or had waited behind a hole (Karn) */
	u32 deprived; /* 1: a loss of the link was repaired and is to be hidden from FH */
};

/*
 * What holds for one call, and what the host lends for it. First argument of
 * every function. In BPF it holds no pointer, so that the entry points can be
 * global functions, which the verifier looks at once each and not in every
 * state of their callers; the configuration is .rodata there.
 */
struct lh_env {
#ifdef LH_BPF
	struct lh_counters counters; /* of this CPU, ever growing */
	s64 slots_taken, chunks_taken; /* in this run; negative: given back */
	u32 nr_spare; /* free slots at hand on this CPU */
	u32 spare[64];
#else
	struct lh_host *host;
	struct lh_device *device;
	const struct lh_config *cfg;
#endif
	struct lh_ack_sum ack;
	u64 now_ns; /* lh_on_*() see to it that it never decreases for one flow */
	u32 cap_segments; /* the most that a flow may have cached */
	u32 part_segments; /* the pool divided by its flows; with pool_segments */
	u32 pool_segments; /* of the whole pool, while it gets scarce; 0: there is plenty */
	u32 room; /* repairs that the host can take in this call */
	u8 alive; /* 1: the host can wake us in time: suppression allowed */
	u8 accepted; /* 1: the link's queue took the packet, or the host can't see it */
	u8 handshakes; /* 1: a SYN may be cached: not too many connections are unanswered */
	u8 pad[1];
};

#ifdef LH_BPF
/* Stays volatile: clang would fold the zeros that user space overwrites. */
#define LH_CFG(env) (&lh_setup.config)
#define LH_DEVICE(env) (&lh_device)
#else
#define LH_CFG(env) ((env)->cfg)
#define LH_DEVICE(env) ((env)->device)
#endif

enum lh_verdict { LH_PASS, LH_DROP };

struct lh_retransmit {
	u32 slot;
	u32 seq; /* for logs and tests */
};

/* What the host shall do after a call. Zeroed by the core. */
struct lh_actions {
	u32 verdict; /* enum lh_verdict: of the packet of this call */
	u32 nr_retransmit;
	struct lh_retransmit retransmit[LH_MAX_RETRANSMIT]; /* send in this order */
	u32 store_slot; /* copy this packet's bytes there, LH_NO_SLOT: don't */
	u32 store_pos; /* ring position, for lh_store_failed() */
	u32 hold; /* 1: keep a copy of this ACK as the flow's held ACK, whatever the verdict */
	u32 emit_held; /* copies of the held ACK to send to FH */
	/* Edits of an ACK that passes (edit.h). The held copy is the ACK as it came. */
	u32 window; /* header value to set in it, LH_KEEP_WINDOW: leave it */
	u32 held_window; /* the same for the copies that emit_held asks for */
	u32 blank_sack; /* 1: overwrite its SACK option with NOPs */
	u32 mark_ce; /* 1: set Congestion Experienced in this data packet */
	u64 next_deadline_ns; /* call lh_on_timer() then; 0: no timer */
};

/*
 * What a host lends: memory and counters, nothing else. Every host defines
 * these before it includes agent.h (core/core.c for native ones). Slots and
 * chunks are handed out and taken back by index; a failed get is no error.
 */
#ifndef __cplusplus /* hosts in C++ call core.c, which defines these */
LH_INLINE struct lh_chunk *lh_host_chunk(struct lh_env *env, u32 id);
LH_INLINE bool lh_host_get_chunk(struct lh_env *env, u32 *id);
LH_INLINE void lh_host_put_chunk(struct lh_env *env, u32 id);
LH_INLINE bool lh_host_get_slot(struct lh_env *env, u32 *slot);
LH_INLINE void lh_host_put_slot(struct lh_env *env, u32 slot);
LH_INLINE void lh_host_count(struct lh_env *env, enum lh_counter id, u64 n);
#endif

#endif /* LH_FLOW_H */
