#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Files that are made under another name: dump, snapshot, fsck, restore and format of an image. The commands of
# FAKE_LOCK and FAKE_RENAME run concurrently with them.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 91
# during COMMAND ARGUMENT...: crabctl, with the command before its first rename
during()
{
	FAKE_RENAME=$1 "$out/tests/crabctl-fakedev" "${@:2}"
}
in_use='another program has this image open'

c --image a format --size 128K > made
seq 1 700 | awk '{ print 3 * $1, $1 }' > lines
run c --image a load lines
run c --image a snapshot s
c --image small format --size 64K > made
c --image small put 1 2
run c --image small snapshot s2

# Restore: the old image is locked until the new one is in its place
cp a b
t "restore, and a put into the old image meanwhile" 0 '700 records restored' '' \
	during "'$crabctl' --image b put 7 7 2> other" --image b restore --force s
truth "which is refused" grep -q "$in_use" other
t "restore, and another restore meanwhile" 0 '700 records restored' '' \
	during "'$crabctl' --image b restore --force s2 2> other" --image b restore --force s
truth "which is refused" grep -q "$in_use" other
t "the image is that of the first" 0 '' '' c diff s file:b
t "restore to a new image, and another one meanwhile" 3 '' 'new: restore: File exists' \
	during "'$crabctl' --image new restore --size 64K s2 > other" --image new restore --size 128K s
t "the one that was there first stays" 0 '' '' c diff s2 file:new
no_partial "no partial file is left"
t "a file is replaced before it is locked: the new one is changed" 0 '' '' \
	env FAKE_LOCK='cp b c && mv c b' "$out/tests/crabctl-fakedev" --image b put 8 9
t "and has the record" 0 '^9$' '' c --image b get 8
t "a file is removed before it is locked" 3 '' 'no such file' \
	env FAKE_LOCK='rm c2' sh -c "cp b c2 && '$out/tests/crabctl-fakedev' --image c2 put 8 9"

# Mode and links
ln -s loop loop
chmod 640 b
ln -s b link
t "restore of a link" 0 - '' c --image link restore --force s
truth "which remains a link" [ -L link ]
t "to the image that was restored" 0 '' '' c diff s file:b
truth "with its mode" [ "$(stat -c %a b)" = 640 ]
(umask 027 && c --image m restore --size 128K s > made)
truth "a new image has the mode of any new file" [ "$(stat -c %a m)" = 640 ]
head -c 100000 /dev/zero > odd
t "restore to a file whose size is no multiple of a page" 0 - '' c --image odd restore --force s
for verb in dump snapshot; do
	echo old > "$verb"
	chmod 604 "$verb"
	mkdir "in.$verb"
	ln -s "../$verb" "in.$verb/old"
	ln -s old "in.$verb/link"
	ln -s new "in.$verb/none"
	t "$verb to a link" 0 '' '700 records' c --image a "$verb" "in.$verb/link"
	truth "$verb: both links remain" [ -L "in.$verb/link" -a -L "in.$verb/old" ]
	truth "$verb: the mode, too" [ "$(stat -c %a "$verb")" = 604 ]
	run c --image a "$verb" "in.$verb/none"
	same "$verb: a link to no file makes it" "$verb" "in.$verb/new"
	t "$verb to a link to itself" 3 '' 'open: Too many levels' c --image a "$verb" loop

	ln a "a.$verb"
	t "$verb over the image" 3 '' "crabctl: a.$verb: that is the image itself" c --image a "$verb" "a.$verb"
	truth "which is there still" [ a -ef "a.$verb" ]

	# Two at once, and one that ends early
	t "$verb, and the same meanwhile" 0 '' '700 records' \
		during "'$crabctl' --image a $verb two 2> other" --image a "$verb" two
	same "$verb: the file is whole" "$verb" two
	t "$verb, ended by a signal" 143 '' - during "kill -TERM \$PPID" --image a "$verb" ended
	truth "$verb: the file is not there" [ ! -e ended ]
	no_partial "$verb: nor a part of it"
done
# A suite in the background ignores the signals of the keyboard, and crabctl leaves it at that
for signal in HUP INT QUIT PIPE ALRM USR1 USR2 XCPU; do
	t "dump, ended by SIG$signal" $((128 + $(kill -l $signal))) '' - \
		env --default-signal FAKE_SIGNAL="$(kill -l $signal)" "$out/tests/crabctl-fakedev" --image a dump ended
