#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl snapshot, restore, diff and watch; a damaged snapshot is refused wherever it is damaged.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
here=$2
suite 132
uuid_of()
{
	"$crabctl" --image "$1" info | sed -n 's/^uuid *//p'
}

c --image a format --size 256K --label "my store" > made
seq 1 700 | awk '{ print 3 * $1, $1 }' > lines
run c --image a load lines
t "snapshot" 0 '' '^700 records written to s$' c --image a snapshot s
t "snapshot to standard output" 0 '^# end 700 [0-9a-f]{8}$' '' c --image a snapshot -
same "which has the same bytes" s out
json "snapshot --json" "x == {'file': 's2', 'kind': 'records', 'written': 700, 'left_out': 0}" c --image a snapshot s2 --json
rm s2
t "snapshot --json to standard output" 2 '' '-j: snapshot to standard output prints no JSON' c --image a snapshot -j -
grep -v '^#' s > records
same "the records of a snapshot are those of a dump" records lines
t "snapshot needs a regular file" 3 '' 'not a regular file' c --image a snapshot /dev/null
t "snapshot of no store" 3 '' 'no such file|No such file' c --image none snapshot s2
result "which leaves no file" "$(find . -name 's2*')"

# Other engines, layouts and sizes
for to in "crab slotted 512K" "crab sorted 128K" "nvtree append 512K" "fastfair shift 512K" \
	"clfb inplace 512K" "clfb twin 512K" "clfb encoded 512K" "nbtree adr 512K" "nbtree eadr 512K"; do
	read -r engine layout size <<< "$to"
	t "restore to $engine/$layout" 0 '^b: 700 records restored$' '' \
		c --image b restore --engine "$engine" --layout "$layout" --size "$size" --force s
	t "$engine/$layout has the same records" 0 '' '' c diff s file:b
done
json "label and uuid are kept" "x['label'] == 'my store'" c --image b info -j
new=11111111-2222-3333-4444-555555555555
t "restore of a copy with another label and uuid" 0 '^b: 700 records restored$' '' \
	c --image b restore --force --label copy --uuid $new s
json "which it has" "x['label'] == 'copy' and x['uuid'] == '$new' and x['records'] == 700" c --image b info -j
run c --image b restore --force --label '' s
json "an empty label is none, and the uuid is that of the snapshot" \
	"x['label'] == '' and x['uuid'] == '$(uuid_of a)'" c --image b info -j
t "a label with a slash" 3 '' "^crabctl: b: restore: label with '/' or a control character\$" \
	c --image b restore --force --label a/b s
t "a label that is too long" 2 '' '--label x{32}: longer than 31 bytes' c --image b restore --label "$(printf 'x%.0s' {1..32})" s
t "no uuid" 2 '' 'uuid 1: not of the form' c --image b restore --force --uuid 1 s
c --image b format --leaf-size 512 --force --yes > made
run c --image b snapshot leaves
run c --image b restore --force leaves
json "the size of leaves, too" "x['leaf_bytes'] == 512" c --image b info -j
run c --image b restore --force --layout sorted leaves
json "but not for another layout" "x['leaf_bytes'] == 1024" c --image b info -j
run c --image b format --commits --force --yes
run c --image b snapshot commits
run c --image b restore --force commits
json "commits, too, in a store without records" "x['feature_incompat'] == 2" c --image b info -j
t "restore --leaf-size 4G" 2 '' '--leaf-size 4G: a power of two, 64 to 8192' \
	c --image b restore --force --leaf-size 4G s
run c --image b restore --force s
sed -n "/^Convert to another leaf size/,/^\.Ed/s|^# crabctl|'$crabctl' --image b|p" "$here/../man/crabctl.1" > convert
run sh -e convert
json "the manual's conversion to another size of leaves keeps label, uuid and records" \
	"x['label'] == 'my store' and x['leaf_bytes'] == 4096 and x['uuid'] == '$(uuid_of a)' and x['records'] == 700" \
	c --image b info -j
run c --image b restore --force s
t "restore without --size" 2 '' 'give --size' c --image new restore s
t "restore over an image" 3 '' 'b: restore: the file is there already; --force replaces it$' c --image b restore s
cp b before
t "restore to an image that is too small" 3 '' '24576 bytes are too few; --size=[0-9]+ is enough' c --image b restore --size 24K --force s
same "which leaves the old image" b before
no_partial "and no other file"
seq 1 1000 | sed 's/.*/& &/' | c --image b load - > made
run c --image b snapshot own
cp own kept
t "restore onto its own snapshot" 3 '' '^crabctl: own: that is the image itself$' c --image own restore --force --size 64K own
same "which it keeps" kept own
run c --image b restore --force s
t "load reads a snapshot" 0 '^700 records stored' '' c --image b load s

