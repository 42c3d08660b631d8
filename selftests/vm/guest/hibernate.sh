#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086,SC3043
#
# In the guest: boot 1 hibernates under a writer, to the part of the persistent memory that
# is /dev/pmem0; boot 2 attaches the store too, as an
# initramfs may, stores a record, and resumes.  All that follows is boot 1 again, on the console
# of boot 2.
set -e
PATH=/device:$PATH

if [ "$BOOT" = 2 ]; then
	insmod /crabtree.ko $CRAB_PARAMS
	store /dev/crab0 get 1
	store /dev/crab0 put 5000000 1
	cat /sys/block/pmem0/dev >/sys/power/resume
	echo "not ok 1 resumed"
	exit 1
fi

# Stores one record after the other, and notes each next key and every error.  A line is appended at
# once: a file that is written anew is empty for an instant
write() {
	local key=1000000 said=
	while [ ! -e /tmp/enough ]; do
		said=$(store /dev/crab0 put $key $key) && key=$((key + 1)) && echo $key >>/tmp/keys
		[ -z "$said" ] || echo "$said" >>/tmp/said
	done
}

insmod /crabtree.ko $CRAB_PARAMS
store /dev/crab0 format force
store /dev/crab0 fill 5000
mkswap /dev/pmem0 >/dev/null
swapon /dev/pmem0
write &
sleep 1
echo shutdown >/sys/power/disk
until [ -s /tmp/keys ]; do sleep 0.1; done
before=$(tail -n 1 /tmp/keys)
echo disk >/sys/power/state
echo "ok 1 resumed, with $((before - 1000000)) records more"
sleep 1
touch /tmp/enough
wait
after=$(tail -n 1 /tmp/keys)
[ "$after" -gt "$before" ]
touch /tmp/said
if grep -v EBUSY /tmp/said; then exit 1; fi
echo "ok 2 the writer went on, with $((after - before)) records"
key=1000000
while [ $key -lt "$after" ]; do
	[ "$(store /dev/crab0 get $key)" = $key ]
	key=$((key + 1))
done
[ "$(store /dev/crab0 get 5000000)" = 1 ]
[ "$(store /dev/crab0 info records)" = $((5000 + after - 1000000 + 1)) ]
rmmod crabtree
insmod /crabtree.ko $CRAB_PARAMS readonly=1
[ "$(store /dev/crab0 info durability)" != 1 ]
[ "$(store /dev/crab0 info state)" = 2 ]
echo "ok 3 no record is lost, nor that of the kernel in between"
