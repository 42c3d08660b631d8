#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: attach a store that was cut, and lose power again while at it.
echo "attaching" >"$CRAB_ACK"
insmod /crabtree.ko $CRAB_PARAMS
sleep 30
