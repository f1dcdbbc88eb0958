#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Tries the packages in target/package (make deb rpm): the units, the man pages and completions, what is
# in the packages; then Debian 12 and 13 and Ubuntu 24.04 with their systemd in QEMU (pure emulation, no
# KVM), each of which installs the deb, serves a lossy device, reloads, goes to another version and back
# in mid-transfer, is stopped dead and purges (scripts/packages/guest.sh).
#   scripts/packages.sh [--rebuild] [debian12|debian13|ubuntu2404|none]...
# Without a name all of them. With --rebuild everything is built once more, from nothing and in another
# directory, and must be the same bytes. Distributions and kernels are kept in
# ${XDG_CACHE_HOME:-~/.cache}/lasthop/packages. Where something can't be had it says so; with
# LASTHOP_PACKAGES=must that is an error. All that a guest says goes to $LASTHOP_PACKAGES_LOG.NAME as
# well, if that is set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=${here%/scripts}
out=$root/target/package
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lasthop/packages
modules=(veth sch_netem)
boot_timeout=${LASTHOP_KERNEL_TIMEOUT:-1800} # seconds per guest
flavours='cloud-amd64|generic'
me=packages
# shellcheck source=scripts/kernels/lib.sh
. "$here/kernels/lib.sh"
# shellcheck source=scripts/packages/systems.sh
. "$here/packages/systems.sh"
# shellcheck source=scripts/packages/versions.sh
. "$here/packages/versions.sh"

rebuild=
case ${1:-} in
-h | --help) sed -n '3,14s/^# \{0,1\}//p' "$0" && exit ;;
--rebuild) rebuild=1 && shift ;;
esac
chosen=("$@")
[ $# -gt 0 ] || chosen=("${systems[@]}")
for one in "${chosen[@]}"; do
	[ "$one" = none ] || [ "${title[$one]:-}" ] || die "no $one: have ${systems[*]}, none"
done
bad=0
ok() { echo "   ok: $*"; }
fail() { echo "   fail: $*" && bad=1; }
skip() { # skip WHAT: REASON
	[ "${LASTHOP_PACKAGES:-}" = must ] && die "$*"
	echo "skipped: packages: $*"
}

agents=("$root"/packaging/systemd/lasthop.service "$root/packaging/systemd/lasthop@.service")
units=("${agents[@]}" "$root/packaging/systemd/lasthop-exporter.service")
exposure_most=20 # tenths, of which systemd calls 20 "OK"

check_units() {
	local u exposure
	for u in "${units[@]}"; do
		exposure=$(systemd-analyze security --offline=true --no-pager "$u" | sed -n 's/^→ .*: \([0-9]\)\.\([0-9]\) .*/\1\2/p')
		if [ "$exposure" ] && [ "$exposure" -le $exposure_most ]; then
			ok "${u##*/}: exposure ${exposure:0:1}.${exposure:1}"
		else
			fail "${u##*/}: exposure $exposure tenths, of $exposure_most at most"
		fi
	done
	# It looks for the programs, which are not installed here.
	for u in "${units[@]}"; do
		sed "s#=/usr/sbin/lasthop#=$out/stage/usr/sbin/lasthop#" "$u" >"$tmp/${u##*/}"
	done
	if systemd-analyze verify --man=no "${units[@]/#*\//$tmp/}" >"$tmp/verify.log" 2>&1 &&
		! [ -s "$tmp/verify.log" ]; then
		ok "systemd-analyze verify"
	else
		fail "systemd-analyze verify: $(head -n 3 "$tmp/verify.log" | tr '\n' '|')"
	fi
	if cmp -s <(sed '1,/^# One directory/d' "${agents[0]}") <(sed '1,/^# One directory/d' "${agents[1]}"); then
		ok "both units of the agent have the same restrictions"
	else
		fail "restrictions of $(basename -a "${agents[@]}" | tr '\n' ' ')differ"
	fi
}

# The calls of a unit's filter, as systemd reads it: sets, what is taken away, what is added.
allowed() { # allowed UNIT
	local word sign name set=$tmp/calls
	: >"$set"
	while read -r word; do
		sign=+
		for name in $word; do
			case $name in '~'*) sign=- name=${name#'~'} ;; esac
			calls_of "$name" | sort -u >"$tmp/these"
			if [ $sign = + ]; then
				sort -u "$set" "$tmp/these" >"$tmp/new"
			else
				comm -23 "$set" "$tmp/these" >"$tmp/new"
			fi
			mv "$tmp/new" "$set"
		done
	done < <(sed -n 's/^SystemCallFilter=//p' "$1")
	cat "$set"
}
calls_of() { # calls_of NAME-OR-SET
	local name
	case $1 in
	@*)
		systemd-analyze syscall-filter --no-pager "$1" | sed -n '2,$s/^ *\([a-z0-9_@-]*\)$/\1/p' | while read -r name; do
			[ -z "$name" ] || calls_of "$name"
		done
		;;
	*) echo "$1" ;;
	esac
}

