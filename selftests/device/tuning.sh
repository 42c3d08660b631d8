#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the parameters for writes to sorted leaves, and of that for snapshots: they reach the
# store, are shown by the module and by the device, and a bad one fails the load.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

parameter() { cat "/sys/module/crabtree/parameters/$1"; }
attribute() { cat "/sys/class/crabtree/${dev##*/}/$1"; }
# of FILE NAME: a line of a file in debugfs
of() { sed -n "s/^$2 //p" "/sys/kernel/debug/crabtree/${dev##*/}/$1"; }
counter() { of counters "$1"; }
option() { of options "$1"; }
options() { echo "$(option on_demand) $(option probe) $(option pair)"; }

# fresh LAYOUT PARAMETER... : a store with 300 keys; sets dev
fresh() {
	local layout="$1"
	shift
	crabtree ram=1M "$@"
	dev=$(device "ram:*")
	must store "$dev" format FORCE "$layout"
	must store "$dev" fill 300
	must store "$dev" verify 300
}

# cheaper COST OTHER: 1 if it is, as pair= is by default
cheaper() { echo $(($(parameter "cost_$1") < $(parameter "cost_$2"))); }

defaults() {
	local cost
	fresh sorted
	equal "$(option strategy)" auto strategy
	equal "$(options)" "0 1 $(cheaper pair order)" "on_demand, probe, pair"
	equal "$(attribute model)" line model
	for cost in round line order record pair; do
		[ "$(parameter "cost_$cost")" -gt 0 ] || fail "cost_$cost was not measured"
	done
	equal $(($(counter sips) + $(counter cows) > 0)) 1 "writes by either way"
	agrees
}

# debugfs and INFO show the same numbers
agrees() {
	local name
	for name in lines fences orders prepare_lines prepare_fences lines_bound splits unlinks; do
		equal "$(counter "$name")" "$(store "$dev" info "$name")" "$name"
	done
}

given() {
	fresh sorted strategy=cow probe=0 pair=0 on_demand=1 cost_round=77 cost_order=5
	equal "$(option strategy)" cow strategy
	equal "$(options)" "1 0 0" "on_demand, probe, pair"
	equal "$(parameter strategy)" cow parameter
	equal "$(parameter cost_round)" 77 cost_round
	equal "$(parameter cost_order)" 5 cost_order
	[ "$(parameter cost_line)" -gt 0 ] || fail "cost_line was not measured"
}

# forced STRATEGY COUNTED OTHER
forced() {
	fresh sorted "strategy=$1" probe=1
	[ "$(counter "$2")" -gt 0 ] || fail "no $2"
	equal "$(counter "$3")" 0 "$3"
}

# With all costs set the choice follows them, and is reproducible
chosen() {
	local first
	fresh sorted probe=0 cost_round=100000 cost_line=10000 cost_order=1000 cost_record=1000 \
		cost_pair=500
	first=$(counter sips)/$(counter cows)/$(counter lines)/$(counter fences)
	unload
	fresh sorted probe=0 cost_round=100000 cost_line=10000 cost_order=1000 cost_record=1000 \
		cost_pair=500
	equal "$(counter sips)/$(counter cows)/$(counter lines)/$(counter fences)" \
		"$first" "sips/cows/lines/fences"
}

slotted() {
	fresh slotted strategy=cow on_demand=1
	equal "$(attribute model)" word model
	equal "$(attribute model_kept)" yes model_kept
	equal "$(counter cows)" 0 cows
}

# bad LOG PARAMETER
bad() {
	log_mark
	refuses EINVAL load "$CRAB_MODULES/crabtree.ko" ram=1M "$2"
	log_has "$1"
	! loaded crabtree || fail "the module stayed"
}

folders() {
	local root=/sys/kernel/debug/crabtree at
	crabtree ram=64K,128K
	for at in "$(device ram:65536)" "$(device ram:131072)"; do
		[ -f "$root/${at##*/}/counters" ] || fail "no counters of $at"
		[ -f "$root/${at##*/}/options" ] || fail "no options of $at"
		! cat "$root/${at##*/}/counters" 2>/dev/null || fail "counters of no store"
	done
	equal "$(find "$root" -mindepth 1 -maxdepth 1 | wc -l)" \
		"$(find /sys/class/crabtree -name "crab[0-9]*" | wc -l)" folders
	load -r crabtree
	[ ! -e "$root" ] || fail "$root stayed: $(ls "$root")"
}

# 64 notes of a key each: a snapshot that needs more ends
snapshots() {
	crabtree ram=1M snapshot_bytes=4096
	dev=$(device "ram:*")
	must store "$dev" format
	must store "$dev" fill 300
	equal "$(store "$dev" snapshot 60)" 1 "value in the snapshot"
	refuses ESTALE store "$dev" snapshot 70
}

tests() {
	it defaults "defaults: auto, with measured costs"
	it given "a value that is set is used and shown"
	it forced "forced shifting never copies" sip sips cows
	it forced "forced copying never shifts" cow cows sips
	it chosen "the same costs make the same choices"
	it slotted "slotted leaves have nothing to choose"
	it snapshots "snapshot_bytes=: a snapshot that needs more memory ends"
	it folders "a folder in debugfs for each device, and none after unload"
	it bad "an unknown strategy fails the load" "strategy=fast: not one of" strategy=fast
	it bad "a cost that is no number fails the load" cost_round cost_round=much
	it bad "a negative cost fails the load" cost_line cost_line=-1
	it bad "an option that is no truth value fails the load" probe probe=perhaps
	it bad "an option that is neither 0 nor 1 fails the load" "pair=2: not one of" pair=2
}

main "$@"
