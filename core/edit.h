/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only edits of a packet (docs/design.md, section 4, invariant I16): window and blanked
 * SACK option of an ACK. Works on the copy of the headers that was parsed; the checksum is
 * brought up to date incrementally (RFC 1624).
 */
#ifndef LH_EDIT_H
#define LH_EDIT_H

#include "flow.h"

/*
 * Carries the edits of @out out in @h. @partial: the packet's checksum is
 * unfinished (it covers the pseudo-header only) and stays as it is. @return 1:
 * something has changed.
 */
LH_ENTRY int lh_edit_ack(struct lh_hdr *h, const struct lh_segment *s, const struct lh_actions *out,
			 u32 partial);

#endif /* LH_EDIT_H */
