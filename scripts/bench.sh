#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Benchmarks of the agent, all in one run: nanoseconds per packet of the BPF
# programs, then plain forwarding over a link without emulator, without and with
# the agent in turn, as a ratio, and the delay that a packet finds in the agent.
# Ends with 1 if one of these could not be measured; how fast it is decides nothing.
# Short: one round of a second, to see that it works.
#   scripts/bench.sh DIRECTORY-OF-THE-BINARIES [short]
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(realpath "${1:-target/release}")
# Not the beginning of the test bed's own names, which `lasthop-lab down --all` takes away.
run=bench-lasthop$$
fail() {
	echo "bench: $*" >&2
	exit 1
}

case ${2:-} in
'') rounds=5 seconds=3 ;;
short) rounds=1 seconds=1 ;;
*)
	echo "bench: there is no form '$2', only 'short'" >&2
	exit 2
	;;
esac
[ "$(id -u)" = 0 ] || fail "needs root: sudo make bench"

echo "== BPF programs, nanoseconds per packet (BPF_PROG_TEST_RUN)"
LASTHOP_BENCH_ROUNDS=$rounds cargo bench -q --locked -p lasthop --bench packet

agent= server= log=$(mktemp) stats=$(sysctl -n kernel.bpf_stats_enabled 2>/dev/null || echo 0)
cleanup() {
	set +e # an agent that is dead already must not end this
	[ -n "$agent" ] && kill "$agent" 2>/dev/null
	[ -n "$server" ] && kill "$server" 2>/dev/null
	sysctl -qw kernel.bpf_stats_enabled="$stats" 2>/dev/null || true
	for host in fh bs mh; do ip netns del "$run-$host" 2>/dev/null || true; done
	rm -f "$log"
}
trap cleanup EXIT

# FH eth0 --- eth0 BS wl0 --- eth0 MH: veth, no emulator. FH sends single
# segments; BS merges them (GRO), so that the agent sees super-packets.
in_ns() { nsenter --net="/run/netns/$run-$1" "${@:2}"; }
for host in fh bs mh; do ip netns add "$run-$host"; done
ip link add eth0 netns "$run-fh" type veth peer name eth0 netns "$run-bs"
ip link add wl0 netns "$run-bs" type veth peer name eth0 netns "$run-mh"
address() { ip -n "$run-$1" addr add "$3/24" dev "$2"; ip -n "$run-$1" link set "$2" up; }
address fh eth0 10.1.0.2
address bs eth0 10.1.0.1
address bs wl0 10.2.0.1
address mh eth0 10.2.0.2
ip -n "$run-fh" route add default via 10.1.0.1
ip -n "$run-mh" route add default via 10.2.0.1
# As a sender's card has a queue: without one veth drops what its ring of 256 packets has no room for.
tc -n "$run-fh" qdisc add dev eth0 root pfifo limit 20000
in_ns bs sysctl -qw net.ipv4.ip_forward=1
in_ns fh ethtool -K eth0 tso off gso off >/dev/null
in_ns bs ethtool -K eth0 gro on >/dev/null
for host in fh mh; do in_ns $host sysctl -qw net.ipv4.tcp_no_metrics_save=1; done
nsenter --net="/run/netns/$run-mh" iperf3 -s >/dev/null 2>&1 &
server=$!
deadline=$((SECONDS + 5))
until in_ns mh ss -ltn | grep -q :5201; do
	[ $SECONDS -lt $deadline ] || fail "iperf3 does not listen"
done

gbit() {
	in_ns fh iperf3 -c 10.2.0.2 -C cubic -t "$seconds" -J |
		sed -n '/"sum_received"/,/}/s/.*"bits_per_second":[[:space:]]*\([0-9.e+]*\).*/\1/p' |
		awk '{ printf "%.2f\n", $1 / 1e9 }'
}

measure() {
	speed=$(gbit) && awk -v s="$speed" 'BEGIN { exit !(s > 0) }' || fail "iperf3 has measured nothing"
}

# Mean time in each program since it was loaded: the delay of a packet.
program_ns() {
	local fd
	for fd in /proc/"$agent"/fdinfo/*; do
		awk '/^prog_id/ { id = $2 } /^run_time_ns/ { t = $2 } /^run_cnt/ { n = $2 }
			END { if (id && n > 100) printf "%d %.0f\n", n, t / n }' "$fd" 2>/dev/null
	done | sort -u
}

echo "== forwarding without emulator, GRO on, $rounds rounds of $seconds s each way"
without=() with=()
for round in $(seq $((rounds + 1))); do
	# One more round for the delay: measuring it takes time itself.
	if [ "$round" -gt "$rounds" ]; then
		sysctl -qw kernel.bpf_stats_enabled=1 2>/dev/null || true
	else
		measure
		without+=("$speed")
	fi
	: >"$log" # now, not when the child gets there: the last round's says "attached", too
	# Not through a function: $! must be the agent itself.
	nsenter --net="/run/netns/$run-bs" "$bin/lasthop" attach wl0 --scheme snoop >"$log" &
	agent=$!
	deadline=$((SECONDS + 10))
	until grep -q "attached to wl0" "$log"; do
		[ $SECONDS -lt $deadline ] || fail "lasthop does not attach"
	done
	measure
	[ "$round" -gt "$rounds" ] || with+=("$speed")
	status=$(in_ns bs "$bin/lasthop" status -j)
	programs=$(program_ns)
	kill "$agent"
	wait "$agent" || true
	agent=
done
median() { printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
field() { grep -oE "\"$1\":[0-9]+" <<<"$status" | head -n 1 | cut -d: -f2; }
a=$(median "${without[@]}") b=$(median "${with[@]}")
data=$(field data_bytes) cached=$(field cached_bytes)
[ "${data:-0}" -gt 0 ] && [ $((2 * cached)) -gt "$data" ] ||
	fail "the agent has cached ${cached:-0} of ${data:-0} bytes"
echo "without agent: ${without[*]} Gbit/s"
echo "with agent:    ${with[*]} Gbit/s"
awk -v a="$a" -v b="$b" -v d="$data" -v c="$cached" 'BEGIN {
	printf "ratio of medians: %.2f; bytes cached: %.2f %%\n", b / a, 100 * c / d
	printf "{\"bench\":\"forwarding\",\"without_gbit\":%s,\"with_gbit\":%s,\"ratio\":%.3f,\"cached_pct\":%.3f}\n", a, b, b / a, 100 * c / d
}'
if [ -z "$programs" ]; then
	[ "$(sysctl -n kernel.bpf_stats_enabled 2>/dev/null)" != 1 ] || fail "no program has run"
	echo "skipped: the delay in a program, kernel.bpf_stats_enabled can't be set"
	exit 0
fi
echo "added one-way delay: mean time of a packet (here a super-packet of up to 64 KiB, or an ACK) in a program:"
awk '{ printf "    %s runs, %s ns each\n", $1, $2 }' <<<"$programs"