# What the daemon lets itself do in the end, the unit has to let it.
check_calls() {
	local u lacks
	grep -o 'SYS_[a-z0-9_]*' "$root/crates/lasthop/src/privilege.rs" | sed 's/SYS_//' | sort -u >"$tmp/own"
	[ "$(wc -l <"$tmp/own")" -ge 50 ] || fail "crates/lasthop/src/privilege.rs: $(wc -l <"$tmp/own") calls, fewer than ever"
	for u in "${agents[@]}"; do
		allowed "$u" >"$tmp/allowed"
		lacks=$(comm -13 "$tmp/allowed" "$tmp/own" | tr '\n' ' ')
		if [ -z "$lacks" ]; then
			ok "${u##*/}: $(wc -l <"$tmp/own") system calls of privilege.rs are among $(wc -l <"$tmp/allowed")"
		else
			fail "${u##*/}: SystemCallFilter lacks what privilege.rs has: $lacks"
		fi
	done
}

check_pages() {
	local f
	mandoc -T lint -W error "$out"/man/* >"$tmp/mandoc" 2>&1 || fail "mandoc: $(head -n 3 "$tmp/mandoc" | tr '\n' '|')"
	ok "man pages: $(find "$out/man" -type f | wc -l)"
	for f in bash:lasthop.bash zsh:_lasthop fish:lasthop.fish; do
		if ! command -v "${f%:*}" >/dev/null 2>&1; then
			skip "completions of ${f%:*}, which is not installed"
		elif "${f%:*}" -n "$out/completions/${f#*:}" 2>"$tmp/err"; then
			ok "completions of ${f%:*}"
		else
			fail "completions of ${f%:*}: $(head -n 1 "$tmp/err")"
		fi
	done
}

# What each of them has to have, and that no script of theirs enables or starts a service.
wanted=(/usr/sbin/lasthop /usr/sbin/lasthop-exporter "${units[@]/#*\///usr/lib/systemd/system/}"
	/usr/share/man/man8/lasthop.8.gz /usr/share/man/man5/lasthop.toml.5.gz /etc/lasthop/lasthop.toml
	/usr/share/bash-completion/completions/lasthop /usr/share/doc/lasthop/changelog.gz
	/usr/share/doc/lasthop/third-party.txt)
check_content() { # check_content WHAT FILE-OF-NAMES FILE-OF-SCRIPTS
	local name
	for name in "${wanted[@]}"; do
		grep -qxF "$name" "$2" || fail "$1: no $name in it"
	done
	if grep -nE 'systemctl.* (enable|start|restart)( |$)' "$3"; then
		fail "$1: the script above enables or starts a service"
	fi
	ok "$1: $(wc -l <"$2") files and directories"
}

check_deb() {
	local deb
	deb=$(echo "$out"/lasthop_*.deb)
	[ -e "$deb" ] || die "no $deb: run make deb"
	dpkg-deb --fsys-tarfile "$deb" | tar -t | sed 's#^\./#/#; s#^\([^/]\)#/\1#' >"$tmp/names"
	dpkg-deb -e "$deb" "$tmp/control"
	cat "$tmp"/control/p* >"$tmp/scripts"
	check_content "${deb##*/}" "$tmp/names" "$tmp/scripts"
	grep -qx /etc/lasthop/lasthop.toml "$tmp/control/conffiles" || fail "${deb##*/}: lasthop.toml is no conffile"
	grep -q 'libelf' "$tmp/control/control" || fail "${deb##*/}: does not depend on libelf"
}

