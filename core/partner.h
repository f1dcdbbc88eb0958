/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agents at the other end of the hop, *partners* of ours (message.h): which there are, which
 * messages of theirs count, and how far away they are. One table per device.
 *
 * A MAC says that somebody who has the key wrote a message, not when. Within one life of its sender
 * (an epoch) counters tell what came before, within a window (as RFC 4303 section 3.4.3). Whoever
 * has forgotten all, by a restart, needs more: an old recording looks right. So a partner is
 * *confirmed* once it has answered a HELLO that we sent in this life and within the last ten seconds
 * (a challenge, as RFC 8967 section 4.3.1 has it); before that HELLO is all that is heard of it.
 * Who is forgotten after a minute can't be replayed: their answers are too old by then. Epochs follow the clock, and
 * a host that has none of its own may start with an earlier one: once its later life is silent it has to be heard.
 *
 * A place in the table is taken by a HELLO with the right MAC only, and no confirmed partner that is
 * alive gives way to another sender.
 */
#ifndef LH_PARTNER_H
#define LH_PARTNER_H

#include "message.h"

#define LH_MAX_PARTNERS 64 /* a power of two */
#define LH_PARTNER_WINDOW 64 /* counters; what comes later than so many others is refused */
/* HELLOs come once a second: three may get lost. */
#define LH_PARTNER_ALIVE_NS (4 * LH_SEC)
#define LH_PARTNER_ANSWER_NS (10 * LH_SEC) /* no answer to a HELLO counts later */
#define LH_PARTNER_FORGET_NS (60 * LH_SEC) /* must be more than LH_PARTNER_ANSWER_NS */
/* The hop's least round trip is that of this and the previous period: a host that moves, or a link
 * that got longer, is not measured by what was. */
#define LH_PARTNER_RTT_NS (30 * LH_SEC)
/* Two clocks that nobody is setting right may run apart by one part in so many: what the other one
 * says of its time is doubted by as much. One that is being set may run 500 ppm off for a while
 * (adjtimex(2)): then the round trip is off by half a millisecond for each second that a HELLO was
 * kept. */
#define LH_PARTNER_DRIFT 10000
/* Messages of one sender that are acted on: so many a second, and so many at once. */
#define LH_PARTNER_RATE 1000
#define LH_PARTNER_BURST 256

/* Which counters of a stream have come. */
struct lh_replay {
	u64 top; /* the highest, 0: none yet */
	u64 seen; /* bit n: top - n has come */
};

/* An agent at the other end, in one of its lives. */
struct lh_partner {
	u64 epoch; /* of this life, 0: the place is free */
	struct lh_replay stream[LH_NR_STREAMS];
	u64 first_ns, heard_ns; /* our clock: its first and its last message */
	u64 spent_ns; /* when its messages would have come at LH_PARTNER_RATE */
	u64 hello_ns; /* our clock: its last HELLO; 0: none */
	u64 hello_time_ns; /* its clock in there */
	u64 can; /* enum lh_can */
	/* Of the hop, from agent to agent, at most: the least of this period and of the one before, and
	 * smoothed; 0: no sample. */
	u64 rtt_min_ns, srtt_ns;
	u64 rtt_now_ns, rtt_before_ns; /* the least of each */
	u64 rtt_since_ns; /* our clock: when this period began */
	u64 nr_accepted, nr_replayed, nr_unconfirmed, nr_limited;
	u64 at_ns; /* our clock: its last HELLO from there */
	struct lh_sender at; /* where it is */
	u8 confirmed;
	u8 pad[7];
};

struct lh_partners {
	u64 epoch; /* our own; messages with it are our own */
	u32 found, place; /* of the search that is under way: index + 1, 0: none */
	u32 rival; /* 1: a later life of the same sender is known, and alive */
	u32 pad;
	struct lh_partner partner[LH_MAX_PARTNERS];
};

/*
 * Whether an opened message counts: @return enum lh_opened. Only if it is LH_OPENED (or
 * LH_OPENED_LIMITED) has anything changed but counts.
 */
LH_ENTRY int lh_partners_take(struct lh_partners *t, const struct lh_message *m, u64 now_ns);

/* The HELLO to @partner, or with NULL to whoever hears it. */
LH_INLINE void lh_partner_hello(const struct lh_partner *partner, u64 can, u64 now_ns,
				struct lh_hello *hello);

/* Whether messages may be sent to it, and are believed. */
LH_INLINE bool lh_partner_up(const struct lh_partner *partner, u64 now_ns);

/*
 * The partner that frames from layer-2 address @from->hw come through; with zeros (a device
 * without layer 2) the first one. @return index + 1, 0: none is up.
 */
LH_ENTRY int lh_partners_find(const struct lh_partners *t, const struct lh_sender *from,
			      u64 now_ns);

#endif /* LH_PARTNER_H */
