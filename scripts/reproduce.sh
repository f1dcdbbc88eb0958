#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs experiments and makes the page about them; goes on where it was stopped.
#   scripts/reproduce.sh BINARIES OUT EXPERIMENT...
# Ends as `run` does: 1 if a condition is not met, which is no fault of the page.
set -uo pipefail
binaries=$1 out=$2
shift 2
"$binaries/lasthop-lab" run --out "$out" "$@"
status=$?
# Not after Ctrl-C, and not where nothing could be run.
if [ $status -le 1 ] && [ -d "$out" ]; then
	"$binaries/lasthop-lab" report "$out" || status=$?
fi
exit $status
