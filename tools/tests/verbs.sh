#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every verb behaves as documented in crabctl(1), as text and as JSON.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 103
image=i.img
uuid=00112233-4455-6677-8899-aabbccddeeff

t "version" 0 '^crabctl [0-9.]+$' '' "$crabctl" --version
t "help" 0 'Exit codes: 0 done' '' "$crabctl" --help
t "help of a verb" 0 'leaf-size' '' "$crabctl" format --help
truth "the manual has the options of each verb, and no others" python3 "$2/options.py" "$crabctl" \
	"$2/../crabctl/main.c" "$2/../man/crabctl.1"
t "help to a full disk" 3 '' 'standard output: No space left' sh -c "exec '$crabctl' --help > /dev/full"

t "format creates an image" 0 'leaves of 1024 bytes, room for' - \
	c format --size 1M --label 'my label' --uuid $uuid
truth "the image has the size asked for" [ "$(stat -c %s i.img)" = 1048576 ]
t "info: label" 0 '^label +my label$' '' c info
t "info: uuid" 0 "^uuid +$uuid$" '' c info
t "info: engine" 0 '^engine +crab, layout slotted, leaves of 1024 bytes$' '' c info
t "info: media model" 0 '^media model +W: any subset' '' c info
t "info: durability in words" 0 '^durability +the file is written back' '' c info
json "info --json" "x['uuid'] == '$uuid' and x['label'] == 'my label' and
	x['region_bytes'] == 1 << 20 and x['records'] == 0 and x['image'] == 'i.img'" \
	c info --json
json "--json before the verb" "x['engine'] == 'crab'" c --json info
json "format --json" "x['state'] == 'ready' and x['leaf_bytes'] == 4096" \
	c -j format --leaf-size 4K --force --yes
t "format refuses a store without --force" 3 '' 'not empty; --force' c format
t "format --force asks; without a terminal it needs --yes" 2 '' 'say --yes' c format --force
# on_terminal ANSWER ARGUMENT...: standard input is a terminal
on_terminal()
{
	python3 -c 'import os, pty, subprocess, sys
terminal, end = pty.openpty()
os.write(terminal, sys.argv[1].encode() + b"\n")
sys.exit(subprocess.run(sys.argv[2:], stdin=end).returncode)' "$1" "$crabctl" --image i.img "${@:2}"
}
t "on a terminal: y is not yes" 3 '' 'not confirmed, nothing was changed' on_terminal y format --force
t "on a terminal: yes" 0 'leaves of' 'i.img holds the store "" with 0 records' on_terminal yes format --force
truncate -s 64K blank.img
t "a blank region needs no answer" 0 'leaves of' '' "$crabctl" --image blank.img format --force
t "every leaf size: 512" 0 'leaves of 512 ' - c format --leaf-size 512 --force --yes
t "every leaf size: 8k" 0 'leaves of 8192 ' - c format --leaf-size 8k --force --yes
t "format without --label has no label" 0 '^label +-$' '' c info
t "format by engine and layout" 0 'leaves of 1024 ' - \
	c format --engine crab --layout slotted --force --yes
t "format: layout sorted" 0 'leaves of 1024 ' - c format --layout sorted --force --yes
t "info: layout sorted" 0 '^engine +crab, layout sorted, ' '' c info
t "info: what it needs" 0 '^media model +needs hardware that .* in order \(model L\); slotted does not$' \
	'' c info
json "info --json: its needs" "x['model'] == 'line' and x['layout'] == 'sorted'" c info -j
run c format --force --yes

t "put" 0 '' '' c put 17 4711
t "get" 0 '^4711$' '' c get 17
t "get --hex" 0 '^0x1267$' '' c get -x 17
t "put hexadecimal" 0 '' '' c put 0xFFFFFFFFFFFFFFFE 0XffffFFFFffffFFFF
t "get the highest key and value" 0 '^18446744073709551615$' '' c get 18446744073709551614
t "a leading zero is not octal" 0 '^4711$' '' c get 017
t "put replaces" 0 '' '' c put 17 1
t "put --create refuses a key that is there" 3 '' 'put 17: the key is there already' \
	c put --create 17 2
t "and changes nothing" 0 '^1$' '' c get 17
t "put --create" 0 '' '' c put --create 18 2
t "put --replace of a key that is not there" 1 '' 'put 19: no such key' c put --replace 19 1
t "put --replace" 0 '' '' c put --replace 18 3
t "put --create --replace is either" 0 '' '' c put --create --replace 18 4
json "put --json, new" "x == {'key': 20, 'value': 5, 'existed': False}" c put 20 5 -j
json "put --json, old" "x == {'key': 20, 'value': 6, 'existed': True, 'old_value': 5}" \
	c put 20 6 -j
json "get --json" "x == {'key': 2**64 - 2, 'value': 2**64 - 1}" \
	c get 0xfffffffffffffffe --json
t "swap of a key that is not there" 1 '' 'swap 21: no such key' c swap 21 0 1
t "add of a key that is not there" 1 '' 'add 21: no such key' c add --replace 21 4
t "add creates" 0 '^4$' '' c add 21 4
json "add --json" "x == {'key': 21, 'value': 3, 'old_value': 4}" c add -j 21 0xffffffffffffffff
t "add a negative number" 0 '^2$' '' c add -- 21 -1
t "add a negative number, below 0, modulo 2^64" 0 '^18446744073709551615$' '' c add -- 21 -0x3
t "and back" 0 '^3$' '' c add 21 4
t "swap with another value" 1 '' 'swap 21, whose value is 3: the value is another one$' c swap 21 4 5
t "swap" 0 '' '' c swap 21 3 6
json "swap --json" "x == {'key': 21, 'value': 7, 'old_value': 6}" c swap -j 21 6 7
t "swap needs three arguments" 2 '' 'VALUE is missing' c swap 21 7
c del 21
t "get of a key that is not there" 1 '' 'i.img: get 5: no such key$' c get 5
json "del --json" "x == {'key': 20, 'old_value': 6}" c del 20 --json
t "del of a key that is not there" 1 '' 'del 20: no such key' c del 20
t "del" 0 '' '' c del 0xfffffffffffffffe
t "key 0 and value 0" 0 '' '' c put 0 0
t "get key 0" 0 '^0$' '' c get 0

