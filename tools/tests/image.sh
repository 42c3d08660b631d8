#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Invalid files, and exclusive use of a file.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 107
image=i.img

# poke FILE OFFSET: invert the bits of one byte
poke()
{
	python3 -c 'import sys
f = open(sys.argv[1], "r+b")
f.seek(int(sys.argv[2], 0))
b = f.read(1)[0]
f.seek(-1, 1)
f.write(bytes([b ^ 0xff]))' "$1" "$2"
}

# A machine that boots: getrandom() waits, or fails where it must not wait
cat > entropy.c <<'C'
#include <errno.h>
#include <sys/random.h>
#include <unistd.h>
ssize_t getrandom(void *buffer, size_t bytes, unsigned int flags)
{
	if (!(flags & ~GRND_RANDOM))
		pause();
	errno = flags & GRND_NONBLOCK ? EAGAIN : EINVAL;
	return -1;
}
C
cc -shared -fPIC -o entropy.so entropy.c
LD_PRELOAD=$PWD/entropy.so t "format without entropy" 0 ' leaves of ' '' timeout 60 "$crabctl" --image e1 format --size 64K
LD_PRELOAD=$PWD/entropy.so t "put, too" 0 '' '' timeout 60 "$crabctl" --image e1 put 1 2
for store in e2 e3; do
	LD_PRELOAD=$PWD/entropy.so run "$crabctl" --image $store format --size 64K
	run "$crabctl" --image $store info -j
	grep uuid out > $store.uuid
done
truth "no two stores have the same identity" sh -c '! cmp -s e2.uuid e3.uuid'

t "no such file" 3 '' 'nofile: no such file$' "$crabctl" --image nofile info
t "a directory" 3 '' 'crabctl: \.: not a regular file$' "$crabctl" --image . info
t "a device" 3 '' 'not a regular file' "$crabctl" --image /dev/null info
: > empty
t "an empty file" 3 '' 'empty: too small to be an image' "$crabctl" --image empty info
t "no such device" 3 '' 'nodev: no such device \(is crabtree.ko loaded' \
	"$crabctl" -d nodev info
t "an image given as a device" 3 '' 'empty: not a crabtree device' "$crabctl" -d empty info
CRABTREE_DEVICE=nodev2 t "CRABTREE_DEVICE" 3 '' 'nodev2: no such device' "$crabctl" info
CRABTREE_DEVICE=nodev2 t "-d goes before CRABTREE_DEVICE" 3 '' 'nodev3: no such' \
	"$crabctl" info -d nodev3

t "format --size too small" 3 '' 'the region is too small' "$crabctl" --image s format --size 16K
truth "leaves no file" [ ! -e s ]
t "format --size not a multiple of a page" 2 '' 'not a multiple of 4096' \
	"$crabctl" --image s format --size 100001
t "format: unknown engine" 3 '' "^crabctl: s: format: unknown engine 'foo'\$" \
	"$crabctl" --image s format --size 1M --engine foo
t "format: a label with a slash" 3 '' "^crabctl: s: format: label with '/' or a control character\$" \
	"$crabctl" --image s format --size 1M --label a/b
t "format: unknown layout" 3 '' "unknown layout 'foo'" \
	"$crabctl" --image s format --size 1M --layout foo

truncate -s 64K i.img
t "blank: info says so" 0 '^state +unformatted$' '' c info
t "blank: get" 3 '' 'get 1: the region is not formatted \(no store: the region is blank\)' c get 1
t "blank: check" 3 '' 'check: the region is not formatted' c check
t "blank: format needs no --force" 0 'room for' - c format
t "format --size of a file that is there" 3 '' 'the file is there already; leave out --size$' c format --size 1M
for file in empty none; do
	for force in '' --force; do
		t "format $force of $file" 3 '' "^crabctl: $file: format: .*--size=BYTES makes it\$" \
			"$crabctl" --image $file format $force
	done
