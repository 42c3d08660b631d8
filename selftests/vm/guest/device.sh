#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2086
#
# In the guest: the tests over the loaded module; TESTS names some of them.
export CRAB_MODULES=/
/device/run_all.sh $TESTS
