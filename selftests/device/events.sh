#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of notifications: each change of a device's state is a uevent, and ends a poll()
# of its file in sysfs. A store that turns read-only is in regions.sh.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

format() {
	crabtree ram=64K
	dev=$(device ram:65536)
	must store "$dev" format
	events "$dev" store "$dev" format force slotted 512 "$1" >/tmp/seen
	sees "poll ready" "uevent change ready $2"
}

nothing() {
	crabtree ram=64K
	dev=$(device ram:65536)
	must store "$dev" format
	! events "$dev" store "$dev" format >/tmp/seen || fail "formatted without force"
	equal "$(cat /tmp/seen)" EEXIST "a FORMAT that is refused"
	events "$dev" store "$dev" fill 100 >/tmp/seen
	sees
}

tests() {
	it format "FORMAT: a uevent, and poll() wakes" selftest selftest
	it format "a label in a uevent is safe in a path" ".. x%y" '\x2e.\x20x\x25y'
	it nothing "no notification where nothing changed"
}

main "$@"