done
ln -s none link
for file in empty link .; do
	t "format --size of $file" 3 '' 'the file is there already, and is no image; remove it first$' \
		"$crabctl" --image $file format --size 1M
done

seq 1 500 | sed 's/.*/& &/' > records
run c load records
cp i.img good
for verb in info scan dump check; do
	run c $verb
done
run c get 5
same "verbs that read change nothing" good i.img
t "a format that is refused" 3 '' 'the region is not empty' c format
same "changes nothing either" good i.img
t "a put that is refused" 3 '' 'the key is there already' c put --create 5 6
t "dump to a directory that is not there" 3 '' 'nodir/d: open: No such file' c dump nodir/d
t "dump to a full disk" 3 '' '/dev/full: write: No space left on device' c dump /dev/full
t "full standard output" 3 - 'standard output: No space left' \
	sh -c "exec $crabctl --image i.img scan > /dev/full"

head -c 100000 /dev/urandom > junk.img
cp junk.img junk
t "foreign: info" 0 '^reason +not a crabtree store: other data at offset 0$' '' \
	"$crabctl" --image junk.img info
t "foreign: get" 3 '' "get 5: the region holds other data" \
	"$crabctl" --image junk.img get 5
t "foreign: format" 3 '' 'not empty; --force' "$crabctl" --image junk.img format
same "foreign: nothing was changed" junk junk.img
t "foreign: format --force --yes" 0 'room for' - "$crabctl" --image junk.img format --force --yes

head -c 32768 good > short.img
cp short.img short
t "truncated: info" 0 '^state +rejected$' '' "$crabctl" --image short.img info
t "truncated: why" 0 '^reason +store of 65536 bytes in a region of 32768$' '' \
	"$crabctl" --image short.img info
t "truncated: put" 3 '' 'put 1: the store is rejected \(store of 65536 bytes in a region of 32768\)$' \
	"$crabctl" --image short.img put 1 1
same "truncated: nothing was changed" short short.img

cp good super.img
poke super.img 100
poke super.img 4196
t "both superblocks damaged" 3 '' 'the media is damaged \(both superblocks' \
	"$crabctl" --image super.img get 5
cp good super.img
poke super.img 100
t "one superblock torn: no effect" 0 '^5$' '' "$crabctl" --image super.img get 5

# The media may have any bytes as a label: no line may command the terminal
cp good label.img
python3 "$2/doctor.py" SUPER label.img label=$'\e[2J'
t "a label with control characters: info" 0 '^label +.x1b.2J$' '' "$crabctl" --image label.img info
t "and doctor" 0 'store ".x1b.2J", 500 records' '' "$crabctl" --image label.img doctor

cp good bad.img
for ((leaf = 0; leaf < 48; leaf++)); do
	poke bad.img $((16384 + leaf * 1024 + 24))
done
cp bad.img bad
t "damaged leaf: check finds it and reports the offset" 1 'errors, the first at offset 0x[0-9a-f]+: .' '' \
	"$crabctl" --image bad.img check
run "$crabctl" --image bad.img check --json
cp out check.json
truth "damaged leaf: check --json" python3 -c 'import json
x = json.load(open("check.json"))
assert x["errors"] > 0 and x["first"]["what"] and x["first"]["offset"] >= 8192'
t "damaged leaf: put is refused" 3 '' 'put 5: (the store is read-only|the media is damaged) \(' \
	"$crabctl" --image bad.img put 5 5
same "damaged leaf: nothing was changed" bad bad.img

