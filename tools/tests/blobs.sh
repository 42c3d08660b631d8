#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Values of any length: crabctl set, cat, rm and ls on an image.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
here=$2
suite 65
image=b.img
# same KEY FILE: the value of the key is the content of the file
same()
{
	c cat "$1" > value && cmp -s value "$2"
}

t "format --blobs" 0 'leaves of 1024 bytes' - c format --size 8M --blobs
json "the feature bit" "x['feature_incompat'] == 1 and x['kind'] == 'blobs' and not x['commits']" c info --json
t "set a text" 0 '' '' c set 1 'hello, world'
t "cat writes the same" 0 '^hello, world$' '' c cat 1
t "set an empty text" 0 '' '' c set 2 ''
t "cat of no bytes" 0 '' '' c cat 2
head -c 65536 /dev/urandom > long
t "set a file of 64 KiB" 0 '' '' c set 0x10 --file long
truth "cat writes the same 64 KiB" same 0x10 long
printf 'x' >> long
t "one byte more is refused" 3 '' 'too long \(at most 64 KiB, and less in a region of less than 5 MiB\)$' c set 0x11 --file long
t "a directory" 3 '' '\.: set: Is a directory' c set 0x11 --file .
t "a file that is not there" 3 '' 'No such file' c set 0x11 --file none
head -c 5000 /dev/zero > zeros
truth "set from standard input" sh -c "'$crabctl' --image b.img set 3 --file=- < zeros"
truth "cat writes the same zeros" same 3 zeros
t "ls" 0 '^1 12 [0-9]+$' '' c ls
json "ls --json" "[(e['key'], e['bytes'], e['damaged']) for e in x] ==
	[(1, 12, False), (2, 0, False), (3, 5000, False), (16, 65536, False)]" c ls --json
t "--create of a key that is there" 3 '' 'there already' c set 1 x --create
t "--replace of a key that is not" 1 '' 'no such key' c set 4 x --replace
c set 5 first --json > set.json
version=$(sed -n 's/.*"version": *\([0-9]*\).*/\1/p' set.json)
json "ls --json: the version" "[e['version'] for e in x if e['key'] == 5] == [$version]" c ls --json
t "set --if-version" 0 '' '' c set 5 second --if-version "$version"
t "the same version again" 1 '' 'another one' c set 5 third --if-version "$version"
t "the value is the second one" 0 '^second$' '' c cat 5
t "rm --if-version of an old version" 1 '' 'another one' c rm 5 --if-version "$version"
t "rm" 0 '' '' c rm 5
t "cat of a key that is gone" 1 '' 'no such key' c cat 5
t "rm of a key that is gone" 1 '' 'no such key' c rm 5
t "cat of two keys" 2 '' '2: one argument too many' c cat 1 2
t "rm of two keys: none is removed" 2 '' '2: one argument too many' c rm 1 2
for verb in cat rm; do
	t "$verb --json" 2 '' "-j: $verb prints no JSON" c $verb 3 --json
done
t "neither text nor file" 2 '' 'either TEXT or --file' c set 5
t "both text and file" 2 '' 'either TEXT or --file' c set 5 x --file zeros
t "the reserved key" 2 '' 'reserved' c set 0xffffffffffffffff x
t "put of a name is refused" 3 '' 'put x: a store of another kind \(it has blobs' c put x 2
t "put is refused" 3 '' 'put 1: a store of another kind \(it has blobs, and no commits; its verbs: set, cat, rm, ls, snapshot\)$' c put 1 2
t "get is refused" 3 '' 'another kind' c get 1
t "scan is refused" 3 - 'another kind' c scan
t "check" 0 - - c check
t "fsck into an image whose values are shorter" 3 '' 'fsck: 1048576 bytes are too few; --size=[0-9]+ is enough' \
	c fsck --size 1M short.img
python3 - b.img <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"hello, world")
data[at] ^= 1
open(sys.argv[1], "wb").write(data)
PYTHON
t "a damaged value" 3 '' 'damaged' c cat 1
truth "another one is whole" same 3 zeros
t "snapshot names it" 3 '' '^crabctl: b.img: snapshot: key 1 left out: the media is damaged$' c snapshot s
t "and has the others" 3 '' '^3 blobs written to s.partial$' c snapshot s
json_after 3 "snapshot --json, too" "x == {'file': 's.partial', 'kind': 'blobs', 'written': 3, 'left_out': 1}" \
	c snapshot s --json
