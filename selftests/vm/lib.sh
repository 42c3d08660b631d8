# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The ground under the scripts of this directory: where things are, how they
# speak, and the cache.
#
# shellcheck disable=SC2034 # (what the others use)
#
# Sourced, never run.  A cache entry is a directory that either is not there
# or is whole: it is built beside its place under a lock of its own and then
# renamed, so that a build that was cut short leaves nothing to be mistaken for
# a result, and two builds of one entry make it once.

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$VM_DIR/../.." && pwd)
CACHE=${CRABTREE_CACHE:-$HOME/.cache/crabtree}
OUT=${CRABTREE_OUT:-$ROOT/out}
export CCACHE_DIR=$CACHE/ccache CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-4G}
ARM64_CROSS=aarch64-linux-gnu-

say() { echo "${0##*/}: $*" >&2; }
die() { say "$*"; exit 1; }

# with_lock NAME COMMAND...: one at a time over all processes of this cache
with_lock() {
	local name=$1 fd rc=0
	shift
	mkdir -p "$CACHE/locks"
	exec {fd}>"$CACHE/locks/${name//\//_}"
	flock -w 3600 "$fd" || die "no lock for $name within an hour"
	"$@" || rc=$?
	exec {fd}>&-
	return $rc
}

# Run BUILDER DIR ARGS... in a subshell whose -e holds, then publish DIR.
build_entry() {
	local entry=$1 tmp
	shift
	[ ! -d "$CACHE/$entry" ] || return 0
	tmp=$CACHE/${entry%/*}/.new-${entry##*/}
	rm -rf "$tmp"
	mkdir -p "$tmp"
	( set -euo pipefail; builder=$1; shift; "$builder" "$tmp" "$@" ) ||
		return 1
	mv -T "$tmp" "$CACHE/$entry"
}

# cached ENTRY BUILDER ARGS...: make the entry if it is not there
cached() {
	[ -d "$CACHE/$1" ] || build_in_lock "$@" || die "could not make $1"
}

# The lock is inherited by nothing: commands that outlive us must not hold it.
build_in_lock() {
	with_lock "$1" build_entry "$@"
}

# file_key FILE... : a short name for what they hold
file_key() { cat "$@" | sha256sum | cut -c1-16; }