done
t "dump, and a signal that is ignored" 0 '' '700 records' \
	env --ignore-signal=HUP FAKE_SIGNAL=1 "$out/tests/crabctl-fakedev" --image a dump kept
t "dump, and a limit of the size of files" 3 '' 'ended: write: File too large' \
	sh -c "ulimit -f 2; exec '$crabctl' --image a dump ended"
t "snapshot, and such a limit" 3 '' 'ended: write: File too large' \
	sh -c "ulimit -f 2; exec '$crabctl' --image a snapshot ended"
truth "neither is there" [ ! -e ended ]
no_partial "none leaves a part of a file"
cp b before
t "restore, ended by a signal" 143 '' - during "kill -TERM \$PPID" --image b restore --force s2
same "leaves the old image" before b
no_partial "and no other file"

# Fsck makes a new file only. The signals come before its image is on the disk
for signal in HUP INT QUIT TERM; do
	t "fsck, ended by SIG$signal" $((128 + $(kill -l $signal))) '' - \
		env --default-signal FAKE_SIGNAL="$(kill -l $signal)" "$out/tests/crabctl-fakedev" --image a fsck ended
	truth "leaves no image" [ ! -e ended ]
	rm -f ended
done
t "fsck, and a limit of the size of files" 3 '' 'ended: fsck: File too large' \
	sh -c "ulimit -f 2; exec '$crabctl' --image a fsck ended"
t "fsck, and a file of that name meanwhile" 3 '' 'theirs: fsck: File exists' \
	during "cp s theirs" --image a fsck theirs
same "which stays" s theirs
ln -s none nowhere
t "fsck to a link to no file" 3 '' 'nowhere: fsck: File exists' c --image a fsck nowhere
(umask 027 && c --image a fsck m2 > made)
truth "its image has the mode of any new file" [ "$(stat -c %a m2)" = 640 ]
t "format --size, ended by a signal" 143 '' - \
	env FAKE_SIGNAL=15 "$out/tests/crabctl-fakedev" --image ended format --size 64K
truth "leaves no image, either" [ ! -e ended ]
t "format --size, and a file of that name meanwhile" 3 '' 'theirs2: format: the file is there already' \
	during "cp s theirs2" --image theirs2 format --size 64K
same "which stays, too" s theirs2
no_partial "and no part of one is left"

# After a power cut the new name is there: its directory was written after the last rename
fake=$out/tests/crabctl-fakedev
# steps NAME STEPS COMMAND...: the steps that make the name durable
steps()
{
	rm -f log
	FAKE_LOG=log run "${@:3}"
	truth "the name is durable: $1" [ "$(grep -v msync log | tr '\n' ,)" = "$2" ]
}
durable()
{
	steps "$1" "rename,fsync of a directory," "$fake" "${@:2}"
}
durable dump --image a dump named
durable snapshot --image a snapshot named
durable restore --image b restore --force "$PWD/s"
durable "restore to a new image" --image in.dump/image restore --size 128K s
durable format --image made.img format --size 64K
durable fsck --image a fsck made2.img

# A directory that may not be read; root would read it all the same
mkdir blind
chmod 300 blind
blindly()
{
	if [ "$(id -u)" = 0 ]; then
		set -- setpriv --bounding-set=-dac_override,-dac_read_search \
			--inh-caps=-dac_override,-dac_read_search "$@"
	fi
	"$@"
}
t "a directory that cannot be read: dump" 0 '' '700 records' blindly "$crabctl" --image a dump blind/dump
t "snapshot" 0 '' '700 records' blindly "$crabctl" --image a snapshot blind/snapshot
t "restore" 0 '700 records' '' blindly "$crabctl" --image blind/b restore --size 128K s
same "the dump is complete" dump blind/dump
same "and the snapshot" s blind/snapshot
t "and the image" 0 '' '' c diff s file:blind/b
steps "with all of its file system" "rename,syncfs," blindly "$fake" --image a dump blind/dump
steps "of format, too" "rename,syncfs," blindly "$fake" --image blind/made format --size 64K
t "tree --svg" 0 - '' blindly "$crabctl" --image a tree --svg=blind/svg
chmod 700 blind
no_partial "no partial file is there"
