/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "message.h"

#define LH_HELLO_WORDS 5
#define LH_MISSING_WORDS 6 /* before the blocks */

/* A number in network byte order, or back. */
LH_INLINE u64 lh_be64(u64 x)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap64(x);
#else
	return x;
#endif
}

/* Eight bytes in memory as SipHash takes them, the first one lowest. */
LH_INLINE u64 lh_le64(u64 x)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return x;
#else
	return __builtin_bswap64(x);
#endif
}

LH_INLINE u64 lh_word(const struct lh_message *m, u32 i)
{
	lh_barrier(i);
	return lh_be64(m->w[i & (LH_MESSAGE_WORDS - 1)]);
}

LH_INLINE void lh_set_word(struct lh_message *m, u32 i, u64 value)
{
	lh_barrier(i);
	m->w[i & (LH_MESSAGE_WORDS - 1)] = lh_be64(value);
}

/* Half an address as a number whose first byte is the highest. */
LH_INLINE u64 lh_half(const u8 *b)
{
	u64 x = 0;
	int i;

	for (i = 0; i < 8; i++)
		x = x << 8 | b[i];
	return x;
}

LH_INLINE void lh_set_half(u8 *b, u64 x)
{
	int i;

	for (i = 7; i >= 0; i--) {
		b[i] = x;
		x >>= 8;
	}
}

LH_INLINE u64 lh_swapped(u64 x)
{
	return __builtin_bswap64(x);
}

/* The MAC of the first @words words of @m. */
LH_ENTRY u64 lh_message_mac(const struct lh_message *m, const struct lh_key *key, u32 words)
{
	struct lh_sip s;
	u64 w[3];
	int i;

	if (!m || !key)
		return 0;
	/* As words: bytes spill, and this is the end of a long chain of calls. */
	__builtin_memcpy(w, &m->from, sizeof(w));
	lh_sip_begin(&s, key->k0, key->k1);
	lh_sip_word(&s, lh_le64(w[0]));
	lh_sip_word(&s, lh_le64(w[1]));
	w[2] = lh_le64(w[2]); /* hw, family, hops */
	lh_sip_word(&s, w[2] << 16 | (w[2] >> 48 & 0xff));
	lh_for (i, LH_MESSAGE_WORDS) {
		u32 at = i;

		if (at >= words)
			break;
		lh_barrier(at);
		lh_sip_word(&s, lh_le64(m->w[at & (LH_MESSAGE_WORDS - 1)]));
	}
	return lh_sip_end(&s, 0, (words + 3) * 8);
}

/* A hash of the key under itself, of a length that no message has: tells keys apart, and nothing
 * of them. */
LH_INLINE u32 lh_key_id(const struct lh_key *key)
{
	struct lh_sip s;
	u32 id;

	lh_sip_begin(&s, key->k0, key->k1);
	id = lh_sip_end(&s, 0, 0);
	return id ? id : 1;
}

LH_INLINE void lh_key_init(struct lh_key *key, const u8 *bytes)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->k0 = lh_swapped(lh_half(bytes));
	key->k1 = lh_swapped(lh_half(bytes + 8));
	key->id = lh_key_id(key);
}

/* Addresses of @n bytes, at @at in the header. */
LH_INLINE void lh_message_ends(const struct lh_hdr *h, u32 at, u32 n, struct lh_sender *from)
{
	u32 i;

	for (i = 0; i < n; i++) {
		from->addr[i] = lh_get8(h, at + i);
		from->to[i] = lh_get8(h, at + n + i);
	}
}

/* An IP header at @at that is followed by one of UDP: @return where that begins, 0: it is not. */
LH_INLINE u32 lh_message_ip(const struct lh_hdr *h, u32 at, struct lh_sender *from)
{
	u32 version = lh_get8(h, at) >> 4;

	if (version == 4) {
		if (lh_get8(h, at) != 0x45 || lh_get8(h, at + 9) != 17 ||
		    (lh_get16(h, at + 6) & 0x3fff))
			return 0;
		from->hops = lh_get8(h, at + 8);
		from->family = 4;
		lh_message_ends(h, at + 12, 4, from);
		return at + 20;
	}
	if (version != 6 || lh_get8(h, at + 6) != 17)
		return 0;
	from->hops = lh_get8(h, at + 7);
	from->family = 6;
	lh_message_ends(h, at + 8, 16, from);
	return at + 40;
}

