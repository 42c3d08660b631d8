#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the in-kernel interface through crabtree_sample, and of
# sysfs.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

need_sample() {
	[ -e "$CRAB_MODULES/crabtree_sample.ko" ] || skip "crabtree_sample.ko was not given"
}

sample() {
	must load "$CRAB_MODULES/crabtree_sample.ko" label=selftest
}

# counts_to LINE: the sample, loaded once more, logs a line
counts_to() {
	log_mark
	sample
	log_has_sample "$1"
	must load -r crabtree_sample
}

# counter N: it has counted to N
counter() {
	counts_to "boots $1, events $1"
}

log_has_sample() {
	dmesg | grep -q "crabtree_sample: $1" || fail "the log does not have: $1"
}

counts() {
	local i
	need_sample
	crabtree ram=64K
	must store "$(device ram:65536)" format
	for i in 1 2 3 4 5; do counter "$i"; done
	equal "$(store "$(device ram:65536)" get 0)" 5 "the counter as the device shows it"
	equal "$(dmesg | sed -n 's/.*crabtree_sample: event \([0-9]*\) at .*/\1/p' | tail -n 5 | tr '\n' ' ')" \
		"5 4 3 2 " "a scan in descending order"
	refuses ENOENT store "$(device ram:65536)" get 1
}

commits() {
	local dev
	need_sample
	need_tracing
	crabtree ram=64K
	dev=$(device ram:65536)
	must store "$dev" commits
	events_set 1
	counter 1
	counter 2
	events_set 0
	equal "$(recorded "crabtree_op: ${dev##*/} BATCH flags=0x0 key=0 count=2 result=0")" 2 commits
	equal "$(recorded "crabtree_op: ${dev##*/} INSERT")" 0 "single inserts"
	equal "$(store "$dev" get 0)" 2 "the counter as the device shows it"
}

names() {
	need_sample
	crabtree ram=64K
	must store "$(device ram:65536)" names
	counts_to "sample/boots 1$"
	counts_to "sample/boots 2$"
	equal "$(store "$(device ram:65536)" var sample/boots)" 2 "the variable as the device shows it"
}

counts_on() {
	local dev
	need_sample
	need_zeroes 65536
	crabtree "region=$BASE,64K"
	dev=$(device "phys:*")
	must store "$dev" format
	counter 1
	load -r crabtree
	crabtree "region=$BASE,64K"
	counter 2
}

# before the store is there the sample waits; FORMAT brings it
waits() {
	need_sample
	crabtree ram=64K
	log_mark
	sample
	log_has_sample "waiting for a store"
	must store "$(device ram:65536)" format
	log_has_sample "boots 1, events 1"
}

# a store of values under keys has no place for a count: the sample does not keep it in use
unsuited() {
	local dev
	need_sample
	crabtree ram=512K
	dev=$(device ram:524288)
	log_mark
	sample
	must store "$dev" commits values
	must store "$dev" format force
	log_has_sample 'cannot record in the store "selftest": error -95'
	log_has_sample "boots 1, events 1"
	must load -r crabtree_sample
}

busy() {
	need_sample
	crabtree ram=64K
	must store "$(device ram:65536)" format
	sample
	refuses EAGAIN load -r crabtree
	refuses EBUSY store "$(device ram:65536)" format force
	must load -r crabtree_sample
	must store "$(device ram:65536)" format force
}

# of two stores with one label, the one that the sample does not use goes
other_goes() {
	local a b
	need_sample
	two_stores
	sample
	refuses ENOENT store "$b" get 0
	echo "remove ${b##*/}" >/dev/crabtree-control
	refuses EBUSY store "$a" format force
	echo "remove ${a##*/} force" >/dev/crabtree-control
	must load -r crabtree_sample
}

# a region that goes while the kernel uses its store
goes() {
	local driver=/sys/bus/platform/drivers/crabtree bound
	need_sample
	crabtree
	bound=$(find "$driver" -type l -name '*crabtree*' | head -n1)
	[ -n "$bound" ] || skip "no region that a driver is bound to"
	bound=$(basename "$bound")
	must store "$(device "*crabtree*")" format force
	log_mark
	sample
	echo "$bound" >"$driver/unbind"
	echo "$bound" >"$driver/bind"
	log_has_sample "boots 1, events 1"
	log_has_sample "boots 2, events 2"
	must load -r crabtree_sample
	of_forget
}

# one_value FILE: one line of one value
one_value() {
	local value more=''
	{ read -r value && ! read -r more && [ -z "$more" ]; } <"$1" || return 1
	case $1 in */reason|*/region|*/dev|*/clean_method) return ;; esac
	case $value in *" "*|'') return 1 ;; esac
}