check_rpm() {
	local rpm
	rpm=$(echo "$out"/lasthop-*.rpm)
	[ -e "$rpm" ] || die "no $rpm: run make rpm"
	if ! command -v rpm >/dev/null 2>&1; then
		skip "content of ${rpm##*/}: no rpm here"
		return
	fi
	rpm -qpl "$rpm" >"$tmp/names" 2>/dev/null
	rpm -qp --scripts "$rpm" >"$tmp/scripts" 2>/dev/null
	check_content "${rpm##*/}" "$tmp/names" "$tmp/scripts"
	[ "$(rpm -qpc "$rpm" 2>/dev/null)" = /etc/lasthop/lasthop.toml ] || fail "${rpm##*/}: lasthop.toml is no %config"
	rpm -qpR "$rpm" 2>/dev/null | grep -q '^libelf\.so' || fail "${rpm##*/}: does not require libelf"
}

# OpenWrt's init script with its callers' names: what it would have procd run.
check_procd() {
	local script=$root/packaging/openwrt/files/lasthop.init
	cat >"$tmp/procd" <<-'SHELL'
		procd_open_instance() { :; }
		procd_close_instance() { :; }
		procd_set_param() { echo "set $*"; }
		procd_append_param() { echo "append $*"; }
		procd_add_reload_trigger() { echo "trigger $*"; }
		procd_running() { [ "$RUNNING" ]; }
		start() { echo start; }
	SHELL
	sed 's#^PROG=.*#PROG=echo#' "$script" >"$tmp/init"
	run_init() { busybox ash -c ". $tmp/procd; . $tmp/init; $1"; }
	if [ "$(run_init start_service | head -n 1)" = "set command echo daemon" ] &&
		[ "$(RUNNING=1 run_init reload_service)" = reload ] &&
		[ "$(RUNNING='' run_init reload_service)" = start ] &&
		[ "$(run_init service_triggers)" = "trigger lasthop" ]; then
		ok "init script of OpenWrt: starts, reloads (procd itself is not here)"
	else
		fail "init script of OpenWrt: $(run_init start_service | head -n 1)"
	fi
}

# Once more from nothing, elsewhere: the program too has to come out the same.
check_rebuild() {
	local deb again
	deb=$(echo "$out"/lasthop_*.deb)
	git -C "$root" worktree list >/dev/null 2>&1 || { skip "--rebuild: no git here"; return; }
	mkdir "$tmp/again"
	(cd "$root" && git ls-files -z && git ls-files -z -o --exclude-standard) | tar -C "$root" --null -T - -c | tar -C "$tmp/again" -x
	(cd "$tmp/again" && SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)} scripts/package.sh deb) >"$tmp/rebuild.log" 2>&1 ||
		{ fail "--rebuild: $(tail -n 3 "$tmp/rebuild.log" | tr '\n' '|')"; return; }
	again=$(echo "$tmp"/again/target/package/lasthop_*.deb)
	if cmp -s "$deb" "$again"; then
		ok "built again in another directory: the same bytes, $(sha256sum "$deb" | cut -c1-16)..."
	else
		fail "built again in another directory: $(sha256sum "$deb" "$again" | cut -c1-16 | tr '\n' ' ')"
	fi
}

check_units
check_calls
check_pages
check_deb
check_rpm
check_procd
put_packages "$tmp/try"
check_elsewhere
[ -z "$rebuild" ] || check_rebuild
check_systems "${chosen[@]}"
[ $bad = 0 ] || die "failed: see the lines above"
say ok
