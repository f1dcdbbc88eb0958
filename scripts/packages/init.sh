#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The initramfs' init: lays the distribution out in memory and hands over to its systemd, which runs guest.sh.
# shellcheck shell=dash
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
while read -r module; do
	insmod "/modules/$module.ko" 2>/dev/null || echo "note: no module $module"
done </modules/order
mkdir /new
mount -t tmpfs -o size=75%,mode=755 tmpfs /new
tar -xf /system.tar -C /new || echo "fail: it could not be laid out"
rm /system.tar
cp -r /try /new/try
umount /proc
mount --move /dev /new/dev
exec switch_root /new /lib/systemd/systemd
