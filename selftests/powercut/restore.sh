#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest, one run between two power cuts: name the content of the region, "a", "b", "none" or
# "other"; then restore the snapshots a and b in turn until the power is cut. PLAIN=1 formats and loads
# them instead: a cut may then leave a part.
set -e
device=/dev/crab0
insmod /crabtree.ko $CRAB_PARAMS
content() {
	if crabctl -d $device snapshot /found 2>/dev/null; then
		crabctl -d $device check >/dev/null
		for name in a b; do
			! cmp -s /found /$name || { echo $name; return; }
		done
		echo other
	elif [ "$(cat /sys/class/crabtree/crab0/state)" = unformatted ]; then
		echo none
	else
		echo other
	fi
}
restore() {
	if [ -n "$PLAIN" ]; then
		crabctl -d $device format --force --yes --label cut --uuid "$UUID" $KIND
		crabctl -d $device load $1
	else
		crabctl -d $device restore --force --yes $1
	fi
}
content >"$CRAB_OUT"
echo "end of dump" >"$CRAB_OUT"
[ -z "$LAST" ] || exit 0
while :; do
	echo "tick" >"$CRAB_TICK"
	sleep 0.05
done &
while :; do
	for name in a b; do
		echo "begin $name" >"$CRAB_ACK"
		restore /$name >/dev/null
		echo "end $name" >"$CRAB_ACK"
		sleep 0.3	# a cut between two restores
	done
done
