#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl doctor: every cause is planted, in the files of a machine or in an image. Each must be
# found, and the text must be that of doctor.golden; RECORD=1 writes it. The manual's page has
# the same texts.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
here=$2
golden=$here/doctor.golden
page=$here/../../Documentation/admin-guide/when-it-does-not-work.rst
class=root/sys/class/crabtree
export FAKE_ROOT=$PWD/root FAKE_IMAGE=$PWD/fake.img
: > transcripts
"$crabctl" doctor --causes --json > causes.json
names=$(python3 -c 'import json; print(*(c["cause"] for c in json.load(open("causes.json"))))')
CAUSES=48	# how many are planted
suite $((CAUSES + 13))

doctor()
{
	"$out/tests/crabctl-fakedev" doctor "$@"
}

# machine ARCH RELEASE: a bare root
machine()
{
	rm -rf root
	mkdir -p root/{dev,proc/sys/kernel,sys/kernel/security,lib/modules/6.12.1/updates/dkms}
	echo "$1" > root/proc/sys/kernel/arch
	echo "$2" > root/proc/sys/kernel/osrelease
	echo "quiet" > root/proc/cmdline
}

# device NAME ATTRIBUTE=VALUE...: a ready store, apart from these
device()
{
	local name=$1 pair

	shift
	mkdir -p "$class/$name"
	touch "root/dev/$name"
	for pair in state=ready reason= durability=pop provider=of model=word model_kept=yes \
		region_bytes=1048576 label="$name" engine=crab layout=slotted leaf_bytes=1024 \
		leaves=1008 leaves_used=17 leaves_bad=0 records=1000 capacity=61488 repairs=0 \
		version=1 "$@"; do
		echo "${pair#*=}" > "$class/$name/${pair%%=*}"
	done
}

# found NAME [ARGUMENT...]: doctor finds the cause NAME, in these words
found()
{
	local name=$1 wrong=

	shift
	doctor --json "$@" > found.json
	python3 -c 'import json, sys
sys.exit(not any(c["cause"] == sys.argv[1] for row in json.load(open("found.json"))
	for c in row["findings"]))' "$name" 2> err && named=$((named + 1)) || wrong="not found"
	{
		echo "== $name"
		doctor "$@" 2>&1
		echo "-- exit status $?"
	} > one
	cat one >> transcripts
	planted="$planted $name"
	sed -n "/^== $name\$/,/^-- /p" "$golden" > expected
	diff expected one > out || wrong=${wrong:-other words}
	result "$name" "$wrong"
}
planted=
named=0

# attribute NAME ATTRIBUTE=VALUE...: a machine whose only store differs in these
attribute()
{
	local name=$1

	shift
	machine x86_64 6.12.1
	device crab0 "$@"
	FAKE_OPEN=1 found "$name"
}

# image NAME COMMAND...: an image with 500 records, after a command
image()
{
	local name=$1

	shift
	cp good.img i.img
	"$@" > /dev/null
	found "$name" --image i.img
}

truncate -s 64K fake.img good.img
"$crabctl" --image good.img format --label retain > /dev/null
"$crabctl" --image fake.img format > /dev/null
seq 1 500 | sed 's/.*/& &/' | "$crabctl" --image good.img load - > /dev/null

machine riscv64 6.12.1
found wrong_architecture
machine x86_64 6.12.1
found module_missing
touch root/lib/modules/6.12.1/updates/dkms/crabtree.ko.xz
found module_not_loaded
machine x86_64 6.13.0
touch root/lib/modules/6.12.1/updates/dkms/crabtree.ko.xz
found wrong_kernel
mkdir -p root/sys/module/crabtree
found no_region
echo "none [integrity] confidentiality" > root/sys/kernel/security/lockdown
found lockdown
machine x86_64 6.12.1
device crab0
rm root/dev/crab0
found node_missing
touch root/dev/crab0
found no_permission
device crab1 label=escaped
printf '%s\n' 'CRABTREE_LABEL_ENC=crab\x30' > $class/crab1/uevent
export FAKE_OPEN=1
found label_twice
rm $class/crab1/uevent
device crab1 uuid=11111111-2222-3333-4444-555555555555
device crab0 uuid=11111111-2222-3333-4444-555555555555
found uuid_twice

