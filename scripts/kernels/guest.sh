#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The guest's init: tries lasthop on the kernel at hand. Every result is one
# line, `ok:`, `note:` or `fail:`; `end:` says that it got to its end.
# shellcheck shell=dash
/bin/busybox --install -s /bin 2>/dev/null
# shellcheck source=scripts/kernels/guest_lib.sh
. /guest_lib.sh

# An error message is one line: what, why, what to do. $1: what it names, $2: what is wrong here.
check_refused() {
	timeout $((60 * slow)) lasthop attach lossy0 --once >/tmp/out 2>/tmp/err </dev/null
	rc=$?
	lines=$(grep -c . /tmp/err)
	if [ $rc = 1 ] && [ "$lines" = 1 ] && [ ! -s /tmp/out ] && grep -q "$1" /tmp/err; then
		echo "ok: attach refuses, exit 1: $(cat /tmp/err)"
	else
		echo "fail: attach $2: exit $rc, $lines lines: $(head -n 5 /tmp/err | tr '\n' '|')"
	fi
	timeout $((60 * slow)) lasthop check lossy0 >/tmp/out 2>&1 </dev/null
	rc=$?
	if [ $rc = 1 ] && grep '^failed' /tmp/out | grep -q "$1"; then
		echo "ok: check fails, exit 1: $(grep '^failed' /tmp/out | tr '\n' '|')"
	else
		echo "fail: check $2: exit $rc: $(tr '\n' '|' </tmp/out)"
	fi
}

# fh (10.1.0.1) - this host, the agent on lossy0 - mh (10.2.0.2)
build_net() {
	ip link set lo up
	ip netns add fh && ip netns add mh || return 1
	ip link add wired0 type veth peer name fh0 netns fh || return 1
	ip link add lossy0 type veth peer name mh0 netns mh || return 1
	ip addr add 10.1.0.2/24 dev wired0
	ip addr add 10.2.0.1/24 dev lossy0
	ip link set wired0 up
	ip link set lossy0 up
	echo 1 >/proc/sys/net/ipv4/ip_forward
	ip -n fh addr add 10.1.0.1/24 dev fh0
	ip -n mh addr add 10.2.0.2/24 dev mh0
	for h in fh mh; do
		ip -n $h link set lo up
		ip -n $h link set ${h}0 up
	done
	ip -n fh route add default via 10.1.0.2
	ip -n mh route add default via 10.2.0.1
}

# Two megabytes from fh to mh. $1: what is special about it.
transfer() {
	rm -f /tmp/got /tmp/open
	mkfifo /tmp/open # nc ends with its input: this one has no end
	ip netns exec mh timeout $((60 * slow)) nc -l -p 5001 <>/tmp/open >/tmp/got &
	server=$!
	sleep 1
	ip netns exec fh timeout $((60 * slow)) nc 10.2.0.2 5001 </tmp/sent >/dev/null
	wait $server
	if cmp -s /tmp/sent /tmp/got; then
		echo "ok: transfer, $1: $(wc -c </tmp/got) bytes, all as sent"
	else
		echo "fail: transfer, $1: $(wc -c </tmp/got) of $(wc -c </tmp/sent) bytes, or others"
	fi
}

# A source of MAC events, without which one scheme is refused: an emulated radio link of nobody's.
start_source() {
	ip link add emu0 type veth peer name emu1 && ip link add emu2 type veth peer name emu3
	for d in emu0 emu1 emu2 emu3; do ip link set $d up; done
	echo '{"a": "emu1", "b": "emu2", "mac": {"standard": "802.11b"}}' >/tmp/linkemu.json
	linkemu run --config /tmp/linkemu.json --control /run/linkemu >/tmp/linkemu 2>&1 &
	for _ in $(seq 10); do
		[ -S /run/linkemu ] && return
		sleep 1
	done
	echo "fail: no source of MAC events: $(tail -n 1 /tmp/linkemu)"
}

# The verifier sees another program with each scheme, and with a key: all of them must load.
try_schemes() {
	(umask 077 && lasthop key new >/tmp/key)
	start_source
	schemes=$(lasthop attach lossy0 --scheme '?' 2>&1 | sed -n 's/.*have: //p' | tr -d ,)
	[ "$(echo "$schemes" | wc -w)" -ge 4 ] || echo "fail: schemes: only '$schemes'"
	if [ "$slow" -ge 8 ]; then
		echo "note: this kernel is slow: schemes rack and dproxy alone"
		schemes="rack dproxy"
	fi
	for scheme in $schemes; do
		if start_agent lossy0 --scheme "$scheme" --key /tmp/key --mac-events /run/linkemu; then
			echo "ok: scheme $scheme: $(verified | tr '\n' ' ')"
		else
			echo "fail: scheme $scheme: $(head -n 5 /tmp/err | tr '\n' '|')"
			RUST_LOG=lasthop=debug lasthop attach lossy0 --scheme "$scheme" --key /tmp/key \
				--mac-events /run/linkemu 2>&1 </dev/null |
				grep -B 60 '^processed' # the verifier's last words
		fi
		end_agent
	done
}

