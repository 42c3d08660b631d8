#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Several writes at once: crabctl commit on an image.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 48
image=c.img
# commit LINE...: a file of these lines
commit()
{
	printf '%s\n' "$@" > lines
	c commit lines
}
# refused NAME MESSAGE LINE...: nothing of the file is done
refused()
{
	local name=$1 message=$2

	shift 2
	t "$name" 3 '' "$message" commit 'put 99 1' "$@"
}

t "format --commits" 0 'leaves of 1024 bytes' - c format --size 1M --commits
json "the feature bit" "x['feature_incompat'] == 2" c info --json
t "commit" 0 '' '' commit '# two accounts' 'put 1 100 absent' '' 'put 2 0x10 # the second'
t "the first value" 0 '^100$' '' c get 1
t "the second value" 0 '^16$' '' c get 2
t "a transfer" 0 '' '' commit 'add 1 -30 exists' 'add 2 30 exists'
t "the sums, read at once" 0 '^1 70$' '' commit 'get 1' 'get 2' 'get 3'
t "one of them is not there" 0 '^3 -$' '' commit 'get 1' 'get 2' 'get 3'
t "conditions of every kind" 0 '' '' \
	commit 'put 1 71 was 70' 'del 2 exists' 'del 3 absent' 'put 4 4 absent' 'add 5 5'
t "the key is removed" 1 '' 'no such key' c get 2
json "commit --json" "[(o['operation'], o['key'], o['existed'], o.get('old_value')) for o in x] ==
	[('put', 1, True, 71), ('add', 5, True, 5), ('get', 4, True, 4), ('del', 9, False, None)]" \
	sh -c "printf 'put 1 1\nadd 5 1\nget 4\ndel 9\n' | '$crabctl' --image c.img commit - --json"
t "a value that is another one" 1 '' 'commit lines:2, key 1: .*another' commit 'put 99 1' 'del 1 was 70'
t "a key that is not there" 1 '' 'commit lines:2, key 7: no such key' commit 'put 99 1' 'get 7 exists'
t "a key that is there" 3 '' 'commit lines:2, key 1: .*there already' commit 'put 99 1' 'put 1 2 absent'
t "nothing was written" 1 '' 'no such key' c get 99
refused "an unknown operation" 'lines:2: not an operation' 'set 1 2'
refused "no key" 'lines:2: KEY is missing' 'put'
refused "no value" 'lines:2: VALUE is missing' 'put 1'
refused "no value, of add" 'lines:2: VALUE is missing' 'add 1'
refused "a key that is no number" 'lines:2: not a number' 'get x'
refused "the reserved key" 'lines:2: this key is reserved' 'get 0xffffffffffffffff'
refused "a negative value" 'lines:2: a negative number' 'put 1 -1'
refused "a number with two signs" 'lines:2: a negative number' 'add 1 --1'
refused "an unknown condition" 'lines:2: not a condition' 'put 1 1 maybe'
refused "a condition without its value" "lines:2: the value after .was. is missing" 'put 1 1 was'
refused "a condition of add" "lines:2: .add. has no condition but" 'add 1 1 absent'
refused "more text" 'lines:2: text after the condition' 'get 1 was 1 2'
refused "a key twice" 'lines:2: another line has this key' 'del 99'
t "no operation" 3 '' 'lines:1: no operation' commit '# nothing'
seq -f 'put %g 1' 200 264 > lines
t "65 operations" 3 '' 'lines:65: more than 64 operations' c commit lines
seq -f 'put %g 1' 200 263 > lines
t "64 operations" 0 '' '' c commit lines
printf '\xef\xbb\xbf# marked\nput 200 1\n' > lines
t "a byte-order mark" 0 '' '' c commit lines
printf 'put 1 1\0\n' > lines
t "a zero byte" 3 '' 'lines:1: not text' c commit lines
printf 'put 300 1\n' > long
truncate -s 64M long
t "a line for which there is no memory" 3 '' 'long:2: a line of 256 KiB or more' \
	sh -c "ulimit -v 65536; '$crabctl' --image c.img commit long"
t "and nothing is done" 1 '' 'no such key' c get 300
t "a file that is not there" 3 '' 'No such file' c commit none
t "no file" 2 '' 'FILE is missing' c commit
t "two files" 2 '' 'one argument too many' c commit lines lines
t "check" 0 '67 records: sound' '' c check
t "fsck" 0 - '' c fsck copy.img
json "its copy is a store of commits" "x['feature_incompat'] == 2" "$crabctl" --image copy.img info --json
run "$crabctl" --image plain.img format --size 1M
printf 'put 1 1\n' > lines
t "a store without commits" 3 '' 'commit: a store of another kind \(it has records, and no commits; its verbs: get, put, ' "$crabctl" --image plain.img commit lines
t "a store that is full" 3 '' 'no space|full' sh -c "'$crabctl' --image small.img format --size 24K --commits > format.out &&
	seq -f 'put %g 1' 1 30 > lines && '$crabctl' --image small.img commit lines"

# A closed descriptor is not that of the image
seq -f 'put %.0f 1' 1000000000 1000000063 > lines
for fd in 0 1 2; do
	rm -f closed.img
	"$crabctl" --image closed.img format --size 1M --commits > format.out
	eval "'$crabctl' --image closed.img commit lines --json $fd>&-" > commit.out 2>&1
	truth "descriptor $fd closed: the image has no output" sh -c '! grep -q operation closed.img'
done
t "an output that is closed is an error" 3 '' 'Bad file descriptor' sh -c "'$crabctl' --image closed.img get 1000000000 >&-"
t "and so is an input" 3 '' 'Bad file descriptor' sh -c "'$crabctl' --image closed.img commit - <&-"
