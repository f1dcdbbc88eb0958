/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The core for native hosts (crates/lasthop-core, ns3/): the entry points of
 * agent.h as exported functions, over a host that lends memory through a
 * table of callbacks.
 */
#define LH_UNIT
#include "core.h"

struct lh_host {
	struct lh_host_ops ops;
};

#include "flow.h"

LH_INLINE struct lh_chunk *lh_host_chunk(struct lh_env *env, u32 id)
{
	return env->host->ops.chunk(env->host->ops.ctx, id);
}

LH_INLINE bool lh_host_get_chunk(struct lh_env *env, u32 *id)
{
	return env->host->ops.get_chunk(env->host->ops.ctx, id);
}

LH_INLINE void lh_host_put_chunk(struct lh_env *env, u32 id)
{
	env->host->ops.put_chunk(env->host->ops.ctx, id);
}

LH_INLINE bool lh_host_get_slot(struct lh_env *env, u32 *slot)
{
	return env->host->ops.get_slot(env->host->ops.ctx, slot);
}

LH_INLINE void lh_host_put_slot(struct lh_env *env, u32 slot)
{
	env->host->ops.put_slot(env->host->ops.ctx, slot);
}

LH_INLINE void lh_host_count(struct lh_env *env, enum lh_counter id, u64 n)
{
	env->host->ops.count(env->host->ops.ctx, id, n);
}

#include "unit.h"

/* What the caller lends, for a call that takes nothing else. */
static struct lh_env lent(struct lh_host *host)
{
	struct lh_env env = {
		.host = host,
		.device = host->ops.device,
		.nr_peers = host->ops.nr_peers ? host->ops.nr_peers : LH_PEERS,
	};

	return env;
}

/* One call's environment from the flat argument of the exported functions. */
static struct lh_env env_of(struct lh_host *host, const struct lh_config *cfg,
			    const struct lh_call *call)
{
	struct lh_env env = lent(host);

	env.cfg = cfg;
	env.now_ns = call->now_ns;
	env.cap_segments = call->cap_segments;
	env.part_segments = call->part_segments;
	env.pool_segments = call->pool_segments;
	env.alive = call->alive;
	env.accepted = call->accepted;
	env.handshakes = call->handshakes;
	env.partner = call->partner;
	env.partner_rtt_ns = call->partner_rtt_ns;
	env.room = LH_MAX_RETRANSMIT;
	return env;
}

int lhc_parse(const u8 *packet, u32 len, u32 pkt_bytes, u32 l2_bytes, u32 vlan, u32 to_mh,
	      struct lh_segment *seg, struct lh_flow_key *key)
{
	u32 hdr_len = len < LH_HDR_BYTES ? len : LH_HDR_BYTES;
	struct lh_hdr hdr;

	__builtin_memset(&hdr, 0, sizeof(hdr));
	__builtin_memset(seg, 0, sizeof(*seg));
	__builtin_memset(key, 0, sizeof(*key));
	__builtin_memcpy(hdr.b, packet, hdr_len);
	return lh_parse(&hdr, hdr_len, pkt_bytes, l2_bytes, lh_vlan_tag(vlan), to_mh, seg, key);
}

void lhc_flow_init(struct lh_flow *flow)
{
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->conn.wscale_fh = flow->conn.wscale_mh = LH_WSCALE_NONE;
}

void lhc_on_data(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 const struct lh_segment *seg, const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_data(&env, flow, seg, out);
}

int lhc_on_train(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 const struct lh_segment *seg, const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);
	u32 i, n;

	if (!lh_train_ordinary(&env, flow, seg))
		return 0;
	lh_on_data(&env, flow, seg, out);
	n = out->nr_store;
	for (i = 0; i < n; i++)
		if (lh_train_next(&env, flow, seg, i) == LH_NO_SLOT)
			break;
	lh_train_end(&env, flow, seg, i, out);
	return 1;
}

void lhc_on_ack(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		const struct lh_segment *seg, const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_ack(&env, flow, seg, out);
}

void lhc_on_wait(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 const struct lh_segment *seg, const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_wait(&env, flow, seg, out);
}

void lhc_on_turn(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_turn(&env, flow, out);
}

