#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the in-kernel interface: crabtree_kapi calls each of its functions in a store, and
# compares the answers; here its stores are made, taken away, and read through the device.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

need_kapi() {
	[ -e "$CRAB_MODULES/crabtree_kapi.ko" ] || skip "crabtree_kapi.ko was not given"
}

# kapi_begin TEST PARAMETER..., kapi_end: its answers are in the log
kapi_begin() {
	local test="$1"
	shift
	log_mark
	must load "$CRAB_MODULES/crabtree_kapi.ko" "test=$test" "$@"
}

kapi_end() {
	must load -r crabtree_kapi
	dmesg | sed -n 's/^.*crabtree_kapi: /# /p'
	dmesg | grep -q "crabtree_kapi: [a-z_]*: [1-9][0-9]* answers as expected, 0 not" ||
		fail "not all answers are as expected"
}

kapi() {
	kapi_begin "$@"
	kapi_end
}

# identity DEVICE: the parameter
identity() { echo "uuid=$(cat "/sys/class/crabtree/${1##*/}/uuid")"; }

# answers TEST BYTES VERB...: in a store that this verb of the program store makes
answers() {
	local test="$1" bytes="$2"
	shift 2
	need_kapi
	crabtree "ram=$bytes"
	must store "$(device "ram:$bytes")" "$@"
	kapi "$test"
}

# of two stores with one label, the first is opened by it, and each by its identity
opens() {
	local a b
	need_kapi
	two_stores
	kapi opens "$(identity "$b")"
	refuses ENOENT store "$a" get 1
	equal "$(store "$b" get 1)" 10 "the record in the store of that identity"
	kapi opens "$(identity "$a")"
	equal "$(store "$a" get 1)" 10 "the record in the other store"
}

readonly_store() {
	need_kapi
	need_zeroes 65536
	crabtree "region=$BASE,64K"
	must store "$(device "phys:*")" format
	must store "$(device "phys:*")" fill 100
	load -r crabtree
	crabtree "region=$BASE,64K" readonly=1
	kapi readonly
	must store "$(device "phys:*")" verify 100
}

# The second leaf, of 512 bytes, gets a wrong lowest key. The link of the first one is its number + 1
damaged() {
	local link
	need_kapi
	need_zeroes 65536
	crabtree "region=$BASE,64K"
	must store "$(device "phys:*")" format
	must store "$(device "phys:*")" fill 1000
	load -r crabtree
	must media get "$(printf '%#x' $((BASE)))" 65536 /tmp/region
	link=$(od -An -tu1 -j 16384 -N 1 /tmp/region)
	printf '\377\377\377\377' |
		dd of=/tmp/region bs=1 seek=$((16384 + (link - 1) * 512 + 24)) conv=notrunc 2>/dev/null
	must media put "$(printf '%#x' $((BASE)))" /tmp/region
	crabtree "region=$BASE,64K"
	kapi damaged
	equal "$(cat "/sys/class/crabtree/crab0/state")" readonly "the state of a damaged store"
}

# goes_begin DEVICE ERROR: the user of a store is to get ERROR when that has gone
goes_begin() {
	must store "$1" format force
	must store "$1" fill 99
	kapi_begin goes last=99 "error=$2" "$(identity "$1")"
}

reclaims() {
	local dev layout
	need_kapi
	crabtree ram=1M,cache
	dev=$(device ram:1048576)
	for layout in slotted sorted nvtree/append fastfair/shift clfb/inplace nbtree/adr nbtree/eadr; do
		must store "$dev" format force "$layout"
		kapi reclaim
	done
}

removed() {
	local dev
	need_kapi
	crabtree ram=64K
	dev=$(device ram:65536)
	goes_begin "$dev" -19	# ENODEV
	! echo "remove ${dev##*/}" 2>/dev/null >/dev/crabtree-control || fail "removed in use"
	echo "remove ${dev##*/} force" >/dev/crabtree-control
	kapi_end
}

# the last writes find no room, and the removal ends the search for it
removed_full() {
	local dev
	need_kapi
	crabtree ram=1M
	dev=$(device ram:1048576)
	must store "$dev" commits names
	kapi_begin full error=-19	# ENODEV
	echo "remove ${dev##*/} force" >/dev/crabtree-control
	kapi_end
}

hibernates() {
	local dev
	need_kapi
	[ -c /dev/snapshot ] || skip "this kernel cannot hibernate"
	crabtree ram=64K
	dev=$(device ram:65536)
	goes_begin "$dev" -16	# EBUSY
	exec 3</dev/snapshot
	kapi_end
	exec 3<&-
	must store "$dev" verify 100
}

# the stores of all devices are detached by the freeze of one
jumps() {
	local dev other
	need_kapi
	crabtree ram=64K,128K
	dev=$(device ram:65536)
	other=$(device ram:131072)
	must store "$dev" format
	must store "$other" format force slotted 512 other
	must store "$other" fill 100
	kapi jumps "$(identity "$dev")"
	must store "$other" verify 100
	must store "$other" format force
}

tests() {
	it opens "kernel: a store is opened by its label, or by its identity"
	it answers "kernel: each call on one record" records 65536 format
	it answers "kernel: seek, scan and delete_range" ranges 65536 format
	it answers "kernel: commits of records" commits 524288 commits
	it answers "kernel: commits of values" commit_values 524288 commits values
	it answers "kernel: commits of variables" commit_names 524288 commits names
	it answers "kernel: variables" names 16777216 names
	it reclaims "kernel: calls of a task that writes pages back, in each engine"
	it answers "kernel: the same on values" reclaim_values 1048576 commits names
	it readonly_store "kernel: a read-only store: EROFS"
	it damaged "kernel: a damaged store: scans go on after the quarantined range"
	it removed "kernel: a store that is removed: a last record, then ENODEV"
	it removed_full "kernel: a full store that is removed: ENODEV for the last writes, too"
	it hibernates "kernel: a hibernation image is to be made: a last record, then EBUSY"
	it jumps "kernel: a kexec jump: stores are detached by the freeze, and attached by the restore"
}

main "$@"
