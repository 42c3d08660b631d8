#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl snapshot, restore, load, diff and watch of stores of blobs and of names; a damaged snapshot
# is refused wherever it is damaged.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 65

# Blobs: no bytes, line feeds and zeros, as long as possible, text that looks like a stream
c --image a format --size 1M --blobs --label values > made
head -c 0 /dev/null > v1
printf 'one\n\0\n\n' > v2
head -c 9000 /dev/urandom > v3
printf '# sum 01234567\n' > v4
for i in 1 2 3 4; do
	run c --image a set "$i" --file "v$i"
done
for ((i = 10; i < 400; i++)); do
	printf 'set %d text-%d\n' "$i" "$i"
done > many
while read -r _ key text; do
	"$crabctl" --image a set "$key" "$text" || break
done < many > /dev/null
t "a snapshot of blobs" 0 '' '^394 blobs written to s$' c --image a snapshot s
t "to standard output" 0 '-' '' c --image a snapshot -
same "which has the same bytes" s out
truth "its header names the kind" sh -c 'head -n1 s | grep -q "snapshot 2" && grep -aq "^# kind blobs$" s'
for to in "crab slotted" "crab sorted" "nvtree append" "fastfair shift" "clfb twin" "nbtree adr" \
	"nbtree eadr"; do
	read -r engine layout <<< "$to"
	t "restore of blobs to $engine/$layout" 0 '^b: 394 blobs restored$' '' \
		c --image b restore --engine "$engine" --layout "$layout" --size 1M --force s
	t "$engine/$layout has the same values" 0 '' '' c diff s file:b
done
t "check of the last one" 0 '-' '' c --image b check
run c --image b cat 3
same "a long value" out v3
run c --image b cat 2
same "a value with line feeds and zeros" out v2
t "restore to an image that is too small" 3 '' '49152 bytes are too few; --size=[0-9]+ is enough' c --image b restore --size 48K --force s

# Differences
c --image b set 2 two > /dev/null
c --image b rm 4
c --image b set 5 five > /dev/null
t "diff of blobs" 1 '^- 4 15 [0-9a-f]{8}$' '' c diff s file:b
truth "shows each that differs" [ "$(cut -d' ' -f1,2 out | tr '\n' ' ')" = '- 2 + 2 - 4 + 5 ' ]
run c diff -j s file:b
cp out diff.json
json "diff --json of blobs" "x[2]['side'] == 'old' and x[2]['key'] == 4 and x[2]['bytes'] == 15 and
	len(x[2]['checksum']) == 8 and len(x[2]) == 4" cat diff.json
FAKE_IMAGE=$tmp/a FAKE_ERRNO=116 t "diff with a snapshot that has ended is no difference" 3 '' \
	'^crabctl: /dev/zero: diff: ended: others wrote so much' "$out/tests/crabctl-fakedev" diff /dev/zero s
cp a torn
offset=$(c --image torn tree -j | python3 -c 'import json, sys; print(json.load(sys.stdin)["list"][-1]["offset"])')
printf '!' | dd of=torn bs=1 seek=$((offset + 24)) conv=notrunc 2> made
t "damage of the list is not that of the key before it" 3 '' 'snapshot: keys [0-9]+ to [0-9]+ left out: the media is damaged' \
	c --image torn snapshot torn.s
c --image r format --size 256K > made
t "diff of two kinds" 3 '' 's has blobs, file:r has records' c diff s file:r

# Every bit of a small snapshot, and every length
c --image small format --size 64K --blobs > made
c --image small set 1 x > /dev/null
printf 'ab\ncd' > v
c --image small set 30 --file v > /dev/null
run c --image small snapshot tiny
cp b before
truth "each flipped bit and each length is refused" python3 "$2/flip.py" "$crabctl" tiny b
same "which leaves the image" b before
sed 's/^1 1$/1 99999/' tiny > bad
t "a length that is impossible" 3 '' ':6: not .key length' c --image b restore --force bad
sed '/^x$/d' tiny > bad
t "a value that is missing" 3 '' 'no line feed after a value' c --image b restore --force bad
sed 's/^# kind blobs$/# kind words/' tiny > bad
t "a kind that is unknown" 3 '' ':5: not a kind' c --image b restore --force bad

# Load: into a device, too
t "load into a store of another kind" 3 '' 'tiny has blobs, the store r has records: format it with --blobs' \
	c --image r load tiny
c --image pipe format --size 64K --blobs > made
t "load from standard input" 0 '^2 blobs stored$' '' sh -c "cat tiny | '$crabctl' --image pipe load -"
t "which has the same values then" 0 '' '' c diff tiny file:pipe
printf needle > hay
c --image pipe set 9 --file hay > /dev/null
python3 "$2/doctor.py" FLIP pipe "$(grep -abo needle pipe | head -1 | cut -d : -f 1)"
c --image pipe set 40 --file hay > /dev/null
t "diff names a value that is damaged" 3 '^\+ 40 6 ' '^crabctl: file:pipe: diff: key 9 not compared: the media is damaged$' \
	c diff tiny file:pipe
truth "which is no difference" [ "$(wc -l < out)" = 1 ]
cp pipe hole
c --image hole set 9 x > /dev/null
t "diff with one that has the value" 3 '' '^crabctl: file:pipe: diff: key 9 not compared' c diff file:pipe file:hole
c --image r put 7 70
run c --image r snapshot records
sed 's/^7 70$/7 71/' records > bad
t "a damaged snapshot on standard input" 3 '' 'standard input:6: .*nothing was changed' \
	sh -c "'$crabctl' --image r load - < bad"
