# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What kernels of aarch64 need on an x86-64 machine: lasthop and linkemu cross-compiled, and Debian 12's
# userland for them. To be sourced, after lib.sh. Who does sets first, besides: here, top (the repository).
# shellcheck disable=SC2154 # set by who sources it

triple=aarch64-unknown-linux-gnu
arm64_tree=$cache/arm64
# Of the guest, and of the linker: libraries of programs below and of lasthop itself. The C library is
# the cross-compiler's, which is no older than what programs were linked with.
arm64_packages=(busybox-static iproute2 libbpf1 libbsd0 libcap2 libelf1 libelf-dev libmd0 libmnl0
	libxtables12 zlib1g zlib1g-dev)

install_arm64_tools() {
	local missing=() rustlib
	command -v qemu-system-aarch64 >/dev/null 2>&1 || missing+=(qemu-system-arm)
	command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 || missing+=(gcc-aarch64-linux-gnu)
	[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] || missing+=(libc6-dev-arm64-cross)
	if [ ${#missing[@]} -gt 0 ]; then
		[ "$(id -u)" = 0 ] || { echo "not installed: ${missing[*]}"; return 1; }
		say "installing ${missing[*]}" >&2
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			"${missing[@]}" >/dev/null || { echo "apt-get could not install ${missing[*]}"; return 1; }
	fi
	[ -z "${LASTHOP_ARM64_BIN_DIR:-}" ] || return 0
	rustlib=$(rustc --print target-libdir --target $triple 2>/dev/null) || rustlib=
	[ -d "$rustlib" ] || rustup target add $triple >/dev/null 2>&1 ||
		{ echo "no Rust library for $triple, and no rustup that gets it"; return 1; }
}

# $arm64_packages, unpacked; kept as long as the same ones are asked for.
have_arm64_userland() {
	local deb
	[ "$(cat "$arm64_tree.has" 2>/dev/null)" = "${arm64_packages[*]}" ] && return
	say "downloading what a guest of aarch64 runs" >&2
	rm -rf "$tmp/deb" "$arm64_tree" && mkdir -p "$tmp/deb" "$arm64_tree"
	(cd "$tmp/deb" && apt_private apt-get download -qq "${arm64_packages[@]/%/:arm64/bookworm}") \
		>"$tmp/apt.log" 2>&1 || { echo "no packages: $(tail -n 1 "$tmp/apt.log")"; return 1; }
	for deb in "$tmp"/deb/*.deb; do
		dpkg-deb -x "$deb" "$arm64_tree"
	done
	echo "${arm64_packages[*]}" >"$arm64_tree.has"
}

# The programs, from this tree. The BPF objects in them are compiled here as for any other machine.
cross_compile() {
	local libs="-L native=$arm64_tree/usr/lib/aarch64-linux-gnu -L native=$arm64_tree/lib/aarch64-linux-gnu"
	arm64_bin=${LASTHOP_ARM64_BIN_DIR:-$top/target/$triple/release}
	[ -z "${LASTHOP_ARM64_BIN_DIR:-}" ] || return 0
	say "compiling lasthop for aarch64" >&2
	(cd "$top" && CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="$libs" \
		CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
		CFLAGS_aarch64_unknown_linux_gnu="-idirafter $arm64_tree/usr/include" \
		cargo build -q --release --locked --target $triple -p lasthop -p linkemu) >"$tmp/cargo.log" 2>&1 ||
		{ echo "cargo: $(grep -m 1 '^error' "$tmp/cargo.log")"; return 1; }
}

# The libraries that a program or library needs, and theirs, at one place: the loader looks there.
put_arm64_libraries() { # put_arm64_libraries FILE
	local lib dir
	for lib in $(aarch64-linux-gnu-objdump -p "$1" | sed -n 's/^ *NEEDED *//p'); do
		[ ! -e "$tmp/root-arm64/lib/$lib" ] || continue
		for dir in /usr/aarch64-linux-gnu/lib "$arm64_tree"/{usr/lib,lib}/aarch64-linux-gnu; do
			if [ -e "$dir/$lib" ]; then
				cp -L "$dir/$lib" "$tmp/root-arm64/lib/"
				put_arm64_libraries "$dir/$lib"
				break
			fi
		done
		[ -e "$tmp/root-arm64/lib/$lib" ] || { echo "no $lib for ${1##*/}"; return 1; }
	done
}

# The root of the guest, packed as $tmp/root-arm64.gz. False: prints why it can't be had.
build_arm64_root() {
	local p root=$tmp/root-arm64
	install_arm64_tools && have_arm64_userland && cross_compile || return 1
	mkdir -p "$root"/{bin,dev,etc,lib,proc,run,sys,tmp,usr/bin}
	aarch64-linux-gnu-gcc -O2 -Wall -static -o "$root/usr/bin/verified" "$here/verified.c"
	cp "$arm64_tree/bin/busybox" "$root/bin/"
	for p in "$arm64_tree/bin/ip" "$arm64_tree/sbin/tc" "$arm64_bin/lasthop" "$arm64_bin/linkemu"; do
		cp -L "$p" "$root/usr/bin/"
		put_arm64_libraries "$p" || return 1
	done
	cp -L /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 "$root/lib/"
	cp "$here/guest_lib.sh" "$root/"
	cp "$here/guest.sh" "$root/init"
	chmod 755 "$root/init"
	pack "$root" >"$root.gz"
}
