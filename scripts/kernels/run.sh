#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Boots stock kernels of Debian and Ubuntu in QEMU (pure emulation, no KVM) and
# tries the agent on each (guest.sh): `lasthop check`, an attach to a lossy veth
# with a transfer through it, the verifier's count of instructions with every
# scheme, the device below a bridge and a bond and in a VRF, a CPU that goes,
# sleep; on a kernel before 6.6 that it fails with one clear line.
#   scripts/kernels/run.sh [KERNEL-PACKAGE...]
# A package may be a pattern; the newest match is taken:
#   scripts/kernels/run.sh 'linux-image-6.12.*-cloud-amd64' linux-image-6.8.0-31-generic
# Without one: 6.1, the oldest 6.8, and the newest of every release from 6.6 on
# that apt sees; about 10 s each once they are downloaded.
# The program comes from $LASTHOP_BIN_DIR, else from target/release. Kernels are
# kept in ${XDG_CACHE_HOME:-~/.cache}/lasthop/kernels; /etc/apt stays as it is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${LASTHOP_BIN_DIR:-${here%/scripts/kernels}/target/release}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lasthop/kernels
# What the guest needs of a kernel's modules.
modules=(veth sch_netem bridge bonding vrf)
boot_timeout=${LASTHOP_KERNEL_TIMEOUT:-300} # seconds per kernel
flavours='cloud-amd64|generic'
me=kernels
# shellcheck source=scripts/kernels/lib.sh
. "$here/lib.sh"

case ${1:-} in
-h | --help) sed -n '3,16s/^# \{0,1\}//p' "$0" && exit ;;
esac
[ "$(uname -m)" = x86_64 ] || die "needs an x86-64 machine: the kernels run this machine's programs"
for p in lasthop linkemu; do
	[ -x "$bin/$p" ] || die "no $bin/$p: run make build, or set LASTHOP_BIN_DIR"
done
command -v apt-get >/dev/null 2>&1 || die "needs apt-get, for the kernels"

# The default: the oldest 6.8 besides the newest, since the verifier was young.
choose() { # choose, with the visible kernels on stdin
	awk '{
		split($0, part, "[-.+]"); release = part[3] "." part[4]
		if (release == "6.8" && !(release in newest)) first = $0
		if (!(release in newest)) order[n++] = release
		newest[release] = $0
	} END {
		for (i = 0; i < n; i++) {
			split(order[i], v, ".")
			if (order[i] == "6.8") print first
			if (order[i] == "6.1" || v[1] > 6 || (v[1] == 6 && v[2] >= 6)) print newest[order[i]]
		}
	}' | uniq
}

build_root() {
	local p
	mkdir -p "$tmp"/root/{bin,dev,etc,proc,run,sys,tmp,usr/bin}
	gcc -O2 -Wall -o "$tmp/verified" "$here/verified.c"
	cp -L "$(command -v busybox)" "$tmp/root/bin/"
	for p in "$(command -v ip)" "$(command -v tc)" "$tmp/verified" "$bin/lasthop" \
		"$bin/linkemu"; do
		put_program "$p"
	done
	cp "$here/guest_lib.sh" "$tmp/root/"
	cp "$here/guest.sh" "$tmp/root/init"
	chmod 755 "$tmp/root/init"
}

install_tools
mkdir -p "$cache"
names=()
if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -vxFf <(cached) >/dev/null; then
	names=("$@") # all there: no network
else
	if update_lists; then
		visible >"$tmp/visible"
	else
		say "apt-get update failed, only cached kernels: $(tail -n 1 "$tmp/apt.log")" >&2
		cached >"$tmp/visible"
	fi
	if [ $# = 0 ]; then
		mapfile -t names < <(choose <"$tmp/visible")
	fi
	for pattern in "$@"; do
		name=$(resolve "$pattern" <"$tmp/visible") || die "no kernel package like $pattern"
		names+=("$name")
	done
fi
[ ${#names[@]} -gt 0 ] || die "no kernel to try"

build_root
pack "$tmp/root" >"$tmp/root.gz"
failed=()
for name in "${names[@]}"; do
	fetch "$name"
	boot "$name"
	judge "$name" || failed+=("$name")
done
[ ${#failed[@]} = 0 ] || die "${#failed[@]} of ${#names[@]} kernels failed: ${failed[*]}"
say "${#names[@]} kernels: ok"
