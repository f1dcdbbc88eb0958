#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Installs what a goal of the Makefile lacks, and says what it installs.
#   scripts/setup.sh build|run|bench|fuzz|report|picture|sim|ns2|wireshark|lint|package|image-lab|test-packages
# On Debian 12 and 13 and Ubuntu 24.04; elsewhere it names what is missing.
set -euo pipefail

goal=${1:-build}
missing=()
need() { # need COMMAND PACKAGE
	command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}
need_file() { # need_file FILE PACKAGE
	[ -e "$1" ] || missing+=("$2")
}

# Whether the command $1 is there in version $2 or newer.
at_least() {
	local have
	have=$("$1" --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' | head -n 1) || return 1
	[ -n "$have" ] && [ "$(printf '%s\n%s\n' "$2" "$have" | sort -V | head -n 1)" = "$2" ]
}

# clang 16 or newer: older ones crash on the BPF source or lose its bounds.
have_clang() {
	local c
	for c in "${LASTHOP_CLANG:-}" clang-19 clang-20 clang-21 clang-22 clang-18 clang-17 clang-16 clang; do
		[ -n "$c" ] && at_least "$c" 16.0 && return 0
	done
	return 1
}

candidate() { # newest version of a package that apt could install, or nothing
	apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '(none)' || true
}

# Rust 1.85: an installed cargo, else the distribution's package that has it.
rust_packages() {
	local p
	if [ -n "$(candidate cargo-web)" ]; then
		echo rustc-web cargo-web
		return
	fi
	for p in '' -1.89 -1.88 -1.87 -1.86 -1.85; do
		case $(candidate "cargo$p") in
		'' | 0.* | 1.[0-9].* | 1.[1-7][0-9].* | 1.8[0-4].*) ;;
		*) echo "rustc$p" "cargo$p" && return ;;
		esac
	done
	echo "setup: no package has Rust 1.85 or newer here: install it with rustup" >&2
	exit 1
}

# What is not built here needs no tools of ours.
builds() { [ "$goal" != sim ] && ! is_package; }
is_package() { [ "$goal" = ns2 ] || [ "$goal" = wireshark ]; }

is_package || need gcc gcc
if builds; then
	need pkg-config pkg-config
	need_file /usr/include/libelf.h libelf-dev
	need_file /usr/include/zlib.h zlib1g-dev
fi
case $goal in
run | bench)
	need ip iproute2
	need ethtool ethtool
	need sysctl procps
	[ "$goal" = run ] || need iperf3 iperf3
	# `lasthop split`; iptables for kernels whose nftables has no queue, and the lab's pass-through.
	PATH=$PATH:/usr/sbin need nft nftables
	PATH=$PATH:/usr/sbin need iptables iptables
	# Web pages of `lasthop-lab compare --page`.
	PATH=$PATH:/usr/sbin need nginx nginx
	need curl curl
	need openssl openssl
	# Calls that fail, for the tests.
	need strace strace
	;;
fuzz)
	need clang++-19 clang-19
	need llvm-cov-19 llvm-19
	need g++ g++
	# The sanitizers' run time.
	compgen -G '/usr/lib/llvm-19/lib/clang/*/lib/linux/libclang_rt.asan*' >/dev/null || missing+=(libclang-rt-19-dev)
	;;
report)
	# The one that `lasthop-lab report` finds: the distribution's.
	/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || missing+=(python3-matplotlib)
	;;
sim)
	need cmake cmake
	need g++ g++
	need make make
	python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
	;;
ns2)
	need ns ns2
	;;
wireshark)
	# Of the test of `lasthop-lab replay --pcapng` alone, and with its libraries 130 MB: not for all.
	need tshark tshark
	;;
picture)
	need python3 python3
	;;
package)
	need python3 python3
	need dpkg-shlibdeps dpkg-dev
	need strings binutils
	;;
image-lab)
	need python3 python3
	need strings binutils
	need mmdebstrap mmdebstrap
	;;
