#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of hibernation, as far as one boot shows them: an open of /dev/snapshot makes the
# kernel notify its drivers, for reading of an image that is to be made, for writing of
# one that is to replace this kernel.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

LONG_REGION=16M

need_snapshot() { [ -c /dev/snapshot ] || skip "this kernel cannot hibernate"; }

# The driver of virtio-pmem in 6.1 does not come back: the next flush, at power-off, waits for ever
need_image() {
	[ ! -d /sys/bus/virtio/drivers/virtio_pmem ] || skip "virtio_pmem would not survive an image"
}

# detached MODE: by an open of /dev/snapshot, attached again by its close
detached() {
	need_snapshot
	need_zeroes 1048576
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

# The module is loaded after the kernel has notified its drivers: each store is detached once, when all
# processes are frozen, and attached by the end
loaded_between() {
	need_snapshot
	need_image
	need_zeroes 1048576
	exec 3</dev/snapshot
	crabtree "region=$BASE,1M" ram=64K,64K
	dev=$(device "phys:*")
	must store "$dev" format
	must store "$dev" fill 1000
	equal "$(store "$dev" info state)" 1 "state before the image"
	events "$dev" image "$dev" <&3 >/tmp/seen
	sees 3 "poll rejected" "uevent change rejected -"
	events "$dev" image "$dev" <&3 >/tmp/seen
	sees 3
	exec 3>&-
	equal "$(store "$dev" info state)" 1 state
	must store "$dev" verify 1000
	must load -r crabtree
}

# The attach of a region is long enough to meet the notification
added_meanwhile() {
	local pause
	need_snapshot
	need_zeroes 1048576
	crabtree "region=$BASE,$LONG_REGION"
	must store "$(device "phys:*")" format
	load -r crabtree
	crabtree ram=64K
	for pause in 0 0.01 0.02 0.05 0.1; do
		(echo "add region=$BASE,$LONG_REGION" >/dev/crabtree-control) &
		sleep "$pause"
		exec 3</dev/snapshot
		wait
		dev=$(device "phys:*")
		equal "$(store "$dev" info state)" 3 "state after $pause s"
		exec 3>&-
		equal "$(store "$dev" info state)" 1 "state in the end"
		echo "remove ${dev#/dev/}" >/dev/crabtree-control
	done
}

GOING=/sys/module/crabtree_kapi/parameters/going

# each callback of the kernel user for a store that goes takes half a second
slow_user() {
	while [ -e "$GOING" ]; do
		[ "$(cat "$GOING")" = N ] || { sleep 0.5; echo 0 >"$GOING"; }
		sleep 0.02
	done 2>/dev/null
}

# The user is notified that a store goes; the hibernation ends meanwhile, and the store stays
stays() {
	local pause met=0 adds
	[ -e "$CRAB_MODULES/crabtree_kapi.ko" ] || skip "crabtree_kapi.ko was not given"
	need_snapshot
	need_zeroes 1048576
	crabtree "region=$BASE,$LONG_REGION"
	dev=$(device "phys:*")
	must store "$dev" format
	must load "$CRAB_MODULES/crabtree_kapi.ko" test=slow
	slow_user &
	for pause in 0.005 0.01 0.015 0.02 0.03 0 0.002 0.04; do
		echo "remove ${dev#/dev/} force" >/dev/crabtree-control
		log_mark
		(echo "add region=$BASE,$LONG_REGION" >/dev/crabtree-control) &
		adds=$!
		sleep "$pause"
		exec 3</dev/snapshot
		sleep 0.1
		[ "$(cat "$GOING")" = N ] || met=1
		exec 3<&-
		wait "$adds"
		dev=$(device "phys:*")
		equal "$(store "$dev" info state)" 1 "state after $pause s"
		log_has 'store "selftest"'
		[ "$met" = 0 ] || break
	done
	say "met: $met, after $pause s"
	must load -r crabtree_kapi
	dmesg | grep -q "crabtree_kapi: slow: .* 0 not" || fail "crabtree_kapi failed"
}

# FORMAT has made a store, or has changed nothing, also where the notification meets its attach
format_meanwhile() {
	local pause records
	need_snapshot
	need_zeroes 1048576
	crabtree "region=$BASE,$LONG_REGION"
	dev=$(device "phys:*")
	for pause in 0 0 0 0.002 0.005 0.01 0.02; do
		must store "$dev" format force
		must store "$dev" fill 1000
		(store "$dev" format force >/tmp/said || true) &
		sleep "$pause"
		exec 3</dev/snapshot
		wait
		exec 3>&-
		records=$(store "$dev" info records)
		say "after $pause s: $(cat /tmp/said), $records records"
		case $(cat /tmp/said) in
		EBUSY)	equal "$records" 1000 "records after a FORMAT that was refused" ;;
		*)	equal "$(cat /tmp/said):$records" :0 "answer and records" ;;
		esac
	done
}

# A region without a store has nothing to detach
without_store() {
	need_snapshot
	crabtree ram=64K
	dev=$(device ram:65536)
	events "$dev" sh -c "exec 3</dev/snapshot" >/tmp/seen
	sees
	must store "$dev" format
	events "$dev" sh -c "exec 3</dev/snapshot" >/tmp/seen
	sees "poll ready" "uevent change rejected -" "uevent change ready selftest"
}

# GOING and CAME: a kernel user closes its store, and counts once more when it is back
kernel_user() {
	[ -e "$CRAB_MODULES/crabtree_sample.ko" ] || skip "crabtree_sample.ko was not given"
	need_snapshot
	crabtree ram=64K
	dev=$(device ram:65536)
	must store "$dev" format
	must load "$CRAB_MODULES/crabtree_sample.ko" label=selftest
	log_mark
	exec 3</dev/snapshot
	! dmesg | grep -q "crabtree_sample: boots" || fail "counted without a store"
	exec 3<&-
	dmesg | grep -q "crabtree_sample: boots 2, events 2" || fail "did not count twice"
	must load -r crabtree_sample
	equal "$(store "$dev" get 0)" 2 "the counter as the device shows it"
}

tests() {
	it detached "an image is to be made: stores are detached; EBUSY until it is" make
	it detached "an image is to replace this kernel: stores are detached; EBUSY" restore
	it loaded_between "the module is loaded before an image is made: its stores are detached in it"
	it kernel_user "a kernel user closes its store, and has it back"
	it added_meanwhile "a region is added before an image is made: its store is detached until it is"
	it stays "a hibernation ends before a store is detached: its users are notified that it stays"
	it format_meanwhile "FORMAT when an image is to be made: the store is new, or FORMAT is refused"
	it without_store "a region without a store: no notification that it is detached"
}

main "$@"
