# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a machine of scripts/deb-test, whose first program is systemd: the installed packages: TAP.
#
# /etc/modules-load.d and /etc/modprobe.d ask for the module with ram=16M, so systemd
# has loaded it at boot. There are no kernel headers here: an upgrade or a purge changes all files,
# and DKMS builds nothing. A store is in use during both.
#
# shellcheck disable=SC2154 # (deb-it.sh comes before it)

TESTS=10
LINK=/dev/crabtree/by-label/retain
DEVICE='dev-crabtree-by\x2dlabel-retain.device'
export PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

# within SECONDS COMMAND...
within() {
	local left=$(($1 * 5))
	shift
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || { echo "not within its time: $*"; return 1; }
		sleep 0.2
	done
}

booted() { [ "$(cat /proc/1/comm)" = systemd ] && [ -d /run/systemd/system ]; }

loaded() {
	systemctl status systemd-modules-load --no-pager || true
	grep '^crabtree ' /proc/modules
	within 120 test -c /dev/crab0
	[ "$(cat /sys/module/crabtree/parameters/ram)" = 16M ]
}

node() { within 120 sh -c 'stat -c "%U %G %a" /dev/crab0 | grep -qx "root crabtree 660"'; }

# A service that waits for its store, as getting-started documents
service() {
	cat >/etc/systemd/system/user.service <<END_UNIT
[Unit]
BindsTo=$DEVICE
After=$DEVICE
[Service]
ExecStart=/bin/sh -c 'crabctl -d $LINK get 7 >/seen; exec sleep infinity'
END_UNIT
	systemctl daemon-reload
	systemctl start --no-block user.service
	sleep 1
	! systemctl is-active user.service
}

named() {
	local began
	rmmod crabtree
	began=$(date +%s.%N)
	modprobe crabtree
	within 120 test -c /dev/crab0
	crabctl format --label=retain
	crabctl put 7 700
	crabctl get 7
	echo "$began $(date +%s.%N)" | awk '{ printf "# seconds %.1f\n", $2 - $1 }' >/seconds
	within 120 test -e $LINK
	within 120 systemctl is-active "$DEVICE"
	within 120 systemctl is-active user.service
	within 120 grep -qx 700 /seen
}

members() {
	useradd -G crabtree member
	useradd stranger
	su member -c 'crabctl put 8 800 && crabctl get 8' | grep -qx 800
	! su stranger -c 'crabctl get 8'
}

# A program of the old packages writes until it is stopped; its records are counted
write() {
	local key=1000
	until [ -e /stop ]; do
		crabctl put $key $key || { echo $key >/lost; break; }
		key=$((key + 1))
		echo $((key - 1000)) >/written.new
		mv /written.new /written
	done
}

upgraded() {
	local uuid
	uuid=$(crabctl info | awk '$1 == "uuid" { print $2 }')
	write &
	within 120 test -e /written
	dpkg --force-confold -i /upgrade/*.deb
	touch /stop
	wait
	[ ! -e /lost ]
	dpkg-query -W -f '${Version}\n' crabtree-tools crabtree-dkms libcrabtree0 | grep -c '+1$' | grep -qx 3
	grep '^crabtree ' /proc/modules
	[ "$(crabctl info | awk '$1 == "uuid" { print $2 }')" = "$uuid" ]
	[ "$(crabctl scan --from 1000 | wc -l)" = "$(cat /written)" ]
	[ "$(crabctl get 7)" = 700 ]
	crabctl check
	systemctl is-active user.service
	grep -x 'options crabtree ram=16M' /etc/modprobe.d/crabtree.conf
}

# shellcheck disable=SC2086 # (words)
purged() {
	cp /usr/bin/crabctl /root/
	dpkg --purge $PACKAGES
	[ "$(cat /sys/class/crabtree/crab0/state)" = ready ]
	LD_LIBRARY_PATH=/root /root/crabctl get 7 | grep -qx 700
	systemctl is-active user.service
	[ ! -e /etc/modprobe.d/crabtree.conf ]
}

removed() {
	systemctl stop user.service
	rmmod crabtree
	within 120 sh -c "! systemctl is-active '$DEVICE'"
	[ ! -e /dev/crab0 ]
}

quiet() {
	journalctl -b --no-pager -p err -u systemd-modules-load -u user.service -u systemd-udevd || true
	! journalctl -b --no-pager | grep -E 'crabtree.*(Invalid|Unknown|rror)'
}

main() {
	echo "1..$TESTS"
	it "systemd is the first program" booted
	it "it has loaded the module, with its options" loaded
	it "udev gives the device to the group" node
	it "a service waits for a store" service
	it "it starts when the store has its name" named
	it "members of the group may write, others may not" members
	it "an upgrade leaves a store in use as it is, and its writer" upgraded
	it "so does a purge" purged
	it "the device unit ends with the module" removed
	it "the log has no error" quiet
	cat /seconds || true
	return "$failed"
}

main
