#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Values under names: crabctl set, get, cat, rm and ls in a store of names, on an image.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 162
image=n.img
# typed TYPE TEXT [PATTERN]: get prints the text that set stored, or the pattern
typed()
{
	t "$1: $2" 0 '' '' c set "--type=$1" -- v "$2"
	t "$1: $2 again" 0 "^${3:-$2}\$" '' c get v
}
# wrong TYPE TEXT PATTERN: set refuses it
wrong()
{
	t "$1: $2 is refused" 2 '' "$3" c set "--type=$1" -- v "$2"
}

t "format --names" 0 'leaves of 1024 bytes' - c format --size 8M --names
json "the feature bits" "x['feature_incompat'] == 5" c info --json
t "info: the kind of the store" 0 '^format .* a store of names$' - c info
t "set a text" 0 '' '' c set plc/line1/state running
t "get prints it" 0 '^running$' '' c get plc/line1/state
t "cat writes it" 0 '^running$' '' c cat plc/line1/state
t "a name that is a number" 0 '' '' c set 12 x
t "get of it" 0 '^x$' '' c get 12
typed bool true
json "bool in JSON" "x['value'] is True" c get v --json
typed bool 0 false
typed u8 255
typed u16 65535
typed u32 0xffffffff 4294967295
typed u64 18446744073709551615
typed i64 -9223372036854775808
json "i64 in JSON" "x['value'] == -2**63" c get v --json
typed f64 0.1
typed f64 0.30000000000000004
typed f64 -1e300 '-1e\+300'
typed f64 inf
json "f64: inf is a string of JSON" "x['value'] == 'inf'" c get v --json
typed f64 -inf
json "f64: -inf, too" "x['value'] == '-inf'" c get v --json
typed f64 -nan nan
json "f64: nan, too" "x['value'] == 'nan'" c get v --json
typed text 'größer'
typed text $'\xf4\x8f\xbf\xbf'
typed bytes ab 6162
json "bytes in JSON" "x['value'] == '6162'" c get v --json
wrong u8 256 'too large'
wrong u32 x 'not a number'
wrong i64 9223372036854775808 'beyond'
wrong i64 ' 5' 'not a number'
wrong f64 ' 5' 'not a number'
wrong f64 1,5 'not a number'
wrong f64 -1e999 'beyond the numbers of f64'
wrong bool yes 'neither true nor false'
wrong text $'\xff' 'not UTF-8'
wrong text $'\xc1\xbf' 'not UTF-8'
wrong text $'a\xed\xa0\x80' 'not UTF-8'
wrong text $'\xf4\x90\x80\x80' 'not UTF-8'
wrong text $'\xe2\x82' 'not UTF-8'
truth "no table of the C library is needed for this" sh -c "! nm -D --undefined-only '$crabctl' | grep iconv"
wrong u128 1 'not one of bytes'
printf 'a\377' > two
t "a text that is not UTF-8, of a file" 3 '' 'two: not UTF-8' c set --type=text --file two v
t "a number of another length, of a file" 3 '' 'two: not of the length' c set --type=u32 --file two v
t "set --type=u32 motor" 0 '' '' c set --type=u32 plc/motor.hours 12
t "get --hex" 0 '^0xc$' '' c get -x plc/motor.hours
json "get --json" "x['type'] == 'u32' and x['value'] == 12" c get plc/motor.hours --json
head -c 65536 /dev/urandom > long
t "a file of 64 KiB" 0 '' '' c set big --file long
truth "cat writes the same" sh -c "'$crabctl' --image n.img cat big | cmp - long"
t "ls of a prefix that no name can have" 2 '' 'prefix "0+": longer than any name' c ls "$(printf '%0241d' 0)"
t "ls of a prefix" 0 '^plc/motor.hours u32 4 [0-9]+$' '' c ls plc/
truth "and the other name with it, alone" sh -c "'$crabctl' --image n.img ls plc/ | cut -d ' ' -f 1 | xargs |
	grep -qx 'plc/line1/state plc/motor.hours'"
json "ls --json" "[(e['name'], e['type'], e['bytes']) for e in x] == [('12', 'text', 1), ('big', 'bytes', 65536),
	('plc/line1/state', 'text', 7), ('plc/motor.hours', 'u32', 4), ('v', 'bytes', 2)]" c ls --json
