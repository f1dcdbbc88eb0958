/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SipHash-2-4 (Aumasson and Bernstein 2012): a keyed hash of 64 bits, made for short messages, and
 * fast without hardware. What two agents of a hop say to each other carries it (message.h).
 *
 * Word by word, so that the verifier sees a loop of constant size and nothing is loaded unaligned:
 * lh_sip_begin(), lh_sip_word() for each eight bytes, lh_sip_end().
 */
#ifndef LH_SIPHASH_H
#define LH_SIPHASH_H

#include "types.h"

struct lh_sip {
	u64 v0, v1, v2, v3;
};

/* @k0, @k1: the key's 16 bytes as two little-endian numbers, as in the paper. */
LH_INLINE void lh_sip_begin(struct lh_sip *s, u64 k0, u64 k1);
/* Eight bytes, the first one lowest. */
LH_INLINE void lh_sip_word(struct lh_sip *s, u64 m);
/* @rest: the bytes that make no whole word, the first one lowest. @bytes: of the whole message. */
LH_INLINE u64 lh_sip_end(struct lh_sip *s, u64 rest, u32 bytes);

#endif /* LH_SIPHASH_H */
