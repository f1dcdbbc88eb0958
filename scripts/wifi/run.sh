#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Tries the agent on radios: boots a stock kernel of Debian in QEMU (pure emulation, no KVM) with
# two of mac80211_hwsim's, an access point and a station, and a medium of ours between them that
# loses frames by seed and reports what it did (guest.sh, crates/hwsim-medium).
#   scripts/wifi/run.sh [KERNEL-PACKAGE]
# The package may be a pattern, the newest match is taken: linux-image-6.12.*-amd64 by default; not
# one of the cloud flavour, which has no radios. Where QEMU or a package can't be had it says so and
# ends with 0; with LASTHOP_WIFI=must with 1.
# Programs come from $LASTHOP_BIN_DIR, else from target/release. What is downloaded is kept in
# ${XDG_CACHE_HOME:-~/.cache}/lasthop/wifi; hostapd, wpa_supplicant and iw are not installed. All that
# the guest says goes to $LASTHOP_WIFI_LOG as well, if that is set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${LASTHOP_BIN_DIR:-${here%/scripts/wifi}/target/release}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lasthop/wifi
modules=(veth sch_netem mac80211_hwsim)
boot_timeout=${LASTHOP_KERNEL_TIMEOUT:-600}
flavours=amd64
me=wifi
# shellcheck source=scripts/kernels/lib.sh
. "$here/../kernels/lib.sh"

case ${1:-} in
-h | --help) sed -n '3,13s/^# \{0,1\}//p' "$0" && exit ;;
esac

skip() { # skip REASON
	[ "${LASTHOP_WIFI:-}" = must ] && die "$*"
	echo "skipped: wifi: $*"
	exit 0
}

# Programs of the distribution's packages, and those of their libraries that this machine lacks.
programs=(hostapd wpasupplicant iw)
tree=$cache/packages
fetch_packages() {
	local wanted=() p
	[ -e "$cache/packages.complete" ] && return
	for p in $(apt-cache depends --recurse -i --no-recommends --no-suggests --no-conflicts \
		--no-breaks --no-replaces --no-enhances "${programs[@]}" 2>/dev/null |
		grep -E '^lib[a-z0-9.+-]+$' | sort -u); do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || wanted+=("$p")
	done
	say "downloading ${programs[*]}"
	rm -rf "$tmp/deb" "$tree" && mkdir -p "$tmp/deb" "$tree"
	# Of libraries that no program of these loads one may be virtual, or gone: ldd finds out.
	for p in "${wanted[@]}"; do
		(cd "$tmp/deb" && apt-get download -qq "$p") >/dev/null 2>&1 || true
	done
	for p in "${programs[@]}"; do
		(cd "$tmp/deb" && apt-get download -qq "$p") >"$tmp/apt.log" 2>&1 || return 1
	done
	for p in "$tmp"/deb/*.deb; do
		dpkg-deb -x "$p" "$tree"
	done
	touch "$cache/packages.complete"
}

# A program of those packages, with its libraries, theirs and the machine's.
put_packaged() { # put_packaged PATH
	local lib libs=$tree/usr/lib/x86_64-linux-gnu:$tree/lib/x86_64-linux-gnu
	[ -x "$tree/$1" ] || return 1
	cp -L "$tree/$1" "$tmp/root/usr/bin/"
	LD_LIBRARY_PATH=$libs ldd "$tree/$1" >"$tmp/ldd" || return 1
	! grep -q 'not found' "$tmp/ldd" || return 1
	while read -r lib; do
		mkdir -p "$tmp/root$(dirname "${lib#"$tree"}")"
		cp -L "$lib" "$tmp/root${lib#"$tree"}"
	done < <(grep -o '/[^ ]*' "$tmp/ldd")
}

build_root() {
	local p
	mkdir -p "$tmp"/root/{bin,dev,etc,proc,run,sys,tmp,usr/bin}
	cp -L "$(command -v busybox)" "$tmp/root/bin/"
	for p in "$(command -v ip)" "$(command -v tc)" "$bin/lasthop" "$bin/hwsim-medium"; do
		put_program "$p"
	done
	for p in usr/sbin/hostapd sbin/wpa_supplicant usr/sbin/iw; do
		put_packaged "$p" || put_packaged "usr/$p" || put_packaged "${p#usr/}" ||
			skip "no $p that runs in the packages ${programs[*]}"
	done
	cp "$here/../kernels/guest_lib.sh" "$tmp/root/"
	cp "$here/guest.sh" "$tmp/root/init"
	chmod 755 "$tmp/root/init"
}

# The kernel's name. What is cached will do where nothing can be asked.
find_kernel() { # find_kernel PATTERN
	local name
	if name=$(cached | resolve "$1"); then
		echo "$name"
		return
	fi
	update_lists || return 1
	visible | resolve "$1"
}

[ "$(uname -m)" = x86_64 ] || skip "needs an x86-64 machine"
for p in lasthop hwsim-medium; do
	[ -x "$bin/$p" ] || die "no $bin/$p: run make build, or set LASTHOP_BIN_DIR"
done
command -v apt-get >/dev/null 2>&1 || skip "needs apt-get, for a kernel and hostapd"
(install_tools) >"$tmp/tools.log" 2>&1 || skip "$(tail -n 1 "$tmp/tools.log")"
mkdir -p "$cache"
name=$(find_kernel "${1:-linux-image-6.12.*-amd64}") || skip "no kernel like ${1:-linux-image-6.12.*-amd64}"
(fetch "$name") || skip "the kernel can't be had"
fetch_packages || skip "no package: $(tail -n 1 "$tmp/apt.log")"

build_root
pack "$tmp/root" >"$tmp/root.gz"
boot "$name"
[ -z "${LASTHOP_WIFI_LOG:-}" ] || cp "$tmp/log" "$LASTHOP_WIFI_LOG"
judge "$name" || die "failed"
say ok
