# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stock kernels of Debian and Ubuntu in QEMU, for scripts that try something on them: found and
# downloaded, packed with a few modules and programs into an initramfs, booted, and judged by what
# the guest says. To be sourced. Who does sets first:
#   me            its name in messages
#   cache         directory for what is downloaded
#   flavours      of kernels: a regular expression, what follows the version in a package's name
#   modules       array: modules that the guest needs
#   boot_timeout  seconds for a guest
# and may set, where there are kernels of other machines than x86-64 among them:
#   arches        array: Debian's names of these machines, amd64 first
# shellcheck disable=SC2154 # set by who sources it

[ "${arches+set}" ] || arches=(amd64)

die() { echo "$me: $*" >&2; exit 1; }
say() { echo "$me: $*"; }

tmp=$(mktemp -d)
qemu=
cleanup() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

install_missing() { # install_missing [PACKAGE...]
	[ $# = 0 ] && return
	[ "$(id -u)" = 0 ] || die "please install (or run as root): $*"
	say "installing $*"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		"$@" >/dev/null || die "apt-get could not install $*"
}

# What unpacks, boots and fills a kernel's machine.
install_tools() {
	local -A tools=([qemu-system-x86_64]=qemu-system-x86 [busybox]=busybox-static [cpio]=cpio
		[ip]=iproute2 [gcc]=gcc [xz]=xz-utils [zstd]=zstd)
	local missing=() c
	for c in "${!tools[@]}"; do
		command -v "$c" >/dev/null 2>&1 || missing+=("${tools[$c]}")
	done
	[ -e /usr/include/linux/bpf.h ] || missing+=(linux-libc-dev libc6-dev)
	if command -v busybox >/dev/null 2>&1 && ldd "$(command -v busybox)" >/dev/null 2>&1; then
		missing+=(busybox-static)
	fi
	install_missing "${missing[@]}"
}

# apt with sources of its own; what it knows of the system is only read.
apt_private() { # apt_private PROGRAM ARGUMENT...
	local program=$1
	shift
	"$program" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$cache/apt/sources" \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts="$cache/apt/none" \
		-o Dir::State::Lists="$cache/apt/lists" -o Dir::Cache="$cache/apt/cache" \
		-o APT::Architecture=amd64 -o APT::Architectures="$(IFS=, && echo "${arches[*]}")" \
		-o APT::Sandbox::User=root \
		-o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false "$@"
}

# The distribution's keys: the system's, else out of its package.
keyring() { # keyring FILE PACKAGE
	local file=/usr/share/keyrings/$1
	if [ ! -e "$file" ]; then
		file=$cache/apt/keys/usr/share/keyrings/$1
		if [ ! -e "$file" ]; then
			(cd "$tmp" && { apt-get download -qq "$2" || apt_private apt-get download -qq "$2"; } \
				&& dpkg-deb -x "$2"_*.deb "$cache/apt/keys") >"$tmp/apt.log" 2>&1 || return 1
		fi
	fi
	echo "$file"
}

source_of() { # source_of OPTIONS KEYRING URI SUITE...
	local options=$1 key=$2 uri=$3 suite
	shift 3
	for suite in "$@"; do
		echo "deb [${options}signed-by=$key] $uri $suite main"
	done
}

update_lists() {
	local debian ubuntu
	mkdir -p "$cache"/apt/{sources,none,keys,lists/partial,cache/archives/partial}
	rm -f "$cache"/apt/sources/*
	if debian=$(keyring debian-archive-keyring.gpg debian-archive-keyring); then
		{
			source_of "" "$debian" http://deb.debian.org/debian \
				bookworm bookworm-backports trixie trixie-backports
			source_of "" "$debian" http://deb.debian.org/debian-security \
				bookworm-security trixie-security
		} >"$cache/apt/sources/debian.list"
		apt_private apt-get update -qq >"$tmp/apt.log" 2>&1 || return 1
	fi
	if ubuntu=$(keyring ubuntu-archive-keyring.gpg ubuntu-keyring); then
		source_of "arch=amd64 " "$ubuntu" http://archive.ubuntu.com/ubuntu noble noble-updates \
			>"$cache/apt/sources/ubuntu.list"
		apt_private apt-get update -qq >"$tmp/apt.log" 2>&1 || return 1
	fi
	[ "$debian$ubuntu" ]
}

depends() { # depends PACKAGE...: one block each, <...> what there is not
	apt_private apt-cache depends -i --no-recommends --no-suggests --no-conflicts --no-breaks \
		--no-replaces --no-enhances "$@"
}

# Every kernel of the flavours $flavours that apt sees, oldest first. Backports keep the images of
# older releases for a while, but not what these need.
visible() {
	local all
	mapfile -t all < <(apt_private apt-cache search --names-only \
		"^linux-image-[0-9.]+(\\+deb[0-9.]+|-[0-9]+)-($flavours)\$" | sed 's/ .*//')
	[ ${#all[@]} = 0 ] || depends "${all[@]}" | awk '
		{ sub(/:[a-z0-9]+$/, "") }
		/^linux-image-/ { order[n++] = $0; name = $0 }
		/Depends: <linux-(binary|modules)-/ { lacks[name] = 1 }
		END { for (i = 0; i < n; i++) if (!(order[i] in lacks)) print order[i] }' | sort -V
}

cached() {
	[ -d "$cache" ] || return 0
	find "$cache" -mindepth 2 -maxdepth 2 -name complete -printf '%h\n' | sed 's#.*/##' | sort -V
}

resolve() { # resolve PATTERN: the newest match of stdin
	local name found=
	while read -r name; do
		# shellcheck disable=SC2254
		case $name in $1) found=$name ;; esac
	done
	[ "$found" ] && echo "$found"
}

# The module's file in the unpacked package, its name with - or _.
module_file() { # module_file TREE NAME
	find "$1" -name "${2//_/[-_]}.ko*" -type f | head -n 1
}

# The module $2 and those it needs, in the order of insertion.
take_module() { # take_module TREE NAME DESTINATION
	local file need name=${2//-/_}
	[ -e "$3/$name.ko" ] && return
	file=$(module_file "$1" "$2")
	[ "$file" ] || return 0 # built in, or not there: the guest finds out
	case $file in
	*.xz) xz -dc "$file" ;;
	*.zst) zstd -qdc "$file" ;;
	*.gz) gzip -dc "$file" ;;
	*) cat "$file" ;;
	esac >"$3/$name.ko"
	for need in $(tr '\0' '\n' <"$3/$name.ko" | sed -n 's/^depends=//p' | tr ',' ' '); do
		take_module "$1" "$need" "$3"
	done
	echo "$name" >>"$3/order"
}

