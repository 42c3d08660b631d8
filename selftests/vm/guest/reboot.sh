#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: a store that lives through reboots.  BOOT tells which one this is.
# Boots 2 and 4 end by unloading the module, 1 and 3 by nothing at all: no step
# is ever needed for durability, so both must come back whole.
set -e
PATH=/device:$PATH
insmod /crabtree.ko $CRAB_PARAMS
[ "$BOOT" != 1 ] || store /dev/crab0 format force
[ "$BOOT" = 1 ] || store /dev/crab0 verify $(((BOOT - 1) * 5000))
[ "$(store /dev/crab0 info repairs)" = 0 ]
store /dev/crab0 fill $((BOOT * 5000))
[ $((BOOT % 2)) = 1 ] || rmmod crabtree
echo "ok 1 boot $BOOT"
