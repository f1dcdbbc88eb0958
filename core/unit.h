/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All bodies of the core as one unit, in an order that does not matter: native hosts (core.c) and
 * BPF (bpf/host.bpf.h) include this once, after they have defined what a host lends (lh_host_*() of
 * env.h). As one unit the compiler makes of it what it made of headers full of bodies.
 */
#ifndef LH_UNIT_H
#define LH_UNIT_H

#include "accept.c"
#include "agent.c"
#include "arrival.c"
#include "asked.c"
#include "back.c"
#include "brake.c"
#include "cache.c"
#include "control.c"
#include "detect.c"
#include "device.c"
#include "edit.c"
#include "guard.c"
#include "handoff.c"
#include "hold.c"
#include "lifecycle.c"
#include "limit.c"
#include "mac.c"
#include "message.c"
#include "order.c"
#include "outage.c"
#include "partner.c"
#include "pop.c"
#include "probe.c"
#include "queue.c"
#include "replaytime.c"
#include "resequence.c"
#include "ring.c"
#include "rtt.c"
#include "sample.c"
#include "scheme.c"
#include "segment.c"
#include "shadow.c"
#include "share.c"
#include "siphash.c"
#include "tail.c"
#include "tell.c"
#include "train.c"
#include "window.c"
#include "wired.c"

#endif /* LH_UNIT_H */