# Damage
head -c 3000 s > torn
t 'a truncated snapshot' 3 '' '^crabctl: torn:[0-9]+: truncated \(good up to line 2[0-9]+' \
	c --image b restore --force torn
sed '/^# end/d' s > torn
t "without its last line" 3 '' 'truncated' c --image b restore --force torn
t "load refuses it, too" 3 '' 'truncated.*nothing was changed' c --image b load torn
{ cat s; echo "5 5"; } > torn
t "with bytes after its last line" 3 '' 'bytes after the last line' c --image b restore --force torn
sed '300,320d' s > torn
t "with lines left out" 3 '' 'checksum differs' c --image b restore --force torn
t "a directory is none" 3 '' '^crabctl: [.]: restore: Is a directory' c --image b restore --force .
t "other data without an end: they are not copied" 3 '' 'standard input:1: not a snapshot' \
	sh -c "ulimit -f 8; yes | '$crabctl' --image new restore --size=64K -"
t "diff of a device that has no store" 3 '' '/dev/null: diff: neither a store nor a snapshot' c diff s /dev/null
: > tiny
t "diff of a file that is not there" 3 '' '^crabctl: nofile: diff: no such file$' c diff nofile file:b
t "diff of a device that is not there" 3 '' '^crabctl: /dev/crab9: diff: no such device ' c diff crab9 file:b
t "diff of an image that is too small" 3 '' 'file:tiny: diff: too small to be an image' c diff s file:tiny
truncate -s 64K blank
t "diff of an image without a store" 3 '' 'file:blank: diff: the region is not formatted' c diff file:blank file:b
t "diff of an image as a snapshot" 3 '' '^crabctl: b: diff: not a snapshot; an image is file:b$' c diff b file:b
t "diff with standard input" 0 '' '' sh -c "'$crabctl' diff - file:b < s"
t "which has no snapshot" 3 '' '^crabctl: standard input: diff: not a snapshot; an image is file:PATH$' \
	sh -c "'$crabctl' diff file:b - < lines"
t "snapshot of an image without a store writes nothing" 3 '' 'blank: snapshot: the region is not formatted' \
	c --image blank snapshot -
t "a dump is no snapshot" 3 '' '^crabctl: lines:1: not a snapshot; load reads the lines of a dump ' c --image b restore --force lines

# Every bit of a small snapshot, and every length
c --image small format --size 64K > made
c --image small put 1 2
t "one record has no plural" 0 '' '^1 record written to one$' c --image small snapshot one
t "nor in check" 0 '^small: 1 leaf, 1 record: sound$' '' c --image small check
t "nor in doctor" 0 '^small: ready, store "", 1 record, 1 of 48 leaves in use$' '' c --image small doctor
t "nor in dump" 0 '' '^1 record written to one$' c --image small dump one
c --image small put 30 4
run c --image small snapshot tiny
truth "each flipped bit and each length is refused" python3 "$2/flip.py" "$crabctl" tiny b
cmp -s b before
result "which leaves the image" "$(c diff s file:b 2>&1)"

# Differences
c --image b put 5 5
c --image b del 6
c --image b put 9 1
printf '%s\n' '+ 5 5' '- 6 2' '- 9 3' '+ 9 1' > want
t "diff" 1 '^- 6 2$' '' c diff s file:b
same "shows each record that differs" out want
run c diff --json s file:b
cp out diff.json
json "diff --json" "x == [{'side': 'new', 'key': 5, 'value': 5}, {'side': 'old', 'key': 6, 'value': 2},
	{'side': 'old', 'key': 9, 'value': 3}, {'side': 'new', 'key': 9, 'value': 1}]" cat diff.json
json "diff --json of a store with itself" "x == []" c diff -j file:b file:b
t "diff to a full disk" 3 '' 'standard output: No space' sh -c "'$crabctl' diff s file:b > /dev/full"
t "diff of a store with itself" 0 '' '' c diff file:b file:b
t "diff with a damaged snapshot" 3 '' 'checksum differs|truncated' c diff torn file:b
exec 9< s
t "diff of a snapshot below /dev" 1 '^- 6 2$' '' c diff /dev/fd/9 file:b
exec 9<&-
t "diff of a pipe" 1 '^- 6 2$' '' c diff <(cat s) file:b
# After an error in the middle, the output is still JSON
cp b harmed
offset=$(c --image harmed tree -j | python3 -c 'import json, sys; print(json.load(sys.stdin)["list"][-1]["offset"])')
printf '!' | dd of=harmed bs=1 seek=$((offset + 24)) conv=notrunc 2> made
json_after 3 "diff --json ends its array" "x[0] == {'side': 'new', 'key': 5, 'value': 5} and len(x) == 4" \
	c diff -j s file:harmed