LH_ENTRY int lh_message_find(const struct lh_hdr *h, u32 l2_bytes, u32 port, struct lh_message *m)
{
	u32 at, proto, i;

	if (!h || !m || l2_bytes > 14)
		return 0;
	proto = lh_get16(h, 12);
	if (l2_bytes && proto != 0x0800 && proto != 0x86dd)
		return 0;
	__builtin_memset(&m->from, 0, sizeof(m->from));
	at = lh_message_ip(h, l2_bytes, &m->from);
	if (!at || lh_get16(h, at + 2) != port)
		return 0;
	if (l2_bytes)
		for (i = 0; i < 6; i++)
			m->from.hw[i] = lh_get8(h, 6 + i);
	m->bytes = lh_get16(h, at + 4) - 8; /* out of range if it makes no sense */
	return at + 8;
}

/* The address of all hosts of the link: 224.0.0.1 or ff02::1. */
LH_INLINE void lh_message_all(u8 *addr, u32 family)
{
	__builtin_memset(addr, 0, 16);
	addr[0] = family == 4 ? 224 : 0xff;
	addr[1] = family == 4 ? 0 : 2;
	addr[family == 4 ? 3 : 15] = 1;
}

LH_INLINE bool lh_bytes_equal(const u8 *a, const u8 *b, u32 n)
{
	u32 i, diff = 0;

	for (i = 0; i < n; i++)
		diff |= a[i] ^ b[i];
	return !diff;
}

LH_ENTRY int lh_message_for(const struct lh_message *m, const struct lh_us *us)
{
	u8 all[16];

	if (!m || !us)
		return 0;
	lh_message_all(all, m->from.family);
	return lh_bytes_equal(m->from.to, all, 16) ||
	       lh_bytes_equal(m->from.to, m->from.family == 4 ? us->addr4 : us->addr6, 16);
}

LH_ENTRY int lh_message_address(struct lh_message *m, const struct lh_us *us, struct lh_sender *to)
{
	const u8 *addr;
	u8 all[16], none[16];

	if (!m || !us || !to)
		return 0;
	addr = to->family == 4 ? us->addr4 : us->addr6;
	__builtin_memset(&m->from, 0, sizeof(m->from));
	__builtin_memset(none, 0, sizeof(none));
	__builtin_memcpy(m->from.addr, addr, 16);
	__builtin_memcpy(m->from.hw, us->hw, 6);
	m->from.family = to->family;
	if (lh_bytes_equal(to->addr, none, 16)) {
		lh_message_all(all, to->family);
		__builtin_memcpy(to->addr, all, 16);
		/* RFC 1112 section 6.4, RFC 2464 section 7. */
		__builtin_memset(to->hw, to->family == 4 ? 0 : 0x33, 2);
		__builtin_memset(to->hw + 2, 0, 3);
		if (to->family == 4) {
			to->hw[0] = 1;
			to->hw[2] = 0x5e;
		}
		to->hw[5] = 1;
	}
	return !lh_bytes_equal(addr, none, 16);
}

LH_INLINE void lh_put8(struct lh_hdr *h, u32 off, u32 v)
{
	lh_barrier(off);
	h->b[off & LH_HDR_MASK] = v;
}

LH_INLINE void lh_put16(struct lh_hdr *h, u32 off, u32 v)
{
	lh_put8(h, off, v >> 8);
	lh_put8(h, off + 1, v);
}

/* One's complement sum of 16-bit numbers (RFC 1071). */
LH_INLINE u32 lh_sum_fold(u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

LH_INLINE u64 lh_sum_header(const struct lh_hdr *h, u32 at, u32 bytes)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < bytes; i += 2)
		sum += lh_get16(h, at + i);
	return sum;
}

