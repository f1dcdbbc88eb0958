/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only edits of a packet (docs/design.md, section 4, invariant I16): window and blanked
 * SACK option of an ACK, and an option that two agents have between themselves. Works on the copy of the headers that was parsed; the checksum is
 * brought up to date incrementally (RFC 1624).
 */
#ifndef LH_EDIT_H
#define LH_EDIT_H

#include "flow.h"

/* Whether @out asks for any in @s, an ACK that passes. */
LH_INLINE bool lh_edits(const struct lh_segment *s, const struct lh_actions *out);

/*
 * Carries the edits of @out out in @h. @partial: the packet's checksum is
 * unfinished (it covers the pseudo-header only) and stays as it is. @return 1:
 * something has changed.
 */
LH_ENTRY int lh_edit_ack(struct lh_hdr *h, const struct lh_segment *s, const struct lh_actions *out,
			 u32 partial);

/*
 * Overwrites the option by which the other agent tells what it misses with NOPs: it is the hop's, and
 * must not get past us. Before anything else is done with the packet. @return 1: it was there.
 */
LH_ENTRY int lh_edit_strip(struct lh_hdr *h, const struct lh_segment *s, u32 partial);

/* Congestion Experienced (RFC 3168) in the IP header of @h, which is capable of it and not marked. */
LH_ENTRY int lh_edit_ce(struct lh_hdr *h, u32 l3);

/*
 * Appends that option with @out's tell to @h, an ACK without payload that leaves over the hop
 * (lh_arrival_tell() has looked that there is room): lengths and checksums, too. @return bytes by
 * which the packet has grown, a multiple of four.
 */
LH_ENTRY int lh_edit_tell(struct lh_hdr *h, const struct lh_segment *s,
			  const struct lh_actions *out, u32 partial);

#endif /* LH_EDIT_H */
