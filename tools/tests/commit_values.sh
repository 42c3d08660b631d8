#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Several values at once: crabctl commit in stores of names and of blobs, on images.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 85
image=v.img
# commit LINE...: a file of these lines
commit()
{
	printf '%s\n' "$@" > lines
	c commit lines
}
# refused NAME MESSAGE LINE...: a line after a good one, and nothing of the file is done
refused()
{
	local name=$1 message=$2

	shift 2
	t "$name" 3 '' "$message" commit "$first" "$@"
}
version()
{
	c ls --json | python3 -c 'import json, sys
print(next(e["version"] for e in json.load(sys.stdin) if str(e.get("name", e.get("key"))) == sys.argv[1]))' "$1"
}

t "format --names --commits" 0 'leaves of 1024 bytes' - c format --size 8M --names --commits
json "the feature bits" "x['feature_incompat'] == 7 and x['kind'] == 'names' and x['commits']" c info --json
t "info: both kinds" 0 '^format .* a store of names and of commits$' '' c info
t "set of each kind, without conditions" 0 '' '' commit '# a recipe' 'set recipe/name text  two  words ' '' \
	'set recipe/n u32 0x10 # pieces' 'set recipe/on bool true' 'set recipe/t i64 -5' 'set raw bytes ab' 'set empty text'
t "a text is the rest of the line, without its blanks" 0 '^two  words$' '' c get recipe/name
t "a number" 0 '^16$' '' c get recipe/n
t "a negative number" 0 '^-5$' '' c get recipe/t
t "bytes" 0 '^ab$' '' c cat raw
json "an empty text" "x['value'] == '' and x['type'] == 'text'" c get empty --json
t "a test before its line, and one after it" 0 '' '' \
	commit 'test new absent' 'set new u8 1' 'set recipe/n u16 2' "test recipe/n version $(version recipe/n)" \
	'rm raw' 'test raw exists' 'test other absent' 'rm missing'
t "the type is the new one" 0 '^recipe/n u16 2 [0-9]+$' '' c ls recipe/n
t "the name is removed" 1 '' 'no such name' c get raw
json "commit --json" "[(o['operation'], o['name'], o['existed'], 'version' in o) for o in x] ==
	[('set', 'new', True, True), ('rm', 'gone', False, False), ('test', 'none', False, False),
	('test', 'empty', True, False), ('rm', 'empty2', True, False), ('test', 'recipe/t', True, False)] and
	x[0]['version'] > 1" \
	sh -c "'$crabctl' --image v.img set empty2 x; printf '%s\n' 'set new u8 3' 'rm gone' 'test none absent' \
		'test empty exists' 'rm empty2' 'test recipe/t version $(version recipe/t)' |
		'$crabctl' --image v.img commit - --json"
t "standard input, of a line without its end" 0 '' '' sh -c "printf 'set new u8 4' | '$crabctl' --image v.img commit -"
first='set first u8 1'
t "a name that should be absent" 3 '' 'commit lines:3, name new: .*there already' commit "$first" 'set new u8 9' 'test new absent'
t "a name that should exist" 1 '' 'commit lines:2, name zz: no such name' commit "$first" 'test zz exists' 'rm zz'
t "another version" 1 '' 'commit lines:2, name new: .*another one' commit "$first" 'test new version 1' 'set new u8 9'
t "another version, alone" 1 '' 'commit lines:2, name new: .*another one' commit "$first" 'test new version 1'
refused "an unknown operation" 'lines:2: not an operation: set, rm or test' 'put 1 2'
refused "no name" 'lines:2: NAME is missing' 'set'
refused "a name that is not UTF-8" 'lines:2: not UTF-8' $'set a\xff u8 1'
refused "a name with a control character" 'lines:2: it has a control' $'set a\x01 u8 1'
refused "a long name" 'lines:2: longer than 240' "set $(printf '%0241d' 0) u8 1"
refused "no type" 'lines:2: name a: TYPE is missing' 'set a'
refused "an unknown type" 'lines:2: name a: the type is not one of bytes, text' 'set a u128 1'
refused "no value" 'lines:2: name a: VALUE is missing' 'set a u8'
refused "a value that is too large" 'lines:2: name a: too large' 'set a u8 256'
refused "two values" 'lines:2: name a: not a number' 'set a u8 1 2'
refused "a text that is not UTF-8" 'lines:2: name a: not UTF-8' $'set a text \xff'
refused "text after a name" 'lines:2: name a: text after it' 'rm a b'
refused "no condition" 'lines:2: name a: not a condition' 'test a'
refused "an unknown condition" 'lines:2: name a: not a condition' 'test a was 1'
refused "no version" "lines:2: name a: the number after .version. is missing" 'test a version'
refused "a version that is no number" "lines:2: name a: not a number" 'test a version x'
refused "text after a condition" 'lines:2: name a: text after the condition' 'test a version 1 2'
refused "two writes of a name" 'lines:2: name first: another line writes it' 'rm first'
refused "two tests of a name" 'lines:4: name a: another line tests it' 'test a absent' 'set a u8 1' 'test a absent'
refused "two tests alone" 'lines:3: name a: another line tests it' 'test a absent' 'test a absent'
printf 'set first u8 1\nset a text \0x\n' > zero
t "a zero byte" 3 '' 'zero:2: not text' c commit zero
head -c 65537 /dev/zero | tr '\0' x > long
refused "a text of more than 64 KiB" 'commit lines:2, name a: .*too long' "set a text $(cat long)"
refused "the same with a condition that holds" 'commit lines:3, name a: .*too long' 'test a absent' "set a text $(cat long)"
t "nothing was written" 1 '' 'no such name' c get first
t "a # in values, in names and after operations" 0 '' '' commit ' # a comment' 'set h#1 text two # three#' \
	'set #2 bytes #ab # c' 'set h3 u32 5 # pieces' 'set h4 bool true #' 'rm h5 # none' 'test h6 absent # not' 'set h7 text #'
