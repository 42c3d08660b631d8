#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the machine of scripts/demo-reboot, at each boot: look whether everything is there that was
# written before, write one record more, and end the boot in another way than the last one did.
#
# /var/lib/acts has the number of the last act and the records that were acknowledged. It is on the
# disk and durable before the boot ends, so that it does not depend on the store.
set -u

FOLDER=/var/lib/acts
RECORDS=100000
ACTS=7
exec >/dev/ttyS0 2>&1
stty -F /dev/ttyS0 -opost 2>/dev/null
mkdir -p $FOLDER
act=$(($(cat $FOLDER/act 2>/dev/null || echo 0) + 1))
echo $act >$FOLDER/act

say() { printf '%s\r\n' "=== $*"; }
show() {
	say "    # $*"
	"$@" 2>&1 | while IFS= read -r line; do say "    $line"; done
}

fail() {
	say "FAILED in act $act: $*"
	journalctl -b --no-pager -n 60 | sed 's/^/    /'
	crabctl doctor
	sync
	poweroff -f
}

# The label, as the configuration demands it, and the kernel's own word
where() {
	local at
	at=$(dmesg | sed -n 's/.*reserve_mem.*\(0x[0-9a-f]*\).*crab.*/\1/p' | tail -n 1)
	say "Act $act of $ACTS: Linux $(uname -r), $(sed -n 's/.*\(reserve_mem=.*\)/\1/p' /proc/cmdline)${at:+, at $at}"
}

write() {
	crabctl put "$1" "$2" || fail "put $1"
}

format() {
	show crabctl doctor
	show crabctl format --label retain
	seq $RECORDS | awk '{ print $1, $1 * 7 }' >$FOLDER/records
	crabctl load $FOLDER/records >/dev/null || fail "load"
}

# Each record, no other one, and a sound store
all_there() {
	local uuid
	uuid=$(crabctl info | awk '$1 == "uuid" { print $2 }')
	[ -n "$uuid" ] || fail "no store"
	[ -e $FOLDER/uuid ] || echo "$uuid" >$FOLDER/uuid
	[ "$uuid" = "$(cat $FOLDER/uuid)" ] || fail "another store"
	crabctl scan >/run/found || fail "scan"
	cmp /run/found $FOLDER/records || fail "the records are not those that were acknowledged"
	crabctl check >/run/check || fail "check: $(cat /run/check)"
	show crabctl doctor
	say "    all $(wc -l <$FOLDER/records) acknowledged records are there"
}

# The last record is put when nothing else remains to be done before the end
last() {
	local key=$((RECORDS + act))
	sync
	crabctl put $key $act || fail "put"
	echo "$key $act" >>$FOLDER/records
	sync
}

# The region is there, its store is not: nothing is formatted by itself
not_there() {
	! crabctl get 1 >/run/get 2>&1 || fail "a record is there: $(cat /run/get)"
	show crabctl doctor
	say "    # journalctl -b -u crabtree-regions"
	journalctl -b --no-pager -o cat -u crabtree-regions | grep "^crabctl: " |
		while IFS= read -r line; do say "    $line"; done
}

next_kernel() {
	say "    # kexec -l /boot/vmlinuz-$(uname -r) --append=\"... $1\""
	kexec -c -l "/boot/vmlinuz-$(uname -r)" --initrd="/boot/initrd.img-$(uname -r)" \
		--mem-max=0x18000000 --append="$(sed 's/ *reserve_mem=.*//' /proc/cmdline) $1" || fail "kexec -l"
}

jump() {
	say "    # kexec -e"
	sync
	kexec -e
}

main() {
	local here="reserve_mem=16M:256M:crab"
	where
	case $act in
	1)	format
		all_there
		say "    # reboot -f"
		last
		reboot -f ;;
	2)	all_there
		say "    # echo b >/proc/sysrq-trigger"
		last
		echo 1 >/proc/sys/kernel/sysrq
		echo b >/proc/sysrq-trigger ;;
	3)	all_there
		last
		next_kernel "$here"
		jump ;;
	4)	all_there
		last
		say "    Another reservation takes the place, and the memory moves:"
		next_kernel "reserve_mem=16M:256M:other $here"
		jump ;;
	5)	not_there
		say "    The memory moves back:"
		next_kernel "$here"
		jump ;;
	6)	all_there
		say "    The power goes: this memory is DRAM."
		sync
		poweroff -f ;;
	7)	not_there
		say "DONE"
		poweroff -f ;;
	esac
	sleep 60
	fail "the machine goes on"
}

main