t "ls --values of a number" 0 '^plc/motor.hours u32 4 [0-9]+ 12$' '' c ls --values plc/
t "and of a text" 0 '^plc/line1/state text 7 [0-9]+ running$' '' c ls --values plc/
run c ls --values
cp out listed
truth "ls --values: one line for each name" [ "$(wc -l < listed)" = 5 ]
# shellcheck disable=SC2016	# for awk
truth "also for 64 KiB" awk '$1 == "big" && length($5) != 131072 { exit 1 }' listed
c set text $'a\nb\\x41\\ c'
t "ls --values of a text with a line feed and an escape" 0 '^text text 10 [0-9]+ a.x0ab.x5cx41. c$' '' c ls --values te
json "ls --values --json" "x[0]['value'] == 'a\nb\\\\x41\\\\ c' and x[0]['type'] == 'text'" c ls --values te --json
c rm text
json "ls --json without --values" "not any('value' in e for e in x)" c ls --json
t "an empty name" 2 '' 'name "": empty' c set '' x
t "a name of 241 bytes" 2 '' 'longer than 240' c set "$(printf '%0241d' 0)" x
t "a name of 240 bytes" 0 '' '' c set "$(printf '%0240d' 0)" x
t "a name that is not UTF-8" 2 '' 'not UTF-8' c set $'a\xff' x
t "a name with a control character" 2 '' '^crabctl: set: name "a.x0ab.x1b": it has a control character$' c set $'a\nb\e' x
t "--create of a name that is there" 3 '' 'set v: the name is there already$' c set v x --create
t "--replace of a name that is not" 1 '' 'no such name' c set w x --replace
t "rm --if-version of another version" 1 '' 'another one' c rm v --if-version 1
t "rm" 0 '' '' c rm v
t "rm again" 1 '' 'no such name' c rm v
t "put is refused" 3 '' 'another kind' c put 1 2
of_names='a store of another kind \(it has names, and no commits; its verbs: set, get, cat, rm, ls, snapshot\)$'
t "put of a name: the kind of the store, and its verbs" 3 '' "^crabctl: n.img: put plc/x: $of_names" c put plc/x 1
t "dump: the verb in place of it" 3 '' "n.img: dump, after 0 records: $of_names" c dump
t "put of a text" 3 '' "n.img: put 7: $of_names" c put 7 text
t "add of a name" 3 '' "n.img: add plc/x: $of_names" c add plc/x 1
t "swap of a text" 3 '' "n.img: swap 7: $of_names" c swap 7 1 text
t "del of a name; the image is named last" 3 '' "n.img: del plc/x: $of_names" "$crabctl" del plc/x --image n.img
t "check" 0 - - c check
cp n.img good.img
# The value that another program damages once the store is attached
cp good.img live.img
flip="python3 '$2/doctor.py' FLIP live.img $(($(grep -abo running live.img | head -1 | cut -d : -f 1) - 24))"
FAKE_IMAGE=$PWD/live.img FAKE_CALL=$flip t "ls of a value that is damaged: the others, too, and it fails" 3 \
	'^plc/line1/state bytes 0 0 damaged$' 'ls: value of plc/line1/state: the media is damaged' \
	"$out/tests/crabctl-fakedev" -d /dev/zero ls
cp good.img live.img
FAKE_IMAGE=$PWD/live.img FAKE_CALL=$flip t "ls --values of it" 3 '^plc/line1/state bytes 0 0 damaged$' \
	'ls: value of plc/line1/state: the media is damaged' "$out/tests/crabctl-fakedev" -d /dev/zero ls --values
cp good.img live.img
FAKE_IMAGE=$PWD/live.img FAKE_CALL=$flip json_after 3 "ls --json of it" "[e['name'] for e in x if e['damaged']] ==
	['plc/line1/state'] and len(x) > 1" "$out/tests/crabctl-fakedev" -d /dev/zero ls --json