LH_ENTRY u32 lh_sum_message(const struct lh_message *m)
{
	u64 sum = 0;
	int i;

	if (!m)
		return 0;
	lh_for (i, LH_MESSAGE_WORDS) {
		u64 w = lh_word(m, i);

		if ((u32)i * 8 >= m->bytes)
			break;
		sum = lh_sum_fold(sum + (w >> 32) + (w & 0xffffffff));
	}
	return sum;
}

/* The IP header at @at. @return where UDP's begins. */
LH_INLINE u32 lh_put_ip(struct lh_hdr *h, u32 at, const struct lh_message *m,
			const struct lh_sender *to)
{
	u32 v4 = m->from.family == 4, i, n = v4 ? 4 : 16, end = at + (v4 ? 20 : 40);

	for (i = 0; i < 40; i++)
		lh_put8(h, at + i, 0);
	if (v4) {
		lh_put16(h, at, 0x4500 | LH_MESSAGE_TOS);
		lh_put16(h, at + 2, 20 + 8 + m->bytes);
		lh_put16(h, at + 6, 0x4000); /* in one piece, or not at all */
		lh_put8(h, at + 8, LH_MESSAGE_HOPS);
		lh_put8(h, at + 9, 17);
	} else {
		lh_put16(h, at, 0x6000 | LH_MESSAGE_TOS << 4);
		lh_put16(h, at + 4, 8 + m->bytes);
		lh_put8(h, at + 6, 17);
		lh_put8(h, at + 7, LH_MESSAGE_HOPS);
	}
	for (i = 0; i < 16; i++) {
		if (i >= n)
			break;
		lh_put8(h, end - 2 * n + i, m->from.addr[i]);
		lh_put8(h, end - n + i, to->addr[i]);
	}
	if (v4)
		lh_put16(h, at + 10, ~lh_sum_fold(lh_sum_header(h, at, 20)));
	return end;
}

LH_ENTRY int lh_message_headers(struct lh_hdr *h, const struct lh_message *m,
				const struct lh_sender *to, u32 l2_bytes, u32 port)
{
	u32 at, n, i, sum;

	if (!h || !m || !to || l2_bytes > 14)
		return 0;
	for (i = 0; l2_bytes && i < 6; i++) {
		lh_put8(h, i, to->hw[i]);
		lh_put8(h, 6 + i, m->from.hw[i]);
	}
	if (l2_bytes)
		lh_put16(h, 12, m->from.family == 4 ? 0x0800 : 0x86dd);
	at = lh_put_ip(h, l2_bytes, m, to);
	lh_put16(h, at, LH_MESSAGE_FROM + (m->counter & (LH_MESSAGE_FROMS - 1)));
	lh_put16(h, at + 2, port);
	lh_put16(h, at + 4, 8 + m->bytes);
	lh_put16(h, at + 6, 0);
	n = m->from.family == 4 ? 8 : 32;
	/* Addresses, protocol and length: the pseudo-header (RFC 768, RFC 8200 section 8.1). */
	sum = lh_sum_fold(lh_sum_header(h, at, 8) + lh_sum_message(m) + 17 + 8 + m->bytes +
			  (n == 8 ? lh_sum_header(h, at - 8, 8) : lh_sum_header(h, at - 32, 32)));
	lh_put16(h, at + 6, sum == 0xffff ? sum : ~sum);
	return at + 8;
}

LH_ENTRY int lh_message_seal(struct lh_message *m, const struct lh_key *key)
{
	u32 body, words;

	if (!m || !key)
		return 0;
	body = m->body_bytes;
	words = LH_HEAD_WORDS + body / 8;
	if (body > LH_BODY_BYTES || body % 8)
		return 0;
	m->key_id = key->id;
	lh_set_word(m, 0,
		    (u64)LH_MESSAGE_MAGIC << 32 | LH_MESSAGE_VERSION << 24 | (u32)m->type << 16 |
			    (u32)m->stream << 8);
	lh_set_word(m, 1, (u64)key->id << 32 | body << 16);
	lh_set_word(m, 2, m->epoch);
	lh_set_word(m, 3, m->counter);
	lh_set_word(m, words, lh_message_mac(m, key, words));
	m->bytes = words * 8 + LH_MAC_BYTES;
	return m->bytes;
}

