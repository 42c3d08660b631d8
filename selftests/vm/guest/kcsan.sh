#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: the tests over the loaded module, which KCSAN watches. A run in which it
# watched nothing would show nothing.
export CRAB_MODULES=/
KCSAN=/sys/kernel/debug/kcsan

/device/run_all.sh $TESTS
rc=$?
sed 's/^/# kcsan: /' $KCSAN
watched=$(sed -n 's/^setup_watchpoints: //p' $KCSAN)
[ "${watched:-0}" -gt 0 ] || rc=1
exit $rc
