#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs in the guest, as a service of its systemd: installs the package, has it serve a device and help
# a transfer, goes to another version and back under that, stops the daemon dead, purges. Every result is
# one line, `ok:`, `note:` or `fail:`. In /try are three packages: first.deb, as it was built; second.deb, of a
# higher version; apart.deb, which believes connections to be laid out otherwise. And first.rpm and
# second.rpm, for a guest that has rpm.
set -u
# shellcheck source=scripts/packages/guest_lib.sh
. /try/guest_lib.sh
# CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF.
three=000000c000001000

installed() {
	dpkg -i /try/first.deb >/tmp/dpkg 2>&1 || fail "dpkg -i: $(tail -n 3 /tmp/dpkg | tr '\n' '|')"
	is "installed" "install ok installed" "$(dpkg-query -W -f '${Status}' lasthop)"
	is "after installation" "disabled inactive 0" \
		"$(systemctl is-enabled lasthop) $(systemctl is-active lasthop) $(programs)"
	is "after installation, the exporter" "disabled inactive" \
		"$(systemctl is-enabled lasthop-exporter) $(systemctl is-active lasthop-exporter)"
	has "conffile" "^ /etc/lasthop/lasthop.toml" "$(dpkg-query -W -f '${Conffiles}' lasthop)"
	is "configuration beside comments" "" "$(grep -vE '^(#|$)' /etc/lasthop/lasthop.toml)"
	is "program, of root" "755 root" "$(stat -c '%a %U' /usr/sbin/lasthop)"
	has "documentation" "lasthop-reload.8.gz" "$(dpkg -L lasthop)"
}

# What it is compared with: the sender repairs all losses itself.
unhelped() {
	begin
	soon 300 dropped_since "$dropped_before" 40 || fail "the link loses nothing"
	finish "without agent"
	least "sent again by the sender, of $losses losses without agent" $((losses * 8 / 10)) "$repairs"
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
	begin
	if soon 120 repaired 10; then ok "a transfer is helped"; else fail "no repairs: $(flow)"; fi
}

# Its unit is as it was installed: it needs no more than to be started.
exported() {
	systemctl -q enable --now lasthop-exporter || fail "enable --now lasthop-exporter"
	is "exporter" "enabled active" "$(systemctl is-enabled lasthop-exporter) $(systemctl is-active lasthop-exporter)"
	if soon 60 told_of lossy0; then ok "exporter: tells of lossy0"; else fail "exporter: $(scrape | head -c 400)"; fi
	least "exporter: series of lossy0" 90 "$(scrape | grep -c '^lasthop_.*device="lossy0"')"
	has "exporter: repairs" '^lasthop_local_retransmits_total\{device="lossy0",reason="[a-z]+"\} [1-9]' "$(scrape)"
	is "exporter: capabilities" "0000000000000000" \
		"$(awk '$1 == "CapEff:" { print $2 }' "/proc/$(main_pid lasthop-exporter)/status")"
	most "exporter: exposure, tenths" 20 "$(exposure lasthop-exporter)"
}

# Under that transfer.
reloaded() {
	local port
	port=$(field fh_port "$(flow)")
	sed -i '/^\[/i scheme = "snoop"' /etc/lasthop/conf.d/try.toml
	systemctl reload lasthop || fail "reload with another scheme"
	has "another scheme" '"scheme": ?"snoop"' "$(status)"
	echo 'nonsense = 1' >/etc/lasthop/conf.d/wrong.toml
	if systemctl reload lasthop 2>/tmp/err; then fail "a wrong line is no error"; else ok "a wrong line: reload fails"; fi
	rm /etc/lasthop/conf.d/wrong.toml
	has "and all stays" '"scheme": ?"snoop"' "$(status)"
	sed -i '/^scheme/d' /etc/lasthop/conf.d/try.toml
	systemctl reload lasthop || fail "reload with the first scheme"
	has "the first scheme again" '"scheme": ?"rack"' "$(status)"
	is "process over four reloads" "$pid active" "$(main_pid lasthop) $(systemctl is-active lasthop)"
	is "the connection over four reloads" "$port" "$(field fh_port "$(flow)")"
	if soon 60 helped; then ok "not in mid-stream"; else fail "in mid-stream: $(flow)"; fi
}

