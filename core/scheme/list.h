/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The schemes, in the order of their numbers (enum lh_scheme). Included once for the bodies, and
 * with LH_SCHEME defined for whatever is generated from their rows: no guard.
 */
#include "none.c"
#include "rack.c"
#include "slack.c"
#include "snoop.c"
#include "sack.c"
#include "snack.c"
#include "csnoop.c"
#include "dproxy.c"
#include "shadow.c"
