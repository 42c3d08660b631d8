#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of hibernation, as far as one boot shows them: an open of /dev/snapshot makes the
# kernel notify its drivers, for reading of an image that is to be made, for writing of
# one that is to replace this kernel.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

need_snapshot() { [ -c /dev/snapshot ] || skip "this kernel cannot hibernate"; }

# detached MODE: by an open of /dev/snapshot, attached again by its close
detached() {
	need_snapshot
	need_scratch
	must media zero "$BASE" 1048576
	crabtree "region=$BASE,1M"
	dev=$(device "phys:*")
	must store "$dev" format
	must store "$dev" fill 1000
	case $1 in
	make)		exec 3</dev/snapshot ;;
	restore)	exec 3>/dev/snapshot ;;
	esac
	equal "$(store "$dev" info state)" 3 state
	refuses EBUSY store "$dev" put 1 1
	refuses EBUSY store "$dev" get 1
	refuses EBUSY store "$dev" format force
	exec 3>&-
	equal "$(store "$dev" info state)" 1 state
	must store "$dev" verify 1000
	must store "$dev" fill 2000
}

tests() {
	it detached "an image is to be made: stores are detached; EBUSY until it is" make
	it detached "an image is to replace this kernel: stores are detached; EBUSY" restore
}

main "$@"
