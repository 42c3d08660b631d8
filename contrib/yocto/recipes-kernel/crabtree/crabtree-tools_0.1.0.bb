# SPDX-License-Identifier: GPL-2.0
SUMMARY = "Ordered index in persistent memory, crabctl and libraries"
LICENSE = "GPL-2.0-only & LGPL-2.1-or-later"
LIC_FILES_CHKSUM = "file://COPYING;md5=b234ee4d69f5fce4486a80fdaf4a4263 \
                    file://LICENSES/LGPL-2.1;md5=4fbd65380cdd255951079008b364516c"
DEPENDS = "json-c"

inherit pkgconfig python3-dir externalsrc

EXTERNALSRC = "${@os.path.realpath(d.getVar('THISDIR') + '/../../../..')}"
EXTERNALSRC_BUILD = "${WORKDIR}/build"

EXTRA_OEMAKE = "-C ${S}/tools OUT=${B} WERROR= PREFIX=${prefix} LIBDIR=${libdir} \
                UDEVDIR=${nonarch_libdir}/udev/rules.d SYSUSERSDIR=${nonarch_libdir}/sysusers.d \
                PYTHONDIR=${PYTHON_SITEPACKAGES_DIR} UNITDIR=${nonarch_libdir}/systemd/system"

do_compile() {
	oe_runmake
}

do_install() {
	oe_runmake install DESTDIR=${D}
}

PACKAGES =+ "libcrabtree libcrabtree-image python3-crabtree"
FILES:libcrabtree = "${libdir}/libcrabtree.so.*"
FILES:libcrabtree-image = "${libdir}/libcrabtree-image.so.*"
FILES:python3-crabtree = "${PYTHON_SITEPACKAGES_DIR}/crabtree"
FILES:${PN} += "${nonarch_libdir}/udev/rules.d/60-crabtree.rules ${nonarch_libdir}/sysusers.d/crabtree.conf \
                ${datadir}/bash-completion/completions/crabctl ${datadir}/zsh/site-functions/_crabctl \
                ${nonarch_libdir}/systemd/system/crabtree-regions.service ${libdir}/crabtree/openplc-retain.so"
RDEPENDS:python3-crabtree = "libcrabtree python3-ctypes"
RRECOMMENDS:python3-crabtree = "libcrabtree-image"
