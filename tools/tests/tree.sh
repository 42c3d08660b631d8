#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl tree: the leaves of each engine, against the records and the counts of the store; the
# transcripts of Documentation/admin-guide/tree.rst, which RECORD=1 prints; damaged images.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
here=$2
manual=$here/../../Documentation/admin-guide
golden=$here/../host/golden
goldens=("$golden"/*.gz "$golden"/nvtree/*.gz "$golden"/fastfair/*.gz "$golden"/clfb/*.gz \
	"$golden"/nbtree/*.gz)
layouts=(crab/slotted crab/sorted nvtree/append fastfair/shift clfb/inplace clfb/twin clfb/encoded nbtree/adr \
	nbtree/eadr)
suite $((6 * ${#layouts[@]} + ${#goldens[@]} + 27))

# fresh FILE ENGINE/LAYOUT: 2000 records with every third key
fresh()
{
	rm -f "$1"
	"$crabctl" --image "$1" format --size 1M --engine "${2%/*}" --layout "${2#*/}" \
		--leaf-size "$([ "$2" = clfb/encoded ] && echo 64 || echo 512)" > /dev/null
	python3 -c 'print(*(f"{k * 7 % 2000 * 3} {k}" for k in range(2000)), sep="\n")' |
		"$crabctl" --image "$1" load - > /dev/null 2>&1
	"$crabctl" --image "$1" info --json > info.json
	"$crabctl" --image "$1" dump records > /dev/null 2>&1
}

# fits: the ranges follow each other, and have the records of the store
fits()
{
	python3 -c '
import json
x, info = json.load(open("out")), json.load(open("info.json"))
rows = x["list"]
assert x["complete"] and rows[0]["low"] == 0 and rows[-1]["high"] == 2**64 - 2
assert all(a["high"] + 1 == b["low"] for a, b in zip(rows, rows[1:]))
keys = [int(line.split()[0]) for line in open("records")]
for row in rows:
    assert row["records"] == sum(row["low"] <= key <= row["high"] for key in keys), row
assert len({row["number"] for row in rows}) == len(rows) == x["leaves_used"] == x["levels"][0]
leaves = x["levels"][0] if info["engine"] == "clfb" else sum(x["levels"])
assert leaves <= info["leaves_used"] and x["records"] == info["records"] == 2000
assert sum(x["fill"]) == len(rows)'
}

for layout in "${layouts[@]}"; do
	fresh i.img "$layout"
	cp i.img before.img
	t "$layout: tree" 0 '^records   2000, ' '' "$crabctl" --image i.img tree
	truth "$layout: lists the first leaves only" [ "$(grep -c ' to [0-9]*$' out)" = 16 ]
	run "$crabctl" --image i.img tree --json --leaves 1000
	cp out all.json
	result "$layout: each record is in the range of one leaf" "$(fits 2>&1 | tail -1)"
	leaf=$(python3 -c 'import json; print(json.load(open("all.json"))["list"][7]["number"])')
	run "$crabctl" --image i.img tree --json --leaf "$leaf"
	cp out leaf.json
	truth "$layout: one leaf has the records of its range" python3 -c '
import json
leaf = json.load(open("leaf.json"))["leaf"]
records = [tuple(map(int, line.split())) for line in open("records")]
assert [(r["key"], r["value"]) for r in leaf["content"]] == [
    r for r in records if leaf["low"] <= r[0] <= leaf["high"]] != []'
	run "$crabctl" --image i.img tree --svg i.svg --leaf "$leaf"
	truth "$layout: the picture is XML" python3 -c '
import xml.etree.ElementTree as tree
assert len(list(tree.parse("i.svg").iter("{http://www.w3.org/2000/svg}rect"))) > 100'
	same "$layout: the image is unchanged" before.img i.img
done

for image in "${goldens[@]}"; do
	gzip -dc "$image" > g.img
	records=$(sed 1d "${image%.gz}.txt" | wc -l)
	t "golden ${image##*/}: its records" 0 "^records   $records, " '' "$crabctl" --image g.img tree
done

# transcript COMMAND...: the command and its output, as on the page
transcript()
{
	echo "    \$ crabctl $*"
	"$crabctl" "$@" | sed -E 's/^(memory +)[0-9.]+ [A-Za-z]+/\1.../; s/^/    /; s/ +$//'
}
rm -f i.img
"$crabctl" --image i.img format --size 64K --leaf-size 512 > /dev/null
python3 -c 'print(*(f"{k} {k * k}" for k in range(1, 301)), sep="\n")' |
	"$crabctl" --image i.img load - > /dev/null 2>&1
