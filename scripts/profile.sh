#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Where the time of the packet path goes: samples the programs while they run over packets of the default
# scheme (BPF_PROG_TEST_RUN, steady state, no loss), and prints, for the data and the ACK path, the share of
# each function with the kernel's helpers that it calls, and of these helpers. docs/performance.md reads one.
#   scripts/profile.sh [FLOWS [SECONDS]]      (1 flow, 10 s)
# Needs root and perf. A function that the compiler has put into another counts as that one.
set -euo pipefail
cd "$(dirname "$0")/.."
flows=${1:-1} seconds=${2:-10}
fail() {
	echo "profile: $*" >&2
	exit 1
}
[ "$(id -u)" = 0 ] || fail "needs root"
command -v perf >/dev/null || fail "no perf: install linux-perf"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo bench -q --locked -p lasthop --bench packet --no-run --message-format=json |
	sed -n 's/.*"executable":"\([^"]*\/packet-[^"]*\)".*/\1/p' >"$work/bench"
# The first seconds load the programs: the verifier's time is in no function of theirs.
perf record -q -g -F 20000 -o "$work/data" "$(tail -1 "$work/bench")" profile "$flows" "$seconds"
perf script -i "$work/data" -F ip,sym 2>/dev/null | awk -v flows="$flows" '
	# A sample is a stack, innermost first, and an empty line.
	function name(sym) {
		sub(/^[ \t]*[0-9a-f]+ /, "", sym)
		sub(/^bpf_prog_[0-9a-f]+_/, "bpf:", sym)
		return sym
	}
	function book(  i, path, own) {
		for (i = 1; i <= n; i++) {
			if (!own && stack[i] ~ /^bpf:/) own = stack[i]
			if (stack[i] == "bpf:lh_egress") path = "data"
			if (stack[i] == "bpf:lh_ingress") path = "ACK"
		}
		if (path) {
			all[path]++
			of[path, substr(own, 5)]++
			if (stack[1] !~ /^bpf:/) help[path, stack[1]]++
		}
		n = 0
	}
	NF { stack[++n] = name($0) }
	!NF { book() }
	function table(path, counts,  key, part, order) {
		order = "sort -rn | head -20"
		for (key in counts) {
			split(key, part, SUBSEP)
			if (part[1] == path && counts[key] * 200 > all[path])
				printf "%6.1f %%  %s\n", 100 * counts[key] / all[path], part[2] | order
		}
		close(order)
	}
	END {
		book()
		for (path in all) {
			printf "%s path, %d flow(s), %d samples: functions with what they call\n", path, flows, all[path]
			table(path, of)
			printf "helpers of the kernel among it\n"
			table(path, help)
		}
	}'
