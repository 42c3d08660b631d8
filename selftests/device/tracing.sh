#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the trace events: each operation, persist point and change of a state is one event, and
# nothing is recorded while they are off.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

# a fresh store, with the events on
traced_store() {
	need_tracing
	crabtree ram=64K
	[ -d "$TRACING/events/crabtree" ] || fail "no events of crabtree"
	dev=$(device ram:65536)
	name=${dev##*/}
	must store "$dev" format
	events_set 1
}

each_operation() {
	traced_store
	for i in 1 2 3 4 5; do must store "$dev" put 7 "$i"; done
	must store "$dev" get 7
	refuses ENOENT store "$dev" get 8
	events_set 0
	equal "$(recorded "crabtree_op: $name INSERT flags=0x0 key=7 count=1 result=0")" 5 "inserts"
	equal "$(recorded "crabtree_op: $name SEARCH flags=0x0 key=7 count=1 result=0")" 1 "searches"
	equal "$(recorded "crabtree_op: $name SEARCH flags=0x0 key=8 count=0 result=-2")" 1 "misses"
	equal "$(recorded "crabtree_op: ")" 7 "operations"
	ranges
}

# the lowest key, and how many records
ranges() {
	events_set 1
	CRABTREE_DEV=$dev nested operations --only "SCAN: order"
	CRABTREE_DEV=$dev nested range --only "DELETE_RANGE: these records"
	events_set 0
	equal "$(recorded "SCAN flags=0x0 key=500 count=21 result=0")" 1 "scans of records"
	equal "$(recorded "SCAN flags=0x0 key=501 count=0 result=0")" 1 "empty scans"
	equal "$(recorded "DELETE_RANGE flags=0x0 key=1000 count=401 result=0")" 1 "ranges"
	equal "$(recorded "DELETE_RANGE flags=0x0 key=1000 count=0 result=0")" 1 "empty ranges"
}

# a commit that is refused has done no operation; the number in the answer is that of the cause
commits_refused() {
	traced_store
	CRABTREE_DEV=$dev nested commits --only "a condition that does not hold"
	events_set 0
	equal "$(recorded "BATCH flags=0x1 key=0 count=3 result=0")" 1 "commits"
	equal "$(recorded "BATCH flags=0x1 key=0 count=0 result=-")" 9 "refused commits, with no operation"
	events_set 1
	CRABTREE_DEV=$dev nested values --only "a condition that does not hold"
	events_set 0
	equal "$(recorded "COMMIT flags=0x0 key=0 count=2 result=0")" 2 "commits of values"
	equal "$(recorded "COMMIT flags=0x0 key=0 count=0 result=-")" 20 "refused commits of values"
}

# each fence that INFO counts, of operations and off the write path, is an event
points() {
	local before after
	traced_store
	must store "$dev" put 7 1
	before=$(crabctl_fences)
	echo >"$TRACING/trace"
	for i in 1 2 3 4 5 6 7 8; do must store "$dev" put 7 "$i"; done
	after=$(crabctl_fences)
	events_set 0
	equal "$(recorded "point=P6")" 8 "updates"
	equal "$(recorded "crabtree_persist_point: ")" $((after - before)) "fences"
}

crabctl_fences() {
	echo $(($(store "$dev" info fences) + $(store "$dev" info prepare_fences)))
}

states() {
	traced_store
	must store "$dev" format force
	events_set 0
	equal "$(recorded "crabtree_state: $name ready")" 1 "states"
	equal "$(recorded "crabtree_op: $name FORMAT flags=0x1 key=0 count=1 result=0")" 1 "FORMAT"
}

# the in-kernel interface reports its operations as the ioctls do
kernel_user() {
	[ -e "$CRAB_MODULES/crabtree_sample.ko" ] || skip "crabtree_sample.ko was not given"
	traced_store
	must store "$dev" format force sorted 512 selftest
	echo >"$TRACING/trace"
	must load "$CRAB_MODULES/crabtree_sample.ko" label=selftest
	events_set 0
	equal "$(recorded "crabtree_op: $name SCAN")" 1 "scans"
	[ "$(recorded "crabtree_op: $name INSERT")" -ge 2 ] || fail "no inserts"
}

off() {
	traced_store
	events_set 0
	echo >"$TRACING/trace"
	must store "$dev" put 7 1
	must store "$dev" format force
	equal "$(recorded "crabtree_")" 0 "events that are off"
}

tests() {
	it each_operation "trace: one event for each operation, with its key and result"
	it commits_refused "trace: a commit that is refused counts no operation"
	it points "trace: one event for each durability fence, with its persist point"
	it states "trace: a change of a state"
	it kernel_user "trace: operations of kernel code"
	it off "trace: nothing while the events are off"
}

main "$@"
