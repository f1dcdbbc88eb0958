/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arrival detector (docs/design.md, section 5.9): data that comes over the hop is followed by
 * its sequence numbers, and what is missing is told to the agent at the hop's other end, which has
 * it cached. Before the hop the order is the sender's own, so that a gap here is a loss of the
 * hop's, or one further up that the other agent does not have: what it does not have it does not
 * repair.
 *
 * When to tell, as `snack` does: at once on the next ACK that leaves over the hop, or by a message where none
 * comes, has no room or is not ours to edit. Again when no repair came for its usual time and some more, or
 * when one came that had been asked for later: a hop keeps the order, and so the earlier request or
 * its repair was lost (Murray, Koziniec and Dixon 2009).
 *
 * With LH_POLICY_SEQUENCE as `dproxy` does: a hole is one missing packet, of the size that the flow's
 * have, and asked for at once by a message of its own; again after two, three and four times the mean
 * time of a repair, and by the same rule of order.
 */
#ifndef LH_ARRIVAL_H
#define LH_ARRIVAL_H

#include "message.h"
#include "types.h"

#define LH_HOLES 32 /* a power of two: what is missing beyond is the sender's to repair */
#define LH_TELL_MOST 4 /* holes per message; in an option at most three */

/* What is missing: [left, right), told of or not. */
struct lh_hole {
	u32 left, right; /* sequence numbers */
	u32 told_us; /* when it was last told of, or opened; modulo 2^32 us */
	u32 asked_us; /* when a request for it went that nothing has shown to be lost */
	u8 tries; /* times that it was told of, each in up to `asks` ACKs or messages */
	u8 again; /* 1: the last one was in vain */
	u8 nr_told; /* ACKs or messages of the last try */
	u8 waits; /* of a request (scheme `dproxy`): how often its time has run out */
};

#define LH_LATE 4 /* a power of two */

/* What is no longer waited for may come all the same, and tell how long a repair takes. */
struct lh_late {
	u32 left; /* sequence number of its first byte */
	u32 asked_us; /* as in lh_hole */
};

/* Half of a connection as it comes in over the hop: what MH sends. */
struct lh_arrival {
	u32 max; /* behind the highest that has arrived; with known */
	u32 known;
	u32 nr_holes;
	u32 replay_us, replay_var_us; /* time from telling to the repair; 0: none was seen */
	u32 kept; /* of lh_holes_pack(): in memory, where the verifier does not count along */
	u32 tries; /* of lh_arrival_data(), likewise */
	u32 size; /* payload of the largest segment: what is missing is asked for in such pieces */
	u32 mute; /* 1: the link is down, nothing is told */
	struct lh_late late[LH_LATE];
	u32 nr_late; /* ever noted: where the next one goes */
	struct lh_hole hole[LH_HOLES]; /* ascending, apart from each other */
};

/* Whether anybody repairs what is told. */
LH_INLINE bool lh_tell_heard(struct lh_env *env);

/* A segment with data, or a FIN, has come over the hop. Its numbers have been accepted. @return how
 * often what it brings was told of; 0: never. */
LH_ENTRY int lh_arrival_data(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s);

/* MH's SYN has come: its data begin at @next, so that the loss of the first ones shows. */
LH_INLINE void lh_arrival_open(struct lh_flow *f, u32 next);

/* Up to where everything has come, or is no longer waited for. */
LH_INLINE u32 lh_arrival_next(const struct lh_flow *f);

/* The lowest hole is not waited for any longer; nothing if there is none. */
LH_ENTRY int lh_arrival_give_up(struct lh_env *env, struct lh_flow *f);

/* Nor any other. */
LH_INLINE void lh_arrival_give_all_up(struct lh_env *env, struct lh_flow *f);

/* Nor what of any hole lies in block @i of @absent: the other end has been asked for it, and has it not. */
LH_ENTRY int lh_arrival_absent(struct lh_env *env, struct lh_flow *f,
			       const struct lh_missing *absent, u32 i);

/* The link went down: nothing is told until it is up. Then all of it at once. */
LH_ENTRY int lh_arrival_link(struct lh_env *env, struct lh_flow *f, u32 up);

/* The receiver's ACK leaves over the hop: it has everything below @ack. */
LH_ENTRY int lh_arrival_acked(struct lh_flow *f, u32 ack);

/*
 * Tells of what is due: in the ACK @s that leaves over the hop, or without one (NULL: the timer) by
 * a message. Sets @out's tell.
 */
LH_ENTRY int lh_arrival_tell(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			     struct lh_actions *out);

/* When lh_arrival_tell() is wanted although no ACK leaves; 0: never. */
LH_ENTRY u64 lh_arrival_deadline(struct lh_env *env, const struct lh_flow *f);

#endif /* LH_ARRIVAL_H */
