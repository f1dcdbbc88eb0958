#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A real transfer over a lossy link without and with the agent, its content
# verified. Five hosts in namespaces of their own; nothing outside is touched.
#   scripts/demo.sh DIRECTORY-OF-THE-BINARIES
set -euo pipefail
bin=${1:-target/release}

if [ "$(id -u)" != 0 ]; then
	echo "demo: needs root for network namespaces and BPF: sudo make demo" >&2
	exit 1
fi
cat <<'TEXT'
lasthop demo: a download over five hosts in series

  FH ----- WAN emulator ----- BS ----- wireless emulator ----- MH
      10 Mbit/s, 190 ms      agent      2 Mbit/s, 10 ms, 2 % loss
                                            both ways

First a sender of today (CUBIC) on 20 Mbit/s and 110 ms, without and with the
agent on BS; then one of the 1990s (Reno, no SACK, 64 KiB window) with the links
as drawn and the classic Snoop rules. Every byte is checked.

TEXT
"$bin/lasthop-lab" compare --rate 20mbit --rtt 110ms --loss 2% --cc cubic --scheme none,rack \
	--duration 15s --warmup 5s --seed 1
exec "$bin/lasthop-lab" compare --rate 2mbit --wired-rate 10mbit --rtt 200ms --local-rtt 10ms \
	--loss 2% --profile vintage --cc reno --scheme none,snoop --duration 30s --warmup 5s --seed 1
