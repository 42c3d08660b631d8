#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of reloading: all records are present after the module was unloaded and
# loaded, however often; a module in use stays; a driver may be unbound.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

# fresh: a store of 1 MiB in the scratch memory; sets dev
fresh() {
	need_zeroes 1048576
	crabtree "region=$BASE,1M"
	dev=$(device "phys:*")
	must store "$dev" format
}

again() {
	load -r crabtree
	crabtree "region=$BASE,1M"
	dev=$(device "phys:*")
}

reload() {
	local uuid
	fresh
	must store "$dev" fill 20000
	uuid=$(store "$dev" info uuid)
	log_mark
	again
	equal "$(dmesg | grep -c "crabtree: .*: phys region .* attached in")" 1 "lines in the log"
	equal "$(store "$dev" info state)" 1 state
	equal "$(store "$dev" info uuid)" "$uuid" uuid
	equal "$(store "$dev" info records)" 20000 records
	equal "$(store "$dev" info repairs)" 0 repairs
	must store "$dev" verify 20000
}

reload_often() {
	local i
	fresh
	for i in 1 2 3 4 5 6 7 8 9 10; do
		must store "$dev" fill $((i * 100))
		again
		must store "$dev" verify $((i * 100))
	done
}

# another part of the memory holds the copy: a region may move
moved() {
	fresh
	must store "$dev" fill 3000
	load -r crabtree
	must media get "$BASE" 1048576 /tmp/moved
	must media zero "$BASE" 1048576
	must media put $((BASE + 2097152)) /tmp/moved
	crabtree "region=$((BASE + 2097152)),1M"
	must store "$(device "phys:*")" verify 3000
	must media zero $((BASE + 3145728)) 8
	rm /tmp/moved
}

larger() {
	fresh
	must store "$dev" fill 3000
	load -r crabtree
	crabtree "region=$BASE,2M"
	must store "$(device "phys:*")" verify 3000
}

# A load that is killed is complete or nothing; the next one serves the store
killed() {
	local pause pid
	fresh
	must store "$dev" fill 20000
	load -r crabtree
	for pause in 0.05 0.1 0.15 0.2 0.3; do
		load "$CRAB_MODULES/crabtree.ko" "region=$BASE,1M" &
		pid=$!
		sleep "$pause"
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" || true
		loaded crabtree || crabtree "region=$BASE,1M"
		dev=$(device "phys:*")
		equal "$(store "$dev" info state)" 1 "state after $pause s"
		must store "$dev" verify 20000
		must load -r crabtree
	done
}

in_use() {
	fresh
	exec 3<"$dev"
	refuses EAGAIN load -r crabtree
	exec 3<&-
	must load -r crabtree
}

# the machine's region through its platform driver
unbind_of() {
	local driver=/sys/bus/platform/drivers/crabtree bound
	crabtree
	bound=$(find "$driver" -type l -name '*crabtree*' | head -n1)
	[ -n "$bound" ] || skip "no region that a driver is bound to"
	bound=$(basename "$bound")
	dev=$(device "*crabtree*")
	must store "$dev" format force
	CRABTREE_DEV=$dev CRABTREE_DRIVER=$driver CRABTREE_BOUND=$bound \
		nested unbind --only "$1"
	of_forget
}

tests() {
	it reload "format, put 20000, unload, load: all is there"
	it reload_often "ten times put, unload, load"
	it moved "a region that came back at another address"
	it larger "a store in a region larger than it was made for"
	it killed "a load that is killed: the store is served then, or by the next load"
	it in_use "a module whose device is open stays"
	it unbind_of "unbind under a scan and a writer, bind: all is there" "bind: all"
	it unbind_of "unbind under a CHECK that runs" CHECK
	it unbind_of "unbind and bind twenty times, descriptors left open" twenty
	it unbind_of "unbind under a watch and a snapshot" watch
	it unbind_of "unbind under a BATCH" BATCH
}

main "$@"
