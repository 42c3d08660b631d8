#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: crabtree is a part of the kernel, whose command line named ram=1M, a pmem= that
# cannot be had, and uml= of a host file.
set -e
PATH=/device:$PATH

# region NAME: the node of its device
region() {
	echo "/dev/$(basename "$(dirname "$(grep -lx "$1" /sys/class/crabtree/crab*/region)")")"
}

# control COMMAND... : fails if the command does
control() {
	exec 3<>/dev/crabtree-control
	echo "$*" >&3
	exec 3<&-
}

[ ! -e /proc/modules ]
echo "ok 1 this kernel has no modules"
dmesg | grep -q "crabtree: version [0-9]"
dmesg | grep -q "crabtree: pmem=/dev/nonsense: "
[ "$(find /sys/class/crabtree -name "crab[0-9]*" | wc -l)" = 2 ]
echo "ok 2 a region that cannot be had takes no other one with it"
ram=$(region ram:1048576)
store "$ram" format force slotted 512 sample
dmesg | grep -q "crabtree_sample: boots 1, events 1"
echo "ok 3 the sample, linked in as well, uses the store that came"
store "$(region "$UML_FILE")" format
store "$(region "$UML_FILE")" fill 5000
store "$(region "$UML_FILE")" verify 5000
echo "ok 4 format, fill, verify, CHECK"
file=$(region "$UML_FILE")
control "remove ${file#/dev/}"
control "add uml=$UML_FILE,readonly"
file=$(region "$UML_FILE")
store "$file" verify 5000
[ "$(store "$file" put 1 1 || true)" = EROFS ]
echo "ok 5 the file once more, as a region that is read-only"
