#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The guest's init: an access point and a station of mac80211_hwsim, and hosts behind them. Every
# result is one line, `ok:`, `note:` or `fail:`; `end:` says that it got to its end.
# shellcheck shell=dash
/bin/busybox --install -s /bin 2>/dev/null
# shellcheck source=scripts/kernels/guest_lib.sh
. /guest_lib.sh

# What the medium does: three of ten attempts are lost, and 27 of 1,000 frames after three of them.
loss=0.3
tries=3
# Its names for the radios, by which it counts.
ap_radio=42:00:00:00:00:00
station_radio=42:00:00:00:01:00

# fh (10.1.0.1) - this host, the access point wlan0 - mh, the station wlan1 (10.2.0.2). The wire takes
# 20 ms each way and carries a packet in 6 ms downwards, so that the emulated processors keep up;
# windows of 64 KiB, since mac80211_hwsim forgets frames when 100 wait for the medium.
build_net() {
	ip link set lo up
	ip netns add fh && ip netns add mh || return 1
	ip link add wired0 type veth peer name fh0 netns fh || return 1
	phy=phy$(iw dev wlan1 info | sed -n 's/.*wiphy //p')
	iw phy "$phy" set netns name mh || return 1
	ip addr add 10.1.0.2/24 dev wired0
	ip addr add 10.2.0.1/24 dev wlan0
	ip link set wired0 up
	echo 1 >/proc/sys/net/ipv4/ip_forward
	ip -n fh addr add 10.1.0.1/24 dev fh0
	ip -n mh addr add 10.2.0.2/24 dev wlan1
	for h in fh mh; do
		ip -n $h link set lo up
		ip netns exec $h sh -c 'echo 4096 65536 65536 >/proc/sys/net/ipv4/tcp_rmem'
	done
	ip -n fh link set fh0 gso_max_segs 1
	ip -n fh link set fh0 up
	ip -n mh link set wlan1 up
	ip -n fh route add default via 10.1.0.2
	ip -n mh route add default via 10.2.0.1
	ip netns exec fh /usr/bin/tc qdisc add dev fh0 root netem delay 20ms rate 2mbit limit 1000 &&
		tc qdisc add dev wired0 root netem delay 20ms limit 1000
}

# The access point, and the station that joins it.
join() {
	cat >/tmp/hostapd.conf <<-EOF
		interface=wlan0
		driver=nl80211
		ssid=lasthop
		hw_mode=g
		channel=1
		wmm_enabled=1
	EOF
	printf 'network={\n\tssid="lasthop"\n\tkey_mgmt=NONE\n\tscan_freq=2412\n}\n' >/tmp/supplicant.conf
	hostapd /tmp/hostapd.conf >/tmp/hostapd.log 2>&1 &
	ip netns exec mh /usr/bin/wpa_supplicant -D nl80211 -i wlan1 -c /tmp/supplicant.conf \
		>/tmp/supplicant.log 2>&1 &
	for _ in $(seq 60); do
		if ip netns exec mh /usr/bin/iw dev wlan1 link | grep -q '^Connected' &&
			ip netns exec mh ping -c 1 -W 1 10.2.0.1 >/dev/null 2>&1; then
			echo "ok: the station has joined"
			return
		fi
		sleep 1
	done
	echo "fail: the station does not join: $(tail -n 3 /tmp/hostapd.log /tmp/supplicant.log | tr '\n' '|')"
	return 1
}

# A medium with seed $1, which both stations are known to.
start_medium() {
	rm -f /tmp/medium
	hwsim-medium --loss $loss --tries $tries --seed "$1" >/tmp/medium 2>/tmp/medium.err &
	medium=$!
	for _ in $(seq 20); do
		if grep -q serves /tmp/medium && ip netns exec mh ping -c 1 -W 1 10.2.0.1 >/dev/null 2>&1; then
			return
		fi
		sleep 1
	done
	echo "fail: no medium: $(tail -n 1 /tmp/medium.err)"
	return 1
}

end_medium() {
	kill -TERM $medium
	wait $medium
	echo "note: medium: $(tail -n 1 /tmp/medium)"
	[ ! -s /tmp/medium.err ] || echo "fail: medium: $(head -n 1 /tmp/medium.err)"
}

# What it counted of a radio's frames.
aired() { # aired RADIO NAME
	grep -o "\"$1\":{[^}]*}" /tmp/medium | grep -o "\"$2\":[0-9]*" | grep -o '[0-9]*$'
}

# Segments that a host's TCP has sent again.
retransmitted() { # retransmitted HOST
	ip netns exec "$1" cat /proc/net/snmp | awk '/^Tcp:/ { n = $13 } END { print n }'
}

# A file from $1 to $2 with address $3. $4: what is special about it. Sets `resent` and `seconds`.
transfer() {
	rm -f /tmp/got /tmp/open
	mkfifo /tmp/open # nc ends with its input: this one has no end
	ip netns exec "$2" timeout 240 nc -l -p 5001 <>/tmp/open >/tmp/got &
	server=$!
	sleep 1
	before=$(retransmitted "$1")
	begin=$(cut -d ' ' -f 1 /proc/uptime)
	ip netns exec "$1" timeout 240 nc "$3" 5001 </tmp/sent >/dev/null
	wait $server
	seconds=$(echo "$begin $(cut -d ' ' -f 1 /proc/uptime)" | awk '{ print $2 - $1 }')
	resent=$(($(retransmitted "$1") - before))
	if cmp -s /tmp/sent /tmp/got; then
		echo "ok: $4: $(wc -c </tmp/got) bytes, all as sent, in $seconds s; the sender sent $resent segments again"
	else
		echo "fail: $4: $(wc -c </tmp/got) of $(wc -c </tmp/sent) bytes, or others"
	fi
}