# Leaves are allocated in the order of their numbers; each has 61 of the keys
cp good holes.img
poke holes.img $((16384 + 2 * 1024 + 24))
poke holes.img $((16384 + 5 * 1024 + 24))
cp holes.img holes
h()
{
	"$crabctl" --image holes.img "$@"
}
left='left out: the media is damaged \(damaged at offset'
sed '123,183d;306,366d' records > rest
t "quarantine: scan reports the skipped range" 3 - "scan: keys 123 to 183 $left" h scan
same "quarantine: scan returns all other records" rest out
truth "quarantine: one line for each range" [ "$(wc -l < err)" = 2 ]
tac rest > tser
t "quarantine: scan --reverse reports the skipped range" 3 - "scan: keys 123 to 183 $left" h scan -r
same "quarantine: scan --reverse returns all other records" tser out
t "quarantine: scan --reverse of a range within" 3 '' "scan: keys 130 to 140 $left" \
	h scan -r --from 130 --to 140
t "quarantine: scan --last before it" 0 '^185 185$' '' h scan --from 184 --to 305 --last 121
t "quarantine: scan of the other ranges" 0 '^184 184$' '' h scan --from 184 --to 305
t "quarantine: scan of a range within" 3 '' "scan: keys 130 to 140 $left" \
	h scan --from 130 --to 140
t "quarantine: scan that ends before it" 0 '^3 3$' '' h scan --limit 3
run h scan --json
cp out scan.json
truth "quarantine: scan --json is still JSON" python3 -c 'import json
assert len(json.load(open("scan.json"))) == 378'
echo old > d
t "quarantine: dump reports the skipped range" 3 '' "dump: keys 306 to 366 $left" h dump d
truth "quarantine: dump does not take the place of a whole one" [ "$(cat d)" = old ]
same "quarantine: but keeps all the rest" rest d.partial
json_after 3 "quarantine: dump --json counts the ranges that it left out" "x == {'file': 'dj.partial', 'records': 378,
	'left_out': 2}" h dump dj --json
t "quarantine: and says where" 3 '' '378 records written to d.partial' h dump d
t "quarantine: snapshot reports the skipped range" 3 '' "snapshot: keys 306 to 366 $left" h snapshot s
t "quarantine: a store is restored from the rest" 0 '^new.img: 378 records restored$' '' \
	"$crabctl" --image new.img restore --size=64K s.partial
run "$crabctl" --image new.img dump
same "quarantine: with all other records" rest out
cp good holes.img
poke holes.img $((16384 + 8 * 1024 + 24))
t "quarantine: snapshot up to the end" 3 '' "snapshot: keys 489 to 18446744073709551614 $left" h snapshot s
t "quarantine: up to the end" 3 - "scan: keys 489 to 18446744073709551614 $left" h scan
t "quarantine: from the end" 3 - "scan: keys 489 to 18446744073709551614 $left" h scan -r --limit 9
cp holes holes.img
for verb in "scan" "dump" "dump d" "snapshot s"; do
	# shellcheck disable=SC2086	# verb and argument
	run h $verb
done
same "quarantine: nothing was changed" holes holes.img

t "fsck: reports what is lost" 1 '^lost: all keys from 123 to 183$' '' h fsck whole.img
cp out report
printf '%s\n' 'whole.img: 378 records, sound' 'lost: all keys from 123 to 183' \
	'lost: all keys from 306 to 366' > want
same "fsck: one line for each range, and the records" want report
same "fsck: the damaged image is unchanged" holes holes.img
t "fsck: the new image is sound" 0 '378 records: sound' '' "$crabctl" --image whole.img check
run "$crabctl" --image whole.img dump
same "fsck: every record of a healthy leaf is there" rest out
t "fsck: the new image can be written to" 0 '' '' "$crabctl" --image whole.img put 130 1
t "fsck: an image that is there is kept" 3 '' 'whole.img: fsck: File exists' h fsck whole.img
rm whole.img
run h fsck whole.img --json
cp out fsck.json
truth "fsck --json" python3 -c 'import json
x = json.load(open("fsck.json"))
assert x["records"] == 378 and x["lost"] == [{"from": 123, "to": 183}, {"from": 306, "to": 366}]'
cp good super2.img
poke super2.img 100
poke super2.img 4196
t "fsck of an image without damage loses nothing" 0 '^fresh.img: 500 records, sound$' '' \
	"$crabctl" --image good fsck fresh.img