for verb in scan "scan -r" dump; do
	# shellcheck disable=SC2086	# several words
	json_after 3 "$verb --json, too" "0 < len(x) < 700" c --image harmed $verb -j
done
json_after 3 "an array without elements" "x == []" c diff -j file:harmed file:harmed
# Damage in the middle: the others are compared, and the range is no difference, on either side
cp b harmed
offset=$(c --image harmed tree -j | python3 -c 'import json, sys; print(json.load(sys.stdin)["list"][3]["offset"])')
printf '!' | dd of=harmed bs=1 seek=$((offset + 24)) conv=notrunc 2> made
cp b later
c --image later put 2099 1
t "diff goes on after a damaged range" 3 '^\+ 2099 1$' '^crabctl: file:harmed: diff: keys [0-9]+ to [0-9]+ not compared: the media is damaged' \
	c diff file:harmed file:later
truth "and prints the difference after it, and no other" [ "$(cat out)" = '+ 2099 1' ]
t "it reports that it is not complete" 3 - '^crabctl: diff: not complete: 1 damaged part was not compared$' c diff file:harmed file:later
truth "the other way round" [ "$(c diff file:later file:harmed 2> err)" = '- 2099 1' ]
t "diff of two that are damaged there" 3 '' '^crabctl: diff: not complete: 2 damaged parts were' c diff file:harmed file:harmed
# A slow reader of many differences
c --image few format --size 64K > made
c --image many format --size 4M > made
seq 1 40000 | sed 's/.*/& &/' | c --image many load - > made
script -qec "'$crabctl' diff file:few file:many | (sleep 0.5; cat > seen)" /dev/null < /dev/null > screen
truth "diff has progress on a terminal" grep -q '[0-9] records' screen
truth "which is no part of its output" [ "$(grep -c '^+ [0-9]* [0-9]*$' seen)" = "$(wc -l < seen)" ]
t "diff needs two" 2 '' 'NEW is missing' c diff s

# Over a device
export FAKE_IMAGE=$tmp/a
t "snapshot of a device" 0 '' '^700 records' fake snapshot d
same "has the same records" s d
FAKE_ERRNO=5 t "a snapshot that fails" 3 '' 'snapshot, after 0 records: ' fake snapshot e
FAKE_ERRNO=116 t "a snapshot without memory for old values" 3 '' \
	'snapshot: ended after 0 records: others wrote so much meanwhile' fake snapshot e
result "leaves no file" "$(find . -name 'e' -o -name 'e.*')"
python3 - > changes << 'END'
import struct, sys
for change in ((1, 5, 50, 0, 1, 0), (2, 5, 60, 50, 1, 1), (3, 5, 0, 60, 3, 1), (10, 0, 7, 0, 0, 2)):
    sys.stdout.buffer.write(struct.pack("<4Q2I", *change))
END
ln -s /dev/zero node
t "diff of a device in another directory" 0 '' '' "$out/tests/crabctl-fakedev" diff node s
export FAKE_CHANGES=$tmp/changes
printf '%s\n' 'put 5 50' 'put 5 60' 'del 5' 'lost 7' > want
run fake watch
same "watch" out want
FAKE_LOG=log run fake watch -n 2 5 6 --entries 65536
truth "watch -n" [ "$(wc -l < out)" = 2 ]
truth "watch of a range, and with the most entries" grep -qx 'watch 5 6 65536' log
t "watch of a range that ends below its start" 2 '' '^crabctl: watch: 6 to 5: the range ends below its start$' fake watch 6 5
t "watch with more" 2 '' '--entries 65537: 1 to 65536' fake watch --entries 65537
mkfifo pipe
exec 8<> pipe
cat changes >&8
FAKE_CHANGES=pipe timeout 60 "$out/tests/crabctl-fakedev" -d /dev/zero watch 8>&- | head -n 4 > seen
ended=${PIPESTATUS[0]}
exec 8>&-
truth "watch ends when its reader does: status $ended" [ "$ended" = 141 ]
FAKE_CHANGES=pipe fake watch > seen &
exec 9> pipe
cat changes >&9
for ((i = 0; i < 200 && $(wc -l < seen) < 4; i++)); do
	sleep 0.05
done
same "each change is printed at once" want seen
exec 9>&-
wait
t "watch -n 0 prints none" 0 '' '' fake watch -n 0
fake watch -j > changes.json
truth "watch --json" python3 -c 'import json
x = [json.loads(line) for line in open("changes.json")]
assert x[1] == {"seq": 2, "verb": "put", "key": 5, "value": 60, "old": 50}, x[1]
assert x[2] == {"seq": 3, "verb": "del", "key": 5, "old": 60}, x[2]
assert x[3] == {"seq": 10, "verb": "lost", "changes": 7}, x[3]'
t "watch of an image" 3 '' 'watch: ' c --image a watch