void lhc_on_through(const struct lh_host_ops *ops, struct lh_flow *flow,
		    const struct lh_config *cfg, const struct lh_segment *seg,
		    const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_through(&env, flow, seg, out);
}

void lhc_on_timer(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		  const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_timer(&env, flow, out);
}

void lhc_on_link(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		 u32 up, const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_link(&env, flow, up, out);
}

void lhc_on_partner(const struct lh_host_ops *ops, struct lh_flow *flow,
		    const struct lh_config *cfg, const struct lh_missing *missing,
		    const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_partner(&env, flow, missing, out);
}

void lhc_on_absent(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		   const struct lh_missing *absent, const struct lh_call *call,
		   struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_absent(&env, flow, absent, out);
}

void lhc_on_mac(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		const struct lh_segment *seg, const struct lh_mac_report *report,
		const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_mac(&env, flow, seg, report, out);
}

void lhc_on_sweep(const struct lh_host_ops *ops, struct lh_flow *flow, const struct lh_config *cfg,
		  const struct lh_call *call)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_sweep(&env, flow);
}

void lhc_on_release(const struct lh_host_ops *ops, struct lh_flow *flow,
		    const struct lh_config *cfg, const struct lh_call *call, struct lh_actions *out)
{
	struct lh_host host = {*ops};
	struct lh_env env = env_of(&host, cfg, call);

	lh_on_release(&env, flow, out);
}

void lhc_peer_join(const struct lh_host_ops *ops, struct lh_flow *flow,
		   const struct lh_flow_key *key, u64 now_ns)
{
	struct lh_host host = {*ops};
	struct lh_env env = lent(&host);

	env.now_ns = now_ns;
	lh_peer_join(&env, flow, key);
}

u64 lhc_device_bytes(void)
{
	return sizeof(struct lh_device);
}

/* The first bytes of @packet. */
static struct lh_hdr hdr_of(const u8 *packet, u32 len)
{
	struct lh_hdr hdr;

	__builtin_memset(&hdr, 0, sizeof(hdr));
	__builtin_memcpy(hdr.b, packet, lh_min(len, LH_HDR_BYTES));
	return hdr;
}

int lhc_edit_ack(u8 *packet, u32 len, const struct lh_segment *seg, const struct lh_actions *out)
{
	struct lh_hdr hdr = hdr_of(packet, len);
	int changed = lh_edit_ack(&hdr, seg, out, 0);

	__builtin_memcpy(packet, hdr.b, lh_min(len, LH_HDR_BYTES));
	return changed;
}

int lhc_edit_strip(u8 *packet, u32 len, const struct lh_segment *seg)
{
	struct lh_hdr hdr = hdr_of(packet, len);
	int changed = lh_edit_strip(&hdr, seg, 0);

	__builtin_memcpy(packet, hdr.b, lh_min(len, LH_HDR_BYTES));
	return changed;
}

int lhc_edit_tell(u8 *packet, u32 len, const struct lh_segment *seg, const struct lh_actions *out)
{
	struct lh_hdr hdr = hdr_of(packet, len);
	int bytes = lh_edit_tell(&hdr, seg, out, 0);

	__builtin_memcpy(packet, hdr.b, lh_min(len + bytes, LH_HDR_BYTES));
	return bytes;
}

void lhc_store_failed(const struct lh_host_ops *ops, struct lh_flow *flow,
		      const struct lh_actions *actions)
{
	struct lh_host host = {*ops};
	struct lh_env env = lent(&host);

	lh_store_failed(&env, flow, actions->store_pos);
}

void lhc_flow_free(const struct lh_host_ops *ops, struct lh_flow *flow)
{
	struct lh_host host = {*ops};
	struct lh_env env = lent(&host);

	lh_flow_free(&env, flow);
}

int lhc_flow_over(const struct lh_flow *flow, const struct lh_config *cfg, u64 now_ns)
{
	struct lh_env env = {.cfg = cfg, .now_ns = now_ns};

	return lh_flow_over(&env, flow);
}

u64 lhc_lrto_ns(const struct lh_flow *flow, const struct lh_config *cfg)
{
	struct lh_env env = {.cfg = cfg};

	return lh_lrto(&env, flow);
}

u64 lhc_hold_ns(const struct lh_flow *flow, const struct lh_config *cfg)
{
	struct lh_env env = {.cfg = cfg};

	return lh_hold_time(&env, flow);
}

