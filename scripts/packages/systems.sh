# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The distributions that the packages are tried on: each with its systemd, laid out by mmdebstrap, on a
# kernel of its own in QEMU (pure emulation, no KVM). To be sourced, after scripts/kernels/lib.sh.
# shellcheck disable=SC2154 # set by who sources it

# shellcheck disable=SC2034
systems=(debian12 debian13 ubuntu2404)
declare -A title=([debian12]="Debian 12" [debian13]="Debian 13" [ubuntu2404]="Ubuntu 24.04")
declare -A suite=([debian12]=bookworm [debian13]=trixie [ubuntu2404]=noble)
# The libraries that the package depends on, by their names there; and rpm, which one of them has to try.
# shellcheck disable=SC2054
declare -A more=([debian12]=libelf1,zlib1g,rpm [debian13]=libelf1t64,zlib1g [ubuntu2404]=libelf1t64,zlib1g)
# The newest that matches, and of which suite: Debian 12's own is too old.
declare -A kernel=([debian12]='linux-image-6.12.*+deb12-cloud-amd64' [debian13]='linux-image-6.12.*+deb13-cloud-amd64'
	[ubuntu2404]='linux-image-6.8.0-*-generic')
declare -A kernel_suite=([debian12]=bookworm-backports [debian13]=trixie [ubuntu2404]=noble)

# It corrupts its memory while the initramfs is unpacked, before anything of ours runs: other Oopses each
# time, on any emulated processor; 6.12.94 and 6.12.118 with the same initramfs don't.
broken='linux-image-6.12.95+deb12-cloud-amd64'

# Kernels that apt sees in a suite and its updates, oldest first.
visible_in() { # visible_in SUITE
	local names
	mapfile -t names < <(visible)
	apt_private apt-cache madison "${names[@]}" | awk -F ' *[|] *' -v suite="$1" '
		$3 ~ " " suite "(-security|-updates)?/" { sub(/^ */, "", $1); print $1 }' | sort -Vu
}

# The name of the kernel for a system, downloaded.
have_kernel() { # have_kernel SYSTEM
	local name
	if ! name=$(cached | grep -vxF "$broken" | resolve "${kernel[$1]}"); then
		[ -e "$tmp/updated" ] || update_lists >&2 || return 1
		: >"$tmp/updated"
		name=$(visible_in "${kernel_suite[$1]}" | grep -vxF "$broken" | resolve "${kernel[$1]}") || return 1
	fi
	(fetch "$name" >&2) || return 1
	echo "$name"
}

# Its userland, kept as long as the same is asked for.
have_userland() { # have_userland SYSTEM
	local tar=$cache/$1.tar include=systemd,systemd-sysv,iproute2,procps,${more[$1]} source=() key
	[ -e "$tar" ] && [ "$(cat "$tar.has" 2>/dev/null)" = "$include" ] && return
	say "laying out ${title[$1]}"
	if [ "$1" = ubuntu2404 ]; then
		mkdir -p "$cache/apt/keys"
		key=$(keyring ubuntu-archive-keyring.gpg ubuntu-keyring) || return 1
		source=("deb [signed-by=$key] http://archive.ubuntu.com/ubuntu ${suite[$1]} main")
	fi
	# shellcheck disable=SC2016 # $1 is mmdebstrap's
	mmdebstrap -q --variant=minbase --include="$include" \
		--aptopt='Acquire::Languages "none"' --aptopt='APT::Sandbox::User "root"' \
		--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--customize-hook='rm -f "$1"/etc/dpkg/dpkg.cfg.d/99mmdebstrap "$1"/etc/apt/apt.conf.d/99mmdebstrap' \
		--customize-hook='rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*' \
		"${suite[$1]}" "$tmp/userland.tar" "${source[@]}" >"$tmp/userland.log" 2>&1 || return 1
	mv "$tmp/userland.tar" "$tar"
	echo "$include" >"$tar.has"
}

# A service that runs guest.sh once the rest is up, and says it on the serial line.
build_root() { # build_root SYSTEM
	rm -rf "$tmp/root" "$tmp/over"
	mkdir -p "$tmp"/root/{bin,dev,proc,try} "$tmp/over/etc/systemd/system/multi-user.target.wants"
	gcc -O2 -Wall -static -o "$tmp/root/try/verified" "$here/kernels/verified.c"
	cp -L "$(command -v busybox)" "$tmp/root/bin/"
	cp -L "$(command -v busybox)" "$here"/packages/guest*.sh "$tmp"/try/* "$tmp/root/try/"
	cp "$here/packages/init.sh" "$tmp/root/init"
	chmod 755 "$tmp/root/init" "$tmp/root/try/guest.sh"
	cat >"$tmp/over/etc/systemd/system/try.service" <<-'UNIT'
		[Unit]
		After=multi-user.target
		[Service]
		Type=oneshot
		ExecStart=/try/guest.sh
		StandardOutput=tty
		StandardError=tty
		TTYPath=/dev/ttyS0
		TimeoutStartSec=infinity
	UNIT
	ln -s ../try.service "$tmp/over/etc/systemd/system/multi-user.target.wants/"
	# A login on the serial line would wait for udev, which is not there.
	ln -s /dev/null "$tmp/over/etc/systemd/system/serial-getty@.service"
	cp "$cache/$1.tar" "$tmp/root/system.tar"
	tar -C "$tmp/over" --owner=0 --group=0 -rf "$tmp/root/system.tar" .
}

check_system() { # check_system SYSTEM
	local name
	name=$(have_kernel "$1") || { skip "${title[$1]} in QEMU: no kernel like ${kernel[$1]}: $(tail -n 1 "$tmp/apt.log")"; return; }
	have_userland "$1" || { skip "${title[$1]} in QEMU: $(tail -n 1 "$tmp/userland.log")"; return; }
	build_root "$1"
	pack "$tmp/root" >"$tmp/root.gz"
	boot "$name"
	[ -z "${LASTHOP_PACKAGES_LOG:-}" ] || cp "$tmp/log" "$LASTHOP_PACKAGES_LOG.$1"
	judge "${title[$1]}, $name" || bad=1
}

check_systems() { # check_systems SYSTEM...
	local one
	[ "$*" != none ] || return 0
	[ "$(uname -m)" = x86_64 ] || { skip "$* in QEMU: need an x86-64 machine"; return; }
	[ "$(id -u)" = 0 ] || { skip "$* in QEMU: laying out takes root"; return; }
	command -v mmdebstrap >/dev/null 2>&1 || { skip "$* in QEMU: no mmdebstrap"; return; }
	(install_tools) >"$tmp/tools.log" 2>&1 || { skip "$* in QEMU: $(tail -n 1 "$tmp/tools.log")"; return; }
	mkdir -p "$cache"
	for one in "$@"; do
		check_system "$one"
	done
}
