// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Generated from core/core.h and bpf/abi.h by `cargo run -p xtask -- bindings`.
// Do not edit.

pub const LH_MSEC: u32 = 1000000;
pub const LH_SEC: u32 = 1000000000;
pub const LH_UNHEARD_BYTES: u32 = 536870912;
pub const LH_HDR_BYTES: u32 = 256;
pub const LH_HDR_MASK: u32 = 255;
pub const LH_MAX_SACK: u32 = 4;
pub const LH_WSCALE_NONE: u32 = 255;
pub const LH_MISSING_KIND: u32 = 253;
pub const LH_MISSING_EXID: u32 = 19528;
pub const LH_MISSING_MOST: u32 = 3;
pub const LH_MESSAGE_MAGIC: u32 = 1279807565;
pub const LH_MESSAGE_VERSION: u32 = 1;
pub const LH_MESSAGE_WORDS: u32 = 32;
pub const LH_HEAD_WORDS: u32 = 4;
pub const LH_BODY_BYTES: u32 = 192;
pub const LH_MAC_BYTES: u32 = 8;
pub const LH_MESSAGE_BYTES_MAX: u32 = 232;
pub const LH_MESSAGE_BYTES_MIN: u32 = 40;
pub const LH_MESSAGE_HDR_MAX: u32 = 62;
pub const LH_MESSAGE_TOS: u32 = 192;
pub const LH_MESSAGE_HOPS: u32 = 255;
pub const LH_MESSAGE_PORT: u32 = 30467;
pub const LH_MESSAGE_FROM: u32 = 49152;
pub const LH_MESSAGE_FROMS: u32 = 16384;
pub const LH_MISSING_MAX: u32 = 8;
pub const LH_HOLES: u32 = 32;
pub const LH_TELL_MOST: u32 = 4;
pub const LH_LATE: u32 = 4;
pub const LH_CHUNK_SHIFT: u32 = 6;
pub const LH_CHUNK_SEGS: u32 = 64;
pub const LH_FLOW_CHUNKS: u32 = 512;
pub const LH_FLOW_SEGS: u32 = 16384;
pub const LH_NO_SLOT: u32 = 4294967295;
pub const LH_SHIFT_MAX: u32 = 512;
pub const LH_RECLAIM_SEGS: u32 = 16;
pub const LH_RECLAIM_IDLE_SEGS: u32 = 512;
pub const LH_MAX_RETRANSMIT: u32 = 4;
pub const LH_KEEP_WINDOW: u32 = 4294967295;
pub const LH_RELEASE_MOST: u32 = 8;
pub const LH_REPAIR_REST_NS: u32 = 100000;
pub const LH_REPAIR_FULL_NS: u32 = 1000000;
pub const LH_TRIALS_MOST: u32 = 4;
pub const LH_TRIAL_MOST_NS: u32 = 2000000000;
pub const LH_C_MOST: u32 = 1073741824;
pub const LH_DELACK_NS: u32 = 40000000;
pub const LH_DELACK_MOST_NS: u32 = 200000000;
pub const LH_SHADOW_QUEUES: u32 = 16;
pub const LH_SHADOW_RATES: u32 = 64;
pub const LH_SHADOW_RATE_SHIFT: u32 = 13;
pub const LH_BIN_NS: u32 = 100000000;
pub const LH_CROWD_BINS: u32 = 16;
pub const LH_DEVICE_BINS: u32 = 64;
pub const LH_PEERS: u32 = 1024;
pub const LH_RATE_BINS: u32 = 8;
pub const LH_QUEUE_RTTS: u32 = 4;
pub const LH_QUEUE_LEAST_NS: u32 = 20000000;
pub const LH_PROBE_SLACK_NS: u32 = 4000000;
pub const LH_OUTAGE_BURST: u32 = 4;
pub const LH_POP_HOLE: u32 = 1;
pub const LH_POP_WAITED: u32 = 2;
pub const LH_RECENT_SAMPLES: u32 = 4;
pub const LH_YOUNG_INTERVALS: u32 = 5;
pub const LH_WORTH_PART: u32 = 4;
pub const LH_HELD_CHUNKS: u32 = 8;
pub const LH_HELD_MOST: u32 = 384;
pub const LH_AGAIN: u32 = 4;
pub const LH_RTT_MAX_NS: u64 = 60000000000;
pub const LH_SHARE_LEAST: u32 = 4;
pub const LH_SMALL_BYTES: u32 = 96;
pub const LH_SMALL_MOST: u32 = 64;
pub const LH_SHARE_STALE_NS: u64 = 10000000000;
pub const LH_TELL_BIN: u32 = 80;
pub const LH_TELL_BIN_ALL: u32 = 95;
pub const LH_TRAIN_MOST: u32 = 128;
pub const LH_MAX_PARTNERS: u32 = 64;
pub const LH_PARTNER_WINDOW: u32 = 64;
pub const LH_PARTNER_ALIVE_NS: u32 = 4000000000;
pub const LH_PARTNER_ANSWER_NS: u64 = 10000000000;
pub const LH_PARTNER_FORGET_NS: u64 = 60000000000;
pub const LH_PARTNER_RTT_NS: u64 = 30000000000;
pub const LH_PARTNER_DRIFT: u32 = 10000;
pub const LH_PARTNER_RATE: u32 = 1000;
pub const LH_PARTNER_BURST: u32 = 256;
pub const LH_LAYOUT: u32 = 2;
pub const LH_SLOT_BYTES: u32 = 2048;
pub const LH_SLOT_PKT_BYTES: u32 = 2016;
pub const LH_CACHE_PKT_MAX: u32 = 1888;
pub const LH_HELD_BYTES: u32 = 256;
pub const LH_MAX_RULES: u32 = 32;
pub const LH_UNANSWERED_PART: u32 = 8;
pub const LH_SYNS_PER_FLOW: u32 = 4;
pub const LH_PENDING_MAX: u32 = 16;
pub const LH_EVENT_GROW: u32 = 4294967295;
pub const LH_BATCH_SLOTS: u32 = 32;
pub const LH_SPARE_MAX: u32 = 64;
pub const LH_POLL_NS: u32 = 10000000;
pub const LH_DUE_MAX: u32 = 256;
pub const LH_DUE_AT: u32 = 16;
pub const LH_SWEEP_MAX: u32 = 512;
pub const LH_SHOWN: u32 = 8;
#[doc = " One end of the connection as far as its packets and the other's have told (accept.h).\n Sequence numbers of what this end sends."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_end {
    #[doc = " behind the last that was acceptable"]
    pub end: u32,
    #[doc = " rightmost edge of a window that the other end has granted it"]
    pub edge: u32,
    #[doc = " widest window that it has itself granted, bytes; 0: it was not heard"]
    pub most: u32,
    #[doc = " 1: end and edge are valid"]
    pub known: u32,
    #[doc = " most that it had on its way, and the other end got, bytes"]
    pub used: u32,
    pub round_start: u32,
    #[doc = " what the other end had, and this one had sent, a round trip ago"]
    pub round_end: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_end"][::core::mem::size_of::<lh_end>() - 28usize];
    ["Alignment of lh_end"][::core::mem::align_of::<lh_end>() - 4usize];
    ["Offset of field: lh_end::end"][::core::mem::offset_of!(lh_end, end) - 0usize];
    ["Offset of field: lh_end::edge"][::core::mem::offset_of!(lh_end, edge) - 4usize];
    ["Offset of field: lh_end::most"][::core::mem::offset_of!(lh_end, most) - 8usize];
    ["Offset of field: lh_end::known"][::core::mem::offset_of!(lh_end, known) - 12usize];
    ["Offset of field: lh_end::used"][::core::mem::offset_of!(lh_end, used) - 16usize];
    ["Offset of field: lh_end::round_start"]
        [::core::mem::offset_of!(lh_end, round_start) - 20usize];
    ["Offset of field: lh_end::round_end"][::core::mem::offset_of!(lh_end, round_end) - 24usize];
};
#[doc = " What FH sent at numbers that can't be its, data or a FIN (accept.h): should MH answer there, both are\n right, and we have missed something. From the first to the last of a run of segments, with the\n last one's ACK number."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_claim {
    pub seq: u32,
    pub end: u32,
    pub ack: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_claim"][::core::mem::size_of::<lh_claim>() - 12usize];
    ["Alignment of lh_claim"][::core::mem::align_of::<lh_claim>() - 4usize];
    ["Offset of field: lh_claim::seq"][::core::mem::offset_of!(lh_claim, seq) - 0usize];
    ["Offset of field: lh_claim::end"][::core::mem::offset_of!(lh_claim, end) - 4usize];
    ["Offset of field: lh_claim::ack"][::core::mem::offset_of!(lh_claim, ack) - 8usize];
};
#[doc = " not its numbers"]
pub const LH_REFUSED: lh_accepted = 0;
#[doc = " in mid-stream: beyond all that was used, if within what may have been granted"]
pub const LH_FAR: lh_accepted = 1;
#[doc = " beyond the window that we saw granted: perhaps we missed a word"]
pub const LH_AHEAD: lh_accepted = 2;
pub const LH_ACCEPTED: lh_accepted = 3;
pub type lh_accepted = ::core::ffi::c_uint;
#[doc = " The first bytes of a packet from layer 2 (or 3, on devices without it) on. Aligned: they are read by words."]
#[repr(C)]
#[repr(align(8))]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_hdr {
    pub b: [u8; 256usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_hdr"][::core::mem::size_of::<lh_hdr>() - 256usize];
    ["Alignment of lh_hdr"][::core::mem::align_of::<lh_hdr>() - 8usize];
    ["Offset of field: lh_hdr::b"][::core::mem::offset_of!(lh_hdr, b) - 0usize];
};
impl Default for lh_hdr {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const LH_FIN: lh_tcp_flag = 1;
pub const LH_SYN: lh_tcp_flag = 2;
pub const LH_RST: lh_tcp_flag = 4;
pub const LH_PSH: lh_tcp_flag = 8;
pub const LH_ACK: lh_tcp_flag = 16;
pub const LH_URG: lh_tcp_flag = 32;
pub const LH_ECE: lh_tcp_flag = 64;
pub const LH_CWR: lh_tcp_flag = 128;
#[doc = " AccECN, RFC 9768; formerly NS"]
pub const LH_AE: lh_tcp_flag = 256;
#[doc = " whatever they will mean (RFC 9293 section 3.1)"]
pub const LH_RESERVED: lh_tcp_flag = 3584;
pub type lh_tcp_flag = ::core::ffi::c_uint;
pub const LH_OPT_MSS: lh_tcp_opt = 1;
pub const LH_OPT_WSCALE: lh_tcp_opt = 2;
pub const LH_OPT_SACK_OK: lh_tcp_opt = 4;
pub const LH_OPT_SACK: lh_tcp_opt = 8;
pub const LH_OPT_TS: lh_tcp_opt = 16;
pub const LH_OPT_MPTCP: lh_tcp_opt = 32;
#[doc = " TCP-MD5 or TCP-AO: nothing may be edited"]
pub const LH_OPT_AUTH: lh_tcp_opt = 64;
pub const LH_OPT_UNKNOWN: lh_tcp_opt = 128;
pub type lh_tcp_opt = ::core::ffi::c_uint;
pub const LH_PARSED_TCP: lh_parsed = 0;
pub const LH_PARSED_NOT_TCP: lh_parsed = 1;
pub const LH_PARSED_FRAGMENT: lh_parsed = 2;
pub const LH_PARSED_MALFORMED: lh_parsed = 3;
pub type lh_parsed = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_sack_block {
    #[doc = " sequence numbers, host byte order, [left, right)"]
    pub left: u32,
    #[doc = " sequence numbers, host byte order, [left, right)"]
    pub right: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_sack_block"][::core::mem::size_of::<lh_sack_block>() - 8usize];
    ["Alignment of lh_sack_block"][::core::mem::align_of::<lh_sack_block>() - 4usize];
    ["Offset of field: lh_sack_block::left"][::core::mem::offset_of!(lh_sack_block, left) - 0usize];
    ["Offset of field: lh_sack_block::right"]
        [::core::mem::offset_of!(lh_sack_block, right) - 4usize];
};
#[doc = " One TCP segment; all numbers in host byte order. Owned by the host for the\n length of one call."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_segment {
    pub seq: u32,
    #[doc = " seq + payload + SYN + FIN"]
    pub end: u32,
    pub ack: u32,
    pub payload_bytes: u32,
    #[doc = " valid with LH_OPT_TS"]
    pub tsval: u32,
    #[doc = " valid with LH_OPT_TS"]
    pub tsecr: u32,
    #[doc = " as in the header, not scaled"]
    pub window: u16,
    #[doc = " of a SYN's option, else 0"]
    pub mss: u16,
    #[doc = " enum lh_tcp_flag"]
    pub flags: u16,
    #[doc = " bytes from the start of struct lh_hdr"]
    pub l3_offset: u16,
    pub l4_offset: u16,
    #[doc = " offset of the payload"]
    pub hdr_bytes: u16,
    #[doc = " enum lh_tcp_opt"]
    pub opts: u8,
    #[doc = " shift of a SYN's option, else LH_WSCALE_NONE"]
    pub wscale: u8,
    pub nr_sack: u8,
    #[doc = " 1: the first SACK block reports a duplicate (RFC 2883)"]
    pub dsack: u8,
    #[doc = " codepoint of the IP header: 0 not capable, 3 CE (RFC 3168)"]
    pub ecn: u8,
    #[doc = " length of the SACK option"]
    pub sack_bytes: u8,
    #[doc = " its offset in struct lh_hdr"]
    pub sack_at: u16,
    pub sack: [lh_sack_block; 4usize],
    #[doc = " offset of that option in struct lh_hdr, the first if there are two; 0: none"]
    pub missing_at: u16,
    #[doc = " 0: there is none"]
    pub nr_missing: u8,
    #[doc = " 1: End of Option List: what is put behind it nobody reads"]
    pub eol: u8,
    #[doc = " payload of each segment in a super-packet (GRO), set by the host; 0: it is one"]
    pub part_bytes: u32,
    #[doc = " one more than there can be"]
    pub missing: [lh_sack_block; 4usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_segment"][::core::mem::size_of::<lh_segment>() - 116usize];
    ["Alignment of lh_segment"][::core::mem::align_of::<lh_segment>() - 4usize];
    ["Offset of field: lh_segment::seq"][::core::mem::offset_of!(lh_segment, seq) - 0usize];
    ["Offset of field: lh_segment::end"][::core::mem::offset_of!(lh_segment, end) - 4usize];
    ["Offset of field: lh_segment::ack"][::core::mem::offset_of!(lh_segment, ack) - 8usize];
    ["Offset of field: lh_segment::payload_bytes"]
        [::core::mem::offset_of!(lh_segment, payload_bytes) - 12usize];
    ["Offset of field: lh_segment::tsval"][::core::mem::offset_of!(lh_segment, tsval) - 16usize];
    ["Offset of field: lh_segment::tsecr"][::core::mem::offset_of!(lh_segment, tsecr) - 20usize];
    ["Offset of field: lh_segment::window"][::core::mem::offset_of!(lh_segment, window) - 24usize];
    ["Offset of field: lh_segment::mss"][::core::mem::offset_of!(lh_segment, mss) - 26usize];
    ["Offset of field: lh_segment::flags"][::core::mem::offset_of!(lh_segment, flags) - 28usize];
    ["Offset of field: lh_segment::l3_offset"]
        [::core::mem::offset_of!(lh_segment, l3_offset) - 30usize];
    ["Offset of field: lh_segment::l4_offset"]
        [::core::mem::offset_of!(lh_segment, l4_offset) - 32usize];
    ["Offset of field: lh_segment::hdr_bytes"]
        [::core::mem::offset_of!(lh_segment, hdr_bytes) - 34usize];
    ["Offset of field: lh_segment::opts"][::core::mem::offset_of!(lh_segment, opts) - 36usize];
    ["Offset of field: lh_segment::wscale"][::core::mem::offset_of!(lh_segment, wscale) - 37usize];
    ["Offset of field: lh_segment::nr_sack"]
        [::core::mem::offset_of!(lh_segment, nr_sack) - 38usize];
    ["Offset of field: lh_segment::dsack"][::core::mem::offset_of!(lh_segment, dsack) - 39usize];
    ["Offset of field: lh_segment::ecn"][::core::mem::offset_of!(lh_segment, ecn) - 40usize];
    ["Offset of field: lh_segment::sack_bytes"]
        [::core::mem::offset_of!(lh_segment, sack_bytes) - 41usize];
    ["Offset of field: lh_segment::sack_at"]
        [::core::mem::offset_of!(lh_segment, sack_at) - 42usize];
    ["Offset of field: lh_segment::sack"][::core::mem::offset_of!(lh_segment, sack) - 44usize];
    ["Offset of field: lh_segment::missing_at"]
        [::core::mem::offset_of!(lh_segment, missing_at) - 76usize];
    ["Offset of field: lh_segment::nr_missing"]
        [::core::mem::offset_of!(lh_segment, nr_missing) - 78usize];
    ["Offset of field: lh_segment::eol"][::core::mem::offset_of!(lh_segment, eol) - 79usize];
    ["Offset of field: lh_segment::part_bytes"]
        [::core::mem::offset_of!(lh_segment, part_bytes) - 80usize];
    ["Offset of field: lh_segment::missing"]
        [::core::mem::offset_of!(lh_segment, missing) - 84usize];
};
#[doc = " Names a connection from the agent's place: mh is the side of the lossy\n link. Padding is zero, so that the bytes can be hashed."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_flow_key {
    #[doc = " network byte order; IPv4 in the first four"]
    pub mh: [u8; 16usize],
    pub fh: [u8; 16usize],
    #[doc = " host byte order"]
    pub mh_port: u16,
    pub fh_port: u16,
    #[doc = " outer and inner tag, as lh_vlan_tag()"]
    pub vlan: [u16; 2usize],
    #[doc = " 4 or 6"]
    pub family: u8,
    pub pad: [u8; 3usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_flow_key"][::core::mem::size_of::<lh_flow_key>() - 44usize];
    ["Alignment of lh_flow_key"][::core::mem::align_of::<lh_flow_key>() - 2usize];
    ["Offset of field: lh_flow_key::mh"][::core::mem::offset_of!(lh_flow_key, mh) - 0usize];
    ["Offset of field: lh_flow_key::fh"][::core::mem::offset_of!(lh_flow_key, fh) - 16usize];
    ["Offset of field: lh_flow_key::mh_port"]
        [::core::mem::offset_of!(lh_flow_key, mh_port) - 32usize];
    ["Offset of field: lh_flow_key::fh_port"]
        [::core::mem::offset_of!(lh_flow_key, fh_port) - 34usize];
    ["Offset of field: lh_flow_key::vlan"][::core::mem::offset_of!(lh_flow_key, vlan) - 36usize];
    ["Offset of field: lh_flow_key::family"]
        [::core::mem::offset_of!(lh_flow_key, family) - 40usize];
    ["Offset of field: lh_flow_key::pad"][::core::mem::offset_of!(lh_flow_key, pad) - 41usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_sip {
    pub v0: u64,
    pub v1: u64,
    pub v2: u64,
    pub v3: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_sip"][::core::mem::size_of::<lh_sip>() - 32usize];
    ["Alignment of lh_sip"][::core::mem::align_of::<lh_sip>() - 8usize];
    ["Offset of field: lh_sip::v0"][::core::mem::offset_of!(lh_sip, v0) - 0usize];
    ["Offset of field: lh_sip::v1"][::core::mem::offset_of!(lh_sip, v1) - 8usize];
    ["Offset of field: lh_sip::v2"][::core::mem::offset_of!(lh_sip, v2) - 16usize];
    ["Offset of field: lh_sip::v3"][::core::mem::offset_of!(lh_sip, v3) - 24usize];
};
pub const LH_MESSAGE_HELLO: lh_message_type = 1;
pub const LH_MESSAGE_MISSING: lh_message_type = 2;
pub const LH_MESSAGE_ABSENT: lh_message_type = 3;
pub type lh_message_type = ::core::ffi::c_uint;
#[doc = " counted by a process; none does yet"]
pub const LH_STREAM_USER: lh_stream = 0;
#[doc = " by the programs on the device"]
pub const LH_STREAM_KERNEL: lh_stream = 1;
pub const LH_NR_STREAMS: lh_stream = 2;
pub type lh_stream = ::core::ffi::c_uint;
#[doc = " MISSING is answered with repairs from the cache"]
pub const LH_CAN_REPAIR_MISSING: lh_can = 1;
#[doc = " what ABSENT names is not waited for any longer"]
pub const LH_CAN_HEAR_ABSENT: lh_can = 2;
#[doc = " it says what it misses; older agents that repair do so, too"]
pub const LH_CAN_TELL_MISSING: lh_can = 4;
#[doc = " What an agent can do for the other one; a bitmap."]
pub type lh_can = ::core::ffi::c_uint;
pub const LH_OPENED: lh_opened = 0;
#[doc = " no message, truncated, too long, or a body that makes no sense"]
pub const LH_OPENED_MALFORMED: lh_opened = 1;
#[doc = " a version or type that we don't know"]
pub const LH_OPENED_VERSION: lh_opened = 2;
#[doc = " sealed with none of our keys"]
pub const LH_OPENED_KEY: lh_opened = 3;
#[doc = " wrong MAC"]
pub const LH_OPENED_FORGED: lh_opened = 4;
#[doc = " our own, come back"]
pub const LH_OPENED_OWN: lh_opened = 5;
#[doc = " came before, too late, or from an earlier life of its sender"]
pub const LH_OPENED_REPLAYED: lh_opened = 6;
#[doc = " who sent it has not yet answered us (partner.h)"]
pub const LH_OPENED_UNCONFIRMED: lh_opened = 7;
#[doc = " too many of this sender"]
pub const LH_OPENED_LIMITED: lh_opened = 8;
#[doc = " no place for another sender"]
pub const LH_OPENED_FULL: lh_opened = 9;
pub const LH_NR_OPENED: lh_opened = 10;
#[doc = " What became of a message."]
pub type lh_opened = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_key {
    #[doc = " as lh_sip_begin() takes them"]
    pub k0: u64,
    #[doc = " as lh_sip_begin() takes them"]
    pub k1: u64,
    #[doc = " lh_key_id(), 0: no key"]
    pub id: u32,
    pub pad: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_key"][::core::mem::size_of::<lh_key>() - 24usize];
    ["Alignment of lh_key"][::core::mem::align_of::<lh_key>() - 8usize];
    ["Offset of field: lh_key::k0"][::core::mem::offset_of!(lh_key, k0) - 0usize];
    ["Offset of field: lh_key::k1"][::core::mem::offset_of!(lh_key, k1) - 8usize];
    ["Offset of field: lh_key::id"][::core::mem::offset_of!(lh_key, id) - 16usize];
    ["Offset of field: lh_key::pad"][::core::mem::offset_of!(lh_key, pad) - 20usize];
};
#[doc = " The first one seals, either opens: so a key can be changed without a pause."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_keys {
    pub key: [lh_key; 2usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_keys"][::core::mem::size_of::<lh_keys>() - 48usize];
    ["Alignment of lh_keys"][::core::mem::align_of::<lh_keys>() - 8usize];
    ["Offset of field: lh_keys::key"][::core::mem::offset_of!(lh_keys, key) - 0usize];
};
#[doc = " Where a message is from, as its packet says."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_sender {
    #[doc = " network byte order; IPv4 in the first four, the rest zero"]
    pub addr: [u8; 16usize],
    #[doc = " layer 2, zeros where the device has none"]
    pub hw: [u8; 6usize],
    #[doc = " 4 or 6"]
    pub family: u8,
    #[doc = " TTL or hop limit that was left"]
    pub hops: u8,
    #[doc = " whom the packet was for, as @addr"]
    pub to: [u8; 16usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_sender"][::core::mem::size_of::<lh_sender>() - 40usize];
    ["Alignment of lh_sender"][::core::mem::align_of::<lh_sender>() - 1usize];
    ["Offset of field: lh_sender::addr"][::core::mem::offset_of!(lh_sender, addr) - 0usize];
    ["Offset of field: lh_sender::hw"][::core::mem::offset_of!(lh_sender, hw) - 16usize];
    ["Offset of field: lh_sender::family"][::core::mem::offset_of!(lh_sender, family) - 22usize];
    ["Offset of field: lh_sender::hops"][::core::mem::offset_of!(lh_sender, hops) - 23usize];
    ["Offset of field: lh_sender::to"][::core::mem::offset_of!(lh_sender, to) - 24usize];
};
#[doc = " A message, and what is known of it in host byte order. Aligned words, since the verifier wants\n them so."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_message {
    #[doc = " as on the wire"]
    pub w: [u64; 32usize],
    pub epoch: u64,
    pub counter: u64,
    #[doc = " of the whole message"]
    pub bytes: u32,
    pub key_id: u32,
    pub body_bytes: u32,
    #[doc = " enum lh_message_type"]
    pub type_: u8,
    #[doc = " enum lh_stream"]
    pub stream: u8,
    pub pad: [u8; 2usize],
    pub from: lh_sender,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_message"][::core::mem::size_of::<lh_message>() - 328usize];
    ["Alignment of lh_message"][::core::mem::align_of::<lh_message>() - 8usize];
    ["Offset of field: lh_message::w"][::core::mem::offset_of!(lh_message, w) - 0usize];
    ["Offset of field: lh_message::epoch"][::core::mem::offset_of!(lh_message, epoch) - 256usize];
    ["Offset of field: lh_message::counter"]
        [::core::mem::offset_of!(lh_message, counter) - 264usize];
    ["Offset of field: lh_message::bytes"][::core::mem::offset_of!(lh_message, bytes) - 272usize];
    ["Offset of field: lh_message::key_id"][::core::mem::offset_of!(lh_message, key_id) - 276usize];
    ["Offset of field: lh_message::body_bytes"]
        [::core::mem::offset_of!(lh_message, body_bytes) - 280usize];
    ["Offset of field: lh_message::type_"][::core::mem::offset_of!(lh_message, type_) - 284usize];
    ["Offset of field: lh_message::stream"][::core::mem::offset_of!(lh_message, stream) - 285usize];
    ["Offset of field: lh_message::pad"][::core::mem::offset_of!(lh_message, pad) - 286usize];
    ["Offset of field: lh_message::from"][::core::mem::offset_of!(lh_message, from) - 288usize];
};
#[doc = " Who we are on the device."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_us {
    #[doc = " network byte order, IPv4 in the first four; zeros: none"]
    pub addr4: [u8; 16usize],
    #[doc = " network byte order, IPv4 in the first four; zeros: none"]
    pub addr6: [u8; 16usize],
    #[doc = " layer 2, zeros where the device has none"]
    pub hw: [u8; 6usize],
    pub pad: [u8; 2usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_us"][::core::mem::size_of::<lh_us>() - 40usize];
    ["Alignment of lh_us"][::core::mem::align_of::<lh_us>() - 1usize];
    ["Offset of field: lh_us::addr4"][::core::mem::offset_of!(lh_us, addr4) - 0usize];
    ["Offset of field: lh_us::addr6"][::core::mem::offset_of!(lh_us, addr6) - 16usize];
    ["Offset of field: lh_us::hw"][::core::mem::offset_of!(lh_us, hw) - 32usize];
    ["Offset of field: lh_us::pad"][::core::mem::offset_of!(lh_us, pad) - 38usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_hello {
    #[doc = " enum lh_can"]
    pub can: u64,
    #[doc = " the sender's clock"]
    pub time_ns: u64,
    #[doc = " of whom it answers, 0: nobody"]
    pub echo_epoch: u64,
    #[doc = " their clock, as their last HELLO had it"]
    pub echo_time_ns: u64,
    #[doc = " how long ago that came"]
    pub kept_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_hello"][::core::mem::size_of::<lh_hello>() - 40usize];
    ["Alignment of lh_hello"][::core::mem::align_of::<lh_hello>() - 8usize];
    ["Offset of field: lh_hello::can"][::core::mem::offset_of!(lh_hello, can) - 0usize];
    ["Offset of field: lh_hello::time_ns"][::core::mem::offset_of!(lh_hello, time_ns) - 8usize];
    ["Offset of field: lh_hello::echo_epoch"]
        [::core::mem::offset_of!(lh_hello, echo_epoch) - 16usize];
    ["Offset of field: lh_hello::echo_time_ns"]
        [::core::mem::offset_of!(lh_hello, echo_time_ns) - 24usize];
    ["Offset of field: lh_hello::kept_ns"][::core::mem::offset_of!(lh_hello, kept_ns) - 32usize];
};
#[doc = " Data that did not come over the hop, or of ABSENT will not."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_missing {
    #[doc = " The connection as the *receiver of the message* has it: of MISSING who sent the data over the\n hop, so that mh is where they go and fh where they come from, of ABSENT the other way round."]
    pub key: lh_flow_key,
    #[doc = " blocks, 1 to LH_MISSING_MAX"]
    pub nr: u32,
    pub block: [lh_sack_block; 8usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_missing"][::core::mem::size_of::<lh_missing>() - 112usize];
    ["Alignment of lh_missing"][::core::mem::align_of::<lh_missing>() - 4usize];
    ["Offset of field: lh_missing::key"][::core::mem::offset_of!(lh_missing, key) - 0usize];
    ["Offset of field: lh_missing::nr"][::core::mem::offset_of!(lh_missing, nr) - 44usize];
    ["Offset of field: lh_missing::block"][::core::mem::offset_of!(lh_missing, block) - 48usize];
};
#[doc = " What is missing: [left, right), told of or not."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_hole {
    #[doc = " sequence numbers"]
    pub left: u32,
    #[doc = " sequence numbers"]
    pub right: u32,
    #[doc = " when it was last told of, or opened; modulo 2^32 us"]
    pub told_us: u32,
    #[doc = " when a request for it went that nothing has shown to be lost"]
    pub asked_us: u32,
    #[doc = " times that it was told of, each in up to `asks` ACKs or messages"]
    pub tries: u8,
    #[doc = " 1: the last one was in vain"]
    pub again: u8,
    #[doc = " ACKs or messages of the last try"]
    pub nr_told: u8,
    #[doc = " of a request (scheme `dproxy`): how often its time has run out"]
    pub waits: u8,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_hole"][::core::mem::size_of::<lh_hole>() - 20usize];
    ["Alignment of lh_hole"][::core::mem::align_of::<lh_hole>() - 4usize];
    ["Offset of field: lh_hole::left"][::core::mem::offset_of!(lh_hole, left) - 0usize];
    ["Offset of field: lh_hole::right"][::core::mem::offset_of!(lh_hole, right) - 4usize];
    ["Offset of field: lh_hole::told_us"][::core::mem::offset_of!(lh_hole, told_us) - 8usize];
    ["Offset of field: lh_hole::asked_us"][::core::mem::offset_of!(lh_hole, asked_us) - 12usize];
    ["Offset of field: lh_hole::tries"][::core::mem::offset_of!(lh_hole, tries) - 16usize];
    ["Offset of field: lh_hole::again"][::core::mem::offset_of!(lh_hole, again) - 17usize];
    ["Offset of field: lh_hole::nr_told"][::core::mem::offset_of!(lh_hole, nr_told) - 18usize];
    ["Offset of field: lh_hole::waits"][::core::mem::offset_of!(lh_hole, waits) - 19usize];
};
#[doc = " What is no longer waited for may come all the same, and tell how long a repair takes."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_late {
    #[doc = " sequence number of its first byte"]
    pub left: u32,
    #[doc = " as in lh_hole"]
    pub asked_us: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_late"][::core::mem::size_of::<lh_late>() - 8usize];
    ["Alignment of lh_late"][::core::mem::align_of::<lh_late>() - 4usize];
    ["Offset of field: lh_late::left"][::core::mem::offset_of!(lh_late, left) - 0usize];
    ["Offset of field: lh_late::asked_us"][::core::mem::offset_of!(lh_late, asked_us) - 4usize];
};
#[doc = " Half of a connection as it comes in over the hop: what MH sends."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_arrival {
    #[doc = " behind the highest that has arrived; with known"]
    pub max: u32,
    pub known: u32,
    pub nr_holes: u32,
    #[doc = " time from telling to the repair; 0: none was seen"]
    pub replay_us: u32,
    #[doc = " time from telling to the repair; 0: none was seen"]
    pub replay_var_us: u32,
    #[doc = " of lh_holes_pack(): in memory, where the verifier does not count along"]
    pub kept: u32,
    #[doc = " of lh_arrival_data(), likewise"]
    pub tries: u32,
    #[doc = " payload of the largest segment: what is missing is asked for in such pieces"]
    pub size: u32,
    #[doc = " 1: the link is down, nothing is told"]
    pub mute: u32,
    pub late: [lh_late; 4usize],
    #[doc = " ever noted: where the next one goes"]
    pub nr_late: u32,
    #[doc = " ascending, apart from each other"]
    pub hole: [lh_hole; 32usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_arrival"][::core::mem::size_of::<lh_arrival>() - 712usize];
    ["Alignment of lh_arrival"][::core::mem::align_of::<lh_arrival>() - 4usize];
    ["Offset of field: lh_arrival::max"][::core::mem::offset_of!(lh_arrival, max) - 0usize];
    ["Offset of field: lh_arrival::known"][::core::mem::offset_of!(lh_arrival, known) - 4usize];
    ["Offset of field: lh_arrival::nr_holes"]
        [::core::mem::offset_of!(lh_arrival, nr_holes) - 8usize];
    ["Offset of field: lh_arrival::replay_us"]
        [::core::mem::offset_of!(lh_arrival, replay_us) - 12usize];
    ["Offset of field: lh_arrival::replay_var_us"]
        [::core::mem::offset_of!(lh_arrival, replay_var_us) - 16usize];
    ["Offset of field: lh_arrival::kept"][::core::mem::offset_of!(lh_arrival, kept) - 20usize];
    ["Offset of field: lh_arrival::tries"][::core::mem::offset_of!(lh_arrival, tries) - 24usize];
    ["Offset of field: lh_arrival::size"][::core::mem::offset_of!(lh_arrival, size) - 28usize];
    ["Offset of field: lh_arrival::mute"][::core::mem::offset_of!(lh_arrival, mute) - 32usize];
    ["Offset of field: lh_arrival::late"][::core::mem::offset_of!(lh_arrival, late) - 36usize];
    ["Offset of field: lh_arrival::nr_late"]
        [::core::mem::offset_of!(lh_arrival, nr_late) - 68usize];
    ["Offset of field: lh_arrival::hole"][::core::mem::offset_of!(lh_arrival, hole) - 72usize];
};
#[doc = " the sender sent it again: its duplicates are the sender's"]
pub const LH_SEG_FH_RTX: lh_seg_flag = 1;
#[doc = " lost upstream, or local repairs exhausted"]
pub const LH_SEG_CONG: lh_seg_flag = 2;
pub const LH_SEG_SACKED: lh_seg_flag = 4;
#[doc = " the host could not store the bytes"]
pub const LH_SEG_NO_COPY: lh_seg_flag = 8;
#[doc = " a SYN or FIN without data"]
pub const LH_SEG_EMPTY: lh_seg_flag = 16;
#[doc = " below LH_SMALL_BYTES: counted in nr_small"]
pub const LH_SEG_SMALL: lh_seg_flag = 32;
#[doc = " the hop has lost it: its other end or the MAC says so"]
pub const LH_SEG_ASKED: lh_seg_flag = 64;
pub const LH_SEG_LOST: lh_seg_flag = 128;
pub type lh_seg_flag = ::core::ffi::c_uint;
#[doc = " One cached segment. Its bytes are in a slot of the host's pool."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_seg {
    #[doc = " latest departure, anyone's"]
    pub last_tx_ns: u64,
    #[doc = " sequence numbers"]
    pub seq: u32,
    #[doc = " sequence numbers"]
    pub end: u32,
    #[doc = " index into the host's payload pool; LH_NO_SLOT: it is only watched (shadow.h)"]
    pub slot: u32,
    #[doc = " lh_receiver_delivered() when it departed; watched: lh_shadow.departed, and once\n convicted when that was, 1,024 ns"]
    pub delivered: u32,
    #[doc = " of the cached copy, 0: the connection has no timestamps"]
    pub tsval: u32,
    #[doc = " local retransmissions since the sender last sent it"]
    pub n_local: u8,
    #[doc = " enum lh_seg_flag"]
    pub flags: u8,
    #[doc = " lh_under_way() when a duplicate last made us repair it; before any repair lh_queue_departs(); watched:\n LH_MARK_*"]
    pub behind: u8,
    #[doc = " 1: the MAC has reported a copy as delivered; watched: a loss is booked"]
    pub arrived: u8,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_seg"][::core::mem::size_of::<lh_seg>() - 32usize];
    ["Alignment of lh_seg"][::core::mem::align_of::<lh_seg>() - 8usize];
    ["Offset of field: lh_seg::last_tx_ns"][::core::mem::offset_of!(lh_seg, last_tx_ns) - 0usize];
    ["Offset of field: lh_seg::seq"][::core::mem::offset_of!(lh_seg, seq) - 8usize];
    ["Offset of field: lh_seg::end"][::core::mem::offset_of!(lh_seg, end) - 12usize];
    ["Offset of field: lh_seg::slot"][::core::mem::offset_of!(lh_seg, slot) - 16usize];
    ["Offset of field: lh_seg::delivered"][::core::mem::offset_of!(lh_seg, delivered) - 20usize];
    ["Offset of field: lh_seg::tsval"][::core::mem::offset_of!(lh_seg, tsval) - 24usize];
    ["Offset of field: lh_seg::n_local"][::core::mem::offset_of!(lh_seg, n_local) - 28usize];
    ["Offset of field: lh_seg::flags"][::core::mem::offset_of!(lh_seg, flags) - 29usize];
    ["Offset of field: lh_seg::behind"][::core::mem::offset_of!(lh_seg, behind) - 30usize];
    ["Offset of field: lh_seg::arrived"][::core::mem::offset_of!(lh_seg, arrived) - 31usize];
};
#[doc = " The ring of a flow is made of chunks, so that an idle flow holds none."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_chunk {
    #[doc = " No segment of the chunk that MH lacks departed before this: most chunks\n need no look when losses are sought by time order."]
    pub oldest_tx_ns: u64,
    #[doc = " the same of those that were sent again here"]
    pub again_tx_ns: u64,
    #[doc = " of its segments, and bytes of these"]
    pub nr_sacked: u32,
    pub sacked_bytes: u32,
    pub seg: [lh_seg; 64usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_chunk"][::core::mem::size_of::<lh_chunk>() - 2072usize];
    ["Alignment of lh_chunk"][::core::mem::align_of::<lh_chunk>() - 8usize];
    ["Offset of field: lh_chunk::oldest_tx_ns"]
        [::core::mem::offset_of!(lh_chunk, oldest_tx_ns) - 0usize];
    ["Offset of field: lh_chunk::again_tx_ns"]
        [::core::mem::offset_of!(lh_chunk, again_tx_ns) - 8usize];
    ["Offset of field: lh_chunk::nr_sacked"]
        [::core::mem::offset_of!(lh_chunk, nr_sacked) - 16usize];
    ["Offset of field: lh_chunk::sacked_bytes"]
        [::core::mem::offset_of!(lh_chunk, sacked_bytes) - 20usize];
    ["Offset of field: lh_chunk::seg"][::core::mem::offset_of!(lh_chunk, seg) - 24usize];
};
impl Default for lh_chunk {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " Positions count up for ever: cached are [head, tail), and [spent, head) still have memory. It\n outlives lh_flow_reset()."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_ring {
    pub head: u32,
    pub tail: u32,
    pub spent: u32,
    #[doc = " small segments in [spent, tail)"]
    pub nr_small: u32,
    #[doc = " last call of lh_ring_reclaim()"]
    pub reclaimed_ns: u64,
    #[doc = " chunk of position p: dir[(p >> 6) & 511]"]
    pub dir: [u32; 512usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_ring"][::core::mem::size_of::<lh_ring>() - 2072usize];
    ["Alignment of lh_ring"][::core::mem::align_of::<lh_ring>() - 8usize];
    ["Offset of field: lh_ring::head"][::core::mem::offset_of!(lh_ring, head) - 0usize];
    ["Offset of field: lh_ring::tail"][::core::mem::offset_of!(lh_ring, tail) - 4usize];
    ["Offset of field: lh_ring::spent"][::core::mem::offset_of!(lh_ring, spent) - 8usize];
    ["Offset of field: lh_ring::nr_small"][::core::mem::offset_of!(lh_ring, nr_small) - 12usize];
    ["Offset of field: lh_ring::reclaimed_ns"]
        [::core::mem::offset_of!(lh_ring, reclaimed_ns) - 16usize];
    ["Offset of field: lh_ring::dir"][::core::mem::offset_of!(lh_ring, dir) - 24usize];
};
impl Default for lh_ring {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const LH_PASS: lh_verdict = 0;
pub const LH_DROP: lh_verdict = 1;
#[doc = " out of its turn: lh_on_wait() for each of its segments, then lh_on_turn()"]
pub const LH_WAIT: lh_verdict = 2;
pub type lh_verdict = ::core::ffi::c_uint;
pub const LH_TELL_NOT: lh_tell = 0;
#[doc = " in the packet of this call, an ACK that leaves (edit.h)"]
pub const LH_TELL_OPTION: lh_tell = 1;
#[doc = " by a message of its own"]
pub const LH_TELL_MESSAGE: lh_tell = 2;
#[doc = " by a message for each block, in this order"]
pub const LH_TELL_EACH: lh_tell = 3;
#[doc = " How the other end of the hop is told what is missing."]
pub type lh_tell = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_retransmit {
    pub slot: u32,
    #[doc = " for logs and tests"]
    pub seq: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_retransmit"][::core::mem::size_of::<lh_retransmit>() - 8usize];
    ["Alignment of lh_retransmit"][::core::mem::align_of::<lh_retransmit>() - 4usize];
    ["Offset of field: lh_retransmit::slot"][::core::mem::offset_of!(lh_retransmit, slot) - 0usize];
    ["Offset of field: lh_retransmit::seq"][::core::mem::offset_of!(lh_retransmit, seq) - 4usize];
};
#[doc = " What contracts speak of; flow.h has them all."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_actions {
    #[doc = " enum lh_verdict: of the packet of this call"]
    pub verdict: u32,
    pub nr_retransmit: u32,
    #[doc = " send in this order"]
    pub retransmit: [lh_retransmit; 4usize],
    #[doc = " copy this packet's bytes there, LH_NO_SLOT: don't"]
    pub store_slot: u32,
    #[doc = " ring position, for lh_store_failed()"]
    pub store_pos: u32,
    #[doc = " segments of a super-packet that went through as one, to be stored (train.h)"]
    pub nr_store: u32,
    #[doc = " 1: keep a copy of this ACK as the flow's held ACK, whatever the verdict"]
    pub hold: u32,
    #[doc = " copies of the held ACK to send to FH"]
    pub emit_held: u32,
    #[doc = " header value to set in it, LH_KEEP_WINDOW: leave it"]
    pub window: u32,
    #[doc = " the same for the copies that emit_held asks for"]
    pub held_window: u32,
    #[doc = " 1: overwrite its SACK option with NOPs"]
    pub blank_sack: u32,
    #[doc = " 1: set Congestion Experienced in this data packet"]
    pub mark_ce: u32,
    #[doc = " enum lh_tell"]
    pub tell_by: u32,
    pub nr_tell: u32,
    #[doc = " what is missing of MH's data"]
    pub tell: [lh_sack_block; 4usize],
    #[doc = " To be answered to the other end of the hop by one message: of what it asked for, this will not\n come from here."]
    pub nr_absent: u32,
    pub absent: [lh_sack_block; 4usize],
    #[doc = " 1: hold and emit_held are of an ACK that leaves over the hop (handoff.h)"]
    pub held_leaves: u32,
    #[doc = " What had to wait goes on to its receiver, in this order, each with our mark: lh_on_through()\n when it comes through here once more, by the host's own queue (resequence.h)."]
    pub nr_release: u32,
    #[doc = " slots"]
    pub release: [u32; 8usize],
    #[doc = " The packet of this call has carried them and goes on as what this slot holds; LH_NO_SLOT: as\n it is."]
    pub reload_slot: u32,
    #[doc = " call lh_on_timer() then; 0: no timer"]
    pub next_deadline_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_actions"][::core::mem::size_of::<lh_actions>() - 208usize];
    ["Alignment of lh_actions"][::core::mem::align_of::<lh_actions>() - 8usize];
    ["Offset of field: lh_actions::verdict"][::core::mem::offset_of!(lh_actions, verdict) - 0usize];
    ["Offset of field: lh_actions::nr_retransmit"]
        [::core::mem::offset_of!(lh_actions, nr_retransmit) - 4usize];
    ["Offset of field: lh_actions::retransmit"]
        [::core::mem::offset_of!(lh_actions, retransmit) - 8usize];
    ["Offset of field: lh_actions::store_slot"]
        [::core::mem::offset_of!(lh_actions, store_slot) - 40usize];
    ["Offset of field: lh_actions::store_pos"]
        [::core::mem::offset_of!(lh_actions, store_pos) - 44usize];
    ["Offset of field: lh_actions::nr_store"]
        [::core::mem::offset_of!(lh_actions, nr_store) - 48usize];
    ["Offset of field: lh_actions::hold"][::core::mem::offset_of!(lh_actions, hold) - 52usize];
    ["Offset of field: lh_actions::emit_held"]
        [::core::mem::offset_of!(lh_actions, emit_held) - 56usize];
    ["Offset of field: lh_actions::window"][::core::mem::offset_of!(lh_actions, window) - 60usize];
    ["Offset of field: lh_actions::held_window"]
        [::core::mem::offset_of!(lh_actions, held_window) - 64usize];
    ["Offset of field: lh_actions::blank_sack"]
        [::core::mem::offset_of!(lh_actions, blank_sack) - 68usize];
    ["Offset of field: lh_actions::mark_ce"]
        [::core::mem::offset_of!(lh_actions, mark_ce) - 72usize];
    ["Offset of field: lh_actions::tell_by"]
        [::core::mem::offset_of!(lh_actions, tell_by) - 76usize];
    ["Offset of field: lh_actions::nr_tell"]
        [::core::mem::offset_of!(lh_actions, nr_tell) - 80usize];
    ["Offset of field: lh_actions::tell"][::core::mem::offset_of!(lh_actions, tell) - 84usize];
    ["Offset of field: lh_actions::nr_absent"]
        [::core::mem::offset_of!(lh_actions, nr_absent) - 116usize];
    ["Offset of field: lh_actions::absent"][::core::mem::offset_of!(lh_actions, absent) - 120usize];
    ["Offset of field: lh_actions::held_leaves"]
        [::core::mem::offset_of!(lh_actions, held_leaves) - 152usize];
    ["Offset of field: lh_actions::nr_release"]
        [::core::mem::offset_of!(lh_actions, nr_release) - 156usize];
    ["Offset of field: lh_actions::release"]
        [::core::mem::offset_of!(lh_actions, release) - 160usize];
    ["Offset of field: lh_actions::reload_slot"]
        [::core::mem::offset_of!(lh_actions, reload_slot) - 192usize];
    ["Offset of field: lh_actions::next_deadline_ns"]
        [::core::mem::offset_of!(lh_actions, next_deadline_ns) - 200usize];
};
#[doc = " A list that is being worked off: what one call has no room for the timer sends."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_asked {
    #[doc = " what is left of it"]
    pub block: [lh_sack_block; 4usize],
    #[doc = " kept: of lh_asked_repair(), as lh_arrival.kept"]
    pub nr: u32,
    #[doc = " kept: of lh_asked_repair(), as lh_arrival.kept"]
    pub kept: u32,
    #[doc = " when it came"]
    pub at_ns: u64,
    #[doc = " when to go on; 0: nothing is left"]
    pub rest_ns: u64,
    #[doc = " The longest that a segment had been gone when it was first asked for, in this and the previous\n period; when this one began."]
    pub age_now_ns: u64,
    #[doc = " The longest that a segment had been gone when it was first asked for, in this and the previous\n period; when this one began."]
    pub age_before_ns: u64,
    #[doc = " The longest that a segment had been gone when it was first asked for, in this and the previous\n period; when this one began."]
    pub age_since_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_asked"][::core::mem::size_of::<lh_asked>() - 80usize];
    ["Alignment of lh_asked"][::core::mem::align_of::<lh_asked>() - 8usize];
    ["Offset of field: lh_asked::block"][::core::mem::offset_of!(lh_asked, block) - 0usize];
    ["Offset of field: lh_asked::nr"][::core::mem::offset_of!(lh_asked, nr) - 32usize];
    ["Offset of field: lh_asked::kept"][::core::mem::offset_of!(lh_asked, kept) - 36usize];
    ["Offset of field: lh_asked::at_ns"][::core::mem::offset_of!(lh_asked, at_ns) - 40usize];
    ["Offset of field: lh_asked::rest_ns"][::core::mem::offset_of!(lh_asked, rest_ns) - 48usize];
    ["Offset of field: lh_asked::age_now_ns"]
        [::core::mem::offset_of!(lh_asked, age_now_ns) - 56usize];
    ["Offset of field: lh_asked::age_before_ns"]
        [::core::mem::offset_of!(lh_asked, age_before_ns) - 64usize];
    ["Offset of field: lh_asked::age_since_ns"]
        [::core::mem::offset_of!(lh_asked, age_since_ns) - 72usize];
};
#[doc = " The way back from MH as its timestamps tell of it (back.h)."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_back {
    #[doc = " of the ACK that came at at_ns"]
    pub tsval: u32,
    #[doc = " of MH's timestamp clock; 0: not known yet"]
    pub tick_ns: u32,
    #[doc = " 0: no ACK yet"]
    pub at_ns: u64,
    #[doc = " of this and the last period: delay against that ACK's"]
    pub least_ns: i64,
    #[doc = " of this and the last period: delay against that ACK's"]
    pub least_before_ns: i64,
    #[doc = " delay of the last ACK beyond the least: a queue on the way back"]
    pub now_ns: u64,
    #[doc = " 1: the least of this, of the last period is valid"]
    pub has_least: u32,
    #[doc = " 1: the least of this, of the last period is valid"]
    pub has_before: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_back"][::core::mem::size_of::<lh_back>() - 48usize];
    ["Alignment of lh_back"][::core::mem::align_of::<lh_back>() - 8usize];
    ["Offset of field: lh_back::tsval"][::core::mem::offset_of!(lh_back, tsval) - 0usize];
    ["Offset of field: lh_back::tick_ns"][::core::mem::offset_of!(lh_back, tick_ns) - 4usize];
    ["Offset of field: lh_back::at_ns"][::core::mem::offset_of!(lh_back, at_ns) - 8usize];
    ["Offset of field: lh_back::least_ns"][::core::mem::offset_of!(lh_back, least_ns) - 16usize];
    ["Offset of field: lh_back::least_before_ns"]
        [::core::mem::offset_of!(lh_back, least_before_ns) - 24usize];
    ["Offset of field: lh_back::now_ns"][::core::mem::offset_of!(lh_back, now_ns) - 32usize];
    ["Offset of field: lh_back::has_least"][::core::mem::offset_of!(lh_back, has_least) - 40usize];
    ["Offset of field: lh_back::has_before"]
        [::core::mem::offset_of!(lh_back, has_before) - 44usize];
};
#[doc = " Duplicate ACKs and recovery (RFC 5681, RFC 6582)."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_recovery {
    #[doc = " duplicates since the last new ACK"]
    pub nr_dup: u32,
    #[doc = " duplicates that the repaired loss may still cause"]
    pub exp_dup: u32,
    #[doc = " what had provably departed when recovery began; with LH_FLOW_RECOVERY"]
    pub point: u32,
    #[doc = " what had departed when anything below it was last sent again; with LH_FLOW_RTX"]
    pub rtx_end: u32,
    #[doc = " local probes since the last delivery"]
    pub nr_probes: u32,
    #[doc = " of the probes of late: two for each in vain, less one for each (probe.h)"]
    pub vain: u8,
    #[doc = " ACKs of all that was under way that came later than a probe in time, less those that did not\n (lh_probe_answered): of a lone segment, and of several."]
    pub late_lone: u8,
    #[doc = " ACKs of all that was under way that came later than a probe in time, less those that did not\n (lh_probe_answered): of a lone segment, and of several."]
    pub late_more: u8,
    #[doc = " pieces in a row that came soon after a probe would have gone out (lh_probe_streams)"]
    pub streams: u8,
    #[doc = " end of the segment that the last probe repeated"]
    pub probe_end: u32,
    #[doc = " what had departed when FH last sent anything again; with LH_FLOW_FH_RTX"]
    pub fh_past: u32,
    #[doc = " with lh_order.doubt"]
    pub doubt_end: u32,
    #[doc = " 1: MH has sent a DSACK: it says itself which probes were in vain"]
    pub tells: u8,
    pub pad: [u8; 3usize],
    #[doc = " when one was last found to be in vain"]
    pub vain_ns: u64,
    #[doc = " Duplicates still to come for what a receiver without SACK gets twice; none\n once una is beyond own_dups_end."]
    pub own_dups: u32,
    #[doc = " Duplicates still to come for what a receiver without SACK gets twice; none\n once una is beyond own_dups_end."]
    pub own_dups_end: u32,
    #[doc = " when the last of them was caused"]
    pub own_dups_ns: u64,
    #[doc = " repairs by time order of late"]
    pub ordered: u32,
    #[doc = " those of them whose segment had been repaired before: its repair was lost"]
    pub repeated: u32,
    #[doc = " when FH last sent anything again; with LH_FLOW_FH_RTX"]
    pub fh_again_ns: u64,
    #[doc = " scheme sack: when the rest of a burst is to be repaired; 0: there is none"]
    pub rest_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_recovery"][::core::mem::size_of::<lh_recovery>() - 88usize];
    ["Alignment of lh_recovery"][::core::mem::align_of::<lh_recovery>() - 8usize];
    ["Offset of field: lh_recovery::nr_dup"][::core::mem::offset_of!(lh_recovery, nr_dup) - 0usize];
    ["Offset of field: lh_recovery::exp_dup"]
        [::core::mem::offset_of!(lh_recovery, exp_dup) - 4usize];
    ["Offset of field: lh_recovery::point"][::core::mem::offset_of!(lh_recovery, point) - 8usize];
    ["Offset of field: lh_recovery::rtx_end"]
        [::core::mem::offset_of!(lh_recovery, rtx_end) - 12usize];
    ["Offset of field: lh_recovery::nr_probes"]
        [::core::mem::offset_of!(lh_recovery, nr_probes) - 16usize];
    ["Offset of field: lh_recovery::vain"][::core::mem::offset_of!(lh_recovery, vain) - 20usize];
    ["Offset of field: lh_recovery::late_lone"]
        [::core::mem::offset_of!(lh_recovery, late_lone) - 21usize];
    ["Offset of field: lh_recovery::late_more"]
        [::core::mem::offset_of!(lh_recovery, late_more) - 22usize];
    ["Offset of field: lh_recovery::streams"]
        [::core::mem::offset_of!(lh_recovery, streams) - 23usize];
    ["Offset of field: lh_recovery::probe_end"]
        [::core::mem::offset_of!(lh_recovery, probe_end) - 24usize];
    ["Offset of field: lh_recovery::fh_past"]
        [::core::mem::offset_of!(lh_recovery, fh_past) - 28usize];
    ["Offset of field: lh_recovery::doubt_end"]
        [::core::mem::offset_of!(lh_recovery, doubt_end) - 32usize];
    ["Offset of field: lh_recovery::tells"][::core::mem::offset_of!(lh_recovery, tells) - 36usize];
    ["Offset of field: lh_recovery::pad"][::core::mem::offset_of!(lh_recovery, pad) - 37usize];
    ["Offset of field: lh_recovery::vain_ns"]
        [::core::mem::offset_of!(lh_recovery, vain_ns) - 40usize];
    ["Offset of field: lh_recovery::own_dups"]
        [::core::mem::offset_of!(lh_recovery, own_dups) - 48usize];
    ["Offset of field: lh_recovery::own_dups_end"]
        [::core::mem::offset_of!(lh_recovery, own_dups_end) - 52usize];
    ["Offset of field: lh_recovery::own_dups_ns"]
        [::core::mem::offset_of!(lh_recovery, own_dups_ns) - 56usize];
    ["Offset of field: lh_recovery::ordered"]
        [::core::mem::offset_of!(lh_recovery, ordered) - 64usize];
    ["Offset of field: lh_recovery::repeated"]
        [::core::mem::offset_of!(lh_recovery, repeated) - 68usize];
    ["Offset of field: lh_recovery::fh_again_ns"]
        [::core::mem::offset_of!(lh_recovery, fh_again_ns) - 72usize];
    ["Offset of field: lh_recovery::rest_ns"]
        [::core::mem::offset_of!(lh_recovery, rest_ns) - 80usize];
};
#[doc = " moves una"]
pub const LH_ACK_NEW: lh_ack_class = 0;
#[doc = " below una"]
pub const LH_ACK_OLD: lh_ack_class = 1;
#[doc = " above everything seen: we joined late or missed data"]
pub const LH_ACK_BEYOND: lh_ack_class = 2;
#[doc = " something above una has arrived, una has not"]
pub const LH_ACK_DUPLICATE: lh_ack_class = 3;
#[doc = " the answer to a segment that MH got twice: no loss caused it"]
pub const LH_ACK_OWN: lh_ack_class = 4;
#[doc = " same number for another reason: window update, keepalive"]
pub const LH_ACK_SAME: lh_ack_class = 5;
pub type lh_ack_class = ::core::ffi::c_uint;
pub const LH_BY_DUPACK: lh_reason = 0;
pub const LH_BY_PARTIAL: lh_reason = 1;
pub const LH_BY_ORDER: lh_reason = 2;
pub const LH_BY_TIMER: lh_reason = 3;
pub const LH_BY_PARTNER: lh_reason = 4;
pub const LH_BY_MAC: lh_reason = 5;
#[doc = " What drives a local retransmission, for the counters."]
pub type lh_reason = ::core::ffi::c_uint;
#[doc = " What the flow can't repair here."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_cache {
    #[doc = " between these lie all such; with LH_FLOW_BLOCKED"]
    pub blocked_start: u32,
    #[doc = " between these lie all such; with LH_FLOW_BLOCKED"]
    pub blocked_end: u32,
    #[doc = " of what FH sent twice; with LH_FLOW_FH_RTX"]
    pub fh_rtx_start: u32,
    #[doc = " of what FH sent twice; with LH_FLOW_FH_RTX"]
    pub fh_rtx_end: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_cache"][::core::mem::size_of::<lh_cache>() - 16usize];
    ["Alignment of lh_cache"][::core::mem::align_of::<lh_cache>() - 4usize];
    ["Offset of field: lh_cache::blocked_start"]
        [::core::mem::offset_of!(lh_cache, blocked_start) - 0usize];
    ["Offset of field: lh_cache::blocked_end"]
        [::core::mem::offset_of!(lh_cache, blocked_end) - 4usize];
    ["Offset of field: lh_cache::fh_rtx_start"]
        [::core::mem::offset_of!(lh_cache, fh_rtx_start) - 8usize];
    ["Offset of field: lh_cache::fh_rtx_end"]
        [::core::mem::offset_of!(lh_cache, fh_rtx_end) - 12usize];
};
#[doc = " FH has its own brake: it sees all its losses"]
pub const LH_CONTROL_FREE: lh_control_state = 0;
#[doc = " losses of the link are hidden from it: the law holds"]
pub const LH_CONTROL_HELD: lh_control_state = 1;
#[doc = " the link has lost nothing for a while: C grows until FH has room"]
pub const LH_CONTROL_LETTING: lh_control_state = 2;
pub type lh_control_state = ::core::ffi::c_uint;
#[doc = " What the controller knows of a flow."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_control {
    #[doc = " what may be on its way beyond what MH has"]
    pub c_bytes: u32,
    #[doc = " enum lh_control_state"]
    pub state: u8,
    #[doc = " bit 0: FH has used up the window in this interval, bit 1: in the last"]
    pub limited: u8,
    #[doc = " 1: C was cut in this interval, the queue shows it in the next"]
    pub settling: u8,
    #[doc = " 1: hardly a queue was left in the last interval"]
    pub calm: u8,
    #[doc = " intervals in which the queue stood above the law's aim, less those below"]
    pub doubt: u8,
    #[doc = " how much C grows next where no queue is left, in eighths of C"]
    pub step: u8,
    #[doc = " 1: FH still spends a window that was granted before C"]
    pub old_edge: u8,
    #[doc = " intervals since the flow began, or went on after a pause"]
    pub age: u8,
    #[doc = " 1: in the last interval the hop was idle for a time (lh_control_idle)"]
    pub idle: u8,
    #[doc = " up to which C grows with what MH gets in this interval"]
    pub goal_bytes: u32,
    #[doc = " MH got in the last interval"]
    pub round_bytes: u32,
    #[doc = " lh_delivery.bytes when this interval began"]
    pub round_delivered: u32,
    #[doc = " when the law's interval began"]
    pub interval_ns: u64,
    #[doc = " of the interval's samples"]
    pub sum_ns: u64,
    #[doc = " of the interval's samples"]
    pub least_ns: u64,
    #[doc = " of the last interval's"]
    pub least_before_ns: u64,
    #[doc = " in the interval"]
    pub nr_samples: u32,
    #[doc = " C in LH_TRIAL_LIMIT, 0: as it is"]
    pub trial_bytes: u32,
    #[doc = " last CE mark"]
    pub marked_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_control"][::core::mem::size_of::<lh_control>() - 80usize];
    ["Alignment of lh_control"][::core::mem::align_of::<lh_control>() - 8usize];
    ["Offset of field: lh_control::c_bytes"][::core::mem::offset_of!(lh_control, c_bytes) - 0usize];
    ["Offset of field: lh_control::state"][::core::mem::offset_of!(lh_control, state) - 4usize];
    ["Offset of field: lh_control::limited"][::core::mem::offset_of!(lh_control, limited) - 5usize];
    ["Offset of field: lh_control::settling"]
        [::core::mem::offset_of!(lh_control, settling) - 6usize];
    ["Offset of field: lh_control::calm"][::core::mem::offset_of!(lh_control, calm) - 7usize];
    ["Offset of field: lh_control::doubt"][::core::mem::offset_of!(lh_control, doubt) - 8usize];
    ["Offset of field: lh_control::step"][::core::mem::offset_of!(lh_control, step) - 9usize];
    ["Offset of field: lh_control::old_edge"]
        [::core::mem::offset_of!(lh_control, old_edge) - 10usize];
    ["Offset of field: lh_control::age"][::core::mem::offset_of!(lh_control, age) - 11usize];
    ["Offset of field: lh_control::idle"][::core::mem::offset_of!(lh_control, idle) - 12usize];
    ["Offset of field: lh_control::goal_bytes"]
        [::core::mem::offset_of!(lh_control, goal_bytes) - 16usize];
    ["Offset of field: lh_control::round_bytes"]
        [::core::mem::offset_of!(lh_control, round_bytes) - 20usize];
    ["Offset of field: lh_control::round_delivered"]
        [::core::mem::offset_of!(lh_control, round_delivered) - 24usize];
    ["Offset of field: lh_control::interval_ns"]
        [::core::mem::offset_of!(lh_control, interval_ns) - 32usize];
    ["Offset of field: lh_control::sum_ns"][::core::mem::offset_of!(lh_control, sum_ns) - 40usize];
    ["Offset of field: lh_control::least_ns"]
        [::core::mem::offset_of!(lh_control, least_ns) - 48usize];
    ["Offset of field: lh_control::least_before_ns"]
        [::core::mem::offset_of!(lh_control, least_before_ns) - 56usize];
    ["Offset of field: lh_control::nr_samples"]
        [::core::mem::offset_of!(lh_control, nr_samples) - 64usize];
    ["Offset of field: lh_control::trial_bytes"]
        [::core::mem::offset_of!(lh_control, trial_bytes) - 68usize];
    ["Offset of field: lh_control::marked_ns"]
        [::core::mem::offset_of!(lh_control, marked_ns) - 72usize];
};
#[doc = " nothing was lost that could tell"]
pub const LH_SHADOW_SENDER_UNKNOWN: lh_shadow_sender = 0;
#[doc = " as NewReno (RFC 5681, RFC 6582)"]
pub const LH_SHADOW_SENDER_HALVES: lh_shadow_sender = 1;
#[doc = " as CUBIC, to 0.7 (RFC 9438)"]
pub const LH_SHADOW_SENDER_YIELDS: lh_shadow_sender = 2;
#[doc = " as BBR: hardly at all"]
pub const LH_SHADOW_SENDER_STEADY: lh_shadow_sender = 3;
pub const LH_NR_SHADOW_SENDERS: lh_shadow_sender = 4;
#[doc = " What a sender makes of a loss, by what it has under way after its recovery and before."]
pub type lh_shadow_sender = ::core::ffi::c_uint;
#[doc = " nothing is being recovered"]
pub const LH_SHADOW_OPEN: lh_shadow_recovery = 0;
#[doc = " until `point` is acknowledged"]
pub const LH_SHADOW_RECOVERS: lh_shadow_recovery = 1;
#[doc = " the next round trip shows what FH has made of it"]
pub const LH_SHADOW_RECOVERED: lh_shadow_recovery = 2;
pub type lh_shadow_recovery = ::core::ffi::c_uint;
#[doc = " What is added up for a flow, and of flows that are over for all senders of its kind."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_shadow_sums {
    #[doc = " 1 of a flow whose ends were both heard"]
    pub flows: u64,
    #[doc = " segments that MH has got"]
    pub segs: u64,
    #[doc = " their payload"]
    pub bytes: u64,
    #[doc = " time with anything under way to MH"]
    pub busy_ns: u64,
    #[doc = " departures towards MH that did not arrive"]
    pub lost: u64,
    #[doc = " of both, those that met a queue near its longest"]
    pub segs_full: u64,
    #[doc = " of both, those that met a queue near its longest"]
    pub lost_full: u64,
    #[doc = " copies that FH sent of what had arrived"]
    pub superfluous: u64,
    #[doc = " segments that time order convicted, and that arrived after all"]
    pub mistaken: u64,
    #[doc = " gaps in FH's data, as they came to us, that FH has filled"]
    pub upstream_lost: u64,
    #[doc = " How much later than `rack` would have FH repaired, of so many losses."]
    pub late_ns: u64,
    #[doc = " How much later than `rack` would have FH repaired, of so many losses."]
    pub late: u64,
    #[doc = " ACKs, and those at which FH had used all that MH grants"]
    pub acks: u64,
    #[doc = " ACKs, and those at which FH had used all that MH grants"]
    pub acks_limited: u64,
    #[doc = " Round trips whose wired part was measured; sums of that, of the smoothed local one then, and\n of the unloaded local one."]
    pub rounds: u64,
    #[doc = " Round trips whose wired part was measured; sums of that, of the smoothed local one then, and\n of the unloaded local one."]
    pub wired_ns: u64,
    #[doc = " Round trips whose wired part was measured; sums of that, of the smoothed local one then, and\n of the unloaded local one."]
    pub local_ns: u64,
    #[doc = " Round trips whose wired part was measured; sums of that, of the smoothed local one then, and\n of the unloaded local one."]
    pub unloaded_ns: u64,
    #[doc = " silences of MH's, from FH's first try on, of a second and more"]
    pub outages: u64,
    #[doc = " silences of MH's, from FH's first try on, of a second and more"]
    pub outage_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_shadow_sums"][::core::mem::size_of::<lh_shadow_sums>() - 160usize];
    ["Alignment of lh_shadow_sums"][::core::mem::align_of::<lh_shadow_sums>() - 8usize];
    ["Offset of field: lh_shadow_sums::flows"]
        [::core::mem::offset_of!(lh_shadow_sums, flows) - 0usize];
    ["Offset of field: lh_shadow_sums::segs"]
        [::core::mem::offset_of!(lh_shadow_sums, segs) - 8usize];
    ["Offset of field: lh_shadow_sums::bytes"]
        [::core::mem::offset_of!(lh_shadow_sums, bytes) - 16usize];
    ["Offset of field: lh_shadow_sums::busy_ns"]
        [::core::mem::offset_of!(lh_shadow_sums, busy_ns) - 24usize];
    ["Offset of field: lh_shadow_sums::lost"]
        [::core::mem::offset_of!(lh_shadow_sums, lost) - 32usize];
    ["Offset of field: lh_shadow_sums::segs_full"]
        [::core::mem::offset_of!(lh_shadow_sums, segs_full) - 40usize];
    ["Offset of field: lh_shadow_sums::lost_full"]
        [::core::mem::offset_of!(lh_shadow_sums, lost_full) - 48usize];
    ["Offset of field: lh_shadow_sums::superfluous"]
        [::core::mem::offset_of!(lh_shadow_sums, superfluous) - 56usize];
    ["Offset of field: lh_shadow_sums::mistaken"]
        [::core::mem::offset_of!(lh_shadow_sums, mistaken) - 64usize];
    ["Offset of field: lh_shadow_sums::upstream_lost"]
        [::core::mem::offset_of!(lh_shadow_sums, upstream_lost) - 72usize];
    ["Offset of field: lh_shadow_sums::late_ns"]
        [::core::mem::offset_of!(lh_shadow_sums, late_ns) - 80usize];
    ["Offset of field: lh_shadow_sums::late"]
        [::core::mem::offset_of!(lh_shadow_sums, late) - 88usize];
    ["Offset of field: lh_shadow_sums::acks"]
        [::core::mem::offset_of!(lh_shadow_sums, acks) - 96usize];
    ["Offset of field: lh_shadow_sums::acks_limited"]
        [::core::mem::offset_of!(lh_shadow_sums, acks_limited) - 104usize];
    ["Offset of field: lh_shadow_sums::rounds"]
        [::core::mem::offset_of!(lh_shadow_sums, rounds) - 112usize];
    ["Offset of field: lh_shadow_sums::wired_ns"]
        [::core::mem::offset_of!(lh_shadow_sums, wired_ns) - 120usize];
    ["Offset of field: lh_shadow_sums::local_ns"]
        [::core::mem::offset_of!(lh_shadow_sums, local_ns) - 128usize];
    ["Offset of field: lh_shadow_sums::unloaded_ns"]
        [::core::mem::offset_of!(lh_shadow_sums, unloaded_ns) - 136usize];
    ["Offset of field: lh_shadow_sums::outages"]
        [::core::mem::offset_of!(lh_shadow_sums, outages) - 144usize];
    ["Offset of field: lh_shadow_sums::outage_ns"]
        [::core::mem::offset_of!(lh_shadow_sums, outage_ns) - 152usize];
};
#[doc = " One flow's."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_shadow {
    pub sums: lh_shadow_sums,
    #[doc = " up to then sums.busy_ns counts; 0: nothing is under way"]
    pub busy_from_ns: u64,
    #[doc = " since when nothing is"]
    pub idle_ns: u64,
    #[doc = " when FH's data last showed a gap"]
    pub gap_ns: u64,
    #[doc = " bytes, modulo 2^32; of a segment lh_seg.delivered, with its own"]
    pub departed: u32,
    #[doc = " of what the ACK of this call delivered and FH sent once, the latest"]
    pub newest_departed: u32,
    #[doc = " when that had left; 0: there is none"]
    pub newest_ns: u64,
    #[doc = " the last prompt ACK; 0: none yet"]
    pub train_at_ns: u64,
    #[doc = " of the train that goes on"]
    pub train_ns: u64,
    pub train_bytes: u32,
    #[doc = " at that ACK"]
    pub train_departed: u32,
    #[doc = " at that ACK"]
    pub train_delivered: u32,
    #[doc = " the queue before the hop as the last ACK showed it: LH_MARK_*"]
    pub mark: u32,
    #[doc = " and as the last two prompt ones did, the later one first"]
    pub met: [u32; 2usize],
    #[doc = " when the segments of those had departed"]
    pub met_tx_ns: [u64; 2usize],
    #[doc = " losses taken back of which a DSACK may still tell"]
    pub booked: u32,
    #[doc = " ACK number of the ACK by which that one began"]
    pub asked: u32,
    #[doc = " of the last one without loss, bytes; 0: none"]
    pub flight: u32,
    #[doc = " enum lh_shadow_recovery"]
    pub recovers: u32,
    #[doc = " what had departed when the loss was found"]
    pub point: u32,
    #[doc = " flight after a recovery to that before, smoothed"]
    pub nr_ratios: u32,
    #[doc = " flight after a recovery to that before, smoothed"]
    pub ratio_1024: u32,
    #[doc = " copies of FH's since MH was heard"]
    pub tries: u32,
    #[doc = " the first of them; with tries"]
    pub tried_ns: u64,
    #[doc = " data of MH's that came over the hop: the last end; 0: none came"]
    pub back_end: u32,
    #[doc = " when they last showed a gap"]
    pub back_gap_ns: u64,
    #[doc = " when `rack` would have probed for the segment that FH now sends again; 0: never"]
    pub due_ns: u64,
    #[doc = " that have come in a row, since burst_ns"]
    pub burst_bytes: u32,
    pub burst_ns: u64,
    pub burst_last_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_shadow"][::core::mem::size_of::<lh_shadow>() - 344usize];
    ["Alignment of lh_shadow"][::core::mem::align_of::<lh_shadow>() - 8usize];
    ["Offset of field: lh_shadow::sums"][::core::mem::offset_of!(lh_shadow, sums) - 0usize];
    ["Offset of field: lh_shadow::busy_from_ns"]
        [::core::mem::offset_of!(lh_shadow, busy_from_ns) - 160usize];
    ["Offset of field: lh_shadow::idle_ns"][::core::mem::offset_of!(lh_shadow, idle_ns) - 168usize];
    ["Offset of field: lh_shadow::gap_ns"][::core::mem::offset_of!(lh_shadow, gap_ns) - 176usize];
    ["Offset of field: lh_shadow::departed"]
        [::core::mem::offset_of!(lh_shadow, departed) - 184usize];
    ["Offset of field: lh_shadow::newest_departed"]
        [::core::mem::offset_of!(lh_shadow, newest_departed) - 188usize];
    ["Offset of field: lh_shadow::newest_ns"]
        [::core::mem::offset_of!(lh_shadow, newest_ns) - 192usize];
    ["Offset of field: lh_shadow::train_at_ns"]
        [::core::mem::offset_of!(lh_shadow, train_at_ns) - 200usize];
    ["Offset of field: lh_shadow::train_ns"]
        [::core::mem::offset_of!(lh_shadow, train_ns) - 208usize];
    ["Offset of field: lh_shadow::train_bytes"]
        [::core::mem::offset_of!(lh_shadow, train_bytes) - 216usize];
    ["Offset of field: lh_shadow::train_departed"]
        [::core::mem::offset_of!(lh_shadow, train_departed) - 220usize];
    ["Offset of field: lh_shadow::train_delivered"]
        [::core::mem::offset_of!(lh_shadow, train_delivered) - 224usize];
    ["Offset of field: lh_shadow::mark"][::core::mem::offset_of!(lh_shadow, mark) - 228usize];
    ["Offset of field: lh_shadow::met"][::core::mem::offset_of!(lh_shadow, met) - 232usize];
    ["Offset of field: lh_shadow::met_tx_ns"]
        [::core::mem::offset_of!(lh_shadow, met_tx_ns) - 240usize];
    ["Offset of field: lh_shadow::booked"][::core::mem::offset_of!(lh_shadow, booked) - 256usize];
    ["Offset of field: lh_shadow::asked"][::core::mem::offset_of!(lh_shadow, asked) - 260usize];
    ["Offset of field: lh_shadow::flight"][::core::mem::offset_of!(lh_shadow, flight) - 264usize];
    ["Offset of field: lh_shadow::recovers"]
        [::core::mem::offset_of!(lh_shadow, recovers) - 268usize];
    ["Offset of field: lh_shadow::point"][::core::mem::offset_of!(lh_shadow, point) - 272usize];
    ["Offset of field: lh_shadow::nr_ratios"]
        [::core::mem::offset_of!(lh_shadow, nr_ratios) - 276usize];
    ["Offset of field: lh_shadow::ratio_1024"]
        [::core::mem::offset_of!(lh_shadow, ratio_1024) - 280usize];
    ["Offset of field: lh_shadow::tries"][::core::mem::offset_of!(lh_shadow, tries) - 284usize];
    ["Offset of field: lh_shadow::tried_ns"]
        [::core::mem::offset_of!(lh_shadow, tried_ns) - 288usize];
    ["Offset of field: lh_shadow::back_end"]
        [::core::mem::offset_of!(lh_shadow, back_end) - 296usize];
    ["Offset of field: lh_shadow::back_gap_ns"]
        [::core::mem::offset_of!(lh_shadow, back_gap_ns) - 304usize];
    ["Offset of field: lh_shadow::due_ns"][::core::mem::offset_of!(lh_shadow, due_ns) - 312usize];
    ["Offset of field: lh_shadow::burst_bytes"]
        [::core::mem::offset_of!(lh_shadow, burst_bytes) - 320usize];
    ["Offset of field: lh_shadow::burst_ns"]
        [::core::mem::offset_of!(lh_shadow, burst_ns) - 328usize];
    ["Offset of field: lh_shadow::burst_last_ns"]
        [::core::mem::offset_of!(lh_shadow, burst_last_ns) - 336usize];
};
#[doc = " The device's."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_shadow_device {
    #[doc = " flows that are over"]
    pub ended: [lh_shadow_sums; 4usize],
    #[doc = " by the queue that they met"]
    pub segs: [u64; 16usize],
    #[doc = " by the queue that they met"]
    pub lost: [u64; 16usize],
    #[doc = " bytes of trains, by their rate"]
    pub rates: [u64; 64usize],
    #[doc = " time with anything under way to anyone"]
    pub busy_ns: u64,
    #[doc = " since when there is; with nr_busy"]
    pub busy_from_ns: u64,
    #[doc = " since when there is nothing"]
    pub idle_ns: u64,
    #[doc = " flows with anything under way"]
    pub nr_busy: u64,
    #[doc = " Bytes of some segments in a row from FH, by the rate at which they came here."]
    pub bursts: [u64; 64usize],
    #[doc = " Data that came over the hop, and gaps in them that their sender had to fill."]
    pub back_segs: u64,
    #[doc = " Data that came over the hop, and gaps in them that their sender had to fill."]
    pub back_lost: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_shadow_device"][::core::mem::size_of::<lh_shadow_device>() - 1968usize];
    ["Alignment of lh_shadow_device"][::core::mem::align_of::<lh_shadow_device>() - 8usize];
    ["Offset of field: lh_shadow_device::ended"]
        [::core::mem::offset_of!(lh_shadow_device, ended) - 0usize];
    ["Offset of field: lh_shadow_device::segs"]
        [::core::mem::offset_of!(lh_shadow_device, segs) - 640usize];
    ["Offset of field: lh_shadow_device::lost"]
        [::core::mem::offset_of!(lh_shadow_device, lost) - 768usize];
    ["Offset of field: lh_shadow_device::rates"]
        [::core::mem::offset_of!(lh_shadow_device, rates) - 896usize];
    ["Offset of field: lh_shadow_device::busy_ns"]
        [::core::mem::offset_of!(lh_shadow_device, busy_ns) - 1408usize];
    ["Offset of field: lh_shadow_device::busy_from_ns"]
        [::core::mem::offset_of!(lh_shadow_device, busy_from_ns) - 1416usize];
    ["Offset of field: lh_shadow_device::idle_ns"]
        [::core::mem::offset_of!(lh_shadow_device, idle_ns) - 1424usize];
    ["Offset of field: lh_shadow_device::nr_busy"]
        [::core::mem::offset_of!(lh_shadow_device, nr_busy) - 1432usize];
    ["Offset of field: lh_shadow_device::bursts"]
        [::core::mem::offset_of!(lh_shadow_device, bursts) - 1440usize];
    ["Offset of field: lh_shadow_device::back_segs"]
        [::core::mem::offset_of!(lh_shadow_device, back_segs) - 1952usize];
    ["Offset of field: lh_shadow_device::back_lost"]
        [::core::mem::offset_of!(lh_shadow_device, back_lost) - 1960usize];
};
impl Default for lh_shadow_device {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " How many there were in the newest bin of LH_BIN_NS, and in the one before."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_tally {
    #[doc = " its number"]
    pub bin: u64,
    pub now: u32,
    pub before: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_tally"][::core::mem::size_of::<lh_tally>() - 16usize];
    ["Alignment of lh_tally"][::core::mem::align_of::<lh_tally>() - 8usize];
    ["Offset of field: lh_tally::bin"][::core::mem::offset_of!(lh_tally, bin) - 0usize];
    ["Offset of field: lh_tally::now"][::core::mem::offset_of!(lh_tally, now) - 8usize];
    ["Offset of field: lh_tally::before"][::core::mem::offset_of!(lh_tally, before) - 12usize];
};
#[doc = " half of it: is the queue ours (control.c)?"]
pub const LH_TRIAL_HALF: lh_trial = 0;
#[doc = " twice, where there is no half"]
pub const LH_TRIAL_TWICE: lh_trial = 1;
#[doc = " a little less than what they get: is less of it lost (limit.h)?"]
pub const LH_TRIAL_LIMIT: lh_trial = 2;
#[doc = " What C is for all of a receiver's flows, to see what follows from it."]
pub type lh_trial = ::core::ffi::c_uint;
#[doc = " One receiver on the link."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_peer {
    #[doc = " as in lh_flow_key.mh"]
    pub addr: [u8; 16usize],
    #[doc = " last new flow or sample, or ACK to a second"]
    pub seen_ns: u64,
    #[doc = " last sample that showed a standing queue"]
    pub busy_ns: u64,
    #[doc = " hash of addr: whether the place is still ours"]
    pub tag: u32,
    #[doc = " in vain, since the last that was not; LH_TRIALS_MOST at the most"]
    pub trials: u8,
    #[doc = " 1: lmin_now_ns is a handshake's, whose packets are small"]
    pub guessed: u8,
    #[doc = " enum lh_trial: what it is of"]
    pub trial: u8,
    pub trial_pad: u8,
    #[doc = " The unloaded local round trip: the least sample of this and of the\n previous period (sample.h); 0: none."]
    pub lmin_now_ns: u64,
    #[doc = " The unloaded local round trip: the least sample of this and of the\n previous period (sample.h); 0: none."]
    pub lmin_before_ns: u64,
    #[doc = " when this period began"]
    pub since_ns: u64,
    #[doc = " when it was found to be longer last (lh_queue_raise)"]
    pub raised_ns: u64,
    #[doc = " as long as it was then, if it had been found so shortly before; else 0"]
    pub floor_ns: u64,
    #[doc = " smoothed local round trip of its flows, 0: none yet"]
    pub srtt_ns: u64,
    #[doc = " last loss of the link's that was hidden from a sender; 0: none"]
    pub lossy_ns: u64,
    #[doc = " for so long it counts"]
    pub lossy_for_ns: u64,
    #[doc = " The longest queue of this and of the previous period."]
    pub full_now_ns: u64,
    #[doc = " The longest queue of this and of the previous period."]
    pub full_before_ns: u64,
    #[doc = " when this period began"]
    pub full_since_ns: u64,
    #[doc = " last delivery to any of the flows"]
    pub delivered_ns: u64,
    #[doc = " latest departure among what was delivered, sent again or not"]
    pub xmit_ns: u64,
    #[doc = " the same of what gave a sample"]
    pub newest_tx_ns: u64,
    #[doc = " the last sample of it, and when that was"]
    pub queue_ns: u64,
    #[doc = " the last sample of it, and when that was"]
    pub queue_at_ns: u64,
    #[doc = " as lh_queue.above_ns, of all its flows"]
    pub above_ns: u64,
    #[doc = " when nothing of theirs was under way, or in a queue, last (lh_queue_empty)"]
    pub empty_ns: u64,
    #[doc = " Sojourns that are longer than Lmin and any queue of its own explain, and all alike (lh_queue_longer): since\n when, the least and the greatest; until when what came to it takes at its best rate."]
    pub longer_ns: u64,
    #[doc = " Sojourns that are longer than Lmin and any queue of its own explain, and all alike (lh_queue_longer): since\n when, the least and the greatest; until when what came to it takes at its best rate."]
    pub longer_least_ns: u64,
    #[doc = " Sojourns that are longer than Lmin and any queue of its own explain, and all alike (lh_queue_longer): since\n when, the least and the greatest; until when what came to it takes at its best rate."]
    pub longer_most_ns: u64,
    #[doc = " Sojourns that are longer than Lmin and any queue of its own explain, and all alike (lh_queue_longer): since\n when, the least and the greatest; until when what came to it takes at its best rate."]
    pub own_until_ns: u64,
    #[doc = " what sojourns that met no queue were above Lmin, smoothed (lh_queue_idle)"]
    pub idle_ns: u64,
    #[doc = " Departures that found it near the longest: the latest, and the first of those that\n followed each other closely; 0: none."]
    pub full_tx_ns: u64,
    #[doc = " Departures that found it near the longest: the latest, and the first of those that\n followed each other closely; 0: none."]
    pub full_from_ns: u64,
    #[doc = " The longest queue as it was a round trip ago, and the one before; since when."]
    pub full_mark_ns: u64,
    #[doc = " The longest queue as it was a round trip ago, and the one before; since when."]
    pub full_mark_before_ns: u64,
    #[doc = " The longest queue as it was a round trip ago, and the one before; since when."]
    pub full_mark_at_ns: u64,
    #[doc = " when the last sample came, if it found it so; 0: it did not"]
    pub full_seen_ns: u64,
    #[doc = " The longest queue in bytes: what arrived while a segment queued (lh_queue_bytes). A rate\n that changes while the queue drains changes the time, but not this."]
    pub ahead: u32,
    #[doc = " The longest queue in bytes: what arrived while a segment queued (lh_queue_bytes). A rate\n that changes while the queue drains changes the time, but not this."]
    pub full_now: u32,
    #[doc = " The longest queue in bytes: what arrived while a segment queued (lh_queue_bytes). A rate\n that changes while the queue drains changes the time, but not this."]
    pub full_before: u32,
    #[doc = " bytes, modulo 2^32"]
    pub delivered: u32,
    #[doc = " when its last part begins and ends; 0: there is none"]
    pub trial_ns: u64,
    #[doc = " when its last part begins and ends; 0: there is none"]
    pub trial_end_ns: u64,
    #[doc = " least sample in its last part; 0: none"]
    pub trial_least_ns: u64,
    #[doc = " number of the newest bin, now / LH_BIN_NS"]
    pub bin: u64,
    #[doc = " in it"]
    pub bytes: u64,
    #[doc = " bytes per second"]
    pub rate: u64,
    #[doc = " the same, but it takes half a minute to fade"]
    pub rate_long: u64,
    #[doc = " of the last whole bin"]
    pub rate_before: u64,
    #[doc = " that delivered in this bin and the one before"]
    pub flows: u32,
    #[doc = " that delivered in this bin and the one before"]
    pub flows_before: u32,
    #[doc = " the same of LH_CROWD_BINS bins"]
    pub crowd: u32,
    #[doc = " the same of LH_CROWD_BINS bins"]
    pub crowd_before: u32,
    #[doc = " flows with something cached that have this place"]
    pub active: u32,
    #[doc = " as delivered, at the first sample of a trial's last part"]
    pub trial_delivered: u32,
    #[doc = " as lh_queue.blamed, of all its flows"]
    pub blamed: u32,
    #[doc = " delivered, at the last sample"]
    pub sampled: u32,
    #[doc = " so many of those sojourns"]
    pub longer: u32,
    #[doc = " delivered, when own_until_ns was reckoned last"]
    pub own_delivered: u32,
    #[doc = " bytes in the first part of a trial of twice C; 0: it is not over"]
    pub trial_first: u32,
    #[doc = " bytes that the hop had to carry of what had gone to it, at backlog_ns (lh_queue_departs)"]
    pub backlog: u32,
    pub backlog_ns: u64,
    #[doc = " bytes sent once more, by the agent or by FH, modulo 2^32"]
    pub again: u32,
    #[doc = " both when the present span began"]
    pub span_again: u32,
    #[doc = " both when the present span began"]
    pub span_delivered: u32,
    #[doc = " What of the last span's data had to be sent again, and smoothed; of LH_LOST_UNIT."]
    pub lost: u32,
    #[doc = " What of the last span's data had to be sent again, and smoothed; of LH_LOST_UNIT."]
    pub lost_mean: u32,
    #[doc = " when it began; 0: there is none"]
    pub span_ns: u64,
    #[doc = " delivered in the last one, bytes per second"]
    pub span_rate: u64,
    #[doc = " again, at the first sample of a trial's last part"]
    pub trial_again: u32,
    #[doc = " lost_mean before a trial"]
    pub trial_lost: u32,
    #[doc = " span_rate before it"]
    pub trial_rate: u64,
    #[doc = " bytes per second; 0: there is none"]
    pub limit_rate: u64,
    #[doc = " when more was lost last"]
    pub limit_ns: u64,
    #[doc = " until then its flows are too many for its limit, or for one on trial, to be braked by it (limit.h)"]
    pub tight_ns: u64,
    #[doc = " what is lost below it, smoothed"]
    pub limit_lost: u32,
    #[doc = " Spans in a row in which so much was lost as only a limit explains; where one is known, in which it was\n reached."]
    pub heavy: u32,
    #[doc = " last probe, by whichever flow"]
    pub probe_ns: u64,
    #[doc = " the next one waits so long for those of other receivers"]
    pub turn_ns: u64,
    #[doc = " when the hop has carried what its flows' probes may take of it (probe.c)"]
    pub probes_until_ns: u64,
    #[doc = " last ACK of any of the flows, to a millisecond"]
    pub heard_ns: u64,
    #[doc = " number of the bin in which the last one went"]
    pub told_bin: u64,
    #[doc = " in that bin"]
    pub told: u32,
    #[doc = " so often a trial for a limit may still go on"]
    pub trial_more: u32,
    #[doc = " its flows whose data have come over the hop (resequence.h)"]
    pub arriving: lh_tally,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_peer"][::core::mem::size_of::<lh_peer>() - 560usize];
    ["Alignment of lh_peer"][::core::mem::align_of::<lh_peer>() - 8usize];
    ["Offset of field: lh_peer::addr"][::core::mem::offset_of!(lh_peer, addr) - 0usize];
    ["Offset of field: lh_peer::seen_ns"][::core::mem::offset_of!(lh_peer, seen_ns) - 16usize];
    ["Offset of field: lh_peer::busy_ns"][::core::mem::offset_of!(lh_peer, busy_ns) - 24usize];
    ["Offset of field: lh_peer::tag"][::core::mem::offset_of!(lh_peer, tag) - 32usize];
    ["Offset of field: lh_peer::trials"][::core::mem::offset_of!(lh_peer, trials) - 36usize];
    ["Offset of field: lh_peer::guessed"][::core::mem::offset_of!(lh_peer, guessed) - 37usize];
    ["Offset of field: lh_peer::trial"][::core::mem::offset_of!(lh_peer, trial) - 38usize];
    ["Offset of field: lh_peer::trial_pad"][::core::mem::offset_of!(lh_peer, trial_pad) - 39usize];
    ["Offset of field: lh_peer::lmin_now_ns"]
        [::core::mem::offset_of!(lh_peer, lmin_now_ns) - 40usize];
    ["Offset of field: lh_peer::lmin_before_ns"]
        [::core::mem::offset_of!(lh_peer, lmin_before_ns) - 48usize];
    ["Offset of field: lh_peer::since_ns"][::core::mem::offset_of!(lh_peer, since_ns) - 56usize];
    ["Offset of field: lh_peer::raised_ns"][::core::mem::offset_of!(lh_peer, raised_ns) - 64usize];
    ["Offset of field: lh_peer::floor_ns"][::core::mem::offset_of!(lh_peer, floor_ns) - 72usize];
    ["Offset of field: lh_peer::srtt_ns"][::core::mem::offset_of!(lh_peer, srtt_ns) - 80usize];
    ["Offset of field: lh_peer::lossy_ns"][::core::mem::offset_of!(lh_peer, lossy_ns) - 88usize];
    ["Offset of field: lh_peer::lossy_for_ns"]
        [::core::mem::offset_of!(lh_peer, lossy_for_ns) - 96usize];
    ["Offset of field: lh_peer::full_now_ns"]
        [::core::mem::offset_of!(lh_peer, full_now_ns) - 104usize];
    ["Offset of field: lh_peer::full_before_ns"]
        [::core::mem::offset_of!(lh_peer, full_before_ns) - 112usize];
    ["Offset of field: lh_peer::full_since_ns"]
        [::core::mem::offset_of!(lh_peer, full_since_ns) - 120usize];
    ["Offset of field: lh_peer::delivered_ns"]
        [::core::mem::offset_of!(lh_peer, delivered_ns) - 128usize];
    ["Offset of field: lh_peer::xmit_ns"][::core::mem::offset_of!(lh_peer, xmit_ns) - 136usize];
    ["Offset of field: lh_peer::newest_tx_ns"]
        [::core::mem::offset_of!(lh_peer, newest_tx_ns) - 144usize];
    ["Offset of field: lh_peer::queue_ns"][::core::mem::offset_of!(lh_peer, queue_ns) - 152usize];
    ["Offset of field: lh_peer::queue_at_ns"]
        [::core::mem::offset_of!(lh_peer, queue_at_ns) - 160usize];
    ["Offset of field: lh_peer::above_ns"][::core::mem::offset_of!(lh_peer, above_ns) - 168usize];
    ["Offset of field: lh_peer::empty_ns"][::core::mem::offset_of!(lh_peer, empty_ns) - 176usize];
    ["Offset of field: lh_peer::longer_ns"][::core::mem::offset_of!(lh_peer, longer_ns) - 184usize];
    ["Offset of field: lh_peer::longer_least_ns"]
        [::core::mem::offset_of!(lh_peer, longer_least_ns) - 192usize];
    ["Offset of field: lh_peer::longer_most_ns"]
        [::core::mem::offset_of!(lh_peer, longer_most_ns) - 200usize];
    ["Offset of field: lh_peer::own_until_ns"]
        [::core::mem::offset_of!(lh_peer, own_until_ns) - 208usize];
    ["Offset of field: lh_peer::idle_ns"][::core::mem::offset_of!(lh_peer, idle_ns) - 216usize];
    ["Offset of field: lh_peer::full_tx_ns"]
        [::core::mem::offset_of!(lh_peer, full_tx_ns) - 224usize];
    ["Offset of field: lh_peer::full_from_ns"]
        [::core::mem::offset_of!(lh_peer, full_from_ns) - 232usize];
    ["Offset of field: lh_peer::full_mark_ns"]
        [::core::mem::offset_of!(lh_peer, full_mark_ns) - 240usize];
    ["Offset of field: lh_peer::full_mark_before_ns"]
        [::core::mem::offset_of!(lh_peer, full_mark_before_ns) - 248usize];
    ["Offset of field: lh_peer::full_mark_at_ns"]
        [::core::mem::offset_of!(lh_peer, full_mark_at_ns) - 256usize];
    ["Offset of field: lh_peer::full_seen_ns"]
        [::core::mem::offset_of!(lh_peer, full_seen_ns) - 264usize];
    ["Offset of field: lh_peer::ahead"][::core::mem::offset_of!(lh_peer, ahead) - 272usize];
    ["Offset of field: lh_peer::full_now"][::core::mem::offset_of!(lh_peer, full_now) - 276usize];
    ["Offset of field: lh_peer::full_before"]
        [::core::mem::offset_of!(lh_peer, full_before) - 280usize];
    ["Offset of field: lh_peer::delivered"][::core::mem::offset_of!(lh_peer, delivered) - 284usize];
    ["Offset of field: lh_peer::trial_ns"][::core::mem::offset_of!(lh_peer, trial_ns) - 288usize];
    ["Offset of field: lh_peer::trial_end_ns"]
        [::core::mem::offset_of!(lh_peer, trial_end_ns) - 296usize];
    ["Offset of field: lh_peer::trial_least_ns"]
        [::core::mem::offset_of!(lh_peer, trial_least_ns) - 304usize];
    ["Offset of field: lh_peer::bin"][::core::mem::offset_of!(lh_peer, bin) - 312usize];
    ["Offset of field: lh_peer::bytes"][::core::mem::offset_of!(lh_peer, bytes) - 320usize];
    ["Offset of field: lh_peer::rate"][::core::mem::offset_of!(lh_peer, rate) - 328usize];
    ["Offset of field: lh_peer::rate_long"][::core::mem::offset_of!(lh_peer, rate_long) - 336usize];
    ["Offset of field: lh_peer::rate_before"]
        [::core::mem::offset_of!(lh_peer, rate_before) - 344usize];
    ["Offset of field: lh_peer::flows"][::core::mem::offset_of!(lh_peer, flows) - 352usize];
    ["Offset of field: lh_peer::flows_before"]
        [::core::mem::offset_of!(lh_peer, flows_before) - 356usize];
    ["Offset of field: lh_peer::crowd"][::core::mem::offset_of!(lh_peer, crowd) - 360usize];
    ["Offset of field: lh_peer::crowd_before"]
        [::core::mem::offset_of!(lh_peer, crowd_before) - 364usize];
    ["Offset of field: lh_peer::active"][::core::mem::offset_of!(lh_peer, active) - 368usize];
    ["Offset of field: lh_peer::trial_delivered"]
        [::core::mem::offset_of!(lh_peer, trial_delivered) - 372usize];
    ["Offset of field: lh_peer::blamed"][::core::mem::offset_of!(lh_peer, blamed) - 376usize];
    ["Offset of field: lh_peer::sampled"][::core::mem::offset_of!(lh_peer, sampled) - 380usize];
    ["Offset of field: lh_peer::longer"][::core::mem::offset_of!(lh_peer, longer) - 384usize];
    ["Offset of field: lh_peer::own_delivered"]
        [::core::mem::offset_of!(lh_peer, own_delivered) - 388usize];
    ["Offset of field: lh_peer::trial_first"]
        [::core::mem::offset_of!(lh_peer, trial_first) - 392usize];
    ["Offset of field: lh_peer::backlog"][::core::mem::offset_of!(lh_peer, backlog) - 396usize];
    ["Offset of field: lh_peer::backlog_ns"]
        [::core::mem::offset_of!(lh_peer, backlog_ns) - 400usize];
    ["Offset of field: lh_peer::again"][::core::mem::offset_of!(lh_peer, again) - 408usize];
    ["Offset of field: lh_peer::span_again"]
        [::core::mem::offset_of!(lh_peer, span_again) - 412usize];
    ["Offset of field: lh_peer::span_delivered"]
        [::core::mem::offset_of!(lh_peer, span_delivered) - 416usize];
    ["Offset of field: lh_peer::lost"][::core::mem::offset_of!(lh_peer, lost) - 420usize];
    ["Offset of field: lh_peer::lost_mean"][::core::mem::offset_of!(lh_peer, lost_mean) - 424usize];
    ["Offset of field: lh_peer::span_ns"][::core::mem::offset_of!(lh_peer, span_ns) - 432usize];
    ["Offset of field: lh_peer::span_rate"][::core::mem::offset_of!(lh_peer, span_rate) - 440usize];
    ["Offset of field: lh_peer::trial_again"]
        [::core::mem::offset_of!(lh_peer, trial_again) - 448usize];
    ["Offset of field: lh_peer::trial_lost"]
        [::core::mem::offset_of!(lh_peer, trial_lost) - 452usize];
    ["Offset of field: lh_peer::trial_rate"]
        [::core::mem::offset_of!(lh_peer, trial_rate) - 456usize];
    ["Offset of field: lh_peer::limit_rate"]
        [::core::mem::offset_of!(lh_peer, limit_rate) - 464usize];
    ["Offset of field: lh_peer::limit_ns"][::core::mem::offset_of!(lh_peer, limit_ns) - 472usize];
    ["Offset of field: lh_peer::tight_ns"][::core::mem::offset_of!(lh_peer, tight_ns) - 480usize];
    ["Offset of field: lh_peer::limit_lost"]
        [::core::mem::offset_of!(lh_peer, limit_lost) - 488usize];
    ["Offset of field: lh_peer::heavy"][::core::mem::offset_of!(lh_peer, heavy) - 492usize];
    ["Offset of field: lh_peer::probe_ns"][::core::mem::offset_of!(lh_peer, probe_ns) - 496usize];
    ["Offset of field: lh_peer::turn_ns"][::core::mem::offset_of!(lh_peer, turn_ns) - 504usize];
    ["Offset of field: lh_peer::probes_until_ns"]
        [::core::mem::offset_of!(lh_peer, probes_until_ns) - 512usize];
    ["Offset of field: lh_peer::heard_ns"][::core::mem::offset_of!(lh_peer, heard_ns) - 520usize];
    ["Offset of field: lh_peer::told_bin"][::core::mem::offset_of!(lh_peer, told_bin) - 528usize];
    ["Offset of field: lh_peer::told"][::core::mem::offset_of!(lh_peer, told) - 536usize];
    ["Offset of field: lh_peer::trial_more"]
        [::core::mem::offset_of!(lh_peer, trial_more) - 540usize];
    ["Offset of field: lh_peer::arriving"][::core::mem::offset_of!(lh_peer, arriving) - 544usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_device {
    #[doc = " smoothed local round trip of all flows, 0: none yet"]
    pub srtt_ns: u64,
    #[doc = " receivers for whom something is cached"]
    pub busy_peers: u32,
    pub pad: u32,
    #[doc = " last SYN that was cached for a receiver that nobody has heard"]
    pub stranger_ns: u64,
    #[doc = " Messages to the agent at the other end: as in struct lh_peer, of all; in how many\n receivers' names in that bin and the one before."]
    pub told_bin: u64,
    pub told: u32,
    pub tellers: u32,
    pub tellers_before: u32,
    pub told_pad: u32,
    #[doc = " Receivers whose data have come over the hop (resequence.h), who have no place all together; and\n flows of those."]
    pub arriving: lh_tally,
    #[doc = " Receivers whose data have come over the hop (resequence.h), who have no place all together; and\n flows of those."]
    pub strangers: lh_tally,
    #[doc = " mean time of a repair of those that were asked for, of all; 0: none was seen"]
    pub replay_us: u32,
    pub replay_pad: u32,
    #[doc = " last delivery to anyone"]
    pub delivered_ns: u64,
    #[doc = " until when the queues last that samples have shown, whosever they are"]
    pub drains_ns: u64,
    #[doc = " until when the share of the hop is used up that probes have in outages (outage.h)"]
    pub probes_ns: u64,
    #[doc = " with LH_POLICY_SHADOW"]
    pub shadow: lh_shadow_device,
    #[doc = " number of the newest bin, now / LH_BIN_NS"]
    pub bin: u64,
    #[doc = " delivered in bin n: bytes[n % LH_DEVICE_BINS]"]
    pub bytes: [u64; 64usize],
    #[doc = " flows that delivered in it"]
    pub flows: [u64; 64usize],
    #[doc = " [0] is nobody's: a flow without a place has that index"]
    pub peer: [lh_peer; 1024usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_device"][::core::mem::size_of::<lh_device>() - 576552usize];
    ["Alignment of lh_device"][::core::mem::align_of::<lh_device>() - 8usize];
    ["Offset of field: lh_device::srtt_ns"][::core::mem::offset_of!(lh_device, srtt_ns) - 0usize];
    ["Offset of field: lh_device::busy_peers"]
        [::core::mem::offset_of!(lh_device, busy_peers) - 8usize];
    ["Offset of field: lh_device::pad"][::core::mem::offset_of!(lh_device, pad) - 12usize];
    ["Offset of field: lh_device::stranger_ns"]
        [::core::mem::offset_of!(lh_device, stranger_ns) - 16usize];
    ["Offset of field: lh_device::told_bin"]
        [::core::mem::offset_of!(lh_device, told_bin) - 24usize];
    ["Offset of field: lh_device::told"][::core::mem::offset_of!(lh_device, told) - 32usize];
    ["Offset of field: lh_device::tellers"][::core::mem::offset_of!(lh_device, tellers) - 36usize];
    ["Offset of field: lh_device::tellers_before"]
        [::core::mem::offset_of!(lh_device, tellers_before) - 40usize];
    ["Offset of field: lh_device::told_pad"]
        [::core::mem::offset_of!(lh_device, told_pad) - 44usize];
    ["Offset of field: lh_device::arriving"]
        [::core::mem::offset_of!(lh_device, arriving) - 48usize];
    ["Offset of field: lh_device::strangers"]
        [::core::mem::offset_of!(lh_device, strangers) - 64usize];
    ["Offset of field: lh_device::replay_us"]
        [::core::mem::offset_of!(lh_device, replay_us) - 80usize];
    ["Offset of field: lh_device::replay_pad"]
        [::core::mem::offset_of!(lh_device, replay_pad) - 84usize];
    ["Offset of field: lh_device::delivered_ns"]
        [::core::mem::offset_of!(lh_device, delivered_ns) - 88usize];
    ["Offset of field: lh_device::drains_ns"]
        [::core::mem::offset_of!(lh_device, drains_ns) - 96usize];
    ["Offset of field: lh_device::probes_ns"]
        [::core::mem::offset_of!(lh_device, probes_ns) - 104usize];
    ["Offset of field: lh_device::shadow"][::core::mem::offset_of!(lh_device, shadow) - 112usize];
    ["Offset of field: lh_device::bin"][::core::mem::offset_of!(lh_device, bin) - 2080usize];
    ["Offset of field: lh_device::bytes"][::core::mem::offset_of!(lh_device, bytes) - 2088usize];
    ["Offset of field: lh_device::flows"][::core::mem::offset_of!(lh_device, flows) - 2600usize];
    ["Offset of field: lh_device::peer"][::core::mem::offset_of!(lh_device, peer) - 3112usize];
};
impl Default for lh_device {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const LH_SCHEME_none: lh_scheme = 0;
pub const LH_SCHEME_rack: lh_scheme = 1;
pub const LH_SCHEME_slack: lh_scheme = 2;
pub const LH_SCHEME_snoop: lh_scheme = 3;
pub const LH_SCHEME_sack: lh_scheme = 4;
pub const LH_SCHEME_snack: lh_scheme = 5;
pub const LH_SCHEME_csnoop: lh_scheme = 6;
pub const LH_SCHEME_dproxy: lh_scheme = 7;
pub const LH_SCHEME_shadow: lh_scheme = 8;
pub const LH_NR_SCHEMES: lh_scheme = 9;
#[doc = " LH_SCHEME_none and so on, from the schemes' own rows."]
pub type lh_scheme = ::core::ffi::c_uint;
#[doc = " ACKs of what leaves come from the hop's other end"]
pub const LH_ROLE_BASE: lh_role = 0;
#[doc = " they come from beyond it: a loss may be anybody's"]
pub const LH_ROLE_MOBILE: lh_role = 1;
#[doc = " Which end of the hop we are at."]
pub type lh_role = ::core::ffi::c_uint;
#[doc = " RFC 6298 gains, floor against delayed ACKs"]
pub const LH_RTT_STD: lh_rtt_profile = 0;
#[doc = " ns-2.35's, as Nguyen 2002 prints it (docs/design.md, section 3.3)"]
pub const LH_RTT_NS2: lh_rtt_profile = 1;
pub type lh_rtt_profile = ::core::ffi::c_uint;
#[doc = " while anything is cached (ns-2)"]
pub const LH_TIMER_ALWAYS: lh_timer_arm = 0;
#[doc = " only after a duplicate-driven repair (Kim and Chung 2007 on earlier schemes)"]
pub const LH_TIMER_AFTER_DUP: lh_timer_arm = 1;
pub type lh_timer_arm = ::core::ffi::c_uint;
pub const LH_PARTNER_OFF: lh_partner_mode = 0;
pub const LH_PARTNER_ON: lh_partner_mode = 1;
#[doc = " user space's to decide, by whether there is a key; else off"]
pub const LH_PARTNER_AUTO: lh_partner_mode = 2;
pub type lh_partner_mode = ::core::ffi::c_uint;
pub const LH_CLOCK_OFF: lh_clock_mode = 0;
#[doc = " brakes senders whose losses are hidden"]
pub const LH_CLOCK_AUTO: lh_clock_mode = 1;
#[doc = " and all others while a queue stands"]
pub const LH_CLOCK_ALWAYS: lh_clock_mode = 2;
pub type lh_clock_mode = ::core::ffi::c_uint;
#[doc = " where a brake is left, and FH has no patience of its own"]
pub const LH_SUPPRESS_AUTO: lh_suppress_mode = 0;
pub const LH_SUPPRESS_ON: lh_suppress_mode = 1;
pub const LH_SUPPRESS_OFF: lh_suppress_mode = 2;
pub type lh_suppress_mode = ::core::ffi::c_uint;
#[doc = " the MAC has given the frame up"]
pub const LH_UNDELIVERED_FINAL: lh_undelivered_mode = 0;
#[doc = " an attempt has failed, whether or not there will be more"]
pub const LH_UNDELIVERED_ATTEMPT: lh_undelivered_mode = 1;
pub type lh_undelivered_mode = ::core::ffi::c_uint;
pub const LH_MASK_OFF: lh_mask_mode = 0;
pub const LH_MASK_ON: lh_mask_mode = 1;
#[doc = " where another than the ACKs says whose loss it was"]
pub const LH_MASK_AUTO: lh_mask_mode = 2;
pub type lh_mask_mode = ::core::ffi::c_uint;
#[doc = " Constant while a device is attached: .rodata in BPF, so that the verifier prunes the other\n schemes. Fields, units and defaults: params.h."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_config {
    pub target_ns: u64,
    pub slack_quiet_ns: u64,
    pub rto_min_ns: u64,
    pub lrto_floor_ns: u64,
    pub lrto_max_ns: u64,
    pub ns2_tick_ns: u64,
    pub ns2_srtt_ns: u64,
    pub ns2_rtt_var_ns: u64,
    pub hold_min_ns: u64,
    pub hold_max_ns: u64,
    pub idle_ns: u64,
    #[doc = " enum lh_scheme"]
    pub scheme: u32,
    pub role: u32,
    pub clock: u32,
    pub suppress: u32,
    pub slack_bursts: u32,
    pub freeze: u32,
    pub handoff: u32,
    pub sack_mask: u32,
    pub undelivered: u32,
    pub partner: u32,
    pub probe: u32,
    pub order_rule: u32,
    pub reorder_buffer: u32,
    pub catch_up: u32,
    pub give_up: u32,
    pub tail_probe: u32,
    pub asks: u32,
    pub rtt_profile: u32,
    pub dup_thresh: u32,
    pub max_local: u32,
    pub timer_arm: u32,
    pub strict_window: u32,
    pub queue_guard: u32,
    pub brake: u32,
    pub ns2_gain_1024: u32,
    pub pad: [u32; 1usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_config"][::core::mem::size_of::<lh_config>() - 192usize];
    ["Alignment of lh_config"][::core::mem::align_of::<lh_config>() - 8usize];
    ["Offset of field: lh_config::target_ns"]
        [::core::mem::offset_of!(lh_config, target_ns) - 0usize];
    ["Offset of field: lh_config::slack_quiet_ns"]
        [::core::mem::offset_of!(lh_config, slack_quiet_ns) - 8usize];
    ["Offset of field: lh_config::rto_min_ns"]
        [::core::mem::offset_of!(lh_config, rto_min_ns) - 16usize];
    ["Offset of field: lh_config::lrto_floor_ns"]
        [::core::mem::offset_of!(lh_config, lrto_floor_ns) - 24usize];
    ["Offset of field: lh_config::lrto_max_ns"]
        [::core::mem::offset_of!(lh_config, lrto_max_ns) - 32usize];
    ["Offset of field: lh_config::ns2_tick_ns"]
        [::core::mem::offset_of!(lh_config, ns2_tick_ns) - 40usize];
    ["Offset of field: lh_config::ns2_srtt_ns"]
        [::core::mem::offset_of!(lh_config, ns2_srtt_ns) - 48usize];
    ["Offset of field: lh_config::ns2_rtt_var_ns"]
        [::core::mem::offset_of!(lh_config, ns2_rtt_var_ns) - 56usize];
    ["Offset of field: lh_config::hold_min_ns"]
        [::core::mem::offset_of!(lh_config, hold_min_ns) - 64usize];
    ["Offset of field: lh_config::hold_max_ns"]
        [::core::mem::offset_of!(lh_config, hold_max_ns) - 72usize];
    ["Offset of field: lh_config::idle_ns"][::core::mem::offset_of!(lh_config, idle_ns) - 80usize];
    ["Offset of field: lh_config::scheme"][::core::mem::offset_of!(lh_config, scheme) - 88usize];
    ["Offset of field: lh_config::role"][::core::mem::offset_of!(lh_config, role) - 92usize];
    ["Offset of field: lh_config::clock"][::core::mem::offset_of!(lh_config, clock) - 96usize];
    ["Offset of field: lh_config::suppress"]
        [::core::mem::offset_of!(lh_config, suppress) - 100usize];
    ["Offset of field: lh_config::slack_bursts"]
        [::core::mem::offset_of!(lh_config, slack_bursts) - 104usize];
    ["Offset of field: lh_config::freeze"][::core::mem::offset_of!(lh_config, freeze) - 108usize];
    ["Offset of field: lh_config::handoff"][::core::mem::offset_of!(lh_config, handoff) - 112usize];
    ["Offset of field: lh_config::sack_mask"]
        [::core::mem::offset_of!(lh_config, sack_mask) - 116usize];
    ["Offset of field: lh_config::undelivered"]
        [::core::mem::offset_of!(lh_config, undelivered) - 120usize];
    ["Offset of field: lh_config::partner"][::core::mem::offset_of!(lh_config, partner) - 124usize];
    ["Offset of field: lh_config::probe"][::core::mem::offset_of!(lh_config, probe) - 128usize];
    ["Offset of field: lh_config::order_rule"]
        [::core::mem::offset_of!(lh_config, order_rule) - 132usize];
    ["Offset of field: lh_config::reorder_buffer"]
        [::core::mem::offset_of!(lh_config, reorder_buffer) - 136usize];
    ["Offset of field: lh_config::catch_up"]
        [::core::mem::offset_of!(lh_config, catch_up) - 140usize];
    ["Offset of field: lh_config::give_up"][::core::mem::offset_of!(lh_config, give_up) - 144usize];
    ["Offset of field: lh_config::tail_probe"]
        [::core::mem::offset_of!(lh_config, tail_probe) - 148usize];
    ["Offset of field: lh_config::asks"][::core::mem::offset_of!(lh_config, asks) - 152usize];
    ["Offset of field: lh_config::rtt_profile"]
        [::core::mem::offset_of!(lh_config, rtt_profile) - 156usize];
    ["Offset of field: lh_config::dup_thresh"]
        [::core::mem::offset_of!(lh_config, dup_thresh) - 160usize];
    ["Offset of field: lh_config::max_local"]
        [::core::mem::offset_of!(lh_config, max_local) - 164usize];
    ["Offset of field: lh_config::timer_arm"]
        [::core::mem::offset_of!(lh_config, timer_arm) - 168usize];
    ["Offset of field: lh_config::strict_window"]
        [::core::mem::offset_of!(lh_config, strict_window) - 172usize];
    ["Offset of field: lh_config::queue_guard"]
        [::core::mem::offset_of!(lh_config, queue_guard) - 176usize];
    ["Offset of field: lh_config::brake"][::core::mem::offset_of!(lh_config, brake) - 180usize];
    ["Offset of field: lh_config::ns2_gain_1024"]
        [::core::mem::offset_of!(lh_config, ns2_gain_1024) - 184usize];
    ["Offset of field: lh_config::pad"][::core::mem::offset_of!(lh_config, pad) - 188usize];
};
pub const LH_PARAM_TIME: lh_param_kind = 0;
pub const LH_PARAM_COUNT: lh_param_kind = 1;
pub const LH_PARAM_FLAG: lh_param_kind = 2;
pub const LH_PARAM_CHOICE: lh_param_kind = 3;
pub const LH_PARAM_RATIO: lh_param_kind = 4;
pub type lh_param_kind = ::core::ffi::c_uint;
#[doc = " A parameter as hosts in other languages see it; lhc_param(). Values as in its field."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_param {
    #[doc = " in configuration files"]
    pub key: *const ::core::ffi::c_char,
    #[doc = " of a choice, with spaces between; else NULL"]
    pub words: *const ::core::ffi::c_char,
    #[doc = " for people"]
    pub text: *const ::core::ffi::c_char,
    #[doc = " enum lh_param_kind"]
    pub kind: u32,
    #[doc = " of the field in struct lh_config, bytes"]
    pub offset: u32,
    pub initial: u64,
    pub least: u64,
    pub most: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_param"][::core::mem::size_of::<lh_param>() - 56usize];
    ["Alignment of lh_param"][::core::mem::align_of::<lh_param>() - 8usize];
    ["Offset of field: lh_param::key"][::core::mem::offset_of!(lh_param, key) - 0usize];
    ["Offset of field: lh_param::words"][::core::mem::offset_of!(lh_param, words) - 8usize];
    ["Offset of field: lh_param::text"][::core::mem::offset_of!(lh_param, text) - 16usize];
    ["Offset of field: lh_param::kind"][::core::mem::offset_of!(lh_param, kind) - 24usize];
    ["Offset of field: lh_param::offset"][::core::mem::offset_of!(lh_param, offset) - 28usize];
    ["Offset of field: lh_param::initial"][::core::mem::offset_of!(lh_param, initial) - 32usize];
    ["Offset of field: lh_param::least"][::core::mem::offset_of!(lh_param, least) - 40usize];
    ["Offset of field: lh_param::most"][::core::mem::offset_of!(lh_param, most) - 48usize];
};
impl Default for lh_param {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const LH_C_data_segments: lh_counter = 0;
pub const LH_C_data_bytes: lh_counter = 1;
pub const LH_C_ack_segments: lh_counter = 2;
pub const LH_C_cached_segments: lh_counter = 3;
pub const LH_C_cached_bytes: lh_counter = 4;
pub const LH_C_refreshed_segments: lh_counter = 5;
pub const LH_C_uncached_full: lh_counter = 6;
pub const LH_C_uncached_overlap: lh_counter = 7;
pub const LH_C_uncached_size: lh_counter = 8;
pub const LH_C_uncached_small: lh_counter = 9;
pub const LH_C_evicted_segments: lh_counter = 10;
pub const LH_C_upstream_lost: lh_counter = 11;
pub const LH_C_local_retransmits: lh_counter = 12;
pub const LH_C_retransmits_dupack: lh_counter = 13;
pub const LH_C_retransmits_partial: lh_counter = 14;
pub const LH_C_retransmits_order: lh_counter = 15;
pub const LH_C_retransmits_timer: lh_counter = 16;
pub const LH_C_retransmits_asked: lh_counter = 17;
pub const LH_C_retransmits_mac: lh_counter = 18;
pub const LH_C_retransmit_errors: lh_counter = 19;
pub const LH_C_exhausted_segments: lh_counter = 20;
pub const LH_C_overflow_suspected: lh_counter = 21;
pub const LH_C_reordered: lh_counter = 22;
pub const LH_C_duplicate_acks: lh_counter = 23;
pub const LH_C_suppressed_acks: lh_counter = 24;
pub const LH_C_released_acks: lh_counter = 25;
pub const LH_C_held_expired: lh_counter = 26;
pub const LH_C_window_updates: lh_counter = 27;
pub const LH_C_dsacks_dropped: lh_counter = 28;
pub const LH_C_windows_edited: lh_counter = 29;
pub const LH_C_clock_engaged: lh_counter = 30;
pub const LH_C_clock_released: lh_counter = 31;
pub const LH_C_lmin_raised: lh_counter = 32;
pub const LH_C_limits_found: lh_counter = 33;
pub const LH_C_ce_marks: lh_counter = 34;
pub const LH_C_outages: lh_counter = 35;
pub const LH_C_slack_bursts: lh_counter = 36;
pub const LH_C_slack_inapplicable: lh_counter = 37;
pub const LH_C_freezes: lh_counter = 38;
pub const LH_C_handoff_acks: lh_counter = 39;
pub const LH_C_holes: lh_counter = 40;
pub const LH_C_holes_untold: lh_counter = 41;
pub const LH_C_holes_given_up: lh_counter = 42;
pub const LH_C_holes_absent: lh_counter = 43;
pub const LH_C_told_options: lh_counter = 44;
pub const LH_C_told_messages: lh_counter = 45;
pub const LH_C_told_absent: lh_counter = 46;
pub const LH_C_waited: lh_counter = 47;
pub const LH_C_sequenced: lh_counter = 48;
pub const LH_C_unsequenced: lh_counter = 49;
pub const LH_C_overcrowded: lh_counter = 50;
pub const LH_C_release_errors: lh_counter = 51;
pub const LH_C_copies_dropped: lh_counter = 52;
pub const LH_C_asked: lh_counter = 53;
pub const LH_C_mac_delivered: lh_counter = 54;
pub const LH_C_mac_undelivered: lh_counter = 55;
pub const LH_C_mac_given_up: lh_counter = 56;
pub const LH_C_mac_strangers: lh_counter = 57;
pub const LH_C_bypass_not_tcp: lh_counter = 58;
pub const LH_C_bypass_fragment: lh_counter = 59;
pub const LH_C_bypass_malformed: lh_counter = 60;
pub const LH_C_bypass_filtered: lh_counter = 61;
pub const LH_C_bypass_table_full: lh_counter = 62;
pub const LH_C_bypass_unanswered: lh_counter = 63;
pub const LH_C_bypass_lock: lh_counter = 64;
pub const LH_C_bypass_stale: lh_counter = 65;
pub const LH_C_bypass_checksum: lh_counter = 66;
pub const LH_C_bypass_unacceptable: lh_counter = 67;
pub const LH_C_resynchronised: lh_counter = 68;
pub const LH_C_flows_created: lh_counter = 69;
pub const LH_C_flows_removed: lh_counter = 70;
pub const LH_C_timer_kicks: lh_counter = 71;
pub const LH_C_messages_accepted: lh_counter = 72;
pub const LH_C_messages_malformed: lh_counter = 73;
pub const LH_C_messages_version: lh_counter = 74;
pub const LH_C_messages_key: lh_counter = 75;
pub const LH_C_messages_forged: lh_counter = 76;
pub const LH_C_messages_own: lh_counter = 77;
pub const LH_C_messages_replayed: lh_counter = 78;
pub const LH_C_messages_unconfirmed: lh_counter = 79;
pub const LH_C_messages_limited: lh_counter = 80;
pub const LH_C_messages_full: lh_counter = 81;
pub const LH_C_messages_off_link: lh_counter = 82;
pub const LH_C_messages_sent: lh_counter = 83;
pub const LH_C_messages_unsent: lh_counter = 84;
pub const LH_NR_COUNTERS: lh_counter = 85;
pub type lh_counter = ::core::ffi::c_uint;
#[doc = " What the ACK of this call is beside its class, looked at once."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_ack_view {
    #[doc = " right edge of its window; just the ACK where the scale is unknown"]
    pub edge: u32,
    #[doc = " 1: nothing but an ACK to tell"]
    pub pure_: u8,
    #[doc = " 1: nothing but number, window and SACK blocks, of which FH may be told later"]
    pub bare: u8,
    #[doc = " 1: it reports something that went by unseen"]
    pub unseen: u8,
    #[doc = " 1: a second copy of what FH sent once: our repair was superfluous"]
    pub dsack_ours: u8,
    #[doc = " 1: its blocks are such, whatever else it has to tell: data of MH's, unknown options"]
    pub blankable: u8,
    #[doc = " 1: FH is not to see what is missing (brake.h)"]
    pub hides: u8,
    pub pad: [u8; 2usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_ack_view"][::core::mem::size_of::<lh_ack_view>() - 12usize];
    ["Alignment of lh_ack_view"][::core::mem::align_of::<lh_ack_view>() - 4usize];
    ["Offset of field: lh_ack_view::edge"][::core::mem::offset_of!(lh_ack_view, edge) - 0usize];
    ["Offset of field: lh_ack_view::pure_"][::core::mem::offset_of!(lh_ack_view, pure_) - 4usize];
    ["Offset of field: lh_ack_view::bare"][::core::mem::offset_of!(lh_ack_view, bare) - 5usize];
    ["Offset of field: lh_ack_view::unseen"][::core::mem::offset_of!(lh_ack_view, unseen) - 6usize];
    ["Offset of field: lh_ack_view::dsack_ours"]
        [::core::mem::offset_of!(lh_ack_view, dsack_ours) - 7usize];
    ["Offset of field: lh_ack_view::blankable"]
        [::core::mem::offset_of!(lh_ack_view, blankable) - 8usize];
    ["Offset of field: lh_ack_view::hides"][::core::mem::offset_of!(lh_ack_view, hides) - 9usize];
    ["Offset of field: lh_ack_view::pad"][::core::mem::offset_of!(lh_ack_view, pad) - 10usize];
};
#[doc = " The ACK that FH saw last, the last one that came, and the one that is kept."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_hold {
    #[doc = " with LH_FLOW_FWD, as fwd_edge and fwd_flags"]
    pub fwd_ack: u32,
    #[doc = " right edge of the window that FH knows, before it was rounded"]
    pub fwd_edge: u32,
    #[doc = " the receiver's own, of the last ACK"]
    pub own_edge: u32,
    pub fwd_flags: u16,
    #[doc = " as in the header"]
    pub last_window: u16,
    #[doc = " first suppression since the last forwarded ACK; with LH_FLOW_WITHHOLDS"]
    pub since_ns: u64,
    #[doc = " when FH gets it; samples of RTT that come meanwhile move it no more"]
    pub until_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_hold"][::core::mem::size_of::<lh_hold>() - 32usize];
    ["Alignment of lh_hold"][::core::mem::align_of::<lh_hold>() - 8usize];
    ["Offset of field: lh_hold::fwd_ack"][::core::mem::offset_of!(lh_hold, fwd_ack) - 0usize];
    ["Offset of field: lh_hold::fwd_edge"][::core::mem::offset_of!(lh_hold, fwd_edge) - 4usize];
    ["Offset of field: lh_hold::own_edge"][::core::mem::offset_of!(lh_hold, own_edge) - 8usize];
    ["Offset of field: lh_hold::fwd_flags"][::core::mem::offset_of!(lh_hold, fwd_flags) - 12usize];
    ["Offset of field: lh_hold::last_window"]
        [::core::mem::offset_of!(lh_hold, last_window) - 14usize];
    ["Offset of field: lh_hold::since_ns"][::core::mem::offset_of!(lh_hold, since_ns) - 16usize];
    ["Offset of field: lh_hold::until_ns"][::core::mem::offset_of!(lh_hold, until_ns) - 24usize];
};
#[doc = " Departures of what arrived (RFC 8985 section 6)."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_order {
    #[doc = " latest departure among first transmissions that arrived"]
    pub xmit_ns: u64,
    #[doc = " the same among local repairs"]
    pub rtx_xmit_ns: u64,
    #[doc = " ends of those segments"]
    pub xmit_end: u32,
    #[doc = " ends of those segments"]
    pub rtx_xmit_end: u32,
    #[doc = " sojourn of the one that left at xmit_ns"]
    pub rtt_ns: u64,
    #[doc = " patience that reordering on the link has taught"]
    pub reo_ns: u64,
    #[doc = " when it was last seen"]
    pub reo_seen_ns: u64,
    #[doc = " ring position where the search for losses goes on"]
    pub at: u32,
    #[doc = " 1: chunks' again_tx_ns do not hold, all are to be looked through"]
    pub all: u8,
    #[doc = " 1: the segment that ends at lh_recovery.doubt_end was repaired, and may have been but late"]
    pub doubt: u8,
    #[doc = " since then, 2^20 ns"]
    pub doubt_at: u16,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_order"][::core::mem::size_of::<lh_order>() - 56usize];
    ["Alignment of lh_order"][::core::mem::align_of::<lh_order>() - 8usize];
    ["Offset of field: lh_order::xmit_ns"][::core::mem::offset_of!(lh_order, xmit_ns) - 0usize];
    ["Offset of field: lh_order::rtx_xmit_ns"]
        [::core::mem::offset_of!(lh_order, rtx_xmit_ns) - 8usize];
    ["Offset of field: lh_order::xmit_end"][::core::mem::offset_of!(lh_order, xmit_end) - 16usize];
    ["Offset of field: lh_order::rtx_xmit_end"]
        [::core::mem::offset_of!(lh_order, rtx_xmit_end) - 20usize];
    ["Offset of field: lh_order::rtt_ns"][::core::mem::offset_of!(lh_order, rtt_ns) - 24usize];
    ["Offset of field: lh_order::reo_ns"][::core::mem::offset_of!(lh_order, reo_ns) - 32usize];
    ["Offset of field: lh_order::reo_seen_ns"]
        [::core::mem::offset_of!(lh_order, reo_seen_ns) - 40usize];
    ["Offset of field: lh_order::at"][::core::mem::offset_of!(lh_order, at) - 48usize];
    ["Offset of field: lh_order::all"][::core::mem::offset_of!(lh_order, all) - 52usize];
    ["Offset of field: lh_order::doubt"][::core::mem::offset_of!(lh_order, doubt) - 53usize];
    ["Offset of field: lh_order::doubt_at"][::core::mem::offset_of!(lh_order, doubt_at) - 54usize];
};
#[doc = " What a look through a chunk leaves to be looked at again: its chunk's bounds (ring.h)."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_order_waits {
    pub oldest_tx_ns: u64,
    pub again_tx_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_order_waits"][::core::mem::size_of::<lh_order_waits>() - 16usize];
    ["Alignment of lh_order_waits"][::core::mem::align_of::<lh_order_waits>() - 8usize];
    ["Offset of field: lh_order_waits::oldest_tx_ns"]
        [::core::mem::offset_of!(lh_order_waits, oldest_tx_ns) - 0usize];
    ["Offset of field: lh_order_waits::again_tx_ns"]
        [::core::mem::offset_of!(lh_order_waits, again_tx_ns) - 8usize];
};
pub const LH_TRIED_NOTHING: lh_tried = 0;
pub const LH_TRIED_WAITS: lh_tried = 1;
pub const LH_TRIED_SENT: lh_tried = 2;
pub const LH_TRIED_OURS: lh_tried = 3;
#[doc = " What lh_order_try() found at a position."]
pub type lh_tried = ::core::ffi::c_uint;
#[doc = " What MH has got."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_delivery {
    #[doc = " acknowledged or SACKed, modulo 2^32"]
    pub bytes: u32,
    #[doc = " of these above una"]
    pub sacked_bytes: u32,
    #[doc = " blocks of the last ACK: looked through"]
    pub seen: [lh_sack_block; 4usize],
    #[doc = " last delivery, 0: none"]
    pub last_ns: u64,
    #[doc = " number of the newest bin"]
    pub rate_bin: u64,
    #[doc = " delivered in it"]
    pub bin_bytes: u32,
    #[doc = " in the two before it"]
    pub bin_before: [u32; 2usize],
    #[doc = " bytes, when the present train of deliveries began"]
    pub train_bytes: u32,
    #[doc = " when that was; 0: the hop was idle"]
    pub train_ns: u64,
    #[doc = " of the last trains, smoothed"]
    pub rate_last: u64,
    #[doc = " ACKs of one segment each in a row"]
    pub singles: u16,
    #[doc = " 1: MH has kept an ACK for want of segments"]
    pub waits: u8,
    pub pad: u8,
    #[doc = " The fewest segments that MH has acknowledged at once (lh_stride): in this period and in the last one\n that showed any, 0: none; and the period's number."]
    pub stride_now: u8,
    #[doc = " The fewest segments that MH has acknowledged at once (lh_stride): in this period and in the last one\n that showed any, 0: none; and the period's number."]
    pub stride_before: u8,
    pub stride_period: u16,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_delivery"][::core::mem::size_of::<lh_delivery>() - 96usize];
    ["Alignment of lh_delivery"][::core::mem::align_of::<lh_delivery>() - 8usize];
    ["Offset of field: lh_delivery::bytes"][::core::mem::offset_of!(lh_delivery, bytes) - 0usize];
    ["Offset of field: lh_delivery::sacked_bytes"]
        [::core::mem::offset_of!(lh_delivery, sacked_bytes) - 4usize];
    ["Offset of field: lh_delivery::seen"][::core::mem::offset_of!(lh_delivery, seen) - 8usize];
    ["Offset of field: lh_delivery::last_ns"]
        [::core::mem::offset_of!(lh_delivery, last_ns) - 40usize];
    ["Offset of field: lh_delivery::rate_bin"]
        [::core::mem::offset_of!(lh_delivery, rate_bin) - 48usize];
    ["Offset of field: lh_delivery::bin_bytes"]
        [::core::mem::offset_of!(lh_delivery, bin_bytes) - 56usize];
    ["Offset of field: lh_delivery::bin_before"]
        [::core::mem::offset_of!(lh_delivery, bin_before) - 60usize];
    ["Offset of field: lh_delivery::train_bytes"]
        [::core::mem::offset_of!(lh_delivery, train_bytes) - 68usize];
    ["Offset of field: lh_delivery::train_ns"]
        [::core::mem::offset_of!(lh_delivery, train_ns) - 72usize];
    ["Offset of field: lh_delivery::rate_last"]
        [::core::mem::offset_of!(lh_delivery, rate_last) - 80usize];
    ["Offset of field: lh_delivery::singles"]
        [::core::mem::offset_of!(lh_delivery, singles) - 88usize];
    ["Offset of field: lh_delivery::waits"][::core::mem::offset_of!(lh_delivery, waits) - 90usize];
    ["Offset of field: lh_delivery::pad"][::core::mem::offset_of!(lh_delivery, pad) - 91usize];
    ["Offset of field: lh_delivery::stride_now"]
        [::core::mem::offset_of!(lh_delivery, stride_now) - 92usize];
    ["Offset of field: lh_delivery::stride_before"]
        [::core::mem::offset_of!(lh_delivery, stride_before) - 93usize];
    ["Offset of field: lh_delivery::stride_period"]
        [::core::mem::offset_of!(lh_delivery, stride_period) - 94usize];
};
#[doc = " What the ACK of this call delivered (sample.h)."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_ack_sum {
    #[doc = " latest departure among first transmissions; 0: none"]
    pub xmit_ns: u64,
    #[doc = " the same among local repairs"]
    pub rtx_xmit_ns: u64,
    #[doc = " where those segments end: departures may coincide"]
    pub xmit_end: u32,
    #[doc = " where those segments end: departures may coincide"]
    pub rtx_xmit_end: u32,
    #[doc = " departure of the segment that gives a sojourn sample; 0: none"]
    pub sample_ns: u64,
    #[doc = " latest departure among what was sent twice; 0: nothing was"]
    pub again_ns: u64,
    #[doc = " how long that segment waited for what we know of (lh_queue_own)"]
    pub own_ns: u64,
    #[doc = " lh_receiver_delivered() at that departure"]
    pub sample_delivered: u32,
    #[doc = " newly delivered"]
    pub bytes: u32,
    #[doc = " of what the ACK number covers, that was cached"]
    pub popped_bytes: u32,
    pub nr_segs: u32,
    #[doc = " 1: that segment was no small one"]
    pub sample_full: u32,
    #[doc = " lh_flow.sacked_max before this ACK"]
    pub top: u32,
    #[doc = " segments and chunks that its SACK blocks had us look at"]
    pub steps: u32,
    #[doc = " of its blocks, the valid ones among the first so many were looked through"]
    pub looked: u32,
    #[doc = " and this one, from 1 on, as far as cut_at; 0: none in part"]
    pub cut: u32,
    pub cut_at: u32,
    #[doc = " 1: SACK blocks told of something above top: no ACK that was delayed"]
    pub sacked: u32,
    #[doc = " 1: it may have waited for the receiver's delayed ACK"]
    pub sample_lone: u32,
    #[doc = " 1: MH had something before our repair of it can have come"]
    pub early: u32,
    #[doc = " 1: it is the first after an outage"]
    pub ended: u32,
    #[doc = " 1: it was sent when the segment of the sample arrived"]
    pub prompt: u32,
    #[doc = " 1: of several segments, and yet it may have been delayed (lh_stride)"]
    pub waited: u32,
    #[doc = " departure of the first and the last segment; 0: none"]
    pub first_ns: u64,
    #[doc = " departure of the first and the last segment; 0: none"]
    pub last_ns: u64,
    #[doc = " where that one ends"]
    pub last_end: u32,
    #[doc = " 1: something was sent twice or had waited behind a hole (Karn)"]
    pub unclear: u32,
    #[doc = " 1: a loss of the link was repaired and is to be hidden from FH"]
    pub deprived: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_ack_sum"][::core::mem::size_of::<lh_ack_sum>() - 144usize];
    ["Alignment of lh_ack_sum"][::core::mem::align_of::<lh_ack_sum>() - 8usize];
    ["Offset of field: lh_ack_sum::xmit_ns"][::core::mem::offset_of!(lh_ack_sum, xmit_ns) - 0usize];
    ["Offset of field: lh_ack_sum::rtx_xmit_ns"]
        [::core::mem::offset_of!(lh_ack_sum, rtx_xmit_ns) - 8usize];
    ["Offset of field: lh_ack_sum::xmit_end"]
        [::core::mem::offset_of!(lh_ack_sum, xmit_end) - 16usize];
    ["Offset of field: lh_ack_sum::rtx_xmit_end"]
        [::core::mem::offset_of!(lh_ack_sum, rtx_xmit_end) - 20usize];
    ["Offset of field: lh_ack_sum::sample_ns"]
        [::core::mem::offset_of!(lh_ack_sum, sample_ns) - 24usize];
    ["Offset of field: lh_ack_sum::again_ns"]
        [::core::mem::offset_of!(lh_ack_sum, again_ns) - 32usize];
    ["Offset of field: lh_ack_sum::own_ns"][::core::mem::offset_of!(lh_ack_sum, own_ns) - 40usize];
    ["Offset of field: lh_ack_sum::sample_delivered"]
        [::core::mem::offset_of!(lh_ack_sum, sample_delivered) - 48usize];
    ["Offset of field: lh_ack_sum::bytes"][::core::mem::offset_of!(lh_ack_sum, bytes) - 52usize];
    ["Offset of field: lh_ack_sum::popped_bytes"]
        [::core::mem::offset_of!(lh_ack_sum, popped_bytes) - 56usize];
    ["Offset of field: lh_ack_sum::nr_segs"]
        [::core::mem::offset_of!(lh_ack_sum, nr_segs) - 60usize];
    ["Offset of field: lh_ack_sum::sample_full"]
        [::core::mem::offset_of!(lh_ack_sum, sample_full) - 64usize];
    ["Offset of field: lh_ack_sum::top"][::core::mem::offset_of!(lh_ack_sum, top) - 68usize];
    ["Offset of field: lh_ack_sum::steps"][::core::mem::offset_of!(lh_ack_sum, steps) - 72usize];
    ["Offset of field: lh_ack_sum::looked"][::core::mem::offset_of!(lh_ack_sum, looked) - 76usize];
    ["Offset of field: lh_ack_sum::cut"][::core::mem::offset_of!(lh_ack_sum, cut) - 80usize];
    ["Offset of field: lh_ack_sum::cut_at"][::core::mem::offset_of!(lh_ack_sum, cut_at) - 84usize];
    ["Offset of field: lh_ack_sum::sacked"][::core::mem::offset_of!(lh_ack_sum, sacked) - 88usize];
    ["Offset of field: lh_ack_sum::sample_lone"]
        [::core::mem::offset_of!(lh_ack_sum, sample_lone) - 92usize];
    ["Offset of field: lh_ack_sum::early"][::core::mem::offset_of!(lh_ack_sum, early) - 96usize];
    ["Offset of field: lh_ack_sum::ended"][::core::mem::offset_of!(lh_ack_sum, ended) - 100usize];
    ["Offset of field: lh_ack_sum::prompt"][::core::mem::offset_of!(lh_ack_sum, prompt) - 104usize];
    ["Offset of field: lh_ack_sum::waited"][::core::mem::offset_of!(lh_ack_sum, waited) - 108usize];
    ["Offset of field: lh_ack_sum::first_ns"]
        [::core::mem::offset_of!(lh_ack_sum, first_ns) - 112usize];
    ["Offset of field: lh_ack_sum::last_ns"]
        [::core::mem::offset_of!(lh_ack_sum, last_ns) - 120usize];
    ["Offset of field: lh_ack_sum::last_end"]
        [::core::mem::offset_of!(lh_ack_sum, last_end) - 128usize];
    ["Offset of field: lh_ack_sum::unclear"]
        [::core::mem::offset_of!(lh_ack_sum, unclear) - 132usize];
    ["Offset of field: lh_ack_sum::deprived"]
        [::core::mem::offset_of!(lh_ack_sum, deprived) - 136usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_counters {
    #[doc = " indexed by enum lh_counter"]
    pub n: [u64; 85usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_counters"][::core::mem::size_of::<lh_counters>() - 680usize];
    ["Alignment of lh_counters"][::core::mem::align_of::<lh_counters>() - 8usize];
    ["Offset of field: lh_counters::n"][::core::mem::offset_of!(lh_counters, n) - 0usize];
};
impl Default for lh_counters {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " Outstanding bytes, and where an overflow was suspected."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_guard {
    #[doc = " what had departed then; with LH_FLOW_OVERFLOW"]
    pub overflow_end: u32,
    #[doc = " The most within this and the previous period of LH_LEVEL_PERIOD_NS, and when that was\n last raised."]
    pub level_now: u32,
    #[doc = " The most within this and the previous period of LH_LEVEL_PERIOD_NS, and when that was\n last raised."]
    pub level_before: u32,
    pub level_since_ns: u64,
    pub level_raised_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_guard"][::core::mem::size_of::<lh_guard>() - 32usize];
    ["Alignment of lh_guard"][::core::mem::align_of::<lh_guard>() - 8usize];
    ["Offset of field: lh_guard::overflow_end"]
        [::core::mem::offset_of!(lh_guard, overflow_end) - 0usize];
    ["Offset of field: lh_guard::level_now"][::core::mem::offset_of!(lh_guard, level_now) - 4usize];
    ["Offset of field: lh_guard::level_before"]
        [::core::mem::offset_of!(lh_guard, level_before) - 8usize];
    ["Offset of field: lh_guard::level_since_ns"]
        [::core::mem::offset_of!(lh_guard, level_since_ns) - 16usize];
    ["Offset of field: lh_guard::level_raised_ns"]
        [::core::mem::offset_of!(lh_guard, level_raised_ns) - 24usize];
};
#[doc = " A SYN on a live connection: kept aside until the other end has answered it (lifecycle.h)."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_syn {
    pub at_ns: u64,
    #[doc = " as in lh_segment"]
    pub seq: u32,
    #[doc = " as in lh_segment"]
    pub end: u32,
    #[doc = " never scaled in a SYN"]
    pub window: u16,
    pub mss: u16,
    pub wscale: u8,
    #[doc = " enum lh_tcp_opt"]
    pub opts: u8,
    pub from_mh: u8,
    pub valid: u8,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_syn"][::core::mem::size_of::<lh_syn>() - 24usize];
    ["Alignment of lh_syn"][::core::mem::align_of::<lh_syn>() - 8usize];
    ["Offset of field: lh_syn::at_ns"][::core::mem::offset_of!(lh_syn, at_ns) - 0usize];
    ["Offset of field: lh_syn::seq"][::core::mem::offset_of!(lh_syn, seq) - 8usize];
    ["Offset of field: lh_syn::end"][::core::mem::offset_of!(lh_syn, end) - 12usize];
    ["Offset of field: lh_syn::window"][::core::mem::offset_of!(lh_syn, window) - 16usize];
    ["Offset of field: lh_syn::mss"][::core::mem::offset_of!(lh_syn, mss) - 18usize];
    ["Offset of field: lh_syn::wscale"][::core::mem::offset_of!(lh_syn, wscale) - 20usize];
    ["Offset of field: lh_syn::opts"][::core::mem::offset_of!(lh_syn, opts) - 21usize];
    ["Offset of field: lh_syn::from_mh"][::core::mem::offset_of!(lh_syn, from_mh) - 22usize];
    ["Offset of field: lh_syn::valid"][::core::mem::offset_of!(lh_syn, valid) - 23usize];
};
#[doc = " The connection as its handshake, options and ends tell."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_connection {
    pub syn: lh_syn,
    #[doc = " of MH's SYN that opened the connection; with LH_FLOW_SYN_MH"]
    pub isn_mh: u32,
    #[doc = " sequence number after the FIN; with LH_FLOW_FIN_*"]
    pub fin_fh: u32,
    #[doc = " sequence number after the FIN; with LH_FLOW_FIN_*"]
    pub fin_mh: u32,
    #[doc = " newest timestamp of FH's; with LH_FLOW_TSVAL_FH"]
    pub tsval_fh: u32,
    #[doc = " MH's, as its ACKs echo it (RFC 7323); with LH_FLOW_TS"]
    pub ts_recent: u32,
    #[doc = " of MH's SYN, or the largest payload cached; 0: unknown"]
    pub mss: u16,
    pub wscale_fh: u8,
    pub wscale_mh: u8,
    #[doc = " SYN or SYN-ACK that left towards MH, for a first local sample; 0: none"]
    pub syn_tx_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_connection"][::core::mem::size_of::<lh_connection>() - 56usize];
    ["Alignment of lh_connection"][::core::mem::align_of::<lh_connection>() - 8usize];
    ["Offset of field: lh_connection::syn"][::core::mem::offset_of!(lh_connection, syn) - 0usize];
    ["Offset of field: lh_connection::isn_mh"]
        [::core::mem::offset_of!(lh_connection, isn_mh) - 24usize];
    ["Offset of field: lh_connection::fin_fh"]
        [::core::mem::offset_of!(lh_connection, fin_fh) - 28usize];
    ["Offset of field: lh_connection::fin_mh"]
        [::core::mem::offset_of!(lh_connection, fin_mh) - 32usize];
    ["Offset of field: lh_connection::tsval_fh"]
        [::core::mem::offset_of!(lh_connection, tsval_fh) - 36usize];
    ["Offset of field: lh_connection::ts_recent"]
        [::core::mem::offset_of!(lh_connection, ts_recent) - 40usize];
    ["Offset of field: lh_connection::mss"][::core::mem::offset_of!(lh_connection, mss) - 44usize];
    ["Offset of field: lh_connection::wscale_fh"]
        [::core::mem::offset_of!(lh_connection, wscale_fh) - 46usize];
    ["Offset of field: lh_connection::wscale_mh"]
        [::core::mem::offset_of!(lh_connection, wscale_mh) - 47usize];
    ["Offset of field: lh_connection::syn_tx_ns"]
        [::core::mem::offset_of!(lh_connection, syn_tx_ns) - 48usize];
};
#[doc = " the answer came"]
pub const LH_MAC_DELIVERED: lh_mac_event = 0;
#[doc = " none came, there will be another attempt"]
pub const LH_MAC_UNDELIVERED: lh_mac_event = 1;
#[doc = " none came, and this was the last attempt"]
pub const LH_MAC_GIVEN_UP: lh_mac_event = 2;
pub type lh_mac_event = ::core::ffi::c_uint;
#[doc = " A report; of its frame the headers are parsed as of any packet that leaves."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_mac_report {
    #[doc = " when this copy came to the MAC's queue, on the host's clock; 0: unknown"]
    pub queued_ns: u64,
    #[doc = " when the answer had come, or would have"]
    pub at_ns: u64,
    #[doc = " enum lh_mac_event"]
    pub event: u32,
    pub pad: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_mac_report"][::core::mem::size_of::<lh_mac_report>() - 24usize];
    ["Alignment of lh_mac_report"][::core::mem::align_of::<lh_mac_report>() - 8usize];
    ["Offset of field: lh_mac_report::queued_ns"]
        [::core::mem::offset_of!(lh_mac_report, queued_ns) - 0usize];
    ["Offset of field: lh_mac_report::at_ns"]
        [::core::mem::offset_of!(lh_mac_report, at_ns) - 8usize];
    ["Offset of field: lh_mac_report::event"]
        [::core::mem::offset_of!(lh_mac_report, event) - 16usize];
    ["Offset of field: lh_mac_report::pad"][::core::mem::offset_of!(lh_mac_report, pad) - 20usize];
};
#[doc = " What the reports say of a flow."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_mac {
    pub lost_start: u32,
    #[doc = " between these lies all that waits for its repair; equal: nothing"]
    pub lost_end: u32,
    #[doc = " SW and RW: from departure to the answer; 0: unknown"]
    pub sojourn_ns: u64,
    #[doc = " SW and RW: from departure to the answer; 0: unknown"]
    pub sojourn_var_ns: u64,
    #[doc = " repair without another delivery; 0: nothing waits"]
    pub timer_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_mac"][::core::mem::size_of::<lh_mac>() - 32usize];
    ["Alignment of lh_mac"][::core::mem::align_of::<lh_mac>() - 8usize];
    ["Offset of field: lh_mac::lost_start"][::core::mem::offset_of!(lh_mac, lost_start) - 0usize];
    ["Offset of field: lh_mac::lost_end"][::core::mem::offset_of!(lh_mac, lost_end) - 4usize];
    ["Offset of field: lh_mac::sojourn_ns"][::core::mem::offset_of!(lh_mac, sojourn_ns) - 8usize];
    ["Offset of field: lh_mac::sojourn_var_ns"]
        [::core::mem::offset_of!(lh_mac, sojourn_var_ns) - 16usize];
    ["Offset of field: lh_mac::timer_ns"][::core::mem::offset_of!(lh_mac, timer_ns) - 24usize];
};
#[doc = " Half of a connection of which MH is the receiver."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_handoff {
    #[doc = " of the copy that is kept; with ack_ns"]
    pub ack: u32,
    pub pad: u32,
    #[doc = " when an ACK that told something new last left; 0: none is kept"]
    pub ack_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_handoff"][::core::mem::size_of::<lh_handoff>() - 16usize];
    ["Alignment of lh_handoff"][::core::mem::align_of::<lh_handoff>() - 8usize];
    ["Offset of field: lh_handoff::ack"][::core::mem::offset_of!(lh_handoff, ack) - 0usize];
    ["Offset of field: lh_handoff::pad"][::core::mem::offset_of!(lh_handoff, pad) - 4usize];
    ["Offset of field: lh_handoff::ack_ns"][::core::mem::offset_of!(lh_handoff, ack_ns) - 8usize];
};
#[doc = " An outage of the hop, and what FH is told of it (outage.h; schemes rack and slack)."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_outage {
    #[doc = " last ACK from MH, or when another flow's was found out"]
    pub heard_ns: u64,
    #[doc = " when the outage was noticed; 0: there is none"]
    pub since_ns: u64,
    #[doc = " the same of the first in a row of which none brought una on; with since_ns"]
    pub first_ns: u64,
    #[doc = " when the link was said to be down; 0: it was not, or MH was heard since"]
    pub down_ns: u64,
    #[doc = " FH's timer finds an ACK in time that leaves here within its RTO of this"]
    pub rto_from_ns: u64,
    #[doc = " when MH was heard again; 0: no lost window is being repaired"]
    pub back_ns: u64,
    #[doc = " when the last outage ended; what departed before measured it"]
    pub ended_ns: u64,
    #[doc = " what departed before and has not arrived is lost; 0: who knows"]
    pub lost_ns: u64,
    #[doc = " least time between two probes of the receiver; with since_ns"]
    pub every_ns: u64,
    #[doc = " and between two of any receivers'"]
    pub apart_ns: u64,
    #[doc = " the next one waits so long for those of other receivers"]
    pub turn_ns: u64,
    #[doc = " sequence number up to which the lost window is repaired; with back_ns"]
    pub next: u32,
    #[doc = " what had departed at back_ns"]
    pub lost_end: u32,
    #[doc = " number of the ACK that the host has a copy of; with kept"]
    pub kept_ack: u32,
    #[doc = " end of the head when the last outage began; with first_ns"]
    pub begin_end: u32,
    #[doc = " 1: the held ACK's buffer is filled, and as new as what FH knows"]
    pub kept: u8,
    #[doc = " bursts and freezes since the last new ACK"]
    pub told: u8,
    #[doc = " 1: FH believes the window closed, by our word"]
    pub frozen: u8,
    #[doc = " 1: FH can't be told of this outage"]
    pub mute: u8,
    #[doc = " of the head in this outage, or this row of them"]
    pub nr_probes: u8,
    #[doc = " 1: the last outage ended, and the head of when it began MH lacks still, or a part of it"]
    pub vain: u8,
    pub pad: [u8; 2usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_outage"][::core::mem::size_of::<lh_outage>() - 112usize];
    ["Alignment of lh_outage"][::core::mem::align_of::<lh_outage>() - 8usize];
    ["Offset of field: lh_outage::heard_ns"][::core::mem::offset_of!(lh_outage, heard_ns) - 0usize];
    ["Offset of field: lh_outage::since_ns"][::core::mem::offset_of!(lh_outage, since_ns) - 8usize];
    ["Offset of field: lh_outage::first_ns"]
        [::core::mem::offset_of!(lh_outage, first_ns) - 16usize];
    ["Offset of field: lh_outage::down_ns"][::core::mem::offset_of!(lh_outage, down_ns) - 24usize];
    ["Offset of field: lh_outage::rto_from_ns"]
        [::core::mem::offset_of!(lh_outage, rto_from_ns) - 32usize];
    ["Offset of field: lh_outage::back_ns"][::core::mem::offset_of!(lh_outage, back_ns) - 40usize];
    ["Offset of field: lh_outage::ended_ns"]
        [::core::mem::offset_of!(lh_outage, ended_ns) - 48usize];
    ["Offset of field: lh_outage::lost_ns"][::core::mem::offset_of!(lh_outage, lost_ns) - 56usize];
    ["Offset of field: lh_outage::every_ns"]
        [::core::mem::offset_of!(lh_outage, every_ns) - 64usize];
    ["Offset of field: lh_outage::apart_ns"]
        [::core::mem::offset_of!(lh_outage, apart_ns) - 72usize];
    ["Offset of field: lh_outage::turn_ns"][::core::mem::offset_of!(lh_outage, turn_ns) - 80usize];
    ["Offset of field: lh_outage::next"][::core::mem::offset_of!(lh_outage, next) - 88usize];
    ["Offset of field: lh_outage::lost_end"]
        [::core::mem::offset_of!(lh_outage, lost_end) - 92usize];
    ["Offset of field: lh_outage::kept_ack"]
        [::core::mem::offset_of!(lh_outage, kept_ack) - 96usize];
    ["Offset of field: lh_outage::begin_end"]
        [::core::mem::offset_of!(lh_outage, begin_end) - 100usize];
    ["Offset of field: lh_outage::kept"][::core::mem::offset_of!(lh_outage, kept) - 104usize];
    ["Offset of field: lh_outage::told"][::core::mem::offset_of!(lh_outage, told) - 105usize];
    ["Offset of field: lh_outage::frozen"][::core::mem::offset_of!(lh_outage, frozen) - 106usize];
    ["Offset of field: lh_outage::mute"][::core::mem::offset_of!(lh_outage, mute) - 107usize];
    ["Offset of field: lh_outage::nr_probes"]
        [::core::mem::offset_of!(lh_outage, nr_probes) - 108usize];
    ["Offset of field: lh_outage::vain"][::core::mem::offset_of!(lh_outage, vain) - 109usize];
    ["Offset of field: lh_outage::pad"][::core::mem::offset_of!(lh_outage, pad) - 110usize];
};
#[doc = " Sojourn on the local hop as the flow's samples show it."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_queue {
    #[doc = " the last samples"]
    pub recent_ns: [u64; 4usize],
    #[doc = " since when each sample has shown a queue (lh_queue_above); 0: the last did not"]
    pub above_ns: u64,
    #[doc = " lh_queue_worth() of the last interval"]
    pub worth_ns: u64,
    #[doc = " last time that the queue was no mere trifle"]
    pub busy_ns: u64,
    #[doc = " longest pause of the hop in this interval"]
    pub gap_now_ns: u64,
    #[doc = " such pauses, smoothed over the intervals"]
    pub gap_ns: u64,
    #[doc = " last loss of the link's that was hidden from FH; 0: none"]
    pub lossy_ns: u64,
    #[doc = " when a segment was sent again last"]
    pub copied_ns: u64,
    #[doc = " that MH has not called superfluous, as far back as the link has counted as lossy"]
    pub copies: u32,
    #[doc = " ACKs and timers since then by which the link had lost something"]
    pub blamed: u32,
    #[doc = " so many samples more have to show as much for a queue of worth_ns to stand"]
    pub lacks: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_queue"][::core::mem::size_of::<lh_queue>() - 104usize];
    ["Alignment of lh_queue"][::core::mem::align_of::<lh_queue>() - 8usize];
    ["Offset of field: lh_queue::recent_ns"][::core::mem::offset_of!(lh_queue, recent_ns) - 0usize];
    ["Offset of field: lh_queue::above_ns"][::core::mem::offset_of!(lh_queue, above_ns) - 32usize];
    ["Offset of field: lh_queue::worth_ns"][::core::mem::offset_of!(lh_queue, worth_ns) - 40usize];
    ["Offset of field: lh_queue::busy_ns"][::core::mem::offset_of!(lh_queue, busy_ns) - 48usize];
    ["Offset of field: lh_queue::gap_now_ns"]
        [::core::mem::offset_of!(lh_queue, gap_now_ns) - 56usize];
    ["Offset of field: lh_queue::gap_ns"][::core::mem::offset_of!(lh_queue, gap_ns) - 64usize];
    ["Offset of field: lh_queue::lossy_ns"][::core::mem::offset_of!(lh_queue, lossy_ns) - 72usize];
    ["Offset of field: lh_queue::copied_ns"]
        [::core::mem::offset_of!(lh_queue, copied_ns) - 80usize];
    ["Offset of field: lh_queue::copies"][::core::mem::offset_of!(lh_queue, copies) - 88usize];
    ["Offset of field: lh_queue::blamed"][::core::mem::offset_of!(lh_queue, blamed) - 92usize];
    ["Offset of field: lh_queue::lacks"][::core::mem::offset_of!(lh_queue, lacks) - 96usize];
};
#[doc = " What was asked for more than once and has come: further copies may follow."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_again {
    #[doc = " sequence numbers"]
    pub seq: u32,
    #[doc = " sequence numbers"]
    pub end: u32,
    #[doc = " of the copy that came, 0: it had no timestamp"]
    pub tsval: u32,
    #[doc = " that may still come"]
    pub copies: u32,
    pub until_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_again"][::core::mem::size_of::<lh_again>() - 24usize];
    ["Alignment of lh_again"][::core::mem::align_of::<lh_again>() - 8usize];
    ["Offset of field: lh_again::seq"][::core::mem::offset_of!(lh_again, seq) - 0usize];
    ["Offset of field: lh_again::end"][::core::mem::offset_of!(lh_again, end) - 4usize];
    ["Offset of field: lh_again::tsval"][::core::mem::offset_of!(lh_again, tsval) - 8usize];
    ["Offset of field: lh_again::copies"][::core::mem::offset_of!(lh_again, copies) - 12usize];
    ["Offset of field: lh_again::until_ns"][::core::mem::offset_of!(lh_again, until_ns) - 16usize];
};
#[doc = " Positions count up for ever, as in ring.h: [head, tail) wait, in the order of their numbers, and\n [spent, head) are released but still have their slots. Outlives lh_flow_reset() no more than what\n waits does."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_resequence {
    pub head: u32,
    pub tail: u32,
    pub spent: u32,
    #[doc = " released, and not yet through"]
    pub away: u32,
    #[doc = " chunk of position p: dir[(p >> 6) & 7]"]
    pub dir: [u32; 8usize],
    #[doc = " when the last of them went"]
    pub away_ns: u64,
    #[doc = " number of the newest LH_BIN_NS in which data came"]
    pub bin: u64,
    pub again: [lh_again; 4usize],
    #[doc = " ever noted: where the next one goes"]
    pub nr_again: u32,
    pub pad: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_resequence"][::core::mem::size_of::<lh_resequence>() - 168usize];
    ["Alignment of lh_resequence"][::core::mem::align_of::<lh_resequence>() - 8usize];
    ["Offset of field: lh_resequence::head"][::core::mem::offset_of!(lh_resequence, head) - 0usize];
    ["Offset of field: lh_resequence::tail"][::core::mem::offset_of!(lh_resequence, tail) - 4usize];
    ["Offset of field: lh_resequence::spent"]
        [::core::mem::offset_of!(lh_resequence, spent) - 8usize];
    ["Offset of field: lh_resequence::away"]
        [::core::mem::offset_of!(lh_resequence, away) - 12usize];
    ["Offset of field: lh_resequence::dir"][::core::mem::offset_of!(lh_resequence, dir) - 16usize];
    ["Offset of field: lh_resequence::away_ns"]
        [::core::mem::offset_of!(lh_resequence, away_ns) - 48usize];
    ["Offset of field: lh_resequence::bin"][::core::mem::offset_of!(lh_resequence, bin) - 56usize];
    ["Offset of field: lh_resequence::again"]
        [::core::mem::offset_of!(lh_resequence, again) - 64usize];
    ["Offset of field: lh_resequence::nr_again"]
        [::core::mem::offset_of!(lh_resequence, nr_again) - 160usize];
    ["Offset of field: lh_resequence::pad"][::core::mem::offset_of!(lh_resequence, pad) - 164usize];
};
#[doc = " The local round trip, ns; 0: none yet."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_rtt {
    pub srtt_ns: u64,
    pub rttvar_ns: u64,
    #[doc = " its lower samples of late, and the least"]
    pub low_ns: u64,
    #[doc = " its lower samples of late, and the least"]
    pub min_ns: u64,
    #[doc = " The least since the way was found to be longer, and when that was (lh_lmin_floor)."]
    pub raised_ns: u64,
    #[doc = " The least since the way was found to be longer, and when that was (lh_lmin_floor)."]
    pub least_ns: u64,
    #[doc = " profile ns2, one sample per window: none below this number"]
    pub end: u32,
    pub pad: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_rtt"][::core::mem::size_of::<lh_rtt>() - 56usize];
    ["Alignment of lh_rtt"][::core::mem::align_of::<lh_rtt>() - 8usize];
    ["Offset of field: lh_rtt::srtt_ns"][::core::mem::offset_of!(lh_rtt, srtt_ns) - 0usize];
    ["Offset of field: lh_rtt::rttvar_ns"][::core::mem::offset_of!(lh_rtt, rttvar_ns) - 8usize];
    ["Offset of field: lh_rtt::low_ns"][::core::mem::offset_of!(lh_rtt, low_ns) - 16usize];
    ["Offset of field: lh_rtt::min_ns"][::core::mem::offset_of!(lh_rtt, min_ns) - 24usize];
    ["Offset of field: lh_rtt::raised_ns"][::core::mem::offset_of!(lh_rtt, raised_ns) - 32usize];
    ["Offset of field: lh_rtt::least_ns"][::core::mem::offset_of!(lh_rtt, least_ns) - 40usize];
    ["Offset of field: lh_rtt::end"][::core::mem::offset_of!(lh_rtt, end) - 48usize];
    ["Offset of field: lh_rtt::pad"][::core::mem::offset_of!(lh_rtt, pad) - 52usize];
};
#[doc = " The window controller brakes FH (control.h): windows and SACK blocks of its ACKs may be\n edited, and it goes on sending while an ACK is kept back."]
pub const LH_POLICY_CONTROL: lh_policy = 1;
#[doc = " One sample of the local round trip per ACK (Karn), as RFC 6298 and ns-2 take them."]
pub const LH_POLICY_RTT_PER_ACK: lh_policy = 2;
#[doc = " An outage is the receiver's: all its flows share one prober (outage.h)."]
pub const LH_POLICY_PEER_OUTAGE: lh_policy = 4;
#[doc = " Of two copies of a segment the older, with its timestamp, stays through an outage."]
pub const LH_POLICY_KEEP_OLDER: lh_policy = 8;
#[doc = " A copy of the newest ACK stays here, to be told in an outage."]
pub const LH_POLICY_KEEP_ACK: lh_policy = 16;
#[doc = " The head's timer backs off after its second try."]
pub const LH_POLICY_LATE_BACKOFF: lh_policy = 32;
#[doc = " An agent at the hop's other end: what it misses of ours is repaired (asked.h)."]
pub const LH_POLICY_PARTNER: lh_policy = 64;
#[doc = " It hides losses and, as published, brakes nobody: with parameter `brake` it has\n LH_POLICY_CONTROL, too, and samples as the controller wants them (brake.h)."]
pub const LH_POLICY_BRAKE: lh_policy = 128;
#[doc = " The MAC tells what becomes of each frame (mac.h)."]
pub const LH_POLICY_MAC: lh_policy = 256;
#[doc = " What comes over the hop is put in order before its receiver sees it (resequence.h), and what\n is missing asked for packet by packet."]
pub const LH_POLICY_SEQUENCE: lh_policy = 1024;
#[doc = " It only watches (shadow.h): segments are noted without their bytes, and what would be\n repaired is booked."]
pub const LH_POLICY_SHADOW: lh_policy = 2048;
#[doc = " At the mobile end `handoff` repeats the last ACK that left (handoff.h)."]
pub const LH_POLICY_HANDOFF: lh_policy = 512;
#[doc = " It heeds a link that goes down or comes up; flows of other schemes are not told."]
pub const LH_POLICY_LINK: lh_policy = 4096;
#[doc = " What is missing of what comes over the hop is told to the agent at its other end (arrival.h)."]
pub const LH_POLICY_TELL: lh_policy = 8192;
#[doc = " With parameter `partner` it has LH_POLICY_TELL at the base, and is `snack` with `brake` at the\n mobile end."]
pub const LH_POLICY_TELLS: lh_policy = 16384;
#[doc = " agents talk to each other"]
pub const LH_POLICY_CHANNEL: lh_policy = 8256;
pub type lh_policy = ::core::ffi::c_uint;
#[doc = " The wired round trip and its open sample."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_wired {
    #[doc = " of the ACK that left at tsval_ns"]
    pub tsval: u32,
    #[doc = " right edge of its window"]
    pub asked_edge: u32,
    #[doc = " of the last ACK that went on to FH; with has_tsval"]
    pub tsval_last: u32,
    #[doc = " 1: tsval_last is valid"]
    pub has_tsval: u32,
    #[doc = " 0: none"]
    pub tsval_ns: u64,
    #[doc = " least of this and the previous period"]
    pub now_ns: u64,
    #[doc = " least of this and the previous period"]
    pub before_ns: u64,
    #[doc = " when this period began"]
    pub since_ns: u64,
    #[doc = " least seen between the agent and FH; 0: none"]
    pub rtt_ns: u64,
    #[doc = " SYN or SYN-ACK that came from MH and FH has not answered; 0: none"]
    pub syn_rx_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_wired"][::core::mem::size_of::<lh_wired>() - 64usize];
    ["Alignment of lh_wired"][::core::mem::align_of::<lh_wired>() - 8usize];
    ["Offset of field: lh_wired::tsval"][::core::mem::offset_of!(lh_wired, tsval) - 0usize];
    ["Offset of field: lh_wired::asked_edge"]
        [::core::mem::offset_of!(lh_wired, asked_edge) - 4usize];
    ["Offset of field: lh_wired::tsval_last"]
        [::core::mem::offset_of!(lh_wired, tsval_last) - 8usize];
    ["Offset of field: lh_wired::has_tsval"]
        [::core::mem::offset_of!(lh_wired, has_tsval) - 12usize];
    ["Offset of field: lh_wired::tsval_ns"][::core::mem::offset_of!(lh_wired, tsval_ns) - 16usize];
    ["Offset of field: lh_wired::now_ns"][::core::mem::offset_of!(lh_wired, now_ns) - 24usize];
    ["Offset of field: lh_wired::before_ns"]
        [::core::mem::offset_of!(lh_wired, before_ns) - 32usize];
    ["Offset of field: lh_wired::since_ns"][::core::mem::offset_of!(lh_wired, since_ns) - 40usize];
    ["Offset of field: lh_wired::rtt_ns"][::core::mem::offset_of!(lh_wired, rtt_ns) - 48usize];
    ["Offset of field: lh_wired::syn_rx_ns"]
        [::core::mem::offset_of!(lh_wired, syn_rx_ns) - 56usize];
};
#[doc = " una and max are valid"]
pub const LH_FLOW_STARTED: lh_flow_flag = 1;
#[doc = " FH's SYN permits SACK"]
pub const LH_FLOW_SACK_FH: lh_flow_flag = 2;
pub const LH_FLOW_SACK_MH: lh_flow_flag = 4;
#[doc = " MH has sent a SACK block: picked up in mid-stream"]
pub const LH_FLOW_SACK_SEEN: lh_flow_flag = 8;
#[doc = " both shifts are known"]
pub const LH_FLOW_WSCALE: lh_flow_flag = 16;
pub const LH_FLOW_MPTCP: lh_flow_flag = 32;
pub const LH_FLOW_AUTH: lh_flow_flag = 64;
#[doc = " FH's FIN was seen: fin_fh is valid"]
pub const LH_FLOW_FIN_FH: lh_flow_flag = 128;
pub const LH_FLOW_FIN_MH: lh_flow_flag = 256;
pub const LH_FLOW_FIN_FH_ACKED: lh_flow_flag = 512;
pub const LH_FLOW_FIN_MH_ACKED: lh_flow_flag = 1024;
pub const LH_FLOW_RESET: lh_flow_flag = 2048;
#[doc = " an ACK has driven a repair: the head's timer may run"]
pub const LH_FLOW_DUP_DRIVEN: lh_flow_flag = 4096;
#[doc = " recovery.point is valid"]
pub const LH_FLOW_RECOVERY: lh_flow_flag = 8192;
#[doc = " an ACK is kept back"]
pub const LH_FLOW_HELD: lh_flow_flag = 16384;
#[doc = " duplicates pass until the next new ACK"]
pub const LH_FLOW_ABANDONED: lh_flow_flag = 32768;
#[doc = " fwd_* are valid"]
pub const LH_FLOW_FWD: lh_flow_flag = 65536;
#[doc = " MH's SYN or SYN-ACK was seen"]
pub const LH_FLOW_SYN_MH: lh_flow_flag = 131072;
#[doc = " losses below overflow_end are left to FH"]
pub const LH_FLOW_OVERFLOW: lh_flow_flag = 262144;
#[doc = " blocked_start and blocked_end are valid"]
pub const LH_FLOW_BLOCKED: lh_flow_flag = 524288;
#[doc = " fh_rtx_* are valid"]
pub const LH_FLOW_FH_RTX: lh_flow_flag = 1048576;
#[doc = " the connection uses timestamps"]
pub const LH_FLOW_TS: lh_flow_flag = 4194304;
#[doc = " FH's data may be marked (RFC 3168)"]
pub const LH_FLOW_ECT: lh_flow_flag = 2097152;
#[doc = " FH's SYN or SYN-ACK was seen"]
pub const LH_FLOW_SYN_FH: lh_flow_flag = 8388608;
#[doc = " rtx_end is valid"]
pub const LH_FLOW_RTX: lh_flow_flag = 16777216;
#[doc = " past its handshake: another one must be answered to count"]
pub const LH_FLOW_LIVE: lh_flow_flag = 33554432;
#[doc = " claim is valid"]
pub const LH_FLOW_CLAIM: lh_flow_flag = 67108864;
#[doc = " tsval_fh is valid"]
pub const LH_FLOW_TSVAL_FH: lh_flow_flag = 134217728;
#[doc = " FH knows by the last ACK that it got what is above a hole"]
pub const LH_FLOW_SHOWN: lh_flow_flag = 268435456;
#[doc = " and saw one filled that it had not sent again"]
pub const LH_FLOW_LATE_SEEN: lh_flow_flag = 536870912;
#[doc = " blocks are kept from FH, without a copy, as HELD"]
pub const LH_FLOW_HIDDEN: lh_flow_flag = 1073741824;
pub type lh_flow_flag = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_flow {
    #[doc = " enum lh_flow_flag"]
    pub flags: u32,
    #[doc = " highest acknowledgement number from MH (SND.UNA of FH as MH sees it)"]
    pub una: u32,
    #[doc = " highest sequence number + 1 that departed"]
    pub max: u32,
    #[doc = " highest right edge of a SACK block above una, else una"]
    pub sacked_max: u32,
    #[doc = " index into lh_device.peer; its tag when we joined"]
    pub peer: u32,
    #[doc = " index into lh_device.peer; its tag when we joined"]
    pub peer_tag: u32,
    #[doc = " 1: a packet of its went by unseen; set by the host, without the flow's lock"]
    pub missed: u32,
    #[doc = " cached segments above una that MH has"]
    pub nr_sacked: u32,
    #[doc = " last packet in either direction"]
    pub seen_ns: u64,
    #[doc = " last advance of una"]
    pub progress_ns: u64,
    #[doc = " last departure of data, anyone's"]
    pub sent_ns: u64,
    #[doc = " Counts for `lasthop flows`."]
    pub nr_data: u64,
    pub payload_bytes: u64,
    pub nr_retransmits: u64,
    pub nr_suppressed: u64,
    pub nr_released: u64,
    pub nr_upstream_lost: u64,
    #[doc = " What each mechanism knows, beside its code: first what each packet asks for, since a line of the\n processor's cache that is not at hand takes as long as a hundred instructions."]
    pub fh: lh_end,
    #[doc = " What each mechanism knows, beside its code: first what each packet asks for, since a line of the\n processor's cache that is not at hand takes as long as a hundred instructions."]
    pub mh: lh_end,
    pub wired: lh_wired,
    pub conn: lh_connection,
    pub rtt: lh_rtt,
    pub order: lh_order,
    pub queue: lh_queue,
    pub delivery: lh_delivery,
    pub guard: lh_guard,
    pub hold: lh_hold,
    pub control: lh_control,
    pub recovery: lh_recovery,
    pub back: lh_back,
    pub outage: lh_outage,
    pub cache: lh_cache,
    pub ring: lh_ring,
    #[doc = " with LH_FLOW_CLAIM"]
    pub claim: lh_claim,
    pub mac: lh_mac,
    pub asked: lh_asked,
    #[doc = " of the other half: what MH receives"]
    pub handoff: lh_handoff,
    #[doc = " of the other half: what MH sends"]
    pub arrival: lh_arrival,
    #[doc = " of the same"]
    pub resequence: lh_resequence,
    #[doc = " with LH_POLICY_SHADOW"]
    pub shadow: lh_shadow,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_flow"][::core::mem::size_of::<lh_flow>() - 4440usize];
    ["Alignment of lh_flow"][::core::mem::align_of::<lh_flow>() - 8usize];
    ["Offset of field: lh_flow::flags"][::core::mem::offset_of!(lh_flow, flags) - 0usize];
    ["Offset of field: lh_flow::una"][::core::mem::offset_of!(lh_flow, una) - 4usize];
    ["Offset of field: lh_flow::max"][::core::mem::offset_of!(lh_flow, max) - 8usize];
    ["Offset of field: lh_flow::sacked_max"]
        [::core::mem::offset_of!(lh_flow, sacked_max) - 12usize];
    ["Offset of field: lh_flow::peer"][::core::mem::offset_of!(lh_flow, peer) - 16usize];
    ["Offset of field: lh_flow::peer_tag"][::core::mem::offset_of!(lh_flow, peer_tag) - 20usize];
    ["Offset of field: lh_flow::missed"][::core::mem::offset_of!(lh_flow, missed) - 24usize];
    ["Offset of field: lh_flow::nr_sacked"][::core::mem::offset_of!(lh_flow, nr_sacked) - 28usize];
    ["Offset of field: lh_flow::seen_ns"][::core::mem::offset_of!(lh_flow, seen_ns) - 32usize];
    ["Offset of field: lh_flow::progress_ns"]
        [::core::mem::offset_of!(lh_flow, progress_ns) - 40usize];
    ["Offset of field: lh_flow::sent_ns"][::core::mem::offset_of!(lh_flow, sent_ns) - 48usize];
    ["Offset of field: lh_flow::nr_data"][::core::mem::offset_of!(lh_flow, nr_data) - 56usize];
    ["Offset of field: lh_flow::payload_bytes"]
        [::core::mem::offset_of!(lh_flow, payload_bytes) - 64usize];
    ["Offset of field: lh_flow::nr_retransmits"]
        [::core::mem::offset_of!(lh_flow, nr_retransmits) - 72usize];
    ["Offset of field: lh_flow::nr_suppressed"]
        [::core::mem::offset_of!(lh_flow, nr_suppressed) - 80usize];
    ["Offset of field: lh_flow::nr_released"]
        [::core::mem::offset_of!(lh_flow, nr_released) - 88usize];
    ["Offset of field: lh_flow::nr_upstream_lost"]
        [::core::mem::offset_of!(lh_flow, nr_upstream_lost) - 96usize];
    ["Offset of field: lh_flow::fh"][::core::mem::offset_of!(lh_flow, fh) - 104usize];
    ["Offset of field: lh_flow::mh"][::core::mem::offset_of!(lh_flow, mh) - 132usize];
    ["Offset of field: lh_flow::wired"][::core::mem::offset_of!(lh_flow, wired) - 160usize];
    ["Offset of field: lh_flow::conn"][::core::mem::offset_of!(lh_flow, conn) - 224usize];
    ["Offset of field: lh_flow::rtt"][::core::mem::offset_of!(lh_flow, rtt) - 280usize];
    ["Offset of field: lh_flow::order"][::core::mem::offset_of!(lh_flow, order) - 336usize];
    ["Offset of field: lh_flow::queue"][::core::mem::offset_of!(lh_flow, queue) - 392usize];
    ["Offset of field: lh_flow::delivery"][::core::mem::offset_of!(lh_flow, delivery) - 496usize];
    ["Offset of field: lh_flow::guard"][::core::mem::offset_of!(lh_flow, guard) - 592usize];
    ["Offset of field: lh_flow::hold"][::core::mem::offset_of!(lh_flow, hold) - 624usize];
    ["Offset of field: lh_flow::control"][::core::mem::offset_of!(lh_flow, control) - 656usize];
    ["Offset of field: lh_flow::recovery"][::core::mem::offset_of!(lh_flow, recovery) - 736usize];
    ["Offset of field: lh_flow::back"][::core::mem::offset_of!(lh_flow, back) - 824usize];
    ["Offset of field: lh_flow::outage"][::core::mem::offset_of!(lh_flow, outage) - 872usize];
    ["Offset of field: lh_flow::cache"][::core::mem::offset_of!(lh_flow, cache) - 984usize];
    ["Offset of field: lh_flow::ring"][::core::mem::offset_of!(lh_flow, ring) - 1000usize];
    ["Offset of field: lh_flow::claim"][::core::mem::offset_of!(lh_flow, claim) - 3072usize];
    ["Offset of field: lh_flow::mac"][::core::mem::offset_of!(lh_flow, mac) - 3088usize];
    ["Offset of field: lh_flow::asked"][::core::mem::offset_of!(lh_flow, asked) - 3120usize];
    ["Offset of field: lh_flow::handoff"][::core::mem::offset_of!(lh_flow, handoff) - 3200usize];
    ["Offset of field: lh_flow::arrival"][::core::mem::offset_of!(lh_flow, arrival) - 3216usize];
    ["Offset of field: lh_flow::resequence"]
        [::core::mem::offset_of!(lh_flow, resequence) - 3928usize];
    ["Offset of field: lh_flow::shadow"][::core::mem::offset_of!(lh_flow, shadow) - 4096usize];
};
impl Default for lh_flow {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " Which counters of a stream have come."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_replay {
    #[doc = " the highest, 0: none yet"]
    pub top: u64,
    #[doc = " bit n: top - n has come"]
    pub seen: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_replay"][::core::mem::size_of::<lh_replay>() - 16usize];
    ["Alignment of lh_replay"][::core::mem::align_of::<lh_replay>() - 8usize];
    ["Offset of field: lh_replay::top"][::core::mem::offset_of!(lh_replay, top) - 0usize];
    ["Offset of field: lh_replay::seen"][::core::mem::offset_of!(lh_replay, seen) - 8usize];
};
#[doc = " An agent at the other end, in one of its lives."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_partner {
    #[doc = " of this life, 0: the place is free"]
    pub epoch: u64,
    pub stream: [lh_replay; 2usize],
    #[doc = " our clock: its first and its last message"]
    pub first_ns: u64,
    #[doc = " our clock: its first and its last message"]
    pub heard_ns: u64,
    #[doc = " when its messages would have come at LH_PARTNER_RATE"]
    pub spent_ns: u64,
    #[doc = " our clock: its last HELLO; 0: none"]
    pub hello_ns: u64,
    #[doc = " its clock in there"]
    pub hello_time_ns: u64,
    #[doc = " enum lh_can"]
    pub can: u64,
    #[doc = " Of the hop, from agent to agent, at most: the least of this period and of the one before, and\n smoothed; 0: no sample."]
    pub rtt_min_ns: u64,
    #[doc = " Of the hop, from agent to agent, at most: the least of this period and of the one before, and\n smoothed; 0: no sample."]
    pub srtt_ns: u64,
    #[doc = " the least of each"]
    pub rtt_now_ns: u64,
    #[doc = " the least of each"]
    pub rtt_before_ns: u64,
    #[doc = " our clock: when this period began"]
    pub rtt_since_ns: u64,
    pub nr_accepted: u64,
    pub nr_replayed: u64,
    pub nr_unconfirmed: u64,
    pub nr_limited: u64,
    #[doc = " our clock: its last HELLO from there"]
    pub at_ns: u64,
    #[doc = " where it is"]
    pub at: lh_sender,
    pub confirmed: u8,
    pub pad: [u8; 7usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_partner"][::core::mem::size_of::<lh_partner>() - 216usize];
    ["Alignment of lh_partner"][::core::mem::align_of::<lh_partner>() - 8usize];
    ["Offset of field: lh_partner::epoch"][::core::mem::offset_of!(lh_partner, epoch) - 0usize];
    ["Offset of field: lh_partner::stream"][::core::mem::offset_of!(lh_partner, stream) - 8usize];
    ["Offset of field: lh_partner::first_ns"]
        [::core::mem::offset_of!(lh_partner, first_ns) - 40usize];
    ["Offset of field: lh_partner::heard_ns"]
        [::core::mem::offset_of!(lh_partner, heard_ns) - 48usize];
    ["Offset of field: lh_partner::spent_ns"]
        [::core::mem::offset_of!(lh_partner, spent_ns) - 56usize];
    ["Offset of field: lh_partner::hello_ns"]
        [::core::mem::offset_of!(lh_partner, hello_ns) - 64usize];
    ["Offset of field: lh_partner::hello_time_ns"]
        [::core::mem::offset_of!(lh_partner, hello_time_ns) - 72usize];
    ["Offset of field: lh_partner::can"][::core::mem::offset_of!(lh_partner, can) - 80usize];
    ["Offset of field: lh_partner::rtt_min_ns"]
        [::core::mem::offset_of!(lh_partner, rtt_min_ns) - 88usize];
    ["Offset of field: lh_partner::srtt_ns"]
        [::core::mem::offset_of!(lh_partner, srtt_ns) - 96usize];
    ["Offset of field: lh_partner::rtt_now_ns"]
        [::core::mem::offset_of!(lh_partner, rtt_now_ns) - 104usize];
    ["Offset of field: lh_partner::rtt_before_ns"]
        [::core::mem::offset_of!(lh_partner, rtt_before_ns) - 112usize];
    ["Offset of field: lh_partner::rtt_since_ns"]
        [::core::mem::offset_of!(lh_partner, rtt_since_ns) - 120usize];
    ["Offset of field: lh_partner::nr_accepted"]
        [::core::mem::offset_of!(lh_partner, nr_accepted) - 128usize];
    ["Offset of field: lh_partner::nr_replayed"]
        [::core::mem::offset_of!(lh_partner, nr_replayed) - 136usize];
    ["Offset of field: lh_partner::nr_unconfirmed"]
        [::core::mem::offset_of!(lh_partner, nr_unconfirmed) - 144usize];
    ["Offset of field: lh_partner::nr_limited"]
        [::core::mem::offset_of!(lh_partner, nr_limited) - 152usize];
    ["Offset of field: lh_partner::at_ns"][::core::mem::offset_of!(lh_partner, at_ns) - 160usize];
    ["Offset of field: lh_partner::at"][::core::mem::offset_of!(lh_partner, at) - 168usize];
    ["Offset of field: lh_partner::confirmed"]
        [::core::mem::offset_of!(lh_partner, confirmed) - 208usize];
    ["Offset of field: lh_partner::pad"][::core::mem::offset_of!(lh_partner, pad) - 209usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_partners {
    #[doc = " our own; messages with it are our own"]
    pub epoch: u64,
    #[doc = " of the search that is under way: index + 1, 0: none"]
    pub found: u32,
    #[doc = " of the search that is under way: index + 1, 0: none"]
    pub place: u32,
    #[doc = " 1: a later life of the same sender is known, and alive"]
    pub rival: u32,
    pub pad: u32,
    pub partner: [lh_partner; 64usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_partners"][::core::mem::size_of::<lh_partners>() - 13848usize];
    ["Alignment of lh_partners"][::core::mem::align_of::<lh_partners>() - 8usize];
    ["Offset of field: lh_partners::epoch"][::core::mem::offset_of!(lh_partners, epoch) - 0usize];
    ["Offset of field: lh_partners::found"][::core::mem::offset_of!(lh_partners, found) - 8usize];
    ["Offset of field: lh_partners::place"][::core::mem::offset_of!(lh_partners, place) - 12usize];
    ["Offset of field: lh_partners::rival"][::core::mem::offset_of!(lh_partners, rival) - 16usize];
    ["Offset of field: lh_partners::pad"][::core::mem::offset_of!(lh_partners, pad) - 20usize];
    ["Offset of field: lh_partners::partner"]
        [::core::mem::offset_of!(lh_partners, partner) - 24usize];
};
impl Default for lh_partners {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " Memory and counters lent by the caller, and the state that its flows share\n (zeroed at first, lhc_device_bytes() long); @ctx is passed through. Semantics as\n lh_host_* in env.h: get_* return 0 when there is nothing left."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct lh_host_ops {
    pub ctx: *mut ::core::ffi::c_void,
    pub device: *mut lh_device,
    #[doc = " receivers that have a place in it, a power of two; 0: LH_PEERS"]
    pub nr_peers: u32,
    pub chunk: ::core::option::Option<
        unsafe extern "C" fn(ctx: *mut ::core::ffi::c_void, id: u32) -> *mut lh_chunk,
    >,
    pub get_chunk: ::core::option::Option<
        unsafe extern "C" fn(ctx: *mut ::core::ffi::c_void, id: *mut u32) -> ::core::ffi::c_int,
    >,
    pub put_chunk:
        ::core::option::Option<unsafe extern "C" fn(ctx: *mut ::core::ffi::c_void, id: u32)>,
    pub get_slot: ::core::option::Option<
        unsafe extern "C" fn(ctx: *mut ::core::ffi::c_void, slot: *mut u32) -> ::core::ffi::c_int,
    >,
    pub put_slot:
        ::core::option::Option<unsafe extern "C" fn(ctx: *mut ::core::ffi::c_void, slot: u32)>,
    pub count: ::core::option::Option<
        unsafe extern "C" fn(ctx: *mut ::core::ffi::c_void, counter: u32, n: u64),
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_host_ops"][::core::mem::size_of::<lh_host_ops>() - 72usize];
    ["Alignment of lh_host_ops"][::core::mem::align_of::<lh_host_ops>() - 8usize];
    ["Offset of field: lh_host_ops::ctx"][::core::mem::offset_of!(lh_host_ops, ctx) - 0usize];
    ["Offset of field: lh_host_ops::device"][::core::mem::offset_of!(lh_host_ops, device) - 8usize];
    ["Offset of field: lh_host_ops::nr_peers"]
        [::core::mem::offset_of!(lh_host_ops, nr_peers) - 16usize];
    ["Offset of field: lh_host_ops::chunk"][::core::mem::offset_of!(lh_host_ops, chunk) - 24usize];
    ["Offset of field: lh_host_ops::get_chunk"]
        [::core::mem::offset_of!(lh_host_ops, get_chunk) - 32usize];
    ["Offset of field: lh_host_ops::put_chunk"]
        [::core::mem::offset_of!(lh_host_ops, put_chunk) - 40usize];
    ["Offset of field: lh_host_ops::get_slot"]
        [::core::mem::offset_of!(lh_host_ops, get_slot) - 48usize];
    ["Offset of field: lh_host_ops::put_slot"]
        [::core::mem::offset_of!(lh_host_ops, put_slot) - 56usize];
    ["Offset of field: lh_host_ops::count"][::core::mem::offset_of!(lh_host_ops, count) - 64usize];
};
impl Default for lh_host_ops {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " The values of struct lh_env that a caller gives for one call."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_call {
    pub now_ns: u64,
    #[doc = " as in struct lh_env"]
    pub cap_segments: u32,
    pub part_segments: u32,
    pub pool_segments: u32,
    #[doc = " 1: the caller keeps the timers it is asked for"]
    pub alive: u8,
    #[doc = " 1: the link's queue took the packet, or can't be seen"]
    pub accepted: u8,
    #[doc = " 1: not too many connections are unanswered"]
    pub handshakes: u8,
    #[doc = " as in struct lh_env"]
    pub partner: u8,
    #[doc = " as in struct lh_env"]
    pub partner_rtt_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_call"][::core::mem::size_of::<lh_call>() - 32usize];
    ["Alignment of lh_call"][::core::mem::align_of::<lh_call>() - 8usize];
    ["Offset of field: lh_call::now_ns"][::core::mem::offset_of!(lh_call, now_ns) - 0usize];
    ["Offset of field: lh_call::cap_segments"]
        [::core::mem::offset_of!(lh_call, cap_segments) - 8usize];
    ["Offset of field: lh_call::part_segments"]
        [::core::mem::offset_of!(lh_call, part_segments) - 12usize];
    ["Offset of field: lh_call::pool_segments"]
        [::core::mem::offset_of!(lh_call, pool_segments) - 16usize];
    ["Offset of field: lh_call::alive"][::core::mem::offset_of!(lh_call, alive) - 20usize];
    ["Offset of field: lh_call::accepted"][::core::mem::offset_of!(lh_call, accepted) - 21usize];
    ["Offset of field: lh_call::handshakes"]
        [::core::mem::offset_of!(lh_call, handshakes) - 22usize];
    ["Offset of field: lh_call::partner"][::core::mem::offset_of!(lh_call, partner) - 23usize];
    ["Offset of field: lh_call::partner_rtt_ns"]
        [::core::mem::offset_of!(lh_call, partner_rtt_ns) - 24usize];
};
unsafe extern "C" {
    #[doc = " The first @len bytes of a packet of @pkt_bytes. @vlan: TCI beside the packet, or 0. @return enum\n lh_parsed; @seg and @key are valid for LH_PARSED_TCP."]
    pub fn lhc_parse(
        packet: *const u8,
        len: u32,
        pkt_bytes: u32,
        l2_bytes: u32,
        vlan: u32,
        to_mh: u32,
        seg: *mut lh_segment,
        key: *mut lh_flow_key,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_flow_init(flow: *mut lh_flow);
}
unsafe extern "C" {
    pub fn lhc_on_data(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        seg: *const lh_segment,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    #[doc = " A super-packet: its segments' bytes are stored by nobody. @return 0: it has to go one by one (train.h)."]
    pub fn lhc_on_train(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        seg: *const lh_segment,
        call: *const lh_call,
        out: *mut lh_actions,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_on_ack(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        seg: *const lh_segment,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    #[doc = " The bytes that lhc_on_wait() wants to be stored come from the packet of the last lhc_on_ack(), whose\n actions @out still has."]
    pub fn lhc_on_wait(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        seg: *const lh_segment,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    pub fn lhc_on_turn(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    pub fn lhc_on_through(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        seg: *const lh_segment,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    pub fn lhc_on_timer(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    pub fn lhc_on_link(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        up: u32,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    pub fn lhc_on_partner(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        missing: *const lh_missing,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    pub fn lhc_on_absent(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        absent: *const lh_missing,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    pub fn lhc_on_mac(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        seg: *const lh_segment,
        report: *const lh_mac_report,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    pub fn lhc_on_sweep(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        call: *const lh_call,
    );
}
unsafe extern "C" {
    pub fn lhc_store_failed(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        actions: *const lh_actions,
    );
}
unsafe extern "C" {
    pub fn lhc_on_release(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        cfg: *const lh_config,
        call: *const lh_call,
        out: *mut lh_actions,
    );
}
unsafe extern "C" {
    #[doc = " Index of the receiver for lh_flow.peer; when to call it: lh_peer_join()."]
    pub fn lhc_peer_join(
        ops: *const lh_host_ops,
        flow: *mut lh_flow,
        key: *const lh_flow_key,
        now_ns: u64,
    );
}
unsafe extern "C" {
    pub fn lhc_device_bytes() -> u64;
}
unsafe extern "C" {
    #[doc = " Edits the first @len bytes of a packet that passes, as core/edit.h; @return 1:\n something has changed."]
    pub fn lhc_edit_ack(
        packet: *mut u8,
        len: u32,
        seg: *const lh_segment,
        out: *const lh_actions,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    #[doc = " What the other end of the hop tells of or is told, as core/edit.h; @packet has LH_HDR_BYTES\n places. lhc_edit_tell() @return bytes by which it has grown."]
    pub fn lhc_edit_strip(packet: *mut u8, len: u32, seg: *const lh_segment) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_edit_tell(
        packet: *mut u8,
        len: u32,
        seg: *const lh_segment,
        out: *const lh_actions,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_flow_free(ops: *const lh_host_ops, flow: *mut lh_flow);
}
unsafe extern "C" {
    pub fn lhc_flow_over(
        flow: *const lh_flow,
        cfg: *const lh_config,
        now_ns: u64,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_lrto_ns(flow: *const lh_flow, cfg: *const lh_config) -> u64;
}
unsafe extern "C" {
    pub fn lhc_hold_ns(flow: *const lh_flow, cfg: *const lh_config) -> u64;
}
unsafe extern "C" {
    pub fn lhc_shadow_sender(flow: *const lh_flow) -> u32;
}
unsafe extern "C" {
    pub fn lhc_seg_at(ops: *const lh_host_ops, flow: *const lh_flow, pos: u32) -> *mut lh_seg;
}
unsafe extern "C" {
    pub fn lhc_before(a: u32, b: u32) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    #[doc = " SipHash-2-4 of @len bytes; @key: 16 bytes."]
    pub fn lhc_siphash(key: *const u8, data: *const u8, len: u32) -> u64;
}
unsafe extern "C" {
    #[doc = " Messages between agents: message.h, partner.h. Opened and sealed they stand in m->w, m->bytes long."]
    pub fn lhc_key_init(key: *mut lh_key, bytes: *const u8);
}
unsafe extern "C" {
    pub fn lhc_message_find(
        packet: *const u8,
        len: u32,
        l2_bytes: u32,
        port: u32,
        m: *mut lh_message,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_message_for(m: *const lh_message, us: *const lh_us) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_message_address(
        m: *mut lh_message,
        us: *const lh_us,
        to: *mut lh_sender,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    #[doc = " The whole packet of a sealed message; @packet has 320 bytes of room. @return its length."]
    pub fn lhc_message_packet(
        packet: *mut u8,
        m: *const lh_message,
        to: *const lh_sender,
        l2_bytes: u32,
        port: u32,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_message_seal(m: *mut lh_message, key: *const lh_key) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_message_open(m: *mut lh_message, keys: *const lh_keys) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_hello_put(m: *mut lh_message, hello: *const lh_hello);
}
unsafe extern "C" {
    pub fn lhc_hello_get(m: *const lh_message, hello: *mut lh_hello);
}
unsafe extern "C" {
    pub fn lhc_missing_put(
        m: *mut lh_message,
        type_: u32,
        missing: *const lh_missing,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_missing_get(m: *const lh_message, missing: *mut lh_missing);
}
unsafe extern "C" {
    pub fn lhc_missing_turn(missing: *mut lh_missing, ours: *const lh_flow_key);
}
unsafe extern "C" {
    pub fn lhc_partners_take(
        t: *mut lh_partners,
        m: *const lh_message,
        now_ns: u64,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_partner_hello(
        partner: *const lh_partner,
        can: u64,
        now_ns: u64,
        hello: *mut lh_hello,
    );
}
unsafe extern "C" {
    pub fn lhc_partner_up(partner: *const lh_partner, now_ns: u64) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_partners_find(
        t: *const lh_partners,
        from: *const lh_sender,
        now_ns: u64,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_can(policy: u32) -> u64;
}
unsafe extern "C" {
    pub fn lhc_counter_name(id: u32) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn lhc_counter_doc(id: u32) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    #[doc = " All parameters at their defaults, scheme `rack`."]
    pub fn lhc_config_init(cfg: *mut lh_config);
}
unsafe extern "C" {
    pub fn lhc_param(id: u32) -> *const lh_param;
}
unsafe extern "C" {
    pub fn lhc_policy(cfg: *const lh_config) -> u32;
}
unsafe extern "C" {
    #[doc = " 1: the scheme does nothing in the role that is set, though it would elsewhere."]
    pub fn lhc_rests(cfg: *const lh_config) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn lhc_scheme_name(id: u32) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn lhc_scheme_doc(id: u32) -> *const ::core::ffi::c_char;
}
pub const LH_SYNS_FEW: lh_syns = 0;
pub const LH_SYNS_MANY: lh_syns = 1;
pub const LH_SYNS: lh_syns = 2;
#[doc = " Index into map `syns`."]
pub type lh_syns = ::core::ffi::c_uint;
#[doc = " cut from a super-packet: headers still to be made its own"]
pub const LH_SLOT_SLICE: lh_slot_flag = 1;
#[doc = " the super-packet's last one keeps FIN and PSH"]
pub const LH_SLOT_SLICE_LAST: lh_slot_flag = 2;
#[doc = " the TCP checksum is not finished"]
pub const LH_SLOT_PARTIAL: lh_slot_flag = 4;
#[doc = " CWR is every slice's, not the first one's alone"]
pub const LH_SLOT_CWR: lh_slot_flag = 8;
pub type lh_slot_flag = ::core::ffi::c_uint;
#[doc = " One cached packet as it left, from layer 2 (or 3) on. Owned by the flow\n whose segment names it; read and written under that flow's lock."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_slot {
    #[doc = " index within the super-packet"]
    pub slice: u32,
    #[doc = " the slice's own sequence number, host byte order"]
    pub slice_seq: u32,
    #[doc = " the packet's"]
    pub mark: u32,
    #[doc = " and its priority, which may name a class of a qdisc"]
    pub priority: u32,
    #[doc = " valid in pkt"]
    pub bytes: u16,
    pub l3_offset: u16,
    pub l4_offset: u16,
    #[doc = " offset of the payload"]
    pub hdr_bytes: u16,
    #[doc = " tag beside the packet; vlan_proto 0: none"]
    pub vlan_tci: u16,
    #[doc = " network byte order, as in __sk_buff"]
    pub vlan_proto: u16,
    #[doc = " enum lh_slot_flag"]
    pub flags: u8,
    #[doc = " 4 or 6"]
    pub family: u8,
    pub pad: [u8; 2usize],
    pub pkt: [u8; 2016usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_slot"][::core::mem::size_of::<lh_slot>() - 2048usize];
    ["Alignment of lh_slot"][::core::mem::align_of::<lh_slot>() - 4usize];
    ["Offset of field: lh_slot::slice"][::core::mem::offset_of!(lh_slot, slice) - 0usize];
    ["Offset of field: lh_slot::slice_seq"][::core::mem::offset_of!(lh_slot, slice_seq) - 4usize];
    ["Offset of field: lh_slot::mark"][::core::mem::offset_of!(lh_slot, mark) - 8usize];
    ["Offset of field: lh_slot::priority"][::core::mem::offset_of!(lh_slot, priority) - 12usize];
    ["Offset of field: lh_slot::bytes"][::core::mem::offset_of!(lh_slot, bytes) - 16usize];
    ["Offset of field: lh_slot::l3_offset"][::core::mem::offset_of!(lh_slot, l3_offset) - 18usize];
    ["Offset of field: lh_slot::l4_offset"][::core::mem::offset_of!(lh_slot, l4_offset) - 20usize];
    ["Offset of field: lh_slot::hdr_bytes"][::core::mem::offset_of!(lh_slot, hdr_bytes) - 22usize];
    ["Offset of field: lh_slot::vlan_tci"][::core::mem::offset_of!(lh_slot, vlan_tci) - 24usize];
    ["Offset of field: lh_slot::vlan_proto"]
        [::core::mem::offset_of!(lh_slot, vlan_proto) - 26usize];
    ["Offset of field: lh_slot::flags"][::core::mem::offset_of!(lh_slot, flags) - 28usize];
    ["Offset of field: lh_slot::family"][::core::mem::offset_of!(lh_slot, family) - 29usize];
    ["Offset of field: lh_slot::pad"][::core::mem::offset_of!(lh_slot, pad) - 30usize];
    ["Offset of field: lh_slot::pkt"][::core::mem::offset_of!(lh_slot, pkt) - 32usize];
};
impl Default for lh_slot {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " The newest ACK that was kept from FH; at the mobile end the last that left (core/handoff.h)."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_held {
    pub bytes: u16,
    pub l3_offset: u16,
    pub l4_offset: u16,
    pub vlan_tci: u16,
    pub vlan_proto: u16,
    #[doc = " the TCP checksum is not finished"]
    pub partial: u8,
    pub family: u8,
    pub pkt: [u8; 256usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_held"][::core::mem::size_of::<lh_held>() - 268usize];
    ["Alignment of lh_held"][::core::mem::align_of::<lh_held>() - 2usize];
    ["Offset of field: lh_held::bytes"][::core::mem::offset_of!(lh_held, bytes) - 0usize];
    ["Offset of field: lh_held::l3_offset"][::core::mem::offset_of!(lh_held, l3_offset) - 2usize];
    ["Offset of field: lh_held::l4_offset"][::core::mem::offset_of!(lh_held, l4_offset) - 4usize];
    ["Offset of field: lh_held::vlan_tci"][::core::mem::offset_of!(lh_held, vlan_tci) - 6usize];
    ["Offset of field: lh_held::vlan_proto"][::core::mem::offset_of!(lh_held, vlan_proto) - 8usize];
    ["Offset of field: lh_held::partial"][::core::mem::offset_of!(lh_held, partial) - 10usize];
    ["Offset of field: lh_held::family"][::core::mem::offset_of!(lh_held, family) - 11usize];
    ["Offset of field: lh_held::pkt"][::core::mem::offset_of!(lh_held, pkt) - 12usize];
};
impl Default for lh_held {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " A repair that the packet at hand could not carry: sent by the next kick."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_pending {
    pub slot: u32,
    #[doc = " of the slot: another one, too late"]
    pub use_: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_pending"][::core::mem::size_of::<lh_pending>() - 8usize];
    ["Alignment of lh_pending"][::core::mem::align_of::<lh_pending>() - 4usize];
    ["Offset of field: lh_pending::slot"][::core::mem::offset_of!(lh_pending, slot) - 0usize];
    ["Offset of field: lh_pending::use_"][::core::mem::offset_of!(lh_pending, use_) - 4usize];
};
#[doc = " Value of the areas of map `flows`."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_flow_entry {
    #[doc = " 1: taken; compare-and-swap"]
    pub lock: u32,
    #[doc = " counts how often the entry was given to a flow"]
    pub generation: u32,
    #[doc = " 1: the key is in flow_ids"]
    pub used: u32,
    pub nr_pending: u32,
    pub key: lh_flow_key,
    #[doc = " 1: an event for user space is under way"]
    pub kick_sent: u32,
    #[doc = " index + 1 of the agent at the hop's other end, 0: none is known"]
    pub partner: u32,
    #[doc = " when the partner was last looked for"]
    pub partner_ns: u64,
    #[doc = " what the core asked for, 0: none"]
    pub deadline_ns: u64,
    #[doc = " when the timer fires, 0: not armed"]
    pub armed_ns: u64,
    #[doc = " 1: that timer is user space's"]
    pub armed_outside: u32,
    #[doc = " lh_shared.passed when the flow was last found"]
    pub passed: u32,
    #[doc = " of tell: what the next kick is to tell that agent"]
    pub nr_tell: u32,
    #[doc = " 1: by a message for each of them"]
    pub tell_each: u32,
    #[doc = " of absent: what it is to answer that will not come"]
    pub nr_absent: u32,
    #[doc = " its own, in the map"]
    pub index: u32,
    #[doc = " First what each packet asks for, as in the flow."]
    pub flow: lh_flow,
    pub created_ns: u64,
    pub tell: [lh_sack_block; 4usize],
    pub absent: [lh_sack_block; 4usize],
    pub pending: [lh_pending; 16usize],
    pub held: lh_held,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_flow_entry"][::core::mem::size_of::<lh_flow_entry>() - 5032usize];
    ["Alignment of lh_flow_entry"][::core::mem::align_of::<lh_flow_entry>() - 8usize];
    ["Offset of field: lh_flow_entry::lock"][::core::mem::offset_of!(lh_flow_entry, lock) - 0usize];
    ["Offset of field: lh_flow_entry::generation"]
        [::core::mem::offset_of!(lh_flow_entry, generation) - 4usize];
    ["Offset of field: lh_flow_entry::used"][::core::mem::offset_of!(lh_flow_entry, used) - 8usize];
    ["Offset of field: lh_flow_entry::nr_pending"]
        [::core::mem::offset_of!(lh_flow_entry, nr_pending) - 12usize];
    ["Offset of field: lh_flow_entry::key"][::core::mem::offset_of!(lh_flow_entry, key) - 16usize];
    ["Offset of field: lh_flow_entry::kick_sent"]
        [::core::mem::offset_of!(lh_flow_entry, kick_sent) - 60usize];
    ["Offset of field: lh_flow_entry::partner"]
        [::core::mem::offset_of!(lh_flow_entry, partner) - 64usize];
    ["Offset of field: lh_flow_entry::partner_ns"]
        [::core::mem::offset_of!(lh_flow_entry, partner_ns) - 72usize];
    ["Offset of field: lh_flow_entry::deadline_ns"]
        [::core::mem::offset_of!(lh_flow_entry, deadline_ns) - 80usize];
    ["Offset of field: lh_flow_entry::armed_ns"]
        [::core::mem::offset_of!(lh_flow_entry, armed_ns) - 88usize];
    ["Offset of field: lh_flow_entry::armed_outside"]
        [::core::mem::offset_of!(lh_flow_entry, armed_outside) - 96usize];
    ["Offset of field: lh_flow_entry::passed"]
        [::core::mem::offset_of!(lh_flow_entry, passed) - 100usize];
    ["Offset of field: lh_flow_entry::nr_tell"]
        [::core::mem::offset_of!(lh_flow_entry, nr_tell) - 104usize];
    ["Offset of field: lh_flow_entry::tell_each"]
        [::core::mem::offset_of!(lh_flow_entry, tell_each) - 108usize];
    ["Offset of field: lh_flow_entry::nr_absent"]
        [::core::mem::offset_of!(lh_flow_entry, nr_absent) - 112usize];
    ["Offset of field: lh_flow_entry::index"]
        [::core::mem::offset_of!(lh_flow_entry, index) - 116usize];
    ["Offset of field: lh_flow_entry::flow"]
        [::core::mem::offset_of!(lh_flow_entry, flow) - 120usize];
    ["Offset of field: lh_flow_entry::created_ns"]
        [::core::mem::offset_of!(lh_flow_entry, created_ns) - 4560usize];
    ["Offset of field: lh_flow_entry::tell"]
        [::core::mem::offset_of!(lh_flow_entry, tell) - 4568usize];
    ["Offset of field: lh_flow_entry::absent"]
        [::core::mem::offset_of!(lh_flow_entry, absent) - 4600usize];
    ["Offset of field: lh_flow_entry::pending"]
        [::core::mem::offset_of!(lh_flow_entry, pending) - 4632usize];
    ["Offset of field: lh_flow_entry::held"]
        [::core::mem::offset_of!(lh_flow_entry, held) - 4760usize];
};
impl Default for lh_flow_entry {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " Map `events`, a ring buffer: run lh_kick for this flow at once, or lh_due in a while."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_event {
    #[doc = " index into `flows`, or LH_EVENT_GROW"]
    pub flow: u32,
    #[doc = " of the entry; another one: too late, forget it"]
    pub generation: u32,
    #[doc = " 4 or 6: which template packet to run lh_kick with"]
    pub family: u32,
    #[doc = " in so many microseconds, and not at another time asked for before; 0: at once"]
    pub in_us: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_event"][::core::mem::size_of::<lh_event>() - 16usize];
    ["Alignment of lh_event"][::core::mem::align_of::<lh_event>() - 4usize];
    ["Offset of field: lh_event::flow"][::core::mem::offset_of!(lh_event, flow) - 0usize];
    ["Offset of field: lh_event::generation"]
        [::core::mem::offset_of!(lh_event, generation) - 4usize];
    ["Offset of field: lh_event::family"][::core::mem::offset_of!(lh_event, family) - 8usize];
    ["Offset of field: lh_event::in_us"][::core::mem::offset_of!(lh_event, in_us) - 12usize];
};
pub const LH_RULE_MATCH: lh_rule_action = 1;
pub const LH_RULE_EXCLUDE: lh_rule_action = 2;
pub type lh_rule_action = ::core::ffi::c_uint;
#[doc = " --match and --exclude: a rule applies if either end of the connection is in\n the prefix and, with a port, has that port."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_rule {
    #[doc = " network byte order; IPv4 in the first four"]
    pub addr: [u8; 16usize],
    #[doc = " 4 or 6; 0: any address"]
    pub family: u8,
    pub prefix_bits: u8,
    #[doc = " host byte order, 0: any"]
    pub port: u16,
    #[doc = " enum lh_rule_action"]
    pub action: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_rule"][::core::mem::size_of::<lh_rule>() - 24usize];
    ["Alignment of lh_rule"][::core::mem::align_of::<lh_rule>() - 4usize];
    ["Offset of field: lh_rule::addr"][::core::mem::offset_of!(lh_rule, addr) - 0usize];
    ["Offset of field: lh_rule::family"][::core::mem::offset_of!(lh_rule, family) - 16usize];
    ["Offset of field: lh_rule::prefix_bits"]
        [::core::mem::offset_of!(lh_rule, prefix_bits) - 17usize];
    ["Offset of field: lh_rule::port"][::core::mem::offset_of!(lh_rule, port) - 18usize];
    ["Offset of field: lh_rule::action"][::core::mem::offset_of!(lh_rule, action) - 20usize];
};
#[doc = " Set before load (.rodata)."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_setup {
    pub config: lh_config,
    #[doc = " lhc_policy() of config"]
    pub policy: u32,
    #[doc = " of the attached device"]
    pub ifindex: u32,
    #[doc = " 14: Ethernet header; 0: none"]
    pub l2_bytes: u32,
    #[doc = " fwmark bits that tell our own packets"]
    pub mark_value: u32,
    pub mark_mask: u32,
    #[doc = " skb->priority of local retransmissions"]
    pub priority: u32,
    #[doc = " payload slots at the most, a multiple of LH_BATCH_SLOTS"]
    pub nr_slots: u32,
    #[doc = " the same of chunks"]
    pub nr_chunks: u32,
    #[doc = " log2 of an area's size"]
    pub slot_shift: u32,
    #[doc = " log2 of an area's size"]
    pub chunk_shift: u32,
    #[doc = " log2 of an area's size"]
    pub flow_shift: u32,
    pub nr_flows: u32,
    #[doc = " receivers that have a place, a power of two, at most LH_PEERS"]
    pub nr_peers: u32,
    #[doc = " cap per flow while memory is plenty"]
    pub flow_segments: u32,
    pub nr_rules: u32,
    #[doc = " 1: only flows that a match rule covers are assisted"]
    pub has_match: u32,
    #[doc = " 1: the time is skb->tstamp (differential test)"]
    pub test_clock: u32,
    #[doc = " 1: words may stand anywhere: the kernel has HAVE_EFFICIENT_UNALIGNED_ACCESS"]
    pub words: u32,
    #[doc = " 1: as if the kernel had no memory for any (tests)"]
    pub test_no_timers: u32,
    #[doc = " 1: PREEMPT_RT: flows' timers are user space's, and runs may preempt each other"]
    pub realtime: u32,
    #[doc = " of messages between agents, 0: none are heard or sent"]
    pub port: u32,
    #[doc = " 1: agents with other rules, and the same mark, serve the device as well"]
    pub shared: u32,
    #[doc = " enum lh_can, lhc_can(policy)"]
    pub can: u64,
    #[doc = " heartbeat older than this: pass everything"]
    pub stale_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_setup"][::core::mem::size_of::<lh_setup>() - 296usize];
    ["Alignment of lh_setup"][::core::mem::align_of::<lh_setup>() - 8usize];
    ["Offset of field: lh_setup::config"][::core::mem::offset_of!(lh_setup, config) - 0usize];
    ["Offset of field: lh_setup::policy"][::core::mem::offset_of!(lh_setup, policy) - 192usize];
    ["Offset of field: lh_setup::ifindex"][::core::mem::offset_of!(lh_setup, ifindex) - 196usize];
    ["Offset of field: lh_setup::l2_bytes"][::core::mem::offset_of!(lh_setup, l2_bytes) - 200usize];
    ["Offset of field: lh_setup::mark_value"]
        [::core::mem::offset_of!(lh_setup, mark_value) - 204usize];
    ["Offset of field: lh_setup::mark_mask"]
        [::core::mem::offset_of!(lh_setup, mark_mask) - 208usize];
    ["Offset of field: lh_setup::priority"][::core::mem::offset_of!(lh_setup, priority) - 212usize];
    ["Offset of field: lh_setup::nr_slots"][::core::mem::offset_of!(lh_setup, nr_slots) - 216usize];
    ["Offset of field: lh_setup::nr_chunks"]
        [::core::mem::offset_of!(lh_setup, nr_chunks) - 220usize];
    ["Offset of field: lh_setup::slot_shift"]
        [::core::mem::offset_of!(lh_setup, slot_shift) - 224usize];
    ["Offset of field: lh_setup::chunk_shift"]
        [::core::mem::offset_of!(lh_setup, chunk_shift) - 228usize];
    ["Offset of field: lh_setup::flow_shift"]
        [::core::mem::offset_of!(lh_setup, flow_shift) - 232usize];
    ["Offset of field: lh_setup::nr_flows"][::core::mem::offset_of!(lh_setup, nr_flows) - 236usize];
    ["Offset of field: lh_setup::nr_peers"][::core::mem::offset_of!(lh_setup, nr_peers) - 240usize];
    ["Offset of field: lh_setup::flow_segments"]
        [::core::mem::offset_of!(lh_setup, flow_segments) - 244usize];
    ["Offset of field: lh_setup::nr_rules"][::core::mem::offset_of!(lh_setup, nr_rules) - 248usize];
    ["Offset of field: lh_setup::has_match"]
        [::core::mem::offset_of!(lh_setup, has_match) - 252usize];
    ["Offset of field: lh_setup::test_clock"]
        [::core::mem::offset_of!(lh_setup, test_clock) - 256usize];
    ["Offset of field: lh_setup::words"][::core::mem::offset_of!(lh_setup, words) - 260usize];
    ["Offset of field: lh_setup::test_no_timers"]
        [::core::mem::offset_of!(lh_setup, test_no_timers) - 264usize];
    ["Offset of field: lh_setup::realtime"][::core::mem::offset_of!(lh_setup, realtime) - 268usize];
    ["Offset of field: lh_setup::port"][::core::mem::offset_of!(lh_setup, port) - 272usize];
    ["Offset of field: lh_setup::shared"][::core::mem::offset_of!(lh_setup, shared) - 276usize];
    ["Offset of field: lh_setup::can"][::core::mem::offset_of!(lh_setup, can) - 280usize];
    ["Offset of field: lh_setup::stale_ns"][::core::mem::offset_of!(lh_setup, stale_ns) - 288usize];
};
impl Default for lh_setup {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " Value of map `free_slots`."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_batch {
    pub slot: [u32; 32usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_batch"][::core::mem::size_of::<lh_batch>() - 128usize];
    ["Alignment of lh_batch"][::core::mem::align_of::<lh_batch>() - 4usize];
    ["Offset of field: lh_batch::slot"][::core::mem::offset_of!(lh_batch, slot) - 0usize];
};
#[doc = " Map `counters`, per CPU, one entry: so the value begins (it is the struct lh_env of that CPU's runs,\n core/env.h)."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_of_cpu {
    pub counters: lh_counters,
    pub slots_taken: i64,
    pub chunks_taken: i64,
    #[doc = " free slots at hand"]
    pub nr_spare: u32,
    pub spare: [u32; 64usize],
    #[doc = " lh_shared.spares_asked when they were last put aside"]
    pub spares_asked: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_of_cpu"][::core::mem::size_of::<lh_of_cpu>() - 968usize];
    ["Alignment of lh_of_cpu"][::core::mem::align_of::<lh_of_cpu>() - 8usize];
    ["Offset of field: lh_of_cpu::counters"][::core::mem::offset_of!(lh_of_cpu, counters) - 0usize];
    ["Offset of field: lh_of_cpu::slots_taken"]
        [::core::mem::offset_of!(lh_of_cpu, slots_taken) - 680usize];
    ["Offset of field: lh_of_cpu::chunks_taken"]
        [::core::mem::offset_of!(lh_of_cpu, chunks_taken) - 688usize];
    ["Offset of field: lh_of_cpu::nr_spare"]
        [::core::mem::offset_of!(lh_of_cpu, nr_spare) - 696usize];
    ["Offset of field: lh_of_cpu::spare"][::core::mem::offset_of!(lh_of_cpu, spare) - 700usize];
    ["Offset of field: lh_of_cpu::spares_asked"]
        [::core::mem::offset_of!(lh_of_cpu, spares_asked) - 960usize];
};
impl Default for lh_of_cpu {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const LH_POOL_SLOTS: lh_pool = 0;
pub const LH_POOL_CHUNKS: lh_pool = 1;
pub const LH_POOL_FLOWS: lh_pool = 2;
pub const LH_POOLS: lh_pool = 3;
#[doc = " The pools: index into map `aside`."]
pub type lh_pool = ::core::ffi::c_uint;
#[doc = " Shared live values (.bss)."]
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_shared {
    #[doc = " CLOCK_MONOTONIC, written by user space"]
    pub heartbeat_ns: u64,
    #[doc = " payload slots handed out"]
    pub slots_used: u64,
    pub chunks_used: u64,
    pub flows_used: u64,
    #[doc = " flows with at least one cached segment"]
    pub active_flows: u64,
    #[doc = " flows of which one end alone was heard"]
    pub unanswered: u64,
    pub slots_there: u64,
    pub chunks_there: u64,
    #[doc = " that user space has added to the pools so far"]
    pub flows_there: u64,
    #[doc = " That it can add: lh_setup.nr_*, or what memory there is for."]
    pub slots_most: u64,
    #[doc = " That it can add: lh_setup.nr_*, or what memory there is for."]
    pub chunks_most: u64,
    #[doc = " That it can add: lh_setup.nr_*, or what memory there is for."]
    pub flows_most: u64,
    #[doc = " SYNs that can be remembered"]
    pub syns_there: u64,
    #[doc = " SYNs that can be remembered"]
    pub syns_most: u64,
    #[doc = " counts up when each CPU is to put aside the slots that it has at hand"]
    pub spares_asked: u64,
    #[doc = " 1: the programs have asked for more, and user space has not looked yet"]
    pub grow_asked: u64,
    #[doc = " Until when user space looks at the events every LH_POLL_NS in any case (CLOCK_MONOTONIC), and need not\n be woken for a timer that is due later than that; 0: it sleeps."]
    pub polls_until_ns: u64,
    #[doc = " Packets that passed without a look (lh_packet_claim), of whichever flow."]
    pub passed: u32,
    pub pad: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_shared"][::core::mem::size_of::<lh_shared>() - 144usize];
    ["Alignment of lh_shared"][::core::mem::align_of::<lh_shared>() - 8usize];
    ["Offset of field: lh_shared::heartbeat_ns"]
        [::core::mem::offset_of!(lh_shared, heartbeat_ns) - 0usize];
    ["Offset of field: lh_shared::slots_used"]
        [::core::mem::offset_of!(lh_shared, slots_used) - 8usize];
    ["Offset of field: lh_shared::chunks_used"]
        [::core::mem::offset_of!(lh_shared, chunks_used) - 16usize];
    ["Offset of field: lh_shared::flows_used"]
        [::core::mem::offset_of!(lh_shared, flows_used) - 24usize];
    ["Offset of field: lh_shared::active_flows"]
        [::core::mem::offset_of!(lh_shared, active_flows) - 32usize];
    ["Offset of field: lh_shared::unanswered"]
        [::core::mem::offset_of!(lh_shared, unanswered) - 40usize];
    ["Offset of field: lh_shared::slots_there"]
        [::core::mem::offset_of!(lh_shared, slots_there) - 48usize];
    ["Offset of field: lh_shared::chunks_there"]
        [::core::mem::offset_of!(lh_shared, chunks_there) - 56usize];
    ["Offset of field: lh_shared::flows_there"]
        [::core::mem::offset_of!(lh_shared, flows_there) - 64usize];
    ["Offset of field: lh_shared::slots_most"]
        [::core::mem::offset_of!(lh_shared, slots_most) - 72usize];
    ["Offset of field: lh_shared::chunks_most"]
        [::core::mem::offset_of!(lh_shared, chunks_most) - 80usize];
    ["Offset of field: lh_shared::flows_most"]
        [::core::mem::offset_of!(lh_shared, flows_most) - 88usize];
    ["Offset of field: lh_shared::syns_there"]
        [::core::mem::offset_of!(lh_shared, syns_there) - 96usize];
    ["Offset of field: lh_shared::syns_most"]
        [::core::mem::offset_of!(lh_shared, syns_most) - 104usize];
    ["Offset of field: lh_shared::spares_asked"]
        [::core::mem::offset_of!(lh_shared, spares_asked) - 112usize];
    ["Offset of field: lh_shared::grow_asked"]
        [::core::mem::offset_of!(lh_shared, grow_asked) - 120usize];
    ["Offset of field: lh_shared::polls_until_ns"]
        [::core::mem::offset_of!(lh_shared, polls_until_ns) - 128usize];
    ["Offset of field: lh_shared::passed"][::core::mem::offset_of!(lh_shared, passed) - 136usize];
    ["Offset of field: lh_shared::pad"][::core::mem::offset_of!(lh_shared, pad) - 140usize];
};
#[doc = " Map `partners`, one entry. Maps `keys` (struct lh_keys) and `us` (struct lh_us) have one each,\n which user space writes."]
#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct lh_partners_entry {
    #[doc = " 1: taken; compare-and-swap"]
    pub lock: u32,
    pub pad: u32,
    #[doc = " the last one given to a message of LH_STREAM_KERNEL"]
    pub counter: u64,
    #[doc = " its epoch is user space's"]
    pub partners: lh_partners,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of lh_partners_entry"][::core::mem::size_of::<lh_partners_entry>() - 13864usize];
    ["Alignment of lh_partners_entry"][::core::mem::align_of::<lh_partners_entry>() - 8usize];
    ["Offset of field: lh_partners_entry::lock"]
        [::core::mem::offset_of!(lh_partners_entry, lock) - 0usize];
    ["Offset of field: lh_partners_entry::pad"]
        [::core::mem::offset_of!(lh_partners_entry, pad) - 4usize];
    ["Offset of field: lh_partners_entry::counter"]
        [::core::mem::offset_of!(lh_partners_entry, counter) - 8usize];
    ["Offset of field: lh_partners_entry::partners"]
        [::core::mem::offset_of!(lh_partners_entry, partners) - 16usize];
};
impl Default for lh_partners_entry {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[doc = " kick: index; sweep, show: first index; give: slot"]
pub const LH_CB_FLOW: lh_cb = 0;
#[doc = " kick: generation; due: number of timers; sweep, show: number of entries, at most LH_SWEEP_MAX"]
pub const LH_CB_GENERATION: lh_cb = 1;
#[doc = " kick: enum lh_link"]
pub const LH_CB_LINK: lh_cb = 2;
#[doc = " sweep: enum lh_sweep_of"]
pub const LH_CB_SWEEP: lh_cb = 2;
#[doc = " say: index + 1 of a partner, 0: all of the link"]
pub const LH_CB_TO: lh_cb = 0;
pub const LH_CB_FRAME: lh_cb = 0;
#[doc = " report: low and high half of struct lh_mac_report's at_ns"]
pub const LH_CB_AT: lh_cb = 1;
pub const LH_CB_AT_HIGH: lh_cb = 2;
#[doc = " report: the same of queued_ns"]
pub const LH_CB_QUEUED: lh_cb = 3;
pub const LH_CB_QUEUED_HIGH: lh_cb = 4;
#[doc = " skb->cb of a test run of lh_kick, lh_due, lh_sweep, lh_show, lh_give, lh_say or lh_report."]
pub type lh_cb = ::core::ffi::c_uint;
pub const LH_LINK_SAME: lh_link = 0;
pub const LH_LINK_DOWN: lh_link = 1;
pub const LH_LINK_UP: lh_link = 2;
#[doc = " What a kick is to tell the core of the link, in place of the time."]
pub type lh_link = ::core::ffi::c_uint;
#[doc = " closed and quiet, or idle"]
pub const LH_SWEEP_OVER: lh_sweep_of = 0;
pub const LH_SWEEP_ALL: lh_sweep_of = 1;
#[doc = " those that the rules leave alone"]
pub const LH_SWEEP_UNWANTED: lh_sweep_of = 2;
#[doc = " Which flows a sweep forgets. What is kept of live ones is sent on first."]
pub type lh_sweep_of = ::core::ffi::c_uint;
