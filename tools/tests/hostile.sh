#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl fsck and tree over damaged images: hostile.c makes them, and judges each repaired copy.
# A test is a group of images; the images of its faults are in its output.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
hostile=$out/tests/hostile
mkdir images
"$hostile" make images || exit 1
cd images || exit 1
mapfile -t groups < <(printf '%s\n' *.img | sed 's/-[0-9]*\.img$//' | sort -u)
suite $((${#groups[@]} + 41))

repaired=0 lost=0 refused=0
# repair IMAGE [WHOLE]: prints the fault, if there is one
repair()
{
	local code

	cp "$1" old
	rm -f new
	(ulimit -t 20; exec "$crabctl" --image "$1" fsck new > report 2> err)
	code=$?
	case $code in
	0)	repaired=$((repaired + 1)) ;;
	1)	lost=$((lost + 1)) ;;
	3)	refused=$((refused + 1)) ;;
	*)	echo "fsck: exit code $code: $(head -1 err)" ;;
	esac
	"$hostile" judge "$1" new ${2:+"$2"} < report || head -1 err
	(ulimit -t 20; exec "$crabctl" --image "$1" tree > report 2> err)
	code=$?
	[ "$code" = 0 ] || [ "$code" = 1 ] || [ "$code" = 3 ] || echo "tree: exit code $code"
	cmp "$1" old
}

for group in "${groups[@]}"; do
	wrong=
	for image in "$group"-*.img; do
		whole=$group-0.img
		[ "$group" != corpus ] || whole=
		repair "$image" "$whole" > fault 2>&1
		[ ! -s fault ] || wrong+="$image: $(tr '\n' ' ' < fault); "
	done
	result "$group: $(printf '%s\n' "$group"-*.img | wc -l) images" "$wrong"
done
echo "# $repaired repaired without loss, $lost with lost ranges, $refused without a store"

# The judge notices a copy that differs
"$crabctl" --image crab_slotted__many_leaves-0.img fsck one > report
cp one two
"$crabctl" --image one put 1 1
"$crabctl" --image one del 16
"$crabctl" --image two del 8
t "a record that was not there is found" 1 '^key 1: -2 value 0, in the copy 0 value 1$' '' \
	bash -c "'$hostile' judge crab_slotted__many_leaves-0.img one < report"
t "a record that is gone is found" 1 '^check: 0 errors: , 9[0-9] records$' '' \
	bash -c "'$hostile' judge crab_slotted__many_leaves-0.img two < report"

# A store that random inserts filled
for layout in crab/slotted crab/sorted nvtree/append fastfair/shift clfb/inplace clfb/twin clfb/encoded nbtree/adr \
	nbtree/eadr; do
	rm -f full.img full
	"$crabctl" --image full.img format --size 64K --engine "${layout%/*}" \
		--layout "${layout#*/}" --leaf-size "$([ "$layout" = clfb/encoded ] && echo 64 || echo 512)" > /dev/null
	python3 -c 'print(*(f"{k * 7919 % 10007} {k}" for k in range(1, 5000)), sep="\n")' > records
	"$crabctl" --image full.img load --batch 1 records > /dev/null 2>&1
	t "$layout: all records of a full store" 0 ' records, sound$' '' \
		"$crabctl" --image full.img fsck full
	run "$crabctl" --image full.img snapshot full.s
	rm -f full
	t "$layout: they are restored to its size" 0 ' records restored$' '' \
		"$crabctl" --image full restore --size 64K full.s
	head -c 64K /dev/zero > device
	FAKE_IMAGE=$PWD/device t "$layout: in a device, too" 0 ' records restored$' '' \
		"$out/tests/crabctl-fakedev" -d /dev/zero restore full.s
done

# full KIND ENGINE: the same, of values
full()
{
	local n=0

	rm -f full.img full
	run "$crabctl" --image full.img format --size 128K "--$1" --engine "$2" --leaf-size 512
	while "$crabctl" --image full.img set $((++n * 7919 % 10007)) "$(printf %060d 0)" 2> err; do
		:
	done
	run "$crabctl" --image full.img snapshot full.s
}
full blobs fastfair
t "all blobs of a full store" 0 ' records, sound$' '' "$crabctl" --image full.img fsck full
t "they are restored to its size" 0 ' blobs restored$' '' \
	"$crabctl" --image full restore --force full.s

# Where slabs and leaves of the index alternate in another order, slabs do not find as much memory
full names crab
t "doctor reports a full store of names" 1 'the store is full' '' "$crabctl" --image full.img doctor
json "whose leaves are in use" "x['leaves_used'] > x['leaves'] * 9 // 10" "$crabctl" --image full.img info --json
few='131072 bytes are too few; --size=[0-9]+ is enough$'
t "fsck into an image that is too small" 3 '' "$few" "$crabctl" --image full.img fsck full
size=$(sed -n 's/.*--size=\([0-9]*\) is enough/\1/p' "$tmp/err")
truth "leaves none" [ ! -e full ]
t "fsck --size" 0 ' records, sound$' '' "$crabctl" --image full.img fsck --size "$size" full
t "restore to an image that is too small" 3 '' "$few" "$crabctl" --image full restore --force --size 128K full.s
size=$(sed -n 's/.*--size=\([0-9]*\) is enough/\1/p' "$tmp/err")
t "restore --size" 0 ' names restored$' '' "$crabctl" --image full restore --force --size "$size" full.s
t "has all names" 0 '' '' "$crabctl" diff file:full.img file:full
truth "some lose ranges, and some lose nothing" [ "$((repaired > 50 && lost > 50))" = 1 ]
truth "few are refused" [ "$((refused * 4 < repaired + lost))" = 1 ]