restricted() {
	local field
	for field in "CapBnd $three" "CapEff $three" "NoNewPrivs 1" "Seccomp 2"; do
		is "running: ${field% *}" "${field#* }" "$(awk -v f="${field% *}:" '$1 == f { print $2 }' "/proc/$(main_pid "$unit")/status")"
	done
	is "/run/lasthop" "700 root" "$(stat -c '%a %U' /run/lasthop)"
	# Warnings of the daemon: of rights, and of what its sandbox refused; and the manager's, of a main
	# process that it does not take for its own.
	is "complaints" "" "$(journalctl -q --no-pager -o cat -u "$unit" |
		grep -iE "can't give up|EPERM|not permitted|denied|go unnoticed|not our child|only permitted" | head -n 3)"
	most "exposure, tenths" 20 "$(exposure "$unit")"
}

# To another version and back, under the same transfer.
exchanged() {
	exporter=$(main_pid lasthop-exporter)
	handed_over "upgrade" dpkg -i /try/second.deb
	restricted # the one that has taken over
	exported_anew "upgrade" "$exporter"
	handed_over "downgrade" dpkg -i /try/first.deb
	finish "over reloads, upgrade and downgrade"
	least "losses of it" 40 "$losses"
	most "sent again by the sender, of $losses losses" $((losses / 2)) "$repairs"
}

# The exporter has no connections: it is started anew, of the program that is installed now.
exported_anew() { # exported_anew WHAT PID
	if other_pid lasthop-exporter "$2"; then ok "$1: the exporter is started anew"; else fail "$1: the exporter is still $2"; fi
	is "$1: the exporter is of the installed program" "$(file_of /usr/sbin/lasthop-exporter)" "$(program_of lasthop-exporter)"
	if soon 60 told_of lossy0; then ok "$1: the exporter answers again"; else fail "$1: the exporter: $(scrape | head -c 400)"; fi
}

# A version that can't follow: it says why in one line, and the service is started anew. The connection
# lives on, but as one that was picked up in mid-stream.
apart() {
	local before pid
	begin
	soon 120 repaired 5 || fail "no repairs: $(flow)"
	before=$(field fh_port "$(flow)")
	pid=$(main_pid lasthop)
	dpkg -i /try/apart.deb >/tmp/said 2>&1 || fail "dpkg -i: $(tail -n 3 /tmp/said | tr '\n' '|')"
	is "another layout: lines that say why" 1 "$(grep -c 'another layout' /tmp/said)"
	if other_pid lasthop "$pid"; then ok "another layout: started anew"; else fail "another layout: $pid goes on"; fi
	is "another layout: of the installed program" "$(file_of /usr/sbin/lasthop)" "$(program_of lasthop)"
	if soon 120 picked_up "$before"; then
		ok "another layout: picked up in mid-stream, port $before"
	else
		fail "another layout: not picked up in mid-stream: $(flow)"
	fi
	finish "over a version that can't follow"
	dpkg -i /try/first.deb >/tmp/said 2>&1
	is "and back" "1 $(file_of /usr/sbin/lasthop)" "$(grep -c 'another layout' /tmp/said) $(program_of lasthop)"
}
picked_up() { [ "$(field fh_port "$(flow)") $(field why "$(flow)")" = "$1 midstream" ]; }

# With a wrong line the next one would not start: the one from before goes on, enabled or not.
wrong() {
	systemctl -q disable lasthop
	pid=$(main_pid lasthop)
	echo 'nonsense = 1' >/etc/lasthop/conf.d/wrong.toml
	dpkg -i /try/second.deb >/tmp/said 2>&1 || fail "dpkg -i: $(tail -n 3 /tmp/said | tr '\n' '|')"
	has "upgrade with a wrong line: says why" 'nonsense' "$(cat /tmp/said)"
	is "upgrade with a wrong line: the old one goes on" "$pid active" "$(main_pid lasthop) $(systemctl is-active lasthop)"
	rm /etc/lasthop/conf.d/wrong.toml
	systemctl reload lasthop || fail "reload after that"
	is "reload after that: the new one, still disabled" "$(file_of /usr/sbin/lasthop) disabled" \
		"$(program_of lasthop) $(systemctl is-enabled lasthop)"
	if [ "$(main_pid lasthop)" = "$pid" ]; then fail "reload after that: still $pid"; fi
}

