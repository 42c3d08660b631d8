#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest, one run of a PLC between two power cuts: attach the store that was cut, check it, load
# the retained variables; then scan until the power is cut. FORMAT=1 makes the store, LAST=1 detaches it
# in place of the scans. With DISK=1 a second PLC does the same with a file on the disk.
set -e
export CRABTREE_DEVICE=/dev/crab0
echo "attaching" >"$CRAB_ACK"
insmod /crabtree.ko $CRAB_PARAMS
[ -z "$FORMAT" ] || crabctl -d /dev/crab0 format --label plc --names --yes
crabctl -d /dev/crab0 check
if [ -n "$DISK" ]; then
	for module in /disk-*; do
		insmod "$module"
	done
	mkdir /disk
	mount -t ext4 /dev/vda /disk
	export FILESTORE=/disk/retain
	echo "file $(scan-file load)" >"$CRAB_OUT"
fi
scan load >"$CRAB_OUT"
echo "end of dump" >"$CRAB_OUT"
if [ -n "$LAST" ]; then
	rmmod crabtree
	[ -z "$DISK" ] || umount /disk
	exit
fi
[ -z "$DISK" ] || scan-file run "$CRAB_FILE" "$FIRST" &
scan run "$CRAB_SCAN" "$FIRST" || echo "CRABTREE FAIL: a save failed"
