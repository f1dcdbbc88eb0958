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

# fh (10.1.0.1) - this host, the access point wlan0 - mh, the station wlan1 (10.2.0.2). Packets are
# 2 ms apart and the wire takes 20 ms each way, so that the emulated processors keep up; windows of
# 64 KiB, since mac80211_hwsim forgets frames when 100 wait for the medium.
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
	ip netns exec fh /usr/bin/tc qdisc add dev fh0 root netem delay 20ms rate 6mbit limit 1000 &&
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

insert_modules "mac80211_hwsim radios=2"
if ! build_net 2>/tmp/err; then
	echo "fail: test network: $(head -n 1 /tmp/err)"
	finish
fi
join || finish
try_bare
check_log
finish
