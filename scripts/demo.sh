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

A sender of the 1990s (Reno, no SACK, 64 KiB window), 30 s each, first without
and then with the classic Snoop agent on BS. Every byte is checked.

TEXT
exec "$bin/lasthop-lab" compare --rate 2mbit --wired-rate 10mbit --rtt 200ms --local-rtt 10ms \
	--loss 2% --profile vintage --cc reno --scheme none,snoop --duration 30s --warmup 5s --seed 1
