#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the agent costs as flows, loss, sizes and rules grow: the BPF programs, then forwarding, then
# a page with curves and a model, DIRECTORY/index.html, and all figures beside it as JSON Lines.
# Short: one round, to see that it works.
#   scripts/bench-report.sh DIRECTORY-OF-THE-BINARIES DIRECTORY [short]
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(realpath "${1:-target/release}")
out=${2:-results/bench}
fail() {
	echo "bench-report: $*" >&2
	exit 1
}

case ${3:-} in
'') rounds=5 short=() ;;
short) rounds=1 short=(--short) ;;
*)
	echo "bench-report: there is no form '$3', only 'short'" >&2
	exit 2
	;;
esac
[ "$(id -u)" = 0 ] || fail "needs root: sudo make bench-report"
mkdir -p "$out"

echo "== BPF programs, nanoseconds per packet (BPF_PROG_TEST_RUN)"
# Not half a file where an earlier run has left a whole one.
LASTHOP_BENCH_ROUNDS=$rounds cargo bench -q --locked -p lasthop --bench packet -- grow |
	tee "$out/packet.new" | grep --line-buffered -v '^{'
grep '^{' "$out/packet.new" >"$out/packet.jsonl"
rm "$out/packet.new"

echo "== forwarding, with and without the agent, and the page"
"$bin/lasthop-lab" bench-report "$out" "${short[@]}"
