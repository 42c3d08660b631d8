#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bad input on the command line: exit code 2, a message with the error, and
# nothing changed.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 99
image=i.img

run c format --size 64K
run c put 1 1
cp i.img before

# usage NAME WORDS ARGUMENT...
usage()
{
	local name=$1 words=$2

	shift 2
	t "$name" 2 '' "$words" c "$@"
}

usage "no verb" 'which verb'
usage "unknown verb" 'no such verb: frobnicate' frobnicate
usage "unknown option" "unrecognized option '--frobnicate'" --frobnicate info
usage "unknown option of a verb" "unrecognized option '--frobnicate'" info --frobnicate
usage "an option of another verb" "unrecognized option '--label'" get --label x 1
usage "get without a key" 'KEY is missing' get
usage "put without a value" 'VALUE is missing' put 1
usage "put with too much" '3: one argument too many' put 1 2 3
usage "get with too much" '2: one argument too many' get 1 2
usage "info with an argument" 'info takes no argument' info 1
usage "list with an argument" 'list takes no argument' list 1
usage "check with an argument" 'check takes no argument' check 1
usage "scan with an argument" 'scan takes no argument' scan 1
usage "format with an argument" 'format takes no argument' format x
usage "load without a file" 'FILE is missing' load
usage "load of two files" 'y: one argument too many' load x y
usage "dump to two files" 'y: one argument too many' dump x y

usage "key: a word" 'key abc: not a number .*; i.img has records: names need a store of format --names$' get abc
usage "key: empty" 'key : not a number' get ''
usage "key: trailing junk" 'key 12x: not a number [^;]*$' get 12x
usage "key: leading blank" 'key  1: not a number' get ' 1'
usage "key: plus sign" 'key \+1: not a number' get +1
usage "key: 0x alone" 'key 0x: not a number' get 0x
usage "key: fraction" 'key 1.5: not a number' get 1.5
usage "key: exponent" 'key 1e3: not a number' get 1e3
usage "key: negative" '-5: a negative number; keys and values are 0 to' get -5
usage "key: negative behind --" 'key -5: a negative number' get -- -5
usage "value: negative" '-1: a negative number.* put -- before the name or the key\)$' put 1 -1
usage "value: negative hexadecimal" '-0x1: a negative number' put 1 -0x1
usage "key: too large" 'key 18446744073709551616: larger than 2\^64-1' get 18446744073709551616
usage "key: far too large" 'larger than 2\^64-1' get 99999999999999999999999999
usage "key: too large in hexadecimal" 'larger than 2\^64-1' get 0x10000000000000000
usage "value: negative, of a verb that does not add" 'value -1: a negative number' put -- 1 -1
usage "add: two signs" 'value -5: a negative number' add -- 1 --5
usage "add: a sign alone" 'value : not a number' add -- 1 -
usage "an engine that keeps nothing in an image" '--engine volatile keeps nothing in an image' format --engine volatile --force
usage "value: too large" 'value 18446744073709551616: larger' put 1 18446744073709551616
usage "key: reserved, get" 'key 18446744073709551615: reserved' get 18446744073709551615
usage "key: reserved, put" 'key 0xffffffffffffffff: reserved' put 0xffffffffffffffff 1
usage "key: reserved, del" 'reserved, it marks a free slot' del 18446744073709551615
usage "scan --limit of a word" '--limit x: not a number' scan --limit x
usage "load --batch 0" '--batch 0: 1 to 4096' load --batch 0 -
usage "load --batch too large" '--batch 4097: 1 to 4096' load --batch 4097 -
usage "leaf size not a power of two" '--leaf-size 1000: a power of two' format --leaf-size 1000
usage "leaf size too large" '--leaf-size 16K: a power of two' format --leaf-size 16K
usage "label too long" 'longer than 31 bytes' format --label "$(printf '%032d' 0)"
for verb in format "restore x" "fsck x"; do
	# shellcheck disable=SC2086	# verb and argument
	usage "${verb% x}: a size of no whole pages" '--size 10000: not a multiple of 4096' $verb --size 10000
done
usage "no size" '--size 0: not a multiple of 4096' format --size 0
for size in 16MB 1.5M -1 M ''; do
	usage "no size: '$size'" "--size $size: not a number of bytes; K, M and G are understood" format --size="$size"
