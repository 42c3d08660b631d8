#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of notifications: each change of a device's state is a uevent, and ends a poll()
# of its file in sysfs.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

# sees LINE...: the last command's notifications, neither more nor less
sees() {
	local line
	for line in "$@"; do
		grep -qxF "$line" /tmp/seen || fail "no '$line' in: $(cat /tmp/seen)"
	done
	equal "$(wc -l </tmp/seen)" $# "notifications"
}

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

# the media changes under the store, as no power failure changes it
damage() {
	need_scratch
	must media zero "$BASE" 65536
	crabtree "region=$BASE,64K"
	dev=$(device "phys:*")
	must store "$dev" format
	must store "$dev" fill 100
	media zero $((BASE + 16384)) 64 2>/dev/null || skip "claimed memory cannot be mapped here"
	events "$dev" store "$dev" verify 0 >/tmp/seen || true
	grep -v " errors: " /tmp/seen >/tmp/seen.all || true
	mv /tmp/seen.all /tmp/seen
	sees "poll readonly" "uevent change readonly selftest"
	equal "$(cat /sys/class/crabtree/"${dev##*/}"/state)" readonly state
}

tests() {
	it format "FORMAT: a uevent, and poll() wakes" selftest selftest
	it format "a label in a uevent is safe in a path" ".. x%y" '\x2e.\x20x\x25y'
	it nothing "no notification where nothing changed"
	it damage "damage that CHECK finds: a uevent, and poll() wakes"
}

main "$@"