python3 - n.img <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"running")
data[at] ^= 1
open(sys.argv[1], "wb").write(data)
PYTHON
t "a damaged value" 3 '' 'n.img: get plc/line1/state: the media is damaged$' c get plc/line1/state
t "another one is whole" 0 '^12$' '' c get plc/motor.hours
t "check finds it" 1 - - c check
t "fsck copies the others, and names the damaged one" 1 '^lost: plc/line1/state$' '' c fsck copy.img
t "fsck: the copy is a store of names, and sound" 0 '4 records: sound' '' "$crabctl" --image copy.img check
t "fsck: the values are the same" 0 '^12$' '' "$crabctl" --image copy.img get plc/motor.hours
cp n.img rescue.img
t "the rescue of doctor: a snapshot names a value that is lost" 3 '' \
	'^crabctl: /dev/zero: snapshot: name plc/line1/state left out: the media is damaged$' \
	env FAKE_IMAGE=rescue.img "$out/tests/crabctl-fakedev" -d /dev/zero snapshot rescued
t "and is restored" 0 '/dev/zero: 4 names restored$' '' env FAKE_IMAGE=rescue.img \
	"$out/tests/crabctl-fakedev" -d /dev/zero restore --force --yes rescued.partial
t "it has all others" 0 '' '' "$crabctl" diff file:copy.img rescued.partial
t "which is the store again" 0 '^12$' '' "$crabctl" --image rescue.img get plc/motor.hours
python3 - good.img <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"plc/line1/state")
data[at] ^= 1
open(sys.argv[1], "wb").write(data)
PYTHON
t "a damaged name: the value may be the one that is asked for" 3 '' 'damaged' "$crabctl" --image good.img get plc/line1/state
t "a name that is not there may be the damaged one, too" 3 '' 'damaged' "$crabctl" --image good.img get plc
t "a set is refused" 3 '' 'read-only' "$crabctl" --image good.img set plc x
t "ls has the others, and fails" 3 '^plc/motor.hours u32 4 ' 'ls: .*damaged at offset' "$crabctl" --image good.img ls
t "ls of a prefix, too" 3 '^plc/motor.hours u32 4 ' 'ls: .*damaged at offset' "$crabctl" --image good.img ls plc/
json_after 3 "ls --json, too" "x[-1]['name'] == 'plc/motor.hours'" "$crabctl" --image good.img ls --json
echo before > s
t "snapshot reports that names are damaged" 3 '' \
	'snapshot: left out 1 value whose name is damaged: the media .* \(damaged at offset' \
	"$crabctl" --image good.img snapshot s
truth "and leaves the file" grep -qx before s
mv s.partial names.partial
t "snapshot over a device, too" 3 '' '^4 names written to s.partial$' \
	env FAKE_IMAGE="$PWD/good.img" "$out/tests/crabctl-fakedev" -d /dev/zero snapshot s
same "with the same names" s.partial names.partial
t "which a device gets back" 0 '/dev/zero: 4 names restored$' '' env FAKE_IMAGE="$PWD/rescue.img" \
	"$out/tests/crabctl-fakedev" -d /dev/zero restore --force --yes s.partial
t "diff fails" 3 '' 'good.img: diff: damaged names not compared' "$crabctl" diff file:copy.img file:good.img
t "diff fails: the older one" 3 '^\+ zzz text ' 'good.img: diff: damaged names' sh -c "'$crabctl' --image copy.img set zzz x > f.out &&
	'$crabctl' diff file:good.img file:copy.img"
t "fsck: a value without a name" 1 '^lost: 1 value whose name is damaged$' '' "$crabctl" --image good.img fsck copy2.img
t "a type in a store of blobs" 2 '' 'stores of names' sh -c "'$crabctl' --image b.img format --size 1M --blobs > f.out &&
	'$crabctl' --image b.img set --type=u8 1 1"
t "a prefix in a store of blobs" 2 '' 'store of names' "$crabctl" --image b.img ls x
t "values in a list of a store of blobs" 2 '' 'ls: --values: only the list of a store of names has it' "$crabctl" --image b.img ls --values

# The list is printed as it comes
python3 - "$crabctl" <<'PYTHON'
import itertools, subprocess, sys
table = list(itertools.accumulate(range(8), lambda row, _: [c >> 1 ^ (c & 1) * 0x82F63B78 for c in row], initial=range(256)))[8]
text, crc = bytearray(), 0xffffffff
def add(line):
    global crc
    text.extend(line)
    for byte in line:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
add(b"# crabtree snapshot 2\n# uuid 00112233-4455-6677-8899-aabbccddeeff\n# engine crab slotted 1024\n# label n\n# kind names\n")
names = [rb"a\x00b", rb"a\x0ab", rb"back\x5cx41", rb"b\xff"] + [b"n/%08d" % number for number in range(1, 20001)]
for number, name in enumerate(names, 1):
    add(b"u8 1 %s\n\1\n" % name)
    if number % 256 == 0:
        add(b"# sum %08x\n" % (crc ^ 0xffffffff))
