/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an operator or an experiment may set: one line each. From it come the fields of struct
 * lh_config, their defaults and ranges, the keys of the configuration file, `lasthop defaults`
 * (the example file) and what hosts in other languages ask lhc_param() for.
 *
 *	TIME(key, initial, least, most, text)	u64 key_ns, ns; written as 80ms
 *	COUNT(key, initial, least, most, text)	u32 key
 *	FLAG(key, initial, text)		u32 key, 0 or 1; written as true or false
 *	CHOICE(key, initial, most, words, text)	u32 key, number of one of the words, up to @most; true and false
 *						stand for `on` (else `auto`) and `off`
 *	RATIO(key, initial, least, most, text)	u32 key_1024, in 1/1024; written as 0.125
 *
 * Where each comes from: docs/design.md, section 8.
 */
#ifndef LH_PARAMS_H
#define LH_PARAMS_H

/* clang-format off */
#define LH_PARAMS(TIME, COUNT, FLAG, CHOICE, RATIO) \
	CHOICE(role, LH_ROLE_BASE, LH_ROLE_MOBILE, "base mobile", \
	       "Which end of the lossy hop this is: \"base\": the receivers of what leaves here are at the other end, or close to it; \"mobile\": they are far beyond. There no scheme can tell the hop's losses from others by itself: `rack` with `partner`, `snack` and `dproxy` go by an agent at the other end, `csnoop` by the link's MAC, `slack` with `handoff` repeats the last ACK when the link is back; else nothing is repaired or hidden.") \
	CHOICE(clock, LH_CLOCK_AUTO, LH_CLOCK_ALWAYS, "off auto always", \
	       "Scheme `rack`: the window controller limits what a sender may have under way while losses of the link are hidden from it, and so keeps the queue short. A sender whose losses all look like overflows of the queue sees them, and is left alone; \"always\" keeps the queue short for those, too, at some cost to short transfers. \"off\" or false: nobody is limited; then only ECN slows a sender down whose losses are hidden.") \
	TIME(target, 4 * LH_MSEC, LH_MSEC / 2, LH_SEC, \
	     "Scheme `rack`: the standing queue that the window controller aims at; it aims higher, up to five times so much, on a link whose delay varies by itself or whose segments take long, and for a connection that has just begun. The default is below the 5 ms at which CoDel drops (RFC 8289).") \
	CHOICE(suppress, LH_SUPPRESS_AUTO, LH_SUPPRESS_OFF, "auto on off", \
	       "Scheme `rack`: which duplicate ACKs are kept from the sender. \"auto\": those of connections that the controller or ECN can slow down, but for senders that wait long enough by themselves (SACK and timestamps, a round trip long against the link's own); \"on\": all that may be; \"off\": none.") \
	COUNT(slack_bursts, 1, 1, 3, \
	      "Scheme `slack`: bursts of three copies of the last ACK until the next new one, by which a sender without SACK is kept from a timeout in an outage. Linux' senders make nothing of the second.") \
	TIME(slack_quiet, 50 * LH_MSEC, LH_MSEC, 10 * LH_SEC, \
	     "Schemes `rack` and `slack`: how long the receiver must be silent, after two repairs that failed, for an outage; at least two local round trips.") \
	TIME(rto_min, 200 * LH_MSEC, LH_MSEC, 60 * LH_SEC, \
	     "Scheme `slack`: the senders' least retransmission timeout beyond the round trip, by which the bursts are timed. The default is Linux'.") \
	FLAG(freeze, 0, \
	     "Scheme `slack`: true: in an outage the sender is told of a closed window, in place of the burst. It waits, and goes on when the receiver is back.") \
	COUNT(handoff, 0, 0, 3, \
	      "Scheme `slack`: copies of the last ACK when the link comes up (carrier, or `lasthop link DEV up`), for a fast retransmission at once, at the mobile end of the last that left. 0: none.") \
	CHOICE(sack_mask, LH_MASK_AUTO, LH_MASK_AUTO, "off on auto", \
	       "Schemes `sack`, `snack` and `csnoop`: \"on\": a new ACK passes without the SACK blocks above it while every hole is repaired here, so that the sender does not act on them. \"off\": with them, as `sack` was published. \"auto\": without, where the other end of the hop or the MAC has said that it was the hop which lost what is repaired.") \
	CHOICE(undelivered, LH_UNDELIVERED_FINAL, LH_UNDELIVERED_ATTEMPT, "final attempt", \
	       "Scheme `csnoop`: which report of the MAC is a loss: \"final\": that it has given a frame up; \"attempt\": each attempt that failed, as where it makes one only.") \
	CHOICE(partner, LH_PARTNER_AUTO, LH_PARTNER_AUTO, "off on auto", \
	       "Scheme `rack`: whether an agent with the same `key` is at the other end of the link. The base tells it what is missing of the data that come over the link, and the mobile end repairs that as `snack` does with `brake`, so that uploads are helped as well; downloads are the base's, as ever. \"auto\": if there is a key. \"off\" or false: the mobile end does nothing.") \
	FLAG(probe, 1, \
	     "Scheme `csnoop`, at the base: true: what the MAC has delivered and no ACK answers is sent again after a local timeout, for it is the answer that may be lost. false: as published.") \
	FLAG(order_rule, 1, \
	     "Schemes `snack`, `dproxy` and `rack` with a partner: true: what lies lower and was asked for no later than what has just come counts as lost once more, and is asked for again at once. false: by time alone.") \
	COUNT(reorder_buffer, 150, 0, 256, \
	      "Scheme `dproxy`: packets that may wait behind a gap, divided equally among the receivers whose data come in and of that among the flows of each; whoever has more waiting shows its receiver the gap.") \
	COUNT(catch_up, 5, 1, 8, \
	      "Scheme `dproxy`: packets of a flow that go on at once when a gap is filled, before others get their turn.") \
	COUNT(give_up, 5, 4, 8, \
	      "Scheme `dproxy`: times the mean time of a repair after which a gap is left to the sender; before, it is asked for again at two, three and four times.") \
	FLAG(tail_probe, 0, \
	     "Scheme `dproxy`, at the base: true: what nothing behind it shows to be missing is sent again after a local timeout. false: as published, it is the sender's.") \
	COUNT(asks, 2, 1, 8, \
	      "Schemes `snack` and `rack` with a partner: ACKs in a row that tell the other end of what is missing, as one of them may be lost. 1: as published.") \
	CHOICE(rtt_profile, LH_RTT_STD, LH_RTT_NS2, "std ns2", \
	       "Estimator of the local round trip: \"std\" (RFC 6298 gains, and a floor) or \"ns2\" (as ns-2.35 ran it). `profile` sets what else belongs to it.") \
	COUNT(dup_thresh, 1, 1, 100, \
	      "Schemes `snoop`, `slack` and `sack`: the duplicate ACK on which a segment is sent again; of `sack` only without SACK.") \
	COUNT(max_local, 10, 1, 100, \
	      "Local retransmissions per segment before it is left to the sender.") \
	CHOICE(timer_arm, LH_TIMER_ALWAYS, LH_TIMER_AFTER_DUP, "always after_dup", \
	       "Schemes `snoop`, `slack` and `sack`: when the local timer runs: \"always\" while anything is cached, \"after_dup\" only after a repair that a duplicate ACK drove.") \
	FLAG(strict_window, 0, \
	     "true: every duplicate ACK that changes the window passes; false: only those that the sender is about to need.") \
	FLAG(queue_guard, 1, \
	     "true: a loss that looks like an overflow of the queue before the link is left to the sender, which must slow down: with `rack` or `brake` one that departed when the queue was near its longest, else one while the queue stands and the sender has just put more in flight than before. false: every loss is hidden, as in the papers.") \
	FLAG(brake, 0, \
	     "Schemes `sack`, `snack`, `csnoop` and `dproxy`: true: the window controller of `rack` (`clock`, `target`) limits a sender whose losses are hidden, and losses that look like an overflow of the hop's queue are left to it. false: as published, nothing brakes such a sender, and what its growth makes the hop's queue drop is repaired as well.") \
	TIME(lrto_floor, 80 * LH_MSEC, LH_MSEC, 10 * LH_SEC, \
	     "Least local retransmission timeout. Below 80 ms it fires on delayed ACKs.") \
	TIME(lrto_max, LH_SEC, LH_MSEC, 60 * LH_SEC, \
	     "Greatest local retransmission timeout before it backs off.") \
	TIME(ns2_tick, 100 * LH_MSEC, LH_MSEC, 10 * LH_SEC, \
	     "Least local retransmission timeout with rtt_profile \"ns2\": snoopTick_ there.") \
	TIME(ns2_srtt, 100 * LH_MSEC, LH_MSEC, 10 * LH_SEC, \
	     "Start value of the local round trip with rtt_profile \"ns2\".") \
	TIME(ns2_rtt_var, 250 * LH_MSEC, LH_MSEC, 10 * LH_SEC, \
	     "Start value of its variation with rtt_profile \"ns2\".") \
	RATIO(ns2_gain, 128, 1, 1023, \
	      "Weight of the old value in the estimator of rtt_profile \"ns2\".") \
	TIME(hold_min, 20 * LH_MSEC, LH_MSEC, 10 * LH_SEC, \
	     "Least time that a duplicate ACK may be kept back.") \
	TIME(hold_max, 2 * LH_SEC, LH_MSEC, 10 * LH_SEC, \
	     "Greatest time that a duplicate ACK may be kept back.") \
	TIME(idle, 60 * LH_SEC, LH_SEC, 86400 * LH_SEC, \
	     "A connection without packets for so long is forgotten.")
/* clang-format on */

#endif /* LH_PARAMS_H */
