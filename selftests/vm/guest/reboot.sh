#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: a store that survives reboots.  BOOT is the number of this boot.
# Boot 1 ends by an ordinary power-off, before which a kernel user stores the last record, 2 and 4
# by unloading the module, 3 by a reset of which the module is not notified: durability needs no
# further step, so all records must be there.  A read-only attach reports "unproven" after the reset
# only.
set -e
PATH=/device:$PATH
UNPROVEN=1

# The store of the previous boot
if [ "$BOOT" != 1 ]; then
	insmod /crabtree.ko $CRAB_PARAMS readonly=1
	durability=$(store /dev/crab0 info durability)
	store /dev/crab0 verify $(((BOOT - 1) * 5000))
	rmmod crabtree
	if [ "$BOOT" = 4 ]; then
		[ "$durability" = $UNPROVEN ]
	else
		[ "$durability" != $UNPROVEN ]
	fi
fi
insmod /crabtree.ko $CRAB_PARAMS
[ "$BOOT" != 1 ] || store /dev/crab0 format force
[ "$BOOT" = 1 ] || store /dev/crab0 verify $(((BOOT - 1) * 5000))
[ "$(store /dev/crab0 info repairs)" = 0 ]
if [ "$BOOT" = 1 ]; then
	store /dev/crab0 fill 4999
	insmod /crabtree_kapi.ko test=goes last=4999 uuid="$(cat /sys/class/crabtree/crab0/uuid)"
else
	store /dev/crab0 fill $((BOOT * 5000))
fi
[ $((BOOT % 2)) = 1 ] || rmmod crabtree
echo "ok 1 boot $BOOT"
