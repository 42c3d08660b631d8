# SPDX-License-Identifier: GPL-2.0
include $(sort $(wildcard $(BR2_EXTERNAL_CRABTREE_PATH)/package/*/*.mk))
