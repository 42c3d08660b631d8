# SPDX-License-Identifier: GPL-2.0
################################################################################
#
# crabtree
#
################################################################################

CRABTREE_VERSION = 0.1.0
CRABTREE_SITE = $(realpath $(BR2_EXTERNAL_CRABTREE_PATH)/../..)
CRABTREE_SITE_METHOD = local
CRABTREE_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS = --exclude /out
CRABTREE_LICENSE = GPL-2.0 (module, tools), LGPL-2.1+ (library)
CRABTREE_LICENSE_FILES = COPYING LICENSES/LGPL-2.1
CRABTREE_DEPENDENCIES = host-pkgconf json-c
CRABTREE_INSTALL_STAGING = YES

CRABTREE_TOOLS_OPTS = \
	-C $(@D)/tools \
	OUT=$(@D)/out/tools \
	WERROR= \
	PREFIX=/usr \
	LIBDIR=/usr/lib \
	UDEVDIR=/usr/lib/udev/rules.d \
	UNITDIR=/usr/lib/systemd/system \
	PYTHONDIR=/usr/lib/python3/dist-packages

define CRABTREE_LINUX_CONFIG_FIXUPS
	$(call KCONFIG_ENABLE_OPT,CONFIG_CRC32)
endef

define CRABTREE_BUILD_CMDS
	$(TARGET_MAKE_ENV) $(TARGET_CONFIGURE_OPTS) $(MAKE) $(CRABTREE_TOOLS_OPTS)
endef

define CRABTREE_INSTALL_STAGING_CMDS
	$(TARGET_MAKE_ENV) $(TARGET_CONFIGURE_OPTS) $(MAKE) $(CRABTREE_TOOLS_OPTS) \
		DESTDIR=$(STAGING_DIR) install
endef

define CRABTREE_INSTALL_TARGET_CMDS
	$(TARGET_MAKE_ENV) $(TARGET_CONFIGURE_OPTS) $(MAKE) $(CRABTREE_TOOLS_OPTS) \
		DESTDIR=$(TARGET_DIR) install
endef

$(eval $(kernel-module))
$(eval $(generic-package))
