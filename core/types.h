/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Integer types and the few macros by which one source compiles as tc-BPF,
 * as native C and inside ns-3. The core includes no other header of a system.
 */
#ifndef LH_TYPES_H
#define LH_TYPES_H

#ifdef LH_BPF
/* bpf/kernel.h has declared u8..u64 and bool, and included bpf_helpers.h. */
#define lh_for(i, n) bpf_for (i, 0, n)
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
/* A bounded loop: @i runs from 0 to @n - 1. An open-coded iterator in BPF
 * (kernel 6.4), because the verifier walks a plain bounded loop turn by turn. */
#define lh_for(i, n) for ((i) = 0; (i) < (int)(n); (i)++)
#endif

/* A few words of arithmetic, with their bodies where they are declared. A build that counts edges
 * gives a definition without inlining: one place in the source is one place to it, then. */
#ifndef LH_TINY
#define LH_TINY static inline __attribute__((always_inline))
#endif

/*
 * How functions are declared, in X.h, and defined, in X.c. All bodies are one unit (unit.h) that a
 * host includes; who needs the types alone (bindings, hosts in C++) sees declarations that
 * nobody defines.
 *
 *   LH_INLINE  part of its caller in BPF; elsewhere as the compiler likes it, for all of them inlined are 27 MB
 *              of code and a minute and a half of gcc's time
 *   LH_FUNC    a big shared step: a real function in BPF keeps the program small. All return an
 *              int, and `used` keeps clang from dropping it: a function that ends with a stack
 *              pointer left in r0 is refused by the verifier
 *   LH_ENTRY   an entry point: a global function in BPF, verified once
 */
#if defined(LH_BPF)
#define LH_INLINE LH_TINY
#define LH_FUNC static __attribute__((noinline, used))
#define LH_ENTRY __attribute__((noinline))
#elif defined(LH_UNIT)
#define LH_INLINE static inline
#define LH_FUNC static __attribute__((noinline, used))
#define LH_ENTRY static __attribute__((noinline, used))
#else
#define LH_INLINE extern
#define LH_FUNC extern
#define LH_ENTRY extern
#endif

/* Keeps the compiler from proving a bound away that the verifier must see. */
#define lh_barrier(x) __asm__ volatile("" : "+r"(x))

/* Whether @x is out of [lo, hi]. Of two plain comparisons clang makes one of
 * @x - lo, from which Linux 6.12's verifier learns nothing about @x. The upper bound comes
 * first: of a difference that may wrap 7.2's keeps no lower one before. */
#define lh_outside(x, lo, hi)                                                                      \
	((x) > (hi) || ({                                                                          \
		 lh_barrier(x);                                                                    \
		 (x) < (lo);                                                                       \
	 }))

/* What contracts speak of; flow.h has them all. */
struct lh_actions;
struct lh_device;
struct lh_env;
struct lh_flow;
struct lh_flow_key;
struct lh_peer;
struct lh_seg;
struct lh_segment;

#define LH_MSEC 1000000ULL /* ns */
#define LH_SEC 1000000000ULL /* ns */

#define lh_min(a, b) ((a) < (b) ? (a) : (b))
#define lh_max(a, b) ((a) > (b) ? (a) : (b))

/* Time since @then, 0 if that lies ahead: CPUs read the clock at their own moment. */
LH_TINY u64 lh_since(u64 now_ns, u64 then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* The lesser of two times of which either may be 0, unknown. */
LH_TINY u64 lh_least(u64 a, u64 b)
{
	if (!a || !b)
		return a ? a : b;
	return lh_min(a, b);
}

LH_TINY u64 lh_clamp64(u64 v, u64 lo, u64 hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* Sequence arithmetic modulo 2^32 (RFC 9293 section 3.4): valid while the two
 * numbers lie less than 2^31 apart. */
LH_TINY bool lh_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

LH_TINY bool lh_after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

LH_TINY u32 lh_later(u32 a, u32 b)
{
	return lh_after(a, b) ? a : b;
}

#endif /* LH_TYPES_H */