u32 lhc_shadow_sender(const struct lh_flow *flow)
{
	return lh_shadow_sender_of(flow);
}

struct lh_seg *lhc_seg_at(const struct lh_host_ops *ops, const struct lh_flow *flow, u32 pos)
{
	struct lh_host host = {*ops};
	struct lh_env env = lent(&host);

	return lh_seg_at(&env, flow, pos);
}

int lhc_before(u32 a, u32 b)
{
	return lh_before(a, b);
}

u64 lhc_siphash(const u8 *key, const u8 *data, u32 len)
{
	u64 k0 = lh_swapped(lh_half(key)), k1 = lh_swapped(lh_half(key + 8)), rest = 0;
	struct lh_sip s;
	u32 i;

	lh_sip_begin(&s, k0, k1);
	for (i = 0; i + 8 <= len; i += 8)
		lh_sip_word(&s, lh_swapped(lh_half(data + i)));
	for (; i < len; i++)
		rest |= (u64)data[i] << i % 8 * 8;
	return lh_sip_end(&s, rest, len);
}

void lhc_key_init(struct lh_key *key, const u8 *bytes)
{
	lh_key_init(key, bytes);
}

int lhc_message_find(const u8 *packet, u32 len, u32 l2_bytes, u32 port, struct lh_message *m)
{
	u32 hdr_len = len < LH_HDR_BYTES ? len : LH_HDR_BYTES, at;
	struct lh_hdr hdr;

	__builtin_memset(&hdr, 0, sizeof(hdr));
	__builtin_memset(m, 0, sizeof(*m));
	__builtin_memcpy(hdr.b, packet, hdr_len);
	at = lh_message_find(&hdr, l2_bytes, port, m);
	if (!at || m->bytes > LH_MESSAGE_BYTES_MAX)
		return at;
	if (at + m->bytes > len)
		m->bytes = 0; /* truncated */
	else
		__builtin_memcpy(m->w, packet + at, m->bytes);
	return at;
}

int lhc_message_for(const struct lh_message *m, const struct lh_us *us)
{
	return lh_message_for(m, us);
}

int lhc_message_address(struct lh_message *m, const struct lh_us *us, struct lh_sender *to)
{
	return lh_message_address(m, us, to);
}

int lhc_message_packet(u8 *packet, const struct lh_message *m, const struct lh_sender *to,
		       u32 l2_bytes, u32 port)
{
	struct lh_hdr hdr;
	u32 n;

	__builtin_memset(&hdr, 0, sizeof(hdr));
	n = lh_message_headers(&hdr, m, to, l2_bytes, port);
	if (!n || m->bytes > LH_MESSAGE_BYTES_MAX)
		return 0;
	__builtin_memcpy(packet, hdr.b, n);
	__builtin_memcpy(packet + n, m->w, m->bytes);
	return n + m->bytes;
}

int lhc_message_seal(struct lh_message *m, const struct lh_key *key)
{
	return lh_message_seal(m, key);
}

int lhc_message_open(struct lh_message *m, const struct lh_keys *keys)
{
	return lh_message_open(m, keys);
}

void lhc_hello_put(struct lh_message *m, const struct lh_hello *hello)
{
	lh_hello_put(m, hello);
}

void lhc_hello_get(const struct lh_message *m, struct lh_hello *hello)
{
	lh_hello_get(m, hello);
}

int lhc_missing_put(struct lh_message *m, u32 type, const struct lh_missing *missing)
{
	return lh_missing_put(m, type, missing);
}

void lhc_missing_get(const struct lh_message *m, struct lh_missing *missing)
{
	lh_missing_get(m, missing);
}

void lhc_missing_turn(struct lh_missing *missing, const struct lh_flow_key *ours)
{
	lh_missing_turn(missing, ours);
}

int lhc_partners_take(struct lh_partners *t, const struct lh_message *m, u64 now_ns)
{
	return lh_partners_take(t, m, now_ns);
}

void lhc_partner_hello(const struct lh_partner *partner, u64 can, u64 now_ns,
		       struct lh_hello *hello)
{
	lh_partner_hello(partner, can, now_ns, hello);
}

