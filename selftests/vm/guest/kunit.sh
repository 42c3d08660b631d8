#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: the KUnit suites run when their module is loaded.
insmod /crabtree_kunit.ko && rmmod crabtree_kunit
