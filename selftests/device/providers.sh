#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of regions that are added and removed while the module is loaded, of each provider but
# ram=, which control.c tests; and of reserve=.
#
# shellcheck disable=SC3043,SC2317,SC2329,SC2016
. "$(dirname "$0")/lib.sh"

# control COMMAND... : print the answer; fails if the command does
control() {
	local rc=0
	exec 3<>/dev/crabtree-control
	echo "$*" >&3 2>/dev/null || rc=1
	cat <&3
	exec 3<&-
	return "$rc"
}

# add SPEC: print the node
add() {
	local answer
	answer=$(control "add $1") || fail "add $1: $answer"
	echo "/dev/$answer"
}

# drop NODE
drop() {
	local answer
	answer=$(control "remove ${1#/dev/}") || fail "remove $1: $answer"
}

# refused COMMAND TEXT: with this text in the answer and in the log
refused() {
	local answer
	log_mark
	if answer=$(control "$1"); then fail "$1: worked: $answer"; fi
	case $answer in
	*"$2"*)	;;
	*)	fail "$1: $answer" ;;
	esac
	[ "${1%% *}" = remove ] || log_has "$2"
}

control_region() {
	local dev uuid
	need_zeroes 1048576
	crabtree "region=$BASE,64K"
	refused "add region=$BASE,64K" "is in use, see /proc/iomem"
	refused "add region=$((BASE + 32768)),64K" "is in use, see /proc/iomem"
	dev=$(add "region=$((BASE + 65536)),64K")
	must store "$dev" format
	must store "$dev" fill 500
	uuid=$(store "$dev" info uuid)
	drop "$dev"
	! claimed $((BASE + 65536)) || fail "memory stayed claimed"
	claimed "$BASE" || fail "the other region is gone"
	dev=$(add "region=64K@$((BASE + 65536)),cache")
	must store "$dev" verify 500
	equal "$(store "$dev" info uuid)" "$uuid" uuid
	equal "$(store "$dev" info durability)" 5 durability
	load -r crabtree
	nothing_left
}

control_pmem() {
	local dev
	need_pmem
	crabtree ram=64K
	dev=$(add pmem=/dev/pmem0)
	must store "$dev" format force
	must store "$dev" fill 500
	refused "add pmem=/dev/pmem0" "a part of it is another region already: /dev/pmem0"
	for _ in $(seq 20); do
		drop "$dev"
		dev=$(add pmem=/dev/pmem0)
	done
	must store "$dev" verify 500
	drop "$dev"
	dev=$(add pmem=/dev/pmem0,readonly)
	refuses EROFS store "$dev" put 1 1
}

# the store of each part is its own; the device is free after the last one
pmem_parts() {
	local a b
	need_pmem
	crabtree pmem=/dev/pmem0,0,1M,/dev/pmem0,1M,0x20000
	a=$(device /dev/pmem0,0,1048576)
	b=$(device /dev/pmem0,1048576,131072)
	equal "$(store "$b" info region_bytes)" 131072 bytes
	must store "$a" format force
	must store "$b" format force
	must store "$a" put 1 10
	refuses ENOENT store "$b" get 1
	must store "$b" fill 500
	drop "$a"
	must store "$b" verify 500
	a=$(add pmem=/dev/pmem0,0,1M,readonly)
	equal "$(store "$a" get 1)" 10 "the record of the first store"
	refuses EROFS store "$a" put 1 1
	must store "$b" fill 500
	drop "$a"
	drop "$b"
	b=$(add pmem=/dev/pmem0,1M,128K,readonly)
	must store "$b" verify 500
	refused "add pmem=/dev/pmem0,0,1M" "another region has opened it for reading only"
	a=$(add pmem=/dev/pmem0,0,1M,readonly)
	equal "$(store "$a" get 1)" 10 "the record, read only"
}

pmem_parts_wrong() {
	local b
	need_pmem
	crabtree ram=64K
	b=$(add pmem=/dev/pmem0,1M,1M)
	refused "add pmem=/dev/pmem0,960K,128K" \
		"pmem=/dev/pmem0,983040,131072: a part of it is another region already: /dev/pmem0,1048576,1048576"
	refused "add pmem=/dev/pmem0,2044K,64K" "is another region already"
	refused "add pmem=/dev/pmem0" "is another region already"
	refused "add pmem=/dev/pmem0,512,64K" "/dev/pmem0,512,65536: 0x10000 bytes at 0x200 are not whole pages"
	refused "add pmem=/dev/pmem0,0,65000" "/dev/pmem0,0,65000: 0xfde8 bytes at 0x0 are not whole pages"
	refused "add pmem=/dev/pmem0,0,4K" "less than the smallest"
	refused "add pmem=/dev/pmem0,0,0" "/dev/pmem0: a size of 0"
	refused "add pmem=/dev/pmem0,0" "a size is missing"
	refused "add pmem=/dev/pmem0,1T,64K" "pmem=/dev/pmem0: 65536 bytes at offset 1099511627776 are not within"
	refused "add pmem=/dev/pmem0,0,1T" "are not within its"
	refused "add pmem=/dev/pmem0,17179869185G,64K" "does not fit into 64 bits"
	must store "$b" format force
	drop "$b"
	add pmem=/dev/pmem0 >/dev/null
}

