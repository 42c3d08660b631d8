#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl load: its input, its end, its acknowledgements.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 75
image=i.img

fresh()
{
	rm -f i.img
	run c format --size "${1:-1M}"
}

# holds NAME TEXT: the store holds exactly these records
holds()
{
	run c dump
	result "$1" "$([ "$(tr '\n' ',' < out)" = "$2" ] || echo "not $2")"
}

fresh
printf '# a comment\n\n  1 2\n\t3\t4  # behind a record\n0x10 0XfF\r\n   \n#\n5 6' > mixed
t "blanks, comments, tabs, CR, no last newline" 0 '^4 records stored$' '' c load mixed
holds "they have their values" '1 2,3 4,5 6,16 255,'
json "load --json" "x == {'file': 'mixed', 'lines': 8, 'records': 4, 'batches': 1}" \
	c load mixed --json
t "from standard input" 0 '^2 records stored$' '' sh -c "printf '7 7\n8 8\n' | $crabctl --image i.img load -"
: > nothing
t "an empty file, and the largest batch" 0 '^0 records stored$' '' c load --batch 4096 nothing
t "no such file" 3 '' 'nofile: open: No such file' c load nofile
t "a directory" 3 '' '\.: read: Is a directory' c load .

# bad NAME WORDS LINE: a bad line between good ones
bad()
{
	fresh
	printf '%s\n' '1 1' '2 2' "$3" '4 4' > bad
	t "malformed: $1" 3 '' "crabctl: bad:3: $2" c load bad
	holds "malformed: $1: the lines before it are stored, none after" '1 1,2 2,'
}

bad "one number" 'not of the form' 3
bad "three numbers" 'not of the form' '3 3 3'
bad "a word" 'not a number' 'x 3'
bad "a negative key" 'a negative number' '-3 3'
bad "a negative value" 'a negative number' '3 -3'
bad "too large" 'larger than 2\^64-1' '3 18446744073709551616'
bad "the reserved key" 'this key is reserved' '18446744073709551615 3'
fresh
printf '1 1\n2 \0 2\n3 3\n' > zero
t "malformed: a zero byte" 3 '' 'zero:2: not text' c load zero
holds "malformed: a zero byte: nothing after" '1 1,'
printf '\xef\xbb\xbf90 1\r\n91 2\r\n' > marked
t "a file that begins with a byte-order mark" 0 '^2 records stored$' '' c load marked
t "also on standard input" 0 '^2 records stored$' '' sh -c "'$crabctl' --image '$image' load - < marked"
(printf '\xef\xbb\xbf'; "$crabctl" --image "$image" snapshot -) > marked
t "but not before a snapshot, whose sum it is not in" 3 '' 'marked:1: not a snapshot' c load marked
printf '1 2\n\xef\xbb\xbf3 4\n' > marked
t "nor in another line" 3 '' 'marked:2: not a number' c load marked
fresh
printf '1 1\n2 2\n' > long
truncate -s 64M long
t "malformed: a line for which there is no memory" 3 '' 'long:3: a line of 256 KiB or more' \
	sh -c "ulimit -v 65536; '$crabctl' --image i.img load long"
holds "malformed: a long line: the lines before it are stored" '1 1,2 2,'
t "malformed on standard input" 3 '' 'standard input:1: not of the form' sh -c "echo x | $crabctl --image i.img load -"

fresh
printf '1 1\n2 2\n3 3\n' > three
run c put 2 0
t "--create stops at a key that is there" 3 '' 'load three:2, key 2: the key is there already' \
	c load --create --batch 1 three
holds "and stored nothing after it" '1 1,2 0,'
t "--replace stops at a key that is not there" 1 '' 'load three:3, key 3: no such key' \
	c load --replace three
holds "and replaced the records" '1 1,2 2,'
fresh
t "records on one key keep their order" 0 '^3 records stored$' '' \
	sh -c "printf '1 1\n1 2\n1 3\n' | $crabctl --image i.img load -"
holds "the last one counts" '1 3,'

fresh 64K
seq 1 100000 | sed 's/.*/& &/' > many
t "a full store" 3 '' 'load many:[0-9]+, key [0-9]+: no space left in the store \(all 48 leaves' \
	c load many --ack acks
run c scan
sed 's/^\([0-9]*\) .*/A \1/' out > want
same "each record that was stored is acknowledged, no other" want acks
t "a full store is sound" 0 'sound' '' c check
t "delete works when full" 0 '' '' c del 1
t "replace works when full" 0 '' '' c put --replace 2 3

