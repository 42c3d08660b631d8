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

# image: does the kernel begin to make one?
image() { (exec 3</dev/snapshot) 2>/tmp/error; }

refused() {
	need_snapshot
	need_scratch
	must media zero "$BASE" 1048576
	crabtree "region=$BASE,1M"
	dev=$(device "phys:*")
	must store "$dev" format
	log_mark
	! image || fail "an image is made of a kernel that has a store attached"
	log_has "hibernation refused"
	must store "$dev" fill 1000
	load -r crabtree
	image || fail "refused without a store: $(cat /tmp/error)"
}

imaged() {
	need_snapshot
	crabtree ram=64K
	must store "$(device ram:65536)" format
	image || fail "refused: $(cat /tmp/error)"
	must store "$(device ram:65536)" fill 100
}

replaced() {
	need_snapshot
	need_scratch
	must media zero "$BASE" 1048576
	crabtree "region=$BASE,1M"
	dev=$(device "phys:*")
	must store "$dev" format
	must store "$dev" fill 1000
	exec 3>/dev/snapshot
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
	it refused "no image of a kernel that has a store attached: EBUSY and a line in the log"
	it imaged "ram= is in the image, and hinders no hibernation"
	it replaced "a kernel about to be replaced has detached its store; EBUSY until it is not"
}

main "$@"