# The machine for the kernel $1, by Debian's name.
arch_of() { # arch_of NAME
	case $1 in *-arm64) echo arm64 ;; *) echo amd64 ;; esac
}

# What the kernel $1 has to have beside itself. One that was built here (build.sh) has it all inside.
modules_of() { # modules_of NAME
	case $1 in built-*) echo built ;; *) echo "${modules[*]}" ;; esac
}

# Downloads the kernel $1 into the cache: its vmlinuz and a few modules.
fetch() {
	local name=$1 dir=$cache/$1 parts m
	[ "$(cat "$dir/complete" 2>/dev/null)" = "$(modules_of "$name")" ] && return
	case $name in built-*) die "no kernel $name: scripts/kernels/build.sh builds such" ;; esac
	say "downloading $name"
	parts=$(depends "$name" | sed -nE 's/^ *Depends: (linux-(binary|modules)-.*)/\1/p')
	rm -rf "$tmp/deb" "$dir" && mkdir -p "$tmp/deb/tree" "$dir/modules"
	# shellcheck disable=SC2086
	(cd "$tmp/deb" && apt_private apt-get download -qq "$name" $parts) >"$tmp/apt.log" 2>&1 ||
		die "could not download $name: $(tail -n 1 "$tmp/apt.log")"
	for m in "$tmp"/deb/*.deb; do
		dpkg-deb -x "$m" "$tmp/deb/tree"
	done
	m=$(find "$tmp/deb/tree" -name 'vmlinuz*' -type f | head -n 1)
	[ "$m" ] || die "$name: no vmlinuz in it"
	cp "$m" "$dir/vmlinuz"
	for m in "${modules[@]}"; do
		take_module "$tmp/deb/tree" "$m" "$dir/modules"
	done
	modules_of "$name" >"$dir/complete"
	rm -rf "$tmp/deb"
}

# A program and the libraries that it needs, at the places it looks for them.
put_program() { # put_program FILE
	local lib
	cp -L "$1" "$tmp/root/usr/bin/"
	for lib in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*' || true); do
		mkdir -p "$tmp/root${lib%/*}"
		cp -L "$lib" "$tmp/root$lib"
	done
}

pack() { # pack DIRECTORY: as an initramfs
	(cd "$1" && find . | cpio -o -H newc --quiet -R 0:0 | gzip -1)
}

# The emulator for the kernel $1, the line that its console is, and how many times as long as others it
# may take.
machine_of() { # machine_of NAME
	case $1 in *-debug) slow=8 ;; *-arm64) slow=3 ;; *) slow=1 ;; esac
	case $(arch_of "$1") in
	arm64) machine=(qemu-system-aarch64 -M virt -cpu cortex-a72) console=ttyAMA0 ;;
	*) machine=(qemu-system-x86_64 -cpu max) console=ttyS0 ;;
	esac
}

boot() { # boot NAME [ROOT]: leaves what it said in $tmp/log. ROOT: the packed root, $tmp/root.gz
	local dir=$cache/$1 rc=0 machine console slow
	machine_of "$1"
	rm -rf "$tmp/extra" "$tmp/raw" && mkdir -p "$tmp/extra"
	cp -r "$dir/modules" "$tmp/extra/"
	{ cat "${2:-$tmp/root.gz}" && pack "$tmp/extra"; } >"$tmp/initrd"
	timeout --kill-after=5 "$((boot_timeout * slow))" "${machine[@]}" -accel tcg -smp 2 -m 2048 \
		-nodefaults -display none -no-reboot -serial "file:$tmp/raw" -kernel "$dir/vmlinuz" \
		-initrd "$tmp/initrd" -append "console=$console quiet panic=-1 mitigations=off slow=$slow" \
		>"$tmp/qemu.log" 2>&1 &
	qemu=$!
	wait $qemu || rc=$?
	qemu=
	tr -d '\r' <"$tmp/raw" >"$tmp/log" 2>/dev/null || true
	cat "$tmp/qemu.log" >>"$tmp/log"
	[ $rc = 124 ] && echo "fail: not done after $((boot_timeout * slow)) s" >>"$tmp/log"
	return 0
}

# Prints the guest's results; true if all is well.
judge() { # judge NAME
	local word rest ended="" bad=""
	echo "== $1"
	while read -r word rest; do
		case $word in
		ok: | note:) echo "   $word $rest" ;;
		fail:) echo "   $word $rest" && bad=1 ;;
		end:) ended=1 ;;
		esac
	done < <(grep -aE '^(ok|note|fail|end): ?' "$tmp/log")
	[ "$ended" ] && [ -z "$bad" ] && return 0
	[ "$ended" ] || echo "   fail: the guest did not come to its end"
	echo "   its last words:"
	tail -n 40 "$tmp/log" | sed 's/^/   | /'
	return 1
}