seq 1 2000 | awk '{ print $1 * 10, $1 }' > records
t "load" 0 '^2000 records stored$' '' c load records
c del 0; c del 17; c del 18
t "dump to a file" 0 '' '2000 records written' c dump copy
same "dump equals the loaded records" records copy
no_partial "no partial dump is left"
run c dump
same "dump to standard output" records out
run c dump -x
truth "dump --hex" [ "$(sed -n 2p out)" = "0x14 0x2" ]
json "dump --json FILE" "x == {'file': 'copy2', 'records': 2000, 'left_out': 0}" c dump copy2 --json
json "dump --json" "len(x) == 2000 and x[0] == {'key': 10, 'value': 1}" c dump --json
run c scan
same "scan is everything in order" records out
run c scan --from 100 --to 150
truth "scan --from --to, both included" \
	[ "$(tr '\n' ' ' < out)" = "100 10 110 11 120 12 130 13 140 14 150 15 " ]
run c scan --from 101 --limit 2 -x
truth "scan --limit" [ "$(tr '\n' ' ' < out)" = "0x6e 0xb 0x78 0xc " ]
tac copy > down
run c scan --reverse
same "scan --reverse is everything in descending order" down out
run c scan -r --from 100 --to 150 --limit 2
truth "scan -r begins at --to" [ "$(tr '\n' ' ' < out)" = "150 15 140 14 " ]
run c scan --last 2
truth "scan --last, in ascending order" [ "$(tr '\n' ' ' < out)" = "19990 1999 20000 2000 " ]
run c scan --last 2 --reverse --to 150
truth "scan --last --reverse --to" [ "$(tr '\n' ' ' < out)" = "150 15 140 14 " ]
json "scan --last of more than there are" "x == [{'key': 10, 'value': 1}]" c scan --last 3 --to 10 --json
json "scan --json" "x == [{'key': 100, 'value': 10}]" c scan --from 95 --to 105 --json
json "scan --json of nothing" "x == []" c scan --from 1 --to 9 --json
json "scan of a range turned round is empty" "x == []" c scan --from 9 --to 1 --json
t "del of a range" 0 '^1990$' '' c del 101 20010
json "del of a range --json" "x == {'deleted': 10}" c del 0 100 --json
t "del of an empty range" 0 '^0$' '' c del 0 0xfffffffffffffffe
t "load again" 0 '^2000 records stored$' '' c load records
t "check" 0 'i.img: [0-9]+ leaves, 2000 records: sound' '' c check
json "check --json" "x['errors'] == 0 and x['records'] == 2000 and 'first' not in x" \
	c check --json
json "list --json" "isinstance(x, list)" "$crabctl" list --json

# Labels, paths and names are any bytes, and JSON is UTF-8
l()
{
	"$crabctl" --image $'\xfc.img' "$@"
}
l format --size 64K --label $'M\xfcller' > /dev/null
json "info --json: a label and a path that are not UTF-8" \
	"x['label'] == r'M\\xfcller' and x['image'] == r'\\xfc.img'" l info --json
json "doctor --json, too" "x[0]['label'] == r'M\\xfcller'" l doctor --json
l format --label $'M\xc3\xbcller' --force --yes > /dev/null
json "a label of UTF-8 is as it is" "x['label'] == 'M\\u00fcller'" l info --json
l format --label $'\xf4\x90\x80\x80' --force --yes > /dev/null
json "a number above those of Unicode is not UTF-8" "x['label'] == r'\\xf4\\x90\\x80\\x80'" l info --json
l format --label $'\xed\xa0\x80 \xc1\x81 \xe4' --force --yes > /dev/null
json "nor a surrogate, a longer form, or a part" \
	"x['label'] == r'\\xed\\xa0\\x80 \\xc1\\x81 \\xe4'" l info --json
json "format --size --json: the region has the name of the file" "x['region'] == 'j.img'" \
	"$crabctl" --image ./j.img format --size 64K --json
long=$(printf '%0200d/%0200d' 0 0)
mkdir -p "$long"
mv j.img "$long"
json "doctor of a long path" "x[0]['image'] == '$long/j.img'" "$crabctl" --image "$long/j.img" doctor --json

# An image by the path that the library has for it
export CRABTREE_DEVICE=file:k.img
t "file:PATH is an image: format" 0 '^k.img: [0-9]+ leaves' '' "$crabctl" format --size 64K
t "put" 0 '' '' "$crabctl" put 1 2
t "info" 0 '^image +k.img$' '' "$crabctl" info
t "doctor" 0 '^k.img: ready' '' "$crabctl" doctor
t "tree" 0 '^records +1,' '' "$crabctl" tree
t "snapshot" 0 '' '^1 record written to k$' "$crabctl" snapshot k
t "restore" 0 '^k.img: 1 record restored$' '' "$crabctl" -d file:k.img restore --force k
t "watch" 3 '' '^crabctl: k.img: watch: an image has no other writer$' "$crabctl" watch
unset CRABTREE_DEVICE
t "watch of an image" 3 '' ': watch: an image has no other writer$' l watch
