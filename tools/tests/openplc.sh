#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The plugin for the OpenPLC runtime, with the calls that the runtime makes.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
calls=20
suite $((calls + 7))
export PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$out CRABCTL=$crabctl
# A save with a file `gone' is the first one after the loss of the region
cat > gone.c << 'END'
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>
int crabtree_put_named(void *ct, void *named, unsigned int flags)
{
	int (*put)(void *, void *, unsigned int) = dlsym(RTLD_NEXT, "crabtree_put_named");

	return unlink("gone") ? put(ct, named, flags) : -ENODEV;
}
END
cc -D_GNU_SOURCE -shared -fPIC -o gone.so gone.c
LD_PRELOAD="$PWD/gone.so $out/libcrabtree.so.0" /usr/bin/python3 "$2/openplc.py" "$out/openplc-retain.so" 2> log | sed -nE 's/^((not )?ok) - /\1 - /p'
number=$calls
truth "an error is reported once, not in each scan" [ "$(grep -c "openplc/retain: " log)" -le 9 ]
run nm -D --defined-only "$out/openplc-retain.so"
sed -n 's/.* T \(retain_[a-z]*\|init\|cleanup\)$/\1/p' out | xargs > calls
truth "the symbols of the contract" grep -qx "cleanup init retain_clear retain_load retain_save" calls

# says NAME PATTERN VARIABLE...: a start and a scan of the runtime report the cause, and where
says()
{
	env "${@:3}" /usr/bin/python3 -c 'import ctypes, sys
plugin, room, size = ctypes.CDLL(sys.argv[1]), ctypes.create_string_buffer(9), ctypes.c_uint16()
plugin.init(None)
plugin.retain_load(room, 9, ctypes.byref(size))
plugin.retain_save(b"12345678", 8)' "$out/openplc-retain.so" 2> log
	truth "$1" grep -q "^crabtree-retain: $2" log
}
says "no device" '/dev/none: open openplc/retain: no such device or file$' CRABTREE_DEVICE=/dev/none
run "$crabctl" --image records.img format --size 64K
says "a store of records" 'file:records.img: load openplc/retain: not a store of names (crabctl format --names)$' \
	CRABTREE_DEVICE=file:records.img
truncate -s 64K blank.img
says "no store" 'file:blank.img: load openplc/retain: the region is not formatted (crabctl format --names)$' \
	CRABTREE_DEVICE=file:blank.img
run "$crabctl" --image names.img format --size 256K --names
says "a name that is too long" 'file:names.img: load x*: no store can have such a name$' \
	CRABTREE_DEVICE=file:names.img CRABTREE_RETAIN="$(printf 'x%.0s' {1..250})"
run "$crabctl" --image names.img set openplc/retain 'longer than 9 bytes'
says "a value that was not loaded is kept" 'file:names.img: save openplc/retain: the value that is there was not loaded' \
	CRABTREE_DEVICE=file:names.img