done
for size in 17179869185G 8589934592G 0x8000000000000000 99999999999999999999 99999999999999999999K; do
	usage "a size of no file: $size" "--size $size: larger than any file" format --size "$size"
done
usage "an image without a name" '--image: the name is empty' info --image ''
usage "a device without a name" '--device: the name is empty' info -d ''
usage "uuid too long" 'not of the form' format --uuid 00112233-4455-6677-8899-aabbccddeeff0
usage "uuid malformed" 'uuid 1234: not of the form' format --uuid 1234
t "--size without --image" 2 '' '--size is for --image' "$crabctl" format --size 1M
same "the image was not touched" before i.img

# A message is one line, and cannot command the terminal
t "a key with control characters" 2 '' '^crabctl: get: key 1.x0a.x1b: not a number' "$crabctl" --image i.img get $'1\n\e'
t "a path with them" 3 '' '^crabctl: no.x0a.x1b: no such file$' "$crabctl" --image $'no\n\e' get 1
usage "a verb with them" 'no such verb: a.x0a.x1b' $'a\n\e'
usage "an argument with them" 'x.x1b: one argument too many' get 1 $'x\e'
usage "an option with them" '^crabctl: --no.x1b: not an option$' $'--no\e'
usage "a letter that is none" '^crabctl: -.x1b: not an option$' get $'-\e' 1
usage "the value of an option with them" '--limit .x1b: not a number' scan --limit $'\e'
usage "a control character of Unicode" 'key .xc2.x9b: not a number' get $'\xc2\x9b'
ln i.img $'x\e'
t "the name of the image with them" 3 '' '^crabctl: x.x1b: that is the image itself$' c dump $'x\e'
t "the name of a snapshot with them" 3 '' '^crabctl: x.x1b:1: not a snapshot' c restore --force $'x\e'

# The name of a device as `region add' prints it, and an image as the library opens it
t "a device without its directory" 3 '' '^crabctl: /dev/crab987: no such device' "$crabctl" -d crab987 info
t "the same in the environment" 3 '' '^crabctl: /dev/crab987: no such device' env CRABTREE_DEVICE=crab987 "$crabctl" info
ln i.img crab987
t "a file of that name" 3 '' '^crabctl: crab987: not a crabtree device' "$crabctl" -d crab987 info
t "another name" 3 '' '^crabctl: crab98x: no such device' "$crabctl" -d crab98x info
t "a path of the library that is not there" 3 '' '^crabctl: none: no such file$' "$crabctl" -d file:none info
: > short
t "one that is too small" 3 '' '^crabctl: short: too small to be an image' "$crabctl" -d file:short info
t "one without a name" 2 '' '--device: the name is empty' "$crabctl" -d file: info
t "list of one" 2 '' '^crabctl: -d: list does not use it' "$crabctl" -d file:i.img list
cp i.img whole
t "dump of one onto itself" 3 '' '^crabctl: i.img: that is the image itself$' "$crabctl" -d file:i.img dump i.img
t "the same in the environment" 3 '' '^crabctl: i.img: that is the image itself$' env CRABTREE_DEVICE=file:i.img "$crabctl" dump i.img
same "which is whole" whole i.img
t "-d goes before the environment" 3 '' '^crabctl: /dev/crab987: no such device' env CRABTREE_DEVICE=file:i.img "$crabctl" -d /dev/crab987 info

# An image is no device: it is not left out of account
for words in list metrics events "region list"; do
	# shellcheck disable=SC2086	# two words
	usage "$words of an image" "--image: $words does not use it" $words
done
for words in list metrics events "region list"; do
	# shellcheck disable=SC2086	# two words
	usage "$words of a device" "^crabctl: -d: $words does not use it: it is about all devices\$" -d /dev/crab1 $words
done
t "diff: devices without their directory" 3 '' '^crabctl: /dev/crab988: diff: no such device' \
	"$crabctl" diff crab988 crab989
usage "diff of a device" '-d: diff does not use it: its arguments are OLD and NEW' diff -d /dev/crab1 i.img i.img
usage "diff of an image" '--image: diff does not use it: an image is file:PATH' diff i.img i.img
