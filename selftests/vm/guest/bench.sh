#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: the benchmark runs when its module is loaded, and prints the results.
insmod /crabtree_bench.ko $BENCH && rmmod crabtree_bench && echo "ok 1 bench"
