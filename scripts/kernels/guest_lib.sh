# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the inits of guests have in common. To be sourced first: it mounts what programs expect.
# shellcheck shell=dash
export PATH=/usr/bin:/bin HOME=/tmp
# How many times as long as elsewhere things may take: of the kernel's command line, by lib.sh.
slow=${slow:-1}
# Debian's busybox prefers its applets to what PATH finds.
ip() { /usr/bin/ip "$@"; }
tc() { /usr/bin/tc "$@"; }

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
mkdir -p /run/netns
mount -t bpf bpf /sys/fs/bpf
dmesg -n 1

finish() {
	echo "end: $(uname -r)"
	sync
	poweroff -f
}

counter() { # counter NAME: out of the last status
	grep -o "\"$1\": *[0-9]*" /tmp/status | grep -o '[0-9]*$' | head -n 1
}

positive() { # positive NAME
	n=$(counter "$1")
	if [ "${n:-0}" -gt 0 ]; then
		echo "ok: status: $1 $n"
	else
		echo "fail: status: $1 is ${n:-missing}; of the rest $(grep -o '"[a-z_]*": *[1-9][0-9]*' /tmp/status | tr -d '" ' | tr '\n' ' ')"
	fi
}

# An agent with these arguments of `attach`. False: it did not get so far as to say that it is
# attached; it is to be ended in either case.
start_agent() {
	rm -f /tmp/out
	lasthop attach "$@" >/tmp/out 2>/tmp/err </dev/null &
	agent=$!
	# A machine that is busy emulates half as fast: what ends this is the word, or the end of the process.
	for _ in $(seq $((180 * slow))); do
		grep -q attached /tmp/out 2>/dev/null && return
		kill -0 $agent 2>/dev/null || break
		sleep 1
	done
	return 1
}

# Ends it, with its exit status.
end_agent() {
	kill -TERM "$agent" 2>/dev/null
	wait "$agent"
}

# What kind of kernel it is; what looks for mistakes in it, if it has its configuration at hand.
tell_kernel() {
	echo "note: kernel: $(uname -m) $(uname -v)"
	zcat /proc/config.gz 2>/dev/null |
		grep -E '^CONFIG_(KASAN|PROVE_LOCKING|DEBUG_ATOMIC_SLEEP|DEBUG_PREEMPT|DEBUG_NET)=y' >/tmp/looks &&
		echo "note: it looks for mistakes: $(tr '\n' ' ' </tmp/looks)"
}

# What the kernel complains of, though all seems to work. lockdep gives up with its first complaint.
check_log() {
	if [ -e /proc/lockdep_stats ] && ! grep -q 'debug_locks: *1' /proc/lockdep_stats; then
		echo "fail: lockdep has given up: $(grep debug_locks /proc/lockdep_stats)"
	fi
	if dmesg | grep -E 'WARNING:|BUG:|Oops|verifier bug|REG INVARIANTS' >/tmp/complaints; then
		echo "fail: kernel log: $(head -n 3 /tmp/complaints | tr '\n' '|')"
		dmesg | tail -n 60
	else
		echo "ok: kernel log: no warning"
	fi
}

# Inserts the modules that were packed. $1: the parameters of one of them, `NAME PARAMETER...`.
insert_modules() {
	[ -e /modules/order ] || return 0
	while read -r module; do
		parameters=
		[ "$module" != "${1%% *}" ] || parameters=${1#* }
		# shellcheck disable=SC2086
		insmod "/modules/$module.ko" $parameters 2>/dev/null || echo "note: no module $module"
	done </modules/order
}
