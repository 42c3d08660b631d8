#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of regions: each parameter that cannot be obeyed fails the load with an
# errno and a line in the log that names the fault, and leaves nothing claimed;
# each provider's region is claimed exclusively and served.
#
# shellcheck disable=SC3043,SC2317,SC2329,SC2016
. "$(dirname "$0")/lib.sh"

OF_DRIVER=/sys/bus/platform/drivers/crabtree

# the same with BASE in the parameters, once it is known
bad_region() {
	local error="$1" log="$2" params
	need_scratch
	params=$(eval "echo \"$3\"")
	bad "$error" "$log" "$params"
}

iomem_ram() { sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) : System RAM.*/\1 \2/p' /proc/iomem | tail -n1; }

system_ram() {
	local range
	range=$(iomem_ram)
	bad EINVAL "System RAM" "region=0x${range% *},64K"
}

system_ram_end() {
	local range end
	range=$(iomem_ram)
	end=$((0x${range#* } + 1))
	bad EINVAL "System RAM" "region=$((end - 0x10000)),128K"
}

# page tables have no room for the highest bit; without it, the address is one of memory
unreachable() {
	local error=EBUSY log="in use" option
	need_scratch
	case $(uname -m) in aarch64) error=ENOMEM log="cannot map" ;; esac
	for option in "" ,readonly; do
		bad "$error" "$log" "region=$((BASE + (1 << 60))),1M$option"
	done
}

wrong_pmem() {
	local want="$1" path="$2" cause="$3"
	if has_dax; then
		bad "$want" "pmem=$path: cannot open it exclusively: error -[0-9]*: $cause" "pmem=$path"
	else
		bad EOPNOTSUPP "pmem=$path: not supported by this kernel" "pmem=$path"
	fi
}

ram() {
	local dev
	crabtree ram=64K
	dev=$(device ram:65536)
	equal "$(store "$dev" info state)" 0 state
	equal "$(store "$dev" info region_bytes)" 65536 bytes
	equal "$(store "$dev" info durability)" 0 durability
	must store "$dev" format
	must store "$dev" fill 500
	must store "$dev" verify 500
	equal "$(store "$dev" info state)" 1 state
	load -r crabtree
	nothing_left
}

ram_many() {
	local a b
	crabtree ram=64K,1M,0x20000
	a=$(device ram:65536)
	b=$(device ram:131072)
	device ram:1048576 >/dev/null
	must store "$a" format
	must store "$b" format
	must store "$a" put 1 10
	refuses ENOENT store "$b" get 1
	must store "$b" put 1 20
	equal "$(store "$a" get 1)" 10 "the first store"
	[ "$(store "$a" info uuid)" != "$(store "$b" info uuid)" ]
}

least() {
	crabtree ram=32K
	must store "$(device ram:32768)" format
	must store "$(device ram:32768)" fill 100
	must store "$(device ram:32768)" verify 100
}

claim() {
	need_zeroes 1048576
	crabtree "region=$BASE,1M"
	claimed "$BASE" || fail "not in /proc/iomem"
	device "phys:*" >/dev/null
	if media get "$BASE" 4096 /tmp/stolen 2>/dev/null; then
		fail "root may map claimed memory"
	fi
	load -r crabtree
	nothing_left
	must media get "$BASE" 4096 /tmp/free
}

claim_at() {
	need_zeroes 1048576
	crabtree "region=64K@$BASE,$((BASE + 65536)),64K"
	equal "$(find /sys/class/crabtree -name "crab[0-9]*" | wc -l)" "$((2 + $(of_count)))" devices
}

# readonly_load OPTION PARAMETER... : an option of the region, or parameters of the module
readonly_load() {
	local option="$1" dev
	shift
	need_zeroes 65536
	crabtree "region=$BASE,64K"
	dev=$(device "phys:*")
	must store "$dev" format
	must store "$dev" fill 300
	load -r crabtree
	must media get "$BASE" 65536 /tmp/before
	crabtree "region=$BASE,64K$option" "$@"
	dev=$(device "phys:*")
	equal "$(store "$dev" info state)" 2 state
	sealed 65536
	must store "$dev" verify 300
	refuses EROFS store "$dev" put 1 1
	refuses EROFS store "$dev" put 1000000 1
	refuses EROFS store "$dev" format force
	load -r crabtree
	must media same "$BASE" /tmp/before
}

readonly_blank() {
	local dev
	need_zeroes 65536
	must media get "$BASE" 65536 /tmp/before
	crabtree "region=$BASE,64K" readonly=1
	dev=$(device "phys:*")
	equal "$(store "$dev" info state)" 0 state
	refuses EROFS store "$dev" format
	load -r crabtree
	must media same "$BASE" /tmp/before
}

# persistent caches only where they are declared, and never for volatile memory
caches_ram() {
	local dev
	crabtree ram=64K,cache,128K
	device ram:131072 >/dev/null
	dev=$(device ram:65536)
	equal "$(store "$dev" info durability)" 0 durability
	must store "$dev" format
	must store "$dev" fill 500
	must store "$dev" verify 500
}

caches_region() {
	local a b
	need_zeroes 1048576
	crabtree "region=64K@$BASE,cache,$((BASE + 65536)),64K"
	a=$(device "phys:$(printf %#x "$BASE"),0x10000")
	b=$(device "phys:$(printf %#x $((BASE + 65536))),0x10000")
	must store "$a" format
	must store "$b" format
	equal "$(store "$a" info durability)" 5 "durability where it is declared"
	[ "$(store "$b" info durability)" != 5 ] || fail "durability where it is not declared"
	must store "$a" fill 500
	must store "$a" verify 500
}

# a layout that needs caches that persist: refused where none are declared, unless it is only read
caches_layout() {
	local a b needs="layout eadr needs a region whose caches persist"
	need_zeroes 1048576
	crabtree "region=64K@$BASE,cache,$((BASE + 65536)),64K"
	a=$(device "phys:$(printf %#x "$BASE"),0x10000")
	b=$(device "phys:$(printf %#x $((BASE + 65536))),0x10000")
	log_mark
	refuses EOPNOTSUPP store "$b" format force nbtree/eadr
	log_has "$needs"
	must store "$a" format force nbtree/eadr
	must store "$a" fill 500
	load -r crabtree
	crabtree "region=64K@$BASE"
	a=$(device "phys:$(printf %#x "$BASE"),0x10000")
	equal "$(store "$a" info state)" 3 "state without the declaration"
	equal "$(store "$a" info reason)" "$needs" reason
	load -r crabtree
	crabtree "region=64K@$BASE" readonly=1
	must store "$(device "phys:$(printf %#x "$BASE"),0x10000")" verify 500
	load -r crabtree
	crabtree "region=64K@$BASE,cache"
	a=$(device "phys:$(printf %#x "$BASE"),0x10000")
	must store "$a" verify 500
	must store "$a" put 500 1
}

# only root may read physical addresses
region_name() {
	crabtree ram=64K
	equal "$(stat -c %a "/sys/class/crabtree/$(basename "$(device ram:65536)")/region")" 400 mode
}

# the device tree's region: reserved, unmapped, found without a parameter
of_region() {
	local dev node
	[ "$(of_count)" != 0 ] || skip "no device tree, or no region in it"
	crabtree
	node=$(of_node)
	dev=$(device "*$node*")
	claimed "$(of_address)" || fail "not in /proc/iomem"
	must store "$dev" format force
	must store "$dev" fill 1000
	load -r crabtree
	nothing_left
	crabtree
	dev=$(device "*$node*")
	must store "$dev" verify 1000
	equal "$(store "$dev" info repairs)" 0 repairs
	of_forget
}

# bind NODE: the driver takes a node that is not compatible
bind() {
	echo crabtree >"/sys/bus/platform/devices/$1/driver_override"
	echo "$1" >"$OF_DRIVER/bind"
}

# a node that is read-only, over the memory of the compatible one
of_readonly() {
	local dev bound
	[ "$(of_count)" != 0 ] || skip "no device tree, or no region in it"
	crabtree
	dev=$(device "*$(of_node)*")
	must store "$dev" format force
	must store "$dev" fill 300
	bound=$(basename "$(find "$OF_DRIVER" -type l -name 'crabtree*' | head -n1)")
	echo "$bound" >"$OF_DRIVER/unbind"
	must media get "$(of_address)" 65536 /tmp/before
	bind selftest-readonly
	dev=$(device shown)
	equal "$(store "$dev" info state)" 2 state
	must store "$dev" verify 300
	refuses EROFS store "$dev" put 1 1
	refuses EROFS store "$dev" format force
	echo selftest-readonly >"$OF_DRIVER/unbind"
	must media same "$(of_address)" /tmp/before
	of_forget
}

of_wrong() {
	[ "$(of_count)" != 0 ] || skip "no device tree, or no region in it"
	crabtree
	log_mark
	! bind selftest-lost 2>/dev/null || fail "a node without memory is bound"
	log_has "/selftest-lost: no memory-region"
	! bind selftest-nowhere 2>/dev/null || fail "a node of memory without an address is bound"
	log_has "/selftest-nowhere: no address in /selftest-nowhere"
	equal "$(find /sys/class/crabtree -name "crab[0-9]*" | wc -l)" "$(of_count)" devices
}

pmem() {
	local dev uuid
	need_pmem
	crabtree pmem=/dev/pmem0
	dev=$(device /dev/pmem0)
	must store "$dev" format force
	must store "$dev" fill 1000
	uuid=$(store "$dev" info uuid)
	load -r crabtree
	crabtree pmem=/dev/pmem0
	dev=$(device /dev/pmem0)
	must store "$dev" verify 1000
	equal "$(store "$dev" info uuid)" "$uuid" uuid
}

pmem_twice() {
	need_pmem
	bad EBUSY "pmem=/dev/pmem0: a part of it is another region already" pmem=/dev/pmem0,/dev/pmem0
}

# a disabled write cache is the administrator's word, not the platform's
pmem_write_cache() {
	local dev class
	need_pmem
	crabtree pmem=/dev/pmem0
	class=$(store "$(device /dev/pmem0)" info durability)
	load -r crabtree
	echo 0 >/sys/block/pmem0/dax/write_cache
	crabtree pmem=/dev/pmem0
	dev=$(device /dev/pmem0)
	echo 1 >/sys/block/pmem0/dax/write_cache
	equal "$(store "$dev" info durability)" "$class" durability
}

# the class cache if the platform writes the caches back, and only then
pmem_domain() {
	local domain class
	need_pmem
	domain=$(readlink -f /sys/block/pmem0/device)/../persistence_domain
	domain=$(cat "$domain" 2>/dev/null || echo none)	# no file: none is known
	say "persistence_domain: $domain"
	[ -z "$PMEM_DOMAIN" ] || equal "$domain" "$PMEM_DOMAIN" "persistence_domain of this machine"
	crabtree pmem=/dev/pmem0
	class=$(store "$(device /dev/pmem0)" info durability)
	[ "$domain" != cpu_cache ] || equal "$class" 5 durability
	[ "$domain" = cpu_cache ] || [ "$class" -lt 5 ]
}

# not_durable REASON: of /dev/pmem1
not_durable() {
	local dev
	log_mark
	crabtree pmem=/dev/pmem1
	log_has "pmem=/dev/pmem1: $1"
	dev=$(device /dev/pmem1)
	must store "$dev" format force
	equal "$(store "$dev" info durability)" 0 durability
	must store "$dev" fill 500
	must store "$dev" verify 500
}

pmem_volatile() {
	need_pmem
	grep -qs nd_volatile /sys/block/pmem1/device/../devtype ||
		skip "no volatile pmem-region on this machine"
	not_durable "a volatile region"
}

pmem_flushed() {
	need_pmem
	case $(readlink /sys/block/pmem1) in
	*/virtio*)	;;
	*)		skip "no virtio-pmem on this machine" ;;
	esac
	not_durable "flushed by its host only"
}

pmem_mapped() {
	local node
	need_pmem
	[ -c /dev/mapper/control ] || skip "no device mapper in this machine"
	node=$(mapped create crabtest /dev/pmem0 16384) || fail "no volume over /dev/pmem0"
	(bad ENXIO "pmem=$node: not a device of libnvdimm" "pmem=$node") || node=
	mapped remove crabtest
	[ -n "$node" ]
}

# write-protected: read-only without being asked, and readonly=1 opens it for reading
pmem_protected() {
	local dev region
	need_pmem
	crabtree pmem=/dev/pmem0
	dev=$(device /dev/pmem0)
	must store "$dev" format force
	must store "$dev" fill 300
	load -r crabtree
	region=$(readlink -f /sys/block/pmem0/device)/..
	echo 1 >"$region/read_only"
	equal "$(cat /sys/block/pmem0/ro)" 1 "write protection"
	(
		set -e
		crabtree pmem=/dev/pmem0 readonly=1
		grep -q " crab_region_map_readonly.* \[crabtree\] " /proc/vmallocinfo
		must store "$(device /dev/pmem0)" verify 300
		load -r crabtree
		if ! load "$CRAB_MODULES/crabtree.ko" pmem=/dev/pmem0 >/dev/null; then
			say "this kernel refuses to open it for writing"
			exit 0
		fi
		dev=$(device /dev/pmem0)
		must store "$dev" verify 300
		refuses EROFS store "$dev" put 1 1
	) || region=
	unload
	echo 0 >"$(readlink -f /sys/block/pmem0/device)/../read_only"
	[ -n "$region" ]
}

# quarantined DEVICE MOST: so many keys of 3000 are quarantined, and the store is read-only
quarantined() {
	local dev="$1" most="$2" lost
	lost=$(store "$dev" lost 3000) || fail "lost: $lost"
	say "$lost of 3000 keys are quarantined"
	[ "$lost" -gt 0 ] || fail "no key is quarantined"
	[ "$lost" -le "$most" ] || fail "more than $most keys are quarantined"
	equal "$(store "$dev" info state)" 2 state
	refuses EROFS store "$dev" put 1 1
}

# a block of leaf 20; not the one with its header
pmem_badblocks() {
	local dev namespace
	need_pmem
	namespace=$(basename "$(readlink /sys/block/pmem0/device)")
	crabtree pmem=/dev/pmem0
	dev=$(device /dev/pmem0)
	must store "$dev" format force slotted 1024
	must store "$dev" fill 3000
	load -r crabtree
	echo "73 1" >/sys/block/pmem0/badblocks
	log_mark
	(
		set -e
		crabtree pmem=/dev/pmem0
		log_has "bad blocks: 512 bytes at offset 37376"
		log_has "leaf 20: uncorrectable memory"
		dev=$(device /dev/pmem0)
		equal "$(store "$dev" info leaves_bad)" 1 "bad leaves"
		quarantined "$dev" 61
		load -r crabtree
	) || namespace="$namespace failed"
	unload
	anew "${namespace% failed}"
	case $namespace in *failed) return 1 ;; esac
	crabtree pmem=/dev/pmem0
	must store "$(device /dev/pmem0)" verify 3000
}

