# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The steps of scripts/deb-test, in a bare root with the packages in /debs: TAP.
#
# The list of all files is made after the dependencies, and openssl, which DKMS signs
# with, were installed: it shows the files of our packages only. The installed
# system, for a machine, is left in /carry/root.cpio, by the functions carry_kernel and carry_system
# of scripts/roots.py. Runs as root, in a copy of a root.
#
# shellcheck disable=SC2154 # (deb-it.sh comes before it)

TESTS=16
CONF=/etc/modprobe.d/crabtree.conf LOAD=/etc/modules-load.d/crabtree.conf
ARCH=$(dpkg --print-architecture)
export LC_ALL=C.UTF-8

debs() { ls /debs/*.deb; }

apt() { apt-get -q -y -o Dpkg::Options::=--force-confdef "$@"; }

resolvable() { apt install -s /debs/*.deb; }

dependencies() {
	apt install --no-install-recommends dkms "linux-headers-$ARCH" libjson-c5 systemd udev kmod xz-utils \
		openssl gcc libc6-dev pkg-config python3 cpio
	[ -e "/lib/modules/$(uname -r)/build" ]
	depmod -a "$(uname -r)"
}

# All files but caches, logs, temporary files, backups, and the key that DKMS makes once
# Without those of depmod: where no kernel is installed, dkms of sid removes them with the last module
files() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /carry \
		-o -path /var/cache -o -path /var/lib/apt -o -path /var/log -o -path /debs -o -path /root \) \
		-prune -o -print |
		grep -vE '^/(log|before|after|upgrade|script)$|^/upgrade/|^/var/lib/dkms/mok\.|-old$|^/etc/g?shadow-$|^/etc/group-$|/modules/[^/]*/modules\.' |
		sort
}

installed() {
	local status
	status=$(dkms status crabtree -k "$(uname -r)")
	echo "$status"
	echo "$status" | grep -q "installed"
}

module_file() { find "/lib/modules/$(uname -r)/updates/dkms" -name 'crabtree.ko*'; }

module_right() {
	module_file
	modinfo -k "$(uname -r)" -F version crabtree | grep -qx "$(dpkg-query -W -f '${Version}' crabtree-dkms | sed 's/+.*//')"
	modinfo -F vermagic "$(module_file)" | grep -q "^$(uname -r) "
}

module_signed() { modinfo -F signer "$(module_file)" | grep .; }

inert() {
	! grep -v '^#' $CONF $LOAD
}

has_group() { getent group crabtree && grep -q 'GROUP="crabtree"' /usr/lib/udev/rules.d/60-crabtree.rules; }

# The same packages, with a higher version
raise() {
	local deb new
	mkdir -p /upgrade
	for deb in $(debs); do
		new=/upgrade/tree
		rm -rf $new
		dpkg-deb -R "$deb" $new
		sed -i -E "/^(Version|Depends):/s/$(dpkg-deb -f "$deb" Version)/&+1/" $new/DEBIAN/control
		dpkg-deb -b $new /upgrade
		rm -rf $new
	done
}

upgrade() {
	echo "options crabtree ram=1M" >>$CONF
	apt install /upgrade/*.deb
	grep -q ram=1M $CONF
	dpkg-query -W -f '${Version}' crabtree-dkms | grep '+1$'
	installed
}

again() { apt install --reinstall /upgrade/*.deb && installed && grep -q ram=1M $CONF; }

# shellcheck disable=SC2086 # (words)
removed() {
	apt remove $PACKAGES
	[ -z "$(find /lib/modules -name 'crabtree*')" ]
	[ -z "$(dkms status crabtree)" ]
	[ ! -e /usr/bin/crabctl ]
	[ -e $CONF ]
}

# shellcheck disable=SC2086 # (words)
purged() {
	dpkg --purge $PACKAGES
	files >/after
	diff /before /after
}

# shellcheck disable=SC2086 # (words)
purged_at_once() {
	apt install /debs/*.deb
	installed
	apt purge $PACKAGES
	files >/after
	diff /before /after
}

# All that is installed goes to a machine, which loads the module at boot
carry() {
	carry_kernel
	cp $CONF $CONF.kept
	cp $LOAD $LOAD.kept
	echo "options crabtree ram=16M" >>$CONF
	echo crabtree >>$LOAD
	carry_system
	mv $CONF.kept $CONF
	mv $LOAD.kept $LOAD
}

main() {
	echo "1..$TESTS"
	it "a bare root can install the packages" resolvable
	it "the dependencies are installed" dependencies
	files >/before
	it "the packages are installed" apt install /debs/*.deb
	it "DKMS has built the module for $(uname -r)" installed
	it "it is for that kernel, and found by name" module_right
	it "it is signed" module_signed
	it "nothing loads it" inert
	it "the group of the devices exists" has_group
	it "crabctl, the library and its headers work" sh /image
	it "the same packages have a higher version, too" raise
	it "the files for a machine are collected" carry
	it "upgrade to a higher version keeps the configuration" upgrade
	it "installation over itself, too" again
	it "remove leaves the configuration, and no module" removed
	it "purge leaves the files of before" purged
	it "so does a purge without a remove" purged_at_once
	return "$failed"
}

main