t "fsck without a store" 3 '' 'the media is damaged' "$crabctl" --image super2.img fsck none.img
t "fsck needs an image" 2 '' 'fsck needs --image' "$crabctl" fsck none.img

exec 9< i.img
flock -x 9
t "in use: a reader is refused" 3 '' 'i.img: another program has this image open' c get 5
t "in use: a writer is refused" 3 '' 'another program has this image open' c put 5 5
t "in use: format is refused" 3 '' 'another program has this image open' c format
flock -s 9
t "readers share" 0 '^5$' '' c get 5
t "a writer waits for no reader: it is refused" 3 '' 'another program' c del 5
exec 9<&-

# On a terminal, format asks
cp good ask.img
ask="$crabctl --image ask.img format --force"
echo no | script -qec "$ask" /dev/null > asked 2>&1
same "format asks; no: nothing was changed" good ask.img
truth "and reports the loss" grep -q 'with 500 records' asked
echo yes | script -qec "$ask" /dev/null > asked 2>&1
t "format asks; yes" 0 '^records +0 of' '' "$crabctl" --image ask.img info
echo yes | script -qec "$ask --json > ask.json" /dev/null > asked 2>&1
truth "the question is no part of the output" grep -q 'Type "yes"' asked
json "which is JSON" "x['records'] == 0" cat ask.json

# A store in an image that has grown
run "$crabctl" --image grow.img format --size 64K --leaf-size 512
small=$("$crabctl" --image grow.img info --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["leaves"])')
truncate -s 256K grow.img
python3 -c 'print(*(f"{k} {k}" for k in range(1, 5001)), sep="\n")' > five_thousand
t "a grown image is as large as before for readers" 1 '' 'no such key' "$crabctl" --image grow.img get 1
t "a grown image holds more records" 0 - - "$crabctl" --image grow.img load five_thousand
json "it has more leaves" "x['leaves'] == $small + 192 * 1024 // 512" "$crabctl" --image grow.img info --json
t "all of them are there" 0 '5000 records: sound' '' "$crabctl" --image grow.img check
truncate -s 64K grow.img
t "an image that was cut off is refused" 3 '' 'store of 262144 bytes in a region of 65536' \
	"$crabctl" --image grow.img get 1

# Another program cuts the file off while it is mapped
cp good cut.img
export FAKE_IMAGE=$PWD/cut.img FAKE_CALL='truncate -s 4096 cut.img'
t "an image that is cut off while it is read" 3 '' \
	'^crabctl: the image cannot be used: its file was cut off, or its disk is full or failed$' fake scan
cp good cut.img
t "dump of one" 3 '' 'its file was cut off' fake dump cut
result "which leaves no file" "$(find . -name 'cut' -o -name 'cut.*.partial')"
unset FAKE_IMAGE FAKE_CALL

# A write to a hole of a file on a full disk would end the program by a signal
mkdir disk
cat > sparse << 'END'
mount -t tmpfs -o size=512k tmpfs disk || exit 1
truncate -s 4M disk/i.img
"$1" --image disk/i.img format
[ $? = 3 ] && head -c 4M /dev/zero | cmp - disk/i.img && "$1" --image disk/i.img info | grep -q unformatted
END
[ "$(id -u)" = 0 ] && as=-m || as=-rm	# root mounts without a user namespace
t "an image with holes on a full disk is not opened for writing" 0 '' 'disk/i.img: No space left on device' \
	unshare "$as" sh sparse "$crabctl"
cat > rofs << 'END'
mount -t tmpfs tmpfs disk || exit 1
cp i.img disk
mount -o remount,ro disk
exec "$1" --image disk/i.img put 1 1
END
t "a file system that is read-only, not a store" 3 '' 'disk/i.img: Read-only file system' \
	unshare "$as" sh rofs "$crabctl"