add(b"text 1 zz\n\xff\n")
add(b"# end %d %08x\n" % (len(names) + 1, crc ^ 0xffffffff))
subprocess.run([sys.argv[1], "--image", "many.img", "restore", "--size=8M", "-"], input=text, stdout=subprocess.DEVNULL)
PYTHON
# most OPTION...: memory of ls, in KiB
most()
{
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$crabctl" --image many.img ls "$@"
}
truth "ls --json of 20,000 names needs no more memory than ls" [ "$(most --json)" -lt "$(($(most) + 4096))" ]
FAKE_IMAGE=$PWD/many.img truth "a signal leaves whole lines of ls" whole 9 '' "$out/tests/crabctl-fakedev" -d /dev/zero ls

# Names that other programs may store
m()
{
	"$crabctl" --image many.img "$@"
}
t "get of a name with a control character" 0 '^1$' '' m get $'a\nb'
json "get --json has it as ls" "x['name'] == r'a\x0ab'" m get $'a\nb' --json
json "get --json of a text that is not UTF-8" "x['hex'] == 'ff' and x['type'] == 'text' and 'value' not in x" \
	m get zz --json
t "cat of a name that is not UTF-8" 0 $'^\1$' '' m cat $'b\xff'
for name in $'a\nb' $'b\xff'; do
	t "rm of it: $(printf %q "$name")" 0 '' '' m rm "$name"
	t "it is gone" 1 '' 'rm [ab].x.*: no such name' m rm "$name"
done

# Those that no word of a command line has, and those that ls could print as others: as ls prints them
run m ls
head -2 out | cut -d ' ' -f 1 > listed
truth "ls of them" [ "$(cat listed)" = $'a\\x00b\nback\\x5cx41' ]
t "get -e of a name with a zero byte" 0 '^1$' '' m get -e 'a\x00b'
json "get -e --json has it as ls" "x['name'] == r'a\x00b'" m get -ej 'a\x00b'
t "cat --escaped" 0 $'^\1$' '' m cat --escaped 'a\x00b'
t "a name with a backslash" 0 '^1$' '' m get 'back\x41'
t "as ls prints it" 0 '^1$' '' m get -e 'back\x5cx41'
t "which is another name without -e" 1 '' 'no such name' m get 'back\x5cx41'
t "an escape that is none" 1 '' 'no such name' m get -e 'a\x0'
t "too long with its escapes, not without" 1 '' 'no such name' m get -e "$(printf '\\x41%.0s' {1..240})"
t "too long without" 2 '' 'longer than 240' m get -e "$(printf '\\x41%.0s' {1..241})"
t "far too long" 2 '' 'longer than 240' m get -e "$(printf '%01000d' 0)"
while read -r name; do
	t "rm -e $name" 0 '' '' m rm -e "$name"
done < listed
run m ls
truth "both are gone" [ "$(head -1 out | cut -d ' ' -f 1)" = n/00000001 ]

# Without a store
truncate -s 64K blank.img
yes 0123456 | head -c 65536 > foreign.img
"$crabctl" --image copy.img snapshot names 2> /dev/null
for verb in "get a/b" "set a/b x" "cat a/b" "rm a/b" "ls a/" "watch a/" "load names"; do
	# shellcheck disable=SC2086	# verb and arguments
	t "$verb: not formatted" 3 '' "blank.img: ${verb% x}: the region is not formatted \(no store" \
		"$crabctl" --image blank.img $verb
done
t "get of a name in other data" 3 '' 'get a/b: the region holds other data' \
	"$crabctl" --image foreign.img get a/b
t "get of a name in a device without a store" 3 '' 'get a/b: the region is not formatted' \
	env FAKE_IMAGE="$PWD/blank.img" "$out/tests/crabctl-fakedev" -d /dev/zero get a/b
t "a name in a store of blobs" 2 '' \
	'cat: key a/b: not a number .*; b.img has blobs: names need a store of format --names$' "$crabctl" --image b.img cat a/b
t "get of one there" 3 '' 'b.img: get a/b: a store of another kind \(it has blobs, .* set, cat, rm, ls, snapshot\)$' \
	"$crabctl" --image b.img get a/b