/* Whether the lengths fit each other, and what is to be zero is. */
LH_INLINE bool lh_message_shaped(const struct lh_message *m)
{
	u32 bytes = m->bytes;

	if (bytes < LH_MESSAGE_BYTES_MIN || bytes > LH_MESSAGE_BYTES_MAX || bytes % 8)
		return false;
	return lh_word(m, 0) >> 32 == LH_MESSAGE_MAGIC &&
	       m->body_bytes + LH_MESSAGE_BYTES_MIN == bytes && !(lh_word(m, 0) & 0xff) &&
	       !(lh_word(m, 1) & 0xffff);
}

LH_INLINE u32 lh_missing_count(const struct lh_message *m)
{
	return lh_word(m, LH_HEAD_WORDS + 5) >> 48 & 0xff;
}

/* Whether each block of MISSING or ABSENT has something in it. An entry of its own: see lh_parse_next(). */
LH_ENTRY int lh_missing_right(const struct lh_message *m)
{
	u32 nr, family, ok = 0;
	int i;

	if (!m)
		return 0;
	nr = lh_missing_count(m);
	family = lh_word(m, LH_HEAD_WORDS + 5) >> 56;
	if (!nr || nr > LH_MISSING_MAX || (family != 4 && family != 6) ||
	    m->body_bytes < (LH_MISSING_WORDS + nr) * 8)
		return 0;
	for (i = 0; i < LH_MISSING_MAX; i++) {
		u64 block = lh_word(m, LH_HEAD_WORDS + LH_MISSING_WORDS + i);

		ok += (u32)i >= nr || lh_before(block >> 32, block);
	}
	return ok == LH_MISSING_MAX;
}

LH_INLINE enum lh_opened lh_message_sense(const struct lh_message *m)
{
	if (m->stream >= LH_NR_STREAMS || !m->counter || !m->epoch)
		return LH_OPENED_MALFORMED;
	if (m->type == LH_MESSAGE_HELLO)
		return m->body_bytes < LH_HELLO_WORDS * 8 ? LH_OPENED_MALFORMED : LH_OPENED;
	if (m->type == LH_MESSAGE_MISSING || m->type == LH_MESSAGE_ABSENT)
		return lh_missing_right(m) ? LH_OPENED : LH_OPENED_MALFORMED;
	return LH_OPENED_VERSION;
}

LH_ENTRY int lh_message_open(struct lh_message *m, const struct lh_keys *keys)
{
	const struct lh_key *key;
	u32 words;

	if (!m || !keys)
		return LH_OPENED_MALFORMED;
	m->body_bytes = lh_word(m, 1) >> 16 & 0xffff;
	if (!lh_message_shaped(m))
		return LH_OPENED_MALFORMED;
	if ((lh_word(m, 0) >> 24 & 0xff) != LH_MESSAGE_VERSION)
		return LH_OPENED_VERSION;
	m->key_id = lh_word(m, 1) >> 32;
	if (!m->key_id)
		return LH_OPENED_KEY;
	if (m->key_id == keys->key[0].id)
		key = &keys->key[0];
	else if (m->key_id == keys->key[1].id)
		key = &keys->key[1];
	else
		return LH_OPENED_KEY;
	words = LH_HEAD_WORDS + m->body_bytes / 8;
	/* One word each: nothing tells how many of its bytes are right. */
	if (lh_message_mac(m, key, words) ^ lh_word(m, words))
		return LH_OPENED_FORGED;
	m->type = lh_word(m, 0) >> 16;
	m->stream = lh_word(m, 0) >> 8;
	m->epoch = lh_word(m, 2);
	m->counter = lh_word(m, 3);
	return lh_message_sense(m);
}

