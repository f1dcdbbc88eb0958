#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Builds small kernels that no distribution has, for scripts/kernels/run.sh, which boots what it finds of
# them: 640 options, everything built in, half an hour on two cores.
#   scripts/kernels/build.sh FLAVOUR [SOURCE]
# Flavours:
#   debug  with KASAN (memory), PROVE_LOCKING (locks), DEBUG_ATOMIC_SLEEP
#   nobtf  without the kernel's types, as most images of OpenWrt are: the agent has to say so
#   plain  neither: for versions that no distribution has
# The source is a package of Debian, linux-source-6.12 by default, or a release's archive from kernel.org:
#   scripts/kernels/build.sh plain linux-6.6.63.tar.xz
# The result is kept beside the downloaded kernels, ${XDG_CACHE_HOME:-~/.cache}/lasthop/kernels, as
# built-VERSION-FLAVOUR; all else is removed. $JOBS compilers run at a time, as many as there are
# processors by default.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lasthop/kernels
me=build-kernel
# shellcheck source=scripts/kernels/lib.sh
. "$here/lib.sh"

case ${1:-} in
debug) parts=(base btf debug) ;;
plain) parts=(base btf) ;;
nobtf) parts=(base) ;;
*) sed -n '3,15s/^# \{0,1\}//p' "$0" && exit "$([ "${1:-}" = --help ] && echo 0 || echo 1)" ;;
esac
flavour=$1
source=${2:-linux-source-6.12}
[ "$(uname -m)" = x86_64 ] || die "needs an x86-64 machine"

install_builders() {
	local -A tools=([make]=make [gcc]=gcc [flex]=flex [bison]=bison [bc]=bc [perl]=perl [xz]=xz-utils
		[pahole]=dwarves)
	local missing=() c
	for c in "${!tools[@]}"; do
		command -v "$c" >/dev/null 2>&1 || missing+=("${tools[$c]}")
	done
	[ -e /usr/include/libelf.h ] || missing+=(libelf-dev)
	install_missing "${missing[@]}"
}

# The archive that $source is or has in it.
archive() {
	[ ! -f "$source" ] || { realpath "$source" && return; }
	case $source in linux-source-*) ;; *) die "$source: neither a file nor a package linux-source-*" ;; esac
	update_lists >&2 || die "apt-get update failed: $(tail -n 1 "$tmp/apt.log")"
	say "downloading $source" >&2
	(cd "$work" && apt_private apt-get download -qq "$source") >"$tmp/apt.log" 2>&1 ||
		die "could not download $source: $(tail -n 1 "$tmp/apt.log")"
	dpkg-deb -x "$work/$source"_*.deb "$work/package"
	find "$work/package" -name 'linux-source-*.tar.*' | head -n 1
}

configure() {
	cat "${parts[@]/#/$here/config/}" | grep '^CONFIG_' >"$work/wanted"
	make -s -C "$work/tree" O="$work/out" ARCH=x86_64 KCONFIG_ALLCONFIG="$work/wanted" allnoconfig \
		>"$work/log" 2>&1 || die "no configuration: $(tail -n 1 "$work/log")"
	grep -vxFf "$work/out/.config" "$work/wanted" >"$work/refused" || return 0
	die "this kernel does not have: $(tr '\n' ' ' <"$work/refused")"
}

mkdir -p "$cache"
install_builders
work=$(mktemp -d "$cache/.build.XXXXXX")
trap 'rm -rf "$work"; cleanup' EXIT
mkdir "$work/tree"
from=$(archive)
tar -C "$work/tree" --strip-components=1 -xf "$from"
configure
name=built-$(make -s -C "$work/tree" kernelversion)-$flavour
say "compiling $name"
make -C "$work/out" -j "${JOBS:-$(nproc)}" ARCH=x86_64 bzImage >"$work/log" 2>&1 ||
	die "$name: $(grep -m 1 -E 'error|Error' "$work/log" || tail -n 1 "$work/log")"
rm -rf "${cache:?}/$name" && mkdir -p "$cache/$name/modules"
cp "$work/out/arch/x86/boot/bzImage" "$cache/$name/vmlinuz"
modules_of "$name" >"$cache/$name/complete"
say "$name: ok"