t "a text with each #" 0 '^two # three#$' '' c get 'h#1'
t "bytes with each #" 0 '^#ab # c$' '' c cat '#2'
t "a number before a comment" 0 '^5$' '' c get h3
t "a text that is a #" 0 '^#$' '' c get h7
refused "a # within a number" 'lines:2: name a: not a number' 'set a u8 1#2'
refused "a comment in place of a number" 'lines:2: name a: VALUE is missing' 'set a u8 # 1'
refused "a comment in place of a condition" 'lines:2: name a: not a condition' 'test a # exists'
t "the names are removed" 0 '' '' commit 'rm h#1' 'rm #2' 'rm h3' 'rm h4' 'rm h7'
t "no operation" 3 '' 'lines:1: no operation' commit '# nothing'
seq -f 'set n%g u64 1' 1 65 > lines
t "65 operations" 3 '' 'lines:65: name n65: more than 64 operations' c commit lines
{ seq -f 'set n%g u64 1' 1 64; seq -f 'test n%g absent' 1 64; } > lines
t "64 operations, each with a condition" 0 '' '' c commit lines
t "check" 0 '70 records: sound' '' c check
t "fsck" 0 - '' c fsck copy.img
json "its copy is of names and of commits" "x['feature_incompat'] == 7" "$crabctl" --image copy.img info --json
t "diff of the copy" 0 '' '' "$crabctl" diff file:v.img file:copy.img
t "snapshot" 0 '' '70 names written' c snapshot s
t "restore" 0 '70 names restored' '' "$crabctl" --image r.img restore --size 8M s
json "which is of names and of commits" "x['feature_incompat'] == 7" "$crabctl" --image r.img info --json
printf 'set new u8 5\ntest new exists\n' > lines
t "and does a commit" 0 '' '' "$crabctl" --image r.img commit lines
run "$crabctl" --image plain.img format --size 8M --names
t "a store of names without commits" 3 '' 'another kind' "$crabctl" --image plain.img commit lines
run "$crabctl" --image plain.img snapshot plain
t "restore --commits" 0 '0 names restored' '' "$crabctl" --image plain.img restore --commits --force plain
echo 'set new u8 5' > lines
t "makes it one of commits" 0 '' '' "$crabctl" --image plain.img commit lines

t "format --blobs --commits" 0 - - c format --force --yes --blobs --commits
t "info: both kinds of it" 0 '^format .* a store of blobs and of commits$' '' c info
head -c 65536 long > most
printf 'a\0b' > 'a file'
t "put of files, one with a blank in its name" 0 '' '' commit 'put 1 most' 'put 0x2  a file' 'test 2 absent' 'del 9'
run c cat 1
same "64 KiB" out most
run c cat 2
same "a zero byte in a value" out 'a file'
t "conditions of keys" 0 '' '' commit "test 1 version $(version 1)" 'del 1' 'test 2 exists' 'put 3 /dev/null' 'test 4 absent'
json "the keys" "[(e['key'], e['bytes']) for e in x] == [(2, 3), (3, 0)]" c ls --json
json "commit --json of keys" "[(o['operation'], o['key'], o['existed'], 'version' in o) for o in x] ==
	[('put', 2, True, True), ('del', 3, True, False), ('test', 4, False, False)]" \
	sh -c "printf 'put 2 most\ndel 3\ntest 4 absent\n' | '$crabctl' --image v.img commit - --json"
first='put 99 most'
refused "a file that is not there" 'lines:2: key 5: No such file' 'put 5 none'
refused "a folder" 'lines:2: key 5: ' 'put 5 .'
refused "no file" 'lines:2: key 5: FILE is missing' 'put 5'
refused "a file that is too long" 'commit lines:2, key 5: .*too long' 'put 5 long'
refused "the reserved key" 'lines:2: this key is reserved' 'del 0xffffffffffffffff'
refused "an operation of names" 'lines:2: not an operation: put, del or test' 'set a u8 1'
t "a key that should be absent" 3 '' 'commit lines:3, key 2: .*there already' commit "$first" 'put 2 most' 'test 2 absent'
t "nothing of them was written" 1 '' 'no such key' c cat 99
t "check of blobs" 0 '1 record: sound' '' c check
printf 'put 7 most\ndel 2\ntest 2 exists\n' > lines
FAKE_IMAGE=$tmp/v.img t "on a device" 0 '' '' "$out/tests/crabctl-fakedev" -d /dev/zero commit lines
t "which has it then" 0 '^7 65536 [0-9]+$' '' c ls
truncate -s 1M blank.img
t "an image without a store" 3 '' 'commit: .*no store|not formatted' "$crabctl" --image blank.img commit lines
