# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC3043,SC2034
#
# Shared parts of the test scripts, for busybox's shell. A script defines its tests as
# functions, and lists them in tests() by "it FUNCTION WORDS..." ; "main $@"
# runs them. A test fails by a command that fails; it leaves no module loaded.
#
# CRAB_MODULES is the directory of the .ko files [/], CRAB_PARAMS the parameter for the
# machine's persistent region (selftests/vm/run sets it).

HERE=$(cd "$(dirname "$0")" && pwd)
PATH=$HERE:$PATH
CRAB_MODULES=${CRAB_MODULES:-/}
EXIT_SKIP=4
number=0
failed=0
only=

say() { echo "# $*"; }
fail() { say "$*"; exit 1; }
skip() { say "skip: $*"; exit $EXIT_SKIP; }

# it FUNCTION "what it shows" [ARGUMENT...]
it() {
	local function="$1" text="$2" rc
	shift 2
	case $text in *"$only"*) ;; *) return ;; esac
	number=$((number + 1))
	[ "$mode" = run ] || return 0
	unload
	(set -e; "$function" "$@")
	rc=$?
	unload
	case $rc in
	0)		echo "ok $number $text" ;;
	"$EXIT_SKIP")	echo "ok $number $text # SKIP" ;;
	*)		echo "not ok $number $text"; failed=1 ;;
	esac
}

main() {
	mode=count
	[ "$1" != --only ] || only=$2
	tests
	[ "$1" != --count ] || { echo $number; exit; }
	echo "KTAP version 1"
	echo "1..$number"
	mode=run number=0
	tests
	exit $failed
}

# modules
loaded() { [ -d "/sys/module/$1" ]; }

unload() {
	! loaded crabtree_sample || load -r crabtree_sample
	! loaded crabtree_kapi || load -r crabtree_kapi
	! loaded crabtree || load -r crabtree
}

# crabtree PARAMETER... : load it, or fail
crabtree() {
	local error
	error=$(load "$CRAB_MODULES/crabtree.ko" "$@") || fail "load $*: $error"
}

# device PATTERN: the node of the device whose region is called so
device() {
	local dir name
	for dir in /sys/class/crabtree/crab*; do
		read -r name <"$dir/region" || continue
		# shellcheck disable=SC2254
		case $name in $1) echo "/dev/${dir##*/}"; return ;; esac
	done
	say "no device over the region $1" >&2
	return 1
}

# must COMMAND... : fail with its output
must() {
	local out
	out=$("$@") || fail "$*: $out"
}

# two_stores: load it with two regions, and format both with the same label; $a and $b: their nodes
two_stores() {
	crabtree ram=64K,128K
	a=$(device ram:65536)
	b=$(device ram:131072)
	must store "$a" format
	must store "$b" format
}

# refuses ERROR COMMAND... : it must fail, and print that error
refuses() {
	local want="$1" out
	shift
	if out=$("$@"); then fail "$*: worked, want $want"; fi
	[ "$out" = "$want" ] || fail "$*: $out, want $want"
}

equal() { [ "$1" = "$2" ] || fail "$3: got '$1', want '$2'"; }

# nested NAME ARGUMENT... : run a program of tests as a part of this one
nested() {
	local rc=0
	"$@" >/tmp/nested 2>&1 || rc=$?
	sed "s/^/# $1: /" /tmp/nested
	return $rc
}

# the kernel's log from here on
log_mark() { dmesg -c >/dev/null; }
log_has() {
	dmesg | grep "crabtree: " | grep -q "$1" && return
	dmesg | grep "crabtree: " | sed 's/^/# log: /'
	fail "no line in the log with '$1'"
}

# log_comes TEXT: within ten seconds
log_comes() {
	local tries=100
	until (log_has "$1") >/dev/null || [ $tries -eq 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
	log_has "$1"
}

claimed() { grep -qi "$(printf %08x "$1")-.* : crabtree" /proc/iomem; }

# scratch: the start of memory that no driver has, for region=
scratch() {
	local reg
	[ -c /dev/mem ] || return 1
	case $CRAB_PARAMS in
	region=*)
		reg=${CRAB_PARAMS#region=}
		echo $((${reg%%,*}))
		return ;;
	esac
	pmem_undrive
	for reg in /proc/device-tree/pmem@*/reg; do
		[ -e "$reg" ] || return 1
		echo $((0x$(od -An -tx1 -N8 "$reg" | tr -d ' \n')))
		return
	done
}

need_scratch() {
	BASE=$(scratch) || skip "no memory for region= on this machine"
}

# need_zeroes BYTES: so many there are zeroed
need_zeroes() { need_scratch; must media zero "$BASE" "$1"; }

# has_dax: this kernel can give us a pmem device; looked up once, it takes its time
has_dax() {
	[ -e /tmp/dax ] || { grep -c ' fs_dax_get_by_bdev$' /proc/kallsyms || true; } >/tmp/dax
	[ "$(cat /tmp/dax)" != 0 ]
}

# how many regions the device tree brings, the node of the first, its address
of_count() { grep -l crabtree,region /proc/device-tree/*/compatible 2>/dev/null | wc -l; }
of_node() {
	basename "$(dirname "$(grep -l crabtree,region /proc/device-tree/*/compatible | head -n1)")"
}
of_address() { echo $((0x$(of_node | sed 's/.*@//'))); }