t "to standard output, too" 3 '^# end 3 [0-9a-f]{8}$' 'key 1 left out' c snapshot -
same "it has the same bytes" out s.partial
t "check finds it" 1 '1 leaf, 4 records: 1 error, at offset 0x[0-9a-f]+: the blob of key 0x1 is damaged$' '' c check
t "fsck copies the others, and names the damaged one" 1 '^lost: all keys from 1 to 1$' '' \
	c fsck copy.img
t "fsck: the copy is a store of blobs, and sound" 0 '3 records: sound' '' \
	"$crabctl" --image copy.img check
t "fsck: the damaged key is not there" 1 '' 'no such key' "$crabctl" --image copy.img cat 1
truth "fsck: the values are the same" sh -c "'$crabctl' --image copy.img cat 3 | cmp - zeros"
python3 - b.img <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[data.index(b"ello, world") - 9] ^= 1	# in the words before the value
open(sys.argv[1], "wb").write(data)
PYTHON
t "ls of a value whose length is damaged: the others, too, and it fails" 3 '^1 0 0 damaged$' \
	'b.img: ls: value of key 1: the media is damaged' c ls
json_after 3 "ls --json of it" "[(e['key'], e['damaged']) for e in x if not e['version']] == [(1, True)]" c ls --json
run "$crabctl" --image plain.img format --size 1M
t "set in a store of records" 3 '' 'another kind' "$crabctl" --image plain.img set 1 x
for verb in set cat rm; do
	# shellcheck disable=SC2046	# no word, or one
	t "$verb of a name there" 3 '' "$verb plc/x: a store of another kind \\(it has records" \
		"$crabctl" --image plain.img "$verb" plc/x $([ $verb != set ] || echo 1)
done

# A damaged leaf: the first, or the last, whose range has no end
"$crabctl" --image leaves.img format --size 256K --blobs --leaf-size 512 > made
for ((i = 1; i <= 60; i++)); do
	"$crabctl" --image leaves.img set "$i" "$i"
done
"$crabctl" --image leaves.img tree --leaves 100 -j > leaves.json
# damage N: the Nth leaf of leaves.img
damage()
{
	cp leaves.img leaf.img
	python3 "$here/doctor.py" FLIP leaf.img "$(python3 -c 'import json, sys
print(24 + json.load(open("leaves.json"))["list"][int(sys.argv[1])]["offset"])' "$1")"
	rm -f copy3.img
}
damage 0
t "ls has the keys after them, and fails" 3 '^60 2 [0-9]+$' 'ls: keys 0 to [0-9]+ left out: the media is damaged' \
	"$crabctl" --image leaf.img ls
"$crabctl" --image leaf.img ls --json > ls.json 2> err
truth "ls --json, too" python3 -c 'import json
assert [e["key"] for e in json.load(open("ls.json"))][-1] == 60'
t "snapshot, too" 3 '' 'snapshot: keys 0 to [0-9]+ left out: the media' "$crabctl" --image leaf.img snapshot s
t "fsck: the first keys are lost" 1 '^lost: all keys from 0 to [0-9]+$' '' \
	"$crabctl" --image leaf.img fsck copy3.img
damage -1
t "ls of a store whose last leaf is damaged" 3 '^1 1 [0-9]+$' 'ls: keys [0-9]+ to 18446744073709551614 left out' \
	"$crabctl" --image leaf.img ls
t "tree: this leaf alone is quarantined" 1 '^leaves .* 1 quarantined$' '' "$crabctl" --image leaf.img tree
t "fsck: the last keys are lost" 1 '^lost: all keys from [0-9]+ to 18446744073709551614$' '' \
	"$crabctl" --image leaf.img fsck copy3.img
t "fsck: the others are there" 0 '^1$' '' "$crabctl" --image copy3.img cat 1
t "snapshot leaves out the same" 3 '' 'snapshot: keys [0-9]+ to 18446744073709551614 left out: the media' \
	"$crabctl" --image leaf.img snapshot s
t "and has all others" 0 '' '' "$crabctl" diff file:copy3.img s.partial
