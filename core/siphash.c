/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "siphash.h"

LH_INLINE u64 lh_rotate(u64 x, u32 bits)
{
	return x << bits | x >> (64 - bits);
}

LH_INLINE void lh_sip_round(struct lh_sip *s)
{
	s->v0 += s->v1;
	s->v1 = lh_rotate(s->v1, 13) ^ s->v0;
	s->v0 = lh_rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = lh_rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = lh_rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = lh_rotate(s->v1, 17) ^ s->v2;
	s->v2 = lh_rotate(s->v2, 32);
}

LH_INLINE void lh_sip_begin(struct lh_sip *s, u64 k0, u64 k1)
{
	s->v0 = k0 ^ 0x736f6d6570736575ULL;
	s->v1 = k1 ^ 0x646f72616e646f6dULL;
	s->v2 = k0 ^ 0x6c7967656e657261ULL;
	s->v3 = k1 ^ 0x7465646279746573ULL;
}

LH_INLINE void lh_sip_word(struct lh_sip *s, u64 m)
{
	s->v3 ^= m;
	lh_sip_round(s);
	lh_sip_round(s);
	s->v0 ^= m;
}

LH_INLINE u64 lh_sip_end(struct lh_sip *s, u64 rest, u32 bytes)
{
	lh_sip_word(s, (u64)bytes << 56 | rest);
	s->v2 ^= 0xff;
	lh_sip_round(s);
	lh_sip_round(s);
	lh_sip_round(s);
	lh_sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}
