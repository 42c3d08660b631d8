#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Each field that --json prints is in the manual's page, and each field of the page is printed.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
here=$2
page=$here/../../Documentation/userspace-api/json.rst
suite 18

# j VERB ARGUMENT...: adds the output of a verb to that of its section, VERB.json
j()
{
	"$crabctl" "$@" -j >> "$section.json" 2>> errors || :
}

# f ARGUMENT...: the same of a device, or of the files of a machine
f()
{
	"$out/tests/crabctl-fakedev" "$@" -j >> "$section.json" 2>> errors || :
}

# compare VERB: the section of the verb
compare()
{
	python3 "$here/fields.py" PAGE "$page" "$1" < "$section.json" > wrong 2>&1
	result "the fields of $1" "$(cat wrong)"
}

i="--image i.img" b="--image b.img" n="--image n.img"
# shellcheck disable=SC2086	# an option and its argument
{
section="info"
j $i format --size 64K --commits
j $b format --size 1M --blobs --commits
j $n format --size 1M --names --commits
j $i info
mkdir -p root/dev root/sys/class/crabtree/crab0
touch root/dev/crab0
echo ready > root/sys/class/crabtree/crab0/state
FAKE_ROOT=root f list
FAKE_ROOT=root f metrics
FAKE_ROOT=root FAKE_OPEN=1 FAKE_IMAGE=$PWD/i.img f list
compare info

section="get"
j $i put 1 2
j $i put 1 3
j $i get 1
j $i swap 1 3 4
j $i add 1 1
j $i del 1
seq 1 500 | sed 's/.*/& &/' > lines
"$crabctl" $i load lines > /dev/null
j $i del 7 8
"$crabctl" $n set --type u8 a 1
j $n get a
python3 "$here/fields.py" SNAPSHOT > text
"$crabctl" --image text.img restore --size 1M text > /dev/null
j --image text.img get zz
compare get

section="set"
j $b set 1 x
j $n set b x
j $b ls
j $n ls --values
compare set

section="scan"
j $i scan --limit 1
j $i dump
j $i dump copy
compare scan

section="load"
j $i load lines
compare load

section="commit"
echo 'put 1 1' | j $i commit -
echo 'set a u8 3' | j $n commit -
echo 'del 9' | j $b commit -
compare commit

section="snapshot"
j $i snapshot s
j --image new.img restore --size 64K s
compare snapshot

section="diff"
"$crabctl" $n snapshot sn 2> /dev/null
"$crabctl" $n set --type u8 a 7
"$crabctl" $n set b y
"$crabctl" $i put 1 9
j diff s file:i.img
j diff sn file:n.img
compare diff

section="watch"
cp i.img records.img
cp n.img names.img
for kind in records names; do
	python3 "$here/fields.py" CHANGES $kind > changes
	FAKE_IMAGE=$PWD/$kind.img FAKE_CHANGES=$PWD/changes f -d /dev/zero watch
done
compare watch

section="check"
cp i.img harmed.img
offset=$("$crabctl" $i tree -j | python3 -c 'import json, sys; print(json.load(sys.stdin)["list"][1]["offset"])')
python3 "$here/doctor.py" FLIP harmed.img $((offset + 24))
j --image harmed.img check
compare check

section="doctor"
mkdir -p empty
j --image harmed.img doctor
FAKE_ROOT=root f doctor
FAKE_ROOT=empty f doctor
j doctor --causes
compare doctor

section="fsck"
j --image harmed.img fsck whole.img
j $n fsck whole_names.img
compare fsck

section="tree"
j $i tree --leaf 1
compare tree

section="events"
export FAKE_ROOT=root
(sleep 0.3; echo readonly > root/sys/class/crabtree/crab0/state) &
f events -n 2
wait
unset FAKE_ROOT
compare events

section="top"
j $i top --once --interval 1
FAKE_IMAGE=$PWD/i.img f -d /dev/zero top --once --interval 1
compare top
}

# Verbs without JSON
python3 "$here/fields.py" VERBS "$page" | tr -d , | tr ' ' '\n' > verbs
printf '%s\n' cat rm region >> verbs
"$crabctl" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort > want
sort verbs > sorted
same "each verb has a section" want sorted
for verb in cat rm; do
	t "$verb prints none" 2 '' "-j: $verb prints no JSON" "$crabctl" --image b.img -j $verb 1
done
