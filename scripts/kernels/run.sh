#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Boots kernels in QEMU (pure emulation, no KVM) and tries the agent on each (guest.sh): `lasthop check`,
# an attach to a lossy veth with a transfer through it, the verifier's count of instructions with every
# scheme, the device below a bridge and a bond and in a VRF, a CPU that goes, sleep; on a kernel before
# 6.6, or without BTF, that it fails with one clear line.
#   scripts/kernels/run.sh [KERNEL...]
# A kernel is a package of Debian or Ubuntu, or one that scripts/kernels/build.sh has built. It may be a
# pattern; the newest match is taken:
#   scripts/kernels/run.sh 'linux-image-6.12.*-cloud-amd64' linux-image-6.8.0-31-generic 'built-*-debug'
# Without one, of what apt sees: 6.1, the oldest 6.8, the newest of every release from 6.6 on; of
# PREEMPT_RT and of aarch64 the newest of the oldest and of the newest release from 6.6 on; and all that
# were built. About four minutes each once they are downloaded (two cores), more on aarch64 and with KASAN.
# The programs come from $LASTHOP_BIN_DIR, else from target/release; for aarch64 from
# $LASTHOP_ARM64_BIN_DIR, else they are compiled. Kernels are kept in
# ${XDG_CACHE_HOME:-~/.cache}/lasthop/kernels; /etc/apt stays as it is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=${here%/scripts/kernels}
bin=${LASTHOP_BIN_DIR:-$top/target/release}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lasthop/kernels
# What the guest needs of a kernel's modules.
modules=(veth sch_netem bridge bonding vrf)
boot_timeout=${LASTHOP_KERNEL_TIMEOUT:-300} # seconds per kernel
# shellcheck disable=SC2034 # of lib.sh
arches=(amd64 arm64)
flavours='cloud-amd64|rt-amd64|cloud-arm64|generic'
me=kernels
# shellcheck source=scripts/kernels/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/kernels/arm64.sh
. "$here/arm64.sh"

case ${1:-} in
-h | --help) sed -n '3,19s/^# \{0,1\}//p' "$0" && exit ;;
esac
[ "$(uname -m)" = x86_64 ] || die "needs an x86-64 machine: the kernels run this machine's programs"
for p in lasthop linkemu; do
	[ -x "$bin/$p" ] || die "no $bin/$p: run make build, or set LASTHOP_BIN_DIR"
done
command -v apt-get >/dev/null 2>&1 || die "needs apt-get, for the kernels"

# The newest of every release on stdin that is 6.1, or 6.6 and later; and the oldest 6.8, when the
# verifier was young.
newest_of_each() {
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

# The default, of the kernels on stdin.
choose() {
	local all kind
	all=$(cat)
	grep -v -e '-rt-amd64$' -e '-arm64$' <<<"$all" | newest_of_each
	for kind in -rt-amd64 -arm64; do
		grep -e "$kind\$" <<<"$all" | newest_of_each | grep -v '^linux-image-6\.1\.' | sed -n '1p;$p' | uniq
	done
}

# Kernels that no distribution has.
choose_built() {
	local flavour
	cached | grep '^built-' || true
	for flavour in debug nobtf; do
		cached | grep -q "^built-.*-$flavour\$" ||
			say "skipped: no kernel built-*-$flavour: scripts/kernels/build.sh $flavour builds one" >&2
	done
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
		mapfile -t names < <(choose <"$tmp/visible" && choose_built)
	fi
	for pattern in "$@"; do
		name=$( (cat "$tmp/visible" && cached) | resolve "$pattern") || die "no kernel package like $pattern"
		names+=("$name")
	done
fi
[ ${#names[@]} -gt 0 ] || die "no kernel to try"

build_root
pack "$tmp/root" >"$tmp/root.gz"
failed=() tried=0
arm64=
for name in "${names[@]}"; do
	root=$tmp/root.gz
	if [ "$(arch_of "$name")" = arm64 ]; then
		root=$tmp/root-arm64.gz
		[ -e "$root" ] || [ "$arm64" ] || build_arm64_root >"$tmp/why" || arm64=$(tail -n 1 "$tmp/why")
		[ -z "$arm64" ] || { say "skipped: $name: $arm64"; continue; }
	fi
	fetch "$name"
	boot "$name" "$root"
	tried=$((tried + 1))
	judge "$name" || failed+=("$name")
done
[ ${#failed[@]} = 0 ] || die "${#failed[@]} of $tried kernels failed: ${failed[*]}"
say "$tried kernels: ok"
