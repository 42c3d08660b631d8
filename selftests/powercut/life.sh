#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest, one run between two power cuts: attach the store that was cut, check it,
# send all records out; then the writers work until the power is cut.  FORMAT, if set, holds
# the options of FORMAT, STARTS the first operation of each writer, CHURN options of churn;
# LAST=1 detaches the store instead.
#
# Starting a program costs most in these machines: as few as possible.
set -e
echo "attaching" >"$CRAB_ACK"
insmod /crabtree.ko $CRAB_PARAMS
[ -z "$FORMAT" ] || crabctl -d /dev/crab0 format --label soak --yes $FORMAT
crabctl -d /dev/crab0 check
case $CHURN in
--names*) churn --dump /dev/crab0 >"$CRAB_OUT" ;;
*) crabctl -d /dev/crab0 dump >"$CRAB_OUT" ;;
esac
echo "end of dump" >"$CRAB_OUT"
if [ -n "$LAST" ]; then
	rmmod crabtree
	exit
fi
writer=0
pairs=
for first in $STARTS; do
	eval "pairs=\"$pairs \$CRAB_CHURN$writer $first\""
	writer=$((writer + 1))
done
churn $CHURN /dev/crab0 $SEED $pairs || echo "CRABTREE FAIL: a writer ended"
