#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: the tests over the loaded module; TESTS names some of them.
export CRAB_MODULES=/

# A namespace of an NVDIMM has no struct pages until its mode is fsdax: DAX needs them
fsdax() {
	pfn=/sys/bus/nd/devices/$(cat /sys/bus/nd/devices/region0/pfn_seed)
	echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind
	cat /proc/sys/kernel/random/uuid >"$pfn/uuid"
	echo ram >"$pfn/mode"
	echo namespace0.0 >"$pfn/namespace"
	echo "${pfn##*/}" >/sys/bus/nd/drivers/nd_pmem/bind
}

[ -z "$NVDIMM" ] || fsdax
/device/run_all.sh $TESTS
