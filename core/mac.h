/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the MAC reports of each frame (docs/design.md, section 5.10; Kim and Chung 2007): that its
 * answer came, that none came, that it was given up. No ACK of TCP tells so soon whose a loss is,
 * and none is needed: a repair goes out as soon as the link is seen to carry again, which the next
 * frame that is delivered shows, or the timer assumes.
 *
 * Reports are by copy: what was sent again has one for each of its copies. They come in the order
 * of the frames, and some may be missing, if the source has no room for them.
 */
#ifndef LH_MAC_H
#define LH_MAC_H

#include "types.h"

enum lh_mac_event {
	LH_MAC_DELIVERED, /* the answer came */
	LH_MAC_UNDELIVERED, /* none came, there will be another attempt */
	LH_MAC_GIVEN_UP, /* none came, and this was the last attempt */
};

/* A report; of its frame the headers are parsed as of any packet that leaves. */
struct lh_mac_report {
	u64 queued_ns; /* when this copy came to the MAC's queue, on the host's clock; 0: unknown */
	u64 at_ns; /* when the answer had come, or would have */
	u32 event; /* enum lh_mac_event */
	u32 pad;
};

/* What the reports say of a flow. */
struct lh_mac {
	u32 lost_start,
		lost_end; /* between these lies all that waits for its repair; equal: nothing */
	u64 sojourn_ns, sojourn_var_ns; /* SW and RW: from departure to the answer; 0: unknown */
	u64 timer_ns; /* repair without another delivery; 0: nothing waits */
};

/* Books a report of the frame @s. @return 1: it was one of a delivery. */
LH_ENTRY int lh_mac_book(struct lh_env *env, struct lh_flow *f, const struct lh_segment *s,
			 const struct lh_mac_report *report);

/* Repairs what waits, from the lowest number up, as much as the host takes in one call; the timer
 * goes on with the rest. */
LH_ENTRY int lh_mac_repair(struct lh_env *env, struct lh_flow *f, struct lh_actions *out);

/* Whether the segment that MH wants next waits for its repair, or that is on its way: once it had the
 * time to arrive and be acknowledged, its loss may be another's. */
LH_INLINE bool lh_mac_head(struct lh_env *env, const struct lh_flow *f);

/* When the segment that MH wants next is sent again although it has arrived: nothing answers, so that
 * the ACKs were lost, and the next copy brings another. At the base only: to the mobile end all of the
 * path's delay is the hop's. 0: never. */
LH_INLINE u64 lh_mac_probe_at(struct lh_env *env, const struct lh_flow *f);

/* Whether anything waits for its repair. */
LH_INLINE bool lh_mac_waits(const struct lh_flow *f);

#endif /* LH_MAC_H */
