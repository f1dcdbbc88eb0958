# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
# $1: how many versions are installed now. Enables and starts nothing; who runs already goes on with
# the new program, as packaging/deb/postinst explains.
hand_over() {
	status=3
	if systemctl is-active --quiet lasthop.service; then
		status=0
		/usr/sbin/lasthop reload --upgrade || status=$?
	fi
	case $status in
	0) ;;
	3) systemctl try-restart lasthop.service || : ;;
	*) echo "lasthop.service goes on with the program from before: systemctl reload lasthop tries again" >&2 ;;
	esac
	systemctl try-restart 'lasthop@*.service' || :
}

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
	if [ "$1" -ge 2 ]; then
		hand_over
		systemctl try-restart lasthop-exporter.service || :
	fi
fi
