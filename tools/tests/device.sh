#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# crabctl over the device: the ioctls of the library, answered by fakedev.c.

# shellcheck source=tests/tap.sh
. "$2/tap.sh"
suite 59
c()
{
	"$out/tests/crabctl-fakedev" -d /dev/zero "$@"
}
export FAKE_IMAGE=$tmp/i.img
truncate -s 1M i.img

t "unformatted: info" 0 '^device +/dev/zero$' '' c info
t "unformatted: get" 3 '' '/dev/zero: get 1: the region is not formatted \(no store' c get 1
t "format" 0 '/dev/zero: [0-9]+ leaves' - c format --label dev
t "info tells what writes took" 0 '^per write +no write yet$' '' c info
t "put" 0 '' '' c put 1 2
t "get" 0 '^2$' '' c get 1
t "put --create" 3 '' '/dev/zero: put 1: the key is there already$' c put --create 1 3
json "put --json tells the old value" "x['old_value'] == 2" c put 1 3 -j
t "get of nothing" 1 '' 'get 2: no such key' c get 2
t "del" 0 '' '' c del 1
t "del of nothing" 1 '' 'del 1: no such key' c del 1
json "info --json names the device" "x['device'] == '/dev/zero'" c info -j
t "format refuses a store" 3 '' 'the region is not empty' c format
t "format --force --yes" 0 'leaves of' - c format --force --yes

seq 1 3000 | sed 's/.*/& &/' > lines
t "load" 0 '^3000 records' '' c load lines
run c dump
same "dump" lines out
run c scan --from 2 --to 4
truth "scan" [ "$(tr '\n' , < out)" = "2 2,3 3,4 4," ]
t "check" 0 '3000 records: sound' '' c check
# on_terminal COMMAND: its output, with the slow first call of a big store
on_terminal()
{
	FAKE_CALL='sleep 0.4' script -qec "'$out/tests/crabctl-fakedev' -d /dev/zero $1" /dev/null < /dev/null > screen
}
on_terminal dump
truth "a dump to a terminal has no progress between its lines" sh -c "tr -d '\r' < screen | cmp - lines"
on_terminal "dump d > /dev/null"
truth "a dump to a file has progress there" grep -q 'records, .* %' screen
truth "a signal leaves whole lines of scan" whole 6 '' c scan
truth "of dump" whole 6 '' c dump
truth "and whole elements of JSON" whole 6 '}' c scan --json
truth "a signal leaves the array of JSON open: no reader takes a part for all" python3 -c 'import subprocess, sys
scan = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
text = scan.stdout.read(1)
scan.terminate()
text += scan.stdout.read()
assert scan.wait() == -15 and text[:1] == b"[" and b"]" not in text' \
	"$out/tests/crabctl-fakedev" -d /dev/zero scan --json

run c format --force --yes
FAKE_SHORT=7 t "load goes on where a signal cut a batch short" 0 '^3000 records' '' \
	c load lines --ack acks
run c dump
same "and nothing is missing" lines out
sed 's/\([0-9]*\) .*/A \1/' lines > want
same "or acknowledged twice" want acks

# 3000 records are 47 groups of 64: each is stored, then acknowledged; with an
# image also written back in between, and once more at the end
run c format --force --yes
FAKE_LOG=log run c load lines --ack acks3
yes "batch ack msync" | head -n 47 | tr ' ' '\n' | sed '/msync/d' > want
same "device: acknowledged is what has returned" want <(sed '/msync/d' log)
rm log
FAKE_LOG=log run "$out/tests/crabctl-fakedev" --image i.img load lines --ack acks4
{ yes "msync ack" | head -n 47 | tr ' ' '\n'; echo msync; } > want
same "image: acknowledged is what is in the file" want log

run c format --layout sorted --force --yes
run c load lines
FAKE_INFO=keeps=2 t "info shows that nothing proves the model" 0 '^media model .*; unproven: this arch' '' c info
FAKE_INFO="model=3 keeps=1" t "and the models that only engines to come need" 0 \
	'^media model +needs persistent caches \(model E\)$' '' c info
json "info --json: nothing is unproven in a file" "x['model'] == 'line' and x['model_kept'] == 'yes'" c info -j
t "info shows the options" 0 '^options +strategy=auto on_demand=0 probe=1 pair=1 ' '' c info
t "and the counters of the engine" 0 '^sip_lines +[0-9]+$' '' c info
json "info --json too" "x['options']['strategy'] == 'auto' and x['options']['cost_pair'] == '500' and
	x['counters']['sips'] + x['counters']['cows'] == 0 and x['layout'] == 'sorted'" c info -j