test-packages)
	need mmdebstrap mmdebstrap
	need systemd-analyze systemd
	need mandoc mandoc
	;;
lint)
	need python3 python3
	need clang-format-19 clang-format-19
	ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1 || missing+=(libclang1-19)
	;;
esac

apt_updated=
update_once() {
	[ -n "$apt_updated" ] && return
	apt-get update -qq
	apt_updated=1
}

# Debian's packages start their services as soon as they are installed, unless this file says no.
policy=/usr/sbin/policy-rc.d
own_policy=
forbid_services() {
	[ -e $policy ] && return
	trap allow_services EXIT
	own_policy=1
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
}
allow_services() {
	[ -z "$own_policy" ] || rm -f $policy
	own_policy=
}
disable_service() {
	if command -v systemctl >/dev/null 2>&1; then
		systemctl disable "$1" >/dev/null 2>&1 || true
	elif command -v update-rc.d >/dev/null 2>&1; then
		update-rc.d "$1" disable >/dev/null 2>&1 || true
	fi
}

# The ns-3 module is C and C++ only, and ns-2 and tshark are packages.
have_tools() {
	! builds || { have_clang && at_least cargo 1.85; }
}

packages=("${missing[@]}")
if ! have_tools || [ ${#packages[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null 2>&1; then
		echo "setup: please install: clang 16+, cargo 1.85+, ${missing[*]:-}" >&2
		exit 1
	fi
	# Whoever is not root only hears what is missing, by the lists that are there.
	[ "$(id -u)" != 0 ] || update_once
fi
! builds || have_clang || packages+=(clang-19)
if builds && ! at_least cargo 1.85; then
	# On a line of its own: that there is none ends all.
	rust=$(rust_packages)
	read -ra rust <<<"$rust"
	packages+=("${rust[@]}")
fi
if [ ${#packages[@]} -gt 0 ]; then
	if [ "$(id -u)" != 0 ]; then
		echo "setup: please install (or run as root): ${packages[*]}" >&2
		exit 1
	fi
	echo "setup: installing ${packages[*]}"
	forbid_services
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		"${packages[@]}" >/dev/null
	allow_services
	case " ${packages[*]} " in
	# It is the lab that starts it, inside a namespace: not this machine, now or at the next boot.
	*' nginx '*) disable_service nginx ;;
	esac
fi

if [ "$goal" = lint ]; then
	for c in fmt clippy; do
		cargo $c --version >/dev/null 2>&1 && continue
		if command -v rustup >/dev/null 2>&1; then
			echo "setup: rustup component add ${c/fmt/rustfmt}"
			rustup component add "${c/fmt/rustfmt}" >/dev/null
		elif [ "$c" = fmt ]; then
			apt-get install -y -qq rustfmt-web >/dev/null 2>&1 || apt-get install -y -qq rustfmt >/dev/null
		else
			apt-get install -y -qq rust-clippy-web >/dev/null 2>&1 || apt-get install -y -qq rust-clippy >/dev/null
		fi
	done
fi

# Of no distribution's packages: built here, of these versions, and kept for all checkouts.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/lasthop/tools
if [ "$goal" = package ]; then
	for tool in cargo-deb@3.8.0 cargo-generate-rpm@0.21.1; do
		PATH=$PATH:$tools/bin command -v "${tool%@*}" >/dev/null 2>&1 && continue
		echo "setup: cargo install ${tool/@/ }, into $tools"
		cargo install -q --locked --root "$tools" "$tool"
	done
fi

if [ "$goal" = run ] || [ "$goal" = bench ]; then
	kernel=$(uname -r | grep -oE '^[0-9]+\.[0-9]+')
	if [ "$(printf '6.6\n%s\n' "$kernel" | sort -V | head -n 1)" != 6.6 ]; then
		echo "setup: Linux $kernel is too old for the agent (TCX needs 6.6): on Debian 12 install linux-image-amd64 from bookworm-backports" >&2
		[ "${LASTHOP_ALLOW_OLD_KERNEL:-}" ] || exit 1
	fi
fi
