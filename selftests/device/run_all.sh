#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run_all.sh [NAME...] - run every test program and script here, as root, and
# print one KTAP stream. The plan comes first: each program reports how many tests
# it has; fewer results than that are a failure. Programs work on a device over
# ram=512K, signals and freezing over one on which a call takes its time; scripts load the module
# as they need it. stress, faults, faults_values, loading and drain are run where they are named: the first takes
# long, the others want a kernel that can fail, or another module.
#
# shellcheck disable=SC3043
. "$(dirname "$0")/lib.sh"

PROGRAMS="abi abi32 operations operations32 blobs names commits values modify range observe limits permissions bad_input unfinished copies signals freezing publish concurrency linear control removal"
SCRIPTS="regions.sh providers.sh reload.sh hostile.sh sample.sh kapi.sh tuning.sh events.sh tracing.sh power.sh"
RESULTS=/tmp/crab-results.$$

# Programs that exist and that this machine can execute: 32-bit programs need compat. TOTAL: their
# tests. Each is asked once, as a program starts slowly in an emulator
plan() {
	local name count
	WANTED="" TOTAL=0
	for name in ${ARGS:-$PROGRAMS $SCRIPTS}; do
		[ -x "$HERE/$name" ] || continue
		if count=$("$HERE/$name" --count 2>/dev/null); then
			WANTED="$WANTED $name"
			TOTAL=$((TOTAL + count))
		else
			say "$name cannot run on this machine" >&2
		fi
	done
}

run_one() {
	local size=524288
	case $1 in signals|freezing) size=16777216 ;; esac
	case $1 in
	*.sh)	"$HERE/$1" ;;
	*)	load "$CRAB_MODULES/crabtree.ko" ram=$size &&
			CRABTREE_DEV=$(device ram:$size) "$HERE/$1" ;;
	esac
	unload
}

# Results get numbers of the whole stream and the name of their program
renumber() {
	awk -v name="${1%.sh}" -v from="$2" '
	/^KTAP version/ || /^1\.\./ { next }
	match($0, /^(not )?ok [0-9]+ /) {
		word = $1 == "not" ? "not ok" : "ok"
		print word, ++from, name ": " substr($0, RLENGTH + 1)
		fflush()
		next
	}
	{ print /^#/ ? $0 : "# " $0; fflush() }'
}

seconds() { cut -d. -f1 /proc/uptime; }

run_all() {
	local name start
	: >"$RESULTS"
	for name in $WANTED; do
		start=$(seconds)
		run_one "$name" 2>&1 | renumber "$name" "$(grep -cE '^(not )?ok ' "$RESULTS")" |
			tee -a "$RESULTS"
		echo "# $name: $(($(seconds) - start)) s"
	done
}

summary() {
	local total="$1" ran passed skipped
	ran=$(grep -cE '^(not )?ok ' "$RESULTS")
	skipped=$(grep -cE '^ok .*# SKIP' "$RESULTS")
	passed=$(($(grep -c '^ok ' "$RESULTS") - skipped))
	echo "# passed $passed, failed $((ran - passed - skipped)), skipped $skipped, planned $total"
	[ "$ran" = "$total" ] || { echo "# $((total - ran)) tests did not run"; return 1; }
	[ $((passed + skipped)) = "$total" ]
}

ARGS=$*
plan
echo "KTAP version 1"
echo "1..$TOTAL"
unload
run_all
summary "$TOTAL"
rc=$?
rm -f "$RESULTS"
exit $rc
