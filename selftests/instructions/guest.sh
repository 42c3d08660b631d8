#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: load the module, report the address of its code, and make the calls that the
# emulator counts.
set -e
insmod /crabtree.ko $CRAB_PARAMS
cat /sys/module/crabtree/sections/.text >"$CRAB_OUT"
exec /caller