LH_ENTRY int lh_hello_put(struct lh_message *m, const struct lh_hello *hello)
{
	if (!m || !hello)
		return 0;
	m->type = LH_MESSAGE_HELLO;
	m->body_bytes = LH_HELLO_WORDS * 8;
	lh_set_word(m, LH_HEAD_WORDS, hello->can);
	lh_set_word(m, LH_HEAD_WORDS + 1, hello->time_ns);
	lh_set_word(m, LH_HEAD_WORDS + 2, hello->echo_epoch);
	lh_set_word(m, LH_HEAD_WORDS + 3, hello->echo_time_ns);
	lh_set_word(m, LH_HEAD_WORDS + 4, hello->kept_ns);
	return m->body_bytes;
}

LH_ENTRY int lh_hello_get(const struct lh_message *m, struct lh_hello *hello)
{
	if (!m || !hello)
		return 0;
	hello->can = lh_word(m, LH_HEAD_WORDS);
	hello->time_ns = lh_word(m, LH_HEAD_WORDS + 1);
	hello->echo_epoch = lh_word(m, LH_HEAD_WORDS + 2);
	hello->echo_time_ns = lh_word(m, LH_HEAD_WORDS + 3);
	hello->kept_ns = lh_word(m, LH_HEAD_WORDS + 4);
	return 1;
}

LH_ENTRY int lh_missing_put(struct lh_message *m, u32 type, const struct lh_missing *missing)
{
	const struct lh_flow_key *key;
	u32 nr, at = LH_HEAD_WORDS;
	int i;

	if (!m || !missing)
		return 0;
	key = &missing->key;
	nr = missing->nr;
	if (!nr || nr > LH_MISSING_MAX)
		return 0;
	m->type = type;
	m->body_bytes = (LH_MISSING_WORDS + nr) * 8;
	lh_set_word(m, at, lh_half(key->fh));
	lh_set_word(m, at + 1, lh_half(key->fh + 8));
	lh_set_word(m, at + 2, lh_half(key->mh));
	lh_set_word(m, at + 3, lh_half(key->mh + 8));
	lh_set_word(m, at + 4,
		    (u64)key->fh_port << 48 | (u64)key->mh_port << 32 | (u32)key->vlan[0] << 16 |
			    key->vlan[1]);
	lh_set_word(m, at + 5, (u64)key->family << 56 | (u64)nr << 48);
	for (i = 0; i < LH_MISSING_MAX; i++)
		lh_set_word(m, at + LH_MISSING_WORDS + i,
			    (u64)missing->block[i].left << 32 | missing->block[i].right);
	return m->body_bytes;
}

LH_ENTRY int lh_missing_get(const struct lh_message *m, struct lh_missing *missing)
{
	struct lh_flow_key *key;
	u32 at = LH_HEAD_WORDS, nr;
	u64 names;
	int i;

	if (!m || !missing)
		return 0;
	key = &missing->key;
	__builtin_memset(missing, 0, sizeof(*missing));
	nr = lh_missing_count(m);
	if (nr > LH_MISSING_MAX)
		return 0;
	missing->nr = nr;
	lh_set_half(key->fh, lh_word(m, at));
	lh_set_half(key->fh + 8, lh_word(m, at + 1));
	lh_set_half(key->mh, lh_word(m, at + 2));
	lh_set_half(key->mh + 8, lh_word(m, at + 3));
	names = lh_word(m, at + 4);
	key->fh_port = names >> 48;
	key->mh_port = names >> 32;
	key->vlan[0] = names >> 16;
	key->vlan[1] = names;
	key->family = lh_word(m, at + 5) >> 56;
	for (i = 0; i < LH_MISSING_MAX; i++) {
		u64 block = lh_word(m, at + LH_MISSING_WORDS + i);

		if ((u32)i >= nr)
			continue;
		missing->block[i].left = block >> 32;
		missing->block[i].right = block;
	}
	return 1;
}

LH_INLINE void lh_missing_turn(struct lh_missing *missing, const struct lh_flow_key *ours)
{
	struct lh_flow_key *key = &missing->key;

	*key = *ours;
	__builtin_memcpy(key->mh, ours->fh, sizeof(key->mh));
	__builtin_memcpy(key->fh, ours->mh, sizeof(key->fh));
	key->mh_port = ours->fh_port;
	key->fh_port = ours->mh_port;
}
