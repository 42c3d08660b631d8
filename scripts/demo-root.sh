# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The system of scripts/demo-reboot: in a copy of a bare root of Debian 13, with the packages in
# /debs, install the packages of a stock machine, and write the file system to /carry/disk.
#
# The kernel and the initrd are those that Debian's packages install; the emulator loads them from
# /carry, as a boot loader would from /boot. Runs as root.
set -euo pipefail

SIZE=3G		# of the file system
export LC_ALL=C.UTF-8

packages() {
	apt-get -q -y -o Dpkg::Options::=--force-confdef install --no-install-recommends linux-image-amd64 \
		linux-headers-amd64 initramfs-tools zstd systemd-sysv udev kmod dkms gcc libc6-dev e2fsprogs \
		kexec-tools openssl
	depmod -a "$(uname -r)"
	apt-get -q -y install --no-install-recommends /debs/crabtree-dkms_*.deb /debs/crabtree-tools_*.deb \
		/debs/libcrabtree0_*.deb
	dkms status crabtree -k "$(uname -r)" | grep installed
}

# All that a user does to keep the store
configure() {
	echo crabtree-demo >/etc/hostname
	echo '/dev/vda / ext4 defaults 0 1' >/etc/fstab
	echo 'reserve=crab label=retain' >/etc/crabtree.d/retain.conf
	systemctl enable crabtree-regions
	systemctl mask serial-getty@ttyS0.service systemd-networkd.service apt-daily.timer apt-daily-upgrade.timer \
		dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
}

# The acts are a service, after the one that adds the regions; demo-reboot adds their script
acts() {
	cat >/etc/systemd/system/acts.service <<-END
	[Unit]
	After=crabtree-regions.service
	[Service]
	ExecStart=/bin/bash /usr/local/sbin/acts
	[Install]
	WantedBy=multi-user.target
	END
	systemctl enable acts
}

# No submount of the root is in the file system
disk() {
	mkdir -p /carry /whole
	cp "/boot/vmlinuz-$(uname -r)" /carry/vmlinuz
	cp "/boot/initrd.img-$(uname -r)" /carry/initrd
	uname -r >/carry/release
	rm -rf /debs /usr/local/bin/uname /var/lib/apt/lists
	mount --bind / /whole
	mkdir -p /disk
	mount -t tmpfs -o size=4G tmpfs /disk
	mke2fs -q -t ext4 -d /whole /disk/disk "$SIZE"
	cp --sparse=always /disk/disk /carry/disk
}

packages
configure
acts
disk
