#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A real transfer over a lossy link without and with the agent, its content
# verified. Five hosts in namespaces of their own; nothing outside is touched.
# Ends with 1 if a byte was wrong, or the agent did not help.
#   scripts/demo.sh DIRECTORY-OF-THE-BINARIES [short]
set -euo pipefail
bin=${1:-target/release}

case ${2:-} in
'') today=(--duration 15s --warmup 5s) vintage=(--duration 30s --warmup 5s) ;;
short) today=(--duration 5s --warmup 2s) vintage=(--duration 6s --warmup 2s) ;;
*)
	echo "demo: there is no form '$2', only 'short'" >&2
	exit 2
	;;
esac
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
table=$(mktemp)
trap 'rm -f "$table"' EXIT

# Compares scheme $1 with `none`, and sees that the table shows what the demo is for.
show() {
	local scheme=$1 status=0
	shift
	"$bin/lasthop-lab" compare --loss 2% --scheme "none,$scheme" --seed 1 "$@" >"$table" || status=$?
	cat "$table"
	[ $status = 0 ] || exit $status
	# cc, scheme, Mbit/s, of the bound, times none, sender's and local retransmissions.
	awk -v scheme="$scheme" '
		$2 == "none" { none = $3 }
		$2 == scheme { with = $3; repairs = $7 }
		END { exit !(none > 0 && with > 1.2 * none && repairs > 0) }' "$table" || {
		echo "demo: $scheme is not clearly faster than no agent" >&2
		exit 1
	}
}

show rack --rate 20mbit --rtt 110ms --cc cubic "${today[@]}"
show snoop --rate 2mbit --wired-rate 10mbit --rtt 200ms --local-rtt 10ms --profile vintage --cc reno \
	"${vintage[@]}"
