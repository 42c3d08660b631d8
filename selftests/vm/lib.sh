# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The common part of the scripts of this directory: paths, messages, and the cache.
#
# shellcheck disable=SC2034 # (for the scripts that source this file)
#
# Sourced, never run.  A cache entry is a directory that is complete or absent: it is
# built under another name and a lock of its own, and then renamed.  A build that was
# interrupted leaves no entry, and two builds of one entry make it once.

shopt -s inherit_errexit
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$VM_DIR/../.." && pwd)
CACHE=${CRABTREE_CACHE:-$HOME/.cache/crabtree}
OUT=${CRABTREE_OUT:-$ROOT/out}
export CCACHE_DIR=$CACHE/ccache CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-4G} CCACHE_NOHASHDIR=1 CCACHE=ccache
ARM64_CROSS=aarch64-linux-gnu-

say() { echo "${0##*/}: $*" >&2; }
die() { say "$*"; exit 1; }

# with_lock NAME COMMAND...: one at a time over all processes of this cache.
#
# Never call this, directly or indirectly, where the shell tests the status (if, ||, !):
# set -e would be off in all of the command.  A failure ends the script.
with_lock() {
	local name=$1 fd
	shift
	mkdir -p "$CACHE/locks"
	exec {fd}>"$CACHE/locks/${name//\//_}"
	flock -w 3600 "$fd" || die "no lock for $name within an hour"
	"$@"
	exec {fd}>&-
}

# build_entry ENTRY BUILDER ARGS...: run BUILDER DIR ARGS..., then publish DIR
build_entry() {
	local entry=$1 builder=$2 new=$CACHE/${1%/*}/.new-${1##*/}
	shift 2
	[ ! -d "$CACHE/$entry" ] || return 0
	rm -rf "$new"
	mkdir -p "$new"
	"$builder" "$new" "$@"
	mv -T "$new" "$CACHE/$entry"
}

# cached ENTRY BUILDER ARGS...: make the entry if it is not there
cached() {
	[ -d "$CACHE/$1" ] || with_lock "$1" build_entry "$@"
}

# fit_uml_source: let user-mode Linux 6.1 run on a host with AMX.  It keeps 2696 bytes of the
# floating-point registers of a process, and the host restores all or none of its own 11 KB:
# "ptrace set fp regs failed".  The larger frames need the stack of config/uml.config.
fit_uml_source() {
	sed -i 's/\(DEFINE_LONGS(HOST_FP_SIZE, \)2696)/\112288)/' "$CACHE/source/6.1/arch/x86/um/user-offsets.c"
}