t "nothing of it is stored" 0 '^70$' '' c --image r get 7
t "a good one" 0 '^1 record stored$' '' sh -c "cat records | '$crabctl' --image r load -"
t "load with --ack" 2 '' '--ack is for lines of records' c --image small load --ack x tiny
c --image d format --size 1M --blobs > made
FAKE_IMAGE=$tmp/d t "load into a device" 0 '^394 blobs stored$' '' fake load s
t "which has the same values then" 0 '' '' c diff s file:d
json "load --json: the lines of the file" "x['lines'] == 11 and x['records'] == 2" c --image pipe load tiny -j
t "load --create of a key that is there" 3 '' 'load tiny:[0-9]+, key 1: ' c --image small load --create tiny

# Names
c --image n format --size 512K --names > made
c --image n set plc/hours --type u32 12 > /dev/null
c --image n set 'a b\c' text > /dev/null
c --image n set plc/on --type bool 1 > /dev/null
printf '\303\244' > umlaut
c --image n set "$(cat umlaut)" --file v2 > /dev/null
t "a snapshot of names" 0 '' '^4 names written to sn$' c --image n snapshot sn
truth "a line for each" grep -aq '^u32 4 plc/hours$' sn
truth "a backslash is escaped" grep -aq '^text 4 a b.x5cc$' sn
t "restore of names" 0 '^m: 4 names restored$' '' c --image m restore --engine nvtree --size 512K sn
t "has the same names" 0 '' '' c diff sn file:m
t "and types" 0 '^12$' '' c --image m get plc/hours
c --image m set plc/hours --type u32 13 > /dev/null
c --image m rm plc/on
c --image m set new words > /dev/null
printf '%s\n' '+ new text 5 ' '- plc/hours u32 12' '+ plc/hours u32 13' '- plc/on bool true' > want
run c diff sn file:m
sed -i 's/\(text 5 \).*/\1/' out
same "diff of names" out want
run c diff -j sn file:m
cp out diff.json
json "diff --json of names" "x[0]['name'] == 'new' and x[0]['bytes'] == 5 and x[1:3] == [
	{'side': 'old', 'name': 'plc/hours', 'type': 'u32', 'value': 12},
	{'side': 'new', 'name': 'plc/hours', 'type': 'u32', 'value': 13}]" cat diff.json
FAKE_IMAGE=$tmp/n t "snapshot of names over a device" 0 '' '^4 names' fake snapshot sd
same "has the same bytes" sn sd
python3 - > changes << 'END'
import struct, sys
for seq, value, old, verb, flags, kind, name in ((1, 7, 0, 1, 0, 5, b"plc/hours"), (2, 0, 7, 3, 1, 0, b"x"),
                                                 (9, 7, 0, 0, 2, 0, b"")):
    size = (36 + len(name) + 8) // 8 * 8
    sys.stdout.buffer.write(struct.pack("<3Q2IHBB", seq, value, old, verb, flags, size, len(name), kind)
                            + name.ljust(size - 36, b"\0"))
END
export FAKE_CHANGES=$tmp/changes FAKE_IMAGE=$tmp/n
printf '%s\n' 'set plc/hours u32 7' 'rm x' 'lost 7' > want
run fake watch plc/
same "watch of names" out want
fake watch -j > changes.json
truth "watch --json of names" python3 -c 'import json
x = [json.loads(line) for line in open("changes.json")]
assert x[0] == {"seq": 1, "verb": "set", "name": "plc/hours", "type": "u32", "version": 7}, x[0]
assert x[1] == {"seq": 2, "verb": "rm", "name": "x", "old": 7}, x[1]
assert x[2] == {"seq": 9, "verb": "lost", "changes": 7}, x[2]'
truth "a name in JSON is as it is, with each slash" grep -q '"name":"plc/hours"' changes.json
t "watch of names with two arguments" 2 '' 'one argument, PREFIX' fake watch a b

# Restore to a device: killed before each call that the program makes, of blobs and of names
unset FAKE_CHANGES
c --image o format --size 1M > made
c --image o put 1 1
run c --image o snapshot old
kill_all()
{
	local n found=''
	for ((n = 1; n < 500; n += n < 12 ? 1 : 40)); do
		cp o k
		FAKE_KILL=$n FAKE_IMAGE=$tmp/k fake restore --force --yes "$1" && break
		if c diff old file:k; then
			found+=O
		elif c --image k info -j | grep -q '"state": "unformatted"'; then
			found+=-
		else
			found+=X
		fi
	done > log 2>&1
	c diff "$1" file:k > /dev/null && found+=N
	echo "$found"
}
kill_all s > found
truth "killed at each call, blobs: $(< found)" grep -Eqx 'O+-{15,}N' found
kill_all sn > found
truth "killed at each call, names: $(< found)" grep -Eqx 'O+-{6}N' found
t "restore of names to a device" 0 '4 names restored$' '' env FAKE_IMAGE="$tmp/k" \
	"$out/tests/crabctl-fakedev" -d /dev/zero restore --force --yes --commits sn
t "with their types" 0 '^12$' '' c --image k get plc/hours