int lhc_partner_up(const struct lh_partner *partner, u64 now_ns)
{
	return lh_partner_up(partner, now_ns);
}

int lhc_partners_find(const struct lh_partners *t, const struct lh_sender *from, u64 now_ns)
{
	return lh_partners_find(t, from, now_ns);
}

u64 lhc_can(u32 policy)
{
	u64 can = policy & LH_POLICY_PARTNER ? LH_CAN_REPAIR_MISSING : 0;

	can |= policy & LH_POLICY_TELL ? LH_CAN_TELL_MISSING : 0;
	return policy & LH_POLICY_SEQUENCE ? can | LH_CAN_HEAR_ABSENT : can;
}

#define LH_NAME(name, doc) #name,
#define LH_DOC(name, doc) doc,

static const char *const counter_names[] = {LH_COUNTERS(LH_NAME)};
static const char *const counter_docs[] = {LH_COUNTERS(LH_DOC)};
static const char *const scheme_names[] = {
#define LH_SCHEME(name, policies, doc) #name,
#include "scheme/list.h"
#undef LH_SCHEME
};
static const char *const scheme_docs[] = {
#define LH_SCHEME(name, policies, doc) doc,
#include "scheme/list.h"
#undef LH_SCHEME
};

const char *lhc_counter_name(u32 id)
{
	return id < LH_NR_COUNTERS ? counter_names[id] : NULL;
}

const char *lhc_counter_doc(u32 id)
{
	return id < LH_NR_COUNTERS ? counter_docs[id] : NULL;
}

#define LH_FIELD_AT(field) (u32) __builtin_offsetof(struct lh_config, field)
#define LH_TIME_ROW(key, initial, least, most, text)                                               \
	{#key, NULL, text, LH_PARAM_TIME, LH_FIELD_AT(key##_ns), initial, least, most},
#define LH_COUNT_ROW(key, initial, least, most, text)                                              \
	{#key, NULL, text, LH_PARAM_COUNT, LH_FIELD_AT(key), initial, least, most},
#define LH_FLAG_ROW(key, initial, text)                                                            \
	{#key, NULL, text, LH_PARAM_FLAG, LH_FIELD_AT(key), initial, 0, 1},
#define LH_CHOICE_ROW(key, initial, most, words, text)                                             \
	{#key, words, text, LH_PARAM_CHOICE, LH_FIELD_AT(key), initial, 0, most},
#define LH_RATIO_ROW(key, initial, least, most, text)                                              \
	{#key, NULL, text, LH_PARAM_RATIO, LH_FIELD_AT(key##_1024), initial, least, most},

static const struct lh_param params[] = {
	LH_PARAMS(LH_TIME_ROW, LH_COUNT_ROW, LH_FLAG_ROW, LH_CHOICE_ROW, LH_RATIO_ROW)};

const struct lh_param *lhc_param(u32 id)
{
	return id < sizeof(params) / sizeof(params[0]) ? &params[id] : NULL;
}

#define LH_TIME_INIT(key, initial, ...) cfg->key##_ns = initial;
#define LH_WORD_INIT(key, initial, ...) cfg->key = initial;
#define LH_RATIO_INIT(key, initial, ...) cfg->key##_1024 = initial;

void lhc_config_init(struct lh_config *cfg)
{
	__builtin_memset(cfg, 0, sizeof(*cfg));
	cfg->scheme = LH_SCHEME_rack;
	LH_PARAMS(LH_TIME_INIT, LH_WORD_INIT, LH_WORD_INIT, LH_WORD_INIT, LH_RATIO_INIT)
}

u32 lhc_policy(const struct lh_config *cfg)
{
	return lh_policy_in(cfg);
}

int lhc_rests(const struct lh_config *cfg)
{
	u32 policies = lh_policy_in(cfg);

	return cfg->scheme != LH_SCHEME_none && lh_rests_in(cfg->role, policies) &&
	       !(cfg->handoff && (policies & LH_POLICY_HANDOFF));
}

const char *lhc_scheme_name(u32 id)
{
	return id < LH_NR_SCHEMES ? scheme_names[id] : NULL;
}

const char *lhc_scheme_doc(u32 id)
{
	return id < LH_NR_SCHEMES ? scheme_docs[id] : NULL;
}