# attributes CRABN: each file holds one value, or there is no data
attributes() {
	local file count=0 without=''
	for file in "/sys/class/crabtree/$1"/*; do
		[ -f "$file" ] || continue
		case ${file##*/} in uevent) continue ;; esac
		count=$((count + 1))
		one_value "$file" || without="$without $file"
	done
	[ "$count" -ge 29 ] || fail "only $count attributes in $1"
	# shellcheck disable=SC2086
	cat $without </dev/null >/tmp/values 2>/tmp/errors || true
	[ ! -s /tmp/values ] || fail "not one value: $(cat /tmp/values)"
	# shellcheck disable=SC2086
	equal "$(grep -c "No data" /tmp/errors)" "$(echo $without | wc -w)" "files without data"
	say "$count attributes"
}

sysfs() {
	local dev
	crabtree ram=64K
	dev=$(basename "$(device ram:65536)")
	attributes "$dev"
	equal "$(cat /sys/class/crabtree/"$dev"/state)" unformatted state
	! cat /sys/class/crabtree/"$dev"/records 2>/dev/null || fail "records of no store"
	must store "/dev/$dev" format
	must store "/dev/$dev" fill 50
	attributes "$dev"
	equal "$(cat /sys/class/crabtree/"$dev"/state)" ready state
	equal "$(cat /sys/class/crabtree/"$dev"/records)" 50 records
	equal "$(cat /sys/class/crabtree/"$dev"/label)" selftest label
	equal "$(tr -d - </sys/class/crabtree/"$dev"/uuid)" "$(store "/dev/$dev" info uuid)" uuid
}

# how far a fenced clean reaches on this CPU, and the instruction that cleans
clean() {
	local dir
	# shellcheck disable=SC2086
	crabtree $CRAB_PARAMS
	for dir in /sys/class/crabtree/crab*; do
		equal "$(cat "$dir/durability") $(cat "$dir/clean_method")" "$CLEAN" "durability and clean"
	done
}

# word FIELD WORD...: the name of a number of INFO
word() {
	local number
	number=$(store "$dev" info "$1")
	shift $((number + 1))
	echo "$1"
}

# agrees: each file of the device shows its field of INFO
agrees() {
	local name files="/sys/class/crabtree/${dev##*/}"
	for name in region_bytes version leaf_bytes attach_ns capacity deletes dram_bytes inserts leaves \
		leaves_bad leaves_used records repairs searches updates region label engine layout; do
		equal "$(cat "$files/$name")" "$(store "$dev" info "$name")" "$name"
	done
	for name in feature_compat feature_ro_compat feature_incompat; do
		equal "$(($(cat "$files/$name")))" "$(store "$dev" info "$name")" "$name"
	done
	equal "$(cat "$files/state")" "$(word state unformatted ready readonly rejected)" state
	equal "$(cat "$files/durability")" "$(word durability none unproven poc pop podp cache)" class
	equal "$(cat "$files/model")" "$(word model none word line cache whole-line)" model
	equal "$(cat "$files/model_kept")" "$(word keeps unknown yes unproven)" model_kept
}

# With different numbers; then, with a region, a page of leaves is damaged
agreement() {
	local dev spec=ram=64K name=ram:65536
	if BASE=$(scratch); then
		spec=region=$BASE,64K name="phys:*"
		must media zero "$BASE" 65536
	fi
	crabtree "$spec"
	dev=$(device "$name")
	must store "$dev" format
	must store "$dev" fill 700
	must store "$dev" fill 300
	must store "$dev" verify 700
	agrees
	[ "$name" != ram:65536 ] || return 0
	load -r crabtree
	must media zero $((BASE + 24576)) 4096
	crabtree "$spec"
	dev=$(device "$name")
	[ "$(store "$dev" info leaves_bad)" != 0 ] || fail "no leaf is damaged"
	agrees
}

uevent() {
	local dev
	crabtree ram=64K
	dev=$(basename "$(device ram:65536)")
	must store "/dev/$dev" format
	grep -q "^CRABTREE_LABEL=selftest" /sys/class/crabtree/"$dev"/uevent
	grep -q "^CRABTREE_STATE=ready" /sys/class/crabtree/"$dev"/uevent
	grep -q "^CRABTREE_UUID=" /sys/class/crabtree/"$dev"/uevent
}

tests() {
	it counts "the counter rises by one with each load"
	it commits "in a store of commits, the counter and its event are one commit"
	it names "in a store of names, the counter is a variable"
	it counts_on "the counter goes on after the module was unloaded"
	it waits "a user that comes before its store waits; FORMAT brings it"
	it unsuited "a store that the sample cannot use: FORMAT brings another one"
	it busy "a store that the kernel uses: no unload, no FORMAT"
	it other_goes "a store of the same label that goes is not that of the sample"
	it goes "a region that goes and comes while the kernel uses its store"
	it sysfs "sysfs: one value a file, no data where there is no store"
	[ -z "$CLEAN" ] || it clean "durability and clean_method are those of this CPU"
	it agreement "sysfs: each file shows its field of INFO"
	it uevent "uevents carry state, label and uuid"
}

main "$@"
