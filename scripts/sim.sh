#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Builds the ns-3 module against an installed ns-3 and runs its tests.
#   scripts/sim.sh            ns-3 3.44 from PyPI, kept in target/ns3
#   NS3_PREFIX=/usr scripts/sim.sh      the one that is there, such as Debian's libns3-dev
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
version=3.44.post0

# The wheel is a plain archive of libraries and headers; no Python is run from it.
fetch() {
	local wheels=$target/ns3-wheel
	rm -rf "$wheels" "$target/ns3.part"
	mkdir -p "$wheels"
	echo "sim: fetching ns-3 $version from PyPI into $target/ns3"
	python3 -m pip download -q --no-deps --only-binary=:all: --python-version 3.11 \
		--platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 \
		-d "$wheels" "ns3==$version" &&
		python3 -m zipfile -e "$wheels"/ns3-*.whl "$target/ns3.part" &&
		mv "$target/ns3.part" "$target/ns3" &&
		rm -r "$wheels"
}

if [ -z "${NS3_PREFIX:-}" ]; then
	NS3_PREFIX=$(realpath -m "$target/ns3/ns3")
	if [ ! -d "$NS3_PREFIX" ]; then
		if [ "$(uname -m)" != x86_64 ] || ! fetch; then
			echo "skipped: the ns-3 module, no ns-3 $version for this machine: set NS3_PREFIX"
			exit 0
		fi
	fi
fi
mkdir -p "$target"
cmake -S ns3/lasthop -B "$target/sim" -DNS3_PREFIX="$NS3_PREFIX" >"$target/sim.log" || {
	cat "$target/sim.log" >&2
	exit 1
}
cmake --build "$target/sim" -j "$(nproc)"
ctest --test-dir "$target/sim" --output-on-failure
