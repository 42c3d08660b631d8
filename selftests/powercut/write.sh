#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: two writers work until the power is cut.
#
# The first time (FORMAT=1) the store is made, and the table of the loader is
# the symbols of the running kernel: each distinct address, and the number of
# its line in /proc/kallsyms.  The host gets a copy before the first record is
# written, and returns the rest of it (/table) after each cut.
set -e
insmod /crabtree.ko $CRAB_PARAMS
if [ -n "$FORMAT" ]; then
	crabctl -d /dev/crab0 format --label demo --yes
	awk '!seen[$1]++ { print "0x" $1, NR }' /proc/kallsyms >/tmp/table
	echo "end of table" | cat /tmp/table - >"$CRAB_OUT"
else
	ln -s /table /tmp/table
fi
crabctl -d /dev/crab0 load --ack "$CRAB_ACK" /tmp/table &
churn /dev/crab0 "$SEED" "$CRAB_CHURN" "$FIRST"
