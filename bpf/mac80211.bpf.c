/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A source of MAC events (docs/mac-events.md): what mac80211 hears from a radio's driver of each frame
 * that was sent. It writes records in the form of the socket's; user space hands them to lh_report,
 * for a tracing program can't share a map that holds timers. An object of its own, since only kernels
 * with the module and its types can load it.
 */
#include "kernel.h"

#define LH_TINY static inline __attribute__((always_inline))

#define LH_RECORD_VERSION 1
#define LH_RECORD_PACKET 128
#define LH_DELIVERED 0
#define LH_GIVEN_UP 2

/* IEEE 802.11-2020, 9.2.4.1: frame control, as the first two bytes stand in the frame. */
#define LH_WIFI_KIND 0x0f /* version and type */
#define LH_WIFI_DATA 0x08
#define LH_WIFI_NO_DATA 0x40
#define LH_WIFI_QOS 0x80
#define LH_WIFI_TO_AND_FROM 0x03 /* second byte: a fourth address follows */
#define LH_WIFI_MORE_FRAGMENTS 0x04
#define LH_WIFI_ORDER 0x80 /* with QoS: HT control follows */
#define LH_WIFI_GROUP 0x01 /* first byte of an address */
#define LH_WIFI_AMSDU 0x80 /* first byte of QoS control */
#define LH_WIFI_HEADER 24
#define LH_WIFI_IV 8 /* CCMP, GCMP and TKIP */
#define LH_LLC_SNAP 8

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define lh_le16 __builtin_bswap16
#define lh_le32 __builtin_bswap32
#define lh_le64 __builtin_bswap64
#else
#define lh_le16
#define lh_le32
#define lh_le64
#endif

/* The kernel's, as far as it is needed; offsets and values are put in when this is loaded. */
struct ns_common___mac {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct net___mac {
	struct ns_common___mac ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net___mac *net;
} __attribute__((preserve_access_index)) possible_net_t___mac;

struct net_device___mac {
	int ifindex;
	possible_net_t___mac nd_net;
} __attribute__((preserve_access_index));

struct sk_buff___mac {
	struct net_device___mac *dev;
	unsigned int len, data_len;
	unsigned char *data;
} __attribute__((preserve_access_index));

struct ieee80211_tx_info {
	u32 flags;
} __attribute__((preserve_access_index));

struct ieee80211_tx_status {
	struct ieee80211_tx_info *info;
	struct sk_buff___mac *skb;
} __attribute__((preserve_access_index));

enum mac80211_tx_info_flags {
	IEEE80211_TX_CTL_NO_ACK = 1 << 2,
	IEEE80211_TX_STAT_TX_FILTERED = 1 << 8,
	IEEE80211_TX_STAT_ACK = 1 << 9,
	IEEE80211_TX_CTL_HW_80211_ENCAP = 1 << 14,
};

#define lh_tx_flag(name) bpf_core_enum_value(enum mac80211_tx_info_flags, name)

/* A record of docs/mac-events.md. */
struct lh_record {
	u8 version, event, direction, packet_bytes;
	u16 ether_type, attempt;
	u32 frame_bytes, zero;
	u64 number, missed;
	u64 queued_ns, head_ns, at_ns, zeros;
	u8 packet[LH_RECORD_PACKET];
};

/* Whose frames are reported: written by user space, which follows the device. */
struct lh_watched {
	u32 ifindex; /* 0: nobody's */
	u32 netns; /* the number of its network namespace: others may have the same index */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lh_watched);
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024); /* some 2,500 records */
} records SEC(".maps");

u64 lh_records, lh_missed;

LH_TINY bool lh_is_watched(struct sk_buff___mac *skb)
{
	u32 zero = 0;
	struct lh_watched *w = bpf_map_lookup_elem(&watched, &zero);
	struct net_device___mac *dev;

	if (!w || !w->ifindex)
		return false;
	dev = BPF_CORE_READ(skb, dev);
	return dev && (u32)BPF_CORE_READ(dev, ifindex) == w->ifindex &&
	       BPF_CORE_READ(dev, nd_net.net, ns.inum) == w->netns;
}

/* The length of the header of a frame with data for one station. 0: another frame, a fragment, or
 * one with many packets in it. */
LH_TINY u32 lh_wifi_header(const u8 *data)
{
	u8 header[LH_WIFI_HEADER], qos = 0;
	u32 bytes = LH_WIFI_HEADER;

	if (bpf_probe_read_kernel(header, sizeof(header), data))
		return 0;
	if ((header[0] & LH_WIFI_KIND) != LH_WIFI_DATA || (header[0] & LH_WIFI_NO_DATA))
		return 0;
	if ((header[4] & LH_WIFI_GROUP) || (header[1] & LH_WIFI_MORE_FRAGMENTS) ||
	    (header[22] & 0x0f))
		return 0;
	if ((header[1] & LH_WIFI_TO_AND_FROM) == LH_WIFI_TO_AND_FROM)
		bytes += 6;
	if (!(header[0] & LH_WIFI_QOS))
		return bytes;
	if (bpf_probe_read_kernel(&qos, 1, data + bytes) || (qos & LH_WIFI_AMSDU))
		return 0;
	return bytes + ((header[1] & LH_WIFI_ORDER) ? 6 : 2);
}

