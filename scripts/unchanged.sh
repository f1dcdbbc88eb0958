#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Whether this tree's core does with packets what that of another revision does: for changes of
# structure, which shall change nothing. Captures of transfers over the test bed, with and without
# an agent, go through both native agents with each scheme, and every verdict, edit, repair and
# deadline is compared; so are the numbers of the fingerprint test. The schemes are those that both
# know, or SCHEMES.
#   scripts/unchanged.sh REVISION [CAPTURES]     (root, to record captures that are not there)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD work=$PWD/target/unchanged
revision=$(git rev-parse --short --verify "${1:?which revision?}^{commit}")
captures=$(realpath -m "${2:-$work/captures}")
run=unchanged$$
cleanup() {
	set +e
	[ -e "$captures/.begun" ] && lab down "$run" >/dev/null 2>&1
	rm -f "$captures/.begun"
	git worktree remove --force "$work/tree" 2>/dev/null
}
trap cleanup EXIT
lab() { LASTHOP_BIN_DIR=$work/build/release "$work/lab-here" "$@"; }

build() { # build TREE NAME
	echo "unchanged: builds $2"
	(cd "$1" && CARGO_TARGET_DIR=$work/build cargo build -q --release --locked -p lasthop -p linkemu -p lasthop-lab)
	cp "$work/build/release/lasthop-lab" "$work/lab-$2"
}

fingerprint() { # fingerprint TREE
	(cd "$1" && CARGO_TARGET_DIR=$work/build cargo test -q --release --locked -p lasthop-core --test suite \
		fingerprint -- --ignored --nocapture 2>"$work/fingerprint.err") | grep '^fingerprint:' || {
		echo "unchanged: no fingerprint of $1: $work/fingerprint.err says why" >&2
		return 1
	}
}

# A cell: name, scheme, flows, congestion control, seconds, options of the test bed.
cells() {
	cat <<-'TEXT'
		alone none 1 cubic 15 --rate 20mbit --rtt 110ms --local-rtt 10ms --loss 2%
		one rack 1 cubic 20 --rate 20mbit --rtt 110ms --local-rtt 10ms --loss 2%
		twenty rack 20 cubic 20 --rate 20mbit --rtt 110ms --local-rtt 10ms --loss 2%
		bbr rack 2 bbr 15 --rate 20mbit --rtt 60ms --local-rtt 10ms --loss 5%
		snoop snoop 4 reno 20 --rate 20mbit --rtt 60ms --local-rtt 10ms --loss 2%
		outages slack 2 reno 20 --rate 10mbit --rtt 110ms --local-rtt 10ms --loss 1% --outage 4s,700ms,6s
		order rack 3 cubic 20 --rate 20mbit --rtt 40ms --local-rtt 20ms --loss 1% --reorder 1%
		queue none 8 cubic 15 --rate 20mbit --rtt 40ms --local-rtt 20ms --loss 0%
	TEXT
}

record() { # record NAME SCHEME FLOWS CC SECONDS OPTIONS...
	local name=$1 scheme=$2 flows=$3 cc=$4 seconds=$5 mobile dumps=() device
	shift 5
	touch "$captures/.begun"
	lab up --name "$run" --seed 7 --scheme "$scheme" "$@" >/dev/null
	mobile=$(lab shell mh "$run" -- ip -4 -o addr show scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
	for device in eth0 wl0; do
		lab shell bs "$run" -- tcpdump -q -i $device -B 16384 -s 128 -w "$captures/$name.$device.part" 2>/dev/null &
		dumps+=($!)
	done
	lab shell mh "$run" -- iperf3 -s -1 >/dev/null 2>&1 &
	# tcpdump makes its file once it listens.
	until lab shell mh "$run" -- ss -Hltn 'sport = 5201' | grep -q . &&
		[ -e "$captures/$name.eth0.part" ] && [ -e "$captures/$name.wl0.part" ]; do sleep 0.1; done
	lab shell fh "$run" -- iperf3 -c "$mobile" -t "$seconds" -P "$flows" -C "$cc" >/dev/null || true
	pkill -INT -f -- "-w $captures/$name\." || true
	wait "${dumps[@]}" || true
	lab down "$run" >/dev/null
	for device in eth0 wl0; do mv "$captures/$name.$device.part" "$captures/$name.$device.pcap"; done
}

# One capture through both agents. The first line that differs, if any does.
same() { # same NAME SCHEME
	local here there
	here=$work/here.jsonl there=$work/there.jsonl
	for side in here there; do
		"$work/lab-$side" replay -j --scheme "$2" --wired "$captures/$1.eth0.pcap" \
			--lossy "$captures/$1.wl0.pcap" >"$work/$side.jsonl"
	done
	if ! cmp -s "$here" "$there"; then
		echo "unchanged: $1 with $2 differs, first here and then in $revision:" >&2
		diff "$here" "$there" | grep '^[<>]' | sed -n '1p;/^>/{p;q}' >&2
		return 1
	fi
	lines=$(wc -l <"$here")
	steps=$((steps + lines))
	echo "unchanged: $1 with $2: $lines packets and timers alike"
}

schemes_of() { sed -n 's/^#include "\(.*\)\.c"$/\1/p' "$1/core/scheme/list.h" | sort; }

mkdir -p "$work" "$captures"
git worktree remove --force "$work/tree" 2>/dev/null || true
git worktree add -q --detach "$work/tree" "$revision"
build "$work/tree" there
build "$root" here
schemes=${SCHEMES:-$(comm -12 <(schemes_of "$root") <(schemes_of "$work/tree"))}
[ -n "$schemes" ] || {
	echo "unchanged: no scheme that both trees have in core/scheme/list.h" >&2
	exit 1
}
failed=0 steps=0
echo "unchanged: fingerprints, here and in $revision"
fingerprint "$root" | tee "$work/here.txt"
fingerprint "$work/tree" | tee "$work/there.txt"
# Line by line of those that both print: a tree may have a scheme more.
names() { awk '{ print $2 }' "$1" | sort; }
for name in $(comm -12 <(names "$work/here.txt") <(names "$work/there.txt")); do
	cmp -s <(grep "^fingerprint: $name " "$work/here.txt") <(grep "^fingerprint: $name " "$work/there.txt") || {
		echo "unchanged: the fingerprint of $name differs" >&2
		failed=1
	}
done
while read -r name rest; do
	if [ ! -e "$captures/$name.wl0.pcap" ]; then
		echo "unchanged: records $name"
		# shellcheck disable=SC2086 # words of a line
		record "$name" $rest </dev/null
	fi
	for scheme in $schemes; do
		same "$name" "$scheme" || failed=1
	done
done < <(cells)
[ $failed = 0 ] || exit 1
echo "unchanged: $steps packets and timers alike, here and in $revision"
