#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Files that take the place of others: dump and snapshot. The command of FAKE_RENAME runs
# concurrently with them.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 20
c()
{
	"$crabctl" "$@"
}
# during COMMAND ARGUMENT...: crabctl, with the command before its first rename
during()
{
	FAKE_RENAME=$1 "$out/tests/crabctl-fakedev" "${@:2}"
}

c --image a format --size 128K > made
seq 1 700 | awk '{ print 3 * $1, $1 }' > lines
run c --image a load lines

# Mode and links
ln -s loop loop
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

	# Two at once, and one that ends early
	t "$verb, and the same meanwhile" 0 '' '700 records' \
		during "'$crabctl' --image a $verb two 2> other" --image a "$verb" two
	same "$verb: the file is whole" "$verb" two
	t "$verb, ended by a signal" 143 '' - during "kill -TERM \$PPID" --image a "$verb" ended
	truth "$verb: the file is not there" [ ! -e ended ]
	no_partial "$verb: nor a part of it"
done