# a bad block that no record is in costs nothing but its leaf
pmem_badblocks_free() {
	local dev namespace
	need_pmem
	namespace=$(basename "$(readlink /sys/block/pmem0/device)")
	echo "16384 8" >/sys/block/pmem0/badblocks
	(
		set -e
		crabtree pmem=/dev/pmem0
		dev=$(device /dev/pmem0)
		must store "$dev" format force slotted 1024
		equal "$(store "$dev" info leaves_bad)" 4 "bad leaves"
		must store "$dev" fill 3000
		must store "$dev" verify 3000
		equal "$(store "$dev" info state)" 1 state
	) || namespace="$namespace failed"
	unload
	anew "${namespace% failed}"
	case $namespace in *failed) return 1 ;; esac
}

# memory_failure() of a page with leaves 20 to 23, under a store that is served: user space is told
pmem_failure() {
	local dev
	need_pmem
	need_failure
	crabtree pmem=/dev/pmem0
	dev=$(device /dev/pmem0)
	must store "$dev" format force slotted 1024
	must store "$dev" fill 3000
	log_mark
	events "$dev" sh -c "echo $(pmem_page 36864) >$FAILURE" >/tmp/seen
	sees "poll readonly" "uevent change readonly selftest"
	equal "$(cat "/sys/class/crabtree/${dev##*/}/state")" readonly state
	log_has "memory at offset 36864 became uncorrectable"
	equal "$(store "$dev" info leaves_bad)" 4 "bad leaves"
	quarantined "$dev" 244
	must store "$dev" get 2999
	events "$dev" sh -c "echo $(pmem_page 40960) >$FAILURE" >/tmp/seen
	sees	# it was read-only before
	equal "$(store "$dev" info leaves_bad)" 8 "bad leaves"
	load -r crabtree
	crabtree pmem=/dev/pmem0
	must store "$(device /dev/pmem0)" verify 3000
}

# A machine check that reports the line of leaf 20 at the next scrubbing of the memory. Status:
# valid, uncorrected, enabled, with address and unit, signalled; the unit is a line
pmem_machine_check() {
	local dev
	need_pmem
	crabtree pmem=/dev/pmem0
	dev=$(device /dev/pmem0)
	must store "$dev" format force slotted 1024
	must store "$dev" fill 3000
	log_mark
	echo "mce -b 0 4 0xbd000000000000c0 5 $(pmem_page 36864) 0x86" >"$CRAB_MONITOR"
	log_comes "memory at offset 36864 became uncorrectable"
	equal "$(store "$dev" info leaves_bad)" 4 "bad leaves"
	quarantined "$dev" 244
	must store "$dev" get 2999
	load -r crabtree
	crabtree pmem=/dev/pmem0
	log_has "bad blocks: 512 bytes at offset 36864"
	dev=$(device /dev/pmem0)
	equal "$(store "$dev" info state)" 2 state
	must store "$dev" get 0
	must store "$dev" format force slotted 1024
	must store "$dev" fill 3000
	must store "$dev" verify 3000
	equal "$(store "$dev" info leaves_bad)" 4 "bad leaves of the new store"
}

# its driver is unbound while a scan and a writer are at work
pmem_unbind() {
	local namespace dev folder
	need_pmem
	namespace=$(basename "$(readlink /sys/block/pmem0/device)")
	crabtree pmem=/dev/pmem0
	dev=$(device /dev/pmem0)
	folder=/sys/kernel/debug/crabtree/${dev##*/}
	[ -f "$folder/counters" ] || fail "no folder in debugfs"
	CRABTREE_DEV=$dev CRABTREE_DRIVER=/sys/bus/nd/drivers/nd_pmem \
		CRABTREE_BOUND=$namespace nested unbind --only taken
	[ ! -e "$folder" ] || fail "the region's folder stayed in debugfs"
	[ -d "${folder%/*}" ] || fail "the module's folder is gone"
	load -r crabtree
	echo "$namespace" >/sys/bus/nd/drivers/nd_pmem/bind
	crabtree pmem=/dev/pmem0
	[ "$(store "$(device /dev/pmem0)" info records)" -gt 0 ] || fail "no records"
}

tests_of_pmem() {
	it pmem "pmem=: format, put, reload, all is there"
	it pmem_twice "pmem= twice is refused"
	it pmem_write_cache "a disabled write cache does not make pmem's class cache"
	it pmem_domain "pmem's class is cache where the platform says so"
	it pmem_volatile "a volatile pmem-region is of class none"
	it pmem_flushed "memory that only its host flushes is of class none"
	it pmem_mapped "a volume of the device mapper is refused"
	it pmem_protected "a write-protected pmem device is served read-only"
	it pmem_badblocks "a bad block in a leaf: the leaf is quarantined, the rest is served"
	it pmem_badblocks_free "a bad block in free memory: writable, its leaves unused"
	it pmem_failure "memory that fails under a store: its leaves are quarantined"
	it pmem_unbind "pmem's driver unbound under a scan and a writer"
	# (last: the kernel does not use that page again)
	[ -z "$CRAB_MONITOR" ] ||
		it pmem_machine_check "a machine check in a leaf: its page is never written again"
}

tests_of_ram() {
	it ram "ram=64K: served, volatile, gone after unload"
	it ram_many "ram=A,B,C: three stores that share nothing"
	it least "the smallest region that the manual names"
	it bad "ram without a size" EINVAL "a size is missing" ram=
	it bad "ram=garbage" EINVAL "garbage is not a size" ram=garbage
	it bad "ram with garbage behind the size" EINVAL "1Mx is not a size" ram=1Mx
	it bad "ram with a comma at its end" EINVAL "a size is missing" ram=64K,
	it bad "ram smaller than the smallest" EINVAL "4096 bytes are less than the smallest" ram=4K
	it bad "ram of no bytes" EINVAL "less than the smallest" ram=0
	it bad "ram of half a page" EINVAL "not whole pages" ram=65537
	it bad "ram of a size whose unit wraps" EINVAL "does not fit into 64 bits" ram=17179869185G
	it bad "ram of a number that wraps" EINVAL "does not fit into 64 bits" \
		ram=18446744073709617152
	it bad "ram with an option that is none" EINVAL "cachex is not a size" ram=64K,cachex
	it bad "region at an address that wraps" EINVAL "does not fit into 64 bits" \
		region=64K@17179869185G
	it caches_ram "ram=SIZE,cache: no cleans, still volatile"
	it caches_region "region=START,SIZE,cache: class cache, for this region only"
	it caches_layout "a layout that needs such caches: refused elsewhere, or only read"
	it region_name "a region's name is for root"
	it bad "ram of more than there is" ENOMEM "are free" ram=1T
	it bad "ram whose second region is bad: the first is let go" EINVAL \
		"less than the smallest" ram=64K,4K
}

tests() {
	tests_of_pmem
	tests_of_ram
	it bad "region=garbage" EINVAL "garbage is neither START,SIZE nor" region=garbage
	it bad "region without a size" EINVAL "a size is missing" region=0x30000000
	it bad "region beyond the address space" EINVAL "beyond any memory" \
		region=0xfffffffffffff000,64K
	it unreachable "region at an address that page tables cannot hold"
	it system_ram "region in System RAM"
	it system_ram_end "region that begins in System RAM"
	it bad_region "region not on a page" EINVAL "not whole pages" 'region=$((BASE + 512)),64K'
	it bad_region "region of half a page" EINVAL "not whole pages" 'region=$BASE,65000'
	it bad_region "region smaller than the smallest" EINVAL "less than the smallest" 'region=$BASE,4K'
	it bad_region "regions that overlap" EBUSY "in use" \
		'region=$BASE,128K,$((BASE + 65536)),128K'
	it bad_region "one region twice" EBUSY "in use" 'region=$BASE,64K,$BASE,64K'
	it bad_region "a good region before a bad one is let go" EINVAL "is not a size" \
		'region=$BASE,64K,$((BASE + 65536)),x'
	it wrong_pmem "pmem= of no device" ENODEV /dev/nonsense "no such device"
	it wrong_pmem "pmem= of a character device" ENOTBLK /dev/null "not a block device"
	it claim "region= is claimed, in /proc/iomem, and let go"
	it claim_at "region= takes both spellings, and many"
	it readonly_load "readonly=1 serves, refuses writes, writes nothing" "" readonly=1
	it readonly_load "region=START,SIZE,readonly does so for one region" ,readonly
	it readonly_blank "readonly=1 over a blank region: FORMAT refused, nothing written"
	it of_region "the device tree's region: format, put, reload, all is there"
	it of_readonly "a node that is read-only: served under its label, not a byte is written"
	it of_wrong "a node without memory, or of memory without an address, is refused"
}

main "$@"
