#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In the guest, a kernel that Secure Boot has locked down: which copy of the module is loaded, with which
# messages, and which memory it may use. Documentation/admin-guide/secure-boot.rst has the messages.
PATH=/device:$PATH
number=0

# it "what it shows" COMMAND...: the status of the command
it() {
	text=$1
	shift
	number=$((number + 1))
	if "$@" >/tmp/said 2>&1; then
		echo "ok $number $text"
	else
		sed 's/^/# /' /tmp/said
		echo "not ok $number $text"
	fi
}

locked() {
	mount -t securityfs securityfs /sys/kernel/security
	dmesg | grep "Kernel is locked down from EFI Secure Boot"
	grep -F "[integrity]" /sys/kernel/security/lockdown
}

# refused COPY ERROR MESSAGE PARAMETER: not loaded, with this error, and this message in the log
refused() {
	dmesg -c >/dev/null
	! insmod "/modules/$1" "$4" 2>/tmp/error || return 1
	cat /tmp/error
	grep -F "$2" /tmp/error || return 1
	dmesg | grep -F "$3"
}

loads() { insmod /modules/enrolled "$1"; }

# The node of a module that is loaded refuses it as well
node_refuses() (
	exec 3<>/dev/crabtree-control
	! echo add region=0x10000000,1M >&3 || return 1
	grep -F "region=0x10000000,1M: physical addresses are refused: the kernel is locked down" <&3
)

# but memory of the kernel's own
node_adds() { echo add ram=64K >/dev/crabtree-control && [ -c /dev/crab1 ]; }

store_works() {
	store /dev/crab0 format && store /dev/crab0 fill 500 && store /dev/crab0 verify 500 &&
		rmmod crabtree
}

it "Secure Boot locks the kernel down" locked
it "a module without a signature is refused" \
	refused unsigned "Key was rejected by service" "Loading of unsigned module is rejected" ram=1M
it "so is one whose key is not enrolled" \
	refused unknown "Key was rejected by service" "Loading of module with unavailable key is rejected" ram=1M
it "one whose key is enrolled is loaded" loads ram=1M
it "region= is refused at its control node" node_refuses
it "ram= is not" node_adds
it "and it works" store_works
it "region= is refused" refused enrolled "Operation not permitted" \
	"Lockdown: insmod: unsafe module parameters is restricted" region=0x10000000,1M
it "pmem= is not" loads pmem=/dev/pmem0
it "and it works, too" store_works
