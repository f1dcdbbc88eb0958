# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
# $1: how many versions are left. rpm knows no purge: what the operator wrote in /etc/lasthop stays.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
fi
if [ "$1" -eq 0 ]; then
	# The package has files only: with directories cargo-generate-rpm finds no requirements. Those of its
	# pages lie in each other.
	rm -rf /run/lasthop /usr/share/doc/lasthop
	rmdir /usr/share/licenses/lasthop /etc/lasthop 2>/dev/null || :
fi
