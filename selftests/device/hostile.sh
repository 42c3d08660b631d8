#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests of hostile images: each of images/LIST is put into the region, attached,
# and held against its .expect: state and reason, healthy keys served, others
# -EUCLEAN, writes refused, and not a bit of the media changed.
#
# shellcheck disable=SC3043,SC2317,SC2329
. "$(dirname "$0")/lib.sh"

IMAGES=$HERE/images

image() {
	local stem="$IMAGES/$1" size
	need_scratch
	size=$(sed -n 's/^size //p' "$stem.expect")
	must media put "$BASE" "$stem.img"
	log_mark
	crabtree "region=$BASE,$size"
	hostile "$(device "phys:*")" "$stem.expect" "$IMAGES/base.records" || fail "$1"
	grep -q "^state 1" "$stem.expect" || log_has "$(sed -n 's/^reason //p' "$stem.expect")"
	load -r crabtree
	! grep -q "^media same" "$stem.expect" || must media same "$BASE" "$stem.img"
}

tests() {
	local name
	while read -r name; do
		it image "image $name" "$name" </dev/null
	done <"$IMAGES/LIST"
}

main "$@"
