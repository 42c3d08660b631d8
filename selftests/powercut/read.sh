#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest, after a power cut: attach, check, and send all records out.
set -e
insmod /crabtree.ko $CRAB_PARAMS
crabctl -d /dev/crab0 --json info | tr -d '\n' | sed 's/^/INFO /'
echo
crabctl -d /dev/crab0 check
crabctl -d /dev/crab0 dump >"$CRAB_OUT"
echo "end of dump" >"$CRAB_OUT"
rmmod crabtree
