# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What guest.sh is made of: results, what systemd and the agent say, transfers over the lossy link.
# shellcheck shell=bash

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
# That a number is large enough, or small enough.
least() { # least WHAT NUMBER FOUND
	if [ "${3:-0}" -ge "$2" ]; then ok "$1: $3, at least $2"; else fail "$1: ${3:-none}, less than $2"; fi
}
most() { # most WHAT NUMBER FOUND
	if [ "${3:-1}" -le "$2" ]; then ok "$1: $3, at most $2"; else fail "$1: ${3:-none}, more than $2"; fi
}
# Tries for a while whether a command ends well. It is no measure: machines are emulated.
soon() { # soon SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}

programs() { /try/verified | grep -c "^lh_"; }
# It serves what it was told to. Programs alone say little: they are loaded one after another.
attached() { [ "$(programs)" -ge 2 ] && grep -q '"dev": *"lossy0".*"state": *"attached"' <<<"$(status)"; }
main_pid() { systemctl show -P MainPID "$1"; }
status() { timeout 20 lasthop status -j 2>&1; }
file_of() { stat -L -c 'file %d:%i' "$1" 2>&1; }
# What `handed_over` and others are about.
unit=lasthop
program_of() { file_of "/proc/$(main_pid "$1")/exe"; } # of a service: what it runs, replaced or not
other_pid() { # other_pid UNIT PID: it runs anew
	local now
	now=$(main_pid "$1")
	[ "$now" != 0 ] && [ "$now" != "$2" ] && systemctl -q is-active "$1"
}
# The manager's clock of the last sign of life, which goes on.
fed() { systemctl show -P WatchdogTimestampMonotonic "$unit"; }
fed_since() { [ "$(fed)" != "$1" ]; }
is_fed() { soon 30 fed_since "$(fed)"; }

# Of a service, in tenths.
exposure() { systemd-analyze security --no-pager "$1" | sed -n 's/.* exposure level .*: \([0-9]*\)\.\([0-9]\) .*/\1\2/p' | sed 's/^0//'; }
# What the exporter says; there is no curl.
scrape() {
	timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/9788 && printf "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9788\r\nConnection: close\r\n\r\n" >&3 && cat <&3' 2>/dev/null | tr -d '\r'
}
told_of() { scrape | grep -q "^lasthop_attached{device=\"$1\"} 1"; } # told_of DEVICE

field() { # field NAME OBJECT: the first of that name
	grep -o "\"$1\": *[^,}]*" <<<"$2" | head -n 1 | sed 's/^[^:]*: *//; s/"//g'
}

# fh (10.1.0.1) - this host, the agent on lossy0 - mh (10.2.0.2). 2 % of what goes to mh gets lost,
# which the queue discipline counts.
build_net() {
	local h
	ip netns add fh && ip netns add mh || return 1
	ip link add wired0 type veth peer name fh0 netns fh || return 1
	ip link add lossy0 type veth peer name mh0 netns mh || return 1
	ip link add spare0 type veth peer name spare1 || return 1
	ip addr add 10.1.0.2/24 dev wired0
	ip addr add 10.2.0.1/24 dev lossy0
	for h in wired0 lossy0 spare0 spare1; do ip link set $h up; done
	ip -n fh addr add 10.1.0.1/24 dev fh0
	ip -n mh addr add 10.2.0.2/24 dev mh0
	for h in fh mh; do
		ip -n $h link set lo up
		ip -n $h link set ${h}0 up
	done
	ip -n fh route add default via 10.1.0.2
	ip -n mh route add default via 10.2.0.1
	echo 1 >/proc/sys/net/ipv4/ip_forward
	# Losses are of segments, not of super-packets.
	ip -n fh link set fh0 gso_max_segs 1
	tc qdisc add dev lossy0 root netem loss 2% delay 10ms rate 6mbit limit 1000
}

dropped() { tc -s qdisc show dev lossy0 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | head -n 1; }
resent() { # what the sender has sent again itself
	# shellcheck disable=SC2016
	ip netns exec fh awk '$1 == "Tcp:" && $13 ~ /^[0-9]/ { print $13 }' /proc/net/snmp
}
dropped_since() { [ $(($(dropped) - $1)) -ge "$2" ]; } # dropped_since BEFORE NUMBER
listening() { [ "$(ip netns exec mh ss -Hltn sport = :5001)" ]; }

# A transfer from fh to mh that goes on until `finish`.
begin() {
	rm -f /tmp/enough /tmp/got /tmp/sent /tmp/blocks /tmp/feed /tmp/hold
	mkfifo /tmp/feed /tmp/hold # nc ends with its input: this one has no end
	dropped_before=$(dropped)
	resent_before=$(resent)
	{ ip netns exec mh timeout 900 /try/busybox nc -l -p 5001 <>/tmp/hold | sha256sum >/tmp/got; } &
	receiver=$!
	soon 30 listening || fail "no receiver"
	sha256sum </tmp/feed >/tmp/sent &
	summer=$!
	{ blocks | tee /tmp/feed | ip netns exec fh timeout 900 /try/busybox nc 10.2.0.2 5001 >/dev/null; } &
}
# No two are the same.
blocks() {
	local n=0
	until [ -e /tmp/enough ]; do
		n=$((n + 1))
		echo $n
		cat /tmp/block
	done
	echo $n >/tmp/blocks
}

# All of it arrived as it was sent, and who repaired the losses. $1: what is special about it.
finish() {
	touch /tmp/enough
	wait "$receiver" "$summer"
	# shellcheck disable=SC2034 # for who finishes
	losses=$(($(dropped) - dropped_before))
	# shellcheck disable=SC2034
	repairs=$(($(resent) - resent_before))
	if [ -s /tmp/sent ] && cmp -s /tmp/sent /tmp/got; then
		ok "transfer, $1: $(cat /tmp/blocks) blocks of 64 KiB, the same by SHA-256 at both ends"
	else
		fail "transfer, $1: $(cut -c1-16 /tmp/sent) was sent, $(cut -c1-16 /tmp/got) arrived"
	fi
}

# What the agent says of that connection.
flow() { timeout 20 lasthop flows -j --why | grep '"mh_port": *5001[,}]' | grep -v '"state": *"\(closed\|reset\)"' | tail -n 1; }
repairs_of_flow() { field local_retransmits "$(flow)"; }
repaired() { [ "$(repairs_of_flow || echo 0)" -ge "$1" ] 2>/dev/null; } # repaired NUMBER

# Of a connection in mid-stream it never says so: that is the word which comes before.
helped() { [ "$(field why "$(flow)")" = helped ]; }

# Another version by COMMAND, in mid-transfer: the next process has the connection as the one before had it.
handed_over() { # handed_over WHAT COMMAND...
	local what=$1 before after created pid next restarts program processes
	shift
	before=$(flow)
	created=$(field flows_created "$(status)")
	pid=$(main_pid "$unit")
	restarts=$(systemctl show -P NRestarts "$unit")
	program=$(program_of "$unit")
	processes=$(pgrep -c -x lasthop)
	"$@" >/tmp/said 2>&1 || fail "$what: $(tail -n 3 /tmp/said | tr '\n' '|')"
	next=$(main_pid "$unit")
	has "$what: says so" "upgraded: process $next in the place of $pid" "$(cat /tmp/said)"
	is "$what: of the installed program" "$(file_of /usr/sbin/lasthop)" "$(program_of "$unit")"
	if [ "$(program_of "$unit")" = "$program" ]; then fail "$what: still of the $program from before"; fi
	is "$what: the service is active, not started anew" "active running $restarts" \
		"$(systemctl is-active "$unit") $(systemctl show -P SubState "$unit") $(systemctl show -P NRestarts "$unit")"
	is "$what: processes, in the service" "$processes $(systemctl show -P ControlGroup "$unit")" \
		"$(pgrep -c -x lasthop) $(sed -n 's/^0:://p' "/proc/$next/cgroup")"
	if is_fed && is_fed; then ok "$what: the watchdog is fed"; else fail "$what: the watchdog is not fed"; fi
	after=$(flow)
	is "$what: the same connection" "$(field fh_port "$before") $created" \
		"$(field fh_port "$after") $(field flows_created "$(status)")"
	if soon 60 helped; then ok "$what: not in mid-stream"; else fail "$what: $(flow)"; fi
	if awk "BEGIN { exit !($(field age_s "$after") >= $(field age_s "$before")) }"; then
		ok "$what: age of the flow goes on from $(field age_s "$before") s"
	else
		fail "$what: age of the flow $(field age_s "$after") s, before $(field age_s "$before") s"
	fi
	least "$what: repairs of the flow" "$(field local_retransmits "$before")" "$(field local_retransmits "$after")"
	if soon 120 repaired $(($(field local_retransmits "$after") + 5)); then
		ok "$what: goes on to repair"
	else
		fail "$what: no more repairs than $(repairs_of_flow)"
	fi
	# All that was said above is this process's: the watchdog, for one, has not had it killed since.
	is "$what: the same process to the end" "$next $restarts" "$(main_pid "$unit") $(systemctl show -P NRestarts "$unit")"
}