python3 -c 'f = open("i.img", "r+b")
f.seek(16384 + 4 * 1024 + 24)
f.write(b"!")'
t "scan goes on behind a quarantined range" 3 '^3000 3000$' 'scan: keys 245 to 305 left out' c scan
truth "and gives all but it" [ "$(wc -l < out)" = 2939 ]
FAKE_ERRNO=19 t "a region that is gone has no other reason" 3 '' 'get 1: the region was taken away$' c get 1
rm i.img
truncate -s 1M i.img
run c format

FAKE_ERRNO=28 t "ENOSPC" 3 '' 'put 1: no space left in the store \([0-9]+ of [0-9]+ leaves' \
	c put 1 1
FAKE_ERRNO=30 t "EROFS" 3 '' 'put 1: the store is read-only' c put 1 1
FAKE_ERRNO=117 t "EUCLEAN" 3 '' 'get 1: the media is damaged' c get 1
FAKE_ERRNO=1 t "EPERM" 3 '' 'format: Operation not permitted' c format --force --yes
FAKE_ERRNO=22 t "EINVAL" 3 '' 'unknown engine or layout.*\(the kernel' c format --force --yes
FAKE_ERRNO=95 t "EOPNOTSUPP" 3 '' 'the layout needs another region or CPU.*\(the kernel' c format --force --yes
FAKE_ERRNO=30 t "EROFS of format" 3 '' 'format: the region is read-only$' c format --force --yes
FAKE_ERRNO=16 t "EBUSY" 3 '' 'format: another user has it open \(the kernel' c format --force --yes
FAKE_ERRNO=19 t "ENODEV" 3 '' 'scan, after 0 records: the region was taken away' c scan
t "a label that is no name of a file" 3 '' "a label with '/'" c format --label a/b --force --yes

FAKE_MSYNC=5 t "an image that is not written back" 3 '' 'i.img: close: Input/output error' \
	"$out/tests/crabctl-fakedev" --image i.img put 1 1
t "the last target counts" 0 '^device +/dev/zero$' '' "$out/tests/crabctl-fakedev" --image none -d /dev/zero info

# Without root: the nodes exist but cannot be opened, sysfs can be read
mkdir -p root/dev root/sys/class/crabtree/crab0
touch root/dev/crab0 root/dev/crab1
for attribute in state=readonly region_bytes=1048576 records=5 label=retain region=/memory; do
	echo "${attribute#*=}" > "root/sys/class/crabtree/crab0/${attribute%%=*}"
done
export FAKE_ROOT=$PWD/root
t "list without root: from sysfs" 0 'crab0 +read-only +1 MiB +retain +5 /memory$' '' "$out/tests/crabctl-fakedev" list
printf 'DEVNAME=crab0\nCRABTREE_LABEL=Gr\303\\237e\nCRABTREE_LABEL_ENC=Gr\\xc3\\xb6\\xc3\\x9fe\\x20\\x5c\n' \
	> root/sys/class/crabtree/crab0/uevent
t "its label is not escaped" 0 'crab0 +read-only +1 MiB +Größe \\ +5' '' "$out/tests/crabctl-fakedev" list
printf '%s\n' 'CRABTREE_LABEL_ENC=\x1b[2J' > root/sys/class/crabtree/crab0/uevent
t "nor commands the terminal" 0 'crab0 +read-only +1 MiB +.x1b.2J +5' '' "$out/tests/crabctl-fakedev" list
FAKE_DENY=16 t "a device that is in use, too" 0 'crab0 +read-only +1 MiB +.x1b.2J +5' '' "$out/tests/crabctl-fakedev" list
t "a device that is not there either" 0 'crab1 +.*ermission' '' "$out/tests/crabctl-fakedev" list
json "list --json: the columns, and the error" \
	"x[0]['state'] == 'read-only' and x[0]['records'] == 5 and 'ermission' in x[0]['error']" "$out/tests/crabctl-fakedev" list --json
json "and the error alone" "'state' not in x[1] and 'ermission' in x[1]['error']" "$out/tests/crabctl-fakedev" list --json
for device in "" /dev/crab1; do
	t "\$CRABTREE_DEVICE is \"$device\"" 3 '' "^crabctl: ${device:-/dev/crab0}: Permission denied" \
		env CRABTREE_DEVICE="$device" "$out/tests/crabctl-fakedev" info
done
