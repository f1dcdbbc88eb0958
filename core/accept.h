/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Acceptance before state: a packet whose numbers its sender can't have used is
 * forwarded and changes nothing here. What can be is told by the two ends'
 * own words, as they pass: nobody may send beyond the window that the other has granted, nor
 * acknowledge what the other has not sent (RFC 9293 section 3.10.7.4, RFC 5961
 * section 5; the rules for a box in between are van Rooij's, "Real Stateful TCP Packet
 * Filtering in IP Filter", 2001). A blind forger must guess two numbers of 32 bits, each
 * to within a window.
 *
 * In mid-stream no window can be read, for its scale is unknown, and with 14 every second number
 * would fit. What an end was seen to use of its window bounds it there: in each round trip what it
 * has on its way and the other gets counts as used, and four times the most may be granted (as much
 * again may be ahead of that, as with windows that are known). Beyond that, within 2^29, a segment
 * is LH_FAR: it passes, and is FH's claim, until MH's ACK within the claim shows that both ends are
 * there. Who forges both ends' word blindly needs some 10^7 pairs for that, and a second after such
 * a hit both ends' own word counts again (lh_claim_below()).
 */
#ifndef LH_ACCEPT_H
#define LH_ACCEPT_H

#include "types.h"

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

/* What FH sent at numbers that can't be its, data or a FIN (accept.h): should MH answer there, both are
 * right, and we have missed something. From the first to the last of a run of segments, with the
 * last one's ACK number. */
struct lh_claim {
	u32 seq, end, ack;
};

/* In mid-stream, before an end was heard, or where both agree; and the most that any bound is
 * stretched by, so that comparisons modulo 2^32 hold beside a window of 2^30 (RFC 7323
 * section 2.3). */
#define LH_UNHEARD_BYTES (1U << 29)

enum lh_accepted {
	LH_REFUSED, /* not its numbers */
	LH_FAR, /* in mid-stream: beyond all that was used, if within what may have been granted */
	LH_AHEAD, /* beyond the window that we saw granted: perhaps we missed a word */
	LH_ACCEPTED,
};

/* Whether we have seen everything since the handshake. */
LH_INLINE bool lh_whole(const struct lh_flow *f);

/*
 * Window of @s in bytes, which is no SYN and goes to the end @to. @shift: its sender's. Without the
 * handshake the scale is unknown: what @to was seen to use of its window, several times.
 */
LH_INLINE u32 lh_granted(const struct lh_flow *f, const struct lh_end *to,
			 const struct lh_segment *s, u32 shift);

/*
 * Whether @s may come from the end @from of the connection @f, with @to. Where we came in
 * mid-stream, or a packet went by unseen, what @to has sent is not all known, and may be
 * acknowledged as far as it was granted: was it the last of a burst, nothing that passes tells of
 * it but the answer.
 */
LH_INLINE enum lh_accepted lh_acceptable(const struct lh_flow *f, const struct lh_end *from,
					 const struct lh_end *to, const struct lh_segment *s);

/*
 * Whether FH may have sent the frame @s that the MAC reports of: what is over has no loss any more,
 * and what a stranger sends in FH's name says nothing of FH's.
 */
LH_ENTRY int lh_mac_acceptable(const struct lh_flow *f, const struct lh_segment *s);

/* What the acceptable segment @s, which grants @window bytes, tells of both ends. */
LH_INLINE void lh_ends_learn(struct lh_end *from, struct lh_end *to, const struct lh_segment *s,
			     u32 window);

/* @s came from FH at numbers that can't be its, or that MH seems to have long since. */
LH_INLINE void lh_claim_note(struct lh_flow *f, const struct lh_segment *s);

/* Whether MH answers within FH's last claim, or up to 4 MiB below its end, from a place as near to
 * the claim's ACK: a forger must stand on both sides for that, and FH's own data take the claim
 * back. */
LH_INLINE bool lh_claim_answered(const struct lh_flow *f, const struct lh_segment *s);

/* In mid-stream an end used more of its window at once than it ever had. MH's @s answers FH's claim:
 * both ends are where they say. */
LH_INLINE void lh_claim_take(struct lh_flow *f, const struct lh_segment *s);

/* Whether both ends are elsewhere than we think. */
LH_INLINE bool lh_claim_proved(struct lh_env *env, const struct lh_flow *f,
			       const struct lh_segment *s);

/*
 * In mid-stream a forged ACK may have moved una beyond all that FH has sent: then nothing
 * gets on, until both ends have gone on below it for a second. An ACK that comes so late
 * is no late one.
 */
LH_INLINE bool lh_stuck(struct lh_env *env, const struct lh_flow *f);

/* Whether the old ACK @s answers FH's claim there. */
LH_INLINE bool lh_claim_below(struct lh_env *env, const struct lh_flow *f,
			      const struct lh_segment *s);

#endif /* LH_ACCEPT_H */