fresh
printf '#\n1 1\n\n2 2\nbad\n' > five
run c load five --ack acks2
printf 'A 2\nA 4\n' > want
same "acknowledged are the numbers of lines" want acks2
run c load three --ack acks2
printf 'A 1\nA 2\nA 3\n' >> want
same "acknowledgements are appended" want acks2
for torn in A 'A ' 'A 12' 'A 12\0\0'; do
	printf '%b' "$torn" >> acks2
	t "a line that a power cut tore, '$torn', is removed" 0 '^3 records' 'acks2: its last line was not whole' \
		c load three --ack acks2
	printf 'A 1\nA 2\nA 3\n' >> want
	same "and whole lines follow" want acks2
done
printf 'A note' > note
t "but not the last line of another file" 3 '' 'note: its last line has no line feed, and is not' \
	c load three --ack note
seq -s ' ' 99 | tr -d '\n' | tee note > want
run c load three --ack note
same "of any length" want note
t "the largest batch with --ack" 0 '^3 records stored$' '' c load --ack acks3 --batch 64 three
t "and one more" 2 '' 'batch 65: 1 to 64 with --ack' c load --batch 65 three --ack acks4
truth "which is refused before anything is done" [ ! -e acks4 ]
t "the file of --ack cannot be opened" 3 '' 'nodir/ack: open: No such file' \
	c load three --ack nodir/ack
cp three before
t "the file of --ack is that of the records" 3 '' '^crabctl: ./three: load: that is the file with the records$' \
	c load three --ack ./three
same "which is unchanged" three before
t "the file of --ack is the image" 3 '' 'i.img: that is the image itself' c load three --ack i.img
truncate -s 64K blank.img
t "an empty file, and no store" 3 '' 'blank.img: load nothing: the region is not formatted' \
	"$crabctl" --image blank.img load nothing
t "the file of --ack cannot be written" 3 '' '/dev/full: acknowledge: No space' \
	c load three --ack /dev/full

# 22 bytes are left for lines of 4: a half of the sixth would read as another number
head -c 1002 /dev/zero | tr '\0' '\n' > acks5
{ cat acks5; printf 'A %d\n' 1 2 3 4 5; } > want
seq 1 9 | sed 's/.*/& &/' > nine
t "the file of --ack is full in the middle of a line" 3 '' 'acks5: acknowledge: File too large' \
	bash -c "ulimit -f 1; exec '$crabctl' --image i.img load nine --ack acks5"
same "and has whole lines" want acks5

# At most 64 records are stored and not yet acknowledged: feed 200, no end of file
fresh
mkfifo feed
"$crabctl" --image i.img load feed --ack slow > loaded 2>&1 &
loader=$!
exec 8> feed
seq 1 200 | sed 's/.*/& &/' >&8
for ((i = 0; i < 100; i++)); do
	[ "$(grep -c A slow 2> /dev/null)" != 192 ] || break
	sleep 0.05
done
truth "acknowledged while it runs" [ "$(grep -c A slow)" = 192 ]
exec 8>&-
wait $loader
truth "and the rest at the end" [ "$(grep -c A slow)" = 200 ]

# On a terminal, progress; and an error is on a separate line
fresh
progress=$'\r''[0-9]* records'
feed_until_shown() {
	local i shown=0
	for ((i = 1; i <= 1000; i++)); do
		echo "$i $i"
		[ $shown = 1 ] || ! grep -q "$progress" shown || shown=1
		[ $shown = 1 ] || sleep 0.05
	done
	echo bad bad
}
: > shown
feed_until_shown > feed &
script -qefc "$crabctl --image i.img load --batch 8 feed" /dev/null < /dev/null > shown 2>&1
wait $!
truth "progress on a terminal" grep -q "$progress" shown
truth "an error is not appended to it" \
	grep -q $'\r\033''\[Kcrabctl: feed:1001: not a number' shown
run c load three
truth "no progress elsewhere" [ ! -s err ]

# Killed repeatedly during a load: acknowledged records are present
fresh 16M
for ((round = 1; round <= 5; round++)); do
	awk -v r=$round 'BEGIN { for (i = 1; i < 200000; i++) print (i * 7919 + r) % 1000003, i }' \
		> lines
	: > killed
	"$crabctl" --image i.img load lines --ack killed > /dev/null 2>&1 &
	loader=$!
	until [ -s killed ]; do sleep 0.01; done
	sleep 0.0$((round * 17))
	kill -9 $loader
	wait $loader 2> /dev/null
	run c dump after
	truth "killed in the middle, round $round: each acknowledged record is there" \
		python3 "$2/acked.py" lines killed after
done
t "after all of this the store is sound" 0 'sound' '' c check