# The one that took over says nothing any more: the manager notices, and what comes after serves again.
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

# One that took over is no child of the manager's when it says that it is the main process. It is missed
# all the same.
killed() {
	dpkg -i /try/first.deb >/tmp/said 2>&1
	has "to the first version" 'upgraded: process' "$(cat /tmp/said)"
	pid=$(main_pid lasthop)
	kill -KILL "$pid"
	if soon 60 other_pid lasthop "$pid"; then ok "killed: served anew"; else fail "killed: $(systemctl is-active lasthop)"; fi
}

# The template, beside the daemon and alone; neither takes the directory from the other. `attach` is followed
# as the daemon is, in mid-transfer and with the unit's restrictions.
instance() {
	systemctl start lasthop@spare0 || fail "lasthop@spare0"
	has "an instance" '"dev": ?"spare0"' "$(status)"
	pid=$(main_pid lasthop)
	instance_followed "upgrade of both" second.deb
	has "upgrade of both: the daemon too" "upgraded: process $(main_pid lasthop) in the place of $pid" "$(cat /tmp/said)"
	systemctl stop lasthop
	has "the instance alone" '"dev": ?"spare0"' "$(status)"
	instance_followed "downgrade while the daemon is stopped" first.deb
	is "downgrade while the daemon is stopped: it stays so" inactive "$(systemctl is-active lasthop)"
	unit=lasthop@lossy0
	systemctl start $unit || fail "$unit"
	begin
	soon 120 repaired 5 || fail "an instance: no repairs: $(flow)"
	handed_over "upgrade of an instance" dpkg -i /try/second.deb
	restricted
	finish "over an instance's upgrade"
	systemctl stop $unit
	unit=lasthop
	pid=$(main_pid lasthop@spare0)
	dpkg -i /try/apart.deb >/tmp/said 2>&1 || fail "dpkg -i: $(tail -n 3 /tmp/said | tr '\n' '|')"
	has "an instance, another layout: says why" 'another layout' "$(cat /tmp/said)"
	if other_pid lasthop@spare0 "$pid"; then ok "an instance, another layout: started anew"; else fail "an instance, another layout: still $pid"; fi
	dpkg -i /try/first.deb >/tmp/said 2>&1 || fail "dpkg -i: $(tail -n 3 /tmp/said | tr '\n' '|')"
	systemctl start lasthop || fail "start again"
	systemctl enable -q lasthop lasthop@spare0
	echo '# mine' >>/etc/lasthop/lasthop.toml
}
instance_followed() { # instance_followed WHAT DEB
	local pid
	pid=$(main_pid lasthop@spare0)
	dpkg -i "/try/$2" >/tmp/said 2>&1 || fail "dpkg -i: $(tail -n 3 /tmp/said | tr '\n' '|')"
	has "$1: the instance is followed" "upgraded: process $(main_pid lasthop@spare0) in the place of $pid" "$(cat /tmp/said)"
	is "$1: the instance is active, not started anew" "active 0" \
		"$(systemctl is-active lasthop@spare0) $(systemctl show -P NRestarts lasthop@spare0)"
	is "$1: the instance is of the installed program" "$(file_of /usr/sbin/lasthop)" "$(program_of lasthop@spare0)"
	has "$1: it serves" '"dev": ?"spare0"' "$(status)"
}

left() { # left WHAT: nothing of it may be left
	is "$1: files" "" "$(find / -xdev \( -name '*lasthop*' -o -lname '*lasthop*' \) ! -path '/try/*' ! -path '/proc/*' ! -path '/tmp/*' | head -n 5 | tr '\n' ' ')"
	is "$1: in /run and cgroups" "" "$(find /run /sys/fs/cgroup -name '*lasthop*' | head -n 5 | tr '\n' ' ')"
	is "$1: units" "" "$(systemctl list-units --all --no-legend --plain '*lasthop*'; systemctl list-unit-files --no-legend '*lasthop*')"
	is "$1: users and groups" "$accounts" "$(cat /etc/passwd /etc/group | sha256sum)"
	is "$1: processes and programs" "0 0" "$(pgrep -c '^lasthop') $(programs)"
	is "$1: the exporter's answer" "" "$(scrape | head -c 80)"
}

