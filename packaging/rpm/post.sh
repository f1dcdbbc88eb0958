# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
# $1: how many versions are installed now. Enables and starts nothing; who runs already goes on with
# the new program, as packaging/deb/postinst explains.
services() { # services STATE
	systemctl list-units --plain --no-legend --state="$1" lasthop.service 'lasthop@*.service' | cut -d ' ' -f 1
}
of_this_file() { # of_this_file SERVICE
	# shellcheck disable=SC3013 # all shells have it that packages run by
	[ "/proc/$(systemctl show -P MainPID "$1")/exe" -ef /usr/sbin/lasthop ]
}
hand_over() {
	for service in $(services activating); do
		systemctl try-restart "$service" || :
	done
	[ "$(services active)" ] || return 0
	status=0
	/usr/sbin/lasthop reload --upgrade || status=$?
	case $status in
	0) ;;
	3)
		for service in $(services active); do
			of_this_file "$service" || systemctl try-restart "$service" || :
		done
		;;
	*) echo "who is not followed goes on with the program from before: systemctl reload of the service tries again" >&2 ;;
	esac
}

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
	if [ "$1" -ge 2 ]; then
		hand_over
		systemctl try-restart lasthop-exporter.service || :
	fi
fi
