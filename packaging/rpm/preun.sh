# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
# $1: how many versions are left. Of an upgrade the service hears in post.sh.
if [ "$1" -eq 0 ] && command -v systemctl >/dev/null 2>&1; then
	if [ -d /run/systemd/system ]; then
		# The slice is what systemd put the instances into.
		systemctl stop lasthop-exporter.service lasthop.service 'lasthop@*.service' 'system-lasthop*.slice' || :
	fi
	systemctl --no-reload --quiet disable lasthop-exporter.service lasthop.service lasthop@.service || :
fi