gone() {
	handed_over_unseen dpkg -i /try/second.deb
	is "before removal: the exporter runs" active "$(systemctl is-active lasthop-exporter)"
	dpkg -r lasthop >/tmp/dpkg 2>&1 || fail "dpkg -r: $(tail -n 3 /tmp/dpkg | tr '\n' '|')"
	is "removed" "0 0 inactive" "$(programs) $(pgrep -c '^lasthop') $(systemctl is-active lasthop)"
	has "what the operator wrote stays" '^# mine' "$(cat /etc/lasthop/lasthop.toml)"
	dpkg -P lasthop >/tmp/dpkg 2>&1 || fail "dpkg -P: $(tail -n 3 /tmp/dpkg | tr '\n' '|')"
	left "purged"
	is "purged: package" "" "$(dpkg -l lasthop 2>/dev/null | grep '^[a-z][a-zA-Z] ' | grep -v '^un')"
}
handed_over_unseen() {
	pid=$(main_pid lasthop)
	"$@" >/tmp/said 2>&1
	has "before removal: handed over once more" "in the place of $pid" "$(cat /tmp/said)"
}

# The same by rpm, whose scripts are others.
by_rpm() {
	if ! command -v rpm >/dev/null 2>&1; then
		echo "note: no rpm in this guest"
		return
	fi
	# Its database is empty: of what the package requires it knows nothing.
	rpm -i --nodeps /try/first.rpm >/tmp/said 2>&1 || fail "rpm -i: $(tail -n 3 /tmp/said | tr '\n' '|')"
	is "rpm: after installation" "disabled inactive 0 disabled inactive" \
		"$(systemctl is-enabled lasthop) $(systemctl is-active lasthop) $(programs) $(systemctl is-enabled lasthop-exporter) $(systemctl is-active lasthop-exporter)"
	printf 'cache_total = "8MiB"\nmax_flows = 256\n[device.lossy0]\n' >>/etc/lasthop/lasthop.toml
	systemctl -q enable --now lasthop lasthop-exporter || fail "rpm: enable --now"
	begin
	soon 120 repaired 5 || fail "rpm: no repairs: $(flow)"
	exporter=$(main_pid lasthop-exporter)
	handed_over "rpm -U" rpm -U --nodeps /try/second.rpm
	exported_anew "rpm -U" "$exporter"
	handed_over "rpm -U --oldpackage" rpm -U --nodeps --oldpackage /try/first.rpm
	finish "over rpm's upgrade and downgrade"
	most "rpm: sent again by the sender, of $losses losses" $((losses / 2)) "$repairs"
	rpm -e lasthop >/tmp/said 2>&1 || fail "rpm -e: $(tail -n 3 /tmp/said | tr '\n' '|')"
	has "rpm -e: what the operator wrote is kept" 'device.lossy0' "$(cat /etc/lasthop/lasthop.toml.rpmsave)"
	rm -r /etc/lasthop
	left "rpm -e"
}

echo "note: $(. /etc/os-release && echo "$PRETTY_NAME"), $(systemctl --version | head -n 1), glibc $(ldd --version 2>/dev/null | sed -n '1s/.* //p'), Linux $(uname -r)"
build_net || fail "no network to try it in"
head -c 65536 /dev/urandom >/tmp/block
accounts=$(cat /etc/passwd /etc/group | sha256sum)
for step in installed unhelped served exported reloaded restricted exchanged apart wrong watched killed instance gone by_rpm; do
	SECONDS=0
	$step
	echo "note: $step took $SECONDS s"
done
if dmesg | grep -E 'WARNING:|BUG:|Oops|verifier bug' >/tmp/complaints; then
	fail "kernel log: $(head -n 3 /tmp/complaints | tr '\n' '|')"
else
	ok "kernel log: no warning"
fi
echo "end: $(uname -r)"
sync
systemctl poweroff -ff