check_agent() {
	timeout $((60 * slow)) lasthop check lossy0 >/tmp/out 2>&1 </dev/null
	rc=$?
	if [ $rc = 0 ]; then
		echo "ok: check: $(wc -l </tmp/out) lines"
	else
		echo "fail: check: exit $rc: $(tr '\n' '|' </tmp/out)"
	fi
	if ! start_agent lossy0 --scheme rack; then
		end_agent
		echo "fail: attach: exit $?"
		cat /tmp/out /tmp/err
		return
	fi
	[ "$(verified | wc -l)" -ge 4 ] || echo "fail: verifier: programs: $(verified | tr '\n' ' ')"
	verified | while read -r name insns; do
		echo "ok: verifier: $name $insns instructions"
	done
	head -c 2097152 /dev/urandom >/tmp/sent
	transfer "super-packets"
	ip -n fh link set fh0 gso_max_segs 1
	if tc qdisc add dev lossy0 root netem loss 2% limit 10000 2>/tmp/tc; then
		transfer "2 % loss"
	else
		echo "note: no netem, so no loss: $(head -n 1 /tmp/tc)"
		transfer "single segments"
	fi
	timeout $((10 * slow)) lasthop status -j >/tmp/status 2>/tmp/err2 || echo "fail: status -j: $(cat /tmp/err2)"
	positive cached_segments
	[ -s /tmp/tc ] || positive local_retransmits
	end_agent
	rc=$?
	left=$(verified | wc -l)
	if [ $rc = 0 ] && [ "$left" = 0 ]; then
		echo "ok: detach: exit 0, nothing left"
	else
		echo "fail: detach: exit $rc, $left programs left: $(cat /tmp/err)"
	fi
}

# A transfer over the agent on device $1 with repairs. $2: what is special about it.
helped() {
	if start_agent "$1"; then
		transfer "$2"
		timeout $((10 * slow)) lasthop status -j >/tmp/status 2>/tmp/err2 || echo "fail: status -j: $(cat /tmp/err2)"
		positive local_retransmits
	else
		echo "fail: attach to $1: $(head -n 5 /tmp/err | tr '\n' '|')"
	fi
	end_agent
}

# The lossy device below and beside others. The agent is where losses are and routing is done.
try_stacked() {
	if ip link add br0 type bridge 2>/tmp/err; then
		ip addr del 10.2.0.1/24 dev lossy0
		ip link set lossy0 master br0
		ip addr add 10.2.0.1/24 dev br0
		ip link set br0 up
		helped lossy0 "port of a bridge"
		ip link del br0
		ip addr add 10.2.0.1/24 dev lossy0
	else
		echo "note: no bridge: $(head -n 1 /tmp/err)"
	fi
	if ip link add vrf0 type vrf table 10 2>/tmp/err; then
		ip link set vrf0 up
		ip link set wired0 master vrf0
		ip link set lossy0 master vrf0
		helped lossy0 "in a VRF"
		ip link set lossy0 nomaster
		ip link set wired0 nomaster
		ip link del vrf0
	else
		echo "note: no VRF: $(head -n 1 /tmp/err)"
	fi
	if ip link add bond9 type bond mode active-backup miimon 100 2>/tmp/err; then
		ip addr del 10.2.0.1/24 dev lossy0
		ip link set lossy0 down
		ip link set lossy0 master bond9
		ip addr add 10.2.0.1/24 dev bond9
		ip link set bond9 up
		helped bond9 "a bond"
		ip link del bond9
		ip addr add 10.2.0.1/24 dev lossy0
		ip link set lossy0 up
	else
		echo "note: no bond: $(head -n 1 /tmp/err)"
	fi
}

# hop_loses SHARE: of the packets that go a long way to MH.
hop_loses() {
	tc qdisc change dev lossy0 root netem delay 40ms loss "$1" limit 10000
}

# Seconds in which nothing gets over the hop, from the first bytes on: only timers end that. A small window and
# a long way leave something to send for then. A slow link would, too, but with a queue that stands, before
# which losses may be those of who manages it.
try_outage() {
	rm -f /tmp/got
	ip netns exec mh sh -c 'echo "4096 32768 32768" >/proc/sys/net/ipv4/tcp_rmem'
	hop_loses 2%
	(
		for _ in $(seq $((6000 * slow))); do
			[ ! -s /tmp/got ] || break
			usleep 10000
		done
		hop_loses 100%
		sleep 3
		hop_loses 2%
	) &
	event=$!
	helped lossy0 "an outage"
	positive retransmits_timer
	wait $event
}

# Something happens to the machine in the middle of a transfer.
try_events() {
	cpu=/sys/devices/system/cpu/cpu1/online
	if [ -w $cpu ]; then
		(sleep 2 && echo 0 >$cpu && sleep 1 && echo 1 >$cpu) &
		event=$!
		helped lossy0 "a CPU goes and comes back"
		wait $event || echo "fail: CPU 1 did not go"
	else
		echo "note: no CPU that could go"
	fi
	# Down to the last step, from which the kernel itself wakes after some seconds.
	if echo core 2>/dev/null >/sys/power/pm_test && grep -qw mem /sys/power/state; then
		(sleep 2 && echo mem >/sys/power/state) &
		event=$!
		helped lossy0 "the machine sleeps"
		wait $event || echo "fail: the machine did not sleep"
		echo none >/sys/power/pm_test
	else
		echo "note: the machine can't sleep"
	fi
}

insert_modules ""
tell_kernel
if ! build_net 2>/tmp/err; then
	echo "fail: test network: $(head -n 1 /tmp/err)"
	finish
fi
release=$(uname -r)
major=${release%%.*}
minor=${release#*.}
minor=${minor%%[!0-9]*}
if [ "$major" -lt 6 ] || { [ "$major" = 6 ] && [ "$minor" -lt 6 ]; }; then
	check_refused '6\.6' "on an old kernel"
elif [ ! -e /sys/kernel/btf/vmlinux ]; then
	check_refused CONFIG_DEBUG_INFO_BTF "on a kernel without BTF"
else
	check_agent
	[ -s /tmp/tc ] || { try_stacked; try_outage; try_events; }
	try_schemes
fi
check_log
finish