/* What follows @llc is an IP packet. @return its EtherType, else 0. */
LH_TINY u16 lh_ip_follows(const u8 *llc)
{
	u16 type = (u16)(llc[6] << 8 | llc[7]);

	if (llc[0] != 0xaa || llc[1] != 0xaa || llc[2] != 3 || llc[3] || llc[4] || llc[5])
		return 0;
	return type == 0x0800 || type == 0x86dd ? type : 0;
}

/* Where the packet begins, and its type. The driver's own encryption leaves it as it was, perhaps
 * behind an initialisation vector; the kernel's does not, and such frames are left out. */
LH_TINY u32 lh_packet_at(const u8 *data, u32 flags, u16 *ether_type)
{
	u8 llc[LH_WIFI_IV + LH_LLC_SNAP];
	u32 at;

	if (flags & lh_tx_flag(IEEE80211_TX_CTL_HW_80211_ENCAP)) {
		/* The driver was given an Ethernet frame. */
		if (bpf_probe_read_kernel(llc, 14, data) || (llc[0] & LH_WIFI_GROUP))
			return 0;
		*ether_type = (u16)(llc[12] << 8 | llc[13]);
		return *ether_type == 0x0800 || *ether_type == 0x86dd ? 14 : 0;
	}
	at = lh_wifi_header(data);
	if (!at || bpf_probe_read_kernel(llc, sizeof(llc), data + at))
		return 0;
	*ether_type = lh_ip_follows(llc);
	if (*ether_type)
		return at + LH_LLC_SNAP;
	*ether_type = lh_ip_follows(llc + LH_WIFI_IV);
	return *ether_type ? at + LH_WIFI_IV + LH_LLC_SNAP : 0;
}

LH_TINY void lh_write_record(struct lh_record *r, u32 frame_bytes, u16 ether_type, bool acked)
{
	r->version = LH_RECORD_VERSION;
	r->event = acked ? LH_DELIVERED : LH_GIVEN_UP;
	r->direction = 0;
	r->ether_type = lh_le16(ether_type);
	r->attempt = 0; /* few drivers tell */
	r->frame_bytes = lh_le32(frame_bytes);
	r->zero = 0;
	r->number = lh_le64(__sync_fetch_and_add(&lh_records, 1));
	r->missed = lh_le64(lh_missed);
	r->queued_ns = 0;
	r->head_ns = 0;
	r->at_ns = lh_le64(bpf_ktime_get_ns());
	r->zeros = 0;
}

/* All ways by which drivers report a frame's end lead here; some without the frame. */
SEC("fentry/ieee80211_tx_status_ext")
int lh_tx_status(u64 *arguments)
{
	struct ieee80211_tx_status *status = (void *)arguments[1];
	struct sk_buff___mac *skb = BPF_CORE_READ(status, skb);
	u32 flags, linear_bytes, at, bytes;
	struct lh_record *r;
	u16 ether_type = 0;
	const u8 *data;

	if (!skb || !lh_is_watched(skb))
		return 0;
	flags = BPF_CORE_READ(status, info, flags);
	/* What slept through it gets it later; for what nobody answers nothing is known. */
	if (flags &
	    (lh_tx_flag(IEEE80211_TX_CTL_NO_ACK) | lh_tx_flag(IEEE80211_TX_STAT_TX_FILTERED)))
		return 0;
	data = BPF_CORE_READ(skb, data);
	at = lh_packet_at(data, flags, &ether_type);
	linear_bytes = BPF_CORE_READ(skb, len) - BPF_CORE_READ(skb, data_len);
	if (!at || linear_bytes <= at)
		return 0;
	bytes = linear_bytes - at;
	if (bytes > LH_RECORD_PACKET)
		bytes = LH_RECORD_PACKET;
	r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&lh_missed, 1);
		return 0;
	}
	lh_write_record(r, BPF_CORE_READ(skb, len) - at + 14, ether_type,
			flags & lh_tx_flag(IEEE80211_TX_STAT_ACK));
	r->packet_bytes = bytes;
	__builtin_memset(r->packet, 0, sizeof(r->packet));
	if (bpf_probe_read_kernel(r->packet, bytes, data + at))
		r->version = 0; /* no record */
	bpf_ringbuf_submit(r, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