for ((key = 60; key < 110; key += 2)); do
	"$crabctl" --image i.img del "$key"
done
transcript --image i.img tree --leaf 3 > text
transcript --image i.img tree --json --leaves 1 | grep -v dram_bytes > json
"$crabctl" --image i.img tree --leaf 3 --svg tree.svg
[ -z "${RECORD:-}" ] || { cat text json >&2; cp tree.svg "$manual/tree.svg"; }
for what in text json; do
	truth "the manual's transcript: $what" python3 -c '
import sys
page, text = open(sys.argv[1]).read(), open(sys.argv[2]).read()
sys.exit(text not in page)' "$manual/tree.rst" "$what"
done
same "the manual's picture" "$manual/tree.svg" tree.svg
t "more leaves than there are" 0 ' to 18446744073709551614$' '' "$crabctl" --image i.img tree --leaves 1000000
t "no list" 0 - '' "$crabctl" --image i.img tree --leaves 0
truth "but the histogram" [ "$(grep -c ' to [0-9]' out)" = 0 ]

t "a leaf that is not in use" 3 '' 'leaf 90 is not in the tree' "$crabctl" --image i.img tree --leaf 90
t "too many leaves" 2 '' 'number of leaves 1000001: 0 to 1000000' "$crabctl" --image i.img tree --leaves 1000001
t "an argument" 2 '' 'tree takes no argument' "$crabctl" --image i.img tree x
t "a file that cannot be written" 3 '' 'nodir/x.svg: open: No such' \
	"$crabctl" --image i.img tree --svg nodir/x.svg
run "$crabctl" --image i.img tree --leaf 3 --svg -
same "a picture on standard output" tree.svg out
t "a full disk" 3 '' '/dev/full: write: No space' "$crabctl" --image i.img tree --svg /dev/full
cp i.img before.img
t "a picture over the image" 3 '' 'crabctl: i.img: that is the image itself' "$crabctl" --image i.img tree --svg i.img
same "which is unchanged" before.img i.img
cp tree.svg old.svg
t "a picture for which there is no room" 3 '' 'old.svg: write: File too large' \
	sh -c "ulimit -f 1; exec '$crabctl' --image i.img tree --svg old.svg"
same "leaves the old one" tree.svg old.svg
t "a device" 2 '' 'crabctl --image FILE tree' "$crabctl" tree
truncate -s 64K blank.img
t "no store" 3 '' 'tree: the region is not formatted' "$crabctl" --image blank.img tree
t "fsck of no store" 3 '' 'fsck: the region is not formatted' "$crabctl" --image blank.img fsck new.img
gzip -dc "$golden/formatted-volatile.gz" > v.img
t "an engine without a tree on the media" 0 '^leaves    0 of ' '' "$crabctl" --image v.img tree

for kind in blobs names; do
	rm -f k.img
	"$crabctl" --image k.img format --size 1M --$kind > /dev/null
	"$crabctl" --image k.img set 1 x
	"$crabctl" --image k.img set 2 y
	t "a sound store of $kind" 0 '^records   2, ' '' "$crabctl" --image k.img tree
done

poke()
{
	printf '\x5a' | dd of="$1" bs=1 seek="$2" conv=notrunc 2> /dev/null
}
cp i.img slot.img
printf '\x05' | dd of=slot.img bs=1 seek=$((16384 + 3 * 512 + 48)) conv=notrunc 2> /dev/null
t "a record in the wrong leaf: quarantined" 1 ', quarantined$' '' "$crabctl" --image slot.img tree
t "with a number of such leaves" 1 '^leaves .* 1 quarantined$' '' "$crabctl" --image slot.img tree
cp i.img link.img
poke link.img $((16384 + 4 * 512 + 24))
t "a header that is damaged ends the list" 1 '^damaged   a link leads to no node' '' \
	"$crabctl" --image link.img tree
cp link.img before.img
run "$crabctl" --image link.img tree --json
cp out damaged.json
truth "in JSON" python3 -c 'import json
assert not json.load(open("damaged.json"))["complete"]'
same "a damaged image is unchanged" before.img link.img