# Every load attaches the device tree's region: a large store there takes time
of_forget() {
	load -r crabtree
	[ ! -c /dev/mem ] || must media zero "$(of_address)" 8192
}

# On arm64 the scratch memory is a pmem-region node: while region= uses it, it is not /dev/pmem0
pmem_undrive() {
	local driven
	for driven in /sys/bus/platform/drivers/of_pmem/*.pmem; do
		[ ! -e "$driven" ] || echo "${driven##*/}" >/sys/bus/platform/drivers/of_pmem/unbind
	done
}

nothing_left() {
	! loaded crabtree || fail "the module stayed"
	! grep -q crabtree /proc/iomem || fail "memory stayed claimed"
	! ls /dev/crab* >/dev/null 2>&1 || fail "a device stayed"
}

# bad ERROR LOG PARAMETER...
bad() {
	local error="$1" log="$2"
	shift 2
	log_mark
	refuses "$error" load "$CRAB_MODULES/crabtree.ko" "$@"
	log_has "$log"
	nothing_left
}

# sealed BYTES: a region is mapped read-only, and nothing of this size by memremap()
sealed() {
	grep -q " crab_region_map_readonly.* \[crabtree\] " /proc/vmallocinfo ||
		fail "no read-only mapping: $(grep -w "$(($1 + 4096))" /proc/vmallocinfo)"
	! grep -q "^[^ ]* *$(($1 + 4096)) memremap" /proc/vmallocinfo || fail "mapped twice"
}

# The driver makes the block device later, in a thread of its own
pmem_drive() {
	local node
	for node in /sys/bus/platform/devices/*.pmem; do
		[ -e "$node" ] || continue
		[ ! -e "$node/driver" ] || continue
		echo "${node##*/}" >/sys/bus/platform/drivers/of_pmem/bind
		for _ in $(seq 50); do
			[ ! -b /dev/pmem0 ] || break
			sleep 0.1
		done
	done
}

need_pmem() {
	has_dax || skip "this kernel has no DAX"
	pmem_drive
	[ -b /dev/pmem0 ] || skip "no /dev/pmem0 on this machine"
}

# anew NAMESPACE: its driver forgets the bad blocks that were injected
anew() {
	echo "$1" >/sys/bus/nd/drivers/nd_pmem/unbind
	echo "$1" >/sys/bus/nd/drivers/nd_pmem/bind
}

# pmem_page OFFSET: the physical address of that byte of /dev/pmem0
pmem_page() {
	local namespace
	namespace=$(basename "$(readlink /sys/block/pmem0/device)")
	echo $(($(cat "/sys/bus/nd/devices/$namespace/resource") + $1))
}

# the file that makes memory fail at an address
FAILURE=/sys/devices/system/memory/hard_offline_page
need_failure() { [ -e "$FAILURE" ] || skip "no hard_offline_page"; }

# sees LINE...: the last command's notifications, neither more nor less
sees() {
	local line
	for line in "$@"; do
		grep -qxF "$line" /tmp/seen || fail "no '$line' in: $(cat /tmp/seen)"
	done
	equal "$(wc -l </tmp/seen)" $# "notifications"
}

# trace events
TRACING=/sys/kernel/tracing

need_tracing() {
	[ -d "$TRACING" ] || skip "this kernel traces nothing"
	[ -e "$TRACING/trace" ] || mount -t tracefs tracefs "$TRACING" 2>/dev/null || skip "no tracefs"
}

# tracing is on for all later tests of the machine only if a test fails in between
events_set() {
	echo "$1" >"$TRACING/events/crabtree/enable"
	[ "$1" = 0 ] || { echo 1 >"$TRACING/tracing_on"; echo >"$TRACING/trace"; }
}

# recorded TEXT: how many events have it
recorded() { grep -cF -- "$1" "$TRACING/trace" || true; }