# the driver is unbound under two stores
pmem_parts_unbind() {
	local namespace a b
	need_pmem
	namespace=$(basename "$(readlink /sys/block/pmem0/device)")
	crabtree ram=64K
	a=$(add pmem=/dev/pmem0,0,1M)
	b=$(add pmem=/dev/pmem0,1M,8M)
	must store "$a" format force
	must store "$a" fill 500
	CRABTREE_DEV=$b CRABTREE_DRIVER=/sys/bus/nd/drivers/nd_pmem \
		CRABTREE_BOUND=$namespace nested unbind --only taken
	refused "remove ${a#/dev/}" "no such device"
	refused "remove ${b#/dev/}" "no such device"
	echo "$namespace" >/sys/bus/nd/drivers/nd_pmem/bind
	a=$(add pmem=/dev/pmem0,0,1M)
	b=$(add pmem=/dev/pmem0,1M,8M)
	must store "$a" verify 500
	[ "$(store "$b" info records)" -gt 0 ] || fail "no records"
}

# a bad block is in the list of the part that it lies in, at its offset there
pmem_parts_badblocks() {
	local namespace dev
	need_pmem
	namespace=$(basename "$(readlink /sys/block/pmem0/device)")
	crabtree ram=64K
	dev=$(add pmem=/dev/pmem0,4M,1M)
	must store "$dev" format force slotted 1024
	must store "$dev" fill 3000
	drop "$dev"
	echo "8265 1" >/sys/block/pmem0/badblocks
	(
		set -e
		dev=$(add pmem=/dev/pmem0,2M,1M)
		must store "$dev" format force
		equal "$(store "$dev" info leaves_bad)" 0 "bad leaves of the other part"
		log_mark
		dev=$(add pmem=/dev/pmem0,4M,1M)
		log_has "bad blocks: 512 bytes at offset 37376"
		equal "$(store "$dev" info leaves_bad)" 1 "bad leaves"
	) || namespace="$namespace failed"
	unload
	anew "${namespace% failed}"
	case $namespace in *failed) return 1 ;; esac
}

# memory that fails under two stores is in the list of the one that it belongs to, at its offset there
pmem_parts_failure() {
	local a b
	need_pmem
	need_failure
	crabtree pmem=/dev/pmem0,2M,1M,/dev/pmem0,3M,1M
	a=$(device /dev/pmem0,2097152,1048576)
	b=$(device /dev/pmem0,3145728,1048576)
	must store "$a" format force slotted 1024
	must store "$b" format force slotted 1024
	must store "$a" fill 3000
	must store "$b" fill 3000
	log_mark
	pmem_page $((3145728 + 36864)) >"$FAILURE"
	log_has "memory at offset 36864 became uncorrectable"
	equal "$(store "$a" info leaves_bad)" 0 "bad leaves of the other part"
	must store "$a" verify 3000
	equal "$(store "$b" info leaves_bad)" 4 "bad leaves"
	equal "$(store "$b" info state)" 2 state
	load -r crabtree
	crabtree pmem=/dev/pmem0,3M,1M
	must store "$(device "/dev/pmem0,*")" verify 3000
}

# A region of a partition begins where the partition does, not the disk, whose first pages have no
# bad block of an earlier test
pmem_partition() {
	local dev
	need_pmem
	head -c 32768 /dev/pmem0 >/tmp/front
	must partition /dev/pmem0 1 1048576 8388608
	crabtree pmem=/dev/pmem0p1
	dev=$(device /dev/pmem0p1)
	equal "$(store "$dev" info region_bytes)" 8388608 bytes
	must store "$dev" format force
	must store "$dev" fill 500
	load -r crabtree
	must partition /dev/pmem0 1
	head -c 32768 /dev/pmem0 | must cmp - /tmp/front
	crabtree pmem=/dev/pmem0,1M,8M,readonly
	must store "$(device "/dev/pmem0,*")" verify 500
}