unformatted="state=unformatted durability=pop label="
# shellcheck disable=SC2086	# several attributes
{
	attribute blank $unformatted "reason=no store: the region is blank"
	attribute format_cut $unformatted "reason=a FORMAT began here and did not end: format again"
	attribute unfinished $unformatted \
		"reason=a store is filled here: it is none before it is complete"
	attribute super_unreadable state=rejected label= \
		"reason=no superblock: uncorrectable memory at offset 0"
}
yes 0123456 | head -c 65536 > foreign.data
image foreign_data cp foreign.data i.img
image supers_damaged python3 "$here/doctor.py" FLIP i.img 100 4196
image super_impossible python3 "$here/doctor.py" SUPER i.img leaf_bytes=1000
image newer_format python3 "$here/doctor.py" SUPER i.img version=9
image newer_features python3 "$here/doctor.py" SUPER i.img incompat=8
image unknown_engine python3 "$here/doctor.py" SUPER i.img engine=999
image unknown_layout python3 "$here/doctor.py" SUPER i.img layout=99
image region_shrunk truncate -s 32K i.img
image region_too_small truncate -s 8K i.img
image readonly_newer python3 "$here/doctor.py" SUPER i.img ro_compat=1
image damaged python3 "$here/doctor.py" FLIP i.img $((16384 + 2 * 1024 + 24))
image quarantine python3 "$here/doctor.py" FLIP i.img $((16384 + 2 * 1024 + 24)) $((16384 + 5 * 1024 + 24))
# the copy that remains has the state "clean"
image one_superblock python3 "$here/doctor.py" FLIP i.img 4196
image not_detached python3 "$here/doctor.py" SUPER i.img state=2 engine_root=0

rejected="state=rejected label="
# shellcheck disable=SC2086	# several attributes
{
	attribute caches_needed $rejected "reason=layout eadr needs a region whose caches persist"
	attribute swap_needed $rejected \
		"reason=no 16-byte compare-and-swap on this CPU: layout eadr needs it"
	attribute no_memory $rejected "reason=attach failed: error -12"
	attribute no_memory_store $rejected "reason=attach failed: no memory"
	attribute attach_failed $rejected "reason=attach failed: error -22"
	attribute parked $rejected "reason=detached for hibernation or shutdown"
	attribute other_reason $rejected "reason=a reason that a later module has"
	attribute region_gone state=gone label= "reason=the region was taken away"
}
attribute readonly_asked state=readonly "reason=attached read-only"
attribute super_half_bad state=readonly \
	"reason=read-only: the other superblock, at 4096, is in uncorrectable memory"
attribute memory_failed state=readonly leaves_bad=1 \
	"reason=memory at offset 20480 became uncorrectable"
attribute commit_waits state=readonly "reason=a commit waits for the next attach: error -12"
attribute full leaves_used=1006
attribute nearly_full leaves_used=950
attribute repaired repairs=3
attribute class_none durability=none provider=ram
attribute class_unproven durability=unproven state=readonly "reason=attached read-only"
attribute class_poc durability=poc
attribute class_cache durability=cache
attribute model_unproven model=line layout=sorted model_kept=unproven

truth "$CAUSES of $CAUSES planted causes are named" test \
	"$named of $(wc -w <<< "$planted")" = "$CAUSES of $CAUSES"
truth "every cause is planted" diff <(tr ' ' '\n' <<< "$names" | sort) \
	<(tr ' ' '\n' <<< "$planted" | sed 1d | sort)
python3 "$here/doctor.py" PAGE "$page" < causes.json > out
result "the manual has the same causes and remedies" "$(cat out)"
machine x86_64 6.12.1
device crab0 provider=dax
t "pmem is safe against a power cut, as its driver declares" 0 \
	'reset yes, power cut yes \(as the pmem driver declares\)' '' doctor
echo 'quiet memmap=16M!0x90000000 panic=1' > root/proc/cmdline
t "but not if the command line made it so" 0 'reset ask, power cut ask' '' doctor
device crab0 provider=reserve
t "firmware may clear reserved memory" 0 'reset ask, power cut ask' '' doctor
device crab0 feature_incompat=0x5 leaves_used=973
t "a store of names without room for a slab is full" 1 'the store is full' '' doctor
device crab0 feature_incompat=0x5 leaves_used=970
t "and one with it is not" 0 'nine in ten leaves' '' doctor
device crab1
device crab10 state=rejected label=x "reason=both superblocks are damaged"
t "all devices are shown, and one problem is enough" 1 '^/dev/crab10: rejected' '' doctor
t "a named device alone" 0 '^/dev/crab1: ready' '' doctor -d /dev/crab1
mkdir -p root/dev/crabtree/by-label
ln -s ../../crab1 root/dev/crabtree/by-label/retain
t "a named device that is not there, and a good one" 1 '^/dev/crab1: ready' 'no such device' \
	doctor -d /dev/crab7
t "a device by its label" 0 '^/dev/crab1: ready' '' doctor -d root/dev/crabtree/by-label/retain
t "a file that is not there" 3 '' 'nofile: no such file' doctor --image nofile
if [ -n "${RECORD:-}" ]; then cp transcripts "$golden"; fi
