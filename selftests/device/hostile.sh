#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of hostile images: each of images/LIST is put into memory, attached and
# held against its .expect: state and reason, healthy keys served, others
# -EUCLEAN, writes refused, and not a bit of the media changed.
#
# Images are attached ten at a time, each a region of its own: loading the module
# takes most of the time.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

IMAGES=$HERE/images
ROOM=65536	# from one image to the next
GROUP=10

# expected NAME: sets state, reason, size and media
expected() {
	local word rest
	reason=''
	while read -r word rest; do
		case $word in
		state)	state=$rest ;;
		reason)	reason=$rest ;;
		size)	size=$rest ;;
		media)	media=$rest ;;
		served|unclean) return ;;
		esac
	done <"$IMAGES/$1.expect"
}

# start N: where the Nth image of a group lies
start() { printf '%#x' $((BASE + $1 * ROOM)); }


# held N NAME: the store in it behaves as expected; the log has the reason if it is unavailable
held() {
	expected "$2"
	hostile "$(device "phys:$(start "$1"),*")" "$IMAGES/$2.expect" "$IMAGES/base.records" ||
		fail "$2"
	[ "$state" = 1 ] || grep -qF "$reason" /tmp/log ||
		fail "no line in the log with '$reason'"
}

# unchanged N NAME: after the unload
unchanged() {
	expected "$2"
	[ "$media" = free ] || must media same "$(start "$1")" "$IMAGES/$2.img"
}

# each FUNCTION NAME... : its output and its failure are kept for the report.
# "set -e" does not hold on the left of "||": those functions fail by "fail".
each() {
	local function="$1" n=0 name
	shift
	for name; do
		("$function" $n "$name") >>"/tmp/hostile.$name" 2>&1 || echo failed >>"/tmp/hostile.$name"
		n=$((n + 1))
	done
}

attach() {
	local params=region= n=0 name
	for name; do
		expected "$name"
		must media put "$(start $n)" "$IMAGES/$name.img"
		params=$params$(start $n),$size,
		n=$((n + 1))
	done
	log_mark
	crabtree "${params%,}"
	dmesg | grep "crabtree: " >/tmp/log
}

group() {
	unload
	(attach "$@") || return
	each held "$@"
	unload
	each unchanged "$@"
}

report() {
	grep -v '^failed$' "/tmp/hostile.$1" || true
	! grep -q '^failed$' "/tmp/hostile.$1"
}

image() {
	need_scratch
	[ -e "/tmp/hostile.$1" ] || fail "the images of its group could not be attached"
	report "$1"
}

run_group() {
	local name
	[ "$mode" = count ] || ! BASE=$(scratch) || group "$@"
	for name; do it image "image $name" "$name"; done
}

tests() {
	local name
	set --
	while read -r name; do
		set -- "$@" "$name"
		[ $# -lt $GROUP ] || { run_group "$@"; set --; }
	done <"$IMAGES/LIST"
	run_group "$@"
}

rm -f /tmp/hostile.*
main "$@"
