#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Row 34 of docs/design/experiments.md: how many data segments, and how many ACKs, follow each other
# closely (200 us) on the wire before the base station, with five CUBIC flows over 50 ms through
# an 802.11a hop with an ACK per frame, BlockAck of both kinds, and NoAck between two proxies.
#   scripts/bursts.sh [SECONDS]     (root; tcpdump and iperf3; programs of target/release or LASTHOP_BIN_DIR)
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
export LASTHOP_BIN_DIR=${LASTHOP_BIN_DIR:-$PWD/target/release}
run=bursts$$ work=$(mktemp -d)
lab() { "$LASTHOP_BIN_DIR/lasthop-lab" "$@"; }
cleanup() {
	set +e
	lab down "$run" >/dev/null 2>&1
	rm -rf "$work"
}
trap cleanup EXIT

# Lengths of runs of times that lie 200 us apart at the most: mean, 95th and 99th percentile, longest.
runs() {
	awk '{ if (NR > 1 && $1 - last > 0.0002) { print n; n = 0 } n++; last = $1 } END { if (n) print n }' |
		sort -n | awk '{ a[NR] = $1; sum += $1 }
			END { if (NR) printf "%6.1f %5d %5d %5d", sum / NR, a[int((NR * 95 + 99) / 100)], a[int((NR * 99 + 99) / 100)], a[NR] }'
}

# Times of what tcpdump shows of a capture.
times() { tcpdump -n -tt -r "$work/wire.pcap" "$@" 2>/dev/null | awk '{ print $1 }'; }

# Two proxies around the hop, which have found each other.
proxies() {
	(umask 077 && "$LASTHOP_BIN_DIR/lasthop" key new >"$work/key")
	local host device role
	while read -r host device role; do
		lab shell "$host" "$run" -- "$LASTHOP_BIN_DIR/lasthop" attach "$device" --once --scheme dproxy \
			--key "$work/key" --role "$role" >"$work/$host.log" 2>&1 </dev/null &
	done <<-'TEXT'
		bs wl0 base
		mh eth0 mobile
	TEXT
	for host in bs mh; do
		until lab shell "$host" "$run" -- "$LASTHOP_BIN_DIR/lasthop" peers -j 2>/dev/null </dev/null | grep -q '"up"'; do sleep 0.2; done
	done
}

link() { # link LABEL MAC [proxies]
	local mobile dump goodput
	lab up --name "$run" --seed 7 --mac "$2" --rtt 50ms --local-rtt 1ms --loss 0% --queue 100 >/dev/null
	[ -z "${3:-}" ] || proxies
	mobile=$(lab shell mh "$run" -- ip -4 -o addr show scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
	lab shell bs "$run" -- tcpdump -q -i eth0 -B 16384 -s 96 -w "$work/wire.pcap" 2>/dev/null &
	dump=$!
	lab shell mh "$run" -- iperf3 -s -1 >/dev/null 2>&1 &
	until lab shell mh "$run" -- ss -Hltn 'sport = 5201' | grep -q . && [ -e "$work/wire.pcap" ]; do sleep 0.1; done
	goodput=$(lab shell fh "$run" -- iperf3 -c "$mobile" -t "$seconds" -P 5 -C cubic -f m | awk '/SUM.*receiver/ { print $6 }')
	pkill -INT -f -- "-w $work/wire.pcap" || true
	wait "$dump" || true
	lab down "$run" >/dev/null
	printf '%-34s %6s | %s | %s\n' "$1" "$goodput" "$(times "dst $mobile and greater 1000" | runs)" \
		"$(times "src $mobile and less 200" | runs)"
}

printf '%-34s %6s | %-24s | %s\n' 'link' 'Mbit/s' 'data: mean 95 % 99 % most' 'ACKs: the same'
link 'an ACK per frame' murray2009
link 'BlockAck, a block in one access' 802.11a,rate=54,policy=block_ack_burst
link 'BlockAck, frame by frame' 802.11a,rate=54,policy=block_ack_each
link 'NoAck, two proxies' murray2009,policy=no_ack proxies