control_pmem_unbind() {
	local namespace dev
	need_pmem
	namespace=$(basename "$(readlink /sys/block/pmem0/device)")
	crabtree ram=64K
	dev=$(add pmem=/dev/pmem0)
	drop "$dev"
	dev=$(add pmem=/dev/pmem0)
	CRABTREE_DEV=$dev CRABTREE_DRIVER=/sys/bus/nd/drivers/nd_pmem \
		CRABTREE_BOUND=$namespace nested unbind --only taken
	refused "remove ${dev#/dev/}" "no such device"
	echo "$namespace" >/sys/bus/nd/drivers/nd_pmem/bind
	dev=$(add pmem=/dev/pmem0)
	[ "$(store "$dev" info records)" -gt 0 ] || fail "no records"
}

control_of() {
	local dev
	[ "$(of_count)" != 0 ] || skip "no device tree, or no region in it"
	crabtree
	dev=$(device "*$(of_node)*")
	refused "remove ${dev#/dev/} force" "a region of the device tree"
	claimed "$(of_address)" || fail "not claimed any more"
}

control_unload() {
	crabtree ram=64K
	exec 4<>/dev/crabtree-control
	refuses EAGAIN load -r crabtree
	exec 4<&-
	load -r crabtree
	[ ! -e /dev/crabtree-control ] || fail "the node stayed"
}

need_reserve() {
	grep -q 'reserve_mem=1M:4096:crab' /proc/cmdline || skip "no reserve_mem= on this machine"
}

reserve() {
	local dev uuid
	need_reserve
	crabtree reserve=crab
	dev=$(device reserve:crab)
	equal "$(store "$dev" info region_bytes)" 1048576 bytes
	must store "$dev" format force
	must store "$dev" fill 1000
	uuid=$(store "$dev" info uuid)
	refused "add reserve=crab" "a part of it is another region already"
	load -r crabtree
	crabtree reserve=crab readonly=1
	dev=$(device reserve:crab)
	sealed 1048576
	must store "$dev" verify 1000
	equal "$(store "$dev" info uuid)" "$uuid" uuid
	refuses EROFS store "$dev" put 1 1
	load -r crabtree
	crabtree reserve=crab,readonly
	dev=$(device reserve:crab)
	sealed 1048576
	must store "$dev" verify 1000
	refuses EROFS store "$dev" put 1 1
}

reserve_parts() {
	local a b
	need_reserve
	crabtree reserve=crab,0,64K,crab,64K,128K,cache
	a=$(device reserve:crab,0,65536)
	b=$(device reserve:crab,65536,131072)
	must store "$a" format force
	must store "$b" format force
	must store "$a" put 1 10
	refuses ENOENT store "$b" get 1
	must store "$b" fill 500
	equal "$(store "$b" info durability)" 5 durability
	refused "add reserve=crab,192K,1M" "not within its 1048576 bytes"
	refused "add reserve=crab,60K,64K" "a part of it is another region already"
	refused "add reserve=crab,192K,0" "a size of 0"
	refused "add reserve=crab,192K" "a size is missing"
	refused "add reserve=crab,196609,64K" "not whole pages"
	refused "add reserve=,0,64K" "a path is missing"
	drop "$a"
	a=$(add reserve=crab,0,64K)
	equal "$(store "$a" get 1)" 10 "the record of the first store"
	must store "$b" verify 500
}

# the oldest kernel that has it is 6.12
reserve_wrong() {
	case $(uname -r) in
	6.[0-9].*|6.1[01].*)
		bad EOPNOTSUPP "reserve=crab: reserve_mem= needs Linux 6.12, this is $(uname -r)" \
			reserve=crab ;;
	*)	bad ENODEV "reserve=nonsense: no such name in reserve_mem=" reserve=nonsense ;;
	esac
}

tests() {
	it control_region "region= added and removed: claimed once, released, the store is there again"
	it control_pmem "pmem= added and removed twenty times"
	it control_pmem_unbind "pmem= added, its driver unbound under a scan and a writer, added again"
	it pmem_parts "pmem=PATH,OFFSET,SIZE: several stores in one device"
	it pmem_parts_wrong "parts of a device that overlap, leave it or are not whole pages are refused"
	it pmem_parts_unbind "the driver of two parts unbound: both regions end, both stores return"
	it pmem_parts_badblocks "a bad block belongs to the part that it lies in"
	it pmem_parts_failure "memory that fails belongs to the part that it lies in"
	it pmem_partition "a partition: nothing before it is written, its store is where it lies"
	it control_of "a region of the device tree is not removed"
	it control_unload "an open control node keeps the module loaded"
	it reserve "reserve=: format, put, reload, all is there; claimed once; served read-only"
	it reserve_parts "reserve=NAME,OFFSET,SIZE: several stores in one reservation"
	it reserve_wrong "reserve= of no such name, or on a kernel before 6.12"
}

main "$@"
