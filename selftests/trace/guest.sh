#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: the work that is traced, with costs that are not measured, so that the
# host build can use the same.
exec /writer /crabtree.ko "$CRAB_PARAMS $TUNING" "$OPERATIONS" "$REGION" "$BYTES" "$WORK"