# Restore to a device
head -c 512K /dev/zero > d
export FAKE_IMAGE=$tmp/d
t "restore to a blank device" 0 '700 records restored$' '' fake restore s
t "which has the same records" 0 '' '' c diff s file:d
t "restore over a store" 3 '' '--force replaces' fake restore s
t "restore to a device with another label" 0 '700 records' '' fake restore --force --yes --label copy --uuid $new s
json "which it has, and the other uuid" "x['label'] == 'copy' and x['uuid'] == '$new'" c --image d info -j
t "with --force it asks" 2 '' 'say --yes' fake restore --force s
t "--size of a device" 2 '' '--size is for --image' fake restore --size 1M s
t "an engine that is unknown" 3 '' 'unknown engine' fake restore --force --yes --engine none s
t "a damaged snapshot" 3 '' 'nothing was changed' fake restore --force --yes torn
cp d before
t "a damaged snapshot from a pipe" 3 '' 'standard input:[0-9]+: .*nothing was changed' \
	sh -c "'$out/tests/crabctl-fakedev' -d /dev/zero restore --force --yes - < torn"
same "which leave the store" d before
c --image d put 5 5
t "restore from a pipe, another engine" 0 '700 records restored$' '' \
	sh -c "cat s | '$out/tests/crabctl-fakedev' -d /dev/zero restore --force --yes --engine nvtree -"
t "has the same records, too" 0 '' '' c diff s file:d
FAKE_SHORT=90 fake restore --force --yes -j --layout sorted s > json
truth "restore --json" python3 -c 'import json
assert json.load(open("json")) == {"file": "s", "kind": "records", "restored": 700}'
head -c 24K /dev/zero > e
FAKE_IMAGE=$tmp/e t "restore to a device that is too small" 3 '' 'no store in it now' fake restore s
json "which has no store" "x['state'] == 'unformatted' and 'did not end' in x['reason']" c --image e info -j

# Killed before each call: the old store, then none, then the new one
kill_all()
{
	local n code found=''
	for ((n = 1; n < 60; n++)); do
		cp old k
		FAKE_IMAGE=$tmp/k FAKE_SHORT=90 FAKE_KILL=$n fake restore --force --yes "$1" > /dev/null 2>&1
		code=$?
		if [ "$code" = 0 ]; then
			c diff "$1" file:k > /dev/null && found+=N
			break
		elif c diff s.old file:k > /dev/null 2>&1; then
			found+=O
		elif [ "$("$crabctl" --image k info -j | python3 -c 'import json, sys
print(json.load(sys.stdin)["state"])')" = unformatted ]; then
			found+=-
		else
			found+="($n: $code)"
		fi
	done
	echo "$found"
}
c --image b snapshot s.old 2> /dev/null
cp b old
kill_all s > found 2>&1
truth "killed before each call: $(< found)" grep -Eqx 'O+-+N' found

# The engine volatile keeps nothing
python3 - << 'PYTHON' > volatile.s
import sys
text = b"# crabtree snapshot 1\n# uuid 00112233-4455-6677-8899-aabbccddeeff\n# engine volatile sorted 1024\n# label v\n5 50\n"
crc = 0xFFFFFFFF
for byte in text:
    crc ^= byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
sys.stdout.buffer.write(text + b"# end 1 %08x\n" % (crc ^ 0xFFFFFFFF))
PYTHON
t "an unknown engine for an image" 3 '' "new.img: restore: unknown engine 'none'\$" \
	"$crabctl" --image new.img restore --engine none --size 64K s
t "a leaf size that the layout cannot have" 3 '' 'new.img: restore: leaf size 64 is not' \
	"$crabctl" --image new.img restore --leaf-size 64 --size 64K s
t "a snapshot of the engine volatile" 0 '1 record restored' 'the default is used' \
	"$crabctl" --image v.img restore --size 256K volatile.s
t "becomes a store that stays" 0 '^50$' '' "$crabctl" --image v.img get 5
"$crabctl" --image w.img format --size 256K > made
t "on a device, too" 0 '1 record restored' 'the default is used' env FAKE_IMAGE="$PWD/w.img" \
	"$out/tests/crabctl-fakedev" -d /dev/zero restore --force --yes volatile.s
t "where it stays, too" 0 '^50$' '' "$crabctl" --image w.img get 5
t "--engine volatile for an image" 2 '' 'keeps nothing' \
	"$crabctl" --image v.img restore --engine volatile --force volatile.s
