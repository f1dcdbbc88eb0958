# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
# $1: how many versions are installed now. Enables and starts nothing; who runs already goes on with
# the new program.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
	if [ "$1" -ge 2 ]; then
		systemctl try-restart lasthop.service 'lasthop@*.service' || :
	fi
fi
