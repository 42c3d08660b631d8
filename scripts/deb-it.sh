# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The beginning of deb-steps.sh and of deb-machine.sh, which scripts/deb-test puts before them: their
# packages, and the results as TAP.
#
# shellcheck disable=SC2034 # (for the script that follows)
set -euo pipefail

PACKAGES="crabtree-dkms crabtree-tools libcrabtree0 libcrabtree-image0 libcrabtree-dev python3-crabtree"
number=0 failed=0

# it "what it shows" COMMAND...
it() {
	local text=$1 word=ok status
	shift
	number=$((number + 1))
	# Not in a condition, where the shell would ignore set -e
	set +e
	( set -e; "$@" ) >/log 2>&1
	status=$?
	set -e
	if [ $status != 0 ]; then
		word='not ok'
		failed=1
		sed 's/^/# /' /log | tail -n 40
	fi
	echo "$word $number $text"
}