# Whether the medium did what it was asked to: attempts are lost at the rate, frames that were not
# delivered were given up.
check_medium() { # check_medium RADIO WHAT
	if awk -v frames="$(aired "$1" frames)" -v attempts="$(aired "$1" attempts)" \
		-v lost="$(aired "$1" lost_attempts)" -v delivered="$(aired "$1" delivered)" \
		-v given_up="$(aired "$1" given_up)" -v loss=$loss 'BEGIN {
			share = lost / (attempts ? attempts : 1)
			print frames " frames, " given_up " given up, " share " of the attempts lost"
			exit !(frames > 1000 && delivered + given_up == frames && given_up &&
				share > loss - 0.03 && share < loss + 0.03)
		}' >/tmp/aired; then
		echo "ok: medium, $2: $(cat /tmp/aired)"
	else
		echo "fail: medium, $2: $(cat /tmp/aired)"
	fi
}

# Losses of the air that reach the senders, each way, for comparison.
try_bare() {
	head -c 2097152 /dev/urandom >/tmp/sent
	start_medium 1 || return
	transfer fh mh 10.2.0.2 "down, no agent"
	[ "$resent" -gt 0 ] || echo "fail: the sender saw no loss"
	transfer mh fh 10.1.0.1 "up, no agent"
	[ "$resent" -gt 0 ] || echo "fail: the sender saw no loss"
	end_medium
	check_medium $ap_radio "from the access point"
	check_medium $station_radio "from the station"
}

# Whether two counts differ by at most 2 %.
alike() { # alike WHAT OURS MEDIUM'S
	if [ -n "$2" ] && [ -n "$3" ] && [ $((($2 - $3) * ($2 - $3) * 2500)) -le $(($3 * $3)) ]; then
		echo "ok: $1: the agent has $2, the medium $3"
	else
		echo "fail: $1: the agent has ${2:-none}, the medium ${3:-none}"
	fi
}

# An agent in namespace $1 (`-`: this one) on device $2 with these further arguments, listening to
# mac80211.
start_csnoop() {
	ns=$1 device=$2
	shift 2
	rm -f /tmp/out
	run=lasthop
	[ "$ns" = - ] || run="/usr/bin/ip netns exec $ns /usr/bin/lasthop"
	RUST_LOG=lasthop=info $run attach "$device" --scheme csnoop --mac-events mac80211 "$@" \
		>/tmp/out 2>/tmp/err </dev/null &
	agent=$!
	for _ in $(seq 120); do
		grep -q attached /tmp/out 2>/dev/null && return
		kill -0 $agent 2>/dev/null || break
		sleep 1
	done
	echo "fail: attach: $(head -n 5 /tmp/err | tr '\n' '|')"
	return 1
}

# A transfer from $1 to $2 with address $3 over the agent that was started; radio $4 is on its side.
# $5: what is special about it, $6: the medium's seed. What the sender has to send again because of
# the air is a quarter of what was given up at the most.
helped() {
	start_medium "$6" || return
	transfer "$1" "$2" "$3" "$5"
	$run status -j >/tmp/status 2>/tmp/err2 || echo "fail: status -j: $(cat /tmp/err2)"
	end_medium
	check_medium "$4" "$5"
	given_up=$(aired "$4" given_up)
	alike "$5, delivered" "$(counter mac_delivered)" "$(aired "$4" delivered)"
	alike "$5, given up" "$(counter mac_given_up)" "$given_up"
	positive retransmits_mac
	again=$(aired "$4" again)
	if [ $((again * 10)) -ge $((given_up * 9)) ]; then
		echo "ok: $5: $again of $given_up packets that were given up came again as they were"
	else
		echo "fail: $5: $again of $given_up packets that were given up came again as they were"
	fi
	if [ $((resent * 4)) -le "$given_up" ]; then
		echo "ok: $5: the sender sent $resent segments again, the air lost $given_up"
	else
		echo "fail: $5: the sender sent $resent segments again, the air lost $given_up"
	fi
	echo "note: $5: from given up to its repair in the air: $(aired "$4" again_median_us) us (median), $(aired "$4" again_p90_us) us (90 %), $(aired "$4" again_most_us) us at the most"
}

stop_csnoop() {
	end_agent || echo "fail: detach: exit $?: $(tail -n 1 /tmp/err)"
	! grep WARN /tmp/err || echo "fail: agent: $(grep WARN /tmp/err | head -n 1)"
	echo "note: agent: $(tail -n 1 /tmp/err)"
}

try_agent() {
	lasthop check wlan0 >/tmp/check 2>&1 </dev/null
	if grep mac80211: /tmp/check | grep -q '^ok'; then
		echo "ok: check: $(grep mac80211: /tmp/check)"
	else
		echo "fail: check: $(grep mac80211: /tmp/check)"
	fi
	head -c 6291456 /dev/urandom >/tmp/sent
	if start_csnoop - wlan0; then
		helped fh mh 10.2.0.2 $ap_radio "down, csnoop at the access point" 2
	fi
	stop_csnoop
	if start_csnoop mh wlan1 --role mobile; then
		helped mh fh 10.1.0.1 $station_radio "up, csnoop at the station" 3
	fi
	stop_csnoop
}

insert_modules "mac80211_hwsim radios=2"
if ! build_net 2>/tmp/err; then
	echo "fail: test network: $(head -n 1 /tmp/err)"
	finish
fi
join || finish
try_bare
try_agent
check_log
finish
