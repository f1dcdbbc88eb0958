/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters of one device: the one list from which the enumeration in C,
 * the names in `lasthop status -j` and their documentation are made.
 * X(name, what it counts); names are stable.
 */
#ifndef LH_COUNTERS_H
#define LH_COUNTERS_H

/* clang-format off */
#define LH_COUNTERS(X) \
	X(data_segments, "TCP segments with payload that went out to the lossy link, super-packets counted by their segments") \
	X(data_bytes, "TCP payload bytes that went out to the lossy link") \
	X(ack_segments, "TCP segments with an ACK that came in from the lossy link") \
	X(cached_segments, "segments copied into the cache") \
	X(cached_bytes, "payload bytes copied into the cache") \
	X(refreshed_segments, "segments that the sender sent again while they were cached") \
	X(uncached_full, "segments forwarded uncached: share of the flow or cache of the device full") \
	X(uncached_overlap, "segments forwarded uncached: they overlap cached ones unevenly or came too far out of order") \
	X(uncached_size, "segments forwarded uncached: larger than a cache slot") \
	X(uncached_small, "segments forwarded uncached: too many small ones of the flow are cached") \
	X(evicted_segments, "segments that left the cache unasked because it gets scarce: the oldest of those that have more than their share") \
	X(upstream_lost, "segments that filled a gap left upstream of the agent, marked as lost by congestion") \
	X(local_retransmits, "segments sent again from the cache, all reasons") \
	X(retransmits_dupack, "of these, for a duplicate ACK") \
	X(retransmits_partial, "of these, for an ACK that moved only up to the next hole") \
	X(retransmits_order, "of these, for a segment that had departed later and has arrived") \
	X(retransmits_timer, "of these, by the local timer") \
	X(retransmits_asked, "of these, because the agent at the hop's other end misses them") \
	X(retransmits_mac, "of these, because the MAC reported that it had given the frame up") \
	X(retransmit_errors, "local retransmissions that could not be sent") \
	X(exhausted_segments, "segments given up after max_local retransmissions") \
	X(overflow_suspected, "losses left to the sender: they look like overflows of the queue before the link") \
	X(reordered, "segments that arrived late, after others that had departed later") \
	X(duplicate_acks, "duplicate ACKs seen") \
	X(suppressed_acks, "duplicate ACKs kept from the sender") \
	X(released_acks, "kept ACKs that were sent on after all, copies counted") \
	X(held_expired, "times that the hold timer ran out") \
	X(window_updates, "duplicate ACKs that went on as mere window updates") \
	X(dsacks_dropped, "ACKs kept from the sender for good: they only report a superfluous repair, by a DSACK block or as the duplicate that a receiver without SACK makes of it") \
	X(windows_edited, "ACKs that passed with a window smaller than the receiver's own") \
	X(clock_engaged, "times that the window controller began to limit a flow") \
	X(clock_released, "times that it let the flow go") \
	X(lmin_raised, "times that the unloaded local round trip of a receiver was found to have grown") \
	X(limits_found, "times that a receiver was found to get no more than a policer, or a queue of a few packets, lets pass") \
	X(ce_marks, "data packets marked Congestion Experienced") \
	X(outages, "times that a connection was found cut off: repairs fail and the receiver is silent, or the link is down") \
	X(slack_bursts, "times that the last ACK was sent again three times (or a kept one released) before the sender's timeout") \
	X(slack_inapplicable, "outages that the sender could not be told of: SACK and no kept ACK, MPTCP, TCP-AO or MD5, no copy of the last ACK") \
	X(freezes, "times that the last ACK was sent again with a closed window") \
	X(handoff_acks, "copies of the last ACK sent because the link came up") \
	X(holes, "gaps in the data that came in from the lossy link") \
	X(holes_untold, "gaps that were left to the sender because there are too many at once") \
	X(holes_given_up, "gaps that were left to the sender: told of too often, or no longer waited for") \
	X(holes_absent, "of these, because the agent at the hop's other end said that it has nothing for them: lost before the hop, or by its queue") \
	X(told_options, "ACKs that left with an option that tells the agent at the hop's other end what is missing") \
	X(told_messages, "messages to the agent at the hop's other end that tell what is missing") \
	X(told_absent, "messages to the agent at the hop's other end that what it asked for will not come from here: never seen, gone, or the sender's to repair") \
	X(waited, "segments from the lossy link that had to wait behind a gap, or for others that had") \
	X(sequenced, "of these, sent on in their order") \
	X(unsequenced, "segments from the lossy link that passed out of order: no room to wait, or too many flows share it") \
	X(overcrowded, "gaps given up because more of the flow waited than its part of the reorder buffer") \
	X(release_errors, "segments that had to wait and found no memory after all, or had waited and could not be sent on: lost, for their sender to repair") \
	X(copies_dropped, "segments from the lossy link that had come before: further copies of what was asked for twice") \
	X(asked, "times that the agent at the hop's other end told what it misses") \
	X(mac_delivered, "reports of the MAC, of TCP segments in the table: the frame was delivered") \
	X(mac_undelivered, "the same: an attempt failed, and another one follows") \
	X(mac_given_up, "the same: the last attempt failed") \
	X(mac_strangers, "reports of the MAC of frames that belong to no connection in the table") \
	X(bypass_not_tcp, "packets that are not TCP") \
	X(bypass_fragment, "IP fragments") \
	X(bypass_malformed, "packets whose headers could not be parsed") \
	X(bypass_filtered, "TCP segments outside --match or inside --exclude") \
	X(bypass_table_full, "TCP segments of flows that found no room in the flow table") \
	X(bypass_unanswered, "TCP segments of connections that got no place in the flow table because too many there are unanswered; of a SYN the options are remembered") \
	X(bypass_lock, "TCP segments that passed because the flow was busy on another CPU") \
	X(bypass_stale, "TCP segments that passed because user space gave no sign of life") \
	X(bypass_checksum, "TCP segments from the lossy link with a wrong checksum, which the device had not looked at") \
	X(bypass_unacceptable, "TCP segments whose numbers the connection can't have used by what both ends have said: forged, or we missed something") \
	X(resynchronised, "times that both ends agreed on numbers unknown to us, and the flow was picked up anew as in mid-stream") \
	X(flows_created, "flows entered into the table") \
	X(flows_removed, "flows removed from the table: closed, reset, idle or displaced") \
	X(timer_kicks, "times that a flow's timer had work done") \
	X(messages_accepted, "messages of other agents of the link that counted") \
	X(messages_malformed, "packets to the port of such messages that were none: truncated, too long, senseless") \
	X(messages_version, "messages of a version or type unknown here") \
	X(messages_key, "messages sealed with a key that is not ours") \
	X(messages_forged, "messages with a wrong authentication code; or something on the way rewrites the addresses of frames") \
	X(messages_own, "messages of our own that came back") \
	X(messages_replayed, "messages that had come before, came too late, or from an earlier life of their sender") \
	X(messages_unconfirmed, "messages of agents that had not answered us yet") \
	X(messages_limited, "messages beyond the rate that one agent may have") \
	X(messages_full, "messages of agents that found no place among the known ones") \
	X(messages_off_link, "packets to the port of messages that a router had forwarded: passed") \
	X(messages_sent, "messages that the programs sent") \
	X(messages_unsent, "messages that the programs could not send")
/* clang-format on */

#define LH_COUNTER_ENUM(name, doc) LH_C_##name,
enum lh_counter { LH_COUNTERS(LH_COUNTER_ENUM) LH_NR_COUNTERS };

#endif /* LH_COUNTERS_H */
