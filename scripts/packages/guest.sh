#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs in the guest, as a service of its systemd: installs the package, has it serve a device, stops
# it dead, upgrades and purges it. Every result is one line, `ok:`, `note:` or `fail:`.
set -u
deb=$(echo /try/*.deb)
# CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF.
three=000000c000001000

programs() { /try/verified | grep -c "^lh_"; }
attached() { [ "$(programs)" -ge 2 ]; }
main_pid() { systemctl show -P MainPID "$1"; }
status() { timeout 20 lasthop status -j 2>&1; }

ok() { echo "ok: $*"; }
fail() {
	echo "fail: $*"
	journalctl -q --no-pager -o cat -n 15 | sed 's/^/   /'
}
is() { # is WHAT EXPECTED FOUND
	if [ "$2" = "$3" ]; then ok "$1: $3"; else fail "$1: '$3', not '$2'"; fi
}
has() { # has WHAT PATTERN TEXT
	if grep -qE -- "$2" <<<"$3"; then ok "$1"; else fail "$1: no '$2' in: $(head -c 400 <<<"$3")"; fi
}
# Tries for a while whether a command ends well.
soon() { # soon SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}
other_pid() { # other_pid UNIT PID: it runs anew
	local now
	now=$(main_pid "$1")
	[ "$now" != 0 ] && [ "$now" != "$2" ] && systemctl -q is-active "$1"
}

installed() {
	dpkg -i "$deb" >/tmp/dpkg 2>&1 || fail "dpkg -i: $(tail -n 3 /tmp/dpkg | tr '\n' '|')"
	is "installed" "install ok installed" "$(dpkg-query -W -f '${Status}' lasthop)"
	is "after installation" "disabled inactive 0" \
		"$(systemctl is-enabled lasthop) $(systemctl is-active lasthop) $(programs)"
	has "conffile" "^ /etc/lasthop/lasthop.toml" "$(dpkg-query -W -f '${Conffiles}' lasthop)"
	is "configuration beside comments" "" "$(grep -vE '^(#|$)' /etc/lasthop/lasthop.toml)"
	is "program, of root" "755 root" "$(stat -c '%a %U' /usr/sbin/lasthop)"
	has "documentation" "lasthop-reload.8.gz" "$(dpkg -L lasthop)"
}

# Nothing is served until the operator says so; then what it says, by a reload.
served() {
	systemctl -q enable --now lasthop || fail "enable --now"
	is "without a section" "enabled active 0" \
		"$(systemctl is-enabled lasthop) $(systemctl is-active lasthop) $(programs)"
	mkdir -p /etc/lasthop/conf.d
	printf 'cache_total = "8MiB"\nmax_flows = 256\n[device.lossy0]\n' >/etc/lasthop/conf.d/try.toml
	pid=$(main_pid lasthop)
	systemctl reload lasthop || fail "reload with a section"
	has "serves after a reload" '"dev": ?"lossy0"' "$(status)"
	# It is taken up as one that came, on a thread: the verifier takes its time.
	if soon 120 attached; then ok "programs attached"; else fail "no programs attached after 120 s"; fi
	sed -i '/^\[/i scheme = "snoop"' /etc/lasthop/conf.d/try.toml
	systemctl reload lasthop || fail "reload with another scheme"
	has "another scheme" '"scheme": ?"snoop"' "$(status)"
	echo 'nonsense = 1' >/etc/lasthop/conf.d/wrong.toml
	if systemctl reload lasthop 2>/tmp/err; then fail "a wrong line is no error"; else ok "a wrong line: reload fails"; fi
	rm /etc/lasthop/conf.d/wrong.toml
	has "and all stays" '"scheme": ?"snoop"' "$(status)"
	is "process over three reloads" "$pid active" "$(main_pid lasthop) $(systemctl is-active lasthop)"
}

restricted() {
	local field
	for field in "CapBnd $three" "CapEff $three" "NoNewPrivs 1" "Seccomp 2"; do
		is "running: ${field% *}" "${field#* }" "$(awk -v f="${field% *}:" '$1 == f { print $2 }' "/proc/$(main_pid lasthop)/status")"
	done
	is "/run/lasthop" "700 root" "$(stat -c '%a %U' /run/lasthop)"
	# Warnings of the daemon: of rights, and of what its sandbox refused.
	is "complaints" "" "$(journalctl -q --no-pager -o cat -u lasthop | grep -iE "can't give up|EPERM|not permitted|denied|go unnoticed" | head -n 3)"
	has "exposure" '[0-9]' "$(systemd-analyze security --no-pager lasthop | tail -n 1)"
	echo "note: $(systemd-analyze security --no-pager lasthop | tail -n 1)"
}

# It says nothing any more: the manager notices, and what comes after serves again.
watched() {
	pid=$(main_pid lasthop)
	kill -STOP "$pid"
	SECONDS=0
	if soon 60 other_pid lasthop "$pid"; then
		ok "stopped dead: served anew after $SECONDS s"
	else
		fail "stopped dead: $(systemctl is-active lasthop) after $SECONDS s"
	fi
	has "by the watchdog" 'atchdog timeout' "$(journalctl -q --no-pager -u lasthop)"
	has "serves again" '"dev": ?"lossy0"' "$(status)"
	if attached; then ok "programs attached again"; else fail "no programs attached again"; fi
	is "processes" "1" "$(pgrep -c -x lasthop)"
}

# The template beside it; neither takes the directory from the other.
instance() {
	systemctl start lasthop@mh0 || fail "lasthop@mh0"
	has "an instance" '"dev": ?"mh0"' "$(status)"
	systemctl stop lasthop
	has "the instance alone" '"dev": ?"mh0"' "$(status)"
	systemctl start lasthop || fail "start again"
	systemctl enable -q lasthop@mh0
}

upgraded() {
	pid=$(main_pid lasthop)
	dpkg -i "$deb" >/tmp/dpkg 2>&1 || fail "dpkg -i again: $(tail -n 3 /tmp/dpkg | tr '\n' '|')"
	if other_pid lasthop "$pid"; then ok "upgrade: runs anew"; else fail "upgrade: $pid, $(main_pid lasthop)"; fi
	has "and so does the instance" '"dev": ?"mh0"' "$(status)"
	systemctl stop lasthop
	dpkg -i "$deb" >/tmp/dpkg 2>&1
	is "upgrade while it is stopped" inactive "$(systemctl is-active lasthop)"
	systemctl start lasthop
	echo '# mine' >>/etc/lasthop/lasthop.toml
}

gone() {
	dpkg -r lasthop >/tmp/dpkg 2>&1 || fail "dpkg -r: $(tail -n 3 /tmp/dpkg | tr '\n' '|')"
	is "removed" "0 0 inactive" "$(programs) $(pgrep -c -x lasthop) $(systemctl is-active lasthop)"
	has "what the operator wrote stays" '^# mine' "$(cat /etc/lasthop/lasthop.toml)"
	dpkg -P lasthop >/tmp/dpkg 2>&1 || fail "dpkg -P: $(tail -n 3 /tmp/dpkg | tr '\n' '|')"
	is "purged: files" "" "$(find / -xdev -name '*lasthop*' ! -path '/try/*' ! -path '/proc/*' | head -n 5 | tr '\n' ' ')"
	is "purged: in /run" "" "$(find /run -name '*lasthop*' | head -n 5 | tr '\n' ' ')"
	is "purged: units" "" "$(systemctl list-units --all --no-legend --plain '*lasthop*'; systemctl list-unit-files --no-legend '*lasthop*')"
	is "purged: package" "" "$(dpkg -l lasthop 2>/dev/null | grep '^[a-z][a-zA-Z] ' | grep -v '^un')"
}

echo "note: $(. /etc/os-release && echo "$PRETTY_NAME"), $(systemctl --version | head -n 1), Linux $(uname -r)"
ip link add lossy0 type veth peer name mh0 || fail "no veth"
ip link set lossy0 up
ip link set mh0 up
for step in installed served restricted watched instance upgraded gone; do
	$step
done
if dmesg | grep -E 'WARNING:|BUG:|Oops|verifier bug' >/tmp/complaints; then
	fail "kernel log: $(head -n 3 /tmp/complaints | tr '\n' '|')"
else
	ok "kernel log: no warning"
fi
echo "end: $(uname -r)"
sync
systemctl poweroff -ff
