# SPDX-License-Identifier: GPL-2.0
SUMMARY = "Ordered index in persistent memory, kernel module"
LICENSE = "GPL-2.0-only"
LIC_FILES_CHKSUM = "file://COPYING;md5=b234ee4d69f5fce4486a80fdaf4a4263"

inherit module externalsrc

# The tree that this layer is part of; the module is built below its out/
EXTERNALSRC = "${@os.path.realpath(d.getVar('THISDIR') + '/../../../..')}"
EXTERNALSRC_BUILD = "${EXTERNALSRC}"

COMPATIBLE_HOST = "(x86_64|aarch64).*-linux"
MAKE_TARGETS = "modules"
MODULES_INSTALL_TARGET = "modules_install"
KERNEL_MODULE_AUTOLOAD += "crabtree"
RPROVIDES:${PN} += "kernel-module-crabtree"
