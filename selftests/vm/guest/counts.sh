#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: for each of STRATEGIES and each of LEAVES format a store, load /keys
# into it and write the costs to CRAB_OUT.
set -e

count() {
	/crabctl format --yes --force --layout sorted --leaf-size "$2" >/dev/null
	/crabctl load /keys >/dev/null
	/crabctl --json info >/info
	tr -d '\n' </info | sed "s/^/$1 $2 /; s/\$/\n/" >"$CRAB_OUT"
	echo "ok $1 $2"
}

for strategy in $STRATEGIES; do
	insmod /crabtree.ko $CRAB_PARAMS $TUNING "strategy=$strategy"
	for leaf in $LEAVES; do
		count "$strategy" "$leaf"
	done
	rmmod crabtree
done
echo "end" >"$CRAB_OUT"
