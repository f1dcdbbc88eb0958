#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# All tests, cheap ones first. What the machine can't do is skipped with a
# printed reason; the last lines count.
#   scripts/test.sh [--long]
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
log=$scratch/log
# Whatever dies, no namespace and no program of its stays behind; test beds that somebody put up are theirs.
cleanup() {
	# What can't be removed changes neither what the tests found nor what else is to go.
	set +e
	[ -x target/debug/lasthop-lab ] && [ "$(id -u)" = 0 ] && target/debug/lasthop-lab down --crashed >/dev/null 2>&1
	rm -rf "$scratch"
}
trap cleanup EXIT

# Where nobody watches, a step that hangs fails, and its last line says where.
limit=()
[ -t 0 ] || [ -n "${1:-}" ] || limit=(timeout --kill-after 10 "${LASTHOP_TEST_LIMIT:-30m}")
run() {
	echo "test: $*"
	"${limit[@]}" "$@" 2>&1 | tee -a "$log"
}

# What the last lines of all test programs say of passed or failed ones.
sum() { grep -E '^test result:' "$log" | grep -oE "[0-9]+ $1" | awk '{ n += $1 } END { print n + 0 }'; }

# End to end, many more threads than tests run at once: which may, and which run alone, they say themselves
# (tests/bed/turn.rs).
bed() { run cargo test --locked -p lasthop -p lasthop-exporter -p lasthop-lab --test bed -- --test-threads 40 "$@"; }

# Tests that missed a bound in company or on a busy machine run once more, alone, and have to hold there; if
# the machine was busy even then, a last time. Whatever else failed has failed (tests/bed/quiet.rs).
again=0
bed_with_bounds() {
	local missed=$scratch/missed names=() filter=() before turn
	for turn in 1 2 3; do
		: >"$missed"
		before=$(sum failed)
		LASTHOP_MISSED=$missed bed "${filter[@]}" && return
		mapfile -t names < <(sort -u "$missed")
		[ "${#names[@]}" -gt 0 ] && [ "$(($(sum failed) - before))" = "${#names[@]}" ] && [ "$turn" != 3 ] || return 1
		again=$((again + ${#names[@]}))
		printf 'again: %s: a bound was missed in company or on a busy machine\n' "${names[@]}"
		export LASTHOP_ALONE=1
		filter=(--exact "${names[@]}")
	done
}

cargo build --workspace --locked
export LASTHOP_BIN_DIR=$PWD/target/debug
if [ "${1:-}" = --long ]; then
	run cargo test --locked -p lasthop -p lasthop-exporter -p lasthop-lab --test bed -- --ignored --test-threads 1
else
	# The exporter each time: without it the features of what they share differ, and all is compiled anew.
	run cargo test --locked -p hwsim-medium -p lasthop-core -p lasthop-exporter -p lasthop-fuzz -p lasthop-pages -p lasthop-units -p linkemu -p xtask
	run cargo test --locked -p lasthop -p lasthop-exporter -p lasthop-lab --lib --bins
	run cargo test --locked -p lasthop -p lasthop-exporter -p lasthop-lab --test bpf -- --test-threads 2
	bed_with_bounds
fi

# Of one test at a time the harness begins the line: `test NAME ... skipped: WHY`.
grep -oE '(^|\.\.\. )skipped: .*' "$log" | sed 's/^\.\.\. //' >"$scratch/skipped" || true
sort "$scratch/skipped" | uniq -c
echo "$(sum passed) passed, $(($(sum failed) - again)) failed, $(wc -l <"$scratch/skipped") skipped, $again run again alone"
