#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: the benchmark runs when its module is loaded, and prints the results; then the calls of
# a device, to whose memory CALLS leads.
insmod /crabtree_bench.ko $BENCH && rmmod crabtree_bench && echo "ok 1 bench"
insmod /crabtree.ko $CALLS && /ioctl $KEYS && echo "ok 2 ioctl"
